package runtime

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// Ollama manages models: the wire forms are its own.
var _ Manager = (*Ollama)(nil)

// Pull fetches a model and reports each step. A registry's error comes as a
// line in mid-stream; a pull that ends without "success" has failed.
func (o *Ollama) Pull(ctx context.Context, model string, progress func(PullProgress)) error {
	body := append(dialect.AppendString([]byte(`{"model":`), model), `,"stream":true}`...)
	done := false
	err := o.progress(ctx, "/api/pull", body, func(line dialect.Raw) {
		p := PullProgress{
			Status:    dialect.Text(line.Get("status")).String(),
			Digest:    dialect.Text(line.Get("digest")).String(),
			Total:     size(line.Get("total")),
			Completed: size(line.Get("completed")),
		}
		done = done || p.Status == "success"
		if progress != nil {
			progress(p)
		}
	})
	if err == nil && !done {
		err = &fleet.Failure{Class: fleet.FailMidStream, Code: CodeCut, Message: "the pull ended before it was complete"}
	}
	return wrap("pull "+model, err)
}

// Create forwards a create request and hands on its lines, which alias a
// buffer that the following line overwrites.
func (o *Ollama) Create(ctx context.Context, body dialect.Raw, line func(dialect.Raw)) error {
	return wrap("create", o.progress(ctx, "/api/create", body, line))
}

// Delete removes a model from disk.
func (o *Ollama) Delete(ctx context.Context, model string) error {
	body := append(dialect.AppendString([]byte(`{"model":`), model), '}')
	_, err := o.call(ctx, http.MethodDelete, "/api/delete", body)
	return wrap("delete "+model, err)
}

// Copy gives a model a second name.
func (o *Ollama) Copy(ctx context.Context, from, to string) error {
	body := dialect.AppendString([]byte(`{"source":`), from)
	body = dialect.AppendString(append(body, `,"destination":`...), to)
	_, err := o.call(ctx, http.MethodPost, "/api/copy", append(body, '}'))
	return wrap("copy "+from, err)
}

// Show returns what the runtime says of a model, as it says it.
func (o *Ollama) Show(ctx context.Context, model string, verbose bool) (dialect.Raw, error) {
	body := dialect.AppendString([]byte(`{"model":`), model)
	if verbose {
		body = append(body, `,"verbose":true`...)
	}
	answer, err := o.call(ctx, http.MethodPost, "/api/show", append(body, '}'))
	if err == nil && !validJSON(answer) {
		err = &fleet.Failure{Class: fleet.FailInvalid, Status: 200, Message: "the runtime's answer is no JSON"}
	}
	return answer, wrap("show "+model, err)
}

// HasBlob asks whether a blob is there.
func (o *Ollama) HasBlob(ctx context.Context, digest string) (bool, error) {
	if !IsDigest(digest) {
		return false, wrap("blob", badDigest())
	}
	x, err := o.remote.do(ctx, request{method: http.MethodHead, path: "/api/blobs/" + digest})
	if err != nil {
		return false, wrap("blob "+digest, err)
	}
	defer x.settle()
	switch x.status {
	case http.StatusOK:
		return true, nil
	case http.StatusNotFound:
		return false, nil
	}
	return false, wrap("blob "+digest, failureOf(x.status, "", nil))
}

// PutBlob uploads a blob; the runtime checks it against its digest.
func (o *Ollama) PutBlob(ctx context.Context, digest string, body Reader) error {
	if !IsDigest(digest) {
		return wrap("blob", badDigest())
	}
	x, err := o.remote.do(ctx, request{method: http.MethodPost, path: "/api/blobs/" + digest, stream: body})
	if err != nil {
		return wrap("blob "+digest, err)
	}
	if x.status != http.StatusCreated && x.status != http.StatusOK {
		return wrap("blob "+digest, x.statusFailure())
	}
	x.settle()
	return nil
}

// IsDigest reports whether s is a blob's name: sha256: and 64 lower-case hex
// digits. Checked again here, since it becomes part of a URL (CVE-2024-37032).
func IsDigest(s string) bool {
	const prefix = "sha256:"
	if len(s) != len(prefix)+64 || s[:len(prefix)] != prefix {
		return false
	}
	for _, c := range []byte(s[len(prefix):]) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func badDigest() error {
	return &fleet.Failure{Class: fleet.FailStatus, Status: 400, Code: "invalid_digest", Caller: true, Message: "a blob's digest is sha256: and 64 hex digits"}
}

// progress reads the lines of a long operation until its end or its error.
func (o *Ollama) progress(ctx context.Context, path string, body []byte, line func(dialect.Raw)) error {
	x, err := o.remote.do(ctx, request{method: http.MethodPost, path: path, body: body})
	if err != nil {
		return err
	}
	defer x.abort()
	if x.status != http.StatusOK {
		return x.statusFailure()
	}
	lines := lineReader{r: x}
	for {
		b, err := lines.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return x.readFailure(err, true)
		}
		if len(b) == 0 {
			continue
		}
		b, ok := frame(b)
		if !ok {
			return &fleet.Failure{Class: fleet.FailMidStream, Code: CodeMalformed, Message: "the runtime sent a line that is no JSON object"}
		}
		if said := dialect.Raw(b).Get("error"); !said.None() {
			return &fleet.Failure{Class: fleet.FailMidStream, Code: CodeRuntimeError, Message: o.remote.said(said).text}
		}
		if line != nil {
			line(b)
		}
	}
}

func size(v dialect.Raw) int64 {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
