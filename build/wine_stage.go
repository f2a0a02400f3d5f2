package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// wineTests install the Windows setup under Wine, use the icon as a person
// would, install over the running app, and uninstall. BELLWETHER_SHOTS names a
// folder for the pictures.
func (s *suite) wineTests(ctx context.Context) error {
	if err := prepareWine(ctx); err != nil {
		fmt.Println("The Windows setup is not tested:", err)
		s.skipped++
		return nil
	}
	d, err := startDisplay(ctx)
	if err != nil {
		return err
	}
	defer d.stop()
	stage := &wineStage{}
	if stage.wine, err = startWine(ctx, d); err != nil {
		return err
	}
	defer stage.end(ctx)
	if err := stage.start(ctx); err != nil {
		return err
	}
	return errors.Join(
		s.try("the setup installs without a question", func() error { return stage.installs(ctx) }),
		s.try("the app runs, and its icon is in the task bar", func() error { return stage.runs(ctx) }),
		s.try("an app on this machine is answered", func() error { return stage.answers(ctx) }),
		s.try("Pause in the menu pauses", func() error { return stage.pauses(ctx) }),
		s.try("Start at login writes the entry, and takes it away", func() error { return stage.startsAtLogin(ctx) }),
		s.try("without WebView2 the browser opens, and the log says why", func() error { return stage.opensTheBrowser(ctx) }),
		s.try("the setup replaces a running app and starts it again", func() error { return stage.upgrades(ctx) }),
		s.try("what Task Manager switches off is off, and stays off", func() error { return stage.vetoes(ctx) }),
		s.try("uninstalling ends the app and leaves the settings", func() error { return stage.uninstalls(ctx) }),
		s.try("uninstalling with /PURGE leaves nothing", func() error { return stage.purges(ctx) }),
	)
}

// wineStage is a Windows with a setup to install, and a runtime beside it.
type wineStage struct {
	*wine
	setup   string
	runtime string
	state   struct {
		Address string
		PID     int
		Started time.Time
	}
}

func (s *wineStage) start(ctx context.Context) error {
	out := filepath.Join(s.dir, "dist")
	if err := packageTask(ctx, []string{"--only", "windows", "--arch", "amd64", "--out", out}); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(out, "*_setup.exe"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("there is no setup: %v %w", found, err)
	}
	s.setup = found[0]
	if err := goBuild(ctx, s.dir, "./cmd/fakeruntime"); err != nil {
		return err
	}
	cmd := s.command(ctx, filepath.Join(s.dir, "fakeruntime"), "--kind", "ollama", "--addr", "127.0.0.1:0", "-m", "tiny=40MB,ctx=8192,caps=completion+tools")
	told, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.started = append(s.started, cmd)
	line, err := bufio.NewReader(told).ReadString('\n')
	if err != nil {
		return fmt.Errorf("the stand-in: %w", err)
	}
	s.runtime = strings.TrimSpace(line)
	text := fmt.Sprintf("listen: localhost:0\nnode: {name: gaming-pc}\nmeetings: {enabled: false}\nrouting: {hold: {max: 0s}}\nruntimes:\n  - {name: ollama, kind: ollama, url: %q}\n", s.runtime)
	return putFile(s.user("AppData", "Roaming", "Bellwether", "config.yaml"), []byte(text), 0o600)
}

// installed is a path where the setup puts things.
func (s *wineStage) installed(name string) string {
	return s.user("AppData", "Local", "Programs", "Bellwether", name)
}

const uninstallKey = `HKCU\Software\Microsoft\Windows\CurrentVersion\Uninstall\Bellwether`

func (s *wineStage) installs(ctx context.Context) error {
	if _, err := s.run(ctx, "wine", s.setup, "/S"); err != nil {
		return err
	}
	said, err := s.run(ctx, "wine", s.installed("bellwether.exe"), "version")
	if err != nil {
		return err
	}
	version := strings.Split(filepath.Base(s.setup), "_")[1]
	entry := s.registry(ctx, uninstallKey)
	switch {
	case said != "bellwether "+version+"\n":
		return fmt.Errorf("it says %q of version %s", said, version)
	case !strings.Contains(entry, version) || !strings.Contains(entry, `uninstall.exe" /S`):
		return fmt.Errorf("the list of programs has %q", entry)
	case !exists(s.startMenu("Bellwether.lnk")):
		return errors.New("it is not in the Start menu")
	}
	return nil
}

func (s *wineStage) startMenu(name string) string {
	return s.user("AppData", "Roaming", "Microsoft", "Windows", "Start Menu", "Programs", "Bellwether", name)
}

// runs starts the app as its entry at login does, and waits for its icon.
func (s *wineStage) runs(ctx context.Context) error {
	if err := s.onDesktop(ctx, s.inside(s.installed("bellwether-app.exe")), "app", "--hidden"); err != nil {
		return err
	}
	if err := s.serves(ctx); err != nil {
		return err
	}
	return s.shows(ctx, "serving", func(r, g, b uint32) bool { return g > r+30 && g > b+30 })
}

// serves waits until an engine later than the last one has said where it is.
func (s *wineStage) serves(ctx context.Context) error {
	last := s.state.Started
	return poll(ctx, startWithin, "the engine serves", func() bool {
		raw, err := os.ReadFile(s.user("AppData", "Local", "Bellwether", "engine.json"))
		return err == nil && json.Unmarshal(raw, &s.state) == nil && s.state.Started.After(last)
	})
}

// The corner of the task bar where the only icon is.
var (
	wineIcon = image.Rect(wineWidth-20, wineHeight-20, wineWidth, wineHeight)
	wineBar  = wineHeight - 20 // its upper edge
)

// shows waits until the icon has a colour.
func (s *wineStage) shows(ctx context.Context, name string, is func(r, g, b uint32) bool) error {
	return poll(ctx, startWithin, "the icon shows "+name, func() bool {
		m, err := s.shot(ctx, name)
		if err != nil {
			return false
		}
		hits := 0
		for y := wineIcon.Min.Y; y < wineIcon.Max.Y; y++ {
			for x := wineIcon.Min.X; x < wineIcon.Max.X; x++ {
				if r, g, b, _ := m.At(x, y).RGBA(); is(r>>8, g>>8, b>>8) {
					hits++
				}
			}
		}
		return hits > 30
	})
}

// shot is what the screen shows.
func (s *wineStage) shot(ctx context.Context, name string) (image.Image, error) {
	dir := s.dir
	if shots := os.Getenv("BELLWETHER_SHOTS"); shots != "" {
		dir = shots
	}
	return s.screenshot(ctx, filepath.Join(dir, "windows-"+name+".png"))
}

func (s *wineStage) answers(context.Context) error {
	body := `{"model":"tiny","messages":[{"role":"user","content":"hi"}]}`
	resp, err := http.Post(s.state.Address+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !strings.Contains(text.String(), `"choices"`) {
		return fmt.Errorf("%s: %s", resp.Status, &text)
	}
	return nil
}

// pauses clicks Pause, the first item of the menu's second part.
func (s *wineStage) pauses(ctx context.Context) error {
	if err := s.choose(ctx, "pause", 1, 0); err != nil {
		return err
	}
	if err := s.shows(ctx, "paused", func(r, g, b uint32) bool { return r > 180 && g > 100 && g < 190 && b < 90 }); err != nil {
		return err
	}
	said, _ := s.run(ctx, "wine", s.installed("bellwether.exe"), "status")
	if !strings.Contains(said, "paused") {
		return fmt.Errorf("status says %s", said)
	}
	return nil
}

// choose opens the menu and clicks an item: the nth of a part, both from 0.
// Parts are told apart by the lines between them, whatever the items are.
func (s *wineStage) choose(ctx context.Context, name string, part, n int) error {
	menu, err := s.openMenu(ctx, name, part)
	if err != nil {
		return err
	}
	return s.click(ctx, menu.item(part, n), "1")
}

// wineMenu is the menu as the screen shows it.
type wineMenu struct {
	shot   image.Image
	corner image.Point // its upper left
	lines  []int       // how far down the lines between its parts are
}

// The rows of the menu: from a line to the middle of the next item, and on to
// the one below.
const (
	menuFirst = 14
	menuRow   = 18
)

// item is a point on an item's text.
func (m *wineMenu) item(part, n int) image.Point {
	return image.Pt(m.corner.X+40, m.lines[part-1]+menuFirst+n*menuRow)
}

// openMenu opens the menu and waits until it has a part, which is not the first.
func (s *wineStage) openMenu(ctx context.Context, name string, part int) (*wineMenu, error) {
	middle := wineIcon.Min.Add(wineIcon.Size().Div(2))
	if err := s.click(ctx, middle, "3"); err != nil {
		return nil, err
	}
	menu := &wineMenu{}
	err := poll(ctx, startWithin, "the menu opens", func() bool { // all of it: it is painted bit by bit
		var err error
		if menu.shot, err = s.shot(ctx, "menu-"+name); err != nil {
			return false
		}
		before := menu.lines
		menu.corner, menu.lines = menuLines(menu.shot)
		return len(menu.lines) >= part && slices.Equal(menu.lines, before)
	})
	if err != nil {
		return nil, err
	}
	// The first part has one item to be seen, how it is.
	if high := menu.lines[0] - menu.corner.Y; high > 2*menuRow {
		return nil, fmt.Errorf("above its first line the menu is %d pixels high: hidden items take room", high)
	}
	return menu, nil
}

func (s *wineStage) click(ctx context.Context, at image.Point, button string) error {
	_, err := s.output(ctx, "xdotool", "mousemove", strconv.Itoa(at.X), strconv.Itoa(at.Y), "sleep", "0.2", "click", button)
	return err
}

// menuLines finds the menu, which stands on the task bar at the right edge: its
// upper left corner, and how far down the lines between its parts are, from the top.
func menuLines(m image.Image) (corner image.Point, lines []int) {
	white := func(x, y int) bool {
		r, g, b, _ := m.At(x, y).RGBA()
		return r>>8 > 240 && g>>8 > 240 && b>>8 > 240
	}
	// Some rows above the bar cross no text, or other texts than their neighbours.
	const top, bottom = wineHeight - 80, wineHeight - 50
	inside := func(x int) bool {
		for y := top; y < bottom; y++ {
			if white(x, y) {
				return true
			}
		}
		return false
	}
	left := wineWidth - 4
	for inside(left - 1) {
		left--
	}
	if left == wineWidth-4 {
		return image.Point{}, nil
	}
	// Signs and texts begin further right than lines do.
	x, y := left+5, wineBar-1
	for ; y > 0 && (white(x, y) || white(x, y-2) || white(x, y-3)); y-- {
		if !white(x, y) && white(x, y-2) {
			lines = append([]int{y}, lines...)
		}
	}
	return image.Pt(left, y), lines
}
