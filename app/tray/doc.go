// Package tray is the icon in the desktop's bar and its menu. Menu decides what
// is shown: a pure function of what was told. Run shows it: one goroutine owns
// icon and menu, and changes only what differs. The package knows nothing of
// the engine; what a click means its caller does, and tells by another State.
//
//	states ---> Run ---> Menu(State) ---> what differs ---> the system's tray
//	               \---- clicks ---> Do(Action), never waited for
package tray
