package engine

import (
	"context"
	"net"
	"strings"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/budget"
	"bellwether/engine/fleet"
	"bellwether/engine/queue"
	"bellwether/engine/store"
	"bellwether/platform/desktop"
)

// Status is the engine's state as status and the admin API show it.
func (e *Engine) Status() *admin.Status {
	snap, queues, health := e.registry.Snapshot(), e.queue.Status(), e.store.Health()
	// What this machine is right now comes from its agent, not from the last
	// heartbeat: a pause must show at once.
	s := &admin.Status{
		Version: e.opts.Version, At: time.Now(), Uptime: time.Since(e.started).Seconds(), Address: e.address,
		Router: admin.RouterStatus{Name: e.conf().Node.Name, Here: true},
		Nodes:  []admin.NodeStatus{}, Runtimes: []admin.RuntimeStatus{}, Queues: []admin.QueueStatus{}, Held: len(queues.Held),
		MemoryAssumedResident: []fleet.DeploymentID{}, Pools: []admin.PoolStatus{}, Contracts: e.contractStatus(),
		Store: admin.StoreStatus{Dropped: health.Dropped, Reason: health.Reason},
	}
	lanes := map[fleet.DeploymentID]queue.LaneStatus{}
	for _, l := range queues.Lanes {
		lanes[l.Deployment] = l
		if l.Running+l.Waiting > 0 {
			s.Queues = append(s.Queues, admin.QueueStatus{Deployment: l.Deployment, Running: l.Running, Waiting: l.Waiting})
		}
	}
	for i := range snap.Nodes {
		n := snap.Nodes[i]
		if n.Local {
			n.Heartbeat = e.agent.Heartbeat()
		}
		e.addNode(s, &n, lanes)
	}
	if len(snap.Nodes) == 0 {
		s.Node = admin.NodeStatus{ID: e.nodeID, Name: e.conf().Node.Name, State: "starting", Reason: "it looks for runtimes"}
	}
	return s
}

// addNode adds a node. What runs and waits there is the router's word: it knows
// both at once, and a heartbeat tells of what ran up to 5 s ago.
func (e *Engine) addNode(s *admin.Status, n *fleet.Node, lanes map[fleet.DeploymentID]queue.LaneStatus) {
	line := admin.NodeOf(n, time.Now())
	s.Nodes = append(s.Nodes, line)
	if n.Local {
		s.Node = line
	}
	for _, rt := range n.Runtimes {
		r := admin.RuntimeStatus{Node: n.Name, RuntimeState: rt, Models: []admin.ModelStatus{}}
		for i := range n.Deployments {
			if d := &n.Deployments[i]; d.ID.Runtime == rt.Name {
				m := modelStatus(d, lanes[d.ID])
				e.addKnowledge(&m, d)
				if !rt.Up {
					m.Degraded = "its runtime is down" // what is known of it is from before
				}
				r.Models = append(r.Models, m)
			}
		}
		s.Runtimes = append(s.Runtimes, r)
	}
	for _, p := range n.Pools {
		s.Pools = append(s.Pools, admin.PoolStatus{Node: n.Name, Pool: p})
		held := budget.Sum(&p)
		s.MemoryReservedGB += float64(held.Reserved+held.Uncertain) / fleet.GB
		for _, h := range p.Holders {
			if h.Kind == fleet.HoldAssumed {
				s.MemoryAssumedResident = append(s.MemoryAssumedResident, h.Deployment)
			}
		}
	}
}

func modelStatus(d *fleet.Deployment, l queue.LaneStatus) admin.ModelStatus {
	m := admin.ModelStatus{
		Deployment: d.ID, Residency: d.Residency, WeightsBytes: d.WeightsBytes, MemoryBytes: d.ResidentBytes,
		Context: d.LoadedContext, Capabilities: d.Capabilities, Running: l.Running, Waiting: l.Waiting,
		ExpiresAt: d.ExpiresAt, Degraded: d.Degraded,
	}
	if m.Context == 0 {
		m.Context = d.MaxContext
	}
	return m
}

// findings are the doctor's checks of the engine's own parts.
func (e *Engine) findings() []admin.Finding {
	var found []admin.Finding
	host, want, err := splitListen(e.conf().Listen)
	have := e.listeners[0].Addr().(*net.TCPAddr).Port
	switch {
	case err == nil && want != have && want != 0:
		found = append(found, e.portTaken(want))
	default:
		found = append(found, finding("port", "ok", "", "Apps are served at %s.", e.address))
	}
	if ip := net.ParseIP(host); ip != nil && !ip.IsLoopback() && len(e.conf().Security.APIKeys) == 0 {
		found = append(found, finding("keys", "warning", "Add a key under security.api_keys, or listen on localhost.",
			"The endpoint listens beyond this machine, but no API key is set, so nobody there can use it."))
	}
	found = append(found, storeFinding(e.store.Health()))
	found = append(found, e.settingsFindings()...)
	found = append(found, e.clashFindings()...)
	found = append(found, e.fleetPolicy.news.findings(e.fleetPolicy.Current())...)
	return append(found, e.contractFindings()...)
}

// portTaken says who holds the port that apps look at first. What they send
// there comes by nobody of ours.
func (e *Engine) portTaken(want int) admin.Finding {
	owner, err := desktop.OwnerOfPort(context.Background(), want)
	if err != nil {
		return finding("port", "note", "Point apps at "+e.address+", or start Bellwether with --listen "+e.conf().Listen+" where it is free by now.",
			"Another program held port %d at the first start, so apps are served at %s.", want, e.address)
	}
	return finding("port", "note", "Point apps at "+e.address+", or end it and start Bellwether with --listen "+e.conf().Listen+".",
		"%s holds port %d, so apps are served at %s; requests sent to port %d are not shown here.", owner.Name, want, e.address, want)
}

// storeFinding says whether decision records reach the disk, and what helps
// when they do not.
func storeFinding(h store.Health) admin.Finding {
	if h.OK {
		return finding("store", "ok", "", "Decision records are kept.")
	}
	return finding("store", "broken", strings.TrimPrefix(h.Remedy+". Requests are served all the same.", ". "),
		"Decision records are not being written (%d lost so far): %s.", h.Dropped, h.Reason)
}
