package dialect

// Part returns the request for some of its embedding inputs, from the first up
// to but not including the last, and else as its client wrote it. The receiver
// is not changed; their inputs are shared.
func (r *Request) Part(first, last int) *Request {
	p, e := *r, *r.Embed
	e.Inputs, e.Single = r.Embed.Inputs[first:last:last], false
	p.Embed = &e
	p.Members = make([]Member, len(r.Members))
	copy(p.Members, r.Members)
	for i := range p.Members {
		if p.Members[i].Name == "input" {
			p.Members[i].Value = textList(e.Inputs)
		}
	}
	size := 2
	for _, m := range p.Members {
		size += len(m.Name) + len(m.Value) + 8
	}
	body := append(make([]byte, 0, size), '{')
	for i, m := range p.Members {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(AppendString(body, m.Name), ':')
		body = append(body, m.Value...)
	}
	p.Body = append(body, '}')
	return &p
}

func textList(texts []Text) Raw {
	size := 2
	for _, t := range texts {
		size += len(t) + 1
	}
	list := append(make([]byte, 0, size), '[')
	for i, t := range texts {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, t...)
	}
	return append(list, ']')
}
