package route

import (
	"fmt"
	"strings"
	"time"

	"bellwether/engine/fleet"
)

// Scenario is a story about a fleet and the requests that come to it, as text:
// what the machines have, what is asked, and the explanation expected. The
// tests of this package are written so, `decisions --export` writes one, and
// `explain` reads one.
//
//	# A loaded fallback beats loading the first choice.
//	node studio memory 64GB bandwidth 400
//	  pool unified limit 60GB free 40GB
//	  runtime ollama kind ollama pool unified
//	  model ollama/llama3.3:70b weights 40GB caps llm
//	  model ollama/qwen3:8b weights 5GB loaded 8192 caps llm
//	ask llama3.3:70b in 100 fallbacks qwen3:8b
//	want
//	  serve studio/ollama/qwen3:8b
//	  ...
//
// A line is a word, a name, and keys with values; words with spaces stand in
// quotes. Lines that come after an ask change the fleet for the next one, so a
// file tells what happens in order. Each ask is a Step.
type Scenario struct {
	Steps []Step
	lines []string // as read, for Rewrite
}

// Step is one request on the fleet as it is then. Nothing in it is shared with
// another step.
type Step struct {
	Story  []string // comment lines above it, without the #
	View   *View
	Policy *Policy
	Query  Query
	Want   string // the explanation expected, "" = none given

	line     int // of the ask, from 0
	from, to int // lines of its want block
}

// scenarioNow is the moment all scenarios play at; times in them are relative.
var scenarioNow = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// scenarioKey stands for the fleet's secret, which is never written down.
var scenarioKey = []byte("scenario")

// LineError says what is wrong in which line of a scenario.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }

// ReadScenario reads a scenario. An error is a *LineError.
func ReadScenario(text string) (*Scenario, error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, byteOrderMark), "\r\n", "\n") // an editor's
	s := &Scenario{lines: strings.Split(strings.TrimRight(text, "\n"), "\n")}
	r := newReader()
	for i := 0; i < len(s.lines); i++ {
		line := s.lines[i]
		words, err := splitWords(line)
		if err != nil {
			return nil, &LineError{i + 1, err}
		}
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "#"):
			r.story = append(r.story, strings.TrimPrefix(strings.TrimSpace(line)[1:], " "))
		case len(words) == 0:
		case words[0] == "want":
			last := len(s.Steps) - 1
			if last < 0 {
				return nil, &LineError{i + 1, fmt.Errorf("want without an ask")}
			}
			i = s.readWant(&s.Steps[last], i)
		case words[0] == "ask":
			step, err := r.ask(words[1:])
			if err != nil {
				return nil, &LineError{i + 1, err}
			}
			step.line, step.from, step.to = i, i+1, i+1
			s.Steps = append(s.Steps, *step)
		default:
			if err := r.line(words); err != nil {
				return nil, &LineError{i + 1, err}
			}
		}
	}
	return s, nil
}

// readWant takes the indented lines below a want and returns the last of them.
func (s *Scenario) readWant(step *Step, at int) int {
	end := at + 1
	var text strings.Builder
	for end < len(s.lines) && strings.HasPrefix(s.lines[end], "  ") {
		text.WriteString(s.lines[end][2:] + "\n")
		end++
	}
	step.Want = text.String()
	step.from, step.to = at, end
	return end - 1
}

// Line is where in the scenario the request is asked, from 1.
func (s *Step) Line() int { return s.line + 1 }

// Explain decides the step's request and returns the explanation.
func (s *Step) Explain() string { return Decide(s.View, s.Policy, &s.Query).Explain() }

// Rewrite returns the scenario's text with every want block as it is now.
func (s *Scenario) Rewrite() string {
	var out []string
	at := 0
	for i := range s.Steps {
		step := &s.Steps[i]
		out = append(out, s.lines[at:step.from]...)
		out = append(out, "want")
		for line := range strings.SplitSeq(strings.TrimRight(step.Explain(), "\n"), "\n") {
			out = append(out, "  "+line)
		}
		at = step.to
	}
	out = append(out, s.lines[at:]...)
	return strings.Join(out, "\n") + "\n"
}

// Write writes a decision's whole input and its explanation as a scenario of
// one step. Read back it gives the same explanation. It holds no prompt text
// and no key.
func Write(v *View, p *Policy, q *Query) string {
	w := &writer{v: v, p: p, q: q}
	return w.all()
}

// splitWords splits a line at spaces; quoted words keep theirs.
func splitWords(line string) (words []string, err error) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimLeft(line, " \t") {
		if line[0] != '"' {
			word, rest, _ := strings.Cut(line, " ")
			words = append(words, word)
			line = rest
			continue
		}
		quoted, rest, ok := cutQuoted(line)
		if !ok {
			return nil, fmt.Errorf("a quote is not closed: %s", line)
		}
		words = append(words, quoted)
		line = rest
	}
	return words, nil
}

// reader is the fleet as the lines so far describe it.
type reader struct {
	story  []string
	policy *Policy
	view   *View
	node   *fleet.Node
	pool   *fleet.Pool
	facts  *facts
}

// takeStory returns the comments above a step and begins anew.
func (r *reader) takeStory() []string {
	s := r.story
	r.story = nil
	return s
}
