package gateway

import (
	"net/http"
	"regexp"
	"strings"

	"bellwether/engine/dialect"
)

// maxModelName is the longest model name taken from a client, in bytes.
const maxModelName = 256

var (
	// modelGrammar: parts of letters, digits and . _ - + @, joined by / and :
	// (registry.example:5000/name/space/model:tag). No part is empty, starts
	// with a dot or holds "..": a name may become part of a path or URL.
	modelGrammar  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+@-]*([/:][A-Za-z0-9_][A-Za-z0-9._+@-]*)*$`)
	digestGrammar = regexp.MustCompile(`^sha256[:-][0-9a-f]{64}$`)
)

// checkModelName keeps names that could leave a path or URL at the edge.
func checkModelName(name string) *dialect.Problem {
	no := false
	switch {
	case name == "":
		return &dialect.Problem{Status: http.StatusBadRequest, Code: "model_required", Param: "model",
			Message: "model is required.", Remedy: "GET /v1/models lists the names.", Retry: &no}
	case len(name) > maxModelName, strings.Contains(name, ".."), !modelGrammar.MatchString(name):
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
