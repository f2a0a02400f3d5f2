package admin

import (
	"strings"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// Status is the answer of /admin/status and of `bellwether status --json`.
type Status struct {
	Version  string          `json:"version"`
	At       time.Time       `json:"at"` // of the state shown
	Uptime   float64         `json:"uptime_seconds"`
	Address  string          `json:"address"` // what apps point at
	Node     NodeStatus      `json:"node"`
	Router   RouterStatus    `json:"router"`
	Nodes    []NodeStatus    `json:"nodes"`
	Runtimes []RuntimeStatus `json:"runtimes"`
	Queues   []QueueStatus   `json:"queues"`
	Held     int             `json:"held"`

	MemoryReservedGB      float64              `json:"memory_reserved_gb"`
	MemoryAssumedResident []fleet.DeploymentID `json:"memory_assumed_resident"`
	Pools                 []PoolStatus         `json:"pools"`

	// Contracts are the embedding contracts by name.
	Contracts []ContractStatus `json:"contracts,omitempty"`

	Store StoreStatus `json:"store"`

	// Unsaved is, in the answer to a pause or resume, why a restart undoes it; ""
	// where it is on file.
	Unsaved string `json:"unsaved,omitempty"`
}

// ContractStatus is one embedding contract. Deployments are written with their
// nodes' names.
type ContractStatus struct {
	Name     string          `json:"name"`
	Members  []string        `json:"members"`
	Anchor   *route.Anchor   `json:"anchor"`           // null: not bound, it answers 503
	Replicas []string        `json:"replicas"`         // who may answer
	Out      []OutsideStatus `json:"out,omitempty"`    // members that may not
	Absent   []string        `json:"absent,omitempty"` // members that no machine has
}

// NameStatus is what a name stands for that is no model's own: one of the two is
// set. Deployments are written with their nodes' names.
type NameStatus struct {
	Name     string          `json:"name"` // as asked
	Alias    *AliasView      `json:"alias,omitempty"`
	Contract *ContractStatus `json:"contract,omitempty"`
}

// OutsideStatus says why a deployment does not answer for a contract.
type OutsideStatus struct {
	Deployment string `json:"deployment"`
	route.RenderedExclusion
}

// NodeStatus is one machine in a line. State is one of serving, paused,
// draining, late, offline; Reason says why it is not serving.
type NodeStatus struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	State  string `json:"state"`
	Reason string `json:"reason"`
}

// RouterStatus says who routes.
type RouterStatus struct {
	Name  string `json:"name"`
	Here  bool   `json:"here"`
	Epoch uint64 `json:"epoch"`
}

// RuntimeStatus is one runtime of a node and its models.
type RuntimeStatus struct {
	Node string `json:"node"`
	fleet.RuntimeState
	Models []ModelStatus `json:"models"`
}

// ModelStatus is one deployment in a line. Bytes and tokens.
type ModelStatus struct {
	Deployment   fleet.DeploymentID `json:"deployment"`
	Residency    fleet.Residency    `json:"residency"`
	WeightsBytes int64              `json:"weights_bytes"`
	MemoryBytes  int64              `json:"memory_bytes,omitempty"`
	Context      int                `json:"context,omitempty"` // loaded, else settable
	Capabilities fleet.Capabilities `json:"capabilities"`
	Running      int                `json:"running"`
	Waiting      int                `json:"waiting"`
	ExpiresAt    time.Time          `json:"expires_at,omitzero"`
	Degraded     string             `json:"degraded,omitempty"`
	// Known is the catalogue's entry for the model, nil where it has none.
	Known *KnownModel `json:"known,omitempty"`
	// Quality is what the model is worth at tasks, as far as anyone said, in the
	// order of fleet.Tasks, the one for any task last.
	Quality []QualityStatus `json:"quality,omitempty"`
	// Probed is when its capabilities were last asked for, ContextRead how many
	// tokens it was seen to read whole then.
	Probed      time.Time `json:"probed,omitzero"`
	ContextRead int       `json:"context_read,omitempty"`
}

// KnownModel is what the catalogue says of a model beside what deployments show.
type KnownModel struct {
	Name     string `json:"name"`               // the entry's
	Licence  string `json:"licence,omitempty"`  // of its weights
	Thinking string `json:"thinking,omitempty"` // always, switch, effort, prompt
}

// QualityStatus is what a model is worth at one task, 0 to 1, and how that is
// known.
type QualityStatus struct {
	Task  string  `json:"task"` // any stands for all that are not listed
	Value float64 `json:"value"`
	// Evidence is measured:30 (checked items), prior:operator, or prior: and the
	// sources and date of published scores.
	Evidence string    `json:"evidence"`
	Suite    string    `json:"suite,omitempty"` // of what was measured: name/version
	At       time.Time `json:"at,omitzero"`     // when it was measured
}

// QueueStatus is one lane with work in it.
type QueueStatus struct {
	Deployment fleet.DeploymentID `json:"deployment"`
	Running    int                `json:"running"`
	Waiting    int                `json:"waiting"`
}

// PoolStatus is a pool's budget with who holds what.
type PoolStatus struct {
	Node string `json:"node"`
	fleet.Pool
}

// StoreStatus says how the records fare.
type StoreStatus struct {
	Dropped uint64 `json:"dropped"` // records that could not be kept
	Reason  string `json:"reason,omitempty"`
}

// NodeOf renders a node's state in words.
func NodeOf(n *fleet.Node, now time.Time) NodeStatus {
	s := NodeStatus{ID: n.Node, Name: n.Name, State: "serving"}
	switch {
	case n.Liveness == fleet.Offline:
		s.State, s.Reason = "offline", "no heartbeat since "+fleet.Moment(n.LastSeen, now)
	case n.State.Draining:
		s.State, s.Reason = "draining", "it is stopping"
	case n.State.Paused:
		s.State, s.Reason = "paused", n.State.PauseReason
		if !n.State.PausedUntil.IsZero() {
			s.Reason = strings.TrimSpace(s.Reason + " (until " + fleet.Moment(n.State.PausedUntil, now) + ")")
		}
	case n.Liveness == fleet.Late:
		s.State, s.Reason = "late", "its heartbeat is late"
	case noneUp(n):
		s.Reason = "no runtime is up"
	}
	return s
}

func noneUp(n *fleet.Node) bool {
	for _, rt := range n.Runtimes {
		if rt.Up {
			return false
		}
	}
	return true
}
