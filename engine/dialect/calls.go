package dialect

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// call is one tool call of an answer while its pieces come in.
type call struct {
	index    int // the runtime's number
	n        int // ours, from 0 in order of appearance
	id, name string
	args     argumentScan
	sent     bool // its head (OpenAI) or the whole of it (Ollama) has been rendered
}

// callTracker sorts the pieces of an answer's tool calls into calls. Runtimes
// disagree about the index: some number every call 0, so a piece with another
// id, or with a name after complete arguments, begins a new call all the same.
type callTracker struct{ calls []*call }

// add takes one piece and returns its call; nil when the piece says nothing
// (blanks behind a call that is over, before any call).
func (t *callTracker) add(d *ToolDelta) *call {
	c := t.find(d)
	if c == nil {
		if d.Name == "" && d.ID == "" && blank(d.Arguments) {
			return nil
		}
		c = &call{index: d.Index, n: len(t.calls)}
		t.calls = append(t.calls, c)
	}
	if c.id == "" {
		c.id = d.ID
	}
	if c.name == "" {
		c.name = d.Name // some runtimes repeat it on every piece
	}
	c.args.add(d.Arguments)
	return c
}

func (t *callTracker) find(d *ToolDelta) *call {
	for i := len(t.calls) - 1; i >= 0; i-- {
		c := t.calls[i]
		if c.index != d.Index {
			continue
		}
		otherID := d.ID != "" && c.id != "" && d.ID != c.id
		again := d.Name != "" && c.args.complete() && (d.Name != c.name || !blank(d.Arguments))
		if otherID || again {
			return nil
		}
		return c
	}
	return nil
}

// any reports whether the answer calls a tool.
func (t *callTracker) any() bool {
	for _, c := range t.calls {
		if c.name != "" {
			return true
		}
	}
	return false
}

// OneCall holds an answer to its first tool call, for clients that allow no
// more at once. The zero value is ready.
type OneCall struct{ calls callTracker }

// Keep takes out of a chunk what belongs to further calls.
func (o *OneCall) Keep(c *Chunk) {
	c.Tools = slices.DeleteFunc(c.Tools, func(d ToolDelta) bool {
		call := o.calls.add(&d)
		return call != nil && call.n > 0
	})
}

// LeftOut is how many calls were taken out.
func (o *OneCall) LeftOut() int { return max(0, len(o.calls.calls)-1) }

// callID is the id the client sees: minted by ours, else the runtime's, else
// made from the answer's.
func (id *Identity) callID(n int, runtimes string) string {
	switch {
	case id.ToolCallID != nil:
		return id.ToolCallID(n)
	case runtimes != "":
		return runtimes
	}
	return "call_" + id.ID + "_" + strconv.Itoa(n)
}

// finishOf gives the finish reason an OpenAI client must see: a turn that
// calls tools ends in tool_calls even where the runtime says stop (it did so
// in an earlier frame), but a turn that was cut stays cut.
func finishOf(f Finish, calls bool) string {
	switch f {
	case FinishLength, FinishFilter:
		return string(f)
	}
	if calls || f == FinishTools {
		return string(FinishTools)
	}
	return string(FinishStop)
}

// argumentsObject makes an object of a call's arguments for protocols that
// carry one: none is {}, and text that is no object is kept under "_raw"
// rather than lost, where the tool's own schema will refuse it.
func argumentsObject(text []byte) Raw {
	if o, ok := wholeObject(text); ok {
		return o
	}
	return append(AppendString([]byte(`{"_raw":`), string(text)), '}')
}

// wholeObject reads a call's arguments; not ok when they are no object.
func wholeObject(text []byte) (o Raw, ok bool) {
	if blank(string(text)) || string(text) == "null" {
		return Raw("{}"), true
	}
	v := jsontext.Value(text)
	if v.Kind() != '{' || !v.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return nil, false
	}
	return Raw(oneLine(text)), true
}

// oneLine strips the line breaks that models put between members: a raw one
// would end a line of a stream.
func oneLine(v []byte) []byte {
	for _, c := range v {
		if c == '\n' || c == '\r' {
			compact := jsontext.Value(append([]byte(nil), v...))
			if compact.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) == nil {
				return compact
			}
			return v
		}
	}
	return v
}
