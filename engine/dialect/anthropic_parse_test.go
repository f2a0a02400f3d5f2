package dialect

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
)

func TestAnthropicMessagesBecomeMessages(t *testing.T) {
	cases := []struct {
		name, body, want string
		dropped          []string
	}{
		{"strings", `"system":"Be brief.","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"yo"}]`,
			`system "Be brief."` + "\n" + `user "hi"` + "\n" + `assistant "yo"`, nil},
		{"system blocks are joined, the billing header goes", `"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.332; cch=1;"},
			{"type":"text","text":"You are Claude Code.","cache_control":{"type":"ephemeral"}},{"type":"text","text":"Rules."}],"messages":[{"role":"user","content":"hi"}]`,
			`system "You are Claude Code.\n\nRules."` + "\n" + `user "hi"`, []string{"system[0]: the client's billing header"}},
		{"a header alone leaves no system message", `"system":"x-anthropic-billing-header: a=b;","messages":[{"role":"user","content":"hi"}]`,
			`user "hi"`, []string{"system[0]: the client's billing header"}},
		{"a header elsewhere is text", `"system":[{"type":"text","text":"a"},{"type":"text","text":"x-anthropic-billing-header: b"}],"messages":[]`,
			`system "a\n\nx-anthropic-billing-header: b"`, nil},
		{"system in mid-conversation keeps its place", `"messages":[{"role":"user","content":"hi"},{"role":"system","content":[{"type":"text","text":"# Environment"}]},{"role":"assistant","content":"yo"}]`,
			`user "hi"` + "\n" + `system "# Environment"` + "\n" + `assistant "yo"`, nil},
		{"results first, then the rest", `"messages":[{"role":"user","content":"go"},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s1"},{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"ls","input":{"p":"/"}},{"type":"tool_use","id":"t2","name":"cat","input":{}}]},
			{"role":"user","content":[{"type":"text","text":"Note."},{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"no file"},{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a.txt"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}]}]`,
			`user "go"` + "\n" + `assistant <"hm"> "I look." t1=ls({"p":"/"}) t2=cat({})` + "\n" + `tool for t2 of cat error "no file"` + "\n" +
				`tool for t1 of ls "a.txt" [image image/png iVBORw0KGgo=]` + "\n" + `user "Note."`, nil},
		{"results alone leave no user turn", `"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"ls","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1"}]}]`,
			`assistant t1=ls({})` + "\n" + `tool for t1 of ls`, nil},
		{"thinking in several blocks is one", `"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":""},{"type":"text","text":"x"},{"type":"thinking","thinking":"b","signature":""}]}]`,
			`assistant <"a\n\nb"> "x"`, nil},
		{"redacted thinking goes", `"messages":[{"role":"assistant","content":[{"type":"redacted_thinking","data":"zz"},{"type":"text","text":"x"}]},{"role":"assistant","content":[{"type":"redacted_thinking","data":"zz"}]}]`,
			`assistant "x"`, []string{"messages[0]: a block of type redacted_thinking, which local models do not read", "messages[1]: a block of type redacted_thinking, which local models do not read"}},
		{"images by address and by data URL", `"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}},{"type":"image","source":{"type":"url","url":"data:image/gif;base64,R0lGODlh"}}]}]`,
			`user [image https://example.com/a.png ] [image image/gif R0lGODlh]`, nil},
		{"documents of text are text", `"messages":[{"role":"user","content":[{"type":"document","title":"T","context":"C","source":{"type":"text","media_type":"text/plain","data":"body"},"citations":{"enabled":true}},
			{"type":"document","source":{"type":"content","content":[{"type":"text","text":"p1"},{"type":"text","text":"p2"}]}},{"type":"document","title":"U","source":{"type":"content","content":"whole"}}]}]`,
			`user "T\n\nC\n\nbody" "p1" "p2" "U\n\nwhole"`, nil},
		{"a file of text is text", `"messages":[{"role":"user","content":[{"type":"document","title":"T","source":{"type":"base64","media_type":"text/plain","data":"YQpi"}},{"type":"text","text":"?"}]}]`,
			`user "T\n\na\nb" "?"`, nil},
		{"a document that begins with an image keeps its title", `"messages":[{"role":"user","content":[{"type":"document","title":"T","source":{"type":"content","content":[{"type":"image","source":{"type":"base64","data":"iVBORw0KGgo="}}]}}]}]`,
			`user "T" [image image/png iVBORw0KGgo=]`, nil},
		{"search results are text", `"messages":[{"role":"user","content":[{"type":"search_result","title":"T","source":"https://s","content":[{"type":"text","text":"found"}],"citations":{"enabled":true}}]}]`,
			`user "T\nhttps://s\n" "found"`, nil},
		{"a tool reference says what it is", `"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_reference","tool_name":"Grep"}]}]}]`,
			`tool for t of  "The tool Grep is available now."`, nil},
		{"unknown blocks go with a note", `"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"brand_new","x":1}]}]`,
			`user "a"`, []string{"messages[0]: a block of type brand_new, which local models do not read"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := mustParse(t, Anthropic, `{"model":"m","max_tokens":10,`+c.body+`}`)
			if got := outline(r.Messages); got != c.want+"\n" {
				t.Errorf("got\n%swant\n%s\n", got, c.want)
			}
			if !reflect.DeepEqual(r.Dropped, c.dropped) {
				t.Errorf("dropped %q, want %q", r.Dropped, c.dropped)
			}
		})
	}
}

func TestAnthropicFaultNamesItsField(t *testing.T) {
	for body, want := range map[string]string{
		`"messages":[{"role":"user","content":"a"}]`: "max_tokens: Field required",
		`"max_tokens":5`:                 "messages: Field required",
		`"max_tokens":"5","messages":[]`: "max_tokens: expected a number, got a string",
		`"max_tokens":5,"messages":[{"role":"narrator","content":"a"}]`:                                          "messages[0].role: expected user, assistant or system, got narrator",
		`"max_tokens":5,"messages":[{"role":"user","content":7}]`:                                                "messages[0].content: expected a string or an array of blocks, got a number",
		`"max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","text":7}]}]`:                       "messages[0].content[0].text: expected a string, got a number",
		`"max_tokens":5,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"file"}}]}]`:      "messages[0].content[0].source: the image has neither data nor url. Send it in base64; files of the vendor's store are not here.",
		`"max_tokens":5,"messages":[{"role":"user","content":[{}]}]`:                                             "messages[0].content[0].type: Field required",
		`"max_tokens":5,"messages":[{"role":"assistant","content":[{"type":"tool_use","input":"x"}]}]`:           "messages[0].content[0].input: expected an object, got a string",
		`"max_tokens":5,"messages":[{"role":"user","content":[{"type":"tool_result","content":[{}]}]}]`:          "messages[0].content[0].content[0].type: Field required",
		`"max_tokens":5,"messages":[],"tools":[{"input_schema":{}}]`:                                             "tools[0].name: Field required",
		`"max_tokens":5,"messages":[],"tool_choice":{"type":"some"}`:                                             "tool_choice.type: expected auto, any, tool or none, got some",
		`"max_tokens":5,"messages":[],"tool_choice":{"type":"tool"}`:                                             "tool_choice.name: Field required",
		`"max_tokens":5,"messages":[],"system":5`:                                                                "system: expected a string or an array of text blocks, got a number",
		`"max_tokens":5,"messages":[],"system":[{"type":"text","text":1}]`:                                       "system[0].text: expected a string, got a number",
		`"max_tokens":5,"messages":[],"thinking":true`:                                                           "thinking: expected an object, got a boolean",
		`"max_tokens":5,"messages":[],"output_config":{"format":{"type":"json_schema","schema":"not a schema"}}`: "output_config.format.schema: expected an object, got a string",
	} {
		_, p := Parse(Anthropic, []byte(`{"model":"m",`+body+`}`))
		if p == nil || p.Status != 400 || p.Text() != want {
			t.Errorf("%s\ngot  %v\nwant %s", body, p, want)
		}
	}
}

func TestAnthropicTokenCountNeedsNoMaxTokens(t *testing.T) {
	r := mustParse(t, AnthropicCount, `{"model":"m","system":"s","messages":[{"role":"user","content":"a"}],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`)
	if len(r.Messages) != 2 || len(r.Tools) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestAnthropicToolsAndChoice(t *testing.T) {
	r := mustParse(t, Anthropic, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a"}],
		"tools":[{"name":"Bash","description":"Runs.","input_schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"},"cache_control":{"type":"ephemeral"}},
			{"type":"custom","name":"Grep","defer_loading":true,"input_schema":{"type":"object"},"strict":true},
			{"type":"web_search_20250305","name":"web_search","max_uses":5},{"type":"bash_20250124","name":"bash"}],
		"tool_choice":{"type":"tool","name":"Bash","disable_parallel_tool_use":true}}`)
	if len(r.Tools) != 2 || r.Tools[0].Name != "Bash" || r.Tools[1].Name != "Grep" || !*r.Tools[1].Strict {
		t.Errorf("tools %+v", r.Tools)
	}
	if !strings.Contains(string(r.Tools[0].Parameters), "$schema") {
		t.Errorf("schema changed: %s", r.Tools[0].Parameters)
	}
	if len(r.Dropped) != 2 {
		t.Errorf("dropped %q", r.Dropped)
	}
	if !reflect.DeepEqual(r.ToolChoice, ToolChoice{Mode: ChoiceNamed, Name: "Bash"}) || r.ParallelTools == nil || *r.ParallelTools {
		t.Errorf("choice %+v, parallel %v", r.ToolChoice, r.ParallelTools)
	}
	for kind, want := range map[string]ChoiceMode{"auto": ChoiceAuto, "any": ChoiceRequired, "none": ChoiceNone} {
		r := mustParse(t, Anthropic, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a"}],"tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"`+kind+`"}}`)
		if r.ToolChoice.Mode != want || (len(r.Tools) == 0) != (kind == "none") || r.ParallelTools != nil {
			t.Errorf("%s: %+v with %d tools", kind, r.ToolChoice, len(r.Tools))
		}
	}
}

func TestAnthropicThinking(t *testing.T) {
	for body, want := range map[string]Think{
		`"thinking":{"type":"enabled","budget_tokens":2048}`:                                   {Set: true, On: true, Budget: 2048},
		`"thinking":{"type":"adaptive","display":"updates"},"output_config":{"effort":"high"}`: {Set: true, On: true, Level: "high"},
		`"thinking":{"type":"disabled"}`:                                                       {Set: true},
		`"thinking":{"type":"disabled"},"output_config":{"effort":"low"}`:                      {Set: true, Level: "low"},
		`"output_config":{"effort":"medium"}`:                                                  {Level: "medium"},
		`"thinking":null`:                                                                      {},
		`"top_k":5`:                                                                            {},
	} {
		r := mustParse(t, Anthropic, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a"}],`+body+`}`)
		if r.Think != want {
			t.Errorf("%s: %+v, want %+v", body, r.Think, want)
		}
	}
}

func TestAnthropicSettings(t *testing.T) {
	r := mustParse(t, Anthropic, `{"model":"m","max_tokens":32000,"stream":true,"temperature":1,"top_p":0.9,"top_k":40,"stop_sequences":["END","\n\n"],
		"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}},"messages":[{"role":"user","content":"a"}]}`)
	switch {
	case !r.Stream || *r.MaxOutput != 32000, *r.Sampling.Temperature != 1, *r.Sampling.TopP != 0.9, *r.Sampling.TopK != 40:
		t.Errorf("%+v", r)
	case !reflect.DeepEqual(r.Stop, []string{"END", "\n\n"}):
		t.Errorf("stop %q", r.Stop)
	case r.Format.Kind != FormatSchema || string(r.Format.Schema) != `{"type":"object"}`:
		t.Errorf("format %+v", r.Format)
	}
}

func TestAnthropicSessionIsReadFromTheUserID(t *testing.T) {
	for id, want := range map[string][2]string{
		`{"device_id":"d","account_uuid":"a1","session_id":"s1"}`: {"a1", "s1"},
		`{"session_id":7}`:               {"", ""},
		`user_abc_account__session_0f1e`: {"user_abc_account__session_0f1e", "0f1e"},
		`someone`:                        {"someone", ""},
		`["not","an","object"]`:          {`["not","an","object"]`, ""},
		`{"session_id":"cut`:             {`{"session_id":"cut`, ""},
	} {
		quoted, _ := json.Marshal(id)
		r := mustParse(t, Anthropic, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a"}],"metadata":{"user_id":`+string(quoted)+`}}`)
		if got := [2]string{r.User, r.MetaSession}; got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

// W-27, with the shape that Claude Code was seen to send.
func TestAnthropicClaudeCodeRequestIsReadWhole(t *testing.T) {
	r := mustParse(t, Anthropic, claudeCodeRequest)
	want := `system "You are Claude Code.\n\nInstructions."
user "<system-reminder>" "list files"
system "# Environment"
`
	if got := outline(r.Messages); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if r.MetaSession != "5e55" || r.Think != (Think{Set: true, On: true, Level: "high"}) || len(r.Tools) != 1 {
		t.Errorf("session %q, think %+v, tools %d", r.MetaSession, r.Think, len(r.Tools))
	}
	if string(r.Member("context_management")) == "" || string(r.Member("brand_new")) != "1" {
		t.Error("an unknown field is lost")
	}
}

const claudeCodeRequest = `{"model":"claude-opus-4-6","max_tokens":32000,"stream":true,"temperature":1,
 "system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.332.a1; cc_entrypoint=sdk-cli;"},
  {"type":"text","text":"You are Claude Code.","cache_control":{"type":"ephemeral"}},{"type":"text","text":"Instructions.","cache_control":{"type":"ephemeral"}}],
 "messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>"},{"type":"text","text":"list files","cache_control":{"type":"ephemeral"}}]},
  {"role":"system","content":"# Environment"}],
 "tools":[{"name":"Bash","description":"Runs.","input_schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"command":{"type":"string"}},"required":["command"],"additionalProperties":false}}],
 "metadata":{"user_id":"{\"device_id\":\"d1\",\"account_uuid\":\"\",\"session_id\":\"5e55\"}"},
 "thinking":{"type":"adaptive","display":"updates"},"output_config":{"effort":"high"},
 "context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"brand_new":1}`

// What our stream said, accumulated and handed back by the vendor's library,
// is the turn that was said.
func TestAnthropicAnswerHandedBackIsTheSameTurn(t *testing.T) {
	msg, err := accumulate(streamed(anthropicRequest(t), []*Chunk{
		think("two \"ways\""), say("I do both."), toolPiece(0, "", "f", `{"a":1}`), toolPiece(1, "", "g", ""), finished(FinishTools, NoUsage)}, nil))
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(anthropic.MessageNewParams{Model: "m", MaxTokens: 5, Messages: []anthropic.MessageParam{
		msg.ToParam(), anthropic.NewUserMessage(anthropic.NewToolResultBlock("call_ours0", "ok", true))}})
	if err != nil {
		t.Fatal(err)
	}
	r := mustParse(t, Anthropic, string(body))
	want := `assistant <"two \"ways\""> "I do both." call_ours0=f({"a":1}) call_ours1=g({})` + "\n" + `tool for call_ours0 of f error "ok"` + "\n"
	if got := outline(r.Messages); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func FuzzParseAnthropic(f *testing.F) {
	f.Add([]byte(claudeCodeRequest))
	f.Add([]byte(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"url","url":"data:image/png;base64,QQ=="}}]}]}]}`))
	f.Add([]byte(`{"model":"m","max_tokens":1,"system":[{"text":"\ud83d\ude00"}],"messages":[{"role":"assistant","content":[{"type":"document","source":{"type":"content","content":[{"type":"search_result","content":[]}]}}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, p := Parse(Anthropic, body)
		if p != nil {
			checkProblem(t, p)
			return
		}
		checkMessages(t, r)
		checkAnthropicStream(t, readEvents(t, streamed(r, []*Chunk{think("a"), say("b"), toolPiece(0, "", "f", `{}`)}, nil)))
	})
}
