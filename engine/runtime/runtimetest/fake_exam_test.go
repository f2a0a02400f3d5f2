package runtimetest

import (
	"fmt"
	"strings"
	"testing"
)

func TestStrengthIsTheShareOfRightAnswers(t *testing.T) {
	var items []ExamItem
	for i := range 20 {
		items = append(items, ExamItem{Ask: fmt.Sprint("question ", i), Task: "math", Right: "right", Wrong: []string{"wrong", "worse"}})
	}
	x := newExam(append(items, ExamItem{Ask: "other", Task: "coding", Right: "right"}))
	for strength, want := range map[float64]int{0: 0, 0.2: 4, 0.33: 7, 0.9: 18, 1: 20} {
		m, right := &model{FakeModel: FakeModel{Strength: map[string]float64{"math": strength}}}, 0
		for _, it := range items {
			if a := x.answer(m, it.Ask); a != nil && a.Text == "right" {
				right++
			}
		}
		if right != want {
			t.Errorf("strength %v: %d of 20 right, want %d", strength, right, want)
		}
		if a := x.answer(m, "other"); a != nil {
			t.Errorf("a task without strength is answered by the exam: %+v", a)
		}
	}
	if a := x.answer(&model{FakeModel: FakeModel{Strength: map[string]float64{"": 1}}}, "other"); a == nil || a.Text != "right" {
		t.Errorf("strength at everything: %+v", a)
	}
}

func TestExamIsReadLineByLine(t *testing.T) {
	items, err := ReadExam(strings.NewReader(`{"ask":"a","task":"math","right":"r","wrong":["w"]}` + "\n" + `{"ask":"b","task":"math","right":"r"}` + "\n"))
	if err != nil || len(items) != 2 || items[0].Wrong[0] != "w" {
		t.Errorf("%+v %v", items, err)
	}
	if _, err := ReadExam(strings.NewReader("nonsense\n")); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("got %v", err)
	}
}
