package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellwether/engine/admin"
)

// T-13: a value set in one place and overwritten in another is shown as it
// counts, with where it comes from.
func TestConfigShowsValueSourceDefaultAndUnit(t *testing.T) {
	t.Parallel()
	h := newHome(t, "routing: {max_retries: 1}", nil)
	h.env = append(h.env, "FLEET_PIN_TTL=600")
	all := map[string]admin.SettingView{}
	for _, s := range decode[[]struct {
		Key, Source, Unit string
		Value, Default    any
	}](t, h.run(t, "config", "show", "--json", "--set", "heartbeat.late=20").ends(t, exitDone).out) {
		all[s.Key] = admin.SettingView{Key: s.Key, Source: s.Source, Unit: s.Unit}
	}
	for key, source := range map[string]string{"listen": "default", "node.name": "file", "routing.max_retries": "file", "routing.pins.ttl": "FLEET_PIN_TTL", "heartbeat.late": "flag"} {
		if got := all[key].Source; !strings.Contains(strings.ToLower(got), strings.ToLower(source)) {
			t.Errorf("%s comes from %q, want %q", key, got, source)
		}
	}
	if all["routing.pins.ttl"].Unit != "s" {
		t.Errorf("routing.pins.ttl is in %q", all["routing.pins.ttl"].Unit)
	}
	h.run(t, "config", "show", "--changed").ends(t, exitDone).says(t, "routing.max_retries", "600").lacks(t, "log_level")
	h.run(t, "config", "check").ends(t, exitDone).says(t, "The settings are right")
	h.run(t, "config", "path").ends(t, exitDone).says(t, filepath.Join(h.dir, "config.yaml"))
	if path := strings.TrimSpace(h.run(t, "config", "path", "--log").ends(t, exitDone).out); filepath.Base(path) != "bellwether.log" || !strings.HasPrefix(path, h.dir) {
		t.Errorf("the log is in %q", path)
	}
}

func TestWrongSettingsNameFileLineKeyValueAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	h := newHome(t, "", nil)
	for _, c := range []struct {
		text string
		want []string
	}{
		{"listen: localhost:11435\nunknown_memory_policy: maybe\n", []string{"config.yaml", "2", "unknown_memory_policy", "maybe", "allow", "reject"}},
		{"routing:\n  max_retries: many\n", []string{"config.yaml", "2", "routing.max_retries", "many"}},
		{"routing:\n  max_retrys: 1\n", []string{"config.yaml", "2", "max_retrys", "max_retries"}},
		{"listen: [\n", []string{"config.yaml"}},
	} {
		h.settings(t, c.text)
		for _, command := range [][]string{{"config", "check"}, {"serve"}} {
			h.run(t, command...).ends(t, exitUsage).says(t, c.want...)
		}
	}
	h.settings(t, "")
	h.run(t, "serve", "--set", "node.router=boss").ends(t, exitUsage).says(t, "node.router", "boss", "auto", "prefer", "never")
	h.run(t, "serve", "--config", filepath.Join(h.dir, "nowhere.yaml")).ends(t, exitUsage).says(t, "nowhere.yaml")
	if _, err := os.Stat(filepath.Join(h.dir, "engine.json")); err == nil {
		t.Error("an engine came up in spite of wrong settings")
	}
}

// config show, check and path are about the engine of the data folder, however it
// was started, and about the files where none runs.
func TestConfigShowsWhatTheRunningEngineHas(t *testing.T) {
	t.Parallel()
	h := newHome(t, "", nil)
	file := filepath.Join(t.TempDir(), "s.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text+"runtimes: [{name: nobody, kind: ollama, url: 'http://127.0.0.1:9'}]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("routing: {hold: {max: 6s}}\n")
	h.serve(t, "--config", file, "--set", "log_level=warn", anywhere)
	shown := h.run(t, "config", "show", "--changed").ends(t, exitDone).
		says(t, "settings of the engine that runs at "+h.address, "its file is "+file, "s.yaml:1", "flag --set", "warn", "127.0.0.1:0")
	if !strings.Contains(shown.out, "routing.hold.max  6 ") {
		t.Errorf("routing.hold.max is not the engine's:\n%s", shown.out)
	}
	h.run(t, "config", "path").ends(t, exitDone).says(t, file)
	h.run(t, "config", "check").ends(t, exitDone).says(t, "The settings are right. The file is "+file)

	// Every value has the type that the files give it.
	live := h.run(t, "config", "show", "--json").ends(t, exitDone).out
	fromFile := h.run(t, "config", "show", "--json", "--config", file, "--set", "log_level=warn", anywhere).ends(t, exitDone).says(t, "flags are given").out
	if live != fromFile {
		t.Errorf("the engine gives\n%s\nand the files\n%s", live, fromFile)
	}

	// What waits for a restart is as it is until then, and a wrong file is told.
	write("node: {name: other}\nrouting: {hold: {max: 7s}}\n")
	until(t, "the new file is read", func() bool {
		return strings.Contains(h.run(t, "config", "show").err, "in force after a restart: node.name")
	})
	h.run(t, "config", "show", "--changed").ends(t, exitDone).says(t, "routing.hold.max  7 ").lacks(t, "other")
	write("nothing: 1\n")
	until(t, "the wrong file is read", func() bool { return strings.Contains(h.run(t, "config", "show").err, "nothing: no such setting") })
	h.run(t, "config", "check").ends(t, exitUsage).says(t, "s.yaml:1: nothing")

	stop(t, h.engine)
	h.run(t, "config", "show", "--changed").ends(t, exitDone).says(t, "no engine runs here", filepath.Join(h.dir, "config.yaml"), "studio").lacks(t, "s.yaml")
	h.run(t, "config", "path").ends(t, exitDone).says(t, filepath.Join(h.dir, "config.yaml"))
}
