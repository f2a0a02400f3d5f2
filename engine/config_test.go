package engine

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

var rewrite = flag.Bool("rewrite", false, "write generated files anew")

// loadText loads a settings file with that content, and variables.
func loadText(t *testing.T, text string, env ...string) (*Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(Sources{DataDir: "/data", NodeName: "studio", File: path, FileAsked: true, Env: env})
}

func mustLoad(t *testing.T, text string, env ...string) *Config {
	t.Helper()
	c, err := loadText(t, text, env...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// example is a value for each kind of key that is not its default, as text.
func example(t *testing.T, s *Setting) (text string, ok bool) {
	t.Helper()
	d := Default().field(s.Key)
	if s.Key == "routing.classifier.enabled" {
		return "", false // needs another beside it
	}
	if text, ok := map[string]string{"heartbeat.late": "12", "heartbeat.offline": "16s", "routing.score.large_gb": "30"}[s.Key]; ok {
		return text, true // others must fit to it
	}
	try := []string{"warn", "prefer", "reject", "predicted", "on", "off", "handover", "batch", "gradual", "same", "pause", "none", "always", "this_node", "deployment",
		"true", "false", "3", "7", "1s", "2m", "45", "0.5", "12", "3.0:20,1.0:2", "3/7 in 30s", "mon-fri 09:00-17:30", "http://127.0.0.1:4318",
		"10.0.0.0/8", "https://example.com", "studio.example:1234", "0.0.0.0:1234", "other"}
	for _, text := range try {
		if v, err := s.kind.text(text); err == nil && !reflect.DeepEqual(v, d.Interface()) {
			return text, true
		}
	}
	return "", false
}

func TestEveryKeyTakesDefaultThenFileThenVariableThenFlag(t *testing.T) {
	for _, s := range AllSettings() {
		t.Run(s.Key, func(t *testing.T) {
			base := mustLoad(t, "")
			if got := base.Source(s.Key); got != "default" {
				t.Errorf("without sources it comes from %q", got)
			}
			text, ok := example(t, &s)
			if !ok {
				if !slices.Contains([]string{"runtimes", "pools", "deployments", "aliases", "embeddings", "routing.profiles", "security.api_keys", "notifications", "routing.classifier.enabled"}, s.Key) {
					t.Fatal("no example value: add one to example()")
				}
				return // these have tests of their own
			}
			want, err := s.kind.text(text)
			if err != nil {
				t.Fatal(err)
			}
			file := yamlFor(s.Key, text)
			c := mustLoad(t, file)
			if got := c.field(s.Key).Interface(); !reflect.DeepEqual(got, want) {
				t.Errorf("file %q gives %v, want %v", file, got, want)
			}
			line := strings.Count(file, "\n")
			if got := c.Source(s.Key); got != fmt.Sprintf("file config.yaml:%d", line) {
				t.Errorf("source is %q, want line %d", got, line)
			}
			for _, name := range s.Env {
				if name == varHost || name == varPort {
					continue
				}
				c := mustLoad(t, "", name+"="+text)
				if got := c.field(s.Key).Interface(); !reflect.DeepEqual(got, want) || c.Source(s.Key) != "env "+name {
					t.Errorf("%s=%s gives %v from %s, want %v", name, text, got, c.Source(s.Key), want)
				}
			}
			c, err = Load(Sources{Env: []string{}, Flags: map[string]string{s.Key: text}})
			if err != nil || !reflect.DeepEqual(c.field(s.Key).Interface(), want) {
				t.Errorf("flag gives %v, %v", c, err)
			}
			if changed, restart := base.Changes(mustLoad(t, file)); !slices.Contains(append(changed, restart...), s.Key) {
				t.Errorf("a change of it goes unseen: %v %v", changed, restart)
			}
		})
	}
}

// yamlFor writes one key as a settings file.
func yamlFor(key, text string) string {
	var b strings.Builder
	parts := strings.Split(key, ".")
	for i, p := range parts {
		fmt.Fprintf(&b, "%s%s:", strings.Repeat("  ", i), p)
		if i < len(parts)-1 {
			b.WriteString("\n")
		}
	}
	fmt.Fprintf(&b, " %q\n", text)
	return b.String()
}

func TestLaterSourcesWin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte("routing: {max_retries: 3, max_slots: 4}\nlog_level: debug\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Sources{
		File: path, Env: []string{"FLEET_MAX_RETRIES=4", "FLEET_MAX_SLOTS=5", "PATH=/bin", "FLEET_LOG_LEVEL="},
		Flags: map[string]string{"routing.max_retries": "5"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Routing.MaxRetries != 5 || c.Routing.MaxSlots != 5 || c.LogLevel != "debug" {
		t.Errorf("got %d, %d, %s", c.Routing.MaxRetries, c.Routing.MaxSlots, c.LogLevel)
	}
	for key, want := range map[string]string{
		"routing.max_retries": "flag --set", "routing.max_slots": "env FLEET_MAX_SLOTS",
		"log_level": "file config.yaml:2", "battery": "default",
	} {
		if got := c.Source(key); got != want {
			t.Errorf("%s comes from %q, want %q", key, got, want)
		}
	}
}

func TestNamesOfAnEarlierRouterKeepWorking(t *testing.T) {
	c := mustLoad(t, "", "FLEET_HOST=127.0.0.1", "FLEET_PORT=4373", "FLEET_NODE_NODE_ID=attic", "FLEET_NODE_OLLAMA_HOST=http://localhost:11434",
		"FLEET_AUTO_PULL=true", "FLEET_VRAM_FALLBACK=true", "FLEET_HEARTBEAT_TIMEOUT=20.0", "FLEET_STALE_TIMEOUT=600.0",
		"FLEET_NODE_ENABLE_CAPACITY_LEARNING=true", "FLEET_PINNED_MODELS=gpt-oss:120b,gemma3:27b", "FLEET_NODE_ROUTER_URL=http://macstudio.local:11435",
		"FLEET_CORS_ORIGINS=http://localhost:*,chrome-extension://*", "FLEET_SCORE_QUEUE_DEPTH_PENALTY_PER=8", "FLEET_LOG_LEVEL=DEBUG",
		"FLEET_CLIENT_MAX_IN_FLIGHT=4", "FLEET_THINKING_OVERHEAD=2.5")
	for what, got := range map[string][2]any{
		"listen":   {c.Listen, "127.0.0.1:4373"},
		"name":     {c.Node.Name, "attic"},
		"runtime":  {c.Targets()[0].URL, "http://localhost:11434"},
		"pull":     {c.Routing.AutoPull, "on"},
		"fallback": {c.Routing.ModelFallback, true},
		"late":     {c.Heartbeat.Late, 20 * time.Second},
		"idle":     {c.Routing.Timeouts.StreamIdle, 10 * time.Minute},
		"learning": {c.Capacity.Learning, true},
		"pinned":   {fmt.Sprint(c.Routing.PinnedModels), "[gpt-oss:120b gemma3:27b]"},
		"join":     {fmt.Sprint(c.Peer.Join), "[http://macstudio.local:11435]"},
		"origins":  {len(c.Security.AllowedOrigins), 2},
		"per":      {c.Routing.Score.QueueDepthPer, 8.0},
		"level":    {c.LogLevel, "debug"},
		"clients":  {c.Clients.MaxInFlight, 4},
		"thinking": {c.Routing.Thinking.Overhead, 2.5},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: got %v, want %v", what, got[0], got[1])
		}
	}
	if c := mustLoad(t, "", "FLEET_AUTO_PULL=false"); c.Routing.AutoPull != "off" {
		t.Errorf("auto_pull false is %s", c.Routing.AutoPull)
	}
	if c := mustLoad(t, "listen: localhost:1\n", "FLEET_HOST=::1"); c.Listen != "[::1]:1" {
		t.Errorf("FLEET_HOST over the file gives %s", c.Listen)
	}
	if c := mustLoad(t, "", "FLEET_NODE_ID=new", "FLEET_NODE_NODE_ID=old"); c.Node.Name != "new" {
		t.Errorf("the older name won: %s", c.Node.Name)
	}
}

func TestUnknownVariablesAreWarnedOf(t *testing.T) {
	c := mustLoad(t, "", "FLEET_MAX_RETRYS=3", "FLEET_IMAGE_GENERATION=true", "FLEETING=1")
	want := []string{
		"FLEET_IMAGE_GENERATION is no setting and is ignored",
		"FLEET_MAX_RETRYS is no setting; did you mean FLEET_MAX_RETRIES?",
	}
	if !slices.Equal(c.Warnings, want) {
		t.Errorf("warnings: %q", c.Warnings)
	}
}

func TestOllamasOwnVariableCountsOnlyForThisMachine(t *testing.T) {
	for value, want := range map[string]string{
		"0.0.0.0":                "http://127.0.0.1:11434",
		"0.0.0.0:5000":           "http://127.0.0.1:5000",
		"localhost":              "http://localhost:11434",
		":8080":                  "http://127.0.0.1:8080",
		"http://127.0.0.1":       "http://127.0.0.1:80",
		"https://localhost/base": "https://localhost:443/base",
		"[::1]:11434":            "http://[::1]:11434",
		"::1":                    "http://[::1]:11434",
		"localhost:11435":        "", // us
		"http://127.0.0.1:11435": "", // us
		"studio.local:11434":     "", // another machine
		"192.168.1.4":            "",
	} {
		c := mustLoad(t, "", "OLLAMA_HOST="+value)
		got := ""
		if len(c.Runtimes) > 0 {
			got = c.Runtimes[0].URL
		}
		if got != want {
			t.Errorf("OLLAMA_HOST=%s gives %q, want %q", value, got, want)
		}
		if (want == "") != (len(c.Warnings) == 1) {
			t.Errorf("OLLAMA_HOST=%s warns: %q", value, c.Warnings)
		}
	}
	c := mustLoad(t, "runtimes:\n  - {name: ollama, url: http://127.0.0.1:1, parallel: 2}\n  - {name: b, url: http://127.0.0.1:2}\n",
		"FLEET_OLLAMA_HOST=http://nas:11434", "OLLAMA_HOST=localhost")
	if len(c.Runtimes) != 2 || c.Runtimes[0].URL != "http://nas:11434" || c.Runtimes[0].Parallel != 2 {
		t.Errorf("the declared one should move: %+v", c.Runtimes)
	}
}

// A wrong value names its place, the key, what was written and what is right.
func TestWrongValues(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		env  []string
		want string
	}{
		"number":                       {"\nrouting:\n  max_retries: many\n", nil, `config.yaml:3: routing.max_retries: "many": not allowed; allowed: a whole number from 0 to 5`},
		"too large":                    {"routing: {max_retries: 6}", nil, `config.yaml:1: routing.max_retries: "6": not allowed; allowed: a whole number from 0 to 5`},
		"no such choice":               {"routing: {auto_pull: maybe}", nil, `config.yaml:1: routing.auto_pull: "maybe": not allowed; allowed: off, ask, on`},
		"duration":                     {"heartbeat: {late: soon}", nil, `config.yaml:1: heartbeat.late: "soon": not allowed; allowed: a time from 2s to 10m (90s, 1h30m, or seconds)`},
		"bool":                         {"wake_on_lan: perhaps", nil, `config.yaml:1: wake_on_lan: "perhaps": not allowed; allowed: true, false`},
		"list for a word":              {"log_level: [a, b]", nil, `config.yaml:1: log_level: not allowed; allowed: debug, info, warn, error`},
		"unknown key":                  {"routing:\n  max_retry: 3", nil, `config.yaml:2: routing.max_retry: no such setting; did you mean routing.max_retries?`},
		"key in wrong place":           {"max_body_mb: 3", nil, `config.yaml:1: max_body_mb: no such setting; did you mean security.max_body_mb?`},
		"unknown section":              {"rooting: {max_retries: 3}", nil, `config.yaml:1: rooting: no such setting; did you mean routing?`},
		"word for a section":           {"routing: fast", nil, `config.yaml:1: routing: "fast": must hold settings of its own, each on a line`},
		"given twice":                  {"battery: own\nlog_level: info\nbattery: none", nil, `config.yaml:3: battery: given twice, first in line 1`},
		"bad YAML":                     {"a: [", nil, `config.yaml:1: "a: [": a list that [ began, here or before, is not ended: write ] after its last entry, and commas between them`},
		"two documents":                {"log_level: info\n---\n# the rest\nbattery: none", nil, `config.yaml:4: a second document begins here, after a line ---, and only one is read: put what it says into the first (which begins in line 1), or delete it`},
		"not a mapping":                {"- a", nil, `config.yaml:1: the file: must hold settings of its own, each on a line`},
		"nested":                       {"runtimes:\n  - {name: a, url: http://h:1}\n  - name: b\n    url: nowhere", nil, `config.yaml:4: runtimes[1].url: "nowhere": not allowed; allowed: http://host:port or https://...`},
		"nested unknown":               {"runtimes:\n  - {url: http://h:1, api_kee: x}", nil, `config.yaml:2: runtimes[0].api_kee: no such setting; did you mean api_key?`},
		"nested missing":               {"runtimes:\n  - {name: a}", nil, `config.yaml:2: runtimes[0]: url is missing`},
		"key in the URL":               {"runtimes: [{url: 'http://me:secret@h:1'}]", nil, `config.yaml:1: runtimes[0].url: "http://me:secret@h:1": not allowed: only scheme, host, port and path; a key goes to api_key`},
		"deep":                         {"runtimes:\n  - url: http://h:1\n    timeouts: {total: 0.1s}", nil, `config.yaml:3: runtimes[0].timeouts.total: "0.1s": not allowed; allowed: a time from 1s to 168h (90s, 1h30m, or seconds), or fleet`},
		"capability":                   {"deployments: [{match: x, capabilities: {tool: yes}}]", nil, `config.yaml:1: deployments[0].capabilities.tool: no such capability; did you mean tools?`},
		"no capability":                {"deployments: [{match: x, capabilities: {flying: yes}}]", nil, `config.yaml:1: deployments[0].capabilities.flying: no such capability; there are chat, embedding, tools, tool_choice_required, parallel_tools, json_object, json_schema, vision, audio_in, thinking, insert, streaming, continuation`},
		"quality's task":               {"deployments:\n  - match: x\n    quality: {codding: 0.5}", nil, `config.yaml:3: deployments[0].quality.codding: no such task; did you mean coding?`},
		"quality's value":              {"deployments:\n  - match: x\n    quality: {coding: 1.5}", nil, `config.yaml:3: deployments[0].quality.coding: "1.5": not allowed; allowed: a number from 0 to 1`},
		"quality twice":                {"deployments:\n  - match: x\n    quality:\n      coding: 0.5\n      coding: 0.6", nil, `config.yaml:5: deployments[0].quality.coding: given twice, first in line 4`},
		"contradiction":                {"deployments:\n  - {match: 'qwen*', quality: {coding: 0.5}}\n  - {match: 'llama*', quality: {coding: 0.6}}\n  - {match: 'QWEN*', quality: {coding: 0.6}}", nil, `config.yaml:4: deployments[2]: says another quality.coding of QWEN* than deployments[0] (config.yaml:2); say it once`},
		"tools both ways":              {"deployments:\n  - {match: x, capabilities: {tools: yes}}\n  - {match: x, capabilities: {tools: no}}", nil, `config.yaml:3: deployments[1]: says another capabilities.tools of x than deployments[0] (config.yaml:2); say it once`},
		"secret not shown":             {"security:\n  api_keys: [{name: a, key: short}]", nil, `config.yaml:2: security.api_keys[0].key: "(hidden)": not allowed; allowed: at least 8 characters without spaces, or sha256: and 64 hexadecimal digits`},
		"secret with spaces":           {"security:\n  api_keys: [{name: a, key: 'a long text'}]", nil, `config.yaml:2: security.api_keys[0].key: "(hidden)": not allowed; allowed: at least 8 characters without spaces, or sha256: and 64 hexadecimal digits`},
		"variable":                     {"", []string{"FLEET_PORT=99999"}, `FLEET_PORT: listen: "99999": not allowed; allowed: a host name or address in FLEET_HOST, a port from 0 to 65535 in FLEET_PORT`},
		"variable's secret":            {"", []string{"FLEET_ANTHROPIC_API_KEY=short"}, `FLEET_ANTHROPIC_API_KEY: security.api_keys: "(hidden)": not allowed; allowed: at least 8 characters without spaces, or sha256: and 64 hexadecimal digits`},
		"variable's part":              {"", []string{"FLEET_CIDR=10.0.0.0/8,home"}, `FLEET_CIDR: security.cidr: "home": not allowed; allowed: a list; each: a network such as 192.168.1.0/24`},
		"two wrong":                    {"battery: x\nfull_screen: y", nil, "config.yaml:1: battery: \"x\": not allowed; allowed: serve, own, none\nconfig.yaml:2: full_screen: \"y\": not allowed; allowed: serve, pause"},
		"wildcard origin":              {"security: {allowed_origins: ['*']}", nil, `config.yaml:1: security.allowed_origins[0]: "*": not allowed alone: every web page could use your models; name each origin`},
		"hours":                        {"quiet_hours: [mon-fry 09:00-17:00]", nil, `config.yaml:1: quiet_hours[0]: "mon-fry 09:00-17:00": not allowed; allowed: days and hours, such as mon-fri 09:00-17:30, sat 10:00-12:00 or 22:00-07:00`},
		"tiers rise":                   {"routing: {score: {fit_tiers: '1:3,2:20'}}", nil, `config.yaml:1: routing.score.fit_tiers: "1:3,2:20": not allowed; allowed: ratio:points, largest ratio first, such as 2.0:20,1.5:15,1.2:8,1.0:3`},
		"circuit":                      {"routing: {circuit: 11/10 in 60s}", nil, `config.yaml:1: routing.circuit: "11/10 in 60s": not allowed; allowed: failures/of in time, such as 5/10 in 60s`},
		"late before beat":             {"heartbeat:\n  interval: 10\n  late: 12", nil, `config.yaml:3: heartbeat.late: must be at least twice heartbeat.interval (10s)`},
		"a classifier without a model": {"routing: {classifier: {enabled: true}}", nil, `config.yaml:1: routing.classifier.enabled: is on, and routing.classifier.deployment names no model that classifies`},
		"a classifier that chooses":    {"routing: {classifier: {enabled: true, deployment: auto}}", nil, `config.yaml:1: routing.classifier.deployment: auto is an alias: choosing a model would begin with choosing one; name a small model that is installed (small:1b), or one deployment (node/runtime/model)`},
		"a classifier by an alias":     {"aliases: {Quick: {models: [small:1b]}}\nrouting: {classifier: {deployment: quick}}", nil, `config.yaml:2: routing.classifier.deployment: quick is an alias: choosing a model would begin with choosing one; name a small model that is installed (small:1b), or one deployment (node/runtime/model)`},
		"a classifier by a pattern":    {"aliases: {'gpt-*': {models: [small:1b]}}\nrouting: {classifier: {deployment: gpt-mini}}", nil, `config.yaml:2: routing.classifier.deployment: gpt-mini is an alias (gpt-*): choosing a model would begin with choosing one; name a small model that is installed (small:1b), or one deployment (node/runtime/model)`},
		"a classifier by a temper":     {"routing: {classifier: {deployment: 'auto:tiny'}}", nil, `config.yaml:1: routing.classifier.deployment: auto:tiny is no way of choosing there is: choosing a model would begin with choosing one; name a small model that is installed (small:1b), or one deployment (node/runtime/model)`},
		"a classifier by a contract":   {"embeddings: {wiki: {members: [nomic]}}\nrouting: {classifier: {deployment: wiki}}", nil, `config.yaml:2: routing.classifier.deployment: wiki is the embedding contract wiki: choosing a model would begin with choosing one; name a small model that is installed (small:1b), or one deployment (node/runtime/model)`},
		"a pinned alias":               {"routing: {pinned_models: [qwen3, 'auto:fast']}", nil, `config.yaml:1: routing.pinned_models: auto:fast is an alias, and no model that could stay in memory; list models by name`},
		"offline before late":          {"heartbeat: {offline: 10}", nil, `config.yaml:1: heartbeat.offline: must be more than heartbeat.late (15s)`},
		"a tab":                        {"listen: localhost:1\nnode:\n\tname: x", nil, `config.yaml:3: "\tname: x": it is indented with a tab: use spaces`},
		"an unclosed list":             {"", []string{"FLEET_PINNED_MODELS=[a, b"}, `FLEET_PINNED_MODELS: routing.pinned_models: "[a, b": a list that [ began is not ended: write names with commas between them, with or without [ and ] around all`},
		"a section nearly named":       {"routng: {hold: {max: 3}}\nrouting: {hld: {max: 3}}", nil, "config.yaml:1: routng: no such setting; did you mean routing?\nconfig.yaml:2: routing.hld: no such setting; did you mean routing.hold?"},
		"two of a name":                {"runtimes: [{name: a, url: http://h:1}, {name: a, url: http://h:2}]", nil, `config.yaml:1: runtimes: two are named "a"; give each its own name`},
		"one server twice":             {"runtimes:\n  - {name: a, url: http://127.0.0.1:21001}\n  - {name: b, url: 'http://localhost:21001/'}", nil, `config.yaml:3: runtimes[1]: b at http://localhost:21001/ is the same server as a at http://127.0.0.1:21001: its memory and slots would count twice; keep one of the two`},
		"a port the scheme gives":      {"runtimes: [{name: a, url: http://Box}, {name: b, url: http://box:80}]", nil, `config.yaml:1: runtimes[1]: b at http://box:80 is the same server as a at http://Box: its memory and slots would count twice; keep one of the two`},
		"asks itself":                  {"runtimes: [{url: http://127.0.0.1:11435}]", nil, `config.yaml:1: runtimes: "http://127.0.0.1:11435" is this program's own address (listen): it would ask itself`},
		"no room":                      {"pools: [{memory_gb: 2}]", nil, `config.yaml:1: pools: pool "": margin_gb (2) leaves nothing of memory_gb (2)`},
		"alias of nothing":             {"aliases: {a: {}}", nil, `config.yaml:1: aliases.a: names neither models, tags nor a profile`},
		"alias profile":                {"aliases: {a: {profile: quick, models: [m]}}", nil, `config.yaml:1: aliases.a: there is no profile "quick"; known: balanced, fast, quality`},
		"same key twice":               {"security: {api_keys: [{name: a, key: 12345678}, {name: b, key: 12345678}]}", nil, `config.yaml:1: security.api_keys: "a" and "b" are the same key`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadText(t, c.file, c.env...)
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestAMissingFileIsAnErrorOnlyWhenAskedFor(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "no.yaml")
	if _, err := Load(Sources{File: missing}); err != nil {
		t.Errorf("the default place may be empty: %v", err)
	}
	if _, err := Load(Sources{File: missing, FileAsked: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that was named: %v", err)
	}
	if c := mustLoad(t, "# all of it\n#   is commented out\nrouting:\nruntimes:\n"); c.Routing.MaxRetries != 2 {
		t.Errorf("empty sections: %+v", c.Routing)
	}
}

func TestNestedSettingsAreRead(t *testing.T) {
	c := mustLoad(t, `
runtimes:
  - &ollama {name: gpu, kind: ollama, url: "http://127.0.0.1:11434/", api_key: very secret, parallel: 4, cancel: drain, timeouts: {total: 10m}}
pools:
  - {name: vram0, memory_gb: 20.5}
  - {name: ram, memory_gb: auto, margin_gb: 4}
deployments:
  - {match: "*/llava*", capabilities: {vision: yes, tools: no, thinking: unknown}, context: 8192, enabled: false, quality: {coding: 0.7}}
aliases:
  gpt-4.1: {models: [qwen3:8b, llama3.2:3b], pinned_order: true}
embeddings:
  docs: {members: [nomic-embed-text], dimensions: 768}
routing:
  profiles: {mine: {quality: 1, latency: 0.2}}
  circuit: 3/7 in 2m
notifications: {pull: on, trouble: off}
security:
  api_keys:
    - {name: phone, key: a-long-secret, rights: [manage], limits: {priority: batch}}
`)
	if got := c.Targets(); len(got) != 1 || got[0].URL != "http://127.0.0.1:11434" || got[0].APIKey != "very secret" || !got[0].Drain || got[0].Parallel != 4 {
		t.Errorf("targets: %+v", got)
	}
	s := c.AgentSettings()
	if len(s.Pools) != 2 || s.Pools[0].Memory != 20.5*(1<<30) || s.Pools[0].Margin != 2<<30 || s.Pools[1].Memory != 0 || s.Pools[1].Margin != 4<<30 {
		t.Errorf("pools: %+v", s.Pools)
	}
	p := c.Policy()
	d := p.Declarations[0]
	if d.Capabilities[fleet.CapVision] != fleet.Yes || d.Capabilities[fleet.CapTools] != fleet.No || *d.Enabled || d.Context != 8192 || d.Quality["coding"] != 0.7 {
		t.Errorf("declaration: %+v", d)
	}
	if a := p.Aliases["gpt-4.1"]; !a.PinnedOrder || len(a.Models) != 2 {
		t.Errorf("alias: %+v", p.Aliases)
	}
	if (p.Profiles["mine"] != route.Weights{Quality: 1, Latency: 0.2, Residency: 0.3, Overhead: 0.1}) || p.Profiles["fast"] != route.DefaultPolicy().Profiles["fast"] {
		t.Errorf("profiles: %+v", p.Profiles)
	}
	if p.Circuit.Failures != 3 || p.Circuit.Window != 2*time.Minute || p.Circuit.RetryMax != 5*time.Minute {
		t.Errorf("circuit: %+v", p.Circuit)
	}
	if k := c.gatewayKeys(); len(k) != 1 || k[0].Name != "phone" || !k[0].Manage || !k[0].Batch || !k[0].Matches("a-long-secret") || k[0].Matches("a-long-secre") || k[0].Matches("") {
		t.Errorf("keys: %+v", k)
	}
	if !c.Notifications["pull"] || c.Notifications["trouble"] || c.Embeddings["docs"].Dimensions != 768 {
		t.Errorf("notifications %v, embeddings %v", c.Notifications, c.Embeddings)
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	c := mustLoad(t, `
runtimes: [{url: "http://127.0.0.1:1", api_key: hush-runtime}]
security: {api_keys: [{name: phone, key: hush-phone}]}
`, "FLEET_ANTHROPIC_API_KEY=hush-anthropic")
	shown, err := json.Marshal([]any{c.Describe(), c})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"JSON": string(shown), "%v": fmt.Sprintf("%v", c), "%+v": fmt.Sprintf("%+v", c), "%#v": fmt.Sprintf("%#v", c.Runtimes) + fmt.Sprintf("%#v", c.Security),
	} {
		if strings.Contains(text, "hush") {
			t.Errorf("%s shows a secret: %s", name, text)
		}
	}
	if !strings.Contains(string(shown), hidden) || !strings.Contains(string(shown), "phone") {
		t.Errorf("that a key is set should be seen: %s", shown)
	}
	if len(c.Security.APIKeys) != 2 || !c.Security.APIKeys[1].Matches("hush-anthropic") {
		t.Errorf("the variable should add a key: %v", c.Security.APIKeys)
	}
	digest := APIKey{Key: "sha256:8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918"}
	if !digest.Matches("admin") || digest.Matches("sha256:8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918") || (&APIKey{}).Matches("") {
		t.Error("a hashed key should match its text only, and no key nothing")
	}
}

func TestDefaultsAreTheEnginesOwn(t *testing.T) {
	c := Default()
	if err := c.Validate(); err != nil {
		t.Errorf("the defaults are wrong: %v", err)
	}
	got, want := c.Policy(), route.DefaultPolicy()
	if got.Hash == "" {
		t.Error("the policy has no hash")
	}
	got.Hash = ""
	if !reflect.DeepEqual(got, want) {
		t.Errorf("policy of the defaults:\n%+v\nwant\n%+v", got, want)
	}
	if err := (&Config{}).Validate(); err == nil {
		t.Error("an empty config passed")
	}
}

func TestThePolicysHashNamesItsContent(t *testing.T) {
	a, b := mustLoad(t, "battery: none"), mustLoad(t, "")
	if a.Policy().Hash != b.Policy().Hash {
		t.Error("a setting that the router does not see changed the hash")
	}
	seen := map[string]string{b.Policy().Hash: "default"}
	for _, text := range []string{"routing: {max_retries: 1}", "routing: {pinned_models: [m]}", "aliases: {a: {models: [m]}}", "deployments: [{match: m, context: 1}]"} {
		h := mustLoad(t, text).Policy().Hash
		if other, twice := seen[h]; twice {
			t.Errorf("%q and %q have one hash", text, other)
		}
		seen[h] = text
	}
}

func TestAnotherLookKeepsTheLastGoodSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("routing: {max_retries: 1}")
	c, err := Load(Sources{File: path, Env: []string{"FLEET_MAX_SLOTS=3"}})
	if err != nil {
		t.Fatal(err)
	}
	write("routing: {max_retries: lots}")
	if r := c.look(false); r.err == nil || r.config != c || c.Routing.MaxRetries != 1 || r.revision == c.revision {
		t.Errorf("a wrong file gave %+v", r)
	}
	write("routing: {max_retries: 0}\nlisten: localhost:1")
	r := c.look(false)
	next, err := r.config, r.err
	if err != nil || r.revision != next.revision || next.Routing.MaxRetries != 0 || next.Routing.MaxSlots != 3 {
		t.Fatalf("got %+v, %v", next, err)
	}
	live, restart := c.Changes(next)
	if fmt.Sprint(live, restart) != "[routing.max_retries] [listen]" {
		t.Errorf("changes: %v, %v", live, restart)
	}
}

func TestAFileWithKeysThatOthersCanReadIsWarnedOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte("security: {api_keys: [{name: a, key: 12345678}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]int{0o600: 0, 0o644: 1} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		c, err := Load(Sources{File: path})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Warnings) != want && os.PathSeparator == '/' {
			t.Errorf("mode %o: %q", mode, c.Warnings)
		}
	}
}

func TestSettingsDocIsUpToDate(t *testing.T) {
	path := filepath.Join("..", "assets", "docs", "settings.md")
	if *rewrite {
		if err := os.WriteFile(path, []byte(SettingsDoc()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != SettingsDoc() {
		t.Errorf("%s differs from the table of settings (%v): go test ./engine -run TestSettingsDoc -rewrite, then read the diff", path, err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("listen: localhost:1\nruntimes: [{url: http://h:1}]\n", "FLEET_PORT", "12")
	f.Add("a: &x {b: *x}\n", "OLLAMA_HOST", "[::")
	f.Add("routing: {score: {fit_tiers: [2:20, 1:3]}}", "FLEET_CIRCUIT", "5/10 in 60s")
	f.Add("aliases: {a: {models: m}}\n<<: {b: c}", "FLEET_POOL_MEMORY_GB", "nan")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, file, name, value string) {
		path := filepath.Join(dir, "config.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(Sources{File: path, Env: []string{name + "=" + value}})
		if err != nil {
			return
		}
		c.Policy()
		c.Targets()
		if err := c.Validate(); err != nil {
			t.Errorf("loaded, yet wrong: %v", err)
		}
		if _, err := json.Marshal(c.Describe()); err != nil {
			t.Errorf("cannot be shown: %v", err)
		}
	})
}

func TestTheClassifierIsSwitchedOnByWhateverSource(t *testing.T) {
	c := mustLoad(t, "routing: {classifier: {enabled: true, deployment: small:1b}}")
	if !c.Routing.Classifier.Enabled || c.Source("routing.classifier.enabled") != "file config.yaml:1" {
		t.Errorf("by file: %+v from %s", c.Routing.Classifier, c.Source("routing.classifier.enabled"))
	}
	c = mustLoad(t, "", "FLEET_CLASSIFIER_ENABLED=1", "FLEET_CLASSIFIER_DEPLOYMENT=small:1b")
	if !c.Routing.Classifier.Enabled || c.Source("routing.classifier.enabled") != "env FLEET_CLASSIFIER_ENABLED" {
		t.Errorf("by variable: %+v from %s", c.Routing.Classifier, c.Source("routing.classifier.enabled"))
	}
}
