package runtimetest

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Exchange is one recorded request and its answer.
type Exchange struct {
	Name   string // of the file, without .txt
	Method string
	Path   string
	Header http.Header // of the request, beyond what every client sends
	Body   []byte      // of the request

	Status       int
	AnswerHeader http.Header
	Answer       []byte // body of the answer, chunks joined
}

// ErrNoExchange is what ReadExchange returns for a file that is a note of
// several requests.
var ErrNoExchange = errors.New("not a recorded exchange")

//go:embed testdata/ollama/*.txt testdata/llama-server/*.txt
var recordings embed.FS

// Recorded returns the recorded exchanges of a kind, in the order they were
// made. The notes of several requests are left out.
func Recorded(kind string) []*Exchange {
	list, err := readExchanges(recordings, "testdata/"+kind)
	if err != nil {
		panic(err) // they are built in
	}
	return list
}

// ReadExchange reads one recording.
func ReadExchange(file string) (*Exchange, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parseExchange(path.Base(file), b)
}

func readExchanges(fsys fs.FS, dir string) ([]*Exchange, error) {
	files, err := fs.Glob(fsys, path.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var list []*Exchange
	for _, file := range files {
		b, err := fs.ReadFile(fsys, file)
		if err != nil {
			return nil, err
		}
		x, err := parseExchange(path.Base(file), b)
		if errors.Is(err, ErrNoExchange) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

// parseExchange reads the form: request line, headers, blank line, body, a
// line "----- response", the answer likewise, a line "----- 200 in ...".
func parseExchange(name string, b []byte) (*Exchange, error) {
	request, answer, ok := bytes.Cut(b, []byte("\n----- response\n"))
	end := bytes.LastIndex(answer, []byte("\n----- "))
	if !ok || end < 0 {
		return nil, fmt.Errorf("%s: %w", name, ErrNoExchange)
	}
	x := &Exchange{Name: strings.TrimSuffix(name, ".txt")}
	head, body, _ := bytes.Cut(request, []byte("\n\n"))
	first, headers, _ := strings.Cut(string(head), "\n")
	x.Method, x.Path, ok = strings.Cut(strings.TrimSpace(first), " ")
	if !ok {
		return nil, fmt.Errorf("%s: no request line", name)
	}
	x.Header = headersOf(headers)
	x.Body = bytes.TrimSuffix(body, []byte("\n"))

	head, body, _ = bytes.Cut(answer[:end], []byte("\n\n"))
	first, headers, _ = strings.Cut(string(head), "\n")
	_, status, _ := strings.Cut(first, " ")
	code, _, _ := strings.Cut(status, " ")
	var err error
	if x.Status, err = strconv.Atoi(code); err != nil {
		return nil, fmt.Errorf("%s: status: %w", name, err)
	}
	x.AnswerHeader = headersOf(headers)
	x.Answer = body
	return x, nil
}

func headersOf(lines string) http.Header {
	h := http.Header{}
	scan := bufio.NewScanner(strings.NewReader(lines))
	for scan.Scan() {
		if name, value, ok := strings.Cut(scan.Text(), ":"); ok {
			h.Add(name, strings.TrimSpace(value))
		}
	}
	return h
}

// Replay answers requests with recordings. A request recorded several times
// gets the answers in their order, then the last one for ever.
type Replay struct {
	byRequest map[string][]*Exchange

	mu    sync.Mutex // guards given
	given map[string]int
}

// OpenReplay reads the recordings of a directory.
func OpenReplay(dir string) (*Replay, error) {
	list, err := readExchanges(os.DirFS(dir), ".")
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("fake runtime: no recordings in %s", dir)
	}
	return NewReplay(list), nil
}

// NewReplay answers with the exchanges of list.
func NewReplay(list []*Exchange) *Replay {
	r := &Replay{byRequest: map[string][]*Exchange{}, given: map[string]int{}}
	for _, x := range list {
		key := requestKey(x.Method, x.Path, x.Header.Get("Host"), x.Header, x.Body)
		r.byRequest[key] = append(r.byRequest[key], x)
	}
	return r
}

// Find returns the recording of an equal request, nil when there is none.
// Equal are method, path, key, origin, a foreign host, and the JSON value of
// the body, which the caller has read.
func (r *Replay) Find(req *http.Request, body []byte) *Exchange {
	host := req.Host
	if ownHost(host) {
		host = ""
	}
	key := requestKey(req.Method, req.URL.Path, host, req.Header, body)
	list := r.byRequest[key]
	if len(list) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	x := list[min(r.given[key], len(list)-1)]
	r.given[key]++
	return x
}

func requestKey(method, path, host string, h http.Header, body []byte) string {
	var v any
	if json.Unmarshal(body, &v) == nil {
		body, _ = json.Marshal(v) // members in order
	}
	return strings.Join([]string{method, path, h.Get("Authorization"), h.Get("Origin"), host, string(body)}, "\n")
}

// write answers with the recording, a stream frame by frame.
func (x *Exchange) write(w http.ResponseWriter) {
	h := w.Header()
	for name, values := range x.AnswerHeader {
		switch name {
		case "Date", "Content-Length", "Transfer-Encoding":
		default:
			h[name] = values
		}
	}
	if x.AnswerHeader.Get("Date") == "" {
		h["Date"] = nil
	}
	chunked := x.AnswerHeader.Get("Transfer-Encoding") == "chunked"
	switch {
	case x.Method == http.MethodHead:
		h["Content-Length"] = x.AnswerHeader["Content-Length"]
	case !chunked: // not the recorded length: paths in the recordings were shortened
		h.Set("Content-Length", strconv.Itoa(len(x.Answer)))
	}
	w.WriteHeader(x.Status)
	for rest := x.Answer; len(rest) > 0; {
		n := len(rest)
		if i := bytes.Index(rest, []byte(frameEnd(h.Get("Content-Type")))); chunked && i >= 0 {
			n = i + len(frameEnd(h.Get("Content-Type")))
		}
		_, _ = w.Write(rest[:n])
		if chunked {
			_ = http.NewResponseController(w).Flush()
		}
		rest = rest[n:]
	}
}

func frameEnd(contentType string) string {
	if contentType == eventText {
		return "\n\n"
	}
	return "\n"
}
