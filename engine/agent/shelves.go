package agent

import (
	"context"
	"maps"
	"net"
	"slices"
	"strconv"

	"bellwether/engine/runtime"
	"bellwether/platform/desktop"
)

// Shelf is where a runtime of this machine keeps its models.
type Shelf struct{ Runtime, Folder string }

// Shelves finds the folders of those that are up, fetch models by themselves and
// listen on this machine; where it is not known, a runtime is left out. It asks
// the system outside the loop, which may take some hundred milliseconds.
func (a *Agent) Shelves(ctx context.Context) (out []Shelf) {
	ports := map[string]int{}
	err := a.ask(ctx, func(s *state) {
		for name, srv := range s.servers {
			if srv.up && s.runtimeState(srv).Kind == runtime.KindOllama && runsHere(srv.target.URL) {
				ports[name] = portOf(srv.target.URL)
			}
		}
	})
	if err != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(ports)) {
		if folder, ok := desktop.OllamaModels(ctx, ports[name]); ok {
			out = append(out, Shelf{name, folder})
		}
	}
	return out
}

// runsHere reports whether an address is one of loopback.
func runsHere(address string) bool {
	u, err := runtime.ParseTarget(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

func portOf(address string) int {
	u, err := runtime.ParseTarget(address)
	if err != nil {
		return 0
	}
	port, _ := strconv.Atoi(u.Port())
	return port
}
