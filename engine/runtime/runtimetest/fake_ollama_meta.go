package runtimetest

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// metadata serves the paths of Ollama that neither generate nor embed.
func (f *Fake) metadata(w http.ResponseWriter, r *http.Request, e *entry, body []byte) {
	asked := asksModel(body)
	key := ""
	if asked != "" {
		key = f.name(e, asked)
	}
	t, done := f.meet(w, r, key, false)
	if done {
		return
	}
	switch path := r.URL.Path; {
	case path == "/":
		w.Header()["Content-Type"] = []string{"text/plain; charset=utf-8"}
		_, _ = w.Write([]byte("Ollama is running"))
	case path == "/api/version":
		reply(w, asOllamaJSON, append(appendQuoted([]byte(`{"version":`), f.config.Version, goEscapes), '}'))
	case path == "/api/status":
		reply(w, asOllamaJSON, []byte(`{"cloud":{"disabled":true,"source":"env"}}`))
	case path == "/api/tags":
		reply(w, asOllamaJSON, f.tags())
	case path == "/api/ps":
		reply(w, asOllamaJSON, f.processes(t.empty))
	case path == "/api/show":
		f.show(w, body, asked)
	case path == "/v1/models":
		reply(w, asPlainJSON, f.v1Models())
	case strings.HasPrefix(path, "/v1/models/"):
		f.v1Model(w, strings.TrimPrefix(path, "/v1/models/"))
	default:
		f.manage(w, r, body, asked, t)
	}
}

func reply(w http.ResponseWriter, contentType []string, b []byte) {
	w.Header()["Content-Type"] = contentType
	_, _ = w.Write(b)
}

// asksModel reads the model out of a metadata body; old clients call it name.
func asksModel(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	if m := text(member(body, "model")); m != "" {
		return m
	}
	return text(member(body, "name"))
}

// catalogue lists the models as Ollama does: the newest first.
func (f *Fake) catalogue() []*model {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := slices.Clone(f.order)
	slices.SortStableFunc(list, func(a, b *model) int { return b.Modified.Compare(a.Modified) })
	return list
}

func (f *Fake) tags() []byte {
	b := []byte(`{"models":[`)
	for i, m := range f.catalogue() {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNamed(b, m)
		b = appendQuoted(append(b, `,"modified_at":`...), m.Modified.UTC().Format(time.RFC3339Nano), goEscapes)
		b = strconv.AppendInt(append(b, `,"size":`...), m.Size, 10)
		b = append(append(append(b, `,"digest":"`...), m.Digest...), '"')
		b = appendDetails(append(b, `,"details":`...), m, true)
		b = append(appendCapabilities(append(b, `,"capabilities":`...), m), '}')
	}
	return append(b, ']', '}')
}

func appendNamed(b []byte, m *model) []byte {
	b = appendQuoted(append(b, `{"name":`...), m.full, goEscapes)
	return appendQuoted(append(b, `,"model":`...), m.full, goEscapes)
}

func appendDetails(b []byte, m *model, lengths bool) []byte {
	b = appendQuoted(append(b, `{"parent_model":"","format":"gguf","family":`...), m.Family, goEscapes)
	b = appendQuoted(append(b, `,"families":[`...), m.Family, goEscapes)
	b = appendQuoted(append(b, `],"parameter_size":`...), parameterSize(m.Parameters), goEscapes)
	b = appendQuoted(append(b, `,"quantization_level":`...), m.Quant, goEscapes)
	if lengths {
		b = appendInt(append(b, `,"context_length":`...), m.Context)
		b = appendInt(append(b, `,"embedding_length":`...), m.EmbeddingWidth)
	}
	return append(b, '}')
}

func appendCapabilities(b []byte, m *model) []byte {
	b = append(b, '[')
	for i, c := range m.Capabilities {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(b, c, goEscapes)
	}
	return append(b, ']')
}

// processes is /api/ps: a model being loaded is not listed, one whose runner
// died still is. While it runs its end keeps moving.
func (f *Fake) processes(half bool) []byte {
	f.mu.Lock()
	var list []*runner
	for _, rn := range f.runners {
		if !rn.loading {
			list = append(list, rn)
		}
	}
	now := time.Now()
	slices.SortFunc(list, func(a, b *runner) int {
		if c := b.ends(now).Compare(a.ends(now)); c != 0 {
			return c
		}
		return strings.Compare(a.m.key, b.m.key)
	})
	b := []byte(`{"models":[`)
	for _, rn := range list {
		size := rn.m.resident(rn.ctx, f.config.Parallel)
		b = appendNamed(b, rn.m)
		b = strconv.AppendInt(append(b, `,"size":`...), size, 10)
		b = append(append(append(b, `,"digest":"`...), rn.m.Digest...), '"')
		b = appendDetails(append(b, `,"details":`...), rn.m, false)
		b = appendQuoted(append(b, `,"expires_at":`...), rn.ends(now).UTC().Format(time.RFC3339Nano), goEscapes)
		b = strconv.AppendInt(append(b, `,"size_vram":`...), int64(float64(size)*f.config.GPU), 10)
		b = append(appendInt(append(b, `,"context_length":`...), rn.ctx), '}', ',')
	}
	f.mu.Unlock()
	if half { // seen while a model leaves: an entry with next to nothing in it
		b = append(b, `{"name":"","model":"","size":0,"digest":"","details":{"parent_model":"","format":"","family":"","families":null,"parameter_size":"","quantization_level":""},"expires_at":"0001-01-01T00:00:00Z","size_vram":0,"context_length":0},`...)
	}
	return append(bytes.TrimSuffix(b, []byte(",")), ']', '}')
}

// ends is when the runner leaves if nothing more comes.
func (rn *runner) ends(now time.Time) time.Time {
	if rn.refs > 0 {
		return now.Add(rn.keep)
	}
	return rn.expires
}

func (f *Fake) v1Models() []byte {
	list := f.catalogue()
	if len(list) == 0 {
		return []byte(`{"object":"list","data":null}` + "\n") // Go's nil slice
	}
	b := []byte(`{"object":"list","data":[`)
	for i, m := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendV1Model(b, m.full, m)
	}
	return append(b, "]}\n"...)
}

func appendV1Model(b []byte, id string, m *model) []byte {
	b = appendQuoted(append(b, `{"id":`...), id, goEscapes)
	b = strconv.AppendInt(append(b, `,"object":"model","created":`...), m.Modified.Unix(), 10)
	owner := "library"
	if i := strings.LastIndexByte(m.full, '/'); i > 0 {
		owner = m.full[:i]
	}
	b = appendQuoted(append(b, `,"owned_by":`...), owner, goEscapes)
	return append(b, '}')
}

func (f *Fake) v1Model(w http.ResponseWriter, name string) {
	m := f.find(name)
	if m == nil {
		refuseV1(w, http.StatusNotFound, "model '"+fullName(name)+"' not found", asPlainJSON, "\n")
		return
	}
	reply(w, asPlainJSON, append(appendV1Model(nil, name, m), '\n'))
}

// show writes /api/show.
func (f *Fake) show(w http.ResponseWriter, body []byte, asked string) {
	if asked == "" {
		refuseNative(w, http.StatusBadRequest, "model is required")
		return
	}
	m := f.find(asked)
	if m == nil {
		refuseNative(w, http.StatusNotFound, "model '"+fullName(asked)+"' not found")
		return
	}
	template := "{{ .Prompt }}"
	if m.can("insert") {
		template = "{{ .Prompt }}{{ .Suffix }}"
	}
	parameters := ""
	if m.can("completion") {
		parameters = "num_thread                     1"
	}
	if m.NumCtx > 0 {
		parameters += "\nnum_ctx                        " + strconv.Itoa(m.NumCtx)
	}
	modelfile := "# Modelfile generated by \"ollama show\"\n# To build a new Modelfile based on this, replace FROM with:\n# FROM " +
		m.full + "\n\nFROM " + cmp.Or(m.Path, "/models/blobs/sha256-"+m.Digest) + "\nTEMPLATE " + template + "\n"
	b := appendQuoted([]byte(`{"modelfile":`), modelfile, goEscapes)
	if parameters != "" {
		b = appendQuoted(append(b, `,"parameters":`...), strings.TrimSpace(parameters), goEscapes)
	}
	b = appendQuoted(append(b, `,"template":`...), template, goEscapes)
	b = appendDetails(append(b, `,"details":`...), m, false)
	b = appendModelInfo(append(b, `,"model_info":`...), m)
	b = appendTensors(append(b, `,"tensors":`...), m)
	b = appendCapabilities(append(b, `,"capabilities":`...), m)
	b = appendQuoted(append(b, `,"modified_at":`...), m.Modified.UTC().Format(time.RFC3339Nano), goEscapes)
	reply(w, asOllamaJSON, append(b, '}'))
}

// appendTensors lists the tensors of a model of two blocks.
func appendTensors(b []byte, m *model) []byte {
	w := m.EmbeddingWidth
	b = fmt.Appendf(b, `[{"name":"output_norm.weight","type":"F32","shape":[%d]},{"name":"token_embd.weight","type":"F16","shape":[%d,384]}`, w, w)
	for block := range 2 {
		for _, name := range []string{"attn_k", "attn_norm", "attn_output", "attn_q", "attn_v", "ffn_down", "ffn_gate", "ffn_norm", "ffn_up"} {
			b = fmt.Appendf(b, `,{"name":"blk.%d.%s.weight","type":"F16","shape":[%d,%d]}`, block, name, w, w)
		}
	}
	return append(b, ']')
}

// appendModelInfo writes the keys that the recorded models of the two sorts
// have, a llama and a bert, under the model's own family.
func appendModelInfo(b []byte, m *model) []byte {
	b = fmt.Appendf(b, `{"general.architecture":%s,"general.file_type":1,"general.parameter_count":%d,"general.quantization_version":2,`,
		appendQuoted(nil, m.Family, goEscapes), m.Parameters)
	own := llamaInfo
	if !m.can("completion") {
		own = bertInfo
	}
	b = append(b, strings.NewReplacer("ARCH", m.Family, "CONTEXT", strconv.Itoa(m.Context), "WIDTH", strconv.Itoa(m.EmbeddingWidth),
		"FEED", strconv.Itoa(4*m.EmbeddingWidth)).Replace(own)...)
	return append(b, `"tokenizer.ggml.pre":"default","tokenizer.ggml.scores":null,"tokenizer.ggml.token_type":null,"tokenizer.ggml.tokens":null}`...)
}

const (
	llamaInfo = `"ARCH.attention.head_count":4,"ARCH.attention.head_count_kv":4,"ARCH.attention.layer_norm_rms_epsilon":0.00001,"ARCH.block_count":2,"ARCH.context_length":CONTEXT,"ARCH.embedding_length":WIDTH,"ARCH.feed_forward_length":FEED,"ARCH.rope.dimension_count":64,"ARCH.rope.freq_base":10000,"ARCH.vocab_size":384,"tokenizer.ggml.add_bos_token":true,"tokenizer.ggml.add_eos_token":false,"tokenizer.ggml.add_space_prefix":false,"tokenizer.ggml.bos_token_id":1,"tokenizer.ggml.eos_token_id":2,"tokenizer.ggml.model":"llama","tokenizer.ggml.unknown_token_id":0,`
	bertInfo  = `"ARCH.attention.causal":false,"ARCH.attention.head_count":2,"ARCH.attention.layer_norm_epsilon":1e-12,"ARCH.block_count":2,"ARCH.context_length":CONTEXT,"ARCH.embedding_length":WIDTH,"ARCH.feed_forward_length":FEED,"ARCH.pooling_type":1,"tokenizer.ggml.bos_token_id":2,"tokenizer.ggml.cls_token_id":2,"tokenizer.ggml.eos_token_id":3,"tokenizer.ggml.mask_token_id":4,"tokenizer.ggml.model":"bert","tokenizer.ggml.padding_token_id":0,"tokenizer.ggml.seperator_token_id":3,"tokenizer.ggml.token_type_count":2,"tokenizer.ggml.unknown_token_id":1,`
)
