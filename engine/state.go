package engine

import (
	"encoding/json"
	"path/filepath"
	"time"

	"bellwether/platform/desktop"
)

// State is what a running engine tells the programs of its owner: where it
// answers and the token that lets them change things. It lies in the data
// folder, readable by the owner only, while the engine runs.
type State struct {
	Address string    `json:"address"` // what apps point at: http://localhost:11435
	Admin   string    `json:"admin"`   // base URL to dial for /admin/, always loopback
	Token   string    `json:"token"`
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
}

func statePath(f desktop.Folders) string { return filepath.Join(f.Data, "engine.json") }

// ReadState returns the state of the engine running on a data folder. Without
// one the error is fs.ErrNotExist.
func ReadState(f desktop.Folders) (State, error) {
	var s State
	raw, err := desktop.ReadPrivate(statePath(f))
	if err != nil {
		return s, err
	}
	err = json.Unmarshal(raw, &s)
	return s, err
}

func (s State) write(f desktop.Folders) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return desktop.WritePrivate(statePath(f), raw)
}
