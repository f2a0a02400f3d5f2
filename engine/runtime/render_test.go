package runtime

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// TestRequestsAreWrittenAsTheTableSays shows, for each client body in
// testdata/render.txt, what goes to either runtime and which edits are noted.
// The model can think, call tools and see unless the title says "plain".
func TestRequestsAreWrittenAsTheTableSays(t *testing.T) {
	file := filepath.Join("testdata", "render.txt")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, part := range strings.SplitAfter(string(b), "\n\n") {
		title, rest, ok := strings.Cut(part, "\n")
		if !ok || !strings.HasPrefix(title, "# ") {
			got.WriteString(part)
			continue
		}
		ask, _, _ := strings.Cut(rest, "\n")
		protocol, body, _ := strings.Cut(ask, " ")
		fmt.Fprintf(&got, "%s\n%s\n", title, ask)
		c := callOf(t, dialect.Protocol(protocol), body, !strings.Contains(title, "plain"))
		if strings.Contains(title, "changed") {
			c.Output = 100
		}
		if strings.Contains(title, "context") {
			c.Context = 8192
		}
		p, err := planOllama(c)
		got.WriteString("  ollama " + planText(t, err, func() (string, []byte, []string) { return p.path, p.body, p.edits }))
		q, err := planLlama(c, strings.Contains(title, "strict"))
		got.WriteString("  llama-server " + planText(t, err, func() (string, []byte, []string) { return q.path, q.body, q.edits }))
		got.WriteString("\n")
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got.String() != string(b) {
		t.Errorf("what is written differs from %s (run with -rewrite and read the diff):\n%s", file, firstDifference(got.String(), string(b)))
	}
}

func callOf(t *testing.T, p dialect.Protocol, body string, able bool) *Call {
	t.Helper()
	r, problem := dialect.Parse(p, []byte(body))
	if problem != nil {
		t.Fatalf("%s: %v", body, problem)
	}
	caps := fleet.Capabilities{}
	for _, name := range []fleet.Capability{fleet.CapTools, fleet.CapParallelTools, fleet.CapThinking, fleet.CapVision, fleet.CapInsert} {
		caps.Set(name, fleet.TriOf(able), fleet.SourceOperator)
	}
	return &Call{Request: r, Model: "there:latest", Deployment: &fleet.Deployment{Capabilities: caps, EmbeddingWidth: 96}}
}

func planText(t *testing.T, err error, plan func() (string, []byte, []string)) string {
	t.Helper()
	if err != nil {
		return failureText(err)
	}
	path, body, edits := plan()
	if !json.Valid(body) {
		t.Errorf("no JSON: %s", body)
	}
	text := path + " " + string(body) + "\n"
	for _, e := range edits {
		text += "    edit: " + e + "\n"
	}
	return text
}

// A real Ollama 0.33 holds a chat to nothing when format is "json" and the
// template is the model file's own; a schema it keeps to.
func TestFormatJSONIsSentAsASchemaWhereSchemasAreKnown(t *testing.T) {
	for _, version := range []string{"0.33.0", "0.4.0"} {
		d := &fleet.Deployment{Capabilities: ollamaCapabilities(&modelFacts{capabilities: []string{"completion"}}, version)}
		want := map[string]string{"0.33.0": `"format":{"type":"object"}`, "0.4.0": `"format":"json"`}[version]
		for p, body := range map[dialect.Protocol]string{
			dialect.OllamaChat: `{"model":"m","messages":[{"role":"user","content":"hi"}],"format":"json"}`,
			dialect.OpenAIChat: `{"model":"m","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_object"}}`,
		} {
			r, problem := dialect.Parse(p, []byte(body))
			if problem != nil {
				t.Fatal(problem)
			}
			plan, err := planOllama(&Call{Request: r, Model: "m", Deployment: d})
			if err != nil || !strings.Contains(string(plan.body), want) {
				t.Errorf("%s to %s: %s, %v", p, version, plan.body, err)
			}
		}
	}
}

func TestNothingToChangeLeavesTheBodyAsItCame(t *testing.T) {
	body := `{"model":"there:latest" , "messages":[ {"role":"user","content":"\u0068i"}], "options" : {"seed":1,"num_ctx":4096 }}`
	c := callOf(t, dialect.OllamaChat, body, true)
	c.Context = 4096
	p, err := planOllama(c)
	if err != nil || string(p.body) != body || len(p.edits) > 0 {
		t.Errorf("got %s, edits %q, %v", p.body, p.edits, err)
	}
}

func BenchmarkWriteMegabyte(b *testing.B) {
	body := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat(`all work \"and\" no play `, 40_000) + `"}],"max_tokens":100}`
	r, problem := dialect.Parse(dialect.OpenAIChat, []byte(body))
	if problem != nil {
		b.Fatal(problem)
	}
	c := &Call{Request: r, Model: "there:latest", Deployment: &fleet.Deployment{}}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := planOllama(c); err != nil {
			b.Fatal(err)
		}
	}
}
