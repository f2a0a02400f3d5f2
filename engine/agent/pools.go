package agent

import (
	"bellwether/engine/fleet"
	"bellwether/platform/hardware"
	"bellwether/platform/sense"
)

// Names of the pools as found.
const (
	poolUnified = "unified"
	poolRAM     = "ram"
	poolGPU     = "gpu0"
	poolGPUs    = "gpus"
)

// PoolNames are all names a pool can have; a machine has one or two of them.
func PoolNames() []string { return []string{poolUnified, poolRAM, poolGPU, poolGPUs} }

// layout lays out a machine's memory pools, the one that models go to first.
// It is a pure function of what the machine is and what its owner says.
//
// memory_gb auto is:
//
//	unified   what the GPU may wire where the system says so, else total - max(4 GB, total/4):
//	          macOS lets the GPU have about three quarters
//	ram       total - min(total/8, 16 GB): the system and its programs; the margin comes on top
//	GPU       all of it: the margin is the display's
//
// Several GPUs make one pool: runtimes spread a model over them and report
// only the sum, so a ledger for each card would be guesswork.
func layout(f hardware.Facts, r sense.Readings, settings []PoolSetting) []fleet.Pool {
	total := f.Memory.V
	if r.Total.Known && (!f.Memory.Known || r.Total.V < total) {
		total = r.Total.V // a container's limit
	}
	var pools []fleet.Pool
	if vram, cards := vramOf(f); cards == 1 {
		pools = append(pools, fleet.Pool{Name: poolGPU, Kind: fleet.PoolVRAM, Total: vram, Limit: vram})
	} else if cards > 1 {
		pools = append(pools, fleet.Pool{Name: poolGPUs, Kind: fleet.PoolVRAM, Total: vram, Limit: vram})
	}
	switch {
	case f.Unified && len(pools) == 0:
		limit := total - max(4<<30, total/4)
		if f.GPULimit.Known {
			limit = min(f.GPULimit.V, total)
		}
		pools = append(pools, fleet.Pool{Name: poolUnified, Kind: fleet.PoolUnified, Total: total, Limit: limit})
	default:
		pools = append(pools, fleet.Pool{Name: poolRAM, Kind: fleet.PoolRAM, Total: total, Limit: total - min(total/8, 16<<30)})
	}
	for i := range pools {
		p := &pools[i]
		p.Limit, p.Margin = max(0, p.Limit), DefaultMargin
		for _, set := range settings {
			if set.Name == "" && i == 0 { // the main one; what names it counts over this
				set.lay(p)
			}
		}
		for _, set := range settings {
			if set.Name == p.Name {
				set.lay(p)
			}
		}
	}
	return pools
}

// lay puts the owner's limits in the place of those found.
func (set *PoolSetting) lay(p *fleet.Pool) {
	if set.Memory > 0 {
		p.Limit = set.Memory
	}
	if set.Margin >= 0 {
		p.Margin = set.Margin
	}
}

// vramOf sums the discrete cards whose memory is known.
func vramOf(f hardware.Facts) (bytes int64, cards int) {
	for _, g := range f.GPUs {
		if g.VRAM.Known {
			bytes += g.VRAM.V
			cards++
		}
	}
	return bytes, cards
}

// layPools lays the pools anew after settings or readings changed.
func (s *state) layPools() {
	s.pools = layout(s.facts, s.readings, s.set.Pools)
	s.ledger.SetPools(s.pools)
}

// mainPool is where models go first.
func (s *state) mainPool() string { return s.pools[0].Name }

// gpuTotal is the memory a GPU reaches, 0 when the node has none.
func (s *state) gpuTotal() int64 {
	for _, p := range s.pools {
		if p.Kind != fleet.PoolRAM {
			return p.Total
		}
	}
	return 0
}

// poolsNow are the pools with holders, free memory and pressure.
//
// Free is the least of what the system has to spare and what the ledger
// leaves: Linux counts a model's mapped weights as available although it is
// in use, and only the runtime's own report shows them.
func (s *state) poolsNow() []fleet.Pool {
	pools := s.ledger.Pools(s.now())
	for i := range pools {
		p := &pools[i]
		free := s.sensedFree(p.Kind)
		p.Sensed = free
		if free.Known {
			free.V = max(0, min(free.V, p.Limit-p.Held()))
		}
		p.Free = free
		if p.Kind != fleet.PoolVRAM {
			p.Pressure = s.pressure()
		}
	}
	return pools
}

// held is what counts as taken, over all pools.
func (s *state) held() int64 {
	var sum int64
	for _, p := range s.ledger.Pools(s.now()) {
		sum += p.Held()
	}
	return sum
}

func (s *state) sensedFree(kind fleet.PoolKind) fleet.Reading[int64] {
	if kind != fleet.PoolVRAM {
		return fleet.Reading[int64]{V: s.readings.Available.V, Known: s.readings.Available.Known}
	}
	var sum fleet.Reading[int64]
	for _, card := range s.facts.GPUs {
		if !card.VRAM.Known {
			continue
		}
		for _, now := range s.readings.VRAM {
			if now.ID == card.ID && now.Free.Known {
				sum.V += now.Free.V
				sum.Known = true
			}
		}
	}
	return sum
}

// pressure is the level in a heartbeat's words: "", warning, critical.
func (s *state) pressure() string {
	if p := s.readings.Pressure; p.Known && p.V != sense.PressureNormal {
		return string(p.V)
	}
	return ""
}
