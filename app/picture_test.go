package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"bellwether/app/tray"
)

// golden are frames as the feed sends them; the engine's own tests write them.
func golden(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "engine", "admin", "testdata", "wire", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestTheTrayShowsWhatTheFeedTells(t *testing.T) {
	var p picture
	if err := p.apply(golden(t, "hello.json")); err != nil {
		t.Fatal(err)
	}
	s := p.show()
	if s.Name != "studio" || s.Address != "http://localhost:11435" || s.Router != "studio" || !s.Routes || s.Node.State != "serving" || s.Paused {
		t.Errorf("this machine: %+v", s)
	}
	if got := []string{s.Machines[0].Name, s.Machines[1].Name}; len(s.Machines) != 2 || !reflect.DeepEqual(got, []string{"studio", "tower"}) || !s.Machines[0].Here || s.Machines[1].State != "paused" {
		t.Errorf("machines %+v", s.Machines)
	}
	if len(s.Models) == 0 {
		t.Fatal("no models")
	}
	for _, m := range s.Models {
		if m.ID == "" || m.Name == "" {
			t.Errorf("model %+v", m)
		}
	}
	// P-38: what waits does not run.
	n := p.nodes[p.engine.NodeID]
	if n.WaitingRequests == 0 || s.Running != n.RunningRequests {
		t.Errorf("%d running and %d waiting are shown as %d", n.RunningRequests, n.WaitingRequests, s.Running)
	}
}

func TestALoopThatHangsIsTroubleOnTheIcon(t *testing.T) {
	var p picture
	hello := `{"type":"hello","seq":1,"state":{"meta":{"engine":{"node_id":"a"}},"nodes":{"a":{"id":"a","local":true,"state":"serving"}},"findings":{"loop.the-queue-of-requests":{"id":"loop.the-queue-of-requests","severity":"broken"}}}}`
	if err := p.apply([]byte(hello)); err != nil {
		t.Fatal(err)
	}
	if !p.show().Stuck {
		t.Error("nothing is shown of it")
	}
	if err := p.apply([]byte(`{"type":"delta","seq":2,"del":{"findings":["loop.the-queue-of-requests"]}}`)); err != nil || p.show().Stuck {
		t.Errorf("once it goes on: %v", err)
	}
}

func TestModelsAndMachinesStandInTheOrderOfTheirNumbers(t *testing.T) {
	var p picture
	hello := `{"type":"hello","seq":1,"state":{"meta":{"engine":{"node_id":"n10"}},"nodes":{"n10":{"id":"n10","name":"node-10"},"n2":{"id":"n2","name":"node-2"}},"deployments":{`
	for i, name := range []string{"m-110", "m-10", "m-109", "m-9"} {
		if i > 0 {
			hello += ","
		}
		hello += fmt.Sprintf(`"n10/r/%[1]s":{"node_id":"n10","model":%[1]q,"residency":"loaded"}`, name)
	}
	if err := p.apply([]byte(hello + "}}}")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range p.show().Models {
		got = append(got, m.Name)
	}
	for _, m := range p.show().Machines {
		got = append(got, m.Name)
	}
	if want := []string{"m-9", "m-10", "m-109", "m-110", "node-2", "node-10"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAPauseIsShownWithItsTimes(t *testing.T) {
	p := picture{seq: 7}
	hello := `{"type":"hello","seq":7,"state":{"meta":{"engine":{"node_id":"a","node_name":"den","address":"http://localhost:11435"}},
		"nodes":{"a":{"id":"a","name":"den","local":true,"state":"serving","meeting":"unknown","on_battery":"no"}}}}`
	if err := p.apply([]byte(hello)); err != nil {
		t.Fatal(err)
	}
	delta := `{"type":"delta","seq":8,"set":{"nodes":{"a":{"id":"a","name":"den","local":true,"state":"paused","reason":"lunch","paused":true,"pause_reason":"lunch",
		"paused_since":"2026-11-03T12:00:00Z","paused_until":"2026-11-03T13:00:00Z","meeting":"yes","on_battery":"no","running_requests":1}}},"rows":[{"request_id":"x"}]}`
	if err := p.apply([]byte(delta)); err != nil {
		t.Fatal(err)
	}
	s := p.show()
	if !s.Paused || s.Why != "lunch" || s.Running != 1 || !s.Meeting || !s.Since.Equal(time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)) || s.Until.Sub(s.Since) != time.Hour {
		t.Errorf("%+v", s)
	}
	if err := p.apply([]byte(`{"type":"delta","seq":9,"del":{"nodes":["a"]}}`)); err != nil || len(p.show().Machines) != 0 {
		t.Errorf("a machine that left: %v, %+v", err, p.show().Machines)
	}
}

func FuzzFramesNeverBreakTheTray(f *testing.F) {
	f.Add([]byte(`{"type":"delta","seq":1,"set":{"nodes":{"a":{}}}}`), []byte(`{"type":"delta","seq":2,"set":{"lanes":{"a":{}}}}`))
	f.Add([]byte(`{"type":"hello","seq":4,"state":{"nodes":{"a":{"id":"a","paused":true}}}}`), []byte(`{"type":"delta","seq":5,"set":{"nodes":{"b":{}}},"del":{"nodes":["a"]}}`))
	f.Fuzz(func(_ *testing.T, first, second []byte) {
		var p picture
		_ = p.apply(first)
		_ = p.apply(second)
		_ = tray.Menu(p.show())
	})
}

// P-35: the first frames of every kind, and hostile ones, break nothing.
func TestFramesThatAreLostOrUnknown(t *testing.T) {
	var p picture
	for _, c := range []struct {
		frame string
		gap   bool
		bad   bool
	}{
		{`{"type":"delta","seq":1,"set":{"nodes":{"a":{}}}}`, true, false}, {`{"type":"delta","seq":5}`, true, false}, {`{"type":"resync"}`, true, false}, {`{"type":"carrier-pigeon"}`, false, false},
		{`{"type":"hello"}`, false, true}, {`nonsense`, false, true}, {`{"type":"hello","seq":4,"state":{}}`, false, false},
		{`{"type":"delta","seq":5,"set":{"meta":{"engine":{"node_name":"den"}},"later":{"x":{}}},"del":{"nodes":["nobody"]}}`, false, false},
		{`{"type":"delta","seq":7}`, true, false}, {`{"type":"delta","seq":6,"set":{"nodes":{"a":7}}}`, false, true},
	} {
		err := p.apply([]byte(c.frame))
		if errors.Is(err, errGap) != c.gap || (err != nil && !errors.Is(err, errGap)) != c.bad {
			t.Errorf("%s: %v", c.frame, err)
		}
		_ = tray.Menu(p.show())
	}
	if p.engine.NodeName != "den" {
		t.Errorf("name %q", p.engine.NodeName)
	}
}
