package engine

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/pulse"
	"bellwether/platform/desktop"
	"bellwether/platform/desktop/desktoptest"
)

// P-37: checks that hang do not keep Health as it was for ever, silently.
func TestChecksThatHangAreToldAndTheirReturnCures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lookout
		release := make(chan struct{})
		good := func(context.Context) []check { return []check{found("disk", isOK, "Disk", "", "fine")} }
		stuck := func(context.Context) []check { <-release; return nil }
		ids := func(c []check) (out []string) {
			for _, f := range c {
				out = append(out, f.ID)
			}
			return out
		}
		run := func(look func(context.Context) []check) string {
			return strings.Join(ids(l.run(t.Context(), time.Now(), look)), " ")
		}
		if got := run(good); got != "disk" {
			t.Fatal(got)
		}
		for range 5 { // no more than so many are begun
			if got := run(stuck); got != "hang.checks disk" {
				t.Errorf("while they hang: %s", got)
			}
		}
		if l.hung != checksMost {
			t.Errorf("%d hang, want %d at most", l.hung, checksMost)
		}
		close(release)
		synctest.Wait()
		if got := run(good); got != "disk" || l.hung != 0 || !l.since.IsZero() {
			t.Errorf("once they came back: %s, %d hang", got, l.hung)
		}
	})
}

// P-37: Health says which loop hangs, what the program did is written down, and
// the finding passes with the hang.
func TestALoopThatHangsIsAFinding(t *testing.T) {
	release := make(chan struct{})
	r := newRig(t, spec{config: quick, before: func(e *Engine) {
		e.hangs = e.newWatch(pulse.Loop{Name: "the test", Ping: func() { <-release }, Bound: 100 * time.Millisecond})
	}})
	r.await(t, "the hang to be found", func() bool {
		f, there := r.finding("loop.the-test")
		return there && f.Severity == isBroken && strings.HasPrefix(f.Text, "The test has not come round since") && f.Remedy != ""
	})
	r.await(t, "what it did to be written down", func() bool {
		text, err := os.ReadFile(filepath.Join(r.opts.Folders.Logs, hangFile))
		return err == nil && strings.Contains(string(text), "TestALoopThatHangsIsAFinding")
	})
	for _, h := range r.hangs.Hung() {
		if h.Name != "the test" {
			t.Errorf("%s hangs too", h.Name)
		}
	}
	close(release)
	r.await(t, "the finding to pass", func() bool {
		_, there := r.finding("loop.the-test")
		return !there
	})
}

// What the icon lacks is on the Health page while an app says so, and no longer.
func TestAnIconThatNobodySeesIsAFindingWhileItIsSo(t *testing.T) {
	r := newRig(t, spec{config: quick})
	tell := func(state, text, remedy string) int {
		return r.owner(t, "POST", "/admin/tray", admin.TrayReport{State: admin.TrayState(state), Text: text, Remedy: remedy}, nil)
	}
	if _, there := r.finding("tray"); there {
		t.Error("found before anybody told")
	}
	if got := tell("unseen", "Nothing shows icons.", "Add a tray."); got != 200 {
		t.Fatal(got)
	}
	if f, there := r.finding("tray"); !there || f.Severity != isNote || f.Text != "Nothing shows icons." || f.Remedy != "Add a tray." {
		t.Errorf("%v %+v", there, f)
	}
	tell("stuck", "It is old.", "Log in again.")
	if f, _ := r.finding("tray"); f.Severity != isWarning {
		t.Errorf("%+v", f)
	}
	tell("shown", "", "")
	if f, _ := r.finding("tray"); f.Severity != isOK {
		t.Errorf("%+v", f)
	}
	if got := tell("vanished", "", ""); got != 400 {
		t.Errorf("an unknown state: %d", got)
	}
	s := &scene{now: time.Now(), tray: &trayNews{admin.TrayReport{State: admin.TrayUnseen}, time.Now().Add(-trayLease - time.Second)}}
	if c := checkTray(s); c != nil {
		t.Errorf("of an app that is gone: %+v", c)
	}
}

// P-37: while a loop hangs the supervisor is told nothing, so that it restarts.
func TestTheSupervisorIsNotReassuredWhileALoopHangs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems have no such supervisor")
	}
	path, conn := desktoptest.Supervisor(t)
	words := make(chan struct{})
	go func() {
		defer close(words)
		for {
			if _, err := conn.Read(make([]byte, 64)); err != nil {
				return
			}
			words <- struct{}{}
		}
	}()
	release := make(chan struct{})
	s := desktop.FindSupervisor(func(name string) string {
		return map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "100000"}[name]
	})
	r := newRig(t, spec{config: quick, before: func(e *Engine) {
		e.opts.Supervisor = s
		e.hangs = e.newWatch(pulse.Loop{Name: "the test", Ping: func() { <-release }, Bound: 2 * time.Second})
	}})
	<-words // all is well at first
	for quiet := false; !quiet; {
		select {
		case <-words:
		case <-time.After(10 * s.Every):
			quiet = true
		}
	}
	if hung := r.hangs.Hung(); len(hung) != 1 {
		t.Errorf("it fell silent while %v hang", hung)
	}
	close(release)
	<-words // and again
	_ = conn.Close()
	for range words {
	}
}
