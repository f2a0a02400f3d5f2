package admin

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"bellwether/engine/fleet"
)

// keptFormat marks what Keep writes; another number is of another version.
const keptFormat = "bellwether history 1"

const (
	// keptMost bounds what Restore unpacks, in bytes: hundreds of pools take less.
	keptMost = 64 << 20
	// keptLines bounds how many pools, and how many machines, are taken back.
	keptLines = 4096
)

// keptHour is the hour as it outlives the process: the wire's own shape, packed.
type keptHour struct {
	Format string `json:"format"`
	History
}

// Keep returns the hour for Restore, some KB a pool; nil while there is nothing
// to keep.
func (p *Past) Keep() []byte {
	h := keptHour{keptFormat, *p.History(time.Time{})}
	if h.Samples == 0 {
		return nil
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if json.NewEncoder(z).Encode(&h) != nil || z.Close() != nil {
		return nil // not of these types, nor into memory
	}
	return out.Bytes()
}

// Restore takes back what Keep returned, before the first sample. What is older
// than an hour, or of later than now, is left out; where there was nobody to
// sample the history has gaps. An error says what is wrong with b, of which
// nothing is taken then.
func (p *Past) Restore(b []byte, now time.Time) error {
	if len(b) == 0 {
		return nil
	}
	h, err := unpack(b)
	if err != nil {
		return err
	}
	first, step := h.From.UnixNano()/int64(HistoryStep), now.UnixNano()/int64(HistoryStep)
	wanted := func(i int) (number int64, ok bool) {
		number = first + int64(i)
		return number, number <= step && number > step-historySamples
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range h.Samples {
		if n, ok := wanted(i); ok {
			p.last = max(p.last, n)
		}
	}
	for key, of := range h.Pools {
		line := new([historySamples]poolSample)
		for i := range h.Samples {
			if n, ok := wanted(i); ok {
				line[n%historySamples] = of.sample(i, n)
			}
		}
		p.pools[key] = line
	}
	for key, of := range h.Nodes {
		line := new([historySamples]nodeSample)
		for i := range h.Samples {
			if n, ok := wanted(i); ok {
				line[n%historySamples] = of.sample(i, n)
			}
		}
		p.nodes[key] = line
	}
	return nil
}

// unpack reads what Keep wrote, and nothing else.
func unpack(b []byte) (*History, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("unpack the history: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(z, keptMost+1))
	if err != nil {
		return nil, fmt.Errorf("unpack the history: %w", err)
	}
	if len(text) > keptMost {
		return nil, errors.New("unpack the history: it is larger than any is")
	}
	var h keptHour
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	switch {
	case h.Format != keptFormat:
		return nil, fmt.Errorf("read the history: it is of another version (%.40q)", h.Format)
	case h.StepSeconds != int(HistoryStep/time.Second) || h.Samples < 0 || h.Samples > historySamples || h.From.UnixNano()%int64(HistoryStep) != 0 || h.From.UnixNano() <= 0:
		return nil, errors.New("read the history: its steps are not ours")
	case len(h.Pools) > keptLines || len(h.Nodes) > keptLines:
		return nil, errors.New("read the history: it has more pools and machines than any fleet")
	}
	for key, of := range h.Pools {
		if !sized(h.Samples, of.ResidentBytes, of.ReservedBytes, of.UncertainBytes, of.AssumedBytes, of.MarginBytes, of.FreeBytes, of.LimitBytes) {
			return nil, fmt.Errorf("read the history: samples of pool %.80q are missing", key)
		}
	}
	for key, of := range h.Nodes {
		if len(of.CPUPercent) != h.Samples || !sized(h.Samples, of.MemoryUsedBytes, of.RunningRequests, of.WaitingRequests) {
			return nil, fmt.Errorf("read the history: samples of machine %.80q are missing", key)
		}
	}
	return &h.History, nil
}

// sized reports whether every list has n samples.
func sized(n int, lists ...[]*int64) bool {
	for _, l := range lists {
		if len(l) != n {
			return false
		}
	}
	return true
}

// sample is sample i of the lists, of the step n; a zero one where there is none.
func (h *PoolHistory) sample(i int, n int64) poolSample {
	if h.ResidentBytes[i] == nil {
		return poolSample{}
	}
	v := func(list []*int64) int64 { return sensed(list[i]).V }
	return poolSample{
		n: n, resident: v(h.ResidentBytes), reserved: v(h.ReservedBytes), uncertain: v(h.UncertainBytes), assumed: v(h.AssumedBytes),
		margin: v(h.MarginBytes), limit: v(h.LimitBytes), free: sensed(h.FreeBytes[i]),
	}
}

func (h *NodeHistory) sample(i int, n int64) nodeSample {
	if h.RunningRequests[i] == nil {
		return nodeSample{}
	}
	s := nodeSample{n: n, used: sensed(h.MemoryUsedBytes[i]), running: *h.RunningRequests[i], waiting: sensed(h.WaitingRequests[i]).V}
	if cpu := h.CPUPercent[i]; cpu != nil {
		s.cpu = fleet.Know(*cpu / 100)
	}
	return s
}

// sensed is reading the other way round.
func sensed(v *int64) fleet.Reading[int64] {
	if v == nil {
		return fleet.Reading[int64]{}
	}
	return fleet.Know(*v)
}
