package dialect

// document reads a document: its text, or what it is made of. A file of another
// kind is none that models here read.
func (t *turn) document(v Raw) ([]Part, *fault) {
	var title, context Text
	var source Raw
	f := fields(v, func(m Member) *fault {
		switch m.Name {
		case "title":
			return m.text(&title)
		case "context":
			return m.text(&context)
		case "source":
			source = m.Value
			return m.object()
		}
		return nil
	})
	if f != nil {
		return nil, f
	}
	parts, f := t.documentSource(source)
	switch head := heading(title, context); {
	case len(head) == 0 || len(parts) == 0:
	case parts[0].Kind == PartText:
		parts[0].Text = Join("\n\n", append(head, parts[0].Text)...)
	default:
		parts = append([]Part{{Text: Join("\n\n", head...)}}, parts...)
	}
	return parts, f.in("source")
}

func (t *turn) documentSource(v Raw) ([]Part, *fault) {
	kind, data := textMember(v, "type"), v.Get("data")
	switch kind {
	case "content":
		parts, f := t.nested(v.Get("content"))
		return parts, f.in("content")
	case "text", "base64":
	default:
		return nil, unreadable("a document that is not in the request")
	}
	if data.Kind() != '"' {
		return nil, wrong("a string", data).in("data")
	}
	if kind == "text" {
		return []Part{{Text: Text(data)}}, nil
	}
	text, f := fileText(plainBytes(Text(data)))
	return []Part{{Text: text}}, f.in("data")
}

// heading lists the texts that say something.
func heading(texts ...Text) []Text {
	var said []Text
	for _, t := range texts {
		if !t.Empty() {
			said = append(said, t)
		}
	}
	return said
}

// searchResult reads a search result as text: title, source, then what it says.
func (t *turn) searchResult(v Raw) ([]Part, *fault) {
	var title, source Text
	var content Raw
	f := fields(v, func(m Member) *fault {
		switch m.Name {
		case "title":
			return m.text(&title)
		case "source":
			return m.text(&source)
		case "content":
			content = m.Value
		}
		return nil
	})
	if f != nil {
		return nil, f
	}
	parts, f := t.nested(content)
	if head := heading(title, source); len(head) > 0 {
		parts = append([]Part{{Text: Join("\n", append(head, Text(`""`))...)}}, parts...)
	}
	return parts, f.in("content")
}

// nested reads content inside a block: a string, blocks, or nothing.
func (t *turn) nested(v Raw) ([]Part, *fault) {
	switch v.Kind() {
	case 'n', 0xff:
		return nil, nil
	case '"':
		return []Part{{Text: Text(v)}}, nil
	case '[':
	default:
		return nil, wrong("a string or an array of blocks", v)
	}
	var parts []Part
	for i, b := range Elements(v) {
		kind, f := blockType(b)
		if f != nil {
			return nil, f.at(i)
		}
		more, f := t.parts(kind, b)
		if f != nil {
			return nil, f.at(i)
		}
		parts = append(parts, more...)
	}
	return parts, nil
}
