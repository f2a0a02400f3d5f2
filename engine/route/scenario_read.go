package route

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

// facts are what a scenario says was measured, by deployment.
type facts struct {
	speeds map[fleet.DeploymentID]evidence.Speeds
	habits map[fleet.DeploymentID]evidence.Habits
}

// fill makes the view's book of the facts, with the keys of its deployments.
func (f *facts) fill(v *View) {
	speeds := map[evidence.Key]evidence.Speeds{}
	habits := map[evidence.ModelKey]evidence.Habits{}
	for i := range v.Fleet.Nodes {
		for k := range v.Fleet.Nodes[i].Deployments {
			d := &v.Fleet.Nodes[i].Deployments[k]
			if s, ok := f.speeds[d.ID]; ok {
				speeds[evidence.KeyOf(d)] = s
			}
			if h, ok := f.habits[d.ID]; ok {
				habits[evidence.ModelKeyOf(d)] = h
			}
		}
	}
	v.Evidence = evidence.NewBook(speeds, habits)
}

func newReader() *reader {
	p := DefaultPolicy()
	p.ToolKey = scenarioKey
	return &reader{
		policy: p,
		view: &View{
			Now: scenarioNow, Fleet: &fleet.Snapshot{Version: 1, At: scenarioNow, Settled: true},
			Lanes: map[fleet.DeploymentID]Lane{}, Pins: map[string]Pin{}, Open: map[fleet.DeploymentID]Circuit{},
		},
		facts: &facts{map[fleet.DeploymentID]evidence.Speeds{}, map[fleet.DeploymentID]evidence.Habits{}},
	}
}

// line reads one line that describes or changes the fleet.
func (r *reader) line(words []string) error {
	word, rest := words[0], words[1:]
	switch word {
	case "policy":
		return readFields(r.policy, rest, policyFields)
	case "unsettled":
		r.view.Fleet.Settled = false
		return nil
	case "settled":
		r.view.Fleet.Settled = true
		return nil
	}
	if len(rest) == 0 {
		return fmt.Errorf("%s needs a name", word)
	}
	name, rest := rest[0], rest[1:]
	switch word {
	case "alias":
		var a Alias
		if r.policy.Aliases == nil {
			r.policy.Aliases = map[string]Alias{}
		}
		err := readFields(&a, rest, aliasFields)
		r.policy.Aliases[strings.ToLower(name)] = a
		return err
	case "profile":
		var weights Weights
		err := readFields(&weights, rest, profileFields)
		r.policy.Profiles[name] = weights
		return err
	case "no_alias":
		delete(r.policy.Aliases, strings.ToLower(name))
		return nil
	case "contract":
		return r.readContract(name, rest)
	case "node":
		return r.readNode(name, rest)
	case "pool", "holds", "runtime", "model", "running", "uncertain":
		return r.readPart(word, name, rest)
	case "lane", "circuit", "closed", "pin", "measured", "habits":
		return r.readState(word, name, rest)
	default:
		return fmt.Errorf("unknown word %q", word)
	}
}

// readNode begins a node, or goes back to one to change it.
func (r *reader) readNode(name string, rest []string) error {
	f := r.view.Fleet
	i := slices.IndexFunc(f.Nodes, func(n fleet.Node) bool { return n.Name == name })
	if i < 0 {
		n := fleet.Node{Heartbeat: fleet.Heartbeat{Node: name, Name: name, Boot: "b1",
			State: fleet.NodeState{OwnRequests: "serve"}}, LastSeen: scenarioNow}
		f.Nodes = append(f.Nodes, n)
		i = len(f.Nodes) - 1
	}
	n := &f.Nodes[i]
	if len(rest) > 0 && rest[0] == "again" { // its state anew, its parts kept
		n.State, n.Liveness, n.LastSeen = fleet.NodeState{OwnRequests: "serve"}, fleet.Alive, scenarioNow
		rest = rest[1:]
	}
	r.node, r.pool = n, nil
	return readFields(n, rest, nodeFields)
}

func (r *reader) readPart(word, name string, rest []string) error {
	if r.node == nil {
		return fmt.Errorf("%s before any node", word)
	}
	switch word {
	case "pool":
		p := fleet.Pool{Name: name, Kind: fleet.PoolUnified}
		if err := readFields(&p, rest, poolFields); err != nil {
			return err
		}
		if p.Total == 0 {
			p.Total = p.Limit
		}
		r.node.Pools = replaceOrAdd(r.node.Pools, p, func(o fleet.Pool) bool { return o.Name == name })
		r.pool = r.node.Pool(name)
		return nil
	case "runtime":
		rt := fleet.RuntimeState{Name: name, Kind: name, Up: true, ObservedAt: scenarioNow}
		if err := readFields(&rt, rest, runtimeFields); err != nil {
			return err
		}
		r.node.Runtimes = replaceOrAdd(r.node.Runtimes, rt, func(o fleet.RuntimeState) bool { return o.Name == name })
		return nil
	case "model":
		return r.readModel(name, rest)
	case "holds":
		return r.readHolder(name, rest)
	default:
		return r.readNumber(word, name, rest)
	}
}

func (r *reader) readModel(name string, rest []string) error {
	id, ok := fleet.ParseDeploymentID(r.node.Node + "/" + name)
	if !ok {
		return fmt.Errorf("want runtime/model, got %q", name)
	}
	d := fleet.Deployment{ID: id}
	if rt := r.node.Runtime(id.Runtime); rt != nil {
		d.Kind = rt.Kind
	}
	if err := readFields(&d, rest, modelFields); err != nil {
		return err
	}
	r.node.Deployments = replaceOrAdd(r.node.Deployments, d, func(o fleet.Deployment) bool { return o.ID == id })
	return nil
}

func (r *reader) readHolder(name string, rest []string) error {
	if r.pool == nil {
		return fmt.Errorf("holds before any pool")
	}
	id, ok := fleet.ParseDeploymentID(r.node.Node + "/" + name)
	if !ok {
		return fmt.Errorf("want runtime/model, got %q", name)
	}
	h := fleet.Holder{Deployment: id, Kind: fleet.HoldResident}
	if err := readFields(&h, rest, holderFields); err != nil {
		return err
	}
	r.pool.Holders = append(r.pool.Holders, h)
	return nil
}

// readNumber reads "running runtime/model 2" and "uncertain runtime/model 90s".
func (r *reader) readNumber(word, name string, rest []string) error {
	id, ok := fleet.ParseDeploymentID(r.node.Node + "/" + name)
	if !ok || len(rest) != 1 {
		return fmt.Errorf("want %s runtime/model value", word)
	}
	if word == "running" {
		n, err := strconv.Atoi(rest[0])
		r.node.Running = with(r.node.Running, id, n)
		return err
	}
	d, err := time.ParseDuration(rest[0])
	r.node.Uncertain = with(r.node.Uncertain, id, d)
	return err
}

func (r *reader) readState(word, name string, rest []string) error {
	if word == "pin" {
		return r.readPin(name, rest)
	}
	id, ok := fleet.ParseDeploymentID(name)
	if !ok {
		return &fleet.IDError{Text: name}
	}
	switch word {
	case "lane":
		var l Lane
		err := readFields(&l, rest, laneFields)
		r.view.Lanes[id] = l
		return err
	case "circuit":
		c := Circuit{Open: true}
		err := readFields(&c, rest, circuitFields)
		r.view.Open[id] = c
		return err
	case "closed":
		delete(r.view.Open, id)
		return nil
	case "measured":
		var s evidence.Speeds
		err := readFields(&s, rest, speedFields)
		r.facts.speeds[id] = s
		return err
	default: // habits
		var h evidence.Habits
		err := readFields(&h, rest, habitFields)
		r.facts.habits[id] = h
		return err
	}
}

// readPin reads "pin session node/runtime/model ago 30s".
func (r *reader) readPin(session string, rest []string) error {
	if len(rest) == 0 {
		return fmt.Errorf("want pin session node/runtime/model")
	}
	id, ok := fleet.ParseDeploymentID(rest[0])
	if !ok {
		return &fleet.IDError{Text: rest[0]}
	}
	p := Pin{Deployment: id, At: scenarioNow}
	err := readFields(&p, rest[1:], pinFields)
	r.view.Pins[session] = p
	return err
}

func replaceOrAdd[T any](all []T, one T, same func(T) bool) []T {
	if i := slices.IndexFunc(all, same); i >= 0 {
		all[i] = one
		return all
	}
	return append(all, one)
}

func with[V any](m map[fleet.DeploymentID]V, id fleet.DeploymentID, v V) map[fleet.DeploymentID]V {
	if m == nil {
		m = map[fleet.DeploymentID]V{}
	}
	m[id] = v
	return m
}

// copyView copies all that later lines may change. Capabilities and holders are
// replaced whole by lines, never changed, so they may be shared.
func copyView(v *View) *View {
	c := *v
	f := *v.Fleet
	f.Nodes = slices.Clone(f.Nodes)
	for i := range f.Nodes {
		n := &f.Nodes[i]
		n.Pools = slices.Clone(n.Pools)
		n.Runtimes = slices.Clone(n.Runtimes)
		n.Deployments = slices.Clone(n.Deployments)
		n.Running = maps.Clone(n.Running)
		n.Uncertain = maps.Clone(n.Uncertain)
		for k := range n.Pools {
			n.Pools[k].Holders = slices.Clone(n.Pools[k].Holders)
		}
	}
	slices.SortFunc(f.Nodes, func(a, b fleet.Node) int { return strings.Compare(a.Node, b.Node) })
	c.Fleet = &f
	c.Lanes = maps.Clone(v.Lanes)
	c.Pins = maps.Clone(v.Pins)
	c.Open = maps.Clone(v.Open)
	return &c
}

func copyPolicy(p *Policy) *Policy {
	c := *p
	c.Aliases = maps.Clone(p.Aliases)
	c.Contracts = maps.Clone(p.Contracts)
	return &c
}
