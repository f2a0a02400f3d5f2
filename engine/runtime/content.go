package runtime

import (
	"fmt"
	"strings"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// What both adapters need to know of a request before they write it.

// outputLimit is the output limit to send, 0 = none, and what to note where it is
// not the client's: the router lowers one that the context has no room for, and
// raises one for a model that thinks.
func outputLimit(c *Call) (limit int, edit string) {
	if m := c.Request.MaxOutput; m != nil && *m > 0 {
		limit = *m
	}
	switch c.Output {
	case 0, limit:
		return limit, ""
	default:
		return c.Output, noteChange("output limit", limit, c.Output)
	}
}

// noteChange tells of a number that is sent in place of what a client said, 0 = nothing.
func noteChange(name string, from, to int) string {
	if from == 0 {
		return fmt.Sprintf("%s %d added", name, to)
	}
	return fmt.Sprintf("%s %d changed to %d", name, from, to)
}

// contentText joins a message's texts; a line break stands where one part ended.
// A failed tool result says so in words: runtimes have no field for it.
func contentText(m *dialect.Message) dialect.Text {
	var only dialect.Text
	n := 0
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == dialect.PartText && p.Text != nil {
			only = p.Text
			n++
		}
	}
	if n == 1 && !m.IsError {
		return only // a prompt of a megabyte is not copied for being looked at
	}
	texts := make([]dialect.Text, 0, n)
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == dialect.PartText && p.Text != nil {
			texts = append(texts, p.Text)
		}
	}
	joined := dialect.Join("\n", texts...)
	if m.IsError {
		return dialect.Concat(dialect.Quote("Error: "), joined)
	}
	return joined
}

// checkParts refuses an image of which there is only the address: runtimes are
// given bytes.
func checkParts(r *dialect.Request) error {
	if !r.RemoteImages() {
		return nil
	}
	return &fleet.Failure{Class: fleet.FailStatus, Status: 400, Code: "remote_image", Caller: true,
		Message: "the image at an address was not fetched; send the image itself as base64"}
}

// toolNameOf finds the tool a result answers: named in the result, else by the
// id of the call, looked for backwards.
func toolNameOf(messages []dialect.Message, at int) string {
	m := &messages[at]
	if m.ToolName != "" || m.ToolCallID == "" {
		return m.ToolName
	}
	for i := at - 1; i >= 0; i-- {
		for _, call := range messages[i].ToolCalls {
			if call.ID == m.ToolCallID {
				return call.Name
			}
		}
	}
	return ""
}

// arguments of a call as an object: "" and null are none.
func arguments(v dialect.Raw) dialect.Raw {
	if v.None() || v.Kind() == '"' && dialect.Text(v).Empty() {
		return dialect.Raw("{}")
	}
	return v
}

// thinkLevel reduces the many words for effort to those runtimes know.
func thinkLevel(t dialect.Think) string {
	switch strings.ToLower(t.Level) {
	case "minimal", "low":
		return "low"
	case "medium":
		return "medium"
	case "high":
		return "high"
	case "xhigh", "ultra", "max":
		return "max"
	}
	return ""
}

// thinkOn reports what the client wants of the reasoning channel; set is false
// when the model's own default holds.
func thinkOn(t dialect.Think) (on, set bool) {
	if strings.EqualFold(t.Level, "none") {
		return false, true
	}
	if t.Level != "" || t.Budget > 0 {
		return t.On || !t.Set, true
	}
	return t.On, t.Set
}

// bodySize guesses the size of a rendered body, so that it is written in one go.
func bodySize(r *dialect.Request) int { return len(r.Body) + len(r.Body)/8 + 384 }
