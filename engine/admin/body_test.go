package admin

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/measure"
)

// refusalOf reads an answer that has to be a refusal.
func refusalOf(t *testing.T, text string) Refusal {
	t.Helper()
	var a struct{ Error *Refusal }
	if err := json.Unmarshal([]byte(text), &a); err != nil || a.Error == nil || a.Error.Code == "" || a.Error.Message == "" {
		t.Fatalf("%q is no refusal (%v)", text, err)
	}
	return *a.Error
}

func TestABodyThatACommandDoesNotTakeIsRefused(t *testing.T) {
	now := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	h, node, _ := newAPI(t, func(c *Config) { c.Now = func() time.Time { return now } })
	for _, c := range []struct{ path, body, code, says string }{
		{"/admin/pause", `{"second": 5}`, "invalid_request", `"second"`},
		{"/admin/pause", `{"seconds": "5"}`, "invalid_request", `"seconds" cannot be a string`},
		{"/admin/pause", `{}{}`, "invalid_request", "follows"},
		{"/admin/pause", `{} 1`, "invalid_request", "follows"},
		{"/admin/pause", `{}x`, "invalid_request", "follows"},
		{"/admin/pause", `[]`, "invalid_request", "JSON"},
		{"/admin/pause", `{"seconds": -5}`, "invalid_seconds", "more than 0"},
		{"/admin/pause", `{"seconds": 0}`, "invalid_seconds", "more than 0"},
		{"/admin/pause", `{"seconds": 1e10}`, "invalid_seconds", "366 days"},
		{"/admin/pause", `{"seconds": 1e400}`, "invalid_request", "seconds"},
		{"/admin/pause", `{"seconds": 60, "until": "2026-11-30T09:00:00Z"}`, "invalid_seconds", "one of them"},
		{"/admin/pause", `{"until": "2026-11-30T07:00:00Z"}`, "invalid_until", "to come"},
		{"/admin/pause", `{"until": "9999-01-01T00:00:00Z"}`, "invalid_until", "366 days"},
		{"/admin/pause", `{"reason": "` + strings.Repeat("ä", 201) + `"}`, "invalid_reason", "200"},
		{"/admin/pause", `{"reason": "a\nb"}`, "invalid_reason", "one line"},
		{"/admin/pause", `{"reason": "a\u202eb"}`, "invalid_reason", "one line"},
		{"/admin/pause", `{"reason": "a\u2028b"}`, "invalid_reason", "one line"},
		{"/admin/models/load", `{"deployment": "n/r/m", "force": true}`, "invalid_request", `"force"`},
		{"/admin/models/pull", `{"model": "m"}{"model": "n"}`, "invalid_request", "follows"},
		{"/admin/settings", `{"revision": "r1", "change": {}}`, "invalid_request", `"change"`},
		{"/admin/probe", `{"model": "m"}`, "invalid_request", `"model"`},
		{"/admin/eval", `{"items": 1.5}`, "invalid_request", `"items"`},
	} {
		w := do(h, "POST", c.path, "secret", c.body)
		if r := refusalOf(t, w.Body.String()); w.Code != 400 || r.Code != c.code || !strings.Contains(r.Message, c.says) {
			t.Errorf("%s %s: %d %+v, want %s with %q", c.path, c.body, w.Code, r, c.code, c.says)
		}
	}
	if w := do(h, "POST", "/admin/pause", "secret", `{"reason":"`+strings.Repeat("a", 2<<20)+`"}`); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body of 2 MiB: %d", w.Code)
	}
	if len(node.told) > 0 {
		t.Errorf("done all the same: %q", node.told)
	}
	for _, body := range []string{"", "{}", `{"seconds": 60}`, `{"until": "2026-11-30T09:00:00Z"}`, `{"reason": "` + strings.Repeat("ä", 200) + `"}`, "{}\n"} {
		if w := do(h, "POST", "/admin/pause", "secret", body); w.Code != 200 {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
	}
}

func TestEveryErrorOfTheAPIHasItsShape(t *testing.T) {
	h, _, _ := newAPI(t)
	for _, c := range []struct {
		method, path, code, allow string
		status                    int
	}{
		{"GET", "/admin/nope", "no_such_path", "", 404},
		{"GET", "/admin/", "no_such_path", "", 404},
		{"POST", "/admin/decisions/a/b", "no_such_path", "", 404},
		{"DELETE", "/admin/status", "method_not_allowed", "GET, HEAD", 405},
		{"GET", "/admin/pause", "method_not_allowed", "POST", 405},
		{"PUT", "/admin/settings", "method_not_allowed", "GET, HEAD, POST", 405},
		{"GET", "/admin/log?level=zz", "invalid_level", "", 400},
		{"GET", "/admin/log?lines=zz", "invalid_lines", "", 400},
		{"GET", "/admin/decisions?since=zz", "invalid_since", "", 400},
	} {
		w := do(h, c.method, c.path, "secret", "")
		if r := refusalOf(t, w.Body.String()); w.Code != c.status || r.Code != c.code || w.Header().Get("Allow") != c.allow {
			t.Errorf("%s %s: %d %+v, allowed %q", c.method, c.path, w.Code, r, w.Header().Get("Allow"))
		}
	}
}

func TestTheLogIsAskedForByLevel(t *testing.T) {
	book := NewLogBook()
	log := slog.New(book.Handler(slog.NewTextHandler(t.Output(), nil)))
	for range 3 {
		log.Info("fine")
		log.Warn("hm")
		log.Error("broken")
	}
	h, _, _ := newAPI(t, func(c *Config) { c.Logs = book })
	for path, want := range map[string]int{"": 9, "?level=info": 9, "?level=warn": 6, "?level=ERROR": 3, "?level=warn&lines=2": 2, "?level=error&after=3": 2} {
		var a LogAnswer
		if w := do(h, "GET", "/admin/log"+path, "secret", ""); json.Unmarshal(w.Body.Bytes(), &a) != nil || len(a.Lines) != want || a.Next != 9 || a.Lines[len(a.Lines)-1].Seq != 9 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// refuser turns down every wish.
type refuser struct{ status int }

func (r refuser) Eval(context.Context, EvalWish, func(measure.Step)) error { return r.no() }

func (r refuser) Probe(context.Context, ProbeWish, func(measure.Finding)) error { return r.no() }

func (r refuser) no() error {
	return &dialect.Problem{Status: r.status, Code: "no", Message: "No."}
}

func TestAWishThatIsRefusedLeavesNoJob(t *testing.T) {
	for status, left := range map[int]int{400: 0, 409: 0, 503: 4} {
		runs := NewRuns(time.Now, func() {})
		h, _, _ := newAPI(t, func(c *Config) { c.Runs, c.Measure = runs, refuser{status} })
		for _, path := range []string{"/admin/probe", "/admin/eval"} {
			for _, body := range []string{`{"live":true}`, `{"live":true,"background":true}`} {
				if path == "/admin/probe" {
					body = strings.Replace(strings.Replace(body, `"live":true,`, "", 1), `"live":true`, "", 1)
				}
				if w := do(h, "POST", path, "secret", body); w.Code != status {
					t.Errorf("%s %s: %d %s", path, body, w.Code, w.Body)
				}
			}
		}
		if got := runs.List(); len(got) != left {
			t.Errorf("after %d the jobs are %+v", status, got)
		}
	}
}
