package runtimetest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// serve is the handler of the fake's socket.
func (f *Fake) serve(w http.ResponseWriter, r *http.Request) {
	f.serving.enter()
	defer f.serving.leave()
	if r.URL.Path == "/__control" {
		f.control(w, r)
		return
	}
	e := f.journal.note(r)
	f.bell.ring()
	defer func() {
		e.done.Store(true)
		f.bell.ring()
	}()
	body, err := readBody(r)
	if err != nil {
		e.disconnected.Store(true)
		panic(http.ErrAbortHandler)
	}
	f.journal.body(e, body)
	tracked := &statusWriter{ResponseWriter: w, e: e, bell: &f.bell}
	if f.replay != nil {
		if x := f.replay.Find(r, body); x != nil {
			x.write(tracked)
			return
		}
	}
	if f.config.Kind == Ollama {
		f.ollama(tracked, r, e, body)
		return
	}
	f.llama(tracked, r, e, body)
}

func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength == 0 || isUpload(r.URL.Path) {
		return nil, nil
	}
	if n := r.ContentLength; n > 0 {
		b := make([]byte, n)
		_, err := io.ReadFull(r.Body, b)
		return b, err
	}
	return io.ReadAll(r.Body)
}

// isUpload reports whether the handler reads the body itself.
func isUpload(path string) bool { return strings.HasPrefix(path, "/api/blobs/") }

// statusWriter notes the status where the handler does not.
type statusWriter struct {
	http.ResponseWriter
	e    *entry
	bell *bell
}

func (w *statusWriter) WriteHeader(status int) {
	if w.e.status.CompareAndSwap(0, int32(status)) {
		w.bell.ring()
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.e.status.CompareAndSwap(0, http.StatusOK) {
		w.bell.ring()
	}
	return w.ResponseWriter.Write(b)
}

func (w *statusWriter) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// name notes the model and returns the key to match faults by.
func (f *Fake) name(e *entry, model string) string {
	e.model.Store(&model)
	switch {
	case f.single():
		return f.order[0].key // whatever the request calls it
	case model == "":
		return ""
	}
	return f.key(model)
}

// meet collects the faults of a request and lets the first of their effects
// happen. done means the request is answered.
func (f *Fake) meet(w http.ResponseWriter, r *http.Request, key string, generates bool) (t trouble, done bool) {
	if !f.faults.any.Load() {
		return trouble{}, false
	}
	f.mu.Lock()
	faults, gate := f.faults.meet(r.URL.Path, key, generates, f.key)
	f.mu.Unlock()
	if len(faults) == 0 {
		return trouble{}, false
	}
	t = troubleOf(faults)
	t.gate = gate
	if t.delay > 0 && !sleep(r, t.delay) {
		return t, true
	}
	if t.canned != nil {
		canned(w, t.canned)
		return t, true
	}
	if generates || tellsProgress(r.URL.Path) {
		return t, false
	}
	for _, b := range t.breaks { // there are no tokens to count elsewhere
		switch b.Break {
		case BreakCut, BreakCutMid, BreakEnd, BreakRunner:
			panic(http.ErrAbortHandler)
		case BreakHang:
			<-r.Context().Done()
			return t, true
		case BreakHold:
			select {
			case <-gate:
			case <-r.Context().Done():
				return t, true
			}
		}
	}
	return t, false
}

// sleep waits and reports whether the client is still there.
func sleep(r *http.Request, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

func canned(w http.ResponseWriter, f *Fault) {
	h := w.Header()
	h.Set("Content-Type", plainJSON)
	if f.ContentType != "" {
		h.Set("Content-Type", f.ContentType)
	}
	if f.RetryAfter != "" {
		h.Set("Retry-After", f.RetryAfter)
	}
	w.WriteHeader(f.Status)
	_, _ = io.WriteString(w, f.Body)
}

// orders is what POST /__control takes. All of it is optional.
type orders struct {
	Heal       bool     `json:"heal"`
	Release    bool     `json:"release"`
	Inject     []Fault  `json:"inject"`
	KillRunner string   `json:"kill_runner"` // model
	Unload     string   `json:"unload"`      // model
	Forget     bool     `json:"forget"`      // the request log
	GPU        *float64 `json:"gpu"`         // share of loaded models in VRAM from now on
}

// control takes orders by POST and tells the state by GET; both answer with
// the state.
func (f *Fake) control(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		var o orders
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&o); err != nil && err != io.EOF {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f.obey(o)
	}
	w.Header().Set("Content-Type", plainJSON)
	_ = json.NewEncoder(w).Encode(f.state())
}

func (f *Fake) obey(o orders) {
	if o.Heal {
		f.Heal()
	}
	f.Inject(o.Inject...)
	if o.KillRunner != "" {
		f.KillRunner(o.KillRunner)
	}
	if o.Unload != "" {
		f.Unload(o.Unload)
	}
	if o.Release {
		f.Release()
	}
	if o.GPU != nil {
		f.SetGPU(*o.GPU)
	}
	if o.Forget {
		f.ForgetRequests()
	}
}

// state is the answer of /__control.
type state struct {
	Kind     string                `json:"kind"`
	Loaded   []string              `json:"loaded"`
	Requests int                   `json:"requests"`
	Models   map[string]modelState `json:"models"`
}

type modelState struct {
	Running    int `json:"running"`
	MaxRunning int `json:"max_running"`
	Waiting    int `json:"waiting"`
	Loads      int `json:"loads"`
}

func (f *Fake) state() state {
	s := state{Kind: f.config.Kind, Loaded: f.Loaded(), Requests: len(f.Requests()), Models: map[string]modelState{}}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.order {
		c := f.stats(m.key)
		s.Models[m.full] = modelState{c.running, c.most, c.waiting, c.loads}
	}
	return s
}
