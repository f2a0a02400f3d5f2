package tray

import "time"

// State is all that the tray shows. It holds what the engine told, and when;
// nothing in it is guessed.
type State struct {
	Now   time.Time // when this state was made, in the zone to show times in
	Phase Phase
	// Trouble says why nothing runs, "" while something does; one sentence, the
	// remedy with it.
	Trouble string
	// Theirs says that the engine is another program's (bellwether serve): it
	// goes on when the tray quits.
	Theirs bool
	// Silent is how long the engine has told nothing; see staleAfter.
	Silent time.Duration

	Version string
	Name    string // of this machine
	Address string // what apps point at: http://localhost:11435

	Node     Machine   // this one
	Paused   bool      // by its owner
	Since    time.Time // of the pause; zero = not known
	Until    time.Time // end of the pause; zero = until resumed
	Why      string    // of the pause; "" = its owner did not say
	Meeting  bool      // camera or microphone in use
	Running  int       // requests on this machine
	Active   int       // requests that apps of this machine wait for, wherever they run
	Stuck    bool      // a part of the engine hangs, and what is shown of it is old
	Held     int       // of these, those that nobody can serve at present
	Router   string    // the machine that routes, "" = none is known
	Routes   bool      // this machine does
	Machines []Machine // all of the fleet, this one among them, in the order to show
	Models   []Model   // in memory, all machines, in the order to show

	Login Login
	// Asked says that the owner wants to quit while requests run, and has to say
	// what becomes of them.
	Asked bool
	// Ending says that the way out has begun and cannot be called off.
	Ending bool
	// Notice is what came of the last click where that was not what was asked
	// for; "" = nothing to tell.
	Notice string

	// Offered are the features that are there; an item without its own is hidden.
	Offered Features
}

// Phase is how far the engine is.
type Phase int

// The phases.
const (
	Starting Phase = iota
	Serving        // it answers; what it does is Node's to say
	Stopping       // it was asked to end, and running requests finish
	Down           // there is none; Trouble says why
)

// Machine is one node. State is serving, paused, draining, late or offline.
type Machine struct {
	ID, Name, State, Reason string
	Here                    bool // the one with this tray
}

// Model is a model in memory.
type Model struct {
	ID      string // of the deployment: node/runtime/model
	Name    string
	Machine string // its name, "" on this machine
	Bytes   int64  // 0 = not known
	Busy    int    // requests it runs or that wait for it
}

// Login is whether this program starts at login, as the system says.
type Login struct {
	Known  bool // whether that can be told here
	On     bool
	Fixed  bool   // a click cannot change it
	Reason string // why not, or why it is off although it was switched on
}

// Features are what the engine can do beyond what it always can.
type Features struct {
	NotMeeting bool // it can be told that this is no meeting
	Tonight    bool // it can be lent out for a night
	Pair       bool // machines can be paired
	BeRouter   bool // the role can be taken
}

// staleAfter is how long an engine may tell nothing before its figures are
// shown as old: three of its heartbeats.
const staleAfter = 15 * time.Second

// old reports that what is shown may not be so any more.
func (s *State) old() bool { return s.Phase == Serving && s.Silent >= staleAfter }
