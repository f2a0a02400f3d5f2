package dialect

// billingHeader begins a system block of Claude Code that changes with every
// version and session. In front of all else it would defeat every runtime's
// prefix cache, and no model has a use for it.
const billingHeader = "x-anthropic-billing-header:"

// system reads the system prompt, a string or text blocks, as one message.
func (m Member) system(r *Request) *fault {
	if m.Value.None() {
		return nil
	}
	parts, f := r.systemParts(m.Value)
	if f != nil {
		return f.in(m.Name)
	}
	if len(parts) > 0 && parts[0].HasPrefix(billingHeader) {
		parts = parts[1:]
		r.drop("system[0]: the client's billing header")
	}
	if len(parts) > 0 {
		r.Messages = append(r.Messages, Message{Role: RoleSystem, Parts: []Part{{Text: Join("\n\n", parts...)}}})
	}
	return nil
}

func (r *Request) systemParts(v Raw) ([]Text, *fault) {
	switch v.Kind() {
	case '"':
		return []Text{Text(v)}, nil
	case '[':
	default:
		return nil, wrong("a string or an array of text blocks", v)
	}
	var parts []Text
	for i, b := range Elements(v) {
		var t Text
		f := fields(b, func(m Member) *fault {
			if m.Name == "text" {
				return m.text(&t)
			}
			return nil
		})
		if f != nil {
			return nil, f.at(i)
		}
		if !t.Empty() {
			parts = append(parts, t)
		}
	}
	return parts, nil
}

// anthropicMessage reads one turn. What it holds becomes, in this order: a
// tool message for each result, then the turn itself.
func (r *Request) anthropicMessage(i int, v Raw) *fault {
	var role string
	var content Raw
	f := fields(v, func(m Member) *fault {
		switch m.Name {
		case "role":
			return m.str(&role)
		case "content":
			content = m.Value
		}
		return nil
	})
	if f != nil {
		return f
	}
	t := turn{r: r, at: indexed("messages", i)}
	switch role {
	case "user":
		t.msg.Role = RoleUser
	case "assistant":
		t.msg.Role = RoleAssistant
	case "system":
		t.msg.Role = RoleSystem // a reminder in mid-conversation keeps its place
	default:
		return (&fault{what: "expected user, assistant or system, got " + role}).in("role")
	}
	if f := t.content(content).in("content"); f != nil {
		return f
	}
	r.Messages = append(r.Messages, t.results...)
	if t.worthKeeping() {
		r.Messages = append(r.Messages, t.msg)
	}
	return nil
}

// turn gathers the content of one message.
type turn struct {
	r       *Request
	at      string // "messages[2]", for notes
	msg     Message
	results []Message
	think   []Text
}

// worthKeeping is false for a turn of which nothing is left beside tool
// results or blocks that no local model reads.
func (t *turn) worthKeeping() bool {
	m := &t.msg
	return len(m.Parts)+len(m.ToolCalls) > 0 || !m.Thinking.Empty()
}

func (t *turn) content(v Raw) *fault {
	switch v.Kind() {
	case '"':
		t.msg.Parts = []Part{{Text: Text(v)}}
		return nil
	case '[':
	default:
		return wrong("a string or an array of blocks", v)
	}
	for i, b := range Elements(v) {
		if f := t.block(b); f != nil {
			return f.at(i)
		}
	}
	t.msg.Thinking = Join("\n\n", t.think...)
	if t.think == nil {
		t.msg.Thinking = nil
	}
	return nil
}

// block reads one content block of a turn.
func (t *turn) block(v Raw) *fault {
	kind, f := blockType(v)
	if f != nil {
		return f
	}
	switch kind {
	case "tool_use":
		return t.toolUse(v)
	case "tool_result":
		return t.toolResult(v)
	case "thinking":
		return t.thinking(v)
	}
	parts, f := t.parts(kind, v)
	t.msg.Parts = append(t.msg.Parts, parts...)
	return f
}

// blockType returns the type of a block; an object without one but with a
// text is a text block.
func blockType(v Raw) (string, *fault) {
	if v.Kind() != '{' {
		return "", wrong("an object", v)
	}
	switch kind := v.Get("type"); kind.Kind() {
	case '"':
		return Text(kind).String(), nil
	case 0xff:
		if v.Get("text").Kind() == '"' {
			return "text", nil
		}
		return "", (&fault{what: "Field required"}).in("type")
	default:
		return "", wrong("a string", kind).in("type")
	}
}

// parts reads a block that is content wherever it stands.
func (t *turn) parts(kind string, v Raw) ([]Part, *fault) {
	switch kind {
	case "text":
		var p Part
		f := fields(v, func(m Member) *fault {
			if m.Name == "text" {
				return m.text(&p.Text)
			}
			return nil
		})
		if p.Text == nil {
			return nil, f
		}
		return []Part{p}, f
	case "image":
		p, f := imageSource(v.Get("source"))
		return []Part{p}, f.in("source")
	case "document":
		return t.document(v)
	case "container_upload":
		return nil, unreadable("a file of the vendor's store")
	case "search_result":
		return t.searchResult(v)
	case "tool_reference":
		name := textMember(v, "tool_name")
		return []Part{{Text: Quote("The tool " + name + " is available now.")}}, nil
	}
	t.r.drop(t.at + ": a block of type " + kind + ", which local models do not read")
	return nil, nil
}

func (t *turn) toolUse(v Raw) *fault {
	c := ToolCall{Arguments: Raw(`{}`)}
	f := fields(v, func(m Member) *fault {
		switch m.Name {
		case "id":
			return m.str(&c.ID)
		case "name":
			return m.str(&c.Name)
		case "input":
			if !m.Value.None() {
				c.Arguments = m.Value
			}
			return m.object()
		}
		return nil
	})
	t.msg.ToolCalls = append(t.msg.ToolCalls, c)
	return f
}

// toolResult reads the result of a call.
func (t *turn) toolResult(v Raw) *fault {
	res := Message{Role: RoleTool}
	f := fields(v, func(m Member) (f *fault) {
		switch m.Name {
		case "tool_use_id":
			f = m.str(&res.ToolCallID)
		case "is_error":
			f = m.boolean(&res.IsError)
		case "content":
			res.Parts, f = t.nested(m.Value)
			f = f.in(m.Name)
		}
		return f
	})
	t.results = append(t.results, res)
	return f
}

// thinking reads the model's own reasoning, handed back. Local models sign
// nothing, so an empty signature is as good as any.
func (t *turn) thinking(v Raw) *fault {
	var text Text
	f := fields(v, func(m Member) *fault {
		switch m.Name {
		case "thinking":
			return m.text(&text)
		case "signature":
			return m.str(&t.msg.Signature)
		}
		return nil
	})
	if !text.Empty() {
		t.think = append(t.think, text)
	}
	return f
}
