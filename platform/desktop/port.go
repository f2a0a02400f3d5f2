package desktop

import (
	"context"
	"errors"
	"time"

	"github.com/shirou/gopsutil/v3/net"
	"github.com/shirou/gopsutil/v3/process"
)

// PortOwner is the program that listens on a TCP port of this machine.
type PortOwner struct {
	PID  int32
	Name string // of its executable, without a path
}

// ErrNoOwner means that nothing listens on the port, or that the system does
// not tell this user who does.
var ErrNoOwner = errors.New("the port's owner is not known")

// OwnerOfPort asks the system who listens on a TCP port. It may take some
// hundred milliseconds, and gives up after two seconds.
func OwnerOfPort(ctx context.Context, port int) (PortOwner, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conns, err := net.ConnectionsWithContext(ctx, "tcp")
	if err != nil {
		return PortOwner{}, errors.Join(ErrNoOwner, err)
	}
	for _, c := range conns {
		if c.Status != "LISTEN" || int(c.Laddr.Port) != port || c.Pid == 0 {
			continue
		}
		owner := PortOwner{PID: c.Pid}
		if p, err := process.NewProcessWithContext(ctx, c.Pid); err == nil {
			owner.Name, _ = p.NameWithContext(ctx)
		}
		return owner, nil
	}
	return PortOwner{}, ErrNoOwner
}
