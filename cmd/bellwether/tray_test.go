package main

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"bellwether/platform/desktop"
	"bellwether/platform/desktop/desktoptest"
)

// noHolding makes refusals come at once, so that they can be timed.
const noHolding = "routing: {hold: {max: 0s}}\n"

// trayHome is a home with one stand-in, and a desktop that shows icons.
func trayHome(t testing.TB, settings string) (*home, *desktoptest.Bus) {
	t.Helper()
	f := fakeRuntime(t, "ollama", "-m", "tiny=40MB,ctx=8192,caps=completion+tools")
	return newHome(t, settings, map[string]*fake{"ollama": f}), desktoptest.NewBus(t)
}

// T-08: an icon without a tooltip says nothing.
func TestTheIconSaysNameAndState(t *testing.T) {
	t.Parallel()
	h, b := trayHome(t, "")
	w := b.ShowIcons(t)
	i := h.desktop(t, b, anywhere, "--hidden")
	until(t, "it registers", func() bool { return w.Count() == 1 })
	until(t, "the tooltip says that it serves", func() bool { return i.tooltip(t) == "studio: serving, 0 running" })
	var title string
	i.property(t, "Title", &title)
	if title != "bellwether" {
		t.Errorf("title %q", title)
	}
	p := i.picture(t)
	if p.W != 44 || p.H != 44 || !painted(p) {
		t.Errorf("the icon is %d x %d, painted: %v", p.W, p.H, painted(p))
	}
	until(t, "the whole menu is there", func() bool { return strings.Contains(i.lines(t), "About") })
	got := i.lines(t)
	for _, line := range []string{
		"Serving, 0 running\n", "\nPause\n", "\nPause for\n  1 hour\n  Until tomorrow, 06:00\n  Until I resume\n", "\nModels loaded\n  None\n",
		"\nMachines\n  studio (this machine): serving\n", "\nRouter: studio (this machine)\n", "\nCopy address for\n  OpenAI apps  " + h.address + "/v1\n",
		"\nOpen admin window\n", "\nView log\n", "\nAbout\n  Bellwether " + version + "\n  Apps point at " + h.address + "\n", "\nQuit\n",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("the menu lacks %q:\n%s", line, got)
		}
	}
	for _, later := range []string{"Not a meeting", "Use it all tonight", "Be the router", "Pair a machine", "Resume\n", "Start Bellwether"} {
		if strings.Contains(got, later) {
			t.Errorf("the menu has %q:\n%s", later, got)
		}
	}
	h.ask(t, "tiny")
	i.shows(t, "Unload tiny")
	i.click(t, "Unload tiny")
	until(t, "the model is gone", func() bool { s := h.status(t); return s.residency("ollama", "tiny") == "on_disk" })
	i.shows(t, "None")
}

func painted(p pixels) bool {
	for k := 0; k+3 < len(p.Bits); k += 4 {
		if p.Bits[k] == 255 && p.Bits[k+2] > p.Bits[k+1] { // opaque and green
			return true
		}
	}
	return false
}

// A panel takes an underscore for the mark of an access key; names keep theirs.
func TestUnderscoresOfNamesAreInTheMenu(t *testing.T) {
	t.Parallel()
	f := fakeRuntime(t, "ollama", "-m", "my_tiny_2=40MB,ctx=8192")
	h, b := newHome(t, "", map[string]*fake{"ollama": f}), desktoptest.NewBus(t)
	b.ShowIcons(t)
	i := h.desktop(t, b, anywhere, "--hidden")
	if status, answer := h.ask(t, "my_tiny_2"); status != http.StatusOK {
		t.Fatal(status, answer)
	}
	i.shows(t, "Unload my_tiny_2")
}

// From the click to the refusal, and back.
func TestAClickOnPauseRefusesWithinASecond(t *testing.T) {
	t.Parallel()
	h, b := trayHome(t, noHolding)
	b.ShowIcons(t)
	i := h.desktop(t, b, anywhere, "--hidden")
	if status, answer := h.ask(t, "tiny"); status != http.StatusOK {
		t.Fatal(status, answer)
	}
	green := i.picture(t)
	i.shows(t, "Pause")
	i.click(t, "Pause")
	took := soon(t, time.Second, "from the click to the refusal with its reason", func(context.Context) bool {
		status, answer := h.ask(t, "tiny")
		return status == http.StatusServiceUnavailable && strings.Contains(answer, "paused by its owner")
	})
	t.Logf("from the click to the refusal: %s", took)
	i.shows(t, "Paused by its owner since ")
	until(t, "the tooltip says so", func() bool { return i.tooltip(t) == "studio: paused, 0 running" })
	until(t, "the icon is another", func() bool { return string(i.picture(t).Bits) != string(green.Bits) })
	h.run(t, "status").ends(t, exitDegraded).says(t, "studio is paused: paused by its owner")
	i.click(t, "Resume")
	soon(t, time.Second, "from the click to the answer", func(context.Context) bool {
		status, _ := h.ask(t, "tiny")
		return status == http.StatusOK
	})
	i.shows(t, "Serving")
	i.click(t, "1 hour")
	i.shows(t, "Resumes ")
	if s := h.status(t); s.Node.State != "paused" || !strings.Contains(s.Node.Reason, "until") {
		t.Errorf("paused for an hour: %+v", s.Node)
	}
}

// A pause outlives the program, and the tray shows since when.
func TestAPauseFromTheTraySurvivesARestart(t *testing.T) {
	t.Parallel()
	h, b := trayHome(t, noHolding)
	b.ShowIcons(t)
	i := h.desktop(t, b, anywhere, "--hidden")
	i.click(t, "Pause")
	since := i.shows(t, "Paused by its owner since ").label
	i.click(t, "Quit")
	if code := i.wait(t); code != exitDone {
		t.Fatalf("exit code %d", code)
	}
	again := h.appear(t, b, anywhere, "--hidden")
	if got := again.shows(t, "Paused").label; got != since {
		t.Errorf("after the restart %q, before %q", got, since)
	}
}

// T-04: a desktop that shows no icons still has the browser and the CLI, and
// the doctor says what is missing. T-05: one that appears later gets the icon.
func TestAnIconWaitsForADesktopThatShowsIt(t *testing.T) {
	t.Parallel()
	h, b := trayHome(t, "")
	i := h.desktop(t, b, anywhere, "--hidden")
	if status, answer := h.ask(t, "tiny"); status != http.StatusOK {
		t.Errorf("without a panel: %d %s", status, answer)
	}
	doctor := &home{dir: h.dir, env: append(envOf(i), "DISPLAY=:77", "XDG_CURRENT_DESKTOP=ubuntu:GNOME")}
	doctor.run(t, "doctor").says(t, "Tray host missing", "gnome-shell-extension-appindicator")
	// From elsewhere, and so on the Health page, it is told what the app has seen.
	afar := &home{dir: h.dir, env: h.env}
	until(t, "the engine is told", func() bool { return strings.Contains(afar.run(t, "doctor").out, "Tray host missing") })
	w := b.ShowIcons(t)
	until(t, "the engine is told that it is cured", func() bool {
		said := afar.run(t, "doctor").out
		return strings.Contains(said, "The desktop shows the icon") && !strings.Contains(said, "Tray host missing")
	})
	until(t, "it registers with the late panel", func() bool { return w.Count() == 1 })
	doctor.run(t, "doctor").says(t, "The desktop shows the icon").lacks(t, "Tray host missing")
	i.shows(t, "Serving")
}

func envOf(i *icon) []string { return i.cmd.Env }

// P-34: no bus, or a dead one: it serves without an icon, says so, and starts none.
func TestWithoutASessionBusItServesWithoutAnIcon(t *testing.T) {
	t.Parallel()
	desktoptest.NewBus(t) // skips where there are none
	dead := "unix:path=" + filepath.Join(t.TempDir(), "nobody")
	for name, address := range map[string]string{"none": "", "dead": dead} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, "", map[string]*fake{"ollama": fakeRuntime(t, "ollama", "-m", "tiny=40MB")})
			env, _ := desktopEnv(t, h.env, address)
			h.env = append(env, "XDG_RUNTIME_DIR="+t.TempDir())
			h.engine = launch(t, h.env, "bellwether", "--data-dir", h.dir, anywhere)
			h.ready(t)
			if said := h.engine.out.String(); !strings.Contains(said, "No icon is shown") || !strings.Contains(said, h.address) {
				t.Errorf("it said %q", said)
			}
			if status, answer := h.ask(t, "tiny"); status != http.StatusOK {
				t.Errorf("%d %s", status, answer)
			}
			second := launch(t, h.env, "bellwether", "--data-dir", h.dir)
			if code := second.wait(t); code != exitDone || !strings.Contains(second.out.String(), "runs already at "+h.address) || !strings.Contains(second.out.String(), "no icon can be shown here") {
				t.Errorf("a second start: exit code %d, %s%s", code, second.out, second.err)
			}
			until(t, "the doctor says why", func() bool {
				return strings.Contains(h.run(t, "doctor").out, "No icon is shown")
			})
			stop(t, h.engine)
			if left := strays(t, filepath.Dir(h.dir)); left != nil {
				t.Errorf("bus daemons left: %v", left)
			}
		})
	}
}

// The desktop's bus dies, as at the end of a session: no panic, and requests
// are answered on. The next session's start finds that engine and shows it.
func TestABusThatDiesTakesTheIconOnly(t *testing.T) {
	t.Parallel()
	h, b := trayHome(t, "")
	b.ShowIcons(t)
	i := h.desktop(t, b, anywhere, "--hidden")
	b.Kill()
	until(t, "it notices", func() bool { return strings.Contains(i.err.String(), "the icon is gone") })
	if status, answer := h.ask(t, "tiny"); status != http.StatusOK {
		t.Errorf("%d %s", status, answer)
	}
	next := desktoptest.NewBus(t)
	next.ShowIcons(t)
	later := h.appear(t, next, "--hidden")
	later.shows(t, "Serving")
	later.click(t, "Quit the icon")
	if code := later.wait(t); code != exitDone {
		t.Errorf("the icon's exit code %d", code)
	}
	if status, answer := h.ask(t, "tiny"); status != http.StatusOK {
		t.Errorf("after the icon: %d %s", status, answer)
	}
	// That icon left the place; the first one's own comes back with its bus.
	b.Restart(t)
	w := b.ShowIcons(t)
	until(t, "the first has its icon again", func() bool { return w.Count() == 1 })
	i.shows(t, "Serving")
	stop(t, i.process)
	if strings.Contains(i.err.String(), "panic") {
		t.Error(i.err)
	}
}

// T-05: the bus is started anew, and the panel after it: the icon is there again,
// shows what is so by now, and can be clicked. Until then the doctor does not
// say that all is well.
func TestTheIconComesBackWithTheBus(t *testing.T) {
	t.Parallel()
	h, b := trayHome(t, noHolding)
	b.ShowIcons(t)
	i := h.desktop(t, b, anywhere, "--hidden")
	i.shows(t, "Serving")
	doctor := &home{dir: h.dir, env: append(envOf(i), "DISPLAY=:77")}
	doctor.run(t, "doctor").says(t, "The desktop shows the icon")
	for range 2 {
		b.Kill()
		until(t, "the doctor says that it is gone", func() bool { return strings.Contains(doctor.run(t, "doctor").out, "No icon is shown") })
		h.run(t, "pause").ends(t, exitDone)
		b.Restart(t)
		w := b.ShowIcons(t)
		until(t, "it registers again", func() bool { return w.Count() == 1 })
		i.shows(t, "Paused")
		until(t, "the tooltip says so", func() bool { return i.tooltip(t) == "studio: paused, 0 running" })
		until(t, "the doctor says that it is back", func() bool { return strings.Contains(doctor.run(t, "doctor").out, "The desktop shows the icon") })
		i.click(t, "Resume")
		i.shows(t, "Serving")
	}
	i.click(t, "Quit")
	if code := i.wait(t); code != exitDone || strings.Contains(i.err.String(), "panic") {
		t.Errorf("exit code %d\n%s", code, i.err)
	}
}

// T-09: a server that runs already is adopted. What it serves is never cut off,
// and quitting the icon leaves it alone.
func TestARunningServeIsAdoptedAndNeverEnded(t *testing.T) {
	t.Parallel()
	h, b := trayHome(t, noHolding)
	b.ShowIcons(t)
	h.serve(t, anywhere)
	server := h.engine
	i := h.appear(t, b, "--hidden")
	i.shows(t, "Serving")
	i.shows(t, "Served by another program")
	i.click(t, "Pause") // it is one more who may say so
	until(t, "it is paused", func() bool { return h.status(t).Node.State == "paused" })
	i.click(t, "Resume")
	i.shows(t, "Serving")
	i.click(t, "Quit the icon")
	if code := i.wait(t); code != exitDone {
		t.Errorf("exit code %d", code)
	}
	if !server.running() {
		t.Fatal("the server was ended")
	}
	if status, answer := h.ask(t, "tiny"); status != http.StatusOK {
		t.Errorf("%d %s", status, answer)
	}

	// It ends by its own owner's will: the icon says so, and can take over.
	i = h.appear(t, b, anywhere, "--hidden")
	i.shows(t, "Serving")
	stop(t, server)
	i.shows(t, "Not running")
	i.shows(t, "the bellwether serve that was used here has ended")
	i.click(t, "Start Bellwether")
	i.shows(t, "Serving")
	h.engine = i.process
	h.ready(t)
	i.click(t, "Quit")
	if code := i.wait(t); code != exitDone {
		t.Errorf("exit code %d", code)
	}
}

// One owner of the start at login: whoever switches it, the tray, the command
// line and the admin API agree at once.
func TestTheStartAtLoginIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	h, b := trayHome(t, "")
	b.ShowIcons(t)
	h.env = append(slices.Clone(h.env), "XDG_CONFIG_HOME="+t.TempDir(), "XDG_CONFIG_DIRS="+t.TempDir(), "XDG_CURRENT_DESKTOP=XFCE", "APPIMAGE=/bin/sh", "APPDIR="+programs)
	i := h.desktop(t, b, anywhere, "--hidden")
	if i.shows(t, "Start at login").ticked {
		t.Fatal("on by default")
	}
	i.click(t, "Start at login")
	ticked := func(want bool) func() bool {
		return func() bool { e, there := find(i.menu(t), "Start at login"); return there && e.ticked == want }
	}
	until(t, "the menu ticks it", ticked(true))
	h.run(t, "login").ends(t, exitDone).says(t, "starts when you log in")
	h.run(t, "login", "off").ends(t, exitDone)
	soon(t, time.Second, "from the command to the menu", func(context.Context) bool { return ticked(false)() })
	h.run(t, "login", "on").ends(t, exitDone)
	soon(t, time.Second, "from the command to the menu", func(context.Context) bool { return ticked(true)() })
}

// P-36: one app for a data folder. A second start shows the window of the
// first and ends well; a start at login shows nothing.
func TestASecondStartShowsTheWindowOfTheFirst(t *testing.T) {
	t.Parallel()
	h, b := trayHome(t, "")
	b.ShowIcons(t)
	i := h.desktop(t, b, anywhere, "--hidden")
	i.shows(t, "Serving")
	for n := 1; n <= 2; n++ {
		second := launch(t, envOf(i), "bellwether", "app", "--data-dir", h.dir)
		if code := second.wait(t); code != exitDone || !strings.Contains(second.out.String(), "runs already at "+h.address) || strings.Contains(second.out.String(), "Its window opens") {
			t.Fatalf("second start: exit code %d, %s%s", code, second.out, second.err)
		}
		if url := i.opened(t, n); !strings.HasPrefix(url, h.address+"/admin/enter?t=") {
			t.Errorf("it opened %s", url)
		}
	}
	third := launch(t, envOf(i), "bellwether", "app", "--hidden", "--data-dir", h.dir)
	if code := third.wait(t); code != exitDone || strings.Contains(third.out.String(), "window") {
		t.Errorf("start at login: exit code %d, %s", code, third.out)
	}
	i.click(t, "Open admin window")
	if url := i.opened(t, 3); !strings.HasPrefix(url, h.address+"/admin/enter?t=") {
		t.Errorf("it opened %s", url)
	}
}

// P-36: a start while the first one ends waits for that, and serves.
func TestAStartWhileTheFirstEndsTakesItsPlace(t *testing.T) {
	t.Parallel()
	f := fakeRuntime(t, "ollama", "-m", "tiny=40MB,ctx=8192,caps=completion+tools")
	h, b := newHome(t, noHolding, map[string]*fake{"ollama": f}), desktoptest.NewBus(t)
	b.ShowIcons(t)
	i := h.desktop(t, b, anywhere, "--hidden")
	f.order(t, `{"inject":[{"path":"/api/chat","break":"hold","times":1}]}`)
	answered := make(chan int, 1) // one request
	go func() { status, _ := h.ask(t, "tiny"); answered <- status }()
	i.shows(t, "Quit (1 request runs)")
	i.click(t, "Now:")
	i.shows(t, "Stopping: 1 request still to finish")
	second := launch(t, envOf(i), "bellwether", "app", "--data-dir", h.dir, anywhere, "--hidden")
	until(t, "it waits", func() bool { return strings.Contains(second.out.String(), "is just ending") })
	f.order(t, `{"release":true}`)
	<-answered
	if code := i.wait(t); code != exitDone {
		t.Errorf("the first's exit code %d", code)
	}
	until(t, "the second serves", func() bool { return strings.Contains(second.out.String(), "Bellwether serves at") })
	stop(t, second)
}

// P-36: a first one that hangs is told of, with its number.
func TestAStartWhileTheFirstHangsSaysSo(t *testing.T) {
	t.Parallel()
	b := desktoptest.NewBus(t)
	told := b.ShowNotifications(t)
	dir := hungEngine(t)
	first, err := desktop.LockNamed(dir, "tray.lock")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Unlock() }()
	env, _ := desktopEnv(t, os.Environ(), b.Address)
	second := launch(t, env, "bellwether", "app", "--data-dir", dir)
	says := fmt.Sprintf("(pid %d) and does not answer: end that process", os.Getpid())
	if code := second.wait(t); code != exitFailed || !strings.Contains(second.err.String(), says) {
		t.Errorf("exit code %d, %s%s", code, second.out, second.err)
	}
	if n := <-told; !strings.Contains(n.Text, says) {
		t.Errorf("told %+v", n)
	}
}

// T-07: with an address that means every one, window and tray dial loopback.
func TestTheWindowDialsLoopbackWhereTheServerListensEverywhere(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{"0.0.0.0:0", "[::]:0"} {
		t.Run(listen, func(t *testing.T) {
			t.Parallel()
			h, b := trayHome(t, "security: {api_keys: [{name: phone, key: 0123456789abcdef0123456789abcdef}]}\n")
			b.ShowIcons(t)
			i := h.desktop(t, b, "--listen="+listen)
			i.shows(t, "Serving")
			url := i.opened(t, 1) // not hidden: the window opens by itself
			if !strings.HasPrefix(url, "http://localhost:") && !strings.HasPrefix(url, "http://127.0.0.1:") && !strings.HasPrefix(url, "http://[::1]:") {
				t.Errorf("it opened %s", url)
			}
			if status := get(t, url); status != http.StatusOK {
				t.Errorf("the page answers %d", status)
			}
		})
	}
}

// Quitting while a request runs asks, in the menu itself, and does as told.
func TestQuittingWhileARequestRunsAsks(t *testing.T) {
	t.Parallel()
	f := fakeRuntime(t, "ollama", "-m", "tiny=40MB,ctx=8192,caps=completion+tools")
	h, b := newHome(t, noHolding, map[string]*fake{"ollama": f}), desktoptest.NewBus(t)
	b.ShowIcons(t)
	i := h.desktop(t, b, anywhere, "--hidden")
	stale := i.shows(t, "Quit")
	f.order(t, `{"inject":[{"path":"/api/chat","break":"hold","times":1}]}`)
	answered := make(chan int, 1) // one request
	go func() { status, _ := h.ask(t, "tiny"); answered <- status }()
	i.shows(t, "Quit (1 request runs)")
	until(t, "the tooltip counts it", func() bool { return i.tooltip(t) == "studio: serving, 1 running" })

	// A menu that was open before the request came still has the other item.
	_ = i.menuObject(t).Call("com.canonical.dbusmenu.Event", 0, stale.id, "clicked", dbus.MakeVariant(int32(0)), uint32(0))
	i.shows(t, "Choose below what becomes of 1 request")
	i.click(t, "Do not quit")
	i.click(t, "When it has finished")
	i.shows(t, "Stopping: 1 request still to finish")
	if status, answer := h.ask(t, "tiny"); status != http.StatusServiceUnavailable {
		t.Errorf("a new request while it stops: %d %s", status, answer)
	}
	i.click(t, "Do not quit")
	i.shows(t, "Serving, 1 running")
	i.click(t, "When it has finished")
	i.shows(t, "Stopping")
	if !i.running() {
		t.Fatal("it did not wait")
	}
	f.order(t, `{"release":true}`)
	if status := <-answered; status != http.StatusOK {
		t.Errorf("the running request got %d", status)
	}
	if code := i.wait(t); code != exitDone {
		t.Errorf("exit code %d", code)
	}
}

// P-41: a developer's own settings and data are out of every test's reach.
func TestTestsHaveFoldersOfTheirOwn(t *testing.T) {
	t.Parallel()
	f, err := desktop.DefaultFolders("bellwether")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{f.Data, f.Config, f.Logs} {
		if !strings.HasPrefix(dir, programs) {
			t.Errorf("tests reach %s", dir)
		}
	}
}

// P-42: what the app says is in a file as well, for a desktop shows nobody what
// it prints.
func TestWhatTheAppSaysIsInAFile(t *testing.T) {
	t.Parallel()
	h, b := trayHome(t, "")
	b.ShowIcons(t)
	i := h.desktop(t, b, anywhere, "--hidden")
	i.click(t, "View log")
	if path := i.opened(t, 1); path != filepath.Join(h.dir, "logs", "bellwether.log") {
		t.Errorf("it opened %s", path)
	}
	for name, says := range map[string]string{"bellwether.log": "msg=serving", "app.log": "the engine runs"} {
		raw, err := os.ReadFile(filepath.Join(h.dir, "logs", name))
		if err != nil || !strings.Contains(string(raw), says) {
			t.Errorf("%s: %v\n%s", name, err, raw)
		}
	}
}

// P-42: what helps to find a fault is one file, on a machine without a screen too.
func TestDoctorWritesABundle(t *testing.T) {
	t.Parallel()
	h := newHome(t, "", map[string]*fake{})
	h.serve(t, anywhere)
	path := filepath.Join(t.TempDir(), "b.zip")
	h.run(t, "doctor", "--bundle", path).ends(t, exitDone).says(t, path)
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }()
	if f, err := z.Open("log.txt"); err != nil {
		t.Error(err)
	} else if text, err := io.ReadAll(f); err != nil || !strings.Contains(string(text), "serving") || strings.Contains(string(text), "studio") {
		t.Errorf("%v\n%s", err, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		t.Errorf("others may read it: %v %v", info.Mode(), err)
	}
	h.run(t, "doctor", "--bundle", path).ends(t, exitRefused).says(t, "name another file")
}

// An engine that cannot start leaves no invisible app: the icon says why, and
// starts it when the cause is gone.
func TestATakenPortIsToldByTheIcon(t *testing.T) {
	t.Parallel()
	h, b := trayHome(t, "")
	b.ShowIcons(t)
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	told := b.ShowNotifications(t)
	i := h.appear(t, b, "--listen="+other.Addr().String(), "--hidden")
	i.shows(t, "Not running")
	why := i.shows(t, filepath.Base(os.Args[0])+" holds "+other.Addr().String()).label
	if strings.Contains(why, "--") {
		t.Errorf("a person at a menu is told of options: %q", why)
	}
	if tip := i.tooltip(t); tip != "Bellwether: not running" {
		t.Errorf("tooltip %q", tip)
	}
	if n := <-told; !strings.Contains(n.Text, " holds "+other.Addr().String()) || !strings.Contains(n.Text, "config.yaml") {
		t.Errorf("told %+v", n)
	}
	_ = other.Close()
	i.shows(t, "Serving") // by itself
	i.click(t, "Quit")
	if code := i.wait(t); code != exitDone {
		t.Errorf("exit code %d", code)
	}
}

// From a menu nobody sees what is printed: what keeps it from starting at all
// is a notification, with what helps.
func TestAStartThatCannotBeIsToldOnTheDesktop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(h *home) error
		says  string
	}{
		"a data folder that takes no file": {func(h *home) error { return os.MkdirAll(filepath.Join(h.dir, "tray.lock"), 0o700) },
			"make it a folder that you may write to"},
		"settings that cannot be read": {func(h *home) error {
			return os.WriteFile(filepath.Join(h.dir, "config.yaml"), []byte("listen: [\n"), 0o600)
		}, "config.yaml:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := desktoptest.NewBus(t)
			told := b.ShowNotifications(t)
			h := newHome(t, "", map[string]*fake{})
			if err := c.spoil(h); err != nil {
				t.Fatal(err)
			}
			env, _ := desktopEnv(t, h.env, b.Address)
			p := launch(t, env, "bellwether", "app", "--data-dir", h.dir, anywhere)
			if code := p.wait(t); code == exitDone {
				t.Errorf("exit code %d", code)
			}
			n := <-told
			if n.Title != "Bellwether cannot start" || !strings.Contains(n.Text, c.says) || !strings.Contains(p.err.String(), n.Text) {
				t.Errorf("told %+v, printed %s", n, p.err)
			}
		})
	}
}

// The program with its icon, idle and without a window.
func TestIdleTrayFitsInto60MB(t *testing.T) {
	t.Parallel()
	h, b := trayHome(t, "")
	b.ShowIcons(t)
	i := h.desktop(t, b, anywhere, "--hidden")
	h.ask(t, "tiny")
	i.shows(t, "Unload tiny")
	t.Logf("after one request: %.1f MB", resident(t, i.process))
	if testing.Short() {
		return
	}
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			for range 250 {
				h.ask(t, "tiny")
			}
		})
	}
	asking.Wait()
	t.Logf("after 2000 more: %.1f MB", resident(t, i.process))
	// What work took is given back within a quarter of a minute.
	until(t, "it takes at most 60 MB", func() bool { return resident(t, i.process) <= 60 })
}
