package agent

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"bellwether/engine/fleet"
	"bellwether/engine/runtime"
)

// noteMoves records loads and unloads that this observation shows.
func (s *state) noteMoves(srv *server, was map[string]*fleet.Deployment, before []fleet.DeploymentID, started time.Time) {
	after, came := s.loadedOn(srv), false
	for _, id := range after {
		// What we had loaded since the last look is in before already.
		d := was[fleet.CanonicalModel(id.Model)]
		came = came || d == nil || d.Residency != fleet.Loaded
		if l := s.lane(id); !slices.Contains(before, id) && l.loadedAt.Before(started) {
			l.loadedAt = started
		}
	}
	selfEvicted := 0
	for _, id := range before {
		if slices.Contains(after, id) {
			continue
		}
		l := s.lane(id)
		if l.unloadedAt.Before(l.loadedAt) || l.unloadedAt.IsZero() {
			l.unloadedAt = started
			if d := was[fleet.CanonicalModel(id.Model)]; d != nil && l.leaving == 0 && d.ExpiresAt.After(started) {
				selfEvicted++ // neither we nor its keep-alive sent it away
			}
		}
	}
	if srv.reports {
		srv.cap.see(len(after), selfEvicted > 0 && came)
	}
	for id, l := range s.lanes { // forget models that are gone for good
		if id.Runtime == srv.name && srv.find(id.Model) == nil && l.idle() && l.leaving == 0 {
			delete(s.lanes, id)
		}
	}
}

// loadedOn lists what is in memory of a runtime, sorted.
func (s *state) loadedOn(srv *server) []fleet.DeploymentID {
	var out []fleet.DeploymentID
	for _, d := range srv.models {
		if r := s.residency(srv, d); r == fleet.Loaded || r == fleet.Leaving && d.Residency == fleet.Loaded {
			out = append(out, d.ID)
		}
	}
	slices.SortFunc(out, fleet.DeploymentID.Compare)
	return out
}

// changed reports whether two inventories differ in what others decide by.
// Moments that move with every request ride on the regular heartbeats.
func changed(a, b map[string]*fleet.Deployment) bool {
	return !maps.EqualFunc(a, b, func(x, y *fleet.Deployment) bool {
		return x.ID == y.ID && x.Digest == y.Digest && x.Residency == y.Residency && x.ResidentBytes == y.ResidentBytes &&
			x.LoadedContext == y.LoadedContext && x.Slots == y.Slots && x.Disabled == y.Disabled && x.Pinned == y.Pinned &&
			x.Unhealthy == y.Unhealthy && x.Degraded == y.Degraded && x.MaxContext == y.MaxContext && len(x.Capabilities) == len(y.Capabilities)
	})
}

// spilled notes a model that fits the GPU's memory but lies partly outside it:
// after sleep, runtimes silently go on with the CPU, ten times slower. Only
// Ollama says what is in VRAM.
func (s *state) spilled(d *fleet.Deployment) string {
	if d.Kind != runtime.KindOllama || d.Residency != fleet.Loaded || d.ResidentBytes <= 0 || d.ResidentVRAM >= d.ResidentBytes {
		return ""
	}
	gpu := s.gpuTotal()
	if gpu <= 0 {
		return ""
	}
	inGPU := 100 * d.ResidentVRAM / d.ResidentBytes
	if d.ResidentBytes > gpu {
		return fmt.Sprintf("larger than the GPU's memory: %d %% of it is there, the rest is slow", inGPU)
	}
	return fmt.Sprintf("only %d %% of it is in the GPU's memory, where all of it would fit; unload it, or restart the runtime", inGPU)
}
