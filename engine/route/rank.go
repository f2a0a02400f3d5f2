package route

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

// firstChoice picks the model among those that have a survivor:
//
//  1. Each name the request lists stands for one model: itself, or the best
//     ranked member of an alias, or the first that can serve of an alias in
//     pinned order.
//  2. The first of them that is loaded, or being loaded, on a surviving node. An
//     alias in pinned order counts as loaded: its operator's order matters, not
//     what happens to be in memory.
//  3. Else the first that some node can load.
func (j *judge) firstChoice() (c *cand, why string) {
	if len(j.q.Failed) > 0 && (j.q.Changed || j.q.Needs.NoFallback) {
		return nil, "" // one change of model a request, and none if it forbids it
	}
	var first *cand
	var firstWhy string
	for from := 0; from < len(j.wants); {
		to := from + 1
		for to < len(j.wants) && j.wants[to].listed == j.wants[from].listed {
			to++
		}
		c, why := j.standsFor(from, to)
		from = to
		if c == nil {
			continue
		}
		if in, coming := j.somewhereIn(c.want, fleet.Loaded), j.somewhereIn(c.want, fleet.Loading); why == "pinned_order" || in {
			return c, cmp.Or(why, "loaded")
		} else if coming {
			return c, cmp.Or(why, "loading")
		}
		if first == nil {
			first, firstWhy = c, cmp.Or(why, "loads")
		}
	}
	return first, firstWhy
}

// standsFor picks one of the wants that one listed name was expanded into. why
// is "" for a name that is a model.
func (j *judge) standsFor(from, to int) (c *cand, why string) {
	alias := j.wants[from].alias
	switch {
	case alias == nil:
		return j.best(from), ""
	case alias.PinnedOrder:
		for i := from; i < to; i++ {
			if c := j.best(i); c != nil {
				return c, "pinned_order"
			}
		}
		return nil, ""
	}
	return j.rank(from, to, alias), "ranked"
}

// rival is a model of an alias, judged through its best surviving node.
type rival struct {
	*cand
	quality
	latency, residency, overhead float64 // seconds, seconds, bytes
	latencyLabel                 string
	points                       int64 // score in millionths: equal scores must compare equal
}

// rank orders the models of an alias by routing.md 5 and returns the winner,
// nil if none survived. Each model is judged through its best node:
//
//	score = w_q*quality - w_lat*latency - w_res*residency - w_over*overhead + affinity
//
// the costs normalised over the models at hand. Then the tolerance: of those
// whose quality is as good as the best-scored one's, as far as is known, the one
// that takes the least memory, if it takes no longer load. A session's model that
// scores best is not left for that: changing it costs its prompt cache. Last,
// what is in memory is not left for its like (warm).
func (j *judge) rank(from, to int, alias *Alias) *cand {
	rivals := make([]rival, 0, to-from)
	for i := from; i < to; i++ {
		if c := j.best(i); c != nil {
			rivals = append(rivals, j.rival(c))
		}
	}
	if len(rivals) == 0 {
		return nil
	}
	j.scoreRivals(rivals, j.p.Profiles[j.profile(alias)])
	slices.SortFunc(rivals, j.compareRivals)
	best := &rivals[0]
	winner := best
	if best.AffinityAdjust <= 0 {
		for i := range rivals[1:] {
			r := &rivals[1+i]
			if math.Abs(r.value-best.value) <= best.tolerance()+1e-9 && r.residency <= best.residency && r.overhead < winner.overhead {
				winner = r
			}
		}
	}
	cold := winner
	if winner.AffinityAdjust <= 0 {
		winner = warm(rivals, winner, best.tolerance())
	}
	j.tellInOrder(rivals, winner)
	j.explainRank(winner, best, len(rivals))
	if winner != cold {
		j.reason("warm", winner.dep.ID.Model, cold.dep.ID.Model)
	}
	return winner.cand
}

// alike is how much slower or larger a model may be that is in memory and yet
// counts as the like of one that is not.
const alike = 1.25

// warm returns the best-scored rival in memory that is the like of a winner to be
// loaded: as good as far as is known, and hardly slower or larger. Costs run from
// 0 to 1 however little they differ, so that of two models of 8 and 7.5 GB the
// one on disk can win; it would push out the other, for the next request to load
// it again. Without one the winner stays.
func warm(rivals []rival, winner *rival, tolerance float64) *rival {
	if winner.residency == 0 {
		return winner
	}
	for i := range rivals {
		r := &rivals[i]
		if r.residency == 0 && r.value >= winner.value-tolerance-1e-9 && r.latency <= alike*winner.latency && r.overhead <= alike*winner.overhead {
			return r
		}
	}
	return winner
}

// tellInOrder lets the decision list the models as they were ranked, the winner
// first, and those without a survivor behind.
func (j *judge) tellInOrder(rivals []rival, winner *rival) {
	for i := range j.wants {
		if j.wants[i].listed == j.wants[winner.want].listed {
			j.wants[i].order = len(rivals)
		}
	}
	for i := range rivals {
		j.wants[rivals[i].want].order = i + 1
	}
	j.wants[winner.want].order = 0
}

// somewhereIn reports whether a survivor of a wanted model is in that state.
func (j *judge) somewhereIn(want int, state fleet.Residency) bool {
	return slices.ContainsFunc(j.of(want), func(c *cand) bool { return j.serves(c) && c.state == state })
}

func (j *judge) explainRank(winner, best *rival, of int) {
	j.reason("rank", winner.dep.ID.Model, points(winner.Score), j.tasksText(), winner.label, winner.value, of)
	if winner != best && winner.overhead < best.overhead {
		j.reason("tolerance", winner.dep.ID.Model, best.dep.ID.Model, best.tolerance())
	}
	if winner.AffinityAdjust > 0 {
		j.reason("affinity", winner.dep.ID.Model)
	}
}

// rival judges a model by its best node. Its memory is that of its weights: what
// one took in all is known only of those that were loaded, and any other would
// look smaller beside them.
func (j *judge) rival(c *cand) rival {
	r := rival{cand: c, quality: j.quality(c.dep, c.habits), overhead: float64(cmp.Or(c.dep.WeightsBytes, sizeOr(c.dep, unknownWeights)))}
	if !c.inMemory() {
		r.residency = c.speed.load
	} else if c.state == fleet.Loading {
		r.residency = c.lane.LoadRemaining.Seconds()
	}
	return r
}

// latencies are what an answer takes of each rival: measured for the task, else
// guessed from reading the active weights once a token. A guess is for as many
// tokens as make the same guess right for the measured ones, in the mean of
// their orders of magnitude: how long answers of this task are, and how far off
// guesses are on these machines, is in their medians, and a guess that knew
// neither would not compare. Where nothing is measured all are guessed alike, and
// the length makes no difference.
func (j *judge) latencies(rivals []rival) {
	logs, measured := 0.0, 0
	for i := range rivals {
		r := &rivals[i]
		if f := r.speeds.Tasks[j.q.Needs.PrimaryTask]; f.N >= evidence.EnoughSpeeds {
			r.latency, r.latencyLabel = f.V, "latency:measured"
			logs += math.Log(max(1e-3, f.V) * coldDecode(r.node.Node, r.dep))
			measured++
		}
	}
	tokens := float64(usualTokens)
	if measured > 0 {
		tokens = math.Exp(logs / float64(measured))
	}
	for i := range rivals {
		if r := &rivals[i]; r.latencyLabel == "" {
			r.latency, r.latencyLabel = tokens/coldDecode(r.node.Node, r.dep), "latency:size-heuristic"
		}
	}
}

func (j *judge) scoreRivals(rivals []rival, w Weights) {
	j.latencies(rivals)
	latency := spread(rivals, func(r *rival) float64 { return r.latency })
	residency := spread(rivals, func(r *rival) float64 { return r.residency })
	overhead := spread(rivals, func(r *rival) float64 { return r.overhead })
	pin, pinned := j.sessionPin()
	for i := range rivals {
		r := &rivals[i]
		c := &r.Candidate
		c.Quality = r.value
		c.LatencyCost, c.ResidencyCost, c.OverheadCost = latency.of(r.latency), residency.of(r.residency), overhead.of(r.overhead)
		if pinned {
			c.AffinityAdjust = -j.p.SwitchingPenalty
			if r.dep.Identity() == pin.Identity {
				c.AffinityAdjust = j.p.SwitchingPenalty
			}
		}
		c.Score = w.Quality*c.Quality - w.Latency*c.LatencyCost - w.Residency*c.ResidencyCost - w.Overhead*c.OverheadCost + c.AffinityAdjust
		c.Evidence = r.label + " " + r.latencyLabel
		r.points = int64(math.Round(c.Score * 1e6))
	}
}

// compareRivals orders by score, then least memory, then as nodes are ordered.
func (j *judge) compareRivals(a, b rival) int {
	if a.points != b.points {
		return cmp.Compare(b.points, a.points)
	}
	if a.overhead != b.overhead {
		return cmp.Compare(a.overhead, b.overhead)
	}
	if a.cand == b.cand {
		return 0
	}
	if j.before(a.cand, b.cand) {
		return -1
	}
	return 1
}

// sessionPin is where the request's conversation was last served, if that was
// lately enough to count.
func (j *judge) sessionPin() (Pin, bool) {
	key := j.q.Needs.Session
	if key == "" {
		return Pin{}, false
	}
	pin, ok := j.v.Pins[key]
	return pin, ok && j.v.Now.Sub(pin.At) <= j.p.PinTTL
}

// bounds are the least and the most of a cost over the rivals.
type bounds struct{ least, most float64 }

func spread(rivals []rival, cost func(*rival) float64) bounds {
	b := bounds{cost(&rivals[0]), cost(&rivals[0])}
	for i := range rivals[1:] {
		x := cost(&rivals[1+i])
		b.least, b.most = min(b.least, x), max(b.most, x)
	}
	return b
}

// of normalises a cost to 0..1; 0 where all are equal.
func (b bounds) of(x float64) float64 {
	if b.most <= b.least {
		return 0
	}
	return (x - b.least) / (b.most - b.least)
}

// quality is how well a model is taken to do what a request asks for.
type quality struct {
	value       float64 // 0 to 1
	uncertainty float64
	measured    bool
	label       string // measured:n, prior:<provenance>, uncalibrated[:size-heuristic]
}

// How sure we are of a quality that was not measured here, and how near two of
// such count as equal.
const (
	priorUncertainty        = 0.25
	uncalibratedUncertainty = 0.35
	guessTolerance          = 0.03
)

// tolerance is how much less quality counts as equal.
func (q *quality) tolerance() float64 {
	if q.measured {
		return q.uncertainty / 2
	}
	return guessTolerance
}

// quality returns what is known of a deployment at the request's task; of an
// ambiguous request, at each of its tasks by their confidence. The label is
// that of the likeliest task.
func (j *judge) quality(d *fleet.Deployment, measured *evidence.Habits) quality {
	n := &j.q.Needs
	if n.Clear || len(n.Tasks) < 2 {
		return qualityAt(d, measured, n.PrimaryTask)
	}
	q := qualityAt(d, measured, n.PrimaryTask)
	var value, uncertainty, total float64
	for _, task := range sortedTasks(n.Tasks) { // in one order: sums of floats depend on it
		weight := n.Tasks[task]
		at := qualityAt(d, measured, task)
		value += weight * at.value
		uncertainty += weight * at.uncertainty
		total += weight
	}
	if total > 0 {
		q.value, q.uncertainty = value/total, uncertainty/total
	}
	return q
}

// qualityAt is the quality at one task:
//
//  1. Measured here by an eval.
//  2. Else what the operator says, or what was published of it (Priors).
//  3. Else guessed from its size.
func qualityAt(d *fleet.Deployment, measured *evidence.Habits, task string) quality {
	if f := measured.Quality[task]; f.Known() {
		return quality{f.V, 1 / math.Sqrt(float64(f.N)), true, "measured:" + strconv.Itoa(f.N)}
	}
	prior, ok := d.Priors[task]
	if !ok {
		prior, ok = d.Priors[""]
	}
	if ok {
		return quality{prior.Value, priorUncertainty, false, "prior:" + prior.Provenance}
	}
	active := cmp.Or(d.ActiveParams, d.Parameters)
	if active <= 0 {
		return quality{0.5, uncalibratedUncertainty, false, "uncalibrated"}
	}
	return quality{0.5 + min(0.25, 0.08*math.Log2(1+active/1e9)), uncalibratedUncertainty, false, "uncalibrated:size-heuristic"}
}

func sortedTasks(tasks map[string]float64) []string {
	names := make([]string, 0, len(tasks))
	for name := range tasks {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(tasks[b], tasks[a]), cmp.Compare(a, b))
	})
	return names
}

// tasksText names the request's task, or the tasks it may be.
func (j *judge) tasksText() string {
	n := &j.q.Needs
	if n.Clear || len(n.Tasks) < 2 {
		return n.PrimaryTask
	}
	var out string
	for i, task := range sortedTasks(n.Tasks) {
		if i > 0 {
			out += " or "
		}
		out += task
	}
	return out
}
