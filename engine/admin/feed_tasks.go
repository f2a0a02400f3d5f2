package admin

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/queue"
)

// task is one part of the picture, looked at anew by itself.
type task int

const (
	taskFleet task = iota // nodes, runtimes, deployments, pools
	taskRows
	taskQueues // lanes, and the counts of requests
	taskJobs
	taskMeta
	taskApps
	taskNames // aliases and contracts
	taskFindings
	tasks
)

// How soon a change is told. What people do and requests go at once; what
// instruments read twice a second.
const (
	quick = 50 * time.Millisecond
	slow  = 500 * time.Millisecond
)

// rhythm says for each task how far apart two looks are at least, and how long
// it is left alone at most; 0 = until something happens.
var rhythm = [tasks]struct{ least, most time.Duration }{
	taskFleet:    {quick, 0},
	taskRows:     {quick, 0},
	taskQueues:   {250 * time.Millisecond, time.Second},
	taskJobs:     {quick, slow},
	taskMeta:     {slow, time.Second},
	taskApps:     {time.Second, 5 * time.Second},
	taskNames:    {slow, 0},
	taskFindings: {slow, 10 * time.Second},
}

// want has a task done soon.
func (w *watch) want(t task, soon time.Duration) {
	if w.sub == nil {
		return
	}
	now := w.f.src.Now()
	at := now.Add(soon)
	if earliest := w.last[t].Add(rhythm[t].least); at.Before(earliest) {
		at = earliest
	}
	if w.due[t].IsZero() || at.Before(w.due[t]) {
		w.due[t] = at
		w.arm()
	}
}

// arm sets the timer to what is due first.
func (w *watch) arm() {
	var first time.Time
	for _, at := range w.due {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if len(w.readers) == 0 && w.expects() && w.until.Before(first) {
		first = w.until
	}
	if !first.IsZero() {
		w.timer.Reset(max(0, first.Sub(w.f.src.Now())))
	}
}

// onTime does what is due and tells it.
func (w *watch) onTime() {
	if w.sub == nil {
		return
	}
	now := w.f.src.Now()
	if len(w.readers) == 0 && !w.expects() {
		w.rest()
		return
	}
	for t := range tasks {
		if !w.due[t].IsZero() && !now.Before(w.due[t]) {
			w.do(t, now)
		}
	}
	w.flush()
	w.arm()
}

func (w *watch) do(t task, now time.Time) {
	w.last[t], w.due[t] = now, time.Time{}
	if most := rhythm[t].most; most > 0 {
		w.due[t] = now.Add(most)
	}
	switch t {
	case taskFleet:
		w.layFleet()
	case taskRows:
		w.rows.expire(now)
	case taskQueues:
		w.layQueues(now)
	case taskJobs:
		w.layJobs()
	case taskMeta:
		w.layMeta()
	case taskApps:
		w.layApps(now)
	case taskNames:
		w.layNames()
	case taskFindings:
		w.check()
	}
}

// touchAll looks at everything that has no events of its own.
func (w *watch) touchAll() {
	if w.sub == nil {
		return // the last reader left meanwhile
	}
	for _, t := range []task{taskJobs, taskMeta, taskNames, taskFindings} {
		w.want(t, quick)
	}
	for _, s := range w.nodes {
		s.boot, s.sequence = "", 0 // what settings and evidence say of deployments may be another
	}
	w.want(taskFleet, quick)
}

// seenNode is a node as it was last shown.
type seenNode struct {
	boot     string
	sequence uint64
	liveness fleet.Liveness
	load     load
	state    fleet.NodeState
	shape    string   // residency of its deployments, runtimes up: what goes out at once
	keys     keysHeld // on the shelf
}

type keysHeld struct{ runtimes, deployments, pools []string }

func (s *seenNode) same(n *fleet.Node, l load) bool {
	return s != nil && s.boot == n.Boot && s.sequence == n.Sequence && s.liveness == n.Liveness && s.load == l
}

// shapeOf tells two reports apart by what people wait to see.
func shapeOf(n *fleet.Node) string {
	b := make([]byte, 0, len(n.Deployments)+len(n.Runtimes))
	for i := range n.Runtimes {
		up := byte('0')
		if n.Runtimes[i].Up {
			up = '1'
		}
		b = append(b, up)
	}
	for i := range n.Deployments {
		b = append(b, 'a'+byte(n.Deployments[i].Residency))
	}
	return string(b)
}

// onFleet is told of a new snapshot. What only instruments read waits.
func (w *watch) onFleet() {
	if w.sub == nil {
		return
	}
	soon := slow
	snap := w.f.src.Fleet()
	for i := range snap.Nodes {
		n := &snap.Nodes[i]
		s := w.nodes[n.Node]
		if s != nil && s.boot == n.Boot && s.sequence == n.Sequence && s.liveness == n.Liveness {
			continue
		}
		if s == nil || s.liveness != n.Liveness || s.state != n.State || s.shape != shapeOf(n) {
			soon = quick
			w.want(taskMeta, quick)
			w.want(taskFindings, slow)
			break
		}
	}
	w.want(taskFleet, soon)
	w.want(taskNames, 4*slow)
}

// layFleet shows every node that reported since it was last shown.
func (w *watch) layFleet() {
	snap, router := w.f.src.Fleet(), w.f.src.Router()
	here := make(map[string]bool, len(snap.Nodes))
	for i := range snap.Nodes {
		n := &snap.Nodes[i]
		here[n.Node] = true
		if old := w.nodes[n.Node]; !old.same(n, w.loads[n.Node]) {
			w.layNode(n, old, router)
		}
	}
	for id, s := range w.nodes {
		if !here[id] {
			w.shelf.drop(SectionNodes, id)
			w.sweep(&s.keys, &keysHeld{})
			delete(w.nodes, id)
		}
	}
}

func (w *watch) layNode(n *fleet.Node, old *seenNode, router string) {
	s := &seenNode{boot: n.Boot, sequence: n.Sequence, liveness: n.Liveness, load: w.loads[n.Node], state: n.State, shape: shapeOf(n)}
	w.nodes[n.Node] = s
	w.shelf.put(SectionNodes, n.Node, nodeView(n, router, s.load, w.f.src.Now()))
	if old != nil && old.boot == s.boot && old.sequence == s.sequence && old.liveness == s.liveness {
		s.keys = old.keys
		return // only its load is another
	}
	book, catalogue := w.f.src.Book(), w.f.src.Catalogue()
	for i := range n.Runtimes {
		r := &n.Runtimes[i]
		key := n.Node + "/" + r.Name
		s.keys.runtimes = append(s.keys.runtimes, key)
		w.shelf.put(SectionRuntimes, key, runtimeView(n, r))
	}
	for i := range n.Deployments {
		d := &n.Deployments[i]
		key := d.ID.String()
		s.keys.deployments = append(s.keys.deployments, key)
		w.shelf.put(SectionDeployments, key, deploymentView(n, d, book, catalogue))
	}
	for i := range n.Pools {
		p := &n.Pools[i]
		key := n.Node + "/" + p.Name
		s.keys.pools = append(s.keys.pools, key)
		w.shelf.put(SectionPools, key, poolView(n, p, n.LastSeen))
	}
	if old != nil {
		w.sweep(&old.keys, &s.keys)
	}
}

// sweep drops what was there and is not any more.
func (w *watch) sweep(was, is *keysHeld) {
	gone := func(name Section, was, is []string) {
		there := make(map[string]bool, len(is))
		for _, key := range is {
			there[key] = true
		}
		for _, key := range was {
			if !there[key] {
				w.shelf.drop(name, key)
			}
		}
	}
	gone(SectionRuntimes, was.runtimes, is.runtimes)
	gone(SectionDeployments, was.deployments, is.deployments)
	gone(SectionPools, was.pools, is.pools)
}

// layQueues shows the lanes, and counts.
func (w *watch) layQueues(now time.Time) {
	q := w.f.src.Queue()
	lanes, loads := make(map[string]LaneView, len(q.Lanes)), map[string]load{}
	for i := range q.Lanes {
		l := &q.Lanes[i]
		n := loads[l.Deployment.Node]
		loads[l.Deployment.Node] = load{n.running + l.Running, n.waiting + l.Waiting}
		if l.Running+l.Waiting > 0 || l.Closed {
			lanes[l.Deployment.String()] = laneView(l, now)
		}
	}
	for _, c := range q.Circuits {
		if c.App != "" { // the lane serves the others
			continue
		}
		key := c.Deployment.String()
		v, there := lanes[key]
		if !there {
			v = LaneView{Deployment: key, WaitingByApp: map[string]int{}}
		}
		v.CircuitRetryAt = ptr(now.Add(c.RetryIn).UTC().Round(time.Second))
		lanes[key] = v
	}
	replace(w.shelf, SectionLanes, lanes)
	if !maps.Equal(loads, w.loads) {
		w.loads = loads
		w.want(taskFleet, slow)
	}
	if !maps.Equal(q.Apps, w.active) {
		otherwise(q.Apps, w.active, w.apps)
		w.active = q.Apps
		w.want(taskApps, quick)
	}
	if w.counts.active != q.Tickets || w.counts.held != len(q.Held) {
		w.counts.active, w.counts.held = q.Tickets, len(q.Held)
		w.want(taskMeta, quick)
	}
}

func laneView(l *queue.LaneStatus, now time.Time) LaneView {
	v := LaneView{
		Deployment: l.Deployment.String(), RunningRequests: l.Running, WaitingRequests: l.Waiting, Slots: l.Slots, Closed: l.Closed,
		ExpectedWaitSeconds: tenth(l.Wait), WaitingByApp: l.WaitingApps,
	}
	if math.IsNaN(l.Wait) || math.IsInf(l.Wait, 0) {
		v.ExpectedWaitSeconds = 0
	}
	if v.WaitingByApp == nil {
		v.WaitingByApp = map[string]int{}
	}
	if l.Waiting > 0 {
		v.OldestWaitingAt = ptr(now.Add(-l.Oldest).UTC().Round(time.Second))
	}
	return v
}

func (w *watch) layJobs() {
	jobs := map[string]JobView{}
	for _, j := range w.f.src.Jobs() {
		jobs[j.ID] = j
	}
	replace(w.shelf, SectionJobs, jobs)
}

func (w *watch) layMeta() {
	v := w.f.src.Engine()
	v.ActiveRequests, v.HeldRequests = w.counts.active, w.counts.held
	v.AppsComplete = w.f.hour.whole(w.f.src.Now())
	w.shelf.put(SectionMeta, MetaEngine, v)
}

func (w *watch) layApps(now time.Time) {
	maps.Copy(w.apps, w.f.hour.takeTouched(now))
	w.f.hour.lay(w.shelf, w.apps, w.active)
	clear(w.apps)
}

func (w *watch) layNames() {
	p, snap := w.f.src.Policy(), w.f.src.Fleet()
	replace(w.shelf, SectionAliases, aliasViews(p, snap))
	replace(w.shelf, SectionContracts, contractViews(p, snap))
}

// check has the findings looked for, beside the loop: some of them read files
// and ask other programs.
func (w *watch) check() {
	if w.checking {
		w.again = true
		return
	}
	w.checking, w.again = true, false
	shelf := w.shelf
	w.work.Go(func() {
		found := w.f.src.Findings(w.ctx)
		w.f.tell(func(w *watch) {
			w.checking = false
			if w.shelf == nil || w.shelf != shelf { // nobody watches any more, or others do
				w.want(taskFindings, quick)
				return
			}
			values := make(map[string]FindingView, len(found))
			for _, v := range found {
				values[v.ID] = v
			}
			replace(w.shelf, SectionFindings, values)
			w.flush()
			if w.again {
				w.want(taskFindings, slow)
			}
		})
	})
}

var errNotSpoken = errors.New(`only {"type":"hello"} is understood here; commands go by HTTP`)

func isHello(text []byte) bool {
	var m struct{ Type string }
	return json.Unmarshal(text, &m) == nil && m.Type == FrameHello
}

func ignore([]byte) error { return nil }
