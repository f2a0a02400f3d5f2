package gateway

import (
	"net/http"

	"bellwether/engine/dialect"
	"bellwether/engine/route"
)

// flags are the headers that are on or off.
var flags = []string{"X-Fleet-No-Fallback", "X-Fleet-Local"}

// checkFlags refuses a request with a header that is neither on nor off; of one
// that is there twice, both count.
func checkFlags(h http.Header) *dialect.Problem {
	for _, name := range flags {
		for _, word := range h[name] {
			if p := route.FlagProblem(name, word); p != nil {
				return p
			}
		}
	}
	return nil
}
