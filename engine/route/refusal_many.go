package route

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// aboutModel are the checks whose words blame one model. Of a request that could
// be served by several that says nothing of the others.
var aboutModel = map[fleet.Code]bool{
	fleet.CodeCapability: true, fleet.CodeAliasConstraint: true, fleet.CodeRole: true, fleet.CodeDisabled: true,
	fleet.CodeMemory: true, fleet.CodeAdmission: true, fleet.CodeFailedBefore: true,
}

// byManyModels words a refusal of a request that several models might have served,
// or that left the choice to an alias: what is true of all of them, else what is
// in the way of the nearest, called so. x is the check of the nearest.
func (d *Decision) byManyModels(p *dialect.Problem, q *Query, x Exclusion) {
	if !aboutModel[x.Code] || d.Alias == "" && len(q.Fallbacks) == 0 {
		return
	}
	models, same := d.modelsOut(x)
	what := fmt.Sprintf("none of the %s models asked for", comma(int64(len(models))))
	if d.Alias != "" && len(q.Fallbacks) == 0 {
		what = fmt.Sprintf("none of the %s models of %s", comma(int64(len(models))), q.Model)
	}
	name := cmp.Or(capabilityNames[fleet.Capability(x.text(1))], x.text(1))
	if x.Code == fleet.CodeCapability && d.Alias != "" && len(same) == len(models) && x.text(2) == fleet.No.String() {
		p.Remedy = fmt.Sprintf("Leave it out of the request, or give %s a model that supports %s; `bellwether models show %s` lists those it may choose.", q.Model, name, q.Model)
	}
	if len(models) < 2 {
		return
	}
	unknown := slices.IndexFunc(same, func(x Exclusion) bool { return x.text(2) == fleet.Unknown.String() })
	switch {
	case len(same) < len(models):
		p.Message = what + " can serve this request; the nearest: " + Render(x).Reason + "."
	case x.Code == fleet.CodeCapability && unknown >= 0:
		p.Message = what + " is known to support " + name + "."
		_, p.Remedy = Sentences(same[unknown])
	case x.Code == fleet.CodeCapability:
		p.Message = what + " supports " + name + "."
	case x.Code == fleet.CodeAliasConstraint:
		p.Message = what + " has what the alias demands: " + x.text(1) + "."
	default:
		p.Message = what + " can serve this request; the nearest: " + Render(x).Reason + "."
	}
}

// modelsOut returns the models that were looked at, by name, and the check of
// each that has the same in its way as x has: the same ability, the same demand.
func (d *Decision) modelsOut(x Exclusion) (models []string, same []Exclusion) {
	lacks := map[string]*Exclusion{}
	for _, id := range slices.SortedFunc(maps.Keys(d.Exclusions), fleet.DeploymentID.Compare) {
		if id.Runtime == anyRuntime {
			continue // a machine without it
		}
		name := fleet.CanonicalModel(id.Model)
		for _, y := range d.Exclusions[id] {
			if y.Code == x.Code && y.text(1) == x.text(1) && lacks[name] == nil {
				lacks[name] = &y
			}
		}
		if _, met := lacks[name]; !met {
			lacks[name] = nil
		}
	}
	models = slices.Sorted(maps.Keys(lacks))
	for _, name := range models {
		if y := lacks[name]; y != nil {
			same = append(same, *y)
		}
	}
	return models, same
}
