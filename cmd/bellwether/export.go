package main

import (
	"fmt"
	"net/url"
	"os"

	"bellwether/engine/route"
)

// export writes one request as a scenario: what it needed, on the fleet of
// this moment, with the decision that follows. It holds names and numbers, no
// prompt. In engine/route/testdata/scenarios it becomes a test.
func (c *decisionsCmd) export(e *environ, engine *client) error {
	var rec route.Record
	if err := engine.call("GET", "/admin/decisions/"+url.PathEscape(c.ID), nil, &rec); err != nil {
		return err
	}
	var text []byte
	if err := engine.call("GET", "/admin/snapshot", nil, &text); err != nil {
		return err
	}
	saved, err := route.ReadScenario(string(text))
	if err != nil || len(saved.Steps) == 0 {
		return coded(exitFailed, "the fleet's state cannot be read: %v", err)
	}
	step := &saved.Steps[0]
	q := route.Query{Request: rec.RequestID, Model: rec.RequestedModel, Needs: rec.Requirements, Origin: step.Query.Origin, Arrived: step.View.Now, Attempt: 1}
	out := fmt.Sprintf("# %s asked for %s, which was %s.\n%s", dash(rec.App), rec.RequestedModel, rec.Outcome, route.Write(step.View, step.Policy, &q))
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
	e.printf("Wrote the request as a scenario to %s.\n", c.Export)
	return nil
}
