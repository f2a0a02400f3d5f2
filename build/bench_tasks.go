package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bellwether/build/taskmodel"
	"bellwether/engine/dialect"
	"bellwether/engine/route"
	"bellwether/engine/task"
)

// labelledRows are requests with the task people agreed on.
var labelledRows = filepath.Join("engine", "route", "testdata", "tasks.jsonl.gz")

// benchTasks prints, of rows left out of training, how often the task of labelled requests is read right, by
// label, language and tier, and how long that takes.
func benchTasks(out io.Writer) error {
	rows, err := taskmodel.ReadLabelled(labelledRows)
	if err != nil {
		return err
	}
	t, known, leftOut := &taskmodel.Tally{}, &taskmodel.Tally{}, taskmodel.LeftOut()
	var times []time.Duration
	for i := range rows {
		r, err := rows[i].Request()
		if err != nil {
			return err
		}
		began := time.Now()
		n := route.Read(r, route.Meta{})
		times = append(times, time.Since(began))
		known.Add(&rows[i], n.PrimaryTask)
		answer, ok := leftOut[rows[i].ID]
		if !ok {
			answer = n.PrimaryTask // its structure shows the task
		}
		t.Add(&rows[i], answer)
	}
	t.Print(out)
	fmt.Fprintf(out, "  These are the answers of weights that did not know the row. Those shipped have learned the core rows: %.1f %% of all.\n", 100*known.Share("all"))
	printTimes(out, "reading one of these requests", times)
	printTimes(out, "the task of 8 KB", timesOfLong(rows, 8<<10))
	printTimes(out, "the task of 1 MB", timesOfLong(rows[:40], 1<<20))
	return nil
}

// timesOfLong measures prompts that begin like the rows and are size bytes long.
func timesOfLong(rows []taskmodel.Labelled, size int) (times []time.Duration) {
	for i := range rows {
		r, err := rows[i].Request()
		if err != nil {
			continue
		}
		in := task.Read(r, nil)
		text := strings.Repeat(string(in.User)+"\n", size/(len(in.User)+1)+1)[:size]
		long := &dialect.Request{Messages: []dialect.Message{{Role: dialect.RoleUser, Parts: []dialect.Part{{Text: dialect.Quote(text)}}}}}
		task.Of(long) // once before, as in a running program
		began := time.Now()
		task.Of(long)
		times = append(times, time.Since(began))
	}
	return times
}

func printTimes(out io.Writer, what string, times []time.Duration) {
	slices.Sort(times)
	at := func(share float64) float64 {
		return float64(times[int(share*float64(len(times)-1))].Nanoseconds()) / 1000
	}
	fmt.Fprintf(out, "  %-36s p50 %.0f us, p99 %.0f us\n", what, at(0.5), at(0.99))
}
