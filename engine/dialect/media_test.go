package dialect

import (
	"encoding/base64"
	"strings"
	"testing"
)

// Bodies with one image, by protocol; IMAGE is its base64, and param where it
// stands.
var imageBodies = []struct {
	p           Protocol
	body, param string
}{
	{OpenAIChat, `"messages":[{"role":"user","content":[{"type":"text","text":"?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,IMAGE"}}]}]`, "messages[0].content[1].image_url.url"},
	{OpenAIResponses, `"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,IMAGE"}]}]`, "input[0].content[0].image_url"},
	{OpenAIResponses, `"input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"data:image/png;base64,IMAGE"}]}]`, "input[0].output[0].image_url"},
	{Anthropic, `"max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"IMAGE"}}]}]`, "messages[0].content[0].source.data"},
	{Anthropic, `"max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"data:image/png;base64,IMAGE"}}]}]`, "messages[0].content[0].source.url"},
	{Anthropic, `"max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"data":"IMAGE"}}]}]}]`, "messages[0].content[0].content[0].source.data"},
	{OllamaChat, `"messages":[{"role":"user","content":"?","images":["iVBORw0KGgo=","IMAGE"]}]`, "messages[0].images[1]"},
	{OllamaGenerate, `"prompt":"?","images":["IMAGE"]`, "images[0]"},
}

func TestImagesAreCheckedAtTheDoorOfEveryProtocol(t *testing.T) {
	b64 := base64.StdEncoding.EncodeToString
	refused := map[string]string{
		"@@@@":                        "illegal base64 data at input byte 0",
		"iVBORw0KGgo":                 "illegal base64 data at input byte 11", // no padding
		"iVBORw0K-_o=":                "illegal base64 data at input byte 8",  // the alphabet of URLs
		"iVBORw0KGgo=iVBO":            "illegal base64 data at input byte 11",
		"====":                        "illegal base64 data at input byte 0",
		"":                            "there is no data",
		b64([]byte("just some text")): "the data is none of the images that models read",
		b64([]byte("<svg xmlns='http://www.w3.org/2000/svg'/>")): "the data is none of the images that models read",
		b64([]byte("BMW is a car, no bitmap")):                   "the data is none of the images that models read",
		b64([]byte("RIFF\x00\x00\x00\x00AVI LIST")):              "the data is none of the images that models read",
	}
	taken := map[string]string{
		"iVBORw0KGgo=":        "image/png",
		`iVBO\r\nRw0K\nGgo=`:  "image/png", // as MIME breaks its lines
		`\/9j\/4AAQ`:          "image/jpeg",
		b64([]byte("GIF89a")): "image/gif",
		b64([]byte("RIFF\x10\x00\x00\x00WEBPVP8 ")):                    "image/webp",
		b64([]byte("BM\xf6\x00\x00\x00\x00\x00\x00\x006\x00\x00\x00")): "image/bmp",
	}
	for _, c := range imageBodies {
		for data, what := range refused {
			_, p := Parse(c.p, []byte(`{"model":"m",`+strings.ReplaceAll(c.body, "IMAGE", data)+`}`))
			if p == nil || p.Status != 400 || p.Param != c.param || p.Remedy == "" || !strings.Contains(p.Message, what) {
				t.Errorf("%s %s with %q: %+v, want %s", c.p, c.param, data, p, what)
			}
		}
		for data, mime := range taken {
			r, p := Parse(c.p, []byte(`{"model":"m",`+strings.ReplaceAll(c.body, "IMAGE", data)+`}`))
			if p != nil {
				t.Errorf("%s %s with %q: %v", c.p, c.param, data, p)
				continue
			}
			var last *Part
			for part := range r.MediaParts() {
				last = part
			}
			if last == nil || last.MIME != mime || strings.ContainsAny(string(last.Data), "\r\n\\") {
				t.Errorf("%s %s with %q: read %+v, want %s", c.p, c.param, data, last, mime)
			}
		}
	}
}

// What a model cannot be given is never left out in silence.
func TestWhatNoModelReadsIsRefusedWhereItStands(t *testing.T) {
	pdf := base64.StdEncoding.EncodeToString([]byte("%PDF-1.4 all of it ASCII"))
	zip := base64.StdEncoding.EncodeToString([]byte("PK\x03\x04\x00\xff"))
	chat := func(part string) string { return `"messages":[{"role":"user","content":[` + part + `]}]` }
	claude := func(block string) string { return `"max_tokens":9,` + chat(block) }
	item := func(part string) string { return `"input":[{"role":"user","content":[` + part + `]}]` }
	for _, c := range []struct {
		p                 Protocol
		body, param, what string
	}{
		{OpenAIChat, chat(`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,` + pdf + `"}}`), "messages[0].content[0].file.file_data", "a PDF"},
		{OpenAIChat, chat(`{"type":"file","file":{"file_data":"` + zip + `"}}`), "messages[0].content[0].file.file_data", "a file that is no text"},
		{OpenAIChat, chat(`{"type":"file","file":{"file_data":"@@@@"}}`), "messages[0].content[0].file.file_data", "illegal base64"},
		{OpenAIChat, chat(`{"type":"file","file":{"file_id":"f"}}`), "messages[0].content[0].file", "not in the request"},
		{OpenAIChat, chat(`{"type":"text","text":"?"},{"type":"video_url","video_url":{"url":"https://x/y.mp4"}}`), "messages[0].content[1]", "a video"},
		{OpenAIChat, chat(`{"type":"audio_url","audio_url":{"url":"https://x/y.mp3"}}`), "messages[0].content[0]", "audio is not fetched"},
		{OpenAIChat, chat(`{"type":"input_audio","input_audio":{"data":"@@@@","format":"wav"}}`), "messages[0].content[0].input_audio.data", "illegal base64"},
		{OpenAIChat, chat(`{"type":"input_audio","input_audio":{"data":"iVBORw0KGgo=","format":"wav"}}`), "messages[0].content[0].input_audio.data", "no audio but image/png"},
		{OpenAIChat, chat(`{"type":"image_url","image_url":{"url":""}}`), "messages[0].content[0].image_url.url", "expected an image"},
		{OpenAIChat, chat(`{"type":"image_url","image_url":"file:///etc/passwd"}`), "messages[0].content[0].image_url", "expected an image"},
		{OpenAIResponses, item(`{"type":"input_file","file_url":"https://x/a.pdf"}`), "input[0].content[0]", "not in the request"},
		{OpenAIResponses, item(`{"type":"input_file","file_data":"data:application/pdf;base64,` + pdf + `"}`), "input[0].content[0].file_data", "a PDF"},
		{OpenAIResponses, `"input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_file","file_id":"f"}]}]`, "input[0].output[0]", "not in the request"},
		{Anthropic, claude(`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"` + pdf + `"}}`), "messages[0].content[0].source.data", "a PDF"},
		{Anthropic, claude(`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"@"}}`), "messages[0].content[0].source.data", "illegal base64"},
		{Anthropic, claude(`{"type":"document","source":{"type":"url","url":"https://x/a.pdf"}}`), "messages[0].content[0].source", "not in the request"},
		{Anthropic, claude(`{"type":"document","source":{"type":"file","file_id":"f"}}`), "messages[0].content[0].source", "not in the request"},
		{Anthropic, claude(`{"type":"tool_result","tool_use_id":"t","content":[{"type":"document","source":{"type":"base64","data":"` + pdf + `"}}]}`), "messages[0].content[0].content[0].source.data", "a PDF"},
		{Anthropic, claude(`{"type":"container_upload","file_id":"f"}`), "messages[0].content[0]", "vendor's store"},
	} {
		_, p := Parse(c.p, []byte(`{"model":"m",`+c.body+`}`))
		if p == nil || p.Status != 400 || p.Param != c.param || !strings.Contains(p.Message, c.what) || p.Remedy == "" && c.what != "expected an image" {
			t.Errorf("%s %s: %+v, want %s: %s", c.p, c.body, p, c.param, c.what)
		}
	}
}

// Limits that runtimes take for none in silence; -1 is a word for none that
// clients of LM Studio and llama.cpp send, and Ollama has more of them.
func TestLimitsThatNobodyCanMeanAreRefused(t *testing.T) {
	bodies := map[Protocol]string{
		OpenAIChat: hi, OpenAICompletion: `"prompt":"hi"`, OpenAIResponses: `"input":"hi"`, Anthropic: hi, OllamaChat: hi,
	}
	const none = -1
	for _, c := range []struct {
		p         Protocol
		member, n string
		want      int // tokens, none, or 0 = refused
	}{
		{OpenAIChat, "max_tokens", "-5", 0}, {OpenAIChat, "max_tokens", "0", 0}, {OpenAIChat, "max_completion_tokens", "-2", 0},
		{OpenAIChat, "max_tokens", "-1", none}, {OpenAIChat, "max_tokens", "null", none}, {OpenAIChat, "max_tokens", "1", 1}, {OpenAIChat, "n", "0", 0}, {OpenAIChat, "n", "-3", 0},
		{OpenAIChat, "top_logprobs", "-1", 0},
		{OpenAICompletion, "max_tokens", "-5", 0}, {OpenAICompletion, "max_tokens", "0", 0}, {OpenAICompletion, "best_of", "0", 0},
		{OpenAIResponses, "max_output_tokens", "-5", 0}, {OpenAIResponses, "max_output_tokens", "16", 16},
		{Anthropic, "max_tokens", "-1", 0}, {Anthropic, "max_tokens", "0", 0}, {Anthropic, "max_tokens", "7", 7},
		{OllamaChat, "options", `{"num_predict":-1}`, none}, {OllamaChat, "options", `{"num_predict":-2}`, none}, {OllamaChat, "options", `{"num_predict":5}`, 5},
		{OllamaChat, "options", `{"num_ctx":-1}`, none},
	} {
		r, p := Parse(c.p, []byte(`{"model":"m",`+bodies[c.p]+`,"`+c.member+`":`+c.n+`}`))
		switch {
		case c.want == 0:
			if p == nil || p.Status != 400 || p.Param != c.member || !strings.Contains(p.Message, "at least") || strings.HasPrefix(c.member, "max_") && (p.Remedy == "") != (c.p == Anthropic) {
				t.Errorf("%s %s %s: %v", c.p, c.member, c.n, p)
			}
		case p != nil:
			t.Errorf("%s %s %s: %v", c.p, c.member, c.n, p)
		case c.want == none && r.MaxOutput != nil, c.want > 0 && (r.MaxOutput == nil || *r.MaxOutput != c.want):
			t.Errorf("%s %s %s: read %v", c.p, c.member, c.n, r.MaxOutput)
		}
	}
}
