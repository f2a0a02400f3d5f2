package engine

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
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

// listen opens the app endpoint. Only the very first start with the default
// address may move to another port; it is remembered, and from then on a taken
// port is an error that says so.
func (e *Engine) listen() error {
	c := e.conf()
	host, port, err := splitListen(c.Listen)
	if err != nil {
		return err
	}
	if c.Source("listen") == "default" {
		saved, known, _ := e.store.Setting(portSetting)
		if n, err := strconv.Atoi(saved); known && err == nil {
			port = n
			e.listeners, err = listenOn(host, port)
			if err != nil {
				return err
			}
		} else if e.listeners, e.moved, err = firstFree(host, port); err != nil {
			return err
		}
	} else if e.listeners, err = listenOn(host, port); err != nil {
		return err
	}
	actual := e.listeners[0].Addr().(*net.TCPAddr).Port
	if err := e.store.SetSetting(portSetting, strconv.Itoa(actual)); err != nil && e.moved {
		e.log.Warn("the port could not be remembered", "err", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && (ip.IsUnspecified() || ip.IsLoopback()) {
		host = "localhost"
	}
	e.address = "http://" + net.JoinHostPort(host, strconv.Itoa(actual))
	return nil
}

func splitListen(s string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(s)
	if err == nil {
		port, err = strconv.Atoi(p)
	}
	if err != nil {
		return "", 0, fmt.Errorf("listen: %q is no address like localhost:11435", s)
	}
	return host, port, nil
}

// adminAddress is where commands of this machine dial: loopback, also when
// the endpoint listens on every address.
func (e *Engine) adminAddress() string {
	a := e.listeners[0].Addr().(*net.TCPAddr)
	host := a.IP.String()
	if a.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(a.Port))
}

// browserAddress is where browsers of this machine find the admin UI: the name
// that apps are shown, where it stands for loopback.
func (e *Engine) browserAddress() string {
	if strings.HasPrefix(e.address, "http://localhost:") {
		return e.address
	}
	return e.adminAddress()
}
