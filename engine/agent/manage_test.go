package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
	"bellwether/engine/runtime/runtimetest"
)

func TestDoctorTellsDownRuntimesAndWhatToDo(t *testing.T) {
	r := start(t, Settings{Runtimes: []runtime.Target{{Name: "ollama", Kind: runtime.KindOllama, URL: freePort(t)}}})
	found := map[string]Finding{}
	for _, x := range r.Doctor(t.Context()) {
		found[x.ID] = x
	}
	down := found["runtime.ollama"]
	if down.Severity != Broken || !strings.Contains(down.Text, "down") || down.Remedy == "" {
		t.Errorf("runtime.ollama = %+v, want it broken, with the reason and a remedy", down)
	}
	if pool := found["pool.ram"]; pool.Severity != OK {
		t.Errorf("pool.ram = %+v", pool)
	}
	for _, x := range found { // one loss is told once
		if x.Severity == Broken && x.ID != "runtime.ollama" {
			t.Errorf("besides, %+v", x)
		}
	}
}

// A runtime that is known and down may run in a container: no program is found
// then, and still the machine has a runtime.
func TestOnlyAMachineWithoutRuntimesIsToldToInstallOne(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	for name, kinds := range map[string]map[string]bool{"one that is down": {runtime.KindOllama: false}, "one that serves": {runtime.KindLlamaServer: true}} {
		for _, x := range Programs(t.Context(), kinds) {
			if x.Severity == Broken {
				t.Errorf("%s: %+v", name, x)
			}
		}
	}
	for _, x := range Programs(t.Context(), nil) {
		if x.ID == "program" && (x.Severity != Broken || !strings.Contains(x.Remedy, "Ollama")) {
			t.Errorf("without any: %+v", x)
		}
	}
}

func TestAPauseIsToldOnce(t *testing.T) {
	for reason, want := range map[string]string{
		"": "paused by its owner", "paused by its owner": "paused by its owner", "a build": "paused by its owner (a build)", "paused for lunch": "paused for lunch",
	} {
		if got := (&pause{On: true, Reason: reason}).text(time.Time{}); got != want {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
	}
}

func TestDoctorIsContentWithAServingNode(t *testing.T) {
	f := ollama(t, "small")
	r := start(t, onOllama(f))
	for _, x := range r.Doctor(t.Context()) {
		if x.Severity == Broken || x.Severity == Warning && !strings.HasPrefix(x.ID, "program.") {
			t.Errorf("finding = %+v", x)
		}
	}
}

func TestDoctorSaysWhenARuntimeHasNoModels(t *testing.T) {
	f := fake(t, runtimetest.FakeConfig{Models: []runtimetest.FakeModel{}})
	r := start(t, onOllama(f))
	for _, x := range r.Doctor(t.Context()) {
		if x.ID == "runtime.ollama" && len(r.Heartbeat().Deployments) == 0 && (x.Severity != Warning || !strings.Contains(x.Remedy, "pull")) {
			t.Errorf("finding = %+v", x)
		}
	}
}

// pulling is a runtime whose pulls the test steers.
type pulling struct {
	tape
	runtime.Manager
	began chan string
	steps chan runtime.PullProgress
}

func (p *pulling) Pull(ctx context.Context, model string, progress func(runtime.PullProgress)) error {
	p.began <- model
	for {
		select {
		case step, open := <-p.steps:
			if !open {
				return nil
			}
			progress(step)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func onPulling(t *testing.T) (*rig, *pulling) {
	p := &pulling{began: make(chan string, 8), steps: make(chan runtime.PullProgress)}
	r := start(t, Settings{Runtimes: []runtime.Target{{Name: "tape", Kind: "tape", URL: "http://tape"}}}, func(c *Config) {
		c.Connect = func(context.Context, runtime.Target) (runtime.Adapter, error) { return p, nil }
	})
	return r, p
}

// watchers is how many wait for the newest pull.
func (r *rig) watchers() int {
	r.jobs.mu.Lock()
	defer r.jobs.mu.Unlock()
	if len(r.jobs.jobs) == 0 {
		return 0
	}
	return r.jobs.jobs[len(r.jobs.jobs)-1].watchers
}

func TestOnePullServesAllWhoAskForTheModel(t *testing.T) {
	synctest.Test(t, onePull)
}

func onePull(t *testing.T) {
	r, p := onPulling(t)
	ended := make(chan []string, 2)
	for _, name := range []string{"new", "NEW:latest"} {
		go func() {
			var seen []string
			err := r.Pull(t.Context(), "tape", name, func(s runtime.PullProgress) { seen = append(seen, s.Status) })
			if err != nil {
				t.Error(err)
			}
			ended <- seen
		}()
	}
	<-p.began
	synctest.Wait()
	if n := r.watchers(); n != 2 {
		t.Fatalf("%d watchers of one pull", n)
	}
	p.steps <- runtime.PullProgress{Status: "pulling manifest"}
	p.steps <- runtime.PullProgress{Status: "pulling layer", Total: 10, Completed: 5}
	synctest.Wait()
	if got := r.Jobs()[0].Progress; got.Completed != 5 {
		t.Errorf("progress = %+v", got)
	}
	p.steps <- runtime.PullProgress{Status: "success"}
	close(p.steps)
	for range cap(ended) {
		if seen := <-ended; len(seen) != 3 || seen[2] != "success" {
			t.Errorf("steps = %v", seen)
		}
	}
	jobs := r.Jobs()
	if len(jobs) != 1 || jobs[0].EndedAt.IsZero() || jobs[0].Error != "" || jobs[0].Progress.Status != "success" || len(p.began) != 0 {
		t.Errorf("jobs = %+v", jobs)
	}
}

func TestPullEndsWithItsLastWatcherUnlessKept(t *testing.T) {
	synctest.Test(t, abandonedPull)
}

func abandonedPull(t *testing.T) {
	r, p := onPulling(t)
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Pull(ctx, "tape", "new", nil) }()
	<-p.began
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("pull ended with %v", err)
	}
	synctest.Wait()
	if got := r.Jobs()[0]; got.EndedAt.IsZero() || !got.Cancelled || got.Error == "" {
		t.Errorf("job = %+v, want it aborted with its last watcher", got)
	}

	j, err := r.StartPull(t.Context(), "tape", "new")
	if err != nil {
		t.Fatal(err)
	}
	<-p.began
	synctest.Wait()
	if got := r.Jobs()[0]; got.ID != j.ID || !got.EndedAt.IsZero() {
		t.Errorf("job = %+v, want it to go on without watchers", got)
	}
	if n := r.watchers(); n != 0 {
		t.Errorf("%d watchers", n)
	}
	if found, dismissed := r.DismissJob(j.ID); !found || dismissed {
		t.Error("a job that runs was dismissed")
	}
	if !r.CancelJob(j.ID) || r.CancelJob("nope") {
		t.Error("cancelling: want yes for the one, no for another")
	}
	synctest.Wait()
	if got := r.Jobs()[0]; !got.Cancelled || got.Error != "" {
		t.Errorf("job = %+v, want it cancelled by its owner, with nothing to say of it", got)
	}
	if found, dismissed := r.DismissJob(j.ID); !found || !dismissed || len(r.Jobs()) != 1 {
		t.Errorf("dismissing it: %v, %v; left %+v, want the other", found, dismissed, r.Jobs())
	}
	if found, _ := r.DismissJob(j.ID); found {
		t.Error("it was dismissed twice")
	}
}

func TestAPullThatFailsSaysWhyAndWhatHelps(t *testing.T) {
	for name, c := range map[string]struct {
		err           error
		error, remedy string
	}{
		"the runtime's own words": {fmt.Errorf("pull new: %w", &fleet.Failure{Class: fleet.FailMidStream, Code: runtime.CodeRuntimeError, Message: "file does not exist"}),
			"file does not exist", "Check its name, the network and the room on the disk, and pull it again."},
		"a runtime that ended": {fmt.Errorf("pull new: %w", &fleet.Failure{Class: fleet.FailMidStream, Code: runtime.CodeCut, Message: "the connection to the runtime broke off"}),
			"the connection to the runtime broke off", "Look whether tape is up, and pull it again: it goes on where it broke off."},
	} {
		j := Job{Runtime: "tape"}
		if j.end(c.err, nil); j.Error != c.error || j.Remedy != c.remedy || j.Cancelled {
			t.Errorf("%s: %+v", name, j)
		}
	}
}

func TestRuntimeWithoutManagementSaysSo(t *testing.T) {
	f := fake(t, runtimetest.FakeConfig{Kind: runtimetest.LlamaServer, Models: []runtimetest.FakeModel{{Name: "small"}}})
	r := start(t, Settings{Runtimes: []runtime.Target{target(f, "llama", runtime.KindLlamaServer)}})
	if _, can := r.Manager("llama"); can {
		t.Skip("this adapter manages models")
	}
	fail := wantFailure(t, r.Pull(t.Context(), "llama", "x", nil), fleet.FailStatus)
	if !fail.Caller || fail.Code != runtime.CodeUnsupported {
		t.Errorf("failure = %+v", fail)
	}
}

func TestDoctorTellsAWrongKeyFromARuntimeThatIsDown(t *testing.T) {
	f := fake(t, runtimetest.FakeConfig{Kind: runtimetest.LlamaServer, APIKey: "sesame", Models: []runtimetest.FakeModel{{Name: "m"}}})
	r := start(t, Settings{Runtimes: []runtime.Target{{Name: "llama", Kind: runtime.KindLlamaServer, URL: f.URL(), APIKey: "wrong"}}})
	for _, x := range r.Doctor(t.Context()) {
		if x.ID == "runtime.llama" && (x.Severity != Broken || !strings.Contains(x.Remedy, "api_key") || strings.Contains(x.Remedy, "start it")) {
			t.Errorf("finding = %+v, want a wrong key and where to set it", x)
		}
	}
}

func TestDoctorWarnsOfAPoolLargerThanTheMachine(t *testing.T) {
	r := start(t, Settings{Pools: []PoolSetting{{Name: poolRAM, Memory: 1 << 50}}})
	warned := false
	for _, x := range r.Doctor(t.Context()) {
		warned = warned || strings.HasPrefix(x.ID, "pool.") && x.Severity == Warning && strings.Contains(x.Text, "more than there is")
	}
	if !warned {
		t.Error("no warning")
	}
}
