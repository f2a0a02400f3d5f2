package route

import (
	"testing"
	"time"

	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

// measuredSpeeds gives the model round figures: 1,000 prompt tokens a second
// in, 10 out, 20 s to load.
func measuredSpeeds(v *View, d *fleet.Deployment) {
	v.Evidence = evidence.NewBook(map[evidence.Key]evidence.Speeds{evidence.KeyOf(d): {
		Prefill: evidence.Figure{V: 1000, N: 5}, Decode: evidence.Figure{V: 10, N: 5}, Load: evidence.Figure{V: 20, N: 1},
	}}, nil)
}

func TestDeadlines(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Policy, *fleet.Deployment, *Query)
		first  time.Duration
		total  time.Duration
	}{
		"never below the setting": {func(*Policy, *fleet.Deployment, *Query) {}, 60 * time.Second, time.Hour},
		"three times the prompt": {func(_ *Policy, d *fleet.Deployment, q *Query) {
			d.LoadedContext, d.MaxContext, q.Needs.Tokens.Input = 65536, 65536, 40000
		}, 120 * time.Second, time.Hour},
		"and the load":                     {func(_ *Policy, d *fleet.Deployment, q *Query) { unload(d); q.Needs.Tokens.Input = 20000 }, 120 * time.Second, time.Hour},
		"in one piece: and the writing":    {func(_ *Policy, _ *fleet.Deployment, q *Query) { whole(q, 1000) }, 303 * time.Second, time.Hour},
		"no limit: what the window leaves": {func(_ *Policy, _ *fleet.Deployment, q *Query) { whole(q, 0) }, 2160600 * time.Millisecond, time.Hour}, // 3 x (1 + 7,192/10)
		"never beyond the total":           {func(_ *Policy, _ *fleet.Deployment, q *Query) { whole(q, 1000); q.Needs.Timeout = 90 * time.Second }, 90 * time.Second, 90 * time.Second},
		"the request's own is no more than ours": {func(p *Policy, _ *fleet.Deployment, q *Query) {
			p.Total, q.Needs.Timeout = time.Minute, time.Hour
		}, 60 * time.Second, time.Minute},
		"what is left of it": {func(_ *Policy, _ *fleet.Deployment, q *Query) { q.Arrived = q.Arrived.Add(-10 * time.Minute) }, 60 * time.Second, 50 * time.Minute},
	} {
		d := oneNode(func(v *View, p *Policy, _ *fleet.Node, d *fleet.Deployment, q *Query) {
			d.Kind = "ollama"
			measuredSpeeds(v, d)
			q.Needs.Tokens = Tokens{Input: 1000, Output: 1000}
			c.change(p, d, q)
		})
		if d.Plan.FirstContent != c.first || d.Plan.Total != c.total {
			t.Errorf("%s: first content %v, total %v, want %v, %v\n%s", name, d.Plan.FirstContent, d.Plan.Total, c.first, c.total, d.Explain())
		}
		if d.Plan.Idle != min(120*time.Second, d.Plan.Total) {
			t.Errorf("%s: idle %v", name, d.Plan.Idle)
		}
	}
}

// A machine slower than anybody guessed is given more time with each deadline it
// misses, until its answer comes; one that hangs is not waited for without end.
func TestEachMissedDeadlineGivesASlowMachineMoreTime(t *testing.T) {
	for name, c := range map[string]struct {
		read, wrote float64 // tokens a second in truth, 0 = it hangs
		change      func(*fleet.Deployment, *Query)
		most        int
	}{
		"slow to write":        {20, 1.2, func(_ *fleet.Deployment, q *Query) { whole(q, 100) }, 2},
		"slow to read":         {20, 5, func(_ *fleet.Deployment, q *Query) { q.Needs.Tokens.Input = 2700 }, 3},
		"slow to read, a lot":  {8, 5, func(_ *fleet.Deployment, q *Query) { q.Needs.Tokens.Input = 7000 }, 4},
		"slow to load as well": {20, 5, func(d *fleet.Deployment, q *Query) { unload(d); q.Needs.Tokens.Input = 2700 }, 3},
		"hangs":                {0, 0, func(_ *fleet.Deployment, q *Query) { whole(q, 100) }, 0},
		"hangs as it loads":    {0, 0, func(d *fleet.Deployment, q *Query) { unload(d) }, 0},
	} {
		l, deadline, tries := evidence.NewLedger(), time.Duration(0), 0
		for tries < 20 {
			tries++
			var dep *fleet.Deployment
			d := oneNode(func(v *View, _ *Policy, n *fleet.Node, d *fleet.Deployment, q *Query) {
				n.Hardware.BandwidthGBs = fleet.Reading[float64]{}
				v.Evidence, dep = l.Book(), d
				q.Needs.Tokens = Tokens{Input: 100, Output: 100}
				c.change(d, q)
			})
			if d.Plan.FirstContent < deadline {
				t.Errorf("%s: after %v it is given %v", name, deadline, d.Plan.FirstContent)
			}
			deadline = d.Plan.FirstContent
			if took := float64(d.Candidates[0].Tokens.Input)/c.read + 100/c.wrote; c.read > 0 && took < deadline.Seconds() {
				break
			}
			if slower := d.Plan.Slower(deadline); slower != nil {
				l.ObserveSlow(dep, *slower)
			}
		}
		if c.most > 0 && tries > c.most {
			t.Errorf("%s: %d deadlines were missed, the last of %v", name, tries, deadline)
		}
		if c.most == 0 && deadline > 30*time.Minute {
			t.Errorf("%s: it is waited for %v", name, deadline)
		}
	}
}

func unload(d *fleet.Deployment) { d.Residency, d.LoadedContext = fleet.OnDisk, 0 }

func whole(q *Query, asked int) { q.Needs.Streaming, q.Needs.OutputAsked = false, asked }

func TestLoadThatCannotEndInTimeIsNotBegun(t *testing.T) {
	for left, want := range map[time.Duration]Verdict{20 * time.Second: Refuse, 22 * time.Second: Serve} {
		d := oneNode(func(v *View, _ *Policy, _ *fleet.Node, d *fleet.Deployment, q *Query) {
			unload(d)
			measuredSpeeds(v, d)
			q.Needs.Tokens = Tokens{Input: 1000, Output: 100}
			q.Needs.Timeout = left
		})
		if d.Verdict != want {
			t.Errorf("%v left: %s, want %s", left, d.Verdict, want)
		}
	}
	d := oneNode(func(v *View, _ *Policy, _ *fleet.Node, d *fleet.Deployment, q *Query) {
		measuredSpeeds(v, d)
		q.Needs.Tokens, q.Needs.Timeout = Tokens{Input: 5000, Output: 100}, time.Second
	})
	if d.Verdict != Serve {
		t.Errorf("loaded, nothing is lost by trying: %s", d.Verdict)
	}
}

func TestPredictedSecondsAreTheUnitOfFairness(t *testing.T) {
	d := oneNode(func(v *View, _ *Policy, _ *fleet.Node, d *fleet.Deployment, q *Query) {
		measuredSpeeds(v, d)
		q.Needs.Tokens = Tokens{Input: 2000, Output: 100}
	})
	if d.Plan.PredictedSeconds != 12 {
		t.Errorf("%v s, want 2 + 10", d.Plan.PredictedSeconds)
	}
}

func TestContextPlanTable(t *testing.T) {
	for name, c := range map[string]struct {
		loaded, most, need, asked int
		protection                string
		kind                      string
		send                      int
		reload                    bool
	}{
		"kept as loaded":                  {8192, 32768, 1000, 0, "strip", "ollama", 8192, false},
		"kept though a client asks less":  {8192, 32768, 1000, 4096, "strip", "ollama", 8192, false},
		"kept though a client asks same":  {8192, 32768, 1000, 8192, "strip", "ollama", 8192, false},
		"client asks more":                {8192, 32768, 1000, 9000, "strip", "ollama", 16384, true},
		"need is more":                    {8192, 32768, 9000, 0, "strip", "ollama", 16384, true},
		"never above what can be set":     {8192, 12000, 9000, 0, "strip", "ollama", 12000, true},
		"unloaded, little need":           {0, 32768, 1000, 0, "strip", "ollama", 0, false},
		"unloaded, exactly the usual":     {0, 32768, 4096, 0, "strip", "ollama", 0, false},
		"unloaded, one more":              {0, 32768, 4097, 0, "strip", "ollama", 8192, false},
		"unloaded, client's choice":       {0, 32768, 1000, 2048, "strip", "ollama", 2048, false},
		"unloaded, client's too small":    {0, 32768, 3000, 2048, "strip", "ollama", 4096, false},
		"unloaded, client's large":        {0, 32768, 1000, 10000, "strip", "ollama", 16384, false},
		"unloaded, limit unknown":         {0, 0, 20000, 0, "strip", "ollama", 32768, false},
		"passthrough":                     {8192, 32768, 1000, 4096, "passthrough", "ollama", 4096, true},
		"passthrough, same":               {8192, 32768, 1000, 8192, "passthrough", "ollama", 8192, false},
		"warn":                            {8192, 32768, 1000, 4096, "warn", "ollama", 4096, true},
		"warn without a wish":             {8192, 32768, 1000, 0, "warn", "ollama", 8192, false},
		"fixed at the runtime's start":    {8192, 131072, 1000, 4096, "strip", "llama-server", 0, false},
		"power of two exactly":            {4096, 65536, 16384, 0, "strip", "ollama", 16384, true},
		"the model's own limit is no 2^n": {0, 40960, 33000, 0, "strip", "ollama", 40960, false},
	} {
		d := oneNode(func(_ *View, p *Policy, _ *fleet.Node, d *fleet.Deployment, q *Query) {
			d.Kind, d.LoadedContext, d.MaxContext, d.KVBytesToken = c.kind, c.loaded, c.most, 0
			if c.loaded == 0 {
				d.Residency = fleet.OnDisk
			}
			p.ContextProtection = c.protection
			q.Needs.NumCtx, q.Needs.Tokens = c.asked, Tokens{Input: c.need - 100, Output: 100}
		})
		if d.Verdict != Serve || d.Plan.Context != c.send || d.Plan.Reload != c.reload {
			t.Errorf("%s: context %d, reload %v, want %d, %v\n%s", name, d.Plan.Context, d.Plan.Reload, c.send, c.reload, d.Explain())
		}
		if c.reload && (!d.Plan.Load || d.Plan.Slots != 1) {
			t.Errorf("%s: a reload is a load that waits until nothing runs there: %+v", name, d.Plan)
		}
	}
}

// W-17: the need is compared with what can be set, not cut silently.
func TestContextFilterComparesWithTheSettableMaximum(t *testing.T) {
	for name, c := range map[string]struct {
		kind         string
		loaded, most int
		tokens       Tokens
		truncates    bool
		want         Verdict
	}{
		"fits exactly":             {"ollama", 8192, 8192, Tokens{Input: 7168, Output: 1024}, false, Serve},
		"one too many, maybe":      {"ollama", 8192, 8192, Tokens{Input: 15360, Output: 1024}, false, Serve},
		"one too many for sure":    {"ollama", 8192, 8192, Tokens{Input: 15361, Output: 1024}, false, Refuse},
		"settable though not now":  {"ollama", 4096, 16384, Tokens{Input: 7169, Output: 1024}, false, Serve},
		"fixed by the runtime":     {"llama-server", 4096, 16384, Tokens{Input: 7681, Output: 1024}, false, Refuse},
		"only Ollama cuts":         {"llama-server", 8192, 8192, Tokens{Input: 100000}, true, Refuse},
		"unknown maximum":          {"ollama", 0, 0, Tokens{Input: 100000, Output: 1024}, false, Serve},
		"the client lets it cut":   {"ollama", 8192, 8192, Tokens{Input: 100000}, true, Serve},
		"reasoning needs thinking": {"ollama", 8192, 8192, Tokens{Input: 7000, Output: 1024, Reasoning: 4096}, false, Serve},
	} {
		d := oneNode(func(_ *View, _ *Policy, _ *fleet.Node, d *fleet.Deployment, q *Query) {
			d.Kind, d.LoadedContext, d.MaxContext = c.kind, c.loaded, c.most
			q.Needs.Tokens, q.Needs.Truncates = c.tokens, c.truncates
		})
		if d.Verdict != c.want {
			t.Errorf("%s: %s, want %s\n%s", name, d.Verdict, c.want, d.Explain())
		}
	}
}

// W-14: a small limit on a model that thinks leaves no answer.
func TestOutputLimitTable(t *testing.T) {
	for name, c := range map[string]struct {
		asked  int
		thinks bool
		off    bool
		budget int
		want   int
		note   string
	}{
		"not said":                        {0, true, false, 0, 0, ""},
		"fits":                            {1000, false, false, 0, 0, ""},
		"more than is left":               {32000, false, false, 0, 8092, "output_clamped"},
		"small on a thinker":              {100, true, false, 0, 1024, "thinking_room"},
		"four times on a thinker":         {1000, true, false, 0, 4000, "thinking_room"},
		"thinking turned off":             {100, true, true, 0, 0, ""},
		"counted in by a budget":          {2000, true, false, 1500, 0, ""},
		"thinker, clamped":                {9000, true, false, 0, 8092, "output_clamped"},
		"thinker, raised to what is left": {5000, true, false, 0, 8092, "thinking_room"},
	} {
		d := oneNode(func(_ *View, _ *Policy, _ *fleet.Node, d *fleet.Deployment, q *Query) {
			d.MaxContext = 8192
			if c.thinks {
				d.Capabilities, _ = readCaps("llm,thinking")
			}
			q.Needs.Tokens = Tokens{Input: 100, Output: min(1024, max(c.asked, 16))}
			q.Needs.OutputAsked, q.Needs.ThinkOff, q.Needs.ThinkBudget = c.asked, c.off, c.budget
		})
		if d.Plan.Output != c.want {
			t.Errorf("%s: limit %d, want %d", name, d.Plan.Output, c.want)
		}
		noted := ""
		for _, n := range d.Candidates[0].Notes {
			if n == "output_clamped" || n == "thinking_room" {
				noted = n
			}
		}
		if noted != c.note {
			t.Errorf("%s: noted %q, want %q", name, noted, c.note)
		}
	}
}

// W-18: num_ctx stays constant per model and node, whoever asks.
func TestContextStaysConstantOnceLoaded(t *testing.T) {
	for _, asked := range []int{0, 1024, 4096, 8191, 8192} {
		d := oneNode(func(_ *View, _ *Policy, _ *fleet.Node, _ *fleet.Deployment, q *Query) { q.Needs.NumCtx = asked })
		if d.Plan.Context != 8192 || d.Plan.Load {
			t.Errorf("num_ctx %d: context %d, load %v", asked, d.Plan.Context, d.Plan.Load)
		}
	}
}

// W-18 too: a model is in memory before its window is reported; a request that
// comes in between must not force a load with a window of its own.
func TestContextNotYetReportedIsLeftAlone(t *testing.T) {
	for asked, want := range map[int]int{0: 0, 1024: 0, 4096: 0, 5000: 8192} {
		d := oneNode(func(_ *View, _ *Policy, _ *fleet.Node, dep *fleet.Deployment, q *Query) {
			q.Needs.NumCtx, dep.LoadedContext = asked, 0
		})
		if d.Plan.Context != want || d.Plan.Load {
			t.Errorf("num_ctx %d: context %d, load %v, want %d", asked, d.Plan.Context, d.Plan.Load, want)
		}
	}
}

func TestSlotsTable(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*View, *Policy, *fleet.Node, *fleet.Deployment)
		want   int
	}{
		"preallocated: its own":       {func(*View, *Policy, *fleet.Node, *fleet.Deployment) {}, 4},
		"never above 8":               {func(_ *View, _ *Policy, _ *fleet.Node, d *fleet.Deployment) { d.Slots = 64 }, 8},
		"geometry: 9 GB of 1 GB each": {func(_ *View, _ *Policy, n *fleet.Node, d *fleet.Deployment) { open(n, d, 9); d.KVBytesToken = 131072 }, 8},
		"geometry: 3 GB":              {func(_ *View, _ *Policy, n *fleet.Node, d *fleet.Deployment) { open(n, d, 3); d.KVBytesToken = 131072 }, 3},
		"no geometry: 2 GB each":      {func(_ *View, _ *Policy, n *fleet.Node, d *fleet.Deployment) { open(n, d, 9) }, 4},
		"at least one":                {func(_ *View, _ *Policy, n *fleet.Node, d *fleet.Deployment) { open(n, d, 0) }, 1},
		"not loaded: less its size": {func(_ *View, _ *Policy, n *fleet.Node, d *fleet.Deployment) {
			open(n, d, 11)
			unload(d)
		}, 2},
		"declared": {func(_ *View, _ *Policy, n *fleet.Node, d *fleet.Deployment) { open(n, d, 40); d.Slots = 3 }, 3},
		"learned": {func(v *View, _ *Policy, n *fleet.Node, d *fleet.Deployment) {
			open(n, d, 40)
			v.Evidence = evidence.NewBook(map[evidence.Key]evidence.Speeds{evidence.KeyOf(d): {Slots: evidence.Figure{V: 2, N: 10}}}, nil)
		}, 2},
		"the setting": {func(_ *View, p *Policy, n *fleet.Node, d *fleet.Deployment) { open(n, d, 40); p.MaxSlots = 5 }, 5},
		"one may still run": {func(_ *View, _ *Policy, n *fleet.Node, d *fleet.Deployment) {
			n.Uncertain = with(nil, d.ID, time.Minute)
		}, 3},
	} {
		d := oneNode(func(v *View, p *Policy, n *fleet.Node, d *fleet.Deployment, _ *Query) { c.change(v, p, n, d) })
		if d.Verdict != Serve || d.Plan.Slots != c.want || d.Candidates[0].Slots != c.want {
			t.Errorf("%s: %d, want %d\n%s", name, d.Plan.Slots, c.want, d.Explain())
		}
	}
}

// open makes the deployment's parallelism a matter of free memory, GB.
func open(n *fleet.Node, d *fleet.Deployment, free int64) {
	d.Preallocated, d.Slots, d.KVBytesToken, d.ResidentBytes = false, 0, 0, 6*gb
	n.Pools[0].Free = fleet.Know(free * gb)
}

func TestLearnedOutputReplacesTheGuessPerModel(t *testing.T) {
	d := oneNode(func(v *View, _ *Policy, _ *fleet.Node, d *fleet.Deployment, q *Query) {
		v.Evidence = evidence.NewBook(nil, map[evidence.ModelKey]evidence.Habits{evidence.ModelKeyOf(d): {
			Output: map[string]evidence.Figure{"": {V: 300, N: 40}}, Calibration: map[string]evidence.Ratio{"": {V: 1.5, Least: 1.4, N: 40}},
		}})
		q.Needs.Tokens = Tokens{Input: 1000, Output: 1024}
	})
	if got := d.Candidates[0].Tokens; got != (Tokens{Input: 1500, Output: 300}) {
		t.Errorf("got %+v, want 1,500 and 300", got)
	}
	d = oneNode(func(v *View, _ *Policy, _ *fleet.Node, d *fleet.Deployment, q *Query) {
		v.Evidence = evidence.NewBook(nil, map[evidence.ModelKey]evidence.Habits{evidence.ModelKeyOf(d): {Output: map[string]evidence.Figure{"": {V: 300, N: 40}}}})
		q.Needs.Tokens, q.Needs.OutputAsked = Tokens{Input: 1000, Output: 50}, 50
	})
	if got := d.Candidates[0].Tokens.Output; got != 50 {
		t.Errorf("got %d, want the asked limit of 50", got)
	}
}
