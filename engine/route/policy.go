package route

import (
	"time"

	"bellwether/engine/fleet"
)

// Policy is the fleet's settings as Decide uses them. Never changed once
// published; Hash names this version in every record.
type Policy struct {
	Hash  string
	Score ScorePolicy

	PinTTL           time.Duration
	PinMax           int
	SwitchingPenalty float64
	Profiles         map[string]Weights

	HoldInterval, HoldMax, OpenAfter, Settle time.Duration

	KVPerRequestGB float64 // when the model's geometry is unknown
	MaxSlots       int
	PullWhenFree   bool

	MaxRetries    int
	UncertainHold time.Duration
	Circuit       CircuitPolicy

	// FirstContent is the least first-content deadline; three times the
	// predicted load + prefill when that is longer.
	FirstContent, StreamIdle, Total time.Duration

	AutoPull        string   // off, ask, on
	AutoPullAllow   []string // registries: "" library names, "hf.co", host names
	AutoPullTimeout time.Duration
	ModelFallback   bool

	ContextProtection  string  // strip, warn, passthrough
	ThinkingOverhead   float64 // factor on the output limit of thinking models
	ThinkingMinPredict int     // tokens
	Locality           string  // fleet, this_node
	RemoteImages       bool

	Aliases      map[string]Alias // by lower-case name
	Contracts    map[string]Contract
	Declarations []Declaration
	PinnedModels []string // canonical names

	UnknownMemory string // allow, reject
	MaxInFlight   int    // per app, 0 = no cap
	RetryAfter    time.Duration

	// ToolKey signs the tags in minted tool-call ids. It is the same on every
	// member and stays out of Hash and of every record.
	ToolKey []byte
}

// ScorePolicy holds the weights of the eight signals (routing.md 4).
type ScorePolicy struct {
	ModelHot, ModelLoading, ModelWarm, ModelCold float64
	WarmWindow                                   time.Duration
	MemoryFitMax                                 float64
	FitTiers                                     []FitTier // descending by Ratio
	QueueDepthMaxPenalty, QueueDepthPer          float64
	BandwidthNormalize                           bool
	WaitMaxPenalty                               float64
	RoleAffinityMax, LargeGB, SmallGB            float64
	AvailabilityMax, ContextFitMax, SessionMax   float64
}

// FitTier gives Points when available/size is above Ratio (the last: at least).
type FitTier struct{ Ratio, Points float64 }

// Weights are a profile's w_q, w_lat, w_res, w_over (routing.md 5).
type Weights struct{ Quality, Latency, Residency, Overhead float64 }

// CircuitPolicy: open after Failures of the last Of within Window; one try
// after RetryAfter, doubling to RetryMax.
type CircuitPolicy struct {
	Failures, Of                 int
	Window, RetryAfter, RetryMax time.Duration
}

// Declaration is what the operator says of the deployments it matches.
type Declaration struct {
	Match        string // glob over node/runtime/model or over the model's name
	Identity     string // of the weights, where the runtime reports no digest
	Capabilities map[fleet.Capability]fleet.Tri
	Context      int
	MemoryGB     float64
	Tags         []string
	Enabled      *bool
	Quality      map[string]float64
}

// DefaultPolicy returns the defaults of the settings.
func DefaultPolicy() *Policy {
	return &Policy{
		Score: ScorePolicy{
			ModelHot: 50, ModelLoading: 40, ModelWarm: 30, ModelCold: 10, WarmWindow: 30 * time.Minute,
			MemoryFitMax: 20, FitTiers: []FitTier{{2.0, 20}, {1.5, 15}, {1.2, 8}, {1.0, 3}},
			QueueDepthMaxPenalty: 30, QueueDepthPer: 6, WaitMaxPenalty: 25,
			RoleAffinityMax: 25, LargeGB: 20, SmallGB: 8,
			AvailabilityMax: 10, ContextFitMax: 15, SessionMax: 20,
		},
		PinTTL: 900 * time.Second, PinMax: 2000, SwitchingPenalty: 0.05,
		Profiles: map[string]Weights{
			ProfileQuality:  {1.0, 0.15, 0.10, 0.05},
			ProfileBalanced: {1.0, 0.45, 0.30, 0.10},
			ProfileFast:     {0.6, 1.0, 0.6, 0.2},
		},
		Aliases:      BuiltinAliases(),
		HoldInterval: 2 * time.Second, HoldMax: 30 * time.Second, OpenAfter: 10 * time.Second, Settle: 3 * time.Second,
		KVPerRequestGB: 2, MaxSlots: 8, PullWhenFree: true,
		MaxRetries: 2, UncertainHold: 120 * time.Second,
		Circuit:      CircuitPolicy{Failures: 5, Of: 10, Window: 60 * time.Second, RetryAfter: 15 * time.Second, RetryMax: 5 * time.Minute},
		FirstContent: 60 * time.Second, StreamIdle: 120 * time.Second, Total: time.Hour,
		AutoPull: "ask", AutoPullAllow: []string{"", "ollama.com", "registry.ollama.ai", "hf.co"}, AutoPullTimeout: 300 * time.Second,
		ContextProtection: "strip", ThinkingOverhead: 4, ThinkingMinPredict: 1024,
		Locality: "fleet", UnknownMemory: "allow", RetryAfter: 2 * time.Second,
	}
}
