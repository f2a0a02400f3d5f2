package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"bellwether/platform/desktop/desktoptest"
)

// These tests run the desktop app on a session bus of their own, as a desktop
// does, and press its menu as a panel would. The app is a process built without
// the race detector: the tray's library has races of its own.

// icon is a running desktop app, seen from the bus.
type icon struct {
	*process
	bus  *desktoptest.Bus
	name string // on the bus
	home *home
	urls string // file with the addresses that the browser was to open
}

// desktopEnv is an environment with a session bus and a browser that writes
// down what it is to open. address "" = no bus.
func desktopEnv(t testing.TB, env []string, address string) (with []string, urls string) {
	t.Helper()
	dir := t.TempDir()
	urls = filepath.Join(dir, "urls")
	script := fmt.Sprintf("#!/bin/sh\necho \"$1\" >> %q\n", urls)
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "PATH":
		default:
			with = append(with, v)
		}
	}
	with = append(with, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	if address != "" {
		with = append(with, "DBUS_SESSION_BUS_ADDRESS="+address)
	}
	return with, urls
}

// desktop starts the app of a home on a bus and waits until it serves.
func (h *home) desktop(t testing.TB, b *desktoptest.Bus, args ...string) *icon {
	t.Helper()
	i := h.appear(t, b, args...)
	h.engine = i.process
	h.ready(t)
	return i
}

// appear starts the app and waits for its name on the bus.
func (h *home) appear(t testing.TB, b *desktoptest.Bus, args ...string) *icon {
	t.Helper()
	env, urls := desktopEnv(t, h.env, b.Address)
	p := launch(t, env, "bellwether", append([]string{"app", "--data-dir", h.dir}, args...)...)
	i := &icon{process: p, bus: b, home: h, urls: urls, name: fmt.Sprintf("org.kde.StatusNotifierItem-%d-1", p.cmd.Process.Pid)}
	until(t, "the icon is on the bus", func() bool {
		if !p.running() {
			t.Fatalf("the app ended: %s%s", p.out, p.err)
		}
		// The name comes first, what can be asked of it a moment later.
		_, err := b.Conn.Object(i.name, "/StatusNotifierItem").GetProperty("org.kde.StatusNotifierItem.Menu")
		if err == nil {
			err = b.Conn.Object(i.name, "/StatusNotifierItem/menu").Call("com.canonical.dbusmenu.GetGroupProperties", 0, []int32{}, []string{}).Err
		}
		return err == nil
	})
	return i
}

// property reads one of the icon.
func (i *icon) property(t testing.TB, name string, into any) {
	t.Helper()
	v, err := i.bus.Conn.Object(i.name, "/StatusNotifierItem").GetProperty("org.kde.StatusNotifierItem." + name)
	if err == nil {
		err = dbus.Store([]any{v}, into)
	}
	if err != nil {
		t.Fatalf("%s of the icon: %v", name, err)
	}
}

// tooltip is what pointing at the icon shows.
func (i *icon) tooltip(t testing.TB) string {
	t.Helper()
	var v struct {
		Name  string
		Icons []pixels
		Title string
		Text  string
	}
	i.property(t, "ToolTip", &v)
	return v.Title
}

type pixels struct {
	W, H int32
	Bits []byte
}

// picture is the icon's pixels: alpha, red, green, blue.
func (i *icon) picture(t testing.TB) pixels {
	t.Helper()
	var v []pixels
	i.property(t, "IconPixmap", &v)
	if len(v) != 1 {
		t.Fatalf("%d pictures", len(v))
	}
	return v[0]
}

// entry is a line of the menu as a panel gets it.
type entry struct {
	id      int32
	label   string
	hidden  bool
	off     bool
	ticked  bool
	entries []entry
}

type layout struct {
	ID    int32
	Props map[string]dbus.Variant
	Items []dbus.Variant
}

func (i *icon) menuObject(t testing.TB) dbus.BusObject {
	t.Helper()
	var path dbus.ObjectPath
	i.property(t, "Menu", &path)
	return i.bus.Conn.Object(i.name, path)
}

// menu reads the whole menu.
func (i *icon) menu(t testing.TB) []entry {
	t.Helper()
	var revision uint32
	var root layout
	err := i.menuObject(t).Call("com.canonical.dbusmenu.GetLayout", 0, int32(0), int32(-1), []string{}).Store(&revision, &root)
	if err != nil {
		t.Fatalf("the menu: %v", err)
	}
	return entriesOf(t, &root).entries
}

func entriesOf(t testing.TB, l *layout) entry {
	t.Helper()
	e := entry{id: l.ID}
	if v, ok := l.Props["label"]; ok {
		text, _ := v.Value().(string)
		e.label = shownLabel(text)
	}
	if v, ok := l.Props["visible"]; ok {
		e.hidden = v.Value() == false
	}
	if v, ok := l.Props["enabled"]; ok {
		e.off = v.Value() == false
	}
	if v, ok := l.Props["toggle-state"]; ok {
		e.ticked = fmt.Sprint(v.Value()) == "1"
	}
	for _, v := range l.Items {
		var child layout
		if err := dbus.Store([]any{v.Value()}, &child); err != nil {
			t.Fatal(err)
		}
		e.entries = append(e.entries, entriesOf(t, &child))
	}
	return e
}

// shownLabel is what a panel shows of a label: an underscore marks an access
// key and is left out, two are one.
func shownLabel(text string) string {
	parts := strings.Split(text, "__")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], "_", "")
	}
	return strings.Join(parts, "_")
}

// lines are what a person sees of the menu; submenus are indented.
func (i *icon) lines(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	var add func(entries []entry, indent string)
	add = func(entries []entry, indent string) {
		for _, e := range entries {
			if e.hidden {
				continue
			}
			b.WriteString(indent + e.label + "\n")
			add(e.entries, indent+"  ")
		}
	}
	add(i.menu(t), "")
	return b.String()
}

// shows waits until the menu has a visible line that begins like this.
func (i *icon) shows(t testing.TB, label string) entry {
	t.Helper()
	var found entry
	until(t, "the menu shows "+label, func() bool {
		e, ok := find(i.menu(t), label)
		found = e
		return ok
	})
	return found
}

func find(entries []entry, label string) (entry, bool) {
	for _, e := range entries {
		if e.hidden {
			continue
		}
		if strings.HasPrefix(e.label, label) {
			return e, true
		}
		if e, ok := find(e.entries, label); ok {
			return e, true
		}
	}
	return entry{}, false
}

// click chooses a line of the menu. An app that quits may not answer any more.
func (i *icon) click(t testing.TB, label string) {
	t.Helper()
	e := i.shows(t, label)
	if e.off {
		t.Fatalf("%q cannot be chosen", e.label)
	}
	call := i.menuObject(t).Call("com.canonical.dbusmenu.Event", 0, e.id, "clicked", dbus.MakeVariant(int32(0)), uint32(0))
	if call.Err != nil && !strings.HasPrefix(label, "Quit") && !strings.HasPrefix(label, "Now:") {
		t.Fatalf("click %s: %v", label, call.Err)
	}
}

// opened waits for the nth address that the browser was to open.
func (i *icon) opened(t testing.TB, n int) string {
	t.Helper()
	var lines []string
	until(t, "the browser opens", func() bool {
		raw, _ := os.ReadFile(i.urls)
		lines = strings.Fields(string(raw))
		return len(lines) >= n
	})
	return lines[n-1]
}

// strays are the bus daemons that a process left behind, by their parent or by
// the temporary home in their environment.
func strays(t testing.TB, home string) (pids []string) {
	t.Helper()
	comms, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, comm := range comms {
		name, err := os.ReadFile(comm)
		if err != nil || !strings.HasPrefix(string(name), "dbus-") {
			continue
		}
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(comm), "environ"))
		if strings.Contains(string(env), "HOME="+home+"\x00") {
			pids = append(pids, filepath.Base(filepath.Dir(comm)))
		}
	}
	return pids
}

// soon bounds what has to take no longer than a time, measured from now.
func soon(t testing.TB, most time.Duration, what string, do func(ctx context.Context) bool) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := time.Now()
	for !do(ctx) {
		if ctx.Err() != nil {
			t.Fatalf("never came true: %s", what)
		}
	}
	took := time.Since(began)
	if took > most {
		t.Errorf("%s took %s, want %s at most", what, took, most)
	}
	return took
}
