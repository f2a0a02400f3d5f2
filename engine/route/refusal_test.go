package route

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
)

// refused plays the last ask of a scenario text and returns what its client is told.
func refused(t *testing.T, text string, held bool) (*Decision, *dialect.Problem) {
	t.Helper()
	s, err := ReadScenario(text)
	if err != nil {
		t.Fatal(err)
	}
	step := &s.Steps[len(s.Steps)-1]
	d := Decide(step.View, step.Policy, &step.Query)
	return d, RefusalProblem(d, &step.Query, held)
}

const home = `
node studio id n1 memory 64GB bandwidth 400
  pool unified limit 60GB margin 2GB free 40GB
  runtime ollama pool unified
  model ollama/m weights 5GB loaded 8192 max_context 8192 caps llm
  model ollama/m2 weights 5GB loaded 8192 max_context 4096 caps llm
  model ollama/embed weights 1GB caps embed
`

// many are chat models that hear nothing.
var many = func() string {
	var b strings.Builder
	b.WriteString("node studio\n")
	for i := range 9 {
		fmt.Fprintf(&b, " model ollama/a%d weights 1GB loaded 65536 max_context 65536 caps llm,!audio_in\n", i+1)
	}
	return b.String()
}()

func TestRefusalsNameStatusReasonAndRemedy(t *testing.T) {
	yes, no := "yes", "no"
	for name, c := range map[string]struct {
		text    string
		held    bool
		status  int
		code    string
		message string
		remedy  string
		param   string
		retry   string // yes, no
		after   time.Duration
	}{
		"unknown model":            {home + "ask m3", false, 404, "model_not_found", "model 'm3' not found.", "Similar: m, m2.", "model", no, 0},
		"nothing near":             {home + "ask something-else-altogether", false, 404, "model_not_found", "not found.", "or ask for an installed model, or for auto, which chooses one. Installed: m, m2.", "model", no, 0},
		"nothing near, embeddings": {home + "ask something-else-altogether role embedding", false, 404, "model_not_found", "not found.", "or ask for an installed model. Installed: embed.", "model", no, 0},
		"many installed":           {home + many + "ask something-else-altogether", false, 404, "model_not_found", "not found.", "Installed: a1, a2, a3, a4, a5, a6, a7, a8, a9, m and 1 more.", "model", no, 0},
		"auto, nobody can":         {home + many + "node studio\n model ollama/m weights 5GB caps llm,!audio_in\n model ollama/m2 weights 5GB caps llm,!audio_in\nask auto audio", false, 400, "unsupported_capability", "None of the 11 models of auto supports audio.", "Leave it out of the request, or give auto a model that supports audio; `bellwether models show auto` lists those it may choose.", "messages", no, 0},
		"auto, nobody known to":    {home + many + "ask auto audio", false, 400, "unsupported_capability", "None of the 11 models of auto is known to support audio.", "Declare audio_in under deployments[].capabilities", "messages", no, 0},
		"alias, one is nearest":    {home + many + "node studio\n model ollama/m weights 5GB loaded 8192 max_context 8192 caps llm,audio_in\nalias x models a1,m,gone\nask x audio in 19000", false, 400, "unsupported_capability", "None of the 2 models of x can serve this request; the nearest: a1 does not support audio", "Ask for a model that does", "messages", no, 0},
		"list, nobody can":         {home + many + "ask a1 fallbacks a2 audio", false, 400, "unsupported_capability", "None of the 2 models asked for supports audio.", "Ask for a model that does", "messages", no, 0},
		"no model":                 {"ask m", false, 404, "model_not_found", "model 'm' not found.", "bellwether models pull m", "model", no, 0},
		"auto":                     {"node studio memory 64GB bandwidth 400\n pool unified limit 60GB free 40GB\n runtime ollama pool unified\n model ollama/embed weights 300MB caps embed\nask auto", false, 404, "model_not_found", "model 'auto' not found: no machine has a chat model for auto to choose", "bellwether models pull NAME", "model", no, 0},
		"claude":                   {home + "ask claude-opus-4-5 may_pull in 19000", false, 400, "context_length_exceeded", "the largest context of claude-opus-4-5 is 8,192", "Shorten the prompt by at least 11,320 tokens, or use a model with a larger context.", "messages", no, 0},
		"empty alias":              {home + "alias x profile fast tags gpu\nask x", false, 404, "model_not_found", "no machine has a chat model with the tags of x: gpu", "tags: [gpu]", "model", no, 0},
		"absent alias":             {home + "alias x models gone\nask x", false, 404, "model_not_found", "none of its alias's models is installed (gone)", "Fetch one with `bellwether models pull NAME`, or change aliases.x.models.", "model", no, 0},
		"too long":                 {home + "ask m in 17000 out 1024", false, 400, "context_length_exceeded", "needs 17,512 tokens, and the largest context of m is 8,192", "Shorten the prompt by at least 9,320 tokens, or use a model with a larger context.", "messages", no, 0},
		"no tools":                 {home + "ask m tools", false, 400, "unsupported_capability", "not known whether m supports tools", "`bellwether probe m`, or declare tools under deployments[].capabilities", "tools", no, 0},
		"wrong role":               {home + "ask embed", false, 400, "unsupported_capability", "embed does not support chat.", "chat model", "", no, 0},
		"field":                    {home + "ask m fields logprobs", false, 400, "unsupported_parameter", "ollama does not honour logprobs", "Leave logprobs out", "logprobs", no, 0},
		"remote image":             {home + "ask m remote_image", false, 400, "remote_image", "links to an image", "base64", "", no, 0},
		"never fits":               {home + "node studio\n model ollama/huge weights 90GB caps llm\nask huge", false, 503, "insufficient_memory", "no memory of studio can ever hold more than 58 GB", "smaller model", "", no, 0},
		"too little time": {home + "node studio\n model ollama/big weights 40GB caps llm\nask big timeout 5s", false, 503, "deadline_too_short",
			"big needs about 24 s to load", "Give the request more time, or load the model first with `bellwether models load big`", "", no, 0},
		"switched off":        {home + "node studio\n model ollama/m weights 5GB disabled caps llm\nask m", false, 503, "model_unavailable", "switched off", "Switch it on", "", no, 0},
		"unknown temper":      {home + "alias auto:cheap profile fast\nask Auto:nonsense may_pull", false, 404, "model_not_found", "model 'Auto:nonsense' not found", "one of: auto, auto:balanced, auto:cheap, auto:fast, auto:quality. Other weights are asked for by the header X-Fleet-Profile: balanced, fast, quality.", "model", no, 0},
		"no tag and no model": {"node studio\n runtime ollama\nalias x profile fast tags gpu\nask x", false, 404, "model_not_found", "no machine has a chat model with the tags of x: gpu", "bellwether models pull NAME", "model", no, 0},
		"no such deployment":  {home + "ask Studio/ollama/m9 may_pull", false, 404, "model_not_found", "model 'Studio/ollama/m9' not found: studio has no ollama/m9.", "On studio there are: ollama/embed, ollama/m, ollama/m2.", "model", no, 0},
		"nothing that pulls":  {"node studio\n runtime llama kind llama-server\n model llama/m.gguf weights 5GB caps llm\nask m9.gguf may_pull", false, 404, "model_not_found", "model 'm9.gguf' not found.", "Ask for an installed model, or for auto, which chooses one, or serve this one with a runtime. Similar: m.gguf.", "model", no, 0},
		"unknown node":        {home + "ask m node attic", false, 400, "unknown_node", "no node of the fleet is called attic", "Known nodes: studio", "X-Fleet-Node", no, 0},
		"absent there":        {home + "node attic\nask m node attic", false, 404, "model_not_found", "model 'm' not found on node attic", "installed on studio", "model", no, 0},
		"ask to pull":         {home + "ask qwen9:1b may_pull", false, 503, "waiting_for_approval", "waiting for approval", "bellwether models pull qwen9:1b", "", no, 30 * time.Second},
		"paused, held":        {home + "node studio paused\nask m", true, 503, "paused", "no machine could serve m in time: studio is paused", "Resume it", "", yes, 5 * time.Second},
		"paused, held, by id": {home + "node studio paused pause_reason \"paused by its owner\"\nask n1/ollama/m", true, 503, "paused", "no machine could serve studio/ollama/m in time: studio is paused by its owner.", "Resume it", "", yes, 5 * time.Second},
		"full, held": {home + "node studio\n pool unified limit 10GB margin 2GB\n holds ollama/m bytes 7GB\n model ollama/x weights 6GB caps llm\nlane n1/ollama/m running 1\nask x", true, 503, "memory",
			"x needs 6.9 GB", "Wait until running work ends", "", yes, 5 * time.Second},
		"settling, held":      {home + "unsettled\nask nobody", true, 503, "no_capacity", "no machine could serve nobody in time: not every machine has said yet what it holds", "Try again", "", yes, 5 * time.Second},
		"not up yet, held":    {"node studio\n runtime ollama down why \"connection refused\"\nask qwen3:8b may_pull", true, 503, "no_runtime", "no machine could serve qwen3:8b in time: runtime ollama on studio does not answer: connection refused.", "Start ollama on studio.", "", yes, 5 * time.Second},
		"refused by the node": {home + "ask m", true, 503, "no_capacity", "no machine could serve m in time", "Try again", "", yes, 5 * time.Second},
	} {
		d, p := refused(t, c.text, c.held)
		if p.Status != c.status || p.Code != c.code {
			t.Errorf("%s: %d %s, want %d %s\n%s", name, p.Status, p.Code, c.status, c.code, d.Explain())
		}
		if !strings.Contains(strings.ToLower(p.Message), strings.ToLower(c.message)) || !strings.Contains(p.Remedy, c.remedy) {
			t.Errorf("%s: %q %q, want %q %q", name, p.Message, p.Remedy, c.message, c.remedy)
		}
		if p.Param != c.param || p.RetryAfter != c.after {
			t.Errorf("%s: param %q, after %v, want %q, %v", name, p.Param, p.RetryAfter, c.param, c.after)
		}
		if p.Retry == nil || *p.Retry != (c.retry == yes) {
			t.Errorf("%s: retry %v, want %s", name, p.Retry, c.retry)
		}
		if p.Message == "" || p.Remedy == "" || strings.Contains(p.Text(), "n1") {
			t.Errorf("%s: %q must have both parts and call nodes by name", name, p.Text())
		}
	}
}

// Anthropic clients compact when they read both numbers in a fixed wording.
func TestContextRefusalCarriesBothNumbers(t *testing.T) {
	_, p := refused(t, home+"ask m in 17000 out 1024 fallbacks m2", false)
	if p.Tokens != 17512 || p.MaxTokens != 8192 {
		t.Errorf("%d of %d, want 17512 of 8192: the largest of the listed", p.Tokens, p.MaxTokens)
	}
}

func TestRefusalListsEveryReason(t *testing.T) {
	_, p := refused(t, home+"node studio paused\nask m tools in 19000", false)
	b, err := json.Marshal(p.Details)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"studio/ollama/m"`, `"code":"capability"`, `"code":"context"`, `"code":"paused"`, `"remedy"`, `"others"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
}

func TestDispatcherRefusalsHaveWords(t *testing.T) {
	q := &Query{Model: "m", Needs: Requirements{App: "notes"}}
	for code, c := range map[string]struct {
		status int
		retry  bool
		say    string
	}{
		RefuseAppLimit:     {429, true, "notes"},
		RefuseBackPressure: {429, true, "full"},
		RefuseRetries:      {502, false, "failed wherever"},
		RefuseUnused:       {503, true, "granted twice"},
		RefuseStopping:     {503, true, "shutting"},
	} {
		p := RefusalProblem(&Decision{Verdict: Refuse, Status: c.status, RefuseCode: code}, q, false)
		if p.Status != c.status || p.Code != code || p.Retry == nil || *p.Retry != c.retry || !strings.Contains(p.Message, c.say) || p.Remedy == "" {
			t.Errorf("%s: %+v", code, p)
		}
		if c.retry && p.RetryAfter <= 0 {
			t.Errorf("%s: says retry and not when", code)
		}
	}
}

func TestRefusalOfAnEmptyDecisionStillSpeaks(t *testing.T) {
	p := RefusalProblem(&Decision{Verdict: Refuse}, &Query{Model: "m"}, false)
	if p.Status != 503 || p.Code == "" || p.Message == "" || p.Remedy == "" {
		t.Errorf("got %+v", p)
	}
}

// A place that its node refused until the time was up is refused with what the
// node said, and not as if nobody knew why.
func TestWhatTheNodeSaidIsInTheRefusal(t *testing.T) {
	s, err := ReadScenario(home + "ask m")
	if err != nil {
		t.Fatal(err)
	}
	step := &s.Steps[0]
	d := Decide(step.View, step.Policy, &step.Query)
	d.Refused = &fleet.Refusal{Code: fleet.CodePaused, Reason: "paused by its owner"}
	p := RefusalProblem(d, &step.Query, true)
	if p.Status != 503 || p.Code != "paused" || p.Message != "no machine could serve m in time: studio refused it: paused by its owner." || !strings.Contains(p.Remedy, "bellwether resume") {
		t.Errorf("%d %s %s %s", p.Status, p.Code, p.Message, p.Remedy)
	}
}
