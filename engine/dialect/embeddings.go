package dialect

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
)

// appendEmbeddingsReply renders an OpenAI embeddings list, as numbers or, as
// the official SDKs ask by default, as base64 of little-endian float32.
func appendEmbeddingsReply(dst []byte, r *Request, id *Identity, rep *Reply) []byte {
	width := 0
	if len(rep.Vectors) > 0 {
		width = len(rep.Vectors[0])
	}
	dst = slices.Grow(dst, 256+len(rep.Vectors)*(64+width*12))
	dst = append(dst, `{"object":"list","data":[`...)
	for i, v := range rep.Vectors {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"object":"embedding","embedding":`...)
		if r.Embed != nil && r.Embed.Base64 {
			dst = appendBase64Vector(dst, v)
		} else {
			dst = appendVector(dst, v, 32)
		}
		dst = append(dst, `,"index":`...)
		dst = strconv.AppendInt(dst, int64(i), 10)
		dst = append(dst, '}')
	}
	dst = append(dst, `],"model":`...)
	dst = AppendString(dst, id.Model)
	dst = append(dst, `,"usage":{"prompt_tokens":`...)
	in := int64(inputTokens(rep.Usage, id))
	dst = strconv.AppendInt(dst, in, 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, in, 10)
	return append(dst, "}}"...)
}

func appendBase64Vector(dst []byte, v []float32) []byte {
	raw := make([]byte, 4*len(v))
	for i, f := range v {
		binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(f))
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, raw)
	return append(dst, '"')
}

// appendVector appends an array of numbers, each the shortest that reads back
// as the same float of that many bits (32, or 64 for Ollama's old endpoint).
func appendVector(dst []byte, v []float32, bits int) []byte {
	dst = append(dst, '[')
	for i, f := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendFloat(dst, f, bits)
	}
	return append(dst, ']')
}

// appendFloat formats as Go's and JavaScript's encoders do.
func appendFloat(dst []byte, f float32, bits int) []byte {
	v := float64(f)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(dst, "null"...) // never valid: answers are checked before they are rendered
	}
	format := byte('f')
	if abs := float32(math.Abs(v)); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, v, format, -1, bits)
	if n := len(dst); format == 'e' && n >= 4 && dst[n-4] == 'e' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1] // e-09 is written e-9
		dst = dst[:n-1]
	}
	return dst
}
