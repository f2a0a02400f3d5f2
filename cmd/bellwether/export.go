package main

import (
	"fmt"
	"net/url"
	"os"

	"bellwether/engine/route"
)

// export writes one decision as a scenario that replays to the same answer:
// what the request needed, and the fleet it was decided on. Where that was not
// kept, the fleet of this moment stands for it, and the scenario says so. It
// holds names and numbers, no prompt. In engine/route/testdata/scenarios it
// becomes a test.
func (c *decisionsCmd) export(e *environ, engine *client) error {
	var rec route.Record
	if err := engine.call("GET", "/admin/decisions/"+url.PathEscape(c.ID), nil, &rec); err != nil {
		return err
	}
	text, story := rec.Scenario, ""
	if text == "" {
		var err error
		if text, err = onTheFleetOfNow(engine, &rec); err != nil {
			return err
		}
		story = "# What it was decided on was not kept: only a sample is when requests come fast.\n" +
			"# The fleet below is that of the export, so the answer may be another" + servedThen(&rec) + ".\n"
	}
	out := fmt.Sprintf("# %s asked for %s, which was %s.\n%s%s", dash(rec.App), rec.RequestedModel, outcome(&rec), story, text)
	if c.Export == "-" {
		e.printf("%s", out)
		return nil
	}
	if err := os.WriteFile(c.Export, []byte(out), 0o600); err != nil {
		return fmt.Errorf("export the scenario: %w", err)
	}
	if e.cli.JSON {
		return e.json(map[string]string{"scenario": c.Export})
	}
	e.printf("Wrote the request as a scenario to %s. To decide it again: bellwether explain %s\n", c.Export, c.Export)
	return nil
}

// servedThen says where a request went, where that is all that is left to compare.
func servedThen(rec *route.Record) string {
	if rec.Chosen == "" {
		return ""
	}
	return ": it was served by " + servedBy(rec)
}

// onTheFleetOfNow is the record's request on the fleet as it is.
func onTheFleetOfNow(engine *client, rec *route.Record) (string, error) {
	var text []byte
	if err := engine.call("GET", "/admin/snapshot", nil, &text); err != nil {
		return "", err
	}
	saved, err := route.ReadScenario(string(text))
	if err != nil || len(saved.Steps) == 0 {
		return "", coded(exitFailed, "the fleet's state cannot be read: %v", err)
	}
	step := &saved.Steps[0]
	q := route.Query{Request: rec.RequestID, Model: rec.RequestedModel, Needs: rec.Requirements, Origin: step.Query.Origin, Arrived: step.View.Now, Attempt: 1}
	return route.Write(step.View, step.Policy, &q), nil
}
