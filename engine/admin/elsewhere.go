package admin

import (
	"net/http"
	"strings"
)

// elsewhere answers what no other pattern of the mux takes, in the shape of
// every error: a known path with another method is 405, all else 404.
func elsewhere(mux *http.ServeMux) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var allowed []string
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
			as := r.Clone(r.Context())
			as.Method = method
			if _, pattern := mux.Handler(as); pattern != "" && pattern != everythingElse {
				allowed = append(allowed, method)
			}
		}
		if len(allowed) == 0 {
			refuse(w, http.StatusNotFound, "no_such_path", "The admin API has no such address.", "bellwether open shows the admin UI.")
			return
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "This address takes "+strings.Join(allowed, " and ")+".", "")
	}
}

// everythingElse is the pattern of elsewhere.
const everythingElse = "/admin/"
