package evidence

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"bellwether/engine/fleet"

	"pgregory.net/rapid"
)

var evening = time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)

func grade(right, of int) Grade { return Grade{Right: right, Of: of, Suite: "coding/1", At: evening} }

func llama(model, quantization, template string) *fleet.Deployment {
	return &fleet.Deployment{
		ID:   fleet.DeploymentID{Node: "studio", Runtime: "llama", Model: model},
		Kind: "llama-server", Quantization: quantization, Template: template,
	}
}

func TestAGradeHoldsForTheModelWhereverItRuns(t *testing.T) {
	l := NewLedger()
	here, there := deployment("m", "sha256:a"), deployment("m", "sha256:a")
	there.ID.Node = "laptop"
	l.SetQuality(here, "coding", grade(24, 30))
	for _, d := range []*fleet.Deployment{here, there} {
		if f := l.Book().Quality(d, "coding"); f != (Figure{0.8, 30}) {
			t.Errorf("on %s: got %v", d.ID.Node, f)
		}
	}
	if f := l.Book().Quality(here, "math"); f.Known() {
		t.Errorf("another task: got %v", f)
	}
	if g := l.Book().Grades(there)["coding"]; g != grade(24, 30) {
		t.Errorf("where it comes from: got %+v", g)
	}
	l.SetQuality(here, "coding", grade(15, 30))
	if f := l.Book().Quality(here, "coding"); f != (Figure{0.5, 30}) {
		t.Errorf("measured again: got %v", f)
	}
	l.SetQuality(here, "coding", Grade{})
	if f := l.Book().Quality(here, "coding"); f.Known() {
		t.Errorf("forgotten: got %v", f)
	}
}

func TestAnotherMakeOfAModelStartsOver(t *testing.T) {
	l := NewLedger()
	d := deployment("m", "sha256:a")
	l.SetQuality(d, "coding", grade(24, 30))
	l.SetProbe(d, Probed{At: evening, Results: map[fleet.Capability]fleet.Tri{fleet.CapTools: fleet.Yes}})
	for what, other := range map[string]*fleet.Deployment{
		"pulled again":         deployment("m", "sha256:b"),
		"another quantisation": {ID: d.ID, Digest: d.Digest, Kind: d.Kind, Quantization: "Q8_0"},
		"another runtime":      {ID: d.ID, Digest: d.Digest, Kind: "vllm", Quantization: d.Quantization},
		"another template":     {ID: d.ID, Digest: d.Digest, Kind: d.Kind, Quantization: d.Quantization, Template: "f00"},
	} {
		if f := l.Book().Quality(other, "coding"); f.Known() {
			t.Errorf("%s: got quality %v", what, f)
		}
		if p := l.Book().Probe(other); p != nil {
			t.Errorf("%s: got probe %+v", what, p)
		}
	}
}

func TestAProbeHoldsForItsDeploymentOnly(t *testing.T) {
	l := NewLedger()
	d, beside := deployment("m", "sha256:a"), deployment("m", "sha256:a")
	beside.ID.Runtime = "second"
	l.SetProbe(d, Probed{At: evening, Suite: "probe/1", Results: map[fleet.Capability]fleet.Tri{fleet.CapVision: fleet.No}, Context: 8192})
	if p := l.Book().Probe(d); p == nil || p.Results[fleet.CapVision] != fleet.No || p.Context != 8192 || p.Suite != "probe/1" || !p.At.Equal(evening) {
		t.Errorf("got %+v", p)
	}
	if p := l.Book().Probe(beside); p != nil {
		t.Errorf("a server beside it, perhaps with other flags, got %+v", p)
	}
}

func TestAProbeThatStoppedEarlyKeepsWhatWasEstablishedBefore(t *testing.T) {
	l, d := NewLedger(), deployment("m", "sha256:a")
	l.SetProbe(d, Probed{At: evening, Results: map[fleet.Capability]fleet.Tri{fleet.CapTools: fleet.Yes, fleet.CapVision: fleet.No}, Context: 8192})
	later := evening.Add(time.Hour)
	asked := map[fleet.Capability]fleet.Tri{fleet.CapVision: fleet.Yes, fleet.CapThinking: fleet.Unknown}
	l.SetProbe(d, Probed{At: later, Results: asked, Dimensions: 768, Norm: 1})
	p := l.Book().Probe(d)
	if want := map[fleet.Capability]fleet.Tri{fleet.CapTools: fleet.Yes, fleet.CapVision: fleet.Yes}; !maps.Equal(p.Results, want) {
		t.Errorf("got %v, want %v", p.Results, want)
	}
	if !p.Earlier[fleet.CapTools].Equal(evening) || len(p.Earlier) != 1 || !p.At.Equal(later) || p.Context != 8192 || p.Dimensions != 768 {
		t.Errorf("got %+v", p)
	}
	if len(asked) != 2 {
		t.Error("the caller's map was changed")
	}
	again := deployment("m", "sha256:b")
	l.SetProbe(again, Probed{At: later, Results: map[fleet.Capability]fleet.Tri{fleet.CapVision: fleet.No}})
	if p := l.Book().Probe(again); len(p.Results) != 1 || p.Context != 0 {
		t.Errorf("after a new pull: got %+v", p)
	}
}

func TestAServerThatCannotTellTheMakeYetIsTakenToBeUnchanged(t *testing.T) {
	l := NewLedger()
	loaded := llama("qwen", "Q4_K_M", "aaa")
	l.SetQuality(loaded, "coding", grade(24, 30))
	l.SetProbe(loaded, Probed{At: evening, Results: map[fleet.Capability]fleet.Tri{fleet.CapTools: fleet.Yes}})
	onDisk := llama("qwen", "", "")
	if f := l.Book().Quality(onDisk, "coding"); f != (Figure{0.8, 30}) {
		t.Errorf("before it is loaded: got %v", f)
	}
	if p := l.Book().Probe(onDisk); p == nil {
		t.Error("before it is loaded its probe is not found")
	}
	s := took(onDisk, 3) // a request that loads the model is learned from as it was
	s.Input, s.Estimate = 100, 80
	l.Observe(s)
	if f := l.Book().Quality(onDisk, "coding"); !f.Known() {
		t.Error("traffic before the load hides what was measured")
	}
	if f := l.Book().Quality(llama("qwen", "Q4_K_M", "bbb"), "coding"); f.Known() {
		t.Errorf("under another template: got %v", f)
	}
	if f := l.Book().Quality(llama("other", "", ""), "coding"); f.Known() {
		t.Errorf("another model: got %v", f)
	}
	// Measured again under a new template, that is what counts from then on.
	l.SetQuality(llama("qwen", "Q4_K_M", "bbb"), "coding", grade(3, 30))
	if f := l.Book().Quality(onDisk, "coding"); f != (Figure{0.1, 30}) {
		t.Errorf("after the template changed: got %v", f)
	}
}

func TestWhatWasMeasuredOutlivesTheProgram(t *testing.T) {
	l, d := NewLedger(), deployment("m", "sha256:a")
	l.SetQuality(d, "coding", grade(24, 30))
	l.SetQuality(d, "math", Grade{Right: 1, Of: 3, Suite: "math/2", At: evening})
	l.SetProbe(d, Probed{At: evening, Suite: "probe/1", Results: map[fleet.Capability]fleet.Tri{fleet.CapTools: fleet.No}, Dimensions: 768, Norm: 0.998})
	b := l.Export()
	again := NewLedger()
	if err := again.Import(b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Export(), b) {
		t.Errorf("got  %s\nwant %s", again.Export(), b)
	}
	if g := again.Book().Grades(d); len(g) != 2 || g["math"].Suite != "math/2" {
		t.Errorf("got %v", g)
	}
	if p := again.Book().Probe(d); p == nil || p.Results[fleet.CapTools] != fleet.No || p.Norm != 0.998 {
		t.Errorf("got %+v", p)
	}
}

// The first suite's no was of a model that makes several calls although more
// than one are forbidden; now it would be of one that cannot make them.
func TestAnOldNoToParallelToolsIsForgotten(t *testing.T) {
	for _, c := range []struct {
		suite     string
		said, now fleet.Tri
	}{
		{"probe/1", fleet.No, fleet.Unknown},
		{"probe/1", fleet.Yes, fleet.Yes},
		{"probe/2", fleet.No, fleet.No},
	} {
		l, d := NewLedger(), deployment("m", "sha256:a")
		l.SetProbe(d, Probed{At: evening, Suite: c.suite, Results: map[fleet.Capability]fleet.Tri{fleet.CapTools: fleet.No, fleet.CapParallelTools: c.said}})
		again := NewLedger()
		if err := again.Import(l.Export()); err != nil {
			t.Fatal(err)
		}
		again.Book().Probe(d).Tell(d)
		if d.Can(fleet.CapParallelTools).Support != c.now || d.Can(fleet.CapTools).Support != fleet.No {
			t.Errorf("%s said %s: now %v", c.suite, c.said, d.Capabilities)
		}
	}
}

func TestAFileFromBeforeGradesLoads(t *testing.T) {
	l, d := NewLedger(), deployment("m", "sha256:a")
	old := `{"version":1,"speeds":null,"habits":[{"key":{"Identity":"sha256:a","Quantization":"Q4_K_M","Kind":"ollama"},"used":3,"calibration":{"v":1.25,"n":9},"output":{"":[10]}}]}`
	if err := l.Import([]byte(old)); err != nil {
		t.Fatal(err)
	}
	if got := l.Book().Output(d, ""); got != (Figure{10, 1}) {
		t.Errorf("got %v", got)
	}
	if got := l.Book().Calibration(d); got != 1 { // one factor for all texts misled: it is learnt anew
		t.Errorf("got %v", got)
	}
	l.SetQuality(d, "coding", grade(1, 2))
	if f := l.Book().Quality(d, "coding"); f != (Figure{0.5, 2}) {
		t.Errorf("got %v", f)
	}
}

func TestNonsenseIsNoGrade(t *testing.T) {
	l, d := NewLedger(), deployment("m", "")
	for _, g := range []Grade{{Right: 4, Of: 3}, {Right: -1, Of: 3}, {Right: 1}} {
		l.SetQuality(d, "coding", g)
	}
	for i := range 2 * maxTasks {
		l.SetQuality(d, fmt.Sprint("task", i), grade(1, 1))
	}
	if g := l.Book().Grades(d); g["coding"] != (Grade{}) || len(g) > maxTasks {
		t.Errorf("got %d grades, coding %+v", len(g), g["coding"])
	}
	wrong := strings.ReplaceAll(string(l.Export()), `"right":1`, `"right":7`)
	if err := l.Import([]byte(wrong)); err != nil || len(l.Book().Grades(d)) != 0 {
		t.Errorf("got %v, %v", err, l.Book().Grades(d))
	}
}

func TestTrafficNeverChangesQuality(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, d := NewLedger(), deployment("m", "sha256:a")
		want := map[string]Grade{}
		if rapid.Bool().Draw(t, "measured") {
			want["coding"] = grade(rapid.IntRange(0, 30).Draw(t, "right"), 30)
			l.SetQuality(d, "coding", want["coding"])
		}
		for range rapid.IntRange(1, 20).Draw(t, "requests") {
			s := took(d, rapid.Float64Range(0.1, 100).Draw(t, "took"))
			s.Task = rapid.SampledFrom([]string{"", "coding", "math"}).Draw(t, "task")
			s.Validated, s.Truncated = rapid.Bool().Draw(t, "validated"), rapid.Bool().Draw(t, "truncated")
			s.Input, s.Output, s.Estimate = rapid.IntRange(-1, 9000).Draw(t, "in"), rapid.IntRange(-1, 9000).Draw(t, "out"), rapid.IntRange(0, 9000).Draw(t, "estimate")
			l.Observe(s)
			l.ObserveLoad(d, time.Second)
			l.ObserveParallel(d, 3, 1, true)
		}
		if got := l.Book().Grades(d); !maps.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		for _, task := range []string{"", "math"} {
			if f := l.Book().Quality(d, task); f.Known() {
				t.Fatalf("%q: got %v", task, f)
			}
		}
	})
}

func TestAProbesWordIsStrongerThanTheRuntimes(t *testing.T) {
	d := deployment("m", "sha256:a")
	d.MaxContext, d.EmbeddingWidth = 40960, 4096
	d.Capabilities = fleet.Capabilities{
		fleet.CapTools:  {Support: fleet.Yes, Source: fleet.SourceRuntime},
		fleet.CapVision: {Support: fleet.No, Source: fleet.SourceOperator},
	}
	reported := maps.Clone(d.Capabilities)
	published := d.Capabilities
	p := &Probed{Results: map[fleet.Capability]fleet.Tri{fleet.CapTools: fleet.No, fleet.CapVision: fleet.Yes}, Context: 8192, Dimensions: 768}
	p.Tell(d)
	if d.Can(fleet.CapTools) != (fleet.Claim{Support: fleet.No, Source: fleet.SourceProbe}) || d.Can(fleet.CapVision).Source != fleet.SourceOperator {
		t.Errorf("got %v", d.Capabilities)
	}
	if d.MaxContext != 40960 || d.EmbeddingWidth != 768 {
		t.Errorf("got context %d, width %d", d.MaxContext, d.EmbeddingWidth)
	}
	bare := deployment("m", "sha256:a")
	if p.Tell(bare); bare.MaxContext != 8192 {
		t.Errorf("where nothing was reported: got context %d", bare.MaxContext)
	}
	if !maps.Equal(published, reported) {
		t.Error("a published map was changed")
	}
	var none *Probed
	none.Tell(d)
}
