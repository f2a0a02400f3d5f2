// Package fleet holds what the router knows of the machines: nodes, their
// runtimes, deployments and memory pools, as immutable snapshots, and the
// messages that pass between router and agents (heartbeats, grants, releases).
//
// Registry owns the picture; everyone else reads a *Snapshot, which is never
// changed after it is published. The package decides nothing about requests.
package fleet

import (
	"strings"
	"time"
)

// Reading is a measured value that may be unknown. An unknown value is never 0.
type Reading[T any] struct {
	V     T    `json:"v"`
	Known bool `json:"known"`
}

// Know makes a known reading.
func Know[T any](v T) Reading[T] { return Reading[T]{V: v, Known: true} }

// PoolKind is the sort of memory a pool is made of.
type PoolKind string

// Kinds of memory pool.
const (
	PoolUnified PoolKind = "unified" // shared by CPU and GPU (Apple silicon, APUs)
	PoolVRAM    PoolKind = "vram"    // one discrete GPU
	PoolRAM     PoolKind = "ram"     // system memory
)

// Pool is one memory domain of a node, with its agent's ledger totals. Bytes.
type Pool struct {
	Name     string         `json:"name"`
	Kind     PoolKind       `json:"kind"`
	Total    int64          `json:"total"`
	Limit    int64          `json:"limit"`   // min(memory_gb, ceiling): what models may take in all
	Margin   int64          `json:"margin"`  // kept free below Limit
	Free     Reading[int64] `json:"free"`    // usable for models now: Sensed, capped by what Limit leaves
	Sensed   Reading[int64] `json:"sensed"`  // free on the machine now, whatever the budget
	Holders  []Holder       `json:"holders"` // who holds what, sorted by deployment then kind
	Pressure string         `json:"pressure,omitempty"`
}

// HoldKind says why memory counts as taken (routing.md 10).
type HoldKind string

// Kinds of hold.
const (
	HoldResident  HoldKind = "resident"  // the runtime reports it in memory
	HoldReserved  HoldKind = "reserved"  // a live reservation: a grant, a load under way
	HoldAssumed   HoldKind = "assumed"   // was sent a byte, not yet seen by an observation
	HoldUncertain HoldKind = "uncertain" // a timed-out call that may still be running
)

// Holder is one deployment's claim on a pool.
type Holder struct {
	Deployment DeploymentID   `json:"deployment"`
	Kind       HoldKind       `json:"kind"`
	Bytes      Reading[int64] `json:"bytes"`               // unknown sizes follow unknown_memory_policy
	Label      string         `json:"label,omitempty"`     // measured, estimate, unknown
	Remaining  time.Duration  `json:"remaining,omitempty"` // of an uncertain hold
}

// Held sums the known bytes of the pool's holders, each deployment counted
// once by its largest claim.
func (p *Pool) Held() int64 {
	var sum int64
	for i, h := range p.Holders {
		largest := h.Bytes.V
		first := true
		for j, o := range p.Holders {
			if o.Deployment == h.Deployment && j != i {
				if j < i {
					first = false
				}
				largest = max(largest, o.Bytes.V)
			}
		}
		if first {
			sum += largest
		}
	}
	return sum
}

// Hardware is what a node is made of, found once.
type Hardware struct {
	Chip         string           `json:"chip"`
	Cores        int              `json:"cores"`
	MemoryBytes  int64            `json:"memory_bytes"`
	GPUs         []GPU            `json:"gpus,omitempty"`
	BandwidthGBs Reading[float64] `json:"bandwidth_gbs"` // memory bandwidth models stream weights at
}

// GPU is one discrete accelerator.
type GPU struct {
	Name      string         `json:"name"`
	VRAMBytes Reading[int64] `json:"vram_bytes"`
}

// RuntimeState is one inference server of a node.
type RuntimeState struct {
	Name    string `json:"name"` // unique on its node
	Kind    string `json:"kind"` // ollama, llama-server
	Version string `json:"version,omitempty"`
	Up      bool   `json:"up"`
	Reason  string `json:"reason,omitempty"` // why it is not up, in words for a person
	// Unseen: no look at it has ended yet since its agent started, so what it has is
	// not known, or as an earlier process saw it.
	Unseen bool   `json:"unseen,omitempty"`
	Pool   string `json:"pool"` // main pool
	// MaxLoaded is the most models the runtime keeps at once; 0 = unknown.
	MaxLoaded int `json:"max_loaded,omitempty"`
	// ObservedAt is when its residency was last read with success.
	ObservedAt time.Time `json:"observed_at,omitzero"`
}

// NodeState is what keeps a node from serving, or not.
type NodeState struct {
	Paused      bool      `json:"paused"`
	PauseReason string    `json:"pause_reason,omitempty"`
	PausedSince time.Time `json:"paused_since,omitzero"` // zero: not paused, or not known
	PausedUntil time.Time `json:"paused_until,omitzero"` // zero: until resumed
	Draining    bool      `json:"draining,omitempty"`
	OnBattery   Tri       `json:"on_battery"`
	Meeting     Tri       `json:"meeting"`
	MeetingWhy  string    `json:"meeting_why,omitempty"`
	Pressure    string    `json:"pressure,omitempty"` // "", warning, critical
	// Learning is on when capacity.learning is; the three below hold only then.
	Learning     bool    `json:"learning,omitempty"`
	Observing    bool    `json:"observing,omitempty"`
	Busy         bool    `json:"busy,omitempty"`
	Availability float64 `json:"availability,omitempty"` // 0..1
	Mode         string  `json:"mode,omitempty"`         // full, reduced, paused ...
	Battery      string  `json:"battery,omitempty"`      // the node's setting: serve, own, none
	OwnRequests  string  `json:"own_requests,omitempty"` // the node's setting: serve, ""
}

// Readings are what a machine's senses say of the moment, for people: nothing
// is decided by them.
type Readings struct {
	CPU             Reading[float64] `json:"cpu"` // share of all cores that is busy, 0 to 1
	MemoryUsed      Reading[int64]   `json:"memory_used"`
	MemoryAvailable Reading[int64]   `json:"memory_available"` // to be had without swapping
	Thermal         Thermal          `json:"thermal"`
}

// Thermal is how near the machine's processors are to slowing themselves down.
type Thermal struct {
	Value   string           `json:"value,omitempty"` // normal, warm, hot; "" = not known
	Source  string           `json:"source,omitempty"`
	Reason  string           `json:"reason,omitempty"` // why it is not known
	Celsius Reading[float64] `json:"celsius"`          // of the hottest processor
}

// Heartbeat is all an agent reports of its node. Every field is a copy.
type Heartbeat struct {
	Node     string `json:"node"` // id
	Name     string `json:"name"`
	Boot     string `json:"boot"`     // new each start of the agent; a grant names it
	Sequence uint64 `json:"sequence"` // counts up within a boot
	// IncludesGrant is the highest grant sequence this report has taken into
	// account; the router overlays later grants on its mirror.
	IncludesGrant uint64         `json:"includes_grant"`
	State         NodeState      `json:"state"`
	Hardware      Hardware       `json:"hardware"`
	Readings      Readings       `json:"readings"`
	Pools         []Pool         `json:"pools"`
	Runtimes      []RuntimeState `json:"runtimes"`
	Deployments   []Deployment   `json:"deployments"`
	// Running is the number of granted requests under way per deployment.
	Running map[DeploymentID]int `json:"running,omitempty"`
	// Uncertain lists deployments that may still run something timed out.
	Uncertain map[DeploymentID]time.Duration `json:"uncertain,omitempty"`
}

// Liveness is how fresh a node's heartbeat is.
type Liveness uint8

// Liveness states.
const (
	Alive   Liveness = iota
	Late             // marked, still serves
	Offline          // eliminated
)

func (l Liveness) String() string { return [...]string{"alive", "late", "offline"}[l] }

// LivenessOf is the rule: late after late, offline after offline, by the
// receiver's own clock. A node that said it leaves is offline at once.
func LivenessOf(lastSeen, now time.Time, late, offline time.Duration) Liveness {
	switch age := now.Sub(lastSeen); {
	case age >= offline:
		return Offline
	case age >= late:
		return Late
	default:
		return Alive
	}
}

// Node is one machine in a snapshot.
type Node struct {
	Heartbeat
	LastSeen time.Time `json:"last_seen"` // receiver's clock
	Liveness Liveness  `json:"liveness"`
	Local    bool      `json:"local"` // the node this process runs on
}

// Runtime returns the node's runtime of that name, nil if there is none.
func (n *Node) Runtime(name string) *RuntimeState {
	for i := range n.Runtimes {
		if n.Runtimes[i].Name == name {
			return &n.Runtimes[i]
		}
	}
	return nil
}

// Pool returns the node's pool of that name, nil if there is none.
func (n *Node) Pool(name string) *Pool {
	for i := range n.Pools {
		if n.Pools[i].Name == name {
			return &n.Pools[i]
		}
	}
	return nil
}

// Deployment returns the deployment with that id, nil if there is none.
func (n *Node) Deployment(id DeploymentID) *Deployment {
	for i := range n.Deployments {
		if n.Deployments[i].ID == id {
			return &n.Deployments[i]
		}
	}
	return nil
}

// Snapshot is the fleet at one instant. It is never changed once published.
type Snapshot struct {
	Version uint64    `json:"version"`
	At      time.Time `json:"at"`
	Nodes   []Node    `json:"nodes"` // sorted by id
	// Settled is false while a router that just started has not heard from
	// every live member: it holds instead of answering "unknown model".
	Settled bool `json:"settled"`
}

// Node returns the node with that id, nil if there is none.
func (s *Snapshot) Node(id string) *Node {
	for i := range s.Nodes {
		if s.Nodes[i].Node == id {
			return &s.Nodes[i]
		}
	}
	return nil
}

// NameOf returns what people call a node; its id where that is not known, or
// where two nodes are called the same and the name would mean either.
func (s *Snapshot) NameOf(id string) string {
	n := s.Node(id)
	if n == nil || n.Name == "" {
		return id
	}
	for i := range s.Nodes {
		if o := &s.Nodes[i]; o.Node != id && (strings.EqualFold(o.Name, n.Name) || o.Node == n.Name) {
			return id
		}
	}
	return n.Name
}

// Called writes a deployment's id with its node's name, as people read it and as
// requests may ask for it.
func (s *Snapshot) Called(id DeploymentID) string {
	id.Node = s.NameOf(id.Node)
	return id.String()
}
