package budget

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bellwether/engine/fleet"
)

const gib = int64(1) << 30

var t0 = time.Date(2026, 11, 3, 9, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }

func id(model string) fleet.DeploymentID {
	return fleet.DeploymentID{Node: "studio", Runtime: "ollama", Model: model}
}

func onePool(limit, margin int64) []fleet.Pool {
	return []fleet.Pool{{Name: "unified", Kind: fleet.PoolUnified, Total: 64 * gib, Limit: limit * gib, Margin: margin * gib}}
}

func sized(n int64) Need {
	return Need{Shares: []Share{{"unified", fleet.Know(n * gib)}}, Label: Measured}
}

func unknownSize() Need {
	return Need{Shares: []Share{{Pool: "unified"}}, Label: Unknown}
}

func asks(model string, n int64, evict ...string) Candidate {
	c := Candidate{Deployment: id(model), Need: sized(n)}
	for _, e := range evict {
		c.Evict = append(c.Evict, id(e))
	}
	return c
}

func newLedger(limit, margin int64) *Ledger {
	l := New(Options{})
	l.SetPools(onePool(limit, margin))
	return l
}

// text writes the first pool's holders as "model kind GB", one space-joined line.
func text(l *Ledger, now time.Time) string {
	var parts []string
	for _, h := range l.Pools(now)[0].Holders {
		size := "?"
		if h.Bytes.Known {
			size = fmt.Sprint(h.Bytes.V / gib)
		}
		s := h.Deployment.Model + " " + string(h.Kind) + " " + size
		if h.Remaining > 0 {
			s += " " + h.Remaining.String()
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

func wantHolders(t *testing.T, l *Ledger, now time.Time, want string) {
	t.Helper()
	if got := text(l, now); got != want {
		t.Errorf("holders\n got %q\nwant %q", got, want)
	}
}

func observe(l *Ledger, started time.Time, resident map[string]int64) {
	o := Observation{Node: "studio", Runtime: "ollama", StartedAt: started, Resident: map[fleet.DeploymentID]Need{}}
	for m, n := range resident {
		o.Resident[id(m)] = sized(n)
	}
	l.Observe(o)
}

func reserve(t *testing.T, l *Ledger, key string, c Candidate) {
	t.Helper()
	if d := l.Reserve(key, c); d != nil {
		t.Fatalf("Reserve %s: %v", key, d)
	}
}

func TestReservedAssumedSettledIsTheWayOfOneCall(t *testing.T) {
	l := newLedger(20, 2)
	reserve(t, l, "g1", asks("a", 8))
	wantHolders(t, l, at(0), "a reserved 8")
	l.Sent("g1", at(1))
	wantHolders(t, l, at(1), "a assumed 8, a reserved 8")
	l.Release("g1", at(5))
	wantHolders(t, l, at(5), "a assumed 8")
	observe(l, at(6), map[string]int64{"a": 9})
	wantHolders(t, l, at(6), "a resident 9")
	observe(l, at(11), nil)
	wantHolders(t, l, at(11), "")
	if n := len(l.entries); n != 0 {
		t.Errorf("%d entries left after everything went", n)
	}
}

func TestAnObservationThatStartedBeforeTheByteSettlesNothing(t *testing.T) {
	l := newLedger(20, 2)
	reserve(t, l, "g1", asks("a", 8))
	l.Sent("g1", at(10))
	l.Release("g1", at(10))
	observe(l, at(9), nil) // began before, arrives after
	wantHolders(t, l, at(12), "a assumed 8")
	observe(l, at(10), nil) // at the same instant proves nothing either
	wantHolders(t, l, at(12), "a assumed 8")
	observe(l, at(11), nil)
	wantHolders(t, l, at(12), "")
}

func TestAnObservationThatStartedDuringTheCallDoesNotFreeWhatTheCallLoaded(t *testing.T) {
	l := newLedger(20, 2)
	reserve(t, l, "g1", asks("a", 8))
	l.Sent("g1", at(1))
	observe(l, at(2), nil) // the load is still under way: not listed yet
	wantHolders(t, l, at(2), "a reserved 8")
	l.Release("g1", at(30))
	wantHolders(t, l, at(30), "a assumed 8")
	if d := l.Admit(asks("b", 12)); d == nil {
		t.Error("b was admitted over a model that nobody has seen leave")
	}
}

func TestAConnectionRefusedBeforeTheRequestWasSentAssumesNothing(t *testing.T) {
	l := newLedger(20, 2)
	reserve(t, l, "g1", asks("a", 8))
	l.Release("g1", at(1))
	wantHolders(t, l, at(1), "")
}

func TestTwoCallsOnOneDeploymentCountOnce(t *testing.T) {
	l := newLedger(20, 2)
	reserve(t, l, "g1", asks("a", 8))
	reserve(t, l, "g2", asks("a", 8))
	l.Sent("g1", at(1))
	reserve(t, l, "g3", asks("b", 10)) // 8 + 10 + margin 2 = 20
	if d := l.Admit(asks("c", 1)); d == nil || d.Short() != gib {
		t.Errorf("c: %v, want a denial 1 GiB short", d)
	}
	l.Release("g1", at(2))
	wantHolders(t, l, at(2), "a assumed 8, a reserved 8, b reserved 10")
}

func TestDenialCarriesItsNumbers(t *testing.T) {
	l := newLedger(20, 2)
	observe(l, at(0), map[string]int64{"a": 12})
	d := l.Admit(asks("b", 8))
	if d == nil {
		t.Fatal("admitted over the limit")
	}
	want := Denial{Kind: DenyMemory, Deployment: id("b"), Pool: "unified", Need: 8 * gib, Held: 12 * gib, Margin: 2 * gib, Limit: 20 * gib}
	if *d != want {
		t.Errorf("got %+v\nwant %+v", *d, want)
	}
	if d.Short() != 2*gib || d.Hopeless() {
		t.Errorf("short %d hopeless %v, want 2 GiB and not hopeless", d.Short(), d.Hopeless())
	}
	if d := l.Admit(asks("huge", 30)); d == nil || !d.Hopeless() {
		t.Errorf("30 GiB in a pool of 20: %v, want hopeless", d)
	}
	if got := d.Error(); got != "b needs 8 GB of pool unified, where 12 GB of 20 GB are held and 2 GB are kept free: 2 GB short" {
		t.Errorf("text: %s", got)
	}
}

func TestCeilingThatSinksDoesNotStopWhatIsLoaded(t *testing.T) {
	l := newLedger(20, 2)
	observe(l, at(0), map[string]int64{"a": 12})
	l.SetPools(onePool(8, 2))
	if d := l.Admit(asks("a", 12)); d != nil {
		t.Errorf("a loaded model was refused: %v", d)
	}
	if d := l.Admit(asks("a", 13)); d == nil {
		t.Error("a reload that grows was admitted over the limit")
	}
	if d := l.Admit(asks("b", 1)); d == nil {
		t.Error("a new model was admitted over the limit")
	}
}

func TestVictimsCountForEveryoneButTheirOwnSuccessor(t *testing.T) {
	l := newLedger(20, 2)
	observe(l, at(0), map[string]int64{"old": 10})
	reserve(t, l, "g1", asks("new", 16, "old"))
	if !l.Leaving(id("old")) {
		t.Fatal("the victim is not marked as leaving")
	}
	if d := l.Admit(asks("tiny", 1)); d == nil {
		t.Error("a third was admitted while the victim is still in memory")
	}
	if d := l.Admit(asks("old", 10)); d == nil || d.Kind != DenyLeaving {
		t.Errorf("the victim itself: %v, want leaving", d)
	}
	if d := l.Admit(asks("other", 1, "old")); d == nil || d.Kind != DenyVictim {
		t.Errorf("a second successor: %v, want victim", d)
	}
	observe(l, at(5), nil)
	wantHolders(t, l, at(5), "new reserved 16")
	reserve(t, l, "g2", asks("tiny", 1))
}

func TestBusyOrPinnedVictimsStay(t *testing.T) {
	l := newLedger(20, 2)
	observe(l, at(0), map[string]int64{"busy": 6, "pin": 6, "held": 6})
	reserve(t, l, "g1", asks("busy", 6))
	reserve(t, l, "g2", asks("held", 6))
	l.Hold("g2", 2*time.Minute, at(1))
	l.SetPinned([]fleet.DeploymentID{id("pin")})
	for _, victim := range []string{"busy", "pin", "held"} {
		if d := l.Reserve("g3", asks("new", 6, victim)); d == nil || d.Kind != DenyVictim || d.Deployment != id(victim) {
			t.Errorf("%s: %v, want it to stay", victim, d)
		}
		if l.Leaving(id(victim)) {
			t.Errorf("%s is marked leaving after a denial", victim)
		}
	}
}

func TestALateReadingDoesNotSayThatAVictimHasLeft(t *testing.T) {
	l := newLedger(20, 2)
	reserve(t, l, "g1", asks("old", 10))
	l.Sent("g1", at(5))
	l.Release("g1", at(6))
	reserve(t, l, "g2", asks("new", 16, "old"))
	observe(l, at(1), nil) // began before old was there
	if !l.Leaving(id("old")) {
		t.Error("old counts as gone by a reading from before it came")
	}
	observe(l, at(7), nil)
	if l.Leaving(id("old")) {
		t.Error("old is still leaving after it was seen to be gone")
	}
	wantHolders(t, l, at(7), "new reserved 16")
}

func TestUnloadThatFailsIsTakenBack(t *testing.T) {
	l := newLedger(20, 2)
	observe(l, at(0), map[string]int64{"old": 10})
	reserve(t, l, "g1", asks("new", 16, "old"))
	l.Release("g1", at(1))
	l.Stay(id("old"))
	if d := l.Admit(asks("old", 10)); d != nil {
		t.Errorf("old stays and may serve: %v", d)
	}
}

func TestUncertainCallKeepsItsMemoryUntilItsTimeIsOver(t *testing.T) {
	l := newLedger(20, 2)
	reserve(t, l, "g1", asks("a", 12))
	l.Sent("g1", at(1))
	l.Hold("g1", 2*time.Minute, at(10))
	observe(l, at(20), nil)
	wantHolders(t, l, at(40), "a uncertain 12 1m30s")
	if left := l.Uncertain(at(40))[id("a")]; left != 90*time.Second {
		t.Errorf("%v left, want 1m30s", left)
	}
	if d := l.Admit(asks("b", 8)); d == nil {
		t.Error("b was admitted over an uncertain hold")
	}
	if l.Expire(at(129)) || !l.Expire(at(130)) {
		t.Error("the hold must end at 130 s exactly")
	}
	wantHolders(t, l, at(130), "")
	if l.Uncertain(at(130)) != nil {
		t.Error("an expired hold is still reported")
	}
}

func TestCallSeenToHaveEndedIsHeldNoLonger(t *testing.T) {
	l := newLedger(20, 2)
	reserve(t, l, "g1", asks("a", 12))
	l.Sent("g1", at(1))
	l.Hold("g1", 2*time.Minute, at(10))
	l.Settle(id("a"))
	wantHolders(t, l, at(10), "a assumed 12") // what was sent stays until it is seen
	if l.Uncertain(at(10)) != nil || l.Busy(id("a")) {
		t.Error("a settled hold is still reported")
	}
	observe(l, at(20), nil)
	wantHolders(t, l, at(20), "")
	l.Settle(id("nobody"))
}

func TestUnknownSizes(t *testing.T) {
	l := newLedger(20, 2)
	observe(l, at(0), map[string]int64{"a": 12})
	mystery := Candidate{Deployment: id("mystery"), Need: unknownSize()}
	reserve(t, l, "g1", mystery)
	wantHolders(t, l, at(0), "a resident 12, mystery reserved ?")
	if h := l.Pools(at(0))[0].Holders[1]; h.Label != Unknown {
		t.Errorf("label %q, want unknown", h.Label)
	}
	reserve(t, l, "g2", asks("b", 6)) // allow: the unknown one counts 0

	l.Configure(Options{RejectUnknown: true})
	if d := l.Admit(asks("c", 0)); d == nil || d.Kind != DenyUnknown || d.Deployment != id("mystery") {
		t.Errorf("with reject: %v, want a denial that names the unknown one", d)
	}
	if d := l.Admit(mystery); d == nil || d.Kind != DenyUnknown {
		t.Errorf("the unknown one itself: %v, want a denial", d)
	}
	l.Release("g1", at(1))
	if d := l.Admit(mystery); d == nil || d.Kind != DenyUnknown {
		t.Errorf("with reject an unknown newcomer: %v, want a denial", d)
	}
	if d := l.Admit(asks("d", 0)); d != nil {
		t.Errorf("all counted sizes are known again: %v", d)
	}
}

func TestMaxLoadedIsPartOfAdmission(t *testing.T) {
	l := newLedger(60, 2)
	observe(l, at(0), map[string]int64{"a": 1, "b": 1, "c": 1})
	c := asks("d", 1)
	c.MaxLoaded = 3
	if d := l.Admit(c); d == nil || d.Kind != DenyMaxLoaded || d.Loaded != 3 {
		t.Errorf("a fourth of three: %v", d)
	}
	again := asks("a", 1)
	again.MaxLoaded = 3
	if d := l.Admit(again); d != nil {
		t.Errorf("one of the three: %v", d)
	}
	c.Evict = []fleet.DeploymentID{id("b")}
	reserve(t, l, "g1", c)
	elsewhere := Candidate{Deployment: fleet.DeploymentID{Node: "studio", Runtime: "llama", Model: "x"}, Need: sized(1), MaxLoaded: 1}
	if d := l.Admit(elsewhere); d != nil {
		t.Errorf("another runtime counts for itself: %v", d)
	}
}

// M-03: every candidate is judged by itself, nothing is carried over.
func TestDenialOfOneCandidateDoesNotColourTheNext(t *testing.T) {
	l := newLedger(20, 2)
	before := text(l, at(0))
	if d := l.Reserve("g1", asks("huge", 50)); d == nil {
		t.Fatal("50 GiB were admitted")
	}
	if got := text(l, at(0)); got != before {
		t.Errorf("a denial left a trace: %q", got)
	}
	reserve(t, l, "g1", asks("small", 18))
}

// M-04: an unknown pool or size is unknown, not zero.
func TestUnknownPoolIsNotAnEmptyPool(t *testing.T) {
	c := Candidate{Deployment: id("a"), Need: Need{Shares: []Share{{"gpu9", fleet.Know(4 * gib)}}, Label: Measured}}
	if d := newLedger(20, 2).Admit(c); d != nil {
		t.Errorf("allow: %v", d)
	}
	l := New(Options{RejectUnknown: true})
	l.SetPools(onePool(20, 2))
	if d := l.Admit(c); d == nil || d.Kind != DenyUnknown {
		t.Errorf("reject: %v, want unknown", d)
	}
}

func TestAssumedResidencyEndsByItsTTLOnlyWhenSet(t *testing.T) {
	l := newLedger(20, 2)
	reserve(t, l, "g1", asks("a", 8))
	l.Sent("g1", at(0))
	l.Release("g1", at(10))
	if l.Expire(at(1e6)) {
		t.Error("it ended without a TTL")
	}
	l.Configure(Options{AssumedTTL: time.Minute})
	if l.Expire(at(69)) || !l.Expire(at(70)) {
		t.Error("it must end a minute after the call's end")
	}
	wantHolders(t, l, at(70), "")
}

func TestKilledAgentForgetsNothing(t *testing.T) {
	l := newLedger(40, 2)
	observe(l, at(0), map[string]int64{"resident": 4})
	for _, m := range []string{"running", "uncertain", "asked"} {
		reserve(t, l, m, asks(m, 8))
	}
	l.Sent("running", at(1))
	l.Sent("uncertain", at(1))
	l.Hold("uncertain", 2*time.Minute, at(30))
	data, err := l.Export(at(60))
	if err != nil {
		t.Fatal(err)
	}

	fresh := newLedger(40, 2)
	if err := fresh.Import(data, at(1000)); err != nil {
		t.Fatal(err)
	}
	wantHolders(t, fresh, at(1000), "asked reserved 8, resident resident 4, "+
		"running assumed 8, running reserved 8, uncertain assumed 8, uncertain uncertain 8 1m30s")
	fresh.Recover(2*time.Minute, at(1000))
	wantHolders(t, fresh, at(1000), "resident resident 4, "+
		"running assumed 8, running uncertain 8 2m0s, uncertain assumed 8, uncertain uncertain 8 1m30s")
	observe(fresh, at(1001), map[string]int64{"running": 8})
	fresh.Expire(at(1120))
	wantHolders(t, fresh, at(1120), "running resident 8")
}

func TestBadSaveChangesNothing(t *testing.T) {
	l := newLedger(20, 2)
	reserve(t, l, "g1", asks("a", 8))
	for _, bad := range []string{"", "{", `{"version":9}`, `{"version":1,"entries":[{"deployment":"x"}]}`} {
		if err := l.Import([]byte(bad), at(1)); err == nil {
			t.Errorf("%q was taken", bad)
		}
		wantHolders(t, l, at(1), "a reserved 8")
	}
}

func TestDepartForgetsResidencyAndKeepsWhatRuns(t *testing.T) {
	l := newLedger(20, 2)
	observe(l, at(0), map[string]int64{"a": 8, "b": 4})
	reserve(t, l, "g1", asks("b", 4))
	l.Depart(id("a"))
	l.Depart(id("b"))
	wantHolders(t, l, at(1), "b reserved 4")
}
