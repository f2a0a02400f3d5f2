package agent

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"bellwether/engine/fleet"
	"bellwether/platform/sense"
)

// mayReport holds the first report back until every runtime was looked at
// once, or for a little while: a router that hears "no models" believes it.
func (s *state) mayReport() bool {
	if s.hello {
		return true
	}
	ready := !s.discovering.Under()
	for _, srv := range s.servers {
		ready = ready && srv.tried
	}
	if !ready && s.now().Before(s.helloBy) {
		return false
	}
	s.hello = true
	return true
}

// report tells the fleet how the node stands.
func (s *state) report() {
	now := s.now()
	s.sequence++
	h := s.heartbeat(now)
	s.dirty, s.refused, s.retryDue = false, false, time.Time{}
	s.beatDue = now.Add(heartbeatEvery)
	s.a.last.Store(&h)
	s.a.cfg.Report(h)
}

// heartbeat is the node's state as values; nothing in it is shared with the loop.
func (s *state) heartbeat(now time.Time) fleet.Heartbeat {
	h := fleet.Heartbeat{
		Node: s.a.cfg.Node, Name: s.a.cfg.Name, Boot: s.a.boot, Sequence: s.sequence,
		IncludesGrant: s.grants.included(now),
		State:         s.nodeState(),
		Hardware:      s.hardware(),
		Readings:      s.live(),
		Pools:         s.poolsNow(),
		Uncertain:     s.ledger.Uncertain(now),
	}
	for _, name := range slices.Sorted(maps.Keys(s.servers)) {
		srv := s.servers[name]
		h.Runtimes = append(h.Runtimes, s.runtimeState(srv))
		for _, d := range srv.models {
			h.Deployments = append(h.Deployments, s.deployment(srv, d))
		}
	}
	s.nameTwins(h.Deployments)
	slices.SortFunc(h.Deployments, func(a, b fleet.Deployment) int { return a.ID.Compare(b.ID) })
	for id, l := range s.lanes {
		if n := l.running(); n > 0 {
			if h.Running == nil {
				h.Running = map[fleet.DeploymentID]int{}
			}
			h.Running[id] = n
		}
	}
	return h
}

func (s *state) runtimeState(srv *server) fleet.RuntimeState {
	r := fleet.RuntimeState{
		Name: srv.name, Kind: srv.target.Kind, Version: srv.version, Up: srv.up, Reason: srv.reason,
		Pool: s.mainPool(), MaxLoaded: srv.maxLoaded(), ObservedAt: srv.observedAt, Unseen: !srv.tried,
	}
	if srv.adapter != nil {
		r.Kind = srv.adapter.Target().Kind
	}
	return r
}

// deployment completes a deployment with the agent's newest knowledge.
func (s *state) deployment(srv *server, d *fleet.Deployment) fleet.Deployment {
	out := *d
	out.Residency = s.residency(srv, d)
	l := s.lanes[d.ID]
	if l == nil {
		return out
	}
	out.LoadedAt, out.UnloadedAt = l.loadedAt, l.unloadedAt
	out.LoadedContext = s.loadedContext(srv, d)
	if out.Slots == 0 {
		out.Slots = srv.target.Parallel
	}
	out.Degraded = cmp.Or(l.pace.note(), out.Degraded)
	return out
}

func (s *state) nodeState() fleet.NodeState {
	return fleet.NodeState{
		Paused: s.pause.On, PauseReason: s.pause.Reason, PausedSince: s.pause.Since, PausedUntil: s.pause.Until,
		Draining:  s.draining,
		OnBattery: tri(s.readings.OnBattery), Meeting: s.meeting(),
		Pressure: s.pressure(),
		Learning: s.set.Learning, Battery: s.set.Battery, OwnRequests: s.set.OwnRequests,
	}
}

// meeting is what others may conclude: with the detection off, nothing.
func (s *state) meeting() fleet.Tri {
	if !s.set.Meetings {
		return fleet.Unknown
	}
	return tri(s.readings.Meeting)
}

func tri(r sense.Reading[bool]) fleet.Tri {
	if !r.Known {
		return fleet.Unknown
	}
	return fleet.TriOf(r.V)
}

// live is what the senses say, for people.
func (s *state) live() fleet.Readings {
	r := s.readings
	out := fleet.Readings{
		CPU:             fleet.Reading[float64]{V: r.Load.V, Known: r.Load.Known},
		MemoryAvailable: fleet.Reading[int64]{V: r.Available.V, Known: r.Available.Known},
		Thermal: fleet.Thermal{Value: string(r.Heat.V), Source: r.Heat.Source, Reason: string(r.Heat.Reason),
			Celsius: fleet.Reading[float64]{V: r.Celsius.V, Known: r.Celsius.Known}},
	}
	if r.Total.Known && r.Available.Known {
		out.MemoryUsed = fleet.Know(max(0, r.Total.V-r.Available.V))
	}
	return out
}

func (s *state) hardware() fleet.Hardware {
	f := s.facts
	h := fleet.Hardware{
		Chip: f.Chip, Cores: f.Cores, MemoryBytes: f.Memory.V,
		BandwidthGBs: fleet.Reading[float64]{V: f.Bandwidth.V, Known: f.Bandwidth.Known},
	}
	if r := s.readings.Total; r.Known && (r.V < h.MemoryBytes || !f.Memory.Known) {
		h.MemoryBytes = r.V
	}
	for _, g := range f.GPUs {
		h.GPUs = append(h.GPUs, fleet.GPU{Name: g.Name, VRAMBytes: fleet.Reading[int64]{V: g.VRAM.V, Known: g.VRAM.Known}})
	}
	return h
}
