package runtimetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// Break is what happens to an answer in its middle.
type Break string

// Breaks. A token is one piece of thinking or text, or one whole tool call.
const (
	BreakCut      Break = "cut"       // the connection drops between two frames
	BreakCutMid   Break = "cut-mid"   // the connection drops inside a frame and its HTTP chunk
	BreakRunner   Break = "runner"    // the runner process dies, as recorded in 40-runner-killed-mid-stream
	BreakEnd      Break = "end"       // a clean end without the terminator
	BreakError    Break = "error"     // an error frame, then a clean end
	BreakGarbage  Break = "garbage"   // one frame that is no JSON; the answer goes on after it
	BreakUnload   Break = "unload"    // the model leaves memory; the answer goes on
	BreakHang     Break = "hang"      // silence until the client leaves or the fake ends
	BreakHold     Break = "hold"      // silence until Release or Heal, called once the request is there; the answer goes on
	BreakHugeLine Break = "huge-line" // one frame of more than 64 KiB; the answer goes on
)

// Fault is one thing that goes wrong. Match fields choose the requests; all
// effects that are set happen, those of several faults together.
type Fault struct {
	Path  string // prefix of the request path; "" = paths that generate or embed, "*" = all
	Model string // as Requests spell it, or with its tag; "" = any
	Skip  int    // matching requests that pass before it hits
	Times int    // requests it hits; 0 = until Heal

	Delay      time.Duration // before status and headers; the slot is not yet taken
	TokenDelay time.Duration // before each token

	Status      int    // answer at once with this; with 200 it is an answer that is no completion
	Body        string // of that answer
	ContentType string // of that answer; "" = application/json
	RetryAfter  string // Retry-After header of that answer

	Break Break
	After int // tokens before Break; 0 = before the first one, so before status and headers

	// These two hit loads of Model instead of requests, and exclude the other effects.
	LoadDelay time.Duration // added to the load
	LoadFail  string        // the load fails with this text

	Comments  bool // SSE comment lines between the frames
	CRLF      bool // SSE records end in CRLF
	NoSpace   bool // "data:{...}" without the space
	SplitUTF8 bool // every frame is written in pieces that cut runes

	ThinkOnly    bool // everything is said as thinking, nothing as content
	SwallowCalls bool // tool calls vanish as those to undeclared tools do: tokens are counted, content is empty
	Endless      bool // the answer goes on with numbers and heeds no limit; only its client ends it
	EmptyEntries bool // /api/ps lists a half-empty entry
}

// UnmarshalJSON reads a fault as POST /__control sends it: names in snake
// case, durations as "250ms".
func (f *Fault) UnmarshalJSON(b []byte) error {
	var w struct {
		Path, Model, Body  string
		Skip, Times, After int
		Status             int
		Break              Break
		CRLF               bool
		Comments           bool
		Delay              string
		TokenDelay         string `json:"token_delay"`
		LoadDelay          string `json:"load_delay"`
		ContentType        string `json:"content_type"`
		RetryAfter         string `json:"retry_after"`
		LoadFail           string `json:"load_fail"`
		NoSpace            bool   `json:"no_space"`
		SplitUTF8          bool   `json:"split_utf8"`
		ThinkOnly          bool   `json:"think_only"`
		SwallowCalls       bool   `json:"swallow_calls"`
		Endless            bool
		EmptyEntries       bool `json:"empty_entries"`
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return err
	}
	*f = Fault{Path: w.Path, Model: w.Model, Skip: w.Skip, Times: w.Times, Status: w.Status, Body: w.Body,
		ContentType: w.ContentType, RetryAfter: w.RetryAfter, Break: w.Break, After: w.After, LoadFail: w.LoadFail,
		Comments: w.Comments, CRLF: w.CRLF, NoSpace: w.NoSpace, SplitUTF8: w.SplitUTF8,
		ThinkOnly: w.ThinkOnly, SwallowCalls: w.SwallowCalls, Endless: w.Endless, EmptyEntries: w.EmptyEntries}
	for _, d := range []struct {
		name, value string
		to          *time.Duration
	}{{"delay", w.Delay, &f.Delay}, {"token_delay", w.TokenDelay, &f.TokenDelay}, {"load_delay", w.LoadDelay, &f.LoadDelay}} {
		if d.value == "" {
			continue
		}
		v, err := time.ParseDuration(d.value)
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		*d.to = v
	}
	return f.check()
}

// check refuses a break that does not exist: it would pass silently.
func (f *Fault) check() error {
	switch f.Break {
	case "", BreakCut, BreakCutMid, BreakRunner, BreakEnd, BreakError, BreakGarbage, BreakUnload, BreakHang, BreakHold, BreakHugeLine:
		return nil
	}
	return fmt.Errorf("unknown break %q", f.Break)
}

// QueueFull is Ollama's answer when too many requests wait for a load.
func QueueFull() Fault {
	return Fault{Status: 503, ContentType: ollamaJSON,
		Body: `{"error":"server busy, please try again.  maximum pending requests exceeded"}`}
}

// faultBook holds the faults in force. The fake's mutex guards it, except any.
type faultBook struct {
	any  atomic.Bool // whether there are faults: the common case takes no lock
	list []*planned
	gate chan struct{} // closed by release: the requests hit so far go on
}

type planned struct {
	Fault
	seen, hit int
}

func (p *planned) spent() bool { return p.Times > 0 && p.hit >= p.Times }

func (b *faultBook) inject(faults []Fault) {
	for _, f := range faults {
		b.list = append(b.list, &planned{Fault: f})
	}
	b.any.Store(len(b.list) > 0)
}

func (b *faultBook) heal() {
	b.list = nil
	b.any.Store(false)
	b.release()
}

func (b *faultBook) release() {
	if b.gate != nil {
		close(b.gate)
		b.gate = nil
	}
}

// meet returns what hits a request, nil when nothing does, and the gate that
// lets it out of a hold. key is the model's key, "" when none was named; same
// turns a fault's spelling of a model into its key.
func (b *faultBook) meet(path, key string, generates bool, same func(name string) string) (out []*Fault, gate <-chan struct{}) {
	if b.gate == nil {
		b.gate = make(chan struct{})
	}
	for _, p := range b.list {
		if p.onlyLoads() || p.spent() || !p.concerns(path, key, generates, same) {
			continue
		}
		if p.seen++; p.seen <= p.Skip {
			continue
		}
		p.hit++
		out = append(out, &p.Fault)
	}
	return out, b.gate
}

func (f *Fault) concerns(path, key string, generates bool, same func(string) string) bool {
	switch f.Path {
	case "":
		if !generates {
			return false
		}
	case "*":
	default:
		if !strings.HasPrefix(path, f.Path) {
			return false
		}
	}
	return f.Model == "" || same(f.Model) == key
}

func (f *Fault) onlyLoads() bool { return f.LoadDelay > 0 || f.LoadFail != "" }

// load returns what hits a load of the model.
func (b *faultBook) load(key string, same func(string) string) (delay time.Duration, failure string) {
	for _, p := range b.list {
		if !p.onlyLoads() || p.spent() || p.Model != "" && same(p.Model) != key {
			continue
		}
		if p.seen++; p.seen <= p.Skip {
			continue
		}
		p.hit++
		delay += p.LoadDelay
		if p.LoadFail != "" {
			failure = p.LoadFail
		}
	}
	return delay, failure
}
