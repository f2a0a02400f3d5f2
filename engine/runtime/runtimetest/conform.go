package runtimetest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
)

// Setup is one kind of runtime under the suite.
type Setup struct {
	// Fake is what the suite asks: its kind, mode and key. The suite adds models.
	Fake FakeConfig
	// Open makes the adapter under test for a target. Whatever it returns is
	// closed by the suite.
	Open func(t testing.TB, target runtime.Target) runtime.Adapter
}

// Conform is what every adapter must do, against a real socket with faults
// switched on. It fails on goroutines that are left over.
func Conform(t *testing.T, s Setup) {
	before := goleak.IgnoreCurrent()
	for _, part := range []struct {
		name string
		run  func(*testing.T, Setup)
	}{
		{"metadata", conformMetadata},
		{"answers", conformAnswers},
		{"failures", conformFailures},
		{"endings", conformEndings},
		{"crowds", conformCrowds},
		{"management", conformManagement},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, s) })
	}
	goleak.VerifyNone(t, before)
}

// bench is one adapter in front of one fake.
type bench struct {
	testing.TB
	setup   Setup
	fake    *Fake
	adapter runtime.Adapter
	model   string // the first model's name as the runtime tells it
}

const waitMost = 20 * time.Second // for events that must come; far over what a loaded machine needs

// bench starts a fake with the model and an adapter before it. In router and
// Ollama mode a second model is there too.
func (s Setup) bench(t testing.TB, m FakeModel, more ...FakeModel) *bench {
	t.Helper()
	c := s.Fake
	if m.Name == "" {
		m.Name = "subject"
	}
	c.Models = append([]FakeModel{m}, more...)
	if s.single() {
		c.Models = c.Models[:1]
	}
	f, err := NewFake(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	b := &bench{TB: t, setup: s, fake: f, model: f.order[0].full}
	b.adapter = s.Open(t, runtime.Target{Name: "under-test", Kind: c.Kind, URL: f.URL(), APIKey: c.APIKey})
	t.Cleanup(func() {
		if c, ok := b.adapter.(runtime.Closer); ok {
			c.Close()
		}
	})
	if s.single() {
		b.await("the model is loaded", func() bool { return len(f.Loaded()) == 1 })
		b.inventory() // what is asked once is asked before any fault
	}
	return b
}

func (s Setup) single() bool { return s.Fake.Kind == LlamaServer && !s.Fake.Router }
func (s Setup) ollama() bool { return s.Fake.Kind != LlamaServer }

// await waits until the fake says so.
func (b *bench) await(what string, cond func() bool) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), waitMost)
	defer cancel()
	if err := b.fake.Await(ctx, cond); err != nil {
		b.Fatalf("waited in vain: %s", what)
	}
}

// inventory observes until the adapter has an observation (a runtime may need
// a moment after a change).
func (b *bench) inventory() *runtime.Inventory {
	b.Helper()
	inv, err := b.adapter.Inventory(b.Context())
	if err != nil {
		b.Fatalf("inventory: %v", err)
	}
	return inv
}

// deployment is the model as the adapter sees it now.
func (b *bench) deployment() *fleet.Deployment {
	b.Helper()
	inv := b.inventory()
	for i := range inv.Deployments {
		if fleet.SameModel(inv.Deployments[i].ID.Model, b.model) {
			return &inv.Deployments[i]
		}
	}
	b.Fatalf("%s is not in the inventory", b.model)
	return nil
}

// call makes a call out of a client's body, in the client's protocol. MODEL in
// the body stands for the model.
func (b *bench) call(p dialect.Protocol, body string) runtime.Call {
	b.Helper()
	r, problem := dialect.Parse(p, []byte(strings.ReplaceAll(body, "MODEL", b.model)))
	if problem != nil {
		b.Fatalf("the suite's own request is wrong: %v", problem)
	}
	return runtime.Call{Request: r, Model: b.model, Deployment: b.deployment()}
}

// chat makes a call of one user turn.
func (b *bench) chat(text string, stream bool) runtime.Call {
	b.Helper()
	return b.call(dialect.OpenAIChat, `{"model":"MODEL","stream":`+map[bool]string{true: "true", false: "false"}[stream]+
		`,"messages":[{"role":"user","content":`+string(dialect.Quote(text))+`}]}`)
}

// told is an answer gathered from its chunks.
type told struct {
	text, thinking string
	calls          []Call
	finish         dialect.Finish
	usage          dialect.Usage
	vectors        [][]float32
	edits          []string
	notes          []string
	chunks         int
	natives        int

	textParts, thinkingParts strings.Builder
}

// run sends a call and reads its answer to the end.
func (b *bench) run(c runtime.Call) (*told, error) {
	b.Helper()
	return b.runWith(b.Context(), c)
}

func (b *bench) runWith(ctx context.Context, c runtime.Call) (*told, error) {
	s, edits, err := b.adapter.Do(ctx, c)
	if err != nil {
		return &told{edits: edits}, err
	}
	defer s.Close()
	a, err := gather(s)
	a.edits = edits
	return a, err
}

// gather reads a stream to its end; an end that is no Final chunk is an error.
func gather(s dialect.Stream) (_ *told, err error) {
	a := &told{usage: dialect.NoUsage}
	defer func() { a.text, a.thinking = a.textParts.String(), a.thinkingParts.String() }()
	final := false
	for {
		c, err := s.Next()
		if err == io.EOF && final {
			if n, ok := s.(runtime.Noter); ok {
				a.notes = n.Notes()
			}
			return a, nil
		}
		if err != nil {
			return a, err
		}
		if final {
			return a, errors.New("a chunk after the Final one")
		}
		final = c.Final
		a.add(c)
	}
}

func (a *told) add(c *dialect.Chunk) {
	a.chunks++
	a.textParts.WriteString(c.Text.String())
	a.thinkingParts.WriteString(c.Thinking.String())
	for _, d := range c.Tools {
		for len(a.calls) <= d.Index {
			a.calls = append(a.calls, Call{})
		}
		a.calls[d.Index].Name += d.Name
		a.calls[d.Index].Arguments += d.Arguments
	}
	if c.Finish != "" {
		a.finish = c.Finish
	}
	if c.Usage != nil && (c.Usage.Input >= 0 || c.Usage.Output >= 0) {
		a.usage = *c.Usage
	}
	if c.Native != nil {
		a.natives++
	}
	a.vectors = append(a.vectors, c.Vectors...)
}

// must runs a call that has to succeed.
func (b *bench) must(c runtime.Call) *told {
	b.Helper()
	a, err := b.run(c)
	if err != nil {
		b.Fatalf("the call failed: %v", err)
	}
	return a
}

// failure is the *fleet.Failure in an error; anything else fails the test.
func (b *bench) failure(err error) *fleet.Failure {
	b.Helper()
	var f *fleet.Failure
	if !errors.As(err, &f) {
		b.Fatalf("got %v, want a *fleet.Failure", err)
	}
	return f
}

// wantClass checks what a failed call says of itself.
func (b *bench) wantClass(err error, class fleet.FailureClass, caller bool) *fleet.Failure {
	b.Helper()
	f := b.failure(err)
	if f.Class != class || f.Caller != caller {
		b.Errorf("got %s (caller %v): %s; want %s (caller %v)", f.Class, f.Caller, f.Message, class, caller)
	}
	if f.Message == "" {
		b.Errorf("%s without a word", f.Class)
	}
	return f
}

// loadingNow reports whether a load of the model is under way.
func (f *Fake) loadingNow(model string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	rn := f.runners[f.key(model)]
	return rn != nil && rn.loading
}

// connections is how many are open.
func (s *serving) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}
