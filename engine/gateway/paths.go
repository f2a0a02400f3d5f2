package gateway

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// endpoint is one row of the table of app endpoints.
type endpoint struct {
	methods []string
	serve   func(http.ResponseWriter, *http.Request, caller)
}

func (e endpoint) takes(method string) bool { return slices.Contains(e.methods, method) }
func (e endpoint) allow() string            { return strings.Join(e.methods, ", ") }

var (
	post = []string{http.MethodPost}
	get  = []string{http.MethodGet, http.MethodHead}
)

// table lists every app endpoint by its clean path. A trailing * stands for
// the rest of the path: model ids hold slashes and colons.
func (g *Gateway) table() map[string]endpoint {
	infer := func(p dialect.Protocol) endpoint {
		return endpoint{post, func(w http.ResponseWriter, r *http.Request, c caller) { g.infer(w, r, p, c) }}
	}
	return map[string]endpoint{
		"/v1/chat/completions":      infer(dialect.OpenAIChat),
		"/v1/completions":           infer(dialect.OpenAICompletion),
		"/v1/responses":             infer(dialect.OpenAIResponses),
		"/v1/embeddings":            infer(dialect.OpenAIEmbeddings),
		"/v1/messages":              infer(dialect.Anthropic),
		"/v1/messages/count_tokens": infer(dialect.AnthropicCount),
		"/api/chat":                 infer(dialect.OllamaChat),
		"/api/generate":             infer(dialect.OllamaGenerate),
		"/api/embed":                infer(dialect.OllamaEmbed),
		"/api/embeddings":           infer(dialect.OllamaEmbeddings),

		"/v1/models":   {get, g.whenSeen(g.listModels)},
		"/v1/models/*": {get, g.whenSeen(g.oneModel)},
		"/api/tags":    {get, g.whenSeen(g.tags)},
		"/api/ps":      {get, g.whenSeen(g.ps)},
		"/api/version": {get, g.version},
		"/api/show":    {post, g.whenSeen(g.show)},
		"/api/pull":    {post, g.pull},
		"/api/copy":    {post, g.copyModel},
		"/api/create":  {post, g.create},
		"/api/push":    {post, g.push},
		"/api/delete":  {[]string{http.MethodDelete}, g.deleteModel},
		"/api/blobs/*": {[]string{http.MethodHead, http.MethodPost}, g.blob},

		"/":             {get, g.root},
		"/healthz":      {get, g.healthz},
		"/metrics":      {get, g.metricsPage},
		"/fleet/status": {get, g.fleetStatus},
		"/fleet/queue":  {get, g.fleetQueue},
		"/fleet/limits": {get, g.fleetLimits},
		"/fleet/pin":    {[]string{http.MethodGet, http.MethodDelete}, g.fleetPin},
	}
}

// whenSeen has a question for what there is wait until this machine was looked at
// once, for a little while: what is told before that is empty, and clients keep it.
func (g *Gateway) whenSeen(serve func(http.ResponseWriter, *http.Request, caller)) func(http.ResponseWriter, *http.Request, caller) {
	return func(w http.ResponseWriter, r *http.Request, c caller) {
		late := time.NewTimer(fleet.SettleWithin)
		defer late.Stop()
		select {
		case <-g.Seen:
		case <-late.C:
		case <-r.Context().Done():
		}
		serve(w, r, c)
	}
}

func (g *Gateway) lookup(path string) (endpoint, bool) {
	if ep, ok := g.routes[path]; ok {
		return ep, true
	}
	for _, prefix := range []string{"/v1/models/", "/api/blobs/"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok && rest != "" {
			return g.routes[prefix+"*"], true
		}
	}
	return endpoint{}, false
}

// cleanPath folds what users of a wrong base URL send onto the real path:
// doubled slashes and the doubled prefixes /v1/v1, /v1/api, /api/v1 and /api/api.
func cleanPath(p string) string {
	for strings.Contains(p, "//") {
		p = strings.ReplaceAll(p, "//", "/")
	}
	for {
		switch {
		case strings.HasPrefix(p, "/v1/v1/"), strings.HasPrefix(p, "/v1/api/"):
			p = p[len("/v1"):]
		case strings.HasPrefix(p, "/api/v1/"), strings.HasPrefix(p, "/api/api/"):
			p = p[len("/api"):]
		case len(p) > 1 && strings.HasSuffix(p, "/") && !ownsPath(p):
			p = p[:len(p)-1]
		default:
			return p
		}
	}
}

// ownsPath reports whether the admin surface serves a path.
func ownsPath(p string) bool {
	return p == "/ui" || p == "/admin" || strings.HasPrefix(p, "/ui/") || strings.HasPrefix(p, "/admin/")
}

// protocolOf tells in whose error envelope a path answers.
func protocolOf(path string, r *http.Request) dialect.Protocol {
	switch {
	case strings.HasPrefix(path, "/v1/messages"), strings.HasPrefix(path, "/v1/models") && r.Header.Get("anthropic-version") != "":
		return dialect.Anthropic
	case strings.HasPrefix(path, "/v1"):
		return dialect.OpenAIModels
	default:
		return dialect.OllamaMeta
	}
}

// unknownPath answers 404: in plain text as Ollama does, and under /v1 in the
// OpenAI envelope, with a hint at the right base URL.
func (g *Gateway) unknownPath(w http.ResponseWriter, r *http.Request, path string) {
	if !strings.HasPrefix(path, "/v1") {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusNotFound)
		if r.Method != http.MethodHead {
			_, _ = w.Write([]byte("404 page not found"))
		}
		return
	}
	here := "http://" + cmp.Or(r.Host, "localhost:11435")
	g.refuse(w, protocolOf(path, r), &dialect.Problem{
		Status: http.StatusNotFound, Code: "unknown_endpoint",
		Message: "There is no endpoint " + printable(path) + " here.",
		Remedy:  "OpenAI libraries take the base URL " + here + "/v1, Anthropic and Ollama libraries " + here + ".",
	}, "")
}

func wrongMethod(method string, ep endpoint) *dialect.Problem {
	return &dialect.Problem{
		Status: http.StatusMethodNotAllowed, Code: "method_not_allowed",
		Message: "This endpoint does not take " + printable(method) + ".", Remedy: "Use " + ep.allow() + ".",
	}
}

// printable cuts a client's text to what may stand in an error or a log line.
func printable(s string) string {
	if len(s) > 120 {
		s = s[:120] + "..."
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}

// Endpoint is one row of the table of app endpoints as others see it: a path
// (a trailing * stands for the rest of it) and the methods it takes.
type Endpoint struct {
	Path    string
	Methods []string
}

// Endpoints lists every app endpoint, sorted by path. Tests walk it, so that
// no route escapes the checks at the door.
func (g *Gateway) Endpoints() []Endpoint {
	var out []Endpoint
	for _, path := range slices.Sorted(maps.Keys(g.routes)) {
		out = append(out, Endpoint{path, slices.Clone(g.routes[path].methods)})
	}
	return out
}
