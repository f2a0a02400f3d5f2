package runtimetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// compose decides what the answer says: the script, the Reply function, a tool
// call, an instance of the schema asked for, or the default text; cut at stop
// words and at the limit. The same request gets the same answer.
func (s *speech) compose(t trouble, ctx int) {
	s.reason = "stop"
	answer := s.scripted()
	switch {
	case answer != nil:
		s.use(answer)
	case s.wantsCall():
		s.callTools()
	default:
		s.useDefault()
	}
	if s.thinks() && s.thoughts == nil && len(s.calls) == 0 && answer == nil {
		s.thoughts = s.m.thoughts
	}
	if !s.thinks() {
		s.thoughts = nil
	}
	if t.thinkOnly {
		s.thoughts = append(s.thoughts[:len(s.thoughts):len(s.thoughts)], s.pieces...)
		s.pieces, s.endless = nil, false
	}
	if t.swallow {
		s.hidden += callTokens * len(s.calls)
		s.calls = nil
	}
	if t.endless {
		s.calls, s.endless, s.outN = nil, true, math.MaxInt32
		return
	}
	s.stopAtWords()
	s.limit(ctx)
}

func (s *speech) escapes() escaping { return escaping(s.f.config.Kind == Ollama) }

// thinks reports whether the answer may begin with reasoning: a thinking model
// does unless it is told not to.
func (s *speech) thinks() bool { return s.m.can("thinking") && s.a.think != thinkOff }

// scripted finds a scripted answer.
func (s *speech) scripted() *Answer {
	if len(s.m.Script) == 0 && s.m.Reply == nil && s.m.Strength == nil {
		return nil
	}
	last := s.a.last()
	s.f.mu.Lock()
	for i := range s.m.Script {
		c := &s.m.Script[i]
		if !strings.Contains(last, c.Match) || c.Times > 0 && s.m.given[i] >= c.Times {
			continue
		}
		s.m.given[i]++
		s.f.mu.Unlock()
		return c
	}
	s.f.mu.Unlock()
	if a := s.f.exam.answer(s.m, last); a != nil {
		return a
	}
	if s.m.Reply == nil {
		return nil
	}
	q := Question{Path: s.a.path, Model: s.m.full, Last: last, LastRole: s.a.lastRole,
		Messages: s.a.messages, Images: s.a.images, Body: s.a.body}
	for _, t := range s.a.tools {
		q.Tools = append(q.Tools, t.name)
	}
	return s.m.Reply(q)
}

func (s *speech) use(a *Answer) {
	if a.Thinking != "" {
		s.thoughts = cut(a.Thinking, s.escapes())
	}
	if a.Pieces != nil {
		s.pieces = quotePieces(a.Pieces, s.escapes())
	} else {
		s.pieces = cut(a.Text, s.escapes())
	}
	for _, c := range a.Calls {
		if s.swallows(c.Name) {
			s.hidden += callTokens
			continue
		}
		s.addCall(c.Name, c.Arguments, len(s.calls))
	}
	if a.Reason != "" {
		s.reason = a.Reason
	}
}

// swallows reports whether a call vanishes: Ollama drops those to tools that
// were not declared.
func (s *speech) swallows(name string) bool {
	return s.f.config.Kind == Ollama && len(s.a.tools) > 0 &&
		!slices.ContainsFunc(s.a.tools, func(t tool) bool { return t.name == name })
}

// wantsCall reports whether the model calls a tool: it was given some, may use
// them, and the last turn is not a tool's result. Forced, it always does.
func (s *speech) wantsCall() bool {
	if len(s.a.tools) == 0 || !s.m.can("tools") {
		return false
	}
	forces := s.f.config.Kind == LlamaServer // Ollama ignores tool_choice
	if forces && s.a.choice == "none" {
		return false
	}
	if forces && (s.a.choice == "required" || strings.HasPrefix(s.a.choice, "=")) {
		return true
	}
	return s.a.lastRole != "tool" && s.a.lastRole != "function"
}

// callTools calls the first tool, the one that tool_choice names, or all of
// them when the prompt asks for parallel calls.
func (s *speech) callTools() {
	list := s.a.tools[:1]
	named, isNamed := strings.CutPrefix(s.a.choice, "=")
	switch {
	case isNamed && s.f.config.Kind == LlamaServer:
		for i, t := range s.a.tools {
			if t.name == named {
				list = s.a.tools[i : i+1]
			}
		}
	case strings.Contains(s.a.last(), "parallel") && !(s.a.single && s.f.config.Kind == LlamaServer):
		list = s.a.tools
		if len(list) == 1 {
			list = []tool{list[0], list[0]}
		}
	}
	for i, t := range list {
		s.addCall(t.name, string(instance(t.params)), i)
	}
}

func (s *speech) addCall(name, args string, i int) {
	id := randomString(32)
	if s.f.config.Kind == Ollama {
		id = "call_" + randomLower(8)
	}
	s.calls = append(s.calls, said{id: id, name: name, args: args, index: i})
}

func (s *speech) useDefault() {
	a := s.a
	// llama-server makes the grammar of an empty schema out of "json": anything goes.
	if len(a.format) > 0 && (s.f.config.Kind == Ollama || kind(a.format) == '{') {
		said := `{"answer":"` + s.m.short + ` answers"}`
		if kind(a.format) == '{' {
			said = string(instance(a.format))
		}
		s.pieces = cut(said, s.escapes())
		return
	}
	last := ""
	if a.images > 0 || len(a.lastUser) < 200 {
		last = a.last()
	}
	n, wished := asksFor(last)
	switch {
	case a.images > 0:
		s.pieces = cut(fmt.Sprintf("%s sees %d image%s.", s.m.short, a.images, plural(a.images)), s.escapes())
	case a.suffix:
		s.pieces = cut(s.m.short+" fills the middle.", s.escapes())
	case wished:
		s.pieces = cut(defaultText(s.m.short, n, a.seed), s.escapes())
	case a.seed != 0:
		s.pieces = cut(defaultText(s.m.short, s.m.Tokens, a.seed), s.escapes())
	default:
		s.pieces = s.m.speech
	}
	s.endless = s.m.Tokens < 0 && !wished
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// stopAtWords ends the text before the first stop word in it.
func (s *speech) stopAtWords() {
	if len(s.a.stop) == 0 || s.endless {
		return
	}
	var all strings.Builder
	for _, p := range s.pieces {
		all.WriteString(p.text)
	}
	full := all.String()
	at := len(full)
	for _, word := range s.a.stop {
		if i := strings.Index(full, word); word != "" && i >= 0 && i < at {
			at, s.stopWord = i, word
		}
	}
	if at == len(full) {
		return
	}
	s.calls = nil
	kept := make([]piece, 0, len(s.pieces))
	for _, p := range s.pieces {
		if len(p.text) >= at {
			if at > 0 {
				kept = append(kept, quotePieces([]string{p.text[:at]}, s.escapes())...)
			}
			break
		}
		at -= len(p.text)
		kept = append(kept, p)
	}
	s.pieces = kept
}

// callTokens is what one tool call costs.
const callTokens = 16

// limit cuts the answer at max tokens and at the end of the context, and
// counts it. The end token counts too.
func (s *speech) limit(ctx int) {
	most := s.a.max
	if s.endless && (most < 0 || most > 10*ctx) {
		most = 10 * ctx // Ollama shifts the context, and gives up there
	}
	if room := ctx - s.promptN; s.f.config.Kind == LlamaServer && (most < 0 || most > room) {
		most = max(1, room)
	}
	if most == 0 && s.f.config.Kind == Ollama {
		most = 1 << 30
	}
	s.outN = len(s.thoughts) + len(s.pieces) + callTokens*len(s.calls) + s.hidden
	if s.hidden == 0 && len(s.calls) == 0 {
		s.outN++
	}
	if most < 0 || !s.endless && s.outN <= most {
		return
	}
	s.outN, s.reason, s.stopWord = most, "length", ""
	if len(s.thoughts) > most {
		s.thoughts = s.thoughts[:most]
	}
	most -= len(s.thoughts)
	if len(s.pieces) > most {
		s.pieces = s.pieces[:most]
	}
	if !s.endless && callTokens*len(s.calls) > most-len(s.pieces) {
		s.calls = nil
	}
}

const (
	alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	lowerNumeric = "abcdefghijklmnopqrstuvwxyz0123456789"
)

func randomString(n int) string { return randomOf(alphanumeric, n) }

func randomLower(n int) string { return randomOf(lowerNumeric, n) }

func randomOf(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rand.IntN(len(alphabet))]
	}
	return string(b)
}
