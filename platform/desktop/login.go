package desktop

import "context"

// LoginItem is the entry by which the system starts a program when its user
// logs in. The system owns the truth: it is read anew each time.
type LoginItem struct{ opts LoginOptions }

// LoginOptions say what is to be started.
type LoginOptions struct {
	// Program is the executable's path; "" = this one. A path that will not be
	// there tomorrow (a temporary folder, a mounted image) is refused by Enable.
	Program string
	Args    []string
	// Config is where XDG autostart entries go; "" = the system's place.
	Config string
}

// LoginStatus is what the system says of the entry.
type LoginStatus struct {
	On     bool   // it will be started at the next login
	Known  bool   // the system could be asked; without it On says nothing
	Can    bool   // Enable would work here
	Moved  bool   // it is on, but starts another program than this one
	Reason string // why it is off although it was switched on, or why it cannot be
	Entry  string // where the entry stands, for people: a path or a registry key
}

// NewLoginItem makes the item; nothing is written.
func NewLoginItem(o LoginOptions) *LoginItem { return &LoginItem{o} }

// Status asks the system.
func (l *LoginItem) Status(ctx context.Context) (LoginStatus, error) {
	return LoginStatus{Reason: "not built yet"}, nil
}

// Enable has the program started at login, and reads back that it will be.
func (l *LoginItem) Enable(ctx context.Context) error { return ErrNotAvailable }

// Disable takes the entry away; none there is no error.
func (l *LoginItem) Disable(ctx context.Context) error { return nil }
