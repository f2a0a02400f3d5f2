package runtimetest

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func request(t *testing.T, f *Fake, method, path, body string, header ...string) (int, http.Header) {
	t.Helper()
	req, err := http.NewRequest(method, f.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Header
}

func TestPullTellsItsProgressAndAddsTheModel(t *testing.T) {
	f := start(t, FakeConfig{Registry: []FakeModel{{Name: "new", Size: 1000}}})
	status, body := post(t, f, "/api/pull", `{"model":"new"}`)
	if status != 200 || !strings.HasPrefix(body, `{"status":"pulling manifest"}`+"\n") || !strings.HasSuffix(body, `{"status":"success"}`+"\n") || !strings.Contains(body, `"total":1000,"completed":500}`) {
		t.Errorf("%d %s", status, body)
	}
	if got := get(t, f, "/api/tags"); !strings.Contains(got, `"new:latest"`) {
		t.Errorf("%s", got)
	}
	if _, body := post(t, f, "/api/pull", `{"name":"new","stream":false}`); body != `{"status":"success"}` {
		t.Errorf("whole: %s", body)
	}
}

func TestPullOfAnUnknownModelFails(t *testing.T) {
	f := start(t, FakeConfig{Registry: []FakeModel{}})
	if status, body := post(t, f, "/api/pull", `{"model":"nope"}`); status != 200 || !strings.HasSuffix(body, `{"error":"pull model manifest: file does not exist"}`+"\n") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := post(t, f, "/api/pull", `{"model":"nope","stream":false}`); status != 500 || !strings.Contains(body, "file does not exist") {
		t.Errorf("%d %s", status, body)
	}
}

func TestPullFailsInItsMiddleOnCommand(t *testing.T) {
	f := start(t, FakeConfig{})
	f.Inject(Fault{Path: "/api/pull", Break: BreakError, After: 4, Times: 1})
	if _, body := post(t, f, "/api/pull", `{"model":"new"}`); strings.Count(body, "\n") != 5 || !strings.HasSuffix(body, `{"error":"max retries exceeded: unexpected EOF"}`+"\n") {
		t.Errorf("%s", body)
	}
	if got := get(t, f, "/api/tags"); strings.Contains(got, "new") {
		t.Errorf("%s", got)
	}
}

func TestPullEndsWhenTheClientLeaves(t *testing.T) {
	f := start(t, FakeConfig{Registry: []FakeModel{{Name: "new", Size: 1 << 30}}, PullBytesPerSecond: 1 << 20})
	c := send(t, f, "/api/pull", `{"model":"new"}`)
	await(t, f, "it begins", func() bool { return seen(f, 0).Status == 200 })
	c.leave()
	await(t, f, "it ends", func() bool { return seen(f, 0).Done })
	if got := get(t, f, "/api/tags"); strings.Contains(got, "new") {
		t.Errorf("%s", got)
	}
}

func TestCopyDeleteAndCreate(t *testing.T) {
	f := start(t, FakeConfig{Models: models("a")})
	if status, _ := post(t, f, "/api/copy", `{"source":"a","destination":"b"}`); status != 200 {
		t.Errorf("copy: %d", status)
	}
	if status, body := post(t, f, "/api/copy", `{"source":"nope","destination":"b"}`); status != 404 || body != `{"error":"model \"nope\" not found"}` {
		t.Errorf("copy of nothing: %d %s", status, body)
	}
	if status, _ := request(t, f, http.MethodDelete, "/api/delete", `{"model":"a"}`); status != 200 {
		t.Errorf("delete: %d", status)
	}
	if status, _ := request(t, f, http.MethodDelete, "/api/delete", `{"model":"a"}`); status != 404 {
		t.Errorf("delete again: %d", status)
	}
	if _, body := post(t, f, "/api/create", `{"model":"c","from":"b","system":"be short"}`); !strings.HasSuffix(body, `{"status":"success"}`+"\n") {
		t.Errorf("create: %s", body)
	}
	if status, _ := post(t, f, "/api/chat", chat("c")); status != 200 {
		t.Errorf("chat with it: %d", status)
	}
	if _, body := post(t, f, "/api/create", `{"model":"d","files":{"x.gguf":"sha256:00"}}`); !strings.Contains(body, "no such file") {
		t.Errorf("create without the blob: %s", body)
	}
}

func TestBlobsAreCheckedAgainstTheirDigest(t *testing.T) {
	f := start(t, FakeConfig{})
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("weights")))
	path := "/api/blobs/" + digest
	for i, want := range []int{404, 400, 201, 200} {
		method, body := http.MethodHead, ""
		switch i {
		case 1:
			method, body = http.MethodPost, "other"
		case 2:
			method, body = http.MethodPost, "weights"
		}
		if got, _ := request(t, f, method, path, body); got != want {
			t.Errorf("step %d: %d, want %d", i, got, want)
		}
	}
	if _, body := post(t, f, "/api/create", `{"model":"d","files":{"x.gguf":"`+digest+`"}}`); !strings.Contains(body, "success") {
		t.Errorf("create: %s", body)
	}
}

func TestOnlyOwnHostsAndOriginsAreServed(t *testing.T) {
	f := start(t, FakeConfig{})
	for host, want := range map[string]int{"localhost": 200, "127.0.0.1:99": 200, "[::1]:99": 200, "192.168.1.5": 200, "nas.local": 200,
		"x.localhost": 200, "evil.example": 403, "8.8.8.8": 403, "localhost.evil.example": 403} {
		if got, _ := request(t, f, http.MethodGet, "/api/tags", "", "Host", host); got != want {
			t.Errorf("host %s: %d, want %d", host, got, want)
		}
	}
	for origin, want := range map[string]int{"http://localhost:3000": 200, "https://127.0.0.1": 200, "app://obsidian.md": 200,
		"http://evil.example": 403, "null": 403, "http://localhost.evil.example": 403} {
		status, h := request(t, f, http.MethodGet, "/api/tags", "", "Origin", origin)
		if status != want || want == 200 && h.Get("Access-Control-Allow-Origin") != origin {
			t.Errorf("origin %s: %d %v, want %d", origin, status, h, want)
		}
	}
}

func TestCatalogueShowsTheNewestFirst(t *testing.T) {
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f := start(t, FakeConfig{Models: []FakeModel{{Name: "old", Modified: day}, {Name: "young", Modified: day.Add(time.Hour)}}})
	got := get(t, f, "/v1/models")
	if strings.Index(got, "young") > strings.Index(got, "old") {
		t.Errorf("%s", got)
	}
	if got := get(t, start(t, FakeConfig{}), "/v1/models"); got != `{"object":"list","data":null}`+"\n" {
		t.Errorf("no models: %s", got)
	}
}
