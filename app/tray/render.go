//go:build !darwin || cgo

package tray

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"

	"fyne.io/systray"
)

// Run shows the tray until ctx ends or States is closed. Where the desktop's bus
// goes away it waits for the next at the same address, and shows the icon there
// again. Without a bus at first the error is ErrNoTray. It must be called on the
// main goroutine, which the library has locked to the main thread, and once in a
// process. Find a place first (see Find): without one it would wait for ever.
func Run(ctx context.Context, place Place, o Options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &bar{do: o.Do, log: o.Log, items: map[string]*line{}}
	var drawing sync.WaitGroup
	drawing.Add(1)
	ready := func() {
		// It must return, for the library answers nothing before; but the menu has
		// to be there when it does.
		built := &built{screen: s, done: make(chan struct{})}
		go func() {
			defer drawing.Done()
			defer stop()
			draw(ctx, built, o.States)
		}()
		<-built.done
	}
	if runtime.GOOS != "darwin" { // there it is text beside the icon
		systray.SetTitle("bellwether") // before it begins: it becomes the icon's name on the bus
	}
	return s.hold(ctx, stop, place, o, ready, drawing.Wait)
}

// guard calls into the library, which panics where the bus has died: as it
// changes the icon, and as it ends, when all is done. Neither may take the
// engine along. What it was to show it keeps, and shows on the next bus.
func guard(call func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	call()
	return nil
}

// built is a screen that tells when its menu is there.
type built struct {
	screen
	done chan struct{}
}

func (b *built) tooltip(text string) {
	b.screen.tooltip(text) // the last thing that draw does before it waits
	select {
	case <-b.done:
	default:
		close(b.done)
	}
}

// bar is the desktop's bar, by the library. Its maps and items are of draw's
// goroutine; do alone is called by others.
type bar struct {
	do    func(Action)
	log   *slog.Logger
	items map[string]*line
	mu    sync.Mutex // held while the library changes something, or goes to another bus
}

// touch has the library change what it shows.
func (b *bar) touch(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := guard(change); err != nil {
		b.log.Debug("the tray did not take a change", "err", err)
	}
}

// line is an item that was made. Its mutex guards what a click on it means.
type line struct {
	item *systray.MenuItem
	mu   sync.Mutex
	does Action
}

func (b *bar) build(menu []Item) { b.add(nil, menu) }

func (b *bar) add(parent *systray.MenuItem, menu []Item) {
	for _, it := range menu {
		if it.Separator {
			systray.AddSeparator()
			continue
		}
		l := &line{item: newItem(parent, &it), does: it.Do}
		b.items[it.Key] = l
		b.add(l.item, it.Items)
		if it.Off {
			l.item.Disable()
		}
		if it.Hidden { // last: on Windows any other change of an item shows it again
			l.item.Hide()
		}
		if len(it.Items) == 0 {
			b.listen(l)
		}
	}
}

func newItem(parent *systray.MenuItem, it *Item) *systray.MenuItem {
	label := literal(runtime.GOOS, it.Label)
	switch {
	case parent == nil && it.Tick != NoTick:
		return systray.AddMenuItemCheckbox(label, "", it.Tick == Ticked)
	case parent == nil:
		return systray.AddMenuItem(label, "")
	case it.Tick != NoTick:
		return parent.AddSubMenuItemCheckbox(label, "", it.Tick == Ticked)
	}
	return parent.AddSubMenuItem(label, "")
}

// listen hands clicks on: the library drops what nobody waits for, so nothing
// is done between one and the next. It ends with the process, as the items do.
func (b *bar) listen(l *line) {
	go func() {
		for range l.item.ClickedCh {
			l.mu.Lock()
			does := l.does
			l.mu.Unlock()
			if does.Name != "" {
				go b.do(does)
			}
		}
	}()
}

func (b *bar) change(was, is Item) {
	b.touch(func() { b.items[is.Key].change(&was, &is) })
}

func (l *line) change(was, is *Item) {
	l.mu.Lock()
	l.does = is.Do
	l.mu.Unlock()
	if was.Label != is.Label {
		l.item.SetTitle(literal(runtime.GOOS, is.Label))
	}
	if was.Off != is.Off {
		if is.Off {
			l.item.Disable()
		} else {
			l.item.Enable()
		}
	}
	if was.Tick != is.Tick {
		if is.Tick == Ticked {
			l.item.Check()
		} else {
			l.item.Uncheck()
		}
	}
	switch {
	case is.Hidden: // again, where it was: on Windows any of the above showed it
		l.item.Hide()
	case was.Hidden:
		l.item.Show()
	}
}

func (b *bar) tooltip(text string) { b.touch(func() { systray.SetTooltip(text) }) }

// icon shows an icon in the form that the system takes.
func (b *bar) icon(i Icon) { b.touch(func() { setIcon(i) }) }

func setIcon(i Icon) {
	switch runtime.GOOS {
	case "darwin":
		systray.SetTemplateIcon(i.Template(), i.PNG())
		systray.SetTitle(i.badge()) // text beside the icon there, and only there
	case "windows":
		systray.SetIcon(i.ICO(lightBar()))
	default:
		systray.SetIcon(i.PNG())
	}
}
