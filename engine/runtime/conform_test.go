package runtime_test

import (
	"testing"

	"bellwether/engine/runtime"
	"bellwether/engine/runtime/runtimetest"
)

func opened(t testing.TB, target runtime.Target) runtime.Adapter {
	t.Helper()
	a, err := runtime.New(target)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestOllamaConforms(t *testing.T) {
	runtimetest.Conform(t, runtimetest.Setup{Fake: runtimetest.FakeConfig{Kind: runtimetest.Ollama}, Open: opened})
}

func TestLlamaServerConforms(t *testing.T) {
	runtimetest.Conform(t, runtimetest.Setup{Fake: runtimetest.FakeConfig{Kind: runtimetest.LlamaServer}, Open: opened})
}

func TestLlamaServerInRouterModeConforms(t *testing.T) {
	runtimetest.Conform(t, runtimetest.Setup{Fake: runtimetest.FakeConfig{Kind: runtimetest.LlamaServer, Router: true}, Open: opened})
}

// BenchmarkStreamFromASocket is what reading a stream costs, socket and stand-in
// included.
func BenchmarkStreamFromASocket(b *testing.B) {
	for _, kind := range []string{runtimetest.Ollama, runtimetest.LlamaServer} {
		b.Run(kind, func(b *testing.B) { runtimetest.BenchStream(b, runtimetest.FakeConfig{Kind: kind}, opened) })
	}
}
