package runtimetest

import (
	"io"
	"testing"

	"bellwether/engine/runtime"
)

// BenchStream reads unpaced answers of 200 tokens and reports tokens/s.
func BenchStream(b *testing.B, c FakeConfig, open func(testing.TB, runtime.Target) runtime.Adapter) {
	c.KeepRequests = -1
	w := Setup{Fake: c, Open: open}.bench(b, FakeModel{Tokens: 200})
	call := w.chat("hi", true)
	b.ReportAllocs()
	chunks := 0
	for b.Loop() {
		s, _, err := w.adapter.Do(b.Context(), call)
		for err == nil {
			if _, err = s.Next(); err == nil {
				chunks++
			}
		}
		if err != io.EOF {
			b.Fatal(err)
		}
		s.Close()
	}
	b.ReportMetric(float64(chunks)/b.Elapsed().Seconds(), "chunks/s")
}
