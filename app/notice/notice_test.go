package notice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func lost(id string) Finding {
	return Finding{ID: id, Severity: "broken", Title: "Runtime " + id, Text: "It is down.", Remedy: "Start it."}
}

// days plays findings over time, "second: findings", and writes what was told.
func play(t *testing.T, script string) string {
	t.Helper()
	var b Board
	var told []string
	for line := range strings.Lines(strings.TrimSpace(script)) {
		at, list, _ := strings.Cut(strings.TrimSpace(line), ":")
		var seconds int
		if _, err := fmt.Sscanf(at, "%d", &seconds); err != nil {
			t.Fatal(err)
		}
		var found []Finding
		for id := range strings.FieldsSeq(list) {
			f := lost(id)
			if name, severity, said := strings.Cut(id, "="); said {
				f.ID, f.Title, f.Severity = name, name, severity
			}
			found = append(found, f)
		}
		var due []Notice
		b, due = Look(b, start.Add(time.Duration(seconds)*time.Second), found)
		for _, n := range due {
			told = append(told, fmt.Sprintf("%d %s", seconds, n.Kind))
		}
	}
	return strings.Join(told, ", ")
}

func TestOnlyWhatTakesAnActIsToldAndSeldom(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"a runtime that is lost, after it stayed away", "0:\n10: runtime.ollama\n39: runtime.ollama\n40: runtime.ollama\n50: runtime.ollama", "40 runtime"},
		{"a runtime that is restarted is not told", "0:\n10: runtime.ollama\n30:\n40: runtime.ollama\n60:", ""},
		{"a runtime that was down from the start was not lost", "0: runtime.ollama\n60: runtime.ollama", ""},
		{"but one that came and went was", "0: runtime.ollama\n60:\n90: runtime.ollama\n120: runtime.ollama", "120 runtime"},
		{"the same trouble once an hour at most", "0:\n10: runtime.ollama\n40: runtime.ollama\n50:\n60: runtime.ollama\n100: runtime.ollama\n3639: runtime.ollama\n3640: runtime.ollama", "40 runtime, 3640 runtime"},
		{"a full disk, though it was so at the start", "0: disk=broken\n30: disk=broken", "30 records"},
		{"little room is for Health", "0: disk=warning\n600: disk=warning", ""},
		{"lost records", "0: store.dropped=warning\n30: store.dropped=warning", "30 records"},
		{"an app's wish at once", "0:\n10: pull.qwen3:8b=warning", "10 pull"},
		{"a moved port", "0: port=note\n30: port=note", "30 port"},
		{"what is well is never told", "0: port=ok disk=ok runtime.ollama=ok\n60: port=ok disk=ok runtime.ollama=ok", ""},
		{"notes and warnings are for Health", "0: pause=note alias.house=warning node.x=warning\n60: pause=note alias.house=warning node.x=warning", ""},
		{"models of a lost runtime are told with it", "0:\n10: runtime.ollama model.ollama/a=broken\n40: runtime.ollama model.ollama/a=broken", "40 runtime"},
		{"anything else broken is trouble", "0: settings=broken\n30: settings=broken", "30 trouble"},
		{"more than three wait or go together", "0: a b c d e\n30: a b c d e\n60: a b c d e", "30 trouble, 30 trouble, 30 trouble"},
		{"and the next come when there is room", "0: a b c\n30: a b c\n40: a b c d\n70: a b c d\n630: a b c d", "30 trouble, 30 trouble, 30 trouble, 630 trouble"},
	} {
		if got := play(t, c.script); got != c.want {
			t.Errorf("%s: told %q, want %q", c.name, got, c.want)
		}
	}
}

func TestANoticeSaysWhatAndWhatHelps(t *testing.T) {
	for _, c := range []struct{ text, remedy, want string }{
		{"It is down.", "Start it.", "It is down.\nWhat helps: Start it."},
		{"ollama is down: connection refused", "ollama serve", "ollama is down: connection refused.\nWhat helps: ollama serve"},
		{"ollama is down", "", "ollama is down."},
	} {
		found := []Finding{{ID: "runtime.ollama", Severity: "broken", Title: "Runtime ollama", Text: c.text, Remedy: c.remedy}}
		b, _ := Look(Board{}, start, nil)
		b, _ = Look(b, start, found)
		_, due := Look(b, start.Add(settle), found)
		want := []Notice{{Kind: "runtime", Title: "Runtime ollama", Text: c.want}}
		if !slices.Equal(due, want) {
			t.Errorf("%+v, want %+v", due, want)
		}
	}
}

// However findings come and go, no ten minutes bring more than three notices,
// no finding is told twice in an hour, and what was told was there.
func TestABadDayIsNotABadDayOfNotifications(t *testing.T) {
	ids := []string{"runtime.a", "runtime.b", "disk", "store", "settings", "pull.x", "pull.y", "port"}
	rapid.Check(t, func(t *rapid.T) {
		var b Board
		now, told := start, []time.Time{}
		for range rapid.IntRange(1, 60).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.IntRange(1, 400).Draw(t, "seconds")) * time.Second)
			var found []Finding
			for _, id := range ids {
				if rapid.Bool().Draw(t, id) {
					found = append(found, lost(id))
				}
			}
			before := b
			var due []Notice
			if b, due = Look(b, now, found); len(due) > len(found) {
				t.Fatalf("%d notices of %d findings", len(due), len(found))
			}
			for id, at := range before.told {
				if again := b.told[id]; again.After(at) && again.Sub(at) < time.Hour {
					t.Fatalf("%s told at %s and %s", id, at, again)
				}
			}
			for range due {
				told = append(told, now)
			}
			recent := 0
			for _, at := range told {
				if now.Sub(at) < within {
					recent++
				}
			}
			if recent > most {
				t.Fatalf("%d notices within %s", recent, within)
			}
		}
	})
}
