package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
	"bellwether/engine/runtime/runtimetest"
	"bellwether/platform/hardware"
	"bellwether/platform/sense"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	node = "node-1"
	mib  = int64(1) << 20
	gib  = int64(1) << 30
)

// patience bounds every wait of a test; only a failing one takes that long.
const patience = 20 * time.Second

// rig is an agent that runs over fakes, with all it reports.
type rig struct {
	*Agent
	t    *testing.T
	stop func()

	mu       sync.Mutex // guards what follows
	bell     *sync.Cond
	last     fleet.Heartbeat
	releases map[string][]fleet.Released
	readings sense.Readings
	seq      uint64
	epoch    uint64
}

// plenty is a machine with 64 GiB for models and nothing wrong.
func plenty() sense.Readings {
	return sense.Readings{
		Total:     sense.Reading[int64]{V: 64 * gib, Known: true},
		Available: sense.Reading[int64]{V: 60 * gib, Known: true},
		Pressure:  sense.Reading[sense.Pressure]{V: sense.PressureNormal, Known: true},
		OnBattery: sense.Reading[bool]{Known: true},
	}
}

func machine() *hardware.Facts {
	return &hardware.Facts{Chip: "test", Cores: 8, Memory: hardware.Reading[int64]{V: 64 * gib, Known: true}}
}

// poolOf limits the RAM pool to n bytes without margin.
func poolOf(n int64) []PoolSetting { return []PoolSetting{{Name: "ram", Memory: n}} }

// target declares a fake as a runtime.
func target(f *runtimetest.Fake, name, kind string) runtime.Target {
	return runtime.Target{Name: name, Kind: kind, URL: f.URL()}
}

// fake starts a stand-in runtime.
func fake(t *testing.T, c runtimetest.FakeConfig) *runtimetest.Fake {
	t.Helper()
	f, err := runtimetest.NewFake(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// start runs an agent with the given settings until the test ends and waits
// for its first heartbeat.
func start(t *testing.T, set Settings, with ...func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, releases: map[string][]fleet.Released{}, readings: plenty()}
	r.bell = sync.NewCond(&r.mu)
	c := Config{
		Node: node, Name: "studio", Settings: set, Hardware: machine(),
		Connect: func(ctx context.Context, t runtime.Target) (runtime.Adapter, error) {
			a, _, err := runtime.Open(ctx, t)
			return a, err
		},
		Sense: func(context.Context) sense.Readings {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.readings
		},
		Report: func(h fleet.Heartbeat) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.last = h
			r.bell.Broadcast()
		},
		Release: func(rel fleet.Released) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.releases[rel.Grant] = append(r.releases[rel.Grant], rel)
			r.bell.Broadcast()
		},
	}
	for _, f := range with {
		f(&c)
	}
	a, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	r.Agent = a
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := a.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	t.Cleanup(r.stop)
	r.await("the first heartbeat", func(h fleet.Heartbeat) bool { return h.Sequence > 0 })
	return r
}

// sense changes what the machine reads and has it read now.
func (r *rig) sense(change func(*sense.Readings)) {
	r.t.Helper()
	r.mu.Lock()
	change(&r.readings)
	r.mu.Unlock()
	if err := r.ask(r.t.Context(), (*state).startSensing); err != nil {
		r.t.Fatal(err)
	}
}

// until waits for a condition over what was reported. cond is called with the
// lock held.
func (r *rig) until(what string, cond func() bool) {
	r.t.Helper()
	expired := false
	timer := time.AfterFunc(patience, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		expired = true
		r.bell.Broadcast()
	})
	defer timer.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for !cond() {
		if expired {
			r.t.Fatalf("waited in vain for %s; last heartbeat:\n%+v", what, r.last)
		}
		r.bell.Wait()
	}
}

func (r *rig) await(what string, cond func(fleet.Heartbeat) bool) {
	r.t.Helper()
	r.until(what, func() bool { return cond(r.last) })
}

// residencyOf is what the last heartbeat says of a deployment.
func residencyOf(h fleet.Heartbeat, id fleet.DeploymentID) (fleet.Residency, bool) {
	for _, d := range h.Deployments {
		if d.ID == id {
			return d.Residency, true
		}
	}
	return 0, false
}

func (r *rig) awaitResidency(id fleet.DeploymentID, want fleet.Residency) {
	r.t.Helper()
	r.await(fmt.Sprintf("%s to be %s", id, want), func(h fleet.Heartbeat) bool {
		got, ok := residencyOf(h, id)
		return ok && got == want
	})
}

// awaitRelease waits for a grant's Released and returns it.
func (r *rig) awaitRelease(g fleet.Grant) fleet.Released {
	r.t.Helper()
	var out fleet.Released
	r.until("the release of "+g.ID, func() bool {
		if len(r.releases[g.ID]) == 0 {
			return false
		}
		out = r.releases[g.ID][0]
		return true
	})
	return out
}

func (r *rig) released(g fleet.Grant) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.releases[g.ID])
}

func ident(rt, model string) fleet.DeploymentID {
	return fleet.DeploymentID{Node: node, Runtime: rt, Model: model}
}

// grant makes a grant as a router would.
func (r *rig) grant(id fleet.DeploymentID, change ...func(*fleet.Grant)) fleet.Grant {
	r.mu.Lock()
	r.seq++
	g := fleet.Grant{
		ID: fmt.Sprintf("g%d", r.seq), Request: fmt.Sprintf("r%d", r.seq), Attempt: 1, Deployment: id,
		Origin: "elsewhere", Sequence: r.seq, Epoch: r.epoch, Boot: r.Boot(), Load: true,
	}
	r.mu.Unlock()
	for _, f := range change {
		f(&g)
	}
	return g
}

// question is a streamed chat with a model.
func question(t testing.TB, model string) *dialect.Request {
	t.Helper()
	q, p := dialect.Parse(dialect.OllamaChat, []byte(`{"model":"`+model+`","messages":[{"role":"user","content":"hello there"}]}`))
	if p != nil {
		t.Fatal(p)
	}
	return q
}

// run does a grant to its end and returns how many chunks came.
func (r *rig) run(ctx context.Context, g fleet.Grant) (chunks int, err error) {
	run, err := r.Do(ctx, g, question(r.t, g.Deployment.Model))
	if err != nil {
		return 0, err
	}
	defer run.Close()
	for {
		_, err := run.Next()
		if errors.Is(err, io.EOF) {
			return chunks, nil
		}
		if err != nil {
			return chunks, err
		}
		chunks++
	}
}

// must fails the test on an error.
func (r *rig) must(_ int, err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func wantRefusal(t *testing.T, err error, code fleet.Code) *fleet.Refusal {
	t.Helper()
	var refusal *fleet.Refusal
	if !errors.As(err, &refusal) || refusal.Code != code {
		t.Fatalf("got %v, want a refusal with code %s", err, code)
	}
	return refusal
}

func wantFailure(t *testing.T, err error, class fleet.FailureClass) *fleet.Failure {
	t.Helper()
	var f *fleet.Failure
	if !errors.As(err, &f) || f.Class != class {
		t.Fatalf("got %v, want a failure of class %s", err, class)
	}
	return f
}

// memory is a Persist that a second agent can take over.
type memory struct {
	mu    sync.Mutex
	data  []byte
	saves int
	fail  error
	gate  chan struct{} // not nil: saves wait for it
}

func (m *memory) LoadLedger() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.data), nil
}

func (m *memory) SaveLedger(b []byte) error {
	m.mu.Lock()
	gate := m.gate
	m.mu.Unlock()
	if gate != nil {
		<-gate
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saves++
	if m.fail == nil {
		m.data = slices.Clone(b)
	}
	return m.fail
}

// heldBytes is what a heartbeat says is taken, over all pools.
func heldBytes(h fleet.Heartbeat) int64 {
	var sum int64
	for i := range h.Pools {
		sum += h.Pools[i].Held()
	}
	return sum
}

// freePort is an address at which nothing listens.
func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
