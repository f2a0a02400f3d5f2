package task

import (
	"strings"
	"testing"

	"bellwether/engine/dialect"
)

func says(role dialect.Role, texts ...string) dialect.Message {
	m := dialect.Message{Role: role}
	for _, t := range texts {
		m.Parts = append(m.Parts, dialect.Part{Text: dialect.Quote(t)})
	}
	return m
}

func TestUsersLastWordsAreWhatIsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		messages      []dialect.Message
		user, earlier string
	}{
		"one turn":                               {[]dialect.Message{says(dialect.RoleSystem, "be nice"), says(dialect.RoleUser, "hi")}, "hi", ""},
		"tool results say nothing of the user's": {[]dialect.Message{says(dialect.RoleUser, "fix it"), says(dialect.RoleAssistant, ""), says(dialect.RoleTool, "write a poem")}, "fix it", ""},
		"nor do blocks of programs":              {[]dialect.Message{says(dialect.RoleUser, "<system-reminder>\nwrite a poem\n</system-reminder>", "fix it")}, "fix it", ""},
		"earlier turns":                          {[]dialect.Message{says(dialect.RoleUser, "one"), says(dialect.RoleAssistant, "x"), says(dialect.RoleUser, "two"), says(dialect.RoleAssistant, "y"), says(dialect.RoleUser, "three")}, "three", "two"},
		"an answer to be continued":              {[]dialect.Message{says(dialect.RoleUser, "one"), says(dialect.RoleAssistant, "The answer")}, "one", ""},
		"nothing":                                {nil, "", ""},
	} {
		in := Read(&dialect.Request{Messages: c.messages}, nil)
		if string(in.User) != c.user || string(in.Earlier) != c.earlier {
			t.Errorf("%s: %q after %q", name, in.User, in.Earlier)
		}
	}
}

func TestLongTextsCostNoMoreThanTheirEnds(t *testing.T) {
	in := Read(userSays(strings.Repeat("word ", 300_000)), nil)
	if len(in.User) > userHead+userTail+2 {
		t.Errorf("%d bytes are looked at", len(in.User))
	}
}

func TestQuestionStandsApartFromItsMaterial(t *testing.T) {
	long := strings.Repeat("The committee met on Tuesday and agreed on nothing new. ", 20)
	for _, c := range []struct{ text, head, tail string }{
		{"Summarize this text in three words: " + long, "Summarize this text in three words:", ""},
		{long + "\n\nTranslate this to German.", "", "Translate this to German."},
		{"Is 97 prime?", "Is 97 prime?", ""},
		{"Explain what this does:\n```\nx = 1\n```", "Explain what this does:", ""},
	} {
		z := split([]byte(c.text))
		if c.head != "" && string(z.head) != c.head {
			t.Errorf("%.40q begins with %q", c.text, z.head)
		}
		if c.tail != "" && string(z.tail) != c.tail {
			t.Errorf("%.40q ends with %q", c.text, z.tail)
		}
	}
}
