package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// hasItsMarks looks at what the window tells the window manager: a picture of
// its own, for desktops where no menu entry is installed, and a greatest size
// that is not the screen's.
func (w *windowStage) hasItsMarks(ctx context.Context) error {
	id, err := w.theWindow(ctx)
	if err != nil {
		return err
	}
	marks, err := w.output(ctx, "xprop", "-id", id, "-notype", "32x", "_NET_WM_ICON", "WM_NORMAL_HINTS")
	if err != nil {
		return err
	}
	if strings.Contains(marks, "_NET_WM_ICON:  not found") || !strings.Contains(marks, "_NET_WM_ICON") {
		return errors.New("it has no picture")
	}
	_, size, found := strings.Cut(marks, "maximum size: ")
	var width, height int
	if n, _ := fmt.Sscanf(size, "%d by %d", &width, &height); found && (n != 2 || width < 8000 || height < 8000) {
		return fmt.Errorf("it may not grow beyond %.20q", size)
	}
	return nil
}

// earlyAtMost is a little more than what counts as a window that cannot be.
const earlyAtMost = 11 * time.Second

// losesItsPage kills what draws the page, as a system short of memory does.
func (w *windowStage) losesItsPage(ctx context.Context) error {
	if w.shown == nil {
		return errors.New("there is no window")
	}
	for i := range 3 {
		if err := w.killsThePage(ctx); err != nil {
			return err
		}
		if err := w.logged(ctx, "loaded again", i+1); err != nil {
			return err
		}
		if err := w.seesTheUI(ctx, "page-again.png"); err != nil {
			return err
		}
	}
	if err := w.showsSettings(ctx); err != nil { // the page is no picture of itself
		return err
	}
	if err := poll(ctx, 2*earlyAtMost, "the window is no new one", func() bool { return time.Since(w.opened) > earlyAtMost }); err != nil {
		return err
	}
	if err := w.killsThePage(ctx); err != nil {
		return err
	}
	if err := w.nothingRemains(ctx); err != nil {
		return err
	}
	if err := w.logged(ctx, "more than 3 times", 1); err != nil {
		return err
	}
	return w.opensAnother(ctx, "page-another.png")
}

// killsThePage kills the web view's processes for pages, and waits until they are
// gone. WebKit keeps one in stock for the next page, and takes its own program
// down when that dies before it has said who it is; no page could have crashed
// it, so none is killed that is only being started.
func (w *windowStage) killsThePage(ctx context.Context) error {
	var drawing []int
	since := map[int]time.Time{}
	if err := poll(ctx, 10*time.Second, "a process draws the page, and none is being started", func() bool {
		drawing = w.processes("WebKitWebProcess")
		return len(drawing) > 0 && !slices.ContainsFunc(drawing, func(pid int) bool {
			if since[pid].IsZero() {
				since[pid] = time.Now()
			}
			return time.Since(since[pid]) < time.Second
		})
	}); err != nil {
		return err
	}
	for _, pid := range drawing {
		if err := w.signal(ctx, "KILL", pid); err != nil {
			return err
		}
	}
	return poll(ctx, 10*time.Second, "the page's process is gone", func() bool {
		return !slices.Contains(w.processes("WebKitWebProcess"), drawing[0])
	})
}

// hangs stops the window's process, as one that waits for a display does.
func (w *windowStage) hangs(ctx context.Context) error {
	pids := w.processes("bellwether-window")
	if w.shown == nil || len(pids) != 1 {
		return fmt.Errorf("%d processes of the window, want one", len(pids))
	}
	if err := w.signal(ctx, "STOP", pids[0]); err != nil {
		return err
	}
	if err := w.opensAnother(ctx, "after-hanging.png"); err != nil {
		return err
	}
	if now := w.processes("bellwether-window"); len(now) != 1 || now[0] == pids[0] {
		return fmt.Errorf("processes of the window: %v, and %d hung", now, pids[0])
	}
	return w.logged(ctx, "the window hangs", 1)
}

// signal sends one by the shell's own command: this file is compiled for Windows too.
func (w *windowStage) signal(ctx context.Context, name string, pid int) error {
	_, err := w.output(ctx, "sh", "-c", fmt.Sprintf("kill -%s %d", name, pid))
	return err
}

// opensAnother asks for the window as the tray does, and looks at it.
func (w *windowStage) opensAnother(ctx context.Context, picture string) error {
	w.opened = time.Now()
	if err := w.shown.Open(ctx); err != nil {
		return err
	}
	if why := w.shown.Reason(); why != "" {
		return fmt.Errorf("the browser opened instead: %s", why)
	}
	return w.seesTheUI(ctx, picture)
}

func (w *windowStage) seesTheUI(ctx context.Context, name string) error {
	picture := filepath.Join(w.dir, name)
	defer w.keepShot(picture)
	return poll(ctx, 30*time.Second, "the admin UI in the window", func() bool {
		img, err := w.screenshot(ctx, picture)
		return err == nil && w.visible(ctx) && looksLikeTheUI(img)
	})
}

// logged waits until the window's parent has logged something so many times.
func (w *windowStage) logged(ctx context.Context, what string, times int) error {
	return poll(ctx, 10*time.Second, "the log says: "+what, func() bool {
		text, err := os.ReadFile(w.log)
		return err == nil && strings.Count(string(text), what) == times
	})
}

// processes are those of one program on this screen.
func (w *windowStage) processes(program string) (pids []int) {
	for _, p := range w.remains() {
		if name, pid, _ := strings.Cut(p, " "); name == program {
			n, _ := strconv.Atoi(pid)
			pids = append(pids, n)
		}
	}
	return pids
}
