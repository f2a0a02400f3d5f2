package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// llamaCapabilities: the template's capabilities as the server read them off
// it, its modalities as it reports them, and what its grammar makes possible.
func llamaCapabilities(f *llamaFacts, m *llamaModel) fleet.Capabilities {
	caps := fleet.Capabilities{}
	if f.embed != fleet.Unknown {
		caps.Set(fleet.CapEmbedding, f.embed, fleet.SourceProbe)
	}
	if f.fill != fleet.Unknown {
		caps.Set(fleet.CapInsert, f.fill, fleet.SourceProbe)
	}
	chatOnly(caps, f.embed != fleet.Yes) // with --embeddings it computes no logits
	if f.embed == fleet.Yes {
		return caps
	}
	if c := f.props.Caps; c != nil {
		tools := fleet.TriOf(c["supports_tools"] || c["supports_tool_calls"])
		caps.Set(fleet.CapTools, tools, fleet.SourceTemplate)
		caps.Set(fleet.CapToolChoiceRequired, tools, fleet.SourceAdapter)
		caps.Set(fleet.CapParallelTools, fleet.TriOf(c["supports_parallel_tool_calls"]), fleet.SourceTemplate)
		thinks := c["supports_reasoning_effort"] || c["supports_preserve_reasoning"] ||
			strings.Contains(f.props.Template, "enable_thinking") || strings.Contains(f.props.Template, "<think>")
		caps.Set(fleet.CapThinking, fleet.TriOf(thinks), fleet.SourceTemplate)
	}
	if c := f.props.Modalities; c != nil {
		caps.Set(fleet.CapVision, fleet.TriOf(c["vision"]), fleet.SourceRuntime)
		caps.Set(fleet.CapAudio, fleet.TriOf(c["audio"]), fleet.SourceRuntime)
	} else if in := m.Architecture.Input; in != nil {
		caps.Set(fleet.CapVision, fleet.TriOf(slices.Contains(in, "image")), fleet.SourceRuntime)
		caps.Set(fleet.CapAudio, fleet.TriOf(slices.Contains(in, "audio")), fleet.SourceRuntime)
	}
	return caps
}

// chatOnly sets what goes with answering conversations on llama-server.
func chatOnly(caps fleet.Capabilities, chat bool) {
	for _, name := range [...]fleet.Capability{fleet.CapChat, fleet.CapStreaming, fleet.CapJSONObject, fleet.CapJSONSchema, fleet.CapContinuation} {
		caps.Set(name, fleet.TriOf(chat), fleet.SourceAdapter)
	}
}

// templateHash names a chat template. What was measured under one template says
// little of another, and a server may be given a template of its own.
func templateHash(template string) string {
	if template == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(template))
	return hex.EncodeToString(sum[:6])
}

// llamaArgs is what a router's listing tells of how it starts a model.
type llamaArgs struct {
	model     string
	context   int
	parallel  int
	embedding bool
}

func (a llamaArgs) perSlot() int {
	if a.parallel > 1 {
		return a.context / a.parallel
	}
	return a.context
}

func parseArgs(args []string) (a llamaArgs) {
	for i, arg := range args {
		value := ""
		if i+1 < len(args) {
			value = args[i+1]
		}
		switch arg {
		case "--model", "-m":
			a.model = value
		case "--ctx-size", "-c":
			a.context, _ = strconv.Atoi(value)
		case "--parallel", "-np":
			a.parallel, _ = strconv.Atoi(value)
		case "--embedding", "--embeddings":
			a.embedding = true
		}
	}
	return a
}

// strictSystem reports whether the model's template allows a system message
// only in first place (Qwen's and Llama's raise an exception otherwise).
func (l *LlamaServer) strictSystem(model string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, ok := l.models[model]
	return ok && strings.Contains(f.props.Template, "raise_exception")
}

// systemReminder wraps a system message that may not stand where it stands.
func systemReminder(t dialect.Text) dialect.Text {
	return dialect.Join("", dialect.Quote("<system-reminder>\n"), t, dialect.Quote("\n</system-reminder>"))
}
