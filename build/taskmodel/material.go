package taskmodel

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// material is what templates are filled with.
type material struct {
	paragraphs map[string][]string // by language
	sentences  map[string][]string
	code       []string
}

func gatherMaterial(dir string) (*material, error) {
	m := &material{paragraphs: map[string][]string{}, sentences: map[string][]string{}}
	for _, lang := range xquadLangs {
		s, err := document[squad](filepath.Join(dir, "deepmind+xquad", "xquad."+lang+".json"))
		if err != nil {
			return nil, err
		}
		m.paragraphs[lang] = s.paragraphs(240)
	}
	s, err := document[squad](filepath.Join(dir, "yahoojapan+JGLUE/datasets/jsquad-v1.3/valid-v1.3.json"))
	if err != nil {
		return nil, err
	}
	for _, p := range s.paragraphs(4000) {
		if _, text, ok := strings.Cut(p, "[SEP]"); ok {
			p = strings.TrimSpace(text)
		}
		if l := m.paragraphs["ja"]; len(l) < 240 && (len(l) == 0 || l[len(l)-1] != p) {
			m.paragraphs["ja"] = append(l, p)
		}
	}
	korean, err := document[[]nli](filepath.Join(dir, "KLUE-benchmark+KLUE/klue_benchmark/klue-nli-v1.1/klue-nli-v1.1_dev.json"))
	if err != nil {
		return nil, err
	}
	for i := 600; i+9 < len(korean) && len(m.paragraphs["ko"]) < 240; i += 9 {
		var b strings.Builder
		for _, p := range korean[i : i+9 : i+9] {
			if !strings.Contains(b.String(), p.Premise) {
				b.WriteString(p.Premise + " ")
			}
		}
		m.paragraphs["ko"] = append(m.paragraphs["ko"], strings.TrimSpace(b.String()))
	}
	if err := m.gatherFrench(dir); err != nil {
		return nil, err
	}
	m.code, err = gatherCode(dir)
	return m, err
}

// gatherFrench takes answers of Open Assistant, since the other sets have no
// French paragraphs.
func (m *material) gatherFrench(dir string) error {
	all, err := lines[struct {
		Messages []struct{ Content string }
	}](filepath.Join(dir, "bofenghuang+vigogne/data/chat/oasst_20230412_fr_top1.jsonl"))
	for _, c := range all {
		if len(c.Messages) < 2 || strings.Contains(c.Messages[1].Content, "```") {
			continue
		}
		for _, p := range strings.Split(c.Messages[1].Content, "\n\n") {
			if len(p) > 250 && len(p) < 1500 {
				m.paragraphs["fr"] = append(m.paragraphs["fr"], p)
			}
		}
	}
	return err
}

// split fills the sentences once all paragraphs are there.
func (m *material) split() {
	for lang, ps := range m.paragraphs {
		for _, p := range ps {
			for _, s := range splitSentences(p) {
				if n := len(s); n > 24 && n < 400 {
					m.sentences[lang] = append(m.sentences[lang], s)
				}
			}
		}
	}
}

func splitSentences(p string) (out []string) {
	start := 0
	for i, r := range p {
		if strings.ContainsRune(".!?。！？।؟", r) {
			end := i + len(string(r))
			if r < 0x80 && end < len(p) && p[end] != ' ' {
				continue
			}
			out = append(out, strings.TrimSpace(p[start:end]))
			start = end
		}
	}
	return out
}

var codeFiles = []string{".py", ".js", ".ts", ".tsx", ".go", ".java", ".cpp", ".cc", ".c", ".rs", ".sh", ".sql", ".css", ".html"}

// gatherCode cuts pieces of 4 to 40 lines out of the source files of the sets'
// own repositories.
func gatherCode(dir string) (out []string, err error) {
	perFile := 3
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains(codeFiles, filepath.Ext(path)) || len(out) > 3000 {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil || len(b) > 60_000 {
			return err
		}
		n := 0
		for _, piece := range strings.Split(strings.ReplaceAll(string(b), "\r", ""), "\n\n\n") {
			lines := strings.Split(strings.Trim(piece, "\n"), "\n")
			if len(lines) > 40 {
				lines = lines[:40]
			}
			if text := strings.Join(lines, "\n"); len(lines) >= 4 && len(text) < 2500 && n < perFile {
				out = append(out, text)
				n++
			}
		}
		return nil
	})
	return out, err
}
