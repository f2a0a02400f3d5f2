package evidence

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bellwether/engine/fleet"
)

// stored is the ledger as JSON. Entries are sorted, so that the same ledger
// gives the same bytes.
type stored struct {
	Version int            `json:"version"`
	Speeds  []storedSpeed  `json:"speeds"`
	Habits  []storedHabit  `json:"habits"`
	Probes  []*probedState `json:"probes,omitempty"`
}

type storedSpeed struct {
	Key      Key                  `json:"key"`
	Used     uint64               `json:"used"`
	Seconds  []float64            `json:"seconds,omitempty"`
	Tasks    map[string][]float64 `json:"tasks,omitempty"`
	Loads    []float64            `json:"loads,omitempty"`
	Prefill  mean                 `json:"prefill"`
	Decode   mean                 `json:"decode"`
	Parallel parallelState        `json:"parallel"`
}

type storedHabit struct {
	Key       ModelKey             `json:"key"`
	Used      uint64               `json:"used"`
	Ratios    map[string][]float64 `json:"ratios,omitempty"`
	Output    map[string][]float64 `json:"output,omitempty"`
	Reasoning map[string][]float64 `json:"reasoning,omitempty"`
	Grades    map[string]Grade     `json:"grades,omitempty"`
}

// storedVersion is of a form that older programs could not read. Version 1 has
// only grown: what is missing in an older file was not measured yet.
const storedVersion = 1

// Export returns everything measured, as JSON for the store.
func (l *Ledger) Export() []byte {
	l.mu.Lock()
	out := stored{Version: storedVersion}
	for k, s := range l.speeds {
		out.Speeds = append(out.Speeds, storedSpeed{k, s.used, slices.Clone(s.seconds.values), values(s.tasks),
			slices.Clone(s.loads.values), s.prefill, s.decode, s.parallel})
	}
	for k, h := range l.habits {
		out.Habits = append(out.Habits, storedHabit{k, h.used, values(h.ratios), values(h.output), values(h.reasoning), maps.Clone(h.grades)})
	}
	out.Probes = newestFirst(l.probes)
	l.mu.Unlock()
	slices.SortFunc(out.Speeds, func(a, b storedSpeed) int { return compareKeys(a.Key, b.Key) })
	slices.SortFunc(out.Habits, func(a, b storedHabit) int { return compareModelKeys(a.Key, b.Key) })
	b, err := json.Marshal(out)
	if err != nil {
		panic("evidence: " + err.Error()) // finite numbers and strings always marshal
	}
	return b
}

// Import replaces everything by what Export returned. On an error nothing has
// changed. Empty input is an empty ledger.
func (l *Ledger) Import(b []byte) error {
	var in stored
	if len(b) > 0 {
		if err := json.Unmarshal(b, &in); err != nil {
			return fmt.Errorf("read evidence: %w", err)
		}
		if in.Version != storedVersion {
			return fmt.Errorf("read evidence: version %d is not known here", in.Version)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
	for _, s := range in.Speeds {
		st := newSpeedState()
		st.used, st.prefill, st.decode, st.parallel = s.Used, s.Prefill, s.Decode, s.Parallel
		fill(st.seconds, s.Seconds)
		fill(st.loads, s.Loads)
		fillTasks(st.tasks, s.Tasks, keepTask)
		st.told = st.speeds()
		l.speeds[s.Key] = st
		l.clock = max(l.clock, s.Used)
	}
	for _, h := range in.Habits {
		st := newHabitState()
		st.used = h.Used
		fillTasks(st.ratios, h.Ratios, keepTokens)
		fillTasks(st.output, h.Output, keepTokens)
		fillTasks(st.reasoning, h.Reasoning, keepTokens)
		fillGrades(st.grades, h.Grades)
		st.told = st.habits()
		l.habits[h.Key] = st
		l.clock = max(l.clock, h.Used)
	}
	for _, p := range in.Probes {
		if p != nil {
			p.renew()
			l.probes[p.Deployment] = p
		}
	}
	l.forget()
	l.rebuild()
	return nil
}

// renew forgets what an older suite established of something that the name no
// longer means: the first asked whether a model makes one call where more are
// forbidden, and its no to parallel_tools was of one that makes several.
func (p *Probed) renew() {
	if p.Suite == "probe/1" && p.Results[fleet.CapParallelTools] == fleet.No {
		delete(p.Results, fleet.CapParallelTools)
	}
}

func values(m map[string]*window) map[string][]float64 {
	out := make(map[string][]float64, len(m))
	for k, w := range m {
		out[k] = slices.Clone(w.values)
	}
	return out
}

func fillTasks(m map[string]*window, in map[string][]float64, size int) {
	for _, task := range slices.Sorted(maps.Keys(in)) {
		if w := taskWindow(m, task, size); w != nil {
			fill(w, in[task])
		}
	}
}

func fillGrades(m, in map[string]Grade) {
	for _, task := range slices.Sorted(maps.Keys(in)) {
		if g := in[task]; g.Of > 0 && g.Right >= 0 && g.Right <= g.Of && len(m) < maxTasks {
			m[task] = g
		}
	}
}

func fill(w *window, values []float64) {
	for _, v := range values {
		w.add(v)
	}
}

func compareKeys(a, b Key) int {
	if c := a.Deployment.Compare(b.Deployment); c != 0 {
		return c
	}
	return strings.Compare(a.Digest+"\x00"+a.Quantization+"\x00"+a.Kind, b.Digest+"\x00"+b.Quantization+"\x00"+b.Kind)
}

func compareModelKeys(a, b ModelKey) int {
	return strings.Compare(a.Identity+"\x00"+a.Quantization+"\x00"+a.Kind+"\x00"+a.Template, b.Identity+"\x00"+b.Quantization+"\x00"+b.Kind+"\x00"+b.Template)
}
