package dialect

import "strings"

// parseAnthropic reads a Messages request, or one that asks for its token
// count (which needs no max_tokens). Members we do not know stay in Members:
// new clients send new ones with every version.
func parseAnthropic(r *Request) *fault {
	for _, m := range r.Members {
		if f := r.readAnthropic(m); f != nil {
			return f
		}
	}
	if r.Member("messages").None() {
		return (&fault{what: "Field required"}).in("messages")
	}
	if r.Protocol == Anthropic && r.Member("max_tokens").None() {
		return (&fault{what: "Field required"}).in("max_tokens")
	}
	if f := (Member{"system", r.Member("system")}).system(r); f != nil {
		return f
	}
	if f := (Member{"messages", r.Member("messages")}).each(r.anthropicMessage); f != nil {
		return f
	}
	r.nameToolResults()
	return r.settleTools()
}

// readAnthropic reads one top-level member, but for the conversation.
func (r *Request) readAnthropic(m Member) *fault {
	switch m.Name {
	case "max_tokens":
		return m.tokens(&r.MaxOutput)
	case "temperature":
		return m.float(&r.Sampling.Temperature)
	case "top_p":
		return m.float(&r.Sampling.TopP)
	case "top_k":
		return m.maybeInt(&r.Sampling.TopK)
	case "stop_sequences":
		return m.strings(&r.Stop)
	case "tools":
		return m.each(r.anthropicTool)
	case "tool_choice":
		return r.anthropicToolChoice(m.Value).in(m.Name)
	case "thinking":
		return r.anthropicThinking(m.Value).in(m.Name)
	case "output_config":
		return r.anthropicOutput(m.Value).in(m.Name)
	case "output_format": // output_config.format in its first, beta spelling
		return r.anthropicFormat(m.Value).in(m.Name)
	case "metadata":
		return r.anthropicMetadata(m.Value).in(m.Name)
	}
	return nil
}

// anthropicTool reads one tool. Those with a type of their own run at
// Anthropic, or have a schema only Anthropic's models know.
func (r *Request) anthropicTool(_ int, v Raw) *fault {
	var t Tool
	var kind string
	f := fields(v, func(m Member) *fault {
		switch m.Name {
		case "type":
			return m.str(&kind)
		case "name":
			return m.str(&t.Name)
		case "description":
			return m.text(&t.Description)
		case "input_schema":
			t.Parameters = schema(m.Value)
			return m.object()
		case "strict":
			return m.maybeBool(&t.Strict)
		}
		return nil
	})
	switch {
	case f != nil:
		return f
	case kind != "" && kind != "custom":
		r.vendorTools = append(r.vendorTools, t.Name)
		r.drop("tool " + kind + ": it runs at its vendor only")
	case t.Name == "":
		return (&fault{what: "Field required"}).in("name")
	default:
		// defer_loading is not followed: all tools are in the prompt from the
		// start. The search that would load them later may be the vendor's own,
		// and a list that grows in mid-conversation spoils the prefix cache.
		r.Tools = append(r.Tools, t)
	}
	return nil
}

// schema returns a schema object, nil for null.
func schema(v Raw) Raw {
	if v.None() {
		return nil
	}
	return v
}

func (r *Request) anthropicToolChoice(v Raw) *fault {
	var kind string
	disableParallel := false
	f := fields(v, func(m Member) *fault {
		switch m.Name {
		case "type":
			return m.str(&kind)
		case "name":
			return m.str(&r.ToolChoice.Name)
		case "disable_parallel_tool_use":
			return m.boolean(&disableParallel)
		}
		return nil
	})
	if f != nil {
		return f
	}
	switch kind {
	case "":
	case "auto":
		r.ToolChoice.Mode = ChoiceAuto
	case "any":
		r.ToolChoice.Mode = ChoiceRequired
	case "none":
		r.ToolChoice.Mode = ChoiceNone
	case "tool":
		r.ToolChoice.Mode = ChoiceNamed
		if r.ToolChoice.Name == "" {
			return (&fault{what: "Field required"}).in("name")
		}
	default:
		return (&fault{what: "expected auto, any, tool or none, got " + kind}).in("type")
	}
	if disableParallel {
		r.ParallelTools = new(bool)
	}
	return nil
}

// anthropicThinking reads thinking. Adaptive leaves the amount to the model,
// or to output_config.effort.
func (r *Request) anthropicThinking(v Raw) *fault {
	return fields(v, func(m Member) *fault {
		switch m.Name {
		case "type":
			var kind string
			if f := m.str(&kind); f != nil {
				return f
			}
			r.Think.Set = true
			r.Think.On = kind != "disabled"
		case "budget_tokens":
			return m.count(&r.Think.Budget)
		}
		return nil
	})
}

func (r *Request) anthropicOutput(v Raw) *fault {
	return fields(v, func(m Member) *fault {
		switch m.Name {
		case "effort":
			return m.str(&r.Think.Level)
		case "format":
			return r.anthropicFormat(m.Value).in(m.Name)
		}
		return nil
	})
}

func (r *Request) anthropicFormat(v Raw) *fault {
	return fields(v, func(m Member) *fault {
		switch m.Name {
		case "type":
			var kind string
			f := m.str(&kind)
			if kind == "json_schema" {
				r.Format.Kind = FormatSchema
			}
			return f
		case "schema":
			r.Format.Schema = schema(m.Value)
			return m.object()
		}
		return nil
	})
}

// anthropicMetadata reads user_id: an opaque name, or (Claude Code) a JSON
// object written as a string, with the session in it.
func (r *Request) anthropicMetadata(v Raw) *fault {
	return fields(v, func(m Member) *fault {
		if m.Name != "user_id" {
			return nil
		}
		if f := m.str(&r.User); f != nil {
			return f
		}
		if _, session, ok := strings.Cut(r.User, "_session_"); ok {
			r.MetaSession = session // as older ones wrote it
			return nil
		}
		checked, _, bad := checkJSON([]byte(r.User))
		if bad != nil || Raw(checked).Kind() != '{' {
			return nil
		}
		r.User = textMember(checked, "account_uuid")
		r.MetaSession = textMember(checked, "session_id")
		return nil
	})
}

// textMember returns a string member of an object, "" for any other type.
func textMember(v Raw, name string) string {
	if m := v.Get(name); m.Kind() == '"' {
		return Text(m).String()
	}
	return ""
}
