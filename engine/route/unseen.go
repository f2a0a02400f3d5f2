package route

import (
	"slices"

	"bellwether/engine/fleet"
)

// unseen returns a runtime that may have models which nobody is known to have,
// as nobody could look at it: whatever there is while a first look is under way,
// and as long as there is none at all while a runtime is down.
func unseen(f *fleet.Snapshot) (x Exclusion, found bool) {
	empty := !slices.ContainsFunc(f.Nodes, func(n fleet.Node) bool { return len(n.Deployments) > 0 })
	for i := range f.Nodes {
		n := &f.Nodes[i]
		for k := range n.Runtimes {
			if rt := &n.Runtimes[k]; n.Liveness != fleet.Offline && (rt.Unseen || empty && !rt.Up) {
				return runtimeDown(n, rt.Name), true
			}
		}
	}
	return x, false
}

// OutOfReach says why a model may well be there that no runtime which is up has,
// if it may: its runtime is down, or there is one that nobody could look at.
func OutOfReach(f *fleet.Snapshot, model string) (x Exclusion, may bool) {
	w := want{name: model, canon: fleet.CanonicalModel(model)}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		for k := range n.Deployments {
			d := &n.Deployments[k]
			if rt := n.Runtime(d.ID.Runtime); n.Liveness != fleet.Offline && !d.Disabled && w.means(d) && (rt == nil || !rt.Up) {
				return runtimeDown(n, d.ID.Runtime), true
			}
		}
	}
	return unseen(f)
}

// runtimeDown is what stands in the way of all that is on a runtime.
func runtimeDown(n *fleet.Node, name string) Exclusion {
	reason := ""
	if rt := n.Runtime(name); rt != nil {
		reason = rt.Reason
	}
	return Exclusion{Code: fleet.CodeNoRuntime, Operands: []any{name, n.Name, reason}, Hold: true}
}
