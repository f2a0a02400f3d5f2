package engine

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	oaishared "github.com/openai/openai-go/v3/shared"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime/runtimetest"
)

// The official Go clients of OpenAI and Anthropic, as apps use them.

func (r *rig) openai() openai.Client {
	return openai.NewClient(option.WithBaseURL(r.base+"/v1"), option.WithAPIKey("unused"), option.WithHTTPClient(r.client), option.WithMaxRetries(0))
}

func (r *rig) anthropic() anthropic.Client {
	return anthropic.NewClient(anthropicoption.WithBaseURL(r.base), anthropicoption.WithAPIKey("unused"), anthropicoption.WithHTTPClient(r.client), anthropicoption.WithMaxRetries(0))
}

// pixel is a PNG of one dot.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

var weather = map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"}}

func TestTheOpenAIClientChatsStreamsAndCallsTools(t *testing.T) {
	r := both.of(t)
	c := r.openai()
	for _, model := range chatModels {
		p := openai.ChatCompletionNewParams{Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("be brief"), openai.UserMessage("go")}}
		whole, err := c.Chat.Completions.New(t.Context(), p)
		if err != nil || whole.Choices[0].Message.Content == "" || whole.Usage.TotalTokens != whole.Usage.PromptTokens+whole.Usage.CompletionTokens || whole.Model != model {
			t.Fatalf("%s: %+v, %v", model, whole, err)
		}
		p.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
		stream := c.Chat.Completions.NewStreaming(t.Context(), p)
		var acc openai.ChatCompletionAccumulator
		for stream.Next() {
			if !acc.AddChunk(stream.Current()) {
				t.Errorf("%s: a chunk that does not fit: %s", model, stream.Current().RawJSON())
			}
		}
		if err := stream.Err(); err != nil || acc.Choices[0].Message.Content != whole.Choices[0].Message.Content || acc.Choices[0].FinishReason != "stop" || acc.Usage.CompletionTokens != whole.Usage.CompletionTokens {
			t.Errorf("%s: streamed %+v, %v", model, acc.ChatCompletion, err)
		}
		p.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(oaishared.FunctionDefinitionParam{Name: "get_weather", Parameters: weather})}
		for _, streamed := range []bool{false, true} {
			var said openai.ChatCompletionMessage
			if streamed {
				var acc openai.ChatCompletionAccumulator
				for s := c.Chat.Completions.NewStreaming(t.Context(), p); s.Next(); {
					acc.AddChunk(s.Current())
				}
				said = acc.Choices[0].Message
			} else {
				answer, err := c.Chat.Completions.New(t.Context(), p)
				if err != nil || answer.Choices[0].FinishReason != "tool_calls" {
					t.Fatalf("%s: %+v, %v", model, answer, err)
				}
				said = answer.Choices[0].Message
			}
			if len(said.ToolCalls) != 1 || said.ToolCalls[0].Function.Name != "get_weather" || !json.Valid([]byte(said.ToolCalls[0].Function.Arguments)) {
				t.Fatalf("%s: calls %+v", model, said.ToolCalls)
			}
			next := p
			next.Messages = append(next.Messages[:2:2], said.ToParam(), openai.ToolMessage("sunny", said.ToolCalls[0].ID))
			if final, err := c.Chat.Completions.New(t.Context(), next); err != nil || final.Choices[0].Message.Content == "" {
				t.Errorf("%s: after the tool: %+v, %v", model, final, err)
			}
		}
	}
}

func TestTheOpenAIClientGetsStructuredOutputImagesAndEmbeddings(t *testing.T) {
	r := both.of(t)
	c := r.openai()
	for _, model := range chatModels {
		answer, err := c.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: model,
			Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
				openai.TextContentPart("what is it"), openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "data:image/png;base64," + pixel})})},
			ResponseFormat: openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &oaishared.ResponseFormatJSONSchemaParam{
				JSONSchema: oaishared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "place", Schema: weather, Strict: openai.Bool(true)}}}})
		var place struct{ City *string }
		if err != nil || json.Unmarshal([]byte(answer.Choices[0].Message.Content), &place) != nil || place.City == nil {
			t.Errorf("%s: %+v, %v", model, answer, err)
		}
		if sent := string(lastServed(t, r.fakes[runtimeOf(model)]).Body); !strings.Contains(sent, pixel) || !strings.Contains(sent, `"city"`) {
			t.Errorf("%s: the runtime got %s", model, sent)
		}
	}
	v, err := c.Embeddings.New(t.Context(), openai.EmbeddingNewParams{Model: "embed:1b", Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"a", "b", "c"}}})
	if err != nil || len(v.Data) != 3 || len(v.Data[2].Embedding) != 64 || v.Data[2].Index != 2 || v.Usage.PromptTokens == 0 {
		t.Errorf("embeddings: %+v, %v", v, err)
	}
	list, err := c.Models.List(t.Context())
	if err != nil || len(list.Data) != 13 { // six models, seven aliases
		t.Errorf("models: %+v, %v", list, err)
	}
	if m, err := c.Models.Get(t.Context(), "author/nested-name:q4"); err != nil || m.ID != "author/nested-name:q4" {
		t.Errorf("a model with a slash: %+v, %v", m, err)
	}
}

func TestTheOpenAIClientUsesResponsesAcrossTurns(t *testing.T) {
	r := both.of(t)
	c := r.openai()
	tool := []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{Name: "get_weather", Parameters: weather}}}
	for _, model := range chatModels {
		stream := c.Responses.NewStreaming(t.Context(), responses.ResponseNewParams{Model: model, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("go")}})
		text, ended := "", false
		for stream.Next() {
			e := stream.Current()
			if e.Type == "response.output_text.delta" {
				text += e.Delta
			}
			ended = ended || e.Type == "response.completed" && e.Response.OutputText() == text
		}
		if stream.Err() != nil || !ended || text == "" {
			t.Errorf("%s: %q, ended %v, %v", model, text, ended, stream.Err())
		}
		first, err := c.Responses.New(t.Context(), responses.ResponseNewParams{Model: model, Tools: tool, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("weather?")}})
		if err != nil || len(first.Output) != 1 || first.Output[0].Type != "function_call" {
			t.Fatalf("%s: %+v, %v", model, first, err)
		}
		second, err := c.Responses.New(t.Context(), responses.ResponseNewParams{Model: model, Tools: tool, PreviousResponseID: openai.String(first.ID),
			Input: responses.ResponseNewParamsInputUnion{OfInputItemList: []responses.ResponseInputItemUnionParam{{OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{CallID: openai.String(first.Output[0].AsFunctionCall().CallID), Output: responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: openai.String("sunny")}}}}}})
		if err != nil || second.OutputText() == "" || second.Status != "completed" {
			t.Errorf("%s: %+v, %v", model, second, err)
		}
		if sent := parse(t, lastServed(t, r.fakes[runtimeOf(model)]).Body); sent.len("messages") != 3 || sent.len("messages.1.tool_calls") != 1 || sent.str("messages.2.content") != "sunny" {
			t.Errorf("%s: the conversation reached the runtime as %s", model, sent)
		}
	}
	if _, err := c.Responses.New(t.Context(), responses.ResponseNewParams{Model: "chat:1b", PreviousResponseID: openai.String("resp_unknown"), Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("x")}}); statusOf(err) != 400 {
		t.Errorf("an unknown previous response: %v", err)
	}
}

func TestTheAnthropicClientChatsStreamsAndCallsTools(t *testing.T) {
	r := both.of(t)
	c := r.anthropic()
	for _, model := range chatModels {
		p := anthropic.MessageNewParams{Model: model, MaxTokens: 500, System: []anthropic.TextBlockParam{{Text: "be brief"}},
			Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("go"), anthropic.NewImageBlockBase64("image/png", pixel))}}
		whole, err := c.Messages.New(t.Context(), p)
		if err != nil || whole.Content[0].Text == "" || whole.StopReason != "end_turn" || whole.Usage.OutputTokens == 0 {
			t.Fatalf("%s: %+v, %v", model, whole, err)
		}
		if sent := string(lastServed(t, r.fakes[runtimeOf(model)]).Body); !strings.Contains(sent, pixel) || !strings.Contains(sent, "be brief") {
			t.Errorf("%s: the runtime got %s", model, sent)
		}
		p.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "get_weather", InputSchema: anthropic.ToolInputSchemaParam{Properties: weather["properties"], Required: []string{"city"}}}}}
		stream := c.Messages.NewStreaming(t.Context(), p)
		var acc anthropic.Message
		for stream.Next() {
			if err := acc.Accumulate(stream.Current()); err != nil {
				t.Errorf("%s: %v", model, err)
			}
		}
		if stream.Err() != nil || acc.StopReason != "tool_use" || len(acc.Content) != 1 || acc.Content[0].Name != "get_weather" || !strings.HasPrefix(acc.Content[0].ID, "toolu_") {
			t.Fatalf("%s: %+v, %v", model, acc, stream.Err())
		}
		p.Messages = append(p.Messages, acc.ToParam(), anthropic.NewUserMessage(anthropic.NewToolResultBlock(acc.Content[0].ID, "sunny", false)))
		if final, err := c.Messages.New(t.Context(), p); err != nil || final.Content[0].Text == "" {
			t.Errorf("%s: after the tool: %+v, %v", model, final, err)
		}
		p.Tools, p.Messages = nil, p.Messages[:1]
		p.OutputConfig = anthropic.OutputConfigParam{Format: anthropic.JSONOutputFormatParam{Schema: weather}}
		answer, err := c.Messages.New(t.Context(), p)
		var place struct{ City *string }
		if err != nil || json.Unmarshal([]byte(answer.Content[0].Text), &place) != nil || place.City == nil {
			t.Errorf("%s: structured: %+v, %v", model, answer, err)
		}
		n, err := c.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: model, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("one two three"))}})
		if err != nil || n.InputTokens <= 0 {
			t.Errorf("%s: count_tokens: %+v, %v", model, n, err)
		}
	}
	thought := c.Messages.NewStreaming(t.Context(), anthropic.MessageNewParams{Model: "think:1b", MaxTokens: 2000, Thinking: anthropic.ThinkingConfigParamOfEnabled(1024),
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("go"))}})
	var acc anthropic.Message
	for thought.Next() {
		if err := acc.Accumulate(thought.Current()); err != nil {
			t.Error(err)
		}
	}
	if thought.Err() != nil || len(acc.Content) != 2 || acc.Content[0].Thinking == "" || acc.Content[1].Text == "" {
		t.Errorf("thinking: %+v, %v", acc, thought.Err())
	}
	if list, err := c.Models.List(t.Context(), anthropic.ModelListParams{}); err != nil || len(list.Data) != 13 { // six models, seven aliases
		t.Errorf("models: %+v, %v", list, err)
	}
}

func statusOf(err error) int {
	var a *openai.Error
	var b *anthropic.Error
	switch {
	case errors.As(err, &a):
		return a.StatusCode
	case errors.As(err, &b):
		return b.StatusCode
	}
	return 0
}

// The clients make an exception of every error, with the status, the type and
// the words of the answer, and retry only what a retry may cure.
func TestTheOfficialClientsUnderstandOurErrors(t *testing.T) {
	r := both.of(t)
	oc, ac := r.openai(), r.anthropic()
	for _, c := range []struct {
		status    int
		openai    string
		anthropic anthropic.ErrorType
		fault     runtimetest.Fault
		model     string
	}{
		{400, "invalid_request_error", "invalid_request_error", runtimetest.Fault{Status: 400, Body: `{"error":"no such sampler"}`}, "gguf-1b"},
		{404, "not_found_error", "not_found_error", runtimetest.Fault{}, "nobody-has-it"},
		{500, "api_error", "api_error", runtimetest.Fault{Status: 500, Body: "boom"}, "gguf-1b"},
		{502, "api_error", "api_error", runtimetest.Fault{Break: runtimetest.BreakCut}, "gguf-1b"},
	} {
		r.fresh(t)
		r.inject(c.fault)
		_, err := oc.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: c.model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("go")}})
		var o *openai.Error
		if !errors.As(err, &o) || o.StatusCode != c.status || o.Type != c.openai || o.Message == "" || o.Code == "" {
			t.Errorf("%d: OpenAI's client made %+v", c.status, err)
		}
		_, err = ac.Messages.New(t.Context(), anthropic.MessageNewParams{Model: c.model, MaxTokens: 9, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("go"))}})
		var a *anthropic.Error
		if !errors.As(err, &a) || a.StatusCode != c.status || a.Type() != c.anthropic || a.Message == "" || a.RequestID == "" {
			t.Errorf("%d: Anthropic's client made %+v (%+v)", c.status, err, a)
		}
	}
	// In mid-stream the error is the stream's.
	r.fresh(t)
	r.inject(runtimetest.Fault{Break: runtimetest.BreakCut, After: 3})
	s := oc.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{Model: "chat:1b", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("go")}})
	for s.Next() {
	}
	m := ac.Messages.NewStreaming(t.Context(), anthropic.MessageNewParams{Model: "chat:1b", MaxTokens: 9, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("go"))}})
	for m.Next() {
	}
	v := oc.Responses.NewStreaming(t.Context(), responses.ResponseNewParams{Model: "chat:1b", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("go")}})
	failed := false
	for v.Next() {
		failed = failed || v.Current().Type == "response.failed" && v.Current().Response.Error.Message != ""
	}
	if s.Err() == nil || m.Err() == nil || !failed && v.Err() == nil {
		t.Errorf("mid-stream: %v, %v, %v (failed %v)", s.Err(), m.Err(), v.Err(), failed)
	}
	// A retry is made when it can help, and cures.
	r.fresh(t)
	r.inject(runtimetest.Fault{Status: 500, Body: "once", Times: 1})
	retrying := openai.NewClient(option.WithBaseURL(r.base+"/v1"), option.WithAPIKey("x"), option.WithHTTPClient(r.client), option.WithMaxRetries(1))
	if _, err := retrying.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: "gguf-1b", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("go")}}); err != nil {
		t.Errorf("after a retry: %v", err)
	}
	r.fakes["llama"].ForgetRequests()
	if _, err := retrying.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: "nobody-has-it", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("go")}}); statusOf(err) != 404 {
		t.Errorf("unknown: %v", err)
	}
}

// An app that aborts frees the slot at once and the runtime is told.
func TestAnAbortByAnOfficialClientFreesTheSlot(t *testing.T) {
	r := both.of(t)
	for _, model := range chatModels {
		f := r.fakes[runtimeOf(model)]
		for name, begin := range map[string]func(ctx context.Context) bool{
			"openai": func(ctx context.Context) bool {
				c := r.openai()
				return c.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("go")}}).Next()
			},
			"anthropic": func(ctx context.Context) bool {
				c := r.anthropic()
				return c.Messages.NewStreaming(ctx, anthropic.MessageNewParams{Model: model, MaxTokens: 99, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("go"))}}).Next()
			},
		} {
			r.fresh(t)
			f.Inject(runtimetest.Fault{Break: runtimetest.BreakHold, After: 3})
			ctx, abort := context.WithCancel(t.Context())
			if !begin(ctx) {
				t.Fatalf("%s %s: no first event", name, model)
			}
			if got := r.holding(t); got != runtimeOf(model) {
				t.Fatalf("%s holds it", got)
			}
			left := time.Now()
			abort()
			r.await(t, "the runtime to be told", func() bool { return lastServed(t, f).Disconnected })
			r.idle(t)
			if took := time.Since(left); took > time.Second {
				t.Errorf("%s %s: %v until the slot was free", name, model, took)
			}
			r.await(t, "the record", func() bool { return r.latest(t).Outcome == fleet.OutcomeClientDisconnected })
		}
	}
}

// Fifty streams at once: each gets its own words, whole and in order, and no
// runtime is given more than it has slots for.
func TestFiftyStreamsAtOnceEachGetTheirOwn(t *testing.T) {
	r := both.of(t)
	oc, ac := r.openai(), r.anthropic()
	var all sync.WaitGroup
	for i := range 50 {
		model := chatModels[i%2]
		all.Go(func() {
			words := fmt.Sprintf("%d %s", i, base64.StdEncoding.EncodeToString([]byte(model)))
			if i%4 < 2 {
				var acc openai.ChatCompletionAccumulator
				s := oc.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{Model: model, User: openai.String(words), Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(words)}})
				for s.Next() {
					acc.AddChunk(s.Current())
				}
				if s.Err() != nil || len(acc.Choices) == 0 || acc.Choices[0].Message.Content != model+" answers: one two three four five six seven eight nine ten." {
					t.Errorf("%d: %+v, %v", i, acc.Choices, s.Err())
				}
				return
			}
			var acc anthropic.Message
			s := ac.Messages.NewStreaming(t.Context(), anthropic.MessageNewParams{Model: model, MaxTokens: 99, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(words))}})
			for s.Next() {
				_ = acc.Accumulate(s.Current())
			}
			if s.Err() != nil || len(acc.Content) != 1 || acc.Content[0].Text != model+" answers: one two three four five six seven eight nine ten." {
				t.Errorf("%d: %+v, %v", i, acc.Content, s.Err())
			}
		})
	}
	all.Wait()
	r.idle(t)
	for _, m := range chatModels {
		if most := r.fakes[runtimeOf(m)].MaxRunning(m); most > 4 {
			t.Errorf("%s had %d requests on 4 slots", m, most)
		}
	}
}
