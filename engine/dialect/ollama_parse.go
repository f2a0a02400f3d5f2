package dialect

import (
	"errors"
	"time"
)

// parseOllamaChat reads POST /api/chat.
func parseOllamaChat(r *Request) *fault {
	for _, m := range r.Members {
		f := r.readOllama(m)
		if f == nil && m.Name == "messages" {
			r.Messages = make([]Message, 0, 16)
			f = m.each(r.ollamaMessage)
		}
		if f != nil {
			return f
		}
	}
	r.nameToolResults()
	if len(r.Messages) == 0 {
		r.loadOnly()
	}
	return nil
}

// parseOllamaGenerate reads POST /api/generate.
func parseOllamaGenerate(r *Request) *fault {
	p := &Prompt{}
	r.Prompt = p
	for _, m := range r.Members {
		f := r.readOllama(m)
		if f == nil {
			f = r.readGenerate(m)
		}
		if f != nil {
			return f
		}
	}
	if p.Text.Empty() {
		r.loadOnly()
	}
	return nil
}

func (r *Request) readGenerate(m Member) *fault {
	p := r.Prompt
	switch m.Name {
	case "prompt":
		return m.text(&p.Text)
	case "suffix":
		return m.text(&p.Suffix)
	case "system":
		return m.text(&p.System)
	case "template":
		return m.text(&p.Template)
	case "raw":
		return m.boolean(&p.Raw)
	case "images":
		return m.each(func(_ int, v Raw) *fault {
			image, f := ollamaImage(v)
			p.Images = append(p.Images, image)
			return f
		})
	case "context":
		if !m.Value.None() {
			p.Context = m.Value
		}
		return m.array()
	}
	return nil
}

// parseOllamaEmbed reads POST /api/embed (input) and the old /api/embeddings
// (prompt). Without any text it loads the model.
func parseOllamaEmbed(r *Request) *fault {
	r.Embed = &Embed{}
	field := "input"
	if r.Protocol == OllamaEmbeddings {
		field = "prompt"
	}
	for _, m := range r.Members {
		var f *fault
		switch m.Name {
		case field:
			f = r.Embed.read(m)
		case "truncate":
			f = m.maybeBool(&r.Embed.Truncate)
		case "dimensions":
			f = r.Embed.width(m)
		case "query_prefix", "document_prefix":
			f = m.prefix()
		case "options", "keep_alive":
			f = r.readOllama(m)
		}
		if f != nil {
			return f
		}
	}
	r.Stream = false
	if in := r.Embed.Inputs; r.Embed.Single && in[0].Empty() {
		r.Embed.Inputs = nil // Ollama makes no vector of it, as it does of one in a list
	}
	r.LoadOnly = len(r.Embed.Inputs) == 0
	return nil
}

// loadOnly marks a request that only loads or unloads: its answer is one
// object even where a stream was asked for.
func (r *Request) loadOnly() {
	r.LoadOnly = true
	r.Stream = false
}

// readOllama reads what chat and generate share.
func (r *Request) readOllama(m Member) *fault {
	switch m.Name {
	case "options":
		return r.readOptions(m)
	case "keep_alive":
		if _, err := KeepAlive(m.Value); err != nil {
			return &fault{what: err.Error(), remedy: `keep_alive takes seconds as a number, or a duration with its unit ("10m", "-1s").`}
		}
		if !m.Value.None() {
			r.KeepAlive = m.Value
		}
	case "format":
		return r.ollamaFormat(m)
	case "think":
		return r.think(m)
	case "tools":
		return m.each(r.functionTool)
	case "logprobs":
		return m.boolean(&r.Logprobs)
	case "top_logprobs":
		return m.count(&r.TopLogs)
	case "_debug_render_only":
		if string(m.Value) == "true" {
			return (&fault{what: "the answer would be the prompt, and no completion", remedy: "Ask the runtime itself."}).in(m.Name)
		}
	case "max_output_tokens", "max_tokens", "temperature", "top_p", "top_k", "seed", "stop", "tool_choice":
		// ollama-ai-provider and others put them here, where the runtime does
		// not look either: whatever they hold is no error.
		r.drop(m.Name + ": ignored at the top level, as Ollama does; it belongs in options")
	}
	return nil
}

// readOptions keeps the options as sent and reads those that routing and
// other runtimes need. All that Ollama knows are checked: it answers one of
// another type as a failure of its own, and ends over a number that is none of
// its machine's. A limit of 0 or below is none, as Ollama reads it.
func (r *Request) readOptions(m Member) *fault {
	if f := m.object(); f != nil {
		return f
	}
	s := &r.Sampling
	for o := range Members(m.Value) {
		r.Options = append(r.Options, o)
		var f *fault
		switch o.Name {
		case "num_ctx":
			f = o.wholeAs(&r.NumCtx)
		case "num_predict":
			f = o.maybeInt(&r.MaxOutput)
		case "temperature":
			f = o.float(&s.Temperature)
		case "top_k":
			f = o.maybeInt(&s.TopK)
		case "top_p":
			f = o.float(&s.TopP)
		case "min_p":
			f = o.float(&s.MinP)
		case "repeat_penalty":
			f = o.float(&s.RepeatPenalty)
		case "presence_penalty":
			f = o.float(&s.PresencePenalty)
		case "frequency_penalty":
			f = o.float(&s.FrequencyPenalty)
		case "seed":
			f = o.integer(&s.Seed)
		case "stop":
			if f = o.array(); f == nil {
				f = r.stop(o)
			}
		case "num_keep", "repeat_last_n", "num_batch", "num_gpu", "main_gpu", "num_thread", "draft_num_predict":
			f = o.int32()
		case "typical_p":
			f = o.float(new(*float64))
		case "use_mmap":
			f = o.boolean(new(bool))
		}
		if f != nil {
			return f.in(m.Name)
		}
	}
	r.NumCtx = max(0, r.NumCtx)
	if r.MaxOutput != nil && *r.MaxOutput <= 0 {
		r.MaxOutput = nil
	}
	return nil
}

// ollamaFormat reads format: "json", a schema, or nothing.
func (r *Request) ollamaFormat(m Member) *fault {
	switch m.Value.Kind() {
	case 'n':
		return nil
	case '{':
		r.Format = Format{Kind: FormatSchema, Schema: m.Value}
		return nil
	case '"':
		switch t := Text(m.Value); {
		case t.Empty():
			return nil
		case t.Is("json"):
			r.Format.Kind = FormatJSON
			return nil
		}
	}
	return (&fault{what: `invalid format: ` + string(m.Value) + `; expected "json" or a valid JSON Schema object`}).in(m.Name)
}

// KeepAlive reads Ollama's keep_alive: a number is seconds, a string a
// duration with its unit; any negative one is for ever, given as a negative
// duration. Absent and null are 0 without error: ask Raw.None first.
func KeepAlive(v Raw) (time.Duration, error) {
	switch v.Kind() {
	case 'n', 0xff:
		return 0, nil
	case '"':
		return time.ParseDuration(Text(v).String())
	}
	var seconds *float64
	if f := (Member{"keep_alive", v}).float(&seconds); f != nil {
		return 0, errors.New("keep_alive: " + f.what)
	}
	const most = float64(1<<63-1) / float64(time.Second)
	if *seconds > most || *seconds < 0 {
		return -1, nil // longer than a Duration can say: for ever
	}
	return time.Duration(*seconds * float64(time.Second)), nil
}

// Unloads reports whether a load-only request asks for the opposite:
// keep_alive 0.
func (r *Request) Unloads() bool {
	if !r.LoadOnly || r.KeepAlive.None() {
		return false
	}
	d, err := KeepAlive(r.KeepAlive)
	return err == nil && d == 0
}

// ollamaMessage reads one message of /api/chat.
func (r *Request) ollamaMessage(_ int, v Raw) *fault {
	if v.Kind() != '{' {
		return wrong("an object", v)
	}
	var msg Message
	var role string
	text := Text(`""`)
	var images []Part
	f := fields(v, func(m Member) *fault {
		switch m.Name {
		case "role":
			return m.str(&role)
		case "content":
			return m.text(&text)
		case "thinking":
			return m.text(&msg.Thinking)
		case "images":
			return m.each(func(_ int, e Raw) *fault {
				image, f := ollamaImage(e)
				images = append(images, image)
				return f
			})
		case "tool_calls":
			return m.each(func(_ int, e Raw) *fault {
				c, f := r.assistantCall(e)
				msg.ToolCalls = append(msg.ToolCalls, c)
				return f
			})
		case "tool_name":
			return m.str(&msg.ToolName)
		case "tool_call_id":
			return m.str(&msg.ToolCallID)
		case "name":
			return m.str(&msg.Name)
		}
		return nil
	})
	if f != nil {
		return f
	}
	if f := msg.setRole(role); f != nil {
		return f.in("role")
	}
	msg.Parts = append([]Part{{Text: text}}, images...)
	r.Messages = append(r.Messages, msg)
	return nil
}
