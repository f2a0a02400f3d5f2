package taskmodel

import (
	"embed"
	"fmt"
	"path"
	"strconv"
	"strings"

	"bellwether/engine/task"
)

//go:embed templates/*.txt
var templateFiles embed.FS

// languages are those people are expected to write in.
var languages = []string{"en", "zh", "ja", "de", "es", "fr", "hi", "ru", "ko", "ar"}

// templates are the prompts of one language, with {slots}.
type templates struct {
	lang  string
	words map[string][]string // what fills a slot
	tasks map[task.Task][]string
}

// readTemplates reads a file of templates: @slot and its fillings on the next
// line, parted by |; [task] and one prompt a line. \n is a line break.
func readTemplates(lang string) (*templates, error) {
	b, err := templateFiles.ReadFile(path.Join("templates", lang+".txt"))
	if err != nil {
		return nil, err
	}
	t := &templates{lang: lang, words: map[string][]string{}, tasks: map[task.Task][]string{}}
	slot, label := "", task.Task(0)
	for line := range strings.Lines(string(b)) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\n"), `\n`, "\n")
		switch {
		case line == "":
		case line[0] == '@':
			slot = line[1:]
		case slot != "":
			t.words[slot] = strings.Split(line, "|")
			slot = ""
		case line[0] == '[' && line[len(line)-1] == ']':
			var ok bool
			if label, ok = task.Named(line[1 : len(line)-1]); !ok {
				return nil, fmt.Errorf("templates/%s.txt: no task %s", lang, line)
			}
		default:
			t.tasks[label] = append(t.tasks[label], line)
		}
	}
	return t, nil
}

// programs are names of programming languages, as any language writes them.
var programs = []string{"Python", "JavaScript", "TypeScript", "Java", "C++", "C#", "Go", "Rust", "Kotlin", "Swift", "Ruby", "PHP", "R", "SQL", "bash", "python", "java"}

// fill fills the slots of a template.
func (t *templates) fill(d dice, m *material, text string) string {
	var b strings.Builder
	used := map[string]string{}
	for {
		before, rest, ok := strings.Cut(text, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		slot, after, ok := strings.Cut(rest, "}")
		if !ok || len(slot) > 12 || strings.ContainsAny(slot, " \"{:\n") {
			b.WriteByte('{')
			text = rest
			continue
		}
		v := t.slot(d, m, slot, used)
		if t.words[slot] != nil && strings.Contains(v, "{") {
			v = t.fill(d, m, v) // fillings may have slots of their own
		}
		b.WriteString(v)
		text = after
	}
}

func (t *templates) slot(d dice, m *material, slot string, used map[string]string) string {
	base := strings.TrimRight(slot, "23")
	for range 8 {
		v := t.draw(d, m, base)
		if base == "a" || base == "b" || base == "c" || base == "n" {
			return v
		}
		if _, twice := used[v]; !twice {
			used[v] = slot
			return v
		}
	}
	return t.draw(d, m, base)
}

func (t *templates) draw(d dice, m *material, slot string) string {
	if w := t.words[slot]; len(w) > 0 && (slot != "text" || len(m.paragraphs[t.lang]) == 0) {
		return pick(d, w)
	}
	switch slot {
	case "a", "b", "c":
		return number(d)
	case "n":
		return strconv.Itoa(2 + d.IntN(30))
	case "plang":
		return pick(d, programs)
	case "text":
		return t.text(d, m)
	case "sent":
		return pick(d, m.sentences[t.lang])
	case "code":
		return pick(d, m.code)
	case "foreign":
		for {
			if lang := pick(d, languages); lang != t.lang && len(m.sentences[lang]) > 0 {
				return pick(d, m.sentences[lang])
			}
		}
	}
	return "{" + slot + "}"
}

// text is a paragraph, now and then several.
func (t *templates) text(d dice, m *material) string {
	ps := m.paragraphs[t.lang]
	text := pick(d, ps)
	for d.chance(0.25) {
		text += "\n" + pick(d, ps)
	}
	return text
}

// number draws mostly small ones.
func number(d dice) string {
	switch d.IntN(10) {
	case 0, 1, 2, 3:
		return strconv.Itoa(2 + d.IntN(11))
	case 4, 5, 6, 7:
		return strconv.Itoa(10 + d.IntN(190))
	case 8:
		return strconv.Itoa(100 + d.IntN(9900))
	default:
		return fmt.Sprintf("%.1f", 1+d.Float64()*40)
	}
}

// expand makes rows of a language: n of each task, the prompts in turn.
func (t *templates) expand(d dice, m *material, n int) (rows []Row) {
	for label := range task.Task(task.Count) {
		prompts := t.tasks[label]
		for i := range min(n, len(prompts)*40) {
			text := t.fill(d, m, prompts[i%len(prompts)])
			rows = append(rows, row("templates", t.lang, label, text))
		}
	}
	return rows
}
