package evidence

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"bellwether/engine/document"
	"bellwether/engine/fleet"
)

// CatalogueError is one thing wrong with a catalogue.
type CatalogueError struct {
	Where   string // models.yaml:12
	Entry   string // the name of the entry it is in, "" for none
	Problem string
}

func (e *CatalogueError) Error() string {
	if e.Entry == "" {
		return e.Where + ": " + e.Problem
	}
	return e.Where + ": " + e.Entry + ": " + e.Problem
}

// ParseCatalogue reads a catalogue's text. name is the file's, for messages.
// The error joins a *CatalogueError for everything that is wrong; a catalogue
// with errors is none. An empty text is an empty catalogue.
func ParseCatalogue(name string, text []byte) (*Catalogue, error) {
	p := &catalogueParser{file: name, places: map[string]*Entry{}}
	root, err := document.Read(text)
	var unread *document.Error
	switch {
	case errors.As(err, &unread):
		return nil, p.unreadable(unread)
	case root == nil:
		return newCatalogue(nil), nil
	}
	p.document(root)
	if len(p.wrong) > 0 {
		return nil, errors.Join(p.wrong...)
	}
	return newCatalogue(p.entries), nil
}

type catalogueParser struct {
	file    string
	entry   *Entry // the one being read, for messages
	entries []*Entry
	places  map[string]*Entry // by form of a spelling, the entry that has it first
	wrong   []error
}

func (p *catalogueParser) unreadable(err *document.Error) error {
	where := p.file
	if err.Line > 0 {
		where = fmt.Sprintf("%s:%d", p.file, err.Line)
	}
	return &CatalogueError{Where: where, Problem: err.Problem}
}

func (p *catalogueParser) fail(n *yaml.Node, format string, args ...any) {
	e := &CatalogueError{Where: fmt.Sprintf("%s:%d", p.file, n.Line), Problem: fmt.Sprintf(format, args...)}
	if p.entry != nil {
		e.Entry = p.entry.Name
	}
	p.wrong = append(p.wrong, e)
}

// each walks the keys of a mapping; a key given twice is wrong.
func (p *catalogueParser) each(n *yaml.Node, do func(key, value *yaml.Node)) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if first, twice := seen[key.Value]; twice {
			p.fail(key, "%s is given twice, first in line %d", key.Value, first)
			continue
		}
		seen[key.Value] = key.Line
		do(key, value)
	}
}

func (p *catalogueParser) document(n *yaml.Node) {
	if n.Tag == "!!null" {
		return // all of it is commented out
	}
	if n.Kind != yaml.MappingNode {
		p.fail(n, "a catalogue begins with models:, and its entries stand below")
		return
	}
	p.each(n, func(key, value *yaml.Node) {
		switch {
		case key.Value != "models":
			p.fail(key, "%s is no part of a catalogue; there is only models", key.Value)
		case value.Tag == "!!null":
		case value.Kind != yaml.SequenceNode:
			p.fail(value, "models must be a list of entries, each beginning with - name:")
		default:
			for _, e := range value.Content {
				p.model(e)
			}
		}
	})
}

// model reads one entry.
func (p *catalogueParser) model(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		p.fail(n, "an entry has the form - name: qwen3:8b, and more lines below it")
		return
	}
	e := &Entry{Place: fmt.Sprintf("%s:%d", p.file, n.Line)}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "name" {
			e.Name = n.Content[i+1].Value
		}
	}
	p.entry = e
	defer func() { p.entry = nil }()
	if e.Name == "" {
		p.fail(n, "an entry needs a name, such as qwen3:8b")
		return
	}
	p.each(n, func(key, value *yaml.Node) { p.field(e, key, value) })
	if e.Active > e.Parameters && e.Parameters > 0 {
		p.fail(n, "active (%g) is more than parameters (%g)", e.Active, e.Parameters)
	}
	p.unique(e, n)
	p.entries = append(p.entries, e)
}

// entryFields are the fields of an entry, for messages.
const entryFields = "name, also, family, parameters, active, context, dimensions, capabilities, thinking, serialised, licence, priors"

func (p *catalogueParser) field(e *Entry, key, value *yaml.Node) {
	switch key.Value {
	case "name":
		p.spelling(value)
	case "also":
		for _, w := range p.words(key, value) {
			p.spelling(w)
			e.Also = append(e.Also, w.Value)
		}
	case "family":
		for _, w := range p.words(key, value) {
			e.Families = append(e.Families, strings.ToLower(w.Value))
		}
	case "parameters":
		e.Parameters = p.count(key, value)
	case "active":
		e.Active = p.count(key, value)
	case "context":
		e.Context = p.whole(key, value, 1<<30)
	case "dimensions":
		e.Dimensions = p.whole(key, value, 1<<20)
	case "capabilities":
		for _, w := range p.words(key, value) {
			if name := fleet.Capability(w.Value); !slices.Contains(fleet.AllCapabilities, name) {
				p.fail(w, "capabilities: %q is not one of %s", w.Value, listed(fleet.AllCapabilities))
			} else {
				e.Capabilities = append(e.Capabilities, name)
			}
		}
	case "thinking":
		if !slices.Contains(thinkingStyles, value.Value) {
			p.fail(value, "thinking: %q is not one of %s", value.Value, listed(thinkingStyles))
		}
		e.Thinking = value.Value
	case "serialised":
		var b bool
		if err := value.Decode(&b); err != nil {
			p.fail(value, "serialised: %q is neither true nor false", value.Value)
		}
		e.Serialised = &b
	case "licence":
		e.Licence = value.Value
	case "priors":
		p.priors(e, value)
	default:
		p.fail(key, "%s is no field of an entry; there are %s", key.Value, entryFields)
	}
}

var thinkingStyles = []string{"always", "switch", "effort", "prompt"}

func listed[T ~string](of []T) string {
	words := make([]string, len(of))
	for i, w := range of {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}

// spelling checks a name or pattern.
func (p *catalogueParser) spelling(n *yaml.Node) {
	form := spell(n.Value).form()
	_, err := path.Match(form, "")
	switch {
	case n.Kind != yaml.ScalarNode || strings.Trim(form, "*:-") == "":
		p.fail(n, "%q is no model's name", n.Value)
	case err != nil || strings.ContainsAny(form, "?["):
		p.fail(n, "%q is no pattern: only * stands for other letters", n.Value)
	case strings.Contains(form, "*") && literal(form) < 3:
		p.fail(n, "%q would match nearly every name: write three letters or more", n.Value)
	}
}

// unique reports spellings that an earlier entry has too. Two entries may share
// one where their families tell them apart.
func (p *catalogueParser) unique(e *Entry, n *yaml.Node) {
	for _, name := range e.spellings() {
		form := spell(name).form()
		other := p.places[form]
		switch {
		case other == nil:
			p.places[form] = e
		case other == e:
		case !disjoint(other.Families, e.Families):
			p.fail(n, "the name %s is taken by %s (%s)", name, other.Name, other.Place)
		}
	}
}

// disjoint reports whether two lists are both given and have nothing in common.
func disjoint(a, b []string) bool {
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a, func(w string) bool { return slices.Contains(b, w) })
}

// words reads a list of words, or one word alone.
func (p *catalogueParser) words(key, value *yaml.Node) []*yaml.Node {
	switch {
	case value.Kind == yaml.ScalarNode && value.Value != "":
		return []*yaml.Node{value}
	case value.Kind != yaml.SequenceNode:
		p.fail(value, "%s must be a list such as [a, b]", key.Value)
		return nil
	}
	var out []*yaml.Node
	for _, w := range value.Content {
		if w.Kind != yaml.ScalarNode || w.Value == "" {
			p.fail(w, "%s: every item must be a word", key.Value)
			continue
		}
		out = append(out, w)
	}
	return out
}

// count reads a number of parameters: 8.2B, 335M.
func (p *catalogueParser) count(key, value *yaml.Node) float64 {
	text, unit := value.Value, 0.0
	if n := len(text); n > 0 {
		unit = map[byte]float64{'B': 1e9, 'M': 1e6, 'T': 1e12}[text[n-1]]
		text = text[:n-1]
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || unit == 0 || !(v > 0 && v*unit <= 1e14) {
		p.fail(value, "%s: %q is no number of parameters such as 8.2B or 335M", key.Value, value.Value)
		return 0
	}
	return math.Round(v * unit)
}

// whole reads a whole number above zero.
func (p *catalogueParser) whole(key, value *yaml.Node, most int) int {
	n, err := strconv.Atoi(value.Value)
	if err != nil || n < 1 || n > most {
		p.fail(value, "%s: %q is no whole number from 1 to %d", key.Value, value.Value, most)
		return 0
	}
	return n
}

// anyTask is how a prior over all tasks is written.
const anyTask = "any"

// priors reads a task a line: coding: 0.71 livebench,bigcodebench 2025-04.
func (p *catalogueParser) priors(e *Entry, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		p.fail(n, "priors: a task a line, such as coding: 0.71 livebench 2025-04")
		return
	}
	e.Priors = map[string]fleet.Prior{}
	p.each(n, func(key, value *yaml.Node) {
		task := key.Value
		if task == anyTask {
			task = ""
		} else if !fleet.IsTask(task) {
			p.fail(key, "priors: %q is no task; there are %s, %s", key.Value, listed(fleet.Tasks), anyTask)
			return
		}
		number, provenance, _ := strings.Cut(value.Value, " ")
		v, err := strconv.ParseFloat(number, 64)
		provenance = strings.TrimSpace(provenance)
		switch {
		case value.Kind != yaml.ScalarNode || err != nil || !(v >= 0 && v <= 1):
			p.fail(value, "priors: %s: %q does not begin with a number from 0 to 1", key.Value, value.Value)
		case provenance == "":
			p.fail(value, "priors: %s: says not where %s comes from; write its source and date behind it", key.Value, number)
		case strings.ContainsFunc(provenance, func(r rune) bool { return r == ';' || r < ' ' }):
			p.fail(value, "priors: %s: a source is one line without semicolons", key.Value) // saved states write it so
		default:
			e.Priors[task] = fleet.Prior{Value: v, Provenance: provenance}
		}
	})
}

// Tasks returns the tasks of a prior map in the order they are shown, the one
// over all tasks last.
func Tasks(priors map[string]fleet.Prior) []string {
	return slices.SortedFunc(maps.Keys(priors), func(a, b string) int {
		return slices.Index(taskOrder, a) - slices.Index(taskOrder, b)
	})
}

var taskOrder = append(slices.Clone(fleet.Tasks), "")
