package main

import (
	"os"

	"bellwether/engine/measure"
)

// sandboxCmd is the process in which evals run the code that models wrote. It
// is started by the engine, reads one question and answers it.
type sandboxCmd struct{}

func (sandboxCmd) Run(e *environ) error { return measure.ServeSandbox(e.in, e.out) }

// sandbox is this program as that process; without a way to start itself there
// is none, and coding is not graded.
func sandbox() measure.Sandbox {
	self, err := os.Executable()
	if err != nil {
		return measure.Sandbox{}
	}
	return measure.Sandbox{Command: []string{self, "sandbox"}}
}

// examCmd writes the questions of evals with answers, for stand-in models of
// scripted strength (fakeruntime --exam).
type examCmd struct{}

func (examCmd) Run(e *environ) error {
	for _, task := range measure.Tasks {
		for _, it := range measure.Suite(task) {
			if err := e.jsonLine(map[string]any{"ask": it.Ask, "task": it.Task, "right": it.Right, "wrong": it.Wrong}); err != nil {
				return err
			}
		}
	}
	return nil
}
