package task

import (
	"bytes"

	"bellwether/engine/dialect"
)

// How much of each text is looked at, bytes of the literal. What is asked
// stands at the beginning or the end of a long message.
const (
	userHead    = 3 << 10
	userTail    = 1536
	earlierHead = 400
	earlierTail = 200
	systemHead  = 800
)

// Input is what is looked at of a request, decoded.
type Input struct {
	User    []byte // what the user asks now
	Earlier []byte // what the user asked before, a weak hint
	System  []byte // the beginning of the system text
	Turns   int    // turns of the user, this one included
	Code    bool   // the answer before this turn has a code block
}

// Read picks the texts of a conversation or completion. buf is scratch that
// the result may alias; nil is fine.
//
//  1. The user's turn is the last one that says something: tool results, and
//     blocks that programs put between tags, say nothing of the user's.
//  2. Earlier is the turn before that one.
func Read(r *dialect.Request, buf []byte) Input {
	var in Input
	buf = buf[:0]
	part := func(from int) []byte { return buf[from:len(buf):len(buf)] }
	if p := r.Prompt; p != nil {
		buf = ends(buf, inside(p.Text), userHead, userTail)
		in.User, in.Turns = part(0), 1
		at := len(buf)
		buf = ends(buf, inside(p.System), systemHead, 0)
		in.System = part(at)
		return in
	}
	i := len(r.Messages) - 1
	for ; i >= 0 && in.User == nil; i-- {
		if m := &r.Messages[i]; m.Role == dialect.RoleUser {
			buf, in.User = turn(buf, m, userHead, userTail)
		} else if m.Role == dialect.RoleAssistant && in.User == nil && len(m.ToolCalls) == 0 {
			continue // an answer to be continued
		}
	}
	if in.User != nil {
		in.Turns = 1
	}
	for ; i >= 0; i-- {
		m := &r.Messages[i]
		switch {
		case m.Role == dialect.RoleUser:
			in.Turns++
			if in.Earlier == nil {
				buf, in.Earlier = turn(buf, m, earlierHead, earlierTail)
			}
		case m.Role == dialect.RoleAssistant && in.Earlier == nil:
			in.Code = in.Code || hasFence(m)
		}
	}
	system := r.Instructions
	if len(r.Messages) > 0 && r.Messages[0].Role == dialect.RoleSystem {
		system = firstText(&r.Messages[0])
	}
	at := len(buf)
	buf = ends(buf, inside(system), systemHead, 0)
	in.System = part(at)
	return in
}

// turn appends what a user's message says, nil if it says nothing.
func turn(buf []byte, m *dialect.Message, head, tail int) (out, text []byte) {
	at := len(buf)
	for k := range m.Parts {
		p := &m.Parts[k]
		if p.Kind != dialect.PartText || isTagged(inside(p.Text)) {
			continue
		}
		if len(buf) > at {
			buf = append(buf, "\n\n"...)
		}
		if len(buf)-at > head+tail {
			buf = buf[:at+head]
		}
		buf = ends(buf, inside(p.Text), head, tail)
	}
	if len(bytes.TrimSpace(buf[at:])) == 0 {
		return buf[:at], nil
	}
	return buf, buf[at:len(buf):len(buf)]
}

// isTagged reports whether a whole text is a block that a program put there
// for the model, such as a reminder or a description of the surroundings.
func isTagged(in []byte) bool {
	if len(in) < 9 || in[0] != '<' || in[len(in)-1] != '>' {
		return false
	}
	for _, tag := range [...]string{"<system", "<env", "<context", "<command", "<local-command", "<user_instructions", "<permissions", "<AGENTS"} {
		if bytes.HasPrefix(in, []byte(tag)) {
			return true
		}
	}
	return false
}

func hasFence(m *dialect.Message) bool {
	for k := range m.Parts {
		t := m.Parts[k].Text
		if bytes.Contains(t[:min(len(t), 8<<10)], []byte("```")) {
			return true
		}
	}
	return false
}

func firstText(m *dialect.Message) dialect.Text {
	for k := range m.Parts {
		if t := m.Parts[k].Text; len(t) > 2 {
			return t
		}
	}
	return nil
}

// inside is what stands between a literal's quotes.
func inside(t dialect.Text) []byte {
	if len(t) <= 2 {
		return nil
	}
	return t[1 : len(t)-1]
}
