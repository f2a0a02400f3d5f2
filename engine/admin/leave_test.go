package admin

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
)

// A window that is closed while it is answered is no trouble of the engine's.
func TestAClientThatLeavesIsNoWarning(t *testing.T) {
	var log bytes.Buffer
	api, _, _ := newAPI(t, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	for _, path := range []string{"/admin/decisions", "/admin/decisions/r1", "/admin/decisions?after=r1", "/admin/apps?since=3h"} {
		ctx, leave := context.WithCancel(t.Context())
		leave()
		r := httptest.NewRequestWithContext(ctx, "GET", path, nil)
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		if log.Len() > 0 || w.Body.Len() > 0 {
			t.Errorf("%s: logged %q, answered %q", path, &log, w.Body)
		}
	}
}
