package engine

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellwether/engine/admin"
	"bellwether/engine/runtime/runtimetest"
	"bellwether/platform/desktop"
)

// findings returns the checks of an id as the feed has them.
func (r *rig) finding(id string) (f admin.FindingView, there bool) {
	for _, f := range r.health(context.Background()) {
		if f.ID == id {
			return f, true
		}
	}
	return admin.FindingView{}, false
}

// Real faults of a running engine: each is made, told, and gone once it is
// cured, by its button where it has one.
func TestFaultsOfARunningEngineAreToldAndPassWhenTheyAreCured(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{
		"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}},
		"empty":  {Models: nil},
		"lms":    {Kind: runtimetest.LlamaServer, Models: []runtimetest.FakeModel{{Name: "other.gguf"}}},
	}})
	dir := r.opts.Folders.Data
	file := r.conf().file
	settings, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	change := func(pairs ...string) func(t *testing.T) {
		return func(t *testing.T) {
			t.Helper()
			var s admin.SettingsAnswer
			r.owner(t, "GET", "/admin/settings", nil, &s)
			if code := r.owner(t, "POST", "/admin/settings", admin.SettingsChange{Revision: s.Revision, Changes: changing(pairs...)}, nil); code != 200 {
				t.Fatalf("settings: %d", code)
			}
		}
	}
	write := func(path, text string) func(t *testing.T) {
		return func(t *testing.T) {
			t.Helper()
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_ = r.Reload(t.Context())
		}
	}
	press := func(id string) func(t *testing.T) {
		return func(t *testing.T) {
			t.Helper()
			if code := r.owner(t, "POST", "/admin/findings/"+id+"/cure", nil, nil); code != 200 {
				t.Fatalf("the button: %d", code)
			}
		}
	}
	pool := "pool." + r.agent.Heartbeat().Pools[0].Name
	provoked := map[string]bool{} // checks, here and in scenes
	for _, c := range sceneFaults() {
		provoked[checkKind(c.id)] = true
	}
	for _, c := range []struct {
		name         string
		fault, cure  func(t *testing.T)
		id, severity string // while it is wrong
		says, remedy string
		button       string
	}{
		{"a runtime is down",
			func(*testing.T) { r.fakes["ollama"].Kill(); _ = r.agent.Refresh(context.Background()) },
			func(t *testing.T) {
				if err := r.fakes["ollama"].Start(); err != nil {
					t.Fatal(err)
				}
				press("runtime.ollama")(t)
			},
			"runtime.ollama", isBroken, "is down", "", "Look again"},
		{"a pause",
			func(t *testing.T) { r.owner(t, "POST", "/admin/pause", map[string]string{"reason": "a build"}, nil) }, press("pause"),
			"pause", isNote, "a build", "bellwether resume", "Resume"},
		{"a key that others can read",
			func(t *testing.T) { must(t, os.Chmod(filepath.Join(dir, "node.key"), 0o644)) }, press("private"),
			"private", isBroken, "can read node.key", "private", "Make private"},
		{"keys in a file that others can read",
			func(t *testing.T) {
				change("security.api_keys", `[{"name":"phone","key":"`+secretKey+`"}]`)(t)
				must(t, os.Chmod(file, 0o644))
			}, func(t *testing.T) { press("private")(t); change("security.api_keys", "-")(t) },
			"private", isBroken, "can read config.yaml", "private", "Make private"},
		{"a wrong settings file",
			write(file, string(settings)+"\nlog_levl: info\n"), write(file, string(settings)),
			"settings", isBroken, "log_levl", "Correct it", ""},
		{"settings that wait for a restart",
			change("store.retention_days", "3"), change("store.retention_days", "-"),
			"settings", isNote, "store.retention_days", "Restart", ""},
		{"a wrong catalogue of one's own",
			write(filepath.Join(dir, ownCatalogue), "models: [{name: }]\nnonsense: 1\n"), func(t *testing.T) {
				must(t, os.Remove(filepath.Join(dir, ownCatalogue)))
				must(t, r.Reload(t.Context()))
			},
			"catalogue", isBroken, ownCatalogue, "Correct it", ""},
		{"a margin that leaves nothing",
			change("pools", `[{"memory_gb":"auto","margin_gb":60000}]`), change("pools", `[{"memory_gb":1,"margin_gb":0}]`),
			pool, isBroken, "no model can be loaded", "margin_gb", ""},
		{"a pool larger than the machine",
			change("pools", `[{"memory_gb":60000,"margin_gb":0}]`), change("pools", `[{"memory_gb":1,"margin_gb":0}]`),
			pool, isWarning, "more than there is", "memory_gb", ""},
		{"limits of a pool that is not there",
			change("pools", `[{"name":"tiny","memory_gb":1,"margin_gb":0}]`), change("pools", `[{"memory_gb":1,"margin_gb":0}]`),
			"pool.unknown.tiny", isWarning, "none of that name", "Name the pool", ""},
		{"an alias that nobody can serve",
			change("aliases", `{"house":{"models":["gone:1b"]}}`), change("aliases", "-"),
			"alias.house", isWarning, "gone:1b", "Pull", ""},
		{"an embedding contract without members",
			change("embeddings", `{"docs":{"members":["gone:1b"]}}`), change("embeddings", "-"),
			"embeddings", isWarning, "docs", "Pull a member", ""},
		{"declarations that contradict each other",
			change("deployments", `[{"match":"chat:*","context":4096},{"match":"*at:1b","context":8192}]`), change("deployments", "-"),
			"declarations", isWarning, "context", "pattern", ""},
		{"a deadline shorter than the load",
			func(t *testing.T) {
				r.evidence.ObserveLoad(r.model("chat:1b"), 9e9)
				r.evidence.ObserveLoad(r.model("chat:1b"), 9e9)
				write(file, strings.Replace(string(settings), `kind: ollama, url: "`+r.fakes["ollama"].URL()+`"`, `kind: ollama, timeouts: {first_content: 2s}, url: "`+r.fakes["ollama"].URL()+`"`, 1))(t)
			}, write(file, string(settings)),
			"deadline.ollama/chat:1b", isWarning, "every first try is cut off", "first_content", ""},
		{"a disk without room",
			func(*testing.T) { r.space.Store(&desktop.Space{Free: 1 << 20, Total: 1 << 40}) }, func(*testing.T) { r.space.Store(&desktop.Space{Free: 1 << 39, Total: 1 << 40}) },
			"disk", isBroken, "left", "Make room", ""},
		{"a runtime without models",
			func(*testing.T) {}, func(t *testing.T) {
				if err := r.agent.Pull(t.Context(), "empty", "new:1b", nil); err != nil {
					t.Fatal(err)
				}
			},
			"runtime.empty", isWarning, "no models", "pull", ""},
	} {
		provoked[checkKind(c.id)] = true
		t.Run(c.name, func(t *testing.T) {
			c.fault(t)
			var f admin.FindingView
			r.await(t, "the finding", func() bool {
				var there bool
				f, there = r.finding(c.id)
				return there && f.Severity == c.severity
			})
			if !strings.Contains(f.Text, c.says) || !strings.Contains(f.Remedy, c.remedy) || f.Remedy == "" || f.Title == "" || (f.Cure != nil) != (c.button != "") || f.Cure != nil && f.Cure.Label != c.button {
				t.Errorf("found %+v, cure %+v", f, f.Cure)
			}
			c.cure(t)
			r.await(t, "its end", func() bool {
				f, there := r.finding(c.id)
				return !there || f.Severity == isOK || f.Severity != c.severity && !strings.Contains(f.Text, c.says)
			})
		})
	}
	if len(provoked) < 25 {
		t.Errorf("only %d checks are provoked and cured: %v", len(provoked), slices.Sorted(maps.Keys(provoked)))
	}
}

// A runtime whose key we have wrong is told apart from one that is down, and
// set right from the settings page without its key being seen.
func TestAWrongKeyOfARuntimeIsToldAndSetRight(t *testing.T) {
	f, err := runtimetest.NewFake(runtimetest.FakeConfig{Kind: runtimetest.LlamaServer, APIKey: secretKey, Models: []runtimetest.FakeModel{{Name: "other.gguf"}}})
	if err != nil {
		t.Fatal(err)
	}
	must(t, f.Start())
	defer f.Close()
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}}},
		runtimes: "  - {name: lms, kind: llama-server, url: \"" + f.URL() + "\", api_key: wrong-key-1}\n"})
	r.await(t, "the finding", func() bool {
		k, _ := r.finding("runtime.lms")
		return k.Severity == isBroken && strings.Contains(k.Remedy, "api_key")
	})
	var s admin.SettingsAnswer
	r.owner(t, "GET", "/admin/settings", nil, &s)
	code := r.owner(t, "POST", "/admin/settings", admin.SettingsChange{Revision: s.Revision, Changes: changing("runtimes",
		`[{"name":"ollama","kind":"ollama","url":"`+r.fakes["ollama"].URL()+`"},{"name":"lms","kind":"llama-server","url":"`+f.URL()+`","api_key":"`+secretKey+`"}]`)}, nil)
	if code != 200 {
		t.Fatalf("settings: %d", code)
	}
	r.await(t, "its end", func() bool { k, _ := r.finding("runtime.lms"); return k.Severity == isOK })
}

// The button of a model of which nobody knows what it can do asks it, as a job.
func TestProbingByAButtonIsAJob(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"lms": {Kind: runtimetest.LlamaServer, Models: []runtimetest.FakeModel{{Name: "other.gguf"}}}}})
	d := r.registry.Snapshot().Nodes[0].Deployments[0]
	must(t, r.scene(t.Context()).do.probe(t.Context(), d.ID))
	r.await(t, "the probe's end", func() bool {
		jobs := r.jobs()
		return len(jobs) > 0 && jobs[0].Kind == "probe" && jobs[0].State == "done" && r.measuringNow() == ""
	})
	if r.evidence.Book().Probe(&d) == nil {
		t.Error("nothing is known after it")
	}
}

// Beyond this machine nobody is let in without a key, which is told before
// somebody wonders.
func TestListeningBeyondThisMachineWithoutKeysIsTold(t *testing.T) {
	r := newRig(t, spec{config: quick, listen: "0.0.0.0:0", fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}}}})
	if k, _ := r.finding("keys"); k.Severity != isWarning || k.Setting != "security.api_keys" {
		t.Errorf("found %+v", k)
	}
	var s admin.SettingsAnswer
	r.owner(t, "GET", "/admin/settings", nil, &s)
	if code := r.owner(t, "POST", "/admin/settings", admin.SettingsChange{Revision: s.Revision, Changes: changing("security.api_keys", `[{"name":"phone","key":"`+secretKey+`"}]`)}, nil); code != 200 {
		t.Fatalf("settings: %d", code)
	}
	if k, _ := r.finding("keys"); k.Severity != isOK {
		t.Errorf("still found: %+v", k)
	}
}

func TestEveryFindingHasItsOwnIDAndATitle(t *testing.T) {
	r := newRig(t, spec{config: quick + `aliases: {a: {models: [x:1b]}, b: {models: [y:1b]}}
embeddings: {docs: {members: [m:1b]}, notes: {members: [n:1b]}}
`, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}}, "lms": {Kind: runtimetest.LlamaServer, Models: []runtimetest.FakeModel{{Name: "other.gguf"}}}}})
	seen := map[string]bool{}
	last := 0
	for _, f := range r.health(t.Context()) {
		if seen[f.ID] || f.Title == "" || f.Text == "" || f.ID == "" {
			t.Errorf("finding %+v", f)
		}
		seen[f.ID] = true
		if severityRank[f.Severity] < last {
			t.Errorf("%s comes after what is milder", f.ID)
		}
		last = severityRank[f.Severity]
	}
	if !seen["embeddings"] || !seen["embeddings-2"] || !seen["alias.a"] {
		t.Errorf("found %v", seen)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLimitsOfAPoolThatIsNotThereAreToldOnce(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}}}}})
	var s admin.SettingsAnswer
	r.owner(t, "GET", "/admin/settings", nil, &s)
	if code := r.owner(t, "POST", "/admin/settings", admin.SettingsChange{Revision: s.Revision, Changes: changing("pools", `[{"name":"tiny","memory_gb":1,"margin_gb":0.2}]`)}, nil); code != 200 {
		t.Fatalf("settings: %d", code)
	}
	var told []string
	for _, c := range r.checks(t.Context()) {
		if strings.Contains(c.Text, "tiny") {
			told = append(told, c.ID+" "+c.Severity)
		}
	}
	if !slices.Equal(told, []string{"pool.unknown.tiny warning"}) {
		t.Errorf("told %q", told)
	}
}
