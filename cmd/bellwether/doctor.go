package main

import (
	"context"
	"errors"
	"strings"

	"bellwether/app"
	"bellwether/assets"
	"bellwether/engine"
	"bellwether/engine/admin"
)

type doctorCmd struct{}

func (doctorCmd) Run(e *environ) error {
	client, err := e.engine()
	var findings []admin.Finding
	if err == nil {
		err = client.call("GET", "/admin/doctor", nil, &findings)
	}
	var c *codedError
	switch {
	case errors.As(err, &c) && c.code == exitNoEngine:
		findings = e.examine(err)
	case err != nil:
		return err
	}
	if f, said := app.TrayFinding(context.Background()); said { // of the session that asks, which the engine may not be in
		findings = append(findings, f)
	}
	if e.cli.JSON {
		if err := e.json(findings); err != nil {
			return err
		}
	} else {
		e.printFindings(findings)
	}
	if c != nil {
		return coded(exitNoEngine, "")
	}
	for _, f := range findings {
		if f.Severity == "broken" || f.Severity == "warning" {
			return coded(exitDegraded, "")
		}
	}
	return nil
}

// examine looks at the machine where no engine can be asked; absent says why not.
func (e *environ) examine(absent error) []admin.Finding {
	findings := []admin.Finding{{ID: "engine", Severity: "broken", Text: absent.Error()}}
	config, folders, err := (&settingFlags{}).load(e)
	if err != nil {
		findings = append(findings, admin.Finding{ID: "settings", Severity: "broken", Text: err.Error()})
	} else if _, err := engine.ReadCatalogue(assets.Catalogue(), config.OwnCatalogue()); err != nil {
		findings = append(findings, admin.Finding{ID: "catalogue", Severity: "broken", Text: "The catalogue is wrong:\n" + err.Error()})
	}
	findings = append(findings, engine.ExaminePolicy(folders)...)
	return append(findings, engine.Examine(context.Background(), config)...)
}

func (e *environ) printFindings(findings []admin.Finding) {
	for _, f := range findings {
		e.printf("%-8s %s\n", strings.ToUpper(f.Severity), strings.ReplaceAll(f.Text, "\n", "\n         "))
		if f.Remedy != "" {
			e.printf("         %s\n", f.Remedy)
		}
	}
}
