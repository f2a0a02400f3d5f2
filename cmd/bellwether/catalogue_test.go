package main

import (
	"os"
	"path/filepath"
	"testing"

	"bellwether/engine/admin"
)

func TestModelsSayWhatTheyAreWorthAndWhoSaysSo(t *testing.T) {
	t.Parallel()
	f := fakeRuntime(t, "ollama", "-m", "qwen3:8b,params=8.19B,family=qwen3,caps=completion+tools", "-m", "house:1b")
	h := newHome(t, "deployments: [{match: 'qwen3*', quality: {coding: 0.9}}]", map[string]*fake{"ollama": f})
	h.serve(t, anywhere)
	h.run(t, "models").ends(t, exitDone).says(t, "QUALITY", "coding 0.90 (yours)", "(published)")
	h.run(t, "models", "show", "qwen3:8b").ends(t, exitDone).says(t,
		"In the catalogue as qwen3:8b, licence Apache-2.0", "tools", "yes", "runtime", "coding", "0.90", "your settings", "tool_use", "published: bfcl 2026-04")
	h.run(t, "models", "show", "house:1b").ends(t, exitDone).says(t, "Not in the catalogue", "catalogue.yaml", "its size is all there is to guess by")
	m := decode[admin.ModelStatus](t, h.run(t, "models", "show", "qwen3:8b", "--json").ends(t, exitDone).out)
	if m.Known == nil || m.Known.Thinking != "switch" || len(m.Quality) < 3 || m.Quality[0].Evidence != "prior:operator" {
		t.Errorf("got %+v", m)
	}

	// A saved state carries what was known, so that explain says the same
	// without the engine.
	saved := filepath.Join(t.TempDir(), "fleet")
	h.run(t, "status", "--snapshot", saved).ends(t, exitDone)
	live := h.runWith(t, chat("auto", false), "explain", "--live", "-").ends(t, exitDone).says(t, "qwen3:8b", "quality published: ").lacks(t, "prior:")
	stop(t, h.engine)
	if offline := h.runWith(t, chat("auto", false), "explain", "--snapshot", saved, "-").ends(t, exitDone); firstLine(offline.out) != firstLine(live.out) {
		t.Errorf("offline:\n%s\nlive:\n%s", offline.out, live.out)
	}
}

func TestAWrongCatalogueIsToldWithItsLine(t *testing.T) {
	t.Parallel()
	h := newHome(t, "", nil)
	h.run(t, "config", "check").ends(t, exitDone)
	if err := os.WriteFile(filepath.Join(h.dir, "catalogue.yaml"), []byte("models:\n  - name: mine\n    contxt: 4096\n    priors: {coding: 7 me}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"config", "check"}, {"serve", anywhere}} {
		h.run(t, command...).ends(t, exitUsage).says(t, "catalogue.yaml:3: mine: contxt is no field of an entry", `catalogue.yaml:4: mine: priors: coding: "7 me"`)
	}
	h.run(t, "doctor").says(t, "BROKEN", "catalogue.yaml:3")
}
