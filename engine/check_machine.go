package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"bellwether/engine/fleet"
	"bellwether/platform/desktop"
	"bellwether/platform/sense"
)

// checkNodes tells of other machines that are late or gone.
func checkNodes(s *scene) (out []check) {
	for i := range s.snap.Nodes {
		n := &s.snap.Nodes[i]
		switch {
		case n.Liveness == fleet.Offline:
			out = append(out, found("node."+n.Node, isWarning, "Machine "+n.Name, "See that it is awake and on the network; what it serves is asked for elsewhere meanwhile.",
				"%s has not been heard of since %s.", n.Name, fleet.Moment(n.LastSeen, s.now)))
		case n.Liveness == fleet.Late:
			out = append(out, found("node."+n.Node, isNote, "Machine "+n.Name, "", "%s is late with its reports; it goes on serving.", n.Name))
		}
	}
	return out
}

// checkPower tells what else keeps this machine from others' work.
func checkPower(s *scene) (out []check) {
	n := s.local()
	if n == nil {
		return nil
	}
	if n.State.OnBattery == fleet.Yes && n.State.Battery != "serve" {
		text := "This machine is on battery, so it serves its own apps only."
		if n.State.Battery == "none" {
			text = "This machine is on battery, so it serves nobody."
		}
		out = append(out, found("battery", isNote, "Battery", "Plug it in, or set battery: serve.", "%s", text).about("battery"))
	}
	if n.State.Meeting == fleet.Yes {
		out = append(out, found("meeting", isNote, "Meeting", "It ends by itself; meetings.ignore lists programs that are no meeting.",
			"The camera or the microphone is in use, so this machine takes no work of others.").about("meetings.enabled"))
	}
	return out
}

// checkHeat tells when heat makes this machine slower.
func checkHeat(s *scene) []check {
	n := s.local()
	if n == nil || n.Readings.Thermal.Value != string(sense.HeatHot) {
		return nil
	}
	return []check{found("heat", isNote, "Heat", "Give it air, or let another machine take what is long.",
		"The processors slow down because of heat, so answers take longer.")}
}

// Room that the disk of the data folder should have.
const (
	spaceLow  = 2 << 30
	spaceNone = 256 << 20
)

func checkDisk(s *scene) []check {
	switch free := s.space.Free; {
	case s.spaceErr != nil:
		return nil // a disk that does not say has been said nothing of
	case free < spaceNone:
		return []check{found("disk", isBroken, "Disk", "Make room: records are lost, and models cannot be pulled.", "The disk of the data folder has %s left.", fleet.Bytes(free))}
	case free < spaceLow:
		return []check{found("disk", isWarning, "Disk", "Make room, or delete models that nobody asks for.", "The disk of the data folder has %s left.", fleet.Bytes(free))}
	}
	return []check{found("disk", isOK, "Disk", "", "The disk of the data folder has %s left.", fleet.Bytes(s.space.Free))}
}

func checkLog(s *scene) []check {
	if s.logErr == nil {
		return nil
	}
	return []check{found("log", isNote, "Log", "Make the log's folder writable to this user, and restart Bellwether.", "The log is not written to a file: %s.", s.logErr)}
}

// checkRecords tells of decision records that were lost, and of what happened
// to their file; that it cannot be written now, the check store tells.
func checkRecords(s *scene) (out []check) {
	if s.store.OK && s.store.Dropped > 0 {
		out = append(out, found("store.dropped", isWarning, "Lost records", "Nothing has to be done: records are kept again. A restart forgets this.",
			"%d decision records were lost since the start: %s.", s.store.Dropped, s.store.DroppedWhy))
	}
	if s.store.Unreadable > 0 {
		out = append(out, found("store.unreadable", isNote, "Unreadable records", "", "%d decision records were found damaged and are not shown.", s.store.Unreadable))
	}
	for _, n := range s.store.Notes {
		out = append(out, found("store.note", isNote, "Decision records", "", "%s", n.Text))
	}
	return out
}

// privateFiles hold what only their owner may read.
var privateFiles = []string{"node.key", "engine.json", "fleet-policy.json"}

func (e *Engine) exposedFiles() (out []string) {
	for _, name := range privateFiles {
		_, err := desktop.ReadPrivate(filepath.Join(e.opts.Folders.Data, name))
		var open *desktop.ExposedError
		if errors.As(err, &open) {
			out = append(out, name)
		}
	}
	if c := e.conf(); c.keysAreExposed() {
		out = append(out, filepath.Base(c.file))
	}
	return out
}

// keysAreExposed reports whether others may read the keys in the settings file.
func (c *Config) keysAreExposed() bool {
	if c.file == "" || os.PathSeparator != '/' {
		return false
	}
	info, err := os.Stat(c.file)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return false
	}
	inFile := func(key string) bool { return strings.HasPrefix(c.Source(key), "file ") }
	return inFile("security.api_keys") && holdsSecret(c.Security.APIKeys) || inFile("runtimes") && holdsSecret(c.Runtimes)
}

// hideFiles takes the others' right to read away.
func (e *Engine) hideFiles() error {
	var wrong []error
	for _, name := range e.exposedFiles() {
		path := filepath.Join(e.opts.Folders.Data, name)
		if c := e.conf(); name == filepath.Base(c.file) {
			path = c.file
		}
		wrong = append(wrong, os.Chmod(path, 0o600))
	}
	return errors.Join(wrong...)
}

func checkPrivate(s *scene) []check {
	if len(s.exposed) == 0 {
		return []check{found("private", isOK, "Private files", "", "Keys and the admin token can be read by their owner only.")}
	}
	return []check{found("private", isBroken, "Private files", "Make them private; whoever may have read a key should be given another.",
		"Other users of this machine can read %s.", strings.Join(s.exposed, " and ")).button("Make private", "", s.do.makePrivate)}
}

// jump is a moment at which the clock moved otherwise than time did.
type jump struct {
	at time.Time
	by time.Duration // ahead; negative = back
}

// clockWatch notices when the clock is set, or the machine slept. Its mutex
// guards all of it.
type clockWatch struct {
	mu         sync.Mutex
	mono, wall time.Time // of the last look; mono stops while the machine sleeps
	found      jump
}

const (
	jumpLeast  = 5 * time.Second
	jumpToldIn = time.Hour
)

// see takes the time as it is: now's monotonic reading and the wall clock.
func (c *clockWatch) see(mono, wall time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.mono.IsZero() {
		if by := wall.Sub(c.wall) - mono.Sub(c.mono); by.Abs() >= jumpLeast {
			c.found = jump{at: wall, by: by}
		}
	}
	c.mono, c.wall = mono, wall
}

func (c *clockWatch) last() jump {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.found
}

func checkClock(s *scene) []check {
	j := s.jump
	switch {
	case j.by == 0 || s.now.Sub(j.at) > jumpToldIn:
		return nil
	case j.by < 0:
		return []check{found("clock", isWarning, "Clock", "Let the system set its clock by the network. Decisions of that time stand in the wrong order.",
			"The clock was set back by %s at %s.", lasting(-j.by), fleet.Moment(j.at, s.now))}
	}
	return []check{found("clock", isNote, "Clock", "", "The clock went ahead by %s at %s: the machine slept, or its clock was set.", lasting(j.by), fleet.Moment(j.at, s.now))}
}
