package measure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// JSONValue is a JSON value an answer must equal, field by field. Strings are
// compared without case and outer space, lists in order unless they are sets.
type JSONValue struct {
	Want any `yaml:"want"`
	// Sets names the members, at any depth, whose lists have no order.
	Sets []string `yaml:"sets"`
}

func (j *JSONValue) example() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(j.Want)
	return strings.TrimSpace(b.String())
}

func (j *JSONValue) valid() error {
	switch j.Want.(type) {
	case map[string]any, []any:
		return nil
	}
	return errors.New("want is neither an object nor a list")
}

// UnmarshalYAML reads numbers as JSON would.
func (j *JSONValue) UnmarshalYAML(n *yaml.Node) error {
	type plain JSONValue
	if err := n.Decode((*plain)(j)); err != nil {
		return err
	}
	text, err := json.Marshal(j.Want)
	if err != nil {
		return err
	}
	j.Want = nil
	return json.Unmarshal(text, &j.Want)
}

func (j *JSONValue) judge(answer string) string {
	got, why := jsonIn(answer)
	if why != "" {
		return why
	}
	return j.differs("", j.Want, got, false)
}

// jsonIn finds the one JSON value of an answer: in a fence, else from the
// first brace on.
func jsonIn(answer string) (v any, why string) {
	text := answer
	if blocks := fenced(answer); len(blocks) > 0 {
		text = blocks[len(blocks)-1].text
	}
	i := strings.IndexAny(text, "{[")
	if i < 0 {
		return nil, "there is no JSON in it"
	}
	d := json.NewDecoder(strings.NewReader(text[i:]))
	if err := d.Decode(&v); err != nil {
		return nil, "its JSON cannot be read"
	}
	if rest := text[i+int(d.InputOffset()):]; strings.ContainsAny(rest, "{[") && strings.ContainsAny(rest, "}]") {
		return nil, "it holds more than one JSON value"
	}
	return v, ""
}

// differs says where got is not want, "" if nowhere.
func (j *JSONValue) differs(at string, want, got any, set bool) string {
	where := at
	if where == "" {
		where = "the value"
	}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return where + " is no object"
		}
		for name := range g {
			if _, known := w[name]; !known {
				return fmt.Sprintf("%s has a member %q that was not asked for", where, name)
			}
		}
		for name, v := range w {
			if why := j.differs(at+"."+name, v, g[name], slices.Contains(j.Sets, name)); why != "" {
				return why
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		switch {
		case !ok:
			return where + " is no list"
		case len(g) != len(w):
			return fmt.Sprintf("%s has %d entries, not %d", where, len(g), len(w))
		case set:
			return j.differsAsSet(at, w, g)
		}
		for i := range w {
			if why := j.differs(fmt.Sprintf("%s[%d]", at, i), w[i], g[i], false); why != "" {
				return why
			}
		}
		return ""
	case float64:
		g, ok := got.(float64)
		if !ok || math.Abs(g-w) > 1e-9*max(1, math.Abs(w)) {
			return fmt.Sprintf("%s is %v, not %v", where, got, w)
		}
		return ""
	case string:
		g, ok := got.(string)
		if !ok || folded(g) != folded(w) {
			return fmt.Sprintf("%s is %v, not %q", where, got, w)
		}
		return ""
	default: // bool, nil
		if got != want {
			return fmt.Sprintf("%s is %v, not %v", where, got, want)
		}
		return ""
	}
}

// differsAsSet matches each wanted entry with one of its own.
func (j *JSONValue) differsAsSet(at string, want, got []any) string {
	left := slices.Clone(got)
	for _, w := range want {
		i := slices.IndexFunc(left, func(g any) bool { return j.differs(at, w, g, false) == "" })
		if i < 0 {
			return fmt.Sprintf("%s lacks %v", at, w)
		}
		left = slices.Delete(left, i, i+1)
	}
	return ""
}

func folded(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
