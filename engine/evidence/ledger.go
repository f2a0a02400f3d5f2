package evidence

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bellwether/engine/fleet"
)

// How much is kept, and which samples are worth learning from.
const (
	keepSeconds = 500 // validated durations a deployment
	keepTask    = 100 // durations a deployment and task
	keepTokens  = 200 // answers a model and task
	keepLoads   = 20
	tellEach    = 64   // first samples of a deployment, each published at once
	tellSome    = 8    // later, every so many
	maxTasks    = 16   // tasks told apart a key; the classifier knows fewer
	maxKeys     = 2000 // deployments and models; beyond, the longest unused go

	// EnoughSpeeds is how many samples of a rate it takes to be believed.
	EnoughSpeeds = 3

	minPrefillTokens  = 64 // shorter prompts measure the overhead, not the reading
	minDecodeTokens   = 8
	serialisedSamples = 10   // times work waited inside the runtime before its slots are believed
	doubtAfter        = 1000 // requests without a wait before learned slots are learned again
)

// Sample is one request that ended, as its gateway saw it. Counts below 0 and
// durations of 0 are unknown.
type Sample struct {
	Deployment *fleet.Deployment
	Task       string // "" while tasks are not told apart
	Validated  bool   // a complete, well-formed completion; others teach nothing
	Truncated  bool   // cut by its output limit: its length says nothing of the habit
	// Internal is a request of our own (probe, eval, classifier). It teaches how
	// fast the machine is, not how long its users' answers are or take.
	Internal bool
	Took     time.Duration
	TTFT     time.Duration // dispatch to first content
	Load     time.Duration // part of TTFT spent loading; ObserveLoad learns from it
	// Estimate is our uncalibrated count of all prompt tokens (Requirements.InputTotal),
	// Text what kind of text they are (Requirements.Text).
	Estimate                         int
	Text                             string
	Input, Output, Reasoning, Cached int
	// Prefill and Decode are the runtime's own measurements.
	Prefill, Decode time.Duration
}

// Ledger is the owner of all that was measured. Its mutex guards every field
// but book, which readers load without it.
type Ledger struct {
	mu     sync.Mutex
	clock  uint64 // counts observations, to find the longest unused
	speeds map[Key]*speedState
	habits map[ModelKey]*habitState
	probes map[fleet.DeploymentID]*probedState // values are never changed
	book   atomic.Pointer[Book]
}

// speedState is what is kept of one deployment.
type speedState struct {
	at       int     // its place in the book
	told     *Speeds // what the book says of it
	used     uint64
	samples  uint64 // since the start
	seconds  *window
	tasks    map[string]*window
	loads    *window
	prefill  mean
	decode   mean
	parallel parallelState
}

// habitState is what is kept of one model.
type habitState struct {
	at        int
	told      *Habits
	used      uint64
	ratios    map[string]*window // counted over estimated tokens, by kind of text
	output    map[string]*window
	reasoning map[string]*window
	grades    map[string]Grade
}

// parallelState learns a runtime's parallelism: the most requests it worked on
// at once, how often one waited although more had been given to it, and how
// many ended since the last that did.
type parallelState struct {
	AtOnce int `json:"at_once"`
	Waited int `json:"waited"`
	Quiet  int `json:"quiet,omitempty"`
}

// NewLedger returns a ledger that knows nothing.
func NewLedger() *Ledger {
	l := &Ledger{}
	l.clear()
	l.rebuild()
	return l
}

func (l *Ledger) clear() {
	l.speeds = map[Key]*speedState{}
	l.habits = map[ModelKey]*habitState{}
	l.probes = map[fleet.DeploymentID]*probedState{}
}

// Book returns what is known now, but for the last few of many samples. It
// never blocks.
func (l *Ledger) Book() *Book { return l.book.Load() }

// Observe learns from a request that ended. Only validated completions count.
func (l *Ledger) Observe(s Sample) {
	if !s.Validated || s.Deployment == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key, mkey := KeyOf(s.Deployment), ModelKeyOf(s.Deployment)
	sp, grownS := l.speed(key)
	ha, grownH := l.habit(mkey)
	sp.learn(&s)
	ha.learn(&s)
	if grown := grownS || grownH; sp.worthTelling() || grown {
		l.publish(sp, ha, grown)
	}
}

// worthTelling reports whether a further sample is to be published at once. One
// of the first moves the figures; later each is one of hundreds, and to make a
// book for it costs more than to learn from it.
func (s *speedState) worthTelling() bool {
	s.samples++
	return s.samples <= tellEach || s.samples%tellSome == 0
}

// ObserveLoad learns how long a deployment took to load.
func (l *Ledger) ObserveLoad(d *fleet.Deployment, took time.Duration) {
	if took <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	sp, grown := l.speed(KeyOf(d))
	sp.loads.add(took.Seconds())
	l.publish(sp, nil, grown)
}

// ObserveSlow learns from a request that was given up that a deployment is no
// faster than this. It is believed at once: what is slower than its deadlines
// never shows how fast it is. What is measured later counts for more than it.
func (l *Ledger) ObserveSlow(d *fleet.Deployment, most fleet.Pace) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sp, grown := l.speed(KeyOf(d))
	sp.prefill.lower(most.Prefill)
	sp.decode.lower(most.Decode)
	if most.Load > 0 {
		sp.loads.add(most.Load)
	}
	l.publish(sp, nil, grown)
}

// ObserveParallel learns how many requests a deployment works on at once, from
// one that ended: running were with the runtime when it came, atOnce is the
// most the runtime worked on at one moment while it worked on this one, and
// waited says that this one waited there.
func (l *Ledger) ObserveParallel(d *fleet.Deployment, running, atOnce int, waited bool) {
	if atOnce < 1 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	sp, grown := l.speed(KeyOf(d))
	before := sp.parallel.slots()
	sp.parallel.learn(running, atOnce, waited)
	if grown || sp.parallel.slots() != before {
		l.publish(sp, nil, grown)
	}
}

// learn believes in the most requests ever worked on at once when others often
// waited beside them. Once believed, no more are sent, so nothing waits and
// nothing could show that the runtime was given more slots since: the belief
// is given up now and then, and proves itself again.
func (p *parallelState) learn(running, atOnce int, waited bool) {
	switch {
	case atOnce > p.AtOnce:
		*p = parallelState{AtOnce: atOnce}
	case waited && running > p.AtOnce:
		p.Waited++
		p.Quiet = 0
	case p.slots().Known():
		if p.Quiet++; p.Quiet >= doubtAfter {
			*p = parallelState{AtOnce: p.AtOnce}
		}
	}
}

func (p *parallelState) slots() Figure {
	if p.Waited < serialisedSamples {
		return Figure{}
	}
	return Figure{V: float64(p.AtOnce), N: p.Waited}
}

func (s *speedState) learn(o *Sample) {
	if o.Took > 0 && !o.Internal {
		s.seconds.add(o.Took.Seconds())
		if w := taskWindow(s.tasks, o.Task, keepTask); w != nil {
			w.add(o.Took.Seconds())
		}
	}
	if read := o.Input - max(o.Cached, 0); read >= minPrefillTokens {
		if took := o.prefillTime(); took > 0 {
			s.prefill.add(float64(read) / took.Seconds())
		}
	}
	if o.Output >= minDecodeTokens {
		if took := o.decodeTime(); took > 0 {
			s.decode.add(float64(o.Output) / took.Seconds())
		}
	}
}

// prefillTime is the runtime's own figure, else the time to first content
// without the load.
func (o *Sample) prefillTime() time.Duration {
	if o.Prefill > 0 {
		return o.Prefill
	}
	if o.TTFT <= 0 {
		return 0
	}
	return o.TTFT - o.Load
}

func (o *Sample) decodeTime() time.Duration {
	if o.Decode > 0 {
		return o.Decode
	}
	if o.TTFT <= 0 {
		return 0
	}
	return o.Took - o.TTFT
}

func (h *habitState) learn(o *Sample) {
	h.count(o.Text, o.Estimate, o.Input)
	if o.Output <= 0 || o.Truncated || o.Internal {
		return
	}
	said := o.Output - max(o.Reasoning, 0)
	for _, task := range tasksOf(o.Task) {
		if w := taskWindow(h.output, task, keepTokens); w != nil {
			w.add(float64(said))
		}
		if o.Reasoning <= 0 {
			continue
		}
		if w := taskWindow(h.reasoning, task, keepTokens); w != nil {
			w.add(float64(o.Reasoning))
		}
	}
}

// tasksOf returns the task and the sum over all tasks, each once.
func tasksOf(task string) []string {
	if task == "" {
		return []string{""}
	}
	return []string{task, ""}
}

// taskWindow returns the window of a task, making it where there is room.
func taskWindow(m map[string]*window, task string, size int) *window {
	w, ok := m[task]
	if !ok && len(m) < maxTasks {
		w = newWindow(size)
		m[task] = w
	}
	return w
}

func (l *Ledger) speed(k Key) (s *speedState, grown bool) {
	l.clock++
	if s = l.speeds[k]; s == nil {
		s = newSpeedState()
		l.speeds[k] = s
		grown = true
	}
	s.used = l.clock
	return s, grown
}

func newSpeedState() *speedState {
	return &speedState{seconds: newWindow(keepSeconds), tasks: map[string]*window{}, loads: newWindow(keepLoads)}
}

func (l *Ledger) habit(k ModelKey) (h *habitState, grown bool) {
	l.clock++
	k = l.book.Load().keyFor(k)
	if h = l.habits[k]; h == nil {
		h = newHabitState()
		l.habits[k] = h
		grown = true
	}
	h.used = l.clock
	return h, grown
}

func newHabitState() *habitState {
	return &habitState{ratios: map[string]*window{}, output: map[string]*window{}, reasoning: map[string]*window{}, grades: map[string]Grade{}}
}

// publish makes the next book. Only what changed is computed; of the rest the
// pointers are copied, so that one completion costs well under 20 us with
// hundreds of deployments. A new key rebuilds the index.
func (l *Ledger) publish(s *speedState, h *habitState, grown bool) {
	if s != nil {
		s.told = s.speeds()
	}
	if h != nil {
		h.told = h.habits()
	}
	if grown {
		l.forget()
		l.rebuild()
		return
	}
	b := *l.book.Load()
	if s != nil {
		b.speeds = slices.Clone(b.speeds)
		b.speeds[s.at] = s.told
	}
	if h != nil {
		b.habits = slices.Clone(b.habits)
		b.habits[h.at] = h.told
	}
	l.book.Store(&b)
}

// rebuild makes a book with new indexes: a key came or went.
func (l *Ledger) rebuild() {
	b := &Book{speedAt: make(map[Key]int, len(l.speeds)), habitAt: make(map[ModelKey]int, len(l.habits)), kin: make(map[ModelKey][]ModelKey, len(l.habits))}
	for k, s := range l.speeds {
		s.at = len(b.speeds)
		b.speedAt[k] = s.at
		b.speeds = append(b.speeds, s.told)
	}
	for k, h := range l.habits {
		h.at = len(b.habits)
		b.habitAt[k] = h.at
		b.habits = append(b.habits, h.told)
		b.kin[k.kin()] = append(b.kin[k.kin()], k)
	}
	for _, kin := range b.kin {
		slices.SortFunc(kin, func(x, y ModelKey) int { return cmp.Compare(l.habits[y].used, l.habits[x].used) })
	}
	b.probes = maps.Clone(l.probes)
	l.book.Store(b)
}

// forget drops the longest unused keys beyond maxKeys: models come and go for
// years, and what is gone teaches nothing.
func (l *Ledger) forget() {
	for len(l.speeds) > maxKeys {
		delete(l.speeds, oldest(l.speeds, func(s *speedState) uint64 { return s.used }))
	}
	for len(l.habits) > maxKeys {
		delete(l.habits, oldest(l.habits, func(h *habitState) uint64 { return h.used }))
	}
	if len(l.probes) > maxKeys {
		for _, p := range newestFirst(l.probes)[maxKeys:] {
			delete(l.probes, p.Deployment)
		}
	}
}

func oldest[K comparable, V any](m map[K]V, used func(V) uint64) (key K) {
	least := ^uint64(0)
	for k, v := range m {
		if u := used(v); u <= least {
			least, key = u, k
		}
	}
	return key
}

func (s *speedState) speeds() *Speeds {
	out := &Speeds{
		Seconds: s.seconds.quantile(0.75),
		Load:    s.loads.quantile(0.5),
		Prefill: s.prefill.figure(),
		Decode:  s.decode.figure(),
		Slots:   s.parallel.slots(),
	}
	if len(s.tasks) > 0 {
		out.Tasks = quantiles(s.tasks, 0.5)
	}
	return out
}

func (h *habitState) habits() *Habits {
	return &Habits{
		Calibration: ratios(h.ratios),
		Output:      quantiles(h.output, 0.75),
		Reasoning:   quantiles(h.reasoning, 0.75),
		Quality:     figures(h.grades),
		Grades:      maps.Clone(h.grades),
	}
}

func quantiles(m map[string]*window, q float64) map[string]Figure {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]Figure, len(m))
	for task, w := range m {
		out[task] = w.quantile(q)
	}
	return out
}
