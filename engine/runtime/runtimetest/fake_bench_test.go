package runtimetest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// The fake must cost little next to what is measured against it.
func BenchmarkFake(b *testing.B) {
	long := strings.Repeat("many words ", 1<<20/11)
	for _, c := range []struct{ name, kind, path, body string }{
		{"ollama/chat", Ollama, "/api/chat", `{"model":"tiny","stream":false,` + hi + `}`},
		{"ollama/stream", Ollama, "/api/chat", `{"model":"tiny",` + hi + `}`},
		{"ollama/v1stream", Ollama, "/v1/chat/completions", `{"model":"tiny","stream":true,` + hi + `}`},
		{"ollama/1MB", Ollama, "/api/chat", `{"model":"tiny","stream":false,"messages":[{"role":"user","content":"` + long + `"}]}`},
		{"llama/chat", LlamaServer, "/v1/chat/completions", `{` + hi + `}`},
		{"llama/stream", LlamaServer, "/v1/chat/completions", `{"stream":true,` + hi + `}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := start(b, FakeConfig{Kind: c.kind, Models: []FakeModel{{Name: "tiny", Context: 1 << 20}}, Context: 1 << 20, Parallel: 16, KeepRequests: -1})
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
			b.Cleanup(client.CloseIdleConnections)
			body := []byte(c.body)
			b.SetParallelism(8) // 16 clients on 2 cores
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					resp, err := client.Post(f.URL()+c.path, "application/json", bytes.NewReader(body))
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}

// Many clients that come, leave and are cut at random must leave nothing
// behind: no slot taken, no request waiting, and never more running than slots.
func TestNothingIsLeftAfterAStorm(t *testing.T) {
	f := start(t, FakeConfig{Models: []FakeModel{{Name: "a", Tokens: 40}, {Name: "b", Size: 1 << 20}, {Name: "c", Size: 1 << 20}},
		MaxLoaded: 2, Parallel: 2, DecodeRate: 5000, LoadBytesPerSecond: 1 << 30, KeepAlive: 20 * time.Millisecond})
	for _, b := range []Break{BreakCut, BreakCutMid, BreakRunner, BreakEnd, BreakUnload} {
		f.Inject(Fault{Break: b, After: 2, Skip: rand.IntN(20), Times: 10})
	}
	var wg sync.WaitGroup
	for worker := range 24 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 7))
			for range 12 {
				model := string(rune('a' + r.IntN(3)))
				body := fmt.Sprintf(`{"model":"%s","options":{"num_ctx":%d},%s}`, model, 1024*(1+r.IntN(2)), hi)
				c := send(t, f, "/api/chat", body)
				if r.IntN(3) == 0 {
					c.leave()
				}
				<-c.done
			}
		})
	}
	wg.Wait()
	for _, m := range []string{"a", "b", "c"} {
		await(t, f, m+" is idle", func() bool { return f.Running(m) == 0 && f.Waiting(m) == 0 })
		if got := f.MaxRunning(m); got > 2*2 { // two runners of a model overlap when one is replaced while it runs
			t.Errorf("%s ran %d at once", m, got)
		}
	}
	await(t, f, "all models leave", func() bool { return len(f.Loaded()) == 0 })
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.pending) != 0 || len(f.runners) != 0 {
		t.Errorf("%d wait, %d runners", len(f.pending), len(f.runners))
	}
}
