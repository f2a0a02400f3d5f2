package dialect

import (
	"maps"
	"slices"
	"strconv"
)

// functionTool reads one tool: {type:function, function:{...}}, Ollama's same
// form, or the old functions' bare {name, parameters}. Tools of other types
// run at their vendor and are left out with a note; custom ones are functions
// with one text argument.
func (r *Request) functionTool(i int, v Raw) *fault {
	var t Tool
	kind := "function"
	inner := v
	f := fields(v, func(m Member) *fault {
		switch m.Name {
		case "type":
			return m.str(&kind)
		case "function", "custom":
			inner = m.Value
			return m.object()
		}
		return nil
	})
	if f != nil {
		return f
	}
	if runsAtVendor(kind) {
		r.vendorTools = append(r.vendorTools, functionName(v))
		r.drop(indexed("tools", i) + ": a tool of type " + kind + " runs at its vendor only")
		return nil
	}
	f = fields(inner, func(m Member) *fault {
		switch m.Name {
		case "name":
			return m.str(&t.Name)
		case "description":
			return m.text(&t.Description)
		case "parameters":
			if !m.Value.None() {
				t.Parameters = m.Value
			}
			return m.object()
		case "strict":
			return m.maybeBool(&t.Strict)
		}
		return nil
	})
	if f == nil && t.Name == "" {
		f = (&fault{what: "a function needs a name"}).in("name")
	}
	if f != nil {
		return f.in("function")
	}
	if kind == "custom" {
		t.Parameters = Raw(`{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`)
	}
	r.Tools = append(r.Tools, t)
	return nil
}

// toolChoice reads auto, none, required, a named function in its three
// spellings, and a list of allowed tools (which narrows Tools).
func (r *Request) toolChoice(v Raw) *fault {
	if v.Kind() == '"' {
		switch mode := Text(v).String(); mode {
		case "auto", "none", "required":
			r.ToolChoice.Mode = ChoiceMode(mode)
		case "any": // Mistral's and Anthropic's word
			r.ToolChoice.Mode = ChoiceRequired
		default:
			return &fault{what: "expected auto, none, required or a named function, got " + mode}
		}
		return nil
	}
	if k := v.Kind(); k != '{' && k != 'n' {
		return wrong("a string or an object", v)
	}
	if allowed := v.Get("allowed_tools"); !allowed.None() {
		return r.readAllowedTools(allowed).in("allowed_tools")
	}
	kind := Text(v.Get("type"))
	switch {
	case kind.Is("allowed_tools"):
		return r.readAllowedTools(v)
	case kind.Is("auto"), kind.Is("none"), kind.Is("required"):
		r.ToolChoice.Mode = ChoiceMode(kind.String())
		return nil
	}
	name := functionName(v)
	if v.None() {
		return nil
	}
	if name == "" {
		return (&fault{what: "expected the name of a function"}).in("name").in("function")
	}
	r.ToolChoice = ToolChoice{ChoiceNamed, name}
	return nil
}

// functionName reads the name in {function:{name}}, {custom:{name}} or {name}.
func functionName(v Raw) string {
	for _, in := range []Raw{v.Get("function"), v.Get("custom"), v} {
		if name := in.Get("name"); name.Kind() == '"' {
			return Text(name).String()
		}
	}
	return ""
}

// readAllowedTools reads {mode, tools:[...]}. The list is kept for the end of
// parsing, since tools may stand behind tool_choice in the body. Vendors' own
// tools in it are not to be had here.
func (r *Request) readAllowedTools(v Raw) *fault {
	r.ToolChoice.Mode = ChoiceAuto
	if Text(v.Get("mode")).Is("required") {
		r.ToolChoice.Mode = ChoiceRequired
	}
	r.allowedTools = map[string]bool{}
	listed := 0
	f := (Member{"tools", v.Get("tools")}).each(func(_ int, t Raw) *fault {
		listed++
		if runsAtVendor(textMember(t, "type")) {
			return nil
		}
		name := functionName(t)
		if name == "" {
			return &fault{what: "expected the name of a function"}
		}
		if ns := textMember(t, "namespace"); ns != "" {
			name = ns + "." + name
		}
		r.allowedTools[name] = true
		return nil
	})
	if f == nil && listed == 0 && r.ToolChoice.Mode == ChoiceRequired {
		f = (&fault{what: "a call is required, and no tool is allowed"}).in("tools")
	}
	return f
}

// runsAtVendor reports whether tools of a type run at their vendor only.
func runsAtVendor(kind string) bool {
	return kind != "" && kind != "function" && kind != "custom"
}

// settleTools brings the tools and the choice among them together, once both
// are read.
//  1. A choice that names a tool which is not declared, or demands a call where
//     none is declared, is a mistake: any answer would be another than was asked
//     for.
//  2. Allowed tools are the only ones, since no local runtime can be told to
//     keep its hands off the others.
//  3. A call that only a vendor's own tool could be is not demanded.
//  4. Forbidden tools are taken out. Where the history holds calls, templates may
//     need the tools' definitions, so they stay with choice none and the adapter
//     decides.
func (r *Request) settleTools() *fault {
	if f := r.checkToolChoice(); f != nil { // 1
		return f.in(r.choiceMember())
	}
	if r.allowedTools != nil { // 2
		kept := r.Tools[:0:0]
		for _, t := range r.Tools {
			if r.allowedTools[t.Name] {
				kept = append(kept, t)
			}
		}
		if len(kept) < len(r.Tools) {
			r.drop("tools: " + strconv.Itoa(len(r.Tools)-len(kept)) + " not among allowed_tools")
		}
		r.Tools, r.allowedTools = kept, nil
	}
	switch mode := r.ToolChoice.Mode; {
	case mode == ChoiceNamed && !r.offers(r.ToolChoice.Name), mode == ChoiceRequired && len(r.Tools) == 0: // 3
		r.ToolChoice = ToolChoice{}
		r.drop("tool_choice: none of the tools can run here")
	case mode == ChoiceNone && len(r.Tools) > 0 && !r.hasToolHistory(): // 4
		r.Tools = nil
		r.drop("tools: tool_choice is none")
	}
	return nil
}

// checkToolChoice holds what the choice names and demands against what is
// declared.
func (r *Request) checkToolChoice() *fault {
	if name := r.ToolChoice.Name; r.ToolChoice.Mode == ChoiceNamed && !r.offers(name) && !slices.Contains(r.vendorTools, name) {
		return undeclared(name)
	}
	missing := maps.Clone(r.allowedTools)
	for i := range r.Tools {
		delete(missing, r.Tools[i].Name)
	}
	if names := slices.Sorted(maps.Keys(missing)); len(names) > 0 {
		return undeclared(names[0])
	}
	if r.ToolChoice.Mode == ChoiceRequired && len(r.Tools) == 0 && len(r.vendorTools) == 0 {
		return &fault{what: "a call is required, and the request declares no tools", remedy: "Send tools, or leave tool_choice out."}
	}
	return nil
}

func undeclared(name string) *fault {
	return &fault{what: "no tool of this request is called " + strconv.Quote(name), remedy: "Declare it in tools, or choose one that is."}
}

// offers reports whether a tool of that name can be called here.
func (r *Request) offers(name string) bool {
	return slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.Name == name })
}

// choiceMember is the name under which the body has its tool choice.
func (r *Request) choiceMember() string {
	if r.Member("tool_choice").None() && r.Protocol == OpenAIChat {
		return "function_call"
	}
	return "tool_choice"
}

// assistantCall reads one of an assistant turn's tool_calls: OpenAI's, with
// arguments as text, and Ollama's, with arguments as an object.
func (r *Request) assistantCall(v Raw) (ToolCall, *fault) {
	var c ToolCall
	f := fields(v, func(m Member) *fault {
		switch m.Name {
		case "id":
			return m.str(&c.ID)
		case "function":
			return r.functionCall(m.Value, &c).in(m.Name)
		case "custom":
			c.Name = functionName(v)
			c.Arguments = append(AppendText([]byte(`{"input":`), Text(m.Value.Get("input"))), '}')
		}
		return nil
	})
	if f == nil && c.Name == "" {
		f = (&fault{what: "a call needs the function's name"}).in("name").in("function")
	}
	if c.Arguments == nil {
		c.Arguments = Raw("{}")
	}
	return c, f
}

func (r *Request) functionCall(v Raw, c *ToolCall) *fault {
	return fields(v, func(m Member) *fault {
		switch m.Name {
		case "name":
			return m.str(&c.Name)
		case "arguments":
			var mended bool
			c.Arguments, mended = arguments(m.Value)
			if mended {
				r.drop("arguments of an earlier call of " + c.Name + " were no JSON object: passed on as _raw")
			}
		}
		return nil
	})
}

// arguments makes an object of a call's arguments in a history. "" and null
// are {}: clients send them back as a model without arguments wrote them. Text
// that is no object (a model's mistake which the client keeps in its history)
// is kept under _raw: refusing it would end the conversation for good.
func arguments(v Raw) (object Raw, mended bool) {
	switch v.Kind() {
	case '{':
		return v, false
	case '"':
		text := []byte(Text(v).String())
		object, whole := wholeObject(text)
		if !whole {
			object = argumentsObject(text)
		}
		return object, !whole
	case 'n', 0xff:
		return Raw("{}"), false
	}
	return argumentsObject(v), true
}

// hasToolHistory reports whether an earlier turn called a tool.
func (r *Request) hasToolHistory() bool {
	for i := range r.Messages {
		if len(r.Messages[i].ToolCalls) > 0 || r.Messages[i].Role == RoleTool {
			return true
		}
	}
	return false
}
