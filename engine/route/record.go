package route

import (
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// Record is the decision record of one request (routing.md 14): what was
// asked, who was judged how, what was chosen and how it ended. It never holds
// prompt or answer text. Kept by the gateway's store.
type Record struct {
	RequestID       string    `json:"request_id"`
	At              time.Time `json:"at"`
	ConfigHash      string    `json:"config_hash,omitempty"`
	RegistryVersion uint64    `json:"registry_version"`
	RequestedModel  string    `json:"requested_model"`
	Alias           string    `json:"alias,omitempty"`
	Profile         string    `json:"profile,omitempty"`
	App             string    `json:"app"`
	Tags            []string  `json:"tags,omitempty"`
	Session         string    `json:"session,omitempty"`
	Protocol        string    `json:"protocol"`

	Requirements Requirements                               `json:"requirements"`
	Exclusions   map[fleet.DeploymentID][]RenderedExclusion `json:"exclusions,omitempty"`
	OtherCodes   map[fleet.Code]int                         `json:"other_codes,omitempty"`
	Candidates   []Candidate                                `json:"candidates"`
	Chosen       string                                     `json:"chosen,omitempty"` // deployment id
	Node         string                                     `json:"node,omitempty"`   // its name
	Evidence     string                                     `json:"evidence,omitempty"`
	Reasons      []string                                   `json:"reasons"`
	Edits        []string                                   `json:"edits,omitempty"`

	Timing  Timing           `json:"timing"`
	Usage   *RecordUsage     `json:"usage,omitempty"`
	Timings *dialect.Timings `json:"runtime_timings,omitempty"`

	// Parts are those of a batch of embeddings that was split.
	Parts []RecordPart `json:"parts,omitempty"`

	Retries         int            `json:"retries"`
	Failover        []FailoverStep `json:"failover,omitempty"`
	FailoverAllowed bool           `json:"failover_allowed"`
	FailoverNote    string         `json:"failover_note,omitempty"`
	MayHaveRun      bool           `json:"may_have_run,omitempty"`
	Outcome         fleet.Outcome  `json:"outcome"`
	Status          int            `json:"status,omitempty"`  // HTTP status the client saw
	Problem         string         `json:"problem,omitempty"` // what the client was told
	Notes           []string       `json:"notes,omitempty"`   // output_clamped, thinking used all tokens ...
	OverheadMs      float64        `json:"overhead_ms"`       // ours: parse, decide, encode, without waiting
	// Scenario replays the decision; kept for some requests only, and shown with
	// a single record, not in lists.
	Scenario string `json:"scenario,omitempty"`
}

// RenderedExclusion is an exclusion in words, as clients and people read it.
type RenderedExclusion struct {
	Code   fleet.Code `json:"code"`
	Reason string     `json:"reason"`
	Remedy string     `json:"remedy"`
}

// Timing is where a request's time went, in milliseconds.
type Timing struct {
	QueueMs float64 `json:"queue_ms"`
	LoadMs  float64 `json:"load_ms"`
	TTFTMs  float64 `json:"ttft_ms"`
	TotalMs float64 `json:"total_ms"`
}

// RecordUsage is token counts as the runtime reported them; absent = unknown.
type RecordUsage struct {
	Input     *int `json:"input,omitempty"`
	Output    *int `json:"output,omitempty"`
	Cached    *int `json:"cached,omitempty"`
	Reasoning *int `json:"reasoning,omitempty"`
}

// RecordPart is one part of a batch: its inputs, where they were served, and
// how that ended.
type RecordPart struct {
	First      int           `json:"first"` // input, from 0
	Last       int           `json:"last"`  // included
	Deployment string        `json:"deployment,omitempty"`
	Outcome    fleet.Outcome `json:"outcome"`
	Retries    int           `json:"retries,omitempty"`
	QueueMs    float64       `json:"queue_ms"`
	TookMs     float64       `json:"took_ms"`
	Usage      *RecordUsage  `json:"usage,omitempty"`
}

// FailoverStep is one attempt that failed before content.
type FailoverStep struct {
	Deployment fleet.DeploymentID `json:"deployment"`
	Failure    fleet.Failure      `json:"failure"`
	AfterMs    float64            `json:"after_ms"`
}
