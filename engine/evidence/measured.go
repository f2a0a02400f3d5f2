package evidence

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"bellwether/engine/fleet"
)

// Grade is what an eval found a model worth at one task.
type Grade struct {
	Right int       `json:"right"` // items answered right
	Of    int       `json:"of"`    // items asked
	Suite string    `json:"suite"` // which items: name and version, such as coding/1
	At    time.Time `json:"at"`    // when the eval ended
}

// Share is the part of the items that was answered right, 0 to 1.
func (g Grade) Share() float64 { return float64(g.Right) / float64(max(g.Of, 1)) }

// Probed is what asking a deployment established. Nothing in it is an identity:
// dimensions and norm describe vectors, they do not tell two spaces apart.
type Probed struct {
	At    time.Time `json:"at"`
	Suite string    `json:"suite"` // which questions: name and version
	// Results holds what was established, yes or no. What was skipped or stayed
	// unclear is absent.
	Results map[fleet.Capability]fleet.Tri `json:"results,omitempty"`
	// Earlier says of those results that the last probe did not ask again when
	// they were established.
	Earlier map[fleet.Capability]time.Time `json:"earlier,omitempty"`

	Context    int     `json:"context,omitempty"`    // tokens it read whole: it serves these at least; 0 = not established
	Dimensions int     `json:"dimensions,omitempty"` // of its vectors, 0 = not established
	Norm       float64 `json:"norm,omitempty"`       // length of its vectors, 0 = not established
}

// probedState is a probe and what it was made of. What a server's own flags
// decide (a projector for images, a context) is not the model's, so a probe
// counts for one deployment; and not for another make of it.
type probedState struct {
	Deployment fleet.DeploymentID `json:"deployment"`
	Make       ModelKey           `json:"make"`
	Probed
}

// SetQuality records what an eval measured of a deployment's model at a task,
// in place of an earlier one. It holds for the model wherever it runs in this
// make. A grade over no items forgets what was measured. Ordinary traffic never
// comes here: how often an answer was right, only a checked item can tell.
func (l *Ledger) SetQuality(d *fleet.Deployment, task string, g Grade) {
	if g.Right < 0 || g.Right > g.Of {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h, grown := l.habit(ModelKeyOf(d))
	if _, known := h.grades[task]; !known && len(h.grades) >= maxTasks {
		return
	}
	if g.Of == 0 {
		delete(h.grades, task)
	} else {
		h.grades[task] = g
	}
	l.publish(nil, h, grown)
}

// SetProbe records what a probe established of a deployment. Earlier results
// that p says nothing of are kept, as long as the deployment is of the same make.
func (l *Ledger) SetProbe(d *fleet.Deployment, p Probed) {
	next := probedState{Deployment: d.ID, Make: ModelKeyOf(d), Probed: p}
	next.Results, next.Earlier = maps.Clone(p.Results), nil
	maps.DeleteFunc(next.Results, func(_ fleet.Capability, t fleet.Tri) bool { return t == fleet.Unknown })
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.probes[d.ID]; old != nil && old.Make.covers(next.Make) {
		next.inherit(&old.Probed)
	}
	l.probes[d.ID] = &next
	l.forget()
	l.rebuild()
}

// inherit takes over what p does not say itself.
func (p *probedState) inherit(old *Probed) {
	for name, support := range old.Results {
		if _, asked := p.Results[name]; asked {
			continue
		}
		at, older := old.Earlier[name]
		if !older {
			at = old.At
		}
		if p.Results == nil {
			p.Results = map[fleet.Capability]fleet.Tri{}
		}
		if p.Earlier == nil {
			p.Earlier = map[fleet.Capability]time.Time{}
		}
		p.Results[name], p.Earlier[name] = support, at
	}
	if p.Context == 0 {
		p.Context = old.Context
	}
	if p.Dimensions == 0 {
		p.Dimensions, p.Norm = old.Dimensions, old.Norm
	}
}

// Tell lays what a probe established over a deployment. A context that was seen
// to work is no limit: more was not tried, for its cost. p may be nil.
func (p *Probed) Tell(d *fleet.Deployment) {
	if p == nil {
		return
	}
	if len(p.Results) > 0 {
		caps := maps.Clone(d.Capabilities)
		if caps == nil {
			caps = fleet.Capabilities{}
		}
		for name, support := range p.Results {
			caps.Set(name, support, fleet.SourceProbe)
		}
		d.Capabilities = caps
	}
	d.MaxContext = cmp.Or(d.MaxContext, p.Context)
	d.EmbeddingWidth = cmp.Or(p.Dimensions, d.EmbeddingWidth)
}

// Grades returns what evals measured of a deployment's model, by task; nil if
// nothing. The map is not to be changed.
func (b *Book) Grades(d *fleet.Deployment) map[string]Grade {
	if h := b.Habits(d); h != nil {
		return h.Grades
	}
	return nil
}

// Probe returns what asking this deployment established, nil if it was never
// asked in this make. It is not to be changed.
func (b *Book) Probe(d *fleet.Deployment) *Probed {
	if b == nil {
		return nil
	}
	if p := b.probes[d.ID]; p != nil && p.Make.covers(ModelKeyOf(d)) {
		return &p.Probed
	}
	return nil
}

// covers reports whether what was learned under k holds for a deployment under
// want. A server that has not loaded a model since it started cannot tell its
// quantisation or template: what it cannot tell is taken to be unchanged.
func (k ModelKey) covers(want ModelKey) bool {
	return k.Identity == want.Identity && k.Kind == want.Kind &&
		(want.Quantization == "" || k.Quantization == want.Quantization) &&
		(want.Template == "" || k.Template == want.Template)
}

// vague reports whether the key leaves open what the runtime did not tell.
func (k ModelKey) vague() bool { return k.Quantization == "" || k.Template == "" }

// kin is the key of all makes of one model.
func (k ModelKey) kin() ModelKey { return ModelKey{Identity: k.Identity, Kind: k.Kind} }

func figures(grades map[string]Grade) map[string]Figure {
	if len(grades) == 0 {
		return nil
	}
	out := make(map[string]Figure, len(grades))
	for task, g := range grades {
		out[task] = Figure{V: g.Share(), N: g.Of}
	}
	return out
}

// newestFirst orders probes for export and forgetting.
func newestFirst(probes map[fleet.DeploymentID]*probedState) []*probedState {
	return slices.SortedFunc(maps.Values(probes), func(a, b *probedState) int {
		if c := b.At.Compare(a.At); c != 0 {
			return c
		}
		return a.Deployment.Compare(b.Deployment)
	})
}
