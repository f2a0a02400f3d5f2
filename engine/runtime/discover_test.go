package runtime

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// answers serves fixed bodies by path; "" as path is any.
func answers(t *testing.T, header http.Header, bodies map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("a probe sent %s %s", r.Method, r.URL.Path)
		}
		for name, v := range header {
			w.Header()[name] = v
		}
		body, ok := bodies[r.URL.Path]
		if !ok {
			http.Error(w, "404 page not found", http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestRuntimesAreRecognisedByFingerprint(t *testing.T) {
	ollama := map[string]string{"/api/version": `{"version":"0.33.0"}`, "/": "Ollama is running"}
	for _, c := range []struct {
		name string
		url  string
		want Identity
		err  error
	}{
		{"Ollama", answers(t, nil, ollama), Identity{Kind: KindOllama, Version: "0.33.0"}, nil},
		{"a Bellwether, which answers as Ollama does", answers(t, http.Header{HeaderRouter: {"x"}}, ollama), Identity{}, ErrOurselves},
		{"llama-server", answers(t, http.Header{"Server": {"llama.cpp"}}, map[string]string{"/props": record(t, KindLlamaServer, "03-props").answer}), Identity{Kind: KindLlamaServer, Version: "b1-80fb11a"}, nil},
		{"its router", answers(t, http.Header{"Server": {"llama.cpp"}}, map[string]string{"/props": record(t, KindLlamaServer, "61-router-props").answer}), Identity{Kind: KindLlamaServer, Version: "b1-80fb11a", Router: true}, nil},
		{"llama-server that loads, or wants a key", answers(t, http.Header{"Server": {"llama.cpp"}}, nil), Identity{Kind: KindLlamaServer}, nil},
		{"LM Studio", answers(t, nil, map[string]string{"/api/v0/models": `{"data":[]}`}), Identity{Kind: kindLMStudio}, nil},
		{"vLLM", answers(t, nil, map[string]string{"/v1/models": `{"data":[{"id":"x","owned_by":"vllm"}]}`}), Identity{Kind: kindVLLM}, nil},
		{"another that speaks OpenAI's protocol", answers(t, nil, map[string]string{"/v1/models": `{"data":[{"id":"x"}]}`}), Identity{Kind: kindOpenAI}, nil},
		{"a version without the greeting", answers(t, nil, map[string]string{"/api/version": `{"version":"1"}`, "/": "hello"}), Identity{}, ErrUnknownRuntime},
		{"a web page on every path", answers(t, nil, map[string]string{"/": "<html>", "/v1/models": "<html>", "/api/version": "<html>", "/api/v0/models": "<html>"}), Identity{}, ErrUnknownRuntime},
		{"nothing of the kind", answers(t, nil, nil), Identity{}, ErrUnknownRuntime},
	} {
		got, err := Recognise(t.Context(), Target{URL: c.url})
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		}
	}
}

func TestDiscoveryFindsWhatIsThereAndNothingElse(t *testing.T) {
	saved := usualPorts
	defer func() { usualPorts = saved }()
	ollama := answers(t, nil, map[string]string{"/api/version": `{"version":"0.33.0"}`, "/": "Ollama is running"})
	self := answers(t, http.Header{HeaderRouter: {"x"}}, map[string]string{"/api/version": `{"version":"0.33.0"}`, "/": "Ollama is running"})
	studio := answers(t, nil, map[string]string{"/api/v0/models": `{"data":[]}`})
	usualPorts = []string{portOf(ollama), portOf(self), portOf(studio), closedPort(t), portOf(silent(t))}
	started := time.Now()
	found := Discover(t.Context(), []string{studio, ollama, "not an address at all:x"})
	var got []string
	for _, f := range found {
		got = append(got, f.Kind+" "+f.URL+" "+map[bool]string{true: "supported", false: "not supported"}[f.Supported])
		if f.Supported == (f.Reason != "") {
			t.Errorf("reason %q", f.Reason)
		}
	}
	want := []string{"lm-studio " + studio + " not supported", "ollama " + ollama + " supported"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if took := time.Since(started); took > 10*probeTimeout {
		t.Errorf("a silent port held discovery up for %v", took)
	}
}

func portOf(url string) string { return url[strings.LastIndexByte(url, ':')+1:] }

func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return portOf(l.Addr().String())
}

// silent accepts connections and says nothing.
func silent(t *testing.T) string {
	return rawAccept(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
}

func TestAServerThatListensOnIPv6OnlyIsFound(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no IPv6 loopback")
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			_, _ = io.WriteString(w, "Ollama is running")
			return
		}
		_, _ = io.WriteString(w, `{"version":"0.33.0"}`)
	}))
	s.Listener = l
	s.Start()
	defer s.Close()
	f := probe(t.Context(), "http://127.0.0.1:"+portOf(s.URL))
	if f == nil || f.Kind != KindOllama || !strings.Contains(f.URL, "[::1]") {
		t.Errorf("got %+v", f)
	}
}
