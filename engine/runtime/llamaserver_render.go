package runtime

import (
	"fmt"
	"slices"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// llamaPlan is a request as it goes to llama-server.
type llamaPlan struct {
	path string
	outgoing
	edits []string
}

// planLlama writes the request. strict says that the model's template allows a
// system message in first place only.
func planLlama(c *Call, strict bool) (*llamaPlan, error) {
	r := c.Request
	p := &llamaPlan{}
	switch r.Protocol {
	case dialect.OpenAIChat, dialect.OpenAIResponses, dialect.Anthropic, dialect.OllamaChat:
		p.path = "/v1/chat/completions"
		return p, p.chat(c, strict)
	case dialect.OllamaGenerate:
		return p, p.generate(c, strict)
	case dialect.OpenAICompletion:
		return p, p.complete(c)
	case dialect.OpenAIEmbeddings, dialect.OllamaEmbed, dialect.OllamaEmbeddings:
		p.path = "/v1/embeddings"
		return p, p.embed(c)
	}
	return nil, unsupported("requests of " + string(r.Protocol) + " do not run on a runtime")
}

// chat writes a conversation.
func (p *llamaPlan) chat(c *Call, strict bool) error {
	r := c.Request
	if err := checkParts(r); err != nil {
		return err
	}
	return p.conversation(c, r.Messages, strict)
}

func (p *llamaPlan) conversation(c *Call, messages []dialect.Message, strict bool) error {
	r := c.Request
	if strict {
		messages = p.systemFirst(messages)
	}
	w := newBuilder(bodySize(r))
	w.open('{')
	w.key("model")
	w.str(c.Model)
	w.key("messages")
	w.open('[')
	for i := range messages {
		openAIMessage(w, &messages[i])
	}
	w.shut(']')
	p.tools(w, c)
	switch {
	case r.Format.Kind == dialect.FormatSchema && !r.Format.Schema.None():
		w.key("response_format")
		w.open('{')
		w.key("type")
		w.str("json_schema")
		w.key("json_schema")
		w.open('{')
		w.key("name")
		w.str(orElse(r.Format.Name, "answer"))
		w.key("strict")
		w.bool(true)
		w.key("schema")
		w.raw(r.Format.Schema)
		w.shut('}')
		w.shut('}')
	case r.Format.Kind != "": // without a schema it would hold the answer to nothing
		w.key("response_format")
		w.raw(dialect.Raw(`{"type":"json_object","schema":{"type":"object"}}`))
	}
	p.think(w, c)
	p.common(w, c)
	w.shut('}')
	p.built(w)
	return nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// tools writes the tool list and the choice. The server knows auto, none and
// required; an object for one named tool it would take for auto in silence, so
// that tool alone is offered and required. Leave to make several calls at once
// (Codex always gives it) would put it above its own template, which then could
// not read the turn back.
func (p *llamaPlan) tools(w *builder, c *Call) {
	r := c.Request
	tools, choice := r.Tools, r.ToolChoice.Mode
	if len(tools) == 0 {
		return
	}
	if choice == dialect.ChoiceNamed {
		for i := range tools {
			if tools[i].Name == r.ToolChoice.Name {
				tools, choice = tools[i:i+1], dialect.ChoiceRequired
				p.edits = append(p.edits, "tool_choice: only "+r.ToolChoice.Name+" is offered, and required")
				break
			}
		}
	}
	w.key("tools")
	writeTools(w, tools)
	if choice != "" {
		w.key("tool_choice")
		w.str(string(choice))
	}
	switch {
	case r.ParallelTools == nil:
	case *r.ParallelTools && c.Deployment.Can(fleet.CapParallelTools).Support == fleet.No:
		p.edits = append(p.edits, "parallel_tool_calls left out: the model's template holds one call a turn")
	default:
		w.key("parallel_tool_calls")
		w.bool(*r.ParallelTools)
	}
}

// think switches the reasoning channel through the template's own variables,
// beside those the client set itself.
func (p *llamaPlan) think(w *builder, c *Call) {
	r := c.Request
	on, set := thinkOn(r.Think)
	if set && c.Deployment.Can(fleet.CapThinking).Support == fleet.No {
		if on {
			p.edits = append(p.edits, "thinking left out: the model has none")
		}
		set = false
	}
	own := member(r, "chat_template_kwargs")
	if r.Protocol != dialect.OpenAIChat || own.Kind() != '{' {
		own = nil
	}
	if !set && own == nil {
		return
	}
	w.key("chat_template_kwargs")
	w.open('{')
	for m := range dialect.Members(own) {
		if set && (m.Name == "enable_thinking" || m.Name == "reasoning_effort") {
			continue
		}
		w.key(m.Name)
		w.raw(m.Value)
	}
	if set {
		w.key("enable_thinking")
		w.bool(on)
		if level := thinkLevel(r.Think); on && level != "" {
			if level == "max" {
				level = "high"
			}
			w.key("reasoning_effort")
			w.str(level)
		}
	}
	w.shut('}')
}

// extensions are members llama-server reads beyond OpenAI's, passed on where a
// client of that protocol sends them. Not id_slot: slots are the server's own.
var extensions = []string{
	"grammar", "json_schema", "typical_p", "top_n_sigma", "repeat_last_n", "dynatemp_range", "dynatemp_exponent",
	"mirostat", "mirostat_tau", "mirostat_eta", "xtc_probability", "xtc_threshold",
	"dry_multiplier", "dry_base", "dry_allowed_length", "dry_penalty_last_n", "dry_sequence_breakers",
	"n_keep", "n_indent", "t_max_predict_ms", "ignore_eos", "cache_prompt", "samplers", "min_keep", "lora",
	"reasoning_format", "thinking_forced_open", "parse_tool_calls", "add_generation_prompt",
}

// common writes what all generating requests share. What the client did not
// say is not sent: the server's own defaults hold.
func (p *llamaPlan) common(w *builder, c *Call) {
	r, s := c.Request, &c.Request.Sampling
	w.key("stream")
	w.bool(r.Stream)
	if r.Stream {
		w.key("stream_options")
		w.raw(dialect.Raw(`{"include_usage":true}`))
	}
	limit, edit := outputLimit(c)
	if limit > 0 {
		w.key("max_tokens")
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
	if !s.LogitBias.None() {
		w.key("logit_bias")
		w.raw(s.LogitBias)
	}
	if len(r.Stop) > 0 {
		w.key("stop")
		w.open('[')
		for _, stop := range r.Stop {
			w.str(stop)
		}
		w.shut(']')
	}
	p.logprobs(w, r)
	if r.Protocol == dialect.OpenAIChat || r.Protocol == dialect.OpenAICompletion {
		for _, m := range r.Members {
			if slices.Contains(extensions, m.Name) {
				w.key(m.Name)
				w.raw(m.Value)
			}
		}
	}
	if r.NumCtx > 0 && r.NumCtx != c.Deployment.LoadedContext {
		p.edits = append(p.edits, fmt.Sprintf("num_ctx %d left out: llama-server's context is set when it starts", r.NumCtx))
	}
}

func (p *llamaPlan) logprobs(w *builder, r *dialect.Request) {
	if !r.Logprobs && r.TopLogs == 0 {
		return
	}
	if p.path == "/v1/completions" {
		w.key("logprobs")
		w.int(int64(max(1, r.TopLogs)))
		return
	}
	w.key("logprobs")
	w.bool(true)
	if r.TopLogs > 0 {
		w.key("top_logprobs")
		w.int(int64(r.TopLogs))
	}
}

// generate is Ollama's: with the template it is a conversation of one turn,
// raw it is a completion.
func (p *llamaPlan) generate(c *Call, strict bool) error {
	in := c.Request.Prompt
	if in == nil || in.Raw || !in.Suffix.Empty() {
		return p.complete(c)
	}
	p.path = "/v1/chat/completions"
	if !in.Template.Empty() {
		p.edits = append(p.edits, "template left out: llama-server applies the model's own")
	}
	if !in.Context.None() {
		p.edits = append(p.edits, "context left out: token numbers mean nothing on another runtime")
	}
	var messages []dialect.Message
	if !in.System.Empty() {
		messages = append(messages, dialect.Message{Role: dialect.RoleSystem, Parts: []dialect.Part{{Kind: dialect.PartText, Text: in.System}}})
	}
	parts := append([]dialect.Part{{Kind: dialect.PartText, Text: in.Text}}, in.Images...)
	messages = append(messages, dialect.Message{Role: dialect.RoleUser, Parts: parts})
	return p.conversation(c, messages, strict)
}

// complete writes a raw completion, or one between prefix and suffix where the
// model can fill in.
func (p *llamaPlan) complete(c *Call) error {
	r := c.Request
	if r.Prompt == nil {
		return unsupported("a completion without a prompt")
	}
	w := newBuilder(bodySize(r))
	w.open('{')
	w.key("model")
	w.str(c.Model)
	if r.Prompt.Suffix.Empty() {
		p.path = "/v1/completions"
		w.key("prompt")
		w.text(r.Prompt.Text)
	} else {
		if c.Deployment.Can(fleet.CapInsert).Support != fleet.Yes {
			return &fleet.Failure{Class: fleet.FailStatus, Status: 400, Code: CodeUnsupported, Caller: true,
				Message: "the model cannot fill in before a suffix"}
		}
		p.path = "/infill"
		w.key("input_prefix")
		w.text(r.Prompt.Text)
		w.key("input_suffix")
		w.text(r.Prompt.Suffix)
	}
	p.common(w, c)
	if p.path == "/infill" {
		if limit, _ := outputLimit(c); limit > 0 {
			w.key("n_predict")
			w.int(int64(limit))
		}
	}
	w.shut('}')
	p.built(w)
	return nil
}

// embed writes an embeddings request. The server cannot shorten vectors.
func (p *llamaPlan) embed(c *Call) error {
	r := c.Request
	if r.Embed == nil {
		return unsupported("embeddings without input")
	}
	if d := r.Embed.Dimensions; d > 0 && d != c.Deployment.EmbeddingWidth {
		return &fleet.Failure{Class: fleet.FailStatus, Status: 400, Code: CodeUnsupported, Caller: true,
			Message: fmt.Sprintf("llama-server cannot shorten vectors to %d dimensions", d)}
	}
	if r.Protocol == dialect.OllamaEmbeddings {
		p.edits = append(p.edits, "vectors have unit length: llama-server normalises them")
	}
	w := newBuilder(bodySize(r))
	w.open('{')
	w.key("model")
	w.str(c.Model)
	w.key("input")
	w.open('[')
	for _, in := range r.Embed.Inputs {
		w.text(in)
	}
	w.shut(']')
	w.key("encoding_format")
	w.str("float")
	w.shut('}')
	p.built(w)
	return nil
}
