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

// encoder makes the rows of records. Its buffers serve one record after the
// other: a record costs no allocation of its own. Not for concurrent use.
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

// lines keeps what is written to it, many short lines to one piece of memory,
// which goes when the last of its lines does.
type lines struct {
	free []byte // rest of the piece in use
	last []byte // what was written last
}

// Write copies p; a json.Encoder calls it once a value.
func (l *lines) Write(p []byte) (int, error) {
	const piece = 64 << 10
	if len(l.free) < len(p) {
		l.free = make([]byte, max(piece, len(p)))
	}
	n := copy(l.free, p)
	l.last, l.free = l.free[:n:n], l.free[n:]
	return n, nil
}
