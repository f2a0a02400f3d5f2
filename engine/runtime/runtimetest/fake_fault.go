package runtimetest

import "time"

// Break is what happens to an answer in its middle.
type Break string

// Breaks. "tokens" counts pieces of thinking, text and tool calls alike.
const (
	BreakNone     Break = ""
	BreakCut      Break = "cut"      // the connection drops between two frames
	BreakCutMid   Break = "cut-mid"  // the connection drops inside a frame and its HTTP chunk
	BreakRunner   Break = "runner"   // the runner process dies, as recorded in 40-runner-killed-mid-stream
	BreakEnd      Break = "end"      // a clean end without the terminator
	BreakError    Break = "error"    // an error frame, then a clean end
	BreakGarbage  Break = "garbage"  // one frame that is no JSON; the answer goes on after it
	BreakUnload   Break = "unload"   // the model leaves memory; the answer goes on
	BreakHang     Break = "hang"     // silence until the client leaves or Heal
	BreakHold     Break = "hold"     // silence until Release or Heal; the answer goes on
	BreakHugeLine Break = "hugeline" // one frame of more than 64 KiB; the answer goes on
)

// Fault is one thing that goes wrong. Match fields choose the requests; all
// effects that are set happen.
type Fault struct {
	Path  string // prefix of the request path; "" = paths that generate or embed, "*" = all
	Model string // "" = any
	Skip  int    // matching requests that pass before it hits
	Times int    // requests it hits; 0 = until Heal

	Delay      time.Duration // before status and headers
	TokenDelay time.Duration // before each token

	Status      int    // answer at once with this; with 200 it is an answer that is no completion
	Body        string // of that answer
	ContentType string // of that answer; "" = application/json
	RetryAfter  string // header of that answer

	Break Break
	After int // tokens before Break; 0 = before the first one, so before headers

	LoadDelay time.Duration // added to a load of Model
	LoadFail  string        // a load of Model fails with this text

	Comments  bool // SSE comment lines between the frames
	CRLF      bool // SSE records end in CRLF
	NoSpace   bool // "data:{...}" without the space
	SplitUTF8 bool // every frame is written in pieces that cut runes

	ThinkOnly    bool // everything is said as thinking, nothing as content
	SwallowCalls bool // tool calls vanish as those to undeclared tools do: tokens are counted, content is empty
	EmptyEntries bool // /api/ps lists a half-empty entry
}

// QueueFull is Ollama's answer when too many requests wait for a load.
func QueueFull() Fault {
	return Fault{Status: 503, Body: `{"error":"server busy, please try again.  maximum pending requests exceeded"}`}
}
