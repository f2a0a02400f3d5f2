package engine

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellwether/engine/admin"
)

// bundleLog is how many of the last log lines go into a bundle.
const bundleLog = 1000

// Bundle is a zip of what helps to find a fault: how everything stands, the
// checks, the settings, the fleet as a scenario, the end of the log, versions.
// No prompt or answer is in any of it; secrets, owners' words, their folders and (unless
// asked for) the names of machines are taken out of the texts as they are written.
func (d uiDesk) Bundle(ctx context.Context, names bool) ([]byte, error) {
	e := d.e
	clean := e.redactor(names)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range []struct {
		name string
		text func() string
	}{
		{"README.txt", func() string { return bundleReadme }},
		{"status.json", func() string { return indented(e.Status()) }},
		{"health.json", func() string { return indented(e.health(ctx)) }},
		{"settings.json", func() string { return indented(settingsDesk{e}.Settings()) }},
		{"jobs.json", func() string { return indented(e.jobs()) }},
		{"queue.json", func() string { return indented(e.queue.Status()) }},
		{"fleet.scenario", e.Snapshot},
		{"log.txt", e.logText},
		{"versions.json", func() string { return indented(e.versions()) }},
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: time.Now().UTC()})
		if err == nil {
			_, err = w.Write([]byte(clean(f.text())))
		}
		if err != nil {
			return nil, fmt.Errorf("write the bundle: %w", err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("write the bundle: %w", err)
	}
	return b.Bytes(), nil
}

const bundleReadme = `A support bundle of Bellwether.

It holds the state of one machine's engine, its checks, its settings, the fleet
as it decides on it, and the end of its log. It holds no prompts, no answers and
no keys, nor why an owner paused; the owner's folders stand as ~, and machines
as machine-1, machine-2 ... unless their names were asked for. Models and apps
stand by their names. Read it before you send it: it is all plain text.
`

func indented(v any) string {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	_ = out.Encode(v)
	return b.String()
}

func (e *Engine) versions() map[string]string {
	return map[string]string{
		"bellwether": e.opts.Version, "go": goruntime.Version(), "os": goruntime.GOOS, "arch": goruntime.GOARCH,
		"started": e.started.UTC().Format(time.RFC3339), "now": time.Now().UTC().Format(time.RFC3339),
	}
}

func (e *Engine) logText() string {
	var b strings.Builder
	for _, l := range e.logs.Tail(0, bundleLog, slog.LevelDebug).Lines {
		fmt.Fprintf(&b, "%s %-5s %s", l.At.Format(time.RFC3339), l.Level, l.Message)
		for _, a := range l.Attrs {
			fmt.Fprintf(&b, " %s=%q", a.Key, a.Value)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Texts that look like what must not be told, wherever they come from.
var (
	urlUser  = regexp.MustCompile(`(://)[^/\s"@]+@`)
	keyLike  = regexp.MustCompile(`(?i)\b(sk-|bearer\s+|token[=:]\s*|api[_-]?key[=:]\s*)[A-Za-z0-9._~+/-]{8,}`)
	homeLike = regexp.MustCompile(`(/home/|/Users/|[A-Za-z]:\\+Users\\+)[^/\\\s"':]+`)
)

// redactor returns what takes secrets, folders and names out of a text.
func (e *Engine) redactor(names bool) func(string) string {
	var pairs []string
	add := func(from, to string) {
		if len(from) >= 4 {
			pairs = append(pairs, from, to)
			if quoted, err := json.Marshal(from); err == nil { // as it stands in JSON: a path of Windows
				if q := strings.Trim(string(quoted), `"`); q != from {
					pairs = append(pairs, q, to)
				}
			}
		}
	}
	for _, s := range e.secrets() {
		add(s, hidden)
	}
	c := e.conf()
	add(e.opts.Folders.Data, "DATA")
	add(c.DataDir, "DATA")
	add(e.opts.Folders.Logs, "LOGS")
	add(e.opts.Folders.Config, "CONFIG")
	if home, err := os.UserHomeDir(); err == nil && home != "/" {
		add(home, "~")
	}
	literal := strings.NewReplacer(byLength(pairs)...)
	owners := e.ownersWords()
	machines := e.machineNames()
	return func(s string) string {
		for _, o := range owners {
			s = o.ReplaceAllString(s, "${1}"+hidden+"${2}")
		}
		s = literal.Replace(s)
		s = urlUser.ReplaceAllString(s, "${1}"+hidden+"@")
		s = keyLike.ReplaceAllString(s, "${1}"+hidden)
		s = homeLike.ReplaceAllString(s, "~")
		if !names {
			for i, m := range machines {
				s = m.ReplaceAllString(s, fmt.Sprintf("machine-%d", i+1))
			}
		}
		return s
	}
}

// ownersWords matches why owners paused their machines, wherever it is told: all
// of a sentence, of a single word only where it stands by itself, so that a
// reason such as "work" takes no other word out of the bundle.
func (e *Engine) ownersWords() (out []*regexp.Regexp) {
	said := map[string]bool{"": true}
	for _, n := range e.registry.Snapshot().Nodes {
		reason := strings.TrimSpace(n.State.PauseReason)
		if said[reason] {
			continue
		}
		said[reason] = true
		forms := map[string]bool{reason: true, unquoted(strconv.Quote(reason)): true, unquoted(strings.TrimSpace(indented(reason))): true}
		for form := range forms {
			pattern := "()" + regexp.QuoteMeta(form) + "()"
			if !strings.Contains(reason, " ") {
				pattern = `(\(|"|\bpause_reason )` + regexp.QuoteMeta(form) + `(\)|"|\s)`
			}
			out = append(out, regexp.MustCompile(pattern))
		}
	}
	return out
}

// unquoted takes the quotes off.
func unquoted(quoted string) string { return quoted[1 : len(quoted)-1] }

// byLength sorts the pairs of a replacer: the longest text first, so that no
// part of it is replaced before.
func byLength(pairs []string) []string {
	type pair struct{ from, to string }
	all := make([]pair, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, pair{pairs[i], pairs[i+1]})
	}
	slices.SortStableFunc(all, func(a, b pair) int { return len(b.from) - len(a.from) })
	out := make([]string, 0, len(pairs))
	for _, p := range all {
		out = append(out, p.from, p.to)
	}
	return out
}

// secrets are all that this engine knows.
func (e *Engine) secrets() []string {
	c := e.conf()
	out := []string{e.token, fmt.Sprintf("%x", e.secret)}
	for _, k := range c.Security.APIKeys {
		out = append(out, k.Key.Reveal())
	}
	for _, r := range c.Runtimes {
		out = append(out, r.APIKey.Reveal())
	}
	return out
}

// machineNames matches the names of this machine and of the fleet's nodes, as
// words of their own.
func (e *Engine) machineNames() []*regexp.Regexp {
	names := []string{e.conf().Node.Name}
	if host, err := os.Hostname(); err == nil {
		short, _, _ := strings.Cut(host, ".")
		names = append(names, host, short)
	}
	for _, n := range e.registry.Snapshot().Nodes {
		names = append(names, n.Name)
	}
	var out []*regexp.Regexp
	seen := map[string]bool{"": true, "localhost": true}
	for _, name := range names {
		if key := strings.ToLower(name); !seen[key] {
			seen[key] = true
			out = append(out, regexp.MustCompile(`(?i)\b`+regexp.QuoteMeta(name)+`\b`))
		}
	}
	slices.SortStableFunc(out, func(a, b *regexp.Regexp) int { return len(b.String()) - len(a.String()) })
	return out
}

var (
	_ admin.Desk = uiDesk{}
)
