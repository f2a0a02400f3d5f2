// Package child is what the window program and the program that starts it
// agree on: how it is told its address, what is said over its pipes, and what
// its exit codes mean. It is shared so that the two cannot drift apart, and
// imports nothing, for the window is to stay thin.
package child

// Program is the window's executable, without ".exe".
const Program = "bellwether-window"

// EnvURL is the environment variable with the address to show. Command lines
// can be read by every user of a machine; the address unlocks the admin UI once.
const EnvURL = "BELLWETHER_URL"

// Lines that the parent writes to the window's standard input. Its end means
// that the window is to quit: so it dies with its parent, however that dies.
const Show = "show" // raise the window

// Lines that the window writes to its standard output.
const Ready = "ready" // there is a window, and its page stands

// Exit codes. Every other one is a crash, or the loader's.
const (
	Closed     = 0
	WrongUse   = 10 // no address, or not one of this machine
	NoDisplay  = 11 // neither X nor Wayland answers
	NoWebView  = 12 // Windows without the WebView2 runtime
	NoWindow   = 13 // built without its tags: it can show nothing
	WindowLost = 14 // the toolkit gave up
)
