package app

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"time"

	"bellwether/app/tray"
	"bellwether/engine"
)

// fault is why no engine runs, and what was done about it. The zero value is
// none. Its fields are the desk's.
type fault struct {
	text  string // as it was logged
	told  bool   // and its owner was notified
	tries int    // looks at the same taken port, the start that found it among them
	port  *engine.PortTakenError
}

// How soon a taken port is tried again: at login, programs change places; one
// that stays may be ended by its owner at any time.
const (
	portFirst = 2 * time.Second
	portMost  = 30 * time.Second
)

// portWait is how long to wait after so many tries, at least one.
func portWait(tries int) time.Duration {
	return min(portFirst<<min(tries-1, 10), portMost)
}

// fail says why nothing runs. The menu offers to start again; a port that
// another program holds is tried again until it is free.
func (d *desk) fail(err error) {
	text := err.Error()
	var taken *engine.PortTakenError
	if errors.As(err, &taken) {
		text = portText(taken)
	}
	d.phase, d.trouble = tray.Down, oneLine(text)
	if d.fault.text != text {
		d.a.o.Log.Error("the engine does not run", "err", err)
		d.fault = fault{text: text}
	}
	if d.leaving {
		d.err = err
		return
	}
	if taken == nil {
		d.tellFault("trouble", "Bellwether does not run", text)
		return
	}
	d.fault.port = taken
	d.waitForPort()
}

// waitForPort has the port looked at later.
func (d *desk) waitForPort() {
	d.fault.tries++
	if d.fault.tries > 1 { // it did not pass by itself
		d.tellFault("port", "Bellwether waits for its port", portText(d.fault.port)+" in "+filepath.Join(d.a.o.Folders.Config, "config.yaml")+".")
	}
	if d.again != nil {
		d.again.Stop() // of a start before the last click
	}
	d.again = time.AfterFunc(portWait(d.fault.tries), func() { d.tell((*desk).tryPort) })
}

// portText is why and what helps, for someone who typed no command.
func portText(taken *engine.PortTakenError) string {
	return fmt.Sprintf("%s holds %s. End it, and Bellwether starts by itself; or change the setting listen",
		cmp.Or(taken.Owner, "Another program"), taken.Address)
}

// tellFault notifies its owner once; the menu says the same all the time.
func (d *desk) tellFault(kind, title, text string) {
	if d.fault.told {
		return
	}
	d.fault.told = true
	d.work.Go(func() { d.a.remind(kind, title, text) })
}

// tryPort starts again once nobody holds the port, behind what is shown: only
// success changes that.
func (d *desk) tryPort() {
	if !d.waits() {
		return
	}
	address := d.fault.port.Address
	d.work.Go(func() {
		free := !d.a.answers(address)
		d.tell(func(d *desk) {
			switch {
			case !d.waits():
			case free:
				d.makeEngine()
			default:
				d.waitForPort()
			}
		})
	})
}

// waits reports that the port is all that is missing.
func (d *desk) waits() bool {
	return d.phase == tray.Down && d.fault.port != nil && d.engine == nil && !d.making && !d.leaving && !d.theirs
}

// answers reports whether a program takes connections at an address. Asking is
// cheaper than a start that fails, and leaves nothing in the log.
func answers(address string) bool {
	conn, err := net.DialTimeout("tcp", address, portFirst)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// CannotStart tells a person who sees no terminal why the program ends at once.
func CannotStart(err error) { newApp(Options{Log: slog.New(slog.DiscardHandler)}).cannotStart(err) }

func (a *app) cannotStart(err error) {
	a.remind("trouble", "Bellwether cannot start", err.Error())
}
