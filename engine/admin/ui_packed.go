package admin

import (
	"bytes"
	"compress/gzip"
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
	return gzipped(text, gzip.BestCompression)
}

// packedFor returns a text that is sent once as it goes over a line, nil where
// who asks takes it as it is.
func packedFor(r *http.Request, text []byte) []byte {
	if !takesGzip(r) {
		return nil
	}
	return gzipped(text, gzip.BestSpeed)
}

func gzipped(text []byte, level int) []byte {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, level)
	if err != nil {
		return nil
	}
	if _, err := z.Write(text); err != nil || z.Close() != nil {
		return nil
	}
	return out.Bytes()
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
