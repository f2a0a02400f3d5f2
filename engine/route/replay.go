package route

import (
	"slices"
	"strings"
)

// Replay is a recorded decision made again from what it was made from.
type Replay struct {
	Decision *Decision
	Text     string // its explanation now
	Recorded bool   // the scenario holds an explanation to compare with
	Same     bool   // it is the same; true where none was recorded
	// Differences lists where the two explanations differ, in their order.
	Differences []Difference
}

// Difference is one place where a replay differs: the lines that were recorded
// there, and those that stand there now. Either may be missing.
type Difference struct {
	Line     int      `json:"line"` // of the recorded explanation, from 1
	Recorded []string `json:"recorded"`
	Now      []string `json:"now"`
}

// Replay decides the step's request again.
func (s *Step) Replay() Replay {
	d := Decide(s.View, s.Policy, &s.Query)
	r := Replay{Decision: d, Text: d.Explain(), Recorded: s.Want != ""}
	if r.Recorded {
		r.Differences = differences(lines(s.Want), lines(r.Text))
	}
	r.Same = len(r.Differences) == 0
	return r
}

// SameChoice reports whether the replay ends as was recorded, whatever the words
// and numbers of its reasons.
func (s *Step) SameChoice(r *Replay) bool {
	recorded, _, _ := strings.Cut(s.Want, "\n")
	now, _, _ := strings.Cut(r.Text, "\n")
	return strings.TrimSpace(recorded) == strings.TrimSpace(now)
}

func lines(text string) []string {
	return strings.Split(strings.TrimRight(text, "\n"), "\n")
}

// differences compares two texts line by line and gathers what is not in both.
func differences(recorded, now []string) []Difference {
	var out []Difference
	open := false // the last difference goes on
	at := func(line int) *Difference {
		if !open {
			out = append(out, Difference{Line: line + 1, Recorded: []string{}, Now: []string{}})
			open = true
		}
		return &out[len(out)-1]
	}
	common := commonLines(recorded, now)
	i, k := 0, 0
	for i < len(recorded) || k < len(now) {
		switch {
		case i < len(recorded) && k < len(now) && recorded[i] == now[k]:
			i, k, open = i+1, k+1, false
		case k >= len(now) || i < len(recorded) && common[i+1][k] >= common[i][k+1]:
			d := at(i)
			d.Recorded = append(d.Recorded, recorded[i])
			i++
		default:
			d := at(i)
			d.Now = append(d.Now, now[k])
			k++
		}
	}
	return out
}

// commonLines counts, for each pair of places, the most lines that both texts
// have from there on in the same order.
func commonLines(a, b []string) [][]int32 {
	common := make([][]int32, len(a)+1)
	for i := range common {
		common[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for k := len(b) - 1; k >= 0; k-- {
			if a[i] == b[k] {
				common[i][k] = common[i+1][k+1] + 1
			} else {
				common[i][k] = max(common[i+1][k], common[i][k+1])
			}
		}
	}
	return common
}

// IsScenario reports whether a text is meant to be a scenario, rightly written or
// not: its first line that is no comment begins with one of a scenario's words.
func IsScenario(text string) bool {
	for line := range strings.Lines(strings.TrimPrefix(text, byteOrderMark)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0, strings.HasPrefix(words[0], "#"):
		default:
			return slices.Contains(scenarioWords, words[0])
		}
	}
	return false
}

const byteOrderMark = "\ufeff"

// scenarioWords are those a scenario may begin with.
var scenarioWords = []string{
	"policy", "profile", "alias", "no_alias", "contract", "settled", "unsettled", "node", "ask",
	"lane", "circuit", "closed", "pin", "measured", "habits",
}
