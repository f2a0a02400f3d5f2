package admin

import (
	"encoding/json"
	"time"
)

// The frames of /admin/ws. All are JSON texts and have a type; what a type does
// not carry is absent.

// Frame types.
const (
	FrameHello  = "hello"  // server: all of the state; client: send it again
	FrameDelta  = "delta"  // server: what changed since the frame before
	FrameResync = "resync" // server: frames were lost to this reader; ask for a new hello
	// FrameSession tells the windows of a browser that its session ended: GET
	// /admin/session says how it stands. It has no number.
	FrameSession = "session"
)

// Hello opens a feed, and answers a client's hello.
type Hello struct {
	Type    string    `json:"type"` // hello
	Version string    `json:"version"`
	At      time.Time `json:"at"`  // by the engine's clock, for ages
	Seq     uint64    `json:"seq"` // the next delta has Seq + 1
	State   State     `json:"state"`
}

// Delta is what changed since the frame before it. A value in Set replaces the
// one of its key as a whole; keys in Del are gone. A row replaces the row of
// the same request_id, else it is new.
type Delta struct {
	Type string                                 `json:"type"` // delta
	Seq  uint64                                 `json:"seq"`  // one more than the frame before; anything else is a gap
	Set  map[Section]map[string]json.RawMessage `json:"set,omitempty"`
	Del  map[Section][]string                   `json:"del,omitempty"`
	Rows []json.RawMessage                      `json:"rows,omitempty"` // oldest first
}

// Section names a part of the state.
type Section string

// The sections of the state, and what their values are keyed by.
const (
	SectionMeta        Section = "meta"        // EngineView by MetaEngine, its one key
	SectionNodes       Section = "nodes"       // NodeView by node id
	SectionRuntimes    Section = "runtimes"    // RuntimeView by node/runtime
	SectionDeployments Section = "deployments" // DeploymentView by node/runtime/model
	SectionPools       Section = "pools"       // PoolView by node/pool
	SectionLanes       Section = "lanes"       // LaneView by deployment
	SectionJobs        Section = "jobs"        // JobView by job id
	SectionApps        Section = "apps"        // AppView by app name
	SectionFindings    Section = "findings"    // FindingView by finding id
	SectionContracts   Section = "contracts"   // ContractView by name
	SectionAliases     Section = "aliases"     // AliasView by name
)

// Sections are all of them, in the order of State.
var Sections = []Section{
	SectionMeta, SectionNodes, SectionRuntimes, SectionDeployments, SectionPools, SectionLanes,
	SectionJobs, SectionApps, SectionFindings, SectionContracts, SectionAliases,
}

// MetaEngine is the one key of SectionMeta.
const MetaEngine = "engine"

// State is all that the feed shows, at one instant.
type State struct {
	Meta        map[string]EngineView     `json:"meta"`
	Nodes       map[string]NodeView       `json:"nodes"`
	Runtimes    map[string]RuntimeView    `json:"runtimes"`
	Deployments map[string]DeploymentView `json:"deployments"`
	Pools       map[string]PoolView       `json:"pools"`
	Lanes       map[string]LaneView       `json:"lanes"`
	Jobs        map[string]JobView        `json:"jobs"`
	Apps        map[string]AppView        `json:"apps"`
	Findings    map[string]FindingView    `json:"findings"`
	Contracts   map[string]ContractView   `json:"contracts"`
	Aliases     map[string]AliasView      `json:"aliases"`

	Rows []DecisionRow `json:"rows"` // the newest 200, newest first
}
