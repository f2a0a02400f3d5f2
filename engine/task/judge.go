package task

import (
	"sync"

	"bellwether/engine/dialect"
)

// work is what judging one request needs; the marks in it are too big for a
// stack.
type work struct {
	text     []byte
	features Features
}

var works = sync.Pool{New: func() any {
	return &work{text: make([]byte, 0, 8<<10), features: Features{buckets: make([]uint16, 0, 4<<10)}}
}}

// Of returns the confidences of what a request's text asks for. It may be
// called from any goroutine.
func Of(r *dialect.Request) Scores {
	w := works.Get().(*work)
	defer works.Put(w)
	in := Read(r, w.text)
	w.features.Extract(&in)
	return trained.score(&w.features)
}
