package dialect

import (
	"slices"
	"strings"
)

// parseChat reads POST /v1/chat/completions.
func parseChat(r *Request) *fault {
	for _, m := range r.Members {
		f := r.readOpenAI(m)
		if f == nil {
			f = r.readChat(m)
		}
		if f != nil {
			return f
		}
	}
	if len(r.Messages) == 0 {
		return (&fault{what: "at least one message is required"}).in("messages")
	}
	r.nameToolResults()
	return r.settleTools()
}

// readChat reads one top-level member of a chat request.
func (r *Request) readChat(m Member) *fault {
	switch m.Name {
	case "messages":
		r.Messages = nil // of a name that stands twice the last one counts
		return m.each(r.chatMessage)
	case "max_completion_tokens":
		return m.limit(&r.MaxOutput)
	case "max_tokens": // the old name; the new one wins
		if r.Member("max_completion_tokens").None() {
			return m.limit(&r.MaxOutput)
		}
	case "tools", "functions":
		return m.each(r.functionTool)
	case "tool_choice", "function_call":
		return r.toolChoice(m.Value).in(m.Name)
	case "parallel_tool_calls":
		return m.maybeBool(&r.ParallelTools)
	case "response_format":
		return r.responseFormat(m.Value).in(m.Name)
	case "reasoning_effort":
		return r.effort(m)
	case "reasoning":
		return fields(m.Value, r.reasoning).in(m.Name)
	case "think":
		return r.think(m)
	case "chat_template_kwargs":
		return fields(m.Value, r.templateArgument).in(m.Name)
	case "logprobs":
		return m.boolean(&r.Logprobs)
	case "top_logprobs":
		return m.count(&r.TopLogs)
	}
	return nil
}

// readOpenAI reads what chat and completions share, extensions of local
// servers included.
func (r *Request) readOpenAI(m Member) *fault {
	s := &r.Sampling
	switch m.Name {
	case "temperature":
		return m.float(&s.Temperature)
	case "top_p":
		return m.float(&s.TopP)
	case "min_p":
		return m.float(&s.MinP)
	case "top_k":
		return m.maybeInt(&s.TopK)
	case "frequency_penalty":
		return m.float(&s.FrequencyPenalty)
	case "presence_penalty":
		return m.float(&s.PresencePenalty)
	case "repeat_penalty", "repetition_penalty": // llama.cpp's and vLLM's name
		return m.float(&s.RepeatPenalty)
	case "seed":
		return m.integer(&s.Seed)
	case "logit_bias":
		if !m.Value.None() && len(m.Value) > 2 {
			s.LogitBias = m.Value
		}
		return m.object()
	case "stop":
		return r.stop(m)
	case "n":
		return m.atLeast(1, &r.N)
	case "stream_options":
		return fields(m.Value, func(o Member) *fault {
			if o.Name == "include_usage" {
				return o.boolean(&r.IncludeUsage)
			}
			return nil
		}).in(m.Name)
	case "metadata":
		return r.metadata(m)
	}
	r.identity(m)
	return nil
}

// stop reads stop strings. An empty one would match everywhere: it is none.
func (r *Request) stop(m Member) *fault {
	f := m.strings(&r.Stop)
	r.Stop = slices.DeleteFunc(r.Stop, func(s string) bool { return s == "" })
	return f
}

// identity reads who asks. These fields only steer affinity and statistics, so
// a wrong type is left unread, never refused.
func (r *Request) identity(m Member) {
	if m.Value.Kind() != '"' {
		return
	}
	switch m.Name {
	case "user":
		r.User = Text(m.Value).String()
	case "safety_identifier":
		if r.User == "" {
			r.User = Text(m.Value).String()
		}
	case "prompt_cache_key":
		r.PromptCacheKey = Text(m.Value).String()
	case "session_id", "chat_id": // Open WebUI's, among others
		r.metaSession(m.Value)
	}
}

// metadata reads tags and a session id; everything else in it is the client's own.
func (r *Request) metadata(m Member) *fault {
	for o := range Members(m.Value) {
		switch o.Name {
		case "tags":
			_ = o.strings(&r.Tags) // another type means another use of the name
		case "session_id", "sessionId", "session", "thread_id", "conversation_id", "chat_id":
			r.metaSession(o.Value)
		}
	}
	if len(r.Tags) == 1 && strings.Contains(r.Tags[0], ",") {
		r.Tags = strings.FieldsFunc(r.Tags[0], func(c rune) bool { return c == ',' || c == ' ' })
	}
	return nil
}

func (r *Request) metaSession(v Raw) {
	if r.MetaSession == "" && v.Kind() == '"' {
		r.MetaSession = Text(v).String()
	}
}

// efforts are the words clients use for how much a model should think.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"}

// effort reads a reasoning effort, whatever the member is called.
func (r *Request) effort(m Member) *fault {
	var level string
	if f := m.str(&level); f != nil || level == "" {
		return f
	}
	for _, e := range efforts {
		if level == e {
			r.Think.Set, r.Think.On, r.Think.Level = true, level != "none", level
			return nil
		}
	}
	return (&fault{what: "expected one of " + strings.Join(efforts, ", ") + ", got " + level}).in(m.Name)
}

// reasoning reads a member of the reasoning object (OpenRouter's form).
func (r *Request) reasoning(m Member) *fault {
	switch m.Name {
	case "effort":
		return r.effort(m)
	case "max_tokens":
		return m.count(&r.Think.Budget)
	case "enabled":
		return r.thinkSwitch(m)
	}
	return nil
}

// templateArgument reads the switch that vLLM's and llama.cpp's clients use;
// the other arguments pass on unread.
func (r *Request) templateArgument(m Member) *fault {
	if m.Name == "enable_thinking" && !r.Think.Set {
		return r.thinkSwitch(m)
	}
	return nil
}

func (r *Request) thinkSwitch(m Member) *fault {
	if m.Value.None() {
		return nil
	}
	r.Think.Set = true
	return m.boolean(&r.Think.On)
}

// think reads Ollama's field: a switch or a level.
func (r *Request) think(m Member) *fault {
	if m.Value.Kind() != '"' {
		if k := m.Value.Kind(); k != 't' && k != 'f' && k != 'n' {
			return wrong("true, false, or one of low, medium, high, max", m.Value).in(m.Name)
		}
		return r.thinkSwitch(m)
	}
	switch level := Text(m.Value).String(); level {
	case "low", "medium", "high", "max":
		r.Think = Think{Set: true, On: true, Level: level}
	case "": // as absent
	default:
		return (&fault{what: `invalid think value: "` + level + `" (must be "high", "medium", "low", "max", true, or false)`}).in(m.Name)
	}
	return nil
}

// responseFormat reads text, json_object (with llama.cpp's optional schema)
// and json_schema. An unknown type is refused: it promises a shape.
func (r *Request) responseFormat(v Raw) *fault {
	var kind string
	var schema Raw
	f := fields(v, func(m Member) *fault {
		switch m.Name {
		case "type":
			return m.str(&kind)
		case "schema":
			schema = m.Value
			return m.object()
		case "json_schema":
			return fields(m.Value, func(o Member) *fault {
				switch o.Name {
				case "name":
					return o.str(&r.Format.Name)
				case "strict":
					return o.maybeBool(&r.Format.Strict)
				case "schema":
					schema = o.Value
					return o.object()
				}
				return nil
			}).in(m.Name)
		}
		return nil
	})
	switch {
	case f != nil:
		return f
	case kind == "json_schema" && schema.None():
		return (&fault{what: "a schema is required with type json_schema"}).in("schema").in("json_schema")
	case kind == "json_schema", kind == "json_object" && !schema.None():
		r.Format.Kind, r.Format.Schema = FormatSchema, schema
	case kind == "json_object":
		r.Format.Kind = FormatJSON
	case kind != "text" && kind != "":
		return (&fault{what: "expected text, json_object or json_schema, got " + kind}).in("type")
	}
	return nil
}
