package dialect

import "time"

// Problem is what a client or user sees when something is refused or fails:
// what, why and what to do. Rendered at the edge in the client's own protocol.
type Problem struct {
	Status int // HTTP status
	// Code is stable and machine-readable: model_not_found,
	// context_length_exceeded, invalid_request, no_capacity, paused ...
	Code    string
	Message string // what and why, without prompts, keys, paths or addresses
	Remedy  string // what to do; rendered after the message
	Param   string // the offending field, "" = none
	// RetryAfter asks the client to come back; 0 = do not say.
	RetryAfter time.Duration
	// Retry says whether an SDK's automatic retry can help (x-should-retry);
	// nil = leave it to the client's own rule.
	Retry *bool
	// Tokens and MaxTokens go with the code context_length_exceeded: what the
	// prompt needs and what there is. Anthropic clients read them in a fixed
	// wording and compact. 0 = not known.
	Tokens, MaxTokens int
	// Counted says where Tokens comes from, "" = a plain estimate. It goes with the
	// fixed wordings, in brackets.
	Counted string
	// Details are machine-readable facts (exclusions), added to the body
	// beside the protocol's own fields, where the protocol allows more fields.
	Details any
}

func (p *Problem) counted() string {
	if p.Counted == "" {
		return ""
	}
	return " (" + p.Counted + ")"
}

func (p *Problem) Error() string {
	if p.Remedy == "" {
		return p.Message
	}
	return sentence(p.Message) + " " + p.Remedy
}

// Text returns what is shown to the client: the message, and where there is a
// remedy a full stop between the two.
func (p *Problem) Text() string { return p.Error() }

// sentence puts a full stop where a remedy is going to follow.
func sentence(s string) string {
	if s == "" || s[len(s)-1] == '.' {
		return s
	}
	return s + "."
}
