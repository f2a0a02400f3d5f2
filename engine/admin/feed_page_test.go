package admin

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"bellwether/engine/fleet"
)

const barePage = "<html><body><p>ui</p></body></html>"

// pageOf asks for the page of a UI whose feed is f, with headers by twos.
func pageOf(f *Feed, method string, headers ...string) *httptest.ResponseRecorder {
	u := newUI(fstest.MapFS{"index.html": {Data: []byte(barePage)}}, f)
	r := httptest.NewRequest(method, "/ui/", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	u.ServeHTTP(w, r)
	return w
}

var stateBlock = regexp.MustCompile(`(?s)^(.*)<script type="application/json" id="state">([^<]*)</script>(.*)$`)

// stateOf is the state in a page, and the page around it; "" = there is none.
func stateOf(t *testing.T, page string) (state, around string) {
	t.Helper()
	found := stateBlock.FindStringSubmatch(page)
	if found == nil {
		return "", page
	}
	return found[2], found[1] + found[3]
}

func TestThePageBringsWhatAReaderIsToldFirst(t *testing.T) {
	r := newFeedRig(t)
	r.set(func() { r.findings = []FindingView{{ID: "port", Severity: "ok"}} })
	r.node(0, 3, func(h *fleet.Heartbeat) {
		h.Name = "</script><!--<script>&\u2028\u2029" // a browser must not read it as anything but text
	})
	w := pageOf(r.feed, "GET")
	state, around := stateOf(t, w.Body.String())
	if w.Code != 200 || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("ETag") != "" || strings.ReplaceAll(around, "\n  ", "") != barePage {
		t.Fatalf("%d %v\n%s", w.Code, w.Header(), w.Body)
	}
	if strings.ContainsAny(state, "<>&\u2028\u2029") {
		t.Errorf("not as safe as text of a page: %s", state)
	}
	var brought frame
	if err := json.Unmarshal([]byte(state), &brought); err != nil || brought.Type != FrameHello {
		t.Fatalf("%v: %s", err, state)
	}
	page := &window{t: t}
	page.take(&brought)
	if n, there := value[NodeView](page, SectionNodes, "n00"); !there || n.Name != "</script><!--<script>&\u2028\u2029" {
		t.Errorf("the machine is %+v", n)
	}
	// Its window, which comes next, is told the same and what was found meanwhile.
	window := r.open(t)
	window.next()
	for section, values := range page.state {
		if section != SectionFindings && section != SectionMeta && !maps.EqualFunc(values, window.state[section], func(a, b json.RawMessage) bool { return string(plain(a)) == string(plain(b)) }) {
			t.Errorf("%s: the page says %s, its window %s", section, values, window.state[section])
		}
	}
	window.until("what was found", func() bool { return window.state[SectionFindings]["port"] != nil })
}

// plain is a JSON text without the escapes of a page.
func plain(text json.RawMessage) []byte {
	var v any
	_ = json.Unmarshal(text, &v)
	b, _ := json.Marshal(v)
	return b
}

func TestThePageIsPackedForWhoTakesIt(t *testing.T) {
	r := newFeedRig(t)
	r.node(0, 3, nil)
	w := pageOf(r.feed, "GET", "Accept-Encoding", "gzip, br")
	if w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Vary") != "Accept-Encoding" || !w.Flushed { // in two parts
		t.Fatalf("%v", w.Header())
	}
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if state, _ := stateOf(t, string(text)); err != nil || state == "" {
		t.Errorf("%v: %s", err, text)
	}
}

// HEAD tells of the same answer; an older copy does not stand for this moment.
func TestAPageWithTheStateIsOfItsMomentOnly(t *testing.T) {
	r := newFeedRig(t)
	r.node(0, 3, nil)
	bare := pageOf(nil, "GET").Header().Get("ETag")
	if w := pageOf(nil, "GET", "If-None-Match", bare); w.Code != http.StatusNotModified || w.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("a page without state that is known: %d %v", w.Code, w.Header())
	}
	w := pageOf(r.feed, "GET", "If-None-Match", bare)
	if state, _ := stateOf(t, w.Body.String()); w.Code != 200 || state == "" {
		t.Errorf("of a browser with an older copy: %d %s", w.Code, w.Body)
	}
	if w := pageOf(r.feed, "HEAD"); w.Code != 200 || w.Body.Len() != 0 || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("ETag") != "" {
		t.Errorf("HEAD: %d %v %s", w.Code, w.Header(), w.Body)
	}
}

func TestWhoMayNotReadTheFeedGetsThePageWithoutState(t *testing.T) {
	r := newFeedRig(t)
	r.node(0, 3, nil)
	for _, c := range []struct {
		headers []string
		state   bool
	}{
		{nil, true},
		{[]string{"Origin", "http://example.com"}, true}, // its own: httptest's Host
		{[]string{"Sec-Fetch-Site", "none"}, true},
		{[]string{"Sec-Fetch-Site", "same-origin"}, true},
		{[]string{"Origin", "https://evil.example"}, false},
		{[]string{"Origin", "http://example.com:1"}, false},
		{[]string{"Origin", "null"}, false},
		{[]string{"Sec-Fetch-Site", "cross-site"}, false},
		{[]string{"Sec-Fetch-Site", "same-site"}, false},
	} {
		w := pageOf(r.feed, "GET", c.headers...)
		if state, _ := stateOf(t, w.Body.String()); w.Code != 200 || (state != "") != c.state || c.state != (w.Header().Get("Cache-Control") == "no-store") || c.state == (w.Header().Get("ETag") != "") {
			t.Errorf("%v: %d %v %s", c.headers, w.Code, w.Header(), w.Body)
		}
	}
}

func TestALargeStateDoesNotComeWithThePage(t *testing.T) {
	r := newFeedRig(t)
	for i := range 50 {
		r.node(i, 20, nil)
	}
	w := pageOf(r.feed, "GET")
	if w.Body.String() != barePage {
		t.Errorf("%d bytes, %v", w.Body.Len(), w.Header())
	}
	window := r.open(t) // which gets it as ever
	if window.next(); len(window.state[SectionNodes]) != 50 {
		t.Errorf("%d machines", len(window.state[SectionNodes]))
	}
}

// A few machines with all the decisions that a feed begins with are well below
// what the page takes.
func TestTheStateOfAHomeComesWithThePage(t *testing.T) {
	r := newFeedRig(t)
	for i := range 5 {
		r.node(i, 12, nil)
	}
	r.set(func() {
		for i := range rowsKept {
			rec := recordOf(i)
			rec.Tags, rec.Problem = []string{"work", "editor"}, strings.Repeat("what went wrong ", 3)
			r.recent = append(r.recent, rec)
		}
	})
	state, _ := stateOf(t, pageOf(r.feed, "GET").Body.String())
	if strings.Count(state, `"request_id"`) != rowsKept {
		t.Errorf("the state of %d bytes has %d decisions", len(state), strings.Count(state, `"request_id"`))
	}
	t.Logf("%d bytes of at most %d", len(state), pageMost)
}

func TestThePageDoesNotWaitForTheFeedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := pageOf(restingFeed().feed, "GET")
		if waited := time.Since(began); w.Body.String() != barePage || waited != pageWait {
			t.Errorf("after %v: %s", waited, w.Body)
		}
	})
}

func TestAPageWithoutAPlaceForTheStateComesAsItIs(t *testing.T) {
	r := newFeedRig(t)
	if at, ok := r.feed.stateAt([]byte("<html>ui</html>"), httptest.NewRequest("GET", "/ui/", nil)); ok {
		t.Errorf("a place at %d", at)
	}
}

// setOut notes what had been written when it was told to send it.
type setOut struct {
	*httptest.ResponseRecorder
	first string
}

func (w *setOut) Flush() {
	if w.first == "" {
		w.first = w.Body.String()
	}
}

// What the page names can be fetched while the state is still gathered.
func TestThePageSetsOutBeforeItsState(t *testing.T) {
	r := newFeedRig(t)
	w := &setOut{ResponseRecorder: httptest.NewRecorder()}
	newUI(fstest.MapFS{"index.html": {Data: []byte(barePage)}}, r.feed).ServeHTTP(w, httptest.NewRequest("GET", "/ui/", nil))
	if state, _ := stateOf(t, w.Body.String()); w.first != strings.TrimSuffix(barePage, "</body></html>") || state == "" {
		t.Errorf("sent first: %q, then %q", w.first, w.Body)
	}
}

// The feed watches on until the window of the page may be expected, and rests
// when none comes.
func TestTheFeedRestsWhenNoWindowFollowsThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := restingFeed()
		go func() { _ = r.feed.Run(t.Context()) }()
		for range 2 {
			if state := r.feed.welcome(t.Context()); !bytes.Contains(state, []byte(`"hello"`)) {
				t.Fatalf("told %s", state)
			}
			time.Sleep(pageLead - time.Millisecond) // of the bubble
			synctest.Wait()
			if !r.events.Watched() || !r.feed.Watched() {
				t.Error("it rests before the window may have come")
			}
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			if r.events.Watched() || r.feed.records.Watched() || r.feed.Watched() {
				t.Error("it watches for nobody")
			}
		}
		r.feed.tell(func(w *watch) {
			me := &reader{}
			w.begin()
			w.readers[me] = struct{}{}
			w.leave(me)
		})
		if r.feed.Watched() {
			t.Error("it watches after its last window left")
		}
	})
}

func BenchmarkPage(b *testing.B) {
	for _, nodes := range []int{1, 5, 50} {
		b.Run(fmt.Sprint(nodes, " machines"), func(b *testing.B) {
			r := newFeedRig(b)
			for i := range nodes {
				r.node(i, 12, nil)
			}
			b.ReportAllocs()
			for b.Loop() {
				pageOf(r.feed, "GET", "Accept-Encoding", "gzip")
			}
		})
	}
}
