package main

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"
)

// broken is an output that takes nothing.
type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

// printing are the commands that print and end, each with what it takes. Their
// order is that of a model's life.
var printing = []struct{ path, more, stdin string }{
	{"status", "", ""},
	{"models list", "", ""},
	{"models show", "tiny", ""},
	{"models load", "tiny", ""},
	{"models pin", "tiny", ""},
	{"models unpin", "tiny", ""},
	{"models unload", "tiny", ""},
	{"models pull", "small", ""},
	{"models delete", "small --yes", ""},
	{"explain", "--live -", chat("tiny", false)},
	{"decisions", "", ""},
	{"probe", "tiny", ""},
	{"eval", "tiny", ""},
	{"pause", "", ""},
	{"resume", "", ""},
	{"open", "--print", ""},
	{"login", "", ""},
	{"config show", "", ""},
	{"config check", "", ""},
	{"config path", "", ""},
	{"doctor", "", ""},
	{"completion", "-c bash", ""},
	{"version", "", ""},
}

func TestACommandWhoseOutputIsLostFails(t *testing.T) {
	t.Parallel()
	h, _ := studio(t)
	h.ask(t, "tiny")
	full := broken{&fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}}
	left := commandPaths(t)
	for _, c := range printing {
		delete(left, c.path)
		args := append([]string{"--data-dir", h.dir}, strings.Fields(c.path+" "+c.more)...)
		for _, args := range [][]string{args, append(slices.Clone(args), "--json")} {
			if args[len(args)-1] == "--json" && slices.Contains([]string{"completion", "models delete"}, c.path) {
				continue // it has no JSON; it is deleted already
			}
			var errs bytes.Buffer
			if code := run(args, strings.NewReader(c.stdin), full, &errs); code != exitFailed || !strings.Contains(errs.String(), syscall.ENOSPC.Error()) {
				t.Errorf("%s on a full disk: exit code %d, %q", strings.Join(args[2:], " "), code, &errs)
			}
		}
	}
	for _, serves := range []string{"serve", "tray"} {
		delete(left, serves)
	}
	if len(left) > 0 {
		t.Errorf("not looked at: %v", slices.Sorted(maps.Keys(left)))
	}
}

func TestAReaderThatHasSeenEnoughIsNoFailure(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "none")
	for _, args := range [][]string{{"version"}, {"version", "--json"}, {"config", "show"}, {"config", "show", "--json"}, {"--help"}} {
		var errs bytes.Buffer
		gone := broken{&fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}}
		if code := run(append(args, "--data-dir", dir), strings.NewReader(""), gone, &errs); code != exitDone || strings.Contains(errs.String(), "lost") || strings.Contains(errs.String(), syscall.EPIPE.Error()) {
			t.Errorf("%s into a closed pipe: exit code %d, %q", strings.Join(args, " "), code, &errs)
		}
	}
	var errs bytes.Buffer
	if code := run([]string{"status", "--data-dir", dir}, strings.NewReader(""), broken{os.ErrClosed}, &errs); code != exitNoEngine || strings.Contains(errs.String(), "lost") {
		t.Errorf("nothing was printed: exit code %d, %q", code, &errs)
	}
}

// commandPaths are the words of every command that people are shown.
func commandPaths(t *testing.T) map[string]bool {
	t.Helper()
	parser, err := kong.New(new(cli), mappers()...)
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]bool{}
	for _, leaf := range parser.Model.Leaves(true) {
		var words []string
		for n := leaf; n.Parent != nil; n = n.Parent {
			if n.Type == kong.CommandNode {
				words = append([]string{n.Name}, words...)
			}
		}
		paths[strings.Join(words, " ")] = true
	}
	return paths
}
