package engine

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"bellwether/engine/document"
)

// kind is what a setting may hold: how it is read from a YAML node and from a
// text (variables and flags), checked, described and shown. Values are those
// of the Config field.
type kind interface {
	text(s string) (any, error)
	node(n *yaml.Node) (any, error)
	check(v any) error
	allowed() string // completes "... is not allowed; allowed: "
	show(v any) any  // for JSON and people
}

// errValue says that the value is not one of the allowed; the kind says which
// those are. Other errors say more.
var errValue = errors.New("not allowed")

// scalarNode gives the kinds of one word their reading of YAML.
func scalarNode(k kind, n *yaml.Node) (any, error) {
	if n.Kind != yaml.ScalarNode {
		return nil, errValue
	}
	return k.text(n.Value)
}

// checked runs the kind's own check over what it read.
func checked(k kind, v any) (any, error) {
	if err := k.check(v); err != nil {
		return nil, err
	}
	return v, nil
}

// wordKind is any text that passes valid; nil takes all.
type wordKind struct {
	says  string
	valid func(string) error
	tidy  func(string) string // brings it into one form; nil = as written
}

func (k wordKind) text(s string) (any, error) {
	s = strings.TrimSpace(s)
	if k.tidy != nil {
		s = k.tidy(s)
	}
	return checked(k, s)
}
func (k wordKind) node(n *yaml.Node) (any, error) { return scalarNode(k, n) }
func (k wordKind) allowed() string                { return k.says }
func (k wordKind) show(v any) any                 { return v }
func (k wordKind) check(v any) error {
	if s := v.(string); k.valid != nil && s != "" {
		return k.valid(s)
	}
	return nil
}

// hiddenKind is a word that is never shown.
type hiddenKind struct{ wordKind }

func (k hiddenKind) text(s string) (any, error) {
	if err := k.wordKind.check(s); err != nil {
		return nil, err
	}
	return Secret(s), nil
}
func (k hiddenKind) node(n *yaml.Node) (any, error) { return scalarNode(k, n) }
func (k hiddenKind) check(v any) error              { return k.wordKind.check(string(v.(Secret))) }
func (k hiddenKind) show(v any) any                 { return v.(Secret).String() }

// choiceKind is one of a few words. also maps further spellings to them.
type choiceKind struct {
	of   []string
	also map[string]string
}

func oneOf(of ...string) choiceKind { return choiceKind{of: of} }

func (k choiceKind) text(s string) (any, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	if to, ok := k.also[s]; ok {
		s = to
	}
	return checked(k, s)
}
func (k choiceKind) node(n *yaml.Node) (any, error) { return scalarNode(k, n) }
func (k choiceKind) show(v any) any                 { return v }
func (k choiceKind) check(v any) error {
	if !slices.Contains(k.of, v.(string)) {
		return errValue
	}
	return nil
}
func (k choiceKind) allowed() string {
	shown := slices.DeleteFunc(slices.Clone(k.of), func(s string) bool { return s == "" })
	return strings.Join(shown, ", ")
}

// flagKind is yes or no.
type flagKind struct{}

func (k flagKind) text(s string) (any, error) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return nil, errValue
}
func (k flagKind) node(n *yaml.Node) (any, error) { return scalarNode(k, n) }
func (k flagKind) check(any) error                { return nil }
func (k flagKind) allowed() string                { return "true, false" }
func (k flagKind) show(v any) any                 { return v }

// wholeKind is a whole number within bounds.
type wholeKind struct{ min, max int }

func (k wholeKind) text(s string) (any, error) {
	n, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(s), ",", ""))
	if err != nil {
		return nil, errValue
	}
	return checked(k, n)
}
func (k wholeKind) node(n *yaml.Node) (any, error) { return scalarNode(k, n) }
func (k wholeKind) show(v any) any                 { return v }
func (k wholeKind) allowed() string                { return fmt.Sprintf("a whole number from %d to %d", k.min, k.max) }
func (k wholeKind) check(v any) error {
	if n := v.(int); n < k.min || n > k.max {
		return errValue
	}
	return nil
}

// unsetKind is a kind whose zero value means that nothing was said: it cannot
// be written.
type unsetKind struct{ kind }

func (k unsetKind) check(v any) error {
	if reflect.ValueOf(v).IsZero() {
		return nil
	}
	return k.kind.check(v)
}

// numberKind is any number within bounds. zero, if set, is the word for 0.
type numberKind struct {
	min, max float64
	zero     string
}

func (k numberKind) text(s string) (any, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	if k.zero != "" && s == k.zero {
		return 0.0, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) {
		return nil, errValue
	}
	return checked(k, f)
}
func (k numberKind) node(n *yaml.Node) (any, error) { return scalarNode(k, n) }
func (k numberKind) check(v any) error {
	if f := v.(float64); f < k.min || f > k.max || math.IsNaN(f) {
		return errValue
	}
	return nil
}
func (k numberKind) show(v any) any {
	if k.zero != "" && v.(float64) == 0 {
		return k.zero
	}
	return v
}
func (k numberKind) allowed() string {
	s := fmt.Sprintf("a number from %v to %v", k.min, k.max)
	if k.zero != "" {
		s += ", or " + k.zero
	}
	return s
}

// spanKind is a length of time, written as Go does (90s, 1h30m) or in plain
// seconds. never, if set, is the word for 0.
type spanKind struct {
	min, max time.Duration
	never    string
}

func (k spanKind) text(s string) (any, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	if k.never != "" && s == k.never {
		return time.Duration(0), nil
	}
	d, err := time.ParseDuration(strings.ReplaceAll(s, " ", ""))
	if f, ferr := strconv.ParseFloat(s, 64); ferr == nil && math.Abs(f) < 1e9 {
		d, err = time.Duration(math.Round(f*1e9)), nil
	}
	if err != nil {
		return nil, errValue
	}
	return checked(k, d)
}
func (k spanKind) node(n *yaml.Node) (any, error) { return scalarNode(k, n) }
func (k spanKind) check(v any) error {
	if d := v.(time.Duration); (d < k.min || d > k.max) && (d != 0 || k.never == "") {
		return errValue
	}
	return nil
}
func (k spanKind) show(v any) any {
	if d := v.(time.Duration); d != 0 || k.never == "" {
		return d.Seconds()
	}
	return k.never
}
func (k spanKind) allowed() string {
	s := fmt.Sprintf("a time from %s to %s (90s, 1h30m, or seconds)", briefly(k.min), briefly(k.max))
	if k.never != "" {
		s += ", or " + k.never
	}
	return s
}

// briefly writes a duration without its empty parts: 1h, not 1h0m0s.
func briefly(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// listOf is a list; in variables and flags it is written with commas.
type listOf struct {
	of   kind
	elem reflect.Type // of the Config field's elements
}

// words is a list of texts.
func words(says string, valid func(string) error) listOf {
	return listOf{wordKind{says: says, valid: valid}, reflect.TypeFor[string]()}
}

func (k listOf) text(s string) (any, error) {
	if s = strings.TrimSpace(s); strings.HasPrefix(s, "[") { // as in the file
		switch n, err := document.Read([]byte(s)); {
		case err == nil && n.Kind == yaml.SequenceNode:
			return k.node(n)
		case strings.Count(s, "[") != strings.Count(s, "]"):
			return nil, errors.New("a list that [ began is not ended: write names with commas between them, with or without [ and ] around all")
		}
	}
	out := reflect.MakeSlice(reflect.SliceOf(k.elem), 0, 0)
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		v, err := k.of.text(part)
		if err != nil {
			return nil, &partError{part, err}
		}
		out = reflect.Append(out, reflect.ValueOf(v))
	}
	return checked(k, out.Interface())
}

func (k listOf) node(n *yaml.Node) (any, error) {
	if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		return k.text(n.Value) // a list of one needs no brackets
	}
	if n.Kind != yaml.SequenceNode {
		return nil, errValue
	}
	out := reflect.MakeSlice(reflect.SliceOf(k.elem), 0, len(n.Content))
	for i, c := range n.Content {
		c = follow(c)
		v, err := k.of.node(c)
		if err != nil {
			return nil, inside(fmt.Sprintf("[%d]", i), c, k.of, err)
		}
		out = reflect.Append(out, reflect.ValueOf(v))
	}
	return checked(k, out.Interface())
}

func (k listOf) check(v any) error {
	list := reflect.ValueOf(v)
	for i := range list.Len() {
		if err := k.of.check(list.Index(i).Interface()); err != nil {
			return err
		}
	}
	return nil
}
func (k listOf) allowed() string { return "a list; each: " + k.of.allowed() }
func (k listOf) show(v any) any {
	list := reflect.ValueOf(v)
	out := make([]any, 0, list.Len())
	for i := range list.Len() {
		out = append(out, k.of.show(list.Index(i).Interface()))
	}
	return out
}

// partError is a wrong part of a list written in one line.
type partError struct {
	part string
	err  error
}

func (e *partError) Error() string { return fmt.Sprintf("%q: %v", e.part, e.err) }
func (e *partError) Unwrap() error { return e.err }
