package main

import (
	"net/http"
	"strings"
	"testing"

	"bellwether/engine/admin"
)

func TestOpenMakesALinkThatUnlocksOnce(t *testing.T) {
	t.Parallel()
	h, _ := studio(t)
	link := strings.TrimSpace(h.run(t, "open", "--print").ends(t, exitDone).out)
	if !strings.Contains(link, "/admin/enter?t=") {
		t.Fatalf("printed %q", link)
	}
	for i, want := range []int{http.StatusOK, http.StatusForbidden} {
		resp, err := http.Get(link)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("use %d: %s", i+1, resp.Status)
		}
	}
	other := decode[admin.EnterLink](t, h.run(t, "open", "--json").ends(t, exitDone).out)
	if other.URL == link || other.ExpiresAt.IsZero() {
		t.Errorf("a second link: %+v", other)
	}
	// Where there is no browser, the address is said.
	h.env = append(h.env, "PATH="+t.TempDir())
	h.run(t, "open").ends(t, exitDone).says(t, "Open this address", "/admin/enter?t=")
}
