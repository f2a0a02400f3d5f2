package route

import (
	"time"

	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

// Tokens are the three token needs of a request.
type Tokens struct {
	Input     int `json:"input"`
	Output    int `json:"output"`
	Reasoning int `json:"reasoning"` // for models that think
}

// Role is what a model must be to serve the request.
type Role string

// Roles of a request.
const (
	RoleChat      Role = "chat"
	RoleEmbedding Role = "embedding"
)

// Requirements is what a request needs, read from its structure only. It, and
// never the text, goes to the router.
type Requirements struct {
	Role        Role               `json:"role"`
	PrimaryTask string             `json:"primary_task,omitempty"`
	Tasks       map[string]float64 `json:"tasks,omitempty"`
	Clear       bool               `json:"clear"`

	Tokens      Tokens `json:"tokens"`
	OutputAsked int    `json:"output_asked,omitempty"` // the client's limit, 0 = none

	NeedsTools         bool `json:"needs_tools"`
	ToolChoiceRequired bool `json:"tool_choice_required"`
	ParallelTools      bool `json:"parallel_tools"`        // an earlier turn holds several calls
	SingleCall         bool `json:"single_call,omitempty"` // at most one call a turn: the gateway sees to it, whoever answers
	JSONSchema         bool `json:"json_schema"`
	JSONObject         bool `json:"json_object"`
	Streaming          bool `json:"streaming"`
	Vision             bool `json:"vision"`
	Images             int  `json:"images,omitempty"`
	RemoteImage        bool `json:"remote_image"`
	AudioIn            bool `json:"audio_in"`
	Continuation       bool `json:"continuation"`
	Insert             bool `json:"insert"`
	LoadOnly           bool `json:"load_only,omitempty"`
	ThinkAsked         bool `json:"think_asked,omitempty"` // explicitly on; dropped for models without it unless strict
	ThinkStrict        bool `json:"think_strict,omitempty"`
	ThinkOff           bool `json:"think_off,omitempty"`    // explicitly off
	ThinkBudget        int  `json:"think_budget,omitempty"` // tokens the client set aside, inside its output limit

	Fields []string `json:"fields,omitempty"` // fields to honour: logprobs, n, seed ...; sorted
	// InputTotal is all prompt tokens together; Tokens.Input only the longest of
	// several embedding inputs, which is what a context must hold.
	InputTotal int `json:"input_total,omitempty"`
	// Text is the kind of text that most tokens are of: prose, code, cjk, other.
	Text string `json:"text,omitempty"`
	// Truncates is set when the client lets the runtime cut a long input; cuts says
	// which runtimes do.
	Truncates  bool `json:"truncates,omitempty"`
	NumCtx     int  `json:"num_ctx,omitempty"`
	Dimensions int  `json:"dimensions,omitempty"`
	// Space is the identity that must answer, for a part of a batch whose other
	// parts are answered by it; "" = any.
	Space string `json:"space,omitempty"`

	// Bound restricts failover: "" none, "model" other nodes with the same
	// identity only, "node" nowhere else. BoundTo is the identity's keyed tag or
	// the node's id; BoundWhy goes into failover_note.
	Bound    string `json:"bound,omitempty"`
	BoundTo  string `json:"bound_to,omitempty"`
	BoundWhy string `json:"bound_why,omitempty"`
	// IssuedBy is the keyed tag of the model that made the tool calls this turn
	// answers; "" = none, or made elsewhere. Set beside either kind of Bound.
	IssuedBy string `json:"issued_by,omitempty"`

	Session string `json:"session,omitempty"` // key, hashed; "" = none
	// SessionPins is false for a first turn: it may read a pin, and sets none.
	SessionPins bool     `json:"session_pins,omitempty"`
	App         string   `json:"app"`
	Tags        []string `json:"tags,omitempty"`
	// AppLimit is the most requests the app's key may have under way; 0 = the
	// fleet's clients.max_in_flight.
	AppLimit   int    `json:"app_limit,omitempty"`
	Batch      bool   `json:"batch,omitempty"` // class batch; else interactive
	NoFallback bool   `json:"no_fallback,omitempty"`
	Node       string `json:"node,omitempty"`    // X-Fleet-Node: name or id
	Profile    string `json:"profile,omitempty"` // X-Fleet-Profile
	Locality   string `json:"locality,omitempty"`
	MayPull    bool   `json:"may_pull,omitempty"` // the caller has the right
	// Timeout is what the client gives the whole call, 0 = not said.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// Query asks for a place for one request.
type Query struct {
	Request   string       `json:"request"` // id
	Model     string       `json:"model"`   // as asked
	Fallbacks []string     `json:"fallbacks,omitempty"`
	Needs     Requirements `json:"needs"`
	Origin    string       `json:"origin"` // node id
	Arrived   time.Time    `json:"arrived"`
	Attempt   int          `json:"attempt"` // from 1
	// Failed lists where this request failed already.
	Failed []fleet.DeploymentID `json:"failed,omitempty"`
	// Counted is what a runtime counted when it refused the prompt as too long, and
	// CountedBy the identity of the model that counts so. 0 = none has.
	Counted   int    `json:"counted,omitempty"`
	CountedBy string `json:"counted_by,omitempty"`
	// Changed is set once the request has moved to another listed candidate.
	Changed bool `json:"changed,omitempty"`
	// Part is the place of this part in a batch that was split, from 1; 0 = it is
	// whole. To its app's cap a batch is one request, whatever its parts.
	Part int `json:"part,omitempty"`
	// NoHold: it is refused at once where others would wait in the holding list.
	NoHold bool `json:"no_hold,omitempty"`
	// Probing: it finds out what a deployment can do, so only its operator's no
	// is in the way, and nothing that is not known or was found before.
	Probing bool `json:"probing,omitempty"`
}

// Lane is what is known of one node:model queue.
type Lane struct {
	Running  int   `json:"running"`
	Waiting  int   `json:"waiting"`
	LastUsed int64 `json:"last_used"` // rising number of the last choice, 0 = never
	// LoadRemaining is the rest of a load under way, predicted.
	LoadRemaining time.Duration `json:"load_remaining,omitempty"`
	// Closed is set while a refusal by the agent keeps the lane shut.
	Closed bool `json:"closed,omitempty"`
}

// Depth is running + waiting.
func (l Lane) Depth() int { return l.Running + l.Waiting }

// Circuit is the breaker state of a deployment.
type Circuit struct {
	Open    bool      `json:"open"`
	App     string    `json:"app,omitempty"` // whose requests alone are kept out, "" = everyone's
	RetryAt time.Time `json:"retry_at,omitzero"`
}

// KeepsOut reports whether the requests of an app are to go elsewhere, or wait.
func (c Circuit) KeepsOut(app string) bool { return c.Open && (c.App == "" || c.App == app) }

// Pin is where a session was last served with success.
type Pin struct {
	Deployment fleet.DeploymentID `json:"deployment"`
	Identity   string             `json:"identity"`
	At         time.Time          `json:"at"`
}

// View is everything Decide may look at. It is not changed while it is used.
type View struct {
	Now      time.Time
	Fleet    *fleet.Snapshot // pools already carry the router's overlay of later grants
	Lanes    map[fleet.DeploymentID]Lane
	Pins     map[string]Pin // by session key
	Open     map[fleet.DeploymentID]Circuit
	Evidence *evidence.Book
	// Unknown memory policy per node comes with its pools' holders.
}

// Verdict is what Decide says to do.
type Verdict string

// Verdicts.
const (
	Serve  Verdict = "serve"
	Hold   Verdict = "hold"   // waiting may cure it
	Pull   Verdict = "pull"   // fetch the model first (auto_pull: on)
	Refuse Verdict = "refuse" // waiting cannot cure it
)

// Exclusion is one failed check. Inside a decision it is a code plus
// operands; Reason and Remedy are rendered when read.
type Exclusion struct {
	Code     fleet.Code `json:"code"`
	Operands []any      `json:"operands,omitempty"`
	Hold     bool       `json:"hold"` // waiting may cure it
}

// Signals are the eight terms of a node's score (routing.md 4), plus total.
type Signals struct {
	Warmth          float64 `json:"warmth"`
	MemoryFit       float64 `json:"memory_fit"`
	QueueDepth      float64 `json:"queue_depth"`
	Wait            float64 `json:"wait"`
	RoleAffinity    float64 `json:"role_affinity"`
	Availability    float64 `json:"availability"`
	ContextFit      float64 `json:"context_fit"`
	SessionAffinity float64 `json:"session_affinity"`
}

// Total sums the signals.
func (s Signals) Total() float64 {
	return s.Warmth + s.MemoryFit + s.QueueDepth + s.Wait + s.RoleAffinity +
		s.Availability + s.ContextFit + s.SessionAffinity
}

// Candidate is one deployment judged.
type Candidate struct {
	Deployment fleet.DeploymentID `json:"deployment"`
	Quality    float64            `json:"quality"`
	Evidence   string             `json:"evidence"` // where its numbers come from: p75:measured:120, p75:heuristic
	Tokens     Tokens             `json:"tokens"`   // what the request needs there, calibrated
	// Factor is what the estimate of the input was multiplied by, learnt from this
	// model's counts; 0 = nothing is learnt, or it was counted.
	Factor         float64  `json:"factor,omitempty"`
	Loaded         bool     `json:"loaded"` // in memory; while it is being loaded Notes has loading
	Depth          int      `json:"depth"`
	LatencyCost    float64  `json:"latency_cost"`
	ResidencyCost  float64  `json:"residency_cost"`
	OverheadCost   float64  `json:"overhead_cost"`
	AffinityAdjust float64  `json:"affinity_adjust"`
	Score          float64  `json:"score"`      // model's, for aliases
	NodeScore      float64  `json:"node_score"` // sum of signals
	Signals        Signals  `json:"signals"`
	Slots          int      `json:"slots"`
	Notes          []string `json:"notes,omitempty"`
}

// Plan is what serving at the chosen deployment takes.
type Plan struct {
	Load             bool                 `json:"load"`
	Reload           bool                 `json:"reload,omitempty"`  // loaded, but must be loaded again: only once nothing runs on it
	Need             int64                `json:"need,omitempty"`    // bytes to reserve
	Evict            []fleet.DeploymentID `json:"evict,omitempty"`   // in order
	Context          int                  `json:"context,omitempty"` // per-slot tokens to load with / keep
	Output           int                  `json:"output,omitempty"`  // output limit to send, 0 = leave as asked
	Slots            int                  `json:"slots"`             // of the lane
	FirstContent     time.Duration        `json:"first_content"`
	Idle             time.Duration        `json:"idle"`
	Total            time.Duration        `json:"total"`
	PredictedSeconds float64              `json:"predicted_seconds"` // unit of fairness
	Expected         float64              `json:"expected"`          // seconds to the first content
	Pace             fleet.Pace           `json:"pace"`              // what Expected was made of
}

// Decision is the answer of Decide, with all that explains it.
type Decision struct {
	Verdict    Verdict                            `json:"verdict"`
	Chosen     fleet.DeploymentID                 `json:"chosen,omitzero"`
	Model      string                             `json:"model,omitempty"` // listed name that won
	Fallback   bool                               `json:"fallback,omitempty"`
	Plan       Plan                               `json:"plan,omitzero"`
	Alias      string                             `json:"alias,omitempty"`
	Profile    string                             `json:"profile,omitempty"`
	Contract   string                             `json:"contract,omitempty"` // embedding contract asked, then Alias too
	Evidence   string                             `json:"evidence,omitempty"`
	Candidates []Candidate                        `json:"candidates"`
	Exclusions map[fleet.DeploymentID][]Exclusion `json:"exclusions,omitempty"`
	OtherCodes map[fleet.Code]int                 `json:"other_codes,omitempty"` // of deployments not asked for
	Reasons    []Reason                           `json:"reasons,omitempty"`
	Status     int                                `json:"status,omitempty"` // HTTP, when refused
	RefuseCode string                             `json:"refuse_code,omitempty"`
	RetryAfter time.Duration                      `json:"retry_after,omitempty"` // when refused, 0 = do not say
	// Decisive is the check that settled a refusal, nil when none alone did.
	Decisive        *Exclusion `json:"decisive,omitempty"`
	FailoverAllowed bool       `json:"failover_allowed"`
	FailoverNote    string     `json:"failover_note,omitempty"`
	ConfigHash      string     `json:"config_hash,omitempty"`
	RegistryVersion uint64     `json:"registry_version"`
	// Refused is what the chosen node said to the grant last, nil if it took it.
	Refused *fleet.Refusal `json:"refused,omitempty"`
	// Waited is what the request was held for before this answer, nil if it was not.
	Waited *Waited `json:"waited,omitempty"`
	// Scenario is what the decision was made from, as Write gives it; "" = it was
	// not kept.
	Scenario string `json:"-"`
	// Nodes gives the names people know the nodes by, for the texts.
	Nodes []NodeName `json:"nodes,omitempty"`
}

// NodeName is a node's id and what people call it.
type NodeName struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Reason is one sentence of the explanation: a template's name and operands.
type Reason struct {
	Code     string `json:"code"`
	Operands []any  `json:"operands,omitempty"`
}
