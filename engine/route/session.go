package route

import (
	"crypto/sha256"
	"encoding/binary"
	stdhex "encoding/hex"
	"strings"

	"bellwether/engine/dialect"
)

// sessionKey finds the conversation a request belongs to (routing.md 2). In
// this order:
//  1. X-Fleet-Session;
//  2. a tag session:<id>;
//  3. the agents' own headers;
//  4. prompt_cache_key or a metadata session, together with the beginning of
//     the conversation: many apps send one such key for all they do;
//  5. the beginning of the conversation alone. Its first turn is free (pins is
//     false): two chats that open alike are told apart by their first answer.
//
// Never the client's address: everything on this machine shares it.
func sessionKey(r *dialect.Request, m *Meta, tags []string) (key string, pins bool) {
	if s := m.header("X-Fleet-Session"); s != "" {
		return hashKey("fleet", s), true
	}
	for _, tag := range tags {
		if id, ok := strings.CutPrefix(tag, "session:"); ok && id != "" {
			return hashKey("tag", id), true
		}
	}
	if source, id := agentSession(m); id != "" {
		return hashKey(source, id), true
	}
	if r.Embed != nil {
		return "", false
	}
	start, ok := opening(r)
	if !ok {
		return "", false
	}
	for _, id := range []string{r.PromptCacheKey, r.MetaSession} {
		if id != "" {
			return hashKey("body", id, start), true
		}
	}
	answer, ok := firstAnswer(r)
	if !ok {
		return hashKey("opening", start), false
	}
	return hashKey("chain", start, answer), true
}

// agentSession reads the headers by which coding agents name a conversation.
// A sub-agent has a prompt of its own, so it is a session of its own.
func agentSession(m *Meta) (source, id string) {
	if s := m.header("X-Claude-Code-Session-Id"); s != "" {
		return "claude-code", s + "\x00" + m.header("X-Claude-Code-Agent-Id")
	}
	for _, name := range []string{"Thread-Id", "Session-Id", "X-Session-Id", "X-Session-Affinity"} {
		if s := m.header(name); s != "" {
			return name, s
		}
	}
	return "", ""
}

// opening hashes the system texts before the first user turn, and that turn.
func opening(r *dialect.Request) (string, bool) {
	var room [chainRoom]byte
	c := chain(room[:0]).text(r.Instructions)
	if p := r.Prompt; p != nil {
		return c.text(p.System).text(p.Text).sum(), len(p.Text) > 2
	}
	for i := range r.Messages {
		msg := &r.Messages[i]
		c = c.message(msg)
		if msg.Role == dialect.RoleUser {
			return c.sum(), true
		}
	}
	return "", false
}

// firstAnswer hashes what came up to and with the first assistant turn.
func firstAnswer(r *dialect.Request) (string, bool) {
	var room [chainRoom]byte
	c := chain(room[:0])
	for i := range r.Messages {
		msg := &r.Messages[i]
		c = c.message(msg)
		if msg.Role == dialect.RoleAssistant {
			return c.sum(), true
		}
	}
	return "", false
}

// chain hashes messages. Of a long text the two ends and the length count: a
// prompt of a megabyte must not cost a hash of a megabyte.
type chain []byte

const (
	chainEnd  = 16 << 10 // bytes of a text hashed at either end
	chainRoom = 512      // bytes of a short conversation, kept on the stack
)

func (c chain) text(t []byte) chain {
	c = binary.BigEndian.AppendUint64(c, uint64(len(t)))
	if len(t) > 2*chainEnd {
		c = append(c, t[:chainEnd]...)
		t = t[len(t)-chainEnd:]
	}
	return append(c, t...)
}

func (c chain) message(m *dialect.Message) chain {
	c = c.text([]byte(m.Role))
	for i := range m.Parts {
		p := &m.Parts[i]
		c = c.text(p.Text).text(p.Data).text([]byte(p.URL))
	}
	for i := range m.ToolCalls {
		c = c.text([]byte(m.ToolCalls[i].Name)).text(m.ToolCalls[i].Arguments)
	}
	return c
}

func (c chain) sum() string {
	s := sha256.Sum256(c)
	return string(s[:])
}

// hashKey makes the key that goes into pins and records: no one can read the
// client's own session id out of it.
func hashKey(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return stdhex.EncodeToString(h.Sum(nil)[:12])
}
