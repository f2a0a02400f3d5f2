package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"bellwether/engine/route"
)

// pagesOf reads all pages of a listing as a client does, newest first, and calls
// between after each.
func pagesOf(t *testing.T, h http.Handler, filter string, limit int, between func()) (all []*route.Record) {
	t.Helper()
	after := ""
	for {
		w := do(h, "GET", "/admin/decisions?"+filter+"&limit="+strconv.Itoa(limit)+"&after="+url.QueryEscape(after), "", "")
		var page []*route.Record
		if err := json.Unmarshal(w.Body.Bytes(), &page); w.Code != http.StatusOK || err != nil {
			t.Fatalf("after %q: %d %s", after, w.Code, w.Body)
		}
		if len(page) > limit {
			t.Fatalf("a page of %d, want at most %d", len(page), limit)
		}
		all = append(all, page...)
		if len(page) < limit {
			return all
		}
		after = page[len(page)-1].RequestID
		between()
	}
}

// Whoever turns pages while requests end sees each record of before once: no
// row twice, none lost, whether it lies on the disk or in memory, arrived in the
// same instant as others, or ended long after it came.
func TestPagesOfDecisionsLoseAndRepeatNothingWhileNewOnesArrive(t *testing.T) {
	h, _, s := newAPI(t)
	began := time.Date(2026, 11, 3, 9, 0, 0, 0, time.UTC)
	keep := func(id, app string, at time.Time) {
		s.Record(&route.Record{RequestID: id, App: app, At: at, RequestedModel: "m", Candidates: []route.Candidate{}})
	}
	want := map[string]bool{}
	for i := range 500 {
		id, app := fmt.Sprintf("%04d", (i*7919)%10000), "editor" // in no order
		if i%3 == 0 {
			app = "chat"
		} else {
			want[id] = true
		}
		keep(id, app, began.Add(time.Duration(i/5)*time.Second)) // five at a time
		if i == 250 {
			if err := s.Flush(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}

	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // requests go on ending, at any time
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			keep(fmt.Sprintf("new%d", i), "editor", began.Add(time.Hour+time.Duration(i)))
			if i%100 == 0 {
				_ = s.Flush(context.Background())
			}
		}
	}()
	late := 0
	all := pagesOf(t, h, "app=editor", 37, func() {
		late++
		keep(fmt.Sprintf("late%d", late), "editor", began.Add(-time.Duration(late)*time.Second)) // it came first and ends last
	})
	close(stop)
	<-stopped

	seen := map[string]bool{}
	for i, r := range all {
		if seen[r.RequestID] {
			t.Errorf("%s twice", r.RequestID)
		}
		seen[r.RequestID] = true
		if r.App != "editor" {
			t.Errorf("%s of app %s", r.RequestID, r.App)
		}
		if i > 0 && r.At.After(all[i-1].At) {
			t.Errorf("%s is newer than the one before", r.RequestID)
		}
	}
	for id := range want {
		if !seen[id] {
			t.Errorf("%s is lost", id)
		}
	}
	for i := range late {
		if id := fmt.Sprintf("late%d", i+1); !seen[id] {
			t.Errorf("%s came before the page, and is lost", id)
		}
	}
}

// since bounds a listing, and pages end there.
func TestPagesEndAtSince(t *testing.T) {
	h, _, s := newAPI(t)
	began := time.Date(2026, 11, 3, 9, 0, 0, 0, time.UTC)
	for i := range 20 {
		s.Record(&route.Record{RequestID: strconv.Itoa(i), At: began.Add(time.Duration(i) * time.Minute), Candidates: []route.Candidate{}})
	}
	all := pagesOf(t, h, "since=2026-11-03T09:10:00Z", 4, func() {})
	if len(all) != 10 || all[0].RequestID != "19" || all[9].RequestID != "10" {
		t.Errorf("%d records", len(all))
	}
	if w := do(h, "GET", "/admin/decisions?after=none", "", ""); w.Code != http.StatusNotFound {
		t.Errorf("after a record that is not kept: %d", w.Code)
	}
}

// A request under way has no record yet: what is decided so far stands for it
// until it has one.
func TestADecisionUnderWayIsToldUntilItIsKept(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef"
	asked := []string{}
	h, _, s := newAPI(t, func(c *Config) {
		c.UnderWay = func(id string) *route.Record {
			asked = append(asked, id)
			if len(asked) > 1 {
				return nil
			}
			return &route.Record{RequestID: id, Reasons: []string{"it must be loaded first"}}
		}
	})
	var rec route.Record
	get := func() int {
		w := do(h, "GET", "/admin/decisions/chatcmpl-"+id, "", "")
		rec = route.Record{}
		_ = json.Unmarshal(w.Body.Bytes(), &rec)
		return w.Code
	}
	if code := get(); code != http.StatusOK || rec.RequestID != id || rec.Outcome != "" || len(rec.Reasons) != 1 {
		t.Errorf("under way: %d %+v", code, rec)
	}
	if code := get(); code != http.StatusNotFound {
		t.Errorf("neither under way nor kept: %d", code)
	}
	s.Record(&route.Record{RequestID: id, Outcome: "ok", Candidates: []route.Candidate{}})
	if code := get(); code != http.StatusOK || rec.Outcome != "ok" || len(asked) != 2 {
		t.Errorf("kept: %d %+v, asked %v", code, rec, asked)
	}
}
