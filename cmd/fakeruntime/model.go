package main

import (
	"fmt"
	"strconv"
	"strings"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime/runtimetest"
)

// bytes is a size as the product counts it, in powers of 1024: 512MB, 2.5GB (or
// 2.5GiB), or plain bytes.
type bytes int64

func (b *bytes) UnmarshalText(text []byte) error {
	n, err := parseNumber(strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(string(text)), "B"), "I"), []unit{{"K", fleet.KB}, {"M", fleet.MB}, {"G", fleet.GB}, {"T", 1024 * fleet.GB}})
	if err != nil {
		return err
	}
	*b = bytes(n)
	return nil
}

// parseCount reads a number of parameters or tokens: K, M, B and T are powers of ten.
func parseCount(s string) (int64, error) {
	return parseNumber(s, []unit{{"K", 1e3}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}})
}

type unit struct {
	suffix string
	factor float64
}

func parseNumber(s string, units []unit) (int64, error) {
	number, factor := strings.ToUpper(strings.TrimSpace(s)), 1.0
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, factor = rest, u.factor
			break
		}
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f < 0 {
		return 0, fmt.Errorf("%q is no size", s)
	}
	return int64(f * factor), nil
}

// parseModel reads name[=size][,key=value]...
func parseModel(spec string) (runtimetest.FakeModel, error) {
	fields := strings.Split(spec, ",")
	name, size, sized := strings.Cut(fields[0], "=")
	m := runtimetest.FakeModel{Name: strings.TrimSpace(name)}
	if m.Name == "" {
		return m, fmt.Errorf("model %q has no name", spec)
	}
	if sized {
		var b bytes
		if err := b.UnmarshalText([]byte(size)); err != nil {
			return m, fmt.Errorf("model %s: %w", m.Name, err)
		}
		m.Size = int64(b)
	}
	for _, field := range fields[1:] {
		key, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		if err := set(&m, key, value); err != nil {
			return m, fmt.Errorf("model %s: %s: %w", m.Name, key, err)
		}
	}
	return m, nil
}

func set(m *runtimetest.FakeModel, key, value string) error {
	var err error
	switch key {
	case "ctx":
		m.Context, err = strconv.Atoi(value)
	case "caps":
		m.Capabilities = strings.Split(value, "+")
	case "params":
		m.Parameters, err = parseCount(value)
	case "quant":
		m.Quant = value
	case "family":
		m.Family = value
	case "tokens":
		m.Tokens, err = strconv.Atoi(value)
	case "width":
		m.EmbeddingWidth, err = strconv.Atoi(value)
	case "coding", "math", "reasoning", "summarization", "translation", "extraction", "all":
		return setStrength(m, strings.TrimSuffix(key, "all"), value)
	default:
		return fmt.Errorf("unknown; known are ctx, caps, params, quant, family, tokens, width, and tasks of the exam: coding, math, reasoning, summarization, translation, extraction, all")
	}
	return err
}

// setStrength sets the share of an exam's items the model answers right.
func setStrength(m *runtimetest.FakeModel, task, value string) error {
	share, err := strconv.ParseFloat(value, 64)
	if err != nil || share < 0 || share > 1 {
		return fmt.Errorf("%q is no share from 0 to 1", value)
	}
	if m.Strength == nil {
		m.Strength = map[string]float64{}
	}
	m.Strength[task] = share
	return nil
}
