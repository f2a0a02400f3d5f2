package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// desktopTask runs the tests of the tray on a desktop, alone.
func desktopTask(ctx context.Context, _ []string) error {
	s := &suite{began: time.Now()}
	s.step("tray on a desktop", func() error { return s.desktopTests(ctx) })
	return s.summary()
}

// desktopTests run the app on an Xfce desktop that nobody sees: its panel shows
// the icon, and its menu is used as a person would. BELLWETHER_SHOTS names a
// folder for the pictures. Without a desktop to be had they are skipped.
func (s *suite) desktopTests(ctx context.Context) error {
	d, err := s.startStage(ctx, "The tray", map[string]string{"xfce4-panel": "xfce4-panel", "xwininfo": "x11-utils"})
	if d == nil {
		return err
	}
	defer d.stop()
	stage := &desktopStage{display: d}
	defer stage.end()
	if err := stage.start(ctx); err != nil {
		return err
	}
	return errors.Join(
		s.try("the panel shows the icon: a green bell", func() error { return stage.showsTheIcon(ctx) }),
		s.try("a click on the icon opens the menu", func() error { return stage.opensTheMenu(ctx) }),
		s.try("Pause refuses within a second, with the reason", func() error { return stage.pauses(ctx) }),
		s.try("status says paused, and the icon turns amber", func() error { return stage.saysPaused(ctx) }),
		s.try("Resume answers again", func() error { return stage.resumes(ctx) }),
		s.try("running requests are counted on the icon", func() error { return stage.counts(ctx) }),
		s.try("an address is copied", func() error { return stage.copies(ctx) }),
		s.try("Start at login writes the entry, ticks, and takes it away", func() error { return stage.startsAtLogin(ctx) }),
		s.try("idle, the program takes at most 60 MB", func() error { return stage.isSmall() }),
		s.try("the menu opens the window, with the UI in it", func() error { return stage.opensTheWindow(ctx) }),
		s.try("the window fits the screen beside the panel", func() error { return stage.fitsTheScreen(ctx) }),
		s.try("a second start raises the window and ends", func() error { return stage.startsTwice(ctx) }),
		s.try("killing the program takes the window with it", func() error { return stage.diesWithTheWindow(ctx) }),
		s.try("Quit ends program, icon and window", func() error { return stage.quits(ctx) }),
	)
}

// desktopStage is a desktop with a panel, a runtime and the app on it.
type desktopStage struct {
	*display
	programs   string // their folder; no temporary one, for those are not started at login
	bellwether string
	data       string
	address    string // of the engine
	runtime    string // URL of the stand-in
	app        *exec.Cmd
	panel      *panel
}

// panelSize is the height of the panel at the top of the screen, in pixels.
const panelSize = 36

func (s *desktopStage) start(ctx context.Context) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return err
	}
	if s.programs, err = os.MkdirTemp(cache, "bellwether-desktop"); err != nil {
		return err
	}
	s.bellwether, s.data = filepath.Join(s.programs, "bellwether"), filepath.Join(s.dir, "data", "bellwether")
	if err := errors.Join(goBuild(ctx, s.programs, "./cmd/bellwether", "./cmd/fakeruntime"), buildWindow(ctx, s.programs)); err != nil {
		return err
	}
	if s.runtime, err = s.standIn(ctx, s.programs, s.data); err != nil {
		return err
	}
	if err := writePanelSettings(filepath.Join(s.dir, "config")); err != nil {
		return err
	}
	for _, args := range [][]string{{"xfwm4", "--compositor=off"}, {"xfce4-panel", "--disable-wm-check"}} {
		if err := s.background(s.command(ctx, args[0], args[1:]...)); err != nil {
			return err
		}
	}
	if s.panel, err = dialPanel(s.bus); err != nil {
		return err
	}
	if err := poll(ctx, startWithin, "the panel shows icons", s.panel.hosts); err != nil {
		return err
	}
	return s.launch(ctx)
}

// launch starts the app as at login, and waits until its icon is in the panel
// and its engine serves.
func (s *desktopStage) launch(ctx context.Context) error {
	s.app = s.command(ctx, s.bellwether, "app", "--hidden", "--data-dir", s.data, "--listen", "localhost:0")
	s.app.Stdout, s.app.Stderr = os.Stdout, os.Stderr
	if err := s.app.Start(); err != nil {
		return err
	}
	s.panel.of(s.app.Process.Pid)
	if err := poll(ctx, startWithin, "the icon is in the panel", s.panel.registered); err != nil {
		return err
	}
	return poll(ctx, startWithin, "the engine serves", func() bool {
		var state struct {
			Address string
			PID     int
		}
		raw, err := os.ReadFile(filepath.Join(s.data, "engine.json"))
		if err != nil || json.Unmarshal(raw, &state) != nil || state.PID != s.app.Process.Pid {
			return false
		}
		s.address = state.Address
		return s.panel.find("Serving") != nil
	})
}

func (s *desktopStage) end() {
	if s.panel != nil {
		s.panel.close()
	}
	if s.app != nil && s.app.ProcessState == nil {
		_ = s.app.Process.Kill()
		_ = s.app.Wait()
	}
	if s.programs != "" {
		_ = os.RemoveAll(s.programs)
	}
}

// ask sends a request of an app; it returns the status and what was answered.
func (s *desktopStage) ask() (int, string) {
	resp, err := http.Post(s.address+"/v1/chat/completions", "application/json",
		strings.NewReader(`{"model":"tiny","messages":[{"role":"user","content":"Say something."}]}`))
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

// picture is a screenshot, kept where BELLWETHER_SHOTS says.
func (s *desktopStage) picture(ctx context.Context, name string) (image.Image, error) {
	path := filepath.Join(s.dir, name+".png")
	img, err := s.screenshot(ctx, path)
	if keep := os.Getenv("BELLWETHER_SHOTS"); keep != "" && err == nil {
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(filepath.Join(keep, name+".png"), text, 0o644)
		}
		if err != nil {
			return nil, err
		}
	}
	return img, err
}

// sees waits until the panel shows enough of a colour.
func (s *desktopStage) sees(ctx context.Context, name, what string, is func(r, g, b int) bool) (at image.Point, err error) {
	err = poll(ctx, 15*time.Second, what+" in the panel", func() bool {
		img, shotErr := s.picture(ctx, name)
		if shotErr != nil {
			return false
		}
		var n int
		at, n = patch(img, image.Rect(img.Bounds().Dx()-120, 0, img.Bounds().Dx(), panelSize), is)
		return n > 20
	})
	return at, err
}

// The colours of the icon, as a panel that scales it shows them.
func green(r, g, b int) bool { return g > 120 && g > r+60 && g > b+40 }
func amber(r, g, b int) bool { return r > 190 && g > 110 && g < 190 && b < 90 }

func (s *desktopStage) showsTheIcon(ctx context.Context) error {
	_, err := s.sees(ctx, "icon", "a green bell", green)
	return err
}

func (s *desktopStage) opensTheMenu(ctx context.Context) error {
	at, err := s.sees(ctx, "icon", "a green bell", green)
	if err != nil {
		return err
	}
	before, err := s.picture(ctx, "icon")
	if err != nil {
		return err
	}
	if _, err := s.output(ctx, "xdotool", "mousemove", strconv.Itoa(at.X), strconv.Itoa(at.Y), "click", "1"); err != nil {
		return err
	}
	// Twenty lines of text below the panel, where the desktop was bare.
	err = poll(ctx, 15*time.Second, "a menu below the icon", func() bool {
		img, err := s.picture(ctx, "menu")
		return err == nil && differs(before, img, image.Rect(at.X-300, panelSize+10, img.Bounds().Dx(), 400)) > 40_000
	})
	if err != nil {
		return err
	}
	_, err = s.output(ctx, "xdotool", "key", "Escape")
	return err
}

func (s *desktopStage) pauses(ctx context.Context) error {
	if status, text := s.ask(); status != http.StatusOK {
		return fmt.Errorf("before: %d %s", status, text)
	}
	if err := s.panel.click(ctx, "Pause"); err != nil {
		return err
	}
	began := time.Now()
	for {
		status, text := s.ask()
		took := time.Since(began)
		switch {
		case took > time.Second:
			return fmt.Errorf("after %s: %d %s", took, status, text)
		case status == http.StatusServiceUnavailable && strings.Contains(text, "paused by its owner"):
			fmt.Printf("from the click to the refusal: %s\n", took.Round(time.Millisecond))
			return nil
		}
	}
}

func (s *desktopStage) saysPaused(ctx context.Context) error {
	out, err := s.output(ctx, s.bellwether, "--data-dir", s.data, "status")
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 5 { // done, but something needs attention
		out, err = s.output(ctx, "sh", "-c", s.bellwether+" --data-dir "+s.data+" status || true")
	}
	if err != nil || !strings.Contains(out, "studio is paused") {
		return fmt.Errorf("status says %q, %w", out, err)
	}
	err = poll(ctx, 5*time.Second, "the tooltip says paused", func() bool { return s.panel.tooltip() == "studio: paused, 0 running" })
	if err != nil {
		return err
	}
	_, err = s.sees(ctx, "paused", "an amber bell", amber)
	return err
}

func (s *desktopStage) resumes(ctx context.Context) error {
	if err := s.panel.click(ctx, "Resume"); err != nil {
		return err
	}
	if err := poll(ctx, 5*time.Second, "an answer", func() bool { status, _ := s.ask(); return status == http.StatusOK }); err != nil {
		return err
	}
	_, err := s.sees(ctx, "resumed", "a green bell", green)
	return err
}

// counts holds two requests at the runtime, and lets them go.
func (s *desktopStage) counts(ctx context.Context) error {
	order := func(body string) error {
		resp, err := http.Post(s.runtime+"/__control", "application/json", strings.NewReader(body))
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	if err := order(`{"inject":[{"path":"/api/chat","break":"hold","times":1}]}`); err != nil {
		return err
	}
	answered := make(chan int, 1) // the one request
	go func() { status, _ := s.ask(); answered <- status }()
	err := poll(ctx, 15*time.Second, "the tooltip counts one", func() bool { return s.panel.tooltip() == "studio: serving, 1 running" })
	if err == nil {
		_, err = s.sees(ctx, "one-running", "a badge on the bell", func(r, g, b int) bool { return r < 50 && g < 50 && b < 60 && r+g+b > 60 })
	}
	if err := order(`{"release":true}`); err != nil {
		return err
	}
	if status := <-answered; err == nil && status != http.StatusOK {
		err = fmt.Errorf("the request got %d", status)
	}
	return err
}

func (s *desktopStage) copies(ctx context.Context) error {
	if !has("xclip") {
		if err := install(ctx, []string{"xclip"}); err != nil {
			return err
		}
	}
	if err := s.panel.click(ctx, "Anthropic apps"); err != nil {
		return err
	}
	return poll(ctx, 10*time.Second, "the address on the clipboard", func() bool {
		text, err := s.output(ctx, "xclip", "-out", "-selection", "clipboard")
		return err == nil && text == s.address
	})
}

func (s *desktopStage) startsAtLogin(ctx context.Context) error {
	entry := filepath.Join(s.dir, "config", "autostart", "bellwether.desktop")
	for _, on := range []bool{true, false} {
		if err := s.panel.click(ctx, "Start at login"); err != nil {
			return err
		}
		err := poll(ctx, 10*time.Second, fmt.Sprintf("the entry is there: %v, and so is the tick", on), func() bool { return exists(entry) == on && s.panel.ticked("Start at login") == on })
		if err != nil {
			return err
		}
		if text, _ := os.ReadFile(entry); on && !strings.Contains(string(text), s.bellwether+" app --hidden") {
			return fmt.Errorf("the entry is\n%s", text)
		}
	}
	return nil
}

// trayAtMost is what the program may take without a window, in MB.
const trayAtMost = 60

func (s *desktopStage) isSmall() error {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.app.Process.Pid))
	if err != nil {
		return err
	}
	for line := range bytes.Lines(raw) {
		if kb, is := bytes.CutPrefix(line, []byte("VmRSS:")); is {
			n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(string(kb)), " kB"), 64)
			fmt.Printf("resident: %.1f MB\n", n/1000)
			if err == nil && n/1000 > trayAtMost {
				err = fmt.Errorf("it takes %.1f MB", n/1000)
			}
			return err
		}
	}
	return errors.New("no VmRSS")
}

// theWindows are the admin windows that are seen.
func (s *desktopStage) theWindows(ctx context.Context) []string {
	out, err := s.output(ctx, "xdotool", "search", "--onlyvisible", "--name", "^Bellwether$")
	if err != nil {
		return nil // there is none
	}
	return strings.Fields(out)
}

func (s *desktopStage) opensTheWindow(ctx context.Context) error {
	if err := s.panel.click(ctx, "Open admin window"); err != nil {
		return err
	}
	return s.seesTheUI(ctx, "window")
}

func (s *desktopStage) seesTheUI(ctx context.Context, name string) error {
	return poll(ctx, 40*time.Second, "the admin UI in a window", func() bool {
		img, err := s.picture(ctx, name)
		return err == nil && len(s.theWindows(ctx)) == 1 && looksLikeTheUI(img)
	})
}

// fitsTheScreen looks where the window stands, without its frame.
func (s *desktopStage) fitsTheScreen(ctx context.Context) error {
	ids := s.theWindows(ctx)
	if len(ids) != 1 {
		return fmt.Errorf("%d windows", len(ids))
	}
	said, err := s.output(ctx, "xwininfo", "-id", ids[0])
	if err != nil {
		return err
	}
	place := map[string]int{}
	for line := range strings.Lines(said) {
		name, value, _ := strings.Cut(line, ":")
		if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
			place[strings.TrimSpace(name)] = n
		}
	}
	x, y, width, height := place["Absolute upper-left X"], place["Absolute upper-left Y"], place["Width"], place["Height"]
	fmt.Printf("     the window takes %d x %d at %d, %d\n", width, height, x, y)
	if x < 0 || y < panelSize || x+width > 1280 || y+height > 800 || height < 600 {
		return fmt.Errorf("the window takes %d x %d at %d, %d of 1280 x 800 with a panel of %d above", width, height, x, y, panelSize)
	}
	return nil
}

func (s *desktopStage) startsTwice(ctx context.Context) error {
	ids := s.theWindows(ctx)
	if len(ids) != 1 {
		return fmt.Errorf("%d windows", len(ids))
	}
	if _, err := s.output(ctx, "xdotool", "windowminimize", ids[0]); err != nil {
		return err
	}
	if err := poll(ctx, 10*time.Second, "the window is minimised", func() bool { return len(s.theWindows(ctx)) == 0 }); err != nil {
		return err
	}
	said, err := s.output(ctx, s.bellwether, "--data-dir", s.data)
	if err != nil || !strings.Contains(said, "Its window opens") {
		return fmt.Errorf("the second start says %q, %w", said, err)
	}
	return poll(ctx, 15*time.Second, "the window is back", func() bool { return len(s.theWindows(ctx)) == 1 })
}

func (s *desktopStage) diesWithTheWindow(ctx context.Context) error {
	if err := s.app.Process.Kill(); err != nil { // kill -9: it can do nothing about it
		return err
	}
	_ = s.app.Wait()
	if err := s.windowGone(ctx); err != nil {
		return err
	}
	return s.launch(ctx)
}

// windowGone waits until no process of the window is there.
func (s *desktopStage) windowGone(ctx context.Context) error {
	w := &windowStage{display: s.display}
	return w.nothingRemains(ctx)
}

func (s *desktopStage) quits(ctx context.Context) error {
	if err := s.opensTheWindow(ctx); err != nil {
		return err
	}
	_ = s.panel.click(ctx, "Quit") // it may be gone before it answers
	ended := make(chan error, 1)
	go func() { ended <- s.app.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return err
		}
	case <-time.After(15 * time.Second):
		return errors.New("it does not end")
	}
	if s.panel.registered() {
		return errors.New("the icon is still in the panel")
	}
	return s.windowGone(ctx)
}
