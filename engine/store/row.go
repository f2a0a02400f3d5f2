package store

import (
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// row is one record ready to be written.
type row struct {
	at   int64 // unix nanoseconds
	id   string
	kind kind
	body []byte // route.Record as one line of JSON
}

// kind is what filters look at besides the time. Thousands of records share one.
type kind struct{ app, model, served, node, nodeID, outcome string }

// encoder makes the rows of records, in memory that serves one batch after the
// other. Not for concurrent use.
type encoder struct {
	line []byte // the last one made
	out  lines
}

// row makes the row of a record.
func (e *encoder) row(r *route.Record) row {
	e.line = append(r.AppendJSON(e.line[:0]), '\n')
	e.out.keep(e.line)
	if cap(e.line) > linesPiece { // one huge record should not stay for good
		e.line = nil
	}
	line := row{
		at: r.At.UnixNano(), id: r.RequestID, body: e.out.last,
		kind: kind{app: r.App, model: fleet.CanonicalModel(r.RequestedModel), node: r.Node, outcome: string(r.Outcome)},
	}
	if id, ok := fleet.ParseDeploymentID(r.Chosen); ok {
		line.kind.served, line.kind.nodeID = fleet.CanonicalModel(id.Model), id.Node
	}
	return line
}

// lines keeps copies of lines, many short ones to a piece of memory.
type lines struct {
	pieces [][]byte // to be used again after reset
	used   int      // of pieces
	free   []byte   // rest of the last one
	last   []byte   // what was kept last
}

const (
	linesPiece = 64 << 10
	linesKept  = 32 // pieces: 2 MB, about a batch
)

// keep copies p.
func (l *lines) keep(p []byte) {
	if len(l.free) < len(p) {
		l.free = l.next(len(p))
	}
	n := copy(l.free, p)
	l.last, l.free = l.free[:n:n], l.free[n:]
}

// next returns a piece of n bytes at least.
func (l *lines) next(n int) []byte {
	if n > linesPiece {
		return make([]byte, n)
	}
	if l.used == len(l.pieces) {
		if l.used == linesKept { // a backlog grows: its memory goes as it is written
			return make([]byte, linesPiece)
		}
		l.pieces = append(l.pieces, make([]byte, linesPiece))
	}
	l.used++
	return l.pieces[l.used-1]
}

// reset takes back the memory of all lines; none may be in use.
func (l *lines) reset() { l.used, l.free, l.last = 0, nil, nil }
