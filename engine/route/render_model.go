package route

import (
	"fmt"
	"strings"

	"bellwether/engine/fleet"
)

// The words for what is in the way of a model. A remedy is what helps whoever
// reads it, and names the setting where there is one: what cannot help is not
// offered, since it costs a person an evening.

func modelWords(x Exclusion) (reason, remedy string) {
	switch x.Code {
	case fleet.CodeDisabled:
		return x.text(0) + " is switched off by its operator", "switch it on with deployments[].enabled"
	case fleet.CodeUnhealthy:
		return x.text(0) + " is unhealthy: " + x.text(1), "look at its runtime's log; it serves again as soon as it is well"
	case fleet.CodeRole:
		if x.text(1) == string(RoleEmbedding) {
			return x.text(0) + " makes no embeddings", "ask for an embedding model"
		}
		if x.text(2) == fleet.Yes.String() {
			return x.text(0) + " does not support chat", "ask for a chat model; this one makes embeddings"
		}
		return x.text(0) + " does not support chat", "ask for a chat model"
	case fleet.CodeLocality:
		return localityWords(x)
	case fleet.CodeAliasConstraint:
		return constraintWords(x)
	case fleet.CodeCapability:
		return capabilityWords(x)
	case fleet.CodeRemoteImage:
		return "the request links to an image, and images are not fetched from the network", "send the image itself as base64 data, or allow security.remote_images"
	case fleet.CodeContext:
		return contextWords(x)
	case fleet.CodeFieldNotHonoured:
		return fieldWords(x)
	case fleet.CodeModelAbsent:
		if pulled, _ := x.operand(2).(bool); !pulled {
			return x.text(0) + " is not installed on " + x.text(1), "serve it with a runtime there"
		}
		return x.text(0) + " is not installed on " + x.text(1), "pull it there"
	default:
		return "excluded: " + string(x.Code), "see the documentation of this code"
	}
}

// fieldWords tell whose limit a field is over: the model's, our own, or the
// runtime's.
func fieldWords(x Exclusion) (reason, remedy string) {
	field := x.text(0)
	switch width := x.number(3); {
	case width > 0:
		return fmt.Sprintf("the vectors of %s have %s dimensions, and %s were asked for", x.text(2), comma(width), comma(x.number(4))),
			fmt.Sprintf("ask for at most %s, or for another model", comma(width))
	case field == "n", field == "best_of":
		return "Bellwether passes on one choice of an answer", "leave " + field + " out, and ask as often as choices are wanted"
	}
	return x.text(1) + " does not honour " + field, "leave " + field + " out, or ask for a model on a runtime that honours it"
}

// localityWords name what keeps the request on its machine: a request cannot
// undo what its fleet's owner said.
func localityWords(x Exclusion) (reason, remedy string) {
	reason = x.text(0) + " is another machine, and this request must stay on its own"
	set := "set routing.locality to fleet"
	switch x.text(1) {
	case localByRequest:
		set = "leave X-Fleet-Locality out"
	case localByAlias:
		set = "set aliases." + x.text(2) + ".locality to fleet"
	}
	return reason, set + ", or install the model on this machine"
}

func constraintWords(x Exclusion) (reason, remedy string) {
	model, alias := x.text(0), x.text(2)
	reason = model + " lacks what its alias demands: " + x.text(1)
	if tag, is := strings.CutPrefix(x.text(1), "tag "); is {
		return reason, "add " + tag + " to deployments[].tags of " + model + ", or take it from aliases." + alias + ".tags"
	}
	if x.text(3) == fleet.Unknown.String() {
		return reason, findOut(model, fleet.CapVision)
	}
	return reason, "name a model that sees in aliases." + alias + ".models, or leave require_vision out"
}

// contextWords: Ollama gives any window up to what the model can hold, so only
// where that is not known can it be said. Other runtimes fix the window when they
// start, and can be started with a larger one as far as the model goes.
func contextWords(x Exclusion) (reason, remedy string) {
	need, offers, most, over := x.number(0), x.number(1), x.number(4), x.number(6)
	needs, shorten := "needs ", "shorten the prompt by at least "+comma(over)+" tokens"
	if over <= 0 { // it is the answer that may be long
		needs, shorten = "may need ", "ask for at most "+comma(offers-x.number(5))+" tokens of output (max_tokens)"
	}
	reason = needs + comma(need) + " tokens" + x.howCounted() + ", offers " + comma(offers)
	switch {
	case x.text(3) == kindOllama && most <= 0:
		return reason, shorten + ", or declare what the model can hold with deployments[].context"
	case x.restartHelps():
		return reason, "start the runtime on " + x.text(2) + " with a context of at least " + comma(need) + " tokens, or " + shorten
	default:
		return reason, shorten + ", or use a model with a larger context"
	}
}

// howCounted says, in brackets, where the count of a prompt comes from, "" where
// it is our plain estimate.
func (x *Exclusion) howCounted() string {
	factor, _ := x.operand(8).(float64)
	switch {
	case x.operand(7) == nil:
		return ""
	case x.number(7) < 0:
		return " (its runtime counted " + comma(x.number(5)) + " for the prompt)"
	case factor == 0:
		return ""
	default:
		return " (" + comma(x.number(7)) + " estimated for the prompt, times " + points(factor) + " by what this model counted before)"
	}
}

// restartHelps reports whether the window that is too small may be made larger
// by starting the runtime anew.
func (x *Exclusion) restartHelps() bool {
	return x.Code == fleet.CodeContext && x.text(3) != kindOllama && (x.number(4) <= 0 || x.number(4) >= x.number(0))
}

func capabilityWords(x Exclusion) (reason, remedy string) {
	model, name, support, source := x.text(0), capabilityNames[fleet.Capability(x.text(1))], x.text(2), x.text(3)
	if name == "" {
		name = x.text(1)
	}
	if support == fleet.Unknown.String() {
		return "it is not known whether " + model + " supports " + name,
			findOut(model, fleet.Capability(x.text(1)))
	}
	if source == fleet.SourceOperator.String() {
		return model + " does not support " + name + " (says the operator)", "ask for a model that does, or change deployments[].capabilities." + x.text(1)
	}
	reason = model + " does not support " + name
	if source != fleet.SourceNone.String() && source != "" {
		reason += " (says the " + source + ")"
	}
	return reason, "ask for a model that does, or leave it out of the request"
}

// findOut is how a capability that nobody knows of comes to be known.
func findOut(model string, c fleet.Capability) string {
	declare := "declare " + string(c) + " under deployments[].capabilities if it does"
	if probed[c] {
		return "find out with `bellwether probe " + model + "`, or " + declare
	}
	return declare
}

// probed are the capabilities that a probe establishes.
var probed = map[fleet.Capability]bool{
	fleet.CapTools: true, fleet.CapToolChoiceRequired: true, fleet.CapParallelTools: true, fleet.CapJSONObject: true,
	fleet.CapJSONSchema: true, fleet.CapThinking: true, fleet.CapVision: true, fleet.CapEmbedding: true,
}

var capabilityNames = map[fleet.Capability]string{
	fleet.CapChat: "chat", fleet.CapEmbedding: "embeddings", fleet.CapTools: "tools",
	fleet.CapToolChoiceRequired: "being made to call a tool", fleet.CapParallelTools: "several tool calls in one turn",
	fleet.CapJSONObject: "JSON output", fleet.CapJSONSchema: "output by a JSON schema", fleet.CapVision: "images",
	fleet.CapAudio: "audio", fleet.CapThinking: "thinking", fleet.CapInsert: "insertion", fleet.CapStreaming: "streaming",
	fleet.CapContinuation: "continuing a given answer",
}

func admissionWords(x Exclusion) (reason, remedy string) {
	switch x.text(0) {
	case admitLeaving:
		return x.text(1) + " is being unloaded on " + x.text(2), "wait a moment"
	case admitDeadline:
		if x.float(3) <= 0 {
			return "the request's time was over before it could begin", deadlineRemedy(x)
		}
		return fmt.Sprintf("%s needs about %s to load and read the prompt, and %s are left", x.text(1), span(x.float(1+1)), span(x.float(1+2))),
			deadlineRemedy(x)
	default:
		return "the size of " + x.text(1) + " is unknown, and unknown_memory_policy is reject", "declare it under deployments[].memory_gb, or load it once by hand"
	}
}

func deadlineRemedy(x Exclusion) string {
	load := ""
	if x.float(3) > 0 {
		load = ", or load the model first with `bellwether models load " + x.text(1) + "`"
	}
	if own, _ := x.operand(4).(bool); own {
		return "give the request more time" + load
	}
	return "raise routing.timeouts.total" + load
}

// limitOf is where a kind of runtime is told how many models to keep at once.
func limitOf(kind string) string {
	if kind == kindOllama {
		return "OLLAMA_MAX_LOADED_MODELS"
	}
	return "--models-max"
}

func memoryWords(x Exclusion) (reason, remedy string) {
	switch x.text(0) {
	case memoryCount:
		reason = fmt.Sprintf("runtime %s on %s keeps %s models at once, and the %s in memory are in use or pinned",
			x.text(1), x.text(4), comma(x.number(3)), comma(x.number(2)))
		if x.number(3) == 1 {
			reason = fmt.Sprintf("runtime %s on %s keeps one model at once, and that in memory is in use or pinned", x.text(1), x.text(4))
		}
		return reason,
			"wait, unpin one, or raise the runtime's limit (" + limitOf(x.text(5)) + ")"
	case memoryNever:
		return fmt.Sprintf("%s needs %s, and no memory of %s can ever hold more than %s",
				x.text(1), fleet.Bytes(x.number(2)), x.text(4), fleet.Bytes(x.number(3))),
			neverRemedy(x)
	default:
		reason = fmt.Sprintf("%s needs %s, %s can be freed in %s of %s",
			x.text(1), fleet.Bytes(x.number(2)), fleet.Bytes(x.number(3)), x.text(5), x.text(4))
		if others, _ := x.operand(6).(bool); others { // models hold little enough
			return reason, "close other programs on " + x.text(4) + ", or wait"
		}
		if keeps := x.text(7); keeps != "" { // nothing there can be unloaded
			return reason, "end " + keeps + " on " + x.text(4) + ", which keeps its model as long as it runs, or ask for a smaller model"
		}
		return reason, "wait until running work ends, or unload or unpin a model on " + x.text(4)
	}
}

// neverRemedy: a limit that its owner set may be raised as far as there is memory.
func neverRemedy(x Exclusion) string {
	const smaller = "ask for a smaller model or quantisation"
	if x.number(5) >= x.number(2) {
		return smaller + ", or raise pools[].memory_gb on " + x.text(4)
	}
	return smaller + ", or serve it on a machine with more memory"
}
