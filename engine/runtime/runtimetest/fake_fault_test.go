package runtimetest

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

const (
	nativeStream = `{"model":"tiny","messages":[{"role":"user","content":"hi"}]}`
	v1Stream     = `{"model":"tiny","stream":true,"max_tokens":50,"input":"hi","messages":[{"role":"user","content":"hi"}]}`
)

// paths are the streams a fault is tried on.
var paths = map[string]string{
	"/api/chat": nativeStream, "/v1/chat/completions": v1Stream, "/v1/messages": v1Stream, "/v1/responses": v1Stream,
}

// As recorded in 40-runner-killed-mid-stream.
func TestKilledRunnerBreaksEachProtocolAsRecorded(t *testing.T) {
	f := start(t, FakeConfig{Models: models("tiny")})
	post(t, f, "/api/generate", `{"model":"tiny"}`)
	for path, body := range paths {
		t.Run(path, func(t *testing.T) {
			f.Inject(Fault{Break: BreakRunner, After: 3, Times: 1})
			loads := f.Loads("tiny")
			status, got := post(t, f, path, body) // a clean end: post fails on any other
			if status != 200 {
				t.Fatalf("status %d", status)
			}
			last := strings.TrimSuffix(got, "\n")
			last = last[strings.LastIndex(strings.TrimSuffix(last, "\n"), "\n")+1:]
			switch path {
			case "/api/chat":
				if last != `{"error":"an error was encountered while running the model: unexpected EOF"}` {
					t.Errorf("last line %s", last)
				}
			case "/v1/chat/completions":
				if !strings.Contains(last, `"model":"","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}`) {
					t.Errorf("last frame %s", last)
				}
			default:
				if !strings.Contains(last, "delta") {
					t.Errorf("last frame %s", last)
				}
			}
			for _, end := range []string{"[DONE]", "message_stop", "response.completed", `"done":true`, `"finish_reason":"`} {
				if strings.Contains(got, end) {
					t.Errorf("has the terminator %s", end)
				}
			}
			if ps := get(t, f, "/api/ps"); !strings.Contains(ps, "tiny:latest") {
				t.Errorf("ps no longer lists it: %s", ps)
			}
			if status, _ := post(t, f, path, body); status != 200 || f.Loads("tiny") != loads+1 {
				t.Errorf("next request: %d, %d loads after %d", status, f.Loads("tiny"), loads)
			}
		})
	}
}

func TestKilledRunnerFailsAWaitingRequestWith500(t *testing.T) {
	f := start(t, FakeConfig{Models: models("tiny")})
	f.Inject(Fault{Break: BreakHold, After: 1, Times: 1})
	running := send(t, f, "/api/chat", nativeStream)
	await(t, f, "it runs", func() bool { return seen(f, 0).Tokens == 1 })
	waiting := send(t, f, "/api/chat", nativeStream)
	await(t, f, "the other waits", func() bool { return f.Waiting("tiny") == 1 })
	f.KillRunner("tiny")
	if c := waiting.wait(t); c.status != 500 || !strings.Contains(c.body, "unexpected EOF") {
		t.Errorf("waiting: %d %s", c.status, c.body)
	}
	if c := running.wait(t); c.status != 200 || !strings.HasSuffix(c.body, "unexpected EOF\"}\n") {
		t.Errorf("running: %d %s", c.status, c.body)
	}
}

func TestCutDropsTheConnectionWithoutAnEnd(t *testing.T) {
	f := start(t, FakeConfig{Models: models("tiny")})
	for path, body := range paths {
		for _, b := range []Break{BreakCut, BreakCutMid} {
			for _, after := range []int{0, 3} {
				f.Inject(Fault{Break: b, After: after, Times: 1})
				c := send(t, f, path, body).wait(t)
				if c.err == nil {
					t.Errorf("%s %s after %d: clean end: %q", path, b, after, c.body)
				}
				if b == BreakCut && after == 3 && !strings.HasSuffix(c.body, "\n") {
					t.Errorf("%s: cut inside a frame: %q", path, c.body)
				}
				if b == BreakCutMid && strings.HasSuffix(c.body, "\n") {
					t.Errorf("%s after %d: cut between frames: %q", path, after, c.body)
				}
			}
		}
	}
	whole := strings.Replace(nativeStream, `"model"`, `"stream":false,"model"`, 1)
	f.Inject(Fault{Break: BreakCutMid, After: 3, Times: 1})
	if c := send(t, f, "/api/chat", whole).wait(t); c.err == nil || c.status != 200 || c.body == "" {
		t.Errorf("half a body: %d %v %q", c.status, c.err, c.body)
	}
	if status, _ := post(t, f, "/api/chat", whole); status != 200 || f.Running("tiny") != 0 {
		t.Errorf("next request %d, %d still run", status, f.Running("tiny"))
	}
}

func TestEndWithoutTerminatorIsClean(t *testing.T) {
	f := start(t, FakeConfig{Models: models("tiny")})
	for path, body := range paths {
		f.Inject(Fault{Break: BreakEnd, After: 3, Times: 1})
		status, got := post(t, f, path, body)
		if status != 200 || strings.Contains(got, "DONE") || strings.Contains(got, "_stop\"") || strings.Contains(got, "response.completed") || strings.Contains(got, `"done":true`) {
			t.Errorf("%s: %d %s", path, status, got)
		}
	}
}

func TestNextRequestsFailAndTheOnesAfterPass(t *testing.T) {
	f := start(t, FakeConfig{Models: models("tiny")})
	f.Inject(Fault{Skip: 1, Times: 2, Status: 502, Body: "<html>bad gateway</html>", ContentType: "text/html", RetryAfter: "3"})
	var got []int
	for range 4 {
		status, _ := post(t, f, "/api/chat", nativeStream)
		got = append(got, status)
	}
	if want := []int{200, 502, 502, 200}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if status, _ := post(t, f, "/api/show", `{"model":"tiny"}`); status != 200 {
		t.Error("a fault of generating paths hit /api/show")
	}
}

func TestSuccessThatIsNoCompletion(t *testing.T) {
	f := start(t, FakeConfig{Models: models("tiny")})
	f.Inject(Fault{Times: 1, Status: 200, Body: `{"ok":true}`})
	if _, body := post(t, f, "/api/chat", nativeStream); body != `{"ok":true}` {
		t.Errorf("%s", body)
	}
}

func TestMetadataFaultsHitOnlyTheirPath(t *testing.T) {
	f := start(t, FakeConfig{Models: models("tiny")})
	f.Inject(Fault{Path: "/api/tags", Status: 500, Body: `{"error":"boom"}`}, Fault{Path: "/api/ps", EmptyEntries: true})
	if got := get(t, f, "/api/tags"); got != `{"error":"boom"}` {
		t.Errorf("tags: %s", got)
	}
	if got := get(t, f, "/api/ps"); !strings.Contains(got, `"name":"","model":""`) {
		t.Errorf("ps: %s", got)
	}
	if got := get(t, f, "/api/version"); !strings.Contains(got, "version") {
		t.Errorf("version: %s", got)
	}
}

func TestHangAnswersNothingUntilTheClientLeaves(t *testing.T) {
	f := start(t, FakeConfig{Models: models("tiny")})
	f.Inject(Fault{Break: BreakHang})
	c := send(t, f, "/api/chat", nativeStream)
	await(t, f, "it hangs", func() bool { return seen(f, 0).Held })
	if seen(f, 0).Status != 0 {
		t.Error("headers were sent")
	}
	c.leave()
	await(t, f, "it is over", func() bool { return seen(f, 0).Done && seen(f, 0).Disconnected && f.Running("tiny") == 0 })
}

func TestUnloadMidRequestLetsItFinish(t *testing.T) {
	f := start(t, FakeConfig{Models: models("tiny")})
	f.Inject(Fault{Break: BreakUnload, After: 2, Times: 1}, Fault{Break: BreakHold, After: 3, Times: 1})
	c := send(t, f, "/api/chat", nativeStream)
	await(t, f, "it holds", func() bool { return seen(f, 0).Held })
	if got := get(t, f, "/api/ps"); got != `{"models":[]}` {
		t.Errorf("ps: %s", got)
	}
	f.Release()
	if c.wait(t); !strings.Contains(c.body, `"done":true`) {
		t.Errorf("%s", c.body)
	}
	post(t, f, "/api/chat", nativeStream)
	if got := f.Loads("tiny"); got != 2 {
		t.Errorf("loads %d", got)
	}
}

func TestLoadFaultsSlowOrFailLoads(t *testing.T) {
	f := start(t, FakeConfig{Models: models("tiny", "other")})
	f.Inject(Fault{Model: "tiny", LoadFail: "llama runner process has terminated: signal: killed", Times: 1})
	if status, body := post(t, f, "/api/chat", nativeStream); status != 500 || !strings.Contains(body, "signal: killed") {
		t.Errorf("%d %s", status, body)
	}
	f.Inject(Fault{Model: "tiny", LoadDelay: time.Hour, Times: 1})
	c := send(t, f, "/api/chat", nativeStream)
	await(t, f, "it loads", func() bool { return f.Waiting("tiny") == 1 })
	c.leave()
	await(t, f, "it is aborted", func() bool { return f.Waiting("tiny") == 0 })
	if status, _ := post(t, f, "/api/chat", nativeStream); status != 200 {
		t.Errorf("after the faults: %d", status)
	}
}

func TestDressedStreamsSayTheSame(t *testing.T) {
	f := start(t, FakeConfig{Models: []FakeModel{{Name: "tiny", Script: []Answer{{Text: "Grüße 世界 🐑 done"}}}}})
	_, plain := post(t, f, "/v1/chat/completions", v1Stream)
	f.Inject(Fault{Comments: true, CRLF: true, NoSpace: true, SplitUTF8: true})
	_, odd := post(t, f, "/v1/chat/completions", v1Stream)
	if !strings.Contains(odd, "\r\n") || !strings.Contains(odd, "data:{") || !strings.Contains(odd, "\n: still here\r\n") || strings.Contains(odd, "data: ") {
		t.Errorf("%q", odd)
	}
	if got, want := contents(t, odd), contents(t, plain); got != want || want != "Grüße 世界 🐑 done" {
		t.Errorf("got %q, want %q", got, want)
	}
	_, native := post(t, f, "/api/chat", nativeStream)
	if !utf8.ValidString(native) || !strings.Contains(native, "🐑") {
		t.Errorf("%q", native)
	}
}

// contents joins the deltas of a chat stream, as a careful client reads it.
func contents(t *testing.T, stream string) string {
	t.Helper()
	var all strings.Builder
	for line := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:")
		if data = strings.TrimSpace(data); !ok || data == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Errorf("%s: %v", data, err)
		}
		for _, c := range chunk.Choices {
			all.WriteString(c.Delta.Content)
		}
	}
	return all.String()
}

func TestOddFramesComeBeforeTheToken(t *testing.T) {
	f := start(t, FakeConfig{Models: models("tiny")})
	f.Inject(Fault{Break: BreakGarbage, After: 2, Times: 1})
	if _, body := post(t, f, "/api/chat", nativeStream); !strings.Contains(body, "<garbage>") || !strings.Contains(body, `"done":true`) {
		t.Errorf("garbage: %s", body)
	}
	f.Inject(Fault{Break: BreakHugeLine, After: 2, Times: 1})
	_, body := post(t, f, "/v1/chat/completions", v1Stream)
	scan := bufio.NewScanner(strings.NewReader(body))
	for scan.Scan() {
	}
	if scan.Err() == nil || !strings.Contains(body, "[DONE]") {
		t.Errorf("no line is too long for a scanner, or no end: %d bytes", len(body))
	}
	f.Inject(Fault{Break: BreakError, After: 2, Times: 1})
	if _, body := post(t, f, "/api/chat", nativeStream); !strings.HasSuffix(body, "canceled\"}\n") {
		t.Errorf("error: %s", body)
	}
}

func TestSwallowedCallLeavesNothingButTokens(t *testing.T) {
	f := start(t, FakeConfig{Models: []FakeModel{{Name: "tiny", Capabilities: []string{"completion", "tools"}}}})
	f.Inject(Fault{SwallowCalls: true})
	tools := `"tools":[{"type":"function","name":"f","function":{"name":"f","parameters":{}},"input_schema":{}}]`
	body := func(extra string) string { return strings.Replace(v1Stream, `"stream":true`, tools+extra, 1) }
	if _, got := post(t, f, "/api/chat", body(`,"stream":false`)); !strings.Contains(got, `"content":""`) || !strings.Contains(got, `"eval_count":16`) || strings.Contains(got, "tool_calls") {
		t.Errorf("chat: %s", got)
	}
	if _, got := post(t, f, "/v1/responses", body(`,"stream":true`)); !strings.Contains(got, `"output":null`) {
		t.Errorf("responses: %s", got)
	}
	if _, got := post(t, f, "/v1/messages", body("")); !strings.Contains(got, `"content":null`) {
		t.Errorf("messages: %s", got)
	}
}

func TestThinkOnlySaysNothingElse(t *testing.T) {
	f := start(t, FakeConfig{Models: []FakeModel{{Name: "tiny", Think: true}}})
	f.Inject(Fault{ThinkOnly: true})
	_, got := post(t, f, "/api/chat", strings.Replace(nativeStream, "{", `{"stream":false,`, 1))
	if !strings.Contains(got, `"content":"","thinking":"First`) {
		t.Errorf("%s", got)
	}
}

func TestEndlessAnswerHeedsNoLimitAndEndsWithItsClient(t *testing.T) {
	f := start(t, FakeConfig{Models: models("tiny")})
	f.Inject(Fault{Endless: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL()+"/api/chat", strings.NewReader(`{"model":"tiny","options":{"num_predict":3},"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	frames := bufio.NewScanner(resp.Body)
	for n := range 500 {
		if !frames.Scan() || strings.Contains(frames.Text(), `"done":true`) {
			t.Fatalf("frame %d: %q, %v", n, frames.Text(), frames.Err())
		}
	}
}

func TestControlEndpointInjectsAndTells(t *testing.T) {
	f := start(t, FakeConfig{Models: models("tiny")})
	status, body := post(t, f, "/__control", `{"inject":[{"status":418,"body":"tea","times":1,"delay":"1ms"}]}`)
	if status != 200 || !strings.Contains(body, `"kind":"ollama"`) {
		t.Fatalf("%d %s", status, body)
	}
	if status, body := post(t, f, "/api/chat", nativeStream); status != 418 || body != "tea" {
		t.Errorf("%d %s", status, body)
	}
	for _, wrong := range []string{`{"injekt":[]}`, `{"inject":[{"break":"explode"}]}`, `{"inject":[{"delay":"soon"}]}`} {
		if status, body := post(t, f, "/__control", wrong); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", wrong, status, body)
		}
	}
	if n := len(f.Requests()); n != 1 {
		t.Errorf("the log has %d requests, want 1 without the control ones", n)
	}
	post(t, f, "/__control", `{"heal":true,"unload":"tiny","kill_runner":"tiny","release":true,"forget":true}`)
	if n := len(f.Requests()); n != 0 {
		t.Errorf("the log still has %d requests", n)
	}
}
