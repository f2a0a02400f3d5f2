package measure

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"bellwether/engine/dialect"
)

// hostile are answers that a broken or malicious runtime may send.
var hostile = map[string]string{
	"digits":           "Answer: " + strings.Repeat("7", 3_000_000),
	"a long fraction":  "Answer: " + strings.Repeat("7", 30_000) + "/" + strings.Repeat("3", 30_000),
	"groups":           strings.Repeat("1,234", 600_000),
	"boxes":            strings.Repeat(`\boxed{`, 400_000),
	"markers":          strings.Repeat("the answer is ", 200_000),
	"reasoning":        strings.Repeat("<think>", 400_000),
	"lines in a fence": "```js\n" + strings.Repeat("\n", 3_000_000),
	"fences":           strings.Repeat("```js\nfunction f(){}\n```\n", 100_000),
	"braces":           strings.Repeat(`{"a":`, 500_000),
	"words":            strings.Repeat("word ", 600_000),
	"one word":         strings.Repeat("ё", 1_500_000),
	"short fences":     strings.Repeat("```js\nf=1\n```\n", 4_000),
	"short lines":      "```js\n" + strings.Repeat("\n", 60_000),
}

// No answer keeps a grader busy: to judge one is a matter of milliseconds, so a
// second even where the machine is slow.
func TestNoAnswerKeepsAGraderBusy(t *testing.T) {
	checks := map[string]Check{
		"number": {Number: "42"}, "word": {Word: &Word{Is: "yes", Options: []string{"no"}}},
		"json":    {JSON: &JSONValue{Want: map[string]any{"a": 1.0}}},
		"summary": {Summary: &Summary{Facts: [][]string{{"x"}}, MaxWords: 10}},
		"words":   {Words: &Translation{Script: "cyrillic", Terms: [][]string{{"x"}}, Most: 100}},
		"code":    {Code: &Code{Function: "nowhere", Cases: []Case{{}, {}, {}}}},
	}
	for kind, c := range checks {
		for name, answer := range hostile {
			began := time.Now()
			v, err := testGrader().Grade(t.Context(), &Item{Check: c}, answer)
			if took := time.Since(began); took > time.Second {
				t.Errorf("%s as %s: %s", name, kind, took)
			}
			if err != nil || v.Right || len(v.Why) > mostWhy+10 {
				t.Errorf("%s as %s: right %t, %d bytes of why, %v", name, kind, v.Right, len(v.Why), err)
			}
		}
	}
}

// What stands at the end of a long answer is its result all the same.
func TestTheEndOfALongAnswerCounts(t *testing.T) {
	long := strings.Repeat("Let me see. ", 200_000)
	if v := judged(t, Check{Number: "42"}, long+"\nThe answer is 42."); !v.Right {
		t.Errorf("a number: %s", v.Why)
	}
	if v := judged(t, Check{Word: &Word{Is: "yes", Options: []string{"no"}}}, long+"\nAnswer: yes"); !v.Right {
		t.Errorf("a word: %s", v.Why)
	}
	if v := judged(t, Check{JSON: &JSONValue{Want: map[string]any{"a": 1.0}}}, "<think>"+long[:500_000]+"</think>{\"a\": 1}"); !v.Right {
		t.Errorf("JSON behind long reasoning: %s", v.Why)
	}
}

// Who gives an eval up while an answer comes gets it back at once, and nothing is
// taken for judged.
func TestAnEvalThatIsGivenUpJudgesNothingMore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	last := &someone{answer: func(n int, r *dialect.Request, q Question) (*Answer, error) {
		asked++
		cancel() // and the whole answer was there already
		return says(hostile["digits"]), nil
	}}
	_, results, stopped := evaluate(ctx, t, last, journal(t), Wish{Targets: []Target{target("m")}, Tasks: []string{"math"}, Items: 20})
	if asked != 1 || stopped == "" || len(results) != 0 {
		t.Errorf("asked %d times, stopped %q, results %s", asked, stopped, brief(results))
	}
	if _, err := testGrader().Grade(ctx, &Item{Check: Check{Number: "1"}}, "Answer: 1"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
