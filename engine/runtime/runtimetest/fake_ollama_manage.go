package runtimetest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// manage serves pull, push, create, copy, delete and blobs. The texts are
// Ollama's.
func (f *Fake) manage(w http.ResponseWriter, r *http.Request, body []byte, asked string, t trouble) {
	path := r.URL.Path
	if digest, ok := strings.CutPrefix(path, "/api/blobs/"); ok {
		f.blob(w, r, digest)
		return
	}
	if len(body) == 0 {
		refuseNative(w, http.StatusBadRequest, "missing request body")
		return
	}
	if err := wellFormed(body); err != nil {
		refuseNative(w, http.StatusBadRequest, err.Error())
		return
	}
	stream := kind(member(body, "stream")) != 'f'
	switch path {
	case "/api/pull":
		f.pull(w, r, asked, stream, t)
	case "/api/push":
		f.push(w, r, asked, stream, t)
	case "/api/create":
		f.create(w, r, body, asked, stream, t)
	case "/api/copy":
		f.copyModel(w, text(member(body, "source")), text(member(body, "destination")))
	case "/api/delete":
		f.deleteModel(w, asked)
	}
}

// progress writes the lines of a pull, push or create. Without stream only
// the last one is told, or the error with its status.
type progress struct {
	w      http.ResponseWriter
	r      *http.Request
	stream bool
	t      trouble
	m      mouth
	n      int
}

// line sends one line, and reports whether to go on.
func (p *progress) line(format string, args ...any) bool {
	for _, f := range p.t.breaks {
		if f.After != p.n {
			continue
		}
		switch f.Break {
		case BreakCut, BreakCutMid:
			panic(http.ErrAbortHandler)
		case BreakHang:
			<-p.r.Context().Done()
			return false
		case BreakError, BreakRunner:
			p.fail(http.StatusInternalServerError, "max retries exceeded: unexpected EOF")
			return false
		case BreakEnd:
			return false
		}
	}
	p.n++
	if p.t.tokenDelay > 0 && !sleep(p.r, p.t.tokenDelay) {
		return false
	}
	if !p.stream {
		return p.r.Context().Err() == nil
	}
	p.w.Header()["Content-Type"] = asNDJSON
	_ = p.m.frame(fmt.Appendf(nil, format+"\n", args...))
	return p.r.Context().Err() == nil
}

func (p *progress) fail(status int, text string) {
	if !p.stream {
		refuseNative(p.w, status, text)
		return
	}
	p.w.Header()["Content-Type"] = asNDJSON
	_ = p.m.frame(append(appendQuoted([]byte(`{"error":`), text, goEscapes), '}', '\n'))
}

func (p *progress) success() {
	if p.stream {
		p.line(`{"status":"success"}`)
		return
	}
	reply(p.w, asOllamaJSON, []byte(`{"status":"success"}`))
}

func newProgress(w http.ResponseWriter, r *http.Request, stream bool, t trouble) *progress {
	return &progress{w: w, r: r, stream: stream, t: t, m: mouth{w: w, dress: t.dress, every: 1}}
}

// tellsProgress reports whether the path answers with progress lines, which
// are what After counts there.
func tellsProgress(path string) bool {
	return path == "/api/pull" || path == "/api/push" || path == "/api/create"
}

// pull fetches a model of the registry in ten steps.
func (f *Fake) pull(w http.ResponseWriter, r *http.Request, asked string, stream bool, t trouble) {
	if asked == "" {
		refuseNative(w, http.StatusBadRequest, "invalid model name")
		return
	}
	p := newProgress(w, r, stream, t)
	if !p.line(`{"status":"pulling manifest"}`) {
		return
	}
	found, ok := f.inRegistry(asked)
	if !ok {
		p.fail(http.StatusInternalServerError, "pull model manifest: file does not exist")
		return
	}
	made, err := newModel(found, f.config.Kind, time.Now())
	if err != nil {
		p.fail(http.StatusInternalServerError, err.Error())
		return
	}
	const steps = 10
	for i := range steps + 1 {
		if !p.line(`{"status":"pulling %s","digest":"sha256:%s","total":%d,"completed":%d}`,
			made.Digest[:12], made.Digest, made.Size, made.Size*int64(i)/steps) {
			return
		}
		if rate := f.config.PullBytesPerSecond; rate > 0 && i < steps &&
			!sleep(r, time.Duration(float64(made.Size)/rate/steps*float64(time.Second))) {
			return
		}
	}
	for _, status := range []string{"verifying sha256 digest", "writing manifest"} {
		if !p.line(`{"status":"%s"}`, status) {
			return
		}
	}
	f.install(made)
	p.success()
}

func (f *Fake) inRegistry(asked string) (FakeModel, bool) {
	for _, m := range f.config.Registry {
		if f.key(m.Name) == f.key(asked) {
			return m, true
		}
	}
	if f.config.Registry == nil {
		return FakeModel{Name: asked}, true
	}
	return FakeModel{}, false
}

// install puts a model in the catalogue, over one of the same name.
func (f *Fake) install(m *model) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if old := f.models[m.key]; old != nil {
		f.order = slices.DeleteFunc(f.order, func(o *model) bool { return o == old })
	}
	f.models[m.key] = m
	f.order = append(f.order, m)
	f.bell.ring()
}

func (f *Fake) push(w http.ResponseWriter, r *http.Request, asked string, stream bool, t trouble) {
	p := newProgress(w, r, stream, t)
	if f.find(asked) == nil {
		p.fail(http.StatusInternalServerError, "model '"+asked+"' not found")
		return
	}
	if p.line(`{"status":"retrieving manifest"}`) && p.line(`{"status":"pushing manifest"}`) {
		p.success()
	}
}

// create makes a model from another one or from blobs.
func (f *Fake) create(w http.ResponseWriter, r *http.Request, body []byte, asked string, stream bool, t trouble) {
	if asked == "" {
		refuseNative(w, http.StatusBadRequest, "model is required")
		return
	}
	p := newProgress(w, r, stream, t)
	made := FakeModel{}
	if from := text(member(body, "from")); from != "" {
		base := f.find(from)
		if base == nil {
			p.fail(http.StatusNotFound, "pull model manifest: file does not exist")
			return
		}
		made = base.FakeModel
	} else if kind(member(body, "files")) != '{' {
		p.fail(http.StatusBadRequest, "neither 'from' or 'files' was specified")
		return
	} else if missing := f.missingBlob(member(body, "files")); missing != "" {
		p.fail(http.StatusInternalServerError, "open "+missing+": no such file or directory")
		return
	}
	made.Name, made.Digest, made.Modified = asked, "", time.Now()
	if q := text(member(body, "quantize")); q != "" {
		made.Quant = strings.ToUpper(q)
	}
	m, err := newModel(made, f.config.Kind, time.Now())
	if err != nil {
		p.fail(http.StatusBadRequest, err.Error())
		return
	}
	for _, status := range []string{"using existing layer sha256:" + m.Digest, "writing manifest"} {
		if !p.line(`{"status":"%s"}`, status) {
			return
		}
	}
	f.install(m)
	p.success()
}

// missingBlob names the first file whose blob was not uploaded.
func (f *Fake) missingBlob(files []byte) (missing string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	eachMember(files, func(_, digest []byte) {
		if _, ok := f.blobs[text(digest)]; !ok {
			missing = cmp.Or(missing, strings.Replace(text(digest), ":", "-", 1))
		}
	})
	return missing
}

func (f *Fake) copyModel(w http.ResponseWriter, from, to string) {
	m := f.find(from)
	switch {
	case m == nil:
		refuseNative(w, http.StatusNotFound, fmt.Sprintf("model %q not found", from))
	case to == "":
		refuseNative(w, http.StatusBadRequest, fmt.Sprintf("destination %q is invalid", to))
	default:
		copied := m.FakeModel
		copied.Name = to
		made, _ := newModel(copied, f.config.Kind, time.Now())
		f.install(made)
	}
}

// deleteModel leaves what is in memory there until it expires.
func (f *Fake) deleteModel(w http.ResponseWriter, asked string) {
	m := f.find(asked)
	if m == nil {
		refuseNative(w, http.StatusNotFound, "model '"+asked+"' not found")
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.models, m.key)
	f.order = slices.DeleteFunc(f.order, func(o *model) bool { return o == m })
}

// blob tells whether a blob is there (HEAD) or takes one (POST).
func (f *Fake) blob(w http.ResponseWriter, r *http.Request, digest string) {
	f.mu.Lock()
	_, there := f.blobs[digest]
	f.mu.Unlock()
	switch {
	case r.Method == http.MethodHead && there:
		return
	case r.Method == http.MethodHead:
		refuseNative(w, http.StatusNotFound, fmt.Sprintf("blob %q not found", digest))
		return
	case there:
		return
	}
	sum := sha256.New()
	n, err := io.Copy(sum, r.Body)
	if err != nil {
		return
	}
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != digest {
		refuseNative(w, http.StatusBadRequest, fmt.Sprintf("digest mismatch, expected %q, got %q", digest, got))
		return
	}
	f.mu.Lock()
	f.blobs[digest] = n
	f.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
}
