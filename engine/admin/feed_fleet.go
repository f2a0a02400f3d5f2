package admin

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"bellwether/engine/budget"
	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

// load is how many requests run and wait on a machine.
type load struct{ running, waiting int }

func nodeView(n *fleet.Node, router string, l load, now time.Time) NodeView {
	line := NodeOf(n, now)
	s, hw := &n.State, &n.Hardware
	v := NodeView{
		ID: n.Node, Name: n.Name, Local: n.Local, Router: n.Node == router,
		State: line.State, Reason: line.Reason, LastSeenAt: n.LastSeen.UTC().Truncate(time.Millisecond),
		Paused: s.Paused, PauseReason: s.PauseReason, PausedSince: moment(s.PausedSince), PausedUntil: moment(s.PausedUntil),
		OnBattery: s.OnBattery, Meeting: s.Meeting, MeetingReason: s.MeetingWhy, Pressure: s.Pressure,
		Learning: s.Learning, Observing: s.Observing, Busy: s.Busy, Mode: s.Mode,
		Chip: hw.Chip, Cores: hw.Cores, MemoryBytes: hw.MemoryBytes, BandwidthGBPerSecond: reading(hw.BandwidthGBs), GPUs: []GPUView{},
		MemoryUsedBytes: reading(n.Readings.MemoryUsed), MemoryAvailableBytes: reading(n.Readings.MemoryAvailable),
		Models: len(n.Deployments), RunningRequests: l.running, WaitingRequests: l.waiting,
	}
	if cpu := n.Readings.CPU; cpu.Known {
		v.CPUPercent = ptr(tenth(100 * cpu.V))
	}
	v.Thermal = thermalView(&n.Readings.Thermal)
	if s.Learning {
		v.AvailabilityPercent = ptr(tenth(100 * s.Availability))
	}
	for _, g := range hw.GPUs {
		v.GPUs = append(v.GPUs, GPUView{g.Name, reading(g.VRAMBytes)})
	}
	for i := range n.Deployments {
		if n.Deployments[i].Residency == fleet.Loaded {
			v.LoadedModels++
		}
	}
	return v
}

func thermalView(t *fleet.Thermal) ThermalView {
	v := ThermalView{Value: t.Value, Known: t.Value != "", Source: t.Source, Reason: t.Reason}
	if t.Celsius.Known {
		v.Celsius = ptr(math.Round(t.Celsius.V))
	}
	return v
}

func runtimeView(n *fleet.Node, r *fleet.RuntimeState) RuntimeView {
	v := RuntimeView{
		NodeID: n.Node, Name: r.Name, Kind: r.Kind, Version: r.Version, Up: r.Up, Reason: r.Reason, Pool: r.Pool,
		MaxLoadedModels: known(r.MaxLoaded), ObservedAt: moment(r.ObservedAt), ManagesModels: r.Kind == kindOllama,
	}
	for i := range n.Deployments {
		if n.Deployments[i].ID.Runtime == r.Name {
			v.Models++
		}
	}
	return v
}

// kindOllama is the kind of runtime that manages models.
const kindOllama = "ollama"

// deploymentView shows a deployment with what else is known of its model.
func deploymentView(n *fleet.Node, d *fleet.Deployment, book *evidence.Book, catalogue *evidence.Catalogue) DeploymentView {
	v := DeploymentView{
		ID: d.ID.String(), NodeID: d.ID.Node, Runtime: d.ID.Runtime, Model: d.ID.Model,
		Kind: d.Kind, Digest: d.Digest, Family: d.Family, ParameterSize: d.ParameterSize, Quantization: d.Quantization,
		WeightsBytes: known(d.WeightsBytes), AlsoNamed: list(d.AlsoNamed), Tags: list(d.Tags),
		Residency: d.Residency.String(), ResidentBytes: known(d.ResidentBytes), ResidentVRAMBytes: known(d.ResidentVRAM),
		KVBytesPerToken: known(d.KVBytesToken), MaxContextTokens: known(d.MaxContext),
		Slots: known(d.Slots), SlotsBusy: d.SlotsBusy, LoadedAt: moment(d.LoadedAt), ExpiresAt: moment(d.ExpiresAt), UnloadedAt: moment(d.UnloadedAt),
		Pinned: d.Pinned, Disabled: d.Disabled, Unhealthy: d.Unhealthy, Degraded: d.Degraded,
		Capabilities: make(map[string]CapabilityView, len(d.Capabilities)), Quality: list(QualityOf(d, book)), Speed: speedOf(d, book),
	}
	if d.Residency == fleet.Loaded {
		v.LoadedContextTokens = known(d.LoadedContext)
	}
	if rt := n.Runtime(d.ID.Runtime); rt != nil && !rt.Up {
		v.Degraded = "its runtime is down" // what is known of it is from before
	}
	for name, claim := range d.Capabilities {
		v.Capabilities[string(name)] = CapabilityView{claim.Support.String(), claim.Source.String()}
	}
	if k := catalogue.Find(d); k != nil {
		v.Licence, v.Thinking = k.Licence, k.Thinking
	}
	if p := book.Probe(d); p != nil {
		v.ProbedAt, v.ContextReadTokens = moment(p.At), known(p.Context)
	}
	return v
}

// QualityOf says what a model is worth at tasks, as far as anyone said, in the
// order of fleet.Tasks, that for any task last.
func QualityOf(d *fleet.Deployment, book *evidence.Book) []QualityStatus {
	var out []QualityStatus
	grades := book.Grades(d)
	for _, task := range append(slices.Clone(fleet.Tasks), "") {
		word := cmp.Or(task, "any")
		if g, ok := grades[task]; ok {
			out = append(out, QualityStatus{Task: word, Value: g.Share(), Evidence: fmt.Sprintf("measured:%d", g.Of), Suite: g.Suite, At: g.At})
		} else if p, ok := d.Priors[task]; ok {
			out = append(out, QualityStatus{Task: word, Value: p.Value, Evidence: "prior:" + p.Provenance})
		}
	}
	return out
}

func speedOf(d *fleet.Deployment, book *evidence.Book) SpeedView {
	figure := func(f evidence.Figure) *float64 {
		if !f.Known() {
			return nil
		}
		return ptr(math.Round(100*f.V) / 100)
	}
	seconds := book.Seconds(d)
	return SpeedView{
		Samples: seconds.N, AnswerP75Seconds: figure(seconds), LoadP50Seconds: figure(book.Load(d)),
		PrefillTokensPerSecond: figure(book.Prefill(d)), DecodeTokensPerSecond: figure(book.Decode(d)),
	}
}

// sensedFree is what is free on the machine, whatever the budget; of a node that
// does not say so, what is free of the budget.
func sensedFree(p *fleet.Pool) fleet.Reading[int64] {
	if p.Sensed.Known {
		return p.Sensed
	}
	return p.Free
}

// poolView shows a pool; at is when its node reported it.
func poolView(n *fleet.Node, p *fleet.Pool, at time.Time) PoolView {
	sum := budget.Sum(p)
	v := PoolView{
		NodeID: n.Node, Name: p.Name, Kind: string(p.Kind), TotalBytes: p.Total, LimitBytes: p.Limit, MarginBytes: p.Margin, FreeBytes: reading(sensedFree(p)), UsableBytes: reading(p.Free),
		ResidentBytes: sum.Resident, ReservedBytes: sum.Reserved, UncertainBytes: sum.Uncertain, AssumedBytes: sum.Assumed,
		Pressure: p.Pressure, Holders: make([]HolderView, 0, len(p.Holders)),
	}
	counted := countedBytes(p)
	for i := range p.Holders {
		h := &p.Holders[i]
		view := HolderView{Deployment: h.Deployment.String(), Kind: string(h.Kind), Bytes: reading(h.Bytes), Label: h.Label, CountedBytes: counted[i]}
		if h.Remaining > 0 {
			view.EndsAt = ptr(at.Add(h.Remaining).UTC().Round(time.Second))
		}
		v.Holders = append(v.Holders, view)
	}
	return v
}

// strength orders the kinds of hold: what a stronger one covers, a weaker one
// does not add (budget.Sum).
var strength = map[fleet.HoldKind]int{fleet.HoldResident: 0, fleet.HoldReserved: 1, fleet.HoldUncertain: 2, fleet.HoldAssumed: 3}

// countedBytes says for each holder what it adds to the pool's sums.
func countedBytes(p *fleet.Pool) []int64 {
	order := make([]int, len(p.Holders))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strength[p.Holders[a].Kind] - strength[p.Holders[b].Kind] })
	out, covered := make([]int64, len(p.Holders)), map[fleet.DeploymentID]int64{}
	for _, i := range order {
		h := &p.Holders[i]
		out[i] = max(0, h.Bytes.V-covered[h.Deployment])
		covered[h.Deployment] += out[i]
	}
	return out
}

func reading[T any](r fleet.Reading[T]) *T {
	if !r.Known {
		return nil
	}
	return &r.V
}

// tenth rounds to one digit.
func tenth(v float64) float64 { return math.Round(10*v) / 10 }
