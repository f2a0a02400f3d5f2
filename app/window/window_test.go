package window

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// rig is a Window with a stand-in for its program and for the browser.
type rig struct {
	*Window
	diary diary
	log   journal

	mu      sync.Mutex // guards what follows
	links   int
	browser []string
	opened  chan string // every address that the browser got; big enough for any test
}

// journal is a log that may be read while it is written. Its mutex guards text.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func newRig(t *testing.T, role string, change ...func(*Options)) *rig {
	t.Helper()
	r := &rig{diary: diary(filepath.Join(t.TempDir(), "diary")), opened: make(chan string, 16)}
	t.Setenv(envRole, role)
	t.Setenv(envDiary, string(r.diary))
	t.Setenv("DISPLAY", ":77") // the stand-in asks no display
	o := Options{
		Program: os.Args[0],
		Link: func(context.Context) (string, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.links++
			return fmt.Sprintf("http://localhost:1/admin/enter?t=%d", r.links), nil
		},
		OpenBrowser: func(url string) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.browser = append(r.browser, url)
			r.opened <- url
			return nil
		},
		Log:   slog.New(slog.NewTextHandler(&r.log, nil)),
		times: times{ready: 20 * time.Second, early: 20 * time.Second, answer: 20 * time.Second, quit: 5 * time.Second},
	}
	for _, c := range change {
		c(&o)
	}
	r.Window = New(o)
	t.Cleanup(r.Close)
	return r
}

func (r *rig) open(t *testing.T) {
	t.Helper()
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// wantBrowser checks that the browser opened, with a link of its own, and that
// the reason was told and logged.
func (r *rig) wantBrowser(t *testing.T, reason string) {
	t.Helper()
	if !strings.Contains(r.Reason(), reason) {
		t.Errorf("reason %q, want one with %q", r.Reason(), reason)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.browser) != 1 || !strings.HasSuffix(r.browser[0], fmt.Sprintf("t=%d", r.links)) {
		t.Errorf("browser opened %q after %d links, want the last link once", r.browser, r.links)
	}
	if !strings.Contains(r.log.String(), reason) {
		t.Errorf("the log does not say %q:\n%s", reason, r.log.String())
	}
	if strings.Contains(r.log.String(), "t=1") {
		t.Errorf("a link was logged:\n%s", r.log.String())
	}
}

func TestWhatTheWindowDoesNotShowOpensInTheBrowser(t *testing.T) {
	r := newRig(t, "leads")
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-r.opened; got != "https://example.com/a?b=c" {
		t.Errorf("the browser was sent to %q", got)
	}
	if why := r.Reason(); why != "" {
		t.Errorf("the window counts as missing: %s", why)
	}
}

func TestAWindowThatHangsIsReplaced(t *testing.T) {
	r := newRig(t, "hangs", func(o *Options) { o.answer = 300 * time.Millisecond })
	r.open(t)
	t.Setenv(envRole, "well")
	r.open(t)
	pids := r.diary.pids()
	if len(pids) != 2 || exists(pids[0]) || !exists(pids[1]) {
		t.Fatalf("windows %v, want the first ended and a second", pids)
	}
	r.open(t)
	if n := len(r.diary.pids()); n != 2 || r.links != 2 || len(r.browser) != 0 || r.Reason() != "" {
		t.Errorf("%d windows, %d links, browser %q, reason %q", n, r.links, r.browser, r.Reason())
	}
	if log := r.log.String(); !strings.Contains(log, "the window hangs") || !strings.Contains(log, "within 300ms") {
		t.Errorf("the log does not say why:\n%s", log)
	}
}

func TestAnOpenGivenUpLeavesTheWindowThatHangs(t *testing.T) {
	r := newRig(t, "hangs")
	r.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1) // the one Open
	go func() { given <- r.Open(ctx) }()
	until(t, "it was asked", func() bool { return r.diary.count("show") == 1 })
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if !exists(r.diary.pids()[0]) {
		t.Error("the window was ended before its time")
	}
}

func TestAPageThatWentAwayIsLogged(t *testing.T) {
	r := newRig(t, "loses")
	r.open(t)
	until(t, "the log tells", func() bool {
		return strings.Contains(r.log.String(), "loaded again") && strings.Contains(r.log.String(), "its process crashed")
	})
}

func TestSecondOpenRaisesTheWindowThereIs(t *testing.T) {
	r := newRig(t, "well")
	r.open(t)
	r.open(t)
	r.open(t)
	until(t, "two times shown", func() bool { return r.diary.count("show") == 2 })
	if n := len(r.diary.pids()); n != 1 {
		t.Errorf("%d windows, want one", n)
	}
	if r.links != 1 || r.Reason() != "" || len(r.browser) != 0 {
		t.Errorf("%d links, reason %q, browser %q", r.links, r.Reason(), r.browser)
	}
}

func TestOpensAtOnceMakeOneWindow(t *testing.T) {
	r := newRig(t, "well")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := r.Open(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(r.diary.pids()); n != 1 {
		t.Errorf("%d windows, want one", n)
	}
}

func TestAClosedWindowIsOpenedAnewWithAnotherLink(t *testing.T) {
	r := newRig(t, "closes")
	r.open(t)
	r.open(t) // raises, upon which the user closes it
	until(t, "the window is closed", func() bool { p, _, _ := r.state(); return p == nil })
	r.open(t)
	if n := len(r.diary.pids()); n != 2 || r.links != 2 || len(r.browser) != 0 {
		t.Errorf("%d windows, %d links, browser %q", n, r.links, r.browser)
	}
	if r.diary.count("url http://localhost:1/admin/enter?t=2") != 1 {
		t.Errorf("the second window was given %q", r.diary.lines())
	}
}

// T-08: Settings did nothing on a Windows without a web view.
func TestWithoutAWindowTheBrowserOpensAndTheReasonIsTold(t *testing.T) {
	for _, c := range []struct{ role, reason string }{
		{"exit 12", "WebView2"},
		{"exit 13", "built without a window"},
		{"exit 11", "no display that answers: the last words of the window"},
		{"exit 127", "libwebkit2gtk-4.1-0): the last words of the window"},
		{"exit 1", "exit status 1: the last words of the window"},
		{"exit 0", "was closed"}, // before its page stood: nobody saw it
		{"panic", "failed to init GTK"},
	} {
		t.Run(c.role, func(t *testing.T) {
			r := newRig(t, c.role)
			r.open(t)
			r.wantBrowser(t, c.reason)
		})
	}
}

func TestAWindowThatCameBackNeedsNoBrowser(t *testing.T) {
	r := newRig(t, "exit 127")
	r.open(t)
	r.wantBrowser(t, "WebKitGTK")
	t.Setenv(envRole, "well") // its libraries were installed meanwhile
	r.open(t)
	if r.Reason() != "" || len(r.browser) != 1 {
		t.Errorf("reason %q, browser %q", r.Reason(), r.browser)
	}
}

func TestWithoutADisplayNoProcessIsStarted(t *testing.T) {
	if displayAlways {
		t.Skip("this system always has one")
	}
	r := newRig(t, "well")
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	r.open(t)
	r.wantBrowser(t, "neither DISPLAY nor WAYLAND_DISPLAY")
	if len(r.diary.pids()) != 0 {
		t.Error("a window was started")
	}
}

func TestAMissingProgramOpensTheBrowser(t *testing.T) {
	r := newRig(t, "well", func(o *Options) { o.Program = filepath.Join(t.TempDir(), "bellwether-window") })
	r.open(t)
	r.wantBrowser(t, "could not be started")
}

func TestAWindowThatDiesAtOnceIsFollowedByTheBrowserAndNotTriedAgain(t *testing.T) {
	r := newRig(t, "dies 7")
	r.open(t)
	<-r.opened
	r.done.Wait()
	r.wantBrowser(t, "exit status 7: the web process crashed")
	r.open(t)
	if n := len(r.diary.pids()); n != 1 || len(r.browser) != 2 {
		t.Errorf("%d windows, browser %q; want no second window", n, r.browser)
	}
}

func TestAWindowThatDiesLaterIsOnlyLogged(t *testing.T) {
	r := newRig(t, "dies 7", func(o *Options) { o.early = 0 })
	r.open(t)
	r.done.Wait()
	if len(r.browser) != 0 || !strings.Contains(r.log.String(), "the window ended by itself") || !strings.Contains(r.log.String(), "exit status 7") {
		t.Errorf("browser %q, log:\n%s", r.browser, r.log.String())
	}
}

func TestAWindowWithoutAPageIsKilledAndNotTriedAgain(t *testing.T) {
	r := newRig(t, "silent", func(o *Options) { o.ready = 300 * time.Millisecond })
	r.open(t)
	r.wantBrowser(t, "showed nothing for 300ms")
	r.open(t)
	if len(r.browser) != 2 {
		t.Errorf("browser %q", r.browser)
	}
	if len(r.diary.pids()) > 1 {
		t.Error("a second window was tried")
	}
	for _, pid := range r.diary.pids() {
		until(t, "the window is gone", func() bool { return !exists(pid) })
	}
}

func TestWithoutWindowAndBrowserTheErrorSaysBoth(t *testing.T) {
	r := newRig(t, "exit 12", func(o *Options) {
		o.OpenBrowser = func(string) error { return errors.New("no opener here") }
	})
	err := r.Open(t.Context())
	if err == nil || !strings.Contains(err.Error(), "WebView2") || !strings.Contains(err.Error(), "no opener here") {
		t.Errorf("%v", err)
	}
}

func TestWithoutALinkNothingIsShown(t *testing.T) {
	wrong := errors.New("the engine is stopping")
	r := newRig(t, "well", func(o *Options) { o.Link = func(context.Context) (string, error) { return "", wrong } })
	if err := r.Open(t.Context()); !errors.Is(err, wrong) {
		t.Errorf("%v", err)
	}
	if len(r.browser) != 0 || len(r.diary.pids()) != 0 {
		t.Error("something was shown")
	}
}

func TestAnOpenGivenUpLeavesNoWindow(t *testing.T) {
	r := newRig(t, "silent", func(o *Options) { o.quit = 100 * time.Millisecond })
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1) // the one Open
	go func() { given <- r.Open(ctx) }()
	until(t, "the window is started", func() bool { return len(r.diary.pids()) == 1 })
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if exists(r.diary.pids()[0]) || len(r.browser) != 0 {
		t.Error("something remains")
	}
}

func TestCloseEndsTheWindowAndOpensNoMore(t *testing.T) {
	for _, role := range []string{"well", "deaf"} {
		t.Run(role, func(t *testing.T) {
			r := newRig(t, role, func(o *Options) {
				if role == "deaf" {
					o.quit = 200 * time.Millisecond
				}
			})
			r.open(t)
			r.Close()
			if pid := r.diary.pids()[0]; exists(pid) {
				t.Errorf("process %d remains", pid)
			}
			if r.diary.count("end") != 1 {
				t.Errorf("it was not told to quit: %q", r.diary.lines())
			}
			if err := r.Open(t.Context()); !errors.Is(err, ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
			if len(r.browser) != 0 {
				t.Errorf("the browser opened on quitting: %q", r.browser)
			}
			r.Close() // a second time harms nothing
		})
	}
}

func TestCloseWhileAWindowComesUpLeavesNone(t *testing.T) {
	r := newRig(t, "silent", func(o *Options) { o.quit = 100 * time.Millisecond })
	given := make(chan error, 1) // the one Open
	go func() { given <- r.Open(t.Context()) }()
	until(t, "the window is started", func() bool { return len(r.diary.pids()) == 1 })
	r.Close()
	if err := <-given; !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	if exists(r.diary.pids()[0]) || len(r.browser) != 0 {
		t.Error("something remains")
	}
}
