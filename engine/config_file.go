package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/knadh/koanf/maps"
	"go.yaml.in/yaml/v3"

	"bellwether/engine/document"
)

// fileParser reads the settings file for koanf. It works on YAML's nodes, not
// on plain values, because an error names its line.
type fileParser struct {
	name    string            // of the file, for messages
	origin  map[string]string // gets the line of each key
	secrets bool              // set when the file holds a key
	filled  bool              // set when the file holds more than comments

	values map[string]any
	wrong  []error
}

// Unmarshal returns the file's values, typed as the Config fields are, or all
// that is wrong with it.
func (p *fileParser) Unmarshal(text []byte) (map[string]any, error) {
	root, err := document.Read(text)
	var unread *document.Error
	if errors.As(err, &unread) {
		return nil, errors.New(unread.In(p.name))
	}
	p.values = map[string]any{}
	if root != nil {
		p.filled = root.Tag != "!!null"
		p.section("", root)
	}
	if len(p.wrong) > 0 {
		return nil, errors.Join(p.wrong...)
	}
	return maps.Unflatten(p.values, "."), nil
}

// Marshal is not needed: settings are never written by koanf.
func (p *fileParser) Marshal(map[string]any) ([]byte, error) {
	return nil, errors.New("settings are not written this way")
}

// section reads the keys below prefix.
func (p *fileParser) section(prefix string, n *yaml.Node) {
	if n.Tag == "!!null" {
		return // all of it is commented out
	}
	if n.Kind != yaml.MappingNode {
		p.fail(n, strings.TrimSuffix(prefix, "."), n.Value, errors.New("must hold settings of its own, each on a line"))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], follow(n.Content[i+1])
		key := prefix + name.Value
		if first, twice := seen[key]; twice {
			p.fail(name, key, "", fmt.Errorf("given twice, first in line %d", first))
			continue
		}
		seen[key] = name.Line
		p.entry(key, name, value)
	}
}

// entry reads one key: a setting, a section, or neither.
func (p *fileParser) entry(key string, name, value *yaml.Node) {
	s, ok := settingOf(key)
	switch {
	case ok:
		p.setting(s, value)
	case isSection(key):
		p.section(key+".", value)
	default:
		p.fail(name, key, "", unknownKey(key, append(settingKeys(), sections()...)))
	}
}

// entryLines notes where each entry of a table (aliases.fast) or a list
// (deployments[2]) begins, for what is found wrong with it later.
func (p *fileParser) entryLines(key string, value *yaml.Node) {
	switch value.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(value.Content); i += 2 {
			p.origin[key+"."+value.Content[i].Value] = "file " + p.at(value.Content[i].Line)
		}
	case yaml.SequenceNode:
		for i, n := range value.Content {
			p.origin[fmt.Sprintf("%s[%d]", key, i)] = "file " + p.at(n.Line)
		}
	}
}

func (p *fileParser) setting(s *Setting, value *yaml.Node) {
	if value.Tag == "!!null" {
		return
	}
	v, err := s.kind.node(value)
	if err != nil {
		written := ""
		if value.Kind == yaml.ScalarNode {
			written = value.Value
		}
		e := wrongValue(s, p.at(value.Line), written, err)
		var in *insideError
		if errors.As(err, &in) {
			e.Where = p.at(in.line)
		}
		p.wrong = append(p.wrong, e)
		return
	}
	p.values[s.Key] = v
	p.origin[s.Key] = "file " + p.at(value.Line)
	p.entryLines(s.Key, value)
	p.secrets = p.secrets || holdsSecret(v)
}

func (p *fileParser) fail(n *yaml.Node, key, value string, err error) {
	if key == "" {
		key = "the file"
	}
	p.wrong = append(p.wrong, &SettingError{Where: p.at(n.Line), Key: key, Value: value, Problem: err.Error()})
}

func (p *fileParser) at(line int) string { return fmt.Sprintf("%s:%d", p.name, line) }

func holdsSecret(v any) bool {
	switch list := v.(type) {
	case []APIKey:
		return len(list) > 0
	case []RuntimeConfig:
		for _, r := range list {
			if r.APIKey != "" {
				return true
			}
		}
	}
	return false
}

// isSection reports whether settings lie below the key.
func isSection(key string) bool {
	for i := range settings {
		if strings.HasPrefix(settings[i].Key, key+".") {
			return true
		}
	}
	return false
}

// sections returns the keys below which settings lie.
func sections() []string {
	var all []string
	for _, key := range settingKeys() {
		for i, r := range key {
			if r == '.' && !slices.Contains(all, key[:i]) {
				all = append(all, key[:i])
			}
		}
	}
	return all
}

// settingKeys returns all keys.
func settingKeys() []string {
	keys := make([]string, len(settings))
	for i := range settings {
		keys[i] = settings[i].Key
	}
	return keys
}
