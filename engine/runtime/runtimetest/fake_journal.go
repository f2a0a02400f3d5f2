package runtimetest

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Request is one request the fake received.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         []byte // nil when the log gave it up for newer ones
	At           time.Time
	Model        string // as spelled in the body, "" = none
	Status       int    // 0 = nothing was sent yet
	Tokens       int    // pieces of the answer written so far
	Disconnected bool   // the client left before the answer was complete
	Held         bool   // silent by BreakHold or BreakHang
	Done         bool   // the fake is finished with it
}

// entry is one line of the journal while its handler still writes to it.
type entry struct {
	Request      // fixed after note, except Body, which the journal owns
	status       atomic.Int32
	tokens       atomic.Int32
	disconnected atomic.Bool
	held         atomic.Bool
	done         atomic.Bool
	model        atomic.Pointer[string]
}

// journalBytes bounds the bodies kept, so that a benchmark with 1 MB prompts
// does not fill the memory.
const journalBytes = 64 << 20

// journal owns the log of requests.
type journal struct {
	keep int // most entries, 0 = none

	mu     sync.Mutex // guards what follows
	list   []*entry
	bytes  int
	bodies int // entries before this index gave up their body
}

// note starts an entry. body may be added later, once it is read.
func (j *journal) note(r *http.Request) *entry {
	e := &entry{Request: Request{Method: r.Method, Path: r.URL.RequestURI(), At: time.Now()}}
	if j.keep <= 0 {
		return e
	}
	e.Header = r.Header
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.list) >= 2*j.keep { // drop in batches, so that each entry is moved once
		gone := len(j.list) - j.keep
		j.list = append([]*entry(nil), j.list[gone:]...)
		j.bytes = 0
		for _, kept := range j.list {
			j.bytes += len(kept.Body)
		}
		j.bodies = max(0, j.bodies-gone)
	}
	j.list = append(j.list, e)
	return e
}

// body hands the read body of e to the journal.
func (j *journal) body(e *entry, body []byte) {
	if j.keep <= 0 || len(body) == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Body = body
	j.bytes += len(body)
	for j.bytes > journalBytes && j.bodies < len(j.list)-1 {
		j.bytes -= len(j.list[j.bodies].Body)
		j.list[j.bodies].Body = nil
		j.bodies++
	}
}

// all copies the newest entries, oldest first.
func (j *journal) all() []Request {
	j.mu.Lock()
	defer j.mu.Unlock()
	list := j.list[max(0, len(j.list)-j.keep):]
	out := make([]Request, len(list))
	for i, e := range list {
		r := e.Request
		if m := e.model.Load(); m != nil {
			r.Model = *m
		}
		r.Status, r.Tokens = int(e.status.Load()), int(e.tokens.Load())
		r.Held, r.Done, r.Disconnected = e.held.Load(), e.done.Load(), e.disconnected.Load()
		out[i] = r
	}
	return out
}

func (j *journal) forget() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.list, j.bytes, j.bodies = nil, 0, 0
}
