package runtimetest

import (
	"bytes"
	"strconv"
	"strings"
)

// instance is a small value that satisfies a JSON schema: what a model under
// a grammar would say at least. It follows type, properties, items, enum,
// const, anyOf, oneOf, allOf, $ref within the document, and the lower bounds.
func instance(schema []byte) []byte {
	return (&writer{root: schema}).value(nil, schema, "", 0)
}

type writer struct{ root []byte }

// deepest and longest (bytes) are where a recursive schema is cut off,
// mostItems where lower bounds are no longer taken seriously.
const (
	deepest   = 12
	longest   = 256 << 10
	mostItems = 1000
)

func (w *writer) value(b, schema []byte, name string, depth int) []byte {
	if kind(schema) != '{' || depth > deepest || len(b) > longest {
		return append(b, '{', '}')
	}
	if c := member(schema, "const"); c != nil {
		return append(b, c...)
	}
	if first := firstOf(member(schema, "enum")); first != nil {
		return append(b, first...)
	}
	if ref := text(member(schema, "$ref")); ref != "" {
		return w.value(b, w.resolve(ref), name, depth+1)
	}
	for _, union := range []string{"anyOf", "oneOf", "allOf"} {
		if first := firstOf(member(schema, union)); first != nil {
			return w.value(b, first, name, depth+1)
		}
	}
	t := member(schema, "type")
	if kind(t) == '[' {
		t = firstOf(t)
	}
	switch text(t) {
	case "string":
		return appendQuoted(b, stringFor(name, schema), cppEscapes)
	case "integer", "number":
		return w.number(b, schema)
	case "boolean":
		return append(b, "true"...)
	case "null":
		return append(b, "null"...)
	case "array":
		return w.array(b, schema, name, depth)
	}
	return w.object(b, schema, depth)
}

func (w *writer) object(b, schema []byte, depth int) []byte {
	b = append(b, '{')
	first := true
	properties := member(schema, "properties")
	required := texts(member(schema, "required"))
	eachMember(properties, func(name, v []byte) {
		if len(required) > 0 && !contains(required, name) {
			return
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(append(append(b, '"'), name...), '"', ':')
		b = w.value(b, v, string(name), depth+1)
	})
	return append(b, '}')
}

func contains(list []string, name []byte) bool {
	for _, s := range list {
		if s == string(name) {
			return true
		}
	}
	return false
}

func (w *writer) array(b, schema []byte, name string, depth int) []byte {
	n := min(max(1, whole(member(schema, "minItems"), 1)), mostItems)
	items := member(schema, "items")
	b = append(b, '[')
	for i := 0; i < n && len(b) <= longest; i++ {
		if i > 0 {
			b = append(b, ',')
		}
		b = w.value(b, items, name, depth+1)
	}
	return append(b, ']')
}

func (w *writer) number(b, schema []byte) []byte {
	if low := member(schema, "minimum"); low != nil {
		return append(b, low...)
	}
	if low := member(schema, "exclusiveMinimum"); low != nil {
		return strconv.AppendInt(b, int64(whole(low, 0)+1), 10)
	}
	if high := member(schema, "maximum"); high != nil && whole(high, 1) < 1 {
		return append(b, high...)
	}
	return append(b, '1')
}

// stringFor is a plausible text for a property.
func stringFor(name string, schema []byte) string {
	s := "text"
	switch format := text(member(schema, "format")); {
	case format == "date":
		s = "2026-11-29"
	case format == "date-time":
		s = "2026-11-29T12:00:00Z"
	case format == "email":
		s = "sheep@example.com"
	case format == "uri":
		s = "http://example.com"
	case format == "uuid":
		s = "00000000-0000-4000-8000-000000000000"
	case strings.Contains(name, "zone"):
		s = "UTC"
	case strings.Contains(name, "city"), strings.Contains(name, "location"):
		s = "Bern"
	}
	if need := min(whole(member(schema, "minLength"), 0), mostItems); len(s) < need {
		s += strings.Repeat("x", need-len(s))
	}
	return s
}

func firstOf(list []byte) []byte {
	var first []byte
	eachElement(list, func(v []byte) {
		if first == nil {
			first = v
		}
	})
	return first
}

// resolve follows "#/$defs/name" in the document.
func (w *writer) resolve(ref string) []byte {
	at := w.root
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if part == "" {
			continue
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		if at = member(at, part); at == nil {
			return nil
		}
	}
	return bytes.TrimSpace(at)
}
