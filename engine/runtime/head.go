package runtime

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"time"
)

// head is what a response says before its body, as far as anyone here asks.
// net/http would make a map of all headers first, which cost more than writing
// the request.
type head struct {
	status      int
	old         bool // HTTP/1.0, which knows no chunks
	contentType string
	server      string
	router      bool // a Bellwether answers
	keep        time.Duration
	retryAfter  time.Duration // 0 = it does not say
	close       bool          // the connection ends with the body
	chunked     bool          // else
	length      int64         // bytes of the body, -1 = to the connection's end
}

var (
	errBadHead  = errors.New("the answer does not begin as HTTP does")
	errSwitched = errors.New("the runtime switched protocols unasked")
	errNoEnd    = errors.New("malformed end of a body in chunks")
)

// readHead reads the head of the final response to a request of the given
// method; those of class 1xx before it are passed over.
func (w *wire) readHead(method string) (h head, err error) {
	for {
		w.headLeft = headMost
		h, err = parseHead(w.br)
		w.headLeft = -1
		switch {
		case err == io.EOF:
			return h, io.ErrUnexpectedEOF
		case err != nil:
			return h, err
		case h.status == http.StatusSwitchingProtocols:
			return h, errSwitched
		case h.status < 200:
			continue
		}
		if method == http.MethodHead || h.status == http.StatusNoContent || h.status == http.StatusNotModified {
			h.chunked, h.length = false, 0
		}
		h.close = h.close || !h.chunked && h.length < 0
		return h, nil
	}
}

// parseHead reads one head to its blank line. io.EOF is returned only where
// nothing came at all.
func parseHead(br *bufio.Reader) (h head, err error) {
	line, err := readLine(br)
	if err != nil {
		return h, err
	}
	h = head{keep: idleFor, length: -1}
	if err := h.statusLine(line); err != nil {
		return h, err
	}
	for {
		line, err := readLine(br)
		switch {
		case err == io.EOF:
			return h, io.ErrUnexpectedEOF
		case err != nil:
			return h, err
		case len(line) == 0:
			return h, nil
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || len(name) == 0 || bytes.ContainsAny(name, " \t") { // a folded line too: nobody sends them any more
			return h, errBadHead
		}
		if err := h.field(name, bytes.TrimSpace(value)); err != nil {
			return h, err
		}
	}
}

// statusLine reads "HTTP/1.1 200 OK"; the words may be missing.
func (h *head) statusLine(line []byte) error {
	version, rest, _ := bytes.Cut(line, []byte(" "))
	code, _, _ := bytes.Cut(bytes.TrimLeft(rest, " "), []byte(" "))
	n, err := strconv.Atoi(string(code))
	if err != nil || len(code) != 3 || n < 100 {
		return errBadHead
	}
	switch string(version) {
	case "HTTP/1.1":
	case "HTTP/1.0":
		h.old, h.close = true, true // closes unless it says otherwise
	default:
		return errBadHead
	}
	h.status = n
	return nil
}

// field takes one header. Its arguments are valid during the call only.
func (h *head) field(name, value []byte) error {
	is := func(want string) bool { return len(name) == len(want) && strings.EqualFold(string(name), want) }
	switch {
	case is("Content-Length"):
		n, err := strconv.ParseUint(string(value), 10, 63)
		if err != nil || h.length >= 0 && h.length != int64(n) {
			return errBadHead
		}
		h.length = int64(n)
	case is("Transfer-Encoding"):
		if !h.old && !strings.EqualFold(string(value), "chunked") {
			return errBadHead // none other was asked for
		}
		h.chunked = !h.old
	case is("Connection"):
		for option := range strings.SplitSeq(string(value), ",") {
			switch option = strings.TrimSpace(option); {
			case strings.EqualFold(option, "close"):
				h.close = true
			case strings.EqualFold(option, "keep-alive"):
				h.close = false
			}
		}
	case is("Keep-Alive"):
		h.keep = keepAlive(string(value))
	case is("Retry-After"):
		h.retryAfter = retryAfter(string(value), time.Now())
	case is("Content-Type"):
		h.contentType = string(value)
	case is("Server"):
		h.server = string(value)
	case is(HeaderRouter):
		h.router = true
	}
	return nil
}

// keepAlive reads how long the server keeps an idle connection (llama-server
// says timeout=5), less a second for the way there.
func keepAlive(value string) time.Duration {
	for v := range strings.SplitSeq(value, ",") {
		if s, ok := strings.CutPrefix(strings.TrimSpace(v), "timeout="); ok {
			if n, err := strconv.Atoi(s); err == nil && n >= 0 {
				return min(idleFor, max(0, time.Duration(n)*time.Second-time.Second))
			}
		}
	}
	return idleFor
}

// mostRetryAfter bounds what a runtime may have clients wait.
const mostRetryAfter = time.Hour

// retryAfter reads when a server wants to be asked again, in seconds or as a
// date; 0 where it is neither.
func retryAfter(value string, now time.Time) time.Duration {
	var d time.Duration
	if n, err := strconv.ParseUint(value, 10, 31); err == nil {
		d = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		d = at.Sub(now)
	} else {
		return 0
	}
	return min(max(d, time.Second), mostRetryAfter)
}

// readLine returns the next line without its end, valid until the next read.
func readLine(br *bufio.Reader) ([]byte, error) {
	line, err := br.ReadSlice('\n')
	if err == bufio.ErrBufferFull { // rare; the wire bounds it
		long := bytes.Clone(line)
		for err == bufio.ErrBufferFull {
			line, err = br.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	if err != nil {
		if err == io.EOF && len(line) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return trimCR(line[:len(line)-1]), nil
}

// body returns a response's body, which follows the head in br.
func (h *head) body(br *bufio.Reader) io.Reader {
	switch {
	case h.chunked:
		return &chunkedBody{br: br, data: httputil.NewChunkedReader(br)}
	case h.length < 0:
		return &countedBody{br: br, left: math.MaxInt64}
	}
	return &countedBody{br: br, left: h.length, counted: true}
}

// countedBody is a body whose length was said, or one that ends with the
// connection. The end of a counted one comes with its last bytes.
type countedBody struct {
	br      *bufio.Reader
	left    int64
	counted bool
}

func (b *countedBody) Read(p []byte) (n int, err error) {
	if b.left > 0 && len(p) > 0 {
		n, err = b.br.Read(p[:min(int64(len(p)), b.left)])
		b.left -= int64(n)
	}
	switch {
	case b.left == 0:
		return n, io.EOF
	case err == io.EOF && b.counted:
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// chunkedBody is a body in chunks. It ends after the lines that may follow
// the last one, so that the connection stands at the next response.
type chunkedBody struct {
	br   *bufio.Reader
	data io.Reader
	over error
}

func (b *chunkedBody) Read(p []byte) (int, error) {
	if b.over != nil {
		return 0, b.over
	}
	n, err := b.data.Read(p)
	if err == io.EOF {
		err = b.trailer()
	}
	b.over = err
	return n, err
}

// trailer passes over the lines after the last chunk; io.EOF is well.
func (b *chunkedBody) trailer() error {
	for left := headMost; left > 0; {
		line, err := readLine(b.br)
		switch {
		case err == io.EOF:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case len(line) == 0:
			return io.EOF
		}
		left -= len(line)
	}
	return errNoEnd
}
