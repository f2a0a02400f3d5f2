package app

import "bellwether/platform/desktop"

// trayLock is held by the one tray of a data folder.
const trayLock = "tray.lock"

// claim is the right to be the tray of a data folder. It is the main
// goroutine's.
type claim struct {
	dir  string
	lock *desktop.InstanceLock // nil = it is not ours
}

// take takes it; a *desktop.HeldError says who has it.
func (c *claim) take() error {
	if c.lock != nil {
		return nil
	}
	lock, err := desktop.LockNamed(c.dir, trayLock)
	if err == nil {
		c.lock = lock
	}
	return err
}

// drop leaves it to others.
func (c *claim) drop() {
	if c.lock != nil {
		_ = c.lock.Unlock()
		c.lock = nil
	}
}
