package route

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bellwether/engine/fleet"
)

// The codes of records in words, for people. The admin UI has the same tables,
// and a test of it compares them with these; --json and the API keep the codes.

// exclusionWords are what keeps a deployment out.
var exclusionWords = map[fleet.Code]string{
	"admission":          "not let in",
	"alias_constraint":   "outside the alias",
	"availability":       "usually in use",
	"battery":            "on battery",
	"bound":              "bound elsewhere",
	"busy":               "busy",
	"capability":         "cannot do it",
	"circuit_open":       "failed too often",
	"context":            "context too small",
	"disabled":           "switched off",
	"draining":           "about to leave",
	"failed_before":      "failed it before",
	"field_not_honoured": "ignores a field",
	"identity_differs":   "other weights",
	"identity_unknown":   "weights not known",
	"locality":           "another machine",
	"meeting":            "in a meeting",
	"memory":             "no memory",
	"model_absent":       "does not have the model",
	"no_runtime":         "runtime down",
	"observing":          "still learning",
	"offline":            "offline",
	"paused":             "paused",
	"pressure":           "short of memory",
	"remote_image":       "no images from the web",
	"role":               "another kind of model",
	"uncertain_hold":     "may still be running",
	"unhealthy":          "unhealthy",
}

// noteWords are remarks on a candidate or an answer; what follows a note's colon
// goes on after them. Of those without words that says all.
var noteWords = map[string]string{
	"context_doubtful":         "may be too small: by estimate the request needs more than its context",
	"context_unknown":          "its context is not known",
	"degraded":                 "it runs worse than it could",
	"empty_answer":             "",
	"evicts":                   "others would be unloaded for it",
	"input_cut":                "the runtime cuts off what of an input is over its context",
	"late":                     "its machine reports late",
	"loading":                  "it was being loaded",
	"memory_unknown":           "how much memory is free is not known",
	"num_ctx_capped":           "the context asked for is more than it has",
	"num_ctx_dropped":          "the context asked for is left out: the loaded one is enough",
	"num_ctx_reload":           "would be loaded again for the context asked for",
	"only_thought":             "",
	"output_clamped":           "a smaller output limit: its context leaves no more",
	"reload":                   "would be loaded again, with a larger context",
	"same_weights_as":          "has the same weights as",
	"size_unknown":             "its size is not known",
	"slots_learned":            "its slots are learnt from waits:",
	"task_asked":               "asked what it is about:",
	"task_not_asked":           "not asked what it is about:",
	"thinking_room":            "a larger output limit: it thinks before it answers",
	"thinking_used_all_output": "",
	"uncertain_hold":           "a call that was given up may still run there",
}

// outcomeWords are how a request ended.
var outcomeWords = map[fleet.Outcome]string{
	"ok":                          "answered",
	"truncated":                   "cut off",
	"client_disconnected":         "left",
	"refused":                     "refused",
	"failed":                      "failed",
	"held_out":                    "held too long",
	"stream_invalid_after_commit": "broke off",
}

// spaced is a code that has no words of its own.
func spaced(code string) string { return strings.ReplaceAll(code, "_", " ") }

// ExclusionWords is a code of an exclusion in words.
func ExclusionWords(c fleet.Code) string {
	if words, ok := exclusionWords[c]; ok {
		return words
	}
	return spaced(string(c))
}

// OutcomeWords is an outcome in words, "" that of a request under way.
func OutcomeWords(o fleet.Outcome) string {
	if words, ok := outcomeWords[o]; ok {
		return words
	}
	return spaced(string(o))
}

// NoteWords is a note in words; one that is a sentence stays as it is.
func NoteWords(note string) string {
	code, rest, has := strings.Cut(note, ":")
	words, known := noteWords[code]
	rest = strings.TrimSpace(rest)
	switch {
	case known && code == "task_asked":
		model, task, _ := strings.Cut(rest, " says ")
		return words + " " + model + " says " + spaced(task)
	case known:
		return strings.TrimSpace(words + " " + rest)
	case !has && strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") == "":
		return spaced(code)
	}
	return note
}

// EvidenceWords says what a candidate's score rests on: a quality's label and
// a speed's, as in "measured:30 p75:measured:412".
func EvidenceWords(labels string) string {
	at := strings.Index(labels, "p75:")
	if at < 0 {
		at = strings.Index(labels, "latency:")
	}
	if at < 0 {
		return qualityWords(labels)
	}
	_, from, _ := strings.Cut(labels[at:], ":")
	speed := "speed estimated"
	if kind, n, _ := strings.Cut(from, ":"); kind == "measured" {
		speed = "speed measured"
		if n == "1" {
			speed += " on 1 answer"
		} else if n != "" {
			speed += " on " + n + " answers"
		}
	}
	if quality := strings.TrimSpace(labels[:at]); quality != "" {
		return "quality " + qualityWords(quality) + ", " + speed
	}
	return speed
}

// countWords lists what is met, and how often.
func countWords(counts map[fleet.Code]int) string {
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s (%s)", ExclusionWords(code), comma(int64(counts[code]))))
	}
	return strings.Join(parts, ", ")
}
