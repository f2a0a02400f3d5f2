package tray

import (
	"fmt"
	"strings"
	"time"

	"bellwether/engine/fleet"
)

// Action is what a click asks for. Its Name is one of the constants below,
// Subject what it is about.
type Action struct{ Name, Subject string }

// Actions. Those of Pause end it as they say.
const (
	Pause         = "pause" // until resumed
	PauseHour     = "pause-hour"
	PauseTomorrow = "pause-tomorrow"
	Resume        = "resume"
	NotMeeting    = "not-a-meeting"
	Tonight       = "tonight"
	Unload        = "unload" // Subject: the deployment
	BeRouter      = "be-router"
	Copy          = "copy" // Subject: the address
	OpenWindow    = "open"
	Pair          = "pair"
	LoginOn       = "login-on"
	LoginOff      = "login-off"
	ViewLog       = "log"
	StartEngine   = "start"
	Quit          = "quit"       // asks while requests run
	QuitFinished  = "quit-after" // when what runs has ended
	QuitNow       = "quit-now"   // what runs gets an error
	KeepRunning   = "keep"       // no, do not quit
)

// View is what the desktop shows.
type View struct {
	Icon    Icon
	Tooltip string
	Menu    []Item
}

// Item is a line of the menu. Its Key stays the same whatever it says, so that
// an open menu is changed and never built anew.
type Item struct {
	Key       string
	Label     string
	Hidden    bool
	Off       bool // shown, and cannot be chosen
	Tick      Tick
	Separator bool // a line; nothing else of the item counts
	Do        Action
	Items     []Item // its submenu
}

// Tick is a check mark.
type Tick int

// Whether an item has one.
const (
	NoTick Tick = iota
	Unticked
	Ticked
)

// Most lines of the two lists; what is beyond stands in the admin window.
const (
	mostModels   = 12
	mostMachines = 16
)

// Menu says what the desktop shows for a state. It reads no clock and keeps
// nothing: the same state gives the same view.
//
// The items and their order never change, only what they say and whether they
// are seen:
//
//  1. what this machine does and why, how old that is, what came of a click
//  2. pausing and its ends
//  3. models, machines, router
//  4. addresses, admin window, pairing
//  5. start at login, log, about, quit
func Menu(s State) View {
	up := s.Phase == Serving
	line := Item{Separator: true}
	menu := []Item{
		{Key: "status", Label: statusLine(&s), Off: true},
		{Key: "detail", Label: detailLine(&s), Off: true, Hidden: detailLine(&s) == ""},
		{Key: "notice", Label: s.Notice, Off: true, Hidden: s.Notice == ""},
		{Key: StartEngine, Label: "Start Bellwether", Hidden: s.Phase != Down, Do: Action{Name: StartEngine}},
		line,
		{Key: Resume, Label: "Resume", Hidden: !up || !s.Paused, Do: Action{Name: Resume}},
		{Key: Pause, Label: "Pause", Hidden: !up || s.Paused, Do: Action{Name: Pause}},
		{Key: "pause-for", Label: "Pause for", Hidden: !up, Items: []Item{
			{Key: PauseHour, Label: "1 hour", Do: Action{Name: PauseHour}},
			{Key: PauseTomorrow, Label: "Until tomorrow, 06:00", Do: Action{Name: PauseTomorrow}},
			{Key: "pause-forever", Label: "Until I resume", Do: Action{Name: Pause}},
		}},
		{Key: NotMeeting, Label: "Not a meeting", Hidden: !up || !s.Meeting || !s.Offered.NotMeeting, Do: Action{Name: NotMeeting}},
		{Key: Tonight, Label: "Use it all tonight", Hidden: !up || !s.Offered.Tonight, Do: Action{Name: Tonight}},
		line,
		models(&s, up),
		machines(&s, up),
		{Key: "router", Label: routerLine(&s), Off: true, Hidden: !up || s.Router == ""},
		{Key: BeRouter, Label: "Be the router", Hidden: !up || s.Routes || !s.Offered.BeRouter, Do: Action{Name: BeRouter}},
		{Key: "copy", Label: "Copy address for", Hidden: s.Address == "", Items: []Item{
			copyItem("openai", "OpenAI apps", s.Address+"/v1"),
			copyItem("anthropic", "Anthropic apps", s.Address),
			copyItem("ollama", "Ollama apps", s.Address),
		}},
		line,
		{Key: OpenWindow, Label: "Open admin window", Hidden: s.Address == "" || s.Phase == Down, Do: Action{Name: OpenWindow}},
		{Key: Pair, Label: "Pair a machine", Hidden: !up || !s.Offered.Pair, Do: Action{Name: Pair}},
		login(&s),
		{Key: ViewLog, Label: "View log", Do: Action{Name: ViewLog}},
		{Key: "about", Label: "About", Items: about(&s)},
		line,
	}
	return View{Icon: iconOf(&s), Tooltip: tooltip(&s), Menu: append(menu, quitItems(&s)...)}
}

// iconOf chooses the icon: trouble before all, for it wants a person.
func iconOf(s *State) Icon {
	i := Icon{Count: s.Running}
	switch {
	case s.Phase == Starting:
		i.Sign = SignStarting
	case s.Phase == Down, s.old(), s.Phase == Serving && s.Stuck, s.Phase == Serving && !s.Paused && s.Node.State == "serving" && s.Node.Reason != "":
		i.Sign = SignTrouble
	case s.Paused, s.Phase == Stopping, s.Node.State == "draining":
		i.Sign = SignPaused
	case s.Routes && len(s.Machines) > 1:
		i.Sign = SignRouter
	default:
		i.Sign = SignServing
	}
	if s.Phase != Serving && s.Phase != Stopping || s.old() {
		i.Count = 0 // nobody says how many run
	}
	return i
}

// tooltip is "name: state, n running".
func tooltip(s *State) string {
	name := s.Name
	if name == "" {
		name = "Bellwether"
	}
	switch s.Phase {
	case Starting:
		return name + ": starting"
	case Down:
		return name + ": not running"
	case Stopping:
		return name + ": stopping, " + count(s.Running, "running")
	}
	state := s.Node.State
	if s.old() {
		return fmt.Sprintf("%s: nothing heard for %s", name, ago(s.Silent))
	}
	if state == "serving" && s.Node.Reason != "" {
		state = s.Node.Reason
	}
	return name + ": " + state + ", " + count(s.Running, "running")
}

// statusLine says what this machine does, and why.
func statusLine(s *State) string {
	switch s.Phase {
	case Starting:
		return "Starting"
	case Down:
		return "Not running"
	case Stopping:
		if s.Active == 0 {
			return "Stopping"
		}
		return "Stopping: " + requests(s.Active) + " still to finish"
	}
	switch {
	case s.Paused:
		return pauseLine(s)
	case s.Node.State == "serving" && s.Node.Reason != "":
		return sentence(s.Node.Reason)
	case s.Node.State == "serving" && s.Meeting:
		return "Serving its own apps: in a meeting"
	case s.Node.State == "serving":
		return "Serving, " + count(s.Running, "running")
	case s.Node.Reason != "":
		return sentence(s.Node.State) + ": " + s.Node.Reason
	}
	return sentence(s.Node.State)
}

// pauseLine is like "Paused: in a meeting since 14:02".
func pauseLine(s *State) string {
	line := "Paused"
	if why, twice := strings.CutPrefix(s.Why, "paused "); twice { // "paused by its owner"
		line += " " + why
	} else if why != "" {
		line += ": " + why
	}
	if !s.Since.IsZero() {
		line += " since " + fleet.Moment(s.Since, s.Now)
	}
	return line
}

// detailLine is what else has to be said, "" = nothing.
func detailLine(s *State) string {
	switch {
	case s.Phase == Down:
		return s.Trouble
	case s.old():
		return "As of " + ago(s.Silent) + " ago: the engine does not answer"
	case s.Phase != Serving:
		return ""
	}
	var parts []string
	if s.Stuck {
		parts = append(parts, "A part of Bellwether hangs: Health in the admin window says which")
	}
	if s.Paused && !s.Until.IsZero() {
		parts = append(parts, "Resumes "+fleet.Moment(s.Until, s.Now))
	}
	if s.Paused && s.Running > 0 {
		parts = append(parts, requests(s.Running)+" still running")
	}
	if s.Held > 0 {
		parts = append(parts, requests(s.Held)+" held: nobody can serve "+them(s.Held)+" now")
	}
	return strings.Join(parts, ", ")
}

func models(s *State, up bool) Item {
	it := Item{Key: "models", Label: "Models loaded", Hidden: !up, Items: make([]Item, 0, mostModels+2)}
	it.Items = append(it.Items, Item{Key: "models-none", Label: "None", Off: true, Hidden: len(s.Models) > 0})
	for i := range mostModels {
		line := Item{Key: fmt.Sprintf("model-%d", i+1), Hidden: true}
		if i < len(s.Models) {
			m := &s.Models[i]
			line.Hidden, line.Label, line.Off, line.Do = false, modelLine(m), m.Busy > 0, Action{Unload, m.ID}
		}
		it.Items = append(it.Items, line)
	}
	it.Items = append(it.Items, more("models-more", len(s.Models)-mostModels))
	if n := len(s.Models); n > 0 {
		it.Label = fmt.Sprintf("Models loaded (%d)", n)
	}
	return it
}

// modelLine says what a click does: a model in use stays.
func modelLine(m *Model) string {
	line := m.Name
	if m.Machine != "" {
		line += " on " + m.Machine
	}
	if m.Bytes > 0 {
		line += " (" + fleet.Bytes(m.Bytes) + ")"
	}
	if m.Busy > 0 {
		return line + ", " + requests(m.Busy)
	}
	return "Unload " + line
}

func machines(s *State, up bool) Item {
	it := Item{Key: "machines", Label: "Machines", Hidden: !up || len(s.Machines) == 0}
	for i := range mostMachines {
		line := Item{Key: fmt.Sprintf("machine-%d", i+1), Hidden: true, Off: true}
		if i < len(s.Machines) {
			line.Hidden, line.Label = false, machineLine(&s.Machines[i])
		}
		it.Items = append(it.Items, line)
	}
	it.Items = append(it.Items, more("machines-more", len(s.Machines)-mostMachines))
	if n := len(s.Machines); n > 1 {
		it.Label = fmt.Sprintf("Machines (%d)", n)
	}
	return it
}

func machineLine(m *Machine) string {
	line := m.Name
	if m.Here {
		line += " (this machine)"
	}
	line += ": " + m.State
	if m.Reason != "" {
		line += ", " + m.Reason
	}
	return line
}

func login(s *State) Item {
	it := Item{Key: "login", Label: "Start at login", Hidden: !s.Login.Known, Off: s.Login.Fixed, Tick: tick(s.Login.On), Do: Action{Name: LoginOn}}
	if s.Login.On {
		it.Do.Name = LoginOff
	}
	if s.Login.Reason != "" {
		it.Label += " (" + s.Login.Reason + ")"
	}
	return it
}

// more leads to the admin window for what a list has no line for.
func more(key string, n int) Item {
	return Item{Key: key, Label: fmt.Sprintf("%d more in the admin window", max(n, 0)), Hidden: n <= 0, Do: Action{Name: OpenWindow}}
}

func routerLine(s *State) string {
	if s.Routes {
		return "Router: " + s.Router + " (this machine)"
	}
	return "Router: " + s.Router
}

func copyItem(key, who, address string) Item {
	return Item{Key: "copy-" + key, Label: who + "  " + address, Do: Action{Copy, address}}
}

func about(s *State) []Item {
	theirs := ""
	if s.Theirs {
		theirs = "Served by another program on this machine (bellwether serve)"
	}
	return []Item{
		{Key: "about-version", Label: strings.TrimSpace("Bellwether " + s.Version), Off: true},
		{Key: "about-address", Label: "Apps point at " + s.Address, Off: true, Hidden: s.Address == ""},
		{Key: "about-theirs", Label: theirs, Off: true, Hidden: theirs == ""},
	}
}

// quitItems end the program. While requests run the item is a question with
// its answers below it, so that one look at the menu is enough; a click on the
// other one, made on a menu that was older than the requests, asks too.
func quitItems(s *State) []Item {
	ask := !s.Theirs && s.Active > 0 && (s.Phase == Serving || s.Phase == Stopping)
	label := "Quit"
	if s.Theirs && s.Phase == Serving {
		label = "Quit the icon (Bellwether goes on serving)"
	}
	now := "Now: after 10 seconds " + theyGet(s.Active) + " an error"
	if s.Ending {
		now = "Ending: within 10 seconds " + theyGet(s.Active) + " an answer or an error"
	}
	return []Item{
		{Key: Quit, Label: label, Hidden: ask, Off: s.Ending, Do: Action{Name: Quit}},
		{Key: "quit-ask", Label: "Quit (" + open(s.Active, s.Held) + ")", Hidden: !ask, Items: []Item{
			{Key: QuitFinished, Label: "When " + theyHave(s.Active) + " finished", Hidden: s.Phase == Stopping, Do: Action{Name: QuitFinished}},
			{Key: QuitNow, Label: now, Off: s.Ending, Do: Action{Name: QuitNow}},
			{Key: KeepRunning, Label: "Do not quit", Hidden: s.Ending || s.Phase != Stopping && !s.Asked, Do: Action{Name: KeepRunning}},
		}},
	}
}

func tick(on bool) Tick {
	if on {
		return Ticked
	}
	return Unticked
}

// ago is a duration in words, coarse enough not to change at every look.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d/(5*time.Second))*5)
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d/time.Minute))
	}
	return fmt.Sprintf("%d h", int(d/time.Hour))
}

func count(n int, what string) string { return fmt.Sprintf("%d %s", n, what) }

func requests(n int) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}

// open says what became of requests that have no answer yet: those that nobody
// can serve at present do not run.
func open(active, held int) string {
	held = min(held, active)
	switch runs := active - held; {
	case held == 0:
		return requests(active) + verb(active, " runs", " run")
	case runs == 0:
		return requests(held) + verb(held, " is held", " are held")
	default:
		return requests(runs) + verb(runs, " runs, ", " run, ") + fmt.Sprint(held) + verb(held, " is held", " are held")
	}
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func them(n int) string { return verb(n, "it", "them") }

func theyHave(n int) string { return verb(n, "it has", "they have") }

func theyGet(n int) string { return verb(n, "it gets", "they get") }

// sentence begins with a capital.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
