package engine

import (
	"fmt"
	"slices"
	"strings"

	"bellwether/engine/agent"
)

// checkPools tells of limits that were set for a pool which this machine does
// not have, and so limit nothing.
func checkPools(s *scene) (out []check) {
	n := s.local()
	if n == nil || len(n.Pools) == 0 {
		return nil
	}
	var there []string
	for i := range n.Pools {
		there = append(there, n.Pools[i].Name)
	}
	for _, p := range s.config.Pools {
		if p.Name == "" || slices.Contains(there, p.Name) {
			continue
		}
		out = append(out, found("pool.unknown."+p.Name, isWarning, "Memory pool "+p.Name, "Name the pool "+strings.Join(there, " or ")+", or leave its name out: then it is the one that models go to first.",
			"The settings limit a pool %s, and this machine has none of that name: those limits do nothing.", p.Name).about("pools"))
	}
	return out
}

// unknownPools says, a sentence each, which limits are for a pool that no
// machine has, whatever it is made of.
func (c *Config) unknownPools() (out []string) {
	names := agent.PoolNames()
	for i, p := range c.Pools {
		if p.Name == "" || slices.Contains(names, p.Name) || len(out) == mostNotes {
			continue
		}
		entry := fmt.Sprintf("pools[%d]", i)
		out = append(out, fmt.Sprintf("%s%s is for a pool %s, which no machine has, so it limits nothing: pools are %s; "+poolWarning,
			entry, c.inLine(entry), p.Name, strings.Join(names, ", ")))
	}
	return out
}

// poolWarning ends the warning of a pool that no machine has.
const poolWarning = "leave the name out for the one that models go to first"
