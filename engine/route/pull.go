package route

import (
	"maps"
	"slices"
	"strings"

	"bellwether/engine/fleet"
)

// Refuse codes: why a request got no place, for clients and records.
const (
	RefuseUnknownModel = "model_not_found"
	RefuseUnknownNode  = "unknown_node"
	RefuseContext      = "context_length_exceeded"
	RefuseCapability   = "unsupported_capability"
	RefuseField        = "unsupported_parameter"
	RefuseRemoteImage  = "remote_image"
	RefuseMemory       = "insufficient_memory"
	RefuseDeadline     = "deadline_too_short"
	RefuseUnavailable  = "model_unavailable"
	RefuseHeldOut      = "no_capacity"
	// RefuseAskPull is the refuse code of a request that waits for its owner's
	// leave to pull the model.
	RefuseAskPull = "waiting_for_approval"

	// The dispatcher's own refusals.
	RefuseAppLimit     = "app_limit"
	RefuseBackPressure = "back_pressure"
	RefuseRetries      = "retries_exhausted"
	RefuseUnused       = "grant_unused"
	RefuseStopping     = "shutting_down"
)

// giveUp ends what neither a place nor waiting can serve: pull, ask, refuse.
func (j *judge) giveUp() {
	d := j.d
	d.Verdict = Refuse
	if !j.anyKnown() {
		d.OtherCodes = nil // nothing is in anybody's way: the name is nobody's
		if j.unknownTemper() || j.absentDeployment() {
			return
		}
		target := j.pullTarget()
		switch {
		case target == nil:
		case j.p.AutoPull == "on":
			d.Verdict = Pull
			d.Chosen = *target
			d.Model = j.q.Model
			j.reason("pull", j.q.Model, j.nodeName(target.Node))
			return
		case j.p.AutoPull == "ask":
			d.Status, d.RefuseCode = 503, RefuseAskPull
			role := j.q.Needs.Role
			j.reason("ask_pull", j.q.Model, strings.Join(nearest(j.v.Fleet, j.q.Model, role), ", "), fewOf(installed(j.v.Fleet, role)), j.chooser())
			return
		}
		d.Status, d.RefuseCode = 404, RefuseUnknownModel
		j.unknown()
		return
	}
	if j.q.Needs.Node != "" && j.wrongNode() {
		return
	}
	d.Status, d.RefuseCode = j.refusal()
}

// unknownTemper: auto has some tempers, and this is none of them. Nobody means a
// model of that name, so none is fetched.
func (j *judge) unknownTemper() bool {
	const auto = "auto:"
	if !strings.HasPrefix(strings.ToLower(j.q.Model), auto) {
		return false
	}
	var there []string
	for name := range j.p.Aliases {
		if name == "auto" {
			there = append(there, name, "auto:balanced")
		} else if strings.HasPrefix(name, auto) {
			there = append(there, name)
		}
	}
	if len(there) == 0 {
		return false
	}
	slices.Sort(there)
	j.d.Status, j.d.RefuseCode = 404, RefuseUnknownModel
	j.reason("unknown_temper", j.q.Model, strings.Join(slices.Compact(there), ", "), strings.Join(slices.Sorted(maps.Keys(j.p.Profiles)), ", "))
	return true
}

// absentDeployment: the name is the id of a deployment on a machine of the fleet,
// which has no such one. It is no name to fetch a model by.
func (j *judge) absentDeployment() bool {
	id, ok := fleet.ParseDeploymentID(j.q.Model)
	if !ok {
		return false
	}
	i := slices.IndexFunc(j.nodes, func(n nodeView) bool { return n.isCalled(id.Node) })
	if i < 0 {
		return false
	}
	n := &j.nodes[i]
	var there []string
	for k := range n.Deployments {
		there = append(there, n.Deployments[k].ID.Runtime+"/"+n.Deployments[k].ID.Model)
	}
	slices.Sort(there)
	j.d.Status, j.d.RefuseCode = 404, RefuseUnknownModel
	j.reason("absent_deployment", n.Name, id.Runtime+"/"+id.Model, fewOf(there))
	return true
}

// canPull reports whether the request's model could be fetched by its name: it
// looks like one, and some runtime fetches models.
func (j *judge) canPull() bool {
	return pullable(j.q.Model) && slices.ContainsFunc(j.nodes, func(n nodeView) bool { return pulls(n.Node) })
}

func (j *judge) hasChatModel() bool {
	return slices.ContainsFunc(j.nodes, func(n nodeView) bool {
		return slices.ContainsFunc(n.Deployments, func(d fleet.Deployment) bool { return d.Can(fleet.CapChat).Support != fleet.No })
	})
}

// wrongNode: the request names a node that is not there or lacks the model.
func (j *judge) wrongNode() bool {
	name := j.q.Needs.Node
	var all, having []string
	exists := false
	for i := range j.nodes {
		n := &j.nodes[i]
		all = append(all, n.Name)
		has := slices.ContainsFunc(j.cands, func(c *cand) bool { return c.node == n })
		if n.isCalled(name) && has {
			return false
		}
		exists = exists || n.isCalled(name)
		if has {
			having = append(having, n.Name)
		}
	}
	if !exists {
		slices.Sort(all)
		j.d.Status, j.d.RefuseCode = 400, RefuseUnknownNode
		j.reason("unknown_node", name, fewOf(all))
		return true
	}
	slices.Sort(having)
	j.d.Status, j.d.RefuseCode = 404, RefuseUnknownModel
	j.reason("absent_there", name, fewOf(having))
	return true
}

// unknown says why nothing by that name can serve, and what there is.
func (j *judge) unknown() {
	role := j.q.Needs.Role
	all := 0
	for i := range j.v.Fleet.Nodes {
		all += len(j.v.Fleet.Nodes[i].Deployments)
	}
	switch {
	case j.alias != nil && j.alias.open():
		tags, lacking := strings.Join(j.alias.Tags, ", "), ""
		if j.hasChatModel() {
			lacking = tags
		}
		j.reason("alias_empty", j.d.Alias, tags, lacking)
	case j.alias != nil:
		j.reason("alias_absent", j.d.Alias, fewOf(j.alias.Models))
	case all == 0:
		j.reason("fleet_empty", j.q.Model)
	default:
		j.reason("unknown_model", j.q.Model, strings.Join(nearest(j.v.Fleet, j.q.Model, role), ", "), fewOf(installed(j.v.Fleet, role)), all, j.canPull(), j.chooser())
	}
}

// chooser is the name by which a chat request has a model chosen, "" where there
// is none or nothing to choose.
func (j *judge) chooser() string {
	const auto = "auto"
	if a, _ := j.p.AliasFor(auto); a == nil || j.q.Needs.Role != RoleChat || !j.hasChatModel() {
		return ""
	}
	return auto
}

// pullTarget is where the first choice would be fetched to, nil if it may not
// be: only a model named by the request, only by callers with the right, only
// from listed registries; on a node that is at hand and may work for it, the
// one with the most free memory.
func (j *judge) pullTarget() *fleet.DeploymentID {
	n := &j.q.Needs
	if j.p.AutoPull != "on" && j.p.AutoPull != "ask" || !n.MayPull || j.alias != nil ||
		!pullable(j.q.Model) || !slices.Contains(j.p.AutoPullAllow, registryOf(j.q.Model)) {
		return nil
	}
	var best *fleet.DeploymentID
	var most int64 = -1
	for i := range j.nodes {
		node := &j.nodes[i]
		if len(node.out) > 0 || j.localOnly() && node.Node.Node != j.q.Origin {
			continue
		}
		for k := range node.Runtimes {
			rt := &node.Runtimes[k]
			if rt.Kind != kindOllama || !rt.Up {
				continue
			}
			var free int64
			if p := node.pool(rt.Pool); p != nil {
				free = p.available
			}
			id := fleet.DeploymentID{Node: node.Node.Node, Runtime: rt.Name, Model: j.q.Model}
			if free > most || free == most && id.Compare(*best) < 0 {
				best, most = &id, free
			}
		}
	}
	return best
}

// registryOf is the host a model's name is fetched from, "" = the library.
func registryOf(name string) string {
	first, _, more := strings.Cut(name, "/")
	if more && strings.ContainsAny(first, ".:") {
		return strings.ToLower(first)
	}
	return ""
}

// pullable guards against names that are none before anything is fetched.
func pullable(name string) bool {
	if name == "" || len(name) > 200 || strings.Contains(name, "..") {
		return false
	}
	for _, c := range name {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune("._-/:", c):
		default:
			return false
		}
	}
	return true
}

// refusal names the cause of a refusal by the candidate that is nearest to
// serving: the fewest checks in its way that waiting does not cure, then list
// order. Of those the first in the order of the checks counts.
func (j *judge) refusal() (status int, code string) {
	var nearest *cand
	least := 0
	for _, c := range j.cands {
		n := 0
		for _, x := range c.out {
			if !x.Hold {
				n++
			}
		}
		if n > 0 && (nearest == nil || n < least) {
			nearest, least = c, n
		}
	}
	if nearest == nil {
		return 503, RefuseUnavailable
	}
	for _, x := range nearest.out {
		if !x.Hold {
			j.d.Decisive = &Exclusion{x.Code, x.Operands, x.Hold}
			return statusOf(x)
		}
	}
	return 503, RefuseUnavailable
}

func statusOf(x Exclusion) (status int, code string) {
	switch x.Code {
	case fleet.CodeContext:
		return 400, RefuseContext
	case fleet.CodeCapability, fleet.CodeRole, fleet.CodeAliasConstraint:
		return 400, RefuseCapability
	case fleet.CodeFieldNotHonoured:
		return 400, RefuseField
	case fleet.CodeRemoteImage:
		return 400, RefuseRemoteImage
	case fleet.CodeMemory:
		return 503, RefuseMemory
	case fleet.CodeAdmission:
		if kind, _ := x.operand(0).(string); kind == admitDeadline {
			return 503, RefuseDeadline
		}
		return 503, RefuseMemory
	case fleet.CodeIdentityUnknown, fleet.CodeIdentityDiffers:
		return 503, RefuseSpace
	case fleet.CodeFailedBefore:
		return 502, RefuseUnavailable
	default:
		return 503, RefuseUnavailable
	}
}

func (j *judge) nodeName(id string) string { return j.d.nodeName(id) }
