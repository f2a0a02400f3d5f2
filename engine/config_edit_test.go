package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// changing makes a change of pairs of key and text; - means back to the default.
func changing(pairs ...string) map[string]*string {
	out := map[string]*string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "-" {
			out[pairs[i]] = nil
			continue
		}
		out[pairs[i]] = &pairs[i+1]
	}
	return out
}

// Only the lines of what changes are touched.
func TestSettingsAreChangedWhereTheyStand(t *testing.T) {
	const file = `# my fleet
listen: localhost:11500   # not the usual one

# how long
routing:
  hold: {max: 45s, interval: 1s}
  max_retries: 1 # enough

  score:
    model_hot: 60
runtimes:
  - {name: ollama, kind: ollama, url: "http://127.0.0.1:11434"}   # the big one
  # a second
  - name: lms
    url: http://127.0.0.1:8080
    api_key: hush-hush-1

# the end
log_level: info`
	for name, c := range map[string]struct {
		changes  map[string]*string
		from, to string // what is replaced in the file
	}{
		"a word, its comment kept":     {changing("listen", "localhost:11600"), "localhost:11500   # not", "localhost:11600  # not"},
		"a number":                     {changing("routing.max_retries", "2"), "max_retries: 1 # enough", "max_retries: 2  # enough"},
		"a nested one":                 {changing("routing.score.model_hot", "55"), "model_hot: 60", "model_hot: 55"},
		"back to the default":          {changing("routing.max_retries", "-"), "  max_retries: 1 # enough\n", ""},
		"one that is not there":        {changing("routing.score.model_cold", "9"), "    model_hot: 60\n", "    model_hot: 60\n    model_cold: 9\n"},
		"a section that is not there":  {changing("store.retention_days", "7"), "log_level: info", "log_level: info\nstore:\n  retention_days: 7\n"},
		"a deeper one":                 {changing("routing.timeouts.total", "2h"), "    model_hot: 60\n", "    model_hot: 60\n  timeouts:\n    total: 2h\n"},
		"the last line":                {changing("log_level", "debug"), "log_level: info", "log_level: debug\n"},
		"a default of one not there":   {changing("node.name", "-"), "", ""},
		"a list, secrets kept":         {changing("runtimes", `[{"name":"lms","url":"http://127.0.0.1:8081","api_key":"(hidden)"}]`), file[strings.Index(file, "runtimes:"):strings.Index(file, "\n# the end")], "runtimes:\n  - {name: lms, url: 'http://127.0.0.1:8081', api_key: hush-hush-1}\n"},
		"a word that looks like null":  {changing("node.name", "null"), "log_level: info", "log_level: info\nnode:\n  name: \"null\"\n"},
		"a table":                      {changing("aliases", `{"house":{"models":["a:1b","b:2b"]}}`), "log_level: info", "log_level: info\naliases:\n  house: {models: ['a:1b', 'b:2b']}\n"},
		"several, and one to be added": {changing("listen", "localhost:1", "store.max_mb", "64"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := editSettings("config.yaml", []byte(file), c.changes)
			if err != nil {
				t.Fatal(err)
			}
			want := file
			if c.from != "" {
				if !strings.Contains(file, c.from) {
					t.Fatalf("%q is not in the file", c.from)
				}
				want = strings.Replace(file, c.from, c.to, 1)
			}
			if name == "several, and one to be added" {
				if !strings.Contains(string(got), "listen: localhost:1  # not") || !strings.HasSuffix(string(got), "log_level: info\nstore:\n  max_mb: 64\n") {
					t.Errorf("got\n%s", got)
				}
				return
			}
			if strings.TrimRight(string(got), "\n") != strings.TrimRight(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Where lines do not tell settings apart, comments stay all the same.
func TestSettingsInFlowStyleAreChangedToo(t *testing.T) {
	for name, c := range map[string]struct{ file, key, value, want string }{
		"a section in one line":        {"# mine\nrouting: {hold: {max: 45s}} # long\n", "routing.hold.max", "50s", "max: 50s"},
		"an entry over several lines":  {"# mine\npools: [\n  {memory_gb: 8},\n]\nlog_level: info # why\n", "pools", `[{"memory_gb":9}]`, "memory_gb: 9"},
		"a section that holds nothing": {"# mine\nrouting:\n# nothing yet\nlog_level: info\n", "routing.max_retries", "1", "max_retries: 1"},
		"an anchor":                    {"# mine\nnode: {name: &n studio}\nlog_level: info\n", "node.name", "tower", "name: tower"},
		"a key in one word":            {"# mine\nrouting.hold.max: 45s\n", "routing.hold.max", "50s", "routing.hold.max: 50s"},
		"a literal text":               {"# mine\nnode:\n  name: |-\n    studio\nlog_level: info\n", "node.name", "tower", "name: tower"},
		"an empty file":                {"", "log_level", "warn", "log_level: warn"},
		"nothing but comments":         {"# mine\n#log_level: info\n", "log_level", "warn", "log_level: warn"},
	} {
		got, err := editSettings("config.yaml", []byte(c.file), changing(c.key, c.value))
		if err != nil || !strings.Contains(string(got), c.want) || c.file != "" && !strings.Contains(string(got), "# mine") {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// Whatever is changed, the lines of everything else stay as they were, and no
// section is left that holds nothing.
func TestAChangeLeavesEveryOtherLine(t *testing.T) {
	const list = "  pinned_models: [qwen3:8b, llama3.2:3b]   # mine\n"
	for name, c := range map[string]struct{ from, key, value, to string }{
		"within braces":             {"  hold: {max: 45s, interval: 1s} # wait\n", "routing.hold.max", "50s", "  hold: {max: 50s, interval: 1s}  # wait\n"},
		"new within braces":         {"  hold: {max: 45s}\n", "routing.hold.interval", "2s", "  hold: {max: 45s, interval: 2s}\n"},
		"new in empty braces":       {"  hold: {}\n", "routing.hold.interval", "2s", "  hold: {interval: 2s}\n"},
		"out of braces":             {"  hold: {max: 45s, interval: 1s}\n", "routing.hold.max", "-", "  hold: {interval: 1s}\n"},
		"the last of braces":        {"  hold: {max: 45s}\n", "routing.hold.max", "-", ""},
		"braces over lines":         {"  hold: {\n    max: 45s,\n    interval: 1s,\n  }\n", "routing.hold.max", "50s", "  hold: {max: 50s, interval: 1s}\n"},
		"the last of braces, lines": {"  hold: {\n    max: 45s\n  }\n", "routing.hold.max", "-", ""},
		"the last of a section":     {"  hold:\n    max: 45s\n", "routing.hold.max", "-", ""},
		"one of a section":          {"  hold:\n    max: 45s\n    interval: 1s\n", "routing.hold.max", "-", "  hold:\n    interval: 1s\n"},
	} {
		t.Run(name, func(t *testing.T) {
			head, tail := "# mine\nlisten:   localhost:11500\nrouting:\n"+list, "  max_retries:   1\nlog_level: 'info'\n"
			got, err := editSettings("config.yaml", []byte(head+c.from+tail), changing(c.key, c.value))
			if err != nil || string(got) != head+c.to+tail {
				t.Errorf("%v\n%s\nwant\n%s", err, got, head+c.to+tail)
			}
		})
	}
	const only = "# mine\nrouting:\n  # how long\n  hold:\n    max: 45s\nlog_level: info\n"
	got, err := editSettings("config.yaml", []byte(only), changing("routing.hold.max", "-"))
	if want := "# mine\n  # how long\nlog_level: info\n"; err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	got, err = editSettings("config.yaml", []byte("routing: {hold: {max: &m 45s}}\nlog_level: info\n"), changing("routing.hold.max", "-"))
	if err != nil || strings.Contains(string(got), "hold") || strings.Contains(string(got), "routing") {
		t.Errorf("of an anchor: %v\n%s", err, got)
	}
	got, err = editSettings("config.yaml", []byte("routing:\n  hold:\n    max: 45s\n"), changing("routing.hold.max", "-"))
	if err != nil || strings.TrimSpace(strings.Trim(string(got), "{}\n")) != "" {
		t.Errorf("of all there is: %v\n%s", err, got)
	}
}

func TestWrongChangesNameTheirSetting(t *testing.T) {
	for name, c := range map[string]struct{ key, value, want string }{
		"unknown":              {"routing.max_retrys", "1", "max_retries"},
		"not allowed":          {"log_level", "loud", "debug, info, warn, error"},
		"a list that is none":  {"pools", `[{"memory_gb":`, "cannot be read"},
		"inside a list":        {"pools", `[{"memory_gb":"much"}]`, "memory_gb"},
		"a key nobody knows":   {"security.api_keys", `[{"name":"new","key":"(hidden)"}]`, "write the key itself"},
		"a key with a wrong":   {"security.api_keys", `[{"name":"new","key":"short"}]`, "8 characters"},
		"a field there is not": {"runtimes", `[{"nmae":"x"}]`, "nmae"},
		"two documents":        {"pools", "[{memory_gb: 8}]\n---\n[{memory_gb: 9}]", "a second document"},
	} {
		_, err := editSettings("config.yaml", []byte("log_level: info\n"), changing(c.key, c.value))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "short") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if keys := byKey(err); keys[settingKeyOf(c.key)] == "" {
			t.Errorf("%s: by key %v", name, keys)
		}
	}
}

// A file of two documents would lose one of them when it is written anew.
func TestAFileOfTwoDocumentsIsNotChanged(t *testing.T) {
	for _, key := range []string{"log_level", "battery"} {
		got, err := editSettings("config.yaml", []byte("log_level: info\n---\nbattery: none\n"), changing(key, "none"))
		if err == nil || !strings.Contains(err.Error(), "config.yaml:3: a second document") {
			t.Errorf("%s: %v\n%s", key, err, got)
		}
	}
}

// Whatever is written, it reads back as it was meant, or nothing is written.
func TestChangedSettingsReadBackAsMeant(t *testing.T) {
	files := []string{"", "log_level: info\n", "routing:\n  hold:\n    max: 9s # x\n  max_retries: 1\n", "routing: {max_retries: 1}\nnode:\n  name: a\n", "# c\n\nlisten: localhost:1\n\n\nrouting.max_retries: 2"}
	keys := []struct {
		key    string
		values []string
	}{
		{"routing.max_retries", []string{"0", "2", "5"}}, {"log_level", []string{"debug", "warn"}}, {"node.name", []string{"a", "true", "null", "1", "x-y", "~", "'q'"}},
		{"routing.hold.max", []string{"10s", "1m", "30"}}, {"pools", []string{`[]`, `[{"memory_gb":4,"margin_gb":1}]`, `[{"name":"ram","memory_gb":"auto"}]`}},
		{"security.allowed_hosts", []string{"a.example, b.example", `["c.example"]`}},
	}
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.SampledFrom(files).Draw(t, "file"))
		for range rapid.IntRange(1, 6).Draw(t, "edits") {
			k := rapid.SampledFrom(keys).Draw(t, "key")
			v := rapid.SampledFrom(append(k.values, "-")).Draw(t, "value")
			before, err := settingsIn("f", text)
			if err != nil {
				t.Fatal(err)
			}
			out, err := editSettings("f", text, changing(k.key, v))
			var wrong *SettingError
			if errors.As(err, &wrong) {
				continue // a name with quotes, say
			}
			if err != nil {
				t.Fatalf("%s = %q in\n%s\n%v", k.key, v, text, err)
			}
			after, err := settingsIn("f", out)
			if err != nil {
				t.Fatal(err)
			}
			if _, there := after[k.key]; there != (v != "-") {
				t.Fatalf("%s = %q is there: %v in\n%s", k.key, v, there, out)
			}
			delete(before, k.key)
			delete(after, k.key)
			if len(before) != len(after) {
				t.Fatalf("%s = %q changed others:\n%s\nto\n%s", k.key, v, text, out)
			}
			if strings.Count(string(out), "#") < strings.Count(string(text), "#")-1 {
				t.Fatalf("a comment went:\n%s\nto\n%s", text, out)
			}
			text = out
		}
	})
}

func TestAFileKeepsItsRightsUnlessItHoldsKeys(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("rights are the folder's here")
	}
	dir := t.TempDir()
	mode := func(path string) os.FileMode {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	path := filepath.Join(dir, "real.yaml")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "config.yaml")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		want os.FileMode
	}{{"log_level: info\n", 0o644}, {"security: {api_keys: [{name: a, key: hush-hush-1}]}\n", 0o600}} {
		if err := replaceSettings(link, []byte(c.text)); err != nil || mode(path) != c.want {
			t.Errorf("%q: %v, mode %o", c.text, err, mode(path))
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link became a file")
	}
	fresh := filepath.Join(dir, "new", "config.yaml")
	if err := replaceSettings(fresh, []byte("log_level: info\n")); err != nil || mode(fresh) != 0o600 {
		t.Errorf("a new file: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".settings-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
