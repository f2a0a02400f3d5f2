package task

import (
	_ "embed"
	"encoding/binary"
	"math"
)

// The file of weights: for each task a bias and a scale, then a byte for each
// bucket and task; last the temperature. Written by Encode.
//
//go:embed weights.bin
var weightsFile []byte

const (
	headSize = Count*8 + 4
	fileSize = headSize + Buckets*Count
)

// model is the trained weights, as they stand in the program.
type model struct {
	bias, scale [Count]float32
	sharpness   float32 // one over the temperature
	weights     []byte  // int8, Count for each bucket
}

var trained = decodeModel(weightsFile)

func decodeModel(b []byte) (m model) {
	if len(b) != fileSize {
		panic("engine/task: weights.bin does not fit this program; train again")
	}
	word := func(i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b[i*4:])) }
	for k := range Count {
		m.bias[k], m.scale[k] = word(k), word(Count+k)
	}
	m.sharpness = word(2 * Count)
	m.weights = b[headSize:]
	return m
}

// Encode makes the file of weights: weights[bucket*Count+task].
func Encode(bias [Count]float32, weights []float32, temperature float32) []byte {
	var top [Count]float32
	for i, w := range weights {
		k := i % Count
		top[k] = max(top[k], float32(math.Abs(float64(w))))
	}
	b := make([]byte, 0, fileSize)
	put := func(v float32) { b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v)) }
	for _, v := range bias {
		put(v)
	}
	for _, v := range top {
		put(max(v, 1e-6) / 127)
	}
	put(1 / temperature)
	for i, w := range weights {
		scale := max(top[i%Count], 1e-6) / 127
		b = append(b, byte(int8(math.Round(float64(w/scale)))))
	}
	return b
}

func (m *model) score(f *Features) Scores {
	var sum Scores
	f.Groups(func(buckets []uint16, weight float32) {
		var part [Count]int32
		for _, b := range buckets {
			row := m.weights[int(b)*Count:][:Count:Count]
			for k := range part {
				part[k] += int32(int8(row[k]))
			}
		}
		for k, p := range part {
			sum[k] += float32(weight * float32(p)) // rounded here: not every processor would
		}
	})
	for k := range sum {
		sum[k] = float32(float32(sum[k]*m.scale[k])+m.bias[k]) * m.sharpness
	}
	sum.soften()
	return sum
}

// soften turns sums into confidences that add up to 1.
func (s *Scores) soften() {
	top := s[0]
	for _, v := range s[1:] {
		top = max(top, v)
	}
	total := float32(0)
	for k, v := range s {
		s[k] = float32(math.Exp(float64(v - top)))
		total += s[k]
	}
	for k := range s {
		s[k] /= total
	}
}
