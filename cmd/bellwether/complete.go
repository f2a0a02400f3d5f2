package main

import (
	"os"
	"time"

	"github.com/posener/complete"

	"bellwether/engine/fleet"
	"bellwether/engine/measure"
)

// knownModels completes the names of models that a running engine has; without
// one it completes nothing. Flags are not read yet then, so the folder is the
// variable's or the usual one.
func (e *environ) knownModels(complete.Args) (names []string) {
	e.cli.DataDir = os.Getenv("FLEET_DATA_DIR")
	engine, err := e.engine()
	if err != nil {
		return nil
	}
	engine.patience = time.Second // a shell waits with each key
	all, err := engine.models()
	if err != nil {
		return nil
	}
	seen := map[string]bool{}
	for _, m := range all {
		if key := fleet.CanonicalModel(m.Deployment.Model); !seen[key] {
			seen[key] = true
			names = append(names, m.Deployment.Model)
		}
	}
	return names
}

func suites(complete.Args) []string { return measure.Tasks }
