package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// answer is what came back.
type answer struct {
	Status  int
	Header  http.Header
	Trailer http.Header
	Body    []byte
	Err     error // of reading the body
}

// ask sends one request and reads the whole answer. Headers come in pairs.
func ask(t testing.TB, c *http.Client, method, url, body string, header ...string) *answer {
	t.Helper()
	resp := open(t, context.Background(), c, method, url, body, header...)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return &answer{Status: resp.StatusCode, Header: resp.Header, Trailer: resp.Trailer, Body: b, Err: err}
}

// open sends one request and returns once the headers are there.
func open(t testing.TB, ctx context.Context, c *http.Client, method, url, body string, header ...string) *http.Response {
	t.Helper()
	resp, err := send(ctx, c, method, url, body, header...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return resp
}

func send(ctx context.Context, c *http.Client, method, url, body string, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	return c.Do(req)
}

func (r *rig) post(t testing.TB, path, body string, header ...string) *answer {
	t.Helper()
	return ask(t, r.client, http.MethodPost, r.base+path, body, header...)
}

func (r *rig) get(t testing.TB, path string, header ...string) *answer {
	t.Helper()
	return ask(t, r.client, http.MethodGet, r.base+path, "", header...)
}

// ok returns the answer's body as JSON; any status but 200 fails the test.
func (a *answer) ok(t testing.TB) tree {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	return a.json(t)
}

func (a *answer) json(t testing.TB) tree {
	t.Helper()
	return parse(t, a.Body)
}

// tree is decoded JSON, reached into by dotted paths: "choices.0.delta.content".
type tree struct{ v any }

func parse(t testing.TB, b []byte) tree {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("not JSON: %v: %s", err, b)
	}
	return tree{v}
}

// at returns the value at a path, nil when there is none.
func (n tree) at(path string) any {
	v := n.v
	for key := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[key]
		case []any:
			var i int
			if _, err := fmt.Sscanf(key, "%d", &i); err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

func (n tree) has(path string) bool {
	i := strings.LastIndexByte(path, '.')
	in, ok := tree{n.at(path[:max(i, 0)])}.v.(map[string]any)
	if i < 0 {
		in, ok = n.v.(map[string]any)
	}
	_, there := in[path[i+1:]]
	return ok && there
}

func (n tree) str(path string) string {
	s, _ := n.at(path).(string)
	return s
}

func (n tree) num(path string) float64 {
	f, ok := n.at(path).(float64)
	if !ok {
		return -1
	}
	return f
}

func (n tree) len(path string) int {
	l, _ := n.at(path).([]any)
	return len(l)
}

func (n tree) String() string {
	b, _ := json.Marshal(n.v)
	return string(b)
}

// record is one record of a stream: an SSE event, a comment, or an NDJSON line.
type record struct {
	event   string // of SSE
	comment string
	data    string
}

func (r record) json(t testing.TB) tree { t.Helper(); return parse(t, []byte(r.data)) }

// records splits a stream; its content type says how.
func (a *answer) records(t testing.TB) []record {
	t.Helper()
	if strings.Contains(a.Header.Get("Content-Type"), "ndjson") {
		var out []record
		for line := range strings.Lines(string(a.Body)) {
			out = append(out, record{data: strings.TrimSuffix(line, "\n")})
		}
		return out
	}
	if ct := a.Header.Get("Content-Type"); !strings.HasPrefix(ct, "text/event-stream") {
		t.Fatalf("no stream: status %d, %s: %s", a.Status, ct, a.Body)
	}
	return sse(string(a.Body))
}

// sse reads SSE as the standard says; comments are kept as records of their own.
func sse(s string) []record {
	var out []record
	var r record
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "":
			out = append(out, r)
			r = record{}
		case line[0] == ':':
			out = append(out, record{comment: strings.TrimSpace(line[1:])})
		default:
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch field {
			case "event":
				r.event = value
			case "data":
				if r.data != "" {
					r.data += "\n"
				}
				r.data += value
			}
		}
	}
	return out
}

// objects are the records that hold JSON.
func (a *answer) objects(t testing.TB) []tree {
	t.Helper()
	var out []tree
	for _, r := range a.records(t) {
		if r.data != "" && r.data != "[DONE]" {
			out = append(out, r.json(t))
		}
	}
	return out
}

// stream is an answer being read.
type stream struct {
	t      testing.TB
	resp   *http.Response
	lines  *bufio.Reader
	cancel func()
}

// stream opens a streamed request and leaves it open.
func (r *rig) stream(t testing.TB, path, body string, header ...string) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	resp := open(t, ctx, r.client, http.MethodPost, r.base+path, body, header...)
	t.Cleanup(func() { resp.Body.Close() })
	return &stream{t: t, resp: resp, lines: bufio.NewReaderSize(resp.Body, 1<<20), cancel: cancel}
}

// line reads up to the next line that holds text.
func (s *stream) line(holding string) string {
	s.t.Helper()
	var read strings.Builder
	for {
		l, err := s.lines.ReadString('\n')
		if strings.Contains(l, holding) {
			return l
		}
		read.WriteString(l)
		if err != nil {
			s.t.Fatalf("the stream ended before %q: %v\n%d %s", holding, err, s.resp.StatusCode, &read)
		}
	}
}

// leave drops the connection, as a client that was ended does.
func (s *stream) leave() { s.cancel() }
