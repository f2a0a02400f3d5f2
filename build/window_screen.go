package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"bellwether/app/window"
)

// screenTask runs the tests that need a screen, alone.
func screenTask(ctx context.Context, _ []string) error {
	s := &suite{began: time.Now()}
	s.step("window on a screen", func() error { return s.windowTests(ctx) })
	return s.summary()
}

// windowTests show the real window on a screen that nobody sees, with a real
// bellwether behind it. Without a toolkit to be had they are skipped.
func (s *suite) windowTests(ctx context.Context) error {
	d, err := s.startStage(ctx, "The window", map[string]string{"xprop": "x11-utils"})
	if d == nil {
		return err
	}
	defer d.stop()
	w := &windowStage{display: d}
	if err := w.start(ctx); err != nil {
		return err
	}
	for _, v := range d.env() { // the window inherits ours, and what runs next must not
		name, value, _ := strings.Cut(v, "=")
		defer setenv(name, value)()
	}
	return errors.Join(
		s.try("the window shows the admin UI, unlocked", func() error { return w.showsTheUI(ctx) }),
		s.try("the window has its icon, and may grow on a larger screen", func() error { return w.hasItsMarks(ctx) }),
		s.try("a page whose process is killed comes back, and after three times another window", func() error { return w.losesItsPage(ctx) }),
		s.try("pages that are fetched later show too", func() error { return w.showsSettings(ctx) }),
		s.try("a second Open brings a minimised window back", func() error { return w.comesBack(ctx) }),
		s.try("a window that hangs is replaced, and the log says so", func() error { return w.hangs(ctx) }),
		s.try("nothing of a closed window remains after 2 s", func() error { return w.closes(ctx) }),
		s.try("killing its parent takes the window along", func() error { return w.diesWithItsParent(ctx) }),
		s.try("pages know that they are in the window, and what they save is saved", func() error { return w.isKnownToPages(ctx) }),
		s.try("a link out of the UI opens in the browser, not in the window", func() error { return w.opensLinksOutside(ctx) }),
		s.try("the window shows no other origin, whoever asks for it", func() error { return w.staysInside(ctx) }),
		s.try("a screen that does not answer opens the browser", func() error { return w.fallsBack(ctx) }),
	)
}

// windowStage is a screen with a window manager, and a bellwether to show.
type windowStage struct {
	*display
	bellwether, window, self string // programs
	data                     string
	last                     string // the link made last
	browser                  string // a file: the addresses that the engine opened in the browser
	shown                    *window.Window
	opened                   time.Time // when it was
	log                      string    // a file: what the window's parent logs
}

// remainsAtMost is how long anything of a window may be there after its end.
const remainsAtMost = 2 * time.Second

func (w *windowStage) start(ctx context.Context) error {
	w.bellwether, w.window = filepath.Join(w.dir, "bellwether"), filepath.Join(w.dir, "bellwether-window")
	w.data = filepath.Join(w.dir, "data", "bellwether")
	if err := errors.Join(goBuild(ctx, w.dir, "./cmd/bellwether", "./cmd/fakeruntime"), buildWindow(ctx, w.dir)); err != nil {
		return err
	}
	var err error
	if w.self, err = os.Executable(); err != nil {
		return err
	}
	if err := w.background(w.command(ctx, "xfwm4", "--compositor=off")); err != nil {
		return err
	}
	if _, err := w.standIn(ctx, w.dir, w.data); err != nil { // a machine without a runtime is in trouble, and looks so
		return err
	}
	serve := w.command(ctx, w.bellwether, "serve", "--listen", "localhost:0", "--data-dir", w.data)
	if err := w.standInBrowser(serve); err != nil {
		return err
	}
	if err := w.background(serve); err != nil {
		return err
	}
	return poll(ctx, startWithin, "bellwether serves", func() bool { return exists(filepath.Join(w.data, "engine.json")) })
}

// link makes a one-time link, as the tray's would be.
func (w *windowStage) link(ctx context.Context) (string, error) {
	var err error
	w.last, err = w.output(ctx, w.bellwether, "--data-dir", w.data, "open", "--print")
	return w.last, err
}

// statusOf is what an address answers.
func statusOf(url string) (int, error) {
	resp, err := http.Get(url)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// setenv sets a variable of this process until back is called.
func setenv(name, value string) (back func()) {
	before, had := os.LookupEnv(name)
	_ = os.Setenv(name, value)
	return func() {
		if had {
			_ = os.Setenv(name, before)
		} else {
			_ = os.Unsetenv(name)
		}
	}
}

// open shows the window, as the tray program does, on the stage's screen.
func (w *windowStage) open(ctx context.Context) (*window.Window, error) {
	w.log = filepath.Join(w.dir, "window.log")
	log, err := os.OpenFile(w.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) // ends with this program: the window writes to it as it likes
	if err != nil {
		return nil, err
	}
	win := window.New(window.Options{Program: w.window, Link: w.link, Log: slog.New(slog.NewTextHandler(io.MultiWriter(os.Stdout, log), nil)),
		OpenBrowser: func(string) error { return errors.New("the browser was asked for") }})
	w.opened = time.Now()
	return win, win.Open(ctx)
}

func (w *windowStage) showsTheUI(ctx context.Context) error {
	var err error
	if w.shown, err = w.open(ctx); err != nil {
		return err
	}
	if err := poll(ctx, 20*time.Second, "a window called Bellwether", func() bool { return w.visible(ctx) }); err != nil {
		return err
	}
	id, err := w.theWindow(ctx)
	if err != nil {
		return err
	}
	// By this name desktops find the icon of its entry.
	class, err := w.output(ctx, "xprop", "-id", id, "WM_CLASS")
	if err != nil || !strings.Contains(class, `"bellwether"`) {
		return errors.Join(fmt.Errorf("its class is %q, want bellwether", class), err)
	}
	picture := filepath.Join(w.dir, "window.png")
	err = poll(ctx, 30*time.Second, "the admin UI in the window", func() bool {
		img, err := w.screenshot(ctx, picture)
		return err == nil && looksLikeTheUI(img)
	})
	w.keepShot(picture)
	return err
}

// showsSettings goes to a page of the UI's second file, by a click on its name.
func (w *windowStage) showsSettings(ctx context.Context) error {
	id, err := w.theWindow(ctx)
	if err != nil {
		return err
	}
	picture := filepath.Join(w.dir, "settings.png")
	err = poll(ctx, 20*time.Second, "the settings in the window", func() bool {
		if _, err := w.output(ctx, "xdotool", "mousemove", "--window", id, "66", "305", "click", "1"); err != nil {
			return false
		}
		img, err := w.screenshot(ctx, picture)
		// Below what the first page has: text has many shades, nothing has one.
		return err == nil && coloursIn(img, image.Rect(300, 450, 1200, 700)) > 100
	})
	w.keepShot(picture)
	return err
}

// coloursIn counts the colours of a part of a picture.
func coloursIn(img image.Image, part image.Rectangle) int {
	colours := map[[3]uint32]bool{}
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			colours[[3]uint32{r, g, b}] = true
		}
	}
	return len(colours)
}

// keepShot keeps a picture for who wants to look: BELLWETHER_SHOTS names a folder.
func (w *windowStage) keepShot(picture string) {
	keep := os.Getenv("BELLWETHER_SHOTS")
	if text, err := os.ReadFile(picture); err == nil && keep != "" {
		_ = os.WriteFile(filepath.Join(keep, filepath.Base(picture)), text, 0o644)
	}
}

// looksLikeTheUI finds the admin UI's marks in a picture: the bell of its name,
// gold, and the dots of a machine that serves, green, which come with the feed.
func looksLikeTheUI(img image.Image) bool {
	b := img.Bounds()
	gold, green := 0, 0
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, bl, _ := img.At(x, y).RGBA()
			r, g, bl = r>>8, g>>8, bl>>8
			switch {
			case r > 180 && r < 225 && g > 120 && g < 165 && bl < 60:
				gold++
			case g > r+60 && g > bl+40:
				green++
			}
		}
	}
	return gold > 60 && green > 60 && coloursIn(img, b) > 500
}

func (w *windowStage) windows(ctx context.Context, args ...string) []string {
	out, err := w.output(ctx, "xdotool", append([]string{"search"}, args...)...)
	if err != nil {
		return nil // there is none
	}
	return strings.Fields(out)
}

// theWindow is the one that is seen; its toolkit has others that never are.
func (w *windowStage) theWindow(ctx context.Context) (id string, err error) {
	ids := w.windows(ctx, "--onlyvisible", "--name", "^Bellwether$")
	if len(ids) != 1 {
		return "", fmt.Errorf("%d windows are seen, want one", len(ids))
	}
	return ids[0], nil
}

func (w *windowStage) visible(ctx context.Context) bool {
	_, err := w.theWindow(ctx)
	return err == nil
}

func (w *windowStage) comesBack(ctx context.Context) error {
	if w.shown == nil {
		return errors.New("there is no window")
	}
	id, err := w.theWindow(ctx)
	if err != nil {
		return err
	}
	if _, err := w.output(ctx, "xdotool", "windowminimize", id); err != nil {
		return err
	}
	if err := poll(ctx, 10*time.Second, "the window is minimised", func() bool { return !w.visible(ctx) }); err != nil {
		return err
	}
	if err := w.shown.Open(ctx); err != nil {
		return err
	}
	return poll(ctx, 10*time.Second, "the window is back", func() bool { return w.visible(ctx) })
}

func (w *windowStage) closes(ctx context.Context) error {
	id, err := w.theWindow(ctx)
	if err != nil {
		return err
	}
	// The window manager tells it to close, as by the cross in its frame.
	if _, err := w.output(ctx, "xdotool", "windowactivate", "--sync", id, "key", "--clearmodifiers", "alt+F4"); err != nil {
		return err
	}
	if err := w.nothingRemains(ctx); err != nil {
		return err
	}
	if why := w.shown.Reason(); why != "" {
		return fmt.Errorf("a window closed by its user counts as broken: %s", why)
	}
	w.shown.Close()
	// A link is good once: one that the window did not use would be good now.
	if status, err := statusOf(w.last); err != nil || status != http.StatusForbidden {
		return errors.Join(fmt.Errorf("the window's link answers %d afterwards, so that the window was not unlocked by it", status), err)
	}
	return nil
}

// nothingRemains waits until no process of the window is there, the web view's
// own among them.
func (w *windowStage) nothingRemains(ctx context.Context) error {
	err := poll(ctx, remainsAtMost, "all of the window has ended", func() bool { return len(w.remains()) == 0 })
	if err != nil {
		return fmt.Errorf("%w; there are %s", err, strings.Join(w.remains(), ", "))
	}
	return nil
}

// remains are the window's processes on this screen.
func (w *windowStage) remains() (found []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ")) // of an ended one it is empty
		if err != nil || !strings.Contains(string(env), "HOME="+w.dir+"\x00") {
			continue
		}
		program, _ := os.Readlink(filepath.Join(dir, "exe"))
		if name := filepath.Base(program); name == "bellwether-window" || strings.HasPrefix(name, "WebKit") {
			found = append(found, name+" "+filepath.Base(dir))
		}
	}
	return found
}

// windowHolderTask is a process that holds a window until it is killed.
const windowHolderTask = "hold-window"

// holdWindow is that process.
func holdWindow(program, url string) error {
	w := window.New(window.Options{Program: program, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Link:        func(context.Context) (string, error) { return url, nil },
		OpenBrowser: func(string) error { return errors.New("the browser was asked for") }})
	if err := w.Open(context.Background()); err != nil {
		return err
	}
	fmt.Println("open")
	select {}
}

func (w *windowStage) diesWithItsParent(ctx context.Context) error {
	url, err := w.link(ctx)
	if err != nil {
		return err
	}
	holder := w.command(ctx, w.self, windowHolderTask, w.window, url)
	out, err := holder.StdoutPipe()
	if err != nil {
		return err
	}
	if err := holder.Start(); err != nil {
		return err
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if err := holder.Process.Kill(); err != nil { // kill -9: it can do nothing about it
		return err
	}
	_ = holder.Wait()
	if strings.TrimSpace(line) != "open" {
		return fmt.Errorf("no window was opened: %q", line)
	}
	return w.nothingRemains(ctx)
}

// windowPage says what the admin UI goes by (frontend/src/lib/outside.ts), and
// saves a file as its support bundle is saved.
const windowPage = `<!doctype html><title>Bellwether</title><script>
fetch('/told?window=' + (window.webkit?.messageHandlers?.external !== undefined) + '&secure=' + isSecureContext)
const a = document.createElement('a')
a.href = URL.createObjectURL(new Blob(['saved']))
a.download = 'from-the-window.txt'
document.documentElement.append(a)
a.click()
</script>`

// isKnownToPages opens a page of the test's own in the window.
func (w *windowStage) isKnownToPages(ctx context.Context) error {
	told := make(chan string, 1) // a page tells once
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/told" {
			told <- r.URL.RawQuery
			return
		}
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = rw.Write([]byte(windowPage))
	}))
	defer server.Close()
	win := window.New(window.Options{Program: w.window, Log: slog.New(slog.DiscardHandler),
		Link:        func(context.Context) (string, error) { return server.URL, nil },
		OpenBrowser: func(string) error { return errors.New("the browser was asked for") }})
	defer win.Close()
	if err := win.Open(ctx); err != nil {
		return err
	}
	select {
	case got := <-told:
		if want := "window=true&secure=true"; got != want {
			return fmt.Errorf("the page says %s, want %s", got, want)
		}
	case <-time.After(20 * time.Second):
		return errors.New("the page says nothing")
	}
	return poll(ctx, 10*time.Second, "a file saved by the page", func() bool {
		text, err := os.ReadFile(filepath.Join(w.dir, "from-the-window.txt")) // no folder for downloads is set there
		return err == nil && string(text) == "saved"
	})
}

// fallsBack asks for the window on a screen that is not there.
func (w *windowStage) fallsBack(ctx context.Context) error {
	number, _ := strconv.Atoi(strings.TrimPrefix(w.name, ":"))
	defer setenv("DISPLAY", ":"+strconv.Itoa(number+7000))()
	browser := ""
	win := window.New(window.Options{Program: w.window, Link: w.link, Log: slog.New(slog.DiscardHandler),
		OpenBrowser: func(url string) error { browser = url; return nil }})
	defer win.Close()
	if err := win.Open(ctx); err != nil {
		return err
	}
	if !strings.Contains(win.Reason(), "no display that answers") {
		return fmt.Errorf("the reason is %q", win.Reason())
	}
	if status, err := statusOf(browser); err != nil || status != http.StatusOK {
		return errors.Join(fmt.Errorf("the browser's link answers %d", status), err)
	}
	return nil
}
