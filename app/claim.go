package app

import (
	"sync"

	"bellwether/platform/desktop"
)

// trayLock is held by the one tray of a data folder.
const trayLock = "tray.lock"

// claim is the right to be the tray of a data folder.
type claim struct {
	dir  string
	mu   sync.Mutex
	lock *desktop.InstanceLock // nil = it is not ours
}

// take takes it; a *desktop.HeldError says who has it.
func (c *claim) take() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lock != nil {
		return nil
	}
	lock, err := desktop.LockNamed(c.dir, trayLock)
	if err == nil {
		c.lock = lock
	}
	return err
}

// leave tells a start that finds it taken to wait: this program is about to end.
func (c *claim) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lock != nil {
		c.lock.Leave()
	}
}

// drop leaves it to others.
func (c *claim) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lock != nil {
		_ = c.lock.Unlock()
		c.lock = nil
	}
}
