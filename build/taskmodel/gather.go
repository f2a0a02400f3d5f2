package taskmodel

import (
	"fmt"
	"io"
	"path/filepath"
)

// perTask is how many prompts templates make of a task, per language.
const (
	perTask        = 800
	perTaskEnglish = 2200
)

// Gather brings all rows together that weights are trained on. dir holds the
// sets' repositories; what lacks is said on out and left out.
func Gather(dir string, out io.Writer) ([]Row, error) {
	d := newDice(1)
	m, err := gatherMaterial(dir)
	if err != nil {
		return nil, err
	}
	var rows []Row
	var all []*templates
	for _, lang := range languages {
		t, err := readTemplates(lang)
		if err != nil {
			return nil, err
		}
		m.paragraphs[lang] = append(m.paragraphs[lang], t.words["text"]...)
		all = append(all, t)
	}
	m.split()
	for _, t := range all {
		n := perTask
		if t.lang == "en" {
			n = perTaskEnglish
		}
		rows = append(rows, t.expand(d, m, n)...)
	}
	for _, s := range sources {
		more, err := s.read(filepath.Join(dir, s.repo))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", s.repo, err)
		}
		fmt.Fprintf(out, "%6d rows of %s\n", len(more), s.repo)
		rows = append(rows, more...)
	}
	rows = append(rows, conversations(d, m, 500)...)
	rows = append(rows, surround(d, m, rows, 0.4)...)
	rows = append(rows, neutral(d, m, 1500)...)
	return rows, nil
}
