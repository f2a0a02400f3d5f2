package engine

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bellwether/engine/route"
	"bellwether/engine/store"
	"bellwether/platform/desktop"
)

func policyOf(revision uint64, anchors ...string) *FleetPolicy {
	p := &FleetPolicy{Revision: revision, Anchors: map[string]route.Anchor{}}
	for i := 0; i < len(anchors); i += 2 {
		p.Anchors[anchors[i]] = route.Anchor{Identity: anchors[i+1], Source: route.AnchorBound}
	}
	return p
}

func TestFileAndCopyOfTheFleetPolicyBecomeOne(t *testing.T) {
	const a, b = "aaaaaaaaaaaa", "bbbbbbbbbbbb"
	for name, c := range map[string]struct {
		file, copied, want *FleetPolicy
		news               policyNews
	}{
		"neither":                 {nil, nil, &FleetPolicy{}, policyNews{}},
		"of an earlier version":   {policyOf(2, "wiki", a), nil, policyOf(2, "wiki", a), policyNews{}},
		"the same":                {policyOf(2, "wiki", a), policyOf(2, "wiki", a), policyOf(2, "wiki", a), policyNews{}},
		"the file is deleted":     {nil, policyOf(2, "wiki", a, "notes", b), policyOf(2, "wiki", a, "notes", b), policyNews{Deleted: true, Back: []string{"notes", "wiki"}}},
		"the copy was not kept":   {policyOf(3, "wiki", b), policyOf(2, "wiki", a), policyOf(3, "wiki", b), policyNews{}},
		"an older file":           {policyOf(1, "wiki", a), policyOf(4, "wiki", a, "notes", b), policyOf(5, "wiki", a, "notes", b), policyNews{Back: []string{"notes"}}},
		"an older file differs":   {policyOf(1, "wiki", a), policyOf(4, "wiki", b), policyOf(5, "wiki", a), policyNews{Differs: []policyDifference{{"wiki", a, b}}}},
		"an anchor was taken out": {policyOf(4), policyOf(4, "wiki", a), policyOf(5, "wiki", a), policyNews{Back: []string{"wiki"}}},
		"edited":                  {policyOf(4, "wiki", b), policyOf(4, "wiki", a), policyOf(4, "wiki", b), policyNews{Differs: []policyDifference{{"wiki", b, a}}}},
		"said shorter":            {policyOf(4, "wiki", a), policyOf(4, "wiki", a+"0123456789"), policyOf(4, "wiki", a), policyNews{}},
	} {
		got, news := reconcile(c.file, c.copied)
		if !reflect.DeepEqual(got, c.want) || !reflect.DeepEqual(news, c.news) {
			t.Errorf("%s: got %+v, %+v\nwant %+v, %+v", name, got, news, c.want, c.news)
		}
	}
}

// opened opens the policy of a folder with the database beside it.
func opened(t *testing.T, dir string) (*policyFile, error) {
	t.Helper()
	db, err := store.Open(filepath.Join(dir, "bellwether.db"), store.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return openPolicy(filepath.Join(dir, "fleet-policy.json"), db, slog.New(slog.DiscardHandler))
}

func TestDeletedFleetPolicyIsPutBackAndTold(t *testing.T) {
	dir := t.TempDir()
	f, err := opened(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if found := f.news.findings(f.Current()); len(found) != 0 {
		t.Errorf("a first start tells %+v", found)
	}
	for range 2 {
		if err := f.Replace(f.Current().anchored(anchorOf("aaaaaaaaaaaa"))); err != nil {
			t.Fatal(err)
		}
	}
	want := f.Current()
	if err := os.Remove(f.path); err != nil {
		t.Fatal(err)
	}
	again, err := opened(t, dir)
	if err != nil || again.Current().Revision != want.Revision || again.Current().Anchors["wiki"] != want.Anchors["wiki"] {
		t.Fatalf("%v: %+v, want %+v", err, again.Current(), want)
	}
	found := again.news.findings(again.Current())
	if len(found) != 1 || !strings.Contains(found[0].Text, "was gone") || !strings.Contains(found[0].Text, "wiki to aaaaaaaaaaaa") || !strings.Contains(found[0].Remedy, "identity") {
		t.Errorf("it tells %+v", found)
	}
	third, err := opened(t, dir) // the file is there again
	if err != nil || third.Current().Revision != want.Revision || len(third.news.findings(third.Current())) != 0 {
		t.Errorf("%v: the next start tells %+v", err, third.news)
	}
}

func TestOlderFleetPolicyOfABackupCountsAndIsToldOnce(t *testing.T) {
	dir := t.TempDir()
	f, err := opened(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	replace := func(more map[string]route.Anchor) {
		t.Helper()
		if err := f.Replace(f.Current().anchored(more)); err != nil {
			t.Fatal(err)
		}
	}
	replace(anchorOf("aaaaaaaaaaaa"))
	backup, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	replace(anchorOf("bbbbbbbbbbbb"))
	if err := desktop.WritePrivate(f.path, backup); err != nil {
		t.Fatal(err)
	}
	again, err := opened(t, dir)
	if err != nil || again.Current().Revision != 3 || again.Current().Anchors["wiki"].Identity != "aaaaaaaaaaaa" {
		t.Fatalf("%v: %+v", err, again.Current())
	}
	found := again.news.findings(again.Current())
	if len(found) != 1 || found[0].Severity != "warning" || !strings.Contains(found[0].Text, "to aaaaaaaaaaaa, but bbbbbbbbbbbb") {
		t.Errorf("it tells %+v", found)
	}
	if third, err := opened(t, dir); err != nil || len(third.news.findings(third.Current())) != 0 {
		t.Errorf("%v: told again", err)
	}
}

// What is no file is said to be what it is, and what helps depends on the copy.
func TestFolderInPlaceOfTheFleetPolicyIsCalledOne(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "fleet-policy.json")
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := opened(t, dir)
	var bad *PolicyError
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), "is a folder") || strings.Contains(err.Error(), "chmod") || !strings.Contains(err.Error(), "identity") {
		t.Fatalf("got %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f, err := opened(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Replace(f.Current().anchored(anchorOf("aaaaaaaaaaaa"))); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err = opened(t, dir); err == nil || !strings.Contains(err.Error(), "as the database remembers it (revision 1, with wiki)") {
		t.Fatalf("got %v", err)
	}
}
