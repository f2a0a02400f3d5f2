package engine

import (
	"strings"

	"bellwether/engine/admin"
	"bellwether/engine/agent"
)

// pullView shows a pull as the admin UI lists it.
func pullView(node string, j *agent.Job) admin.JobView {
	v := admin.JobView{
		ID: j.ID, Kind: j.Kind, NodeID: node, Runtime: j.Runtime, Model: j.Model,
		State: "running", Step: j.Progress.Status, StartedAt: j.StartedAt.UTC(), Error: j.Error, Lines: []admin.JobLine{},
	}
	if p := j.Progress; p.Total > 0 {
		done := min(p.Completed, p.Total)
		percent := float64(1000*done/p.Total) / 10
		v.CompletedBytes, v.TotalBytes, v.Percent = &done, &p.Total, &percent
	}
	switch {
	case j.EndedAt.IsZero():
		v.Cancellable = true
		return v
	case j.Error == "":
		full := 100.0
		v.State, v.Percent, v.Step = "done", &full, ""
	case strings.Contains(j.Error, "cancelled"):
		v.State, v.Step = "cancelled", ""
	default:
		v.State, v.Step = "failed", ""
	}
	ended := j.EndedAt.UTC()
	v.EndedAt = &ended
	return v
}
