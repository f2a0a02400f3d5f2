package fleet

import "time"

// Grant is the router's permission to run one request on one deployment. It
// is good once, for the boot it names, and comes back if unused for 2 s. The
// agent may still refuse it before the first byte (Refusal).
type Grant struct {
	ID         string       `json:"id"`
	Request    string       `json:"request"`
	Attempt    int          `json:"attempt"` // from 1
	Deployment DeploymentID `json:"deployment"`
	Origin     string       `json:"origin"`   // node on which the app called
	Sequence   uint64       `json:"sequence"` // rises with every grant of this router to this node
	Epoch      uint64       `json:"epoch"`    // of the router's claim; agents refuse lower ones
	Boot       string       `json:"boot"`     // of the agent it is meant for

	// Durations, never wall-clock times (clocks of machines differ).
	FirstContent time.Duration `json:"first_content"`
	Idle         time.Duration `json:"idle"`
	Total        time.Duration `json:"total"`

	Load     bool           `json:"load"`               // not loaded yet: load it first
	Context  int            `json:"context,omitempty"`  // tokens per slot to load with or keep, 0 = the runtime's own
	Need     int64          `json:"need"`               // bytes to reserve when it must load
	Evict    []DeploymentID `json:"evict,omitempty"`    // idle, unpinned victims the plan names
	Output   int            `json:"output,omitempty"`   // clamp for the output limit, 0 = leave as asked
	Internal bool           `json:"internal,omitempty"` // pre-warm, probe: no app behind it
}

// GrantTTL is how long an unused grant stays good.
const GrantTTL = 2 * time.Second

// Outcome is how a request ended (routing.md 14).
type Outcome string

// Outcomes of a request. Only OutcomeOK counts for circuits, evidence, pins.
const (
	OutcomeOK                       Outcome = "ok"
	OutcomeTruncated                Outcome = "truncated"
	OutcomeClientDisconnected       Outcome = "client_disconnected"
	OutcomeRefused                  Outcome = "refused"
	OutcomeFailed                   Outcome = "failed"
	OutcomeHeldOut                  Outcome = "held_out"
	OutcomeStreamInvalidAfterCommit Outcome = "stream_invalid_after_commit"
)

// Released is the agent's word that a grant's work is over (ended, aborted,
// confirmed idle). It alone frees the slot and the memory. Sent exactly once.
type Released struct {
	Grant      string       `json:"grant"`
	Node       string       `json:"node"`
	Deployment DeploymentID `json:"deployment"`
	Sequence   uint64       `json:"sequence"`
	// Uncertain is how long the deployment is held because the call may still
	// be running there (timeout, unconfirmed cancel); 0 = certainly over.
	Uncertain time.Duration `json:"uncertain,omitempty"`
	Load      time.Duration `json:"load,omitempty"` // time the load took, 0 = none
}

// Completed is the gateway's word how the answer ended. It closes the record.
// Sent exactly once per grant, before or after Released.
type Completed struct {
	Grant      string        `json:"grant"`
	Request    string        `json:"request"`
	Deployment DeploymentID  `json:"deployment"`
	Outcome    Outcome       `json:"outcome"`
	Failure    *Failure      `json:"failure,omitempty"` // set when the attempt failed
	Took       time.Duration `json:"took"`              // dispatch to end, queue excluded
	TTFT       time.Duration `json:"ttft,omitempty"`    // dispatch to first content
	Input      int           `json:"input,omitempty"`   // tokens, as the runtime counted
	Output     int           `json:"output,omitempty"`
	Cached     int           `json:"cached,omitempty"`
	// What evidence learns from beside: our own count of the prompt before, the
	// request's task, the runtime's own measurements. Counts below 0 and zero
	// durations are unknown.
	Reasoning int           `json:"reasoning,omitempty"`
	Estimate  int           `json:"estimate,omitempty"`
	Text      string        `json:"text,omitempty"` // kind of text the estimate is of
	Task      string        `json:"task,omitempty"`
	Truncated bool          `json:"truncated,omitempty"` // cut by its output limit
	Load      time.Duration `json:"load,omitempty"`      // part of TTFT spent loading
	Prefill   time.Duration `json:"prefill,omitempty"`
	Decode    time.Duration `json:"decode,omitempty"`
	Slower    *Pace         `json:"slower,omitempty"` // set when it was given up: no faster than this
	Validated bool          `json:"validated"`        // a complete, well-formed completion
	// Internal is set for requests of our own: they show what a machine can, not
	// what its users want.
	Internal bool `json:"internal,omitempty"`
	// Retry is set when the gateway will ask again for the same request with
	// this deployment excluded.
	Retry bool `json:"retry,omitempty"`
}

// Pace is how fast work at a deployment goes: tokens a second, read and written,
// and seconds of its load. 0 = nothing is said of it.
type Pace struct {
	Prefill float64 `json:"prefill,omitempty"`
	Decode  float64 `json:"decode,omitempty"`
	Load    float64 `json:"load,omitempty"`
}

// FailureClass groups failures by what may be concluded from them.
type FailureClass string

// Classes of failure.
const (
	FailConnect      FailureClass = "connect"       // nothing was sent
	FailBeforeOpen   FailureClass = "before_open"   // sent, no answer began
	FailStatus       FailureClass = "status"        // the runtime refused with a status
	FailBackPressure FailureClass = "back_pressure" // the runtime's own queue is full
	FailMidStream    FailureClass = "mid_stream"    // broke after content began
	FailInvalid      FailureClass = "invalid"       // 200 that is no completion
	FailTimeout      FailureClass = "timeout"       // one of our deadlines
	FailRefused      FailureClass = "refused"       // the agent refused the grant
	FailLoad         FailureClass = "load"          // the model could not be loaded
	FailCancelled    FailureClass = "cancelled"     // client gone, owner's cancel
	// FailContract is a sound answer whose vectors are not those that its request,
	// or the embedding contract it asked for, stands for. The runtime is well:
	// nobody else's requests are to suffer for it.
	FailContract FailureClass = "contract"
)

// Failure says what went wrong in one attempt. It is an error.
type Failure struct {
	Class  FailureClass `json:"class"`
	Status int          `json:"status,omitempty"` // of the runtime, when it gave one
	// Code and Message are what the runtime said, with its host and paths removed.
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	// MayRun is true when the runtime may still be working on the call.
	MayRun bool `json:"may_run,omitempty"`
	// Caller is true when the request itself is at fault (a 4xx): another node
	// would say the same, so it is neither retried nor a mark against the node.
	Caller bool `json:"caller,omitempty"`
	// Tokens and Context are set when the prompt was too long for the context it
	// met: what the runtime counted, and what there was. 0 = it did not say.
	Tokens  int `json:"tokens,omitempty"`
	Context int `json:"context,omitempty"`
	// RetryAfter is when the runtime wants to be asked again, 1 s to 1 h; 0 = it
	// does not say.
	RetryAfter time.Duration `json:"retry_after,omitempty"`
}

func (f *Failure) Error() string { return string(f.Class) + ": " + f.Message }

// Refusal is the agent's "no" to a grant (routing.md 10): no failure, no retry
// used, no exclusion. The request keeps its age and place, and the lane stays
// closed until a heartbeat with a higher sequence than Sequence.
type Refusal struct {
	Code     Code   `json:"code"`
	Reason   string `json:"reason"`
	Sequence uint64 `json:"sequence"` // the agent's current heartbeat sequence
	Pools    []Pool `json:"pools"`    // its ledger as of now
}

func (r *Refusal) Error() string { return "refused by the node: " + string(r.Code) + ": " + r.Reason }
