package runtimetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// llama serves the paths of llama-server, single or router.
func (f *Fake) llama(w *statusWriter, r *http.Request, e *entry, body []byte) {
	llamaBase(w.Header(), r.Header.Get("Origin"))
	path := r.URL.Path
	if r.Method == http.MethodOptions {
		h := w.Header()
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Set("Access-Control-Allow-Methods", "GET, POST")
		h.Set("Access-Control-Allow-Headers", "*")
		h["Content-Type"] = asLlamaHTML
		return
	}
	open := path == "/health" || path == "/v1/health"
	if f.config.APIKey != "" && !open && bearer(r) != f.config.APIKey {
		refuseLlama(w, &refusal{status: http.StatusUnauthorized, kind: "authentication_error", text: "Invalid API Key"})
		return
	}
	if f.isLoading() {
		refuseLlama(w, &refusal{status: http.StatusServiceUnavailable, kind: "unavailable_error", text: errLoading.Error()})
		return
	}
	if r.Method == http.MethodPost {
		f.llamaPost(w, r, e, body)
		return
	}
	f.llamaGet(w, r)
}

func bearer(r *http.Request) string {
	if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return key
	}
	return r.Header.Get("X-Api-Key")
}

// isLoading reports whether a single-model server still loads.
func (f *Fake) isLoading() bool {
	if !f.single() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	rn := f.runners[f.order[0].key]
	return rn == nil || rn.loading
}

func (f *Fake) llamaGet(w *statusWriter, r *http.Request) {
	if _, done := f.meet(w, r, "", false); done {
		return
	}
	switch path := r.URL.Path; {
	case path == "/health", path == "/v1/health":
		llamaReply(w, []byte(`{"status":"ok"}`))
	case (path == "/v1/models" || path == "/models") && f.config.Router:
		llamaReply(w, f.routerModels())
	case path == "/v1/models", path == "/models":
		llamaReply(w, f.singleModels())
	case path == "/props":
		f.props(w, r)
	case path == "/slots" && !f.config.Router:
		f.slots(w)
	case path == "/metrics" && !f.config.Router:
		f.metrics(w)
	default:
		notFound(w)
	}
}

func notFound(w http.ResponseWriter) {
	refuseLlama(w, &refusal{status: http.StatusNotFound, text: "File Not Found"})
}

func llamaReply(w http.ResponseWriter, b []byte) {
	llamaHeader(w.Header(), false)
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(b))}
	_, _ = w.Write(b)
}

func (f *Fake) llamaPost(w *statusWriter, r *http.Request, e *entry, body []byte) {
	v, read := llamaVoice(r.URL.Path)
	counts := strings.HasSuffix(r.URL.Path, "/count_tokens") || strings.HasSuffix(r.URL.Path, "/input_tokens")
	manages := f.config.Router && strings.HasPrefix(r.URL.Path, "/models/")
	if v == nil && !counts && !manages && r.URL.Path != "/tokenize" && r.URL.Path != "/detokenize" {
		notFound(w)
		return
	}
	if no := llamaSyntax(body); no != nil {
		refuseLlama(w, no)
		return
	}
	if manages {
		f.routerManage(w, r, e, body)
		return
	}
	if read == nil {
		read = readerFor(r.URL.Path)
	}
	a := read(r.URL.Path, body)
	t, done := f.meet(w, r, f.name(e, a.model), v != nil)
	if done {
		return
	}
	m, no := f.llamaModel(a)
	if no == nil {
		no = f.llamaCheck(r.URL.Path, a, m)
	}
	switch {
	case no != nil:
		refuseLlama(w, no)
	case r.URL.Path == "/tokenize" || r.URL.Path == "/detokenize":
		tokenize(w, body)
	case counts:
		llamaReply(w, append(appendInt([]byte(`{"input_tokens":`), a.promptTokens(m)), '}'))
	case isEmbeddings(r.URL.Path):
		f.embedding(w, r, e, a, m, v, t)
	default:
		switch {
		case f.config.Router: // it passes on what its child says, in chunks
			w.Header()["Connection"] = asClosing
			w.Header()["X-Accel-Buffering"] = asUnbuffed
		case a.stream: // its HTTP library takes the end of a stream for a broken one
			hangUp(r)
		}
		f.speak(w, r, e, a, m, v, t)
	}
}

func isEmbeddings(path string) bool { return path == "/v1/embeddings" || path == "/embeddings" }

func llamaVoice(path string) (voice, func(string, []byte) *ask) {
	switch path {
	case "/v1/chat/completions", "/chat/completions":
		return llamaChat{}, readChat
	case "/v1/completions":
		return llamaCompletion{}, readChat
	case "/v1/responses", "/responses":
		return llamaResponses{}, readResponses
	case "/v1/messages":
		return llamaMessages{}, readMessages
	case "/v1/embeddings", "/embeddings":
		return llamaChat{}, readEmbed
	}
	return nil, nil
}

// readerFor is how a request that only counts is read.
func readerFor(path string) func(string, []byte) *ask {
	switch {
	case strings.HasPrefix(path, "/v1/messages"):
		return readMessages
	case strings.HasPrefix(path, "/v1/responses"):
		return readResponses
	}
	return readChat
}

// llamaSyntax is llama-server's answer to a body that is no JSON: 500, in the
// words of its library.
func llamaSyntax(body []byte) *refusal {
	err := wellFormed(body)
	if err == nil {
		return nil
	}
	at := len(body) + 1
	what := "unexpected end of input; expected '[', '{', or a literal"
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at, what = int(syntax.Offset), "invalid literal"
	}
	return &refusal{status: http.StatusInternalServerError, text: fmt.Sprintf(
		"[json.exception.parse_error.101] parse error at line 1, column %d: syntax error while parsing value - %s", at, what)}
}

// llamaModel is the only model, whatever the request calls it, or in router
// mode the one it names.
func (f *Fake) llamaModel(a *ask) (*model, *refusal) {
	if !f.config.Router {
		return f.order[0], nil
	}
	if m := f.find(a.model); m != nil {
		return m, nil
	}
	if a.noModel {
		return nil, &refusal{status: http.StatusBadRequest, text: "model name is missing from the request"}
	}
	return nil, &refusal{status: http.StatusBadRequest, text: "model '" + a.model + "' not found"}
}

func (f *Fake) llamaCheck(path string, a *ask, m *model) *refusal {
	bad := func(text string) *refusal { return &refusal{status: http.StatusBadRequest, text: text} }
	switch path {
	case "/tokenize", "/detokenize":
		return nil
	case "/v1/embeddings", "/embeddings":
		if !m.can("embedding") {
			return &refusal{status: http.StatusNotImplemented,
				text: "This server does not support embeddings. Start it with `--embeddings`"}
		}
		if len(a.inputs) == 0 {
			return bad("\"input\" or \"content\" must be provided")
		}
		return nil
	case "/v1/completions":
		if a.messages == 0 {
			return bad("'prompt' is required")
		}
	case "/v1/responses", "/responses":
		if a.previous != "" {
			return bad("llama.cpp does not support 'previous_response_id'.")
		}
		if a.messages == 0 {
			return bad("'input' is required")
		}
	default:
		switch {
		case !a.turns:
			return bad("'messages' is required")
		case a.hollow == "assistant":
			return bad("Assistant message must contain either 'content' or 'tool_calls'!")
		case a.hollow != "":
			return bad("All non-assistant messages must contain 'content'")
		}
	}
	if !m.can("completion") {
		return &refusal{status: http.StatusInternalServerError,
			text: "the current context does not logits computation. skipping"}
	}
	if a.images > 0 && !m.can("vision") {
		return &refusal{status: http.StatusInternalServerError,
			text: "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"}
	}
	return nil
}

// tokenize numbers characters, as the tiny byte-level models did.
func tokenize(w http.ResponseWriter, body []byte) {
	b := []byte(`{"tokens":[`)
	for i, c := range []byte(text(member(body, "content"))) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendInt(b, 233+int(c))
	}
	llamaReply(w, append(b, ']', '}'))
}
