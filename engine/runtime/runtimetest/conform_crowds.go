package runtimetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"bellwether/engine/dialect"
	"bellwether/engine/runtime"
)

// conformCrowds: many at once, fast and slow, and none disturbs another.
func conformCrowds(t *testing.T, s Setup) {
	echo := FakeModel{Context: 1 << 20, Reply: func(q Question) *Answer { return &Answer{Text: "you said: " + q.Last} }}
	s.Fake.Context = 1 << 20
	wide := s
	wide.Fake.Parallel = 8
	t.Run("200 at once, each its own answer", func(t *testing.T) {
		b := wide.bench(t, echo)
		calls := make([]runtime.Call, 200)
		for i := range calls {
			calls[i] = b.chat(fmt.Sprintf("number %d", i), i%3 > 0)
		}
		var wg sync.WaitGroup
		for i, c := range calls {
			wg.Go(func() {
				a, err := b.run(c)
				if want := fmt.Sprintf("you said: number %d", i); err != nil || a.text != want {
					t.Errorf("got %q, %v, want %q", a.text, err, want)
				}
			})
		}
		wg.Wait()
		if n := b.fake.Running(b.model) + b.fake.Waiting(b.model); n != 0 {
			t.Errorf("%d are left in the runtime", n)
		}
	})
	t.Run("a slow reader holds up nobody else", func(t *testing.T) {
		long := strings.Repeat("a long answer. ", 4_000)
		b := wide.bench(t, FakeModel{Context: 1 << 20, Reply: func(q Question) *Answer {
			if strings.Contains(q.Last, "long") {
				return &Answer{Text: long}
			}
			return &Answer{Text: "short"}
		}})
		st, _, err := b.adapter.Do(b.Context(), b.chat("long", true))
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		if _, err := st.Next(); err != nil { // and reads no further
			t.Fatal(err)
		}
		for range 20 {
			if a := b.must(b.chat("short", true)); a.text != "short" {
				t.Errorf("got %q", a.text)
			}
		}
		a, err := gather(st)
		if err != nil || a.finish != dialect.FinishStop {
			t.Errorf("the slow one ended %v, %s", err, a.finish)
		}
		if len(a.text) < len(long)-100 {
			t.Errorf("the slow one got %d of %d bytes", len(a.text), len(long))
		}
	})
	t.Run("a prompt of a megabyte", func(t *testing.T) {
		b := s.bench(t, echo)
		text := strings.Repeat(`all "work" and no play makes 日本 dull `, 25_000)
		a := b.must(b.chat(text, false))
		if a.text != "you said: "+text {
			t.Errorf("%d bytes came back of %d", len(a.text), len(text))
		}
	})
}
