package dialect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// told writes a conversation down, a line a message.
func told(r *Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		b.WriteString(string(m.Role))
		if m.ToolCallID != "" || m.ToolName != "" {
			fmt.Fprintf(&b, " %s/%s", m.ToolCallID, m.ToolName)
		}
		if m.Thinking != nil {
			fmt.Fprintf(&b, " <%s>", []byte(m.Thinking))
		}
		for _, p := range m.Parts {
			switch p.Kind {
			case PartText:
				fmt.Fprintf(&b, " %s", []byte(p.Text))
			case PartImage:
				fmt.Fprintf(&b, " image(%s %s%s)", p.MIME, p.Data, p.URL)
			case PartAudio:
				fmt.Fprintf(&b, " audio(%s %s)", p.MIME, p.Data)
			}
		}
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, " %s=%s(%s)", c.ID, c.Name, c.Arguments)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestChatMessagesInEverySpelling(t *testing.T) {
	for name, c := range map[string]struct{ messages, want string }{
		"roles": {`{"role":"developer","content":"d"},{"role":"system","content":"s"},{"role":"user","content":"u","name":"bob"},{"role":"assistant","content":"a"}`,
			"system \"d\"\nsystem \"s\"\nuser \"u\"\nassistant \"a\""},
		"no content is empty text": {`{"role":"user","content":null},{"role":"assistant"},{"role":"user","content":[]}`,
			"user \"\"\nassistant \"\"\nuser \"\""},
		"parts keep their order": {`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,iVBORw0KGgo=","detail":"low"}},{"type":"text","text":"b"},"c",{"text":"d"}]}`,
			`user "a" image(image/png iVBORw0KGgo=) "b" "c" "d"`},
		"images": {`{"role":"user","content":[{"type":"image_url","image_url":"data:;base64,\/9j\/4AAQ"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}},{"type":"image_url","image_url":{"url":"data:image/webp;charset=utf-8;base64,UklGRgAAAABXRUJQ"}}]}`,
			`user image(image/jpeg /9j/4AAQ) image( https://example.com/a.png) image(image/webp UklGRgAAAABXRUJQ)`},
		"audio": {`{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"UklG","format":"mp3"}},{"type":"input_audio","input_audio":{"data":"data:audio/wav;base64,SUQzBA=="}}]}`,
			`user audio(audio/mp3 UklG) audio(audio/mpeg SUQzBA==)`},
		"files of text": {`{"role":"user","content":[{"type":"file","file":{"filename":"a.csv","file_data":"data:text/csv;base64,YSxi"}},{"type":"file","file":{"file_data":"w6k="}}]}`,
			`user "a.csv\n\na,b" "é"`},
		"calls and results": {`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"c2","function":{"name":"g","arguments":""}}]},{"role":"tool","tool_call_id":"c2","content":"done"},{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}`,
			"assistant \"\" c1=f({\"a\":1}) c2=g({})\ntool c2/g \"done\"\ntool c1/f \"x\" \"y\""},
		"arguments in every shape": {`{"role":"assistant","content":"","tool_calls":[{"id":"1","function":{"name":"f","arguments":{"a":1}}},{"id":"2","function":{"name":"f","arguments":null}},{"id":"3","function":{"name":"f"}},{"id":"4","function":{"name":"f","arguments":"{\"a\":"}},{"id":"5","function":{"name":"f","arguments":" null "}},{"id":"6","function":{"name":"f","arguments":"[1]"}}]}`,
			`assistant "" 1=f({"a":1}) 2=f({}) 3=f({}) 4=f({"_raw":"{\"a\":"}) 5=f({"_raw":" null "}) 6=f({"_raw":"[1]"})`},
		"ids repeated in a later turn": {`{"role":"assistant","tool_calls":[{"id":"x","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"x","content":"1"},{"role":"assistant","tool_calls":[{"id":"x","function":{"name":"g"}}]},{"role":"tool","tool_call_id":"x","content":"2"}`,
			"assistant \"\" x=f({})\ntool x/f \"1\"\nassistant \"\" x=g({})\ntool x/g \"2\""}, // section 8.11
		"the old function calls": {`{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"42"}`,
			"assistant \"\" call_message_0=f({})\ntool call_message_0/f \"42\""},
		"reasoning sent back": {`{"role":"assistant","content":"a","reasoning_content":"r"},{"role":"assistant","content":"a","reasoning":"r"},{"role":"assistant","content":"a","reasoning":""}`,
			"assistant <\"r\"> \"a\"\nassistant <\"r\"> \"a\"\nassistant \"a\""},
		"a refusal is text":   {`{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`, `assistant "no"`},
		"texts stay literals": {`{"role":"user","content":"\u0041\/\ud83d\ude00"}`, `user "\u0041\/\ud83d\ude00"`},
	} {
		r := parsed(t, OpenAIChat, `{"model":"m","messages":[`+c.messages+`]}`)
		if got := told(r); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

func TestChatOptionsAreRead(t *testing.T) {
	r := parsed(t, OpenAIChat, `{"model":"M:7b","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true},
		"temperature":0,"top_p":0.9,"min_p":0.05,"top_k":40,"frequency_penalty":0.1,"presence_penalty":-0.1,"repeat_penalty":1.1,"seed":7,"logit_bias":{"5":-100},
		"stop":["a","","b"],"n":2,"logprobs":true,"top_logprobs":3,"max_tokens":100,"max_completion_tokens":64.0,"parallel_tool_calls":false,
		"user":"u","safety_identifier":"s","prompt_cache_key":"k","metadata":{"tags":["x","y"],"session_id":"sess"},"fallback_models":["b","c"],"store":true}`)
	s := r.Sampling
	if !r.Stream || !r.IncludeUsage || r.Model != "M:7b" || *s.Temperature != 0 || *s.TopP != 0.9 || *s.MinP != 0.05 || *s.TopK != 40 ||
		*s.FrequencyPenalty != 0.1 || *s.PresencePenalty != -0.1 || *s.RepeatPenalty != 1.1 || *s.Seed != 7 || string(s.LogitBias) != `{"5":-100}` {
		t.Errorf("sampling %+v", r)
	}
	if !slices.Equal(r.Stop, []string{"a", "b"}) || r.N != 2 || !r.Logprobs || r.TopLogs != 3 || *r.MaxOutput != 64 || *r.ParallelTools {
		t.Errorf("limits %+v", r)
	}
	if r.User != "u" || r.PromptCacheKey != "k" || !slices.Equal(r.Tags, []string{"x", "y"}) || r.MetaSession != "sess" || !slices.Equal(r.Fallbacks, []string{"b", "c"}) {
		t.Errorf("identity %+v", r)
	}
}

// Protocols.md 1: Ollama ignores max_completion_tokens; LM Studio's examples say -1.
func TestOutputLimits(t *testing.T) {
	for body, want := range map[string]int{
		`"max_tokens":5`:                              5,
		`"max_completion_tokens":6`:                   6,
		`"max_tokens":5,"max_completion_tokens":6`:    6,
		`"max_completion_tokens":6,"max_tokens":5`:    6,
		`"max_completion_tokens":null,"max_tokens":5`: 5,
		`"max_tokens":-1`:                             0,
		`"max_tokens":null`:                           0,
	} {
		r := parsed(t, OpenAIChat, `{"model":"m","messages":[{"role":"user","content":"hi"}],`+body+`}`)
		got := 0
		if r.MaxOutput != nil {
			got = *r.MaxOutput
		}
		if got != want {
			t.Errorf("%s: limit %d, want %d", body, got, want)
		}
	}
}

func TestThinkingIsAskedForInManyWords(t *testing.T) {
	for body, want := range map[string]Think{
		`"reasoning_effort":"none"`:                                     {true, false, "none", 0},
		`"reasoning_effort":"minimal"`:                                  {true, true, "minimal", 0},
		`"reasoning_effort":"xhigh"`:                                    {true, true, "xhigh", 0},
		`"reasoning_effort":null`:                                       {},
		`"reasoning":{"effort":"low","summary":"auto"}`:                 {true, true, "low", 0},
		`"reasoning":{"enabled":false}`:                                 {Set: true},
		`"reasoning":{"enabled":true,"max_tokens":2048}`:                {Set: true, On: true, Budget: 2048},
		`"think":false`:                                                 {Set: true},
		`"think":"max"`:                                                 {true, true, "max", 0},
		`"chat_template_kwargs":{"enable_thinking":false,"x":1}`:        {Set: true},
		`"think":true,"chat_template_kwargs":{"enable_thinking":false}`: {Set: true, On: true},
	} {
		r := parsed(t, OpenAIChat, `{"model":"m","messages":[{"role":"user","content":"hi"}],`+body+`}`)
		if r.Think != want {
			t.Errorf("%s: %+v, want %+v", body, r.Think, want)
		}
	}
}

const twoTools = `"tools":[{"type":"function","function":{"name":"f","description":"d\n","parameters":{"type":"object","properties":{"x":{"type":"string","pattern":"a+","default":"a"}}},"strict":true}},{"type":"function","function":{"name":"g"}}]`

func TestToolChoices(t *testing.T) {
	for body, want := range map[string]struct {
		choice ToolChoice
		tools  int
	}{
		`"tool_choice":"auto"`:     {ToolChoice{Mode: ChoiceAuto}, 2},
		`"tool_choice":null`:       {ToolChoice{}, 2},
		`"tool_choice":"none"`:     {ToolChoice{Mode: ChoiceNone}, 0},
		`"tool_choice":"required"`: {ToolChoice{Mode: ChoiceRequired}, 2},
		`"tool_choice":"any"`:      {ToolChoice{Mode: ChoiceRequired}, 2},
		`"tool_choice":{"type":"function","function":{"name":"g"}}`:                                                                    {ToolChoice{ChoiceNamed, "g"}, 2},
		`"tool_choice":{"type":"function","name":"g"}`:                                                                                 {ToolChoice{ChoiceNamed, "g"}, 2},
		`"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"g"}]}`:                            {ToolChoice{Mode: ChoiceRequired}, 1},
		`"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"f"}}]}}`: {ToolChoice{Mode: ChoiceAuto}, 1},
		`"function_call":{"name":"f"}`: {ToolChoice{ChoiceNamed, "f"}, 2},
	} {
		for _, both := range []string{body + "," + twoTools, twoTools + "," + body} {
			r := parsed(t, OpenAIChat, `{"model":"m","messages":[{"role":"user","content":"hi"}],`+both+`}`)
			if r.ToolChoice != want.choice || len(r.Tools) != want.tools {
				t.Errorf("%s: %+v with %d tools", both, r.ToolChoice, len(r.Tools))
			}
		}
	}
}

// Answering such a choice would be a call of another tool than was asked for, or
// words where a call was.
func TestAChoiceOfWhatIsNotDeclaredIsRefused(t *testing.T) {
	const (
		none     = "tool_choice: a call is required, and the request declares no tools. Send tools, or leave tool_choice out."
		noZ      = `tool_choice: no tool of this request is called "Z". Declare it in tools, or choose one that is.`
		chat     = `"messages":[{"role":"user","content":"hi"}]`
		response = `"input":"hi"`
		message  = `"max_tokens":9,` + chat
		flat     = `"tools":[{"type":"function","name":"f"},{"type":"web_search"}]`
		claude   = `"tools":[{"name":"f","input_schema":{}},{"type":"web_search_20250305","name":"web_search"}]`
	)
	for _, c := range []struct {
		p                 Protocol
		ask, tools, other string
		want              string
	}{
		{OpenAIChat, chat, twoTools, `"tool_choice":{"type":"function","function":{"name":"Z"}}`, noZ},
		{OpenAIChat, chat, twoTools, `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"Z"}}]}}`, noZ},
		{OpenAIChat, chat, twoTools, `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[]}}`, "tool_choice.allowed_tools.tools: a call is required, and no tool is allowed"},
		{OpenAIChat, chat, twoTools, `"function_call":{"name":"Z"}`, "function_call" + noZ[len("tool_choice"):]},
		{OpenAIChat, chat, `"tools":[]`, `"tool_choice":"required"`, none},
		{OpenAIChat, chat, `"x":1`, `"tool_choice":{"type":"function","function":{"name":"Z"}}`, noZ},
		{OpenAIResponses, response, flat, `"tool_choice":{"type":"function","name":"Z"}`, noZ},
		{OpenAIResponses, response, flat, `"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"Z"},{"type":"web_search"}]}`, noZ},
		{OpenAIResponses, response, `"x":1`, `"tool_choice":"required"`, none},
		{Anthropic, message, claude, `"tool_choice":{"type":"tool","name":"Z"}`, noZ},
		{Anthropic, message, `"tools":[]`, `"tool_choice":{"type":"any"}`, none},
	} {
		for _, both := range []string{c.tools + "," + c.other, c.other + "," + c.tools} {
			_, p := Parse(c.p, []byte(`{"model":"m",`+c.ask+`,`+both+`}`))
			path, _, _ := strings.Cut(c.want, ":")
			if p == nil || p.Status != 400 || p.Text() != c.want || p.Param != path {
				t.Errorf("%s %s:\n got %v\nwant %s", c.p, both, p, c.want)
			}
		}
	}
	// A vendor's own tool is declared; that it does not run here, the record tells.
	for _, c := range []struct {
		p          Protocol
		ask, other string
		tools      int
	}{
		{Anthropic, message, claude + `,"tool_choice":{"type":"tool","name":"web_search"}`, 1},
		{Anthropic, message, `"tools":[{"type":"web_search_20250305","name":"web_search"}],"tool_choice":{"type":"any"}`, 0},
		{OpenAIChat, chat, `"tools":[{"type":"web_search"}],"tool_choice":"required"`, 0},
		{OpenAIResponses, response, flat + `,"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"web_search"}]}`, 0},
	} {
		r := parsed(t, c.p, `{"model":"m",`+c.ask+`,`+c.other+`}`)
		if r.ToolChoice != (ToolChoice{}) || len(r.Tools) != c.tools || !slices.Contains(r.Dropped, "tool_choice: none of the tools can run here") {
			t.Errorf("%s %s: %+v with %d tools, dropped %q", c.p, c.other, r.ToolChoice, len(r.Tools), r.Dropped)
		}
	}
}

// Ollama's own /v1 loses most of a schema's words; ours passes it whole.
func TestToolSchemasAreKeptToTheByte(t *testing.T) {
	r := parsed(t, OpenAIChat, `{"model":"m","messages":[{"role":"user","content":"hi"}],`+twoTools+`}`)
	if got := string(r.Tools[0].Parameters); got != `{"type":"object","properties":{"x":{"type":"string","pattern":"a+","default":"a"}}}` {
		t.Errorf("schema %s", got)
	}
	if r.Tools[0].Description.String() != "d\n" || !*r.Tools[0].Strict || r.Tools[1].Parameters != nil {
		t.Errorf("tools %+v", r.Tools)
	}
}

func TestToolsStayWhereTheHistoryNeedsThem(t *testing.T) {
	r := parsed(t, OpenAIChat, `{"model":"m","tool_choice":"none",`+twoTools+`,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"x"}]}`)
	if len(r.Tools) != 2 || r.ToolChoice.Mode != ChoiceNone {
		t.Errorf("%d tools, %+v", len(r.Tools), r.ToolChoice)
	}
}

func TestToolsOfOtherKindsAreNoted(t *testing.T) {
	r := parsed(t, OpenAIChat, `{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"web_search"},{"type":"custom","custom":{"name":"c"}},{"type":"function","function":{"name":"f"}}],"functions":[{"name":"old","parameters":{}}]}`)
	var names []string
	for _, tool := range r.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "c f old" || len(r.Dropped) != 1 || !strings.Contains(r.Dropped[0], "tools[0]") {
		t.Errorf("tools %s, noted %q", got, r.Dropped)
	}
}

func TestResponseFormats(t *testing.T) {
	for body, want := range map[string]Format{
		`null`:                   {},
		`{"type":"text"}`:        {},
		`{"type":"json_object"}`: {Kind: FormatJSON},
		`{"type":"json_object","schema":{"type":"object"}}`:                                    {Kind: FormatSchema, Schema: Raw(`{"type":"object"}`)},
		`{"type":"json_schema","json_schema":{"name":"n","schema":{"$schema":"x","const":1}}}`: {Kind: FormatSchema, Name: "n", Schema: Raw(`{"$schema":"x","const":1}`)},
	} {
		r := parsed(t, OpenAIChat, `{"model":"m","messages":[{"role":"user","content":"hi"}],"response_format":`+body+`}`)
		if got := r.Format; got.Kind != want.Kind || got.Name != want.Name || string(got.Schema) != string(want.Schema) {
			t.Errorf("%s: %+v", body, got)
		}
	}
}

func TestFaultsNameTheFieldAndBothTypes(t *testing.T) {
	for body, want := range map[string]string{
		`"messages":"hi"`:                          "messages: expected an array, got a string",
		`"messages":[]`:                            "messages: at least one message is required",
		`"x":1`:                                    "messages: at least one message is required",
		`"messages":["hi"]`:                        "messages[0]: expected an object, got a string",
		`"messages":[{"content":"hi"}]`:            "messages[0].role: a message needs a role",
		`"messages":[{"role":"robot"}]`:            `messages[0].role: expected system, developer, user, assistant or tool, got "robot"`,
		`"messages":[{"role":"user","content":5}]`: "messages[0].content: expected a string or an array of parts, got a number",
		`"messages":[{"role":"user","content":[{"type":"text","text":5}]}]`:                                       "messages[0].content[0].text: expected a string, got a number",
		`"messages":[{"role":"user","content":[{"type":"image_url"}]}]`:                                           "messages[0].content[0].image_url: the image has no URL. Send it as a data URL in base64; files of the vendor's store are not here.",
		`"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png,abc"}}]}]`:  "messages[0].content[0].image_url.url: expected an image as a data URL in base64 (data:image/png;base64,...), or its https address",
		`"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"1","function":{}}]}]`: "messages[1].tool_calls[0].function.name: a call needs the function's name",
		`"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":{}}]`:                         "messages[1].tool_calls: expected an array, got an object",
		hi + `,"temperature":"0.7"`:                                   "temperature: expected a number, got a string",
		hi + `,"temperature":1e999`:                                   "temperature: the number is out of range",
		hi + `,"max_tokens":1.5`:                                      "max_tokens: expected a whole number, got 1.5. Leave it out for no limit.",
		hi + `,"stream":"true"`:                                       "stream: expected true or false, got a string",
		hi + `,"stop":[1]`:                                            "stop[0]: expected a string, got a number",
		hi + `,"stream_options":true`:                                 "stream_options: expected an object, got a boolean",
		hi + `,"stream_options":{"include_usage":1}`:                  "stream_options.include_usage: expected true or false, got a number",
		hi + `,"tools":[{"function":{}}]`:                             "tools[0].function.name: a function needs a name",
		hi + `,"tools":[{"function":{"name":"f","parameters":"{}"}}]`: "tools[0].function.parameters: expected an object, got a string",
		hi + `,"tool_choice":"always"`:                                "tool_choice: expected auto, none, required or a named function, got always",
		hi + `,"tool_choice":{"type":"function"}`:                     "tool_choice.function.name: expected the name of a function",
		hi + `,"response_format":{"type":"xml"}`:                      "response_format.type: expected text, json_object or json_schema, got xml",
		hi + `,"response_format":{"type":"json_schema"}`:              "response_format.json_schema.schema: a schema is required with type json_schema",
		hi + `,"reasoning_effort":"huge"`:                             "reasoning_effort: expected one of none, minimal, low, medium, high, xhigh, max, ultra, got huge",
		hi + `,"fallback_models":[1]`:                                 "fallback_models[0]: expected a string, got a number",
	} {
		_, prob := Parse(OpenAIChat, []byte(`{"model":"m",`+body+`}`))
		if prob == nil {
			t.Errorf("%s was taken", body)
			continue
		}
		if prob.Text() != want || prob.Status != 400 || prob.Code != "invalid_request" {
			t.Errorf("%s:\n got %d %s\nwant %s", body, prob.Status, prob.Text(), want)
		}
		if path, _, _ := strings.Cut(want, ":"); prob.Param != path {
			t.Errorf("%s: param %s", body, prob.Param)
		}
	}
}

const hi = `"messages":[{"role":"user","content":"hi"}]`

func TestCompletions(t *testing.T) {
	r := parsed(t, OpenAICompletion, `{"model":"m","prompt":["hi"],"suffix":"s","echo":true,"logprobs":2,"max_tokens":9,"best_of":3,"stop":"x","stream":true}`)
	if !r.Prompt.Text.Is("hi") || !r.Prompt.Suffix.Is("s") || !r.Prompt.Echo || !r.Logprobs || r.TopLogs != 2 || *r.MaxOutput != 9 || !slices.Equal(r.Stop, []string{"x"}) || r.BestOf != 3 {
		t.Errorf("read %+v", r)
	}
	for body, want := range map[string]string{
		`"x":1`:                  "prompt: a prompt is required",
		`"prompt":null`:          "prompt: a prompt is required",
		`"prompt":[]`:            "prompt: a prompt is required",
		`"prompt":5`:             "prompt: expected a string, got a number",
		`"prompt":["a","b"]`:     "prompt: got several prompts. Send one request per prompt.",
		`"prompt":[1,2]`:         "prompt: got token ids, which mean something else to every model. Send the prompt as text.",
		`"prompt":[[1,2],[3,4]]`: "prompt: got token ids, which mean something else to every model. Send the prompt as text.",
	} {
		_, prob := Parse(OpenAICompletion, []byte(`{"model":"m",`+body+`}`))
		if prob == nil || prob.Text() != want {
			t.Errorf("%s: %v, want %s", body, prob, want)
		}
	}
}

func TestEmbeddings(t *testing.T) {
	for body, want := range map[string]string{
		`"input":"a"`:                      `1 true 0 false`,
		`"input":["a","b"],"dimensions":4`: `2 false 4 false`,
		`"input":"a","query_prefix":"","document_prefix":null`: `1 true 0 false`,
		`"input":["a"],"encoding_format":"base64"`:             `1 false 0 true`,
		`"input":"","encoding_format":"float"`:                 `1 true 0 false`,
		`"input":"a","user":"u","encoding_format":null`:        `1 true 0 false`,
	} {
		e := parsed(t, OpenAIEmbeddings, `{"model":"m","stream":true,`+body+`}`).Embed
		if got := fmt.Sprint(len(e.Inputs), e.Single, e.Dimensions, e.Base64); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	for body, want := range map[string]string{
		`"input":[1,2]`:      "check_embedding_ctx_length=False",
		`"input":[[1,2]]`:    "check_embedding_ctx_length=False",
		`"input":[]`:         "at least one text",
		`"x":1`:              "at least one text",
		`"input":{"a":1}`:    "expected a string or an array of strings, got an object",
		`"input":["a",null]`: "input[1]: expected a string, got null",
		`"input":"a","query_prefix":"search_query: "`: "a prefix is not added for you",
		`"input":"a","document_prefix":"x"`:           "a prefix is not added for you",
		`"input":"a","encoding_format":"int8"`:        "expected float or base64, got int8", // W-15
		`"input":"a","dimensions":-1`:                 "dimensions: expected a number above 0",
	} {
		_, prob := Parse(OpenAIEmbeddings, []byte(`{"model":"m",`+body+`}`))
		if prob == nil || !strings.Contains(prob.Text(), want) {
			t.Errorf("%s: %v, want %s", body, prob, want)
		}
	}
}

func TestTextsAndMediaAreFoundWherever(t *testing.T) {
	r := parsed(t, OpenAIChat, `{"model":"m","messages":[{"role":"system","content":"a"},{"role":"assistant","content":"c","reasoning":"b"},{"role":"user","content":[{"type":"text","text":"d"},{"type":"image_url","image_url":{"url":"http://x/y"}},{"type":"input_audio","input_audio":{"data":"AAAA"}}]}]}`)
	var got []string
	for text := range r.Texts() {
		got = append(got, text.String())
	}
	if strings.Join(got, "") != "abcd" || !r.HasImages() || !r.HasAudio() || !r.RemoteImages() {
		t.Errorf("%q %v %v %v", got, r.HasImages(), r.HasAudio(), r.RemoteImages())
	}
	plain := parsed(t, OpenAIEmbeddings, `{"model":"m","input":["x","y"]}`)
	got = nil
	for text := range plain.Texts() {
		got = append(got, text.String())
	}
	if strings.Join(got, "") != "xy" || plain.HasImages() || plain.HasAudio() || plain.RemoteImages() {
		t.Errorf("%q", got)
	}
}
