package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/queue"
	"bellwether/engine/route"
	"bellwether/engine/socket"
)

func TestAHelloHasTheWholeState(t *testing.T) {
	r := newFeedRig(t)
	r.node(0, 3, nil)
	r.set(func() {
		one, two := recordOf(1), recordOf(2)
		r.recent = []*route.Record{two, one}
		r.feed.Ended(one)
		r.feed.Ended(two)
		r.active = []queue.Event{eventOf(7, queue.EventHeld)}
		r.jobs = []JobView{{ID: "j", Kind: "pull", State: "running"}}
		r.queue = queue.Status{Tickets: 1, Held: make([]queue.HeldStatus, 1), Apps: map[string]int{"app-2": 1}}
	})
	w := r.open(t)
	f := w.next()
	in := json.NewDecoder(bytes.NewReader(f.State))
	in.DisallowUnknownFields()
	var s State
	if err := in.Decode(&s); err != nil {
		t.Fatal(err)
	}
	if f.Type != FrameHello || len(s.Nodes) != 1 || len(s.Runtimes) != 1 || len(s.Deployments) != 3 || len(s.Pools) != 1 || len(s.Jobs) != 1 ||
		len(s.Aliases) == 0 || s.Meta[MetaEngine].ActiveRequests != 1 || s.Meta[MetaEngine].HeldRequests != 1 || len(s.Apps) != 2 {
		t.Errorf("hello: %s", f.State)
	}
	if len(s.Rows) != 3 || s.Rows[0].Stage != "held" || s.Rows[1].RequestID != "r000002" || s.Rows[1].Outcome != "ok" {
		t.Errorf("rows: %+v", s.Rows)
	}
	if p := s.Pools["n00/unified"]; p.ResidentBytes != 12e9 || len(p.Holders) != 2 || p.Holders[0].CountedBytes != 6e9 {
		t.Errorf("pool: %+v", p)
	}
}

func TestRequestsAreFollowedThroughTheirStages(t *testing.T) {
	r := newFeedRig(t)
	r.node(0, 1, nil)
	w := r.open(t)
	w.next()
	stage := func(want string) {
		t.Helper()
		w.until("stage "+want, func() bool { return w.rows["r000001"].Stage == want && w.rows["r000001"].RequestID != "" })
	}
	held := eventOf(1, queue.EventHeld)
	held.Deployment = fleet.DeploymentID{}
	r.events.Publish(held)
	stage("held")
	r.events.Publish(eventOf(1, queue.EventQueued))
	stage("queued")
	if row := w.rows["r000001"]; row.NodeName != "machine-n00" || row.Model != "model-00:8b" || row.App != "app-1" {
		t.Errorf("row %+v", row)
	}
	r.events.Publish(eventOf(1, queue.EventGranted))
	stage("sent")
	r.feed.Ended(recordOf(1))
	r.events.Publish(eventOf(1, queue.EventDone))
	r.events.Publish(eventOf(1, queue.EventReturned)) // late, and of no more interest
	r.events.Publish(eventOf(2, queue.EventQueued))
	w.until("the end", func() bool { return w.rows["r000002"].Stage == "queued" })
	if row := w.rows["r000001"]; row.Outcome != "ok" || row.Stage != "" || *row.InputTokens != 1201 {
		t.Errorf("row %+v", row)
	}
	w.until("its app", func() bool {
		a, there := value[AppView](w, SectionApps, "app-1")
		return there && a.Requests == 1 && a.OutputTokens == 80 && a.TTFTP50Ms != nil
	})
}

func TestAPauseIsToldAtOnce(t *testing.T) {
	r := newFeedRig(t)
	r.node(0, 1, nil)
	w := r.open(t)
	w.next()
	began := time.Now()
	r.node(0, 1, func(h *fleet.Heartbeat) { h.State.Paused, h.State.PauseReason = true, "a build" })
	w.until("the pause", func() bool {
		n, _ := value[NodeView](w, SectionNodes, "n00")
		return n.Paused && n.State == "paused" && n.PauseReason == "a build"
	})
	if took := time.Since(began); took > 300*time.Millisecond {
		t.Errorf("it took %v", took)
	}
}

func TestReadingsAreMergedToTwoADeltasASecond(t *testing.T) {
	r := newFeedRig(t)
	r.node(0, 1, nil)
	w := r.open(t)
	w.next()
	began, told := time.Now(), 0
	every := time.NewTicker(5 * time.Millisecond)
	defer every.Stop()
	for time.Since(began) < 1200*time.Millisecond {
		<-every.C
		r.node(0, 1, nil)
		for len(w.frames) > 0 {
			if f := w.next(); f.Set[SectionNodes] != nil {
				told++
			}
		}
	}
	if most := int(time.Since(began)/slow) + 1; told == 0 || told > most {
		t.Errorf("the node was told %d times within %v, want 1 to %d", told, time.Since(began), most)
	}
}

// Whatever happens, a window that follows the deltas sees what one that opens
// now is told.
func TestDeltasLeadWhereAHelloLeads(t *testing.T) {
	r := newFeedRig(t)
	r.node(0, 2, nil)
	w := r.open(t)
	w.next()
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 150 {
		switch rnd.IntN(8) {
		case 0, 1, 2:
			r.node(rnd.IntN(4), 1+rnd.IntN(4), func(h *fleet.Heartbeat) {
				h.State.Paused = rnd.IntN(3) == 0
				h.Deployments[0].Residency = fleet.Residency(rnd.IntN(4))
				if rnd.IntN(3) == 0 {
					h.Pools, h.Runtimes = nil, nil
				}
			})
		case 3:
			r.reg.Forget(fmt.Sprintf("n%02d", 1+rnd.IntN(3)), time.Now())
		case 4:
			r.events.Publish(eventOf(rnd.IntN(40), queue.EventQueued))
		case 5:
			r.feed.Ended(recordOf(rnd.IntN(40)))
		case 6:
			r.set(func() {
				r.jobs = make([]JobView, rnd.IntN(3))
				for j := range r.jobs {
					r.jobs[j] = JobView{ID: fmt.Sprint("j", j), Step: fmt.Sprint(i)}
				}
			})
		case 7:
			r.set(func() {
				id := fleet.DeploymentID{Node: "n00", Runtime: "ollama", Model: fmt.Sprint("m", rnd.IntN(3))}
				r.queue.Lanes = []queue.LaneStatus{{Deployment: id, Running: rnd.IntN(3)}}
				r.findings = []FindingView{{ID: fmt.Sprint("f", rnd.IntN(3)), Severity: "note"}}
			})
			r.feed.Touched()
		}
		if i%30 == 29 {
			w.conn.Send([]byte(`{"type":"hello"}`))
			w.until("the hello", func() bool { return w.seq > 0 && len(w.frames) == 0 })
		}
	}
	r.feed.Touched()
	// Quiet: both see the same once nothing is under way any more.
	same := func() bool {
		fresh := r.open(t)
		fresh.next()
		for len(w.frames) > 0 {
			w.next()
		}
		equal := fresh.seq == w.seq && fresh.text() == w.text()
		for id, row := range fresh.rows {
			a, _ := json.Marshal(row)
			b, _ := json.Marshal(w.rows[id])
			equal = equal && bytes.Equal(a, b)
		}
		return equal
	}
	deadline := time.Now().Add(8 * time.Second)
	for !same() {
		if time.Now().After(deadline) {
			fresh := r.open(t)
			fresh.next()
			t.Fatalf("followed:\n%s\nfresh:\n%s", w.text(), fresh.text())
		}
	}
}

// A window that missed something finds out by the number of the next frame,
// asks again, and is told everything.
func TestAGapIsSeenAndCuredByAskingAgain(t *testing.T) {
	r := newFeedRig(t)
	r.node(0, 1, nil)
	w := r.open(t)
	w.next()
	r.events.Publish(eventOf(1, queue.EventQueued))
	missed := <-w.frames // thrown away
	for missed.Rows == nil {
		w.take(&missed)
		missed = <-w.frames
	}
	r.events.Publish(eventOf(2, queue.EventQueued))
	for f := range w.frames {
		if f.Rows == nil {
			w.seq = f.Seq
			continue
		}
		if f.Seq == w.seq+1 {
			t.Fatal("the gap does not show")
		}
		break
	}
	w.conn.Send([]byte(`{"type":"hello"}`))
	w.until("the hello", func() bool { return w.rows["r000001"].Stage == "queued" && w.rows["r000002"].Stage == "queued" })
	r.events.Publish(eventOf(3, queue.EventQueued))
	w.until("the next delta", func() bool { return w.rows["r000003"].Stage == "queued" })
}

func TestAFeedThatFellBehindHasItsWindowsAskForEverything(t *testing.T) {
	r := newFeedRig(t)
	w := r.open(t)
	w.next()
	r.feed.tell(func(*watch) {
		for i := range 2 * recordsBehind {
			r.feed.Ended(recordOf(i))
		}
	})
	f := w.next()
	for f.Type != FrameResync {
		f = w.next()
	}
}

func TestAWindowThatReadsTooSlowlyIsCutAndTheOthersGoOn(t *testing.T) {
	r := newFeedRig(t)
	for i := range 20 {
		r.node(i, 20, nil)
	}
	slowOne, err := socket.Dial(t.Context(), r.address, nil, socket.Options{}) // reads nothing until it is too late
	if err != nil {
		t.Fatal(err)
	}
	quickOne := r.open(t)
	quickOne.next()
	var told error
	ended := make(chan struct{})
	stop := make(chan struct{})
	go func() { // every node says something else, again and again
		defer close(ended)
		for k := 0; ; k++ {
			select {
			case <-stop:
				return
			default:
			}
			for i := range 20 {
				r.node(i, 20, func(h *fleet.Heartbeat) {
					for d := range h.Deployments {
						h.Deployments[d].Degraded = strings.Repeat(fmt.Sprint(k, " "), 400)
					}
					h.State.Paused = k%2 == 0
				})
			}
			select {
			case <-stop:
				return
			case <-time.After(quick):
			}
		}
	}()
	quickOne.until("a long time", func() bool { return quickOne.seq > 40 })
	close(stop)
	<-ended
	var last string
	told = slowOne.Serve(t.Context(), func(text []byte) error { last = string(text); return nil })
	var closed *socket.CloseError
	if !errors.As(told, &closed) {
		t.Fatalf("the slow one: %v", told)
	}
	if closed.Code == socket.TryAgainLater && last != string(resync) {
		t.Errorf("the last frame was %.80s", last)
	}
	r.node(0, 20, func(h *fleet.Heartbeat) { h.State.Paused, h.State.PauseReason = true, "over" })
	quickOne.until("the last word", func() bool {
		n, _ := value[NodeView](quickOne, SectionNodes, "n00")
		return n.PauseReason == "over"
	})
}

func TestPagesOfOtherOriginsGetNoFeed(t *testing.T) {
	r := newFeedRig(t)
	for _, o := range []string{"http://evil.example", "null", "https://" + strings.TrimPrefix(r.address, "ws://") + ".evil.example"} {
		_, err := socket.Dial(t.Context(), r.address, origin(o), socket.Options{})
		var refused *socket.RefusedError
		if !errors.As(err, &refused) || refused.Status != http.StatusForbidden {
			t.Errorf("%s: %v", o, err)
		}
	}
	c, err := socket.Dial(t.Context(), r.address, origin("http://"+strings.TrimPrefix(r.address, "ws://")), socket.Options{})
	if err != nil {
		t.Fatal("our own page was refused: ", err)
	}
	c.Cut(socket.Normal, "", nil)
	_ = c.Serve(t.Context(), ignore)
}

func TestCommandsOverTheFeedAreNotTaken(t *testing.T) {
	r := newFeedRig(t)
	w := r.open(t)
	w.next()
	w.conn.Send([]byte(`{"type":"pause"}`))
	var closed *socket.CloseError
	if err := <-w.ended; !errors.As(err, &closed) || closed.Code != socket.Misbehaved {
		t.Errorf("ended with %v", err)
	}
}

func TestAHundredWindowsComeAndGo(t *testing.T) {
	r := newFeedRig(t)
	r.node(0, 3, nil)
	for i := range 100 {
		c, err := socket.Dial(t.Context(), r.address, nil, socket.Options{ReadLimit: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			c.Cut(socket.Normal, "", nil)
		}
		_ = c.Serve(t.Context(), func([]byte) error { c.Cut(socket.Normal, "", nil); return nil })
		r.events.Publish(eventOf(i, queue.EventQueued))
	}
	for r.events.Watched() || r.feed.records.Watched() { // the last one's leaving is on its way
		r.feed.Touched()
	}
}

func TestTheEndOfTheFeedClosesItsWindows(t *testing.T) {
	r := newFeedRig(t)
	w := r.open(t)
	w.next()
	r.stop()
	var closed *socket.CloseError
	if err := <-w.ended; !errors.As(err, &closed) || closed.Code != socket.GoingAway {
		t.Errorf("ended with %v", err)
	}
}

func TestWhileNobodyWatchesARecordCostsNothing(t *testing.T) {
	r := newFeedRig(t)
	rec := recordOf(1)
	if n := testing.AllocsPerRun(100, func() { r.feed.Ended(rec) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	w := r.open(t)
	w.next()
	if !r.feed.records.Watched() {
		t.Error("nobody listens while a window is open")
	}
}

func TestARequestWithoutARecordDoesNotStayForever(t *testing.T) {
	rs := newRows(func(n string) string { return n })
	e := eventOf(1, queue.EventGranted)
	rs.onEvent(&e)
	e.Kind = queue.EventDone
	rs.onEvent(&e)
	rs.expire(e.At.Add(lostAfter))
	if rs.order[0].Outcome != "" {
		t.Error("ended before its time")
	}
	rs.expire(e.At.Add(lostAfter + time.Second))
	if rs.order[0].Outcome != "failed" {
		t.Errorf("outcome %q", rs.order[0].Outcome)
	}
}

func TestTheNewestRowsAreKept(t *testing.T) {
	rs := newRows(func(n string) string { return n })
	base := time.Now()
	for i := range 1000 {
		rec := recordOf(i)
		rec.At = base.Add(time.Duration(i%7) * time.Millisecond).Add(time.Duration(i) * time.Second)
		rs.onRecord(rec)
	}
	if len(rs.order) != rowsKept || len(rs.byID) != rowsKept || rs.order[rowsKept-1].RequestID != "r000999" || rs.order[0].RequestID != "r000800" {
		t.Errorf("%d rows, from %s to %s", len(rs.order), rs.order[0].RequestID, rs.order[len(rs.order)-1].RequestID)
	}
}

// A row is of one moment from its first event to its record: lists are put in
// order by it.
func TestARowKeepsTheMomentItsRequestArrived(t *testing.T) {
	rs := newRows(func(string) string { return "" })
	rec := recordOf(1)
	e := eventOf(1, queue.EventQueued)
	e.Arrived, e.At = rec.At, rec.At.Add(300*time.Microsecond)
	rs.onEvent(&e)
	before := rs.byID[rec.RequestID].At
	rs.onRecord(rec)
	if after := rs.byID[rec.RequestID].At; !before.Equal(after) || !after.Equal(rec.At) {
		t.Errorf("under way %v, ended %v, arrived %v", before, after, rec.At)
	}
}
