package main

import (
	"context"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

// panelSettings are those of an Xfce panel at the top of the screen with
// nothing but the icons of programs, at its right end.
const panelSettings = `<?xml version="1.0" encoding="UTF-8"?>
<channel name="xfce4-panel" version="1.0">
  <property name="configver" type="int" value="2"/>
  <property name="panels" type="array">
    <value type="int" value="1"/>
    <property name="panel-1" type="empty">
      <property name="position" type="string" value="p=6;x=0;y=0"/>
      <property name="length" type="uint" value="100"/>
      <property name="position-locked" type="bool" value="true"/>
      <property name="size" type="uint" value="36"/>
      <property name="icon-size" type="uint" value="24"/>
      <property name="plugin-ids" type="array">
        <value type="int" value="1"/>
        <value type="int" value="2"/>
      </property>
    </property>
  </property>
  <property name="plugins" type="empty">
    <property name="plugin-1" type="string" value="separator">
      <property name="expand" type="bool" value="true"/>
      <property name="style" type="uint" value="0"/>
    </property>
    <property name="plugin-2" type="string" value="systray">
      <property name="square-icons" type="bool" value="true"/>
    </property>
  </property>
</channel>
`

func writePanelSettings(config string) error {
	dir := filepath.Join(config, "xfce4", "xfconf", "xfce-perchannel-xml")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "xfce4-panel.xml"), []byte(panelSettings), 0o600)
}

// panel speaks to the desktop's panel and to the app's icon and menu over the
// session bus, with the calls that a panel makes.
type panel struct {
	conn *dbus.Conn
	icon string // the icon's name on the bus
}

func dialPanel(bus string) (*panel, error) {
	conn, err := dbus.Connect(bus)
	if err != nil {
		return nil, fmt.Errorf("dial the session bus: %w", err)
	}
	return &panel{conn: conn}, nil
}

func (p *panel) close() { _ = p.conn.Close() }

// of chooses the icon of a process.
func (p *panel) of(pid int) { p.icon = fmt.Sprintf("org.kde.StatusNotifierItem-%d-1", pid) }

const iconWatcher = "org.kde.StatusNotifierWatcher"

// hosts reports whether something shows icons.
func (p *panel) hosts() bool {
	var owned bool
	err := p.conn.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, iconWatcher).Store(&owned)
	return err == nil && owned
}

// registered reports whether the panel knows the icon, by its name or by the
// connection that owns it.
func (p *panel) registered() bool {
	var owner string
	if p.conn.BusObject().Call("org.freedesktop.DBus.GetNameOwner", 0, p.icon).Store(&owner) != nil {
		return false
	}
	v, err := p.conn.Object(iconWatcher, "/StatusNotifierWatcher").GetProperty(iconWatcher + ".RegisteredStatusNotifierItems")
	if err != nil {
		return false
	}
	items, _ := v.Value().([]string)
	return slices.ContainsFunc(items, func(item string) bool { return strings.HasPrefix(item, owner) || strings.HasPrefix(item, p.icon) })
}

func (p *panel) tooltip() string {
	v, err := p.conn.Object(p.icon, "/StatusNotifierItem").GetProperty("org.kde.StatusNotifierItem.ToolTip")
	if err != nil {
		return ""
	}
	if parts, ok := v.Value().([]any); ok && len(parts) == 4 {
		return fmt.Sprint(parts[2])
	}
	return ""
}

func (p *panel) menu() (dbus.BusObject, error) {
	v, err := p.conn.Object(p.icon, "/StatusNotifierItem").GetProperty("org.kde.StatusNotifierItem.Menu")
	if err != nil {
		return nil, err
	}
	path, _ := v.Value().(dbus.ObjectPath)
	return p.conn.Object(p.icon, path), nil
}

// menuLine is a line of the menu as it comes over the bus.
type menuLine struct {
	ID    int32
	Props map[string]dbus.Variant
	Lines []dbus.Variant
}

// find looks for a visible line that begins with a text; nil = there is none.
func (p *panel) find(label string) *menuLine {
	menu, err := p.menu()
	if err != nil {
		return nil
	}
	var revision uint32
	var root menuLine
	if menu.Call("com.canonical.dbusmenu.GetLayout", 0, int32(0), int32(-1), []string{}).Store(&revision, &root) != nil {
		return nil
	}
	return root.find(label)
}

func (l *menuLine) find(label string) *menuLine {
	if visible, said := l.Props["visible"]; said && visible.Value() == false {
		return nil
	}
	if text, ok := l.Props["label"].Value().(string); ok && strings.HasPrefix(text, label) {
		return l
	}
	for _, v := range l.Lines {
		var line menuLine
		if dbus.Store([]any{v.Value()}, &line) != nil {
			continue
		}
		if found := line.find(label); found != nil {
			return found
		}
	}
	return nil
}

// ticked reports whether a line has a check mark.
func (p *panel) ticked(label string) bool {
	l := p.find(label)
	return l != nil && fmt.Sprint(l.Props["toggle-state"].Value()) == "1"
}

// click chooses a line, once it is there.
func (p *panel) click(ctx context.Context, label string) error {
	var line *menuLine
	err := poll(ctx, 15*time.Second, "the menu has "+label, func() bool { line = p.find(label); return line != nil })
	if err != nil {
		return err
	}
	menu, err := p.menu()
	if err != nil {
		return err
	}
	return menu.Call("com.canonical.dbusmenu.Event", 0, line.ID, "clicked", dbus.MakeVariant(int32(0)), uint32(0)).Err
}

// patch counts the points of a colour in a part of a picture, and says where
// their middle is.
func patch(img image.Image, part image.Rectangle, is func(r, g, b int) bool) (middle image.Point, n int) {
	part = part.Intersect(img.Bounds())
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			if is(int(r>>8), int(g>>8), int(b>>8)) {
				middle = middle.Add(image.Pt(x, y))
				n++
			}
		}
	}
	if n > 0 {
		middle = middle.Div(n)
	}
	return middle, n
}

// differs counts the points of a part in which two pictures differ.
func differs(a, b image.Image, part image.Rectangle) (n int) {
	part = part.Intersect(a.Bounds()).Intersect(b.Bounds())
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			if a.At(x, y) != b.At(x, y) {
				n++
			}
		}
	}
	return n
}
