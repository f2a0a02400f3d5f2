package runtime

import (
	"slices"

	"bellwether/engine/dialect"
)

// systemFirst joins the leading system messages to one and turns later ones
// into user turns, for templates that raise an exception at them.
func (p *llamaPlan) systemFirst(in []dialect.Message) []dialect.Message {
	lead := 0
	for lead < len(in) && in[lead].Role == dialect.RoleSystem {
		lead++
	}
	later := slices.ContainsFunc(in[lead:], func(m dialect.Message) bool { return m.Role == dialect.RoleSystem })
	if lead <= 1 && !later {
		return in
	}
	out := make([]dialect.Message, 0, len(in))
	if lead > 0 {
		texts := make([]dialect.Text, lead)
		for i := range texts {
			texts[i] = contentText(&in[i])
		}
		out = append(out, dialect.Message{Role: dialect.RoleSystem, Parts: []dialect.Part{{Kind: dialect.PartText, Text: dialect.Join("\n\n", texts...)}}})
	}
	for _, m := range in[lead:] {
		if m.Role == dialect.RoleSystem {
			m = dialect.Message{Role: dialect.RoleUser, Parts: []dialect.Part{{Kind: dialect.PartText, Text: systemReminder(contentText(&m))}}}
		}
		out = append(out, m)
	}
	if later {
		p.edits = append(p.edits, "system messages in mid-conversation wrapped as user turns: the template allows only a first one")
	}
	return out
}

// openAIMessage writes one turn: text alone as a string, with images and audio
// as parts in their order. Content is never null: some templates strip it.
func openAIMessage(w *builder, m *dialect.Message) {
	w.open('{')
	w.key("role")
	w.str(string(m.Role))
	w.key("content")
	media := slices.ContainsFunc(m.Parts, func(p dialect.Part) bool {
		return (p.Kind == dialect.PartImage || p.Kind == dialect.PartAudio) && len(p.Data) > 0
	})
	if media {
		openAIParts(w, m)
	} else {
		w.text(contentText(m))
	}
	if m.Role == dialect.RoleAssistant {
		w.textIf("reasoning_content", m.Thinking)
	}
	if len(m.ToolCalls) > 0 {
		w.key("tool_calls")
		w.open('[')
		for i := range m.ToolCalls {
			call := &m.ToolCalls[i]
			w.open('{')
			w.key("id")
			w.str(call.ID)
			w.key("type")
			w.str("function")
			w.key("function")
			w.open('{')
			w.key("name")
			w.str(call.Name)
			w.key("arguments")
			w.str(string(arguments(call.Arguments)))
			w.shut('}')
			w.shut('}')
		}
		w.shut(']')
	}
	if m.Role == dialect.RoleTool {
		w.key("tool_call_id")
		w.str(m.ToolCallID)
		if m.ToolName != "" {
			w.key("name")
			w.str(m.ToolName)
		}
	}
	w.shut('}')
}

func openAIParts(w *builder, m *dialect.Message) {
	w.open('[')
	for i := range m.Parts {
		part := &m.Parts[i]
		switch {
		case part.Kind == dialect.PartText && part.Text != nil:
			w.open('{')
			w.key("type")
			w.str("text")
			w.key("text")
			w.text(part.Text)
			w.shut('}')
		case part.Kind == dialect.PartImage && len(part.Data) > 0:
			w.open('{')
			w.key("type")
			w.str("image_url")
			w.key("image_url")
			w.open('{')
			w.key("url")
			w.item()
			w.b = append(w.b, `"data:`...)
			w.b = append(w.b, orElse(part.MIME, "image/png")...)
			w.b = append(w.b, ";base64,"...)
			w.b = append(w.b, part.Data...)
			w.b = append(w.b, '"')
			w.shut('}')
			w.shut('}')
		case part.Kind == dialect.PartAudio && len(part.Data) > 0:
			w.open('{')
			w.key("type")
			w.str("input_audio")
			w.key("input_audio")
			w.open('{')
			w.key("data")
			w.base64(part.Data)
			w.key("format")
			w.str(audioFormat(part.MIME))
			w.shut('}')
			w.shut('}')
		}
	}
	w.shut(']')
}

func audioFormat(mime string) string {
	if mime == "audio/mpeg" || mime == "audio/mp3" {
		return "mp3"
	}
	return "wav"
}
