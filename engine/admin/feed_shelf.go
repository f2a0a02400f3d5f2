package admin

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"
)

// shelf keeps the state as it was last sent: each value encoded, so that it is
// encoded once for all readers, a change is told by comparing bytes, and a
// hello is put together without encoding anything. What put and drop change
// waits for the next delta. The feed's loop owns it.
type shelf struct {
	kept map[Section]map[string][]byte
	set  map[Section]map[string]struct{}
	del  map[Section]map[string]struct{}

	buf bytes.Buffer
	out *json.Encoder
}

func newShelf() *shelf {
	s := &shelf{kept: map[Section]map[string][]byte{}, set: map[Section]map[string]struct{}{}, del: map[Section]map[string]struct{}{}}
	for _, name := range Sections {
		s.kept[name], s.set[name], s.del[name] = map[string][]byte{}, map[string]struct{}{}, map[string]struct{}{}
	}
	s.out = json.NewEncoder(&s.buf)
	s.out.SetEscapeHTML(false)
	return s
}

// encode returns v as JSON, valid until the next call.
func (s *shelf) encode(v any) []byte {
	s.buf.Reset()
	if err := s.out.Encode(v); err != nil {
		return []byte("null") // not of these types
	}
	return bytes.TrimSuffix(s.buf.Bytes(), []byte("\n"))
}

// put makes v the value of a key.
func (s *shelf) put(name Section, key string, v any) {
	text := s.encode(v)
	if bytes.Equal(s.kept[name][key], text) {
		return
	}
	s.kept[name][key] = bytes.Clone(text)
	s.set[name][key] = struct{}{}
	delete(s.del[name], key)
}

// drop removes a key.
func (s *shelf) drop(name Section, key string) {
	if _, there := s.kept[name][key]; !there {
		return
	}
	delete(s.kept[name], key)
	delete(s.set[name], key)
	s.del[name][key] = struct{}{}
}

// replace makes values all that a section has.
func replace[V any](s *shelf, name Section, values map[string]V) {
	for key := range s.kept[name] {
		if _, stays := values[key]; !stays {
			s.drop(name, key)
		}
	}
	for key, v := range values {
		s.put(name, key, v)
	}
}

// delta returns the frame that tells what changed since the last one, and
// those rows; nil when nothing did.
func (s *shelf) delta(seq uint64, rows [][]byte) []byte {
	b := append(make([]byte, 0, 4096), `{"type":"delta","seq":`...)
	b = strconv.AppendUint(b, seq, 10)
	empty := len(b)
	b = s.appendSet(b)
	b = s.appendDel(b)
	if len(rows) > 0 {
		b = append(b, `,"rows":`...)
		b = appendList(b, rows)
	}
	if len(b) == empty {
		return nil
	}
	return append(b, '}')
}

func (s *shelf) appendSet(b []byte) []byte {
	first := true
	for _, name := range Sections {
		if len(s.set[name]) == 0 {
			continue
		}
		b = append(b, opening(first, `,"set":{`)...)
		first = false
		b = appendSection(b, name, s.kept[name], slices.Sorted(maps.Keys(s.set[name])))
		clear(s.set[name])
	}
	if !first {
		b = append(b, '}')
	}
	return b
}

func (s *shelf) appendDel(b []byte) []byte {
	first := true
	for _, name := range Sections {
		if len(s.del[name]) == 0 {
			continue
		}
		b = append(b, opening(first, `,"del":{`)...)
		first = false
		b = appendText(b, string(name))
		b = append(b, ':', '[')
		for i, key := range slices.Sorted(maps.Keys(s.del[name])) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendText(b, key)
		}
		b = append(b, ']')
		clear(s.del[name])
	}
	if !first {
		b = append(b, '}')
	}
	return b
}

// opening begins an object, or goes on with it.
func opening(first bool, begin string) string {
	if first {
		return begin
	}
	return ","
}

// hello returns the frame with all of the state. What has changed since the
// last delta must have been sent before.
func (s *shelf) hello(version string, now time.Time, seq uint64, rows [][]byte) []byte {
	size := 1024
	for _, values := range s.kept {
		for key, v := range values {
			size += len(key) + len(v) + 4
		}
	}
	b := append(make([]byte, 0, size), `{"type":"hello","version":`...)
	b = appendText(b, version)
	b = append(b, `,"at":`...)
	b = appendText(b, now.UTC().Format(time.RFC3339Nano))
	b = append(b, `,"seq":`...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `,"state":{`...)
	for i, name := range Sections {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendSection(b, name, s.kept[name], slices.Sorted(maps.Keys(s.kept[name])))
	}
	b = append(b, `,"rows":`...)
	b = appendList(b, rows)
	return append(b, '}', '}')
}

func appendSection(b []byte, name Section, values map[string][]byte, keys []string) []byte {
	b = appendText(b, string(name))
	b = append(b, ':', '{')
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, key)
		b = append(b, ':')
		b = append(b, values[key]...)
	}
	return append(b, '}')
}

func appendList(b []byte, values [][]byte) []byte {
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}

// appendText appends a JSON string.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			text, _ := json.Marshal(s) // a string cannot fail
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
