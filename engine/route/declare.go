package route

import (
	"maps"
	"slices"

	"bellwether/engine/fleet"
)

// Declare lays the operator's declarations and pins over a deployment as its
// runtime reported it. Agents call it before they report, so that everyone
// sees the same; Decide itself sees only the result.
func Declare(p *Policy, d *fleet.Deployment) {
	for _, pinned := range p.PinnedModels {
		d.Pinned = d.Pinned || fleet.SameModel(pinned, d.ID.Model)
	}
	for i := range p.Declarations {
		if said := &p.Declarations[i]; said.covers(d.ID) {
			said.apply(d)
		}
	}
}

// covers matches the glob against the deployment's id and its model's name.
func (s *Declaration) covers(id fleet.DeploymentID) bool {
	return glob(s.Match, id.String()) || glob(s.Match, id.Model) || glob(s.Match, fleet.CanonicalModel(id.Model))
}

func (s *Declaration) apply(d *fleet.Deployment) {
	if len(s.Capabilities) > 0 {
		caps := maps.Clone(d.Capabilities)
		if caps == nil {
			caps = fleet.Capabilities{}
		}
		for name, support := range s.Capabilities {
			caps[name] = fleet.Claim{Support: support, Source: fleet.SourceOperator}
		}
		d.Capabilities = caps
	}
	if s.Context > 0 {
		d.MaxContext = s.Context
	}
	if s.MemoryGB > 0 && d.ResidentBytes == 0 { // what was measured is truer
		d.ResidentBytes = int64(s.MemoryGB * gb)
	}
	for _, tag := range s.Tags {
		if !slices.Contains(d.Tags, tag) {
			d.Tags = append(slices.Clip(d.Tags), tag)
		}
	}
	if s.Identity != "" {
		d.DeclaredIdentity = s.Identity
	}
	if s.Enabled != nil {
		d.Disabled = !*s.Enabled
	}
}
