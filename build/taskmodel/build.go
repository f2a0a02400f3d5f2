package taskmodel

import (
	"fmt"
	"io"

	"bellwether/engine/task"
)

// Build gathers, trains, measures on the files of labelled rows, and returns
// the file of weights.
func Build(dir string, measure []string, out io.Writer) ([]byte, error) {
	rows, err := Gather(dir, out)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "%d rows\n", len(rows))
	es := examplesOf(rows)
	held, kept := holdOut(es)
	w := train(kept, rows)
	temperature := w.temperature(held)
	fmt.Fprintf(out, "temperature %.2f, on held-out rows\n", temperature)
	w = train(es, rows)
	for _, path := range measure {
		labelled, err := ReadLabelled(path)
		if err != nil {
			return nil, err
		}
		t, err := w.measure(labelled, out)
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(out, path)
		t.Print(out)
	}
	return task.Encode(w.Bias, w.W, temperature), nil
}

// holdOut sets every twelfth row apart.
func holdOut(es []example) (held, kept []example) {
	for i := range es {
		if i%12 == 5 {
			held = append(held, es[i])
		} else {
			kept = append(kept, es[i])
		}
	}
	return held, kept
}

// measure judges rows by their text alone.
func (w *Weights) measure(labelled []Labelled, out io.Writer) (*Tally, error) {
	t := &Tally{}
	for i := range labelled {
		l := &labelled[i]
		if len(l.Requires) > 0 {
			continue
		}
		r, err := l.Request()
		if err != nil {
			return nil, err
		}
		in := task.Read(r, nil)
		es := examplesOf([]Row{{Input: in}})
		s := w.scores(&es[0])
		best, _ := s.Best()
		t.Add(l, best.String())
		if !l.Right(best.String()) {
			user := string(in.User)
			fmt.Fprintf(out, "  wrong\t%s\t%s\t%s\t%s %.2f\t%.100q\n", l.Source, l.Lang, l.Label, best, s[best], user)
		}
	}
	return t, nil
}
