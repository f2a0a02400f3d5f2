package engine

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// uiDesk answers what else the admin UI asks.
type uiDesk struct{ e *Engine }

// Using says who asks: requests under way by app, and the keys.
func (d uiDesk) Using() (map[string]int, []admin.KeyView) {
	keys := []admin.KeyView{}
	for _, k := range d.e.conf().Security.APIKeys {
		keys = append(keys, admin.KeyView{Name: k.Name, Manage: k.May(RightManage), MaxRequests: k.Limits.MaxInFlight, Batch: k.Limits.Priority == "batch"})
	}
	return d.e.queue.Status().Apps, keys
}

// Named says what an alias or an embedding contract stands for.
func (d uiDesk) Named(name string) *admin.NameStatus {
	return named(d.e.policy.Load(), d.e.registry.Snapshot(), name)
}

// Plan says what loading a model on a node would take, by the same code that
// decides about requests: as a request that only loads. Nothing is done.
func (d uiDesk) Plan(node, pool, model string) (*admin.EvictionPlan, *dialect.Problem) {
	e, no := d.e, false
	v := e.queue.View()
	if v == nil || v.Fleet == nil {
		return nil, &dialect.Problem{Status: http.StatusServiceUnavailable, Code: "stopping", Message: "The engine is stopping."}
	}
	v.Now, v.Evidence = time.Now(), e.evidence.Book()
	n := nodeNamed(v.Fleet, node)
	if n == nil || n.Pool(pool) == nil {
		return nil, &dialect.Problem{Status: http.StatusNotFound, Code: "no_such_pool", Message: "No machine " + printableName(node) + " with a pool " + printableName(pool) + " is known.", Retry: &no}
	}
	dep := deploymentNamed(n, model)
	if dep == nil {
		return nil, &dialect.Problem{Status: http.StatusNotFound, Code: "no_such_model", Message: n.Name + " has no model " + printableName(model) + ".", Remedy: "Pull it first.", Retry: &no}
	}
	role := route.RoleChat
	if dep.Can(fleet.CapChat).Support != fleet.Yes && dep.Can(fleet.CapEmbedding).Support == fleet.Yes {
		role = route.RoleEmbedding
	}
	q := route.Query{Request: "plan", Model: dep.ID.String(), Origin: e.nodeID, Arrived: v.Now, Attempt: 1, Probing: true,
		Needs: route.Requirements{Role: role, LoadOnly: true, NoFallback: true, App: "bellwether/plan"}}
	return planView(v, route.Decide(v, e.policy.Load(), &q), n, dep, pool), nil
}

// planView puts a dry run's decision into the words of the memory page.
func planView(v *route.View, decision *route.Decision, n *fleet.Node, dep *fleet.Deployment, pool string) *admin.EvictionPlan {
	out := &admin.EvictionPlan{Deployment: dep.ID.String(), Pool: pool, Evict: []admin.VictimView{}}
	room, known := roomOf(n.Pool(pool))
	if known {
		out.FreeBytes = &room
	}
	need := decision.Plan.Need
	if need == 0 {
		need = max(dep.ResidentBytes, dep.WeightsBytes)
	}
	if need > 0 {
		out.NeedBytes = &need
	}
	name := dep.ID.Model
	switch {
	case dep.Residency == fleet.Loaded || dep.Residency == fleet.Loading:
		out.Verdict, out.Text = "loaded", name+" is in memory already."
	case decision.Verdict == route.Serve && len(decision.Plan.Evict) > 0:
		out.Verdict = "evict"
		var names []string
		for _, id := range decision.Plan.Evict {
			names = append(names, id.Model)
			out.Evict = append(out.Evict, victimView(n, id))
		}
		gone := strings.Join(names, " and ") + " would be unloaded for it."
		if rt := n.Runtime(dep.ID.Runtime); rt != nil && rt.MaxLoaded > 0 && known && need <= room {
			out.Text = fmt.Sprintf("There is room for %s, but %s keeps at most %s in memory: %s", name, rt.Name, models(rt.MaxLoaded), gone)
			break
		}
		out.Text = fmt.Sprintf("Loading %s takes %s, and there is too little room: %s", name, amount(need), gone)
	case decision.Verdict == route.Serve:
		out.Verdict, out.Text = "fits", fmt.Sprintf("Loading %s takes %s, and there is room.", name, amount(need))
	default:
		out.Verdict = "never"
		if decision.Verdict == route.Hold {
			out.Verdict = "wait"
		}
		out.Text = name + " cannot be loaded now."
		for _, x := range decision.Exclusions[dep.ID] {
			r := route.Render(x)
			out.Text = fmt.Sprintf("%s cannot be loaded now: %s.", name, strings.TrimSuffix(r.Reason, "."))
			out.Remedy = sentence(r.Remedy)
			break
		}
	}
	return out
}

// roomOf is what a pool has left for models: by its budget, below the margin,
// and by what the system has to spare.
func roomOf(p *fleet.Pool) (bytes int64, known bool) {
	switch left := p.Limit - p.Margin - p.Held(); {
	case p.Limit <= 0:
		return p.Free.V, p.Free.Known
	case p.Free.Known:
		return max(0, min(left, p.Free.V)), true
	default:
		return max(0, left), true
	}
}

func models(n int) string {
	if n == 1 {
		return "1 model"
	}
	return fmt.Sprintf("%d models", n)
}

func victimView(n *fleet.Node, id fleet.DeploymentID) admin.VictimView {
	v := admin.VictimView{Deployment: id.String()}
	if d := n.Deployment(id); d != nil {
		if d.ResidentBytes > 0 {
			v.Bytes = &d.ResidentBytes
		}
		if !d.LoadedAt.IsZero() {
			at := d.LoadedAt.UTC()
			v.LoadedAt = &at
		}
	}
	return v
}

func nodeNamed(f *fleet.Snapshot, name string) *fleet.Node {
	for i := range f.Nodes {
		if n := &f.Nodes[i]; n.Node == name || strings.EqualFold(n.Name, name) {
			return n
		}
	}
	return nil
}

// deploymentNamed finds a node's deployment by its id or its model's name.
func deploymentNamed(n *fleet.Node, name string) *fleet.Deployment {
	for i := range n.Deployments {
		if d := &n.Deployments[i]; d.ID.String() == name || fleet.SameModel(d.ID.Model, name) {
			return d
		}
	}
	return nil
}

// printableName keeps what a caller wrote short and on one line.
func printableName(s string) string {
	if len(s) > 80 {
		s = s[:80] + "..."
	}
	return fmt.Sprintf("%q", s)
}

func amount(n int64) string {
	if n <= 0 {
		return "an unknown amount of memory"
	}
	return fleet.Bytes(n)
}

// Dismiss puts a finding aside that tells of a wish.
func (d uiDesk) Dismiss(ctx context.Context, finding string) error {
	no := false
	for _, f := range d.e.checks(ctx) {
		switch {
		case f.ID != finding:
		case f.dismiss == nil:
			return &dialect.Problem{Status: http.StatusConflict, Code: "not_dismissable", Retry: &no,
				Message: "This tells how things stand, and goes when they change: it cannot be dismissed.", Remedy: f.Remedy}
		case f.dismiss():
			return nil
		}
	}
	return &dialect.Problem{Status: http.StatusNotFound, Code: "no_such_finding", Retry: &no,
		Message: "There is no such finding.", Remedy: "It may have passed meanwhile."}
}

// Cure does what helps against a finding.
func (d uiDesk) Cure(ctx context.Context, finding string) error {
	for _, f := range d.e.checks(ctx) {
		if f.ID != finding {
			continue
		}
		if f.cure == nil {
			break
		}
		return f.cure(ctx)
	}
	no := false
	return &dialect.Problem{Status: http.StatusNotFound, Code: "no_cure", Retry: &no,
		Message: "There is no such finding, or no button that helps against it.", Remedy: "It may have passed meanwhile."}
}
