package desktop

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gen2brain/beeep"
)

// Notifier shows notifications of the system's own kind. What is worth one,
// and how often, others decide.
type Notifier struct {
	app, icon string
	busy      chan struct{}     // held while one is on its way: one buffer, one at a time
	sent      map[string]uint32 // the desktop's numbers of notifications, by title; of who holds busy
}

// notifyWithin is how long a desktop may take to take a notification.
const notifyWithin = 5 * time.Second

var nameApp sync.Mutex // guards beeep.AppName, which the library keeps as a global

// NewNotifier makes one that speaks in the name of an app; icon is the path of
// a PNG or, on Linux, the name of an installed icon, "" = what the system shows
// by itself. A name that no theme knows shows none.
func NewNotifier(app, icon string) *Notifier {
	nameApp.Lock()
	defer nameApp.Unlock()
	beeep.AppName = app
	return &Notifier{app: app, icon: icon, busy: make(chan struct{}, 1), sent: map[string]uint32{}}
}

// errStillShowing says that the desktop has not taken the last one yet.
var errStillShowing = errors.New("the desktop has not taken the last notification yet")

// Notify shows a notification for as long as the desktop shows such. It waits for the desktop to take it, five
// seconds at most. Without a desktop that shows any the error is
// ErrNotAvailable. Both texts are plain. kind says what it is about, for
// whoever reads the error.
func (n *Notifier) Notify(kind, title, text string) error {
	return n.notify(kind, title, text, false)
}

// Remind is Notify of what its reader has to do: it stays until it is
// dismissed where the desktop can do that, so that who is away finds it later,
// and takes the place of its last one of the same title.
func (n *Notifier) Remind(kind, title, text string) error {
	return n.notify(kind, title, text, true)
}

func (n *Notifier) notify(kind, title, text string, stays bool) error {
	if !hasNotifications() {
		return fmt.Errorf("notify of %s: %w", kind, ErrNotAvailable)
	}
	select {
	case n.busy <- struct{}{}:
	default:
		return fmt.Errorf("notify of %s: %w", kind, errStillShowing)
	}
	taken := make(chan error, 1) // of the one attempt, which may outlive our patience
	go func() {
		defer func() { <-n.busy }()
		taken <- n.show(title, text, stays)
	}()
	patience := time.NewTimer(notifyWithin)
	defer patience.Stop()
	select {
	case err := <-taken:
		if err != nil {
			return fmt.Errorf("notify of %s: %w", kind, errors.Join(ErrNotAvailable, err))
		}
		return nil
	case <-patience.C:
		return fmt.Errorf("notify of %s: %w", kind, errStillShowing)
	}
}
