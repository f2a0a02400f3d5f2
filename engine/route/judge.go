package route

import (
	"slices"
	"strings"

	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

// gb is a gigabyte as machines and settings count it.
const gb = fleet.GB

// judge is one Decide under way: what it looks at and what it found so far.
type judge struct {
	v     *View
	p     *Policy
	q     *Query
	alias *Alias // the request's name is one, else nil
	// contract is set when the request's name is an embedding contract: only its
	// replicas may answer. space, else, is the identity that must.
	contract *Contract
	space    string
	// listed counts the names of the request that were expanded into wants.
	listed int
	wants  []want
	index  wantIndex // of wants, where there are many
	nodes  []nodeView
	cands  []*cand // in the order of their wants, from look on until finish
	d      *Decision
	// made are all candidates there have been room for so far; the first used of
	// them are taken.
	made []*cand
	used int

	// median is the fleet's median memory bandwidth, GB/s; 0 = none is known.
	median float64
	// bound is set when some candidate has the identity that the request's tool
	// calls came from: then only those may answer.
	bound bool
	// doubts lets candidates serve whose context may be too small: nothing else can.
	doubts bool
}

// nodeView is a node with what holds for all its deployments.
type nodeView struct {
	*fleet.Node
	out     []Exclusion
	exempt  bool // the origin's own node, and its owner's requests are served
	pools   []poolView
	victims []victim // idle and unpinned, least recently used first; see victimsOf
	looked  bool     // victims are filled in
	asked   []bool   // which of its deployments are wanted
	depth   int      // all that runs or waits on it, once summed
	summed  bool
}

// cand is one deployment of a wanted model, judged.
type cand struct {
	Candidate
	want  int // its place in wants
	node  *nodeView
	dep   *fleet.Deployment
	lane  Lane
	state fleet.Residency // with loads the lanes know of and no heartbeat has told yet
	out   []Exclusion     // empty: it survived
	ctx   contextPlan
	// least is the smallest count of the prompt that is not ruled out; counted says
	// that it is the count itself.
	least   int
	counted bool
	mem     memoryPlan
	speed   speed
	speeds  *evidence.Speeds // never nil
	habits  *evidence.Habits // never nil
	tag     string           // of its identity, when the request is bound
	points  int64            // node score in millionths: equal scores must compare equal
}

// inMemory reports whether the model is loaded or being loaded.
func (c *cand) inMemory() bool { return c.state == fleet.Loaded || c.state == fleet.Loading }

// serves reports whether a candidate survived, and whether it may be too small
// while others are not.
func (j *judge) serves(c *cand) bool { return len(c.out) == 0 && (j.doubts || !c.ctx.doubt) }

func (c *cand) exclude(code fleet.Code, hold bool, operands ...any) {
	c.out = append(c.out, Exclusion{Code: code, Operands: operands, Hold: hold})
}

// note adds a remark on the candidate, once.
func (c *cand) note(s string) {
	if !slices.Contains(c.Notes, s) {
		c.Notes = append(c.Notes, s)
	}
}

// look finds the candidates and judges each of them.
func (j *judge) look() {
	j.nodes = slices.Grow(j.nodes[:0], len(j.v.Fleet.Nodes))[:len(j.v.Fleet.Nodes)]
	j.d.Nodes = make([]NodeName, len(j.v.Fleet.Nodes))
	for i := range j.v.Fleet.Nodes {
		n := &j.v.Fleet.Nodes[i]
		j.nodes[i] = nodeView{Node: n, pools: j.nodes[i].pools, asked: j.nodes[i].asked}
		j.d.Nodes[i] = NodeName{n.Node, n.Name}
	}
	slices.SortFunc(j.d.Nodes, func(a, b NodeName) int { return strings.Compare(a.ID, b.ID) })
	if j.p.Score.BandwidthNormalize {
		j.median = medianBandwidth(j.v.Fleet)
	}
	for i := range j.nodes {
		j.lookAtNode(&j.nodes[i])
	}
	slices.SortFunc(j.cands, func(a, b *cand) int {
		if a.want != b.want {
			return a.want - b.want
		}
		return a.Deployment.Compare(b.Deployment)
	})
	j.bindToIssuer()
	for _, c := range j.cands {
		j.judge(c)
	}
	j.absences()
	j.countOthers()
}

// lookAtNode checks the node once and collects its deployments of wanted models.
func (j *judge) lookAtNode(n *nodeView) {
	j.checkNode(n)
	n.pools = poolViews(n.pools, n.Node)
	n.asked = slices.Grow(n.asked[:0], len(n.Deployments))[:len(n.Deployments)]
	clear(n.asked)
	for k := range n.Deployments {
		d := &n.Deployments[k]
		i := j.wantOf(d)
		if i < 0 {
			continue
		}
		n.asked[k] = true
		lane := j.v.Lanes[d.ID]
		j.wants[i].known = true
		j.candidate(i, n, d, lane).state = stateOf(d, lane)
	}
}

// stateOf trusts the lanes where they are ahead of the heartbeat: a load that
// was granted a moment ago is under way.
func stateOf(d *fleet.Deployment, l Lane) fleet.Residency {
	if d.Residency == fleet.OnDisk && l.LoadRemaining > 0 {
		return fleet.Loading
	}
	return d.Residency
}

// wantOf returns the first want a deployment can fill, -1 if there is none.
func (j *judge) wantOf(d *fleet.Deployment) int {
	if len(j.wants) > fewWants {
		return j.indexedWant(d)
	}
	for i := range j.wants {
		w := &j.wants[i]
		if w.only != (fleet.DeploymentID{}) {
			if w.only == d.ID {
				return i
			}
			continue
		}
		if w.means(d) {
			return i
		}
	}
	return -1
}

// fewWants are so few that to try each costs less than to look one up.
const fewWants = 8

// wantIndex finds wants by name and by id; each holds the first of a kind.
type wantIndex struct {
	made   int // of so many wants
	byName map[string]int
	byID   map[fleet.DeploymentID]int
}

// indexedWant is wantOf for aliases with many members: with 60 of them and a
// thousand deployments, to try each is most of a decision.
func (j *judge) indexedWant(d *fleet.Deployment) int {
	x := &j.index
	if x.made != len(j.wants) {
		x.made, x.byName, x.byID = len(j.wants), make(map[string]int, len(j.wants)), nil
		for i := len(j.wants) - 1; i >= 0; i-- {
			if w := &j.wants[i]; w.only == (fleet.DeploymentID{}) {
				x.byName[w.canon] = i
			} else {
				if x.byID == nil {
					x.byID = map[fleet.DeploymentID]int{}
				}
				x.byID[w.only] = i
			}
		}
	}
	first := -1
	found := func(i int, ok bool) {
		if ok && (first < 0 || i < first) {
			first = i
		}
	}
	i, ok := x.byName[fleet.CanonicalModel(d.ID.Model)]
	found(i, ok)
	for _, name := range d.AlsoNamed {
		i, ok := x.byName[fleet.CanonicalModel(name)]
		found(i, ok)
	}
	if x.byID != nil {
		i, ok := x.byID[d.ID]
		found(i, ok)
	}
	return first
}

// judge runs all checks on a candidate, and scores it if it survives.
func (j *judge) judge(c *cand) {
	c.learn(j.v.Evidence)
	c.Tokens = j.tokensFor(c)
	c.speed = speedOf(c.node.Node, c.dep, c.speeds)
	c.Loaded = c.state == fleet.Loaded
	if w := &j.wants[c.want]; len(c.dep.AlsoNamed) > 0 && w.canon != "" && !w.matches(c.dep.ID.Model) {
		c.note("same_weights_as:" + w.name)
	}
	j.planContext(c)
	j.checkModel(c)
	c.out = append(c.out, c.node.out...)
	others := len(c.out)
	if j.planMemory(c); len(c.out) > others && j.lessContext(c, c.out[others]) {
		c.out, c.mem = c.out[:others], memoryPlan{}
		j.planMemory(c)
	}
	c.Slots = j.slots(c)
	j.checkPlace(c)
	j.checkDeadline(c)
	if len(c.out) > 0 {
		return
	}
	j.score(c)
}

// absences says for each wanted model that is somewhere which nodes do not have
// it. An open alias asks for what there is, so nothing is absent.
func (j *judge) absences() {
	for i := range j.wants {
		w := &j.wants[i]
		if !w.known || w.only != (fleet.DeploymentID{}) || w.alias != nil && w.alias.open() {
			continue
		}
		having := j.of(i)
		for k := range j.nodes {
			n := &j.nodes[k]
			if !on(having, n) && !j.hasReplica(n) {
				id := fleet.DeploymentID{Node: n.Node.Node, Runtime: anyRuntime, Model: w.name}
				j.exclusions()[id] = []Exclusion{{Code: fleet.CodeModelAbsent, Operands: []any{w.name, n.Name, pulls(n.Node)}}}
			}
		}
	}
}

// pulls reports whether a node has a runtime that fetches models by name.
func pulls(n *fleet.Node) bool {
	return slices.ContainsFunc(n.Runtimes, func(rt fleet.RuntimeState) bool { return rt.Kind == kindOllama })
}

// anyRuntime stands for the runtime in the id of a model that a node lacks.
const anyRuntime = "-"

// of returns the candidates of a want.
func (j *judge) of(want int) []*cand {
	from, _ := slices.BinarySearchFunc(j.cands, want, func(c *cand, want int) int { return c.want - want })
	to := from
	for to < len(j.cands) && j.cands[to].want == want {
		to++
	}
	return j.cands[from:to]
}

func on(having []*cand, n *nodeView) bool {
	return slices.ContainsFunc(having, func(c *cand) bool { return c.node == n })
}

// hasReplica reports whether a node has another member of the contract: which
// one it is makes no difference.
func (j *judge) hasReplica(n *nodeView) bool {
	return j.contract != nil && on(j.cands, n)
}

func (j *judge) exclusions() map[fleet.DeploymentID][]Exclusion {
	if j.d.Exclusions == nil {
		j.d.Exclusions = make(map[fleet.DeploymentID][]Exclusion, len(j.cands)+len(j.nodes))
	}
	return j.d.Exclusions
}
