package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"bellwether/engine/agent"
	"bellwether/engine/fleet"
	"bellwether/engine/queue"
	"bellwether/engine/route"
	"bellwether/engine/store"
	"bellwether/platform/desktop"
)

// goodScene is one in which nothing is wrong.
func goodScene() *scene {
	now := time.Date(2026, 11, 3, 9, 0, 0, 0, time.UTC)
	dep := func(model string) fleet.Deployment {
		return fleet.Deployment{
			ID: fleet.DeploymentID{Node: "n1", Runtime: "ollama", Model: model}, Kind: "ollama", WeightsBytes: 4e9, Slots: 2, Residency: fleet.Loaded,
			Capabilities: fleet.Capabilities{
				fleet.CapChat: {Support: fleet.Yes, Source: fleet.SourceRuntime}, fleet.CapTools: {Support: fleet.Yes, Source: fleet.SourceProbe}, fleet.CapVision: {Support: fleet.No, Source: fleet.SourceRuntime}},
		}
	}
	nop := func(context.Context) error { return nil }
	return &scene{
		now: now, config: Default(), policy: route.DefaultPolicy(),
		snap: &fleet.Snapshot{Nodes: []fleet.Node{{Local: true, LastSeen: now, Heartbeat: fleet.Heartbeat{
			Node: "n1", Name: "studio", Runtimes: []fleet.RuntimeState{{Name: "ollama", Kind: "ollama", Version: "0.12.6", Up: true}},
			Deployments: []fleet.Deployment{dep("qwen3:4b")}, State: fleet.NodeState{Battery: "own"},
		}}}},
		store: store.Health{OK: true}, space: desktop.Space{Free: 100 << 30, Total: 500 << 30},
		do: actions{refresh: nop, resume: nop, makePrivate: nop,
			unload: func(context.Context, fleet.DeploymentID) error { return nil }, probe: func(context.Context, fleet.DeploymentID) error { return nil }},
	}
}

func (s *scene) first() *fleet.Deployment { return &s.snap.Nodes[0].Deployments[0] }

// look runs all checks of a scene.
func (s *scene) look() (out []check) {
	for _, c := range sceneChecks {
		out = append(out, c(s)...)
	}
	return out
}

// sceneFault is something wrong with a scene, and what is to be told of it.
type sceneFault struct {
	fault              func(s *scene)
	id, severity, says string
	remedy, button     string
}

func sceneFaults() map[string]sceneFault {
	id := fleet.DeploymentID{Node: "n1", Runtime: "ollama", Model: "qwen3:4b"}
	return map[string]sceneFault{
		"another machine is gone": {func(s *scene) {
			s.snap.Nodes = append(s.snap.Nodes, fleet.Node{Liveness: fleet.Offline, LastSeen: s.now, Heartbeat: fleet.Heartbeat{Node: "n2", Name: "tower"}})
		}, "node.n2", isWarning, "tower has not been heard of since 09:00", "awake", ""},
		"another machine is late": {func(s *scene) {
			s.snap.Nodes = append(s.snap.Nodes, fleet.Node{Liveness: fleet.Late, Heartbeat: fleet.Heartbeat{Node: "n2", Name: "tower"}})
		}, "node.n2", isNote, "tower is late", "", ""},
		"on battery":              {func(s *scene) { s.snap.Nodes[0].State.OnBattery = fleet.Yes }, "battery", isNote, "its own apps only", "Plug it in", ""},
		"on battery, for nobody":  {func(s *scene) { s.snap.Nodes[0].State.OnBattery, s.snap.Nodes[0].State.Battery = fleet.Yes, "none" }, "battery", isNote, "serves nobody", "Plug it in", ""},
		"slowed down by heat":     {func(s *scene) { s.snap.Nodes[0].Readings.Thermal.Value = "hot" }, "heat", isNote, "slow down because of heat", "Give it air", ""},
		"in a meeting":            {func(s *scene) { s.snap.Nodes[0].State.Meeting = fleet.Yes }, "meeting", isNote, "camera or the microphone", "ends by itself", ""},
		"an old Ollama":           {func(s *scene) { s.snap.Nodes[0].Runtimes[0].Version = "0.6.2" }, "version.ollama", isWarning, "Ollama 0.6.2, which is old", "Update", ""},
		"parallelism nobody says": {func(s *scene) { s.first().Slots = 0 }, "parallel.ollama", isNote, "how many requests ollama runs", "OLLAMA_NUM_PARALLEL", ""},
		"a model spilled out of VRAM": {func(s *scene) { s.first().Degraded = "only 61 % of it is in the GPU's memory" },
			"model.ollama/qwen3:4b", isWarning, "only 61 %", "Unload it", "Unload"},
		"a broken model":         {func(s *scene) { s.first().Unhealthy = "its file is damaged" }, "model.ollama/qwen3:4b", isBroken, "its file is damaged", "", ""},
		"abilities nobody knows": {func(s *scene) { delete(s.first().Capabilities, fleet.CapTools) }, "capability.ollama/qwen3:4b", isNote, "whether it can: tools", "Probe it", "Probe"},
		"models that nobody graded": {func(s *scene) {
			d := *s.first()
			d.ID.Model = "b"
			copied := d // of one model there may be several
			copied.ID.Runtime = "other"
			s.snap.Nodes[0].Runtimes = append(s.snap.Nodes[0].Runtimes, fleet.RuntimeState{Name: "other", Up: true})
			s.snap.Nodes[0].Deployments = append(s.snap.Nodes[0].Deployments, d, copied)
		}, "eval", isNote, "None of the 2", "bellwether eval", ""},
		"a size nobody knows":     {func(s *scene) { s.first().WeightsBytes = 0 }, "memory.unknown", isNote, "count as nothing", "memory_gb", ""},
		"a size that is rejected": {func(s *scene) { s.first().WeightsBytes, s.policy.UnknownMemory = 0, "reject" }, "memory.unknown", isWarning, "refused", "memory_gb", ""},
		"a deadline before the load": {func(s *scene) {
			s.config.Runtimes = []RuntimeConfig{{Name: "ollama", Timeouts: TimeoutsConfig{FirstContent: time.Second}}}
		}, "deadline.ollama/qwen3:4b", isWarning, "takes about 2 s", "timeouts.first_content", ""},
		"an alias without models":       {func(s *scene) { s.policy.Aliases["house"] = route.Alias{Models: []string{"gone:1b"}} }, "alias.house", isWarning, "any model of the alias house: gone:1b", "Pull", ""},
		"an alias that lost one":        {func(s *scene) { s.policy.Aliases["house"] = route.Alias{Models: []string{"gone:1b", "qwen3:4b"}} }, "alias.house", isNote, "No machine has gone:1b", "Pull it", ""},
		"a circuit that is open":        {func(s *scene) { s.queue.Circuits = []queue.CircuitStatus{{Deployment: id, RetryIn: 15 * time.Second}} }, "circuit.ollama/qwen3:4b", isWarning, "no requests for 15 s", "tried again by itself", ""},
		"a circuit of one app":          {func(s *scene) { s.queue.Circuits = []queue.CircuitStatus{{Deployment: id, App: "n8n"}} }, "circuit.ollama/qwen3:4b", isWarning, "other apps are served", "options it sends", ""},
		"a circuit that is to be tried": {func(s *scene) { s.queue.Circuits = []queue.CircuitStatus{{Deployment: id}} }, "circuit.ollama/qwen3:4b", isNote, "the next request tries", "Nothing has to be done", ""},
		"limits of a pool that is not there": {func(s *scene) {
			s.snap.Nodes[0].Pools = []fleet.Pool{{Name: "ram"}}
			s.config.Pools = []PoolConfig{{Name: "tiny", MemoryGB: 1}, {Name: "ram"}, {}}
		}, "pool.unknown.tiny", isWarning, "a pool tiny", "Name the pool ram", ""},
		"a call that may still run": {func(s *scene) { s.snap.Nodes[0].Uncertain = map[fleet.DeploymentID]time.Duration{id: 90 * time.Second} }, "doubt.ollama/qwen3:4b", isNote, "taken for 1 min 30 s", "passes by itself", ""},
		"requests that are held": {func(s *scene) {
			s.queue.Held = []queue.HeldStatus{{Model: "big:70b", Age: 6 * time.Second, Left: 24 * time.Second}}
		}, "held", isWarning, "Nobody can serve big:70b now", "Resume", ""},
		"a queue that is long": {func(s *scene) {
			s.queue.Lanes = []queue.LaneStatus{{Deployment: id, Waiting: 3, Oldest: 2 * time.Minute}}
		}, "wait.ollama/qwen3:4b", isWarning, "3 requests wait", "another machine", ""},
		"requests that fail": {func(s *scene) {
			for i := range 12 {
				r := &route.Record{At: s.now, RequestedModel: "m", Outcome: fleet.OutcomeOK}
				if i < 3 { // an answer that was cut off is one that failed, too
					r.Outcome = []fleet.Outcome{fleet.OutcomeFailed, fleet.OutcomeTruncated, fleet.OutcomeHeldOut}[i]
				}
				s.recent = append(s.recent, r)
			}
		}, "failures", isWarning, "3 of the last 12 requests failed (m)", "Decisions", ""},
		"records that were lost":       {func(s *scene) { s.store.Dropped, s.store.DroppedWhy = 7, "the disk was full" }, "store.dropped", isWarning, "7 decision records were lost", "kept again", ""},
		"records that are damaged":     {func(s *scene) { s.store.Unreadable = 2 }, "store.unreadable", isNote, "2 decision records", "", ""},
		"a database that was replaced": {func(s *scene) { s.store.Notes = []store.Note{{Text: "the damaged database was moved aside"}} }, "store.note", isNote, "moved aside", "", ""},
		"a disk nearly full":           {func(s *scene) { s.space.Free = 1 << 30 }, "disk", isWarning, "1 GB left", "Make room", ""},
		"a disk that is full":          {func(s *scene) { s.space.Free = 1 << 20 }, "disk", isBroken, "left", "Make room", ""},
		"a models' disk nearly full": {func(s *scene) {
			s.space.Total, s.shelves = 100<<30, []shelf{{agent.Shelf{Runtime: "ollama", Folder: "/big/models"}, desktop.Space{Free: 1 << 30, Total: 500 << 30}}}
		}, "disk.ollama", isWarning, "ollama's models (/big/models) has 1 GB left", "Make room there", ""},
		"a models' disk that is full": {func(s *scene) {
			s.space.Total, s.shelves = 100<<30, []shelf{{agent.Shelf{Runtime: "ollama", Folder: "/big/models"}, desktop.Space{Free: 1 << 20, Total: 500 << 30}}}
		}, "disk.ollama", isBroken, "left", "none can be pulled", ""},
		"a log that is not written":  {func(s *scene) { s.logErr = errors.New("permission denied") }, "log", isNote, "permission denied", "writable", ""},
		"files that others can read": {func(s *scene) { s.exposed = []string{"node.key", "config.yaml"} }, "private", isBroken, "can read node.key and config.yaml", "private", "Make private"},
		"a clock that was set back":  {func(s *scene) { s.jump = jump{s.now, -time.Minute} }, "clock", isWarning, "set back by 1 min", "network", ""},
		"a machine that slept":       {func(s *scene) { s.jump = jump{s.now, time.Hour} }, "clock", isNote, "ahead by 1 h", "", ""},
	}
}

// Each fault is provoked, told with what helps, and gone when it is cured: the
// cure of a scene is the scene without the fault.
func TestEveryFaultOfASceneIsToldAndPasses(t *testing.T) {
	for name, c := range sceneFaults() {
		t.Run(name, func(t *testing.T) {
			s := goodScene()
			wrong := func() (found []check) {
				for _, k := range s.look() {
					if k.Severity != isOK {
						found = append(found, k)
					}
				}
				return found
			}
			if before := wrong(); len(before) > 0 {
				t.Fatalf("something is wrong before: %+v", before)
			}
			c.fault(s)
			got := wrong()
			if len(got) != 1 {
				t.Fatalf("got %+v", got)
			}
			k := got[0]
			if k.ID != c.id || k.Severity != c.severity || !strings.Contains(k.Text, c.says) || !strings.Contains(k.Remedy, c.remedy) || k.Title == "" || (c.remedy != "") != (k.Remedy != "") {
				t.Errorf("got %+v", k.FindingView)
			}
			if c.button == "" != (k.Cure == nil) || k.Cure != nil && (k.Cure.Label != c.button || k.cure(t.Context()) != nil) {
				t.Errorf("button %+v, want %q", k.Cure, c.button)
			}
		})
	}
}

func TestTheClockIsWatchedAgainstTheTimeThatPasses(t *testing.T) {
	mono, wall := time.Unix(1000, 0), time.Unix(2000, 0)
	var c clockWatch
	step := func(passed, moved time.Duration) time.Duration {
		mono, wall = mono.Add(passed), wall.Add(moved)
		c.see(mono, wall)
		return c.last().by
	}
	for _, s := range []struct{ passed, moved, want time.Duration }{
		{time.Second, time.Second, 0}, {time.Second, 3 * time.Second, 0}, {time.Second, time.Hour + time.Second, time.Hour},
		{time.Second, time.Second, time.Hour}, {time.Second, -time.Minute + time.Second, -time.Minute},
	} {
		if got := step(s.passed, s.moved); got != s.want {
			t.Errorf("after %v in which the clock moved %v: %v, want %v", s.passed, s.moved, got, s.want)
		}
	}
}

func TestVersionsAreRead(t *testing.T) {
	for s, want := range map[string][2]int{"0.9.1": {0, 9}, "v1.2": {1, 2}, "0.12.6-rc1": {0, 12}} {
		if v, ok := versionOf(s); !ok || v != want {
			t.Errorf("%s: %v %v", s, v, ok)
		}
	}
	for _, s := range []string{"", "b6710", "1", "x.y"} {
		if _, ok := versionOf(s); ok {
			t.Errorf("%q is a version", s)
		}
	}
}

// Who looks for a fault sees what has been looked at; each check that has a word
// for it says so once, and none of them beside a fault of its own.
func TestChecksThatFoundNothingSaySo(t *testing.T) {
	s := goodScene()
	s.snap.Nodes[0].Readings.Thermal.Value = "normal"
	calm := fines(s, s.look())
	if len(calm) < 20 {
		t.Errorf("%d say so", len(calm))
	}
	for _, c := range calm {
		if c.Severity != isOK || c.Title == "" || c.Text == "" || !c.silent {
			t.Errorf("%+v", c)
		}
	}
	for name, f := range sceneFaults() {
		s := goodScene()
		f.fault(s)
		for _, c := range fines(s, s.look()) {
			if c.ID == checkKind(f.id) {
				t.Errorf("%s: %s is said to be fine", name, c.ID)
			}
		}
	}
	s = goodScene()
	s.store.OK, s.store.Dropped = false, 3 // told by the check of the store itself
	for _, c := range fines(s, s.look()) {
		if c.ID == "store.dropped" {
			t.Error("records were lost, and none is said to be")
		}
	}
}

func TestADiskOfModelsThatIsFullIsToldOnce(t *testing.T) {
	t.Parallel()
	s := &scene{space: desktop.Space{Free: 1 << 30, Total: 100 << 30}, shelves: []shelf{{agent.Shelf{Runtime: "ollama", Folder: "/home/x/.ollama/models"}, desktop.Space{Free: 1<<30 - 4096, Total: 100 << 30}}}}
	if c := checkShelves(s); len(c) != 1 || c[0].Severity != isOK {
		t.Errorf("on the disk of the data folder: %+v", c)
	}
}
