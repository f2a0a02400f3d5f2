package admin

import "time"

// DecisionRow is a request in one line of the live list. While it is under way
// its outcome is "" and its stage says where it is; it is sent again as it
// moves and when it ends. The record is GET /admin/decisions/{id}; of a request
// under way it holds what it needs and what is decided so far.
type DecisionRow struct {
	RequestID string    `json:"request_id"`
	At        time.Time `json:"at"` // arrival
	App       string    `json:"app"`
	Tags      []string  `json:"tags,omitempty"`
	Protocol  string    `json:"protocol"` // openai-chat, anthropic ...; "" while under way
	// RequestedModel is as asked, Alias what it was taken for.
	RequestedModel string `json:"requested_model"`
	Alias          string `json:"alias,omitempty"`
	Profile        string `json:"profile,omitempty"`
	Task           string `json:"task,omitempty"` // coding, math ...; "" = none is told

	// Stage is, while under way: held (nobody can serve it now), queued (waits in
	// a lane), sent (to its node, which has not answered yet), running (its first
	// content came). "" = ended.
	Stage string `json:"stage"`
	// Outcome is ok, truncated, client_disconnected, refused, failed, held_out or
	// stream_invalid_after_commit; "" = under way.
	Outcome string `json:"outcome"`
	Status  int    `json:"status,omitempty"`  // HTTP status that the client saw
	Problem string `json:"problem,omitempty"` // what the client was told

	Deployment string `json:"deployment"` // chosen; "" = none yet, or none at all
	NodeName   string `json:"node_name"`
	Model      string `json:"model"` // that serves it

	QueueMs float64 `json:"queue_ms"` // arrival to grant
	LoadMs  float64 `json:"load_ms"`
	// TTFTMs is the time to first content, from when it was sent; 0 = there was none.
	TTFTMs     float64 `json:"ttft_ms"`
	TotalMs    float64 `json:"total_ms"`
	OverheadMs float64 `json:"overhead_ms"` // ours, without waiting

	InputTokens     *int `json:"input_tokens"` // as the runtime counted; null = it did not say
	OutputTokens    *int `json:"output_tokens"`
	CachedTokens    *int `json:"cached_tokens"`
	ReasoningTokens *int `json:"reasoning_tokens"`

	Streaming bool `json:"streaming"`
	Retries   int  `json:"retries"`
	Edits     int  `json:"edits"` // changes that were made to the request's body
	Notes     int  `json:"notes"`
}
