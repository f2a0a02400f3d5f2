package runtimetest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzRequests: no body brings the fake down, and every answer that claims to
// be JSON is.
func FuzzRequests(f *testing.F) {
	everything := []string{"completion", "tools", "thinking", "vision", "insert", "embedding"}
	servers := map[string]*Fake{}
	for _, kind := range []string{Ollama, LlamaServer} {
		servers[kind] = start(f, FakeConfig{Kind: kind, Models: []FakeModel{{Name: "tiny", Capabilities: everything}}, KeepRequests: -1})
	}
	for kind := range servers {
		for _, x := range Recorded(kind) {
			if x.Method == http.MethodPost {
				f.Add(kind, x.Path, strings.NewReplacer(`"tools","`, `"tiny","`, `"think","`, `"tiny","`).Replace(string(x.Body)))
			}
		}
	}
	f.Add(Ollama, "/v1/responses", `{"model":"tiny","input":"hi","tools":[null,1,{}]}`)
	f.Add(Ollama, "/v1/responses", `{"model":"tiny","input":"say 999999999 words","tools":[null]}`)
	f.Add(Ollama, "/api/chat", `{"model":"tiny","messages":[{"role":"user","content":"x"}],"format":{"type":"array","minItems":1e9,"items":{"type":"string","minLength":1e9}}}`)
	f.Add(Ollama, "/api/chat", `{"model":"tiny","messages":[null,1,"x",{"content":null,"images":[1]}],"tools":[{}],"options":{"num_ctx":-1,"num_predict":-3,"stop":[1,""]}}`)
	f.Add(LlamaServer, "/v1/messages", `{"system":[{}],"messages":[{"role":"user","content":[{"type":"tool_result"}]}],"tools":[{"name":1}],"max_tokens":0}`)
	f.Fuzz(func(t *testing.T, kind, path, body string) {
		fake := servers[kind]
		if fake == nil || !strings.HasPrefix(path, "/") || len(body) > 4096 || strings.ContainsAny(path, " %?#\\\x7f") || strings.Contains(path, "__") {
			return
		}
		for _, c := range path {
			if c < ' ' {
				return
			}
		}
		req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		req.Host = "localhost"
		rec := httptest.NewRecorder()
		fake.serve(rec, req)
		if strings.HasPrefix(rec.Header().Get("Content-Type"), plainJSON) && !json.Valid(rec.Body.Bytes()) {
			t.Errorf("%s %s %s: %d no JSON: %q", kind, path, body, rec.Code, rec.Body)
		}
		for line := range strings.Lines(rec.Body.String()) {
			if data, ok := strings.CutPrefix(line, "data: {"); ok && !json.Valid([]byte("{"+data)) {
				t.Errorf("%s %s %s: no JSON: %q", kind, path, body, line)
			}
		}
	})
}
