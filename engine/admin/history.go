package admin

import (
	"maps"
	"math"
	"sync"
	"time"

	"bellwether/engine/budget"
	"bellwether/engine/fleet"
	"bellwether/engine/queue"
)

const (
	// HistoryStep is how far apart the samples of the history are.
	HistoryStep = 10 * time.Second
	// historySamples is how many are kept: an hour.
	historySamples = 360
)

// Past keeps the last hour of every pool and machine in memory: about 25 KB a
// pool. Its mutex guards all of it.
type Past struct {
	mu    sync.Mutex
	pools map[string]*[historySamples]poolSample
	nodes map[string]*[historySamples]nodeSample
	last  int64 // number of the latest sample
}

// poolSample is one pool at one moment; n is the moment's number, so that an
// old sample is not taken for a new one.
type poolSample struct {
	n                                                     int64
	resident, reserved, uncertain, assumed, margin, limit int64
	free                                                  fleet.Reading[int64]
}

type nodeSample struct {
	n                int64
	cpu              fleet.Reading[float64]
	used             fleet.Reading[int64]
	running, waiting int64
}

// NewPast returns an empty history.
func NewPast() *Past {
	return &Past{pools: map[string]*[historySamples]poolSample{}, nodes: map[string]*[historySamples]nodeSample{}}
}

// Sample takes the fleet as it is at now. Called every HistoryStep.
func (p *Past) Sample(now time.Time, snap *fleet.Snapshot, q *queue.Status) {
	n := now.UnixNano() / int64(HistoryStep)
	loads := map[string]load{}
	for i := range q.Lanes {
		l := &q.Lanes[i]
		sum := loads[l.Deployment.Node]
		loads[l.Deployment.Node] = load{sum.running + l.Running, sum.waiting + l.Waiting}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = max(p.last, n)
	for i := range snap.Nodes {
		node := &snap.Nodes[i]
		if node.Liveness == fleet.Offline {
			continue // what it said last is not how it is
		}
		p.sampleNode(n, node, loads[node.Node])
	}
	p.forget()
}

func (p *Past) sampleNode(n int64, node *fleet.Node, l load) {
	at := n % historySamples
	line := p.nodes[node.Node]
	if line == nil {
		line = new([historySamples]nodeSample)
		p.nodes[node.Node] = line
	}
	line[at] = nodeSample{n: n, cpu: node.Readings.CPU, used: node.Readings.MemoryUsed, running: int64(l.running), waiting: int64(l.waiting)}
	for i := range node.Pools {
		pool := &node.Pools[i]
		key := node.Node + "/" + pool.Name
		line := p.pools[key]
		if line == nil {
			line = new([historySamples]poolSample)
			p.pools[key] = line
		}
		sum := budget.Sum(pool)
		line[at] = poolSample{
			n: n, resident: sum.Resident, reserved: sum.Reserved, uncertain: sum.Uncertain, assumed: sum.Assumed,
			margin: pool.Margin, limit: pool.Limit, free: sensedFree(pool),
		}
	}
}

// forget drops what has had no sample for an hour. The caller holds the mutex.
func (p *Past) forget() {
	if p.last%historySamples != 0 {
		return
	}
	oldest := p.last - historySamples
	maps.DeleteFunc(p.pools, func(_ string, line *[historySamples]poolSample) bool { return lapsed(line, oldest) })
	maps.DeleteFunc(p.nodes, func(_ string, line *[historySamples]nodeSample) bool { return lapsed(line, oldest) })
}

// lapsed reports whether no sample of a line is younger. It searches by hand:
// over slices.ContainsFunc here the compiler of Go 1.26 breaks where it
// instruments for fuzzing.
func lapsed[S interface{ number() int64 }](line *[historySamples]S, oldest int64) bool {
	for i := range line {
		if line[i].number() > oldest {
			return false
		}
	}
	return true
}

func (s poolSample) number() int64 { return s.n }
func (s nodeSample) number() int64 { return s.n }

// History returns the samples since a time, at most the last hour's.
func (p *Past) History(since time.Time) *History {
	p.mu.Lock()
	defer p.mu.Unlock()
	step := int64(HistoryStep)
	from := max(p.last-historySamples+1, (since.UnixNano()+step-1)/step)
	if p.last == 0 || since.IsZero() {
		from = p.last - historySamples + 1
	}
	n := int(max(0, p.last-from+1))
	if p.last == 0 {
		n = 0
	}
	h := &History{
		From: time.Unix(0, from*step).UTC(), StepSeconds: int(HistoryStep / time.Second), Samples: n,
		Pools: map[string]PoolHistory{}, Nodes: map[string]NodeHistory{},
	}
	for key, line := range p.pools {
		column := func(pick func(*poolSample) *int64) []*int64 {
			return columnOf(from, n, func(at int64) *int64 {
				if s := &line[at%historySamples]; s.n == at {
					return pick(s)
				}
				return nil
			})
		}
		h.Pools[key] = PoolHistory{
			ResidentBytes:  column(func(s *poolSample) *int64 { return ptr(s.resident) }),
			ReservedBytes:  column(func(s *poolSample) *int64 { return ptr(s.reserved) }),
			UncertainBytes: column(func(s *poolSample) *int64 { return ptr(s.uncertain) }),
			AssumedBytes:   column(func(s *poolSample) *int64 { return ptr(s.assumed) }),
			MarginBytes:    column(func(s *poolSample) *int64 { return ptr(s.margin) }),
			FreeBytes:      column(func(s *poolSample) *int64 { return reading(s.free) }),
			LimitBytes:     column(func(s *poolSample) *int64 { return ptr(s.limit) }),
		}
	}
	for key, line := range p.nodes {
		sample := func(at int64) *nodeSample {
			if s := &line[at%historySamples]; s.n == at {
				return s
			}
			return &nodeSample{}
		}
		there := func(at int64, v int64) *int64 {
			if line[at%historySamples].n != at {
				return nil
			}
			return &v
		}
		h.Nodes[key] = NodeHistory{
			CPUPercent: columnOf(from, n, func(at int64) *float64 {
				cpu := sample(at).cpu
				if !cpu.Known {
					return nil
				}
				return ptr(math.Round(1000*cpu.V) / 10)
			}),
			MemoryUsedBytes: columnOf(from, n, func(at int64) *int64 { return reading(sample(at).used) }),
			RunningRequests: columnOf(from, n, func(at int64) *int64 { return there(at, sample(at).running) }),
			WaitingRequests: columnOf(from, n, func(at int64) *int64 { return there(at, sample(at).waiting) }),
		}
	}
	return h
}

func columnOf[T any](from int64, n int, at func(number int64) *T) []*T {
	out := make([]*T, n)
	for i := range out {
		out[i] = at(from + int64(i))
	}
	return out
}
