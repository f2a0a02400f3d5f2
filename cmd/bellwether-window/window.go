//go:build desktop && production

package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/logger"
	"github.com/wailsapp/wails/v2/pkg/menu"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/options/linux"
	"github.com/wailsapp/wails/v2/pkg/options/mac"
	"github.com/wailsapp/wails/v2/pkg/options/windows"
	window "github.com/wailsapp/wails/v2/pkg/runtime"

	"bellwether/app/window/child"
	"bellwether/app/window/inside"
	"bellwether/app/window/place"
)

const kind = "window"

// patience is how long the toolkit may take to quit: whoever closes the window
// expects nothing of it to remain.
const patience = 1500 * time.Millisecond

// icon is the product's, 128 pixels wide and high; a test of build holds it
// against the drawing.
//
//go:embed icon.png
var icon []byte

// show runs the window until it is closed, and returns the exit code. It needs
// the main thread.
func show(address string, orders io.Reader, says io.Writer) (code int) {
	if why := webViewMissing(); why != "" {
		fmt.Fprintln(os.Stderr, why)
		return child.NoWebView
	}
	defer func() {
		if r := recover(); r != nil { // GTK without an answering display panics
			fmt.Fprintln(os.Stderr, "the window could not be opened:", r)
			code = child.NoDisplay
		}
	}()
	err := wails.Run(&options.App{
		Title: "Bellwether", Width: place.Width, Height: place.Height, MinWidth: 480, MinHeight: 400,
		MaxWidth: place.Largest, MaxHeight: place.Largest,
		AssetServer:              &assetserver.Options{Handler: start(address)},
		EnableDefaultContextMenu: true,
		Menu:                     appMenu(),
		Logger:                   quiet{}, LogLevelProduction: logger.ERROR,
		OnStartup: func(ctx context.Context) {
			inside.Keep(inside.Of(address, says), giveUp)
			place.Keep()
			// On its own: a window that hangs must still hear that it is to quit.
			go follow(orders, func() { go raise(ctx, says) }, func() { quit(ctx) })
		},
		OnDomReady: func(context.Context) { _, _ = fmt.Fprintln(says, child.Ready) },
		// The parent's name, so that desktops show its icon and group the two. The
		// picture is for where no menu entry of that name is installed.
		Linux: &linux.Options{ProgramName: "bellwether", Icon: icon, WebviewGpuPolicy: linux.WebviewGpuPolicyNever},
		Windows: &windows.Options{
			Theme: windows.SystemDefault, IsZoomControlEnabled: true, WebviewUserDataPath: userData(),
		},
		Mac: &mac.Options{},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "the window ended:", err)
		return child.WindowLost
	}
	return child.Closed
}

// raise brings the window to the front, whatever it was, and says so when the
// toolkit's thread has done it.
func raise(ctx context.Context, says io.Writer) {
	window.WindowUnminimise(ctx)
	window.WindowShow(ctx)
	// Window managers that keep others from taking the front still let a window
	// above all others have it.
	window.WindowSetAlwaysOnTop(ctx, true)
	window.WindowSetAlwaysOnTop(ctx, false)
	_, _ = window.WindowGetSize(ctx) // on Linux this waits for that thread; on Windows the call before did
	_, _ = fmt.Fprintln(says, child.Shown)
}

// giveUp ends the window at once: there is no page in it.
func giveUp(why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(child.PageLost)
}

// quit ends the window, and cuts it off if the toolkit hangs.
func quit(ctx context.Context) {
	time.AfterFunc(patience, func() { os.Exit(child.Stuck) })
	window.Quit(ctx)
}

// appMenu is what macOS needs for Copy, Paste and Quit to have their keys;
// elsewhere the web view has them itself.
func appMenu() *menu.Menu {
	if runtime.GOOS != "darwin" {
		return nil
	}
	m := menu.NewMenu()
	m.Append(menu.AppMenu())
	m.Append(menu.EditMenu())
	m.Append(menu.WindowMenu())
	return m
}

// userData is where WebView2 keeps its cache: this machine's, not roamed with
// the user's profile.
func userData() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "" // its own choice
	}
	return filepath.Join(dir, "Bellwether", "Window")
}

// quiet is the toolkit's log: what is wrong goes to standard error, where the
// parent looks when the window ends badly.
type quiet struct{}

func (quiet) Print(string)   {}
func (quiet) Trace(string)   {}
func (quiet) Debug(string)   {}
func (quiet) Info(string)    {}
func (quiet) Warning(string) {}
func (quiet) Error(s string) { fmt.Fprintln(os.Stderr, s) }
func (quiet) Fatal(s string) { fmt.Fprintln(os.Stderr, s); os.Exit(child.WindowLost) }
