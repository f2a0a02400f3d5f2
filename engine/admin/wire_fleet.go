package admin

import (
	"time"

	"bellwether/engine/fleet"
)

// EngineView is this engine: who it is, who routes, and how its records fare.
type EngineView struct {
	Version   string    `json:"version"`
	StartedAt time.Time `json:"started_at"`
	Address   string    `json:"address"` // what apps point at: http://localhost:11435
	NodeID    string    `json:"node_id"` // of this machine
	NodeName  string    `json:"node_name"`
	// Settled is false for the first seconds, while it waits for the first report
	// of every machine: an empty picture is not the truth yet.
	Settled bool `json:"settled"`

	RouterNodeID string `json:"router_node_id"`
	RouterName   string `json:"router_name"`
	RouterHere   bool   `json:"router_here"`
	RouterEpoch  uint64 `json:"router_epoch"`

	// ActiveRequests are those accepted and not ended, whatever their stage;
	// HeldRequests those of them that nobody can serve at present.
	ActiveRequests int `json:"active_requests"`
	HeldRequests   int `json:"held_requests"`
	// HeldUntil is when the first of those held is refused if nobody can serve it
	// until then; null = none is held.
	HeldUntil *time.Time `json:"held_until"`

	// AppsComplete is false when requests of the last hour are missing in the
	// section apps.
	AppsComplete bool `json:"apps_complete"`

	SettingsRevision string    `json:"settings_revision"` // as GET /admin/settings gives it
	Store            StoreView `json:"store"`
	// Measuring names the eval or probe under way, "" = none.
	Measuring string `json:"measuring"`
	// WindowAsked counts how often a program of the owner asked for the admin
	// window: whoever can show one does when it grows.
	WindowAsked uint64 `json:"window_asked"`
	// Login is the start at login, as the system had it at the last look; it is
	// looked at every few seconds while somebody watches.
	Login LoginView `json:"login"`
}

// StoreView is how the decision records fare.
type StoreView struct {
	OK             bool   `json:"ok"`
	Reason         string `json:"reason"`          // why not, "" while OK
	DroppedRecords uint64 `json:"dropped_records"` // lost since the start
	WaitingRecords int    `json:"waiting_records"` // not on the disk yet
	FileBytes      int64  `json:"file_bytes"`
}

// NodeView is one machine.
type NodeView struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Local  bool   `json:"local"`  // the machine this engine runs on
	Router bool   `json:"router"` // it holds the router role
	// State is serving, paused, draining, late or offline; Reason says why it is
	// not serving (or why that helps nobody: no runtime is up), "" = it serves.
	State      string    `json:"state"`
	Reason     string    `json:"reason"`
	LastSeenAt time.Time `json:"last_seen_at"` // its last heartbeat, by this machine's clock

	Paused      bool       `json:"paused"`
	PauseReason string     `json:"pause_reason"`
	PausedSince *time.Time `json:"paused_since"` // null: not paused, or not known
	PausedUntil *time.Time `json:"paused_until"` // null: until resumed, or not paused

	OnBattery     fleet.Tri `json:"on_battery"` // yes, no, unknown
	Meeting       fleet.Tri `json:"meeting"`    // camera or microphone in use; yes, no, unknown
	MeetingReason string    `json:"meeting_reason"`
	Pressure      string    `json:"pressure"` // of memory: "", warning, critical

	// Of the capacity learner; false and null while learning is off.
	Learning            bool     `json:"learning"`
	Observing           bool     `json:"observing"` // its first week: it takes nobody else's work
	Busy                bool     `json:"busy"`
	AvailabilityPercent *float64 `json:"availability_percent"`
	Mode                string   `json:"mode"` // full, reduced, paused ...; "" while learning is off

	Chip                 string    `json:"chip"` // "" = not known
	Cores                int       `json:"cores"`
	MemoryBytes          int64     `json:"memory_bytes"`            // 0 = not known
	BandwidthGBPerSecond *float64  `json:"bandwidth_gb_per_second"` // of memory; null = not known
	GPUs                 []GPUView `json:"gpus"`

	// Readings of the moment, every few seconds; null = not known.
	CPUPercent           *float64 `json:"cpu_percent"` // of all cores together, 0 to 100
	MemoryUsedBytes      *int64   `json:"memory_used_bytes"`
	MemoryAvailableBytes *int64   `json:"memory_available_bytes"` // to be had without swapping

	Thermal ThermalView `json:"thermal"`

	Models          int `json:"models"` // deployments it has
	LoadedModels    int `json:"loaded_models"`
	RunningRequests int `json:"running_requests"`
	WaitingRequests int `json:"waiting_requests"` // in its lanes
}

// ThermalView is how near a machine's processors are to slowing themselves down.
type ThermalView struct {
	// Value is normal, warm (near the limit) or hot (at it, or slowed down within
	// the last minute); "" while it is not known, which Reason explains.
	Value   string   `json:"value"`
	Known   bool     `json:"known"`
	Source  string   `json:"source"` // who says so: hwmon coretemp, thermal_throttle ...
	Reason  string   `json:"reason"`
	Celsius *float64 `json:"celsius"` // of the hottest processor; null = not known
}

// GPUView is one discrete accelerator.
type GPUView struct {
	Name      string `json:"name"`
	VRAMBytes *int64 `json:"vram_bytes"` // null = not known
}

// RuntimeView is one inference server of a machine.
type RuntimeView struct {
	NodeID  string `json:"node_id"`
	Name    string `json:"name"`
	Kind    string `json:"kind"` // ollama, llama-server
	Version string `json:"version"`
	Up      bool   `json:"up"`
	Reason  string `json:"reason"` // why it is down, "" while up
	Pool    string `json:"pool"`   // its main pool's name
	Models  int    `json:"models"`
	// MaxLoadedModels is the most it keeps in memory at once; null = not known.
	MaxLoadedModels *int       `json:"max_loaded_models"`
	ObservedAt      *time.Time `json:"observed_at"` // when its residency was last read with success
	// ManagesModels says that it can pull and delete models.
	ManagesModels bool `json:"manages_models"`
}

// DeploymentView is one model on one runtime of one machine. null = not known.
// What runs and waits for it is its LaneView's to say, which has the same key;
// without one nothing does.
type DeploymentView struct {
	ID      string `json:"id"` // node/runtime/model
	NodeID  string `json:"node_id"`
	Runtime string `json:"runtime"`
	Model   string `json:"model"` // in the runtime's own spelling

	Kind          string   `json:"kind"` // of the runtime
	Digest        string   `json:"digest"`
	Family        string   `json:"family"`
	ParameterSize string   `json:"parameter_size"` // as the runtime writes it: 8.2B
	Quantization  string   `json:"quantization"`
	WeightsBytes  *int64   `json:"weights_bytes"` // on disk
	AlsoNamed     []string `json:"also_named"`    // other names of the same weights on this machine
	Tags          []string `json:"tags"`
	Licence       string   `json:"licence"`  // of the weights, as the catalogue knows
	Thinking      string   `json:"thinking"` // how it is made to think: always, switch, effort, prompt; "" = not known

	Residency string `json:"residency"` // on_disk, loading, loaded, leaving
	// ResidentBytes is what it takes in memory: measured while loaded, else as
	// last measured.
	ResidentBytes       *int64     `json:"resident_bytes"`
	ResidentVRAMBytes   *int64     `json:"resident_vram_bytes"` // the part of it in a discrete GPU
	KVBytesPerToken     *int64     `json:"kv_bytes_per_token"`
	MaxContextTokens    *int       `json:"max_context_tokens"`    // settable
	LoadedContextTokens *int       `json:"loaded_context_tokens"` // of each slot; null while not loaded
	Slots               *int       `json:"slots"`                 // requests it runs in parallel
	SlotsBusy           int        `json:"slots_busy"`            // as the runtime says, whoever asked
	LoadedAt            *time.Time `json:"loaded_at"`
	ExpiresAt           *time.Time `json:"expires_at"` // when the runtime unloads it if nobody asks
	UnloadedAt          *time.Time `json:"unloaded_at"`

	Pinned    bool   `json:"pinned"`   // never evicted by us
	Disabled  bool   `json:"disabled"` // by its operator
	Unhealthy string `json:"unhealthy"`
	Degraded  string `json:"degraded"` // what slows it down, or that its runtime is down; "" = nothing

	// Capabilities by name; one that is absent is not known.
	Capabilities map[string]CapabilityView `json:"capabilities"`
	Quality      []QualityStatus           `json:"quality"`
	Speed        SpeedView                 `json:"speed"`
	// ProbedAt is when its capabilities were last asked for, ContextReadTokens how
	// much it was seen to read whole then.
	ProbedAt          *time.Time `json:"probed_at"`
	ContextReadTokens *int       `json:"context_read_tokens"`
}

// CapabilityView is what is known of one capability, and from whom.
type CapabilityView struct {
	Support string `json:"support"` // yes, no, unknown
	Source  string `json:"source"`  // operator, probe, runtime, template, adapter, catalogue
}

// SpeedView is what was learned of a deployment from requests it answered. It
// is sent with its machine's heartbeats, not with every answer.
type SpeedView struct {
	Samples                int      `json:"samples"`            // answers behind the figures
	AnswerP75Seconds       *float64 `json:"answer_p75_seconds"` // dispatch to end
	LoadP50Seconds         *float64 `json:"load_p50_seconds"`
	PrefillTokensPerSecond *float64 `json:"prefill_tokens_per_second"`
	DecodeTokensPerSecond  *float64 `json:"decode_tokens_per_second"`
}

// PoolView is one memory domain's budget. The four held figures count each
// deployment once and never overlap: of what it reserves only counts what is
// beyond its residency, and so on in the order resident, reserved, uncertain,
// assumed. So
// resident + reserved + uncertain + assumed + margin <= limit while all is well.
type PoolView struct {
	NodeID string `json:"node_id"`
	Name   string `json:"name"`
	Kind   string `json:"kind"` // unified, vram, ram

	TotalBytes     int64  `json:"total_bytes"`
	LimitBytes     int64  `json:"limit_bytes"`  // what models may take in all
	MarginBytes    int64  `json:"margin_bytes"` // kept free below the limit
	FreeBytes      *int64 `json:"free_bytes"`   // free on the machine now, as sensed; null = not known
	UsableBytes    *int64 `json:"usable_bytes"` // of it what the limit and what is held leave to models; null = not known
	ResidentBytes  int64  `json:"resident_bytes"`
	ReservedBytes  int64  `json:"reserved_bytes"`
	UncertainBytes int64  `json:"uncertain_bytes"`
	AssumedBytes   int64  `json:"assumed_bytes"`
	Pressure       string `json:"pressure"` // "", warning, critical

	Holders []HolderView `json:"holders"` // by deployment, then kind
}

// HolderView is one claim on a pool.
type HolderView struct {
	Deployment string `json:"deployment"`
	Kind       string `json:"kind"`  // resident, reserved, assumed, uncertain
	Bytes      *int64 `json:"bytes"` // null = not known
	Label      string `json:"label"` // measured, estimate, unknown
	// CountedBytes is the part of it that is in the sums: nothing of a claim that
	// a stronger one of the same deployment covers.
	CountedBytes int64 `json:"counted_bytes"`
	// EndsAt is when an uncertain hold ends, to the second; null for the others.
	EndsAt *time.Time `json:"ends_at"`
}

// LaneView is one queue that has work, is shut, or whose circuit is open.
type LaneView struct {
	Deployment          string         `json:"deployment"`
	RunningRequests     int            `json:"running_requests"`
	WaitingRequests     int            `json:"waiting_requests"`
	Slots               int            `json:"slots"`
	Closed              bool           `json:"closed"`                // shut until its node reports again
	ExpectedWaitSeconds float64        `json:"expected_wait_seconds"` // of a request that came now, to the tenth
	OldestWaitingAt     *time.Time     `json:"oldest_waiting_at"`     // when it arrived, to the second
	WaitingByApp        map[string]int `json:"waiting_by_app"`
	// CircuitRetryAt is when a deployment that failed too often is tried again,
	// to the second; null while its circuit is closed.
	CircuitRetryAt *time.Time `json:"circuit_retry_at"`
}
