package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"bellwether/engine/agent"
	"bellwether/engine/fleet"
	"bellwether/engine/gateway"
	"bellwether/engine/route"
	"bellwether/engine/runtime"
)

// This file turns the settings into what each part of the engine takes.

// Level returns the least level that is logged.
func (c *Config) Level() slog.Level {
	switch c.LogLevel {
	case "debug":
		return slog.LevelDebug
	case "warn":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	}
	return slog.LevelInfo
}

// gatewayKeys returns the keys that let apps in.
func (c *Config) gatewayKeys() []gateway.Key {
	out := make([]gateway.Key, 0, len(c.Security.APIKeys))
	for i := range c.Security.APIKeys {
		k := &c.Security.APIKeys[i]
		out = append(out, gateway.Key{
			Name: k.Name, Matches: k.Matches, Manage: k.May(RightManage), Batch: k.Limits.Priority == "batch",
			Limit: k.Limits.MaxInFlight,
		})
	}
	return out
}

// GatewayRules returns who may come in, and what they read.
func (c *Config) GatewayRules() gateway.Rules {
	return gateway.Rules{
		AllowedHosts:   c.Security.AllowedHosts,
		AllowedOrigins: append(gateway.DefaultOrigins(), c.Security.AllowedOrigins...),
		CIDR:           c.Security.CIDR,
		MaxBody:        int64(c.Security.MaxBodyMB * fleet.MB),
		ResponseModel:  c.ResponseModelField,
		Classify:       c.classify(),
	}
}

// classify is how requests are classified by a model, if they are.
func (c *Config) classify() gateway.Classify {
	r := &c.Routing
	if !r.Classifier.Enabled {
		return gateway.Classify{}
	}
	return gateway.Classify{Model: r.Classifier.Deployment, Always: r.Classifier.When == "always", Timeout: r.Classifier.Timeout}
}

// name returns the runtime's name: its own, else its kind, else its place in
// the list.
func (r *RuntimeConfig) name(i int) string {
	switch {
	case r.Name != "":
		return r.Name
	case r.Kind != "":
		return r.Kind
	}
	return fmt.Sprintf("runtime%d", i+1)
}

// Targets returns the declared runtimes.
func (c *Config) Targets() []runtime.Target {
	out := make([]runtime.Target, 0, len(c.Runtimes))
	for i, r := range c.Runtimes {
		out = append(out, runtime.Target{
			Name: r.name(i), Kind: r.Kind, URL: strings.TrimRight(r.URL, "/"), APIKey: r.APIKey.Reveal(),
			Parallel: r.Parallel, MaxLoaded: r.MaxLoaded, Drain: r.Cancel == "drain",
			FirstContent: r.Timeouts.FirstContent, Idle: r.Timeouts.StreamIdle, Total: r.Timeouts.Total,
		})
	}
	return out
}

// AgentSettings returns what this node's agent takes.
func (c *Config) AgentSettings() agent.Settings {
	pools := make([]agent.PoolSetting, 0, len(c.Pools))
	for _, p := range c.Pools {
		pools = append(pools, agent.PoolSetting{Name: p.Name, Memory: bytesOf(p.MemoryGB), Margin: bytesOf(p.MarginGB)})
	}
	own := c.Capacity.OwnRequests
	if own == "same" {
		own = ""
	}
	return agent.Settings{
		Runtimes: c.Targets(), Pools: pools,
		RejectUnknown: c.UnknownMemoryPolicy == "reject", AssumedTTL: c.AssumedResidencyTTL,
		UncertainHold: orNone(c.Routing.UncertainHold), MaxSlots: c.Routing.MaxSlots,
		OnPause: agent.OnPause(c.OnPause), CancelGrace: orNone(c.CancelGrace),
		Battery: c.Battery, OwnRequests: own, Meetings: c.Meetings.Enabled, Learning: c.Capacity.Learning,
	}
}

// orNone turns a setting of 0 into the agent's word for none: its own 0 stands
// for the default.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

func bytesOf(gb float64) int64 { return int64(gb * fleet.GB) }

// Policy returns the settings as the router uses them where nothing else is
// known of the fleet.
func (c *Config) Policy() *route.Policy { return c.PolicyWith(&FleetPolicy{}) }

// PolicyWith returns the settings, with what the fleet policy adds to them, as
// the router uses them: the one place where both come together. Its hash, which
// every decision record carries, names exactly these.
func (c *Config) PolicyWith(doc *FleetPolicy) *route.Policy {
	r := &c.Routing
	p := route.DefaultPolicy()
	p.Score = route.ScorePolicy{
		ModelHot: r.Score.ModelHot, ModelLoading: r.Score.ModelLoading, ModelWarm: r.Score.ModelWarm, ModelCold: r.Score.ModelCold,
		WarmWindow: r.Score.WarmWindow, MemoryFitMax: r.Score.MemoryFitMax, FitTiers: slices.Clone(r.Score.FitTiers),
		QueueDepthMaxPenalty: r.Score.QueueDepthMaxPenalty, QueueDepthPer: r.Score.QueueDepthPer, BandwidthNormalize: r.Score.QueueBandwidthNormalize,
		WaitMaxPenalty: r.Score.WaitTimeMaxPenalty, RoleAffinityMax: r.Score.RoleAffinityMax, LargeGB: r.Score.LargeGB, SmallGB: r.Score.SmallGB,
		AvailabilityMax: r.Score.AvailabilityMax, ContextFitMax: r.Score.ContextFitMax, SessionMax: r.Score.SessionMax,
	}
	p.PinTTL, p.PinMax, p.SwitchingPenalty = r.Pins.TTL, r.Pins.Max, r.SwitchingPenalty
	p.HoldInterval, p.HoldMax, p.OpenAfter, p.Settle = r.Hold.Interval, r.Hold.Max, r.OpenAfter, r.Settle
	p.KVPerRequestGB, p.MaxSlots, p.PullWhenFree = r.KVPerRequestGB, r.MaxSlots, r.PullWhenFree
	p.MaxRetries, p.UncertainHold = r.MaxRetries, r.UncertainHold
	p.Circuit.Failures, p.Circuit.Of, p.Circuit.Window = r.Circuit.Failures, r.Circuit.Of, r.Circuit.Window
	p.FirstContent, p.StreamIdle, p.Total = r.Timeouts.FirstContent, r.Timeouts.StreamIdle, r.Timeouts.Total
	p.AutoPull, p.AutoPullAllow, p.AutoPullTimeout = r.AutoPull, registries(r.AutoPullAllow), r.AutoPullTimeout
	p.ModelFallback, p.ContextProtection = r.ModelFallback, r.ContextProtection
	p.ThinkingOverhead, p.ThinkingMinPredict = r.Thinking.Overhead, r.Thinking.MinPredict
	p.Locality, p.RemoteImages = r.Locality, c.Security.RemoteImages
	p.UnknownMemory, p.MaxInFlight, p.RetryAfter = c.UnknownMemoryPolicy, c.Clients.MaxInFlight, c.Clients.RetryAfter
	for _, m := range r.PinnedModels {
		p.PinnedModels = append(p.PinnedModels, fleet.CanonicalModel(m))
	}
	p.Profiles = c.profiles()
	p.Aliases = c.aliases()
	p.Declarations = c.declarations()
	p.Contracts = c.contracts()
	anchorContracts(p.Contracts, doc)
	p.Hash = policyHash(p)
	return p
}

func (c *Config) declarations() []route.Declaration {
	var out []route.Declaration
	for _, d := range c.Deployments {
		out = append(out, route.Declaration(d))
	}
	return out
}

// registries spells out what ollama.com stands for: names without a registry,
// and the host its models are really fetched from.
func registries(allow []string) []string {
	var out []string
	for _, r := range allow {
		r = strings.ToLower(r)
		if r == "ollama.com" {
			out = append(out, "", r, "registry.ollama.ai")
			continue
		}
		out = append(out, r)
	}
	return out
}

// policyHash names a policy by its content.
func policyHash(p *route.Policy) string {
	plain := *p
	plain.Hash = ""
	b, err := json.Marshal(plain)
	if err != nil { // every field is plain data
		panic("a policy cannot be encoded: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6])
}
