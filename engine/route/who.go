package route

import (
	"slices"
	"strings"

	"bellwether/engine/dialect"
)

// families maps beginnings of User-Agent (lower case) to what people call the
// program. Longest first where one begins another.
var families = []struct{ prefix, name string }{
	{"claude-cli/", "claude-code"},
	{"claude-code/", "claude-code"},
	{"codex", "codex"},
	{"opencode", "opencode"},
	{"githubcopilotchat", "copilot"},
	{"openai/js", "openai-js"},
	{"openai/python", "openai-python"},
	{"asyncopenai/python", "openai-python"},
	{"openai/go", "openai-go"},
	{"anthropic/js", "anthropic-js"},
	{"anthropic/python", "anthropic-python"},
	{"asyncanthropic/python", "anthropic-python"},
	{"anthropic/go", "anthropic-go"},
	{"ollama-python", "ollama-python"},
	{"ollama-js", "ollama-js"},
	{"ollama/", "ollama-cli"},
	{"ai-sdk", "ai-sdk"},
	{"ai/", "ai-sdk"},
	{"home-assistant", "home-assistant"},
	{"homeassistant", "home-assistant"},
	{"zed/", "zed"},
	{"mozilla/", "browser"},
}

const (
	maxName = 40 // letters of an app's name
	maxTag  = 64
	maxTags = 16
)

// appOf names the program behind a request: its API key, else what it calls
// itself, else its User-Agent's family.
func appOf(m *Meta) string {
	if m.KeyName != "" {
		return m.KeyName
	}
	if app := plain(m.header("X-Fleet-App"), maxName); app != "" {
		return app
	}
	ua := strings.ToLower(m.header("User-Agent"))
	for _, f := range families {
		if strings.HasPrefix(ua, f.prefix) {
			return f.name
		}
	}
	name, _, _ := strings.Cut(ua, "/")
	name, _, _ = strings.Cut(name, " ")
	if name = plain(name, maxName); name != "" {
		return name
	}
	return "unknown"
}

// tagsOf gathers the request's labels: metadata.tags, X-Fleet-Tags (or
// X-Herd-Tags), and the user it names.
func tagsOf(r *dialect.Request, m *Meta) []string {
	var tags []string
	add := func(tag string) {
		if tag = plain(tag, maxTag); tag != "" && len(tags) < maxTags && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	for _, t := range r.Tags {
		add(t)
	}
	header := m.header("X-Fleet-Tags")
	if header == "" {
		header = m.header("X-Herd-Tags")
	}
	for _, t := range splitList(header) {
		add(t)
	}
	// Agents put a JSON object with ids in here: that is no name to group by.
	if u := r.User; u != "" && len(u) <= maxTag && !strings.ContainsAny(u, "{}\"") {
		add("user:" + u)
	}
	return tags
}

// plain keeps printable ASCII and other letters, drops the rest, and cuts.
func plain(s string, most int) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == '"' || c == '\\' || c == 0xfffd {
			return -1
		}
		return c
	}, strings.TrimSpace(s))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}

func splitList(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

func isBatch(priority string) bool {
	batch, _ := ClassOf(priority)
	return batch
}

// ClassOf reads the word of X-Fleet-Priority; ok is false for one that means
// neither class.
func ClassOf(priority string) (batch, ok bool) {
	switch strings.ToLower(priority) {
	case "batch", "low", "background":
		return true, true
	case "", "interactive", "normal", "high":
		return false, true
	default:
		return false, false
	}
}

// FlagOf reads the word of a header that is on or off; ok is false for one that
// means neither. Absent is off.
func FlagOf(word string) (on, ok bool) {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "1", "true", "yes", "on":
		return true, true
	case "", "0", "false", "no", "off":
		return false, true
	default:
		return false, false
	}
}

// isTrue reads a header whose words were checked; a word that means nothing is
// taken for the stricter one.
func isTrue(word string) bool {
	on, ok := FlagOf(word)
	return on || !ok
}

// NamedSession returns the key of a session that was named by X-Fleet-Session.
func NamedSession(name string) string { return hashKey("fleet", name) }
