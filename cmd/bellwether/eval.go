package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"bellwether/engine/admin"
	"bellwether/engine/measure"
)

type evalCmd struct {
	Models []string `arg:"" optional:"" predictor:"model" placeholder:"MODEL" help:"Models, or runtime/model (default: all that answer questions)."`
	Tasks  []string `help:"Tasks to ask (default: all): extraction, translation, summarization, reasoning, math, coding." placeholder:"TASK,..." predictor:"task"`
	Items  int      `help:"Items of each task (default: all)." placeholder:"N"`
	Mode   string   `help:"plan shows what it would cost, live runs it." enum:"plan,live" default:"plan"`
	Save   bool     `name:"save-measurements" help:"Keep the grades: rankings use them instead of what was thought of a model before."`
	Fresh  bool     `help:"Begin anew where an earlier run was broken off."`
	Yes    bool     `help:"Do not ask." short:"y"`
}

func (c *evalCmd) Run(e *environ) error {
	switch {
	case c.Save && c.Mode != "live":
		return coded(exitUsage, "--save-measurements needs --mode live: a plan measures nothing")
	case c.Items < 0:
		return coded(exitUsage, "--items is 1 or more")
	case c.Mode == "live" && e.cli.JSON && !c.Yes:
		return coded(exitUsage, "--json asks no questions: say --yes to run it")
	}
	engine, err := e.engine()
	if err != nil {
		return err
	}
	wish := admin.EvalWish{Models: c.Models, Tasks: c.Tasks, Items: c.Items, Save: c.Save, Fresh: c.Fresh}
	if c.Mode == "plan" || !c.Yes {
		plan, err := engine.plan(wish)
		if err != nil {
			return err
		}
		if e.cli.JSON {
			return e.json(plan)
		}
		if err := e.showPlan(plan); err != nil || len(plan.Models) == 0 {
			return err
		}
		if c.Mode == "plan" {
			e.printf("Nothing was run. Add --mode live to run it.\n")
			return nil
		}
		e.printf("Run it? [y/N] ")
		var answer string
		_, _ = fmt.Fscanln(e.in, &answer)
		if !strings.HasPrefix(strings.ToLower(answer), "y") {
			return coded(exitRefused, "nothing was run")
		}
	}
	wish.Live = true
	return e.runEval(engine, wish, c.Yes)
}

// plan asks what an eval would cost.
func (c *client) plan(w admin.EvalWish) (plan *measure.Plan, err error) {
	err = linesOf(context.Background(), c, "/admin/eval", w, func(s measure.Step) error {
		plan = s.Plan
		return nil
	})
	if err == nil && plan == nil {
		err = coded(exitFailed, "the engine told no plan")
	}
	return plan, err
}

// linesOf posts a wish and reads the lines of its answer. ctx ends both: the
// engine stops what it runs for us when we leave.
func linesOf[T any](ctx context.Context, c *client, path string, wish any, each func(T) error) error {
	body, err := json.Marshal(wish)
	if err != nil {
		return err
	}
	resp, err := c.open(ctx, "POST", path, strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for lines := json.NewDecoder(resp.Body); ; {
		var raw json.RawMessage
		if err := lines.Decode(&raw); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the engine's answer: %w", err)
		}
		var refusal struct {
			Error string `json:"error"`
		}
		if json.Unmarshal(raw, &refusal) == nil && refusal.Error != "" {
			return coded(exitFailed, "%s", refusal.Error)
		}
		var line T
		if err := json.Unmarshal(raw, &line); err != nil {
			return fmt.Errorf("read the engine's answer: %w", err)
		}
		if err := each(line); err != nil {
			return err
		}
	}
}

func (e *environ) showPlan(p *measure.Plan) error {
	if len(p.Models) == 0 {
		e.printf("No model that answers questions is here: bellwether models pull NAME fetches one.\n")
		return nil
	}
	w := tabwriter.NewWriter(e.out, 2, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tTASK\tITEMS\tTOKENS IN\tOUT\tTIME")
	for _, m := range p.Models {
		for _, t := range m.Tasks {
			items := fmt.Sprint(t.Items)
			if t.Done > 0 {
				items += fmt.Sprintf(" (%d answered)", t.Done)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\n", m.Name, t.Task, items, t.Input, t.Output, lasts(t.Seconds))
		}
		if m.Load {
			fmt.Fprintf(w, "%s\tload\t\t\t\t\n", m.Name)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	e.printf("In all %d requests, about %d tokens in and %d out, %s, and %s (times: %s).\n", p.Requests, p.Input, p.Output, lasts(p.Seconds), plural(p.Loads, "load"), sources(p))
	if p.Done > 0 {
		e.printf("It goes on where a run was broken off: %d items are answered already (--fresh begins anew).\n", p.Done)
	}
	return nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// sources says what the plan's times stand on.
func sources(p *measure.Plan) string {
	measured := 0
	for _, m := range p.Models {
		if m.Source == "measured" {
			measured++
		}
	}
	switch measured {
	case 0:
		return "guessed from sizes"
	case len(p.Models):
		return "from measured speeds"
	default:
		return fmt.Sprintf("from measured speeds of %d of %d models", measured, len(p.Models))
	}
}

// lasts writes seconds for people.
func lasts(seconds float64) string {
	switch d := time.Duration(seconds * float64(time.Second)); {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", seconds)
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", seconds)
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	default:
		return fmt.Sprintf("%.1f h", d.Hours())
	}
}

// runEval runs an eval and shows how it goes. Ctrl-C stops it; what was
// answered is kept by the engine.
func (e *environ) runEval(engine *client, w admin.EvalWish, shown bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var last *measure.Step
	line := ticker{out: e}
	err := linesOf(ctx, engine, "/admin/eval", w, func(s measure.Step) error {
		if s.Done != nil || s.Stopped != "" {
			last = &s
		}
		switch {
		case e.cli.JSON:
			return e.jsonLine(s)
		case s.Plan != nil && shown:
			return e.showPlan(s.Plan)
		case s.Name != "":
			line.show(s.N == s.Items, "%s: %s %d of %d, %d right, %s left", s.Name, s.Of, s.N, s.Items, s.Right, lasts(s.ETA))
		}
		return nil
	})
	line.end()
	const goesOn = "the next run goes on where this one stopped"
	switch {
	case ctx.Err() != nil:
		return coded(exitDegraded, "stopped; %s", goesOn)
	case err != nil:
		var known *codedError
		if errors.As(err, &known) {
			return err
		}
		return coded(exitFailed, "the eval broke off; %s: %w", goesOn, err)
	case last == nil:
		return coded(exitFailed, "the engine ended before the eval did; %s", goesOn)
	}
	if !e.cli.JSON {
		if err := e.showResults(last.Done, w.Save); err != nil {
			return err
		}
	}
	if last.Stopped != "" {
		return coded(exitDegraded, "stopped: %s; %s", strings.TrimRight(last.Stopped, ". "), goesOn)
	}
	for _, r := range last.Done {
		if r.Unanswered > 0 {
			return coded(exitDegraded, "not every item was answered; those that were are kept for the next run")
		}
	}
	return nil
}

func (e *environ) showResults(results []measure.TaskResult, saved bool) error {
	if len(results) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(e.out, 2, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tTASK\tRIGHT\tSHARE\t95 % INTERVAL\tMEDIAN\tTOKENS/S\tTHOUGHT BEFORE\t")
	kept := 0
	for _, r := range results {
		prior, rate := "-", "-"
		if r.Prior != nil {
			prior = fmt.Sprintf("%.2f (%s)", r.Prior.Value, r.Prior.Provenance)
		}
		if r.Rate > 0 {
			rate = fmt.Sprintf("%.0f", r.Rate)
		}
		note := ""
		if r.Unanswered > 0 {
			note = fmt.Sprintf("%d unanswered: %s", r.Unanswered, r.Why)
		} else if r.Cut > 0 {
			note = fmt.Sprintf("%d cut by the output limit", r.Cut)
		}
		share := "-"
		if r.Of > 0 {
			share = fmt.Sprintf("%.2f", float64(r.Right)/float64(r.Of))
		}
		if r.Saved {
			kept++
		}
		fmt.Fprintf(w, "%s\t%s\t%d of %d\t%s\t%.2f to %.2f\t%s\t%s\t%s\t%s\n", r.Name, r.Task, r.Right, r.Of, share, r.Low, r.High, lasts(r.Seconds), rate, prior, note)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	switch {
	case saved && kept == 0:
		e.printf("No grade was kept: no task got all of its answers, or the model was replaced meanwhile.\n")
	case saved:
		e.printf("%d of %d grades were kept; rankings use them from now on.\n", kept, len(results))
	default:
		e.printf("The grades were not kept; --save-measurements keeps them.\n")
	}
	return nil
}

// ticker shows how something goes: on a terminal by one line that is written
// anew, elsewhere by a line now and then.
type ticker struct {
	out   *environ
	wrote bool
	told  time.Time
}

// tellEvery is how often a log is told.
const tellEvery = 15 * time.Second

func (t *ticker) show(whole bool, format string, args ...any) {
	if isTerminal(t.out.out) {
		t.out.printf("\r\x1b[K"+format, args...)
		t.wrote = true
		if whole {
			t.end()
		}
		return
	}
	if whole || time.Since(t.told) > tellEvery {
		t.told = time.Now()
		t.out.printf(format+"\n", args...)
	}
}

func (t *ticker) end() {
	if t.wrote {
		t.out.printf("\n")
		t.wrote = false
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
