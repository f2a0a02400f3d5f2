package route

import (
	"slices"
	"strings"

	"bellwether/engine/fleet"
)

// want is one model the request may be served by, in list order.
type want struct {
	name     string             // as listed
	canon    string             // its canonical form, for comparing
	only     fleet.DeploymentID // asked by deployment id: no other will do; zero = any
	alias    *Alias             // whose member it is, nil = named by the request
	called   string             // the alias's key
	listed   int                // place of the name it comes from in the request's list
	order    int                // among those of its listed name, once ranked
	fallback bool               // from the list behind the first choice
	known    bool               // some deployment of the fleet has it
}

// matches compares without allocating: canon is short, in lower case, and has a
// tag.
func (w *want) matches(model string) bool {
	const latest = ":latest"
	if model == w.name { // lower case may be of another length (İ)
		return true
	}
	model = fleet.ShortModel(model)
	if len(model) == len(w.canon) {
		return strings.EqualFold(model, w.canon)
	}
	return len(model)+len(latest) == len(w.canon) && strings.HasSuffix(w.canon, latest) &&
		strings.LastIndexByte(model, ':') <= strings.LastIndexByte(model, '/') &&
		strings.EqualFold(model, w.canon[:len(model)])
}

// means reports whether the deployment has the wanted name, or serves the very
// weights that another runtime of its node has under it.
func (w *want) means(d *fleet.Deployment) bool {
	return w.matches(d.ID.Model) || len(d.AlsoNamed) > 0 && slices.ContainsFunc(d.AlsoNamed, w.matches)
}

// resolve turns the names of the request into wants: the first choice, then
// the fallbacks unless they are forbidden. Aliases come before models.
func (j *judge) resolve() {
	named := j.resolveContract()
	if j.space = j.spaceOf(); named {
		return
	}
	j.expand(j.q.Model, false)
	if j.q.Needs.NoFallback || len(j.q.Fallbacks) == 0 {
		return
	}
	if j.q.Needs.Role == RoleEmbedding {
		j.reason("one_space") // vectors of two models do not fit each other
		return
	}
	for _, name := range j.q.Fallbacks {
		j.expand(name, true)
	}
}

// expand adds one listed name: an alias becomes its members, a deployment id
// one want that only it can fill, anything else a model.
func (j *judge) expand(name string, fallback bool) {
	j.listed++
	if alias, called := j.aliasFor(name); alias != nil {
		if !fallback {
			j.alias = alias
			j.d.Alias = called
			j.d.Profile = j.profile(alias)
		}
		j.expandAlias(alias, called, fallback)
		return
	}
	if d := j.deploymentNamed(name); d != nil {
		j.add(want{name: d.ID.Model, only: d.ID, fallback: fallback})
		return
	}
	j.add(want{name: name, fallback: fallback})
}

func (j *judge) expandAlias(a *Alias, called string, fallback bool) {
	if a.open() {
		j.expandOpen(a, called, fallback)
		return
	}
	for _, m := range a.Models {
		w := want{name: m, alias: a, called: called, fallback: fallback}
		if d := j.deploymentNamed(m); d != nil {
			w.name, w.only = d.ID.Model, d.ID
		}
		j.add(w)
	}
}

func (j *judge) add(w want) {
	w.canon = fleet.CanonicalModel(w.name)
	w.listed = j.listed
	for i := range j.wants {
		if j.wants[i].canon == w.canon && (j.wants[i].only == w.only || j.wants[i].only == fleet.DeploymentID{}) {
			return
		}
	}
	j.wants = append(j.wants, w)
}

// profile is the alias's own unless the request names one that exists.
func (j *judge) profile(a *Alias) string {
	if _, ok := j.p.Profiles[j.q.Needs.Profile]; ok {
		return j.q.Needs.Profile
	}
	if a.Profile != "" {
		return a.Profile
	}
	return "balanced"
}

// deploymentNamed reads node/runtime/model, with the node's id or its name.
// Names of models may look alike, so it must exist.
func (j *judge) deploymentNamed(name string) *fleet.Deployment {
	return deploymentNamed(j.v.Fleet, name)
}

func deploymentNamed(f *fleet.Snapshot, name string) *fleet.Deployment {
	id, ok := fleet.ParseDeploymentID(name)
	if !ok {
		return nil
	}
	w := want{name: id.Model, canon: fleet.CanonicalModel(id.Model)}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.Node != id.Node && !strings.EqualFold(n.Name, id.Node) {
			continue
		}
		for k := range n.Deployments {
			if d := &n.Deployments[k]; d.ID.Runtime == id.Runtime && w.matches(d.ID.Model) {
				return d
			}
		}
	}
	return nil
}

// Installed reports whether a name is that of a deployment of the fleet, whatever
// its state: its model's, another one of its weights, or its id.
func Installed(f *fleet.Snapshot, name string) bool {
	w := want{name: name, canon: fleet.CanonicalModel(name)}
	for i := range f.Nodes {
		for k := range f.Nodes[i].Deployments {
			if w.means(&f.Nodes[i].Deployments[k]) {
				return true
			}
		}
	}
	return deploymentNamed(f, name) != nil
}

// nearest returns up to three installed models of a role whose names resemble one.
func nearest(f *fleet.Snapshot, name string, role Role) []string {
	type near struct {
		name string
		far  int
	}
	asked := fleet.CanonicalModel(name)
	seen := map[string]bool{}
	var all []near
	for i := range f.Nodes {
		for k := range f.Nodes[i].Deployments {
			d := &f.Nodes[i].Deployments[k]
			model := d.ID.Model
			canon := fleet.CanonicalModel(model)
			if seen[canon] || !mayServe(d, role) {
				continue
			}
			seen[canon] = true
			all = append(all, near{model, distance(asked, canon)})
		}
	}
	slices.SortFunc(all, func(a, b near) int {
		if a.far != b.far {
			return a.far - b.far
		}
		return strings.Compare(a.name, b.name)
	})
	var out []string
	for _, n := range all {
		if len(out) < 3 && n.far <= max(2, len(asked)/3) {
			out = append(out, n.name)
		}
	}
	return out
}

// installed returns the names of the fleet's models of a role, sorted.
func installed(f *fleet.Snapshot, role Role) (names []string) {
	for i := range f.Nodes {
		for k := range f.Nodes[i].Deployments {
			if d := &f.Nodes[i].Deployments[k]; mayServe(d, role) {
				names = append(names, d.ID.Model)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// mayServe reports whether a deployment is not known to be of another role, nor
// switched off: to name others would cost a person one more refusal.
func mayServe(d *fleet.Deployment, role Role) bool {
	return !d.Disabled && d.Can(roleCapability(role)).Support != fleet.No
}

// distance is the edit distance of two names, but names that share everything
// before the tag, or of which one holds the other, are near.
func distance(a, b string) int {
	baseA, _, _ := strings.Cut(a, ":")
	baseB, _, _ := strings.Cut(b, ":")
	if baseA == baseB {
		return 1
	}
	if len(baseA) > 2 && len(baseB) > 2 && (strings.Contains(baseA, baseB) || strings.Contains(baseB, baseA)) {
		return 2
	}
	return EditDistance(a, b)
}

// EditDistance counts the bytes to change, add or drop between two words.
func EditDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for k := range row {
		row[k] = k
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for k := range len(b) {
			cost := corner
			if a[i] != b[k] {
				cost = 1 + min(corner, row[k], row[k+1])
			}
			corner, row[k+1] = row[k+1], cost
		}
	}
	return row[len(b)]
}

// glob matches * (any letters) and ? (one), ignoring case.
func glob(pattern, s string) bool {
	pattern, s = strings.ToLower(pattern), strings.ToLower(s)
	star, mark, p, i := -1, 0, 0, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]) && pattern[p] != '*':
			p++
			i++
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
