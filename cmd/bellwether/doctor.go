package main

import (
	"strings"

	"bellwether/engine/admin"
)

type doctorCmd struct{}

func (doctorCmd) Run(e *environ) error {
	engine, err := e.engine()
	if err != nil {
		return err
	}
	var findings []admin.Finding
	if err := engine.call("GET", "/admin/doctor", nil, &findings); err != nil {
		return err
	}
	bad := false
	for _, f := range findings {
		bad = bad || f.Severity == "broken" || f.Severity == "warning"
	}
	if e.cli.JSON {
		if err := e.json(findings); err != nil {
			return err
		}
	} else {
		for _, f := range findings {
			e.printf("%-8s %s\n", strings.ToUpper(f.Severity), f.Text)
			if f.Remedy != "" {
				e.printf("         %s\n", f.Remedy)
			}
		}
	}
	if bad {
		return coded(exitDegraded, "")
	}
	return nil
}
