package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bellwether/engine/event"
	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
	"bellwether/engine/queue"
	"bellwether/engine/route"
	"bellwether/engine/socket"
)

// feedRig is a feed behind a real server, over a real registry and hubs.
type feedRig struct {
	feed    *Feed
	reg     *fleet.Registry
	events  *event.Hub[queue.Event]
	address string
	stop    context.CancelFunc // ends the feed

	mu       sync.Mutex // guards what follows
	queue    queue.Status
	active   []queue.Event
	recent   []*route.Record
	jobs     []JobView
	findings []FindingView
	seq      uint64
}

func (r *feedRig) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

func get[T any](r *feedRig, from *T) func() T {
	return func() T {
		r.mu.Lock()
		defer r.mu.Unlock()
		return *from
	}
}

// newFeedRig is one whose feed runs, behind a server.
func newFeedRig(t testing.TB) *feedRig {
	r := restingFeed()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = r.feed.Run(ctx) }()
	s := httptest.NewServer(r.feed)
	t.Cleanup(func() { stop(); <-ended; s.Close() })
	r.stop, r.address = stop, "ws"+strings.TrimPrefix(s.URL, "http")
	return r
}

// restingFeed is one whose feed is not run yet.
func restingFeed() *feedRig {
	r := &feedRig{reg: fleet.NewRegistry("n00", 15*time.Second, 30*time.Second), events: event.NewHub[queue.Event](1024)}
	policy, book := route.DefaultPolicy(), &evidence.Book{}
	r.feed = NewFeed(Sources{
		Version: "test", Fleet: r.reg.Snapshot, Changed: r.reg.Changed(), Events: r.events,
		Queue: get(r, &r.queue), Active: get(r, &r.active), Jobs: get(r, &r.jobs),
		Policy: func() *route.Policy { return policy }, Book: func() *evidence.Book { return book },
		Catalogue: func() *evidence.Catalogue { return nil }, Router: func() string { return "n00" },
		Engine:   func() EngineView { return EngineView{Version: "test", NodeID: "n00"} },
		Findings: func(context.Context) []FindingView { return get(r, &r.findings)() },
		Recent:   func(context.Context, time.Time, int) []*route.Record { return get(r, &r.recent)() },
	})
	return r
}

// node reports a machine with so many models; change may alter the report.
func (r *feedRig) node(i, models int, change func(*fleet.Heartbeat)) {
	r.seq++
	h := nodeOf(i, models, r.seq)
	if change != nil {
		change(&h)
	}
	r.reg.Report(h, time.Now())
}

func nodeOf(i, models int, seq uint64) fleet.Heartbeat {
	id := fmt.Sprintf("n%02d", i)
	h := fleet.Heartbeat{
		Node: id, Name: "machine-" + id, Boot: "b", Sequence: seq, Hardware: fleet.Hardware{Chip: "M4", Cores: 10, MemoryBytes: 64e9},
		Readings: fleet.Readings{CPU: fleet.Know(float64(seq%100) / 100), MemoryUsed: fleet.Know(int64(seq))},
		Runtimes: []fleet.RuntimeState{{Name: "ollama", Kind: "ollama", Version: "0.12.0", Up: true, Pool: "unified"}},
		Pools:    []fleet.Pool{{Name: "unified", Kind: fleet.PoolUnified, Total: 64e9, Limit: 48e9, Margin: 2e9, Free: fleet.Know[int64](30e9)}},
	}
	for m := range models {
		d := fleet.Deployment{
			ID: fleet.DeploymentID{Node: id, Runtime: "ollama", Model: fmt.Sprintf("model-%02d:8b", m)}, Kind: "ollama", Digest: "sha256:" + strings.Repeat("ab", 32),
			Family: "llama", ParameterSize: "8B", Quantization: "Q4_K_M", WeightsBytes: 5e9, MaxContext: 131072,
			Capabilities: fleet.Capabilities{"chat": {Support: fleet.Yes, Source: fleet.SourceRuntime}, "tools": {Support: fleet.Yes, Source: fleet.SourceTemplate}, "vision": {Support: fleet.No, Source: fleet.SourceRuntime}},
		}
		if m < 2 {
			d.Residency, d.ResidentBytes = fleet.Loaded, 6e9
			h.Pools[0].Holders = append(h.Pools[0].Holders, fleet.Holder{Deployment: d.ID, Kind: fleet.HoldResident, Bytes: fleet.Know[int64](6e9), Label: "measured"})
		}
		h.Deployments = append(h.Deployments, d)
	}
	return h
}

func recordOf(i int) *route.Record {
	in, out := 1200+i, 80
	return &route.Record{
		RequestID: fmt.Sprintf("r%06d", i), At: time.Now(), App: fmt.Sprintf("app-%d", i%5), Protocol: "openai-chat", RequestedModel: "model-00:8b",
		Chosen: "n00/ollama/model-00:8b", Node: "machine-n00", Outcome: fleet.OutcomeOK, Status: 200, Reasons: []string{},
		Timing: route.Timing{QueueMs: 1, TTFTMs: 210, TotalMs: 1900}, Usage: &route.RecordUsage{Input: &in, Output: &out},
	}
}

func eventOf(i int, kind queue.EventKind) queue.Event {
	now := time.Now()
	return queue.Event{At: now, Arrived: now, Kind: kind, Request: fmt.Sprintf("r%06d", i), App: fmt.Sprintf("app-%d", i%5), Model: "model-00:8b",
		Deployment: fleet.DeploymentID{Node: "n00", Runtime: "ollama", Model: "model-00:8b"}}
}

// window is a reader as the page is one: it keeps the state by hello and
// deltas, and fails the test on a gap.
type window struct {
	t      testing.TB
	conn   *socket.Conn
	frames chan frame
	ended  chan error

	seq   uint64
	state map[Section]map[string]json.RawMessage
	rows  map[string]DecisionRow
}

type frame struct {
	Type  string
	Seq   uint64
	Set   map[Section]map[string]json.RawMessage
	Del   map[Section][]string
	Rows  []DecisionRow
	State json.RawMessage
	size  int
}

func (r *feedRig) open(t testing.TB) *window {
	t.Helper()
	conn, err := socket.Dial(context.Background(), r.address, nil, socket.Options{ReadLimit: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return r.reads(t, conn)
}

func (r *feedRig) reads(t testing.TB, conn *socket.Conn) *window {
	w := &window{t: t, conn: conn, frames: make(chan frame, 4096), ended: make(chan error, 1)}
	var done sync.WaitGroup
	done.Go(func() {
		w.ended <- conn.Serve(context.Background(), func(text []byte) error {
			var f frame
			if err := json.Unmarshal(text, &f); err != nil {
				return err
			}
			f.size = len(text)
			w.frames <- f
			return nil
		})
	})
	t.Cleanup(func() { conn.Cut(socket.Normal, "", nil); done.Wait() })
	return w
}

// next takes one frame in and returns it.
func (w *window) next() frame {
	w.t.Helper()
	select {
	case f := <-w.frames:
		w.take(&f)
		return f
	case <-time.After(10 * time.Second):
		w.t.Fatal("no frame came")
	}
	return frame{}
}

func (w *window) take(f *frame) {
	w.t.Helper()
	switch f.Type {
	case FrameHello:
		var all map[string]json.RawMessage
		if err := json.Unmarshal(f.State, &all); err != nil {
			w.t.Fatal(err)
		}
		w.state, w.rows, w.seq = map[Section]map[string]json.RawMessage{}, map[string]DecisionRow{}, f.Seq
		for _, s := range Sections {
			var values map[string]json.RawMessage
			if err := json.Unmarshal(all[string(s)], &values); err != nil || values == nil {
				w.t.Fatalf("section %s of the hello is %s (%v)", s, all[string(s)], err)
			}
			w.state[s] = values
		}
		var rows []DecisionRow
		if err := json.Unmarshal(all["rows"], &rows); err != nil {
			w.t.Fatal(err)
		}
		for _, r := range rows {
			w.rows[r.RequestID] = r
		}
	case FrameDelta:
		if f.Seq != w.seq+1 {
			w.t.Fatalf("frame %d follows frame %d", f.Seq, w.seq)
		}
		w.seq = f.Seq
		for s, values := range f.Set {
			maps.Copy(w.state[s], values)
		}
		for s, keys := range f.Del {
			for _, k := range keys {
				if _, there := w.state[s][k]; !there {
					w.t.Errorf("%s/%s is gone twice", s, k)
				}
				delete(w.state[s], k)
			}
		}
		for _, r := range f.Rows {
			w.rows[r.RequestID] = r
		}
	}
}

// until takes frames in until the state is as wanted.
func (w *window) until(what string, reached func() bool) {
	w.t.Helper()
	for !reached() {
		select {
		case f := <-w.frames:
			w.take(&f)
		case err := <-w.ended:
			w.t.Fatalf("waiting for %s: the connection ended: %v", what, err)
		case <-time.After(10 * time.Second):
			w.t.Fatalf("%s did not come; the state is %s", what, w.text())
		}
	}
}

func (w *window) text() string {
	var b strings.Builder
	for _, s := range Sections {
		for _, k := range slices.Sorted(maps.Keys(w.state[s])) {
			fmt.Fprintf(&b, "%s/%s %s\n", s, k, w.state[s][k])
		}
	}
	return b.String()
}

func value[V any](w *window, s Section, key string) (v V, there bool) {
	text, there := w.state[s][key]
	if there {
		if err := json.Unmarshal(text, &v); err != nil {
			w.t.Fatal(err)
		}
	}
	return v, there
}

func origin(of string) http.Header { return http.Header{"Origin": {of}} }
