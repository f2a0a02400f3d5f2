package tray

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var afternoon = time.Date(2026, 11, 3, 14, 30, 0, 0, time.UTC) // a Tuesday

// at is a time of that day.
func at(clock string) time.Time {
	t, err := time.Parse("15:04", clock)
	if err != nil {
		panic(err)
	}
	return time.Date(2026, 11, 3, t.Hour(), t.Minute(), 0, 0, time.UTC)
}

// studio is an engine that serves, changed as a story tells.
func studio(changes ...func(*State)) State {
	s := State{
		Now: afternoon, Phase: Serving, Version: "1.2.0", Name: "studio", Address: "http://localhost:11435",
		Node: Machine{ID: "n1", Name: "studio", State: "serving", Here: true}, Router: "studio", Routes: true,
		Machines: []Machine{{ID: "n1", Name: "studio", State: "serving", Here: true}},
		Login:    Login{Known: true},
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func TestTheMenuTellsWhatHappens(t *testing.T) {
	for _, story := range []struct {
		name    string
		state   State
		tooltip string
		icon    Icon
		says    []string // lines that are there, in this order
		lacks   []string
	}{
		{"before the engine answers", State{Phase: Starting, Version: "1.2.0"},
			"Bellwether: starting", Icon{Sign: SignStarting},
			[]string{"Starting", "View log", "About", "Quit"}, []string{"Pause", "Resume", "Models", "Machines", "Copy address", "Open admin window", "Start at login"}},

		{"a machine that serves", studio(),
			"studio: serving, 0 running", Icon{Sign: SignServing},
			[]string{"Serving, 0 running", "Pause", "Pause for", "1 hour", "Until tomorrow, 06:00", "Until I resume", "Models loaded", "None", "Machines",
				"studio (this machine): serving", "Router: studio (this machine)", "Copy address for", "OpenAI apps  http://localhost:11435/v1",
				"Anthropic apps  http://localhost:11435", "Ollama apps  http://localhost:11435", "Open admin window", "Start at login", "View log", "About", "Bellwether 1.2.0", "Quit"},
			[]string{"Resume", "Not a meeting", "Use it all tonight", "Be the router", "Pair a machine", "Start Bellwether", "Served by another"}},

		{"three requests run", studio(func(s *State) { s.Running, s.Active = 3, 3 }),
			"studio: serving, 3 running", Icon{Sign: SignServing, Count: 3},
			[]string{"Serving, 3 running", "Quit (3 requests run)", "When they have finished", "Now: after 10 seconds they get an error"}, []string{"Do not quit"}},

		{"paused by its owner, for good", studio(func(s *State) {
			s.Paused, s.Why, s.Since, s.Node.State, s.Node.Reason = true, "paused by its owner", at("14:02"), "paused", "paused by its owner"
		}),
			"studio: paused, 0 running", Icon{Sign: SignPaused},
			[]string{"Paused by its owner since 14:02", "Resume", "Pause for", "1 hour"}, []string{"Resumes"}},

		{"paused by a meeting until four, with one request left", studio(func(s *State) {
			s.Paused, s.Why, s.Since, s.Until, s.Node.State, s.Running, s.Active = true, "in a meeting", at("14:02"), at("16:00"), "paused", 1, 1
		}),
			"studio: paused, 1 running", Icon{Sign: SignPaused, Count: 1},
			[]string{"Paused: in a meeting since 14:02", "Resumes 16:00, 1 request still running", "Resume"}, nil},

		{"paused until tomorrow", studio(func(s *State) {
			s.Paused, s.Why, s.Until, s.Node.State = true, "", at("06:00").AddDate(0, 0, 1), "paused"
		}),
			"studio: paused, 0 running", Icon{Sign: SignPaused}, []string{"Paused", "Resumes Wed 06:00"}, []string{"since"}},

		{"no runtime is up", studio(func(s *State) { s.Node.Reason = "no runtime is up" }),
			"studio: no runtime is up, 0 running", Icon{Sign: SignTrouble}, []string{"No runtime is up", "Pause"}, nil},

		{"requests that nobody can serve", studio(func(s *State) { s.Held, s.Active = 2, 2 }),
			"studio: serving, 0 running", Icon{Sign: SignServing}, []string{"Serving, 0 running", "2 requests held: nobody can serve them now"}, nil},

		{"in a meeting", studio(func(s *State) { s.Meeting = true }),
			"studio: serving, 0 running", Icon{Sign: SignServing}, []string{"Serving its own apps: in a meeting"}, []string{"Not a meeting"}},

		{"in a meeting, once it can be told that it is none", studio(func(s *State) { s.Meeting, s.Offered.NotMeeting = true, true }),
			"studio: serving, 0 running", Icon{Sign: SignServing}, []string{"Pause for", "Not a meeting", "Models loaded"}, nil},

		{"a fleet whose router is here", studio(func(s *State) {
			s.Machines = append(s.Machines, Machine{Name: "tower", State: "paused", Reason: "a build (until 11:00)"})
		}),
			"studio: serving, 0 running", Icon{Sign: SignRouter},
			[]string{"Machines (2)", "studio (this machine): serving", "tower: paused, a build (until 11:00)", "Router: studio (this machine)"}, nil},

		{"a fleet whose router is elsewhere, once the role can be taken", studio(func(s *State) {
			s.Machines, s.Router, s.Routes, s.Offered = append(s.Machines, Machine{Name: "tower", State: "late", Reason: "its heartbeat is late"}), "tower", false, Features{BeRouter: true, Pair: true, Tonight: true}
		}),
			"studio: serving, 0 running", Icon{Sign: SignServing},
			[]string{"Use it all tonight", "tower: late, its heartbeat is late", "Router: tower", "Be the router", "Open admin window", "Pair a machine"}, []string{"Router: tower (this machine)"}},

		{"models in memory, one of them at work", studio(func(s *State) {
			s.Models = []Model{{ID: "n1/ollama/qwen3:8b", Name: "qwen3:8b", Bytes: 5_583_457_485}, {ID: "n1/ollama/llama3.2:3b", Name: "llama3.2:3b", Busy: 2}, {ID: "n2/ollama/gemma3:4b", Name: "gemma3:4b", Machine: "tower"}}
		}),
			"studio: serving, 0 running", Icon{Sign: SignServing},
			[]string{"Models loaded (3)", "Unload qwen3:8b (5.2 GB)", "llama3.2:3b, 2 requests", "Unload gemma3:4b on tower"}, []string{"None", "Unload llama3.2:3b"}},

		// P-37: what is old says so, and the counter of what nobody confirms is gone.
		{"an engine that has said nothing for a while", studio(func(s *State) { s.Silent, s.Running = 47*time.Second, 2 }),
			"studio: nothing heard for 45 s", Icon{Sign: SignTrouble}, []string{"As of 45 s ago: the engine does not answer"}, nil},

		{"a part of the engine that hangs", studio(func(s *State) { s.Stuck = true }),
			"studio: serving, 0 running", Icon{Sign: SignTrouble}, []string{"A part of Bellwether hangs: Health in the admin window says which"}, nil},

		{"an engine that is only quiet", studio(func(s *State) { s.Silent = 9 * time.Second }),
			"studio: serving, 0 running", Icon{Sign: SignServing}, []string{"Serving, 0 running"}, []string{"As of"}},

		{"an engine that could not start", State{Phase: Down, Trouble: "Ollama holds localhost:11435. End it, and Bellwether starts by itself; or change the setting listen", Version: "1.2.0"},
			"Bellwether: not running", Icon{Sign: SignTrouble},
			[]string{"Not running", "Ollama holds localhost:11435. End it, and Bellwether starts by itself; or change the setting listen", "Start Bellwether", "View log", "Quit"}, []string{"Pause", "Open admin window"}},

		{"somebody else's engine", studio(func(s *State) { s.Theirs, s.Active, s.Running = true, 1, 1 }),
			"studio: serving, 1 running", Icon{Sign: SignServing, Count: 1},
			[]string{"Pause", "Served by another program on this machine (bellwether serve)", "Quit the icon (Bellwether goes on serving)"}, []string{"Quit (1"}},

		{"asked to quit with a menu that was old", studio(func(s *State) {
			s.Active, s.Running, s.Asked, s.Notice = 1, 1, true, "Choose below what becomes of 1 request"
		}),
			"studio: serving, 1 running", Icon{Sign: SignServing, Count: 1},
			[]string{"Choose below what becomes of 1 request", "Quit (1 request runs)", "When it has finished", "Now: after 10 seconds it gets an error", "Do not quit"}, nil},

		{"quitting when the last has finished", studio(func(s *State) { s.Phase, s.Active, s.Running = Stopping, 1, 1 }),
			"studio: stopping, 1 running", Icon{Sign: SignPaused, Count: 1},
			[]string{"Stopping: 1 request still to finish", "Quit (1 request runs)", "Now: after 10 seconds it gets an error", "Do not quit"}, []string{"When it has finished", "Pause", "Unload"}},

		{"quitting while one request runs and two are held", studio(func(s *State) { s.Active, s.Running, s.Held = 3, 1, 2 }),
			"studio: serving, 1 running", Icon{Sign: SignServing, Count: 1}, []string{"Quit (1 request runs, 2 are held)", "When they have finished"}, nil},

		{"quitting while one is held", studio(func(s *State) { s.Active, s.Held = 1, 1 }),
			"studio: serving, 0 running", Icon{Sign: SignServing}, []string{"Quit (1 request is held)"}, []string{"runs"}},

		{"on the way out, once that was chosen", studio(func(s *State) { s.Phase, s.Active, s.Running, s.Ending, s.Asked = Stopping, 2, 2, true, true }),
			"studio: stopping, 2 running", Icon{Sign: SignPaused, Count: 2},
			[]string{"Stopping: 2 requests still to finish", "Quit (2 requests run)", "Ending: within 10 seconds they get an answer or an error"}, []string{"Now:", "Do not quit", "When they"}},

		{"an unload that was refused", studio(func(s *State) { s.Notice = "qwen3:8b is in use: it was not unloaded." }),
			"studio: serving, 0 running", Icon{Sign: SignServing}, []string{"Serving, 0 running", "qwen3:8b is in use: it was not unloaded.", "Pause"}, nil},
	} {
		t.Run(story.name, func(t *testing.T) {
			v := Menu(story.state)
			if v.Tooltip != story.tooltip || v.Icon != story.icon {
				t.Errorf("tooltip %q, icon %v %d; want %q, %v %d", v.Tooltip, v.Icon.Sign, v.Icon.Count, story.tooltip, story.icon.Sign, story.icon.Count)
			}
			lines := seen(v.Menu)
			next := 0
			for _, line := range story.says {
				k := slices.Index(lines[next:], line)
				if k < 0 {
					t.Fatalf("no line %q, or not in its place:\n%s", line, strings.Join(lines, "\n"))
				}
				next += k + 1
			}
			for _, line := range story.lacks {
				if slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, line) && !slices.Contains(story.says, l) }) {
					t.Errorf("a line says %q:\n%s", line, strings.Join(lines, "\n"))
				}
			}
		})
	}
}

// seen are the labels that a person sees, submenus opened.
func seen(menu []Item) (lines []string) {
	for _, it := range menu {
		if it.Hidden || it.Separator {
			continue
		}
		lines = append(lines, it.Label)
		lines = append(lines, seen(it.Items)...)
	}
	return lines
}

// T-02: one menu for all systems: nothing in it asks which one this is. And the
// renderer relies on it that only what items say changes, never which there are.
func TestTheMenuHasTheSameItemsWhateverHappens(t *testing.T) {
	want := keys(Menu(State{}).Menu, "")
	var twice []string
	for i, k := range want {
		if k != "" && slices.Contains(want[:i], k) {
			twice = append(twice, k)
		}
	}
	if twice != nil {
		t.Errorf("keys %v are there twice", twice)
	}
	crowd := studio(func(s *State) {
		for i := range 30 {
			s.Models = append(s.Models, Model{ID: fmt.Sprint(i), Name: fmt.Sprint(i)})
			s.Machines = append(s.Machines, Machine{Name: fmt.Sprint(i)})
		}
		s.Offered = Features{true, true, true, true}
	})
	for name, s := range map[string]State{"serving": studio(), "a crowd": crowd, "down": {Phase: Down}, "stopping": studio(func(s *State) { s.Phase = Stopping })} {
		if got := keys(Menu(s).Menu, ""); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: items\n%q\nwant\n%q", name, got, want)
		}
	}
	if !slices.Contains(seen(Menu(crowd).Menu), "18 more in the admin window") {
		t.Errorf("what a list has no line for is not told:\n%q", seen(Menu(crowd).Menu))
	}
}

func keys(menu []Item, indent string) (out []string) {
	for _, it := range menu {
		out = append(out, strings.TrimSpace(indent+it.Key))
		out = append(out, keys(it.Items, indent)...)
	}
	return out
}

// T-01, P-33: the tick is what the system says, and there is none where that
// cannot be told.
func TestStartAtLoginShowsWhatTheSystemSays(t *testing.T) {
	for _, c := range []struct {
		login  Login
		hidden bool
		tick   Tick
		off    bool
		label  string
	}{
		{Login{}, true, Unticked, false, "Start at login"}, {Login{Known: true}, false, Unticked, false, "Start at login"},
		{Login{Known: true, On: true}, false, Ticked, false, "Start at login"},
		{Login{Known: true, Fixed: true, Reason: "this Bellwether is gone tomorrow"}, false, Unticked, true, "Start at login (this Bellwether is gone tomorrow)"},
	} {
		menu := Menu(studio(func(s *State) { s.Login = c.login })).Menu
		it := menu[slices.IndexFunc(menu, func(it Item) bool { return it.Key == "login" })]
		if it.Hidden != c.hidden || it.Tick != c.tick || it.Off != c.off || it.Label != c.label {
			t.Errorf("%+v: hidden %v, tick %v, off %v, %q", c.login, it.Hidden, it.Tick, it.Off, it.Label)
		}
		// A click asks for the other of what was shown, not of what is by then.
		if want := map[bool]string{true: LoginOff, false: LoginOn}[c.login.On]; it.Do.Name != want {
			t.Errorf("%+v: a click does %q", c.login, it.Do.Name)
		}
	}
}

// Every line that can be chosen says what it does, and asks for it.
func TestWhatCanBeChosenDoesSomething(t *testing.T) {
	s := studio(func(s *State) {
		s.Offered, s.Meeting, s.Routes = Features{true, true, true, true}, true, false
		s.Models = []Model{{ID: "n1/ollama/a", Name: "a"}, {ID: "n1/ollama/b", Name: "b", Busy: 1}}
	})
	var look func(menu []Item)
	look = func(menu []Item) {
		for _, it := range menu {
			look(it.Items)
			if it.Hidden || it.Separator || it.Off || len(it.Items) > 0 {
				continue
			}
			if it.Do.Name == "" || it.Label == "" {
				t.Errorf("%s (%q) does nothing", it.Key, it.Label)
			}
		}
	}
	look(Menu(s).Menu)
	menu := Menu(s).Menu
	models := menu[slices.IndexFunc(menu, func(it Item) bool { return it.Key == "models" })]
	if got := models.Items[1]; got.Off || got.Do != (Action{Unload, "n1/ollama/a"}) {
		t.Errorf("a: %+v", got)
	}
	if got := models.Items[2]; !got.Off {
		t.Error("a model at work can be unloaded")
	}
}

func TestWhatWasChosenCannotBeChosenAgain(t *testing.T) {
	for _, active := range []int{0, 1} {
		menu := Menu(studio(func(s *State) { s.Phase, s.Active, s.Ending = Stopping, active, true })).Menu
		for _, it := range append(menu[len(menu)-2:], menu[len(menu)-1].Items...) {
			if !it.Hidden && !it.Off && len(it.Items) == 0 {
				t.Errorf("%d requests: %q can be chosen on the way out", active, it.Label)
			}
		}
	}
}

// The renderer is told of what differs, and of nothing else.
func TestOnlyWhatDiffersIsDrawn(t *testing.T) {
	busy := func(n int) func(*State) { return func(s *State) { s.Running, s.Active = n, n } }
	for _, c := range []struct {
		name    string
		was, is State
		want    []string
	}{
		{"nothing", studio(), studio(), nil},
		{"time", studio(), studio(func(s *State) { s.Now, s.Silent = s.Now.Add(time.Minute), 5*time.Second }), nil},
		{"a third request", studio(busy(2)), studio(busy(3)), []string{"icon serving 3", "tooltip studio: serving, 3 running", "change status", "change quit-ask"}},
		{"login", studio(), studio(func(s *State) { s.Login.On = true }), []string{"change login"}},
		{"a model", studio(), studio(func(s *State) { s.Models = []Model{{ID: "a", Name: "a"}} }), []string{"change models-none", "change model-1", "change models"}},
	} {
		s := &record{}
		update(s, Menu(c.was), Menu(c.is))
		if !reflect.DeepEqual(s.said, c.want) {
			t.Errorf("%s: drawn %q, want %q", c.name, s.said, c.want)
		}
	}
}

func TestTheMenuIsBuiltOnceAndFollowsTheStates(t *testing.T) {
	states, done, s := make(chan State), make(chan struct{}), &record{}
	go func() { defer close(done); draw(t.Context(), s, states) }()
	states <- studio()
	states <- studio(func(s *State) { s.Paused, s.Node.State = true, "paused" })
	close(states)
	<-done
	if s.built != 1 || s.said[len(s.said)-1] == "" || !slices.Contains(s.said, "icon paused 0") || s.said[0] != "icon starting 0" {
		t.Errorf("built %d times, drawn %q", s.built, s.said)
	}
}

// record is a screen that notes what is drawn.
type record struct {
	built int
	said  []string
}

func (r *record) build([]Item) { r.built++ }
func (r *record) icon(i Icon)  { r.said = append(r.said, fmt.Sprintf("icon %v %d", i.Sign, i.Count)) }
func (r *record) tooltip(text string) {
	r.said = append(r.said, "tooltip "+text)
}
func (r *record) change(_, is Item) { r.said = append(r.said, "change "+is.Key) }
