package runtimetest

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"
)

// ExamItem is one question a fake knows answers to.
type ExamItem struct {
	Ask   string   `json:"ask"` // the whole text of the last user turn
	Task  string   `json:"task"`
	Right string   `json:"right"`
	Wrong []string `json:"wrong"`
}

// ReadExam reads items, a JSON object a line, as `bellwether exam` writes them.
func ReadExam(r io.Reader) (items []ExamItem, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var it ExamItem
		if err := json.Unmarshal(lines.Bytes(), &it); err != nil {
			return nil, fmt.Errorf("exam, line %d: %w", n, err)
		}
		items = append(items, it)
	}
	return items, lines.Err()
}

// exam finds answers by question. It never changes once made.
type exam map[string]examAnswer

type examAnswer struct {
	ExamItem
	place, of int // among the items of its task, in an order that means nothing
}

func newExam(items []ExamItem) exam {
	byTask := map[string][]ExamItem{}
	for _, it := range items {
		byTask[it.Task] = append(byTask[it.Task], it)
	}
	x := exam{}
	for _, list := range byTask {
		slices.SortFunc(list, func(a, b ExamItem) int { return cmp.Compare(scattered(a.Ask), scattered(b.Ask)) })
		for i, it := range list {
			x[it.Ask] = examAnswer{it, i, len(list)}
		}
	}
	return x
}

func scattered(s string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, s)
	return h.Sum64()
}

// answer is what a model of some strength says to a question, nil when it is in
// no exam or the model's strength at its task is not scripted. Of n items of a
// task exactly the share of its strength is answered right, always the same.
func (x exam) answer(m *model, question string) *Answer {
	it, ok := x[question]
	if !ok {
		return nil
	}
	strength, ok := m.Strength[it.Task]
	if !ok {
		if strength, ok = m.Strength[""]; !ok {
			return nil
		}
	}
	if it.place < int(math.Round(strength*float64(it.of))) {
		return &Answer{Text: it.Right}
	}
	if len(it.Wrong) == 0 {
		return &Answer{Text: "I do not know."}
	}
	return &Answer{Text: it.Wrong[it.place%len(it.Wrong)]}
}
