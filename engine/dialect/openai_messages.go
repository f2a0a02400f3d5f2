package dialect

import (
	"slices"
	"strconv"
)

// chatMessage reads one message of a chat request.
func (r *Request) chatMessage(i int, v Raw) *fault {
	if v.Kind() != '{' {
		return wrong("an object", v)
	}
	var msg Message
	var role string
	var content Raw
	f := fields(v, func(m Member) *fault {
		switch m.Name {
		case "role":
			return m.str(&role)
		case "content":
			content = m.Value
		case "name":
			return m.str(&msg.Name)
		case "tool_call_id":
			return m.str(&msg.ToolCallID)
		case "reasoning_content", "reasoning":
			if m.Value.Kind() == '"' && !Text(m.Value).Empty() {
				msg.Thinking = Text(m.Value)
			}
		case "refusal":
			if m.Value.Kind() == '"' {
				msg.Parts = append(msg.Parts, Part{Text: Text(m.Value)})
			}
		case "tool_calls":
			return m.each(func(_ int, c Raw) *fault {
				k, f := r.assistantCall(c)
				msg.ToolCalls = append(msg.ToolCalls, k)
				return f
			})
		case "function_call":
			if m.Value.None() {
				return nil
			}
			k := ToolCall{ID: legacyID(i), Arguments: Raw("{}")}
			f := r.functionCall(m.Value, &k).in(m.Name)
			msg.ToolCalls = append(msg.ToolCalls, k)
			r.legacyCalls = append(r.legacyCalls, k)
			return f
		}
		return nil
	})
	if f != nil {
		return f
	}
	if f := msg.setRole(role); f != nil {
		return f.in("role")
	}
	if role == "function" {
		msg.ToolName, msg.ToolCallID = msg.Name, r.legacyCall(msg.Name, i)
	}
	parts, f := r.content(content)
	if f != nil {
		return f.in("content")
	}
	msg.Parts = append(parts, msg.Parts...)
	r.Messages = append(r.Messages, msg)
	return nil
}

// setRole reads a role; developer is a system message and function a tool's
// result, since chat templates know neither.
func (m *Message) setRole(role string) *fault {
	switch role {
	case "system", "developer":
		m.Role = RoleSystem
	case "user":
		m.Role = RoleUser
	case "assistant":
		m.Role = RoleAssistant
	case "tool", "function":
		m.Role = RoleTool
	case "":
		return &fault{what: "a message needs a role"}
	default:
		return &fault{what: "expected system, developer, user, assistant or tool, got " + strconv.Quote(role)}
	}
	return nil
}

// content reads a message's content: a string, nothing (an assistant that only
// called tools), or parts. Nothing is "": templates call methods on it.
func (r *Request) content(v Raw) ([]Part, *fault) {
	switch v.Kind() {
	case '"':
		return []Part{{Text: Text(v)}}, nil
	case 'n', 0xff:
		return []Part{{Text: Text(`""`)}}, nil
	case '[':
	default:
		return nil, wrong("a string or an array of parts", v)
	}
	var parts []Part
	for i, e := range Elements(v) {
		p, known, f := contentPart(e)
		if f != nil {
			return nil, f.at(i)
		}
		if !known {
			r.drop("a content part of type " + Text(e.Get("type")).String())
			continue
		}
		parts = append(parts, p)
	}
	if len(parts) == 0 {
		parts = []Part{{Text: Text(`""`)}}
	}
	return parts, nil
}

// contentPart reads one part of chat content. An unknown kind is not known,
// and no fault.
func contentPart(v Raw) (p Part, known bool, f *fault) {
	if v.Kind() == '"' {
		return Part{Text: Text(v)}, true, nil // a bare string among parts
	}
	if v.Kind() != '{' {
		return p, false, wrong("an object", v)
	}
	switch kind := Text(v.Get("type")).String(); kind {
	case "text", "input_text", "output_text", "":
		if v.Get("text").None() {
			p.Text = Text(`""`)
			return p, kind != "", nil
		}
		f = (Member{"text", v.Get("text")}).text(&p.Text)
	case "refusal":
		p.Text = Text(`""`)
		f = (Member{"refusal", v.Get("refusal")}).text(&p.Text)
	case "image_url", "input_image":
		p, f = imagePart(v.Get("image_url"))
	case "input_audio":
		p, f = audioPart(v.Get("input_audio"))
	case "file":
		p, f = filePart(v.Get("file"))
		f = f.in("file")
	case "input_file":
		p, f = filePart(v)
	case "video_url", "input_video", "video":
		f = unreadable("a video")
	case "audio_url":
		f = &fault{what: "audio is not fetched", remedy: "Send it as input_audio in base64.", code: CodeContent}
	default:
		return p, false, nil
	}
	return p, true, f
}

// nameToolResults gives each tool result the name of the tool whose call it
// answers, where the client gave only the id.
func (r *Request) nameToolResults() {
	names := make(map[string]string)
	for i := range r.Messages {
		m := &r.Messages[i]
		for _, c := range m.ToolCalls {
			if c.ID != "" {
				names[c.ID] = c.Name
			}
		}
		if m.Role != RoleTool || m.ToolName != "" {
			continue
		}
		m.ToolName = names[m.ToolCallID]
		if m.ToolName == "" {
			m.ToolName = m.Name
		}
	}
}

// legacyID is the id of the call an old assistant turn makes with
// function_call, which has none.
func legacyID(message int) string { return "call_message_" + strconv.Itoa(message) }

// legacyCall finds the call that an old function message answers: the first
// open one of that name, as results follow their calls in order.
func (r *Request) legacyCall(name string, at int) string {
	for i, c := range r.legacyCalls {
		if c.Name == name {
			r.legacyCalls = slices.Delete(r.legacyCalls, i, i+1)
			return c.ID
		}
	}
	return legacyID(at)
}
