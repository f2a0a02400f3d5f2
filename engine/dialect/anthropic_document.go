package dialect

// document reads a document. Text becomes text; a PDF is kept as a file, which
// no runtime here reads, and noted.
func (t *turn) document(v Raw) ([]Part, *fault) {
	var title, context, data Text
	var kind, url, mime string
	var content Raw
	f := fields(v, func(m Member) *fault {
		switch m.Name {
		case "title":
			return m.text(&title)
		case "context":
			return m.text(&context)
		case "source":
			return fields(m.Value, func(s Member) *fault {
				switch s.Name {
				case "type":
					return s.str(&kind)
				case "media_type":
					return s.str(&mime)
				case "data":
					return s.text(&data)
				case "url":
					return s.str(&url)
				case "content":
					content = s.Value
				}
				return nil
			}).in(m.Name)
		}
		return nil
	})
	if f != nil {
		return nil, f
	}
	head := heading(title, context)
	switch kind {
	case "text":
		return []Part{{Text: Join("\n\n", append(head, data)...)}}, nil
	case "content":
		parts, f := t.nested(content)
		if len(head) > 0 {
			parts = append([]Part{{Text: Join("\n\n", append(head, Text(`""`))...)}}, parts...)
		}
		return parts, f.in("content").in("source")
	}
	p := Part{Kind: PartFile, MIME: mime, URL: url}
	f = (Member{"data", Raw(data)}).data(&p.Data)
	t.r.drop(t.at + ": a document of type " + mimeOr(mime, kind) + ", which local models do not read")
	return []Part{p}, f.in("source")
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

func mimeOr(mime, kind string) string {
	if mime != "" {
		return mime
	}
	return kind
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
