package route

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// policyFields are the settings a scenario may change. Only those that differ
// from the defaults are written.
var policyFields = []field[Policy]{
	text("hash", func(p *Policy) *string { return &p.Hash }),
	text("auto_pull", func(p *Policy) *string { return &p.AutoPull }),
	{name: "auto_pull_allow", // none, or registries; "" is the library
		read: func(p *Policy, s string) error {
			if p.AutoPullAllow = nil; s != "none" {
				p.AutoPullAllow = strings.Split(s, ",")
			}
			return nil
		},
		write: func(p *Policy) string {
			if len(p.AutoPullAllow) == 0 {
				return "none"
			}
			return strings.Join(p.AutoPullAllow, ",")
		}},
	boolean("model_fallback", func(p *Policy) *bool { return &p.ModelFallback }),
	text("context_protection", func(p *Policy) *string { return &p.ContextProtection }),
	decimal("thinking_overhead", func(p *Policy) *float64 { return &p.ThinkingOverhead }),
	count("thinking_min_predict", func(p *Policy) *int { return &p.ThinkingMinPredict }),
	text("locality", func(p *Policy) *string { return &p.Locality }),
	boolean("remote_images", func(p *Policy) *bool { return &p.RemoteImages }),
	text("unknown_memory", func(p *Policy) *string { return &p.UnknownMemory }),
	decimal("kv_per_request_gb", func(p *Policy) *float64 { return &p.KVPerRequestGB }),
	count("max_slots", func(p *Policy) *int { return &p.MaxSlots }),
	list("pinned_models", func(p *Policy) *[]string { return &p.PinnedModels }),
	decimal("switching_penalty", func(p *Policy) *float64 { return &p.SwitchingPenalty }),
	lasts("pin_ttl", func(p *Policy) *time.Duration { return &p.PinTTL }),
	lasts("first_content", func(p *Policy) *time.Duration { return &p.FirstContent }),
	lasts("stream_idle", func(p *Policy) *time.Duration { return &p.StreamIdle }),
	lasts("total", func(p *Policy) *time.Duration { return &p.Total }),
	decimal("score.model_hot", func(p *Policy) *float64 { return &p.Score.ModelHot }),
	decimal("score.model_loading", func(p *Policy) *float64 { return &p.Score.ModelLoading }),
	decimal("score.model_warm", func(p *Policy) *float64 { return &p.Score.ModelWarm }),
	decimal("score.model_cold", func(p *Policy) *float64 { return &p.Score.ModelCold }),
	lasts("score.warm_window", func(p *Policy) *time.Duration { return &p.Score.WarmWindow }),
	decimal("score.memory_fit_max", func(p *Policy) *float64 { return &p.Score.MemoryFitMax }),
	{name: "score.fit_tiers", read: readTiers, write: writeTiers},
	decimal("score.queue_depth_max_penalty", func(p *Policy) *float64 { return &p.Score.QueueDepthMaxPenalty }),
	decimal("score.queue_depth_per", func(p *Policy) *float64 { return &p.Score.QueueDepthPer }),
	boolean("score.queue_bandwidth_normalize", func(p *Policy) *bool { return &p.Score.BandwidthNormalize }),
	decimal("score.wait_time_max_penalty", func(p *Policy) *float64 { return &p.Score.WaitMaxPenalty }),
	decimal("score.role_affinity_max", func(p *Policy) *float64 { return &p.Score.RoleAffinityMax }),
	decimal("score.large_gb", func(p *Policy) *float64 { return &p.Score.LargeGB }),
	decimal("score.small_gb", func(p *Policy) *float64 { return &p.Score.SmallGB }),
	decimal("score.availability_max", func(p *Policy) *float64 { return &p.Score.AvailabilityMax }),
	decimal("score.context_fit_max", func(p *Policy) *float64 { return &p.Score.ContextFitMax }),
	decimal("score.session_max", func(p *Policy) *float64 { return &p.Score.SessionMax }),
}

// profileFields are the weights of a profile; what is left out is 0.
var profileFields = []field[Weights]{
	decimal("quality", func(w *Weights) *float64 { return &w.Quality }),
	decimal("latency", func(w *Weights) *float64 { return &w.Latency }),
	decimal("residency", func(w *Weights) *float64 { return &w.Residency }),
	decimal("overhead", func(w *Weights) *float64 { return &w.Overhead }),
}

func boolean(name string, at func(*Policy) *bool) field[Policy] {
	return field[Policy]{name: name,
		read:  func(p *Policy, s string) (err error) { *at(p), err = strconv.ParseBool(s); return err },
		write: func(p *Policy) string { return strconv.FormatBool(*at(p)) }}
}

// readTiers reads 2:20,1.5:15,1.2:8,1:3.
func readTiers(p *Policy, s string) error {
	p.Score.FitTiers = nil
	for pair := range strings.SplitSeq(s, ",") {
		var t FitTier
		if _, err := fmt.Sscanf(pair, "%g:%g", &t.Ratio, &t.Points); err != nil {
			return fmt.Errorf("want ratio:points, got %q", pair)
		}
		p.Score.FitTiers = append(p.Score.FitTiers, t)
	}
	return nil
}

func writeTiers(p *Policy) string {
	var parts []string
	for _, t := range p.Score.FitTiers {
		parts = append(parts, fmt.Sprintf("%g:%g", t.Ratio, t.Points))
	}
	return strings.Join(parts, ",")
}

// changedPolicy writes the settings that differ from the defaults; where one is
// empty now, its default cannot be left out and the empty value is written.
func changedPolicy(p *Policy) string {
	usual := DefaultPolicy()
	changed := slices.DeleteFunc(slices.Clone(policyFields), func(f field[Policy]) bool {
		return f.write(p) == f.write(usual)
	})
	var b strings.Builder
	for i := range changed {
		value := changed[i].write(p)
		if value == "" && numeric(changed[i].name) {
			value = "0"
		}
		if strings.HasPrefix(changed[i].name, "score.warm") && value == "0" {
			value = "0s"
		}
		b.WriteString(" " + changed[i].name + " " + quote(value))
	}
	return b.String()
}

// numeric reports whether an empty value of a setting means 0.
func numeric(name string) bool {
	for _, f := range []string{"hash", "auto_pull", "auto_pull_allow", "context_protection", "locality", "unknown_memory", "pinned_models", "score.fit_tiers"} {
		if name == f {
			return false
		}
	}
	return true
}
