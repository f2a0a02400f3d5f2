package runtime

import (
	"bytes"
	"fmt"
	"strconv"

	"bellwether/engine/dialect"
)

// rewrite writes an Ollama client's own body for the runtime: every member as
// it was sent, byte for byte and in order, but for the few the router decides.
// With nothing to change the body goes out as it came.
func (p *ollamaPlan) rewrite(c *Call) {
	r := c.Request
	edits := map[string][]byte{}
	if !dialect.Text(member(r, "model")).Is(c.Model) {
		edits["model"] = dialect.AppendString(nil, c.Model)
	}
	if options, changed := p.rewriteOptions(c); changed {
		edits["options"] = options
	}
	if c.Context > 0 && c.Context != r.NumCtx && r.Embed == nil && !r.LoadOnly && member(r, "truncate") == nil {
		// The window is ours, so it must not cut what a larger one holds.
		edits["truncate"] = []byte("false")
		p.edits = append(p.edits, "truncate false added")
	}
	if r.Protocol == dialect.OllamaChat && string(member(r, "format")) == `"json"` {
		if format := ollamaFormat(c); string(format) == anyObject {
			edits["format"] = format
			p.edits = append(p.edits, "format json sent as the schema of any object")
		}
	}
	if len(edits) == 0 {
		p.body = r.Body
		return
	}
	w := newBuilder(len(r.Body) + len(c.Model) + 128)
	w.open('{')
	put := func(name string, value []byte) {
		w.key(name)
		w.raw(value)
	}
	for _, m := range r.Members {
		value := m.Value
		if edited, ok := edits[m.Name]; ok {
			value = edited
			delete(edits, m.Name)
		}
		put(m.Name, value)
	}
	for _, name := range [...]string{"model", "options", "truncate"} {
		if value, ok := edits[name]; ok {
			put(name, value)
		}
	}
	w.shut('}')
	p.built(w)
}

func member(r *dialect.Request, name string) dialect.Raw {
	for _, m := range r.Members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// rewriteOptions edits num_ctx (a window other than the loaded one would
// reload the model) and num_predict; the other options keep bytes and order.
func (p *ollamaPlan) rewriteOptions(c *Call) (options []byte, changed bool) {
	r := c.Request
	set := map[string]string{}
	drop := map[string]bool{}
	switch {
	case c.Context > 0 && c.Context != r.NumCtx:
		set["num_ctx"] = strconv.Itoa(c.Context)
		p.edits = append(p.edits, noteChange("num_ctx", max(r.NumCtx, 0), c.Context))
	case c.Context == 0 && r.NumCtx > 0:
		drop["num_ctx"] = true
		p.edits = append(p.edits, fmt.Sprintf("num_ctx %d left out", r.NumCtx))
	}
	if limit, edit := outputLimit(c); edit != "" && !r.LoadOnly && r.Embed == nil {
		set["num_predict"] = strconv.Itoa(limit)
		p.edits = append(p.edits, edit)
	}
	if len(set) == 0 && len(drop) == 0 {
		return nil, false
	}
	w := newBuilder(256)
	w.open('{')
	for _, o := range r.Options {
		if drop[o.Name] {
			continue
		}
		value := []byte(o.Value)
		if v, ok := set[o.Name]; ok {
			value = []byte(v)
			delete(set, o.Name)
		}
		w.key(o.Name)
		w.raw(value)
	}
	for _, name := range [...]string{"num_ctx", "num_predict"} {
		if v, ok := set[name]; ok {
			w.key(name)
			w.raw(dialect.Raw(v))
		}
	}
	w.shut('}')
	return bytes.Clone(w.b), true
}
