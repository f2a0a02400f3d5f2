package route

import (
	"strings"
	"testing"

	"bellwether/engine/dialect"
)

func TestOnlyANameOfATaskIsAnAnswer(t *testing.T) {
	for text, want := range map[string]string{
		"translation": "translation", " Coding.\n": "coding", "`creative writing`": "creative_writing", `"math"`: "math",
		"": "", "It is math": "", "coding, math": "", "tool_use": "", "banana": "",
	} {
		got, ok := TaskAnswer(text)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q %v", text, got, ok)
		}
	}
}

func TestClassifierSeesTextAndWhetherThereAreImages(t *testing.T) {
	r := chat(say(dialect.RoleUser, `say "hi" in French`))
	n := Read(r, Meta{})
	q, key, ok := TaskQuestion(r, &n)
	if !ok || !strings.Contains(q.Messages[1].Parts[0].Text.String(), `{"text":"say \"hi\" in French","has_images":false}`) {
		t.Fatalf("asked %s", q.Messages[1].Parts[0].Text)
	}
	n.Vision = true
	if _, other, _ := TaskQuestion(r, &n); other == key {
		t.Error("images make another question")
	}
	n.Vision, n.NeedsTools = false, true
	if _, _, ok := TaskQuestion(r, &n); ok {
		t.Error("tools say enough")
	}
}
