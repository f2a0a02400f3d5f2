package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"bellwether/engine/route"
	"bellwether/platform/desktop"
)

func policyAt(t *testing.T, path string) *policyFile {
	t.Helper()
	f, err := openPolicy(path, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func anchorOf(identity string) map[string]route.Anchor {
	return map[string]route.Anchor{"wiki": {Identity: identity, Source: route.AnchorBound, From: "studio/ollama/nomic"}}
}

func TestFleetPolicyIsReadAgainAsItWasKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fleet-policy.json")
	f := policyAt(t, path)
	if doc := f.Current(); doc.Revision != 0 || len(doc.Anchors) != 0 {
		t.Fatalf("without a file: %+v", doc)
	}
	if err := f.Replace(f.Current().anchored(anchorOf("aaaaaaaaaaaa"))); err != nil {
		t.Fatal(err)
	}
	again := policyAt(t, path).Current()
	if again.Revision != 1 || again.Anchors["wiki"] != f.Current().Anchors["wiki"] {
		t.Errorf("read back: %+v", again)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestFleetPolicyIsReplacedOnlyByWhoSawItsLatestRevision(t *testing.T) {
	f := policyAt(t, filepath.Join(t.TempDir(), "fleet-policy.json"))
	seen := f.Current()
	var wins, lost sync.Map
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			err := f.Replace(seen.anchored(anchorOf(fmt.Sprintf("%012d", i))))
			var moved *RevisionError
			switch {
			case err == nil:
				wins.Store(i, true)
			case errors.As(err, &moved) && moved.Have == 1 && moved.Want == 0:
				lost.Store(i, true)
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	count := func(m *sync.Map) (n int) { m.Range(func(any, any) bool { n++; return true }); return n }
	if count(&wins) != 1 || count(&lost) != 19 || f.Current().Revision != 1 {
		t.Errorf("%d won, %d lost, revision %d", count(&wins), count(&lost), f.Current().Revision)
	}
}

// A document that cannot be kept is not in force either.
func TestFleetPolicyThatCannotBeWrittenDoesNotChange(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f := policyAt(t, filepath.Join(dir, "fleet-policy.json"))
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := f.Replace(f.Current().anchored(anchorOf("aaaaaaaaaaaa"))); err == nil || f.Current().Revision != 0 {
		t.Errorf("%v, revision %d", err, f.Current().Revision)
	}
}

func TestDamagedFleetPolicyStopsTheStartAndStaysAsItIs(t *testing.T) {
	whole := `{"revision": 3, "anchors": {"wiki": {"identity": "aaaaaaaaaaaa", "source": "bound"}}}`
	for name, text := range map[string]string{
		"empty":           "",
		"cut":             whole[:len(whole)-9],
		"zeros":           strings.Repeat("\x00", 64),
		"twice":           whole + whole,
		"no revision":     `{"anchors": {}}`,
		"no identity":     `{"revision": 1, "anchors": {"wiki": {"source": "bound"}}}`,
		"a later version": `{"revision": 1, "models": {}}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			folders, err := desktop.FoldersUnder(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := folders.Create(); err != nil {
				t.Fatal(err)
			}
			path := PolicyPath(folders)
			if err := desktop.WritePrivate(path, []byte(text)); err != nil {
				t.Fatal(err)
			}
			_, err = spec{}.start(dir)
			helps := "put it back from a backup"
			if name == "a later version" {
				helps = "so nothing is started without it: update Bellwether"
			}
			var damaged *PolicyError
			if !errors.As(err, &damaged) || damaged.Path != path || !strings.Contains(err.Error(), helps) {
				t.Fatalf("got %v", err)
			}
			if left, err := os.ReadFile(path); err != nil || string(left) != text {
				t.Errorf("it was changed to %q, %v", left, err)
			}
		})
	}
}
