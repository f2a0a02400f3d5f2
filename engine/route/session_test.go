package route

import (
	"strings"
	"testing"

	"bellwether/engine/dialect"
)

func TestSessionKeyByHeader(t *testing.T) {
	r := chat(say(dialect.RoleSystem, "s"), say(dialect.RoleUser, "u"))
	seen := map[string]string{}
	for _, name := range []string{"X-Fleet-Session", "Session-Id", "Thread-Id", "X-Claude-Code-Session-Id", "X-Session-Id", "X-Session-Affinity"} {
		n := Read(r, headers(name, "abc"))
		if n.Session == "" || !n.SessionPins {
			t.Errorf("%s: %q pins %v, want a key that pins from the first turn", name, n.Session, n.SessionPins)
		}
		if other := seen[n.Session]; other != "" {
			t.Errorf("%s and %s give the same key for the same words", name, other)
		}
		seen[n.Session] = name
		if strings.Contains(n.Session, "abc") {
			t.Errorf("%s: the client's own id shows in %s", name, n.Session)
		}
		if Read(chat(say(dialect.RoleUser, "else")), headers(name, "abc")).Session != n.Session {
			t.Errorf("%s: another turn has another key", name)
		}
	}
	agent := Read(r, headers("X-Claude-Code-Session-Id", "abc", "X-Claude-Code-Agent-Id", "sub1"))
	if seen[agent.Session] != "" {
		t.Error("a sub-agent has its own prompt, so it is its own session")
	}
}

func TestSessionKeyByTag(t *testing.T) {
	r := chat(say(dialect.RoleUser, "u"))
	r.Tags = []string{"blue", "session:42"}
	a := Read(r, Meta{})
	r.Messages = append(r.Messages, say(dialect.RoleAssistant, "a"), say(dialect.RoleUser, "v"))
	if b := Read(r, Meta{}); a.Session != b.Session || !a.SessionPins {
		t.Errorf("got %q then %q", a.Session, b.Session)
	}
	if n := Read(chat(say(dialect.RoleUser, "u")), headers("X-Herd-Tags", "session:42")); n.Session != a.Session {
		t.Error("the tag means the same from a header")
	}
}

// One such key is often used for all an app does, so the opening is part of it.
func TestCacheKeyCountsTogetherWithTheOpening(t *testing.T) {
	ask := func(key, system, user string, more ...dialect.Message) string {
		r := chat(append([]dialect.Message{say(dialect.RoleSystem, system), say(dialect.RoleUser, user)}, more...)...)
		r.PromptCacheKey = key
		n := Read(r, Meta{})
		if !n.SessionPins {
			t.Error("it pins from the first turn")
		}
		return n.Session
	}
	a := ask("k", "s", "u")
	if ask("k", "s", "u", say(dialect.RoleAssistant, "x"), say(dialect.RoleUser, "v")) != a {
		t.Error("a later turn has another key")
	}
	if ask("k", "s", "other") == a || ask("k", "t", "u") == a || ask("j", "s", "u") == a {
		t.Error("another conversation has the same key")
	}
	r := chat(say(dialect.RoleSystem, "s"), say(dialect.RoleUser, "u"))
	r.MetaSession = "k"
	if Read(r, Meta{}).Session != a {
		t.Error("a session in the metadata counts the same way")
	}
}

func TestChainPinsOnceAnAnswerIsInIt(t *testing.T) {
	first := Read(chat(say(dialect.RoleSystem, "s"), say(dialect.RoleUser, "u")), Meta{})
	if first.SessionPins {
		t.Error("a first turn is free")
	}
	turn := func(answer string, more ...dialect.Message) string {
		n := Read(chat(append([]dialect.Message{say(dialect.RoleSystem, "s"), say(dialect.RoleUser, "u"), say(dialect.RoleAssistant, answer), say(dialect.RoleUser, "v")}, more...)...), Meta{})
		if !n.SessionPins || n.Session == "" {
			t.Error("with an answer in it, it pins")
		}
		return n.Session
	}
	a := turn("hello")
	if a == first.Session {
		t.Error("the pin of a conversation must not catch others that open alike")
	}
	if turn("hello", say(dialect.RoleAssistant, "w"), say(dialect.RoleUser, "x")) != a {
		t.Error("a later turn has another key")
	}
	if turn("goodbye") == a {
		t.Error("another answer is another conversation")
	}
}

func TestLongTextsAreHashedByTheirEnds(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	key := func(text string) string {
		return Read(chat(say(dialect.RoleUser, text), say(dialect.RoleAssistant, "a")), Meta{}).Session
	}
	if key(long) == key(long+"y") || key(long) == key("y"+long) || key(long) == key(long[1:]) {
		t.Error("ends and length must count")
	}
}

func TestNoOpeningNoSession(t *testing.T) {
	for name, r := range map[string]*dialect.Request{
		"embeddings":   {Embed: &dialect.Embed{Inputs: []dialect.Text{lit("x")}}, PromptCacheKey: "k"},
		"no user turn": chat(say(dialect.RoleSystem, "s")),
		"load only":    {LoadOnly: true},
	} {
		if n := Read(r, Meta{}); n.Session != "" || n.SessionPins {
			t.Errorf("%s: session %q", name, n.Session)
		}
	}
	r := &dialect.Request{Prompt: &dialect.Prompt{Text: lit("once upon")}}
	if n := Read(r, Meta{}); n.Session == "" || n.SessionPins {
		t.Error("a completion has an opening, and no answer yet")
	}
}

func TestAppIsKeyThenHeaderThenAgent(t *testing.T) {
	r := chat()
	if got := Read(r, Meta{KeyName: "house", Header: headers("X-Fleet-App", "mine").Header}).App; got != "house" {
		t.Errorf("got %s", got)
	}
	for ua, want := range map[string]string{
		"claude-cli/2.1.332 (external, cli)": "claude-code", "codex_exec/0.171": "codex", "opencode/1.18.33": "opencode",
		"OpenAI/JS 6.49.0": "openai-js", "AsyncOpenAI/Python 1.2": "openai-python", "Anthropic/JS 1.14": "anthropic-js",
		"ollama-python/0.6 (x86_64)": "ollama-python", "curl/8.5.0": "curl", "python-requests/2.31": "python-requests",
		"Mozilla/5.0 (X11; Linux)": "browser", "HomeAssistant/2026.9": "home-assistant", "": "unknown", "GitHubCopilotChat/0.2": "copilot",
		"\x01bad\x7f": "bad",
	} {
		if got := Read(r, headers("User-Agent", ua)).App; got != want {
			t.Errorf("%q: %s, want %s", ua, got, want)
		}
	}
	if got := Read(r, headers("X-Fleet-App", "notes", "User-Agent", "curl/8")).App; got != "notes" {
		t.Errorf("got %s", got)
	}
	if got := Read(r, headers("X-Fleet-App", strings.Repeat("é", 100))).App; len(got) > maxName {
		t.Errorf("%d bytes of name", len(got))
	}
}

func TestTagsAreGatheredOnce(t *testing.T) {
	r := chat()
	r.Tags = []string{"a", "b"}
	r.User = "alice"
	n := Read(r, headers("X-Fleet-Tags", "b, c", "X-Herd-Tags", "ignored"))
	if got := strings.Join(n.Tags, " "); got != "a b c user:alice" {
		t.Errorf("got %s", got)
	}
	r.User = `{"session_id":"x"}`
	if n = Read(r, Meta{}); len(n.Tags) != 2 {
		t.Errorf("a JSON object is no user's name: %v", n.Tags)
	}
}
