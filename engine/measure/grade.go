package measure

import (
	"context"
	"regexp"
	"strings"
)

// Verdict is how an answer was judged.
type Verdict struct {
	Right bool
	Why   string // why it is wrong, for people; "" when right
}

// Grader judges answers. It tolerates form (fences, emphasis, separators, a
// sentence around the answer) and never content.
type Grader struct {
	// Sandbox runs code a model wrote; see Sandbox.
	Sandbox Sandbox
}

// Grade judges an answer to an item. An error means that it could not be
// judged, which says nothing of the answer.
func (g *Grader) Grade(ctx context.Context, it *Item, answer string) (Verdict, error) {
	answer = spoken(answer)
	if strings.TrimSpace(answer) == "" {
		return Verdict{Why: "the answer is empty"}, nil
	}
	if it.Check.Code != nil {
		return g.Sandbox.grade(ctx, it.Check.Code, answer)
	}
	why := it.Check.kinds()[0].judge(answer)
	return Verdict{Right: why == "", Why: why}, nil
}

var thought = regexp.MustCompile(`(?s)^\s*<(think|thinking|thought|reasoning)>.*?</(?:think|thinking|thought|reasoning)>`)

// spoken leaves out reasoning that a runtime passed on as text. Of reasoning
// that never ended nothing is an answer.
func spoken(answer string) string {
	answer = strings.ReplaceAll(answer, "\r\n", "\n")
	if cut := thought.FindStringIndex(answer); cut != nil {
		return answer[cut[1]:]
	}
	if _, rest, ok := strings.Cut(answer, "</think>"); ok && !strings.Contains(rest, "</think>") {
		return rest // the opening tag was part of the template
	}
	if strings.HasPrefix(strings.TrimSpace(answer), "<think>") {
		return ""
	}
	return answer
}

var marker = regexp.MustCompile(`(?i)(?:final\s+)?\banswer\b\s*(?:is\b|:|=|：|to\s+[^:\n]{1,60}\s+is\b)\s*:?\s*`)

var boxed = regexp.MustCompile(`\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}`)

// final finds the part of an answer that states the result: what stands in the
// last \boxed{}, else behind the last "answer is" or "Answer:", else the last
// line. found says that it was marked.
func final(answer string) (segment string, found bool) {
	answer = strings.NewReplacer("**", "", "__", "", "`", "").Replace(answer)
	if all := boxed.FindAllStringSubmatch(answer, -1); all != nil {
		return all[len(all)-1][1], true
	}
	if all := marker.FindAllStringIndex(answer, -1); all != nil {
		rest := answer[all[len(all)-1][1]:]
		line, _, _ := strings.Cut(strings.TrimLeft(rest, " \n\t"), "\n")
		return strings.TrimSpace(line), true
	}
	lines := strings.Split(strings.TrimSpace(answer), "\n")
	return strings.TrimSpace(lines[len(lines)-1]), false
}
