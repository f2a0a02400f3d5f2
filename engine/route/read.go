package route

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/evidence"
)

// Meta is what Read may know of a request beyond its body.
type Meta struct {
	// Header returns a header of the request ("" = absent); nil = none at all.
	// http.Header.Get fits.
	Header func(name string) string
	// KeyName is the name of the API key the app used, "" = none.
	KeyName string
	// KeyBatch is set for keys whose requests are of class batch.
	KeyBatch bool
	// KeyLimit is the most requests the key may have under way; 0 = the fleet's.
	KeyLimit int
	// MayPull is set when the caller may cause a pull (the manage right).
	MayPull bool
	// ToolKey is the fleet's key for tool-call ids (Policy.ToolKey); nil = none
	// are recognised.
	ToolKey []byte
	// Book is what is measured; nil = nothing. Read itself needs none of it:
	// tokens are calibrated per candidate in Decide.
	Book *evidence.Book
}

func (m *Meta) header(name string) string {
	if m.Header == nil {
		return ""
	}
	return m.Header(name)
}

// Output and reasoning a request is taken to need while nothing is learned of
// its model (routing.md 2). Tokens.
const (
	usualOutput   = 1024
	largerOutput  = 4096
	lowEffort     = 1024
	mediumEffort  = 4096
	highEffort    = 16384
	anthropicHead = "X-Stainless-Timeout"
)

// Read extracts what a request needs, from its structure: the length of a text
// counts tokens, and nothing a text says steers where it goes. What the text
// asks for is the one thing read from it, and names a task only (classify).
func Read(r *dialect.Request, m Meta) Requirements {
	n := Requirements{
		Role:       RoleChat,
		Streaming:  r.Stream,
		LoadOnly:   r.LoadOnly,
		NumCtx:     r.NumCtx,
		App:        appOf(&m),
		Tags:       tagsOf(r, &m),
		AppLimit:   m.KeyLimit,
		Batch:      m.KeyBatch || isBatch(m.header("X-Fleet-Priority")),
		NoFallback: isTrue(m.header("X-Fleet-No-Fallback")),
		Node:       m.header("X-Fleet-Node"),
		Profile:    strings.ToLower(m.header("X-Fleet-Profile")),
		Locality:   strings.ToLower(m.header("X-Fleet-Locality")),
		MayPull:    m.MayPull,
		Timeout:    timeoutOf(r, &m),
	}
	if r.Embed != nil {
		n.Role = RoleEmbedding
		n.Dimensions = r.Embed.Dimensions
		n.Truncates = truncates(r)
	}
	readTools(r, &n)
	readFormat(r, &n)
	readParts(r, &n)
	readThinking(r, &n)
	readTokens(r, &n)
	readBinding(r, &m, &n)
	n.Fields = fieldsOf(r)
	if n.Role == RoleChat && !n.LoadOnly {
		n.Tasks, n.PrimaryTask, n.Clear = classify(r, &n)
	}
	n.Session, n.SessionPins = sessionKey(r, &m, n.Tags)
	return n
}

func readTools(r *dialect.Request, n *Requirements) {
	n.NeedsTools = len(r.Tools) > 0 && r.ToolChoice.Mode != dialect.ChoiceNone
	n.ToolChoiceRequired = n.NeedsTools &&
		(r.ToolChoice.Mode == dialect.ChoiceRequired || r.ToolChoice.Mode == dialect.ChoiceNamed)
	// true is a permission, not a need.
	n.SingleCall = n.NeedsTools && r.ParallelTools != nil && !*r.ParallelTools
	for i := range r.Messages {
		n.ParallelTools = n.ParallelTools || len(r.Messages[i].ToolCalls) > 1
	}
}

func readFormat(r *dialect.Request, n *Requirements) {
	n.JSONSchema = r.Format.Kind == dialect.FormatSchema
	n.JSONObject = r.Format.Kind == dialect.FormatJSON
	n.Insert = r.Prompt != nil && len(r.Prompt.Suffix) > 2
	if last := len(r.Messages) - 1; last >= 0 {
		m := &r.Messages[last]
		n.Continuation = m.Role == dialect.RoleAssistant && len(m.ToolCalls) == 0
	}
}

func readParts(r *dialect.Request, n *Requirements) {
	count := func(parts []dialect.Part) {
		for i := range parts {
			switch p := &parts[i]; p.Kind {
			case dialect.PartImage:
				n.Images++
				n.RemoteImage = n.RemoteImage || p.URL != ""
			case dialect.PartAudio:
				n.AudioIn = true
			}
		}
	}
	for i := range r.Messages {
		count(r.Messages[i].Parts)
	}
	if r.Prompt != nil {
		count(r.Prompt.Images)
	}
	n.Vision = n.Images > 0
}

// readThinking: only the native protocol refuses think on a model without it,
// as Ollama does; elsewhere agents send it to every model, so it is dropped.
func readThinking(r *dialect.Request, n *Requirements) {
	n.ThinkAsked = r.Think.Set && r.Think.On
	n.ThinkOff = r.Think.Set && !r.Think.On
	n.ThinkBudget = r.Think.Budget
	n.ThinkStrict = n.ThinkAsked && (r.Protocol == dialect.OllamaChat || r.Protocol == dialect.OllamaGenerate)
}

func readTokens(r *dialect.Request, n *Requirements) {
	n.Tokens.Input, n.InputTotal, n.Text = estimate(r)
	if r.MaxOutput != nil {
		n.OutputAsked = max(*r.MaxOutput, 0) // negative: Ollama's "no limit"
	}
	if n.Role == RoleEmbedding || n.LoadOnly {
		return
	}
	n.Tokens.Output = outputNeed(n.OutputAsked)
	if !n.ThinkOff {
		n.Tokens.Reasoning = under(n.OutputAsked, n.Tokens.Output, reasoningNeed(r.Think))
	}
}

// outputNeed is what an answer is taken to need while nothing is learned.
func outputNeed(asked int) int {
	switch {
	case asked == 0:
		return usualOutput
	case asked > usualOutput:
		return min(largerOutput, asked)
	default:
		return asked
	}
}

func reasoningNeed(t dialect.Think) int {
	if t.Budget > 0 {
		return t.Budget
	}
	switch t.Level {
	case "minimal", "low":
		return lowEffort
	case "high", "xhigh", "max", "ultra":
		return highEffort
	default:
		return mediumEffort
	}
}

// under keeps reasoning together with output within the asked limit (0 = none).
func under(asked, output, reasoning int) int {
	if asked == 0 {
		return reasoning
	}
	return max(0, min(reasoning, asked-output))
}

// readBinding finds what restricts failover. Only the turn that answers tool
// calls is bound to the model that made them: a later user turn starts anew.
func readBinding(r *dialect.Request, m *Meta, n *Requirements) {
	n.IssuedBy = issuerOf(r, m.ToolKey)
	if n.IssuedBy != "" {
		n.Bound, n.BoundTo, n.BoundWhy = "model", n.IssuedBy, "it answers tool calls of one model"
	}
	if n.Node != "" {
		n.Bound, n.BoundTo, n.BoundWhy = "node", n.Node, "the request names this node"
	}
}

func issuerOf(r *dialect.Request, key []byte) string {
	if len(key) == 0 {
		return ""
	}
	for i := len(r.Messages) - 1; i >= 0; i-- {
		msg := &r.Messages[i]
		if msg.Role == dialect.RoleAssistant {
			return ""
		}
		if msg.Role != dialect.RoleTool {
			continue
		}
		if tag, ok := ReadToolCallID(key, msg.ToolCallID); ok {
			return tag
		}
	}
	return ""
}

// fieldsOf lists the fields whose meaning would be lost if a runtime ignored
// them. A field set to what it means when absent is no need.
func fieldsOf(r *dialect.Request) []string {
	var fields []string
	add := func(name string, needed bool) {
		if needed {
			fields = append(fields, name)
		}
	}
	s := &r.Sampling
	add("best_of", r.BestOf > 1)
	add("dimensions", r.Embed != nil && r.Embed.Dimensions > 0)
	add("frequency_penalty", s.FrequencyPenalty != nil && *s.FrequencyPenalty != 0)
	add("logit_bias", hasMembers(s.LogitBias))
	add("logprobs", r.Logprobs || r.TopLogs > 0)
	add("min_p", s.MinP != nil && *s.MinP != 0)
	add("n", r.N > 1)
	add("presence_penalty", s.PresencePenalty != nil && *s.PresencePenalty != 0)
	add("repeat_penalty", s.RepeatPenalty != nil && *s.RepeatPenalty != 1)
	add("seed", s.Seed != nil)
	add("top_k", s.TopK != nil && *s.TopK > 0)
	return fields
}

// hasMembers reports whether a JSON object is neither null nor empty.
func hasMembers(raw dialect.Raw) bool {
	return len(raw) > 2 && raw[0] == '{' && slices.Contains(raw, ':')
}

// truncates: Ollama cuts long inputs of embeddings unless told not to, whichever
// protocol asks, and those who fill an index rely on it.
func truncates(r *dialect.Request) bool {
	return r.Embed.Truncate == nil || *r.Embed.Truncate
}

// timeoutOf is what the client gives the whole call: X-Fleet-Timeout, seconds
// or a duration; for answers in one piece also what its SDK will wait. A
// streaming SDK waits that long for headers only, which says nothing here.
func timeoutOf(r *dialect.Request, m *Meta) time.Duration {
	if d, ok := parseTimeout(m.header("X-Fleet-Timeout")); ok {
		return d
	}
	if !r.Stream {
		d, _ := parseTimeout(m.header(anthropicHead))
		return d
	}
	return 0
}

func parseTimeout(s string) (time.Duration, bool) {
	if s == "" {
		return 0, false
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		sec, err := strconv.ParseFloat(s, 64)
		if err != nil || sec > 1e6 {
			return 0, false
		}
		d = time.Duration(sec * float64(time.Second))
	}
	return d, d > 0
}

// FallbackModels returns the models a request lists behind its first choice:
// the body's fallback_models, else the header's comma-separated names. At most
// eight, without repetitions.
func FallbackModels(r *dialect.Request, header string) []string {
	names := r.Fallbacks
	if names == nil {
		names = splitList(header)
	}
	var out []string
	for _, name := range names {
		if name != "" && name != r.Model && !slices.Contains(out, name) && len(out) < maxFallbacks {
			out = append(out, name)
		}
	}
	return out
}

const maxFallbacks = 8
