package gateway

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"bellwether/engine/dialect"
)

// bodyPatience is how long a client may take to send its body, unless Config
// says otherwise.
const bodyPatience = 2 * time.Minute

// errTooLarge marks a body over the limit, before or after decompression.
var errTooLarge = errors.New("body too large")

// readBody returns the whole request body, decompressed, at most limit bytes.
func readBody(w http.ResponseWriter, r *http.Request, limit int64, patience time.Duration) ([]byte, *dialect.Problem) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(patience))
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	in, size := io.Reader(r.Body), r.ContentLength
	if size < 0 { // else net/http keeps to it
		in = http.MaxBytesReader(w, r.Body, limit)
	}
	codings := codingsOf(r)
	if len(codings) > maxCodings {
		return nil, badEncoding("more than two Content-Encodings")
	}
	for _, enc := range codings {
		switch enc {
		case "gzip", "x-gzip":
			z, err := gzip.NewReader(in)
			if err != nil {
				return nil, badEncoding("gzip")
			}
			in, size = z, -1
		case "zstd":
			z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(limit)), zstd.WithDecoderLowmem(true))
			if err != nil {
				return nil, badEncoding("zstd")
			}
			defer z.Close()
			in, size = z, -1
		default:
			return nil, &dialect.Problem{Status: http.StatusUnsupportedMediaType, Code: "unsupported_encoding",
				Message: "The body's Content-Encoding " + printable(enc) + " is not known here.", Remedy: "Send it plain, gzip or zstd."}
		}
	}
	body, err := readAll(in, size, limit)
	var over *http.MaxBytesError
	switch {
	case err == nil:
		_ = rc.SetReadDeadline(time.Time{}) // else it stays: what is left of a body is read before the next request
		return body, nil
	case errors.Is(err, errTooLarge), errors.As(err, &over), errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
		return nil, tooLarge(limit)
	case size < 0 && (errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, zstd.ErrMagicMismatch) || errors.Is(err, io.ErrUnexpectedEOF)):
		return nil, badEncoding("as its Content-Encoding says")
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		return nil, &dialect.Problem{Status: http.StatusRequestTimeout, Code: "body_timeout",
			Message: "The request body did not arrive in time.", Remedy: "Send the request again."}
	default:
		return nil, &dialect.Problem{Status: http.StatusBadRequest, Code: "body_incomplete",
			Message: "The request body did not arrive whole.", Remedy: "Send the request again."}
	}
}

// maxCodings is how often a body may be packed: each coding holds a window.
const maxCodings = 2

// codingsOf lists a body's Content-Encodings in the order to undo them: the
// last one named was applied last.
func codingsOf(r *http.Request) []string {
	var out []string
	for _, list := range r.Header.Values("Content-Encoding") {
		for enc := range strings.SplitSeq(list, ",") {
			if enc = strings.ToLower(strings.TrimSpace(enc)); enc != "" && enc != "identity" {
				out = append(out, enc)
			}
		}
	}
	slices.Reverse(out)
	return out
}

// readAll reads in to its end in one allocation where the size is known.
func readAll(in io.Reader, size, limit int64) ([]byte, error) {
	if size >= 0 {
		body := make([]byte, size)
		_, err := io.ReadFull(in, body)
		return body, err
	}
	var buf bytes.Buffer
	n, err := buf.ReadFrom(io.LimitReader(in, limit+1))
	if n > limit {
		return nil, errTooLarge
	}
	return buf.Bytes(), err
}

func tooLarge(limit int64) *dialect.Problem {
	no := false
	return &dialect.Problem{Status: http.StatusRequestEntityTooLarge, Code: "request_too_large",
		Message: fmt.Sprintf("The request body is over %d MiB.", limit>>20),
		Remedy:  "Send fewer or smaller images, or raise security.max_body_mb.", Retry: &no}
}

func badEncoding(what string) *dialect.Problem {
	return &dialect.Problem{Status: http.StatusBadRequest, Code: "bad_encoding",
		Message: "The body could not be decompressed (" + what + ").", Remedy: "Check the Content-Encoding header."}
}
