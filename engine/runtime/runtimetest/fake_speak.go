package runtimetest

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// voice writes one answer in one protocol. Voices hold nothing: what they must
// remember between frames is in the speech. Each method appends whole frames.
type voice interface {
	header(h http.Header, stream bool)
	open(b []byte, s *speech) []byte // sent with the first token
	think(b []byte, s *speech, p piece) []byte
	text(b []byte, s *speech, p piece) []byte
	call(b []byte, s *speech, c *said) []byte
	end(b []byte, s *speech) []byte
	whole(b []byte, s *speech) []byte  // the answer of a request without stream
	broken(b []byte, s *speech) []byte // what follows when the runner dies; nil: only a clean end
	refuse(w http.ResponseWriter, err *refusal)
}

// refusal is an error answer before anything was sent.
type refusal struct {
	status int
	kind   string // in the protocol's words, "" = by status
	text   string
	extra  []byte // members added to llama-server's error object
}

func (r *refusal) Error() string { return r.text }

// How an answer can end before its end.
var (
	errCut     = errors.New("connection cut")
	errCutMid  = errors.New("connection cut inside a frame")
	errNoEnd   = errors.New("end without terminator")
	errInFrame = errors.New("error frame")
	errTaken   = errors.New("connection taken from the server") // and closed already
)

// speech is one answer on its way: what is said, and the numbers told with it.
// It belongs to its handler's goroutine.
type speech struct {
	f *Fake
	a *ask
	m *model
	e *entry

	thoughts, pieces []piece
	calls            []said
	endless          bool // pieces are followed by numbers without end
	reason           string
	stopWord         string

	promptN, cachedN, outN int // tokens
	hidden                 int // tokens that left no trace (swallowed calls)
	began                  time.Time
	loadTime               time.Duration
	prefill, decode        time.Duration

	// for the voices
	id, item string
	created  int64
	prefix   []byte
	started  bool
	block    int  // index of the open block or item
	open     byte // what it is: 0, 't' text, 'r' reasoning
	seq      int
	output   []byte // finished items
	sofar    []byte // escaped text so far
}

// said is a tool call as it is told.
type said struct {
	id, name, args string
	index          int
}

// trouble is what the request's faults add up to.
type trouble struct {
	delay, tokenDelay time.Duration
	canned            *Fault
	breaks            []*Fault
	dress             dress
	thinkOnly         bool
	swallow           bool
	endless           bool
	empty             bool
	gate              <-chan struct{}
}

func troubleOf(faults []*Fault) (t trouble) {
	for _, f := range faults {
		t.delay += f.Delay
		t.tokenDelay += f.TokenDelay
		if f.Status != 0 && t.canned == nil {
			t.canned = f
		}
		if f.Break != "" {
			t.breaks = append(t.breaks, f)
		}
		t.dress.comments = t.dress.comments || f.Comments
		t.dress.crlf = t.dress.crlf || f.CRLF
		t.dress.noSpace = t.dress.noSpace || f.NoSpace
		t.dress.split = t.dress.split || f.SplitUTF8
		t.thinkOnly = t.thinkOnly || f.ThinkOnly
		t.swallow = t.swallow || f.SwallowCalls
		t.endless = t.endless || f.Endless
		t.empty = t.empty || f.EmptyEntries
	}
	return t
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// speak answers a request that generates: load, slot, prompt, tokens.
func (f *Fake) speak(w http.ResponseWriter, r *http.Request, e *entry, a *ask, m *model, v voice, t trouble) {
	s := &speech{f: f, a: a, m: m, e: e, began: time.Now()}
	err := s.withSlot(r.Context(), func(l *lease) error {
		defer f.tally(s)
		return s.run(r.Context(), w, l, v, t)
	})
	s.finish(w, v, err)
}

// withSlot does something while it holds a slot of the model.
func (s *speech) withSlot(ctx context.Context, do func(*lease) error) error {
	rn, err := s.f.board(ctx, s.a, s.m)
	if err != nil {
		return err
	}
	s.loadTime = time.Since(s.began) // what the request waits for a slot is in the total only
	l, err := s.f.sit(ctx, rn, s.a)
	if err != nil {
		return err
	}
	defer l.release()
	s.cachedN = l.cached
	return do(l)
}

// board gets the request a runner of its model.
func (f *Fake) board(ctx context.Context, a *ask, m *model) (*runner, error) {
	keep, err := keepAliveOf(a.keepAlive, f.config.KeepAlive)
	if err != nil {
		return nil, &refusal{status: 400, text: err.Error()}
	}
	return f.acquire(ctx, m, a.numCtx, keep)
}

// refusalOf turns an error of the scheduler into an answer, nil when it is
// none of them.
func refusalOf(err error) *refusal {
	var told *refusal
	switch {
	case errors.As(err, &told):
		return told
	case errors.Is(err, errQueueFull):
		return &refusal{status: http.StatusServiceUnavailable, text: err.Error()}
	case errors.Is(err, errLoading):
		return &refusal{status: http.StatusServiceUnavailable, kind: "unavailable_error", text: err.Error()}
	case errors.As(err, new(loadError)):
		return &refusal{status: http.StatusInternalServerError, text: err.Error()}
	}
	return nil
}

// run says the answer; what it returns is how it ended.
func (s *speech) run(ctx context.Context, w http.ResponseWriter, l *lease, v voice, t trouble) error {
	s.promptN = s.a.promptTokens(s.m)
	if err := s.fit(l.rn.ctx); err != nil {
		return err
	}
	s.compose(t, l.rn.ctx)
	s.created = time.Now().Unix()
	p := pacer{s: s, ctx: ctx, dead: l.rn.dead, t: t, decode: rate(s.m.DecodeRate, s.f.config.DecodeRate)}
	begun := time.Now()
	if prefill := rate(s.m.PrefillRate, s.f.config.PrefillRate); prefill > 0 {
		due := begun.Add(time.Duration(float64(s.promptN-s.cachedN) / prefill * float64(time.Second)))
		if err := p.until(due); err != nil {
			return err
		}
	}
	s.prefill = time.Since(begun)
	p.start = time.Now()
	defer p.stop()
	if !s.a.stream {
		return s.sayWhole(w, l, v, &p)
	}
	return s.sayStream(w, l, v, &p)
}

func rate(own, config float64) float64 {
	if own > 0 {
		return own
	}
	return config
}

// fit checks the prompt against the context: llama-server refuses a prompt
// that is too long, Ollama cuts it to about half of the context, or passes its
// runner's refusal on, as a string, where it must not cut.
func (s *speech) fit(ctx int) error {
	if s.promptN < ctx {
		return nil
	}
	if s.f.config.Kind == LlamaServer {
		return tooLong(s.promptN, ctx)
	}
	if s.a.uncut {
		return s.tooLongInRunner(ctx)
	}
	s.promptN = ctx/2 + 3
	return nil
}

func (s *speech) sayWhole(w http.ResponseWriter, l *lease, v voice, p *pacer) error {
	if p.busy() {
		for i := range s.length() {
			if _, err := p.step(i, l); errors.Is(err, errCutMid) {
				return s.cutBody(w, v)
			} else if err != nil {
				return err
			}
		}
	}
	if s.endless {
		all := make([]piece, 0, s.outTexts())
		for i := range s.outTexts() {
			all = append(all, s.piece(i))
		}
		s.pieces = all
	}
	s.decode = time.Since(p.start)
	buf := buffers.Get().(*[]byte)
	b := v.whole((*buf)[:0], s)
	v.header(w.Header(), false)
	if s.f.config.Kind == LlamaServer && !s.f.config.Router {
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(b))}
	}
	s.e.status.Store(200)
	s.e.tokens.Store(int32(s.outN))
	_, err := w.Write(b)
	if s.f.config.Router {
		_ = http.NewResponseController(w).Flush() // sends it in chunks
	}
	*buf = b
	buffers.Put(buf)
	return err
}

// cutBody promises the whole body and sends half of it.
func (s *speech) cutBody(w http.ResponseWriter, v voice) error {
	b := v.whole(nil, s)
	v.header(w.Header(), false)
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(b))}
	s.e.status.Store(200)
	_, _ = w.Write(b[:len(b)/2])
	_ = http.NewResponseController(w).Flush()
	return errCut
}

func (s *speech) sayStream(w http.ResponseWriter, l *lease, v voice, p *pacer) error {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	m := mouth{w: w, dress: p.t.dress, every: s.f.config.FlushEvery}
	b := (*buf)[:0]
	n := s.length()
	for i := range n {
		odd, err := p.step(i, l)
		if err != nil {
			return s.breakOff(&m, v, b, err)
		}
		if i == 0 {
			b = s.begin(w, v, b)
		}
		switch odd {
		case BreakGarbage:
			m.frame(garbageFrame(s.f.config.Kind, s.a.path))
		case BreakHugeLine:
			b = v.text(b, s, hugePiece)
		}
		b = s.frame(v, b, i)
		if err := m.frame(b); err != nil {
			return err
		}
		b = b[:0]
		s.e.tokens.Store(int32(i + 1))
		l.sl.said.Store(int32(i + 1))
		s.f.bell.ring()
	}
	if n == 0 {
		b = s.begin(w, v, b)
	}
	if _, err := p.step(n, l); err != nil {
		return s.breakOff(&m, v, b, err)
	}
	s.decode = time.Since(p.start)
	b = v.end(b, s)
	*buf = b[:0]
	return m.last(b)
}

// begin sets the headers, which go out with the first frame.
func (s *speech) begin(w http.ResponseWriter, v voice, b []byte) []byte {
	v.header(w.Header(), true)
	s.e.status.Store(200)
	return v.open(b, s)
}

// frame appends token i.
func (s *speech) frame(v voice, b []byte, i int) []byte {
	if i < len(s.thoughts) {
		return v.think(b, s, s.thoughts[i])
	}
	i -= len(s.thoughts)
	texts := s.outTexts()
	if i < texts {
		return v.text(b, s, s.piece(i))
	}
	return v.call(b, s, &s.calls[i-texts])
}

// length is how many frames the answer has before its end.
func (s *speech) length() int { return len(s.thoughts) + s.outTexts() + len(s.calls) }

// outTexts is how many of them are text.
func (s *speech) outTexts() int {
	if s.endless {
		return s.outN - len(s.thoughts)
	}
	return len(s.pieces)
}

// piece is text token i; an endless answer goes on with numbers.
func (s *speech) piece(i int) piece {
	if i < len(s.pieces) {
		return s.pieces[i]
	}
	n := " " + strconv.Itoa(i-len(s.pieces)+1)
	return piece{text: n, lit: []byte(n)}
}

// breakOff ends a stream early in the manner of err.
func (s *speech) breakOff(m *mouth, v voice, b []byte, err error) error {
	switch {
	case errors.Is(err, errCutMid):
		if !s.sent() {
			b = s.begin(m.w, v, b)
		}
		if i := int(s.e.tokens.Load()); i < s.length() {
			b = s.frame(v, b, i)
		} else {
			b = v.end(b, s)
		}
		return m.cutInside(b)
	case errors.Is(err, errNoEnd), errors.Is(err, errInFrame), errors.Is(err, errRunner):
		if !s.sent() && errors.Is(err, errRunner) {
			return err // nothing was sent: it becomes a status
		}
		if !s.sent() {
			b = s.begin(m.w, v, b)
		}
		if errors.Is(err, errRunner) {
			b = v.broken(b, s)
		}
		if errors.Is(err, errInFrame) {
			b = append(b, errorFrame(s.f.config.Kind, s.a.path)...)
		}
		_ = m.last(b)
		if s.f.config.Kind == LlamaServer && errors.Is(err, errRunner) {
			return errCut // the process is the server
		}
		return errNoEnd
	}
	return err
}

func (s *speech) sent() bool { return s.e.status.Load() != 0 }

// finish answers for what went wrong and ends the connection where that is
// how it ends.
func (s *speech) finish(w http.ResponseWriter, v voice, err error) {
	told := refusalOf(err)
	switch {
	case err == nil, errors.Is(err, errNoEnd), errors.Is(err, errTaken):
	case told != nil:
		v.refuse(w, told)
	case errors.Is(err, errRunner) && !s.sent() && s.f.config.Kind == Ollama,
		errors.Is(err, errInFrame):
		v.refuse(w, &refusal{status: http.StatusInternalServerError, text: err.Error()})
	case errors.Is(err, errCut), errors.Is(err, errCutMid), errors.Is(err, errRunner):
		panic(http.ErrAbortHandler)
	default: // the client left, or the fake ends: Ollama's log would say 499
		s.e.disconnected.Store(true)
	}
}
