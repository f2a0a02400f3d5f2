package dialect

import "slices"

// appendOllamaReply renders the one object of an answer without streaming.
func appendOllamaReply(dst []byte, r *Request, id *Identity, rep *Reply) []byte {
	l := newOllamaLine(r, id)
	if rep.Native != nil {
		return l.rename(dst, rep.Native)
	}
	switch r.Protocol {
	case OllamaEmbed:
		return l.embed(dst, rep)
	case OllamaEmbeddings:
		return l.embeddings(dst, rep)
	}
	calls := make([]*call, 0, len(rep.Tools))
	for i := range rep.Tools {
		t := &rep.Tools[i]
		if _, whole := wholeObject(t.Arguments); rep.Finish == FinishLength && !whole {
			continue // cut in the middle of the call
		}
		calls = append(calls, &call{n: len(calls), id: t.ID, name: t.Name, args: argumentScan{text: t.Arguments}})
	}
	dst = l.content(slices.Grow(dst, 512+len(rep.Text)+len(rep.Thinking)), rep.Text, rep.Thinking, calls)
	dst = l.done(dst, rep.Finish, rep.Usage, rep.Timings, rep.Context, rep.Logprobs)
	return append(dst, '}')
}

func (l *ollamaLine) embed(dst []byte, rep *Reply) []byte {
	dst = append(append(dst, `{"model":`...), l.model...)
	dst = append(dst, `,"embeddings":[`...)
	for i, v := range rep.Vectors {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendVector(dst, v, 32)
	}
	dst = append(dst, ']')
	total := rep.Timings.Total
	if total == 0 && l.id.Now != nil {
		total = l.id.Now().Sub(l.id.Created)
	}
	dst = appendPositive(dst, `,"total_duration":`, int64(total))
	dst = appendPositive(dst, `,"load_duration":`, int64(rep.Timings.Load))
	dst = appendPositive(dst, `,"prompt_eval_count":`, int64(rep.Usage.Input))
	return append(dst, '}')
}

// embeddings is the old endpoint: one vector, and nothing else.
func (l *ollamaLine) embeddings(dst []byte, rep *Reply) []byte {
	dst = append(dst, `{"embedding":`...)
	if len(rep.Vectors) == 0 {
		return append(dst, "[]}"...)
	}
	return append(appendVector(dst, rep.Vectors[0], 64), '}')
}
