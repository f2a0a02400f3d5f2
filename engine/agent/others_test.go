package agent

import (
	"strings"
	"testing"
	"time"

	"bellwether/engine/fleet"
)

// P-39: apps that ask a runtime directly work, and are nowhere to be seen.
func TestWorkThatIsNotOursIsTold(t *testing.T) {
	s := &scripted{}
	until := time.Now().Add(5 * time.Minute)
	say := func(until time.Time) {
		d := loaded("m", gib)
		d.ExpiresAt = until
		s.says(inventory(d), nil)
	}
	say(until)
	r := onScript(t, s)
	r.awaitResidency(ident("tape", "m"), fleet.Loaded)
	told := func() (text string) {
		for _, f := range r.Doctor(t.Context()) {
			if strings.HasPrefix(f.ID, "bypass.") {
				text += f.Text
			}
		}
		return text
	}
	look := func() {
		if err := r.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	look()
	if got := told(); got != "" {
		t.Fatalf("nobody was there: %s", got)
	}
	// Something of ours ended a moment ago: what the runtime makes of it is ours.
	_ = r.ask(t.Context(), func(st *state) { st.lane(ident("tape", "m")).usedAt = st.now() })
	say(until.Add(time.Minute))
	look()
	if got := told(); got != "" {
		t.Errorf("our own work: %s", got)
	}
	_ = r.ask(t.Context(), func(st *state) {
		l := st.lane(ident("tape", "m"))
		l.usedAt, l.loadedAt = st.now().Add(-time.Hour), st.now().Add(-time.Hour)
	})
	say(until.Add(2 * time.Minute))
	look()
	if got := told(); !strings.Contains(got, "do not ask through Bellwether") {
		t.Errorf("others' work: %q", got)
	}
}
