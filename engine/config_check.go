package engine

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"bellwether/engine/runtime"
)

// Validate checks every value by itself and the settings against each other.
// Its error joins one *SettingError for each fault.
func (c *Config) Validate() error {
	var wrong []error
	for i := range settings {
		s := &settings[i]
		if err := s.kind.check(c.field(s.Key).Interface()); err != nil {
			e := wrongValue(s, c.where(s.Key), "", err)
			wrong = append(wrong, e)
		}
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	for _, rule := range rules {
		if problem := rule.broken(c); problem != "" {
			wrong = append(wrong, c.placed(rule.key, problem))
		}
	}
	return errors.Join(wrong...)
}

// placed makes the error of a broken rule. A problem that begins with the name
// of an entry, or with its place in a list as [2], is placed at that entry's own
// line.
func (c *Config) placed(key, problem string) *SettingError {
	if name, rest, ok := strings.Cut(problem, ": "); ok {
		entry := key + "." + name
		if strings.HasPrefix(name, "[") {
			entry = key + name
		}
		if place := c.where(entry); place != "" {
			return &SettingError{Where: place, Key: entry, Problem: rest}
		}
	}
	return &SettingError{Where: c.where(key), Key: key, Problem: problem}
}

// rules are what settings must keep among each other. broken says what is
// wrong, "" when nothing is; see placed.
var rules = []struct {
	key    string
	broken func(c *Config) string
}{
	{"heartbeat.late", func(c *Config) string {
		if c.Heartbeat.Late < 2*c.Heartbeat.Interval {
			return fmt.Sprintf("must be at least twice heartbeat.interval (%s)", briefly(c.Heartbeat.Interval))
		}
		return ""
	}},
	{"heartbeat.offline", func(c *Config) string {
		if c.Heartbeat.Offline <= c.Heartbeat.Late {
			return fmt.Sprintf("must be more than heartbeat.late (%s)", briefly(c.Heartbeat.Late))
		}
		return ""
	}},
	{"routing.score.small_gb", func(c *Config) string {
		if c.Routing.Score.SmallGB > c.Routing.Score.LargeGB {
			return fmt.Sprintf("must not be more than routing.score.large_gb (%v)", c.Routing.Score.LargeGB)
		}
		return ""
	}},
	{"routing.hold.interval", func(c *Config) string {
		if c.Routing.Hold.Max > 0 && c.Routing.Hold.Interval > c.Routing.Hold.Max {
			return fmt.Sprintf("must not be more than routing.hold.max (%s)", briefly(c.Routing.Hold.Max))
		}
		return ""
	}},
	{"routing.classifier.enabled", func(c *Config) string {
		if c.Routing.Classifier.Enabled && c.Routing.Classifier.Deployment == "" {
			return "is on, and routing.classifier.deployment names no model that classifies"
		}
		return ""
	}},
	{"routing.classifier.deployment", (*Config).classifierProblem},
	{"routing.pinned_models", func(c *Config) string {
		for _, name := range c.Routing.PinnedModels {
			if what := c.standsFor(name); what != "" && !c.ownMember(name) {
				return fmt.Sprintf("%s is %s, and no model that could stay in memory; list models by name", name, what)
			}
		}
		return ""
	}},
	{"runtimes", func(c *Config) string {
		names, places := map[string]bool{}, map[string]string{}
		for i, r := range c.Runtimes {
			name, place := r.name(i), runtime.Place(r.URL)
			at := name + " at " + r.URL
			if other, twice := places[place]; twice {
				return fmt.Sprintf("[%d]: %s is the same server as %s: its memory and slots would count twice; keep one of the two", i, at, other)
			}
			places[place] = at
			if names[name] {
				return fmt.Sprintf("two are named %q; give each its own name", name)
			}
			names[name] = true
			if sameAddress(r.URL, c.Listen) {
				return fmt.Sprintf("%q is this program's own address (listen): it would ask itself", r.URL)
			}
		}
		return ""
	}},
	{"pools", func(c *Config) string {
		names := map[string]bool{}
		for _, p := range c.Pools {
			if names[p.Name] {
				return fmt.Sprintf("two are for the pool %q", p.Name)
			}
			names[p.Name] = true
			if p.MemoryGB > 0 && p.MarginGB >= p.MemoryGB {
				return fmt.Sprintf("pool %q: margin_gb (%v) leaves nothing of memory_gb (%v)", p.Name, p.MarginGB, p.MemoryGB)
			}
		}
		return ""
	}},
	{"deployments", (*Config).declarationProblem},
	{"aliases", (*Config).aliasProblem},
	{"embeddings", (*Config).contractProblem},
	{"security.api_keys", func(c *Config) string {
		names, keys := map[string]bool{}, map[Secret]string{}
		for _, k := range c.Security.APIKeys {
			if names[k.Name] {
				return fmt.Sprintf("two are named %q", k.Name)
			}
			names[k.Name] = true
			if other, twice := keys[k.Key]; twice {
				return fmt.Sprintf("%q and %q are the same key", other, k.Name)
			}
			keys[k.Key] = k.Name
		}
		return ""
	}},
}

// where names the place that set a key, for messages; "" for a default.
func (c *Config) where(key string) string {
	_, place, _ := strings.Cut(c.origin[key], " ")
	return place
}

// field returns the Config field of a key.
func (c *Config) field(key string) reflect.Value {
	v := reflect.ValueOf(c).Elem()
	for part := range strings.SplitSeq(key, ".") {
		v = tagged(v, part)
	}
	return v
}

// values returns all settings by key.
func (c *Config) values() map[string]any {
	out := make(map[string]any, len(settings))
	for i := range settings {
		out[settings[i].Key] = c.field(settings[i].Key).Interface()
	}
	return out
}
