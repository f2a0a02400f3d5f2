package agent

import (
	"context"
	"io"
	"testing"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
	"bellwether/platform/sense"
)

// tape is an adapter without a runtime, for what must not depend on one: the
// agent's own cost, and its timing.
type tape struct {
	chunks int // of every answer
	silent int // the chunk before which an answer falls silent for ever; 0 = never
	pace   time.Duration
}

func (*tape) Target() runtime.Target { return runtime.Target{Name: "tape", Kind: "tape"} }
func (*tape) Identify(context.Context) (runtime.Identity, error) {
	return runtime.Identity{Kind: "tape"}, nil
}
func (*tape) Inventory(context.Context) (*runtime.Inventory, error) {
	d := fleet.Deployment{ID: fleet.DeploymentID{Model: "m"}, Residency: fleet.Loaded, ResidentBytes: mib, Slots: 64}
	return &runtime.Inventory{Deployments: []fleet.Deployment{d}, StartedAt: time.Now(), ReportsResidency: true}, nil
}
func (*tape) Load(context.Context, string, runtime.LoadOptions) error { return nil }
func (*tape) Unload(context.Context, string) error                    { return nil }
func (*tape) ConfirmsCancel() bool                                    { return true }
func (a *tape) Do(ctx context.Context, _ runtime.Call) (dialect.Stream, []string, error) {
	return &tapeStream{a: a, ctx: ctx, left: a.chunks}, nil, nil
}

type tapeStream struct {
	a     *tape
	ctx   context.Context
	told  int
	left  int
	chunk dialect.Chunk
}

func (s *tapeStream) Next() (*dialect.Chunk, error) {
	if s.left == 0 {
		return nil, io.EOF
	}
	if s.told++; s.told == s.a.silent {
		<-s.ctx.Done()
		return nil, &fleet.Failure{Class: fleet.FailCancelled, Message: "cut", MayRun: true}
	}
	if s.a.pace > 0 {
		select {
		case <-time.After(s.a.pace):
		case <-s.ctx.Done():
			return nil, &fleet.Failure{Class: fleet.FailCancelled, Message: "cut", MayRun: true}
		}
	}
	s.left--
	s.chunk = dialect.Chunk{Text: dialect.Text(`"word"`), Final: s.left == 0}
	return &s.chunk, nil
}
func (s *tapeStream) Buffered() bool { return false }
func (s *tapeStream) Close()         {}

// onTape runs an agent over a tape and returns it with a grant for its model.
func onTape(t testing.TB, s *tape) (*Agent, fleet.Grant) {
	t.Helper()
	ready := make(chan struct{}, 1)
	a, err := New(Config{
		Node: node, Hardware: machine(),
		Settings: Settings{Runtimes: []runtime.Target{{Name: "tape", Kind: "tape", URL: "http://tape"}}},
		Connect:  func(context.Context, runtime.Target) (runtime.Adapter, error) { return s, nil },
		Sense:    func(context.Context) sense.Readings { return plenty() },
		Release:  func(fleet.Released) {},
		Report: func(h fleet.Heartbeat) {
			if len(h.Deployments) > 0 {
				select {
				case ready <- struct{}{}:
				default:
				}
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = a.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	<-ready
	return a, fleet.Grant{ID: "g", Boot: a.Boot(), Deployment: ident("tape", "m")}
}

// BenchmarkDo is what the agent adds to a call: admission, deadlines, release.
func BenchmarkDo(b *testing.B) {
	a, g := onTape(b, &tape{chunks: 1})
	q := question(b, "m")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		g.ID, g.Sequence = "g"+itoa(i), uint64(i+1)
		run, err := a.Do(context.Background(), g, q)
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = run.Next()
		}
		run.Close()
	}
}

// BenchmarkChunk is what the agent adds to one chunk of a stream.
func BenchmarkChunk(b *testing.B) {
	a, g := onTape(b, &tape{chunks: 1 << 62})
	run, err := a.Do(context.Background(), g, question(b, "m"))
	if err != nil {
		b.Fatal(err)
	}
	defer run.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := run.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

func itoa(n int) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}
