// Package child is what the window program and the program that starts it
// agree on: how it is told its address, what is said over its pipes, and what
// its exit codes mean. It stands by itself so that the two cannot drift apart
// and the window stays thin: it imports nothing.
package child

// Program is the window's executable, without ".exe".
const Program = "bellwether-window"

// EnvURL is the environment variable with the address to show. It unlocks the
// admin UI once, and every user of a machine can read command lines.
const EnvURL = "BELLWETHER_URL"

// Show is the line on the window's standard input that raises it. The end of
// that input means that the window is to quit: so it dies with its parent,
// however that dies.
const Show = "show"

// Shown is the line that the window answers every Show with, once its own
// thread has done it: a window that hangs answers nothing.
const Shown = "shown"

// Ready is the line that the window writes to its standard output once it
// stands on the screen with a page in it. It comes again with every page.
const Ready = "ready"

// Outside begins a line that the window writes to its standard output when
// somebody wants to see what the window does not show: a web address of another
// origin, which follows. It is for the browser.
const Outside = "outside "

// Lost begins a line that the window writes to its standard output when the
// process that draws its page is gone and it loads the page again; why follows.
const Lost = "lost "

// Exit codes. Any other is a crash, or the system's own: 127 of a loader that
// misses a library.
const (
	Closed     = 0
	WrongUse   = 10 // no address was given, or it is none
	NoDisplay  = 11 // neither X nor Wayland answers
	NoWebView  = 12 // Windows without the WebView2 runtime
	NoWindow   = 13 // built without its tags: it can show nothing
	WindowLost = 14 // the toolkit gave up
	Stuck      = 15 // told to quit, it did not in time and cut itself off
	PageLost   = 16 // what draws its page ended too often, or before the page stood
	NoLibrary  = 127
)

// DisplayMissing reports that no window can be, on systems that may lack a
// screen: GTK would only panic. goos is runtime.GOOS, env looks a variable up.
// Both sides ask, so that a server starts no process for it.
func DisplayMissing(goos string, env func(string) string) bool {
	return goos != "windows" && goos != "darwin" && env("DISPLAY") == "" && env("WAYLAND_DISPLAY") == ""
}
