package runtime

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// recording is one exchange with a real runtime.
type recording struct {
	name         string
	method, path string
	request      string
	status       int
	header       http.Header
	answer       string
}

func record(t testing.TB, kind, name string) recording {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "recorded", kind, name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), "\n----- response\n")
	if !ok {
		t.Fatalf("%s is no recording of one exchange", name)
	}
	asked, body, _ := strings.Cut(head, "\n\n")
	line, _, _ := strings.Cut(asked, "\n")
	r := recording{name: name, request: strings.TrimSpace(body), header: http.Header{}}
	r.method, r.path, _ = strings.Cut(line, " ")
	headers, answer, _ := strings.Cut(rest[:strings.LastIndex(rest, "\n----- ")], "\n\n")
	for i, h := range strings.Split(headers, "\n") {
		if i == 0 {
			r.status, _ = strconv.Atoi(strings.Fields(h)[1])
			continue
		}
		name, value, _ := strings.Cut(h, ": ")
		r.header.Set(name, value)
	}
	r.answer = answer
	return r
}

// replay is a runtime that knows recordings only: a request equal to a
// recorded one (method, path, equal JSON) gets the recorded answer; else the
// first of its method and path.
type replay struct {
	t    *testing.T
	recs []recording

	mu    sync.Mutex // guards the following
	seen  []string   // method and path, in order
	asked []string   // bodies
}

func newReplay(t *testing.T, kind string, names ...string) (*replay, string) {
	t.Helper()
	p := &replay{t: t}
	for _, n := range names {
		p.recs = append(p.recs, record(t, kind, n))
	}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return p, s.URL
}

func (p *replay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := r.Body.Read(buf)
		body.Write(buf[:n])
		if err != nil {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, r.Method+" "+r.URL.Path)
	p.asked = append(p.asked, body.String())
	best := -1
	for i, rec := range p.recs {
		if rec.method != r.Method || rec.path != r.URL.Path {
			continue
		}
		if sameJSON(rec.request, body.String()) {
			best = i
			break
		}
		if best < 0 && r.URL.Path != "/api/show" {
			best = i
		}
	}
	if best < 0 {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	rec := p.recs[best]
	for name, values := range rec.header {
		switch name {
		case "Transfer-Encoding", "Content-Length", "Date", "Keep-Alive":
		default:
			w.Header()[name] = values
		}
	}
	w.WriteHeader(rec.status)
	_, _ = w.Write([]byte(rec.answer))
}

func sameJSON(a, b string) bool {
	b = strings.Replace(b, `:latest"`, `"`, 1)
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return reflect.DeepEqual(x, y)
}
