package budget

import "bellwether/engine/fleet"

// Denial says why a candidate may not come in, with its numbers in bytes. It
// is an error.
type Denial struct {
	Kind       DenialKind         `json:"kind"`
	Deployment fleet.DeploymentID `json:"deployment"`     // the candidate, or the victim that may not leave
	Pool       string             `json:"pool,omitempty"` // the pool that is too small
	Need       int64              `json:"need,omitempty"` // what the candidate adds to that pool
	Held       int64              `json:"held,omitempty"` // what the others hold of it
	Margin     int64              `json:"margin,omitempty"`
	Limit      int64              `json:"limit,omitempty"`
	Loaded     int                `json:"loaded,omitempty"`     // deployments the runtime has
	MaxLoaded  int                `json:"max_loaded,omitempty"` // and the most it keeps
}

// DenialKind is the sort of a denial.
type DenialKind string

// Kinds of denial.
const (
	DenyMemory    DenialKind = "memory"     // would go over the pool's limit
	DenyUnknown   DenialKind = "unknown"    // a counted size is unknown and the policy rejects that
	DenyMaxLoaded DenialKind = "max_loaded" // the runtime keeps no more models at once
	DenyVictim    DenialKind = "victim"     // a named victim is busy, pinned or leaving already
	DenyLeaving   DenialKind = "leaving"    // the candidate itself is being unloaded
)

func (d *Denial) Error() string { return string(d.Kind) }
