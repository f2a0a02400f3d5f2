package measure

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/dop251/goja"
)

// deepest is how deep a result may be nested; expected ones are flat.
const deepest = 20

func sortedNames(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// differs says how a JavaScript value is not the JSON value wanted, "" if it
// is. Only what the value itself is counts: primitives by their own type, lists
// by their entries, objects by their own enumerable members. It may run code of
// the answer (getters) and panics with what that throws.
func differs(vm *goja.Runtime, want any, got goja.Value, depth int) string {
	if depth > deepest {
		return "the result is nested too deep"
	}
	if got == nil || goja.IsUndefined(got) {
		return "it returns undefined"
	}
	switch w := want.(type) {
	case nil:
		if !goja.IsNull(got) {
			return "it does not return null"
		}
		return ""
	case map[string]any:
		return differsObject(vm, w, got, depth)
	case []any:
		return differsList(vm, w, got, depth)
	}
	if _, object := got.(*goja.Object); object {
		return fmt.Sprintf("it returns an object, not %v", want)
	}
	switch w := want.(type) {
	case bool:
		if g, ok := got.Export().(bool); !ok || g != w {
			return fmt.Sprintf("it does not return %v", w)
		}
	case string:
		if g, ok := got.Export().(string); !ok || g != w {
			return fmt.Sprintf("it does not return %q", w)
		}
	case float64:
		g, ok := float(got.Export())
		if !ok || math.IsNaN(g) || math.Abs(g-w) > 1e-9*max(1, math.Abs(w)) {
			return fmt.Sprintf("it does not return %v", w)
		}
	default:
		return fmt.Sprintf("it does not return %v", want)
	}
	return ""
}

func float(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

func differsList(vm *goja.Runtime, want []any, got goja.Value, depth int) string {
	o, ok := got.(*goja.Object)
	if !ok || o.ClassName() != "Array" {
		return "it does not return an array"
	}
	if n, ok := float(o.Get("length").Export()); !ok || int(n) != len(want) {
		return fmt.Sprintf("it returns %v entries, not %d", o.Get("length"), len(want))
	}
	for i := range want {
		if why := differs(vm, want[i], o.Get(fmt.Sprint(i)), depth+1); why != "" {
			return fmt.Sprintf("entry %d: %s", i, why)
		}
	}
	return ""
}

func differsObject(vm *goja.Runtime, want map[string]any, got goja.Value, depth int) string {
	o, ok := got.(*goja.Object)
	if !ok || o.ClassName() != "Object" {
		return "it does not return a plain object"
	}
	keys := o.Keys()
	if len(keys) != len(want) {
		return fmt.Sprintf("it returns %d members, not %d", len(keys), len(want))
	}
	for _, name := range sortedNames(want) {
		if !slices.Contains(keys, name) {
			return fmt.Sprintf("it returns no member %q", name)
		}
		if why := differs(vm, want[name], o.Get(name), depth+1); why != "" {
			return fmt.Sprintf("member %q: %s", name, why)
		}
	}
	return ""
}
