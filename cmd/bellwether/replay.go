package main

import (
	"strings"

	"bellwether/engine/route"
)

// replayed is what explain says of a scenario: every request of it decided again,
// offline, from the fleet the scenario itself describes.
type replayed struct {
	Scenario string         `json:"scenario"` // the file, - = standard input
	Same     bool           `json:"same"`
	Steps    []replayedStep `json:"steps"`
}

type replayedStep struct {
	Line     int           `json:"line"` // of the request in the file
	Story    []string      `json:"story,omitempty"`
	Model    string        `json:"model"`
	Verdict  route.Verdict `json:"verdict"`
	Chosen   string        `json:"chosen,omitempty"`
	Recorded bool          `json:"recorded"` // there is an explanation to compare with
	Same     bool          `json:"same"`
	// SameChoice is set where it ends as recorded, whatever differs else.
	SameChoice  bool               `json:"same_choice"`
	Differences []route.Difference `json:"differences"`
	Record      *route.Record      `json:"record"`
	Text        string             `json:"text"` // as the scenario has it, with codes
	told        string             // for people
}

// replay decides a scenario's requests again and says whether the decisions are
// those it holds. It ends with exitFailed where one is not.
func (c *explainCmd) replay(e *environ, text string) error {
	if c.Live || c.Snapshot != "" || c.Session != "" || c.App != "" || c.Protocol != "auto" {
		return coded(exitUsage, "%s is a scenario, which holds its own fleet and request: leave out --live, --snapshot, --session, --app and --protocol", c.File)
	}
	scenario, err := route.ReadScenario(text)
	if err != nil {
		return coded(exitFailed, "%s is a scenario and cannot be read: %w", c.File, err)
	}
	if len(scenario.Steps) == 0 {
		return coded(exitFailed, "%s is a scenario that asks for nothing: it has no line that begins with ask", c.File)
	}
	all := replayed{Scenario: c.File, Same: true}
	for i := range scenario.Steps {
		step := &scenario.Steps[i]
		r := step.Replay()
		s := replayedStep{Line: step.Line(), Story: step.Story, Model: step.Query.Model, Verdict: r.Decision.Verdict, Recorded: r.Recorded, Same: r.Same,
			SameChoice: !r.Recorded || step.SameChoice(&r), Differences: r.Differences, Record: route.ToRecord(r.Decision, &step.Query), Text: r.Text, told: r.Decision.Tell()}
		if s.Differences == nil {
			s.Differences = []route.Difference{}
		}
		if s.Verdict == route.Serve {
			s.Chosen = r.Decision.Chosen.String()
		}
		all.Same = all.Same && r.Same
		all.Steps = append(all.Steps, s)
	}
	if e.cli.JSON {
		err = e.json(&all)
	} else {
		e.printReplay(&all)
	}
	if err == nil && !all.Same {
		return coded(exitFailed, "")
	}
	return err
}

func (e *environ) printReplay(all *replayed) {
	for i := range all.Steps {
		s := &all.Steps[i]
		if i > 0 {
			e.printf("\n")
		}
		for _, line := range s.Story {
			e.printf("# %s\n", line)
		}
		if len(all.Steps) > 1 {
			e.printf("line %d, ask %s\n", s.Line, s.Model)
		}
		e.printf("%s", s.told)
		switch {
		case !s.Recorded:
			e.printf("no decision is recorded to compare with\n")
		case s.Same:
			e.printf("same decision as recorded\n")
		default:
			e.printDifferences(s)
		}
	}
}

func (e *environ) printDifferences(s *replayedStep) {
	what := "another decision than recorded"
	if s.SameChoice {
		what = "the same choice as recorded, for other reasons"
	}
	e.printf("%s; it differs in:\n", what)
	for _, d := range s.Differences {
		e.printf("  line %d of the explanation\n", d.Line)
		for _, line := range d.Recorded {
			e.printf("    recorded: %s\n", strings.TrimSpace(line))
		}
		for _, line := range d.Now {
			e.printf("    now:      %s\n", strings.TrimSpace(line))
		}
	}
}
