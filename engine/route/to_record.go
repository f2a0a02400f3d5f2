package route

import (
	"slices"

	"bellwether/engine/fleet"
)

// ToRecord begins the record of a request from its decision. The gateway adds
// its protocol, timing, usage and outcome.
func ToRecord(d *Decision, q *Query) *Record {
	r := &Record{
		RequestID: q.Request, At: q.Arrived, ConfigHash: d.ConfigHash, RegistryVersion: d.RegistryVersion,
		RequestedModel: q.Model, Alias: d.Alias, Profile: d.Profile,
		App: q.Needs.App, Tags: q.Needs.Tags, Session: q.Needs.Session,
		Requirements: q.Needs, OtherCodes: d.OtherCodes, Candidates: d.Candidates,
		Evidence: d.Evidence, Reasons: make([]string, 0, len(d.Reasons)),
		FailoverAllowed: d.FailoverAllowed, FailoverNote: d.FailoverNote, Scenario: d.Scenario,
	}
	if d.Verdict == Serve || d.Verdict == Pull {
		r.Chosen = d.Chosen.String()
		r.Node = d.nodeName(d.Chosen.Node)
	}
	for _, reason := range d.Reasons {
		r.Reasons = append(r.Reasons, RenderReason(reason))
	}
	if d.Waited != nil {
		r.Reasons = append(r.Reasons, d.Waited.words())
	}
	if len(d.Exclusions) > 0 {
		r.Exclusions = make(map[fleet.DeploymentID][]RenderedExclusion, len(d.Exclusions))
		for id, all := range d.Exclusions {
			r.Exclusions[id] = RenderAll(all)
		}
	}
	r.Notes = d.chosenNotes()
	if r.Candidates == nil {
		r.Candidates = []Candidate{}
	}
	return r
}

func (d *Decision) chosenNotes() []string {
	for i := range d.Candidates {
		if d.Candidates[i].Deployment == d.Chosen {
			return slices.Clone(d.Candidates[i].Notes)
		}
	}
	return nil
}
