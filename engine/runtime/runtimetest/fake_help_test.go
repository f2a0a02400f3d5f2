package runtimetest

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// start runs a fake for the test.
func start(t testing.TB, c FakeConfig) *Fake {
	t.Helper()
	f, err := NewFake(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// post returns status and body.
func post(t testing.TB, f *Fake, path, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(f.URL()+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return resp.StatusCode, string(b)
}

func get(t testing.TB, f *Fake, path string) string {
	t.Helper()
	resp, err := http.Get(f.URL() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// await fails the test when cond does not come true.
func await(t testing.TB, f *Fake, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := f.Await(ctx, cond); err != nil {
		t.Fatalf("never: %s", what)
	}
}

// seen is request i of the log, zero when it has not come yet.
func seen(f *Fake, i int) Request {
	if r := f.Requests(); i < len(r) {
		return r[i]
	}
	return Request{}
}
