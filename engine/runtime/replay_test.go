package runtime

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew; read the diff")

// protocols of the recorded paths.
var protocols = map[string]dialect.Protocol{
	"/api/chat": dialect.OllamaChat, "/api/generate": dialect.OllamaGenerate,
	"/api/embed": dialect.OllamaEmbed, "/api/embeddings": dialect.OllamaEmbeddings,
	"/v1/chat/completions": dialect.OpenAIChat, "/v1/completions": dialect.OpenAICompletion, "/v1/embeddings": dialect.OpenAIEmbeddings,
}

// TestEveryRecordedAnswerIsReadAsRecorded runs each recorded generation
// through its adapter: the request of an Ollama client goes out as it was, and
// the answer's chunks are as written in testdata/replay.golden.
func TestEveryRecordedAnswerIsReadAsRecorded(t *testing.T) {
	var got strings.Builder
	for _, kind := range []string{KindOllama, KindLlamaServer} {
		files, _ := filepath.Glob(filepath.Join("testdata", "recorded", kind, "*.txt"))
		for _, f := range files {
			name := strings.TrimSuffix(filepath.Base(f), ".txt")
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(b), "POST ") {
				continue
			}
			rec := record(t, kind, name)
			if rec.method != "POST" || protocols[rec.path] == "" {
				continue
			}
			fmt.Fprintf(&got, "== %s/%s %s\n", kind, name, rec.path)
			got.WriteString(runRecorded(t, kind, rec))
		}
	}
	golden := filepath.Join("testdata", "replay.golden")
	if *rewrite {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the chunks differ from %s (run with -rewrite and read the diff); got:\n%s", golden, firstDifference(got.String(), string(want)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return strings.Join(g[max(0, i-3):min(len(g), i+3)], "\n")
		}
	}
	return "(it ends early)"
}

func runRecorded(t *testing.T, kind string, rec recording) string {
	p, url := newReplay(t, kind, rec.name)
	body := rec.request
	if kind == KindLlamaServer && strings.HasPrefix(body, "{") && !strings.Contains(body, `"model"`) {
		body = `{"model":"big",` + body[1:]
	}
	r, problem := dialect.Parse(protocols[rec.path], []byte(body))
	if problem != nil {
		return fmt.Sprintf("not sent: %s\n", problem.Message)
	}
	a := open(t, Target{Name: "recorded", Kind: kind, URL: url})
	caps := fleet.Capabilities{}
	for _, c := range []fleet.Capability{fleet.CapTools, fleet.CapThinking, fleet.CapVision} {
		caps.Set(c, fleet.Yes, fleet.SourceOperator)
	}
	s, edits, err := a.Do(t.Context(), Call{Request: r, Model: r.Model, Deployment: &fleet.Deployment{Kind: kind, Capabilities: caps}})
	if kind == KindOllama && p.asked[0] != rec.request {
		t.Errorf("%s: an Ollama client's request went out changed: %s", rec.name, p.asked[0])
	}
	if len(edits) > 0 {
		t.Errorf("%s: edits %q", rec.name, edits)
	}
	if err != nil {
		return failureText(err)
	}
	defer s.Close()
	var out strings.Builder
	for {
		c, err := s.Next()
		if err == io.EOF {
			return out.String()
		}
		if err != nil {
			return out.String() + failureText(err)
		}
		out.WriteString(chunkText(c))
	}
}

func failureText(err error) string {
	var f *fleet.Failure
	if !errors.As(err, &f) {
		return "an error that is no failure: " + err.Error() + "\n"
	}
	return fmt.Sprintf("failure %s status=%d code=%s caller=%v may_run=%v: %s\n", f.Class, f.Status, f.Code, f.Caller, f.MayRun, f.Message)
}

func chunkText(c *dialect.Chunk) string {
	var b strings.Builder
	if len(c.Thinking) > 2 {
		fmt.Fprintf(&b, " thinking=%s", c.Thinking)
	}
	if len(c.Text) > 2 {
		fmt.Fprintf(&b, " text=%s", c.Text)
	}
	for _, d := range c.Tools {
		fmt.Fprintf(&b, " tool[%d id=%q name=%q args=%s]", d.Index, d.ID, d.Name, d.Arguments)
	}
	for _, v := range c.Vectors {
		fmt.Fprintf(&b, " vector[%d: %.4f...]", len(v), v[0])
	}
	if c.Logprobs != nil {
		fmt.Fprintf(&b, " logprobs=%s", c.Logprobs)
	}
	if c.Context != nil {
		fmt.Fprintf(&b, " context[%d bytes]", len(c.Context))
	}
	if c.Finish != "" {
		fmt.Fprintf(&b, " finish=%s", c.Finish)
	}
	if u := c.Usage; u != nil {
		fmt.Fprintf(&b, " in=%d out=%d cached=%d reasoning=%d", u.Input, u.Output, u.Cached, u.Reasoning)
	}
	if tm := c.Timings; tm != nil && tm.Total > 0 {
		fmt.Fprintf(&b, " load=%s prefill=%s decode=%s", tm.Load, tm.Prefill, tm.Decode)
	}
	if c.Native != nil {
		b.WriteString(" native")
	}
	if c.Final {
		b.WriteString(" final")
	}
	if b.Len() == 0 {
		return "(nothing)\n"
	}
	return b.String()[1:] + "\n"
}

// open makes an adapter that is closed with the test.
func open(t testing.TB, target Target) Adapter {
	t.Helper()
	a, err := New(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.(Closer).Close)
	return a
}
