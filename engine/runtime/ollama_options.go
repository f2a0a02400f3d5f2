package runtime

import (
	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// common writes what chat and generate share.
func (p *ollamaPlan) common(w *builder, c *Call) {
	r := c.Request
	w.key("stream")
	w.bool(r.Stream)
	if r.Logprobs || r.TopLogs > 0 {
		w.key("logprobs")
		w.bool(true)
		if r.TopLogs > 0 {
			w.key("top_logprobs")
			w.int(int64(r.TopLogs))
		}
	}
	w.rawIf("think", p.think(c))
	w.rawIf("keep_alive", r.KeepAlive)
	p.options(w, c)
}

// think maps effort and budgets. A model without a reasoning channel answers
// 400 to any wish for one, so the wish is dropped and noted.
func (p *ollamaPlan) think(c *Call) dialect.Raw {
	on, set := thinkOn(c.Request.Think)
	if !set {
		return nil
	}
	if c.Deployment.Can(fleet.CapThinking).Support != fleet.Yes {
		if on {
			p.edits = append(p.edits, "thinking left out: the model has none")
		}
		return nil
	}
	if !on {
		return dialect.Raw("false")
	}
	if level := thinkLevel(c.Request.Think); level != "" {
		return dialect.Raw(`"` + level + `"`)
	}
	return dialect.Raw("true")
}

// options writes sampling, limits and the context. What the client did not say
// is not sent: the model's own defaults hold.
func (p *ollamaPlan) options(w *builder, c *Call) {
	r, s := c.Request, &c.Request.Sampling
	w.key("options")
	w.open('{')
	if c.Context > 0 {
		w.key("num_ctx")
		w.int(int64(c.Context))
	}
	limit, edit := outputLimit(c)
	if limit > 0 {
		w.key("num_predict")
		w.int(int64(limit))
	}
	if edit != "" {
		p.edits = append(p.edits, edit)
	}
	w.floatIf("temperature", s.Temperature)
	w.floatIf("top_p", s.TopP)
	w.floatIf("min_p", s.MinP)
	w.intIf("top_k", s.TopK)
	w.floatIf("frequency_penalty", s.FrequencyPenalty)
	w.floatIf("presence_penalty", s.PresencePenalty)
	w.floatIf("repeat_penalty", s.RepeatPenalty)
	if s.Seed != nil {
		w.key("seed")
		w.int(*s.Seed)
	}
	if len(r.Stop) > 0 {
		w.key("stop")
		w.open('[')
		for _, stop := range r.Stop {
			w.str(stop)
		}
		w.shut(']')
	}
	w.shut('}')
	if !s.LogitBias.None() {
		p.edits = append(p.edits, "logit_bias left out: Ollama has none")
	}
}
