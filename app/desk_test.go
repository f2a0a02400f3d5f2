package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"bellwether/app/tray"
	"bellwether/engine"
	"bellwether/engine/admin"
	"bellwether/platform/desktop"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeEngine runs until it is told to end, or fails.
type fakeEngine struct {
	fail    chan error
	drained bool
}

func (e *fakeEngine) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-e.fail:
		return err
	}
}
func (e *fakeEngine) Address() string { return "http://localhost:11435" }
func (e *fakeEngine) Drain()          { e.drained = true }
func (e *fakeEngine) Undrain()        { e.drained = false }

// seat is a desk with its loop running, in a bubble of its own time.
type seat struct {
	*desk
	end  context.CancelFunc
	done chan struct{}
}

// sit starts a desk whose engine starts as it is told.
func sit(t *testing.T, start func() (Engine, error), changes ...func(*app)) *seat {
	t.Helper()
	dir := t.TempDir()
	folders, err := desktop.FoldersUnder(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	a := newApp(Options{
		Folders: folders, Version: "1.2.0", Hidden: true, Start: start, Out: io.Discard, Log: slog.New(slog.DiscardHandler),
		Login: desktop.NewLoginItem(desktop.LoginOptions{Config: dir}), Browser: func(string) error { return errors.New("no browser in tests") },
	})
	a.notifier = nil
	for _, change := range changes {
		change(a)
	}
	s := &seat{desk: newDesk(ctx, a, stop), end: stop, done: make(chan struct{})}
	go func() { defer close(s.done); s.run() }()
	s.tell((*desk).startEngine)
	synctest.Wait() // until it has begun: no engine says a word before
	return s
}

// leaves ends it and waits until it has gone.
func (s *seat) leaves() {
	s.end()
	<-s.done
}

// shown is the state that the tray would show, once nothing moves any more.
func (s *seat) shown() tray.State {
	synctest.Wait()
	s.tell(func(*desk) {})
	synctest.Wait()
	return <-s.states
}

func say(name string, active int) news {
	return news{at: time.Now(), started: time.Unix(1, 0), state: tray.State{Name: name, Active: active, Running: active, Node: tray.Machine{State: "serving"}}}
}

// P-37: figures that nobody has confirmed for a while are shown as old, and the
// next word of the engine makes them new.
func TestASilentEngineIsShownWithTheAgeOfItsFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, func() (Engine, error) { return &fakeEngine{}, nil })
		defer s.leaves()
		if got := s.shown(); got.Phase != tray.Starting {
			t.Errorf("before its word: %v", got.Phase)
		}
		s.told(say("studio", 2))
		if v := tray.Menu(s.shown()); v.Tooltip != "studio: serving, 2 running" {
			t.Errorf("tooltip %q", v.Tooltip)
		}
		time.Sleep(40 * time.Second)
		if v := tray.Menu(s.shown()); v.Tooltip != "studio: nothing heard for 40 s" || v.Icon != (tray.Icon{Sign: tray.SignTrouble}) {
			t.Errorf("after 40 s: %q %+v", v.Tooltip, v.Icon)
		}
		s.told(say("studio", 0))
		if v := tray.Menu(s.shown()); v.Tooltip != "studio: serving, 0 running" {
			t.Errorf("after its word: %q", v.Tooltip)
		}
	})
}

// P-37 for the icon: the tray's loop really hangs, in the middle of drawing. The
// engine is told, for its Health page; once it draws again, that too.
func TestAnIconThatTakesNoNewsIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, func() (Engine, error) { return &fakeEngine{}, nil })
		defer s.leaves()
		release, drawn := make(chan struct{}), make(chan struct{})
		go func() { // the tray: it takes one state, hangs over it, and goes on
			defer close(drawn)
			<-s.states
			<-release
			for range s.states {
			}
		}()
		word := func() (w admin.TrayReport) {
			s.tell(func(d *desk) { w = d.icon.word(time.Now()) })
			synctest.Wait()
			return w
		}
		s.hosted(admin.TrayReport{State: admin.TrayShown})
		s.told(say("studio", 1))
		time.Sleep(stuckAfter - lookEvery)
		if w := word(); w.State != admin.TrayShown {
			t.Errorf("too early: %+v", w)
		}
		time.Sleep(3 * lookEvery)
		if w := word(); w.State != admin.TrayStuck || !strings.Contains(w.Text, "has taken no news since") || w.Remedy == "" {
			t.Errorf("while it hangs: %+v", w)
		}
		close(release)
		time.Sleep(2 * lookEvery)
		if w := word(); w.State != admin.TrayShown {
			t.Errorf("once it draws again: %+v", w)
		}
		s.end()
		<-drawn
	})
}

func TestAnEngineThatFailsIsToldAndStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts, eng := 0, &fakeEngine{fail: make(chan error)}
		s := sit(t, func() (Engine, error) {
			if starts++; starts == 1 {
				return nil, errors.New("Ollama holds localhost:11435: end it\nand more")
			}
			return eng, nil
		})
		defer s.leaves()
		if got := s.shown(); got.Phase != tray.Down || got.Trouble != "Ollama holds localhost:11435: end it" {
			t.Errorf("%v %q", got.Phase, got.Trouble)
		}
		s.clicked(tray.Action{Name: tray.StartEngine})
		synctest.Wait()
		s.told(say("studio", 0))
		if got := s.shown(); got.Phase != tray.Serving {
			t.Errorf("%v", got.Phase)
		}
		eng.fail <- errors.New("serve apps: the socket broke")
		if got := s.shown(); got.Phase != tray.Down || !strings.Contains(got.Trouble, "the socket broke") {
			t.Errorf("%v %q", got.Phase, got.Trouble)
		}
	})
}

// A port that another program holds at login is tried again until it is free,
// behind what the icon says; a click in between makes it no more often.
func TestATakenPortIsTriedUntilItIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts, looks atomic.Int32
		var free atomic.Bool
		s := sit(t, func() (Engine, error) {
			if starts.Add(1); free.Load() {
				return &fakeEngine{}, nil
			}
			return nil, &engine.PortTakenError{Address: "localhost:11435", Port: 11435, Owner: "otherd"}
		}, func(a *app) { a.answers = func(string) bool { looks.Add(1); return !free.Load() } })
		defer s.leaves()
		const why = "otherd holds localhost:11435. End it, and Bellwether starts by itself; or change the setting listen"
		if got := s.shown(); got.Phase != tray.Down || got.Trouble != why {
			t.Errorf("%v %q", got.Phase, got.Trouble)
		}
		s.clicked(tray.Action{Name: tray.StartEngine})
		synctest.Wait()
		time.Sleep(5 * time.Minute)
		if got := s.shown(); got.Phase != tray.Down || got.Trouble != why {
			t.Errorf("after a while: %v %q", got.Phase, got.Trouble)
		}
		if n := looks.Load(); n < 9 || n > 14 { // after 2, 6, 14 s and so on, and every half minute
			t.Errorf("%d looks in five minutes", n)
		}
		if n := starts.Load(); n != 2 {
			t.Errorf("%d starts while the port is taken", n)
		}
		free.Store(true)
		time.Sleep(portMost)
		synctest.Wait() // it has begun: no engine says a word before
		s.told(say("studio", 0))
		if got := s.shown(); got.Phase != tray.Serving {
			t.Errorf("once it is free: %v %q", got.Phase, got.Trouble)
		}
	})
}

// T-09, P-36: another's engine is shown, told of when it does not answer or has
// ended, and never ended by us.
func TestAnotherProgramsEngineIsAdopted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, func() (Engine, error) { return nil, &desktop.HeldError{Dir: "x", PID: 7} })
		if got := s.shown(); got.Phase != tray.Starting || !got.Theirs {
			t.Errorf("at first: %v, theirs %v", got.Phase, got.Theirs)
		}
		time.Sleep(adoptPatience + lookEvery)
		if got := s.shown(); got.Phase != tray.Down || !strings.Contains(got.Trouble, "does not answer") {
			t.Errorf("unheard of: %v %q", got.Phase, got.Trouble)
		}
		s.told(say("studio", 1))
		if got := s.shown(); got.Phase != tray.Serving || !got.Theirs {
			t.Errorf("heard of: %v", got.Phase)
		}
		s.lost()
		s.told(say("studio", 1)) // back at once: nothing to tell
		if got := s.shown(); got.Phase != tray.Serving {
			t.Errorf("a short break: %v", got.Phase)
		}
		s.lost()
		time.Sleep(gonePatience + time.Second)
		if got := s.shown(); got.Phase != tray.Down || !strings.Contains(got.Trouble, "has ended") {
			t.Errorf("gone: %v %q", got.Phase, got.Trouble)
		}
		s.clicked(tray.Action{Name: tray.Quit}) // ends the icon, whatever runs there
		<-s.done
	})
}

// Without a desktop and without an engine of its own the program is of no use
// to anyone; a bus that is only started anew is waited for.
func TestAnIconOfAnothersEngineDoesNotOutliveItsDesktop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, func() (Engine, error) { return nil, &desktop.HeldError{Dir: "x", PID: 7} })
		s.drop()
		time.Sleep(dropPatience / 2)
		s.back()
		time.Sleep(2 * dropPatience)
		if got := s.shown(); !got.Theirs {
			t.Errorf("%+v", got)
		}
		s.drop()
		time.Sleep(dropPatience + lookEvery)
		<-s.done
	})
}

func TestMemoryIsGivenBackOnceAfterWork(t *testing.T) {
	var r rest
	at := func(s int) time.Time { return time.Unix(1000+int64(s), 0) }
	for _, step := range []struct {
		second, active int
		due            bool
	}{{0, 0, false}, {9, 0, false}, {10, 0, true}, {60, 0, false}, {61, 3, false}, {80, 1, false}, {81, 0, false}, {90, 0, false}, {91, 0, true}, {200, 0, false}} {
		r.see(step.active, at(step.second))
		if got := r.due(at(step.second)); got != step.due {
			t.Errorf("second %d: due %v", step.second, got)
		}
	}
}

func TestQuitWaitsForWhatRunsIfItIsToldTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		eng := &fakeEngine{}
		s := sit(t, func() (Engine, error) { return eng, nil })
		s.told(say("studio", 1))
		s.clicked(tray.Action{Name: tray.Quit})
		if got := s.shown(); got.Phase != tray.Serving || !got.Asked || got.Notice == "" {
			t.Errorf("quit with one running: %+v", got)
		}
		s.clicked(tray.Action{Name: tray.QuitFinished})
		if got := s.shown(); got.Phase != tray.Stopping || !eng.drained {
			t.Errorf("%v, drained %v", got.Phase, eng.drained)
		}
		s.clicked(tray.Action{Name: tray.KeepRunning})
		if got := s.shown(); got.Phase != tray.Serving || eng.drained {
			t.Errorf("%v, drained %v", got.Phase, eng.drained)
		}
		s.clicked(tray.Action{Name: tray.QuitFinished})
		wish := say("studio", 1)
		wish.asked = 1
		s.told(wish) // it is started again: whoever does that wants it to stay
		if got := s.shown(); got.Phase != tray.Serving || eng.drained {
			t.Errorf("started again: %v, drained %v", got.Phase, eng.drained)
		}
		s.clicked(tray.Action{Name: tray.QuitFinished})
		s.told(say("studio", 0))
		<-s.done
		if err := s.result(); err != nil {
			t.Error(err)
		}
	})
}

func TestAClickThatCannotBeCarriedOutIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, func() (Engine, error) { return &fakeEngine{}, nil })
		defer s.leaves()
		s.told(say("studio", 0))
		s.clicked(tray.Action{Name: tray.Unload, Subject: "n/ollama/a"})
		if got := s.shown(); got.Notice != "no engine is running" {
			t.Errorf("notice %q", got.Notice)
		}
		s.clicked(tray.Action{Name: tray.KeepRunning})
		if got := s.shown(); got.Notice != "" {
			t.Errorf("the notice stays: %q", got.Notice)
		}
	})
}
