package engine

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bellwether/engine/admin"
	"bellwether/engine/runtime"
)

func TestWhatAnswersInPlaceOfARuntimeIsToldForWhatItIs(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(runtime.HeaderRouter, "bellwether")
		w.WriteHeader(http.StatusLoopDetected)
	}))
	t.Cleanup(other.Close)
	page := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(page.Close)
	c := Default()
	c.Runtimes = []RuntimeConfig{{Name: "other", URL: other.URL}, {Name: "page", URL: page.URL}, {Name: "gone", URL: "http://127.0.0.1:9"}}
	found := map[string]admin.Finding{}
	for _, f := range Examine(t.Context(), c) {
		found[f.ID] = f
	}
	for id, want := range map[string][2]string{
		"runtime.other": {"a Bellwether answers", runtime.CureOurselves},
		"runtime.page":  {"no runtime known here", runtime.CureUnknown},
		"runtime.gone":  {"does not answer", "start it, or"},
	} {
		if f := found[id]; f.Severity != "broken" || !strings.Contains(f.Text, want[0]) || !strings.HasPrefix(f.Remedy, want[1]) {
			t.Errorf("%s: %+v, want %q and %q", id, f, want[0], want[1])
		}
	}
}
