package engine

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Shown is one setting with its value, as the settings page gives it. Values
// are plain JSON: durations in seconds, secrets hidden.
type Shown struct {
	Setting
	Value   any    `json:"value"`
	Default any    `json:"default"`
	Source  string `json:"source"` // default, file NAME:LINE, env NAME, flag NAME
}

// InForce is what a running engine runs with.
type InForce struct {
	Address string `json:"address"` // where apps find it; the port may be another than that of listen
	File    string `json:"file"`    // the settings file that it reads, whether or not there is one
	// Error is what is wrong with the file now, while the settings before stay in
	// force; "" = nothing.
	Error string `json:"error,omitempty"`
	// Waiting are the settings whose change counts after a restart; they are given
	// as they are until then.
	Waiting  []string `json:"waiting,omitempty"`
	Settings []Shown  `json:"settings"`
}

// File is the settings file that is read, whether or not there is one; "" = none.
func (c *Config) File() string { return c.file }

// Source says where a key's value comes from: default, file NAME:LINE, env
// NAME or flag NAME.
func (c *Config) Source(key string) string {
	if from := c.origin[key]; from != "" {
		return from
	}
	return "default"
}

// Describe returns every setting with its value and where that comes from, in
// the order of the docs.
func (c *Config) Describe() []Shown {
	base := c.base
	if base == nil {
		base = Default()
	}
	out := make([]Shown, 0, len(settings))
	for _, s := range settings {
		out = append(out, Shown{
			Setting: s, Source: c.Source(s.Key),
			Value:   s.kind.show(c.field(s.Key).Interface()),
			Default: s.kind.show(base.field(s.Key).Interface()),
		})
	}
	return out
}

// Changes compares two configs: the keys whose change is in force at once, and
// those that need a restart.
func (c *Config) Changes(next *Config) (live, restart []string) {
	for i := range settings {
		key := settings[i].Key
		if reflect.DeepEqual(c.field(key).Interface(), next.field(key).Interface()) {
			continue
		}
		if settings[i].Restart {
			restart = append(restart, key)
		} else {
			live = append(live, key)
		}
	}
	return live, restart
}

// PrintValue writes a shown value on one line, as the settings file would.
func PrintValue(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64, int, bool:
		return fmt.Sprint(v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// SettingsDoc returns the page that documents every setting, as Markdown.
func SettingsDoc() string {
	var b strings.Builder
	b.WriteString(settingsIntro)
	d := Default()
	for _, s := range settings {
		fmt.Fprintf(&b, "\n## `%s`\n\n%s\n\n", s.Key, s.Doc)
		fmt.Fprintf(&b, "- default: %s\n", docDefault(&s, d))
		fmt.Fprintf(&b, "- allowed: %s\n", s.kind.allowed())
		if len(s.Env) > 0 {
			fmt.Fprintf(&b, "- variable: `%s`\n", strings.Join(s.Env, "`, `"))
		}
		effect := "at once"
		if s.Restart {
			effect = "after a restart"
		}
		fmt.Fprintf(&b, "- scope: %s; a change counts %s\n", s.Scope, effect)
		if s.Later != "" {
			fmt.Fprintf(&b, "- not yet: %s\n", s.Later)
		}
	}
	return b.String()
}

const settingsIntro = `# Settings

One YAML file, over it variables, over them flags. ` + "`bellwether config show`" + ` gives every value with where it comes from, as the engine has it that runs on the data folder, or else as a start would; which of both, and from which file, it says. ` + "`bellwether config check`" + ` reads the file without starting anything, ` + "`bellwether config path`" + ` says where the file is.

A wrong value, also a second YAML document in the file (after a line ---), is named with file, line, key and what is allowed. At start it stops the program; later the last good settings stay in force. Times are written as 90s, 1h30m or plain seconds; sizes in GB are 2^30 bytes and in MB 2^20, as memory is sold and as most systems show it, and so is every size that Bellwether shows. Ollama's own list counts 10^9 to the GB, so a model looks 7 % larger there. Lists are written with commas in variables. Settings of scope *node* are this machine's own; those of scope *fleet* are the same on every machine of a fleet.

    listen: localhost:11435
    runtimes:
      - {name: ollama, kind: ollama, url: http://127.0.0.1:11434}
    pools:
      - {memory_gb: auto, margin_gb: 2}
    aliases:
      fast: {models: [qwen3:4b, llama3.2:3b]}

This page is made from the program's own table.
`

func docDefault(s *Setting, d *Config) string {
	switch s.Key {
	case "data_dir":
		return "the system's place for a program's data"
	case "node.name":
		return "the host's name"
	case "runtimes":
		return "those found at their usual ports"
	case "pools":
		return "those found, with memory_gb auto and margin_gb 2"
	}
	text := PrintValue(s.kind.show(d.field(s.Key).Interface()))
	switch text {
	case "", "[]", "{}":
		return "none"
	}
	if s.Unit != "" && !strings.ContainsAny(text, ":n") {
		text += " " + s.Unit
	}
	return "`" + text + "`"
}

// sortedNames yields a map's keys in order.
func sortedNames[V any](m map[string]V) iter.Seq[string] {
	return slices.Values(slices.Sorted(maps.Keys(m)))
}
