package evidence

import (
	"cmp"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"bellwether/engine/fleet"
)

// Entry is what a catalogue says of one model. What it does not say is unknown.
type Entry struct {
	Name     string   // as Ollama's library spells it: qwen3:8b
	Also     []string // other spellings, * for any letters: qwen3-8b
	Families []string // architectures, as runtimes report them

	Parameters float64 // count, 0 = unknown
	Active     float64 // count used per token, 0 = all
	Context    int     // tokens it was made for, 0 = unknown
	Dimensions int     // of its vectors, 0 = unknown

	Capabilities []fleet.Capability // it has
	// Thinking says how it comes to think: always, switch (the request decides),
	// effort (the request says how much), prompt (its system prompt decides);
	// "" = it does not.
	Thinking string
	// Serialised says that Ollama gives it one request at a time, whatever its
	// parallelism.
	Serialised *bool
	Licence    string
	Priors     map[string]fleet.Prior // by task, "" = any

	Place string // where it was read: models.yaml:12
}

// Catalogue is what is known of models before anyone asked them. It is never
// changed. A nil *Catalogue knows nothing.
type Catalogue struct {
	entries  []*Entry            // as read; of equal spellings the earlier one counts
	exact    map[string][]*Entry // by form of each spelling without a *
	bases    map[string][]*Entry // by base of a spelling whose tag is a size
	patterns []pattern           // the most specific first
	families map[string]bool
	akin     map[string][]*Entry // by family
}

// pattern is a spelling with a *.
type pattern struct {
	form  string
	entry *Entry
}

// Entries returns all entries in the order they were read.
func (c *Catalogue) Entries() []*Entry {
	if c == nil {
		return nil
	}
	return c.entries
}

// With returns the catalogue with another one laid over it: an entry of the
// same name is completed, what the other says counting first; others are added,
// and their spellings count before this catalogue's.
func (c *Catalogue) With(over *Catalogue) *Catalogue {
	if len(over.Entries()) == 0 {
		return c
	}
	under := map[string]*Entry{}
	for _, e := range c.Entries() {
		under[spell(e.Name).form()] = e
	}
	replaced := map[*Entry]bool{}
	var merged []*Entry
	for _, e := range over.entries {
		if old := under[spell(e.Name).form()]; old != nil {
			replaced[old] = true
			e = e.over(old)
		}
		merged = append(merged, e)
	}
	for _, e := range c.Entries() {
		if !replaced[e] {
			merged = append(merged, e)
		}
	}
	return newCatalogue(merged)
}

// over returns e completed by what old says.
func (e *Entry) over(old *Entry) *Entry {
	out := *e
	out.Also = append(slices.Clone(e.Also), old.Also...)
	if out.Families == nil {
		out.Families = old.Families
	}
	if out.Capabilities == nil {
		out.Capabilities = old.Capabilities
	}
	out.Parameters = cmp.Or(e.Parameters, old.Parameters)
	out.Active = cmp.Or(e.Active, old.Active)
	out.Context = cmp.Or(e.Context, old.Context)
	out.Dimensions = cmp.Or(e.Dimensions, old.Dimensions)
	out.Thinking = cmp.Or(e.Thinking, old.Thinking)
	out.Licence = cmp.Or(e.Licence, old.Licence)
	out.Serialised = cmp.Or(e.Serialised, old.Serialised)
	out.Priors = maps.Clone(old.Priors)
	for task, p := range e.Priors {
		if out.Priors == nil {
			out.Priors = map[string]fleet.Prior{}
		}
		out.Priors[task] = p
	}
	return &out
}

func newCatalogue(entries []*Entry) *Catalogue {
	c := &Catalogue{
		entries: entries, exact: map[string][]*Entry{}, bases: map[string][]*Entry{},
		families: map[string]bool{}, akin: map[string][]*Entry{},
	}
	for _, e := range entries {
		for _, name := range e.spellings() {
			s := spell(name)
			form := s.form()
			switch {
			case strings.Contains(form, "*"):
				c.patterns = append(c.patterns, pattern{form, e})
			case !slices.Contains(c.exact[form], e):
				c.exact[form] = append(c.exact[form], e)
			}
			if isSize(s.tag) {
				c.bases[s.base] = append(c.bases[s.base], e)
			}
		}
		for _, f := range e.Families {
			c.families[f] = true
			c.akin[f] = append(c.akin[f], e)
		}
	}
	slices.SortStableFunc(c.patterns, func(a, b pattern) int { return cmp.Compare(literal(b.form), literal(a.form)) })
	return c
}

func (e *Entry) spellings() []string { return append([]string{e.Name}, e.Also...) }

// literal counts the letters of a pattern that must be there.
func literal(form string) int { return len(form) - strings.Count(form, "*") }

// isSize reports whether a tag says a size and nothing else: 8b, 0.6b, 335m,
// e4b, 8x7b.
func isSize(tag string) bool {
	number, billions := strings.CutSuffix(tag, "b")
	number, millions := strings.CutSuffix(number, "m")
	number = strings.TrimPrefix(number, "e")
	return billions != millions && number != "" && strings.Trim(number, "0123456789.x") == ""
}

// Find returns the entry that describes a deployment's model, nil if there is
// none. Rules, the first that finds one:
//
//  1. A spelling equal to the deployment's name.
//  2. That without the tag's word for following instructions.
//  3. The longest pattern that matches.
//  4. For a library name without a size, the entry of that name and the size
//     that the runtime reports.
//
// An entry whose family or size the runtime contradicts is none: somebody gave
// another model that name. Nor is a name in somebody's own namespace with a tag
// of its own the library's model. So a fine-tune gets nothing of its base.
func (c *Catalogue) Find(d *fleet.Deployment) *Entry {
	if c == nil {
		return nil
	}
	s := spell(d.ID.Model)
	if !s.owned {
		if e := c.agreed(c.exact[s.form()], d); e != nil {
			return e
		}
		if plain := plainTag(s.tag); plain != s.tag {
			if e := c.agreed(c.exact[spelling{base: s.base, tag: plain}.form()], d); e != nil {
				return e
			}
		}
	}
	for _, p := range c.patterns {
		if ok, _ := path.Match(p.form, s.form()); ok && !c.contradicted(p.entry, d) {
			return p.entry
		}
	}
	if s.tag == "" && !strings.Contains(d.ID.Model, "/") {
		return c.nearest(c.bases[s.base], d)
	}
	return nil
}

// agreed returns the first entry that the runtime does not contradict.
func (c *Catalogue) agreed(of []*Entry, d *fleet.Deployment) *Entry {
	for _, e := range of {
		if !c.contradicted(e, d) {
			return e
		}
	}
	return nil
}

// How much sizes may differ: runtimes count a vision part or not, and names
// round (sameName); a size that has to tell models apart must be closer (sameSize).
const (
	sameName = 1.34
	sameSize = 1.08
)

// contradicted reports whether what the runtime says of the deployment rules
// the entry out. A family the catalogue has never heard of rules out nothing.
func (c *Catalogue) contradicted(e *Entry, d *fleet.Deployment) bool {
	if e.Parameters > 0 && d.Parameters > 0 && apart(e.Parameters, d.Parameters) > sameName {
		return true
	}
	family := strings.ToLower(d.Family)
	if len(e.Families) == 0 || !c.families[family] {
		return false
	}
	return !slices.Contains(e.Families, family)
}

// apart is the larger over the smaller.
func apart(a, b float64) float64 { return max(a, b) / min(a, b) }

// nearest returns the entry whose size is the deployment's.
func (c *Catalogue) nearest(of []*Entry, d *fleet.Deployment) *Entry {
	if d.Parameters <= 0 {
		return nil
	}
	var best *Entry
	least := math.Nextafter(sameSize, 2)
	for _, e := range of {
		if e.Parameters <= 0 || c.contradicted(e, d) {
			continue
		}
		if far := apart(e.Parameters, d.Parameters); far < least {
			best, least = e, far
		}
	}
	return best
}

// active returns how many parameters a model nobody listed uses per token, 0
// when its family and size do not tell: what all listed models of that family
// and size have in common is their architecture's, and a fine-tune's too.
func (c *Catalogue) active(d *fleet.Deployment) float64 {
	if c == nil || d.Family == "" || d.Parameters <= 0 {
		return 0
	}
	var active float64
	for _, e := range c.akin[strings.ToLower(d.Family)] {
		if e.Parameters <= 0 || apart(e.Parameters, d.Parameters) > sameSize {
			continue
		}
		if e.Active == 0 || active != 0 && e.Active != active {
			return 0
		}
		active = e.Active
	}
	return active
}

// Tell completes a deployment as its runtime reported it by what the catalogue
// knows. Capabilities are claimed as the weakest source; sizes, context and
// family count only where the runtime did not say.
func (c *Catalogue) Tell(d *fleet.Deployment) {
	e := c.Find(d)
	if e == nil {
		if d.ActiveParams == 0 {
			d.ActiveParams = c.active(d)
		}
		return
	}
	if len(e.Capabilities) > 0 {
		caps := maps.Clone(d.Capabilities)
		if caps == nil {
			caps = fleet.Capabilities{}
		}
		for _, name := range e.Capabilities {
			caps.Set(name, fleet.Yes, fleet.SourceCatalogue)
		}
		if slices.Contains(e.Capabilities, fleet.CapEmbedding) && !slices.Contains(e.Capabilities, fleet.CapChat) {
			caps.Set(fleet.CapChat, fleet.No, fleet.SourceCatalogue)
		}
		d.Capabilities = caps
	}
	d.Parameters = cmp.Or(d.Parameters, e.Parameters)
	d.ActiveParams = cmp.Or(d.ActiveParams, e.Active)
	d.MaxContext = cmp.Or(d.MaxContext, e.Context)
	d.EmbeddingWidth = cmp.Or(d.EmbeddingWidth, e.Dimensions)
	if d.Family == "" && len(e.Families) > 0 {
		d.Family = e.Families[0]
	}
	if e.Serialised != nil && *e.Serialised && d.Slots == 0 && d.Kind == "ollama" {
		d.Slots = 1
	}
	d.Priors = e.Priors
}
