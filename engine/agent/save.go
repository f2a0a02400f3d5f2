package agent

import (
	"encoding/json"
	"fmt"
	"time"

	"bellwether/engine/fleet"
)

// saved is what outlives the process: the ledger, the pause, and what was
// measured of deployments and last seen of runtimes.
type saved struct {
	Version int                              `json:"version"`
	Ledger  json.RawMessage                  `json:"ledger,omitempty"`
	Counted []fleet.DeploymentID             `json:"counted,omitempty"` // deployments the ledger claims memory for
	Calls   []savedCall                      `json:"calls,omitempty"`   // under way
	Pause   pause                            `json:"pause,omitzero"`
	Sizes   map[fleet.DeploymentID]measure   `json:"sizes,omitempty"`
	Moves   map[fleet.DeploymentID]savedMove `json:"moves,omitempty"`
	Caps    map[string]int                   `json:"caps,omitempty"`
	Known   json.RawMessage                  `json:"known,omitempty"`
}

// savedCall is a request or an order to load that was under way. When the
// process dies its connection dies with it. Confirms: no slot is in doubt then,
// as of an order to load, which has none, or of a call whose runtime stops with
// the connection.
type savedCall struct {
	Key      string `json:"key"`
	Confirms bool   `json:"confirms"`
}

// savedMove is when a deployment last came into memory and left it.
type savedMove struct {
	Loaded   time.Time `json:"loaded,omitzero"`
	Unloaded time.Time `json:"unloaded,omitzero"`
}

const savedVersion = 1

func parseSaved(data []byte) (saved, error) {
	if len(data) == 0 {
		return saved{}, nil
	}
	var v saved
	if err := json.Unmarshal(data, &v); err != nil {
		return saved{}, fmt.Errorf("read the saved state: %w", err)
	}
	if v.Version != savedVersion {
		return saved{}, fmt.Errorf("the saved state has version %d, this program reads %d", v.Version, savedVersion)
	}
	return v, nil
}

// saver is the loop's part of saving: one save at a time, and who waits for
// the next one to begin.
type saver struct {
	onFile map[fleet.DeploymentID]struct{} // deployments that the last saved state counts
	saving bool
	next   chan struct{} // closed when the next save to begin has ended; nil = nobody waits
	failed error         // why the last save failed
}

// saveSpacing is how long changes are gathered that nobody waits for.
const saveSpacing = time.Second

// saveSoon sees to it that the state as of now is saved within about a second.
func (s *state) saveSoon() {
	if s.a.cfg.Persist != nil && s.saveDue.IsZero() {
		s.saveDue = s.now().Add(saveSpacing)
	}
}

// saveAtOnce begins a save of the state as of now, as soon as the one under
// way has ended. The channel closes when it is on file or has failed; nil when
// nothing is ever saved.
func (s *state) saveAtOnce() <-chan struct{} {
	if s.a.cfg.Persist == nil {
		return nil
	}
	if s.next == nil {
		s.next = make(chan struct{})
	}
	c := s.next
	if !s.saving {
		s.save()
	}
	return c
}

// save writes the state as of now beside the loop.
func (s *state) save() {
	if s.a.cfg.Persist == nil || s.saving {
		return // what is due stays due, see savedState.on
	}
	s.saveDue = time.Time{}
	data, counted, err := s.export()
	m := &savedState{waiters: s.next, counted: counted, err: err}
	s.next, s.saving = nil, true
	s.a.work.Go(func() {
		if m.err == nil {
			m.err = s.a.cfg.Persist.SaveLedger(data)
		}
		if !s.a.post(m) && m.waiters != nil {
			close(m.waiters)
		}
	})
}

// savedState is the result of a save.
type savedState struct {
	waiters chan struct{}
	counted map[fleet.DeploymentID]struct{}
	err     error
}

// on lets those who waited go on even when the disk is full: the machine goes
// on serving, and the doctor says what would be forgotten.
func (m *savedState) on(s *state) {
	s.saving = false
	if m.err != nil && s.failed == nil {
		s.a.log.Warn("node state could not be saved; a restart would not know what is in memory", "err", m.err)
	}
	s.failed = m.err
	s.onFile = m.counted
	if m.waiters != nil {
		close(m.waiters)
	}
	if s.next != nil {
		s.save()
	}
	if m.err != nil {
		s.saveDue = s.now().Add(heartbeatEvery)
	}
}

// saveNow saves in the loop's own time, at the very end.
func (s *state) saveNow() {
	if s.a.cfg.Persist == nil {
		return
	}
	data, _, err := s.export()
	if err == nil {
		err = s.a.cfg.Persist.SaveLedger(data)
	}
	if err != nil {
		s.a.log.Warn("node state could not be saved", "err", err)
	}
}

func (s *state) export() ([]byte, map[fleet.DeploymentID]struct{}, error) {
	now := s.now()
	ledger, err := s.ledger.Export(now)
	if err != nil {
		return nil, nil, err
	}
	v := saved{
		Version: savedVersion, Ledger: ledger, Pause: s.pause, Caps: s.caps,
		Sizes: map[fleet.DeploymentID]measure{}, Moves: map[fleet.DeploymentID]savedMove{},
	}
	counted := map[fleet.DeploymentID]struct{}{}
	for _, p := range s.ledger.Pools(now) {
		for _, h := range p.Holders {
			if _, twice := counted[h.Deployment]; !twice {
				counted[h.Deployment] = struct{}{}
				v.Counted = append(v.Counted, h.Deployment)
			}
		}
	}
	for id, l := range s.lanes {
		if l.size.Bytes > 0 {
			v.Sizes[id] = l.size
		}
		if !l.loadedAt.IsZero() || !l.unloadedAt.IsZero() {
			v.Moves[id] = savedMove{l.loadedAt.Round(0), l.unloadedAt.Round(0)}
		}
		for le := range l.leases {
			v.Calls = append(v.Calls, savedCall{le.key, le.confirms})
		}
		if l.load != nil {
			v.Calls = append(v.Calls, savedCall{l.load.key, true})
		}
	}
	if v.Known, err = json.Marshal(s.known); err != nil {
		return nil, nil, err
	}
	data, err := json.Marshal(v)
	return data, counted, err
}

// restore takes over what an earlier process saved. Of its calls, those that
// end with their connection are broken off, as by an abort: the memory they may
// have had taken is assumed until it is seen. The others may still run.
func (s *state) restore(v saved) {
	now := s.now()
	s.onFile = map[fleet.DeploymentID]struct{}{}
	if v.Version == 0 {
		return
	}
	if err := s.ledger.Import(v.Ledger, now); err != nil {
		s.a.log.Warn("saved ledger not readable; starting without it", "err", err)
	}
	for _, c := range v.Calls {
		if c.Confirms {
			s.ledger.Release(c.Key, now.Add(abortSettles))
		}
	}
	s.ledger.Recover(s.a.cfg.Settings.UncertainHold, now)
	for id, left := range s.ledger.Uncertain(now) {
		s.lane(id).holds = append(s.lane(id).holds, now.Add(left))
	}
	for id, m := range v.Sizes {
		s.lane(id).size = m
	}
	for id, m := range v.Moves {
		s.lane(id).loadedAt, s.lane(id).unloadedAt = m.Loaded, m.Unloaded
	}
	for _, id := range v.Counted {
		s.onFile[id] = struct{}{}
	}
	for name, most := range v.Caps {
		s.caps[name] = most
	}
	if err := json.Unmarshal(v.Known, &s.known); err != nil && v.Known != nil {
		s.a.log.Warn("what runtimes had is not readable in the saved state; they are looked at anyway", "err", err)
		s.known = map[string]lastKnown{}
	}
	s.pause = v.Pause
}

// forgetCall has the end of a call saved where the file may still list it as
// running and a restart would take it for uncertain.
func (s *state) forgetCall(le *lease) {
	if !le.confirms {
		s.saveSoon()
	}
}
