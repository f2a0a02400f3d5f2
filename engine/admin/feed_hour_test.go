package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
	"bellwether/engine/store"
)

// appsOf are the apps of GET /admin/apps by name, as the wire has them.
func appsOf(t *testing.T, text []byte) (a AppsAnswer, byName map[string]string) {
	t.Helper()
	var raw struct{ Apps []json.RawMessage }
	if json.Unmarshal(text, &a) != nil || json.Unmarshal(text, &raw) != nil {
		t.Fatalf("%s", text)
	}
	byName = map[string]string{}
	for i, v := range a.Apps {
		byName[v.Name] = string(raw.Apps[i])
	}
	return a, byName
}

// Windows come and go; the last hour is counted all the same, and both places
// that tell it say the same.
func TestTheLastHourIsCountedWhetherSomebodyWatchesOrNot(t *testing.T) {
	r := newFeedRig(t)
	r.node(0, 1, nil)
	api, _, records := newAPI(t, func(c *Config) { c.Feed = r.feed })
	end := func(from, to int) {
		for i := from; i < to; i++ {
			rec := recordOf(i)
			rec.Tags = []string{"work", fmt.Sprint("user:", i%7)}
			r.feed.Ended(rec)
			records.Record(rec)
			if i%500 == 499 { // no faster than it can be written
				if err := records.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	check := func(total int) {
		t.Helper()
		w := r.open(t)
		w.next()
		_, want := appsOf(t, do(api, "GET", "/admin/apps?since=1h", "", "").Body.Bytes())
		got := map[string]string{}
		requests := 0
		for name, text := range w.state[SectionApps] {
			got[name] = string(text)
			v, _ := value[AppView](w, SectionApps, name)
			requests += v.Requests
		}
		if requests != total || !maps.Equal(got, want) {
			t.Errorf("%d requests in the feed, want %d; the feed says\n%v\nand /admin/apps\n%v", requests, total, got, want)
		}
		w.conn.Cut(1000, "", nil)
		<-w.ended
	}
	end(0, 3000)
	check(3000)
	end(3000, 3600)
	check(3600)
	// What the store says of a longer time agrees.
	a, all := appsOf(t, do(api, "GET", "/admin/apps?since=2h", "", "").Body.Bytes())
	_, hour := appsOf(t, do(api, "GET", "/admin/apps", "", "").Body.Bytes())
	if !a.Complete || !maps.Equal(all, hour) {
		t.Errorf("complete %t; of two hours\n%v\nof one\n%v", a.Complete, all, hour)
	}
}

func TestTheLastHourOfAnEarlierStartIsTakenFromTheRecords(t *testing.T) {
	began := time.Now()
	h := newHour(began)
	past := func(_ context.Context, since, before time.Time, each func(*route.Record)) error {
		for i := range 3000 {
			rec := recordOf(i)
			rec.At = began.Add(-time.Duration(i+1) * time.Second)
			if rec.At.Before(since) || !rec.At.Before(before) {
				t.Fatalf("asked from %v to %v", since, before)
			}
			each(rec)
		}
		return nil
	}
	h.add(recordOf(1))
	if h.answer(began, nil).Complete {
		t.Error("complete before the records were read")
	}
	if err := h.seed(t.Context(), past); err != nil {
		t.Fatal(err)
	}
	a := h.answer(began, nil)
	n := 0
	for _, v := range a.Apps {
		n += v.Requests
	}
	if !a.Complete || n != 3001 {
		t.Errorf("complete %t, %d requests", a.Complete, n)
	}
}

func TestTheLastHourSaysWhenItIsNotWhole(t *testing.T) {
	began := time.Now()
	h := newHour(began)
	if err := h.seed(t.Context(), func(context.Context, time.Time, time.Time, func(*route.Record)) error {
		return store.ErrNotFound
	}); err == nil || h.whole(began) {
		t.Error("whole although the records could not be read")
	}
	if !h.whole(began.Add(2 * time.Hour)) {
		t.Error("not whole although it began after this start")
	}
	h.seeded = true
	for i := range appsKept + 1 {
		rec := recordOf(i)
		rec.App, rec.At = fmt.Sprint("app", i), began
		h.add(rec)
	}
	if h.whole(began) || len(h.answer(began, nil).Apps) != appsKept {
		t.Error("an app that there was no room for is not told")
	}
	if later := began.Add(2 * time.Hour); !h.whole(later) || len(h.answer(later, nil).Apps) != 0 {
		t.Error("it is never forgotten")
	}
}

func TestTheLastHourIsSummedUpWhateverTheOrder(t *testing.T) {
	began := time.Now()
	sum := func(order []int) string {
		h := newHour(began)
		for _, i := range order {
			in, out := i, 1
			h.add(&route.Record{RequestID: fmt.Sprint(i), App: "a", At: began.Add(time.Duration(i) * time.Millisecond), Tags: []string{"work"}, Outcome: fleet.OutcomeOK,
				Usage: &route.RecordUsage{Input: &in, Output: &out}, Timing: route.Timing{TTFTMs: float64(1 + i), TotalMs: float64(2 * i)}})
		}
		text, err := json.Marshal(h.answer(began.Add(time.Minute), nil))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	order := make([]int, 5000)
	for i := range order {
		order[i] = i
	}
	forth := sum(order)
	slices.Reverse(order)
	if back := sum(order); back != forth || !bytes.Contains([]byte(forth), []byte(`"requests":5000`)) {
		t.Errorf("forth %s\nback  %s", forth, back)
	}
}

func TestAnHourWithoutRequestsIsEmptyAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHour(time.Now())
		h.add(recordOf(1))
		time.Sleep(62 * time.Minute) // of the bubble
		h.add(recordOf(2))
		if a := h.answer(time.Now(), nil); len(a.Apps) != 1 || a.Apps[0].Name != "app-2" || a.Apps[0].Requests != 1 {
			t.Errorf("%+v", a.Apps)
		}
	})
}
