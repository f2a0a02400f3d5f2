package measure

import (
	"context"
	"fmt"
	"strings"

	"bellwether/engine/fleet"
)

// Bounds of the search for the context that is really served.
const (
	leastContext   = 2 << 10  // tokens; less is not worth a question
	mostContext    = 32 << 10 // tokens; more costs minutes on most machines
	contextSeconds = 90.0     // of reading, for one step
	contextAnswer  = 200      // tokens
	contextShare   = 0.8      // of a step that the prompt fills: counts are estimates
)

// context: a word at the start of a prompt, asked for at its end, with more
// and more between. What comes back was read whole; a runtime that cuts long
// prompts drops the start first. Each size is tried once.
func (p *Probe) context(ctx context.Context) outcome {
	if p.Current != nil {
		if d := p.Current(); d != nil {
			p.Target.Deployment = *d
		}
	}
	claim := p.claimed()
	if claim == 0 {
		return skip("nothing is claimed of its context")
	}
	if claim < leastContext {
		return skip("it claims %d tokens only", claim)
	}
	served, last := 0, outcome{}
	for _, size := range steps(claim) {
		if took := float64(size) / speedOf(&p.Target, p.Book).prefill; took > contextSeconds {
			last = skip("%d tokens would take about %.0f s to read", size, took)
			break
		}
		var n int
		if n, last = p.needle(ctx, size); last.support != fleet.Yes {
			break
		}
		served = n
	}
	switch {
	case served == 0:
		return last
	case last.support == fleet.Yes && p.stopped == "" && claim > mostContext:
		last = outcome{reason: fmt.Sprintf("more than %d tokens were not tried, for their cost", mostContext)}
	}
	o := outcome{support: fleet.Yes, value: float64(served), reason: fmt.Sprintf("it read %d tokens whole, of %d claimed", served, claim)}
	if last.support != fleet.Yes && last.reason != "" {
		o.reason += "; " + last.reason
	}
	return o
}

// claimed is the context a question may fill without the model being loaded
// again for it.
func (p *Probe) claimed() int {
	d := &p.Target.Deployment
	if d.LoadedContext > 0 {
		return d.LoadedContext
	}
	return d.MaxContext
}

// steps are the sizes to try: each four times the one before, the last as near
// to the claim as is affordable.
func steps(claim int) (out []int) {
	most := min(claim, mostContext)
	for n := leastContext; n < most*3/4; n *= 4 {
		out = append(out, n)
	}
	return append(out, most)
}

// needle tries one size; n is how many tokens the runtime counted.
func (p *Probe) needle(ctx context.Context, size int) (n int, o outcome) {
	const word = "tangerine-4417"
	words := int(contextShare*float64(size)/p.Book.Calibration(&p.Target.Deployment)) - contextAnswer
	text := "Remember this: the word of the day is " + word + ".\n\n" + filler(words*4) +
		"\n\nWhat is the word of the day that was given at the very beginning? Answer with it alone."
	a, o := p.ask(ctx, steady(say(text), &p.Target.Deployment, contextAnswer))
	if a == nil {
		if p.stopped == "" {
			o = unclear("%d tokens were refused: %s", size, o.reason)
		}
		return 0, o
	}
	n = max(a.Usage.Input, 0)
	if n == 0 {
		n = words
	}
	switch {
	case strings.Contains(a.Reply.Text.String(), "4417"):
		return n, yes("")
	case a.Usage.Input > 0 && a.Usage.Input < words/2:
		return n, unclear("of about %d tokens the runtime read %d: it cuts long prompts", words, a.Usage.Input)
	default:
		return n, unclear("of about %d tokens it did not remember the first ones", words)
	}
}

// filler is about as many characters of plain prose.
func filler(chars int) string {
	lines := [...]string{
		"The river was low that autumn, and the boats lay on their sides along the quay.",
		"In the afternoon the wind turned, and somebody closed the shutters of the mill.",
		"Two carts came up the road with sacks of meal, and a dog ran after them for a while.",
		"Nobody at the inn could say when the bridge would be mended, or who was to pay for it.",
	}
	var b strings.Builder
	for i := 0; b.Len() < chars; i++ {
		fmt.Fprintf(&b, "%d. %s\n", i+1, lines[i%len(lines)])
	}
	return b.String()
}
