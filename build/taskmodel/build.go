package taskmodel

import (
	"fmt"
	"hash/fnv"
	"io"

	"bellwether/engine/task"
)

// folds is how often the labelled rows that are learned too are measured, each
// time on a part that was left out.
const folds = 4

// Build gathers and trains, and returns the file of weights. The rows of learn
// are learned too; before that they are measured, first by weights that know
// none of them, then part by part by weights that know the other parts, so that
// what is printed holds for rows that were not seen: leftOut has the answers to
// them, by row. The rows of measure are measured only.
func Build(dir, learn string, measure []string, out io.Writer) (weights []byte, leftOut map[string]string, err error) {
	rows, err := Gather(dir, out)
	if err != nil {
		return nil, nil, err
	}
	labelled, err := ReadLabelled(learn)
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(out, "%d rows\n", len(rows))
	w := Train(rows)
	if err := w.report(learn+", none of its sources known", labelled, out); err != nil {
		return nil, nil, err
	}
	apart, answers := &Tally{}, map[string]string{}
	var held []example
	for fold := range uint32(folds) {
		own, others := divide(labelled, fold)
		more, err := rowsOf(others)
		if err != nil {
			return nil, nil, err
		}
		w := Train(append(rows[:len(rows):len(rows)], more...))
		if err := w.measure(apart, own, answers, out); err != nil {
			return nil, nil, err
		}
		mine, err := rowsOf(own)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range examplesOf(mine) {
			e.logits = w.logits(&e)
			held = append(held, e)
		}
	}
	fmt.Fprintln(out, learn+", other rows of its sources known")
	apart.Print(out)
	temperature := temperature(held)
	fmt.Fprintf(out, "temperature %.2f\n", temperature)
	more, err := rowsOf(labelled)
	if err != nil {
		return nil, nil, err
	}
	w = Train(append(rows, more...))
	for _, path := range measure {
		labelled, err := ReadLabelled(path)
		if err != nil {
			return nil, nil, err
		}
		if err := w.report(path, labelled, out); err != nil {
			return nil, nil, err
		}
	}
	return task.Encode(w.Bias, w.W, temperature), answers, nil
}

// divide parts rows by their group: what was made of one text stays together.
func divide(labelled []Labelled, fold uint32) (own, others []Labelled) {
	for _, l := range labelled {
		h := fnv.New32a()
		h.Write([]byte(l.Group))
		if h.Sum32()%folds == fold {
			own = append(own, l)
		} else {
			others = append(others, l)
		}
	}
	return own, others
}

// rowsOf makes rows to learn of those with one right label that the text shows.
func rowsOf(labelled []Labelled) (rows []Row, err error) {
	for i := range labelled {
		l := &labelled[i]
		label, ok := task.Named(l.Label)
		if !ok || len(l.Requires) > 0 || l.Tier == "soft" {
			continue
		}
		r, err := l.Request()
		if err != nil {
			return nil, err
		}
		rows = append(rows, Row{Source: "labelled-" + l.Source, Lang: l.Lang, Label: label, Input: task.Read(r, nil)})
	}
	return rows, nil
}

// report measures and prints.
func (w *Weights) report(title string, labelled []Labelled, out io.Writer) error {
	t := &Tally{}
	if err := w.measure(t, labelled, map[string]string{}, out); err != nil {
		return err
	}
	fmt.Fprintln(out, title)
	t.Print(out)
	return nil
}

// measure judges rows by their text alone and notes the answers; those whose
// structure shows the task are left out.
func (w *Weights) measure(t *Tally, labelled []Labelled, answers map[string]string, out io.Writer) error {
	for i := range labelled {
		l := &labelled[i]
		if len(l.Requires) > 0 {
			continue
		}
		r, err := l.Request()
		if err != nil {
			return err
		}
		in := task.Read(r, nil)
		es := examplesOf([]Row{{Input: in}})
		s := w.scores(&es[0])
		best, _ := s.Best()
		t.Add(l, best.String())
		answers[l.ID] = best.String()
		if !l.Right(best.String()) {
			fmt.Fprintf(out, "  wrong\t%s\t%s\t%s\t%s %.2f\t%.100q\n", l.Source, l.Lang, l.Label, best, s[best], in.User)
		}
	}
	return nil
}
