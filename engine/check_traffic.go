package engine

import (
	"maps"
	"slices"
	"time"

	"bellwether/engine/fleet"
)

const (
	heldLong       = 5 * time.Second
	waitingLong    = time.Minute
	failuresWithin = 5 * time.Minute
	failuresOf     = 10  // requests before a share means anything
	failuresShare  = 0.2 // from which it is told
)

// nameOf writes a deployment as people call it.
func (s *scene) nameOf(d fleet.DeploymentID) string {
	name := d.Node
	if n := s.snap.Node(d.Node); n != nil {
		name = n.Name
	}
	return d.Model + " on " + d.Runtime + " of " + name
}

// checkCircuits tells of deployments that failed too often lately.
func checkCircuits(s *scene) (out []check) {
	for _, c := range s.queue.Circuits {
		switch {
		case c.App != "":
			out = append(out, found("circuit."+c.Deployment.Runtime+"/"+c.Deployment.Model, isWarning, "Failures of "+c.Deployment.Model, "Look at the app's last decisions, and at the options it sends; it is let in again by itself.",
				"%s failed with what %s asks of it, and only with that: other apps are served.", s.nameOf(c.Deployment), c.App).of(c.Deployment))
			continue
		case c.RetryIn <= 0:
			out = append(out, found("circuit."+c.Deployment.Runtime+"/"+c.Deployment.Model, isNote, "Failures of "+c.Deployment.Model, "Nothing has to be done; with the next request's success this is over.",
				"%s failed often; the next request tries whether it works again.", s.nameOf(c.Deployment)).of(c.Deployment))
			continue
		}
		out = append(out, found("circuit."+c.Deployment.Runtime+"/"+c.Deployment.Model, isWarning, "Failures of "+c.Deployment.Model, "Look at its last decisions, and at its runtime's own log; it is tried again by itself.",
			"%s failed so often that it gets no requests for %s.", s.nameOf(c.Deployment), lasting(c.RetryIn)).of(c.Deployment))
	}
	return out
}

// checkDoubts tells of calls whose end was not seen.
func checkDoubts(s *scene) (out []check) {
	for i := range s.snap.Nodes {
		n := &s.snap.Nodes[i]
		for _, id := range slices.SortedFunc(maps.Keys(n.Uncertain), fleet.DeploymentID.Compare) {
			out = append(out, found("doubt."+id.Runtime+"/"+id.Model, isNote, "Calls without an end", "It passes by itself; restart the runtime if it is stuck.",
				"The end of a call to %s was not seen, so it may still run: its slot and memory stay taken for %s.", s.nameOf(id), lasting(n.Uncertain[id])).of(id))
		}
	}
	return out
}

// checkHeld tells of requests that nobody can serve now.
func checkHeld(s *scene) []check {
	var models []string
	var left time.Duration
	for _, h := range s.queue.Held {
		if h.Age < heldLong {
			continue
		}
		left = max(left, h.Left)
		if !slices.Contains(models, h.Model) {
			models = append(models, h.Model)
		}
	}
	if len(models) == 0 {
		return nil
	}
	slices.Sort(models)
	return []check{found("held", isWarning, "Requests held", "Resume a machine, start a runtime, or pull the model; Try it under Decisions says what is in the way.",
		"Nobody can serve %s now; who asked waits, at most %s more.", fewOf(models), lasting(left))}
}

// checkLanes tells of queues in which requests wait for long.
func checkLanes(s *scene) (out []check) {
	for _, l := range s.queue.Lanes {
		if l.Waiting == 0 || l.Oldest < waitingLong {
			continue
		}
		out = append(out, found("wait."+l.Deployment.Runtime+"/"+l.Deployment.Model, isWarning, "Queue of "+l.Deployment.Model, "Load it on another machine too, or let apps ask for an alias that has a smaller model.",
			"%d requests wait for %s, the first for %s.", l.Waiting, s.nameOf(l.Deployment), lasting(l.Oldest)).of(l.Deployment))
	}
	return out
}

// checkFailures tells when many requests of the last minutes failed.
func checkFailures(s *scene) []check {
	all, failed := 0, map[string]int{}
	for _, r := range s.recent {
		if s.now.Sub(r.At) > failuresWithin {
			continue
		}
		all++
		switch r.Outcome {
		case fleet.OutcomeFailed, fleet.OutcomeHeldOut, fleet.OutcomeStreamInvalidAfterCommit, fleet.OutcomeTruncated:
			failed[r.RequestedModel]++
		}
	}
	sum := 0
	for _, n := range failed {
		sum += n
	}
	if all < failuresOf || float64(sum) < failuresShare*float64(all) {
		return nil
	}
	return []check{found("failures", isWarning, "Failed requests", "Open them under Decisions: each says why.",
		"%d of the last %d requests failed (%s).", sum, all, fewOf(slices.Sorted(maps.Keys(failed))))}
}
