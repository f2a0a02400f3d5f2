package dialect

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOllamaChatIsRead(t *testing.T) {
	r := parsed(t, OllamaChat, `{"model":"m","keep_alive":"10m","think":"high","format":{"type":"object"},"logprobs":true,"top_logprobs":2,"tools":[],
		"options":{"num_ctx":8192,"num_predict":-1,"temperature":0.1,"top_k":3,"top_p":1,"min_p":0,"repeat_penalty":1.2,"presence_penalty":1,"frequency_penalty":2,"seed":42,"stop":["a"],"num_gpu":99,"mirostat":1},
		"messages":[{"role":"system","content":"s"},{"role":"user","content":"u","images":["iVBORw0KGgo=","UklGRiQAAABXQVZF","UklGRiQAAABXRUJQ"]},
		{"role":"assistant","content":"","thinking":"t","tool_calls":[{"id":"call_1","function":{"index":0,"name":"f","arguments":{"a":1}}}]},
		{"role":"tool","content":"r","tool_name":"f"},{"role":"tool","content":"r","tool_call_id":"call_1"}]}`)
	if !r.Stream || r.LoadOnly || r.NumCtx != 8192 || r.MaxOutput != nil || *r.Sampling.Temperature != 0.1 || *r.Sampling.TopK != 3 || *r.Sampling.Seed != 42 || !slices.Equal(r.Stop, []string{"a"}) {
		t.Errorf("options %+v", r)
	}
	var names []string
	for _, o := range r.Options {
		names = append(names, o.Name)
	}
	if got := strings.Join(names, " "); got != "num_ctx num_predict temperature top_k top_p min_p repeat_penalty presence_penalty frequency_penalty seed stop num_gpu mirostat" {
		t.Errorf("options in order: %s", got)
	}
	if string(r.KeepAlive) != `"10m"` || r.Think != (Think{true, true, "high", 0}) || r.Format.Kind != FormatSchema || !r.Logprobs || r.TopLogs != 2 {
		t.Errorf("read %+v", r)
	}
	want := "system \"s\"\nuser \"u\" image(image/png iVBORw0KGgo=) audio(audio/wav UklGRiQAAABXQVZF) image(image/webp UklGRiQAAABXRUJQ)\n" +
		"assistant <\"t\"> \"\" call_1=f({\"a\":1})\ntool /f \"r\"\ntool call_1/f \"r\""
	if got := told(r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestOllamaStreamsUnlessTold(t *testing.T) {
	msgs := `"messages":[{"role":"user","content":"hi"}]`
	for body, want := range map[string]bool{`{"model":"m",` + msgs + `}`: true, `{"model":"m","stream":null,` + msgs + `}`: true, `{"model":"m","stream":false,` + msgs + `}`: false, `{"model":"m","stream":true,` + msgs + `}`: true} {
		if got := parsed(t, OllamaChat, body).Stream; got != want {
			t.Errorf("%s streams: %v", body, got)
		}
	}
	if !parsed(t, OllamaGenerate, `{"model":"m","prompt":"hi"}`).Stream || parsed(t, OllamaEmbed, `{"model":"m","input":"hi"}`).Stream {
		t.Error("generate streams, embed does not")
	}
}

// A request without text loads or unloads; its answer is one object.
func TestLoadAndUnload(t *testing.T) {
	for _, c := range []struct {
		p            Protocol
		body         string
		load, unload bool
	}{
		{OllamaChat, `{"model":"m","messages":[]}`, true, false},
		{OllamaChat, `{"model":"m"}`, true, false},
		{OllamaChat, `{"model":"m","messages":null,"keep_alive":0}`, true, true},
		{OllamaChat, `{"model":"m","messages":[{"role":"user","content":"hi"}],"keep_alive":0}`, false, false},
		{OllamaGenerate, `{"model":"m"}`, true, false},
		{OllamaGenerate, `{"model":"m","prompt":"","keep_alive":"0s"}`, true, true},
		{OllamaGenerate, `{"model":"m","keep_alive":-1}`, true, false},
		{OllamaGenerate, `{"model":"m","prompt":"hi","keep_alive":0}`, false, false},
		{OllamaEmbed, `{"model":"m","input":[]}`, true, false},
		{OllamaEmbeddings, `{"model":"m","prompt":""}`, true, false},
		{OllamaEmbed, `{"model":"m","input":""}`, true, false},
		{OllamaEmbed, `{"model":"m","input":[""]}`, false, false},
	} {
		r := parsed(t, c.p, c.body)
		if r.LoadOnly != c.load || r.Unloads() != c.unload || c.load && r.Stream {
			t.Errorf("%s %s: load %v, unload %v, stream %v", c.p, c.body, r.LoadOnly, r.Unloads(), r.Stream)
		}
	}
}

// W-16: a number is seconds, a string a duration with its unit, negative is
// for ever; and what the client sent goes on untouched.
func TestKeepAliveIsReadAndPassedOnUntouched(t *testing.T) {
	for raw, want := range map[string]time.Duration{
		`0`: 0, `300`: 5 * time.Minute, `-1`: -1, `1.5`: 1500 * time.Millisecond, `"10m"`: 10 * time.Minute, `"-1s"`: -time.Second, `"0"`: 0, `1e30`: -1, `-300`: -1,
	} {
		r := parsed(t, OllamaGenerate, `{"model":"m","prompt":"hi","keep_alive":`+raw+`}`)
		if string(r.KeepAlive) != raw {
			t.Errorf("%s became %s", raw, r.KeepAlive)
		}
		if got, err := KeepAlive(r.KeepAlive); err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", raw, got, err, want)
		}
	}
	for raw, want := range map[string]string{
		`"soon"`: `time: invalid duration "soon"`, `"-1"`: `time: missing unit in duration "-1"`, `true`: "keep_alive: expected a number, got a boolean", `""`: "invalid duration",
	} {
		_, prob := Parse(OllamaGenerate, []byte(`{"model":"m","keep_alive":`+raw+`}`))
		if prob == nil || !strings.Contains(prob.Message, want) || !strings.Contains(prob.Remedy, "10m") {
			t.Errorf("%s: %v, want %s", raw, prob, want)
		}
	}
	if r := parsed(t, OllamaGenerate, `{"model":"m","keep_alive":null}`); r.KeepAlive != nil || r.Unloads() {
		t.Errorf("null is %s", r.KeepAlive)
	}
}

func TestOllamaGenerateIsRead(t *testing.T) {
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n0000"))
	r := parsed(t, OllamaGenerate, `{"model":"m","prompt":"p","suffix":"s","system":"y","template":"{{ .Prompt }}","raw":true,"images":["`+png+`"],"context":[1,2],"format":"json","stream":false,"think":false}`)
	p := r.Prompt
	if !p.Text.Is("p") || !p.Suffix.Is("s") || !p.System.Is("y") || !p.Template.Is("{{ .Prompt }}") || !p.Raw || string(p.Context) != "[1,2]" || r.Format.Kind != FormatJSON || r.Think != (Think{Set: true}) {
		t.Errorf("read %+v", p)
	}
	if len(p.Images) != 1 || p.Images[0].MIME != "image/png" || !r.HasImages() {
		t.Errorf("images %+v", p.Images)
	}
}

func TestOllamaEmbedIsRead(t *testing.T) {
	e := parsed(t, OllamaEmbed, `{"model":"m","input":["a","b"],"truncate":false,"dimensions":3,"options":{"num_ctx":512}}`).Embed
	if len(e.Inputs) != 2 || *e.Truncate || e.Dimensions != 3 {
		t.Errorf("read %+v", e)
	}
	if old := parsed(t, OllamaEmbeddings, `{"model":"m","prompt":"a"}`).Embed; len(old.Inputs) != 1 || !old.Single {
		t.Errorf("old %+v", old)
	}
}

func TestNameIsAnOldWordForModel(t *testing.T) {
	if r := parsed(t, OllamaGenerate, `{"name":"m","prompt":"hi"}`); r.Model != "m" {
		t.Errorf("model %q", r.Model)
	}
	if r := parsed(t, OllamaGenerate, `{"model":"m","name":5,"prompt":"hi"}`); r.Model != "m" {
		t.Errorf("model %q", r.Model)
	}
	if _, prob := Parse(OpenAIChat, []byte(`{"name":"m",`+hi+`}`)); prob == nil {
		t.Error("OpenAI requests have no name")
	}
}

// ollama-ai-provider-v2 puts options at the top level; whatever they hold,
// Ollama takes the request.
func TestOptionsAtTheTopLevelAreIgnoredAndNoted(t *testing.T) {
	r := parsed(t, OllamaChat, `{"model":"m",`+hi+`,"max_output_tokens":100,"temperature":"warm","tool_choice":{"x":[]},"think":false}`)
	if r.MaxOutput != nil || r.Sampling.Temperature != nil || r.ToolChoice.Mode != "" || len(r.Dropped) != 3 {
		t.Errorf("read %+v", r)
	}
}

func TestOllamaFormatsAndThinking(t *testing.T) {
	for body, want := range map[string]FormatKind{`""`: "", `null`: "", `"json"`: FormatJSON, `{"type":"object"}`: FormatSchema} {
		if r := parsed(t, OllamaChat, `{"model":"m",`+hi+`,"format":`+body+`}`); r.Format.Kind != want {
			t.Errorf("%s: %q", body, r.Format.Kind)
		}
	}
	for body, want := range map[string]string{
		`"format":"yaml"`:                           `format: invalid format: "yaml"; expected "json" or a valid JSON Schema object`,
		`"format":[]`:                               `format: invalid format: []; expected "json" or a valid JSON Schema object`,
		`"think":"hard"`:                            `think: invalid think value: "hard" (must be "high", "medium", "low", "max", true, or false)`,
		`"think":1`:                                 `think: expected true, false, or one of low, medium, high, max, got a number`,
		`"options":[]`:                              `options: expected an object, got an array`,
		`"options":{"num_ctx":"8k"}`:                `options.num_ctx: expected a number, got a string`,
		`"options":{"stop":"END"}`:                  `options.stop: expected an array, got a string`,
		`"options":{"stop":[null]}`:                 `options.stop[0]: expected a string, got null`,
		`"options":{"num_keep":"x"}`:                `options.num_keep: expected a number, got a string`,
		`"options":{"num_batch":[]}`:                `options.num_batch: expected a number, got an array`,
		`"options":{"num_gpu":true}`:                `options.num_gpu: expected a number, got a boolean`,
		`"options":{"main_gpu":1e30}`:               `options.main_gpu: the number is out of range`,
		`"options":{"num_thread":"4"}`:              `options.num_thread: expected a number, got a string`,
		`"options":{"repeat_last_n":{}}`:            `options.repeat_last_n: expected a number, got an object`,
		`"options":{"typical_p":"x"}`:               `options.typical_p: expected a number, got a string`,
		`"options":{"use_mmap":1}`:                  `options.use_mmap: expected true or false, got a number`,
		`"_debug_render_only":true`:                 `_debug_render_only: the answer would be the prompt, and no completion. Ask the runtime itself.`,
		`"messages":[{"role":"user","content":[]}]`: `messages[0].content: expected a string, got an array`,
		`"messages":[{"role":"user","images":["data:image/png;base64,AA=="]}]`: `messages[0].images[0]: illegal base64 data at input byte 4. Send the image's base64 without the data: prefix.`,
		`"messages":[{"role":"user","images":[5]}]`:                            `messages[0].images[0]: expected a string in base64, got a number`,
	} {
		sep := hi + ","
		if strings.Contains(body, "messages") {
			sep = ""
		}
		_, prob := Parse(OllamaChat, []byte(`{"model":"m",`+sep+body+`}`))
		if prob == nil || prob.Text() != want {
			t.Errorf("%s:\n got %v\nwant %s", body, prob, want)
		}
	}
}
