package runtimetest

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// ollama serves the paths of Ollama. Names and texts are the recorded ones.
func (f *Fake) ollama(w *statusWriter, r *http.Request, e *entry, body []byte) {
	if !f.admit(w, r) {
		return
	}
	path := r.URL.Path
	allow := allowed(path)
	switch {
	case allow == "":
		plain(w, http.StatusNotFound, "404 page not found")
		return
	case !strings.Contains(allow, r.Method):
		w.Header()["Allow"] = []string{allow}
		plain(w, http.StatusMethodNotAllowed, "405 method not allowed")
		return
	}
	switch path {
	case "/api/chat", "/api/generate":
		f.native(w, r, e, body)
	case "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages":
		f.compatible(w, r, e, body)
	case "/api/embed", "/api/embeddings", "/v1/embeddings":
		f.embed(w, r, e, body)
	default:
		f.metadata(w, r, e, body)
	}
}

// allowed is the Allow header of a path, "" for unknown paths.
func allowed(path string) string {
	switch path {
	case "/", "/api/tags", "/api/version":
		return "HEAD, GET"
	case "/api/ps", "/api/status", "/v1/models":
		return "GET"
	case "/api/chat", "/api/generate", "/api/embed", "/api/embeddings", "/api/show", "/api/pull", "/api/push",
		"/api/create", "/api/copy", "/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses", "/v1/messages":
		return "POST"
	case "/api/delete":
		return "DELETE"
	}
	rest, isModel := strings.CutPrefix(path, "/v1/models/")
	digest, isBlob := strings.CutPrefix(path, "/api/blobs/")
	switch {
	case isModel && rest != "" && !strings.Contains(rest, "/"):
		return "GET"
	case isBlob && digest != "" && !strings.Contains(digest, "/"):
		return "HEAD, POST"
	}
	return ""
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header()["Content-Type"] = asPlainText
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}

// admit turns away foreign hosts and origins, as a listener on loopback does,
// and answers preflights.
func (f *Fake) admit(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin != "" && !ownOrigin(origin) || !ownHost(r.Host) {
		w.WriteHeader(http.StatusForbidden)
		return false
	}
	h := w.Header()
	if origin != "" {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Add("Vary", "Origin")
	}
	if r.Method != http.MethodOptions {
		return true
	}
	if origin != "" {
		h.Add("Vary", "Access-Control-Request-Method")
		h.Add("Vary", "Access-Control-Request-Headers")
		h.Set("Access-Control-Allow-Headers", preflightHeaders)
		h.Set("Access-Control-Allow-Methods", "GET,POST,PUT,PATCH,DELETE,HEAD,OPTIONS")
		h.Set("Access-Control-Max-Age", "43200")
	}
	if allow := allowed(r.URL.Path); allow != "" {
		h.Set("Allow", allow)
	}
	w.WriteHeader(http.StatusNoContent)
	return false
}

const preflightHeaders = "Authorization,Content-Type,User-Agent,Accept,X-Requested-With,Openai-Beta,X-Stainless-Arch,X-Stainless-Async,X-Stainless-Custom-Poll-Interval,X-Stainless-Helper-Method,X-Stainless-Lang,X-Stainless-Os,X-Stainless-Package-Version,X-Stainless-Poll-Helper,X-Stainless-Retry-Count,X-Stainless-Runtime,X-Stainless-Runtime-Version,X-Stainless-Timeout"

// ownHost is Ollama's check against DNS rebinding.
func ownHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsUnspecified()
	}
	if host == "" || host == "localhost" {
		return true
	}
	for _, suffix := range []string{".localhost", ".local", ".internal"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}

// ownOrigin is Ollama's default list of origins.
func ownOrigin(origin string) bool {
	for _, scheme := range []string{"app://", "file://", "tauri://", "vscode-webview://", "vscode-file://",
		"chrome-extension://", "moz-extension://", "safari-web-extension://"} {
		if strings.HasPrefix(origin, scheme) {
			return true
		}
	}
	rest, ok := strings.CutPrefix(origin, "http://")
	if !ok {
		if rest, ok = strings.CutPrefix(origin, "https://"); !ok {
			return false
		}
	}
	host := rest
	if h, _, err := net.SplitHostPort(rest); err == nil {
		host = h
	}
	return host == "localhost" || host == "127.0.0.1" || host == "0.0.0.0" || host == "::1"
}

// native serves /api/chat and /api/generate.
func (f *Fake) native(w http.ResponseWriter, r *http.Request, e *entry, body []byte) {
	v := nativeVoice{generate: r.URL.Path == "/api/generate"}
	if len(body) == 0 {
		refuseNative(w, http.StatusBadRequest, "missing request body")
		return
	}
	if err := wellFormed(body); err != nil {
		refuseNative(w, http.StatusBadRequest, err.Error())
		return
	}
	a, err := readOllama(r.URL.Path, body)
	t, done := f.meet(w, r, f.name(e, a.model), true)
	if done {
		return
	}
	if err != nil {
		refuseNative(w, http.StatusBadRequest, err.Error())
		return
	}
	if a.noModel {
		refuseNative(w, http.StatusBadRequest, "model is required")
		return
	}
	m := f.find(a.model)
	if m == nil {
		refuseNative(w, http.StatusNotFound, "model '"+a.model+"' not found")
		return
	}
	keep, err := keepAliveOf(a.keepAlive, f.config.KeepAlive)
	if err != nil {
		refuseNative(w, http.StatusBadRequest, err.Error())
		return
	}
	if a.messages == 0 && keep == 0 {
		f.dismiss(m)
		f.answerEmpty(w, v, a, "unload")
		return
	}
	if no := unable(a, m, v.generate); no != nil {
		v.refuse(w, no)
		return
	}
	if a.messages == 0 {
		f.loadFor(w, r, e, a, m, v)
		return
	}
	f.speak(w, r, e, a, m, v, t)
}

// unable is what Ollama answers when the model lacks a capability.
func unable(a *ask, m *model, generate bool) *refusal {
	no := func(text string) *refusal { return &refusal{status: http.StatusBadRequest, text: text} }
	switch {
	case !m.can("completion") && generate:
		return no(`"` + a.model + `" does not support generate`)
	case !m.can("completion"):
		return no(`"` + a.model + `" does not support chat`)
	case a.think == thinkOn && !m.can("thinking"):
		return no(`"` + a.model + `" does not support thinking`)
	case len(a.tools) > 0 && !m.can("tools"):
		return no(registryName(a.model) + " does not support tools")
	case a.suffix && !m.can("insert"):
		return no(registryName(a.model) + " does not support insert")
	case a.images > 0 && !m.can("vision"):
		return no(`{"error":{"code":400,"message":"Multimodal data provided, but model does not support multimodal requests.","type":"invalid_request_error"}}`)
	}
	return nil
}

// answerEmpty is the answer to a request that only loads or unloads.
func (f *Fake) answerEmpty(w http.ResponseWriter, v nativeVoice, a *ask, reason string) {
	b := v.now(v.lineStart(nil, a.model))
	if v.generate {
		b = append(b, `,"response":""`...)
	} else {
		b = append(b, `,"message":{"role":"assistant","content":""}`...)
	}
	b = append(b, `,"done":true,"done_reason":"`+reason+`"}`...)
	w.Header()["Content-Type"] = asOllamaJSON
	_, _ = w.Write(b)
}

// loadFor brings the model into memory and says so when it is there.
func (f *Fake) loadFor(w http.ResponseWriter, r *http.Request, e *entry, a *ask, m *model, v nativeVoice) {
	keep, _ := keepAliveOf(a.keepAlive, f.config.KeepAlive)
	rn, err := f.acquire(r.Context(), m, a.numCtx, keep)
	if err != nil {
		(&speech{f: f, e: e}).finish(w, v, err)
		return
	}
	f.mu.Lock()
	f.leave(rn)
	f.mu.Unlock()
	f.bell.ring()
	f.answerEmpty(w, v, a, "load")
}

// dismiss unloads a model: at once when idle, else when its last request ends.
func (f *Fake) dismiss(m *model) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rn := f.runners[m.key]
	if rn == nil || rn.loading {
		return
	}
	if f.vacate(rn) {
		f.step()
	}
	f.bell.ring()
}

// compatible serves the paths of the other protocols.
func (f *Fake) compatible(w http.ResponseWriter, r *http.Request, e *entry, body []byte) {
	v, read := voiceFor(r.URL.Path)
	refuse := func(text string) { // the adapter's hand: with charset, without newline
		if r.URL.Path == "/v1/messages" {
			refuseMessages(w, http.StatusBadRequest, text, asOllamaJSON, "")
			return
		}
		refuseV1(w, http.StatusBadRequest, text, asOllamaJSON, "")
	}
	if len(body) == 0 {
		refuse("EOF")
		return
	}
	if err := wellFormed(body); err != nil {
		refuse(err.Error())
		return
	}
	a := read(r.URL.Path, body)
	t, done := f.meet(w, r, f.name(e, a.model), true)
	if done {
		return
	}
	if a.messages == 0 {
		refuse("[] is too short - 'messages'")
		return
	}
	if a.noModel {
		v.refuse(w, &refusal{status: http.StatusBadRequest, text: "model is required"})
		return
	}
	m := f.find(a.model)
	if m == nil {
		v.refuse(w, &refusal{status: http.StatusNotFound, text: "model '" + a.model + "' not found"})
		return
	}
	if r.URL.Path == "/v1/messages" && !m.can("thinking") {
		a.think = thinkUnset // relaxed on this path only
	}
	if no := unable(a, m, r.URL.Path == "/v1/completions"); no != nil {
		v.refuse(w, no)
		return
	}
	f.speak(w, r, e, a, m, v, t)
}

func voiceFor(path string) (voice, func(string, []byte) *ask) {
	switch path {
	case "/v1/completions":
		return completionVoice{}, readChat
	case "/v1/responses":
		return responsesVoice{}, readResponses
	case "/v1/messages":
		return messagesVoice{}, readMessages
	}
	return chatVoice{}, readChat
}
