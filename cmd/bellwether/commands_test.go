package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"bellwether/engine"
	"bellwether/engine/admin"
	"bellwether/engine/route"
)

// studio is a data folder whose engine serves one stand-in Ollama.
func studio(t testing.TB) (*home, *fake) {
	t.Helper()
	f := fakeRuntime(t, "ollama", "-m", "tiny=40MB,ctx=8192,caps=completion+tools", "-m", "words=10MB,caps=embedding,width=8")
	h := newHome(t, "", map[string]*fake{"ollama": f})
	h.serve(t, anywhere)
	return h, f
}

func TestStatusShowsMachineRuntimesAndMemory(t *testing.T) {
	t.Parallel()
	h, _ := studio(t)
	h.ask(t, "tiny")
	s := h.status(t)
	switch {
	case s.Node.Name != "studio" || s.Node.ID == "" || s.Node.State != "serving" || s.Node.Reason != "":
		t.Errorf("node: %+v", s.Node)
	case s.Router.Name != "studio" || s.Router.Here == nil || !*s.Router.Here || s.Router.Epoch == nil:
		t.Errorf("router: %+v", s.Router)
	case len(s.Nodes) != 1 || s.Nodes[0].ID != s.Node.ID:
		t.Errorf("nodes: %+v", s.Nodes)
	case len(s.Runtimes) != 1 || s.Runtimes[0].Kind != "ollama" || !s.Runtimes[0].Up || len(s.Runtimes[0].Models) != 2:
		t.Errorf("runtimes: %+v", s.Runtimes)
	case s.Queues == nil:
		t.Error("queues is null, want a list")
	case s.Address != h.address:
		t.Errorf("address %q, want %q", s.Address, h.address)
	}
	until(t, "the model is loaded", func() bool { s = h.status(t); return s.residency("ollama", "tiny") == "loaded" })
	h.run(t, "status").ends(t, exitDone).
		says(t, "studio is serving", h.address, "ollama (ollama", "tiny", "loaded", "on disk", "studio/ollama/tiny").
		lacks(t, s.Node.ID, "on_disk")
}

// A GB is 2^30 bytes in settings and in what is shown alike: whoever grants 24
// reads 24 everywhere (the page's own test is in frontend/src/pages/Memory).
func TestAPoolSetTo24GBIsToldAs24GB(t *testing.T) {
	t.Parallel()
	h := newHome(t, "", nil)
	h.settings(t, "node: {name: studio}\nmeetings: {enabled: false}\npools: [{memory_gb: 24, margin_gb: 1.5}]\nruntimes: [{name: nobody, kind: ollama, url: 'http://127.0.0.1:9'}]\n")
	h.serve(t, anywhere)
	if s := h.status(t); len(s.Pools) == 0 || s.Pools[0].Limit != 24<<30 {
		t.Errorf("pools: %+v, want 24 GB", s.Pools)
	}
	h.run(t, "status").says(t, "nothing of 24 GB held, margin 1.5 GB")
	h.run(t, "doctor").says(t, ": 24 GB of ")
}

func TestStatusIsDegradedWithoutARuntime(t *testing.T) {
	t.Parallel()
	h := newHome(t, "", nil)
	h.serve(t, anywhere)
	h.run(t, "status").ends(t, exitDegraded).says(t, "no runtime is up", "nobody", "down")
	if log := h.engine.err.String(); !strings.Contains(log, "no runtime is up: bellwether doctor") {
		t.Errorf("the log does not say what to do:\n%s", log)
	}
}

func TestDecisionsListWhatWasServedAndRefused(t *testing.T) {
	t.Parallel()
	h, _ := studio(t)
	h.ask(t, "tiny")
	if status, body := h.ask(t, "tinny"); status < 400 || !strings.Contains(body, "bellwether models pull tinny") || !strings.Contains(body, "tiny") {
		t.Errorf("an unknown model: %d %s", status, body)
	}
	id := h.status(t).Node.ID

	lines := strings.Split(strings.TrimSpace(h.run(t, "decisions", "--json").ends(t, exitDone).out), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want one for each request:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	newest, oldest := decode[route.Record](t, lines[0]), decode[route.Record](t, lines[1])
	if newest.RequestedModel != "tinny" || oldest.RequestedModel != "tiny" || oldest.Outcome != "ok" || oldest.Node != "studio" || !strings.HasPrefix(oldest.Chosen, id+"/") {
		t.Errorf("newest %s on %q, oldest %s on %q %s (%s)", newest.RequestedModel, newest.Chosen, oldest.RequestedModel, oldest.Chosen, oldest.Node, oldest.Outcome)
	}
	count := func(args ...string) int {
		return strings.Count(h.run(t, append([]string{"decisions", "--json"}, args...)...).ends(t, exitDone).out, "\n")
	}
	for _, c := range []struct {
		want int
		args []string
	}{{1, []string{"--limit", "1"}}, {1, []string{"--outcome", "refused"}}, {1, []string{"--outcome", "ok"}}, {0, []string{"--outcome", "failed"}},
		{1, []string{"--model", "tiny"}}, {1, []string{"--node", "studio"}}, {0, []string{"--app", "nobody"}}} {
		if got := count(c.args...); got != c.want {
			t.Errorf("decisions %s: %d lines, want %d", strings.Join(c.args, " "), got, c.want)
		}
	}
	h.run(t, "decisions").ends(t, exitDone).says(t, "studio/ollama/tiny", "refused").lacks(t, id)
	h.run(t, "decisions", oldest.RequestID).ends(t, exitDone).says(t, "asked for tiny", "answered on studio/ollama/tiny", "Why:").lacks(t, id)
	one := decode[route.Record](t, h.run(t, "decisions", oldest.RequestID, "--json").ends(t, exitDone).out)
	if one.RequestID != oldest.RequestID || len(one.Candidates) != 1 {
		t.Errorf("one decision: %+v", one)
	}
	h.run(t, "decisions", "nothing").ends(t, exitRefused).says(t, "No decision with this id")
}

func TestDecisionIsExportedAsAScenarioThatDecidesTheSame(t *testing.T) {
	t.Parallel()
	h, _ := studio(t)
	h.ask(t, "tiny")
	until(t, "the model is reported loaded", func() bool { s := h.status(t); return s.residency("ollama", "tiny") == "loaded" })
	rec := decode[route.Record](t, h.run(t, "decisions", "--json").ends(t, exitDone).out)
	text := h.run(t, "decisions", rec.RequestID, "--export", "-").ends(t, exitDone).out
	s, err := route.ReadScenario(text)
	if err != nil || len(s.Steps) != 1 {
		t.Fatalf("%v\n%s", err, text)
	}
	step := &s.Steps[0]
	if got := route.Decide(step.View, step.Policy, &step.Query).Explain(); got != step.Want || !strings.Contains(got, "serve studio/ollama/tiny") {
		t.Errorf("it decides\n%s\nand wants\n%s", got, step.Want)
	}
	if strings.Contains(text, "Say something") {
		t.Error("the prompt is in it")
	}
	if !strings.Contains(step.Want, "it must be loaded first") || strings.Contains(text, "not kept") {
		t.Errorf("the model is loaded by now, and was not when it was decided:\n%s", text)
	}
	for _, reason := range rec.Reasons {
		if !strings.Contains(step.Want, "because "+reason) {
			t.Errorf("the record says %q, the scenario\n%s", reason, step.Want)
		}
	}
	if rec.Scenario != "" {
		t.Error("a list carries scenarios")
	}
	h.run(t, "decisions", "--export", "-").ends(t, exitUsage)
}

func TestDecisionsFollowPrintsWhatEndsFromNowOn(t *testing.T) {
	t.Parallel()
	h, f := studio(t)
	h.ask(t, "words")
	// A request that arrives first and ends last must not be missed.
	f.order(t, `{"inject":[{"path":"/api/chat","break":"hold","times":1}]}`)
	slow := make(chan int, 1)
	go func() { status, _ := h.ask(t, "tiny"); slow <- status }()
	until(t, "the slow request runs", func() bool {
		for _, q := range h.status(t).Queues {
			if q.Running == 1 {
				return true
			}
		}
		return false
	})
	cmd := exec.Command(program("bellwether"), "--data-dir", h.dir, "decisions", "--follow", "--json")
	cmd.Env = h.env
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	stuck := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	lines := bufio.NewScanner(out)
	next := func() string {
		if !lines.Scan() {
			t.Fatal("decisions --follow ended")
		}
		r := decode[route.Record](t, lines.Text())
		return r.RequestedModel + " " + string(r.Outcome)
	}
	if got := next(); got != "words refused" {
		t.Errorf("first line %q, want what was there before", got)
	}
	if status, body := post(t, h.address+"/v1/embeddings", `{"model":"words","input":"a"}`); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	if got := next(); got != "words ok" {
		t.Errorf("then %q, want the new one", got)
	}
	f.order(t, `{"release":true}`)
	if got := next(); got != "tiny ok" {
		t.Errorf("then %q, want the one that arrived before and ended last", got)
	}
	if status := <-slow; status != 200 {
		t.Errorf("the slow request: %d", status)
	}
}

func TestModelsAreListedLoadedUnloadedPulledAndDeleted(t *testing.T) {
	t.Parallel()
	h, _ := studio(t)
	all := decode[[]admin.ModelStatus](t, h.run(t, "models", "--json").ends(t, exitDone).out)
	if len(all) != 2 || all[0].Deployment.Model != "tiny:latest" && all[0].Deployment.Model != "tiny" {
		t.Errorf("models --json: %+v", all)
	}
	h.run(t, "models", "list").ends(t, exitDone).says(t, "MODEL", "tiny", "tools (runtime)", "embedding")

	h.run(t, "models", "load", "tiny").ends(t, exitDone).says(t, "Loaded tiny").lacks(t, all[0].Deployment.Node)
	if s := h.status(t); s.residency("ollama", all[0].Deployment.Model) != "loaded" {
		t.Errorf("after load: %+v", s.Runtimes)
	}
	done := decode[map[string]string](t, h.run(t, "models", "unload", "ollama/"+all[0].Deployment.Model, "--json").ends(t, exitDone).out)
	if done["done"] != "unload" || done["deployment"] != all[0].Deployment.String() {
		t.Errorf("unload --json: %v", done)
	}
	if s := h.status(t); s.residency("ollama", all[0].Deployment.Model) != "on_disk" {
		t.Errorf("after unload: %+v", s.Runtimes)
	}

	h.run(t, "models", "pull", "fresh:1b").ends(t, exitDone).says(t, "pulling manifest", "Pulled fresh:1b")
	steps := strings.Split(strings.TrimSpace(h.run(t, "models", "pull", "fresh:2b", "--json").ends(t, exitDone).out), "\n")
	if last := decode[admin.Progress](t, steps[len(steps)-1]); last.Status != "success" {
		t.Errorf("last step of a pull: %+v", last)
	}
	if s := h.status(t); s.residency("ollama", "fresh:1b") != "on_disk" {
		t.Error("a pulled model is not listed")
	}
	if status, body := h.ask(t, "fresh:1b"); status != 200 {
		t.Errorf("a pulled model does not serve: %d %s", status, body)
	}
	h.run(t, "models", "pull", "../../etc/passwd").ends(t, exitRefused).says(t, "not well formed")
	h.run(t, "models", "pull", "evil.example/x/y").ends(t, exitRefused).says(t, "evil.example", "routing.auto_pull_allow")

	h.runWith(t, "n\n", "models", "delete", "fresh:1b").ends(t, exitRefused).says(t, "nothing was deleted")
	h.run(t, "models", "delete", "fresh:1b", "--yes").ends(t, exitDone).says(t, "Deleted fresh:1b")
	if s := h.status(t); s.residency("ollama", "fresh:1b") != "" {
		t.Error("a deleted model is still listed")
	}
	h.run(t, "models", "load", "nothing").ends(t, exitRefused).says(t, "no model nothing is here")
}

func TestModelsArePinnedAndLetGo(t *testing.T) {
	t.Parallel()
	h, _ := studio(t)
	h.run(t, "models", "pin", "tiny").ends(t, exitDone).says(t, "Pinned tiny")
	type setting struct {
		Key    string
		Value  any
		Source string
	}
	for _, s := range decode[[]setting](t, h.run(t, "config", "show", "--json").ends(t, exitDone).out) {
		if s.Key == "routing.pinned_models" && (!strings.Contains(fmt.Sprint(s.Value), "tiny") || !strings.HasPrefix(s.Source, "file ")) {
			t.Errorf("the setting is not written: %+v", s)
		}
	}
	done := decode[map[string]string](t, h.run(t, "models", "unpin", "tiny", "--json").ends(t, exitDone).out)
	if done["done"] != "unpin" {
		t.Errorf("unpin --json: %v", done)
	}
	h.run(t, "models", "pin", "nothing").ends(t, exitRefused).says(t, "No machine has the model", "Pull it first")
}

func TestModelOnSeveralRuntimesMustBeNamedInFull(t *testing.T) {
	t.Parallel()
	a, b := fakeRuntime(t, "ollama", "-m", "tiny"), fakeRuntime(t, "ollama", "-m", "tiny")
	h := newHome(t, "", map[string]*fake{"one": a, "two": b})
	h.serve(t, anywhere)
	h.run(t, "models", "load", "tiny").ends(t, exitUsage).says(t, "one/tiny", "two/tiny")
	h.run(t, "models", "load", "two/tiny:latest").ends(t, exitDone).says(t, "Loaded tiny", "two")
}

func TestModelInUseIsNotUnloaded(t *testing.T) {
	t.Parallel()
	h, f := studio(t)
	f.order(t, `{"inject":[{"path":"/api/chat","break":"hold","times":1}]}`)
	slow := make(chan int, 1)
	go func() { status, _ := h.ask(t, "tiny"); slow <- status }()
	until(t, "the request runs", func() bool { return len(h.status(t).Queues) == 1 })
	h.run(t, "models", "unload", "tiny").ends(t, exitRefused).says(t, "in use by 1 request")
	f.order(t, `{"release":true}`)
	if status := <-slow; status != 200 {
		t.Errorf("the request that ran: %d", status)
	}
}

func TestPauseRefusesUntilResumed(t *testing.T) {
	t.Parallel()
	h, _ := studio(t)
	h.run(t, "pause", "--reason", "rendering").ends(t, exitDone).says(t, "studio is paused: rendering")
	h.run(t, "status").ends(t, exitDegraded).says(t, "studio is paused: rendering")
	h.runWith(t, chat("tiny", false), "explain", "--live", "-").says(t, "studio is paused", "bellwether resume")
	state := decode[admin.NodeStatus](t, h.run(t, "pause", "--for", "1h", "--json").ends(t, exitDone).out)
	if state.State != "paused" || !strings.Contains(state.Reason, "until "+time.Now().Add(time.Hour).Format("15:")) {
		t.Errorf("pause --for 1h: %+v", state)
	}
	h.run(t, "pause", "--until", "tomorrow").ends(t, exitDone).says(t, "(until "+engine.Tomorrow(time.Now()).Format("Mon")+" 06:00)")
	h.run(t, "pause", "--until", "lunch").ends(t, exitUsage).says(t, "18:30")
	h.run(t, "pause", "--for=-1h").ends(t, exitUsage)
	h.run(t, "pause", "--for", "1h", "--until", "tomorrow").ends(t, exitUsage)
	h.run(t, "resume").ends(t, exitDone).says(t, "studio is serving")
	if status, body := h.ask(t, "tiny"); status != 200 {
		t.Errorf("after resume: %d %s", status, body)
	}
}

func TestPauseEndsByItself(t *testing.T) {
	t.Parallel()
	h, _ := studio(t)
	h.run(t, "pause", "--for", "50ms").ends(t, exitDone)
	until(t, "the pause is over", func() bool { return h.run(t, "status").code == exitDone })
}

func TestDoctorIsContentWithASoundMachine(t *testing.T) {
	t.Parallel()
	h, _ := studio(t)
	findings := decode[[]admin.Finding](t, h.run(t, "doctor", "--json").out)
	i := slices.IndexFunc(findings, func(f admin.Finding) bool { return f.ID == "runtime.ollama" })
	if i < 0 || findings[i].Severity != "ok" {
		t.Errorf("findings: %+v", findings)
	}
	h.run(t, "doctor").says(t, "OK       Apps are served at "+h.address, "serves 2 models")
}

func TestDoctorSaysHowToStartWhatIsInstalled(t *testing.T) {
	t.Parallel()
	h := newHome(t, "", nil)
	bin := t.TempDir()
	tool := filepath.Join(bin, "ollama")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.env = append(h.env, "PATH="+bin)
	alone := h.run(t, "doctor").ends(t, exitNoEngine).says(t, "no engine is running", "bellwether serve", "nobody at http://127.0.0.1:9 does not answer")
	h.serve(t, anywhere)
	broken := h.run(t, "doctor").ends(t, exitDegraded).says(t, "BROKEN", "nobody at http://127.0.0.1:9 is down")
	for _, s := range []said{alone, broken} {
		if !strings.Contains(s.out, "ollama is installed but not running") && !strings.Contains(s.out, "ollama runs but does not answer") && !strings.Contains(s.out, "ollama answers at") {
			t.Errorf("nothing is said of the program that is there:\n%s", s.out)
		}
	}
	broken.says(t, "ollama") // and the command, which differs by system
	findings := decode[[]admin.Finding](t, h.run(t, "doctor", "--json").ends(t, exitDegraded).out)
	if findings[0].Severity != "broken" || findings[0].Remedy == "" {
		t.Errorf("the worst is not first, or nothing cures it: %+v", findings[0])
	}
}

func TestCommandsWithoutAnEngineSaySo(t *testing.T) {
	t.Parallel()
	h := newHome(t, "", nil)
	for _, args := range [][]string{{"status"}, {"decisions"}, {"models"}, {"models", "pull", "x"}, {"pause"}, {"resume"}, {"open"}, {"doctor"}, {"doctor", "--json"}} {
		s := h.run(t, args...).ends(t, exitNoEngine)
		s.says(t, "no engine is running here", "bellwether serve")
	}
	h.runWith(t, chat("tiny", false), "explain", "--live", "-").ends(t, exitNoEngine)
	h.runWith(t, chat("tiny", false), "explain", "-").ends(t, exitFailed).says(t, "no saved state", "--live")

	// A state file left by an engine that was killed means the same.
	h.serve(t, anywhere)
	h.engine.kill()
	h.run(t, "status").ends(t, exitNoEngine).says(t, "does not answer at "+h.address)
}

func TestWrongUseSaysWhatIsWanted(t *testing.T) {
	t.Parallel()
	h := newHome(t, "", nil)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"statuss"}, `there is no command "statuss"; did you mean status?`},
		{[]string{"models", "lst"}, `there is no command "models lst"; did you mean models list?`},
		{[]string{"xyzzy"}, `there is no command "xyzzy"` + "\n"},
		{[]string{"status", "--data-dir"}, "--data-dir=DIR"},
		{[]string{"serve", "--listen"}, "--listen=HOST:PORT"},
		{[]string{"serve", "--set"}, "--set=KEY=VALUE"},
		{[]string{"pause", "--for"}, "--for=TIME"},
		{[]string{"pause", "--for", "1x"}, `it takes a time like 1h, 30m or 1h30m, not "1x"`},
		{[]string{"config", "check", "--set", "node.name=a/b"}, `--set: node.name: "a/b"`},
	} {
		h.run(t, c.args...).ends(t, exitUsage).says(t, c.want).lacks(t, "EOL", "unknown unit", "--node.name")
	}
}

// Without a home there is nowhere to look, and a flag that mends it.
func TestWithoutAHomeAFolderIsAskedFor(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a home there has other names")
	}
	t.Setenv("HOME", "")
	var out, errs bytes.Buffer
	said{err: errs.String(), code: run([]string{"status"}, strings.NewReader(""), &out, &errs)}.ends(t, exitFailed)
	said{err: errs.String()}.says(t, "home", "--data-dir")
}

func TestTheDoctorSaysWhoHoldsTheAddress(t *testing.T) {
	t.Parallel()
	h := newHome(t, "", nil)
	holder, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	h.settings(t, "listen: "+holder.Addr().String()+"\nruntimes: [{name: nobody, kind: ollama, url: 'http://127.0.0.1:9'}]\n")
	s := h.run(t, "doctor").ends(t, exitNoEngine).says(t, "holds "+holder.Addr().String(), "--listen")
	if owner := portOwner(holder.Addr().(*net.TCPAddr).Port); owner != "" {
		s.says(t, owner+" holds ")
	}
	_ = holder.Close()
	h.run(t, "doctor").ends(t, exitNoEngine).lacks(t, " holds ")
}

func TestWrongUseIsToldFromFailure(t *testing.T) {
	t.Parallel()
	h := newHome(t, "", nil)
	for _, args := range [][]string{{"stauts"}, {"status", "--nope"}, {"decisions", "--limit", "0"}, {"decisions", "--limit", "many"},
		{"decisions", "--outcome", "fine"}, {"explain"}, {"models", "pull"}, {"config", "show", "--listen", "nowhere"}, {"pause", "--for", "long"}, {"pause", "--for", "0s"}, {"pause", "--for=-1h"}} {
		if s := h.run(t, args...).ends(t, exitUsage); s.err == "" {
			t.Errorf("%v: nothing says what is wrong", args)
		}
	}
}

// What is started from a desktop's menu has no arguments; a shell without a
// desktop gets the same engine, and is told so.
func TestWithoutACommandItIsTheDesktopApp(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere it would show an icon and a window to whoever runs the tests")
	}
	h := newHome(t, "listen: 127.0.0.1:0\n", nil)
	env, _ := desktopEnv(t, h.env, "")
	h.env = append(env, "FLEET_DATA_DIR="+h.dir, "XDG_RUNTIME_DIR="+t.TempDir())
	h.engine = launch(t, h.env, "bellwether")
	h.ready(t)
	if !strings.Contains(h.engine.out.String(), "No icon is shown") {
		t.Errorf("it says %q", h.engine.out)
	}
	stop(t, h.engine)
	h.run(t, "--help").ends(t, exitDone).says(t, "decisions", "doctor", "Exit codes", "http://localhost:11435")
}

func TestVersionAndCompletion(t *testing.T) {
	t.Parallel()
	h := newHome(t, "", nil)
	h.run(t, "version").ends(t, exitDone).says(t, "bellwether "+version)
	if v := decode[map[string]string](t, h.run(t, "version", "--json").out)["version"]; v != version {
		t.Errorf("version --json: %q", v)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		h.run(t, "completion", "-c", shell).ends(t, exitDone).says(t, "bellwether")
	}
	cmd := exec.Command(program("bellwether"))
	cmd.Env = append(slices.Clone(h.env), "COMP_LINE=bellwether mod", "COMP_POINT=14")
	if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != "models" {
		t.Errorf("completing \"mod\": %v %q", err, out)
	}
}

func TestJSONOfEveryCommandIsJSON(t *testing.T) {
	t.Parallel()
	h, _ := studio(t)
	h.ask(t, "tiny")
	for _, args := range [][]string{{"status"}, {"decisions"}, {"models"}, {"models", "load", "tiny"}, {"eval"}, {"probe", "words"}, {"pause"}, {"resume"}, {"doctor"}, {"version"},
		{"config", "show"}, {"config", "check"}, {"config", "path"}, {"status", "--snapshot", filepath.Join(t.TempDir(), "s")}} {
		s := h.run(t, append(args, "--json")...)
		in := json.NewDecoder(strings.NewReader(s.out))
		n := 0
		for ; in.More(); n++ {
			var v any
			if err := in.Decode(&v); err != nil {
				t.Errorf("%v: %v\n%s", args, err, s.out)
				break
			}
		}
		if n == 0 {
			t.Errorf("%v printed nothing", args)
		}
	}
}

func TestHelpAndVersionAreUnderstoodHoweverAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"help"}, "Exit codes"}, {[]string{"--help"}, "Exit codes"},
		{[]string{"help", "pause"}, "Take no new work"}, {[]string{"--version"}, "bellwether "}, {[]string{"version"}, "bellwether "},
	} {
		var out, err strings.Builder
		if code := run(c.args, strings.NewReader(""), &out, &err); code != exitDone || !strings.Contains(out.String(), c.says) {
			t.Errorf("%v: exit %d, %q %q", c.args, code, out.String(), err.String())
		}
	}
}
