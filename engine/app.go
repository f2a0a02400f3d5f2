package engine

import "time"

// What the desktop app asks of an engine beside the admin API.

// Drain takes no new requests from now on and lets what runs finish, until Run
// is told to end or Undrain calls it off. The node is shown as draining.
func (e *Engine) Drain() { e.agent.Drain() }

// Undrain takes requests again after a Drain, unless the node is paused.
func (e *Engine) Undrain() { e.agent.Undrain() }

// askWindow counts a wish to see the admin window.
func (e *Engine) askWindow() { e.windowAsked.Add(1) }

// Tomorrow is when a pause until tomorrow ends: at 06:00 of the next day, in
// now's zone.
func Tomorrow(now time.Time) time.Time {
	return time.Date(now.Year(), now.Month(), now.Day()+1, 6, 0, 0, 0, now.Location())
}
