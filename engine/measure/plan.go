package measure

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"bellwether/engine/dialect"
	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

// Plan is what an eval will cost, shown before anything runs.
type Plan struct {
	Suite    string      `json:"suite"` // version of the items
	Models   []ModelPlan `json:"models"`
	Requests int         `json:"requests"` // still to be made
	Done     int         `json:"done"`     // answered by a run that was broken off
	Input    int         `json:"input"`    // tokens, estimated
	Output   int         `json:"output"`
	Seconds  float64     `json:"seconds"` // of all, one after another
	Loads    int         `json:"loads"`   // models that must be loaded first
}

// ModelPlan is a plan's part for one deployment.
type ModelPlan struct {
	Deployment fleet.DeploymentID `json:"deployment"`
	Name       string             `json:"name"`
	Tasks      []TaskPlan         `json:"tasks"`
	Load       bool               `json:"load"`
	// Seconds are all, the load included; Source says what they stand on:
	// measured, or heuristic (size of the weights and speed of the memory).
	Seconds float64 `json:"seconds"`
	Source  string  `json:"source"`

	target *Target
}

// TaskPlan is a plan's part for one task of one deployment.
type TaskPlan struct {
	Task    string  `json:"task"`
	Items   int     `json:"items"`
	Done    int     `json:"done"`
	Input   int     `json:"input"` // tokens of what is still to be asked
	Output  int     `json:"output"`
	Seconds float64 `json:"seconds"`

	items []Item
	each  float64 // seconds of one item
}

// Wish is what an eval is asked to do.
type Wish struct {
	Targets []Target
	Tasks   []string // nil = all
	Items   int      // of each task, 0 = all
}

// PlanEval works out what a wish takes. done tells which items an earlier run
// answered; nil = none.
func PlanEval(w Wish, book *evidence.Book, done func(t *Target, task, item string) bool) (*Plan, error) {
	tasks, err := tasksOf(w.Tasks)
	if err != nil {
		return nil, err
	}
	targets := distinct(w.Targets)
	p := &Plan{Suite: SuiteVersion, Models: []ModelPlan{}}
	for i := range targets {
		m := planModel(&targets[i], tasks, w.Items, book, done)
		for _, t := range m.Tasks {
			p.Requests += t.Items - t.Done
			p.Done += t.Done
			p.Input += t.Input
			p.Output += t.Output
		}
		p.Seconds += m.Seconds
		if m.Load {
			p.Loads++
		}
		p.Models = append(p.Models, m)
	}
	return p, nil
}

// tasksOf puts the wanted tasks in the suites' order.
func tasksOf(want []string) ([]string, error) {
	for _, t := range want {
		if !HasSuite(t) {
			no := false
			return nil, &dialect.Problem{Status: http.StatusBadRequest, Code: "unknown_task", Param: "tasks", Retry: &no,
				Message: fmt.Sprintf("There is no suite for the task %q.", t), Remedy: "Suites are: " + strings.Join(Tasks, ", ") + "."}
		}
	}
	if len(want) == 0 {
		return Tasks, nil
	}
	return slices.DeleteFunc(slices.Clone(Tasks), func(t string) bool { return !slices.Contains(want, t) }), nil
}

// distinct drops deployments of a model that another of the list stands for:
// quality is the model's, so it is asked once. What is in memory stands first.
func distinct(targets []Target) []Target {
	out := slices.Clone(targets)
	slices.SortStableFunc(out, func(a, b Target) int {
		if c := cmp.Compare(loaded(&b), loaded(&a)); c != 0 {
			return c
		}
		return a.Deployment.ID.Compare(b.Deployment.ID)
	})
	seen := map[evidence.ModelKey]bool{}
	return slices.DeleteFunc(out, func(t Target) bool {
		k := evidence.ModelKeyOf(&t.Deployment)
		again := seen[k]
		seen[k] = true
		return again
	})
}

func loaded(t *Target) int {
	if t.Deployment.Residency == fleet.Loaded {
		return 1
	}
	return 0
}

func planModel(t *Target, tasks []string, items int, book *evidence.Book, done func(t *Target, task, item string) bool) ModelPlan {
	speed := speedOf(t, book)
	m := ModelPlan{Deployment: t.Deployment.ID, Name: t.Name(), Source: speed.source, target: t}
	for _, task := range tasks {
		tp := TaskPlan{Task: task, items: Suite(task)}
		if items > 0 && items < len(tp.items) {
			tp.items = tp.items[:items]
		}
		tp.Items = len(tp.items)
		out := usualOutput[task]
		if t.Deployment.Can(fleet.CapThinking).Support == fleet.Yes {
			out *= thinkingFactor
		}
		for i := range tp.items {
			if done != nil && done(t, task, tp.items[i].ID) {
				tp.Done++
				continue
			}
			tp.Input += int(float64(len(tp.items[i].Ask))/4*book.Calibration(&t.Deployment)) + 20
			tp.Output += out
		}
		tp.Seconds = float64(tp.Input)/speed.prefill + float64(tp.Output)/speed.decode
		if open := tp.Items - tp.Done; open > 0 {
			tp.each = tp.Seconds / float64(open)
		}
		m.Seconds += tp.Seconds
		m.Tasks = append(m.Tasks, tp)
	}
	if t.Deployment.Residency != fleet.Loaded && m.Seconds > 0 {
		m.Load = true
		m.Seconds += speed.load
	}
	return m
}

// usualOutput is how many tokens an answer to an item usually takes.
var usualOutput = map[string]int{
	"coding": 220, "math": 200, "reasoning": 220, "summarization": 60, "translation": 40, "extraction": 70,
}

// mostOutput is the output limit of an item, tokens. Models that think get more
// from the router (routing.thinking.overhead).
var mostOutput = map[string]int{
	"coding": 1500, "math": 1200, "reasoning": 1200, "summarization": 400, "translation": 400, "extraction": 600,
}

const thinkingFactor = 6

// speed is how fast a deployment is taken to be, for the plan.
type speed struct {
	prefill, decode float64 // tokens a second
	load            float64 // seconds
	source          string
}

// What is assumed of a machine nothing is known of.
const (
	assumedBandwidth = 60.0 // GB/s
	assumedGB        = 4.0
	diskRate         = 2.0 // GB/s
)

func speedOf(t *Target, book *evidence.Book) speed {
	d := &t.Deployment
	gb := float64(d.WeightsBytes) / 1e9
	if gb == 0 {
		gb = assumedGB
	}
	active := gb
	if d.ActiveParams > 0 && d.Parameters > d.ActiveParams {
		active *= d.ActiveParams / d.Parameters
	}
	s := speed{source: "heuristic", load: gb / diskRate}
	s.decode = 1 / (active/(0.85*cmp.Or(t.Bandwidth, assumedBandwidth)) + 0.003)
	s.prefill = 10 * s.decode
	if f := book.Decode(d); f.Known() && f.V > 0 {
		s.decode, s.source = f.V, "measured"
	}
	if f := book.Prefill(d); f.Known() && f.V > 0 {
		s.prefill = f.V
	}
	if f := book.Load(d); f.Known() {
		s.load = f.V
	}
	s.prefill = math.Max(s.prefill, s.decode)
	return s
}
