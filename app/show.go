package app

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"bellwether/app/tray"
	"bellwether/engine"
	"bellwether/engine/admin"
	"bellwether/engine/fleet"
)

// show puts what the feed told into the tray's words.
func (p *picture) show() tray.State {
	s := tray.State{
		Version: p.engine.Version, Name: p.engine.NodeName, Address: p.engine.Address,
		Active: p.engine.ActiveRequests, Held: p.engine.HeldRequests,
		Router: p.engine.RouterName, Routes: p.engine.RouterHere,
	}
	if n, there := p.nodes[p.engine.NodeID]; there {
		s.Node = machine(&n)
		s.Paused, s.Why, s.Running = n.Paused, n.PauseReason, n.RunningRequests
		s.Meeting = n.Meeting == fleet.Yes
		if n.PausedSince != nil {
			s.Since = n.PausedSince.Local()
		}
		if n.PausedUntil != nil {
			s.Until = n.PausedUntil.Local()
		}
	}
	for _, n := range p.nodes {
		s.Machines = append(s.Machines, machine(&n))
	}
	slices.SortFunc(s.Machines, func(a, b tray.Machine) int {
		return cmp.Or(first(b.Here)-first(a.Here), fleet.Natural(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	s.Models = p.models()
	for id := range p.findings {
		s.Stuck = s.Stuck || strings.HasPrefix(id, engine.LoopFinding)
	}
	l := &p.engine.Login
	s.Login = loginLine(l.Known, l.On, l.Can, l.Reason)
	return s
}

// models are those in memory, this machine's first.
func (p *picture) models() []tray.Model {
	var out []tray.Model
	for _, id := range slices.Sorted(maps.Keys(p.deployments)) {
		d := p.deployments[id]
		if d.Residency != fleet.Loaded.String() {
			continue
		}
		m := tray.Model{ID: id, Name: d.Model}
		if d.ResidentBytes != nil {
			m.Bytes = *d.ResidentBytes
		}
		lane := p.lanes[id]
		m.Busy = lane.RunningRequests + lane.WaitingRequests
		if d.NodeID != p.engine.NodeID {
			m.Machine = cmp.Or(p.nodes[d.NodeID].Name, d.NodeID)
		}
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(a, b tray.Model) int {
		return cmp.Or(fleet.Natural(a.Machine, b.Machine), fleet.Natural(a.Name, b.Name))
	})
	return out
}

func machine(n *admin.NodeView) tray.Machine {
	return tray.Machine{ID: n.ID, Name: n.Name, State: n.State, Reason: n.Reason, Here: n.Local}
}

func first(b bool) int {
	if b {
		return 1
	}
	return 0
}
