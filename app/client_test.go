package app

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"bellwether/engine"
	"bellwether/engine/admin"
	"bellwether/platform/desktop"
)

// answering is a transport that gives an engine's answers, or none.
type answering func(*http.Request) (*http.Response, error)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// clientOf is a client of a data folder whose engine answers so.
func clientOf(t *testing.T, engineAnswers answering) *client {
	t.Helper()
	folders, err := desktop.FoldersUnder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	state, _ := json.Marshal(engine.State{Admin: "http://127.0.0.1:9", PID: 4711})
	if err := desktop.WritePrivate(filepath.Join(folders.Data, "engine.json"), state); err != nil {
		t.Fatal(err)
	}
	return &client{folders: folders, http: http.Client{Transport: engineAnswers}}
}

func TestAClickOnAnEngineThatHangsSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clientOf(t, func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		err := c.postKept(t.Context(), "/admin/pause", nil)
		if err == nil || !strings.Contains(err.Error(), "pid 4711") || !strings.Contains(err.Error(), "10 s") {
			t.Errorf("%v, want which process answers nothing", err)
		}
	})
}

func TestAPauseByClickThatCannotBeSavedSaysSo(t *testing.T) {
	for _, unsaved := range []string{"", "no space left on device"} {
		c := clientOf(t, func(*http.Request) (*http.Response, error) {
			body, _ := json.Marshal(admin.Status{Unsaved: unsaved})
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(body)))}, nil
		})
		err := c.postKept(t.Context(), "/admin/pause", nil)
		if unsaved == "" && err != nil || unsaved != "" && (err == nil || !strings.Contains(err.Error(), unsaved) || !strings.Contains(err.Error(), "restart")) {
			t.Errorf("unsaved %q: %v", unsaved, err)
		}
	}
}
