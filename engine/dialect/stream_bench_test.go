package dialect

import "testing"

func BenchmarkEncodeBlockChunk(b *testing.B) {
	chunks := map[string]*Chunk{"text": say(" and"), "thinking": think(" hm"), "arguments": toolPiece(0, "", "", `a":1,`)}
	for _, r := range []*Request{anthropicRequest(b), responsesRequest(b)} {
		for _, kind := range []string{"text", "thinking", "arguments"} {
			b.Run(string(r.Protocol)+"/"+kind, func(b *testing.B) {
				e := NewEncoder(r, streamID())
				buf := e.Open(nil)
				if kind == "arguments" {
					buf = e.Chunk(buf, toolPiece(0, "up1", "get_time", `{"`))
				}
				c := chunks[kind]
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					buf = e.Chunk(buf[:0], c)
				}
			})
		}
	}
}

func BenchmarkStreamOfThousandChunks(b *testing.B) {
	c := say(" and")
	for _, r := range []*Request{anthropicRequest(b), responsesRequest(b)} {
		b.Run(string(r.Protocol), func(b *testing.B) {
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				e := NewEncoder(r, streamID())
				buf = e.Open(buf[:0])
				for range 1000 {
					buf = e.Chunk(buf[:0], c)
				}
				buf = e.End(buf)
			}
		})
	}
}

func BenchmarkParseAgentTurn(b *testing.B) {
	for p, body := range map[Protocol]string{Anthropic: claudeCodeRequest, OpenAIResponses: codexRequest} {
		b.Run(string(p), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, prob := Parse(p, []byte(body)); prob != nil {
					b.Fatal(prob)
				}
			}
		})
	}
}
