package dialect

// readInput lists the input's items: those of an array, or one user message.
func (r *Request) readInput() *fault {
	v := r.Member("input")
	switch v.Kind() {
	case 'n', 0xff:
		if r.PreviousResponse == "" && r.Instructions.Empty() {
			return &fault{what: "an input is required"}
		}
	case '"':
		item := append([]byte(`{"type":"message","role":"user","content":`), v...)
		r.Items = []Raw{append(item, '}')}
	case '[':
		for i, item := range Elements(v) {
			if item.Kind() != '{' {
				return wrong("an object", item).at(i)
			}
			if id := referenceID(item); id != "" {
				r.ItemRefs = append(r.ItemRefs, id)
			}
			r.Items = append(r.Items, item)
		}
	default:
		return wrong("a string or an array of items", v)
	}
	return nil
}

// referenceID returns the id that an item_reference names, "" for other
// items. The type may be left out.
func referenceID(item Raw) string {
	switch kind := item.Get("type"); {
	case Text(kind).Is("item_reference"):
	case kind.None() && item.Get("role").None() && item.Get("content").None() && item.Get("call_id").None() && item.Get("summary").None():
	default:
		return ""
	}
	return textMember(item, "id")
}

// readItems turns the items into messages.
func (r *Request) readItems() *fault {
	c := conversation{r: r}
	for i, item := range r.Items {
		if f := c.read(item); f != nil {
			return f.at(i)
		}
	}
	c.endTurn()
	return nil
}

// conversation gathers the messages of a list of items.
//
//  1. The assistant's items that follow each other, text and calls, are one
//     turn: an answer with reasoning between its parts comes back in pieces,
//     and tool results must stand right behind the turn that asked for them.
//  2. Reasoning belongs to the assistant turn that follows.
//  3. Kinds we do not know are left out with a note. Refusing them would end a
//     conversation that began elsewhere.
type conversation struct {
	r        *Request
	open     bool   // the last message is an assistant turn that goes on
	thoughts []Text // reasoning of the open turn
	pending  []Text // reasoning that waits for its turn
}

func (c *conversation) read(item Raw) *fault {
	kind := itemKind(item)
	switch kind {
	case "message":
		return c.message(item)
	case "function_call", "custom_tool_call":
		call, f := c.r.callItem(kind, item)
		turn := c.turn()
		turn.ToolCalls = append(turn.ToolCalls, call)
		return f
	case "function_call_output", "custom_tool_call_output":
		result, f := c.r.outputItem(item)
		c.add(result)
		return f
	case "reasoning":
		t, f := c.r.reasoningItem(item)
		c.pending = append(c.pending, heading(t)...)
		return f
	case "item_reference":
		return nil // counted in ItemRefs
	case "":
		return &fault{what: "an item needs a type, or a role"}
	}
	c.r.drop("an input item of type " + kind)
	return nil
}

func (c *conversation) message(item Raw) *fault {
	var role string
	var msg Message
	f := fields(item, func(m Member) (f *fault) {
		switch m.Name {
		case "role":
			f = m.str(&role)
		case "content":
			msg.Parts, f = c.r.content(m.Value)
			f = f.in(m.Name)
		}
		return f
	})
	if f != nil {
		return f
	}
	if f := msg.setRole(role); f != nil {
		return f.in("role")
	}
	if msg.Role != RoleAssistant {
		c.add(msg)
		return nil
	}
	turn := c.turn()
	turn.Parts = append(turn.Parts, msg.Parts...)
	return nil
}

// turn returns the assistant turn that goes on, or begins one, and gives it
// the reasoning that waits.
func (c *conversation) turn() *Message {
	if !c.open {
		c.r.Messages = append(c.r.Messages, Message{Role: RoleAssistant})
		c.open = true
	}
	c.thoughts = append(c.thoughts, c.pending...)
	c.pending = nil
	return &c.r.Messages[len(c.r.Messages)-1]
}

// add appends a message that is not the assistant's. Results do not end the
// wait of reasoning: some clients send it before them.
func (c *conversation) add(m Message) {
	if m.Role == RoleTool {
		waiting := c.pending
		c.pending = nil
		defer func() { c.pending = waiting }()
	}
	c.endTurn()
	c.r.Messages = append(c.r.Messages, m)
}

// endTurn closes the assistant turn that goes on.
func (c *conversation) endTurn() {
	if len(c.thoughts) > 0 {
		c.r.Messages[len(c.r.Messages)-1].Thinking = Join("\n\n", c.thoughts...)
	}
	if len(c.pending) > 0 {
		c.r.drop("reasoning that no answer follows")
	}
	c.open, c.thoughts, c.pending = false, nil, nil
}

// itemKind returns an item's type; one without is what its members make it.
func itemKind(item Raw) string {
	if kind := textMember(item, "type"); kind != "" {
		return kind
	}
	has := func(name string) bool { return !item.Get(name).None() }
	switch {
	case has("role"):
		return "message"
	case has("call_id") && has("output"):
		return "function_call_output"
	case has("call_id") && has("arguments"):
		return "function_call"
	case has("summary"):
		return "reasoning"
	case has("id") && !has("content"):
		return "item_reference"
	}
	return ""
}

// callItem reads an earlier call, under the name that the model knows.
func (r *Request) callItem(kind string, item Raw) (ToolCall, *fault) {
	c := ToolCall{Arguments: Raw("{}")}
	var ns, id string
	f := fields(item, func(m Member) *fault {
		switch m.Name {
		case "call_id":
			return m.str(&c.ID)
		case "id":
			return m.str(&id)
		case "name":
			return m.str(&c.Name)
		case "namespace":
			return m.str(&ns)
		case "arguments":
			var mended bool
			c.Arguments, mended = arguments(m.Value)
			if mended {
				r.drop("arguments of an earlier call were no JSON object: passed on as _raw")
			}
		case "input":
			if kind == "custom_tool_call" {
				var in Text
				f := m.text(&in)
				c.Arguments = append(AppendText([]byte(`{"input":`), in), '}')
				return f
			}
		}
		return nil
	})
	if f == nil && c.Name == "" {
		f = (&fault{what: "a call needs the tool's name"}).in("name")
	}
	if c.ID == "" {
		c.ID = id
	}
	if ns != "" {
		c.Name = ns + "." + c.Name
	}
	return c, f
}

// outputItem reads a tool's result.
func (r *Request) outputItem(item Raw) (Message, *fault) {
	res := Message{Role: RoleTool}
	f := fields(item, func(m Member) (f *fault) {
		switch m.Name {
		case "call_id":
			return m.str(&res.ToolCallID)
		case "output":
			if m.Value.Kind() == '{' { // some clients send what the tool returned
				res.Parts = []Part{{Text: Quote(string(m.Value))}}
				return nil
			}
			res.Parts, f = r.content(m.Value)
			return f.in(m.Name)
		}
		return nil
	})
	if f == nil && res.ToolCallID == "" {
		f = (&fault{what: "a result needs the id of its call"}).in("call_id")
	}
	return res, f
}

// reasoningItem reads reasoning handed back: its content, else its summary,
// else what we ourselves put into encrypted_content.
func (r *Request) reasoningItem(item Raw) (Text, *fault) {
	for _, name := range []string{"content", "summary"} {
		var texts []Text
		f := (Member{name, item.Get(name)}).each(func(_ int, v Raw) *fault {
			return fields(v, func(m Member) *fault {
				if m.Name != "text" {
					return nil
				}
				var t Text
				f := m.text(&t)
				texts = append(texts, heading(t)...)
				return f
			})
		})
		if f != nil {
			return nil, f
		}
		if len(texts) > 0 {
			return Join("\n\n", texts...), nil
		}
	}
	sealed := Text(nil)
	if v := item.Get("encrypted_content"); v.Kind() == '"' {
		sealed = Text(v)
	}
	switch {
	case sealed.HasPrefix(ownReasoning):
		return append(Text(`"`), sealed[1+len(ownReasoning):]...), nil
	case !sealed.Empty():
		r.drop("reasoning that only its vendor can read")
	}
	return nil, nil
}
