package engine

import (
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// Config is every setting there is, as in force. It comes from Load, is never
// changed afterwards, and is replaced as a whole (Reload). What each field
// means, its unit, its variable and its limits stand once, in the table of
// config_settings.go, which the settings page and the docs are made from.
//
// Durations are time.Duration, 0 meaning "never" where the table says so;
// sizes in GB are 2^30 bytes, as a float.
type Config struct {
	Listen     string           `koanf:"listen"`
	AlsoListen []int            `koanf:"also_listen"`
	DataDir    string           `koanf:"data_dir"`
	LogLevel   string           `koanf:"log_level"`
	Node       NodeConfig       `koanf:"node"`
	Peer       PeerConfig       `koanf:"peer"`
	Heartbeat  HeartbeatConfig  `koanf:"heartbeat"`
	Membership MembershipConfig `koanf:"membership"`

	Runtimes            []RuntimeConfig            `koanf:"runtimes"`
	Pools               []PoolConfig               `koanf:"pools"`
	UnknownMemoryPolicy string                     `koanf:"unknown_memory_policy"`
	AssumedResidencyTTL time.Duration              `koanf:"assumed_residency_ttl"`
	Deployments         []DeploymentConfig         `koanf:"deployments"`
	Aliases             map[string]AliasConfig     `koanf:"aliases"`
	Embeddings          map[string]EmbeddingConfig `koanf:"embeddings"`

	Routing  RoutingConfig  `koanf:"routing"`
	Clients  ClientsConfig  `koanf:"clients"`
	Capacity CapacityConfig `koanf:"capacity"`

	Meetings      MeetingsConfig  `koanf:"meetings"`
	OnMeeting     string          `koanf:"on_meeting"`
	OnPause       string          `koanf:"on_pause"`
	OnBattery     string          `koanf:"on_battery"`
	OnSchedule    string          `koanf:"on_schedule"`
	CancelGrace   time.Duration   `koanf:"cancel_grace"`
	UnloadAfter   time.Duration   `koanf:"unload_after"`
	Schedule      []string        `koanf:"schedule"`
	QuietHours    []string        `koanf:"quiet_hours"`
	ExclusiveApps []string        `koanf:"exclusive_apps"`
	FullScreen    string          `koanf:"full_screen"`
	Battery       string          `koanf:"battery"`
	Notifications map[string]bool `koanf:"notifications"`
	StartAtLogin  string          `koanf:"start_at_login"`
	WakeOnLAN     bool            `koanf:"wake_on_lan"`

	Security           SecurityConfig  `koanf:"security"`
	ResponseModelField string          `koanf:"response_model_field"`
	Store              StoreConfig     `koanf:"store"`
	Telemetry          TelemetryConfig `koanf:"telemetry"`

	// Warnings are what Load found odd but not wrong, a sentence each.
	Warnings []string `koanf:"-"`

	file     string            // that Load reads, "" = none
	revision string            // of the file's text that this was read from
	filled   bool              // it holds more than comments
	origin   map[string]string // key -> where its value comes from; absent = default
	// base is what the machine's own defaults are, again the function that reads
	// the sources once more, as the one that reads them with another text in place
	// of the file's. The sources themselves are not kept: they hold keys.
	base  *Config
	again func() reading
	as    func(text []byte) (*Config, error)
}

// NodeConfig is who this machine is.
type NodeConfig struct {
	Name   string `koanf:"name"`
	Router string `koanf:"router"`
}

// PeerConfig is how machines of a fleet reach each other.
type PeerConfig struct {
	Listen    string   `koanf:"listen"`
	Advertise []string `koanf:"advertise"`
	Join      []string `koanf:"join"`
	Discovery bool     `koanf:"discovery"`
}

// HeartbeatConfig is how often nodes report and when silence counts.
type HeartbeatConfig struct {
	Interval time.Duration `koanf:"interval"`
	Late     time.Duration `koanf:"late"`
	Offline  time.Duration `koanf:"offline"`
}

// MembershipConfig is how fast a dead member is found.
type MembershipConfig struct {
	ProbeInterval time.Duration `koanf:"probe_interval"`
	SuspicionMult int           `koanf:"suspicion_mult"`
	ClaimAfter    time.Duration `koanf:"claim_after"`
}

// RuntimeConfig declares one inference server.
type RuntimeConfig struct {
	Name      string         `koanf:"name"`
	Kind      string         `koanf:"kind"` // "" = recognised
	URL       string         `koanf:"url"`
	APIKey    Secret         `koanf:"api_key"`
	Parallel  int            `koanf:"parallel"`   // 0 = not declared
	MaxLoaded int            `koanf:"max_loaded"` // 0 = not declared
	Timeouts  TimeoutsConfig `koanf:"timeouts"`   // 0 = the fleet's
	Cancel    string         `koanf:"cancel"`     // confirmed, drain
}

// TimeoutsConfig are the deadlines of a request.
type TimeoutsConfig struct {
	FirstContent time.Duration `koanf:"first_content"`
	StreamIdle   time.Duration `koanf:"stream_idle"`
	Total        time.Duration `koanf:"total"`
}

// PoolConfig limits one memory pool; "" names the node's main one.
type PoolConfig struct {
	Name     string  `koanf:"name"`
	MemoryGB float64 `koanf:"memory_gb"` // 0 = auto
	MarginGB float64 `koanf:"margin_gb"`
}

// DeploymentConfig is what the operator says of the deployments it matches.
type DeploymentConfig struct {
	Match        string                         `koanf:"match"`
	Identity     string                         `koanf:"identity"`
	Capabilities map[fleet.Capability]fleet.Tri `koanf:"capabilities"`
	Context      int                            `koanf:"context"`
	MemoryGB     float64                        `koanf:"memory_gb"`
	Tags         []string                       `koanf:"tags"`
	Enabled      *bool                          `koanf:"enabled"` // nil = not said
	Quality      map[string]float64             `koanf:"quality"`
}

// AliasConfig is a client-visible name for a set of models.
type AliasConfig struct {
	Profile       string   `koanf:"profile"`
	Models        []string `koanf:"models"`
	Tags          []string `koanf:"tags"`
	RequireVision bool     `koanf:"require_vision"`
	Locality      string   `koanf:"locality"`
	PinnedOrder   bool     `koanf:"pinned_order"`
}

// EmbeddingConfig is an embedding contract.
type EmbeddingConfig struct {
	Members    []string `koanf:"members"`
	Identity   string   `koanf:"identity"`
	Dimensions int      `koanf:"dimensions"`
	Normalized bool     `koanf:"normalized"`
}

// RoutingConfig is how a request finds its machine.
type RoutingConfig struct {
	Scoring          string                   `koanf:"scoring"`
	Score            ScoreConfig              `koanf:"score"`
	Pins             PinsConfig               `koanf:"pins"`
	SwitchingPenalty float64                  `koanf:"switching_penalty"`
	Profiles         map[string]ProfileConfig `koanf:"profiles"`
	Hold             HoldConfig               `koanf:"hold"`
	OpenAfter        time.Duration            `koanf:"open_after"`
	Settle           time.Duration            `koanf:"settle"`
	KVPerRequestGB   float64                  `koanf:"kv_per_request_gb"`
	MaxSlots         int                      `koanf:"max_slots"`
	PreWarm          PreWarmConfig            `koanf:"pre_warm"`
	Rebalance        RebalanceConfig          `koanf:"rebalance"`
	PullWhenFree     bool                     `koanf:"pull_when_free"`
	MaxRetries       int                      `koanf:"max_retries"`
	UncertainHold    time.Duration            `koanf:"uncertain_hold"`
	Circuit          CircuitConfig            `koanf:"circuit"`
	Timeouts         TimeoutsConfig           `koanf:"timeouts"`

	AutoPull          string           `koanf:"auto_pull"`
	AutoPullAllow     []string         `koanf:"auto_pull_allow"`
	AutoPullTimeout   time.Duration    `koanf:"auto_pull_timeout"`
	ModelFallback     bool             `koanf:"model_fallback"`
	ContextProtection string           `koanf:"context_protection"`
	Thinking          ThinkingConfig   `koanf:"thinking"`
	Classifier        ClassifierConfig `koanf:"classifier"`
	Locality          string           `koanf:"locality"`
	PinnedModels      []string         `koanf:"pinned_models"`
	PreloadMax        int              `koanf:"preload_max"`
}

// ScoreConfig holds the weights of the eight signals, in points.
type ScoreConfig struct {
	ModelHot                float64         `koanf:"model_hot"`
	ModelLoading            float64         `koanf:"model_loading"`
	ModelWarm               float64         `koanf:"model_warm"`
	ModelCold               float64         `koanf:"model_cold"`
	WarmWindow              time.Duration   `koanf:"warm_window"`
	MemoryFitMax            float64         `koanf:"memory_fit_max"`
	FitTiers                []route.FitTier `koanf:"fit_tiers"`
	QueueDepthMaxPenalty    float64         `koanf:"queue_depth_max_penalty"`
	QueueDepthPer           float64         `koanf:"queue_depth_per"`
	QueueBandwidthNormalize bool            `koanf:"queue_bandwidth_normalize"`
	WaitTimeMaxPenalty      float64         `koanf:"wait_time_max_penalty"`
	RoleAffinityMax         float64         `koanf:"role_affinity_max"`
	LargeGB                 float64         `koanf:"large_gb"`
	SmallGB                 float64         `koanf:"small_gb"`
	AvailabilityMax         float64         `koanf:"availability_max"`
	ContextFitMax           float64         `koanf:"context_fit_max"`
	SessionMax              float64         `koanf:"session_max"`
}

// PinsConfig is how long a session stays with its node.
type PinsConfig struct {
	TTL time.Duration `koanf:"ttl"`
	Max int           `koanf:"max"`
}

// ProfileConfig are the four weights of a profile.
type ProfileConfig struct {
	Quality   float64 `koanf:"quality"`
	Latency   float64 `koanf:"latency"`
	Residency float64 `koanf:"residency"`
	Overhead  float64 `koanf:"overhead"`
}

// HoldConfig is how requests wait that nobody can serve just now.
type HoldConfig struct {
	Interval time.Duration `koanf:"interval"`
	Max      time.Duration `koanf:"max"`
}

// PreWarmConfig is when a model is loaded on a second node ahead of need.
type PreWarmConfig struct {
	Threshold       int     `koanf:"threshold"`
	MinAvailability float64 `koanf:"min_availability"`
}

// RebalanceConfig is when waiting requests move to another node.
type RebalanceConfig struct {
	Interval    time.Duration `koanf:"interval"`
	Threshold   int           `koanf:"threshold"`
	MaxPerCycle int           `koanf:"max_per_cycle"`
}

// CircuitConfig opens a deployment's circuit: Failures of the last Of within
// Window. Written "5/10 in 60s".
type CircuitConfig struct {
	Failures, Of int
	Window       time.Duration
}

// ThinkingConfig widens output limits of models that think.
type ThinkingConfig struct {
	Overhead   float64 `koanf:"overhead"`
	MinPredict int     `koanf:"min_predict"`
}

// ClassifierConfig is the optional model that names a request's task.
type ClassifierConfig struct {
	Enabled    bool          `koanf:"enabled"`
	When       string        `koanf:"when"`
	Deployment string        `koanf:"deployment"`
	Timeout    time.Duration `koanf:"timeout"`
}

// ClientsConfig limits what one app may have under way.
type ClientsConfig struct {
	MaxInFlight int           `koanf:"max_in_flight"`
	RetryAfter  time.Duration `koanf:"retry_after"`
}

// CapacityConfig is the learning of the machine's week.
type CapacityConfig struct {
	Learning    bool   `koanf:"learning"`
	Observation string `koanf:"observation"`
	OwnRequests string `koanf:"own_requests"`
}

// MeetingsConfig is the watch on camera and microphone.
type MeetingsConfig struct {
	Enabled bool     `koanf:"enabled"`
	Ignore  []string `koanf:"ignore"`
}

// SecurityConfig is who may come in.
type SecurityConfig struct {
	APIKeys        []APIKey `koanf:"api_keys"`
	AllowedHosts   []string `koanf:"allowed_hosts"`
	AllowedOrigins []string `koanf:"allowed_origins"`
	RemoteImages   bool     `koanf:"remote_images"`
	CIDR           []string `koanf:"cidr"`
	MaxBodyMB      float64  `koanf:"max_body_mb"`
}

// StoreConfig is how much is remembered.
type StoreConfig struct {
	RetentionDays float64 `koanf:"retention_days"`
	MaxMB         float64 `koanf:"max_mb"`
	CaptureBodies bool    `koanf:"capture_bodies"`
}

// TelemetryConfig is where traces go; "" = nowhere.
type TelemetryConfig struct {
	OTLPEndpoint string `koanf:"otlp_endpoint"`
}

// Default returns the settings of a machine that was told nothing. Its name
// and its data folder are empty: they come with Load.
func Default() *Config {
	p := route.DefaultPolicy()
	return &Config{
		Listen:              "localhost:11435",
		LogLevel:            "info",
		Node:                NodeConfig{Router: "auto"},
		Peer:                PeerConfig{Listen: ":11537", Discovery: true},
		Heartbeat:           HeartbeatConfig{Interval: 5 * time.Second, Late: 15 * time.Second, Offline: 30 * time.Second},
		Membership:          MembershipConfig{ProbeInterval: 500 * time.Millisecond, SuspicionMult: 2, ClaimAfter: 500 * time.Millisecond},
		UnknownMemoryPolicy: "allow",
		Routing:             defaultRouting(p),
		Clients:             ClientsConfig{RetryAfter: p.RetryAfter},
		Capacity:            CapacityConfig{Observation: "strict", OwnRequests: "serve"},
		Meetings:            MeetingsConfig{Enabled: true},
		OnMeeting:           "finish", OnPause: "finish", OnBattery: "finish", OnSchedule: "finish",
		CancelGrace:  20 * time.Second,
		FullScreen:   "serve",
		Battery:      "own",
		StartAtLogin: "ask",
		Security:     SecurityConfig{MaxBodyMB: 64},
		Store:        StoreConfig{RetentionDays: 30, MaxMB: 1024},

		ResponseModelField: "requested",
	}
}

// defaultRouting takes the engine's own defaults, so that they stand once.
func defaultRouting(p *route.Policy) RoutingConfig {
	profiles := make(map[string]ProfileConfig, len(p.Profiles))
	for name, w := range p.Profiles {
		profiles[name] = ProfileConfig(w)
	}
	s := p.Score
	return RoutingConfig{
		Scoring: "signals",
		Score: ScoreConfig{
			ModelHot: s.ModelHot, ModelLoading: s.ModelLoading, ModelWarm: s.ModelWarm, ModelCold: s.ModelCold, WarmWindow: s.WarmWindow,
			MemoryFitMax: s.MemoryFitMax, FitTiers: s.FitTiers,
			QueueDepthMaxPenalty: s.QueueDepthMaxPenalty, QueueDepthPer: s.QueueDepthPer, QueueBandwidthNormalize: s.BandwidthNormalize,
			WaitTimeMaxPenalty: s.WaitMaxPenalty, RoleAffinityMax: s.RoleAffinityMax, LargeGB: s.LargeGB, SmallGB: s.SmallGB,
			AvailabilityMax: s.AvailabilityMax, ContextFitMax: s.ContextFitMax, SessionMax: s.SessionMax,
		},
		Pins: PinsConfig{TTL: p.PinTTL, Max: p.PinMax}, SwitchingPenalty: p.SwitchingPenalty, Profiles: profiles,
		Hold: HoldConfig{Interval: p.HoldInterval, Max: p.HoldMax}, OpenAfter: p.OpenAfter, Settle: p.Settle,
		KVPerRequestGB: p.KVPerRequestGB, MaxSlots: p.MaxSlots,
		PreWarm:   PreWarmConfig{Threshold: 3, MinAvailability: 0.60},
		Rebalance: RebalanceConfig{Interval: 5 * time.Second, Threshold: 4, MaxPerCycle: 3}, PullWhenFree: p.PullWhenFree,
		MaxRetries: p.MaxRetries, UncertainHold: p.UncertainHold,
		Circuit:  CircuitConfig{Failures: p.Circuit.Failures, Of: p.Circuit.Of, Window: p.Circuit.Window},
		Timeouts: TimeoutsConfig{FirstContent: p.FirstContent, StreamIdle: p.StreamIdle, Total: p.Total},
		AutoPull: p.AutoPull, AutoPullAllow: []string{"ollama.com", "hf.co"}, AutoPullTimeout: p.AutoPullTimeout,
		ModelFallback: p.ModelFallback, ContextProtection: p.ContextProtection,
		Thinking:   ThinkingConfig{Overhead: p.ThinkingOverhead, MinPredict: p.ThinkingMinPredict},
		Classifier: ClassifierConfig{When: "ambiguous", Timeout: 2 * time.Second},
		Locality:   p.Locality, PreloadMax: 3,
	}
}
