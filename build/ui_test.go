package main

import (
	"testing"
	"testing/fstest"
)

func TestUIIsBuiltAnewForSourcesAndPackagesOnly(t *testing.T) {
	files := func(change map[string]string) fstest.MapFS {
		all := fstest.MapFS{}
		for path, text := range map[string]string{
			"package-lock.json": "1", "index.html": "1", "src/App.svelte": "1", "src/lib/feed.ts": "1", "src/lib/feed.test.ts": "1",
			"src/test/setup.ts": "1", "embed.go": "1", "dist/index.html": "1", "node_modules/svelte/index.js": "1",
		} {
			all[path] = &fstest.MapFile{Data: []byte(text)}
		}
		for path, text := range change {
			all[path] = &fstest.MapFile{Data: []byte(text)}
		}
		return all
	}
	digest := func(change map[string]string) string {
		d, err := uiDigest(files(change))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	before := digest(nil)
	for path, counts := range map[string]bool{
		"package-lock.json": true, "index.html": true, "src/App.svelte": true, "src/lib/feed.ts": true, "src/pages/New.svelte": true, ".npmrc": true,
		"src/lib/feed.test.ts": false, "src/test/setup.ts": false, "embed.go": false, "dist/index.html": false, "node_modules/svelte/index.js": false,
	} {
		if changed := digest(map[string]string{path: "2"}) != before; changed != counts {
			t.Errorf("a change of %s: built anew %v, want %v", path, changed, counts)
		}
	}
	if _, err := uiDigest(fstest.MapFS{}); err != nil {
		t.Errorf("no sources: %v", err)
	}
}

func TestVitestReportIsCounted(t *testing.T) {
	passed, failed, skipped, err := readVitest([]byte(`{"numTotalTests":7,"numPassedTests":4,"numFailedTests":1,"numPendingTests":1,"numTodoTests":1,"success":false}`))
	if err != nil || passed != 4 || failed != 1 || skipped != 2 {
		t.Errorf("passed %d, failed %d, skipped %d, %v", passed, failed, skipped, err)
	}
	if _, _, _, err := readVitest([]byte("<html>")); err == nil {
		t.Error("not a report, and no error")
	}
}
