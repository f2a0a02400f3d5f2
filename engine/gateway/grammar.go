package gateway

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"bellwether/engine/dialect"
	"bellwether/engine/route"
)

// MaxModelName is the longest model name taken from a client, in bytes.
const MaxModelName = 256

// AskableModel reports whether a request may name a model so wherever it is.
// Names of the owner's own, such as aliases, that are not are never reached.
// What is installed may be called otherwise: see checkAsked.
func AskableModel(name string) bool { return len(name) <= MaxModelName && modelGrammar(name) }

var digestGrammar = regexp.MustCompile(`^sha256[:-][0-9a-f]{64}$`)

// modelGrammar reports whether a name is made of parts of letters, digits and
// . _ - + @, joined by / and : (registry.example:5000/name/space/model:tag). No
// part is empty, starts with a mark or holds "..": a name may become part of a
// path or URL. By hand, since every request is asked.
func modelGrammar(name string) bool {
	begins := true // a part
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', 'A' <= c && c <= 'Z', c == '_':
			begins = false
		case begins:
			return false
		case c == '/', c == ':':
			begins = true
		case c == '.' && name[i-1] == '.':
			return false
		case c != '.' && c != '-' && c != '+' && c != '@':
			return false
		}
	}
	return !begins
}

// checkAsked is checkModelName for requests of models that are there: whatever
// some deployment is called can be asked for as it is listed, a file's name with
// blanks or of another script too. Its runtime gave it that name and gets it
// back in a body; nothing is made or fetched by it.
func (g *Gateway) checkAsked(name string) *dialect.Problem {
	p := checkModelName(name)
	if p != nil && harmless(name) && route.Installed(g.Fleet(), name) {
		return nil
	}
	return p
}

// harmless reports whether a name of any script may be passed on: it is text
// without control characters, not too long, and no part of it leads elsewhere.
func harmless(name string) bool {
	if name == "" || len(name) > MaxModelName || !utf8.ValidString(name) || strings.ContainsFunc(name, unprintable) {
		return false
	}
	parts := strings.FieldsFunc(name, func(c rune) bool { return strings.ContainsRune(`/\:`, c) })
	return !slices.Contains(parts, "..") && !slices.Contains(parts, ".")
}

// unprintable reports whether a character has no place in a name. Those that
// turn the direction of a line are refused; the two that join letters, as
// Persian names and emoji need, are not.
func unprintable(c rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return !unicode.IsPrint(c) && !unicode.Is(unicode.Zs, c) && c != nonJoiner && c != joiner
}

// checkModelName keeps names that could leave a path or URL at the edge. It
// alone decides where a name is made: a pull, a copy, a model of one's own.
func checkModelName(name string) *dialect.Problem {
	no := false
	switch {
	case name == "":
		return &dialect.Problem{Status: http.StatusBadRequest, Code: "model_required", Param: "model",
			Message: "model is required.", Remedy: "GET /v1/models lists the names.", Retry: &no}
	case !AskableModel(name):
		return &dialect.Problem{Status: http.StatusBadRequest, Code: "invalid_model_name", Param: "model",
			Message: "The model name " + printable(name) + " is not well formed.",
			Remedy:  "Ask for a model by the name that GET /v1/models lists.", Retry: &no}
	}
	return nil
}

// checkNewName is checkModelName for a model that is to be made or fetched: none
// of the names that are here can be meant.
func checkNewName(name string) *dialect.Problem {
	p := checkModelName(name)
	if p != nil {
		p.Remedy = "Write [registry/][namespace/]model[:tag], as Ollama's library or Hugging Face has it, of letters, digits and . _ - +."
	}
	return p
}

func checkDigest(digest string) *dialect.Problem {
	if digestGrammar.MatchString(digest) {
		return nil
	}
	return &dialect.Problem{Status: http.StatusBadRequest, Code: "invalid_digest",
		Message: "The digest is not well formed.", Remedy: "A digest is sha256: and 64 hexadecimal digits."}
}
