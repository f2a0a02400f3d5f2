package engine

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"bellwether/engine/runtime/runtimetest"
)

const pngBytes = "\x89PNG\r\n\x1a\n0123456789"

// withImage is a request with one image at an address, by path.
func withImage(model, at string) map[string]string {
	return map[string]string{
		"/v1/chat/completions": `{"model":"` + model + `","messages":[{"role":"user","content":[{"type":"text","text":"what is it"},{"type":"image_url","image_url":{"url":"` + at + `"}}]}]}`,
		"/v1/responses":        `{"model":"` + model + `","input":[{"role":"user","content":[{"type":"input_text","text":"what is it"},{"type":"input_image","image_url":"` + at + `"}]}]}`,
		"/v1/messages":         `{"model":"` + model + `","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"what is it"},{"type":"image","source":{"type":"url","url":"` + at + `"}}]}]}`,
	}
}

var eyes = map[string]runtimetest.FakeConfig{
	"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b", Capabilities: []string{"completion", "vision"}}}},
	"llama":  {Kind: runtimetest.LlamaServer, Models: []runtimetest.FakeModel{{Name: "gguf-1b", Capabilities: []string{"completion", "vision"}}}},
}

const allowImages = "\nrouting: {auto_pull: \"off\", settle: 0}\nsecurity: {remote_images: true}\n"

// The remedy of a refused address is one that helps.
func TestImagesAtAnAddressReachEveryRuntimeOnceTheirOwnerAllowsIt(t *testing.T) {
	const secret = "https://pictures.example/heron-51d0aa?sig=abc"
	var asked atomic.Int32
	r := newRig(t, spec{config: allowImages, fakes: eyes, before: func(e *Engine) {
		e.gateway.Images = func(_ context.Context, at string) ([]byte, error) {
			switch asked.Add(1); {
			case at == secret:
				return []byte(pngBytes), nil
			case strings.HasSuffix(at, ".svg"):
				return []byte("<svg/>"), nil
			}
			return nil, errors.New("its server answered 404")
		}
	}})
	want := base64.StdEncoding.EncodeToString([]byte(pngBytes))
	for _, m := range chatModels {
		for path, body := range withImage(m, secret) {
			a := r.post(t, path, body)
			a.ok(t)
			if sent := string(lastServed(t, r.fakes[runtimeOf(m)]).Body); !strings.Contains(sent, want) || strings.Contains(sent, "heron") {
				t.Errorf("%s %s: the runtime was sent %s", path, m, sent)
			}
			if rec := r.decision(t, a.Header); rec.Requirements.RemoteImage || !rec.Requirements.Vision || !strings.Contains(strings.Join(rec.Edits, ";"), "images fetched from their addresses: 1") {
				t.Errorf("%s %s: recorded %+v, edits %q", path, m, rec.Requirements, rec.Edits)
			}
		}
		for at, why := range map[string]string{"https://pictures.example/heron.svg": "none of the images", "https://pictures.example/heron-gone": "answered 404"} {
			for path, body := range withImage(m, at) {
				a := r.post(t, path, body)
				if s := string(a.Body); a.Status != 400 || !strings.Contains(s, why) || !strings.Contains(s, "base64") || strings.Contains(s, "heron") {
					t.Errorf("%s %s: %d %s", path, m, a.Status, s)
				}
			}
		}
	}
	asked.Store(0)
	twice := strings.Replace(withImage("chat:1b", secret)["/v1/chat/completions"], `[{"type":"text"`, `[{"type":"image_url","image_url":{"url":"`+secret+`"}},{"type":"text"`, 1)
	r.post(t, "/v1/chat/completions", twice).ok(t)
	if n, sent := asked.Load(), string(lastServed(t, r.fakes["ollama"]).Body); n != 1 || strings.Count(sent, want) != 2 {
		t.Errorf("an image shown twice was fetched %d times: %s", n, sent)
	}
	if r.post(t, "/v1/messages/count_tokens", withImage("chat:1b", secret)["/v1/messages"]).ok(t); asked.Load() != 1 {
		t.Error("tokens are counted without fetching")
	}
	if strings.Contains(r.logs.String(), "heron") {
		t.Error("the address of an image is in the log")
	}
}

// S-04 (songquanpeng/one-api#2387), with the setting on: this machine and its
// networks stay out of reach, whatever name they are given.
func TestImagesOfThisMachineAreNotFetchedEvenWhereImagesAre(t *testing.T) {
	r := newRig(t, spec{config: allowImages, fakes: eyes})
	var hits atomic.Int32
	trap := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		_, _ = w.Write([]byte(pngBytes))
	}))
	defer trap.Close()
	port := trap.URL[strings.LastIndexByte(trap.URL, ':'):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254", "10.0.0.1", "[fd00:ec2::254]"} {
		for path, body := range withImage("chat:1b", "http://"+host+port+"/cat.png") {
			if a := r.post(t, path, body); a.Status != 400 || !strings.Contains(string(a.Body), "not on the public internet") {
				t.Errorf("%s of %s: %d %s", path, host, a.Status, a.Body)
			}
		}
	}
	if n := hits.Load(); n != 0 || len(served(r.fakes["ollama"])) != 0 {
		t.Errorf("the trap was asked %d times, the runtime %d", n, len(served(r.fakes["ollama"])))
	}
}
