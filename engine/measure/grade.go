package measure

import (
	"context"
	"fmt"
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

// Bounds of what is judged, in bytes, so that no answer keeps a grader busy. An
// item's output is limited to far less; what is longer comes from a runtime that
// keeps to no limit.
const (
	mostAnswer = 1 << 20  // of a whole answer, with reasoning that was passed on as text
	mostSpoken = 64 << 10 // of the answer proper
	mostWhy    = 300      // of what is said about it
)

// Grade judges an answer to an item. An error means that it could not be
// judged, which says nothing of the answer; once ctx has ended it is ctx's.
//
// Of an answer that is too long the end is judged where the result stands at the
// end (a number, a word). Others must be there as a whole: too long is wrong.
func (g *Grader) Grade(ctx context.Context, it *Item, answer string) (Verdict, error) {
	if err := ctx.Err(); err != nil {
		return Verdict{}, err
	}
	atEnd := it.Check.Number != "" || it.Check.Word != nil
	if len(answer) > mostAnswer && !atEnd {
		return tooLong(len(answer)), nil
	}
	answer = spoken(lastOf(answer, mostAnswer))
	if len(answer) > mostSpoken && !atEnd {
		return tooLong(len(answer)), nil
	}
	answer = lastOf(answer, mostSpoken)
	if strings.TrimSpace(answer) == "" {
		return Verdict{Why: "the answer is empty"}, nil
	}
	if it.Check.Code != nil {
		return g.Sandbox.grade(ctx, it.Check.Code, answer)
	}
	why := it.Check.kinds()[0].judge(answer)
	v := Verdict{Right: why == "", Why: why}
	if len(why) > mostWhy {
		v.Why = strings.ToValidUTF8(why[:mostWhy], "") + " ..."
	}
	return v, ctx.Err()
}

func tooLong(size int) Verdict {
	return Verdict{Why: fmt.Sprintf("the answer is %d bytes long, more than any right one", size)}
}

// lastOf is the end of a text, at most so many bytes.
func lastOf(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[len(s)-most:], "")
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
