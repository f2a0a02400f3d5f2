package engine

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/runtime/runtimetest"
)

func TestWishesForAModelAreOneAndEnd(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	nobody := func(string) bool { return false }
	var a approvals
	for i := range 5 {
		a.ask("qwen9:1b", "cursor", now.Add(time.Duration(i)*time.Minute))
	}
	a.ask("QWEN9:1b", "cline", now.Add(10*time.Minute))
	if got := a.open(now, nobody); len(got) != 1 || got[0].app != "cline" {
		t.Errorf("wishes %+v, want one, of the last app", got)
	}
	for i := range 50 {
		a.ask(fmt.Sprintf("m%d", i), "", now.Add(20*time.Minute))
	}
	if got := a.open(now, nobody); len(got) != mostApprovals {
		t.Errorf("%d wishes, want %d at most", len(got), mostApprovals)
	}
	if got := a.open(now, func(m string) bool { return m == "m0" }); len(got) != mostApprovals-1 {
		t.Errorf("a fetched model is still asked for: %+v", got)
	}
	if got := a.open(now.Add(45*time.Minute), nobody); len(got) != mostApprovals-2 {
		t.Errorf("an old wish still stands: %+v", got)
	}
}

// What the owner waved away is not told again while apps go on asking, takes no
// room from others, and is a wish again after a silence.
func TestADismissedWishStaysAwayWhileItIsRepeated(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	nobody := func(string) bool { return false }
	var a approvals
	for i := range mostApprovals {
		a.ask(fmt.Sprintf("m%d", i), "cursor", now)
	}
	if !a.dismiss("m3") || a.dismiss("m3") || a.dismiss("other") {
		t.Error("dismissing: want yes once, and no for what is no wish")
	}
	for i := range 10 {
		now = now.Add(20 * time.Minute)
		for j := range mostApprovals + 1 {
			a.ask(fmt.Sprintf("M%d:latest", j), "cursor", now)
		}
		got := a.open(now, nobody)
		if slices.ContainsFunc(got, func(w approval) bool { return w.model == "m3" }) || len(got) != mostApprovals {
			t.Fatalf("round %d: %+v", i, got)
		}
	}
	now = now.Add(approvalLife + time.Minute)
	a.open(now, nobody)
	a.ask("m3", "cursor", now)
	if got := a.open(now, nobody); len(got) != 1 {
		t.Errorf("after a silence: %+v", got)
	}
	for i := range 3 * mostAside {
		name := fmt.Sprintf("x%d", i)
		a.ask(name, "", now)
		a.dismiss(name)
	}
	if len(a.aside) != mostAside {
		t.Errorf("%d are remembered", len(a.aside))
	}
}

// A request for a model that nobody has, with auto_pull: ask, becomes a line of
// Health with a button; pressed, the model is fetched and the line goes.
func TestAWishForAModelIsToldAndFulfilled(t *testing.T) {
	r := newRig(t, spec{
		config: "routing: {settle: 0, auto_pull: ask}\n",
		fakes: map[string]runtimetest.FakeConfig{"ollama": {
			Models:   []runtimetest.FakeModel{{Name: "here:1b"}},
			Registry: []runtimetest.FakeModel{{Name: "qwen9:1b"}},
		}},
	})
	if a := r.post(t, "/v1/chat/completions", chatWire.body("qwen9:1b", "go", false)); a.Status < 400 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	var f admin.FindingView
	r.await(t, "the wish in Health", func() (there bool) { f, there = r.finding("pull.qwen9:1b"); return there })
	if f.Severity != isWarning || f.Cure == nil || f.Remedy == "" {
		t.Errorf("%+v", f)
	}
	if !f.Dismissable || r.owner(t, "POST", "/admin/findings/port/dismiss", nil, nil) != http.StatusConflict {
		t.Error("want the wish to be dismissable, and a state not to be")
	}
	if status := r.owner(t, "POST", "/admin/findings/pull.qwen9:1b/dismiss", nil, nil); status != 200 {
		t.Fatalf("dismiss: %d", status)
	}
	if _, there := r.finding("pull.qwen9:1b"); there || r.owner(t, "POST", "/admin/findings/pull.qwen9:1b/dismiss", nil, nil) != http.StatusNotFound {
		t.Error("a dismissed wish is told")
	}
	r.approvals.aside = nil // a silence later
	if a := r.post(t, "/v1/chat/completions", chatWire.body("qwen9:1b", "go", false)); a.Status < 400 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	r.await(t, "the wish once more", func() (there bool) { f, there = r.finding("pull.qwen9:1b"); return there })
	if status := r.owner(t, "POST", "/admin/findings/pull.qwen9:1b/cure", nil, nil); status != 200 {
		t.Fatalf("the button: %d", status)
	}
	r.await(t, "the model, and no wish any more", func() bool {
		_, there := r.finding("pull.qwen9:1b")
		return !there && r.model("qwen9:1b") != nil
	})
}
