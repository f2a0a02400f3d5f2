package agent

import (
	"maps"
	"slices"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/pulse"
)

// checkHangs tells which looks do not come back. Each is begun anew by itself,
// and what it reads is as old as the finding says.
func (s *state) checkHangs() (out []Finding) {
	now := s.now()
	look := func(id string, r *pulse.Round, what, remedy string) {
		if since := r.Hung(now); !since.IsZero() {
			out = append(out, Finding{"hang." + id, Warning, what + " since " + fleet.Moment(since.In(time.Local), now) + "; it is tried again by itself", remedy})
		}
	}
	look("senses", &s.sensing, "this machine's load, memory, battery and heat have not been read",
		"see whether a tool of the system hangs (nvidia-smi, pmset); restart the machine if it cannot be ended")
	look("discovery", &s.discovering, "the look for runtimes has not come back", "name them under runtimes, then it is not needed")
	for _, name := range slices.Sorted(maps.Keys(s.servers)) {
		srv := s.servers[name]
		look("runtime-"+name, &srv.polling, "the look at "+name+" at "+srv.target.URL+" has not come back", "see whether the disk with its models answers; restart "+name)
	}
	return out
}
