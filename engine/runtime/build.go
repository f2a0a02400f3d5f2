package runtime

import (
	"slices"
	"strconv"
	"sync"

	"bellwether/engine/dialect"
)

// builder writes one JSON value, commas included.
type builder struct{ b []byte }

func newBuilder(size int) *builder {
	w := builders.Get().(*builder)
	w.b = slices.Grow(w.b[:0], size)
	return w
}

// builders are those that were given back.
var builders = sync.Pool{New: func() any { return new(builder) }}

// mostBuilderKept is the largest body, in bytes, whose memory is used for
// another.
const mostBuilderKept = 64 << 10

// outgoing is the body of a request to a runtime.
type outgoing struct {
	body []byte
	room *builder // what it was written in; nil = the body is the client's own
}

func (o *outgoing) built(w *builder) { o.body, o.room = w.b, w }

// sent lets go of the body once the runtime answers: all of it was written
// then, and a prompt may be megabytes, while the answer takes minutes.
func (o *outgoing) sent() {
	if o.room != nil && cap(o.room.b) <= mostBuilderKept {
		builders.Put(o.room)
	}
	o.body, o.room = nil, nil
}

// open begins an object or an array: '{' or '['.
func (w *builder) open(bracket byte) { w.item(); w.b = append(w.b, bracket) }

// shut ends one: '}' or ']'.
func (w *builder) shut(bracket byte) { w.b = append(w.b, bracket) }

// item writes the comma before an element, where one is due.
func (w *builder) item() {
	if n := len(w.b); n > 0 {
		switch w.b[n-1] {
		case '{', '[', ':':
		default:
			w.b = append(w.b, ',')
		}
	}
}

// key writes a member's name; its value must follow.
func (w *builder) key(name string) {
	w.item()
	w.b = dialect.AppendString(w.b, name)
	w.b = append(w.b, ':')
}

func (w *builder) str(s string)        { w.item(); w.b = dialect.AppendString(w.b, s) }
func (w *builder) text(t dialect.Text) { w.item(); w.b = dialect.AppendText(w.b, t) }
func (w *builder) raw(v dialect.Raw)   { w.item(); w.b = dialect.AppendRaw(w.b, v) }
func (w *builder) int(n int64)         { w.item(); w.b = strconv.AppendInt(w.b, n, 10) }
func (w *builder) bool(v bool)         { w.item(); w.b = strconv.AppendBool(w.b, v) }
func (w *builder) float(f float64)     { w.item(); w.b = strconv.AppendFloat(w.b, f, 'g', -1, 64) }

// base64 writes bytes that need no escape as a string.
func (w *builder) base64(data []byte) {
	w.item()
	w.b = append(w.b, '"')
	w.b = append(w.b, data...)
	w.b = append(w.b, '"')
}

// Members that are left out when their value is not said.

func (w *builder) floatIf(name string, f *float64) {
	if f != nil {
		w.key(name)
		w.float(*f)
	}
}

func (w *builder) intIf(name string, n *int) {
	if n != nil {
		w.key(name)
		w.int(int64(*n))
	}
}

func (w *builder) rawIf(name string, v dialect.Raw) {
	if v != nil {
		w.key(name)
		w.raw(v)
	}
}

func (w *builder) textIf(name string, t dialect.Text) {
	if !t.Empty() {
		w.key(name)
		w.text(t)
	}
}
