package admin

import (
	"time"

	"bellwether/engine/route"
)

// JobView is a pull, eval or probe, under way or ended lately.
type JobView struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"` // pull, eval, probe
	NodeID  string `json:"node_id"`
	Runtime string `json:"runtime"` // of a pull
	Model   string `json:"model"`   // what it is about; of an eval or probe the model under way
	State   string `json:"state"`   // running, done, failed, cancelled
	Step    string `json:"step"`    // what it does just now, in words
	// Percent is how far it is, 0 to 100; null = not known.
	Percent        *float64   `json:"percent"`
	CompletedBytes *int64     `json:"completed_bytes"` // of a pull's present file
	TotalBytes     *int64     `json:"total_bytes"`
	DoneItems      *int       `json:"done_items"` // of an eval or probe
	TotalItems     *int       `json:"total_items"`
	StartedAt      time.Time  `json:"started_at"`
	EndedAt        *time.Time `json:"ended_at"`
	Error          string     `json:"error"` // what it failed of and what helps, sentences; "" = it did not, or there is nothing to say
	Cancellable    bool       `json:"cancellable"`
	// Lines are what an eval or probe found out so far, in its order.
	Lines []JobLine `json:"lines"`
}

// JobLine is one thing that an eval or probe found out.
type JobLine struct {
	Deployment string `json:"deployment"` // its id, "" = it is of the whole run
	About      string `json:"about"`      // a task or an ability, "" = the run
	Support    string `json:"support"`    // of an ability: yes, no, unknown
	Text       string `json:"text"`       // in words
}

// AppView is one app's use over the last hour.
type AppView struct {
	Name           string `json:"name"`
	Requests       int    `json:"requests"`        // that ended within the window
	FailedRequests int    `json:"failed_requests"` // of them: failed, held out, broken off
	// RefusedRequests could not be served as asked; it is the request that has to change.
	RefusedRequests int       `json:"refused_requests"`
	ActiveRequests  int       `json:"active_requests"` // queued, held or running now
	InputTokens     int64     `json:"input_tokens"`
	OutputTokens    int64     `json:"output_tokens"`
	TTFTP50Ms       *float64  `json:"ttft_p50_ms"` // arrival at the runtime to first content; null = none answered
	TotalP50Ms      *float64  `json:"total_p50_ms"`
	TotalP95Ms      *float64  `json:"total_p95_ms"`
	LastSeenAt      time.Time `json:"last_seen_at"`
	// Tags are its requests by their labels (X-Fleet-Tags, metadata.tags, and the
	// user that a request names), most requests first. A request with two labels
	// counts under both, one without under none.
	Tags []TagView `json:"tags"`
	// MoreTags counts labels that are left out: an app that labels each request
	// anew is shown by its largest ones.
	MoreTags int `json:"more_tags"`
}

// TagView is one label of an app's requests; figures as in AppView.
type TagView struct {
	Name            string    `json:"name"`
	Requests        int       `json:"requests"`
	FailedRequests  int       `json:"failed_requests"`
	RefusedRequests int       `json:"refused_requests"`
	InputTokens     int64     `json:"input_tokens"`
	OutputTokens    int64     `json:"output_tokens"`
	TTFTP50Ms       *float64  `json:"ttft_p50_ms"`
	TotalP50Ms      *float64  `json:"total_p50_ms"`
	TotalP95Ms      *float64  `json:"total_p95_ms"`
	LastSeenAt      time.Time `json:"last_seen_at"`
}

// AppsAnswer is the answer of GET /admin/apps.
type AppsAnswer struct {
	Since time.Time `json:"since"`
	// Complete is false when there were more requests than are looked at; the
	// figures are then of the latest of them.
	Complete bool      `json:"complete"`
	Apps     []AppView `json:"apps"` // most requests first
	Keys     []KeyView `json:"keys"`
}

// KeyView is an API key without its secret.
type KeyView struct {
	Name        string `json:"name"` // the app that its requests count as
	Manage      bool   `json:"manage"`
	MaxRequests int    `json:"max_requests"` // under way at once, 0 = the fleet's
	Batch       bool   `json:"batch"`
}

// FindingView is one of the checks of Health.
type FindingView struct {
	ID       string `json:"id"`
	Severity string `json:"severity"` // broken, warning, note, ok
	Title    string `json:"title"`    // what is looked at: Decision records
	Text     string `json:"text"`     // what was found
	Remedy   string `json:"remedy"`   // what helps, "" = nothing has to be done
	Setting  string `json:"setting"`  // the setting that it is about, "" = none
	// Deployment is what it is about, "" = none.
	Deployment string    `json:"deployment"`
	Cure       *CureView `json:"cure"` // null = no button helps
	// Dismissable says that its owner may put it aside: it tells of a wish, not of
	// a state that goes on.
	Dismissable bool `json:"dismissable"`
}

// CureView is what POST /admin/findings/{id}/cure does.
type CureView struct {
	Label string `json:"label"` // of the button: Resume
	// Confirm is what is asked before, "" = nothing is lost by it.
	Confirm string `json:"confirm"`
}

// ContractView is one embedding contract. Deployments are ids.
type ContractView struct {
	Name    string   `json:"name"`
	Members []string `json:"members"` // in order, as the settings name them
	// Anchor is the model that it is bound to; null: it answers 503.
	Anchor   *route.Anchor `json:"anchor"`
	Replicas []string      `json:"replicas"` // who may answer
	Out      []OutsideView `json:"out"`      // members that may not, and why
	Absent   []string      `json:"absent"`   // members that no machine has
}

// OutsideView says why a deployment does not answer for a contract.
type OutsideView struct {
	Deployment string `json:"deployment"`
	Code       string `json:"code"`
	Reason     string `json:"reason"`
	Remedy     string `json:"remedy"`
}

// AliasView is a name that stands for a set of models.
type AliasView struct {
	Name          string   `json:"name"`
	Builtin       bool     `json:"builtin"` // there from the start; else from the settings
	Profile       string   `json:"profile"` // quality, balanced, fast
	Models        []string `json:"models"`  // as written; empty = every chat model with its tags
	Tags          []string `json:"tags"`
	RequireVision bool     `json:"require_vision"`
	Locality      string   `json:"locality"` // "", fleet, this_node
	PinnedOrder   bool     `json:"pinned_order"`
	Deployments   []string `json:"deployments"` // ids that it may choose among now
	Absent        []string `json:"absent"`      // of Models, those that no machine has
}
