package gateway

import (
	"net/http"
	"regexp"

	"bellwether/engine/dialect"
)

// MaxModelName is the longest model name taken from a client, in bytes.
const MaxModelName = 256

// AskableModel reports whether a request may name a model so. Names of the
// owner's own, such as aliases, that are not are never reached.
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

// checkModelName keeps names that could leave a path or URL at the edge.
func checkModelName(name string) *dialect.Problem {
	no := false
	switch {
	case name == "":
		return &dialect.Problem{Status: http.StatusBadRequest, Code: "model_required", Param: "model",
			Message: "model is required.", Remedy: "GET /v1/models lists the names.", Retry: &no}
	case !AskableModel(name):
		return &dialect.Problem{Status: http.StatusBadRequest, Code: "invalid_model_name", Param: "model",
			Message: "The model name " + printable(name) + " is not well formed.",
			Remedy:  "A name is [registry/][namespace/]model[:tag], of letters, digits and . _ - +; GET /v1/models lists the names.", Retry: &no}
	}
	return nil
}

func checkDigest(digest string) *dialect.Problem {
	if digestGrammar.MatchString(digest) {
		return nil
	}
	return &dialect.Problem{Status: http.StatusBadRequest, Code: "invalid_digest",
		Message: "The digest is not well formed.", Remedy: "A digest is sha256: and 64 hexadecimal digits."}
}
