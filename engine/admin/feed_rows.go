package admin

import (
	"slices"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/queue"
	"bellwether/engine/route"
)

const (
	rowsKept = 200 // of a hello
	// endedKept is how many ended requests are remembered, so that an event that
	// comes after the record does not bring one back.
	endedKept = 4096
	// lostAfter is how long a request that the queue has ended may be without its
	// record; then the queue's word is taken for it.
	lostAfter = 30 * time.Second
)

// rows are the newest decisions and the requests under way. The feed's loop
// owns them.
type rows struct {
	byID  map[string]*row
	order []*row // by arrival, oldest first
	dirty []*row // to be sent, in the order of their changes
	ended map[string]struct{}
	ring  []string // of ended, in turn
	next  int
	names func(node string) string
}

type row struct {
	DecisionRow
	text  []byte // as last encoded
	dirty bool
	lost  time.Time // when it counts as ended without a record; zero = never
}

func newRows(names func(node string) string) *rows {
	return &rows{byID: map[string]*row{}, ended: map[string]struct{}{}, ring: make([]string, endedKept), names: names}
}

// onEvent moves a request under way.
func (rs *rows) onEvent(e *queue.Event) {
	if _, over := rs.ended[e.Request]; over {
		return
	}
	r := rs.byID[e.Request]
	if r == nil {
		if e.Kind == queue.EventDone {
			return // never shown; its record will be
		}
		r = rs.add(DecisionRow{RequestID: e.Request, At: e.Arrived.UTC(), App: e.App, RequestedModel: e.Model})
	}
	r.lost = time.Time{}
	switch e.Kind {
	case queue.EventQueued, queue.EventMoved, queue.EventReturned, queue.EventRefused:
		r.Stage = "queued"
	case queue.EventHeld:
		r.Stage = "held"
	case queue.EventGranted:
		r.Stage, r.QueueMs, r.TTFTMs = "sent", milliseconds(e.Queued), 0
	case queue.EventRunning:
		r.Stage, r.TTFTMs = "running", milliseconds(e.First)
		if e.Queued > 0 {
			r.QueueMs = milliseconds(e.Queued)
		}
	case queue.EventDone:
		r.lost = e.At.Add(lostAfter)
		return
	}
	rs.place(r, e.Deployment)
	rs.mark(r)
}

func (rs *rows) place(r *row, d fleet.DeploymentID) {
	if d == (fleet.DeploymentID{}) {
		r.Deployment, r.NodeName, r.Model = "", "", ""
		return
	}
	r.Deployment, r.NodeName, r.Model = d.String(), rs.names(d.Node), d.Model
}

// onRecord ends a request.
func (rs *rows) onRecord(rec *route.Record) {
	rs.remember(rec.RequestID)
	r := rs.byID[rec.RequestID]
	if r == nil {
		r = rs.add(DecisionRow{RequestID: rec.RequestID, At: rec.At.UTC()})
	}
	r.DecisionRow, r.lost = RowOf(rec), time.Time{}
	rs.mark(r)
}

// expire ends requests whose record never came.
func (rs *rows) expire(now time.Time) {
	for _, r := range rs.order {
		if !r.lost.IsZero() && now.After(r.lost) {
			r.Stage, r.Outcome, r.lost = "", string(fleet.OutcomeFailed), time.Time{}
			r.Problem = "It ended without a record."
			rs.remember(r.RequestID)
			rs.mark(r)
		}
	}
}

func (rs *rows) remember(id string) {
	if _, known := rs.ended[id]; known {
		return
	}
	delete(rs.ended, rs.ring[rs.next])
	rs.ring[rs.next], rs.next = id, (rs.next+1)%len(rs.ring)
	rs.ended[id] = struct{}{}
}

// add puts a row in its place by arrival; the oldest make room.
func (rs *rows) add(d DecisionRow) *row {
	r := &row{DecisionRow: d}
	rs.byID[d.RequestID] = r
	at := len(rs.order)
	for at > 0 && rs.order[at-1].At.After(d.At) {
		at--
	}
	rs.order = slices.Insert(rs.order, at, r)
	if len(rs.order) > rowsKept {
		delete(rs.byID, rs.order[0].RequestID)
		rs.order[0] = nil // lets it go
		rs.order = rs.order[1:]
	}
	return r
}

func (rs *rows) mark(r *row) {
	r.text = nil
	if !r.dirty {
		r.dirty = true
		rs.dirty = append(rs.dirty, r)
	}
}

// changed returns the rows to be sent, encoded, oldest change first.
func (rs *rows) changed(s *shelf) [][]byte {
	if len(rs.dirty) == 0 {
		return nil
	}
	out := make([][]byte, 0, len(rs.dirty))
	for _, r := range rs.dirty {
		r.dirty = false
		out = append(out, r.encoded(s))
	}
	clear(rs.dirty)
	rs.dirty = rs.dirty[:0]
	return out
}

// all returns every row, encoded, newest first.
func (rs *rows) all(s *shelf) [][]byte {
	out := make([][]byte, 0, len(rs.order))
	for _, r := range slices.Backward(rs.order) {
		out = append(out, r.encoded(s))
	}
	return out
}

func (r *row) encoded(s *shelf) []byte {
	if r.text == nil {
		r.text = slices.Clone(s.encode(&r.DecisionRow))
	}
	return r.text
}

// RowOf is a record in one line.
func RowOf(rec *route.Record) DecisionRow {
	r := DecisionRow{
		RequestID: rec.RequestID, At: rec.At.UTC(), App: rec.App, Tags: rec.Tags, Protocol: rec.Protocol,
		RequestedModel: rec.RequestedModel, Alias: rec.Alias, Profile: rec.Profile, Task: rec.Requirements.PrimaryTask,
		Outcome: string(rec.Outcome), Status: rec.Status, Problem: rec.Problem, Deployment: rec.Chosen, NodeName: rec.Node,
		QueueMs: rec.Timing.QueueMs, LoadMs: rec.Timing.LoadMs, TTFTMs: rec.Timing.TTFTMs, TotalMs: rec.Timing.TotalMs, OverheadMs: rec.OverheadMs,
		Streaming: rec.Requirements.Streaming, Retries: rec.Retries, Edits: len(rec.Edits), Notes: len(rec.Notes),
	}
	if id, ok := fleet.ParseDeploymentID(rec.Chosen); ok {
		r.Model = id.Model
	}
	if u := rec.Usage; u != nil {
		r.InputTokens, r.OutputTokens, r.CachedTokens, r.ReasoningTokens = u.Input, u.Output, u.Cached, u.Reasoning
	}
	return r
}

// milliseconds to the hundredth.
func milliseconds(d time.Duration) float64 { return float64(d.Round(10*time.Microsecond)) / 1e6 }
