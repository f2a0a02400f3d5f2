package route

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellwether/engine/evidence"
	"bellwether/engine/fleet"
)

// The keys of each kind of line.
var (
	nodeFields = []field[fleet.Node]{
		text("id", func(n *fleet.Node) *string { return &n.Node }),
		size("memory", func(n *fleet.Node) *int64 { return &n.Hardware.MemoryBytes }),
		rate("bandwidth", func(n *fleet.Node) *fleet.Reading[float64] { return &n.Hardware.BandwidthGBs }),
		{name: "offline", flag: true,
			read:  func(n *fleet.Node, _ string) error { n.Liveness = fleet.Offline; return nil },
			write: func(n *fleet.Node) string { return when(n.Liveness == fleet.Offline) }},
		{name: "late", flag: true,
			read:  func(n *fleet.Node, _ string) error { n.Liveness = fleet.Late; return nil },
			write: func(n *fleet.Node) string { return when(n.Liveness == fleet.Late) }},
		past("seen", func(n *fleet.Node) *time.Time { return &n.LastSeen }),
		flag("local", func(n *fleet.Node) *bool { return &n.Local }),
		flag("paused", func(n *fleet.Node) *bool { return &n.State.Paused }),
		text("pause_reason", func(n *fleet.Node) *string { return &n.State.PauseReason }),
		future("paused_for", func(n *fleet.Node) *time.Time { return &n.State.PausedUntil }),
		flag("draining", func(n *fleet.Node) *bool { return &n.State.Draining }),
		tri("on_battery", func(n *fleet.Node) *fleet.Tri { return &n.State.OnBattery }),
		text("battery", func(n *fleet.Node) *string { return &n.State.Battery }),
		tri("meeting", func(n *fleet.Node) *fleet.Tri { return &n.State.Meeting }),
		text("meeting_why", func(n *fleet.Node) *string { return &n.State.MeetingWhy }),
		text("pressure", func(n *fleet.Node) *string { return &n.State.Pressure }),
		flag("learning", func(n *fleet.Node) *bool { return &n.State.Learning }),
		flag("observing", func(n *fleet.Node) *bool { return &n.State.Observing }),
		flag("busy", func(n *fleet.Node) *bool { return &n.State.Busy }),
		decimal("availability", func(n *fleet.Node) *float64 { return &n.State.Availability }),
		text("mode", func(n *fleet.Node) *string { return &n.State.Mode }),
		text("own_requests", func(n *fleet.Node) *string { return &n.State.OwnRequests }),
	}
	poolFields = []field[fleet.Pool]{
		{name: "kind",
			read:  func(p *fleet.Pool, s string) error { p.Kind = fleet.PoolKind(s); return nil },
			write: func(p *fleet.Pool) string { return string(p.Kind) }},
		size("total", func(p *fleet.Pool) *int64 { return &p.Total }),
		size("limit", func(p *fleet.Pool) *int64 { return &p.Limit }),
		size("margin", func(p *fleet.Pool) *int64 { return &p.Margin }),
		known("free", func(p *fleet.Pool) *fleet.Reading[int64] { return &p.Free }),
		text("pressure", func(p *fleet.Pool) *string { return &p.Pressure }),
	}
	holderFields = []field[fleet.Holder]{
		{name: "kind",
			read:  func(h *fleet.Holder, s string) error { h.Kind = fleet.HoldKind(s); return nil },
			write: func(h *fleet.Holder) string { return string(h.Kind) }},
		known("bytes", func(h *fleet.Holder) *fleet.Reading[int64] { return &h.Bytes }),
		lasts("for", func(h *fleet.Holder) *time.Duration { return &h.Remaining }),
	}
	runtimeFields = []field[fleet.RuntimeState]{
		text("kind", func(r *fleet.RuntimeState) *string { return &r.Kind }),
		text("pool", func(r *fleet.RuntimeState) *string { return &r.Pool }),
		text("version", func(r *fleet.RuntimeState) *string { return &r.Version }),
		count("max_loaded", func(r *fleet.RuntimeState) *int { return &r.MaxLoaded }),
		unset("down", func(r *fleet.RuntimeState) *bool { return &r.Up }),
		flag("unseen", func(r *fleet.RuntimeState) *bool { return &r.Unseen }),
		text("why", func(r *fleet.RuntimeState) *string { return &r.Reason }),
	}
	modelFields = []field[fleet.Deployment]{
		text("digest", func(d *fleet.Deployment) *string { return &d.Digest }),
		text("declares", func(d *fleet.Deployment) *string { return &d.DeclaredIdentity }),
		text("kind", func(d *fleet.Deployment) *string { return &d.Kind }),
		text("quantization", func(d *fleet.Deployment) *string { return &d.Quantization }),
		size("weights", func(d *fleet.Deployment) *int64 { return &d.WeightsBytes }),
		size("resident", func(d *fleet.Deployment) *int64 { return &d.ResidentBytes }),
		size("vram", func(d *fleet.Deployment) *int64 { return &d.ResidentVRAM }),
		size("kv", func(d *fleet.Deployment) *int64 { return &d.KVBytesToken }),
		decimal("params", func(d *fleet.Deployment) *float64 { return &d.Parameters }),
		decimal("active", func(d *fleet.Deployment) *float64 { return &d.ActiveParams }),
		count("width", func(d *fleet.Deployment) *int { return &d.EmbeddingWidth }),
		count("max_context", func(d *fleet.Deployment) *int { return &d.MaxContext }),
		{name: "loaded", // with the context per slot it was loaded with, 0 = unknown
			read: func(d *fleet.Deployment, s string) (err error) {
				d.Residency = fleet.Loaded
				d.LoadedContext, err = strconv.Atoi(s)
				return err
			},
			write: func(d *fleet.Deployment) string {
				if d.Residency != fleet.Loaded {
					return ""
				}
				return strconv.Itoa(d.LoadedContext)
			}},
		{name: "window", // the context per slot of what comes or goes
			read: func(d *fleet.Deployment, s string) (err error) { d.LoadedContext, err = strconv.Atoi(s); return err },
			write: func(d *fleet.Deployment) string {
				if d.Residency == fleet.Loaded {
					return ""
				}
				return nonZero(d.LoadedContext)
			}},
		{name: "loading", flag: true,
			read:  func(d *fleet.Deployment, _ string) error { d.Residency = fleet.Loading; return nil },
			write: func(d *fleet.Deployment) string { return when(d.Residency == fleet.Loading) }},
		{name: "leaving", flag: true,
			read:  func(d *fleet.Deployment, _ string) error { d.Residency = fleet.Leaving; return nil },
			write: func(d *fleet.Deployment) string { return when(d.Residency == fleet.Leaving) }},
		past("loaded_ago", func(d *fleet.Deployment) *time.Time { return &d.LoadedAt }),
		past("unloaded_ago", func(d *fleet.Deployment) *time.Time { return &d.UnloadedAt }),
		count("slots", func(d *fleet.Deployment) *int { return &d.Slots }),
		count("slots_busy", func(d *fleet.Deployment) *int { return &d.SlotsBusy }),
		flag("preallocated", func(d *fleet.Deployment) *bool { return &d.Preallocated }),
		flag("pinned", func(d *fleet.Deployment) *bool { return &d.Pinned }),
		flag("disabled", func(d *fleet.Deployment) *bool { return &d.Disabled }),
		text("unhealthy", func(d *fleet.Deployment) *string { return &d.Unhealthy }),
		text("degraded", func(d *fleet.Deployment) *string { return &d.Degraded }),
		list("tags", func(d *fleet.Deployment) *[]string { return &d.Tags }),
		list("also_named", func(d *fleet.Deployment) *[]string { return &d.AlsoNamed }),
		priors("priors", func(d *fleet.Deployment) *map[string]fleet.Prior { return &d.Priors }),
		list("honours", func(d *fleet.Deployment) *[]string { return &d.Honours }),
		{name: "caps",
			read:  func(d *fleet.Deployment, s string) (err error) { d.Capabilities, err = readCaps(s); return err },
			write: func(d *fleet.Deployment) string { return writeCaps(d.Capabilities) }},
	}
	laneFields = []field[Lane]{
		count("running", func(l *Lane) *int { return &l.Running }),
		count("waiting", func(l *Lane) *int { return &l.Waiting }),
		{name: "last",
			read:  func(l *Lane, s string) (err error) { l.LastUsed, err = strconv.ParseInt(s, 10, 64); return err },
			write: func(l *Lane) string { return nonZero(int(l.LastUsed)) }},
		lasts("load", func(l *Lane) *time.Duration { return &l.LoadRemaining }),
		flag("closed", func(l *Lane) *bool { return &l.Closed }),
	}
	circuitFields = []field[Circuit]{
		future("retry", func(c *Circuit) *time.Time { return &c.RetryAt }),
		text("app", func(c *Circuit) *string { return &c.App }),
	}
	pinFields = []field[Pin]{
		past("ago", func(p *Pin) *time.Time { return &p.At }),
		text("identity", func(p *Pin) *string { return &p.Identity }),
	}
	aliasFields = []field[Alias]{
		list("models", func(a *Alias) *[]string { return &a.Models }),
		text("profile", func(a *Alias) *string { return &a.Profile }),
		list("tags", func(a *Alias) *[]string { return &a.Tags }),
		flag("vision", func(a *Alias) *bool { return &a.RequireVision }),
		text("locality", func(a *Alias) *string { return &a.Locality }),
		flag("pinned_order", func(a *Alias) *bool { return &a.PinnedOrder }),
	}
	speedFields = []field[evidence.Speeds]{
		figure("seconds", func(s *evidence.Speeds) *evidence.Figure { return &s.Seconds }),
		figure("load", func(s *evidence.Speeds) *evidence.Figure { return &s.Load }),
		figure("prefill", func(s *evidence.Speeds) *evidence.Figure { return &s.Prefill }),
		figure("decode", func(s *evidence.Speeds) *evidence.Figure { return &s.Decode }),
		figures("tasks", func(s *evidence.Speeds) *map[string]evidence.Figure { return &s.Tasks }),
		figure("slots", func(s *evidence.Speeds) *evidence.Figure { return &s.Slots }),
	}
	habitFields = []field[evidence.Habits]{
		ratios("calibration", func(h *evidence.Habits) *map[string]evidence.Ratio { return &h.Calibration }),
		figures("output", func(h *evidence.Habits) *map[string]evidence.Figure { return &h.Output }),
		figures("reasoning", func(h *evidence.Habits) *map[string]evidence.Figure { return &h.Reasoning }),
		figures("quality", func(h *evidence.Habits) *map[string]evidence.Figure { return &h.Quality }),
	}
)

func when(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// capSets are short for what most models can do.
var capSets = map[string][]fleet.Capability{
	"llm":   {fleet.CapChat, fleet.CapStreaming, fleet.CapJSONObject, fleet.CapJSONSchema, fleet.CapContinuation},
	"agent": {fleet.CapChat, fleet.CapStreaming, fleet.CapJSONObject, fleet.CapJSONSchema, fleet.CapContinuation, fleet.CapTools, fleet.CapToolChoiceRequired},
	"embed": {fleet.CapEmbedding},
}

// readCaps reads a comma list: tools (yes), !tools (no), tools@probe (yes, and
// who says so; else the runtime), ?tools (nobody knows), or a set. Chat and
// embedding that are not named are a no once any is.
func readCaps(s string) (fleet.Capabilities, error) {
	caps, unknown := fleet.Capabilities{}, map[fleet.Capability]bool{}
	for word := range strings.SplitSeq(s, ",") {
		if name, is := strings.CutPrefix(word, "?"); is {
			unknown[fleet.Capability(name)] = true
			continue
		}
		name, by, _ := strings.Cut(word, "@")
		source := fleet.SourceRuntime
		if by != "" {
			if err := source.UnmarshalText([]byte(by)); err != nil || source == fleet.SourceNone {
				return nil, fmt.Errorf("unknown source %q", by)
			}
		}
		name, no := strings.CutPrefix(name, "!")
		set, ok := capSets[name]
		if !ok {
			set = []fleet.Capability{fleet.Capability(name)}
		}
		for _, c := range set {
			caps[c] = fleet.Claim{Support: fleet.TriOf(!no), Source: source}
		}
	}
	for _, c := range []fleet.Capability{fleet.CapChat, fleet.CapEmbedding} {
		if _, ok := caps[c]; !ok && len(caps) > 0 && !unknown[c] {
			caps[c] = fleet.Claim{Support: fleet.No, Source: fleet.SourceRuntime}
		}
	}
	return caps, nil
}

func writeCaps(caps fleet.Capabilities) string {
	var words []string
	for name, claim := range caps {
		if claim.Support == fleet.Unknown {
			continue
		}
		word := string(name)
		if claim.Support == fleet.No {
			word = "!" + word
		}
		if claim.Source != fleet.SourceRuntime {
			word += "@" + claim.Source.String()
		}
		words = append(words, word)
	}
	for _, c := range []fleet.Capability{fleet.CapChat, fleet.CapEmbedding} {
		if len(words) > 0 && caps[c].Support == fleet.Unknown {
			words = append(words, "?"+string(c))
		}
	}
	slices.SortFunc(words, func(a, b string) int {
		return strings.Compare(strings.TrimPrefix(a, "!"), strings.TrimPrefix(b, "!"))
	})
	return strings.Join(words, ",")
}
