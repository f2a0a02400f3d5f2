package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellwether/engine/admin"
	"bellwether/engine/route"
)

func TestExplainReadsFileInputAndLines(t *testing.T) {
	t.Parallel()
	h, _ := studio(t)
	h.ask(t, "tiny")
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, bad := file("good.json", chat("tiny", true)), file("bad.json", chat("nothing", true))
	id := h.status(t).Node.ID

	live := h.run(t, "explain", "--live", good).ends(t, exitDone).says(t, "serve studio/ollama/tiny", "because", "slots", "speed estimated").lacks(t, id).lacks(t, "p75:")
	if piped := h.runWith(t, chat("tiny", true), "explain", "--live", "-").ends(t, exitDone); firstLine(piped.out) != firstLine(live.out) {
		t.Errorf("from standard input:\n%s\nfrom a file:\n%s", piped.out, live.out)
	}
	h.run(t, "explain", "--live", bad).ends(t, exitRefused).says(t, "refuse with status 503", "bellwether models pull nothing")
	h.runWith(t, `{"model":`, "explain", "--live", "-").ends(t, exitRefused)

	x := decode[admin.Explained](t, h.run(t, "explain", "--live", good, "--json").ends(t, exitDone).out)
	if x.Verdict != route.Serve || !strings.HasPrefix(x.Chosen, id+"/") || x.Record == nil || x.Micros <= 0 || x.Requirements.Tokens.Input < 1 {
		t.Errorf("explain --json: %+v", x)
	}

	lines := file("many.jsonl", chat("tiny", false)+"\n\n{broken\n"+chat("nothing", false)+"\n")
	var got []string
	for line := range strings.Lines(h.run(t, "explain", "--live", "--jsonl", lines).ends(t, exitDegraded).out) {
		l := decode[struct {
			Requirements *route.Requirements
			Micros       *float64
			Verdict      string
			Error        string
		}](t, line)
		if l.Micros == nil {
			t.Errorf("a line lacks micros: %s", line)
		}
		if l.Error != "" {
			got = append(got, "error")
		} else if l.Requirements != nil {
			got = append(got, l.Verdict)
		}
	}
	if strings.Join(got, " ") != "serve error refuse" {
		t.Errorf("lines: %v", got)
	}
}

func firstLine(s string) string { line, _, _ := strings.Cut(s, "\n"); return line }

func TestExplainWorksOnWhatTheEngineLeft(t *testing.T) {
	t.Parallel()
	h, _ := studio(t)
	h.ask(t, "tiny")
	until(t, "the model is reported loaded", func() bool { s := h.status(t); return s.residency("ollama", "tiny") == "loaded" })
	saved := filepath.Join(t.TempDir(), "saved")
	h.run(t, "status", "--snapshot", saved).ends(t, exitDone).says(t, saved)
	live := h.runWith(t, chat("tiny", true), "explain", "--live", "-").ends(t, exitDone)
	stop(t, h.engine)

	byFile := h.runWith(t, chat("tiny", true), "explain", "--snapshot", saved, "-").ends(t, exitDone)
	left := h.runWith(t, chat("tiny", true), "explain", "-").ends(t, exitDone)
	for name, s := range map[string]said{"--snapshot": byFile, "the state left behind": left} {
		if s.out != live.out {
			t.Errorf("%s:\n%s\nlive:\n%s", name, s.out, live.out)
		}
	}
	h.runWith(t, chat("nothing", true), "explain", "-").ends(t, exitRefused).says(t, "bellwether models pull nothing")
	h.runWith(t, chat("tiny", true), "explain", "--snapshot", filepath.Join(h.dir, "config.yaml"), "-").ends(t, exitFailed)
}

// What a request asks for by its headers is explained with them, of the running
// engine as of a saved state.
func TestExplainTakesTheHeadersOfARequest(t *testing.T) {
	t.Parallel()
	h, _ := studio(t)
	h.ask(t, "tiny")
	saved := filepath.Join(t.TempDir(), "saved")
	h.run(t, "status", "--snapshot", saved).ends(t, exitDone)
	file := filepath.Join(t.TempDir(), "request.json")
	if err := os.WriteFile(file, []byte(chat("auto", false)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, from := range [][]string{{"--live"}, {"--snapshot", saved}} {
		explain := func(more ...string) said {
			return h.run(t, slices.Concat([]string{"explain", file, "--json"}, from, more)...)
		}
		x := decode[admin.Explained](t, explain("-H", "X-Fleet-Profile: fast", "--header", "x-fleet-tags: night, cron", "-H", "X-Fleet-Priority:batch",
			"-H", "X-Fleet-No-Fallback: 1", "-H", "X-Fleet-Locality: this_node", "-H", "X-Fleet-Profile: quality").ends(t, exitDone).out)
		n := x.Requirements
		if x.Record.Profile != "fast" || !n.Batch || !n.NoFallback || n.Locality != "this_node" || strings.Join(n.Tags, " ") != "night cron" {
			t.Errorf("%v: profile %s, needs %+v", from, x.Record.Profile, n)
		}
		explain("-H", "X-Fleet-Node: nowhere").ends(t, exitRefused).says(t, "nowhere")
		explain("-H", "X-Fleet-Profile: fst").ends(t, exitRefused).says(t, "X-Fleet-Profile says fst", "balanced, fast, quality")
		explain("-H", "X-Fleet-No-Fallback: maybe").ends(t, exitRefused).says(t, "X-Fleet-No-Fallback says maybe")
		explain("-H", "X-Fleet-Profile").ends(t, exitUsage)
		explain("-H", "X-Fleet-Profile: a\nb: c").ends(t, exitUsage)
		explain("-H", "X-Fleet-Admin: me").ends(t, exitUsage)
	}
}

func TestExplainTellsProtocolsApart(t *testing.T) {
	t.Parallel()
	h, _ := studio(t)
	for name, body := range map[string]string{
		"openai":      chat("tiny", false),
		"responses":   `{"model":"tiny","input":"hi","instructions":"be brief"}`,
		"ollama":      `{"model":"tiny","messages":[{"role":"user","content":"hi"}],"options":{"num_ctx":2048}}`,
		"generate":    `{"model":"tiny","prompt":"hi"}`,
		"completions": `{"model":"tiny","prompt":"hi","max_tokens":5}`,
		"embeddings":  `{"model":"words","input":["a","b"]}`,
	} {
		if s := h.runWith(t, body, "explain", "--live", "-"); s.code != exitDone {
			t.Errorf("%s: %s%s", name, s.out, s.err)
		}
	}
	h.runWith(t, `{"model":"tiny","max_tokens":10,"system":"x","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`,
		"explain", "--live", "--protocol", "anthropic-messages", "-").ends(t, exitDone).says(t, "serve")
	h.runWith(t, chat("tiny", false), "explain", "--live", "--protocol", "smtp", "-").ends(t, exitUsage)
}
