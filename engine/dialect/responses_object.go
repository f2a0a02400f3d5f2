package dialect

import (
	"strconv"
	"strings"
)

// responseObject renders the response object: what is the same in all of a
// stream's events is rendered once.
type responseObject struct {
	ident     *Identity
	echo      []byte // the members that repeat the request
	encrypted bool   // include asks for reasoning.encrypted_content
}

// responseEnd is the part of a response object that changes while it runs.
type responseEnd struct {
	status  string // in_progress, completed, incomplete, failed
	items   []Raw
	usage   Usage
	sent    int // bytes of answer
	thought int // of those, reasoning
	finish  Finish
	problem *Problem // with failed
}

func newResponseObject(r *Request, id *Identity) responseObject {
	return responseObject{ident: id, echo: responseEcho(r), encrypted: r.includes("reasoning.encrypted_content")}
}

// includes reports whether the request's include list names what.
func (r *Request) includes(what string) bool {
	for _, v := range Elements(r.Member("include")) {
		if v.Kind() == '"' && Text(v).Is(what) {
			return true
		}
	}
	return false
}

// echoed are the request's members that a response repeats, with what it says
// where the request did not. A temperature that was not asked for is null, not
// 1: the model's own default is in force, which we do not know.
var echoed = []struct{ name, missing string }{
	{"instructions", "null"},
	{"max_output_tokens", "null"},
	{"max_tool_calls", "null"},
	{"metadata", "{}"},
	{"parallel_tool_calls", "true"},
	{"previous_response_id", "null"},
	{"prompt_cache_key", "null"},
	{"reasoning", `{"effort":null,"summary":null}`},
	{"safety_identifier", "null"},
	{"service_tier", `"default"`},
	{"store", "true"},
	{"temperature", "null"},
	{"text", `{"format":{"type":"text"}}`},
	{"tool_choice", `"auto"`},
	{"tools", "[]"},
	{"top_logprobs", "0"},
	{"top_p", "null"},
	{"truncation", `"disabled"`},
	{"user", "null"},
}

func responseEcho(r *Request) []byte {
	echo := []byte(`"background":false`)
	for _, m := range echoed {
		echo = append(echo, `,"`...)
		echo = append(echo, m.name...)
		echo = append(echo, `":`...)
		if v := r.Member(m.name); v.None() {
			echo = append(echo, m.missing...)
		} else {
			echo = append(echo, oneLine(v)...)
		}
	}
	return echo
}

func (o *responseObject) id() string { return "resp_" + o.ident.ID }

// itemID names the n-th item of the output. It is never used again: ids of
// items serve as references in later requests.
func (o *responseObject) itemID(prefix string, n int) string {
	hex := strconv.FormatInt(int64(n), 16)
	return prefix + o.ident.ID + strings.Repeat("0", max(0, 2-len(hex))) + hex
}

// append renders the whole object.
func (o *responseObject) append(dst []byte, end *responseEnd) []byte {
	dst = append(dst, `{"id":"resp_`...)
	dst = append(dst, o.ident.ID...)
	dst = append(dst, `","object":"response","created_at":`...)
	dst = strconv.AppendInt(dst, o.ident.Created.Unix(), 10)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, end.status...)
	dst = append(dst, `","completed_at":`...)
	dst = o.appendCompletedAt(dst, end.status)
	dst = append(dst, `,"error":`...)
	dst = appendResponseError(dst, end.problem)
	dst = append(dst, `,"incomplete_details":`...)
	dst = appendIncomplete(dst, end)
	dst = append(dst, `,"model":`...)
	dst = AppendString(dst, o.ident.Model)
	dst = append(dst, `,"output":[`...)
	for i, item := range end.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, item...)
	}
	dst = append(dst, `],"usage":`...)
	dst = appendResponseUsage(dst, end)
	dst = append(dst, ',')
	dst = append(dst, o.echo...)
	return append(dst, '}')
}

func (o *responseObject) appendCompletedAt(dst []byte, status string) []byte {
	if status != "completed" {
		return append(dst, "null"...)
	}
	at := o.ident.Created
	if o.ident.Now != nil {
		at = o.ident.Now()
	}
	return strconv.AppendInt(dst, at.Unix(), 10)
}

// statusOf names the end of an answer: one that was cut is not completed.
func statusOf(f Finish) string {
	if f == FinishLength || f == FinishFilter {
		return "incomplete"
	}
	return "completed"
}

func appendIncomplete(dst []byte, end *responseEnd) []byte {
	switch {
	case end.status != "incomplete":
		return append(dst, "null"...)
	case end.finish == FinishFilter:
		return append(dst, `{"reason":"content_filter"}`...)
	}
	return append(dst, `{"reason":"max_output_tokens"}`...)
}

// appendResponseError renders the error of a failed response. Codex ends the
// turn at context_length_exceeded, insufficient_quota and usage_not_included,
// and tries again at any other code.
func appendResponseError(dst []byte, p *Problem) []byte {
	if p == nil {
		return append(dst, "null"...)
	}
	code := p.Code
	if code == "" {
		code = "server_error"
	}
	dst = append(dst, `{"code":`...)
	dst = AppendString(dst, code)
	dst = append(dst, `,"message":`...)
	dst = AppendString(dst, openAIErrorText(p))
	return append(appendDetails(dst, p), '}')
}

// appendResponseUsage renders usage by the serving model's own counts, or
// null: agents compact their history by it, so a guess would mislead them.
// The two details are required by the protocol. No cached token known is 0;
// reasoning that was seen but not counted is its share of the output.
func appendResponseUsage(dst []byte, end *responseEnd) []byte {
	u := end.usage
	if u.Input < 0 || u.Output < 0 {
		return append(dst, "null"...)
	}
	dst = append(dst, `{"input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.Input), 10)
	dst = append(dst, `,"input_tokens_details":{"cached_tokens":`...)
	dst = strconv.AppendInt(dst, int64(max(0, u.Cached)), 10)
	dst = append(dst, `},"output_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.Output), 10)
	dst = append(dst, `,"output_tokens_details":{"reasoning_tokens":`...)
	dst = strconv.AppendInt(dst, int64(reasoningTokens(u, end.thought, end.sent)), 10)
	dst = append(dst, `},"total_tokens":`...)
	return append(strconv.AppendInt(dst, int64(u.Input+u.Output), 10), '}')
}

func reasoningTokens(u Usage, thought, sent int) int {
	switch {
	case u.Reasoning >= 0:
		return u.Reasoning
	case thought == 0 || u.Output <= 0:
		return 0
	}
	return max(1, u.Output*thought/max(sent, 1))
}

// appendReasoning renders a reasoning item. Clients that asked for encrypted
// content hand the item back without its summary at times, so it carries the
// reasoning once more there, under a mark by which we know our own.
func (o *responseObject) appendReasoning(dst []byte, id, status string, inside []byte) []byte {
	dst = append(dst, `{"id":"`...)
	dst = append(dst, id...)
	dst = append(dst, `","type":"reasoning","status":"`...)
	dst = append(dst, status...)
	dst = append(dst, `","summary":[`...)
	if status != "in_progress" {
		dst = appendSummaryText(dst, inside)
	}
	dst = append(dst, ']')
	if o.encrypted {
		dst = append(dst, `,"encrypted_content":"`...)
		dst = append(dst, ownReasoning...)
		dst = append(append(dst, inside...), '"')
	}
	return append(dst, '}')
}

// ownReasoning marks the encrypted_content that we made, which is plain text.
const ownReasoning = "bellwether:"

func appendSummaryText(dst, inside []byte) []byte {
	dst = append(dst, `{"type":"summary_text","text":"`...)
	return append(append(dst, inside...), `"}`...)
}

func appendMessageItem(dst []byte, id, status string, inside []byte, logprobs Raw) []byte {
	dst = append(dst, `{"id":"`...)
	dst = append(dst, id...)
	dst = append(dst, `","type":"message","status":"`...)
	dst = append(dst, status...)
	dst = append(dst, `","role":"assistant","content":[`...)
	if status != "in_progress" {
		dst = appendOutputText(dst, inside, logprobs)
	}
	return append(dst, "]}"...)
}

func appendOutputText(dst, inside []byte, logprobs Raw) []byte {
	dst = append(dst, `{"type":"output_text","annotations":[],"logprobs":`...)
	dst = appendArray(dst, logprobs)
	dst = append(dst, `,"text":"`...)
	return append(append(dst, inside...), `"}`...)
}

// appendArray appends an array, [] when there is none.
func appendArray(dst []byte, v Raw) []byte {
	if v.Kind() != '[' {
		return append(dst, "[]"...)
	}
	return append(dst, oneLine(v)...)
}

// appendResponsesReply renders a whole response.
func appendResponsesReply(dst []byte, r *Request, id *Identity, rep *Reply) []byte {
	o := newResponseObject(r, id)
	_, items := ResponseAnswer(r, id, rep)
	return o.append(dst, &responseEnd{
		status: statusOf(rep.Finish), items: items, usage: rep.Usage, finish: rep.Finish,
		sent: rep.size(), thought: len(rep.Thinking.inner()),
	})
}

// ResponseAnswer returns the id and the output items of a whole answer, as its
// body has them, for later requests that refer to them. The last item of an
// answer that was cut is incomplete.
func ResponseAnswer(r *Request, id *Identity, rep *Reply) (responseID string, items []Raw) {
	o := newResponseObject(r, id)
	tools := newToolNames(r)
	left := len(rep.Tools)
	if !rep.Text.Empty() {
		left++
	}
	if !rep.Thinking.Empty() {
		left++
	}
	status := func() string {
		if left--; left == 0 && rep.Finish == FinishLength {
			return "incomplete"
		}
		return "completed"
	}
	if !rep.Thinking.Empty() {
		items = append(items, o.appendReasoning(nil, o.itemID("rs_", 0), status(), rep.Thinking.inner()))
	}
	if !rep.Text.Empty() {
		items = append(items, appendMessageItem(nil, o.itemID("msg_", len(items)), status(), rep.Text.inner(), rep.Logprobs))
	}
	for n := range rep.Tools {
		items = append(items, tools.appendCall(&o, status(), &rep.Tools[n], n, len(items)))
	}
	return o.id(), items
}
