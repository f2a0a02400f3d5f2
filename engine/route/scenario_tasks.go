package route

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

// table is a key whose value is a list of name=value, joined by a separator that
// the values do not hold. The name "" is written any.
func table[T, V any](name, separator string, at func(*T) *map[string]V, read func(string) (V, error), write func(V) string) field[T] {
	return field[T]{name: name,
		read: func(t *T, s string) error {
			out := map[string]V{}
			for part := range strings.SplitSeq(s, separator) {
				key, value, ok := strings.Cut(part, "=")
				if !ok { // as written before tasks were told apart
					key, value = "", part
				}
				v, err := read(value)
				if err != nil {
					return err
				}
				if key == anyTask {
					key = ""
				}
				out[key] = v
			}
			*at(t) = out
			return nil
		},
		write: func(t *T) string {
			m := *at(t)
			parts := make([]string, 0, len(m))
			for _, key := range slices.Sorted(maps.Keys(m)) {
				parts = append(parts, cmp.Or(key, anyTask)+"="+write(m[key]))
			}
			return strings.Join(parts, separator)
		}}
}

const anyTask = "any"

// confidences is coding=0.7,math=0.3.
func confidences[T any](name string, at func(*T) *map[string]float64) field[T] {
	return table(name, ",", at, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) },
		func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) })
}

// figures is coding=0.8x30,math=0.3x30: values and their samples.
func figures[T any](name string, at func(*T) *map[string]evidence.Figure) field[T] {
	one := figure("", func(f *evidence.Figure) *evidence.Figure { return f })
	return table(name, ",", at, func(s string) (f evidence.Figure, err error) { err = one.read(&f, s); return f, err },
		func(f evidence.Figure) string { return one.write(&f) })
}

// ratios is prose=2.1x9,any=1.6>0.9x30: the median, the least where it is
// another, and how many.
func ratios[T any](name string, at func(*T) *map[string]evidence.Ratio) field[T] {
	return table(name, ",", at, func(s string) (r evidence.Ratio, err error) {
		value, n, _ := strings.Cut(s, "x")
		median, least, two := strings.Cut(value, ">")
		if !two {
			least = median
		}
		var errs [3]error
		r.V, errs[0] = strconv.ParseFloat(median, 64)
		r.Least, errs[1] = strconv.ParseFloat(least, 64)
		r.N, errs[2] = strconv.Atoi(n)
		return r, errors.Join(errs[:]...)
	}, func(r evidence.Ratio) string {
		value := strconv.FormatFloat(r.V, 'g', -1, 64)
		if r.Least != r.V {
			value += ">" + strconv.FormatFloat(r.Least, 'g', -1, 64)
		}
		return value + "x" + strconv.Itoa(r.N)
	})
}

// priors is coding=0.8@livebench 2025-04;any=0.6@operator.
func priors[T any](name string, at func(*T) *map[string]fleet.Prior) field[T] {
	return table(name, ";", at, func(s string) (p fleet.Prior, err error) {
		value, by, _ := strings.Cut(s, "@")
		p.Provenance = by
		p.Value, err = strconv.ParseFloat(value, 64)
		return p, err
	}, func(p fleet.Prior) string {
		return strconv.FormatFloat(p.Value, 'g', -1, 64) + "@" + p.Provenance
	})
}
