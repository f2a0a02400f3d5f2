package runtime

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"sync"
	"unicode/utf8"
)

// lineMost bounds one line of a stream. Tool arguments and embeddings come as
// one line; Ollama itself stops at 8 MiB.
const lineMost = 64 << 20

var errLineTooLong = errors.New("line too long")

// lineReader cuts a byte stream into lines. It knows nothing of characters:
// a rune or an escape may be cut anywhere between two reads.
type lineReader struct {
	r          io.Reader
	buf        []byte
	start, end int   // unread bytes
	err        error // of r, once its bytes are used up
	most       int   // bytes of one line, 0 = lineMost
	room       *room // buf's, where it has not outgrown it
}

// room is what a line reader begins with: a burst of frames of a runtime that
// is faster than we are, to be passed on in one piece.
type room [16 << 10]byte

var rooms = sync.Pool{New: func() any { return new(room) }}

// recycle lets the reader's memory be used again. What next returned is not
// valid any more, and nothing more is read.
func (l *lineReader) recycle() {
	if l.room != nil {
		rooms.Put(l.room)
	}
	*l = lineReader{err: io.EOF}
}

// next returns the following line without its LF or CRLF, valid until the
// following call. A last line without LF is returned before io.EOF.
func (l *lineReader) next() ([]byte, error) {
	from := l.start
	for {
		if i := bytes.IndexByte(l.buf[from:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : from+i]
			l.start = from + i + 1
			return trimCR(line), nil
		}
		if l.err != nil {
			if l.err == io.EOF && l.end > l.start {
				line := l.buf[l.start:l.end]
				l.start = l.end
				return trimCR(line), nil
			}
			return nil, l.err
		}
		done := l.end - l.start
		l.fill()
		from = l.start + done
	}
}

// fill reads once, making room first. Its error waits until the bytes that
// came before or with it are used up.
func (l *lineReader) fill() {
	n := l.end - l.start
	switch {
	case n == 0:
		l.start, l.end = 0, 0
	case l.end < len(l.buf):
	case n >= cmp.Or(l.most, lineMost):
		l.err = errLineTooLong
		return
	case n <= len(l.buf)/2:
		copy(l.buf, l.buf[l.start:l.end])
		l.start, l.end = 0, n
	}
	if l.buf == nil {
		l.room = rooms.Get().(*room)
		l.buf = l.room[:]
	}
	if l.end == len(l.buf) {
		grown := make([]byte, 2*len(l.buf))
		copy(grown, l.buf[l.start:l.end])
		l.buf, l.start, l.end = grown, 0, n
	}
	got, err := l.r.Read(l.buf[l.end:])
	l.end += got
	l.err = err
}

// buffered reports whether a whole line that is not blank is here already.
func (l *lineReader) buffered() bool {
	rest := l.buf[l.start:l.end]
	for {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return false
		}
		if len(trimCR(rest[:i])) > 0 {
			return true
		}
		rest = rest[i+1:]
	}
}

func trimCR(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}

// sseDone is the data of the event that ends an OpenAI stream.
const sseDone = "[DONE]"

// sseReader reads server-sent events: it yields the data of each, its lines
// joined by LF. Comments, ids, names and retry hints are passed over; so are
// events without data.
type sseReader struct {
	lines lineReader
	data  []byte
}

// next returns the data of the following event, valid until the following
// call. The last event may lack its blank line if it is whole.
func (s *sseReader) next() ([]byte, error) {
	s.data = s.data[:0]
	some := false
	for {
		line, err := s.lines.next()
		if err == io.EOF && some && (string(s.data) == sseDone || validJSON(s.data)) {
			return s.data, nil
		}
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			if some {
				return s.data, nil
			}
			continue
		}
		value, ok := dataOf(line)
		if !ok {
			continue
		}
		if some {
			s.data = append(s.data, '\n')
		}
		if len(s.data)+len(value) > lineMost {
			return nil, errLineTooLong
		}
		some = true
		s.data = append(s.data, value...)
	}
}

// buffered reports whether a whole event with data is here already.
func (s *sseReader) buffered() bool {
	rest := s.lines.buf[s.lines.start:s.lines.end]
	some := false
	for {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return false
		}
		line := trimCR(rest[:i])
		if len(line) == 0 && some {
			return true
		}
		if _, ok := dataOf(line); ok {
			some = true
		}
		rest = rest[i+1:]
	}
}

// dataOf returns the value of a data line. Older llama-servers send their
// errors as a field "error", which is read the same way.
func dataOf(line []byte) ([]byte, bool) {
	value, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		if value, ok = bytes.CutPrefix(line, []byte("error:")); !ok {
			return nil, false
		}
		return wrapError(value), true
	}
	return bytes.TrimPrefix(value, []byte(" ")), true
}

func wrapError(value []byte) []byte {
	value = bytes.TrimSpace(value)
	if bytes.HasPrefix(value, []byte(`{"error"`)) {
		return value
	}
	out := append([]byte(`{"error":`), value...)
	return append(out, '}')
}

// frame checks one frame of a stream and mends bytes that are no UTF-8, which
// no client could read.
func frame(b []byte) ([]byte, bool) {
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
	}
	return b, len(b) > 0 && b[0] == '{' && validJSON(b)
}
