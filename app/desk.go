package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bellwether/app/notice"
	"bellwether/app/tray"
	"bellwether/engine/admin"
	"bellwether/engine/pulse"
	"bellwether/platform/desktop"
)

// desk owns what the tray shows and how the program ends. Its loop, run, is
// the only goroutine that touches what stands below states; others tell it.
type desk struct {
	a      *app
	ctx    context.Context    // of the whole program; its end begins the way out
	stop   context.CancelFunc // ends it
	in     chan func(*desk)
	gone   chan struct{}   // closed when run takes nothing any more
	states chan tray.State // of one: the newest, which the tray has not seen yet
	work   sync.WaitGroup  // the engine and what ends

	phase   tray.Phase
	trouble string
	again   *time.Timer // to the next try of a taken port
	fault   fault       // why it does not run, as far as that was told
	theirs  bool        // the engine is another program's
	holder  int         // its pid, 0 = not known
	since   time.Time
	making  bool   // an engine of ours is being made
	engine  Engine // ours, while it runs
	cut     context.CancelFunc

	rest    rest  // of the memory that work took
	heard   *news // the last of the feed
	linked  bool  // the feed stands
	lostAt  time.Time
	wishes  uint64      // for the window, that were seen
	login   tray.Login  // while no engine tells it
	logins  pulse.Round // of looks at it
	icon    iconNews
	dropped time.Time // since when there is no bus for the icon; zero = there is
	asked   bool      // the owner was asked what becomes of running requests
	after   bool      // quit when they have ended
	notice  string
	board   notice.Board // what the owner was notified of
	leaving bool         // on the way out; the engine may still run
	closed  bool         // the window is gone
	err     error
}

// How often the desk looks at what rings no bell: the age of what is shown,
// whether the login item is as it was, and whether the icon takes what it is told.
const lookEvery = 5 * time.Second

// lookBound is how long a look at the login item may take.
const lookBound = 15 * time.Second

// leavePatience is how long the way out waits for what was begun.
const leavePatience = 20 * time.Second

// A program whose engine we share may be slow to start; one that does not
// answer for longer is told of. One that ended is told of after a moment, for a
// broken connection comes back at once.
const (
	adoptPatience = 20 * time.Second
	gonePatience  = 2 * time.Second
)

// dropPatience is how long a program without an engine of its own waits for the
// desktop to come back.
const dropPatience = time.Minute

func newDesk(ctx context.Context, a *app, stop context.CancelFunc) *desk {
	return &desk{a: a, ctx: ctx, stop: stop, in: make(chan func(*desk)), gone: make(chan struct{}), states: make(chan tray.State, 1), since: time.Now(),
		logins: pulse.Round{Bound: lookBound}, icon: iconNews{round: pulse.Round{Bound: tellBound}}}
}

// tell hands the loop something to do; dropped once it has ended.
func (d *desk) tell(m func(*desk)) {
	select {
	case d.in <- m:
	case <-d.gone:
	}
}

// run is the desk until its context ends and everything it started has.
func (d *desk) run() {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	d.lookAtLogin()
	leave := d.ctx.Done()
	for !d.over() {
		d.publish()
		select {
		case <-leave:
			leave = nil
			d.leave()
		case m := <-d.in:
			m(d)
		case <-look.C:
			d.lookAtLogin()
			d.notify(time.Now())
			d.tellIcon(time.Now())
			if d.stranded(time.Now()) {
				d.stop()
			}
			if d.engine != nil && d.rest.due(time.Now()) {
				d.work.Go(giveBack)
			}
		}
	}
	close(d.gone)
	close(d.states)
	if !pulse.Wait(&d.work, leavePatience) {
		d.a.o.Log.Warn("something that was begun did not come back; it is left behind")
	}
}

// over reports that nothing is left to wait for.
func (d *desk) over() bool { return d.leaving && d.engine == nil && !d.making && d.closed }

// publish puts the state where the tray takes it. What the tray has not taken
// yet is older, and nobody's loss.
func (d *desk) publish() {
	s := d.state(time.Now())
	select {
	case <-d.states:
		if d.icon.waits.IsZero() {
			d.icon.waits = time.Now()
		}
	default:
		d.icon.waits = time.Time{}
	}
	d.states <- s // the only sender: there is room
}

// state is what is to be shown.
func (d *desk) state(now time.Time) tray.State {
	var s tray.State
	if d.heard != nil {
		s = d.heard.state
		s.Silent = max(0, now.Sub(d.heard.at))
	}
	s.Now, s.Version = now, d.a.o.Version
	s.Phase, s.Trouble, s.Theirs = d.phase, d.trouble, d.theirs
	switch {
	case !d.theirs || d.linked:
	case d.heard == nil && now.Sub(d.since) > adoptPatience:
		s.Phase, s.Trouble = tray.Down, fmt.Sprintf("another bellwether (pid %d) uses this data folder and does not answer", d.holder)
	case d.heard != nil && now.Sub(d.lostAt) > gonePatience:
		s.Phase, s.Trouble = tray.Down, "the bellwether serve that was used here has ended"
	}
	if d.engine != nil && s.Address == "" {
		s.Address = d.engine.Address()
	}
	if !d.linked { // else as the engine has it
		s.Login = d.login
	}
	s.Asked, s.Ending, s.Notice = d.asked, d.leaving, d.notice
	return s
}

// startEngine runs an engine of ours, or finds another program's.
func (d *desk) startEngine() {
	if d.engine != nil || d.making || d.leaving {
		return
	}
	d.phase, d.trouble, d.fault = tray.Starting, "", fault{}
	d.makeEngine()
}

// makeEngine makes an engine and runs it; began and ended tell how that went.
func (d *desk) makeEngine() {
	d.making, d.since = true, time.Now()
	d.work.Go(func() {
		eng, err := d.a.o.Start()
		ctx, cut := context.WithCancel(context.Background())
		defer cut()
		d.tell(func(d *desk) { d.began(eng, cut, err) })
		if err != nil {
			return
		}
		err = eng.Run(ctx)
		d.tell(func(d *desk) { d.ended(err) })
	})
}

func (d *desk) began(eng Engine, cut context.CancelFunc, err error) {
	d.making = false
	var held *desktop.HeldError
	switch {
	case errors.As(err, &held):
		d.theirs, d.holder, d.phase = true, held.PID, tray.Serving
		if d.heard == nil {
			d.phase = tray.Starting // until its feed speaks
		}
		d.a.o.Log.Info("an engine runs here already; this icon shows that one", "pid", held.PID)
	case err != nil:
		d.fail(err)
		return
	default:
		d.theirs, d.engine, d.cut, d.heard = false, eng, cut, nil
		d.phase, d.trouble, d.fault = tray.Starting, "", fault{}
		d.a.o.Log.Info("the engine runs", "address", eng.Address())
		d.a.say("Bellwether serves at %s. Its icon is in the bar.\n", eng.Address())
		if d.leaving {
			cut()
		}
	}
	if !d.a.o.Hidden {
		d.a.o.Hidden = true // once
		d.openWindow()
	}
}

// ended is the end of an engine of ours.
func (d *desk) ended(err error) {
	d.engine, d.cut = nil, nil
	switch {
	case d.leaving:
		d.err = err
	case err != nil:
		d.fail(err)
	default:
		d.fail(errors.New("it was stopped"))
	}
}

// told takes what the feed says. The follower calls it.
func (d *desk) told(n news) { d.tell(func(d *desk) { d.hear(n) }) }

func (d *desk) hear(n news) {
	// Wishes are counted by each engine from its start. Those of the engine that
	// was found running were others' to answer.
	switch {
	case d.heard == nil && d.theirs:
		d.wishes = n.asked
	case d.heard == nil || !d.heard.started.Equal(n.started):
		d.wishes = 0
	}
	d.heard, d.linked = &n, true
	d.rest.see(n.state.Active, n.at)
	if d.leaving {
		return
	}
	if d.phase == tray.Starting && (d.theirs || d.engine != nil) || d.phase == tray.Down && d.theirs {
		d.phase = tray.Serving
	}
	if n.asked > d.wishes {
		d.wishes = n.asked
		d.keep() // whoever starts it again while it waits to quit wants it to stay
		d.openWindow()
	}
	d.notify(n.at)
	d.tellIcon(n.at)
	if n.state.Active == 0 {
		d.asked = false
		if d.after {
			d.stop()
		}
	}
}

// lost says that the feed broke off; it is tried again all the time.
func (d *desk) lost() {
	d.tell(func(d *desk) { d.linked, d.lostAt = false, time.Now() })
	time.AfterFunc(gonePatience+time.Millisecond, func() { d.tell(func(*desk) {}) }) // so that it is looked at then
}

// leave ends window and engine; the icon shows how.
func (d *desk) leave() {
	d.leaving = true
	if d.engine != nil || d.making {
		d.phase = tray.Stopping
	}
	if d.theirs {
		d.phase = tray.Down // of this program; the other goes on
	}
	if d.cut != nil {
		d.cut()
	}
	d.work.Go(func() {
		d.a.window.Close()
		d.tell(func(d *desk) { d.closed = true })
	})
}

// openWindow shows the admin window, once there is an engine to show. What
// keeps it from opening is told in the menu.
func (d *desk) openWindow() {
	d.work.Go(func() {
		if err := d.a.open(d.ctx); err != nil && d.ctx.Err() == nil {
			d.tell(func(d *desk) { d.notice = "The admin window did not open: " + oneLine(err.Error()) })
		}
	})
}

// lookAtLogin reads whether the program starts at login, which is the system's
// to know. While an engine tells that, nobody else looks.
func (d *desk) lookAtLogin() {
	if d.linked {
		return
	}
	ticket, ok := d.logins.Begin(time.Now())
	if !ok {
		return
	}
	d.work.Go(func() {
		login := d.a.login(d.ctx)
		d.tell(func(d *desk) {
			if d.logins.End(ticket) {
				d.login = login
			}
		})
	})
}

// hosted takes how the desktop shows the icon.
func (d *desk) hosted(word admin.TrayReport) {
	d.tell(func(d *desk) {
		d.icon.host = word
		d.tellIcon(time.Now())
	})
}

// drop is for a desktop whose bus is gone, and the icon with it. It is waited
// for; without an engine of ours not for long.
func (d *desk) drop() {
	d.tell(func(d *desk) {
		d.dropped = time.Now()
		d.icon.host = admin.TrayReport{State: admin.TrayUnseen, Text: "No icon is shown: the desktop's session bus has ended.",
			Remedy: "The icon comes back with the bus. A start of Bellwether in another session shows it there."}
		d.tellIcon(time.Now())
	})
}

// back ends drop.
func (d *desk) back() { d.tell(func(d *desk) { d.dropped = time.Time{} }) }

// stranded reports that nobody sees this program and it does nothing.
func (d *desk) stranded(now time.Time) bool {
	return !d.dropped.IsZero() && d.engine == nil && !d.making && now.Sub(d.dropped) >= dropPatience
}

// result is how the program ended, once run has returned.
func (d *desk) result() error {
	if d.err != nil {
		return fmt.Errorf("the engine did not end cleanly: %w", d.err)
	}
	return nil
}
