package runtimetest

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// vector is what a model makes of an input: the same always, others for
// others, and not of unit length.
func vector(m *model, input []byte) []float32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(m.Digest))
	_, _ = h.Write(input)
	source := rand.New(rand.NewPCG(h.Sum64(), 1))
	v := make([]float32, m.EmbeddingWidth)
	for i := range v {
		v[i] = source.Float32()*0.4 - 0.2
	}
	return v
}

// unit cuts v to dimensions (0 = all) and scales it to unit length.
func unit(v []float32, dimensions int) []float32 {
	if dimensions > 0 && dimensions < len(v) {
		v = v[:dimensions]
	}
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	scale := float32(1 / math.Sqrt(max(sum, 1e-12)))
	for i := range v {
		v[i] *= scale
	}
	return v
}

// appendVector writes the numbers as short as float32 allows, or with the
// digits of the same numbers as float64 (Ollama's old path, llama-server).
func appendVector(b []byte, v []float32, bits int) []byte {
	b = append(b, '[')
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(x), 'g', -1, bits)
	}
	return append(b, ']')
}

// appendBase64 writes little-endian float32, as OpenAI's clients ask by default.
func appendBase64(b []byte, v []float32) []byte {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	b = append(b, '"')
	return append(base64.StdEncoding.AppendEncode(b, raw), '"')
}

// embed serves Ollama's three embedding paths.
func (f *Fake) embed(w http.ResponseWriter, r *http.Request, e *entry, body []byte) {
	var v voice = nativeVoice{}
	if r.URL.Path == "/v1/embeddings" {
		v = chatVoice{}
	}
	if len(body) == 0 {
		v.refuse(w, &refusal{status: http.StatusBadRequest, text: "missing request body"})
		return
	}
	if err := wellFormed(body); err != nil {
		v.refuse(w, &refusal{status: http.StatusBadRequest, text: err.Error()})
		return
	}
	a := readEmbed(r.URL.Path, body)
	t, done := f.meet(w, r, f.name(e, a.model), true)
	if done {
		return
	}
	if a.noModel {
		v.refuse(w, &refusal{status: http.StatusBadRequest, text: "model is required"})
		return
	}
	m := f.find(a.model)
	if m == nil {
		v.refuse(w, &refusal{status: http.StatusNotFound, text: `model "` + a.model + `" not found, try pulling it first`})
		return
	}
	for _, in := range a.inputs {
		if kind(in) != '"' {
			v.refuse(w, &refusal{status: http.StatusBadRequest, text: "invalid input type"})
			return
		}
	}
	f.embedding(w, r, e, a, m, v, t)
}

// embedding holds a slot like any other request, then writes the vectors.
func (f *Fake) embedding(w http.ResponseWriter, r *http.Request, e *entry, a *ask, m *model, v voice, t trouble) {
	s := &speech{f: f, a: a, m: m, e: e, began: time.Now()}
	err := s.withSlot(r.Context(), func(l *lease) error { return s.read(r, l, t) })
	if err == nil && !m.can("embedding") {
		err = &refusal{status: http.StatusNotImplemented,
			text: "This server does not support embeddings. Start it with `--embeddings`"}
	}
	if err != nil {
		s.finish(w, v, err)
		return
	}
	b := appendEmbeddings(nil, s)
	v.header(w.Header(), false)
	if f.single() {
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(b))}
	}
	_, _ = w.Write(b)
}

// read takes the time the prompts need.
func (s *speech) read(r *http.Request, l *lease, t trouble) error {
	s.promptN = s.a.promptTokens(s.m)
	if s.f.config.Kind == LlamaServer && s.promptN > l.rn.ctx {
		return tooLong(s.promptN, l.rn.ctx)
	}
	if s.a.uncut && s.promptN > l.rn.ctx { // Ollama cuts unless it must not
		return &refusal{status: http.StatusBadRequest, text: "the input length exceeds the context length"}
	}
	p := pacer{s: s, ctx: r.Context(), dead: l.rn.dead, t: t}
	defer p.stop()
	if _, err := p.step(0, l); err != nil {
		return err
	}
	due := time.Now()
	if prefill := rate(s.m.PrefillRate, s.f.config.PrefillRate); prefill > 0 {
		due = due.Add(time.Duration(float64(s.promptN) / prefill * float64(time.Second)))
	}
	return p.until(due)
}

func appendEmbeddings(b []byte, s *speech) []byte {
	switch {
	case s.a.path == "/api/embeddings":
		b = append(b, `{"embedding":`...)
		if len(s.a.inputs) == 0 || text(s.a.inputs[0]) == "" {
			return append(b, "[]}"...)
		}
		return append(appendVector(b, vector(s.m, s.a.inputs[0]), 64), '}') // not scaled
	case s.a.path == "/api/embed":
		b = appendQuoted(append(b, `{"model":`...), s.a.model, goEscapes)
		b = append(b, `,"embeddings":[`...)
		for i, in := range s.a.inputs {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendVector(b, unit(vector(s.m, in), s.a.dimensions), 32)
		}
		b = nanoseconds(append(b, ']'), `,"total_duration":`, time.Since(s.began))
		b = nanoseconds(b, `,"load_duration":`, s.loadTime)
		return append(count(b, `,"prompt_eval_count":`, s.promptN), '}')
	case s.f.config.Kind == LlamaServer:
		return appendLlamaEmbeddings(b, s)
	}
	b = append(b, `{"object":"list","data":[`...)
	for i, in := range s.a.inputs {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendEither(append(b, `{"object":"embedding","embedding":`...), unit(vector(s.m, in), s.a.dimensions), s.a.base64, 32)
		b = append(appendInt(append(b, `,"index":`...), i), '}')
	}
	b = appendQuoted(append(b, `],"model":`...), s.a.model, goEscapes)
	b = appendInt(append(b, `,"usage":{"prompt_tokens":`...), s.promptN)
	b = appendInt(append(b, `,"total_tokens":`...), s.promptN)
	return append(b, "}}\n"...)
}

func appendEither(b []byte, v []float32, asBase64 bool, bits int) []byte {
	if asBase64 {
		return appendBase64(b, v)
	}
	return appendVector(b, v, bits)
}

func appendLlamaEmbeddings(b []byte, s *speech) []byte {
	name := s.a.model
	if s.a.noModel {
		name = s.m.full
	}
	b = appendQuoted(append(b, `{"model":`...), name, cppEscapes)
	b = appendInt(append(b, `,"object":"list","usage":{"prompt_tokens":`...), s.promptN)
	b = appendInt(append(b, `,"total_tokens":`...), s.promptN)
	b = append(b, `},"data":[`...)
	for i, in := range s.a.inputs {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendEither(append(b, `{"embedding":`...), unit(vector(s.m, in), 0), s.a.base64, 64)
		b = appendInt(append(b, `,"index":`...), i)
		b = append(b, `,"object":"embedding"`...)
		if s.a.base64 {
			b = append(b, `,"encoding_format":"base64"`...)
		}
		b = append(b, '}')
	}
	return append(b, ']', '}')
}
