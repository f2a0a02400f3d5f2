package route

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

// field is one key of a scenario's line: how it is read into a T and how it is
// written. A write of "" leaves the key out.
type field[T any] struct {
	name  string
	flag  bool // a key without a value
	read  func(*T, string) error
	write func(*T) string
}

// readFields reads keys and values into a T.
func readFields[T any](t *T, words []string, fields []field[T]) error {
	for i := 0; i < len(words); i++ {
		at := slices.IndexFunc(fields, func(f field[T]) bool { return f.name == words[i] })
		if at < 0 {
			return fmt.Errorf("unknown key %q", words[i])
		}
		f := &fields[at]
		value := ""
		if !f.flag {
			if i++; i >= len(words) {
				return fmt.Errorf("key %s has no value", f.name)
			}
			value = words[i]
		}
		if err := f.read(t, value); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

// writeFields writes what is not empty, in the order of the fields.
func writeFields[T any](t *T, fields []field[T]) string {
	var b strings.Builder
	for i := range fields {
		f := &fields[i]
		switch value := f.write(t); {
		case value == "":
		case f.flag:
			b.WriteString(" " + f.name)
		default:
			b.WriteString(" " + f.name + " " + quote(value))
		}
	}
	return b.String()
}

func quote(s string) string {
	special := func(c rune) bool {
		return c == '"' || c == '#' || c == utf8.RuneError || unicode.IsSpace(c) || unicode.IsControl(c)
	}
	if s == "" || strings.ContainsFunc(s, special) {
		return strconv.Quote(s)
	}
	return s
}

func cutQuoted(line string) (word, rest string, ok bool) {
	prefix, err := strconv.QuotedPrefix(line)
	if err != nil {
		return "", "", false
	}
	word, err = strconv.Unquote(prefix)
	return word, line[len(prefix):], err == nil
}

func text[T any](name string, at func(*T) *string) field[T] {
	return field[T]{name: name,
		read:  func(t *T, s string) error { *at(t) = s; return nil },
		write: func(t *T) string { return *at(t) }}
}

func flag[T any](name string, at func(*T) *bool) field[T] {
	return field[T]{name: name, flag: true,
		read: func(t *T, _ string) error { *at(t) = true; return nil },
		write: func(t *T) string {
			if *at(t) {
				return name
			}
			return ""
		}}
}

// unset is written as a flag for what is true unless told otherwise.
func unset[T any](name string, at func(*T) *bool) field[T] {
	return field[T]{name: name, flag: true,
		read: func(t *T, _ string) error { *at(t) = false; return nil },
		write: func(t *T) string {
			if *at(t) {
				return ""
			}
			return name
		}}
}

func count[T any](name string, at func(*T) *int) field[T] {
	return field[T]{name: name,
		read: func(t *T, s string) (err error) {
			*at(t), err = strconv.Atoi(strings.ReplaceAll(s, ",", ""))
			return err
		},
		write: func(t *T) string { return nonZero(*at(t)) }}
}

func decimal[T any](name string, at func(*T) *float64) field[T] {
	return field[T]{name: name,
		read: func(t *T, s string) (err error) { *at(t), err = strconv.ParseFloat(s, 64); return err },
		write: func(t *T) string {
			if *at(t) == 0 {
				return ""
			}
			return strconv.FormatFloat(*at(t), 'g', -1, 64)
		}}
}

func size[T any](name string, at func(*T) *int64) field[T] {
	return field[T]{name: name,
		read: func(t *T, s string) (err error) { *at(t), err = parseBytes(s); return err },
		write: func(t *T) string {
			if *at(t) == 0 {
				return ""
			}
			return formatBytes(*at(t))
		}}
}

func lasts[T any](name string, at func(*T) *time.Duration) field[T] {
	return field[T]{name: name,
		read: func(t *T, s string) (err error) { *at(t), err = time.ParseDuration(s); return err },
		write: func(t *T) string {
			if *at(t) == 0 {
				return ""
			}
			return at(t).String()
		}}
}

func list[T any](name string, at func(*T) *[]string) field[T] {
	return field[T]{name: name,
		read:  func(t *T, s string) error { *at(t) = strings.Split(s, ","); return nil },
		write: func(t *T) string { return strings.Join(*at(t), ",") }}
}

func known[T any](name string, at func(*T) *fleet.Reading[int64]) field[T] {
	return field[T]{name: name,
		read: func(t *T, s string) error {
			n, err := parseBytes(s)
			*at(t) = fleet.Know(n)
			return err
		},
		write: func(t *T) string {
			if !at(t).Known {
				return ""
			}
			return formatBytes(at(t).V)
		}}
}

func rate[T any](name string, at func(*T) *fleet.Reading[float64]) field[T] {
	return field[T]{name: name,
		read: func(t *T, s string) error {
			f, err := strconv.ParseFloat(s, 64)
			*at(t) = fleet.Know(f)
			return err
		},
		write: func(t *T) string {
			if !at(t).Known {
				return ""
			}
			return strconv.FormatFloat(at(t).V, 'g', -1, 64)
		}}
}

// figure is a measured value and its samples: 12.5x30.
func figure[T any](name string, at func(*T) *evidence.Figure) field[T] {
	return field[T]{name: name,
		read: func(t *T, s string) error {
			value, n, ok := strings.Cut(s, "x")
			if !ok {
				return fmt.Errorf("want value x samples, got %q", s)
			}
			v, err1 := strconv.ParseFloat(value, 64)
			k, err2 := strconv.Atoi(n)
			*at(t) = evidence.Figure{V: v, N: k}
			return cmp.Or(err1, err2)
		},
		write: func(t *T) string {
			if f := at(t); f.Known() {
				return strconv.FormatFloat(f.V, 'g', -1, 64) + "x" + strconv.Itoa(f.N)
			}
			return ""
		}}
}

func moment[T any](name string, at func(*T) *time.Time, sign time.Duration) field[T] {
	return field[T]{name: name,
		read: func(t *T, s string) error {
			d, err := time.ParseDuration(s)
			*at(t) = scenarioNow.Add(sign * d)
			return err
		},
		write: func(t *T) string {
			if at(t).IsZero() {
				return ""
			}
			return (sign * at(t).Sub(scenarioNow)).String()
		}}
}

// past is a moment written as how long ago it was, future as how far it is.
func past[T any](name string, at func(*T) *time.Time) field[T]   { return moment(name, at, -1) }
func future[T any](name string, at func(*T) *time.Time) field[T] { return moment(name, at, 1) }

func tri[T any](name string, at func(*T) *fleet.Tri) field[T] {
	return field[T]{name: name, flag: true,
		read: func(t *T, _ string) error { *at(t) = fleet.Yes; return nil },
		write: func(t *T) string {
			if *at(t) == fleet.Yes {
				return name
			}
			return ""
		}}
}

func nonZero(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

var units = []struct {
	name string
	n    int64
}{{"GB", fleet.GB}, {"MB", fleet.MB}, {"KB", fleet.KB}, {"B", 1}}

// parseBytes reads 5.2GB, 300MB, 12B.
func parseBytes(s string) (int64, error) {
	for _, u := range units {
		if number, ok := strings.CutSuffix(s, u.name); ok {
			f, err := strconv.ParseFloat(number, 64)
			return int64(f*float64(u.n) + 0.5), err
		}
	}
	return 0, fmt.Errorf("want a size like 5.2GB, got %q", s)
}

// formatBytes writes a size exactly, in the largest unit that divides it.
func formatBytes(n int64) string {
	for _, u := range units {
		if n%u.n == 0 {
			return strconv.FormatInt(n/u.n, 10) + u.name
		}
	}
	return "0B"
}
