package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"bellwether/engine/admin"
	"bellwether/engine/agent"
)

// pullView shows a pull as the admin UI lists it.
func pullView(node string, j *agent.Job) admin.JobView {
	v := admin.JobView{
		ID: j.ID, Kind: j.Kind, NodeID: node, Runtime: j.Runtime, Model: j.Model,
		State: "running", Step: j.Progress.Status, StartedAt: j.StartedAt.UTC(), Error: jobWords(j.Error, j.Remedy), Lines: []admin.JobLine{},
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
	case j.Cancelled:
		v.State = "cancelled"
	case j.Error != "":
		v.State = "failed"
	default:
		full := 100.0
		v.State, v.Percent = "done", &full
	}
	v.Step = ""
	ended := j.EndedAt.UTC()
	v.EndedAt = &ended
	return v
}

// jobWords are what a job ended with, a clause, and what helps.
func jobWords(clause, remedy string) string {
	if clause == "" {
		return ""
	}
	return strings.TrimSpace(sentenceOf(strings.TrimRight(clause, ". ")) + ". " + remedy)
}

// jobsChanged is told that a job began or ended.
func (e *Engine) jobsChanged() {
	e.feed.JobsChanged()
	select {
	case e.jobNews <- struct{}{}:
	default: // which jobs there are is looked at once that is read
	}
}

// keepJobs keeps which jobs are under way, whenever that changes, until ctx ends:
// what ends with this process, killed or stopped, is told by the next one.
func (e *Engine) keepJobs(ctx context.Context) error {
	for {
		under := slices.DeleteFunc(e.jobs(), func(j admin.JobView) bool { return j.EndedAt != nil })
		text, err := json.Marshal(under)
		if err == nil {
			err = e.store.SaveJobs(text)
		}
		if err != nil {
			e.log.Warn("a restart will not tell of the pulls and evals under way: they could not be kept", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-e.jobNews:
		}
		if ctx.Err() != nil {
			return nil // what ends from now on ends with the process
		}
	}
}

// goesOn says what to do about a job that was broken off, by kind.
var goesOn = map[string]string{
	"pull":  "Pull it again: it goes on where it broke off.",
	"eval":  "Measure it again: it goes on where it broke off.",
	"probe": "Probe it again.",
}

// formerJobs are those that the process before this one did not live to end.
func (e *Engine) formerJobs() []admin.JobView {
	text, err := e.store.LoadJobs()
	var jobs []admin.JobView
	if err == nil && len(text) > 0 {
		err = json.Unmarshal(text, &jobs)
	}
	if err != nil {
		e.log.Warn("which pulls and evals the last stop broke off could not be read", "err", err)
	}
	now := e.started.UTC()
	for i := range jobs {
		j := &jobs[i]
		j.State, j.Step, j.EndedAt, j.Cancellable = "failed", "", &now, false
		j.Error = "Bellwether ended while it ran. " + goesOn[j.Kind]
		e.log.Warn("the last stop broke off a "+j.Kind, "model", j.Model, "remedy", goesOn[j.Kind])
	}
	return jobs
}
