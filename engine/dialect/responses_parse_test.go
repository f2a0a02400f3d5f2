package dialect

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3/responses"
)

// outline writes messages as one line each, for comparison by eye.
func outline(msgs []Message) string {
	var b strings.Builder
	for _, m := range msgs {
		b.WriteString(string(m.Role))
		if m.ToolCallID != "" || m.ToolName != "" {
			fmt.Fprintf(&b, " for %s of %s", m.ToolCallID, m.ToolName)
		}
		if m.IsError {
			b.WriteString(" error")
		}
		if !m.Thinking.Empty() {
			fmt.Fprintf(&b, " <%s>", []byte(m.Thinking))
		}
		for _, p := range m.Parts {
			switch p.Kind {
			case PartText:
				fmt.Fprintf(&b, " %s", []byte(p.Text))
			case PartImage:
				fmt.Fprintf(&b, " [image %s%s %s]", p.MIME, p.URL, p.Data)
			}
		}
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, " %s=%s(%s)", c.ID, c.Name, c.Arguments)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestResponsesInputBecomesMessages(t *testing.T) {
	cases := []struct {
		name, body, want string
		dropped          []string
	}{
		{"a string is a user message", `"input":"hi"`, `user "hi"`, nil},
		{"instructions come first", `"instructions":"Be brief.","input":"hi"`, `system "Be brief."` + "\n" + `user "hi"`, nil},
		{"developer is system, in place", `"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]},{"type":"message","role":"user","content":"hi"}]`,
			`system "a" "b"` + "\n" + `user "hi"`, nil},
		{"a call merges into the turn before it", `"input":[{"role":"user","content":"hi"},{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"I look.","annotations":[]}]},
			{"type":"function_call","id":"fc_1","call_id":"call_b","name":"f","arguments":"{\"a\":1}","status":"completed"},
			{"type":"function_call","id":"fc_2","call_id":"call_a","name":"g","arguments":""},
			{"type":"function_call_output","id":"fco_1","call_id":"call_a","output":"two"},
			{"type":"function_call_output","call_id":"call_b","output":[{"type":"input_text","text":"one"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]}]`,
			`user "hi"` + "\n" + `assistant "I look." call_b=f({"a":1}) call_a=g({})` + "\n" + `tool for call_a of g "two"` + "\n" + `tool for call_b of f "one" [image image/png iVBORw0KGgo=]`, nil},
		{"reasoning goes to the turn that follows", `"input":[{"role":"user","content":"hi"},{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":null},
			{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"},
			{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"aha"}]},{"type":"message","role":"assistant","content":"done"}]`,
			`user "hi"` + "\n" + `assistant <"hm"> c=f({})` + "\n" + `tool for c of f "x"` + "\n" + `assistant <"aha"> "done"`, nil},
		{"our own sealed reasoning is read, a vendor's is not", `"input":[{"type":"reasoning","summary":[],"encrypted_content":"bellwether:I \"think\""},{"role":"assistant","content":"a"},
			{"type":"reasoning","summary":[],"encrypted_content":"gAAAAA=="},{"role":"user","content":"b"}]`,
			`assistant <"I \"think\""> "a"` + "\n" + `user "b"`, []string{"reasoning that only its vendor can read"}},
		{"reasoning between the parts of an answer is one", `"input":[{"type":"reasoning","summary":[{"text":"a"}]},{"role":"assistant","content":"1"},{"type":"reasoning","summary":[{"text":"b"}]},{"role":"assistant","content":"2"},{"type":"function_call","call_id":"c","name":"f"}]`,
			`assistant <"a\n\nb"> "1" "2" c=f({})`, nil},
		{"reasoning before results waits for the next answer", `"input":[{"type":"function_call","call_id":"c","name":"f"},{"type":"reasoning","summary":[{"text":"a"}]},{"type":"function_call_output","call_id":"c","output":"x"},{"role":"assistant","content":"1"}]`,
			`assistant c=f({})` + "\n" + `tool for c of f "x"` + "\n" + `assistant <"a"> "1"`, nil},
		{"reasoning that nothing follows is noted", `"input":[{"role":"user","content":"hi"},{"type":"reasoning","summary":[{"text":"a"}]}]`,
			`user "hi"`, []string{"reasoning that no answer follows"}},
		{"text behind an unanswered call joins its turn", `"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"role":"assistant","content":"waiting"},{"type":"function_call_output","call_id":"c","output":"x"}]`,
			`assistant "waiting" c=f({})` + "\n" + `tool for c of f "x"`, nil},
		{"a custom call is a call with one text", `"input":[{"type":"custom_tool_call","call_id":"c","name":"apply_patch","input":"*** \"P\"\n"},{"type":"custom_tool_call_output","call_id":"c","output":"ok"}]`,
			`assistant c=apply_patch({"input":"*** \"P\"\n"})` + "\n" + `tool for c of apply_patch "ok"`, nil},
		{"a namespaced call has the name the model knows", `"input":[{"type":"function_call","call_id":"c","namespace":"ns","name":"f","arguments":"{}"}]`, `assistant c=ns.f({})`, nil},
		{"kinds nobody here knows are left out with a note", `"input":[{"role":"user","content":"hi"},{"type":"web_search_call","id":"ws_1","status":"completed"},{"type":"compaction","encrypted_content":"x"},{"type":"brand_new"}]`,
			`user "hi"`, []string{"an input item of type web_search_call", "an input item of type compaction", "an input item of type brand_new"}},
		{"items without a type are known by their members", `"input":[{"role":"user","content":"hi"},{"call_id":"c","name":"f","arguments":"{}"},{"call_id":"c","output":"x"}]`,
			`user "hi"` + "\n" + `assistant c=f({})` + "\n" + `tool for c of f "x"`, nil},
		{"a tool's object is passed on as it is", `"input":[{"type":"function_call_output","call_id":"c","output":{"ok":true}}]`, `tool for c of  "{\"ok\":true}"`, nil},
		{"images by data and by address", `"input":[{"role":"user","content":[{"type":"input_text","text":"what?"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,iVBORw0KGgo="},{"type":"input_image","image_url":"https://example.com/a.png"}]}]`,
			`user "what?" [image image/png iVBORw0KGgo=] [image https://example.com/a.png ]`, nil},
		{"a file of text is text", `"input":[{"role":"user","content":[{"type":"input_file","filename":"a.txt","file_data":"data:text/plain;base64,QUJD"}]}]`,
			`user "a.txt\n\nABC"`, nil},
		{"a refusal is the text it is", `"input":[{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}]`, `assistant "No."`, nil},
		{"arguments that were no JSON do not end the conversation", `"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":"}]`,
			`assistant c=f({"_raw":"{\"a\":"})`, []string{"arguments of an earlier call were no JSON object: passed on as _raw"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := mustParse(t, OpenAIResponses, `{"model":"m",`+c.body+`}`)
			if got := outline(r.Messages); got != c.want+"\n" {
				t.Errorf("got\n%swant\n%s\n", got, c.want)
			}
			if !reflect.DeepEqual(r.Dropped, c.dropped) {
				t.Errorf("dropped %q, want %q", r.Dropped, c.dropped)
			}
		})
	}
}

func TestResponsesFaultNamesItsField(t *testing.T) {
	for body, want := range map[string]string{
		`"input":[{"role":"user","content":"a"},{"foo":1}]`:                          "input[1]",
		`"input":[{"role":"narrator","content":"a"}]`:                                "input[0].role",
		`"input":[{"role":"user","content":[{"type":"input_image","file_id":"f"}]}]`: "input[0].content[0].image_url",
		`"input":7`:      "input",
		`"input":["hi"]`: "input[0]",
		`"stream":false`: "input",
		`"input":"a","tools":[{"type":"function"}]`:                                      "tools[0].function.name",
		`"input":"a","tools":[{"type":"namespace","tools":[]}]`:                          "tools[0].name",
		`"input":"a","text":{"format":{"type":"yaml"}}`:                                  "text.format.type",
		`"input":"a","reasoning":{"effort":"extreme"}`:                                   "reasoning.effort",
		`"input":"a","prompt":{"id":"pmpt_1"}`:                                           "prompt",
		`"input":"a","conversation":"conv_1"`:                                            "conversation",
		`"input":"a","max_output_tokens":"many"`:                                         "max_output_tokens",
		`"input":[{"type":"function_call_output","output":"x"}]`:                         "input[0].call_id",
		`"input":[{"type":"function_call","call_id":"c","arguments":"{}"}]`:              "input[0].name",
		`"input":[{"type":"reasoning","summary":[{"type":"summary_text","text":5}]}]`:    "input[0].summary[0].text",
		`"input":[{"type":"reasoning","summary":{"text":"not a list"}}]`:                 "input[0].summary",
		`"input":[{"type":"message","role":"user","content":[{"type":"input_text"},5]}]`: "input[0].content[1]",
	} {
		_, p := Parse(OpenAIResponses, []byte(`{"model":"m",`+body+`}`))
		if p == nil || p.Status != 400 || p.Param != want {
			t.Errorf("%s: %+v, want param %s", body, p, want)
		}
	}
}

func TestResponsesToolsAreReadFlatNamespacedAndCustom(t *testing.T) {
	r := mustParse(t, OpenAIResponses, `{"model":"m","input":"hi","tool_choice":"auto","parallel_tool_calls":true,"tools":[
		{"type":"function","name":"exec_command","description":"Runs.","strict":false,"parameters":{"type":"object","properties":{"cmd":{"type":"string","minLength":1}}}},
		{"type":"namespace","name":"multi_agent_v1","description":"Agents.","tools":[{"type":"function","name":"spawn_agent","parameters":{"type":"object"}},{"type":"custom","name":"send_input"}]},
		{"type":"web_search","external_web_access":true},
		{"type":"custom","name":"apply_patch","description":"Patches.","format":{"type":"grammar","syntax":"lark","definition":"start: x"}}]}`)
	var names []string
	for _, tool := range r.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "exec_command multi_agent_v1.spawn_agent multi_agent_v1.send_input apply_patch" {
		t.Errorf("tools %s", got)
	}
	if got := string(r.Tools[0].Parameters); !strings.Contains(got, `"minLength":1`) {
		t.Errorf("schema changed: %s", got)
	}
	if got := r.Tools[3].Description.String(); got != "Patches.\n\nThe input must follow this lark grammar:\nstart: x" {
		t.Errorf("description %q", got)
	}
	if !reflect.DeepEqual(r.CustomTools, map[string]bool{"apply_patch": true, "multi_agent_v1.send_input": true}) {
		t.Errorf("custom %v", r.CustomTools)
	}
	if r.Namespaced["multi_agent_v1.spawn_agent"] != (NamespacedTool{"multi_agent_v1", "spawn_agent"}) {
		t.Errorf("namespaced %v", r.Namespaced)
	}
	if len(r.Dropped) != 1 || !strings.Contains(r.Dropped[0], "web_search") {
		t.Errorf("dropped %q", r.Dropped)
	}
}

func TestResponsesToolChoice(t *testing.T) {
	const tools = `"tools":[{"type":"function","name":"f"},{"type":"function","name":"g"},{"type":"namespace","name":"ns","tools":[{"type":"function","name":"h"}]}]`
	cases := []struct {
		choice, tools, names string
		want                 ToolChoice
	}{
		{`"auto"`, tools, "f g ns.h", ToolChoice{Mode: ChoiceAuto}},
		{`"required"`, tools, "f g ns.h", ToolChoice{Mode: ChoiceRequired}},
		{`"none"`, tools, "", ToolChoice{Mode: ChoiceNone}},
		{`{"type":"function","name":"f"}`, tools, "f g ns.h", ToolChoice{Mode: ChoiceNamed, Name: "f"}},
		{`{"type":"function","namespace":"ns","name":"h"}`, tools, "f g ns.h", ToolChoice{Mode: ChoiceNamed, Name: "ns.h"}},
		{`{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"g"},{"type":"web_search"}]}`, tools, "g", ToolChoice{Mode: ChoiceRequired}},
		{`{"type":"web_search_preview"}`, tools, "f g ns.h", ToolChoice{}},
		{`"required"`, `"tools":[{"type":"web_search"}]`, "", ToolChoice{}},
	}
	for _, c := range cases {
		for _, body := range []string{`"tool_choice":` + c.choice + `,` + c.tools, c.tools + `,"tool_choice":` + c.choice} {
			r := mustParse(t, OpenAIResponses, `{"model":"m","input":"hi",`+body+`}`)
			var names []string
			for _, tool := range r.Tools {
				names = append(names, tool.Name)
			}
			if strings.Join(names, " ") != c.names || !reflect.DeepEqual(r.ToolChoice, c.want) {
				t.Errorf("%s: tools %v, choice %+v; want %s, %+v", c.choice, names, r.ToolChoice, c.names, c.want)
			}
		}
	}
}

func TestResponsesSettings(t *testing.T) {
	r := mustParse(t, OpenAIResponses, `{"model":"m","input":"hi","stream":true,"store":false,"max_output_tokens":77,"temperature":0.2,"top_p":0.9,"parallel_tool_calls":false,
		"reasoning":{"effort":"high","summary":"auto"},"text":{"verbosity":"low","format":{"type":"json_schema","name":"n","strict":true,"schema":{"type":"object"}}},
		"prompt_cache_key":"thread-1","safety_identifier":"u1","metadata":{"tags":"a,b"},"client_metadata":{"session_id":"s1"},"include":["message.output_text.logprobs"],"top_logprobs":3,
		"truncation":"auto","service_tier":"auto","brand_new_field":{"x":1}}`)
	switch {
	case !r.Stream || r.Store == nil || *r.Store, *r.MaxOutput != 77, *r.Sampling.Temperature != 0.2, *r.Sampling.TopP != 0.9, *r.ParallelTools:
		t.Errorf("settings %+v", r)
	case r.Think != Think{Set: true, On: true, Level: "high"}:
		t.Errorf("think %+v", r.Think)
	case r.Format.Kind != FormatSchema || r.Format.Name != "n" || !*r.Format.Strict || string(r.Format.Schema) != `{"type":"object"}`:
		t.Errorf("format %+v", r.Format)
	case r.PromptCacheKey != "thread-1" || r.User != "u1" || r.MetaSession != "s1" || len(r.Tags) != 2:
		t.Errorf("identity %q %q %q %q", r.PromptCacheKey, r.User, r.MetaSession, r.Tags)
	case !r.Logprobs || r.TopLogs != 3:
		t.Errorf("logprobs %v %d", r.Logprobs, r.TopLogs)
	case string(r.Member("brand_new_field")) != `{"x":1}`:
		t.Error("an unknown field is lost")
	}
}

// W-08: what Codex sends, by its measured shape.
func TestResponsesCodexRequestIsReadWhole(t *testing.T) {
	r := mustParse(t, OpenAIResponses, codexRequest)
	want := `system "You are Codex."
system "skills" "permissions"
user "<environment_context>"
user "list files"
assistant <"I list."> call_1=exec_command({"cmd":"ls"})
tool for call_1 of exec_command "a.txt"
`
	if got := outline(r.Messages); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if r.PromptCacheKey != "0199-thread" || len(r.Tools) != 2 || r.Tools[1].Name != "multi_agent_v1.spawn_agent" {
		t.Errorf("key %q, tools %v", r.PromptCacheKey, r.Tools)
	}
}

const codexRequest = `{"model":"qwen3-coder","input":[
 {"type":"message","role":"developer","content":[{"type":"input_text","text":"You are Codex."}]},
 {"type":"message","role":"developer","content":[{"type":"input_text","text":"skills"},{"type":"input_text","text":"permissions"}]},
 {"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>"}]},
 {"type":"message","role":"user","content":[{"type":"input_text","text":"list files"}]},
 {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"I list."}],"encrypted_content":"bellwether:I list."},
 {"type":"function_call","id":"fc_1","call_id":"call_1","name":"exec_command","arguments":"{\"cmd\":\"ls\"}","status":"completed"},
 {"type":"function_call_output","id":"fco_1","call_id":"call_1","output":"a.txt"}],
 "tools":[{"type":"function","name":"exec_command","description":"Runs a command.","strict":false,"parameters":{"type":"object","properties":{"cmd":{"type":"string"}}}},
 {"type":"namespace","name":"multi_agent_v1","description":"Agents.","tools":[{"type":"function","name":"spawn_agent","strict":false,"parameters":{"type":"object"}}]},
 {"type":"web_search","external_web_access":true}],
 "tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"summary":"auto"},"store":false,"stream":true,"include":["reasoning.encrypted_content"],
 "prompt_cache_key":"0199-thread","client_metadata":{"x-codex-installation-id":"i"}}`

// W-09: what we answered, handed back, is the same turn with the same ids.
func TestResponsesAnswerHandedBackIsTheSameTurn(t *testing.T) {
	r := mustParse(t, OpenAIResponses, codexRequest)
	rep := &Reply{Thinking: Quote("two \"ways\""), Text: Quote("I do both."), Finish: FinishTools, Usage: NoUsage, Tools: []ToolCall{
		{Name: "multi_agent_v1.spawn_agent", Arguments: Raw(`{"task":"x"}`)}, {Name: "exec_command", Arguments: Raw(`{"cmd":"ls"}`)}}}
	id := streamID()
	_, items := ResponseAnswer(r, &id, rep)
	next := mustParse(t, OpenAIResponses, `{"model":"m","input":[`+string(bytes.Join(rawBytes(items), []byte(",")))+`]}`)
	want := `assistant <"two \"ways\""> "I do both." call_ours0=multi_agent_v1.spawn_agent({"task":"x"}) call_ours1=exec_command({"cmd":"ls"})` + "\n"
	if got := outline(next.Messages); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

func rawBytes(items []Raw) [][]byte {
	out := make([][]byte, len(items))
	for i := range items {
		out[i] = items[i]
	}
	return out
}

func TestResponsesRecallPutsEarlierItemsFirst(t *testing.T) {
	first := mustParse(t, OpenAIResponses, `{"model":"m","instructions":"Old.","input":"What time is it?","tools":[{"type":"function","name":"f"}]}`)
	id := streamID()
	respID, items := ResponseAnswer(first, &id, &Reply{Tools: []ToolCall{{Name: "f", Arguments: Raw("{}")}}, Usage: NoUsage})
	stored := append(append([]Raw{}, first.Items...), items...)

	next := mustParse(t, OpenAIResponses, `{"model":"m","instructions":"New.","previous_response_id":"`+respID+`","tools":[{"type":"function","name":"f"}],"tool_choice":"none",
		"input":[{"type":"function_call_output","call_id":"call_ours0","output":"noon"}]}`)
	if !next.NeedsRecall() {
		t.Fatal("does not need recall")
	}
	if p := next.Recall(stored, nil); p != nil {
		t.Fatal(p)
	}
	want := `system "New."
user "What time is it?"
assistant call_ours0=f({})
tool for call_ours0 of f "noon"
`
	if got := outline(next.Messages); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if len(next.Items) != 3 || len(next.Tools) != 1 {
		t.Errorf("%d items, %d tools (the history has calls, so they stay)", len(next.Items), len(next.Tools))
	}
}

func TestResponsesRecallResolvesReferencesInPlace(t *testing.T) {
	known := map[string]Raw{"fc_1": Raw(`{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"}`)}
	body := `{"model":"m","input":[{"role":"user","content":"hi"},{"type":"item_reference","id":"fc_1"},{"type":"function_call_output","call_id":"c","output":"x"},{"id":"fc_1"}]}`
	r := mustParse(t, OpenAIResponses, body)
	if !reflect.DeepEqual(r.ItemRefs, []string{"fc_1", "fc_1"}) {
		t.Fatalf("references %q", r.ItemRefs)
	}
	if p := r.Recall(nil, func(id string) Raw { return known[id] }); p != nil {
		t.Fatal(p)
	}
	want := `user "hi"
assistant c=f({})
tool for c of f "x"
assistant c=f({})
`
	if got := outline(r.Messages); got != want || r.NeedsRecall() {
		t.Errorf("got\n%s", got)
	}
	r = mustParse(t, OpenAIResponses, body)
	p := r.Recall(nil, func(string) Raw { return nil })
	if p == nil || p.Status != 400 || p.Param != "input[1]" || !strings.Contains(p.Message, "fc_1") {
		t.Errorf("an unknown reference: %+v", p)
	}
}

func TestUnknownPreviousResponseIsRefused(t *testing.T) {
	p := PreviousNotFound("resp_x")
	if p.Status != 400 || p.Code != "previous_response_not_found" || p.Param != "previous_response_id" {
		t.Errorf("%+v", p)
	}
}

func TestResponsesItemsHaveIDsToReferTo(t *testing.T) {
	id := streamID()
	_, items := ResponseAnswer(responsesRequest(t), &id, &Reply{Thinking: Quote("a"), Text: Quote("b"), Tools: []ToolCall{{Name: "f"}}, Usage: NoUsage})
	seen := map[string]bool{}
	for _, item := range items {
		seen[ResponseItemID(item)] = true
	}
	if len(seen) != 3 || seen[""] {
		t.Errorf("ids %v", seen)
	}
}

// A hostile conversation costs no more than its size, in what is allocated:
// times depend on the machine.
func TestResponsesLongConversationsAreReadInOnePass(t *testing.T) {
	for name, piece := range map[string]string{
		"reasoning between calls": `{"type":"reasoning","summary":[{"text":"abcdefgh"}]},{"type":"function_call","call_id":"c","name":"f"}`,
		"unknown kinds":           `{"type":"brand_new"}`,
		"files":                   `{"role":"user","content":[{"type":"input_file","filename":"a","file_data":"YQ=="}]}`,
	} {
		n := (1 << 20) / len(piece)
		body := `{"model":"m","input":[` + strings.TrimSuffix(strings.Repeat(piece+",", n), ",") + `]}`
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := mustParse(t, OpenAIResponses, body)
		runtime.ReadMemStats(&after)
		if times := (after.TotalAlloc - before.TotalAlloc) / uint64(len(body)); times > 100 {
			t.Errorf("%s: allocates %d times the body", name, times)
		}
		if len(r.Dropped) > maxNotes+1 {
			t.Errorf("%s: %d notes for the record", name, len(r.Dropped))
		}
	}
}

func FuzzParseResponses(f *testing.F) {
	f.Add([]byte(codexRequest))
	f.Add([]byte(`{"model":"m","input":"hi","tool_choice":{"type":"allowed_tools","tools":[{"name":"f"}]},"tools":[{"type":"custom","name":"f"}]}`))
	f.Add([]byte(`{"model":"m","previous_response_id":"resp_1","input":[{"type":"item_reference","id":"x"},{"type":"reasoning","encrypted_content":"bellwether:","summary":[]}]}`))
	f.Add([]byte(`{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:,x"}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, p := Parse(OpenAIResponses, body)
		if p != nil {
			checkProblem(t, p)
			return
		}
		if r.NeedsRecall() {
			if p := r.Recall([]Raw{Raw(`{"role":"user","content":"earlier"}`)}, func(string) Raw { return Raw(`{"role":"assistant","content":"found"}`) }); p != nil {
				checkProblem(t, p)
				return
			}
		}
		checkMessages(t, r)
		stream := streamed(r, []*Chunk{think("a"), say("b"), toolPiece(0, "", "f", `{"input":"x"}`), finished(FinishTools, Usage{1, 2, 3, 4})}, nil)
		checkResponsesStream(t, readEvents(t, stream))
		var decoded responses.Response
		if err := decoded.UnmarshalJSON(EncodeReply(r, streamID(), &Reply{Text: Quote("b"), Usage: NoUsage})); err != nil {
			t.Fatal(err)
		}
	})
}

func checkProblem(t *testing.T, p *Problem) {
	t.Helper()
	if p.Status < 400 || p.Status > 499 || p.Code == "" || p.Text() == "" {
		t.Fatalf("problem %+v", p)
	}
}

// checkMessages insists on what the common form promises.
func checkMessages(t *testing.T, r *Request) {
	t.Helper()
	for _, m := range r.Messages {
		switch m.Role {
		case RoleSystem, RoleUser, RoleAssistant, RoleTool:
		default:
			t.Fatalf("role %q", m.Role)
		}
		if m.Thinking != nil && !IsText(m.Thinking) {
			t.Fatalf("thinking is no literal: %q", m.Thinking)
		}
		for _, p := range m.Parts {
			if p.Kind == PartText && !IsText(p.Text) {
				t.Fatalf("text is no literal: %q", p.Text)
			}
		}
		for _, c := range m.ToolCalls {
			if c.Arguments.Kind() != '{' {
				t.Fatalf("arguments are no object: %q", c.Arguments)
			}
		}
	}
}
