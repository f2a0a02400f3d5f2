package runtimetest

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestRecordingsAreReadCompletely(t *testing.T) {
	for kind, least := range map[string]int{Ollama: 70, LlamaServer: 40} {
		list := Recorded(kind)
		if len(list) < least {
			t.Errorf("%s: %d recordings", kind, len(list))
		}
		for _, x := range list {
			n, err := strconv.Atoi(x.AnswerHeader.Get("Content-Length"))
			if bytes.Contains(x.Answer, []byte("/models/")) || bytes.Contains(x.Answer, []byte("/runtime/")) {
				continue // paths were shortened
			}
			if err == nil && x.Method != http.MethodHead && n != len(x.Answer) {
				t.Errorf("%s/%s: body has %d bytes, Content-Length says %d", kind, x.Name, len(x.Answer), n)
			}
		}
	}
}

func TestReadExchangeTellsANoteFromARecording(t *testing.T) {
	if _, err := ReadExchange(filepath.Join("testdata", "ollama", "41-queue-full.txt")); !errors.Is(err, ErrNoExchange) {
		t.Errorf("got %v", err)
	}
	x, err := ReadExchange(filepath.Join("testdata", "ollama", "15-v1-messages.txt"))
	if err != nil || x.Method != "POST" || x.Path != "/v1/messages" || x.Header.Get("X-Api-Key") != "none" || x.Status != 200 || !bytes.HasPrefix(x.Body, []byte(`{"model"`)) {
		t.Errorf("%v %+v", err, x)
	}
}

// Every recording is asked for in the order of the recordings, so that those
// made twice come back as they were made.
func TestReplayAnswersWithTheRecordedBytes(t *testing.T) {
	for _, kind := range []string{Ollama, LlamaServer} {
		c := FakeConfig{Kind: kind, RecordingsDir: filepath.Join("testdata", kind), Models: models("other")}
		f := start(t, c)
		for _, x := range Recorded(kind) {
			got := exchange(t, f, x)
			if got.Status != x.Status || !bytes.Equal(got.Answer, x.Answer) {
				t.Errorf("%s/%s: %d %q\nwant %d %q", kind, x.Name, got.Status, got.Answer, x.Status, x.Answer)
			}
			if g, w := slices.Sorted(maps.Keys(got.AnswerHeader)), slices.Sorted(maps.Keys(x.AnswerHeader)); !slices.Equal(g, w) {
				t.Errorf("%s/%s: headers %v, want %v", kind, x.Name, g, w)
			}
		}
	}
}

func TestReplayMatchesEqualJSONAndLeavesTheRestToTheFake(t *testing.T) {
	f := start(t, FakeConfig{Recordings: Recorded(Ollama), Models: models("tiny")})
	_, body := post(t, f, "/api/chat", `{ "messages": [ {"content":"hi", "role":"user"} ], "stream": false, "model": "tiny" }`)
	if !strings.Contains(body, "node-a answers") {
		t.Errorf("equal JSON: %s", body)
	}
	_, body = post(t, f, "/api/chat", `{"model":"tiny","stream":false,"messages":[{"role":"user","content":"hello"}]}`)
	if !strings.Contains(body, "tiny answers") {
		t.Errorf("another prompt: %s", body)
	}
}
