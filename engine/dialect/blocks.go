package dialect

// blockKind is the sort of a block.
type blockKind uint8

const (
	blockText blockKind = iota
	blockThinking
	blockCall
)

// block is one run of an answer in the protocols that send whole blocks one
// after another (Anthropic content blocks, Responses items).
type block struct {
	kind     blockKind
	call     *call  // of a blockCall
	held     []byte // inside of a JSON literal, waiting for the block to open
	logprobs Raw    // of the held text, nil = none
	opened   bool
}

// done reports whether nothing more can belong to the block once another waits.
func (b *block) done() bool {
	return b.kind != blockCall || b.call.name != "" && b.call.args.complete()
}

// blockSink renders blocks. It is called in the order open, piece..., close for
// one block, then for the next: blocks never overlap.
type blockSink interface {
	openBlock(dst []byte, b *block) []byte
	// piece renders a part of the block: the inside of a JSON literal.
	piece(dst []byte, b *block, inside []byte, logprobs Raw) []byte
	// closeBlock ends the block; cut says that generation stopped inside it.
	closeBlock(dst []byte, b *block, cut bool) []byte
}

// sequencer brings an answer's text, reasoning and tool calls into whole
// blocks. The first block of the queue streams; what belongs to a later one is
// held until every block before it is done, so that interleaved parallel calls
// neither overlap nor lose a byte.
//
//  1. Text after text goes on; text after anything else is a new block.
//  2. A call's pieces are sorted by callTracker. Pieces of a call that has been
//     closed are dropped: its arguments were complete.
//  3. A call opens when its name is known. It ends when another block waits and
//     its arguments are a complete JSON value, or with the answer.
type sequencer struct {
	sink  blockSink
	queue []*block // first = the open one
	calls callTracker
}

// text adds the inside of a text or reasoning literal.
func (s *sequencer) text(dst []byte, kind blockKind, lit Text, logprobs Raw) []byte {
	if len(lit) <= 2 {
		return dst
	}
	inside := lit[1 : len(lit)-1]
	b := s.last()
	if b != nil && b.kind == kind {
		return s.add(dst, b, inside, logprobs)
	}
	b = &block{kind: kind}
	s.queue = append(s.queue, b)
	return s.advance(s.add(dst, b, inside, logprobs))
}

// tool adds a piece of a call.
func (s *sequencer) tool(dst []byte, d *ToolDelta) []byte {
	known := len(s.calls.calls)
	c := s.calls.add(d)
	if c == nil {
		return dst
	}
	if len(s.calls.calls) > known {
		s.queue = append(s.queue, &block{kind: blockCall, call: c})
	}
	b := s.waiting(c)
	if b == nil {
		return dst
	}
	if d.Arguments != "" {
		quoted := AppendString(nil, d.Arguments)
		dst = s.add(dst, b, quoted[1:len(quoted)-1], nil)
	}
	return s.advance(dst)
}

// waiting returns the block of a call that is not closed yet.
func (s *sequencer) waiting(c *call) *block {
	for _, b := range s.queue {
		if b.call == c {
			return b
		}
	}
	return nil
}

// add renders a piece of the open block, or holds it.
func (s *sequencer) add(dst []byte, b *block, inside []byte, logprobs Raw) []byte {
	if b.opened {
		return s.sink.piece(dst, b, inside, logprobs)
	}
	b.held = append(b.held, inside...)
	b.logprobs = joinArrays(b.logprobs, logprobs)
	return dst
}

// advance closes the first block while it is done and another waits, and opens
// the next.
func (s *sequencer) advance(dst []byte) []byte {
	for len(s.queue) > 0 {
		b := s.queue[0]
		if b.kind != blockCall || b.call.name != "" {
			dst = s.open(dst, b)
		}
		if len(s.queue) == 1 || !b.done() {
			return dst
		}
		dst = s.sink.closeBlock(dst, b, false)
		s.queue = s.queue[1:]
	}
	return dst
}

// finish renders all that waits and closes the last block. cut says that the
// answer was cut off by a limit.
func (s *sequencer) finish(dst []byte, cut bool) []byte {
	for len(s.queue) > 0 {
		b := s.queue[0]
		s.queue = s.queue[1:]
		if b.kind == blockCall && b.call.name == "" {
			continue // arguments without a name: nothing a client could run
		}
		dst = s.open(dst, b)
		dst = s.sink.closeBlock(dst, b, cut && (len(s.queue) == 0 || !b.done()))
	}
	return dst
}

// open opens the block and renders what it holds; nothing if it is open.
func (s *sequencer) open(dst []byte, b *block) []byte {
	if b.opened {
		return dst
	}
	b.opened = true
	dst = s.sink.openBlock(dst, b)
	if len(b.held) > 0 {
		dst = s.sink.piece(dst, b, b.held, b.logprobs)
	}
	b.held, b.logprobs = nil, nil
	return dst
}

func (s *sequencer) last() *block {
	if len(s.queue) == 0 {
		return nil
	}
	return s.queue[len(s.queue)-1]
}

// argumentScan gathers a call's arguments and knows when they are a whole JSON
// object or array, without parsing them twice.
type argumentScan struct {
	text             []byte
	depth            int
	inString, escape bool
	ended            bool
}

func (a *argumentScan) add(piece string) {
	a.text = append(a.text, piece...)
	for i := 0; i < len(piece); i++ {
		a.step(piece[i])
	}
}

func (a *argumentScan) step(c byte) {
	switch {
	case a.escape:
		a.escape = false
	case a.inString && c == '\\':
		a.escape = true
	case c == '"':
		a.inString = !a.inString
	case a.inString:
	case c == '{' || c == '[':
		a.depth++
	case c == '}' || c == ']':
		a.depth--
		a.ended = a.depth == 0
	}
}

// complete reports whether an object or array has been closed.
func (a *argumentScan) complete() bool { return a.ended && a.depth == 0 }

// blank reports whether s is JSON white space only.
func blank(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] != ' ' && s[i] != '\n' && s[i] != '\r' && s[i] != '\t' {
			return false
		}
	}
	return true
}

// joinArrays appends the elements of JSON array b to those of a.
func joinArrays(a, b Raw) Raw {
	switch {
	case len(b) <= 2:
		return a
	case len(a) <= 2:
		return append(Raw(nil), b...)
	}
	a = append(a[:len(a)-1], ',')
	return append(a, b[1:]...)
}
