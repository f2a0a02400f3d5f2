package evidence

import (
	"bellwether/engine/fleet"
)

// Key names what a speed belongs to: one deployment in one make. A model that
// was pulled again has another digest and so starts over; so does one whose
// runtime changed its kind.
type Key struct {
	Deployment   fleet.DeploymentID
	Digest       string
	Quantization string
	Kind         string // of the runtime
}

// KeyOf returns the key a deployment's speeds are kept under.
func KeyOf(d *fleet.Deployment) Key {
	return Key{d.ID, d.Digest, d.Quantization, d.Kind}
}

// ModelKey names what a habit belongs to (tokens an answer takes, characters a
// token holds): the model wherever it runs.
type ModelKey struct {
	Identity     string // the digest, else the runtime's spelling of the name
	Quantization string
	Kind         string
	Template     string // where the digest does not cover it
}

// ModelKeyOf returns the key a model's habits are kept under.
func ModelKeyOf(d *fleet.Deployment) ModelKey {
	if d.Digest != "" {
		return ModelKey{d.Digest, d.Quantization, d.Kind, d.Template}
	}
	return ModelKey{d.ID.Model, d.Quantization, d.Kind, d.Template}
}

// Figure is a measured number and how many samples stand behind it. With N 0
// nothing is known, and V means nothing.
type Figure struct {
	V float64 `json:"v"`
	N int     `json:"n"`
}

// Known reports whether anything was measured.
func (f Figure) Known() bool { return f.N > 0 }

// Speeds is what was measured of one deployment.
type Speeds struct {
	Seconds Figure            `json:"seconds"` // p75, dispatch to end, of the last 500
	Load    Figure            `json:"load"`    // median seconds of a load
	Prefill Figure            `json:"prefill"` // prompt tokens read a second, uncached ones
	Decode  Figure            `json:"decode"`  // tokens written a second
	Slots   Figure            `json:"slots"`   // requests it was seen to run at once
	Tasks   map[string]Figure `json:"tasks,omitempty"`
}

// Habits is what was measured of one model, on all machines together.
type Habits struct {
	// Calibration is reported prompt tokens over our estimate, by kind of text, "" = all.
	Calibration map[string]Ratio  `json:"calibration,omitempty"`
	Output      map[string]Figure `json:"output,omitempty"`    // p75 tokens by task, "" = all
	Reasoning   map[string]Figure `json:"reasoning,omitempty"` // p75 tokens by task, "" = all
	// Quality is the share of checked items an eval saw answered right, by task.
	Quality map[string]Figure `json:"quality,omitempty"`
	Grades  map[string]Grade  `json:"grades,omitempty"` // where Quality comes from
}

// Book is everything known at one instant. It is never changed once published.
// A nil *Book and the zero Book know nothing.
type Book struct {
	speeds []*Speeds // by the numbers in speedAt; the maps are shared between books
	habits []*Habits

	speedAt map[Key]int
	habitAt map[ModelKey]int
	kin     map[ModelKey][]ModelKey // by ModelKey.kin, the latest used first

	probes map[fleet.DeploymentID]*probedState
}

// Speeds returns what is known of a deployment, nil if nothing is.
func (b *Book) Speeds(d *fleet.Deployment) *Speeds {
	if b == nil {
		return nil
	}
	if i, ok := b.speedAt[KeyOf(d)]; ok && i < len(b.speeds) {
		return b.speeds[i]
	}
	return nil
}

// Habits returns what is known of a deployment's model, nil if nothing is.
func (b *Book) Habits(d *fleet.Deployment) *Habits {
	if b == nil {
		return nil
	}
	if i, ok := b.habitAt[b.keyFor(ModelKeyOf(d))]; ok && i < len(b.habits) {
		return b.habits[i]
	}
	return nil
}

// keyFor returns the key under which a model's habits are: its own, and while
// its runtime cannot tell what the model is made of, that of the make it was
// last seen in.
func (b *Book) keyFor(k ModelKey) ModelKey {
	if !k.vague() {
		return k
	}
	for _, known := range b.kin[k.kin()] {
		if known.covers(k) {
			return known
		}
	}
	return k
}

// Seconds returns the p75 of a deployment's answers, dispatch to end.
func (b *Book) Seconds(d *fleet.Deployment) Figure {
	if s := b.Speeds(d); s != nil {
		return s.Seconds
	}
	return Figure{}
}

// Median returns the p50 of a deployment's answers for a task.
func (b *Book) Median(d *fleet.Deployment, task string) Figure {
	if s := b.Speeds(d); s != nil {
		return s.Tasks[task]
	}
	return Figure{}
}

// Load returns the median seconds a load of the deployment took.
func (b *Book) Load(d *fleet.Deployment) Figure {
	if s := b.Speeds(d); s != nil {
		return s.Load
	}
	return Figure{}
}

// Prefill returns the prompt tokens a deployment reads a second.
func (b *Book) Prefill(d *fleet.Deployment) Figure {
	if s := b.Speeds(d); s != nil {
		return s.Prefill
	}
	return Figure{}
}

// Decode returns the tokens a deployment writes a second.
func (b *Book) Decode(d *fleet.Deployment) Figure {
	if s := b.Speeds(d); s != nil {
		return s.Decode
	}
	return Figure{}
}

// Slots returns how many requests a deployment was seen to run at once.
func (b *Book) Slots(d *fleet.Deployment) Figure {
	if s := b.Speeds(d); s != nil {
		return s.Slots
	}
	return Figure{}
}

// Output returns the p75 of output tokens, reasoning left out, for the task,
// else over all tasks.
func (b *Book) Output(d *fleet.Deployment, task string) Figure {
	if h := b.Habits(d); h != nil {
		return h.OutputAt(task)
	}
	return Figure{}
}

// OutputAt returns the p75 of output tokens for the task, else over all tasks.
func (h *Habits) OutputAt(task string) Figure { return forTask(h.Output, task) }

// ReasoningAt returns the p75 of reasoning tokens for the task, else over all.
func (h *Habits) ReasoningAt(task string) Figure { return forTask(h.Reasoning, task) }

// Reasoning returns the p75 of reasoning tokens for the task, else over all.
func (b *Book) Reasoning(d *fleet.Deployment, task string) Figure {
	if h := b.Habits(d); h != nil {
		return h.ReasoningAt(task)
	}
	return Figure{}
}

// Quality returns the share of an eval's items for the task that the model
// answered right, 0 to 1, and how many items that were.
func (b *Book) Quality(d *fleet.Deployment, task string) Figure {
	if h := b.Habits(d); h != nil {
		return h.Quality[task]
	}
	return Figure{}
}

// forTask falls back to the figure over all tasks: a habit of the model is
// nearer the truth than a constant.
func forTask[T any](m map[string]T, task string) T {
	if f, ok := m[task]; ok {
		return f
	}
	return m[""]
}

// NewBook makes a book of given figures, for scenarios and simulations.
func NewBook(speeds map[Key]Speeds, habits map[ModelKey]Habits) *Book {
	b := &Book{speedAt: map[Key]int{}, habitAt: map[ModelKey]int{}}
	for k, s := range speeds {
		b.speedAt[k] = len(b.speeds)
		b.speeds = append(b.speeds, &s)
	}
	for k, h := range habits {
		b.habitAt[k] = len(b.habits)
		b.habits = append(b.habits, &h)
	}
	return b
}
