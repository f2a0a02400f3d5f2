package engine

// What the desktop app asks of an engine beside the admin API.

// Drain takes no new requests from now on and lets what runs finish, until Run
// is told to end or a resume calls it off. The node is shown as draining.
func (e *Engine) Drain() { e.agent.Drain() }

// askWindow counts a wish to see the admin window.
func (e *Engine) askWindow() { e.windowAsked.Add(1) }
