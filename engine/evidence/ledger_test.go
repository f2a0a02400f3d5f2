package evidence

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"bellwether/engine/fleet"

	"pgregory.net/rapid"
)

func deployment(model, digest string) *fleet.Deployment {
	return &fleet.Deployment{
		ID:     fleet.DeploymentID{Node: "studio", Runtime: "ollama", Model: model},
		Digest: digest, Kind: "ollama", Quantization: "Q4_K_M",
	}
}

func took(d *fleet.Deployment, seconds float64) Sample {
	return Sample{Deployment: d, Validated: true, Took: time.Duration(seconds * float64(time.Second)), Input: -1, Output: -1, Reasoning: -1, Cached: -1}
}

func TestOnlyValidatedCompletionsCount(t *testing.T) {
	l, d := NewLedger(), deployment("m", "sha256:a")
	s := took(d, 3)
	s.Validated = false
	l.Observe(s)
	if f := l.Book().Seconds(d); f.Known() {
		t.Errorf("a failure taught %v", f)
	}
	l.Observe(took(d, 3))
	if f := l.Book().Seconds(d); f != (Figure{3, 1}) {
		t.Errorf("got %v, want 3 s of 1 sample", f)
	}
}

func TestP75IsTheNearestRankOfTheLast500(t *testing.T) {
	l, d := NewLedger(), deployment("m", "")
	for i := 1; i <= 4; i++ {
		l.Observe(took(d, float64(i)))
	}
	if f := l.Book().Seconds(d); f != (Figure{3, 4}) {
		t.Errorf("of 1 2 3 4 got %v, want 3", f)
	}
	for range 500 {
		l.Observe(took(d, 10))
	}
	if f := l.Book().Seconds(d); f != (Figure{10, 500}) {
		t.Errorf("after 500 more got %v, want 10 of 500: the oldest must go", f)
	}
}

func TestQuantileEqualsThatOfTheSortedTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 20).Draw(t, "size")
		values := rapid.SliceOfN(rapid.Float64Range(0, 100), 1, 60).Draw(t, "values")
		w := newWindow(size)
		for _, v := range values {
			w.add(v)
		}
		tail := newWindow(size)
		for _, v := range values[max(0, len(values)-size):] {
			tail.add(v)
		}
		for _, q := range []float64{0, 0.5, 0.75, 1} {
			if got, want := w.quantile(q), tail.quantile(q); got != want {
				t.Fatalf("q %v: got %v, want %v", q, got, want)
			}
		}
	})
}

func TestRepulledModelStartsOver(t *testing.T) {
	l := NewLedger()
	old, again := deployment("m", "sha256:a"), deployment("m", "sha256:b")
	l.Observe(took(old, 3))
	if f := l.Book().Seconds(again); f.Known() {
		t.Errorf("the new make knows %v of the old one", f)
	}
	other := deployment("m", "sha256:a")
	other.ID.Node = "laptop"
	if f := l.Book().Seconds(other); f.Known() {
		t.Errorf("another node knows %v of this one's speed", f)
	}
}

func TestHabitsBelongToTheModelWhereverItRuns(t *testing.T) {
	l, here := NewLedger(), deployment("m", "sha256:a")
	there := deployment("m", "sha256:a")
	there.ID.Node = "laptop"
	s := took(here, 3)
	s.Output, s.Reasoning, s.Task = 700, 200, "coding"
	l.Observe(s)
	b := l.Book()
	for _, task := range []string{"coding", "math", ""} {
		if f := b.Output(there, task); f != (Figure{500, 1}) {
			t.Errorf("task %q: output %v, want 500 (reasoning left out)", task, f)
		}
		if f := b.Reasoning(there, task); f != (Figure{200, 1}) {
			t.Errorf("task %q: reasoning %v, want 200", task, f)
		}
	}
	if f := b.Median(here, "coding"); f != (Figure{3, 1}) {
		t.Errorf("median for the task %v, want 3", f)
	}
}

func TestTruncatedAnswerSaysNothingOfTheHabit(t *testing.T) {
	l, d := NewLedger(), deployment("m", "")
	s := took(d, 3)
	s.Output, s.Truncated = 16, true
	l.Observe(s)
	if f := l.Book().Output(d, ""); f.Known() {
		t.Errorf("an answer cut at its limit taught %v", f)
	}
}

// What we ask ourselves is no sample of what people ask: many short answers of
// an eval must not make a model's answers look short or quick.
func TestOwnRequestTeachesHowFastTheMachineIsAndNoHabit(t *testing.T) {
	l, d := NewLedger(), deployment("m", "")
	s := took(d, 3)
	s.Task, s.Output, s.Decode, s.Internal = "math", 100, time.Second, true
	l.Observe(s)
	b := l.Book()
	if b.Output(d, "math").Known() || b.Seconds(d).Known() || b.Median(d, "math").Known() {
		t.Errorf("it taught output %v, seconds %v, median %v", b.Output(d, "math"), b.Seconds(d), b.Median(d, "math"))
	}
	if f := b.Decode(d); !f.Known() || f.V != 100 {
		t.Errorf("decode rate %v, want 100", f)
	}
}

func TestCalibrationFollowsReportedTokens(t *testing.T) {
	l, d := NewLedger(), deployment("m", "")
	if k := l.Book().Calibration(d); k != 1 {
		t.Errorf("unknown calibration is %v, want 1", k)
	}
	s := took(d, 1)
	s.Estimate, s.Input = 1000, 1300
	for range 30 {
		l.Observe(s)
	}
	if k := l.Book().Calibration(d); k < 1.299 || k > 1.301 {
		t.Errorf("got %v, want 1.3", k)
	}
	s.Input = 90000 // nonsense does not run away with it
	l.Observe(s)
	if k := l.Book().Calibration(d); k != 1.3 {
		t.Errorf("one wild report moved it to %v", k)
	}
	short := took(d, 1)
	short.Estimate, short.Input = 5, 40
	before := l.Book().Calibration(d)
	l.Observe(short)
	if k := l.Book().Calibration(d); k != before {
		t.Errorf("a prompt of a few tokens moved it to %v: that measures the template", k)
	}
}

// Eight prompts of base64 made a model refuse, for ever, prose that it had just
// answered: one factor stood for all texts.
func TestCountsOfOneKindOfTextSayNothingOfAnother(t *testing.T) {
	l, d := NewLedger(), deployment("m", "")
	see := func(kind string, input, times int) {
		for range times {
			s := took(d, 1)
			s.Text, s.Estimate, s.Input = kind, 1000, input
			l.Observe(s)
		}
	}
	see("prose", 2080, 1)
	see("code", 3200, 8)
	h := l.Book().Habits(d)
	if prose, code, other := h.RatioOf("prose"), h.RatioOf("code"), h.RatioOf("cjk"); prose.V != 2.08 || code.V != 3.2 || other != (Ratio{3.2, 2.08, 9}) {
		t.Errorf("prose %v, code %v, others %v", prose, code, other)
	}
	if f := h.LeastFactor("code"); f != 1 {
		t.Errorf("code may take no less than %v of its estimate, want 1: the next may be read as any other", f)
	}
	if f := h.LeastFactor("prose"); f != estimateError {
		t.Errorf("one count bounds nothing, got %v", f)
	}
	see("prose", 900, 9)
	if f := l.Book().Habits(d).LeastFactor("prose"); f != 0.9 {
		t.Errorf("got %v, want the least that was seen", f)
	}
	l.ObserveCount(d, "prose", 1000, 700) // refused, and counted
	if f := l.Book().Habits(d).LeastFactor("prose"); f != 0.7 {
		t.Errorf("got %v, want what a refused prompt counted", f)
	}
	again := NewLedger()
	if err := again.Import(l.Export()); err != nil || again.Book().Habits(d).RatioOf("prose") != l.Book().Habits(d).RatioOf("prose") {
		t.Errorf("kept: %v, %v", again.Book().Habits(d), err)
	}
}

func TestRatesComeFromTheRuntimeElseFromTheClock(t *testing.T) {
	l, d := NewLedger(), deployment("m", "")
	s := took(d, 10)
	s.Input, s.Cached, s.Output = 1000, 200, 100
	s.Prefill, s.Decode = 2*time.Second, 5*time.Second
	l.Observe(s)
	if f := l.Book().Prefill(d); f != (Figure{400, 1}) {
		t.Errorf("prefill %v, want 800 uncached in 2 s", f)
	}
	if f := l.Book().Decode(d); f != (Figure{20, 1}) {
		t.Errorf("decode %v, want 100 in 5 s", f)
	}
	other := deployment("n", "")
	s = took(other, 10)
	s.Input, s.Output, s.TTFT, s.Load = 1000, 100, 6*time.Second, 2*time.Second
	l.Observe(s)
	if f := l.Book().Prefill(other); f != (Figure{250, 1}) {
		t.Errorf("prefill %v, want 1000 in 6 s less 2 s of load", f)
	}
	if f := l.Book().Decode(other); f != (Figure{25, 1}) {
		t.Errorf("decode %v, want 100 in the 4 s after the first", f)
	}
	if f := l.Book().Load(other); f.Known() {
		t.Errorf("load %v: many requests wait for one load, which is told once", f)
	}
	for _, s := range []time.Duration{2, 9, 3} {
		l.ObserveLoad(other, s*time.Second)
	}
	if f := l.Book().Load(other); f != (Figure{3, 3}) {
		t.Errorf("load %v, want the median of 3 s", f)
	}
}

// how many requests a runtime runs is learned when nobody declares it.
func TestParallelismIsLearnedFromWhatWaits(t *testing.T) {
	l, d := NewLedger(), deployment("m", "")
	l.ObserveParallel(d, 2, 2, false)
	wait := func(n int) {
		for range n {
			l.ObserveParallel(d, 5, 2, true)
		}
	}
	wait(serialisedSamples - 1)
	l.ObserveParallel(d, 2, 1, true) // someone else's work was in the way
	if f := l.Book().Slots(d); f.Known() {
		t.Errorf("believed too early: %v", f)
	}
	wait(1)
	if f := l.Book().Slots(d); f != (Figure{2, serialisedSamples}) {
		t.Errorf("got %v, want 2", f)
	}
	l.ObserveParallel(d, 3, 3, false)
	if f := l.Book().Slots(d); f.Known() {
		t.Errorf("three at once refute two, got %v", f)
	}
}

func TestLearnedParallelismIsDoubtedAfterLongQuiet(t *testing.T) {
	l, d := NewLedger(), deployment("m", "")
	l.ObserveParallel(d, 1, 1, false)
	for range serialisedSamples {
		l.ObserveParallel(d, 4, 1, true)
	}
	for range doubtAfter - 1 {
		l.ObserveParallel(d, 1, 1, false)
	}
	if f := l.Book().Slots(d); f.V != 1 {
		t.Fatalf("got %v, want 1", f)
	}
	l.ObserveParallel(d, 1, 1, false)
	if f := l.Book().Slots(d); f.Known() {
		t.Errorf("got %v: nothing could ever show that the runtime has more slots now", f)
	}
}

func TestPublishedBookNeverChanges(t *testing.T) {
	l, d := NewLedger(), deployment("m", "")
	l.Observe(took(d, 1))
	before := l.Book()
	for i := range 20 {
		l.Observe(took(deployment(fmt.Sprint(i), ""), 9))
		l.Observe(took(d, 9))
	}
	if f := before.Seconds(d); f != (Figure{1, 1}) {
		t.Errorf("a book in use changed to %v", f)
	}
	if f := before.Seconds(deployment("7", "")); f.Known() {
		t.Errorf("a book in use learned %v", f)
	}
}

func TestNilBookKnowsNothing(t *testing.T) {
	var b *Book
	d := deployment("m", "")
	if b.Seconds(d).Known() || b.Load(d).Known() || b.Slots(d).Known() || b.Output(d, "").Known() || b.Calibration(d) != 1 {
		t.Error("a nil book knows something")
	}
}

func TestExportImportKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := NewLedger()
		for range rapid.IntRange(0, 40).Draw(t, "n") {
			d := deployment(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "model"), rapid.SampledFrom([]string{"", "x"}).Draw(t, "digest"))
			s := took(d, rapid.Float64Range(0.1, 90).Draw(t, "took"))
			s.Task = rapid.SampledFrom([]string{"", "coding"}).Draw(t, "task")
			s.Output, s.Input, s.Estimate = rapid.IntRange(1, 900).Draw(t, "out"), 500, 400
			s.Decode = time.Second
			l.Observe(s)
			l.ObserveLoad(d, time.Second)
			l.ObserveParallel(d, 3, 2, true)
		}
		saved := l.Export()
		again := NewLedger()
		if err := again.Import(saved); err != nil {
			t.Fatal(err)
		}
		if got := again.Export(); !bytes.Equal(got, saved) {
			t.Fatalf("read back it is\n%s\nand was\n%s", got, saved)
		}
		for _, model := range []string{"a", "b", "c"} {
			d := deployment(model, "x")
			if got, want := again.Book().Seconds(d), l.Book().Seconds(d); got != want {
				t.Fatalf("%s: got %v, want %v", model, got, want)
			}
		}
	})
}

func TestImportOfRubbishChangesNothing(t *testing.T) {
	l, d := NewLedger(), deployment("m", "")
	l.Observe(took(d, 1))
	for _, bad := range []string{"{", `{"version":99}`, `[]`} {
		if err := l.Import([]byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if f := l.Book().Seconds(d); f != (Figure{1, 1}) {
		t.Errorf("got %v after refused imports, want what was there", f)
	}
	if err := l.Import(nil); err != nil || l.Book().Seconds(d).Known() {
		t.Errorf("an empty import must empty it (%v)", err)
	}
}

func TestLongestUnusedKeysAreForgotten(t *testing.T) {
	l := NewLedger()
	first := deployment("first", "")
	l.Observe(took(first, 1))
	for i := range maxKeys {
		l.ObserveLoad(deployment(fmt.Sprint(i), ""), time.Second)
	}
	if l.Book().Seconds(first).Known() {
		t.Error("the longest unused is still there")
	}
	if !l.Book().Load(deployment(fmt.Sprint(maxKeys-1), "")).Known() {
		t.Error("the newest is gone")
	}
}

func TestManyReportersAndReaders(t *testing.T) {
	l := NewLedger()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 200 {
				d := deployment(fmt.Sprint(k%10), "")
				l.Observe(took(d, float64(i+1)))
				l.Book().Seconds(d)
				if k%50 == 0 {
					l.Export()
				}
			}
		})
	}
	wg.Wait()
	total := 0
	for k := range 10 { // each has a number of samples that is told
		total += l.Book().Seconds(deployment(fmt.Sprint(k), "")).N
	}
	if total != 1600 {
		t.Errorf("%d of 1600 samples arrived", total)
	}
}

func FuzzImport(f *testing.F) {
	l := NewLedger()
	s := took(deployment("m", "x"), 2)
	s.Output = 10
	l.Observe(s)
	f.Add(l.Export())
	f.Add([]byte(`{"version":1,"speeds":[{"key":{},"seconds":[1e999]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l := NewLedger()
		if l.Import(b) == nil {
			l.Export()
			l.Observe(took(deployment("m", "x"), 1))
		}
	})
}

// BenchmarkPublish: under 20 us a completion with 100 keys known.
func BenchmarkPublish(b *testing.B) {
	l := NewLedger()
	ds := make([]*fleet.Deployment, 100)
	for i := range ds {
		ds[i] = deployment(fmt.Sprint(i), "sha256:x")
		for k := range 500 {
			l.Observe(took(ds[i], float64(k)))
		}
	}
	s := took(ds[50], 12)
	s.Input, s.Output, s.Estimate = 900, 300, 800
	b.ReportAllocs()
	for b.Loop() {
		l.Observe(s)
	}
}

// What never ends within its deadline never shows how fast it is: that it was
// slower is believed at once, and measured again later.
func TestWhatWasGivenUpIsBelievedToBeNoFaster(t *testing.T) {
	l, d := NewLedger(), deployment("m", "sha256:a")
	l.ObserveSlow(d, fleet.Pace{Prefill: 20, Decode: 2})
	s := l.Book().Speeds(d)
	if s.Prefill != (Figure{20, EnoughSpeeds}) || s.Decode != (Figure{2, EnoughSpeeds}) || s.Load.Known() || s.Seconds.Known() {
		t.Fatalf("%+v", s)
	}
	l.ObserveSlow(d, fleet.Pace{Prefill: 50, Load: 90})
	if s = l.Book().Speeds(d); s.Prefill.V != 20 || s.Load != (Figure{90, 1}) {
		t.Errorf("a faster bound makes it no faster: %+v", s)
	}
	for range 10 {
		l.Observe(Sample{Deployment: d, Validated: true, Input: 1000, Output: 100, Reasoning: -1, Cached: -1, Took: 30 * time.Second, TTFT: 10 * time.Second})
	}
	if s = l.Book().Speeds(d); s.Prefill.V < 70 || s.Decode.V < 4 {
		t.Errorf("ten answers at 100 and 5 tokens a second leave it at %+v", s)
	}
}
