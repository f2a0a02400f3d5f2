package store

import (
	"encoding/json"

	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// row is one record ready to be written.
type row struct {
	at                                            int64 // unix nanoseconds
	id, app, model, served, node, nodeID, outcome string
	body                                          []byte // route.Record as one line of JSON
}

// encoder makes the rows of records, in memory that serves one batch after the
// other. Not for concurrent use.
type encoder struct {
	json *json.Encoder
	out  lines
}

func newEncoder() *encoder {
	e := new(encoder)
	e.json = json.NewEncoder(&e.out)
	e.json.SetEscapeHTML(false)
	return e
}

// row makes the row of a record.
func (e *encoder) row(r *route.Record) (row, error) {
	if err := e.json.Encode(r); err != nil {
		return row{}, err
	}
	line := row{
		at: r.At.UnixNano(), id: r.RequestID, app: r.App, model: fleet.CanonicalModel(r.RequestedModel),
		node: r.Node, outcome: string(r.Outcome), body: e.out.last,
	}
	if id, ok := fleet.ParseDeploymentID(r.Chosen); ok {
		line.served, line.nodeID = fleet.CanonicalModel(id.Model), id.Node
	}
	return line, nil
}

// lines keeps what is written to it, many short lines to a piece of memory.
type lines struct {
	pieces [][]byte // to be used again after reset
	used   int      // of pieces
	free   []byte   // rest of the last one
	last   []byte   // what was written last
}

const (
	linesPiece = 64 << 10
	linesKept  = 32 // pieces: 2 MB, about a batch
)

// Write copies p; a json.Encoder calls it once a value.
func (l *lines) Write(p []byte) (int, error) {
	if len(l.free) < len(p) {
		l.free = l.next(len(p))
	}
	n := copy(l.free, p)
	l.last, l.free = l.free[:n:n], l.free[n:]
	return n, nil
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
