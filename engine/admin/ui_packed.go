package admin

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

// packed holds the UI's assets as they go over a line, packed when one is asked
// for first: a third of their size, which a slow line needs fewer round trips
// for. Their names carry their hash, so each stays as it is. Its mutex guards
// kept.
type packed struct {
	mu   sync.Mutex
	kept map[string][]byte // by name; nil = it cannot be read
}

// of returns a file packed, nil where that is of no use to who asks.
func (p *packed) of(files fs.FS, name string, r *http.Request) []byte {
	if ext := path.Ext(name); ext != ".js" && ext != ".css" && ext != ".svg" || !takesGzip(r) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if b, known := p.kept[name]; known {
		return b
	}
	if p.kept == nil {
		p.kept = map[string][]byte{}
	}
	p.kept[name] = pack(files, name)
	return p.kept[name]
}

func pack(files fs.FS, name string) []byte {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil
	}
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil
	}
	if _, err := z.Write(text); err != nil || z.Close() != nil {
		return nil
	}
	return out.Bytes()
}

// parts sends an answer in parts: Flush has what was written set out, Close ends
// what was packed.
type parts struct {
	io.Writer
	packed *gzip.Writer // nil = it goes as it is
	sent   *http.ResponseController
}

func inParts(w http.ResponseWriter, packs bool) *parts {
	p := &parts{Writer: w, sent: http.NewResponseController(w)}
	if packs {
		p.packed, _ = gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is one
		p.Writer = p.packed
	}
	return p
}

func (p *parts) Flush() error {
	if p.packed != nil {
		if err := p.packed.Flush(); err != nil {
			return err
		}
	}
	return p.sent.Flush()
}

func (p *parts) Close() error {
	if p.packed == nil {
		return nil
	}
	return p.packed.Close()
}

// takesGzip reads Accept-Encoding: gzip is named, and not refused.
func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";q=")
		if strings.EqualFold(name, "gzip") {
			return strings.Trim(q, "0.") != "" || q == ""
		}
	}
	return false
}
