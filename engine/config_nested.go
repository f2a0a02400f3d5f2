package engine

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"bellwether/engine/route"
)

// tableOf maps names the owner chooses to values of one kind.
type tableOf struct {
	of   kind
	typ  reflect.Type // of the Config field: map[string]T
	name func(string) error
}

func (k tableOf) text(s string) (any, error) {
	out := reflect.MakeMap(k.typ)
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return nil, &partError{part, errValue}
		}
		v, err := k.of.text(value)
		if err != nil {
			return nil, &partError{part, err}
		}
		out.SetMapIndex(reflect.ValueOf(strings.TrimSpace(name)).Convert(k.typ.Key()), reflect.ValueOf(v))
	}
	return checked(k, out.Interface())
}

func (k tableOf) node(n *yaml.Node) (any, error) {
	out := reflect.MakeMap(k.typ)
	err := eachEntry(n, func(key, value *yaml.Node) error {
		if k.name != nil {
			if err := k.name(key.Value); err != nil {
				return inside("."+key.Value, key, nil, err)
			}
		}
		of := k.of
		if entry, ok := of.(entryKind); ok && entry.startOf != nil {
			entry.start = entry.startOf(key.Value)
			of = entry
		}
		v, err := of.node(value)
		if err != nil {
			return inside("."+key.Value, value, k.of, err)
		}
		out.SetMapIndex(reflect.ValueOf(key.Value).Convert(k.typ.Key()), reflect.ValueOf(v))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return checked(k, out.Interface())
}

func (k tableOf) check(v any) error {
	table := reflect.ValueOf(v)
	for _, key := range sortedKeys(table) {
		if k.name != nil {
			if err := k.name(key.String()); err != nil {
				return err
			}
		}
		if err := k.of.check(table.MapIndex(key).Interface()); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}
func (k tableOf) allowed() string { return "names, each with: " + k.of.allowed() }
func (k tableOf) show(v any) any {
	table := reflect.ValueOf(v)
	out := make(map[string]any, table.Len())
	for _, key := range sortedKeys(table) {
		out[key.String()] = k.of.show(table.MapIndex(key).Interface())
	}
	return out
}

func sortedKeys(table reflect.Value) []reflect.Value {
	return slices.SortedFunc(slices.Values(table.MapKeys()), func(a, b reflect.Value) int {
		return strings.Compare(a.String(), b.String())
	})
}

// entryKind is an entry with named fields of its own; start is what an entry
// holds before it is read. need, if any, are fields that must be given.
type entryKind struct {
	start  any // a struct; its koanf tags are the field names
	fields map[string]kind
	need   []string

	// startOf is start by the name of the entry in its table, nil = start for
	// all. Zero fields are shown then, since to leave them out means another value.
	startOf func(name string) any
}

func (k entryKind) text(string) (any, error) {
	return nil, errors.New("can only be written in the file")
}

func (k entryKind) node(n *yaml.Node) (any, error) {
	out := reflect.New(reflect.TypeOf(k.start)).Elem()
	out.Set(reflect.ValueOf(k.start))
	given := map[string]bool{}
	err := eachEntry(n, func(key, value *yaml.Node) error {
		field, ok := k.fields[key.Value]
		if !ok {
			return inside("."+key.Value, key, nil, unknownKey(key.Value, slices.Sorted(maps.Keys(k.fields))))
		}
		if value.Tag == "!!null" {
			return nil
		}
		v, err := field.node(value)
		if err != nil {
			return inside("."+key.Value, value, field, err)
		}
		given[key.Value] = true
		assign(tagged(out, key.Value), v)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, name := range k.need {
		if !given[name] {
			return nil, fmt.Errorf("%s is missing", name)
		}
	}
	return out.Interface(), nil
}

func (k entryKind) check(v any) error {
	for _, name := range slices.Sorted(maps.Keys(k.fields)) {
		field := tagged(reflect.ValueOf(v), name)
		if field.Kind() == reflect.Pointer {
			if field.IsNil() {
				continue
			}
			field = field.Elem()
		}
		if err := k.fields[name].check(field.Interface()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
func (k entryKind) allowed() string {
	return "an entry with " + strings.Join(slices.Sorted(maps.Keys(k.fields)), ", ")
}
func (k entryKind) show(v any) any {
	out := map[string]any{}
	for name, field := range k.fields {
		value := tagged(reflect.ValueOf(v), name)
		if value.IsZero() && k.startOf == nil {
			continue // what was not said is not shown
		}
		if value.Kind() == reflect.Pointer {
			value = value.Elem()
		}
		out[name] = field.show(value.Interface())
	}
	return out
}

// assign sets a field, through a pointer where the field is one.
func assign(field reflect.Value, v any) {
	value := reflect.ValueOf(v)
	if field.Kind() == reflect.Pointer {
		p := reflect.New(field.Type().Elem())
		p.Elem().Set(value)
		value = p
	}
	field.Set(value.Convert(field.Type()))
}

// tagged returns the field of a struct whose koanf tag is name.
func tagged(v reflect.Value, name string) reflect.Value {
	t := v.Type()
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("koanf") == name {
			return v.Field(i)
		}
	}
	panic("no field " + name + " in " + t.String())
}

// eachEntry walks a YAML mapping; a name given twice is an error.
func eachEntry(n *yaml.Node, do func(key, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return errValue
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], follow(n.Content[i+1])
		if first, twice := seen[key.Value]; twice {
			return inside("."+key.Value, key, nil, fmt.Errorf("given twice, first in line %d", first))
		}
		seen[key.Value] = key.Line
		if err := do(key, value); err != nil {
			return err
		}
	}
	return nil
}

// follow resolves a YAML alias (*name) to what it stands for.
func follow(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// insideError is an error within a nested value: where in it, and what there
// would be allowed.
type insideError struct {
	path    string // ".url", "[2].rights[0]"
	line    int
	value   string // as written, "" for what is no single word or must not be shown
	allowed string
	err     error
}

func (e *insideError) Error() string { return e.path + ": " + e.err.Error() }
func (e *insideError) Unwrap() error { return e.err }

// inside notes one more step on the way to an error. k is the kind that
// refused the value; nil when the error says all.
func inside(step string, n *yaml.Node, k kind, err error) error {
	var deeper *insideError
	if errors.As(err, &deeper) {
		deeper.path = step + deeper.path
		return deeper
	}
	e := &insideError{path: step, line: n.Line, err: err}
	if k == nil {
		return e
	}
	e.allowed = k.allowed()
	if n.Kind == yaml.ScalarNode {
		e.value = n.Value
	}
	if _, secret := k.(hiddenKind); secret {
		e.value = hidden
	}
	return e
}

// fitTiers is "2.0:20,1.5:15": ratio and points, falling.
type fitTiers struct{}

func (k fitTiers) text(s string) (any, error) {
	var out []route.FitTier
	for part := range strings.SplitSeq(s, ",") {
		ratio, points, ok := strings.Cut(strings.TrimSpace(part), ":")
		r, err1 := strconv.ParseFloat(ratio, 64)
		p, err2 := strconv.ParseFloat(points, 64)
		if !ok || err1 != nil || err2 != nil {
			return nil, errValue
		}
		out = append(out, route.FitTier{Ratio: r, Points: p})
	}
	return checked(k, out)
}

func (k fitTiers) node(n *yaml.Node) (any, error) {
	if n.Kind != yaml.SequenceNode {
		return scalarNode(k, n)
	}
	parts := make([]string, 0, len(n.Content))
	for _, c := range n.Content {
		parts = append(parts, follow(c).Value)
	}
	return k.text(strings.Join(parts, ","))
}

func (k fitTiers) check(v any) error {
	tiers := v.([]route.FitTier)
	for i, t := range tiers {
		if t.Ratio <= 0 || t.Ratio > 100 || t.Points < -1000 || t.Points > 1000 || i > 0 && t.Ratio >= tiers[i-1].Ratio {
			return errValue
		}
	}
	if len(tiers) == 0 {
		return errValue
	}
	return nil
}
func (k fitTiers) allowed() string {
	return "ratio:points, largest ratio first, such as 2.0:20,1.5:15,1.2:8,1.0:3"
}
func (k fitTiers) show(v any) any {
	var parts []string
	for _, t := range v.([]route.FitTier) {
		parts = append(parts, fmt.Sprintf("%v:%v", t.Ratio, t.Points))
	}
	return strings.Join(parts, ",")
}

// circuitKind is "5/10 in 60s".
type circuitKind struct{}

func (k circuitKind) text(s string) (any, error) {
	counts, window, ok := strings.Cut(s, " in ")
	failures, of, ok2 := strings.Cut(counts, "/")
	f, err1 := strconv.Atoi(strings.TrimSpace(failures))
	o, err2 := strconv.Atoi(strings.TrimSpace(of))
	w, err3 := spanKind{time.Second, time.Hour, ""}.text(window)
	if err := errors.Join(err1, err2, err3); err != nil || !ok || !ok2 {
		return nil, errValue
	}
	return checked(k, CircuitConfig{f, o, w.(time.Duration)})
}
func (k circuitKind) node(n *yaml.Node) (any, error) { return scalarNode(k, n) }
func (k circuitKind) check(v any) error {
	if c := v.(CircuitConfig); c.Failures < 1 || c.Failures > c.Of || c.Of > 1000 || c.Window < time.Second {
		return errValue
	}
	return nil
}
func (k circuitKind) allowed() string { return "failures/of in time, such as 5/10 in 60s" }
func (k circuitKind) show(v any) any {
	c := v.(CircuitConfig)
	return fmt.Sprintf("%d/%d in %s", c.Failures, c.Of, briefly(c.Window))
}
