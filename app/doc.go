// Package app is the desktop program: the engine of `bellwether serve` with an
// icon in the bar, a menu and a window. It runs one engine and one tray for a
// data folder; where an engine runs already, it adopts that one and never ends
// it. What the tray shows it reads from the engine's feed, as every window
// does, whoever's the engine is.
//
//	main goroutine   tray.Run, which the system wants there
//	desk             owns what is shown: messages in, tray.State out
//	follow           reads the feed, comes again when it breaks
//	engine           runs the engine, if it is ours
//	clicks           a goroutine each; what comes of one is a message
//
// Quitting goes in one order: the window, the engine (what runs gets its time),
// the icon, the lock.
package app
