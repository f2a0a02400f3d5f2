package budget

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"bellwether/engine/fleet"
)

// saved is the ledger's JSON form. No wall-clock time is in it: a moment is
// written as its age, the end of a hold as the time left, so that time spent
// switched off neither ends a hold nor ages an assumption.
type saved struct {
	Version int          `json:"version"`
	Entries []savedEntry `json:"entries"`
}

type savedEntry struct {
	Deployment fleet.DeploymentID `json:"deployment"`
	Resident   *Need              `json:"resident,omitempty"`
	Reserved   []savedReservation `json:"reserved,omitempty"`
	Assumed    *savedAssumption   `json:"assumed,omitempty"`
	Uncertain  []savedHold        `json:"uncertain,omitempty"`
	Leaving    bool               `json:"leaving,omitempty"`
}

type savedReservation struct {
	Key  string `json:"key"`
	Need Need   `json:"need"`
	Sent bool   `json:"sent,omitempty"`
}

type savedAssumption struct {
	Need Need          `json:"need"`
	Ago  time.Duration `json:"ago_ns"`
}

type savedHold struct {
	Need Need          `json:"need"`
	Left time.Duration `json:"left_ns"`
}

const savedVersion = 1

// Export returns all claims as JSON. Pools, pins and options are not in it:
// they are the owner's and come anew at each start.
func (l *Ledger) Export(now time.Time) ([]byte, error) {
	out := saved{Version: savedVersion, Entries: []savedEntry{}}
	ids := slices.SortedFunc(maps.Keys(l.entries), fleet.DeploymentID.Compare)
	for _, id := range ids {
		out.Entries = append(out.Entries, l.entries[id].save(id, now))
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("write the memory ledger: %w", err)
	}
	return data, nil
}

func (e *entry) save(id fleet.DeploymentID, now time.Time) savedEntry {
	s := savedEntry{Deployment: id, Leaving: e.leaving}
	if !e.resident.none() {
		s.Resident = &e.resident
	}
	if !e.assumed.need.none() {
		s.Assumed = &savedAssumption{e.assumed.need, now.Sub(e.assumed.at)}
	}
	for _, key := range slices.Sorted(maps.Keys(e.reserved)) {
		s.Reserved = append(s.Reserved, savedReservation{key, e.reserved[key].need, e.reserved[key].sent})
	}
	for _, h := range e.holds {
		if left := h.until.Sub(now); left > 0 {
			s.Uncertain = append(s.Uncertain, savedHold{h.need, left})
		}
	}
	return s
}

// Import replaces all claims by what Export returned; on an error nothing has
// changed. A fresh process calls Recover next.
func (l *Ledger) Import(data []byte, now time.Time) error {
	var in saved
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("read the memory ledger: %w", err)
	}
	if in.Version != savedVersion {
		return fmt.Errorf("read the memory ledger: version %d is not known here", in.Version)
	}
	l.entries = make(map[fleet.DeploymentID]*entry, len(in.Entries))
	l.keys = map[string]fleet.DeploymentID{}
	for _, s := range in.Entries {
		l.restore(s, now)
	}
	return nil
}

func (l *Ledger) restore(s savedEntry, now time.Time) {
	e := l.entry(s.Deployment)
	e.leaving = s.Leaving
	if s.Resident != nil {
		e.resident = *s.Resident
	}
	if s.Assumed != nil {
		e.assumed = assumption{s.Assumed.Need, now.Add(-s.Assumed.Ago)}
	}
	for _, r := range s.Reserved {
		if e.reserved == nil {
			e.reserved = map[string]reservation{}
		}
		e.reserved[r.Key] = reservation{r.Need, r.Sent}
		l.keys[r.Key] = s.Deployment
	}
	for _, h := range s.Uncertain {
		e.holds = append(e.holds, hold{h.Need, now.Add(h.Left)})
	}
	l.sweep(s.Deployment)
}

// Recover turns what Import brought into the state of a fresh process, whose
// calls have all lost their owner: a reservation whose call had begun becomes
// an uncertain hold of d and stays assumed until an observation from now on;
// one that had sent nothing is over; an unload under way is to be seen.
func (l *Ledger) Recover(d time.Duration, now time.Time) {
	for key, id := range maps.Clone(l.keys) {
		if l.entries[id].reserved[key].sent {
			l.Hold(key, d, now)
		} else {
			l.Release(key, now)
		}
	}
	for _, e := range l.entries {
		e.leaving = false
	}
}
