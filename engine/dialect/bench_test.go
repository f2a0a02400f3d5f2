package dialect

import (
	"fmt"
	"strings"
	"testing"
)

// agentBody is what a coding agent sends after some dozen turns: a long system
// prompt, tools, calls and results; about size bytes.
func agentBody(size int) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"qwen3:8b","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"`)
	b.WriteString(strings.Repeat("You are careful. Say \\\"why\\\" before what.\\n", 200))
	b.WriteString(`"}`)
	line := `\tif err != nil {\n\t\treturn fmt.Errorf(\"open %s: %w\", name, err)\n\t}\n`
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"pkg/file_%d.go\"}"}}]}`, i, i)
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"call_%d","content":"%s"}`, i, strings.Repeat(line, 120))
	}
	b.WriteString(`,{"role":"user","content":[{"type":"text","text":"Go on."}]}],"tools":[`)
	for i := range 12 {
		fmt.Fprintf(&b, `%s{"type":"function","function":{"name":"tool_%d","description":"Does %d things.","parameters":{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"}},"required":["path"]}}}`, strings.Repeat(",", min(i, 1)), i, i)
	}
	b.WriteString(`],"tool_choice":"auto","max_tokens":8192,"temperature":0}`)
	return []byte(b.String())
}

func BenchmarkParseOneMegabyte(b *testing.B) {
	body := agentBody(1 << 20)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, prob := Parse(OpenAIChat, body); prob != nil {
			b.Fatal(prob)
		}
	}
}

func BenchmarkParseSmall(b *testing.B) {
	body := []byte(`{"model":"tiny","messages":[{"role":"user","content":"hi"}],"stream":true}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, prob := Parse(OpenAIChat, body); prob != nil {
			b.Fatal(prob)
		}
	}
}

func BenchmarkTextLen(b *testing.B) {
	t := Quote(strings.Repeat("func main() {\n\tfmt.Println(\"hé\")\n}\n", 30000))
	b.SetBytes(int64(len(t)))
	for b.Loop() {
		t.Len()
	}
}

func BenchmarkEncodeChunk(b *testing.B) {
	for _, p := range []Protocol{OpenAIChat, OpenAICompletion, OllamaChat} {
		b.Run(string(p), func(b *testing.B) {
			id := testIdentity("qwen3:8b")
			e := NewEncoder(&Request{Protocol: p}, id)
			c := &Chunk{Text: Text(`" and"`)}
			buf := e.Open(nil)
			b.ReportAllocs()
			for b.Loop() {
				buf = e.Chunk(buf[:0], c)
			}
		})
	}
	b.Run("ollama-native", func(b *testing.B) {
		e := NewEncoder(&Request{Protocol: OllamaChat}, testIdentity("qwen3"))
		c := &Chunk{Text: Text(`" and"`), Native: []byte(`{"model":"qwen3:latest","created_at":"2026-11-29T22:33:28.574924788Z","message":{"role":"assistant","content":" and"},"done":false}`)}
		var buf []byte
		b.ReportAllocs()
		for b.Loop() {
			buf = e.Chunk(buf[:0], c)
		}
	})
}

func BenchmarkEncodeEmbeddings(b *testing.B) {
	v := make([]float32, 1024)
	for i := range v {
		v[i] = float32(i) / 7919
	}
	rep := &Reply{Vectors: [][]float32{v, v, v, v}, Usage: Usage{Input: 12, Output: -1, Cached: -1, Reasoning: -1}}
	for _, base64 := range []bool{false, true} {
		b.Run(fmt.Sprintf("base64=%v", base64), func(b *testing.B) {
			id := testIdentity("embed")
			r := &Request{Protocol: OpenAIEmbeddings, Embed: &Embed{Base64: base64}}
			for b.Loop() {
				EncodeReply(r, id, rep)
			}
		})
	}
}
