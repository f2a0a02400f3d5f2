package pulse

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Loop is a loop that owns state.
type Loop struct {
	// Name says what it does, for people: "the queue of requests".
	Name string
	// Ping has it come round, and returns when it has. It may hang with it.
	Ping func()
	// Bound is how long that may take; 0 = half a minute, which is beyond what a
	// machine out of memory needs.
	Bound time.Duration
}

// Hang is a loop that does not come round.
type Hang struct {
	Name  string
	Since time.Time
}

const (
	lookEvery    = time.Second
	usualBound   = 30 * time.Second
	lateForALook = 5 * time.Second
)

// Watch asks loops to come round. Its mutex guards the state of each.
type Watch struct {
	loops []Loop
	log   *slog.Logger
	// changed is told of every hang and every end of one, by a goroutine of its
	// own, with the state of every goroutine where one hangs; nil = nobody is.
	changed func(hung []Hang)

	mu    sync.Mutex
	asked []time.Time // by loop, since when an answer is missing; zero = none is
	told  []bool
}

// NewWatch watches loops once Run runs.
func NewWatch(loops []Loop, log *slog.Logger, changed func(hung []Hang)) *Watch {
	loops = slices.Clone(loops)
	for i := range loops {
		if loops[i].Bound == 0 {
			loops[i].Bound = usualBound
		}
	}
	return &Watch{loops: loops, log: log, changed: changed, asked: make([]time.Time, len(loops)), told: make([]bool, len(loops))}
}

// Run asks once a second until ctx ends. It does not wait for loops that hang.
func (w *Watch) Run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		late := now.Sub(last) >= lateForALook
		last = now
		w.look(now, late)
	}
}

// look asks every loop that has answered, and judges the others. A look that is
// late itself (the machine slept, or had no time for us) suspects nobody: it
// counts from now.
func (w *Watch) look(now time.Time, late bool) {
	w.mu.Lock()
	changed := false
	for i := range w.loops {
		switch since := w.asked[i]; {
		case since.IsZero():
			w.asked[i] = now
			go w.ask(i)
		case late && !w.told[i]:
			w.asked[i] = now
		case !w.told[i] && now.Sub(since) >= w.loops[i].Bound:
			w.told[i], changed = true, true
			w.log.Error("a loop hangs: "+w.loops[i].Name, "since", since.Format(time.RFC3339))
		}
	}
	hung := w.hung()
	w.mu.Unlock()
	if changed && w.changed != nil {
		go w.changed(hung)
	}
}

// ask is one ping. There is never a second of the same loop, so what hangs
// leaves one goroutine behind.
func (w *Watch) ask(i int) {
	w.loops[i].Ping()
	w.mu.Lock()
	again := w.told[i]
	w.asked[i], w.told[i] = time.Time{}, false
	hung := w.hung()
	w.mu.Unlock()
	if again {
		w.log.Info("a loop that hung goes on: " + w.loops[i].Name)
		if w.changed != nil {
			w.changed(hung)
		}
	}
}

// Hung are the loops that hang, in the order they were given.
func (w *Watch) Hung() []Hang {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hung()
}

func (w *Watch) hung() (out []Hang) {
	for i := range w.loops {
		if w.told[i] {
			out = append(out, Hang{w.loops[i].Name, w.asked[i]})
		}
	}
	return out
}
