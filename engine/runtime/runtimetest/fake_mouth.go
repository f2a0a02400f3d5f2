package runtimetest

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
)

// mouth writes the frames of a stream to the socket, dressed as faults ask.
type mouth struct {
	w     http.ResponseWriter
	dress dress
	every int // frames per write to the socket
	n     int
}

// dress is how frames are written, not what they say.
type dress struct{ comments, crlf, noSpace, split bool }

// frame writes one or more whole frames.
func (m *mouth) frame(b []byte) error {
	if m.dress != (dress{}) {
		return m.odd(b)
	}
	if _, err := m.w.Write(b); err != nil {
		return err
	}
	if m.n++; m.n%max(1, m.every) == 0 {
		m.flush()
	}
	return nil
}

// last writes the final frames; the server flushes them with the end.
func (m *mouth) last(b []byte) error {
	if m.dress != (dress{}) {
		return m.odd(b)
	}
	_, err := m.w.Write(b)
	return err
}

func (m *mouth) flush() {
	if f, ok := m.w.(http.Flusher); ok {
		f.Flush()
	}
}

// odd writes frames in the faulty dress.
func (m *mouth) odd(b []byte) error {
	sse := bytes.HasPrefix(b, []byte("data:")) || bytes.HasPrefix(b, []byte("event:"))
	if sse {
		b = m.restyle(b)
	}
	for len(b) > 0 {
		n := len(b)
		if m.dress.split {
			n = cutRune(b)
		}
		if _, err := m.w.Write(b[:n]); err != nil {
			return err
		}
		m.flush()
		b = b[n:]
	}
	return nil
}

func (m *mouth) restyle(b []byte) []byte {
	s := string(b)
	if m.dress.noSpace {
		s = strings.ReplaceAll(s, "\ndata: ", "\ndata:")
		s = strings.ReplaceAll(s, "\nevent: ", "\nevent:")
		for _, name := range []string{"data:", "event:"} {
			if rest, ok := strings.CutPrefix(s, name+" "); ok {
				s = name + rest
			}
		}
	}
	if m.dress.comments {
		s = ": still here\n" + s
		if m.n++; m.n%2 == 0 {
			s = ":\n\n" + s
		}
	}
	if m.dress.crlf {
		s = strings.ReplaceAll(s, "\n", "\r\n")
	}
	return []byte(s)
}

// cutRune is where to cut so that the first rune beyond ASCII is cut in two,
// or else the frame in halves.
func cutRune(b []byte) int {
	for i, c := range b {
		if c >= 0xC0 {
			return i + 1
		}
	}
	return max(1, len(b)/2+len(b)%2)
}

// cutInside writes half of a frame inside an HTTP chunk that promises all of
// it, and drops the connection.
func (m *mouth) cutInside(b []byte) error {
	m.flush()
	conn, _, err := http.NewResponseController(m.w).Hijack()
	if err != nil {
		return errCut
	}
	_, _ = fmt.Fprintf(conn, "%x\r\n%s", len(b), b[:len(b)/2])
	_ = conn.Close()
	return errTaken
}

// hugePiece makes a line longer than bufio.Scanner takes.
var hugePiece = piece{text: strings.Repeat("x", 70<<10), lit: bytes.Repeat([]byte("x"), 70<<10)}

// isNative reports whether the path streams lines, not events.
func isNative(kind, path string) bool { return kind == Ollama && strings.HasPrefix(path, "/api/") }

func garbageFrame(kind, path string) []byte {
	if isNative(kind, path) {
		return []byte("<garbage>{\"model\":\n")
	}
	return []byte("data: <garbage>{\"id\":\n\n")
}

func errorFrame(kind, path string) []byte {
	switch {
	case isNative(kind, path):
		return []byte(`{"error":"an error was encountered while running the model: context canceled"}` + "\n")
	case strings.HasPrefix(path, "/v1/messages"):
		return []byte("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"context shift failed\"}}\n\n")
	case strings.HasPrefix(path, "/v1/responses"):
		return []byte("event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"context shift failed\",\"param\":null}\n\n")
	}
	return []byte("data: {\"error\":{\"code\":500,\"message\":\"context shift failed\",\"type\":\"server_error\"}}\n\n")
}
