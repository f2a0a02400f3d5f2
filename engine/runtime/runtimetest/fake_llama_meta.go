package runtimetest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// totals are what /metrics counts since the start. The fake's mutex guards them.
type totals struct {
	prompt, cached, predicted, decodes, longest int
	promptTime, predictTime                     time.Duration
}

// tally adds a finished answer.
func (f *Fake) tally(s *speech) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := &f.totals
	t.prompt += s.promptN - s.cachedN
	t.cached += s.cachedN
	t.predicted += s.outN
	t.decodes += s.outN + 1
	t.longest = max(t.longest, s.promptN+s.outN)
	t.promptTime += s.prefill
	t.predictTime += s.decode
}

// singleModels is /v1/models of a server with one model: an Ollama-like list
// and OpenAI's. It says "completion" even of an embedding model.
func (f *Fake) singleModels() []byte {
	m := f.order[0]
	name := appendQuoted(nil, m.full, cppEscapes)
	b := fmt.Appendf(nil, `{"models":[{"name":%s,"model":%s,"modified_at":"","size":"","digest":"","type":"model","description":"","tags":[""],"capabilities":[%s],"parameters":"","details":{"parent_model":"","format":"gguf","family":"","families":[""],"parameter_size":"","quantization_level":""}}],"object":"list","data":[{"id":%s,"aliases":[%s],"tags":[],"object":"model","created":%d,"owned_by":"llamacpp",`,
		name, name, llamaCapabilities(m), name, name, time.Now().Unix())
	b = f.appendMeta(b, m, f.contextFor(m, 0))
	return append(b, `}]}`...)
}

func llamaCapabilities(m *model) string {
	if m.can("vision") {
		return `"completion","multimodal"`
	}
	return `"completion"`
}

func (f *Fake) appendMeta(b []byte, m *model, ctx int) []byte {
	return fmt.Appendf(b, `"meta":{"vocab_type":true,"n_vocab":576,"n_ctx":%d,"n_ctx_train":%d,"n_embd":%d,"n_params":%d,"size":%d,"ftype":%s}`,
		ctx, m.Context, m.EmbeddingWidth, m.Parameters, m.Size, appendQuoted(nil, m.Quant, cppEscapes))
}

// routerModels is /models of the router: what there is, and what is loaded.
func (f *Fake) routerModels() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := slices.Clone(f.order)
	slices.SortFunc(list, func(a, b *model) int { return strings.Compare(a.full, b.full) })
	b := []byte(`{"data":[`)
	for i, m := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = f.appendRouted(b, m)
	}
	return append(b, `],"object":"list"}`...)
}

func (f *Fake) appendRouted(b []byte, m *model) []byte {
	name := appendQuoted(nil, m.full, cppEscapes)
	ctx := f.contextFor(m, 0)
	rn := f.runners[m.key]
	status, port := "unloaded", 0
	switch {
	case rn == nil:
	case rn.loading:
		status, port = "loading", rn.port
	case !rn.broken:
		status, port = "loaded", rn.port
	}
	b = fmt.Appendf(b, `{"id":%s,"aliases":[],"tags":[],"object":"model","owned_by":"llamacpp","created":%d,"status":{"value":"%s","args":["/runtime/llama-server","--host","127.0.0.1","--port","%d","--alias",%s,"--ctx-size","%d","--model","%s","--parallel","%d"],"preset":"[%s]\nctx-size = %d\nmodel = %s\nparallel = %d\n\n"`,
		name, time.Now().Unix(), status, port, name, ctx, m.Path, f.config.Parallel, m.full, ctx, m.Path, f.config.Parallel)
	b = append(b, `},"architecture":{"input_modalities":["text"`...)
	if m.can("vision") {
		b = append(b, `,"image"`...)
	}
	b = append(b, `],"output_modalities":["text"]},"source":"models_dir","can_remove":false`...)
	if status == "loaded" {
		b = f.appendMeta(append(b, ','), m, ctx)
	}
	return append(b, '}')
}

// routerManage serves /models/load, which answers before the load has ended,
// and /models/unload.
func (f *Fake) routerManage(w *statusWriter, r *http.Request, e *entry, body []byte) {
	asked := text(member(body, "model"))
	if _, done := f.meet(w, r, f.name(e, asked), false); done {
		return
	}
	bad := func(text string) { refuseLlama(w, &refusal{status: http.StatusBadRequest, text: text}) }
	m := f.find(asked)
	if m == nil {
		refuseLlama(w, &refusal{status: http.StatusNotFound, text: "model is not found"})
		return
	}
	f.mu.Lock()
	rn := f.runners[m.key]
	f.mu.Unlock()
	switch r.URL.Path {
	case "/models/load":
		if rn != nil {
			bad("model is already loaded")
			return
		}
		f.preload(m)
	case "/models/unload":
		if rn == nil {
			bad("model is not loaded")
			return
		}
		f.forceOut(rn)
	default:
		notFound(w)
		return
	}
	llamaReply(w, []byte(`{"success":true}`))
}

// preload begins a load that no request waits for.
func (f *Fake) preload(m *model) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := &pending{m: m, ctx: f.contextFor(m, 0), ready: make(chan placed, 1), alone: true}
	f.pending = append(f.pending, p)
	f.step()
	f.bell.ring()
}

// props is /props of either mode; the router passes ?model= on.
func (f *Fake) props(w http.ResponseWriter, r *http.Request) {
	m := f.order[0]
	if f.config.Router {
		asked := r.URL.Query().Get("model")
		if m = f.find(asked); asked == "" || m == nil {
			llamaReply(w, fmt.Appendf(nil, `{"role":"router","max_instances":%d,"models_autoload":true,"model_alias":"llama-server","model_path":"none","default_generation_settings":{"params":null,"n_ctx":0},"ui_settings":{},"build_info":"%s","cors_proxy_enabled":false}`,
				f.config.MaxLoaded, llamaBuild))
			return
		}
	}
	b := append([]byte(`{"default_generation_settings":{"params":{`), slotParams...)
	b = append(b, `,"chat_format":"Content-only","reasoning_format":"none","reasoning_in_content":false,"generation_prompt":"",`...)
	b = append(b, samplerParams...)
	b = fmt.Appendf(b, `},"n_ctx":%d},"total_slots":%d,"model_alias":%s,"model_ftype":"%s","model_path":"%s","modalities":{"vision":%t,"video":false,"audio":false},"media_marker":"<__media__>","endpoint_slots":%t,"endpoint_props":false,"endpoint_metrics":%t,"ui":true,"ui_settings":{},`,
		f.contextFor(m, 0), f.config.Parallel, appendQuoted(nil, m.full, cppEscapes), m.Quant, m.Path, m.can("vision"), !f.config.NoSlots, !f.config.NoMetrics)
	b = fmt.Appendf(b, `"chat_template":"{{ messages }}","chat_template_caps":{"supports_object_arguments":false,"supports_parallel_tool_calls":%t,"supports_preserve_reasoning":false,"supports_reasoning_effort":%t,"supports_string_content":true,"supports_system_role":true,"supports_tool_calls":%t,"supports_tools":%t,"supports_typed_content":false},"bos_token":"<s>","eos_token":"</s>","build_info":"%s","is_sleeping":false,"cors_proxy_enabled":false}`,
		m.can("tools"), m.can("thinking"), m.can("tools"), m.can("tools"), llamaBuild)
	llamaReply(w, b)
}

// slotParams and samplerParams are the sampling settings that /props and
// /slots tell, before and after what differs between the two.
const (
	slotParams    = `"seed":4294967295,"temperature":0.800000011920929,"dynatemp_range":0.0,"dynatemp_exponent":1.0,"top_k":40,"top_p":0.949999988079071,"min_p":0.05000000074505806,"top_n_sigma":-1.0,"xtc_probability":0.0,"xtc_threshold":0.10000000149011612,"typical_p":1.0,"repeat_last_n":64,"repeat_penalty":1.0,"presence_penalty":0.0,"frequency_penalty":0.0,"dry_multiplier":0.0,"dry_base":1.75,"dry_allowed_length":2,"dry_penalty_last_n":64,"mirostat":0,"mirostat_tau":5.0,"mirostat_eta":0.10000000149011612,"adaptive_target":-1.0,"adaptive_decay":0.8999999761581421,"max_tokens":-1,"n_predict":-1,"n_keep":0,"n_discard":0,"ignore_eos":false,"stream":false,"n_probs":0,"min_keep":0`
	samplerParams = `"samplers":["penalties","dry","top_n_sigma","top_k","typ_p","top_p","min_p","xtc","temperature"],"speculative.types":"none","timings_per_token":false,"post_sampling_probs":false,"backend_sampling":false,"lora":[]`
)

// slots is /slots: who is busy, and with how much.
func (f *Fake) slots(w http.ResponseWriter) {
	if f.config.NoSlots {
		refuseLlama(w, &refusal{status: http.StatusNotImplemented,
			text: "This server does not support slots endpoint. Start it with `--slots`"})
		return
	}
	f.mu.Lock()
	rn := f.runners[f.order[0].key]
	b := []byte{'['}
	for i, s := range rn.slots {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"id":%d,"n_ctx":%d,"speculative":false,"is_processing":%t`, s.id, rn.ctx, s.busy)
		if s.busy {
			decoded := int(s.said.Load())
			b = fmt.Appendf(b, `,"id_task":%d,"n_prompt_tokens":%d,"n_prompt_tokens_processed":%d,"n_prompt_tokens_cache":%d,"params":{`,
				s.task, s.n+decoded, s.n-s.cached, s.cached)
			b = append(b, slotParams...)
			b = append(b, `,"chat_format":"peg-native","reasoning_format":"deepseek","reasoning_in_content":false,"generation_prompt":"<|assistant|>",`...)
			b = append(b, samplerParams...)
			b = fmt.Appendf(b, `},"next_token":[{"has_next_token":true,"has_new_line":false,"n_remain":%d,"n_decoded":%d}]`,
				max(-1, s.limit-decoded), decoded)
		}
		b = append(b, '}')
	}
	f.mu.Unlock()
	llamaReply(w, append(b, ']'))
}

// metrics is /metrics in Prometheus' text form.
func (f *Fake) metrics(w http.ResponseWriter) {
	if f.config.NoMetrics {
		refuseLlama(w, &refusal{status: http.StatusNotImplemented,
			text: "This server does not support metrics endpoint. Start it with `--metrics`"})
		return
	}
	f.mu.Lock()
	t := f.totals
	c := *f.stats(f.order[0].key)
	f.mu.Unlock()
	perSecond := func(n int, d time.Duration) float64 {
		if d <= 0 {
			return 0
		}
		return float64(n) / d.Seconds()
	}
	var b []byte
	line := func(kind, name, help string, value float64) {
		b = fmt.Appendf(b, "# HELP llamacpp:%s %s\n# TYPE llamacpp:%s %s\nllamacpp:%s %s\n",
			name, help, name, kind, name, strconv.FormatFloat(value, 'g', 6, 64))
	}
	line("counter", "prompt_tokens_total", "Number of prompt tokens processed, excluding cached tokens", float64(t.prompt))
	line("counter", "prompt_tokens_cached_total", "Number of prompt tokens reused from the cache", float64(t.cached))
	line("counter", "prompt_seconds_total", "Total time spent processing prompts", t.promptTime.Seconds())
	line("counter", "tokens_predicted_total", "Number of generation tokens processed", float64(t.predicted))
	line("counter", "tokens_predicted_seconds_total", "Total time spent generating tokens", t.predictTime.Seconds())
	line("counter", "n_decode_total", "Total number of llama_decode() calls, excluding speculative decoding and multimodal decoding", float64(t.decodes))
	line("counter", "n_tokens_max", "Largest observed sequence length (prompt + generation)", float64(t.longest))
	line("counter", "spec_decode_num_draft_tokens_total", "Speculative: Total draft tokens generated", 0)
	line("counter", "spec_decode_num_accepted_tokens_total", "Speculative: Total draft tokens accepted by the target model", 0)
	line("counter", "spec_decode_num_drafts_total", "Speculative: Total speculative decoding verification steps", 0)
	line("gauge", "prompt_tokens_seconds", "Average prompt throughput in tokens/s", perSecond(t.prompt, t.promptTime))
	line("gauge", "predicted_tokens_seconds", "Average generation throughput in tokens/s", perSecond(t.predicted, t.predictTime))
	line("gauge", "requests_processing", "Number of requests processing", float64(c.running))
	line("gauge", "requests_deferred", "Number of requests deferred", float64(c.waiting))
	line("gauge", "n_busy_slots_per_decode", "Average number of busy slots per llama_decode() call", float64(min(1, t.decodes)))
	h := w.Header()
	h["Keep-Alive"] = asStaying
	h["Content-Type"] = asMetrics
	h["Process-Start-Time-Unix"] = []string{"2729521552"}
	h["Content-Length"] = []string{strconv.Itoa(len(b))}
	_, _ = w.Write(b)
}
