package dialect

// parseResponses reads POST /v1/responses.
func parseResponses(r *Request) *fault {
	for _, m := range r.Members {
		f := r.readOpenAI(m)
		if f == nil {
			f = r.readResponses(m)
		}
		if f != nil {
			return f
		}
	}
	r.Logprobs = r.TopLogs > 0 || r.includes("message.output_text.logprobs")
	if f := r.readInput(); f != nil {
		return f.in("input")
	}
	if r.NeedsRecall() {
		return nil // the rest follows when the conversation is whole
	}
	return r.converse()
}

// readResponses reads one top-level member, but for the input.
func (r *Request) readResponses(m Member) *fault {
	switch m.Name {
	case "instructions":
		return m.text(&r.Instructions)
	case "max_output_tokens":
		return m.limit(&r.MaxOutput)
	case "top_logprobs":
		return m.count(&r.TopLogs)
	case "tools":
		return m.each(r.responseTool)
	case "tool_choice":
		return r.responseToolChoice(m.Value).in(m.Name)
	case "parallel_tool_calls":
		return m.maybeBool(&r.ParallelTools)
	case "reasoning":
		return fields(m.Value, r.reasoning).in(m.Name)
	case "text":
		return r.textFormat(m.Value.Get("format")).in("format").in(m.Name)
	case "previous_response_id":
		return m.str(&r.PreviousResponse)
	case "store":
		return m.maybeBool(&r.Store)
	case "client_metadata":
		return r.metadata(m)
	case "background":
		if m.Value.Kind() == 't' {
			r.drop("background: answered in this call")
		}
	case "conversation":
		return notKept(m)
	case "prompt": // a template by its id
		if m.Value.Kind() == '{' {
			return notKept(m)
		}
	}
	return nil
}

// notKept refuses what would be read from the vendor's own store. Leaving it
// out would answer another question than was asked.
func notKept(m Member) *fault {
	if m.Value.None() {
		return nil
	}
	return (&fault{what: "it is kept at its vendor only", remedy: "Send the whole input, or previous_response_id."}).in(m.Name)
}

// textFormat reads text.format, which has flat what chat nests.
func (r *Request) textFormat(v Raw) *fault {
	if f := r.responseFormat(v); f != nil {
		return f
	}
	return fields(v, func(m Member) *fault {
		switch m.Name {
		case "name":
			return m.str(&r.Format.Name)
		case "strict":
			return m.maybeBool(&r.Format.Strict)
		}
		return nil
	})
}

// responseTool reads one tool. A namespace becomes its members, as
// "namespace.member"; a custom tool becomes a function with one text.
func (r *Request) responseTool(i int, v Raw) *fault {
	switch kind := textMember(v, "type"); kind {
	case "namespace":
		return r.namespace(v)
	case "custom":
		return r.customTool(i, v)
	default:
		return r.functionTool(i, v) // notes and leaves out what it does not know
	}
}

func (r *Request) namespace(v Raw) *fault {
	ns := textMember(v, "name")
	if ns == "" {
		return (&fault{what: "a namespace needs a name"}).in("name")
	}
	return (Member{"tools", v.Get("tools")}).each(func(i int, member Raw) *fault {
		before := len(r.Tools)
		if f := r.responseTool(i, member); f != nil {
			return f
		}
		for n := before; n < len(r.Tools); n++ {
			r.putInNamespace(ns, &r.Tools[n])
		}
		return nil
	})
}

func (r *Request) putInNamespace(ns string, t *Tool) {
	full := ns + "." + t.Name
	if r.Namespaced == nil {
		r.Namespaced = make(map[string]NamespacedTool)
	}
	r.Namespaced[full] = NamespacedTool{ns, t.Name}
	if r.CustomTools[t.Name] {
		delete(r.CustomTools, t.Name)
		r.CustomTools[full] = true
	}
	t.Name = full
}

// customTool reads a tool whose input is free text. A grammar cannot be
// enforced here, so the model is told it.
func (r *Request) customTool(i int, v Raw) *fault {
	before := len(r.Tools)
	if f := r.functionTool(i, v); f != nil || len(r.Tools) == before {
		return f
	}
	t := &r.Tools[before]
	if r.CustomTools == nil {
		r.CustomTools = make(map[string]bool)
	}
	r.CustomTools[t.Name] = true
	format := v.Get("format")
	if grammar := format.Get("definition"); grammar.Kind() == '"' {
		how := "The input must follow this " + textMember(format, "syntax") + " grammar:\n"
		t.Description = Join("\n\n", append(heading(t.Description), Concat(Quote(how), Text(grammar)))...)
	}
	return nil
}

// responseToolChoice reads what chat reads, and choices among the vendor's
// own tools, which are not to be had here.
func (r *Request) responseToolChoice(v Raw) *fault {
	if v.Kind() != '{' {
		return r.toolChoice(v)
	}
	switch kind := textMember(v, "type"); kind {
	case "function", "custom":
		f := r.toolChoice(v)
		if ns := textMember(v, "namespace"); ns != "" {
			r.ToolChoice.Name = ns + "." + r.ToolChoice.Name
		}
		return f
	case "allowed_tools", "":
		return r.toolChoice(v)
	default:
		r.drop("tool_choice: a tool of type " + kind + " runs at its vendor only")
		return nil
	}
}

// converse makes the messages of the items and settles the tools.
func (r *Request) converse() *fault {
	r.Messages = make([]Message, 0, len(r.Items)+1)
	if !r.Instructions.Empty() {
		r.Messages = append(r.Messages, Message{Role: RoleSystem, Parts: []Part{{Text: r.Instructions}}})
	}
	if f := r.readItems(); f != nil {
		return f.in("input")
	}
	r.nameToolResults()
	return r.settleTools()
}
