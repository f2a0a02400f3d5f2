package engine

import (
	"errors"
	"fmt"
	"net"
	"strconv"
)

// freePortTries is how many ports after the wanted one are tried at first start.
const freePortTries = 20

// PortTakenError says that another program holds the address we should have.
type PortTakenError struct {
	Address string
	Port    int
	Owner   string // the program's name, "" = not known
	Err     error
}

func (e *PortTakenError) Error() string {
	who := e.Owner
	if who == "" {
		who = "another program"
	}
	return fmt.Sprintf("%s holds %s: end it, or give another address with --listen or the setting listen", who, e.Address)
}

func (e *PortTakenError) Unwrap() error { return e.Err }

// listenOn opens the app endpoint. localhost means both families: some
// clients resolve it to ::1 first and never try 127.0.0.1. Where the machine
// has no IPv6 one listener is enough.
func listenOn(host string, port int) ([]net.Listener, error) {
	hosts := []string{host}
	if host == "localhost" || host == "" {
		hosts = []string{"127.0.0.1", "::1"}
	}
	var open []net.Listener
	for i, h := range hosts {
		l, err := net.Listen("tcp", net.JoinHostPort(h, strconv.Itoa(port)))
		if err != nil {
			if i > 0 && !inUse(err) {
				break // no IPv6 here
			}
			for _, o := range open {
				_ = o.Close()
			}
			if inUse(err) {
				return nil, &PortTakenError{Address: net.JoinHostPort(host, strconv.Itoa(port)), Port: port, Err: err}
			}
			return nil, fmt.Errorf("listen on %s: %w", net.JoinHostPort(h, strconv.Itoa(port)), err)
		}
		open = append(open, l)
		if port == 0 { // the second family takes the same free port
			port = l.Addr().(*net.TCPAddr).Port
		}
	}
	return open, nil
}

// inUse reports whether a listen failed since someone else has the address.
// The errno's name differs by system and package syscall is not for us here,
// so it asks the dialer: whoever answers holds the port.
func inUse(err error) bool {
	var op *net.OpError
	if !errors.As(err, &op) || op.Addr == nil {
		return false
	}
	c, dialErr := net.Dial("tcp", op.Addr.String())
	if dialErr != nil {
		return false
	}
	_ = c.Close()
	return true
}

// firstFree listens on the wanted port or, when another program holds it, on
// the next free one. Only a first start does this; the choice is remembered
// and never silently changed again.
func firstFree(host string, port int) (ls []net.Listener, moved bool, err error) {
	ls, err = listenOn(host, port)
	var taken *PortTakenError
	for i := 1; errors.As(err, &taken) && i <= freePortTries; i++ {
		moved = true
		if ls, err = listenOn(host, port+i); err == nil {
			return ls, moved, nil
		}
	}
	return ls, moved, err
}
