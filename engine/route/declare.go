package route

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"bellwether/engine/fleet"
)

// ProvenanceOperator is where a prior comes from that the operator declared.
const ProvenanceOperator = "operator"

// Declare lays the operator's declarations and pins over a deployment as its
// runtime reported it. Agents call it before they report, so that everyone
// sees the same; Decide itself sees only the result.
//
// Where several declarations cover the deployment, the most specific one that
// says a thing counts: that whose pattern names the most letters. Two equally
// specific ones that disagree say nothing; Clashes lists them.
func Declare(p *Policy, d *fleet.Deployment) {
	for _, pinned := range p.PinnedModels {
		d.Pinned = d.Pinned || fleet.SameModel(pinned, d.ID.Model)
	}
	said := p.covering(d.ID)
	if len(said) == 0 {
		return
	}
	said.capabilities(d)
	said.quality(d)
	if context, ok, _ := settled(said, saysContext); ok {
		d.MaxContext = context
	}
	if memory, ok, _ := settled(said, saysMemory); ok && d.ResidentBytes == 0 { // what was measured is truer
		d.ResidentBytes = int64(memory * gb)
	}
	if identity, ok, _ := settled(said, saysIdentity); ok {
		d.DeclaredIdentity = identity
	}
	if enabled, ok, _ := settled(said, saysEnabled); ok {
		d.Disabled = !enabled
	}
	for _, s := range said {
		for _, tag := range s.Tags {
			if !slices.Contains(d.Tags, tag) {
				d.Tags = append(slices.Clip(d.Tags), tag)
			}
		}
	}
}

// declared are the declarations that cover a deployment, the most specific first.
type declared []*Declaration

func (p *Policy) covering(id fleet.DeploymentID) declared {
	var out declared
	for i := range p.Declarations {
		if s := &p.Declarations[i]; s.covers(id) {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b *Declaration) int { return cmp.Compare(b.specific(), a.specific()) })
	return out
}

// covers matches the glob against the deployment's id and its model's name.
func (s *Declaration) covers(id fleet.DeploymentID) bool {
	return glob(s.Match, id.String()) || glob(s.Match, id.Model) || glob(s.Match, fleet.CanonicalModel(id.Model))
}

// specific counts the letters that a declaration's pattern names.
func (s *Declaration) specific() int {
	return len(s.Match) - strings.Count(s.Match, "*") - strings.Count(s.Match, "?")
}

// settled returns what the most specific declaration says that says anything.
// Of two equally specific ones that disagree neither counts: ok is false, and
// clash are the two.
func settled[T comparable](said declared, get func(*Declaration) (T, bool)) (v T, ok bool, clash [2]*Declaration) {
	var first *Declaration
	for _, s := range said {
		if first != nil && s.specific() < first.specific() {
			break
		}
		switch w, says := get(s); {
		case !says:
		case first == nil:
			v, ok, first = w, true, s
		case w != v:
			var none T
			return none, false, [2]*Declaration{first, s}
		}
	}
	return v, ok, clash
}

func saysContext(s *Declaration) (int, bool)     { return s.Context, s.Context > 0 }
func saysMemory(s *Declaration) (float64, bool)  { return s.MemoryGB, s.MemoryGB > 0 }
func saysIdentity(s *Declaration) (string, bool) { return s.Identity, s.Identity != "" }
func saysEnabled(s *Declaration) (bool, bool) {
	return s.Enabled != nil && *s.Enabled, s.Enabled != nil
}

func saysCapability(name fleet.Capability) func(*Declaration) (fleet.Tri, bool) {
	return func(s *Declaration) (fleet.Tri, bool) { v, ok := s.Capabilities[name]; return v, ok }
}

func saysQuality(task string) func(*Declaration) (float64, bool) {
	return func(s *Declaration) (float64, bool) { v, ok := s.Quality[task]; return v, ok }
}

func (said declared) capabilities(d *fleet.Deployment) {
	names := keysOf(said, func(s *Declaration) map[fleet.Capability]fleet.Tri { return s.Capabilities })
	if len(names) == 0 {
		return
	}
	caps := maps.Clone(d.Capabilities)
	if caps == nil {
		caps = fleet.Capabilities{}
	}
	for _, name := range names {
		if support, ok, _ := settled(said, saysCapability(name)); ok {
			caps[name] = fleet.Claim{Support: support, Source: fleet.SourceOperator}
		}
	}
	d.Capabilities = caps
}

// quality lays the declared priors over what is known already. Said of any task,
// it holds for all that are not named, whoever published something about them.
func (said declared) quality(d *fleet.Deployment) {
	tasks := keysOf(said, func(s *Declaration) map[string]float64 { return s.Quality })
	declared := map[string]fleet.Prior{}
	for _, task := range tasks {
		if v, ok, _ := settled(said, saysQuality(task)); ok {
			if task == anyTask {
				task = ""
			}
			declared[task] = fleet.Prior{Value: v, Provenance: ProvenanceOperator}
		}
	}
	if len(declared) == 0 {
		return
	}
	if _, any := declared[""]; !any {
		for task, p := range d.Priors {
			if _, said := declared[task]; !said {
				declared[task] = p
			}
		}
	}
	d.Priors = declared
}

// keysOf returns the keys of all maps, sorted.
func keysOf[K cmp.Ordered, V any](said declared, of func(*Declaration) map[K]V) []K {
	var keys []K
	for _, s := range said {
		for k := range of(s) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Clash is one thing that two equally specific declarations say differently of
// a deployment, and which therefore neither settles.
type Clash struct {
	What  string    // "context", "capabilities.tools", "quality.coding"
	Match [2]string // the two patterns
}

// Clashes returns what declarations that cover a deployment contradict each
// other in.
func Clashes(p *Policy, id fleet.DeploymentID) []Clash {
	if len(p.Declarations) < 2 {
		return nil
	}
	return p.covering(id).clashes()
}

// Contradicts names the first thing that two declarations for one pattern say
// differently, "" if there is none.
func (s *Declaration) Contradicts(o *Declaration) string {
	if c := (declared{s, o}).clashes(); len(c) > 0 {
		return c[0].What
	}
	return ""
}

func (said declared) clashes() []Clash {
	var out []Clash
	note := func(what string, clash [2]*Declaration) {
		if clash[0] != nil {
			out = append(out, Clash{what, [2]string{clash[0].Match, clash[1].Match}})
		}
	}
	_, _, c := settled(said, saysContext)
	note("context", c)
	_, _, c = settled(said, saysMemory)
	note("memory_gb", c)
	_, _, c = settled(said, saysIdentity)
	note("identity", c)
	_, _, c = settled(said, saysEnabled)
	note("enabled", c)
	for _, name := range keysOf(said, func(s *Declaration) map[fleet.Capability]fleet.Tri { return s.Capabilities }) {
		_, _, c := settled(said, saysCapability(name))
		note("capabilities."+string(name), c)
	}
	for _, task := range keysOf(said, func(s *Declaration) map[string]float64 { return s.Quality }) {
		_, _, c := settled(said, saysQuality(task))
		note("quality."+task, c)
	}
	return out
}
