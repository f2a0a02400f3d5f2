package admin

import (
	"log/slog"
	"time"
)

// Session is the answer of GET /admin/session.
type Session struct {
	// Unlocked says that this browser may change things: it opened a one-time
	// link, or sent the admin token.
	Unlocked bool   `json:"unlocked"`
	Version  string `json:"version"`
	NodeName string `json:"node_name"`
	// Unlock says how to unlock, "" when it is.
	Unlock string `json:"unlock"`
}

// EnterLink is the answer of POST /admin/enter-link.
type EnterLink struct {
	URL       string    `json:"url"` // good once
	ExpiresAt time.Time `json:"expires_at"`
}

// History is the last hour in samples, for charts. Sample i of every list is
// of From + i * StepSeconds; null = there is none of that moment.
type History struct {
	From        time.Time              `json:"from"`
	StepSeconds int                    `json:"step_seconds"`
	Samples     int                    `json:"samples"`
	Pools       map[string]PoolHistory `json:"pools"` // by node/pool
	Nodes       map[string]NodeHistory `json:"nodes"` // by node id
}

// PoolHistory is one pool's hour; figures as in PoolView.
type PoolHistory struct {
	ResidentBytes  []*int64 `json:"resident_bytes"`
	ReservedBytes  []*int64 `json:"reserved_bytes"`
	UncertainBytes []*int64 `json:"uncertain_bytes"`
	AssumedBytes   []*int64 `json:"assumed_bytes"`
	MarginBytes    []*int64 `json:"margin_bytes"`
	FreeBytes      []*int64 `json:"free_bytes"`
	LimitBytes     []*int64 `json:"limit_bytes"`
}

// NodeHistory is one machine's hour.
type NodeHistory struct {
	CPUPercent      []*float64 `json:"cpu_percent"`
	MemoryUsedBytes []*int64   `json:"memory_used_bytes"`
	RunningRequests []*int64   `json:"running_requests"`
	WaitingRequests []*int64   `json:"waiting_requests"`
}

// EvictionPlan is the answer of GET /admin/pools/{node}/{pool}/plan?model=: what
// loading the model there would take. Nothing is done.
type EvictionPlan struct {
	Deployment string `json:"deployment"`
	Pool       string `json:"pool"`
	// Verdict is loaded (it is there already), fits, evict (after Evict is gone),
	// wait (what holds the memory is in use), never (no pool can hold it).
	Verdict   string       `json:"verdict"`
	NeedBytes *int64       `json:"need_bytes"` // to be reserved; null = not known
	FreeBytes *int64       `json:"free_bytes"` // room for models, below the margin
	Evict     []VictimView `json:"evict"`      // in order
	Text      string       `json:"text"`       // the same for people
	Remedy    string       `json:"remedy"`
}

// VictimView is a model that would leave memory.
type VictimView struct {
	Deployment string     `json:"deployment"`
	Bytes      *int64     `json:"bytes"` // null = not known
	LoadedAt   *time.Time `json:"loaded_at"`
}

// SettingsAnswer is the answer of GET /admin/settings.
type SettingsAnswer struct {
	// Revision is a hash of the settings file; a change names the one it is based on.
	Revision string `json:"revision"`
	File     string `json:"file"` // its name, without folder; "" = there is none to write to
	// Error is what is wrong with the file now, while the settings before stay in
	// force; "" = nothing.
	Error    string        `json:"error"`
	Settings []SettingView `json:"settings"`
}

// SettingView is one setting in force. Texts are as a settings file has them:
// one word, or JSON for lists and tables.
type SettingView struct {
	Key     string `json:"key"`
	Value   string `json:"value"`  // "(hidden)" in place of secrets
	Source  string `json:"source"` // default, file NAME:LINE, env NAME, flag NAME
	Default string `json:"default"`
	Unit    string `json:"unit"`
	// Kind is text, choice, flag (true, false), number, whole, span (seconds, or
	// text like 1h30m), list, table.
	Kind    string   `json:"kind"`
	Choices []string `json:"choices"` // of a choice
	Allowed string   `json:"allowed"` // in words
	Doc     string   `json:"doc"`
	Scope   string   `json:"scope"`   // node, fleet
	Restart bool     `json:"restart"` // a change counts after a restart
	Later   string   `json:"later"`   // why nothing reads it yet, "" = it is read
	Env     []string `json:"env"`     // variables that set it
	// Secret says that the value holds keys, which are never shown.
	Secret bool `json:"secret"`
	// Fixed says why the file cannot change it (a variable or flag is over it);
	// "" = it can.
	Fixed string `json:"fixed"`
}

// SettingsChange is the body of POST /admin/settings.
type SettingsChange struct {
	Revision string             `json:"revision"`
	Changes  map[string]*string `json:"changes"` // by key: the new text, null = back to the default
	DryRun   bool               `json:"dry_run"` // only say what it would do
}

// SettingsPreview is the answer of POST /admin/settings, of a dry run and of a
// change that was made.
type SettingsPreview struct {
	Revision string          `json:"revision"` // of the file as it is now
	Changed  []SettingChange `json:"changed"`
	Restart  []string        `json:"restart"` // keys of them that count after a restart
	Warnings []string        `json:"warnings"`
	Saved    bool            `json:"saved"`
}

// SettingChange is one setting's way from one text to another.
type SettingChange struct {
	Key  string `json:"key"`
	From string `json:"from"`
	To   string `json:"to"`
}

// LogAnswer is the answer of GET /admin/log.
type LogAnswer struct {
	Lines []LogLine `json:"lines"` // oldest first
	// Next is what to give as after for the lines that follow.
	Next uint64 `json:"next"`
	// Lost counts lines that were asked for and are no longer kept.
	Lost uint64 `json:"lost"`
	// File has these lines and older ones, "" = none is written.
	File string `json:"file"`
}

// LogLine is one line of the log.
type LogLine struct {
	Seq     uint64    `json:"seq"`
	At      time.Time `json:"at"`
	Level   string    `json:"level"` // debug, info, warn, error
	level   slog.Level
	Message string    `json:"message"`
	Attrs   []LogAttr `json:"attrs,omitempty"`
}

// LogAttr is a fact of a log line.
type LogAttr struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// TrafficLine is one line of the answer of POST /admin/test-traffic: first the
// plan, then a line for every request as it ends, then the sum.
type TrafficLine struct {
	Kind string `json:"kind"` // plan, request, done

	Requests int `json:"requests,omitempty"` // plan: how many there will be

	// Of a request.
	Protocol     string   `json:"protocol,omitempty"` // openai-chat, openai-responses, anthropic, ollama-chat ...
	Deployment   string   `json:"deployment,omitempty"`
	RequestID    string   `json:"request_id,omitempty"` // its decision
	OK           bool     `json:"ok"`
	Status       int      `json:"status,omitempty"` // HTTP
	TTFTMs       *float64 `json:"ttft_ms,omitempty"`
	TotalMs      *float64 `json:"total_ms,omitempty"`
	OutputTokens *int     `json:"output_tokens,omitempty"`
	Error        string   `json:"error,omitempty"`  // done: why not all of the plan were sent
	Remedy       string   `json:"remedy,omitempty"` // of either

	Passed int `json:"passed,omitempty"` // done
	Failed int `json:"failed,omitempty"`
}

// SettingsError is the answer to a change of settings that was refused for
// their values.
type SettingsError struct {
	Err  Refusal           `json:"error"`
	Keys map[string]string `json:"keys"` // what is wrong, by key; "" = with the file as a whole
}

func (e *SettingsError) Error() string { return e.Err.Message }
