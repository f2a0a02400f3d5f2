package runtime

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// answerOf reads a whole response as a wire does.
func answerOf(in io.Reader, method string) (head, []byte, error) {
	w := &wire{headLeft: -1, br: bufio.NewReaderSize(in, 64)} // small, so that lines outgrow it
	h, err := w.readHead(method)
	if err != nil {
		return h, nil, err
	}
	body, err := io.ReadAll(h.body(w.br))
	return h, body, err
}

func TestHeadsAreReadAsTheyComeFromServers(t *testing.T) {
	for name, c := range map[string]struct {
		sent string
		want head
		body string
	}{
		"ollama": {
			"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nDate: Tue, 03 Nov 2026 09:00:00 GMT\r\nContent-Length: 2\r\n\r\n{}",
			head{status: 200, contentType: "application/json; charset=utf-8", keep: idleFor, length: 2}, "{}",
		},
		"llama-server's stream": {
			"HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5, max=100\r\nServer: llama.cpp\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nTrailer: x\r\n\r\n",
			head{status: 200, contentType: "text/event-stream", server: "llama.cpp", keep: 4 * time.Second, chunked: true, length: -1}, "abcdefg",
		},
		"to the end":          {"HTTP/1.1 200 OK\r\n\r\nall of it", head{status: 200, keep: idleFor, length: -1, close: true}, "all of it"},
		"closing":             {"HTTP/1.1 500 Internal Server Error\r\nconnection: Close\r\ncontent-length:0\r\n\r\n", head{status: 500, keep: idleFor, close: true}, ""},
		"an old version":      {"HTTP/1.0 200 OK\nContent-Length: 1\n\nx", head{status: 200, old: true, keep: idleFor, close: true, length: 1}, "x"},
		"old, kept":           {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", head{status: 200, old: true, keep: idleFor, length: 1}, "x"},
		"an early hint":       {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204\r\n\r\n", head{status: 204, keep: idleFor}, ""},
		"a bellwether":        {"HTTP/1.1 200 OK\r\nX-Fleet-Router: bellwether\r\nContent-Length: 0\r\n\r\n", head{status: 200, keep: idleFor, router: true}, ""},
		"chunks and a length": {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", head{status: 200, keep: idleFor, chunked: true, length: 9}, "x"},
		"a long line":         {"HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("x", 500) + "\r\nContent-Length: 1\r\n\r\nx", head{status: 200, keep: idleFor, length: 1}, "x"},
	} {
		for _, in := range []io.Reader{strings.NewReader(c.sent), iotest.OneByteReader(strings.NewReader(c.sent))} {
			h, body, err := answerOf(in, http.MethodPost)
			if err != nil || h != c.want || string(body) != c.body {
				t.Errorf("%s: got %+v %q, %v", name, h, body, err)
			}
		}
	}
	if h, body, err := answerOf(strings.NewReader("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), http.MethodHead); err != nil || len(body) > 0 || h.close {
		t.Errorf("HEAD: got %+v %q, %v", h, body, err)
	}
}

func TestAnswersThatAreNoneOrEndEarlyAreErrors(t *testing.T) {
	for _, sent := range []string{
		"", "HTTP/1.1", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n", "SSH-2.0-x\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\nx",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nxx", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxx\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxx\r\n0\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
	} {
		if h, body, err := answerOf(strings.NewReader(sent), http.MethodPost); err == nil {
			t.Errorf("%q: got %+v %q", sent, h, body)
		}
	}
}

// FuzzHeadsAgreeWithNetHTTP holds our reading against net/http's: what we take
// it takes too, with the same framing. It takes more (folded lines).
func FuzzHeadsAgreeWithNetHTTP(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: a\r\n\r\n{}", "HTTP/1.0 404 Not Found\r\nConnection: close, x\r\n\r\nxyz", "HTTP/1.1 304\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 7\r\n\r\n1\r\nx\r\n0\r\n\r\n", "HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 1\n\nx",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		w := &wire{headLeft: -1, br: bufio.NewReaderSize(bytes.NewReader(sent), 4<<10)}
		h, err := parseHead(w.br)
		if err != nil || h.status < 200 {
			return
		}
		want, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(sent)), &http.Request{Method: http.MethodPost})
		if err != nil {
			t.Skip() // it is stricter about names and values that we do not look at
		}
		h, body, bodyErr := answerOf(bytes.NewReader(sent), http.MethodPost)
		wantBody, wantErr := io.ReadAll(want.Body)
		if h.status != want.StatusCode || h.contentType != want.Header.Get("Content-Type") && len(want.Header.Values("Content-Type")) < 2 {
			t.Errorf("%q: got %+v, want %+v", sent, h, want)
		}
		if bodyErr == nil && wantErr != nil && h.chunked {
			t.Skip() // about the lines after the last chunk, which we pass over
		}
		if (bodyErr == nil) != (wantErr == nil) || bodyErr == nil && !bytes.Equal(body, wantBody) {
			t.Errorf("%q: got %q %v, want %q %v", sent, body, bodyErr, wantBody, wantErr)
		}
		if want.Close && !h.close {
			t.Errorf("%q: net/http closes the connection", sent)
		}
	})
}
