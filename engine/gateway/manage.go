package gateway

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// manageBody is what the model-management endpoints read. Old clients say
// name where newer ones say model.
type manageBody struct {
	Model       string `json:"model"`
	Name        string `json:"name"`
	Source      string `json:"source"`
	Destination string `json:"destination"`
	Stream      *bool  `json:"stream"`
	Verbose     bool   `json:"verbose"`
	Insecure    bool   `json:"insecure"`
}

func (b *manageBody) model() string {
	if b.Model == "" {
		return b.Name
	}
	return b.Model
}

func (b *manageBody) streams() bool { return b.Stream == nil || *b.Stream }

// readManage reads a management body; names are checked by the caller.
func (g *Gateway) readManage(w http.ResponseWriter, r *http.Request) (*manageBody, []byte, bool) {
	raw, p := readBody(w, r, g.live.Load().MaxBody, g.BodyPatience)
	if p != nil {
		g.refuse(w, dialect.OllamaMeta, p, "")
		return nil, nil, false
	}
	b := new(manageBody)
	if len(raw) == 0 {
		g.refuse(w, dialect.OllamaMeta, badRequest("missing request body"), "")
		return nil, nil, false
	}
	if err := json.Unmarshal(raw, b); err != nil {
		g.refuse(w, dialect.OllamaMeta, badRequest("the body is not the JSON object this endpoint takes"), "")
		return nil, nil, false
	}
	return b, raw, true
}

func badRequest(message string) *dialect.Problem {
	no := false
	return &dialect.Problem{Status: http.StatusBadRequest, Code: "invalid_request", Message: message, Retry: &no}
}

// rights refuses callers that may not change models.
func (g *Gateway) rights(w http.ResponseWriter, r *http.Request, who caller, what string) bool {
	if who.mayManage() || g.isOwner(r, who) {
		return true
	}
	no := false
	g.refuse(w, dialect.OllamaMeta, &dialect.Problem{Status: http.StatusForbidden, Code: "manage_right_needed",
		Message: "To " + what + " models through this address an API key with the manage right is needed.",
		Remedy:  "Give a key of security.api_keys rights: [manage], or use bellwether models on that machine.", Retry: &no}, "")
	return false
}

// isOwner reports whether the caller holds this machine's admin token.
func (g *Gateway) isOwner(r *http.Request, who caller) bool {
	sent := []byte(r.Header.Get("X-Fleet-Admin"))
	return who.loopback && g.AdminToken != "" && subtle.ConstantTimeCompare(sent, []byte(g.AdminToken)) == 1
}

// managed is a deployment on a runtime that can manage models (Ollama).
func managed(d *fleet.Deployment) bool { return d.Kind == "ollama" }

func (g *Gateway) show(w http.ResponseWriter, r *http.Request, _ caller) {
	b, _, ok := g.readManage(w, r)
	if !ok {
		return
	}
	if p := g.checkAsked(b.model()); p != nil {
		g.refuse(w, dialect.OllamaMeta, p, "")
		return
	}
	l, found := g.findAny(b.model(), localOnly(r))
	if !found {
		g.refuse(w, dialect.OllamaMeta, g.missing(fleet.CanonicalModel(b.model())), "")
		return
	}
	if l.alias {
		writeJSON(w, http.StatusOK, showOf(&l.best))
		return
	}
	for i := range l.deployments {
		d := &l.deployments[i]
		if !managed(d) {
			continue
		}
		body, err := g.Models.Show(r.Context(), d.ID, b.Verbose)
		if err != nil {
			g.refuse(w, dialect.OllamaMeta, manageProblem(err), "")
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(body)
		return
	}
	writeJSON(w, http.StatusOK, showOf(&l.best))
}

// showOf makes the show answer of a model on a runtime that has none.
func showOf(d *fleet.Deployment) map[string]any {
	family := d.Family
	if family == "" {
		family = "unknown"
	}
	info := map[string]any{"general.architecture": family, "general.basename": d.ID.Model}
	if d.Parameters > 0 {
		info["general.parameter_count"] = int64(d.Parameters)
	}
	if d.MaxContext > 0 {
		info[family+".context_length"] = d.MaxContext
	}
	if d.EmbeddingWidth > 0 {
		info[family+".embedding_length"] = d.EmbeddingWidth
	}
	caps := ollamaCapabilities(d)
	if caps == nil {
		caps = []string{}
	}
	modified := listing{best: *d}.modified()
	return map[string]any{"modelfile": "", "parameters": "", "template": "{{ .Prompt }}", "details": details(d), "model_info": info,
		"capabilities": caps, "modified_at": modified}
}

// pull fetches a model to a node and streams its progress. From loopback
// without a key the owner is asked; from elsewhere the manage right is needed.
func (g *Gateway) pull(w http.ResponseWriter, r *http.Request, who caller) {
	b, _, ok := g.readManage(w, r)
	if !ok {
		return
	}
	name := b.model()
	if p := checkNewName(name); p != nil {
		g.refuse(w, dialect.OllamaMeta, p, "")
		return
	}
	if p := g.mayPull(r, who, name); p != nil {
		g.refuse(w, dialect.OllamaMeta, p, "")
		return
	}
	g.progress(w, r, b.streams(), func(ctx context.Context, line func(any)) error {
		return g.Models.Pull(ctx, r.Header.Get("X-Fleet-Node"), name, func(l PullLine) { line(l) })
	})
}

// CheckPull refuses what nobody may pull, whoever asks: a name that is none,
// and a registry that is not on the list.
func CheckPull(name string, allowed []string) *dialect.Problem {
	if p := checkNewName(name); p != nil {
		return p
	}
	if host := registryOf(name); !registryAllowed(allowed, host) {
		no := false
		return &dialect.Problem{Status: http.StatusForbidden, Code: "registry_not_allowed",
			Message: "Models of the registry " + printable(host) + " may not be pulled here.",
			Remedy:  "Its owner can add the registry to routing.auto_pull_allow.", Retry: &no}
	}
	return nil
}

// mayPull decides whether a client may pull: whoever holds the manage right
// may; a program of this machine may when auto_pull says so; only from
// registries on the list, whoever asks.
func (g *Gateway) mayPull(r *http.Request, who caller, name string) *dialect.Problem {
	no := false
	policy := g.Policy()
	if p := CheckPull(name, policy.AutoPullAllow); p != nil {
		return p
	}
	if who.mayManage() || g.isOwner(r, who) {
		return nil
	}
	if !who.loopback || policy.AutoPull == "off" {
		return &dialect.Problem{Status: http.StatusForbidden, Code: "manage_right_needed",
			Message: "To pull models an API key with the manage right is needed.",
			Remedy:  "Give a key of security.api_keys rights: [manage], or run bellwether models pull " + name + ".", Retry: &no}
	}
	if policy.AutoPull == "on" {
		return nil
	}
	if g.AskPull != nil {
		g.AskPull(name, who.app())
	}
	return &dialect.Problem{Status: http.StatusForbidden, Code: "approval_needed",
		Message: "Pulling " + name + " waits for the approval of this machine's owner.",
		Remedy:  "Run bellwether models pull " + name + ", or set routing.auto_pull: on.", Retry: &no}
}

// registryOf returns the host of a model name, "" for names of the library.
func registryOf(name string) string {
	first, _, ok := strings.Cut(name, "/")
	if !ok || !strings.ContainsAny(first, ".:") && first != "localhost" {
		return ""
	}
	return strings.ToLower(first)
}

func registryAllowed(list []string, host string) bool {
	for _, a := range list {
		if strings.EqualFold(a, host) || host == "huggingface.co" && a == "hf.co" {
			return true
		}
	}
	return false
}

func (g *Gateway) deleteModel(w http.ResponseWriter, r *http.Request, who caller) {
	b, _, ok := g.readManage(w, r)
	if !ok || !g.rights(w, r, who, "delete") {
		return
	}
	if d, ok := g.onePlace(w, r, b.model(), "delete"); ok {
		g.done(w, g.Models.Delete(r.Context(), d.ID))
	}
}

func (g *Gateway) copyModel(w http.ResponseWriter, r *http.Request, who caller) {
	b, _, ok := g.readManage(w, r)
	if !ok || !g.rights(w, r, who, "copy") {
		return
	}
	if p := checkNewName(b.Destination); p != nil {
		g.refuse(w, dialect.OllamaMeta, p, "")
		return
	}
	if d, ok := g.onePlace(w, r, b.Source, "copy"); ok {
		g.done(w, g.Models.Copy(r.Context(), d.ID, b.Destination))
	}
}

func (g *Gateway) create(w http.ResponseWriter, r *http.Request, who caller) {
	b, raw, ok := g.readManage(w, r)
	if !ok || !g.rights(w, r, who, "create") {
		return
	}
	if p := checkNewName(b.model()); p != nil {
		g.refuse(w, dialect.OllamaMeta, p, "")
		return
	}
	g.progress(w, r, b.streams(), func(ctx context.Context, line func(any)) error {
		return g.Models.Create(ctx, r.Header.Get("X-Fleet-Node"), raw, func(l dialect.Raw) { line(json.RawMessage(l)) })
	})
}

func (g *Gateway) push(w http.ResponseWriter, _ *http.Request, _ caller) {
	no := false
	g.refuse(w, dialect.OllamaMeta, &dialect.Problem{Status: http.StatusNotImplemented, Code: "not_offered",
		Message: "Models are not pushed to registries through Bellwether.", Remedy: "Use ollama push on the machine that has the model.", Retry: &no}, "")
}

func (g *Gateway) blob(w http.ResponseWriter, r *http.Request, who caller) {
	digest := strings.TrimPrefix(cleanPath(r.URL.Path), "/api/blobs/")
	if p := checkDigest(digest); p != nil {
		g.refuse(w, dialect.OllamaMeta, p, "")
		return
	}
	if !g.rights(w, r, who, "create") {
		return
	}
	node := r.Header.Get("X-Fleet-Node")
	if r.Method == http.MethodPost {
		if err := g.Models.PutBlob(r.Context(), node, digest, r.Body); err != nil {
			g.refuse(w, dialect.OllamaMeta, manageProblem(err), "")
			return
		}
		w.WriteHeader(http.StatusCreated)
		return
	}
	has, err := g.Models.HasBlob(r.Context(), node, digest)
	switch {
	case err != nil:
		g.refuse(w, dialect.OllamaMeta, manageProblem(err), "")
	case has:
		w.WriteHeader(http.StatusOK)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// onePlace finds the deployment a change of one model means: the one on the
// node named by X-Fleet-Node, else the only one, else this machine's own. do says
// what the change is.
func (g *Gateway) onePlace(w http.ResponseWriter, r *http.Request, name, do string) (fleet.Deployment, bool) {
	if p := g.checkAsked(name); p != nil {
		g.refuse(w, dialect.OllamaMeta, p, "")
		return fleet.Deployment{}, false
	}
	l, ok := g.find(name, false)
	if !ok {
		g.refuse(w, dialect.OllamaMeta, g.noModel(name, do), "")
		return fleet.Deployment{}, false
	}
	wanted := r.Header.Get("X-Fleet-Node")
	if wanted == "" {
		wanted = g.NodeID
	}
	for _, d := range l.deployments {
		if managed(&d) && (len(l.deployments) == 1 || d.ID.Node == wanted || strings.EqualFold(g.nameOf(d.ID.Node), wanted)) {
			return d, true
		}
	}
	no := false
	g.refuse(w, dialect.OllamaMeta, &dialect.Problem{Status: http.StatusBadRequest, Code: "which_node",
		Message: "No runtime there can change " + printable(name) + ".",
		Remedy:  "Name the machine with the header X-Fleet-Node; only Ollama runtimes take changes.", Retry: &no}, "")
	return fleet.Deployment{}, false
}

func (g *Gateway) nameOf(id string) string {
	if n := g.Fleet().Node(id); n != nil {
		return n.Name
	}
	return id
}

func (g *Gateway) done(w http.ResponseWriter, err error) {
	if err != nil {
		g.refuse(w, dialect.OllamaMeta, manageProblem(err), "")
		return
	}
	w.WriteHeader(http.StatusOK)
}

// progress runs a long operation and sends its lines as they come, or only
// the last one when the client does not stream. An error after the first line
// is a line {"error"}, as Ollama's own.
func (g *Gateway) progress(w http.ResponseWriter, r *http.Request, stream bool, run func(context.Context, func(any)) error) {
	rc := http.NewResponseController(w)
	var last []byte
	started := false
	err := run(r.Context(), func(v any) {
		b, err := json.Marshal(v)
		if err != nil {
			return
		}
		last = b
		if !stream {
			return
		}
		if !started {
			started = true
			w.Header().Set("Content-Type", "application/x-ndjson")
		}
		_, _ = w.Write(append(b, '\n'))
		_ = rc.Flush()
	})
	switch {
	case err != nil && !started:
		g.refuse(w, dialect.OllamaMeta, manageProblem(err), "")
	case err != nil:
		line, _ := json.Marshal(map[string]string{"error": manageProblem(err).Text()})
		_, _ = w.Write(append(line, '\n'))
	case !stream:
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write(last)
	}
}

// manageProblem turns an error of a management call into what the client sees.
func manageProblem(err error) *dialect.Problem {
	var p *dialect.Problem
	if errors.As(err, &p) {
		return p
	}
	var f *fleet.Failure
	if errors.As(err, &f) {
		status := f.Status
		switch {
		case status >= 400 && status <= 599:
		case f.Caller:
			status = http.StatusBadRequest
		default:
			status = http.StatusBadGateway
		}
		return &dialect.Problem{Status: status, Code: cmp.Or(f.Code, "runtime_refused"), Message: strings.TrimSuffix(f.Message, ".") + "."}
	}
	var no *fleet.Refusal
	if errors.As(err, &no) {
		return &dialect.Problem{Status: http.StatusConflict, Code: string(no.Code), Message: strings.TrimSuffix(no.Reason, ".") + ".",
			Remedy: "Try again when that is over."}
	}
	return &dialect.Problem{Status: http.StatusBadGateway, Code: "runtime_failed",
		Message: "The runtime did not carry this out.", Remedy: "See bellwether doctor."}
}
