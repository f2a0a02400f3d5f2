package dialect

import (
	"strings"
	"testing"
	"time"
)

// A body must not cost more than its size: what takes seconds at half a
// megabyte takes hours at the limit of 64.
func TestNoBodyCostsMoreThanItsSize(t *testing.T) {
	var worst time.Duration
	defer func() { t.Logf("the slowest took %v", worst) }()
	const size = 1 << 19
	fill := func(piece string) string { return strings.Repeat(piece, size/len(piece)) }
	list := func(piece string) string { return strings.TrimSuffix(fill(piece+","), ",") }
	var names strings.Builder
	for i := 0; names.Len() < size; i++ {
		names.WriteString(`,"n`)
		names.WriteString(strings.Repeat("x", i%7))
		names.WriteString(time.Duration(i).String())
		names.WriteString(`":0`)
	}
	for name, body := range map[string]string{
		"members":       `{"model":"m",` + hi + `,"input":"x","max_tokens":9,"prompt":"x"` + names.String() + `}`,
		"messages":      `{"model":"m","max_tokens":9,"messages":[` + list(`{"role":"user","content":""}`) + `]}`,
		"functions":     `{"model":"m","max_tokens":9,"messages":[` + list(`{"role":"function","name":"f","content":""}`) + `]}`,
		"calls":         `{"model":"m","max_tokens":9,"messages":[{"role":"assistant","tool_calls":[` + list(`{"id":"a","function":{"name":"f","arguments":"{"}}`) + `]}]}`,
		"results":       `{"model":"m","max_tokens":9,"messages":[` + list(`{"role":"tool","tool_call_id":"a","content":""}`) + `]}`,
		"parts":         `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[` + list(`{"type":"x"}`) + `]}]}`,
		"tools":         `{"model":"m","max_tokens":9,` + hi + `,"input":"x","tools":[` + list(`{"function":{"name":"f"},"name":"f","type":"function"}`) + `]}`,
		"escapes":       `{"model":"m","max_tokens":9,"prompt":"x","input":"` + fill(`\"`) + `","messages":[{"role":"user","content":"` + fill(`\\`) + `"}]}`,
		"surrogates":    `{"model":"m","max_tokens":9,"prompt":"x","input":"` + fill(`\ud800`) + `",` + hi + `}`,
		"nesting":       `{"model":"m","max_tokens":9,"prompt":"x","input":"x",` + hi + `,"x":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`,
		"stops":         `{"model":"m","max_tokens":9,"prompt":"x","input":"x",` + hi + `,"stop":[` + list(`""`) + `]}`,
		"items":         `{"model":"m","input":[` + list(`{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}`) + `]}`,
		"references":    `{"model":"m","input":[` + list(`{"type":"item_reference","id":"x"}`) + `]}`,
		"tool results":  `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[` + list(`{"type":"tool_result","tool_use_id":"1","content":"x"}`) + `]}]}`,
		"allowed tools": `{"model":"m",` + hi + `,"tool_choice":{"type":"allowed_tools","tools":[` + list(`{"name":"f"}`) + `]},"tools":[{"function":{"name":"f"}},` + list(`{"function":{"name":"g"}}`) + `]}`,
	} {
		for _, p := range []Protocol{OpenAIChat, OpenAIResponses, OpenAIEmbeddings, Anthropic, OllamaChat} {
			start := time.Now()
			r, _ := Parse(p, []byte(body))
			took := time.Since(start)
			worst = max(worst, took)
			if took > 3*time.Second {
				t.Errorf("%s: %s took %v", p, name, took)
			}
			if r == nil {
				continue
			}
			for text := range r.Texts() {
				text.Len()
			}
		}
	}
}
