package taskmodel

import (
	"strings"
	"testing"

	"bellwether/engine/task"
)

// A prompt whose slot nothing fills would teach braces.
func TestEveryLanguageAsksForEveryTaskAndFillsItsSlots(t *testing.T) {
	m := &material{paragraphs: map[string][]string{}, sentences: map[string][]string{}, code: []string{"x = 1"}}
	for _, lang := range languages {
		m.paragraphs[lang], m.sentences[lang] = []string{"Ein Absatz."}, []string{"Ein Satz."}
	}
	for _, lang := range languages {
		set, err := readTemplates(lang)
		if err != nil {
			t.Fatal(err)
		}
		for label := range task.Task(task.Count) {
			if len(set.tasks[label]) < 5 {
				t.Errorf("%s has %d prompts for %s", lang, len(set.tasks[label]), label)
			}
		}
		for _, r := range set.expand(newDice(3), m, 200) {
			text := string(r.Input.User)
			if i := strings.IndexByte(text, '{'); i >= 0 && strings.IndexByte(text[i:], '}') > 0 && !strings.ContainsAny(text[i:i+strings.IndexByte(text[i:], '}')], " \"\n:,+") && text[i:i+2] != "{}" {
				t.Errorf("%s: %q", lang, text)
			}
		}
	}
}

func TestLabelsFitTheirSets(t *testing.T) {
	for name, c := range map[string]struct {
		labels string
		n      int
	}{"seeds": {seedLabels, 175}, "user-oriented": {userLabels, 252}, "French": {assistantFrench, 256}, "English": {assistantEnglish, 188}, "lottery": {assistantLabels, 152}} {
		if len(c.labels) != c.n {
			t.Errorf("%s: %d labels for %d prompts", name, len(c.labels), c.n)
		}
	}
}
