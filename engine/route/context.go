package route

import (
	"math/bits"

	"bellwether/engine/fleet"
)

// usualContext is the window a runtime loads with when nobody says otherwise.
const usualContext = 4096

// kindOllama is the runtime whose context is set with each load; others fix it
// when they start.
const kindOllama = "ollama"

// contextPlan is the window the request would run in.
type contextPlan struct {
	need   int  // input + output + reasoning
	offers int  // settable maximum, 0 = unknown
	send   int  // tokens per slot to load with or keep, 0 = the runtime's own
	size   int  // the window in force then, 0 = unknown
	reload bool // loaded with another window, which the request cannot use
	// doubt is set when the need is over the window by our estimate alone, of the
	// prompt or of what is thought and answered: it serves where nothing else does.
	doubt bool
}

// settable is the largest window the deployment can be given, 0 = unknown.
func settable(d *fleet.Deployment) int {
	if d.Kind != kindOllama && d.LoadedContext > 0 {
		return d.LoadedContext
	}
	return max(d.MaxContext, d.LoadedContext)
}

// cuts reports whether a runtime cuts an input that is too long, so that its
// length is no reason to refuse it.
func (n *Requirements) cuts(d *fleet.Deployment) bool { return n.Truncates && d.Kind == kindOllama }

// CountSettles reports whether what a runtime counted of a prompt that was too
// long says all of a deployment that was granted a window (0 = its runtime's
// own): it can be loaded with a larger one, or has none that is large enough.
func CountSettles(d *fleet.Deployment, granted, counted int) bool {
	most := settable(d)
	return most > 0 && counted >= most || d.Kind == kindOllama && counted > granted
}

// planContext chooses the window (routing.md 3, context_protection). What is
// loaded stays as it is whenever the request fits: another num_ctx than the
// loaded one makes Ollama load the whole model again, and the next app's
// request once more.
//
//  1. A client's num_ctx no larger than what is loaded is dropped (strip).
//  2. A larger one, or a need that does not fit, is a reload.
//  3. warn and passthrough send the client's num_ctx on as it is.
//  4. Not loaded yet: the runtime's own if that is enough, else the next power
//     of two, so that a growing conversation reloads rarely.
//  5. In memory with a window nobody has seen yet: nothing is sent that the
//     usual window holds; it was just loaded, and no smaller.
func (j *judge) planContext(c *cand) {
	t := c.Tokens
	p := &c.ctx
	p.need = t.Input + t.Output + t.Reasoning
	p.offers = settable(c.dep)
	j.shrink(c)
	p.doubt = p.offers > 0 && p.need > p.offers && c.mayFit(p.offers)
	loaded, inMemory := 0, c.state == fleet.Loaded || c.state == fleet.Loading
	if inMemory {
		loaded = c.dep.LoadedContext
	}
	if c.dep.Kind != kindOllama {
		p.size = p.offers
		return
	}
	asked := j.q.Needs.NumCtx
	if asked > 0 && p.offers > 0 && asked > p.offers {
		asked = p.offers
		c.note("num_ctx_capped")
	}
	if asked > 0 && j.p.ContextProtection != "strip" { // 3
		p.send, p.size = asked, asked
		p.reload = loaded > 0 && asked != loaded
		if p.reload && j.p.ContextProtection == "warn" {
			c.note("num_ctx_reload")
		}
		return
	}
	least := p.need
	if j.q.Needs.cuts(c.dep) {
		least = 0
	}
	switch {
	case loaded > 0 && max(least, asked) <= loaded: // 1
		p.send, p.size = loaded, loaded
		if asked > 0 && asked != loaded {
			c.note("num_ctx_dropped")
		}
	case loaded > 0: // 2
		p.send = stepUp(max(least, asked, loaded), p.offers)
		p.size = p.send
		p.reload = p.send != loaded
		if asked > loaded {
			c.note("num_ctx_reload")
		}
	case max(least, asked) > usualContext: // 4
		p.send = stepUp(max(least, asked), p.offers)
		p.size = p.send
	case inMemory: // 5
		if asked > 0 {
			c.note("num_ctx_dropped")
		}
	case asked > 0:
		p.send, p.size = asked, asked
		if asked < least {
			p.send, p.size = usualContext, usualContext
		}
	}
}

// lessContext takes a smaller window where memory has no room for that of the
// whole need, if the request may fit it: the loaded one, else the least that is
// ever chosen. False where it cannot, or where that spares too little.
func (j *judge) lessContext(c *cand, short Exclusion) bool {
	less := usualContext
	if c.inMemory() {
		less = c.dep.LoadedContext
	}
	if c.ctx.send <= less || j.q.Needs.NumCtx > less || !c.mayFit(less) {
		return false
	}
	spared := c.mem.need - j.ledgerNeed(c, less)
	if !c.inMemory() && short.number(2)-spared > short.number(3) {
		return false
	}
	c.ctx = contextPlan{need: c.ctx.need, offers: less, send: less, size: less, doubt: true}
	c.note("context_doubtful")
	return true
}

// shrink lets a request whose length is guessed into a window that holds its
// prompt and a usual answer: agents ask for thousands of tokens as a habit, and
// how long a model thinks nobody knows before. What the model was seen to take
// is not shrunk.
func (j *judge) shrink(c *cand) {
	p, t, task := &c.ctx, &c.Tokens, j.q.Needs.PrimaryTask
	left := p.offers - t.Input
	if p.offers == 0 || p.need <= p.offers || left < min(t.Output, usualOutput) {
		return
	}
	if c.habits.ReasoningAt(task).N < fewAnswers {
		t.Reasoning = min(t.Reasoning, max(0, left-t.Output))
	}
	if c.habits.OutputAt(task).N < fewAnswers {
		t.Output = min(t.Output, max(usualOutput, left-t.Reasoning))
	}
	p.need = t.Input + t.Output + t.Reasoning
}

// mayFit reports whether a window is not surely too small. How long the answer
// and the thinking before it become is a guess, whoever makes it, and refuses
// nobody: a runtime answers as far as its window goes.
func (c *cand) mayFit(window int) bool { return c.least+c.shortAnswer(window) <= window }

// shortAnswer is what a prompt must leave of a window: agents shorten their
// history only when told to, and an answer of a few words would not tell them.
func (c *cand) shortAnswer(window int) int {
	return min(c.Tokens.Output, usualOutput, window/leastShare)
}

// leastShare is which part of a window is left for the shortest answer.
const leastShare = 16

// overlong is by how many tokens the prompt is too long by our estimate; none
// or less where it is what is thought and answered that may not fit.
func (c *cand) overlong() int {
	return c.Tokens.Input + c.shortAnswer(c.ctx.offers) - c.ctx.offers
}

// stepUp is the smallest power of two that holds n, but never above the
// settable maximum (0 = unknown).
func stepUp(n, most int) int {
	step := usualContext
	if n > step {
		step = 1 << bits.Len(uint(n-1))
	}
	if most > 0 {
		return min(step, most)
	}
	return step
}

// likelyInput is how much of the window the prompt takes; of one that was let in
// although our estimate is over it, the least that it may be.
func (c *cand) likelyInput() int {
	if c.ctx.doubt && c.overlong() > 0 {
		return c.least
	}
	return c.Tokens.Input
}

// outputLimit is the output limit to send, 0 = leave it as asked.
//
//  1. A model that thinks gets a limit that leaves room for it, where the
//     client set one without counting the thinking in: else all of a small
//     limit goes into reasoning and the answer is empty.
//  2. Never more than the window leaves: agents ask for 32,000 as a habit.
func (j *judge) outputLimit(c *cand) (limit int, note string) {
	n := &j.q.Needs
	asked := n.OutputAsked
	if asked == 0 || n.Role == RoleEmbedding || n.LoadOnly {
		return 0, ""
	}
	thinks := !n.ThinkOff && n.ThinkBudget == 0 && c.dep.Can(fleet.CapThinking).Support == fleet.Yes
	if limit = asked; thinks && j.p.ThinkingOverhead > 1 { // 1
		limit = max(int(float64(asked)*j.p.ThinkingOverhead), j.p.ThinkingMinPredict)
	}
	if c.ctx.size > 0 { // 2
		limit = min(limit, max(1, c.ctx.size-c.likelyInput()))
	}
	switch {
	case limit < asked:
		return limit, "output_clamped"
	case limit > asked:
		return limit, "thinking_room"
	default:
		return 0, ""
	}
}
