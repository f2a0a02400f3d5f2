package route

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"bellwether/engine/fleet"
)

// writer writes a decision's input as a scenario. Times become relative to the
// moment of the decision.
type writer struct {
	v *View
	p *Policy
	q *Query
	b strings.Builder
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

func (w *writer) all() string {
	if changed := changedPolicy(w.p); changed != "" {
		w.line("policy%s", changed)
	}
	w.profiles()
	w.aliases()
	for _, name := range slices.Sorted(maps.Keys(w.p.Contracts)) {
		w.line("contract %s%s", quote(name), writeContract(w.p.Contracts[name]))
	}
	if !w.v.Fleet.Settled {
		w.line("unsettled")
	}
	for i := range w.v.Fleet.Nodes {
		w.node(&w.v.Fleet.Nodes[i])
	}
	w.state()
	w.ask()
	w.line("want")
	for line := range strings.SplitSeq(strings.TrimRight(Decide(w.v, w.p, w.q).Explain(), "\n"), "\n") {
		w.line("  %s", line)
	}
	return w.b.String()
}

// profiles writes those whose weights are not the usual ones.
func (w *writer) profiles() {
	usual := DefaultPolicy().Profiles
	for _, name := range slices.Sorted(maps.Keys(w.p.Profiles)) {
		weights := w.p.Profiles[name]
		if u, ok := usual[name]; !ok || u != weights {
			w.line("profile %s%s", quote(name), writeFields(&weights, profileFields))
		}
	}
}

// aliases writes what differs from the built-in ones.
func (w *writer) aliases() {
	builtin := BuiltinAliases()
	for _, name := range slices.Sorted(maps.Keys(w.p.Aliases)) {
		a := w.p.Aliases[name]
		if b, ok := builtin[name]; !ok || !reflect.DeepEqual(a, b) {
			w.line("alias %s%s", quote(name), writeFields(&a, aliasFields))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(builtin)) {
		if _, ok := w.p.Aliases[name]; !ok {
			w.line("no_alias %s", quote(name))
		}
	}
}

func (w *writer) node(n *fleet.Node) {
	c := *n
	c.LastSeen = w.moment(c.LastSeen)
	c.State.PausedUntil = w.moment(c.State.PausedUntil)
	if c.Node == c.Name {
		c.Node = ""
	}
	w.line("node %s%s", quote(n.Name), writeFields(&c, nodeFields))
	for i := range n.Pools {
		p := &n.Pools[i]
		w.line("  pool %s%s", quote(p.Name), writeFields(p, poolFields))
		for k := range p.Holders {
			h := &p.Holders[k]
			w.line("    holds %s%s", quote(local(h.Deployment)), writeFields(h, holderFields))
		}
	}
	for i := range n.Runtimes {
		w.line("  runtime %s%s", quote(n.Runtimes[i].Name), writeFields(&n.Runtimes[i], runtimeFields))
	}
	for i := range n.Deployments {
		d := n.Deployments[i]
		d.LoadedAt, d.UnloadedAt = w.moment(d.LoadedAt), w.moment(d.UnloadedAt)
		w.line("  model %s%s", quote(local(d.ID)), writeFields(&d, modelFields))
	}
	for _, id := range sortedIDs(n.Running) {
		w.line("  running %s %d", quote(local(id)), n.Running[id])
	}
	for _, id := range sortedIDs(n.Uncertain) {
		w.line("  uncertain %s %s", quote(local(id)), n.Uncertain[id])
	}
}

// state writes lanes, circuits, pins and measurements.
func (w *writer) state() {
	for _, id := range sortedIDs(w.v.Lanes) {
		l := w.v.Lanes[id]
		w.line("lane %s%s", quote(id.String()), writeFields(&l, laneFields))
	}
	for _, id := range sortedIDs(w.v.Open) {
		if c := w.v.Open[id]; c.Open {
			c.RetryAt = w.moment(c.RetryAt)
			w.line("circuit %s%s", quote(id.String()), writeFields(&c, circuitFields))
		}
	}
	for _, session := range slices.Sorted(maps.Keys(w.v.Pins)) {
		// A request shows its own pin; one without a session, as in a saved state
		// of the fleet, shows all.
		if mine := w.q.Needs.Session; mine == "" || mine == session {
			pin := w.v.Pins[session]
			pin.At = w.moment(pin.At)
			w.line("pin %s %s%s", quote(session), quote(pin.Deployment.String()), writeFields(&pin, pinFields))
		}
	}
	for i := range w.v.Fleet.Nodes {
		for k := range w.v.Fleet.Nodes[i].Deployments {
			w.measured(&w.v.Fleet.Nodes[i].Deployments[k])
		}
	}
}

func (w *writer) measured(d *fleet.Deployment) {
	if s := w.v.Evidence.Speeds(d); s != nil {
		w.line("measured %s%s", quote(d.ID.String()), writeFields(s, speedFields))
	}
	if h := w.v.Evidence.Habits(d); h != nil {
		w.line("habits %s%s", quote(d.ID.String()), writeFields(h, habitFields))
	}
}

func (w *writer) ask() {
	q := *w.q
	q.Arrived = w.moment(q.Arrived)
	extra := ""
	if who := w.issuer(); who != "" {
		extra = " issuer " + quote(who)
	}
	zeros := ""
	if q.Needs.Tokens.Input == 0 {
		zeros += " in 0"
	}
	if q.Needs.Tokens.Output == 0 {
		zeros += " out 0"
	}
	w.line("ask %s%s%s%s", quote(q.Model), writeFields(&q, queryFields), zeros, extra)
}

// issuer is the identity of the model that made the tool calls: its tag is
// sealed with the fleet's key, which scenarios do not have.
func (w *writer) issuer() string {
	tag := w.q.Needs.IssuedBy
	if tag == "" {
		return ""
	}
	for i := range w.v.Fleet.Nodes {
		for k := range w.v.Fleet.Nodes[i].Deployments {
			if who := w.v.Fleet.Nodes[i].Deployments[k].Identity(); IdentityTag(w.p.ToolKey, who) == tag {
				return who
			}
		}
	}
	return "gone"
}

// moment moves a time so that the decision falls on the scenarios' own moment.
func (w *writer) moment(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return scenarioNow.Add(t.Sub(w.v.Now))
}

func local(id fleet.DeploymentID) string { return id.Runtime + "/" + id.Model }

func sortedIDs[V any](m map[fleet.DeploymentID]V) []fleet.DeploymentID {
	return slices.SortedFunc(maps.Keys(m), fleet.DeploymentID.Compare)
}
