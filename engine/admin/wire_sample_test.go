package admin

import (
	"encoding/json"
	"time"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
	"bellwether/engine/route"
)

// The fleet of the samples: a Mac Studio with Ollama and llama-server, and a
// tower with a graphics card, which is paused.
const (
	studio = "3f9c2a1b7d4e6f80"
	tower  = "b81e05d7c6a2394f"
)

var sampleTime = time.Date(2026, 11, 3, 9, 30, 15, 0, time.UTC)

func ago(d time.Duration) time.Time               { return sampleTime.Add(-d) }
func agoP(d time.Duration) *time.Time             { return ptr(ago(d)) }
func inP(d time.Duration) *time.Time              { return ptr(sampleTime.Add(d)) }
func encoded(v any) json.RawMessage               { b, _ := json.Marshal(v); return b }
func claim(support, source string) CapabilityView { return CapabilityView{support, source} }

func golden() map[string]any {
	return map[string]any{
		"hello":            Hello{Type: FrameHello, Version: "0.4.0", At: sampleTime, Seq: 41, State: sampleState()},
		"delta":            sampleDelta(),
		"decision":         sampleRecord(),
		"decision_refused": sampleRefusal(),
		"settings":         sampleSettings(),
		"settings_preview": sampleSettingsPreview(),
		"history":          sampleHistory(),
		"log":              sampleLog(),
		"test_traffic":     sampleTraffic(),
		"apps":             sampleApps(),
		"plan":             samplePlan(),
		"session_locked":   Session{Version: "0.4.0", NodeName: "studio", Unlock: "Run bellwether open, or choose Open admin window in the tray menu."},
		"session_unlocked": Session{Unlocked: true, Version: "0.4.0", NodeName: "studio"},
		"enter_link":       EnterLink{URL: "http://127.0.0.1:11435/admin/enter?t=q0Zt8cJmT1mZ4Jr2m8dU0g", ExpiresAt: sampleTime.Add(time.Minute)},
		"error":            map[string]Refusal{"error": {Code: "admin_token_needed", Message: "This changes the machine and needs its owner.", Remedy: "Unlock this page: run bellwether open."}},
		"error_settings":   sampleSettingsError(),
	}
}

func sampleState() State {
	return State{
		Meta: map[string]EngineView{MetaEngine: {
			Version: "0.4.0", StartedAt: ago(26 * time.Hour), Address: "http://localhost:11435",
			NodeID: studio, NodeName: "studio", Settled: true,
			RouterNodeID: studio, RouterName: "studio", RouterHere: true, RouterEpoch: 0,
			ActiveRequests: 4, HeldRequests: 1, HeldUntil: inP(21 * time.Second), AppsComplete: true, SettingsRevision: "9b1c6f02d4e87a35",
			Store: StoreView{OK: true, WaitingRecords: 2, FileBytes: 18_432_000},
			Login: LoginView{Known: true, On: true, Can: true, Entry: "System Settings, General, Login Items"},
		}},
		Nodes: map[string]NodeView{studio: sampleStudio(), tower: sampleTower()},
		Runtimes: map[string]RuntimeView{
			studio + "/ollama":       {NodeID: studio, Name: "ollama", Kind: "ollama", Version: "0.12.6", Up: true, Pool: "unified", Models: 4, MaxLoadedModels: ptr(3), ObservedAt: agoP(2 * time.Second), ManagesModels: true},
			studio + "/llama-server": {NodeID: studio, Name: "llama-server", Kind: "llama-server", Version: "b6710", Up: true, Pool: "unified", Models: 1, MaxLoadedModels: ptr(1), ObservedAt: agoP(3 * time.Second)},
			tower + "/ollama":        {NodeID: tower, Name: "ollama", Kind: "ollama", Version: "0.11.4", Reason: "connection refused at 127.0.0.1:11434", Pool: "gpu0", Models: 1, ObservedAt: agoP(4 * time.Minute), ManagesModels: true},
		},
		Deployments: sampleDeployments(),
		Pools:       samplePools(),
		Lanes: map[string]LaneView{
			studio + "/ollama/qwen3:30b-a3b": {Deployment: studio + "/ollama/qwen3:30b-a3b", RunningRequests: 2, WaitingRequests: 1, Slots: 2, ExpectedWaitSeconds: 6.4, OldestWaitingAt: agoP(3 * time.Second), WaitingByApp: map[string]int{"claude-code": 1}},
			studio + "/ollama/llama3.2:3b":   {Deployment: studio + "/ollama/llama3.2:3b", Slots: 4, WaitingByApp: map[string]int{}, CircuitRetryAt: inP(12 * time.Second)},
		},
		Jobs: map[string]JobView{
			"K4TQ2M7A": {ID: "K4TQ2M7A", Kind: "pull", NodeID: studio, Runtime: "ollama", Model: "gpt-oss:20b", State: "running", Step: "pulling e7b273f96360", Percent: ptr(37.5), CompletedBytes: ptr(int64(5_163_000_000)), TotalBytes: ptr(int64(13_768_000_000)), StartedAt: ago(95 * time.Second), Cancellable: true, Lines: []JobLine{}},
			"P9XW3C1D": {ID: "P9XW3C1D", Kind: "eval", NodeID: studio, Model: "qwen3:30b-a3b", State: "running", Step: "coding", Percent: ptr(20.0), DoneItems: ptr(6), TotalItems: ptr(30), StartedAt: ago(5 * time.Minute), Cancellable: true,
				Lines: []JobLine{{Deployment: studio + "/ollama/qwen3:30b-a3b", About: "math", Text: "17 of 20 right"}}},
			"A1B2C3D4": {ID: "A1B2C3D4", Kind: "pull", NodeID: studio, Runtime: "ollama", Model: "qwen9:4b", State: "failed", StartedAt: ago(40 * time.Minute), EndedAt: agoP(39 * time.Minute), Error: "pull qwen9:4b: the registry has no such model", Lines: []JobLine{}},
		},
		Apps: map[string]AppView{
			"claude-code": {Name: "claude-code", Requests: 184, FailedRequests: 2, RefusedRequests: 1, ActiveRequests: 3, InputTokens: 2_410_331, OutputTokens: 96_402, TTFTP50Ms: ptr(412.0), TotalP50Ms: ptr(6120.5), TotalP95Ms: ptr(31_004.2), LastSeenAt: ago(3 * time.Second),
				Tags: []TagView{
					{Name: "work", Requests: 120, FailedRequests: 2, InputTokens: 2_100_000, OutputTokens: 80_100, TTFTP50Ms: ptr(430.0), TotalP50Ms: ptr(6600.0), TotalP95Ms: ptr(31_004.2), LastSeenAt: ago(3 * time.Second)},
					{Name: "user:ann", Requests: 12, RefusedRequests: 1, InputTokens: 40_000, OutputTokens: 2_000, LastSeenAt: ago(12 * time.Minute)},
				}, MoreTags: 3},
			"open-webui": {Name: "open-webui", Requests: 22, ActiveRequests: 1, InputTokens: 31_900, OutputTokens: 14_050, TTFTP50Ms: ptr(230.0), TotalP50Ms: ptr(2210.0), TotalP95Ms: ptr(4800.0), LastSeenAt: ago(40 * time.Second), Tags: []TagView{}},
			"curl":       {Name: "curl", Requests: 1, RefusedRequests: 1, LastSeenAt: ago(22 * time.Minute), Tags: []TagView{}},
		},
		Findings: map[string]FindingView{
			"port":           {ID: "port", Severity: "ok", Title: "Address for apps", Text: "Apps are served at http://localhost:11435."},
			"pause":          {ID: "pause", Severity: "note", Title: "Pause", Text: "This machine is paused by its owner (a build) until Tue 11:00.", Remedy: "bellwether resume", Cure: &CureView{Label: "Resume"}},
			"runtime.ollama": {ID: "runtime.ollama", Severity: "broken", Title: "Runtime ollama", Text: "ollama at http://127.0.0.1:11434 is down: connection refused", Remedy: "ollama serve", Cure: &CureView{Label: "Look again"}},
			"pool.gpu0":      {ID: "pool.gpu0", Severity: "warning", Title: "Memory pool gpu0", Text: "pool gpu0: 26 GB of 24 GB for models: more than there is, so the machine may run out of memory", Remedy: "set memory_gb of pool gpu0 to auto, or below what it has", Setting: "pools"},
			"model.llama3.2:3b": {ID: "model.llama3.2:3b", Severity: "warning", Title: "Model llama3.2:3b", Text: "llama3.2:3b on ollama: only 61 % of it is in the GPU's memory, where all of it would fit; unload it, or restart the runtime", Remedy: "Unload it: the next request loads it whole.",
				Deployment: studio + "/ollama/llama3.2:3b", Cure: &CureView{Label: "Unload", Confirm: "Unload llama3.2:3b? The next request for it waits until it is loaded again."}},
		},
		Contracts: map[string]ContractView{
			"docs-index": {Name: "docs-index", Members: []string{"nomic-embed-text", "mxbai-embed-large"},
				Anchor:   &route.Anchor{Identity: "sha256:0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f", Quantization: "F16", Source: route.AnchorBound, From: studio + "/ollama/nomic-embed-text:latest", At: ago(200 * time.Hour)},
				Replicas: []string{studio + "/ollama/nomic-embed-text:latest"},
				Out:      []OutsideView{},
				Absent:   []string{"mxbai-embed-large"}},
			"notes": {Name: "notes", Members: []string{"bge-m3"}, Replicas: []string{}, Out: []OutsideView{}, Absent: []string{"bge-m3"}},
		},
		Aliases: map[string]AliasView{
			"auto":         {Name: "auto", Builtin: true, Profile: "balanced", Models: []string{}, Tags: []string{}, Deployments: []string{studio + "/ollama/llama3.2:3b", studio + "/ollama/qwen3:30b-a3b"}, Absent: []string{}},
			"auto:quality": {Name: "auto:quality", Builtin: true, Profile: "quality", Models: []string{}, Tags: []string{}, Deployments: []string{studio + "/ollama/llama3.2:3b", studio + "/ollama/qwen3:30b-a3b"}, Absent: []string{}},
			"house":        {Name: "house", Profile: "fast", Models: []string{"llama3.2:3b", "phi5:mini"}, Tags: []string{}, Locality: "this_node", PinnedOrder: true, Deployments: []string{studio + "/ollama/llama3.2:3b"}, Absent: []string{"phi5:mini"}},
		},
		Rows: sampleRows(),
	}
}

func sampleStudio() NodeView {
	return NodeView{
		ID: studio, Name: "studio", Local: true, Router: true, State: "serving", LastSeenAt: ago(2 * time.Second),
		OnBattery: fleet.No, Meeting: fleet.Unknown, Chip: "Apple M2 Ultra", Cores: 24, MemoryBytes: 206_158_430_208,
		BandwidthGBPerSecond: ptr(800.0), GPUs: []GPUView{}, CPUPercent: ptr(23.5), MemoryUsedBytes: ptr(int64(71_200_000_000)),
		MemoryAvailableBytes: ptr(int64(134_958_430_208)), Models: 5, LoadedModels: 3, RunningRequests: 2, WaitingRequests: 1,
		Thermal: ThermalView{Value: "normal", Known: true, Source: "notify com.apple.system.thermalpressurelevel"},
	}
}

func sampleTower() NodeView {
	return NodeView{
		ID: tower, Name: "tower", State: "paused", Reason: "a build (until 11:00)", LastSeenAt: ago(4 * time.Second),
		Paused: true, PauseReason: "a build", PausedSince: agoP(10 * time.Minute), PausedUntil: inP(90 * time.Minute),
		OnBattery: fleet.Unknown, Meeting: fleet.Unknown, Pressure: "warning", Chip: "AMD Ryzen 9 7950X", Cores: 32, MemoryBytes: 67_108_864_000,
		GPUs: []GPUView{{Name: "NVIDIA GeForce RTX 4090", VRAMBytes: ptr(int64(25_757_220_864))}}, CPUPercent: ptr(97.0), Models: 1,
		Thermal: ThermalView{Reason: "its sensors do not say where their limits are", Celsius: ptr(91.0)},
	}
}

func sampleDeployments() map[string]DeploymentView {
	chat := map[string]CapabilityView{
		"chat": claim("yes", "runtime"), "tools": claim("yes", "probe"), "vision": claim("no", "runtime"), "thinking": claim("yes", "template"),
		"json_schema": claim("yes", "adapter"), "streaming": claim("yes", "adapter"), "parallel_tools": claim("unknown", "probe"),
	}
	measured := []QualityStatus{
		{Task: "coding", Value: 0.8, Evidence: "measured:30", Suite: "coding/3", At: ago(50 * time.Hour)},
		{Task: "any", Value: 0.74, Evidence: "prior:published scores, 2026-10"},
	}
	all := []DeploymentView{
		{ // loaded and busy
			ID: studio + "/ollama/qwen3:30b-a3b", Model: "qwen3:30b-a3b", Kind: "ollama", Digest: "sha256:ad815644918f0ce1c1a12fd1b3f6b3c2f1a6b5f0fd5e0d3d4d9d3b2c1e0f9a8b", Family: "qwen3moe",
			ParameterSize: "30.5B", Quantization: "Q4_K_M", WeightsBytes: ptr(int64(18_556_701_137)), Tags: []string{"work"}, Licence: "Apache-2.0", Thinking: "switch",
			Residency: "loaded", ResidentBytes: ptr(int64(22_410_000_000)), KVBytesPerToken: ptr(int64(98_304)), MaxContextTokens: ptr(262_144), LoadedContextTokens: ptr(32_768),
			Slots: ptr(2), SlotsBusy: 2, LoadedAt: agoP(2 * time.Hour), ExpiresAt: inP(28 * time.Minute), Pinned: true,
			Capabilities: chat, Quality: measured,
			Speed:    SpeedView{Samples: 412, AnswerP75Seconds: ptr(9.8), LoadP50Seconds: ptr(6.1), PrefillTokensPerSecond: ptr(1480.0), DecodeTokensPerSecond: ptr(71.3)},
			ProbedAt: agoP(70 * time.Hour), ContextReadTokens: ptr(32_000),
		},
		{ // degraded
			ID: studio + "/ollama/llama3.2:3b", Model: "llama3.2:3b", Kind: "ollama", Digest: "sha256:a80c4f17acd55265feec403c7aef86be0c25983ab279d83f3bcd3abbcb5b8b72", Family: "llama",
			ParameterSize: "3.2B", Quantization: "Q4_K_M", WeightsBytes: ptr(int64(2_019_393_189)), Residency: "loaded", ResidentBytes: ptr(int64(3_900_000_000)),
			MaxContextTokens: ptr(131_072), LoadedContextTokens: ptr(8_192), LoadedAt: agoP(9 * time.Minute), ExpiresAt: inP(3 * time.Minute),
			Degraded:     "only 61 % of it is in the GPU's memory, where all of it would fit; unload it, or restart the runtime",
			Capabilities: map[string]CapabilityView{"chat": claim("yes", "runtime"), "tools": claim("yes", "runtime"), "streaming": claim("yes", "adapter")},
			Quality:      []QualityStatus{{Task: "any", Value: 0.55, Evidence: "prior:operator"}},
		},
		{ // being loaded
			ID: studio + "/llama-server/gemma-3-27b-it-Q4_K_M.gguf", Runtime: "llama-server", Model: "gemma-3-27b-it-Q4_K_M.gguf", Kind: "llama-server", Family: "gemma3", ParameterSize: "27B", Quantization: "Q4_K_M",
			WeightsBytes: ptr(int64(16_547_000_000)), AlsoNamed: []string{"gemma3:27b"}, Residency: "loading", MaxContextTokens: ptr(131_072), Slots: ptr(4),
			Capabilities: map[string]CapabilityView{"chat": claim("yes", "runtime"), "vision": claim("yes", "runtime")},
		},
		{ // on disk, never asked
			ID: studio + "/ollama/deepseek-r1:70b", Model: "deepseek-r1:70b", Kind: "ollama", Family: "llama", ParameterSize: "70.6B", Quantization: "Q4_K_M",
			WeightsBytes: ptr(int64(42_520_397_704)), Residency: "on_disk", UnloadedAt: agoP(25 * time.Hour), MaxContextTokens: ptr(131_072),
			Capabilities: map[string]CapabilityView{"chat": claim("yes", "runtime"), "tools": claim("no", "template"), "thinking": claim("yes", "runtime")},
		},
		{ // embedding
			ID: studio + "/ollama/nomic-embed-text:latest", Model: "nomic-embed-text:latest", Kind: "ollama", Digest: "sha256:0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f", Family: "nomic-bert",
			ParameterSize: "137M", Quantization: "F16", WeightsBytes: ptr(int64(274_302_450)), Residency: "loaded", ResidentBytes: ptr(int64(610_000_000)), MaxContextTokens: ptr(8_192), LoadedContextTokens: ptr(2_048),
			Capabilities: map[string]CapabilityView{"embedding": claim("yes", "runtime"), "chat": claim("no", "runtime")},
		},
		{ // of a runtime that is down, on a paused machine; nothing known of its size
			ID: tower + "/ollama/qwen3:8b", NodeID: tower, Model: "qwen3:8b", Kind: "ollama", Residency: "on_disk", Disabled: true,
			Degraded: "its runtime is down", Capabilities: map[string]CapabilityView{},
		},
	}
	out := map[string]DeploymentView{}
	for _, d := range all {
		if d.NodeID == "" {
			d.NodeID = studio
		}
		if d.Runtime == "" {
			d.Runtime = "ollama"
		}
		d.Tags, d.AlsoNamed, d.Quality = list(d.Tags), list(d.AlsoNamed), list(d.Quality)
		out[d.ID] = d
	}
	return out
}

func samplePools() map[string]PoolView {
	held := func(d, kind string, bytes int64, label string, counted bool) HolderView {
		h := HolderView{Deployment: d, Kind: kind, Label: label}
		if counted {
			h.CountedBytes = bytes
		}
		if bytes > 0 {
			h.Bytes = &bytes
		}
		return h
	}
	uncertain := held(studio+"/ollama/llama3.2:3b", "uncertain", 3_900_000_000, "measured", false)
	uncertain.EndsAt = inP(74 * time.Second)
	return map[string]PoolView{
		studio + "/unified": {
			NodeID: studio, Name: "unified", Kind: "unified", TotalBytes: 206_158_430_208, LimitBytes: 154_618_822_656, MarginBytes: 2_147_483_648, FreeBytes: ptr(int64(108_668_822_656)), UsableBytes: ptr(int64(105_718_822_656)),
			ResidentBytes: 26_310_000_000, ReservedBytes: 19_029_050_000, UncertainBytes: 0, AssumedBytes: 610_000_000,
			Holders: []HolderView{
				held(studio+"/llama-server/gemma-3-27b-it-Q4_K_M.gguf", "reserved", 19_029_050_000, "estimate", true),
				held(studio+"/ollama/llama3.2:3b", "resident", 3_900_000_000, "measured", true),
				uncertain,
				held(studio+"/ollama/nomic-embed-text:latest", "assumed", 610_000_000, "measured", true),
				held(studio+"/ollama/qwen3:30b-a3b", "resident", 22_410_000_000, "measured", true),
			},
		},
		tower + "/gpu0": {
			NodeID: tower, Name: "gpu0", Kind: "vram", TotalBytes: 25_757_220_864, LimitBytes: 27_917_287_424, MarginBytes: 2_147_483_648, Pressure: "warning",
			Holders: []HolderView{held(tower+"/ollama/qwen3:8b", "assumed", 0, "unknown", true)},
		},
	}
}

func sampleRows() []DecisionRow {
	qwen, llama := studio+"/ollama/qwen3:30b-a3b", studio+"/ollama/llama3.2:3b"
	row := func(id string, before time.Duration, app, asked, outcome string) DecisionRow {
		return DecisionRow{RequestID: id, At: ago(before), App: app, Protocol: "openai-chat", RequestedModel: asked, Outcome: outcome}
	}
	served := func(r DecisionRow, deployment, model string, in, out int, total float64) DecisionRow {
		r.Deployment, r.NodeName, r.Model, r.Status = deployment, "studio", model, 200
		r.InputTokens, r.OutputTokens, r.TotalMs, r.TTFTMs, r.OverheadMs, r.Streaming = ptr(in), ptr(out), total, 380.5, 0.41, true
		return r
	}
	held := row("01JBQ7Z0K1", 800*time.Millisecond, "home-assistant", "qwen3:8b", "")
	held.Stage, held.Protocol = "held", ""
	queued := row("01JBQ7Z0J7", 3*time.Second, "claude-code", "qwen3:30b-a3b", "")
	queued.Stage, queued.Protocol, queued.Deployment, queued.NodeName, queued.Model = "queued", "", qwen, "studio", "qwen3:30b-a3b"
	sent := queued
	sent.RequestID, sent.At, sent.Stage, sent.QueueMs = "01JBQ7Z0H2", ago(9*time.Second), "sent", 0.4
	running := sent
	running.RequestID, running.At, running.Stage, running.QueueMs, running.TTFTMs = "01JBQ7YZX1", ago(14*time.Second), "running", 0.5, 610.2
	ok := served(row("01JBQ7YZG9", 21*time.Second, "claude-code", "claude-sonnet-4-5", "ok"), qwen, "qwen3:30b-a3b", 14_210, 388, 7402.6)
	ok.Protocol, ok.Alias, ok.Profile, ok.Task, ok.CachedTokens, ok.ReasoningTokens, ok.Edits = "anthropic", "claude-sonnet-*", "balanced", "coding", ptr(12_800), ptr(96), 2
	truncated := served(row("01JBQ7YYF4", 44*time.Second, "open-webui", "llama3.2:3b", "truncated"), llama, "llama3.2:3b", 210, 1024, 9120)
	truncated.Tags, truncated.Notes = []string{"chat", "user:ann"}, 1
	left := served(row("01JBQ7YXE0", time.Minute, "open-webui", "llama3.2:3b", "client_disconnected"), llama, "llama3.2:3b", 98, 12, 640)
	left.Status = 0
	refused := row("01JBQ7YWD5", 22*time.Minute, "curl", "gpt-4o", "refused")
	refused.Status, refused.Problem, refused.OverheadMs = 404, "No machine has gpt-4o, and it is not an alias. Pull it, or ask for auto.", 0.12
	failed := served(row("01JBQ7YVC1", 25*time.Minute, "claude-code", "qwen3:30b-a3b", "failed"), qwen, "qwen3:30b-a3b", 0, 0, 61_004)
	failed.InputTokens, failed.OutputTokens, failed.Status, failed.Problem, failed.Retries, failed.TTFTMs = nil, nil, 502, "The runtime sent no content within 60 s.", 2, 0
	heldOut := row("01JBQ7YUB8", 31*time.Minute, "home-assistant", "qwen3:8b", "held_out")
	heldOut.Status, heldOut.Problem, heldOut.QueueMs, heldOut.TotalMs = 503, "No machine could serve qwen3:8b within 30 s: tower is paused.", 30_000, 30_001
	invalid := served(row("01JBQ7YTA3", 40*time.Minute, "continue", "auto", "stream_invalid_after_commit"), llama, "llama3.2:3b", 1800, 77, 2210)
	invalid.Alias, invalid.Profile, invalid.Task, invalid.Problem, invalid.LoadMs = "auto", "balanced", "chat", "The runtime broke its stream off.", 1820.4
	return []DecisionRow{held, queued, sent, running, ok, truncated, left, refused, failed, heldOut, invalid}
}

func sampleDelta() Delta {
	s := sampleState()
	studioNow := sampleStudio()
	studioNow.RunningRequests, studioNow.WaitingRequests, studioNow.CPUPercent = 3, 0, ptr(61.0)
	lane := s.Lanes[studio+"/ollama/qwen3:30b-a3b"]
	lane.RunningRequests, lane.WaitingRequests, lane.OldestWaitingAt, lane.WaitingByApp = 2, 0, nil, map[string]int{}
	pull := s.Jobs["K4TQ2M7A"]
	pull.Percent, pull.CompletedBytes = ptr(38.0), ptr(int64(5_231_840_000))
	ended := s.Rows[2]
	ended.Stage, ended.Outcome, ended.Protocol, ended.Status = "", "ok", "anthropic", 200
	ended.InputTokens, ended.OutputTokens, ended.TTFTMs, ended.TotalMs, ended.OverheadMs, ended.Streaming = ptr(9120), ptr(210), 522.4, 9310.8, 0.39, true
	sent := s.Rows[1]
	sent.Stage, sent.QueueMs = "sent", 3104.2
	return Delta{Type: FrameDelta, Seq: 42,
		Set: map[Section]map[string]json.RawMessage{
			SectionNodes: {studio: encoded(studioNow)},
			SectionLanes: {studio + "/ollama/qwen3:30b-a3b": encoded(lane)},
			SectionJobs:  {"K4TQ2M7A": encoded(pull)},
		},
		Del:  map[Section][]string{SectionLanes: {studio + "/ollama/llama3.2:3b"}, SectionFindings: {"pause"}},
		Rows: []json.RawMessage{encoded(sent), encoded(ended)},
	}
}

func dep(s string) fleet.DeploymentID { id, _ := fleet.ParseDeploymentID(s); return id }

// sampleRecord is a decision with all that one can have: an alias, candidates,
// exclusions, a failover, edits, notes.
func sampleRecord() route.Record {
	qwen, llama, gemma := dep(studio+"/ollama/qwen3:30b-a3b"), dep(studio+"/ollama/llama3.2:3b"), dep(studio+"/llama-server/gemma-3-27b-it-Q4_K_M.gguf")
	need := route.Tokens{Input: 14_180, Output: 1024, Reasoning: 4096}
	return route.Record{
		RequestID: "01JBQ7YZG9", At: ago(21 * time.Second), ConfigHash: "9b1c6f02", RegistryVersion: 1841,
		RequestedModel: "claude-sonnet-4-5", Alias: "claude-sonnet-*", Profile: "balanced", App: "claude-code", Tags: []string{"work"},
		Session: "s:5d1f0c33", Protocol: "anthropic",
		Requirements: route.Requirements{
			Role: route.RoleChat, PrimaryTask: "coding", Tasks: map[string]float64{"coding": 0.91, "reasoning": 0.09}, Clear: true,
			Tokens: need, OutputAsked: 32_000, NeedsTools: true, ParallelTools: true, Streaming: true, ThinkAsked: true, ThinkBudget: 4096,
			InputTotal: 14_180, Fields: []string{"top_k"}, Session: "s:5d1f0c33", SessionPins: true, App: "claude-code", Tags: []string{"work"},
		},
		Exclusions: map[fleet.DeploymentID][]route.RenderedExclusion{
			dep(studio + "/ollama/deepseek-r1:70b"): {
				{Code: fleet.CodeCapability, Reason: "it cannot use tools (source: template)", Remedy: "ask for a model with tools, or probe it: bellwether probe deepseek-r1:70b"},
				{Code: fleet.CodeMemory, Reason: "needs 45.5 GB, offers 38.4 GB", Remedy: "unload a model, or raise memory_gb of pool unified"}},
			dep(tower + "/ollama/qwen3:8b"): {{Code: fleet.CodePaused, Reason: "tower is paused by its owner (a build)", Remedy: "bellwether resume on tower"}},
		},
		OtherCodes: map[fleet.Code]int{fleet.CodeRole: 1, fleet.CodeAliasConstraint: 2},
		Candidates: []route.Candidate{
			{Deployment: qwen, Quality: 0.8, Evidence: "measured:30 p75:measured:412", Tokens: need, Loaded: true, Depth: 1, LatencyCost: 0.41, AffinityAdjust: 0.05, OverheadCost: 1, Score: 0.5655, NodeScore: 84.3, Slots: 2,
				Signals: route.Signals{Warmth: 50, MemoryFit: 20, QueueDepth: -6, Wait: -0.98, RoleAffinity: 15, ContextFit: 3, SessionAffinity: 13.33}},
			{Deployment: llama, Quality: 0.55, Evidence: "prior:operator p75:heuristic", Tokens: need, Loaded: true, LatencyCost: 0, AffinityAdjust: -0.05, Score: 0.5, NodeScore: 63, Slots: 4, Notes: []string{"its loaded context of 8,192 tokens is too small: it would be loaded again"},
				Signals: route.Signals{Warmth: 50, MemoryFit: 20, RoleAffinity: 8, ContextFit: -15}},
			{Deployment: gemma, Quality: 0.66, Evidence: "uncalibrated:size-heuristic", Tokens: need, Depth: 0, LatencyCost: 1, ResidencyCost: 1, OverheadCost: 0.71, AffinityAdjust: -0.05, Score: -0.211, NodeScore: 56.2, Slots: 4,
				Signals: route.Signals{Warmth: 10, MemoryFit: 20, Wait: -3.8, RoleAffinity: 15, ContextFit: 15}},
		},
		Chosen: qwen.String(), Node: "studio", Evidence: "measured:30",
		Reasons: []string{"claude-sonnet-* stands for 3 models", "qwen3:30b-a3b scores best for coding (0.57)", "studio has it loaded, and the session with it"},
		Edits:   []string{"model: claude-sonnet-4-5 -> qwen3:30b-a3b", "max_tokens: 32000 -> 17564 (what the context leaves)"},
		Timing:  route.Timing{QueueMs: 12.4, TTFTMs: 380.5, TotalMs: 7402.6},
		Usage:   &route.RecordUsage{Input: ptr(14_210), Output: ptr(388), Cached: ptr(12_800), Reasoning: ptr(96)},
		Timings: &dialect.Timings{Prefill: 310 * time.Millisecond, Decode: 5_440 * time.Millisecond},
		Retries: 1, Failover: []route.FailoverStep{{Deployment: gemma, AfterMs: 1204, Failure: fleet.Failure{Class: fleet.FailStatus, Status: 500, Code: "runtime_failed", Message: "out of memory"}}},
		FailoverAllowed: true, FailoverNote: "", Outcome: fleet.OutcomeOK, Status: 200, Notes: []string{"output_clamped"}, OverheadMs: 0.41,
	}
}

// sampleRefusal is a decision that nobody could serve.
func sampleRefusal() route.Record {
	return route.Record{
		RequestID: "01JBQ7YUB8", At: ago(31 * time.Minute), RegistryVersion: 1790, RequestedModel: "qwen3:8b", App: "home-assistant", Protocol: "ollama-chat",
		Requirements: route.Requirements{Role: route.RoleChat, Tokens: route.Tokens{Input: 120, Output: 1024}, InputTotal: 120, App: "home-assistant"},
		Exclusions: map[fleet.DeploymentID][]route.RenderedExclusion{
			dep(tower + "/ollama/qwen3:8b"): {{Code: fleet.CodePaused, Reason: "tower is paused by its owner (a build)", Remedy: "bellwether resume on tower"}}},
		Candidates: []route.Candidate{}, Reasons: []string{"held for 30 s, and nothing changed"},
		Timing: route.Timing{QueueMs: 30_000, TotalMs: 30_001}, Outcome: fleet.OutcomeHeldOut, Status: 503,
		Problem: "No machine could serve qwen3:8b within 30 s: tower is paused.", OverheadMs: 0.22,
	}
}

func sampleSettings() SettingsAnswer {
	return SettingsAnswer{Revision: "9b1c6f02d4e87a35", File: "config.yaml", Settings: []SettingView{
		{Key: "listen", Value: "localhost:11435", Source: "default", Default: "localhost:11435", Kind: "text", Choices: []string{}, Allowed: "host:port, such as localhost:11435", Doc: "Address of the endpoint that apps use.", Scope: "node", Restart: true, Env: []string{"FLEET_HOST", "FLEET_PORT"}},
		{Key: "log_level", Value: "debug", Source: "env FLEET_LOG_LEVEL", Default: "info", Kind: "choice", Choices: []string{"debug", "info", "warn", "error"}, Allowed: "debug, info, warn, error", Doc: "Least important message that is logged.", Scope: "node", Env: []string{"FLEET_LOG_LEVEL"}, Fixed: "The variable FLEET_LOG_LEVEL sets it."},
		{Key: "routing.hold.max", Value: "45", Source: "file config.yaml:12", Default: "30", Unit: "s", Kind: "span", Choices: []string{}, Allowed: "1s to 1h", Doc: "How long a request waits for a machine in all.", Scope: "fleet", Env: []string{"FLEET_HOLD_MAX"}},
		{Key: "routing.model_fallback", Value: "false", Source: "default", Default: "false", Kind: "flag", Choices: []string{}, Allowed: "true or false", Doc: "Answer with another loaded model of the same kind.", Scope: "fleet", Env: []string{"FLEET_VRAM_FALLBACK"}},
		{Key: "routing.max_retries", Value: "2", Source: "default", Default: "2", Kind: "whole", Choices: []string{}, Allowed: "0 to 5", Doc: "Tries after the first.", Scope: "fleet", Env: []string{}},
		{Key: "pools", Value: `[{"name":"unified","memory_gb":"auto","margin_gb":4}]`, Source: "file config.yaml:3", Default: "[]", Unit: "GB", Kind: "list", Choices: []string{}, Allowed: "a list of pools", Doc: "Limits of memory pools by name.", Scope: "node", Env: []string{"FLEET_POOL_MEMORY_GB", "FLEET_POOL_MARGIN_GB"}},
		{Key: "security.api_keys", Value: `[{"name":"phone","key":"(hidden)"}]`, Source: "file config.yaml:20", Default: "[]", Kind: "list", Choices: []string{}, Allowed: "a list of keys", Doc: "Keys of apps on other machines.", Scope: "fleet", Env: []string{}, Secret: true},
		{Key: "wake_on_lan", Value: "false", Source: "default", Default: "false", Kind: "flag", Choices: []string{}, Allowed: "true or false", Doc: "Wake a sleeping machine that alone could serve.", Scope: "fleet", Later: "counts once machines can be paired", Env: []string{"FLEET_WAKE_ON_LAN"}},
	}}
}

func sampleSettingsPreview() SettingsPreview {
	return SettingsPreview{Revision: "9b1c6f02d4e87a35", Changed: []SettingChange{{Key: "listen", From: "localhost:11435", To: "localhost:11500"}, {Key: "routing.hold.max", From: "45", To: "60"}},
		Restart: []string{"listen"}, Warnings: []string{}}
}

func sampleSettingsError() SettingsError {
	return SettingsError{
		Err:  Refusal{Code: "settings_wrong", Message: "2 settings are wrong; nothing was changed.", Remedy: "Correct them and save again."},
		Keys: map[string]string{"routing.hold.max": `"soon": not allowed; allowed: 1s to 1h`, "listen": `"localhost": not allowed; allowed: host:port, such as localhost:11435`},
	}
}

func sampleHistory() History {
	whole := func(v ...int64) []*int64 {
		out := make([]*int64, len(v))
		for i := range v {
			if v[i] >= 0 {
				out[i] = &v[i]
			}
		}
		return out
	}
	return History{From: ago(30 * time.Second), StepSeconds: 10, Samples: 4,
		Pools: map[string]PoolHistory{studio + "/unified": {
			ResidentBytes: whole(22_410_000_000, 22_410_000_000, 26_310_000_000, 26_310_000_000), ReservedBytes: whole(0, 3_900_000_000, 0, 19_029_050_000),
			UncertainBytes: whole(0, 0, 0, 0), AssumedBytes: whole(0, 0, 610_000_000, 610_000_000), MarginBytes: whole(2_147_483_648, 2_147_483_648, 2_147_483_648, 2_147_483_648),
			FreeBytes: whole(132_208_822_656, 128_308_822_656, 127_698_822_656, -1), LimitBytes: whole(154_618_822_656, 154_618_822_656, 154_618_822_656, 154_618_822_656)}},
		Nodes: map[string]NodeHistory{studio: {CPUPercent: []*float64{nil, ptr(12.0), ptr(88.5), ptr(23.5)}, MemoryUsedBytes: whole(-1, 65_000_000_000, 70_100_000_000, 71_200_000_000), RunningRequests: whole(0, 1, 2, 2), WaitingRequests: whole(0, 0, 0, 1)}},
	}
}

func sampleLog() LogAnswer {
	return LogAnswer{Next: 109, Lost: 0, File: "/home/ann/.local/state/bellwether/log/bellwether.log", Lines: []LogLine{
		{Seq: 106, At: ago(26 * time.Hour), Level: "info", Message: "serving", Attrs: []LogAttr{{"address", "http://localhost:11435"}, {"node", "studio"}}},
		{Seq: 107, At: ago(10 * time.Minute), Level: "warn", Message: "the pull failed", Attrs: []LogAttr{{"model", "qwen9:4b"}, {"err", "the registry has no such model"}}},
		{Seq: 108, At: ago(time.Minute), Level: "debug", Message: "observed"},
	}}
}

func sampleTraffic() []TrafficLine {
	qwen, llama := studio+"/ollama/qwen3:30b-a3b", studio+"/ollama/llama3.2:3b"
	return []TrafficLine{
		{Kind: "plan", Requests: 3},
		{Kind: "request", Protocol: "openai-chat", Deployment: qwen, RequestID: "01JBQ7ZT01", OK: true, Status: 200, TTFTMs: ptr(212.5), TotalMs: ptr(480.0), OutputTokens: ptr(8)},
		{Kind: "request", Protocol: "anthropic", Deployment: qwen, RequestID: "01JBQ7ZT02", OK: true, Status: 200, TTFTMs: ptr(198.0), TotalMs: ptr(455.1), OutputTokens: ptr(8)},
		{Kind: "request", Protocol: "ollama-chat", Deployment: llama, RequestID: "01JBQ7ZT03", Status: 502, TotalMs: ptr(60_002.0), Error: "The runtime sent no content within 60 s.", Remedy: "See the finding of its runtime."},
		{Kind: "done", Passed: 2, Failed: 1},
	}
}

func sampleApps() AppsAnswer {
	apps := sampleState().Apps
	return AppsAnswer{Since: ago(time.Hour), Complete: true, Apps: []AppView{apps["claude-code"], apps["open-webui"], apps["curl"]},
		Keys: []KeyView{{Name: "phone", MaxRequests: 2}, {Name: "nightly", Manage: true, Batch: true}}}
}

func samplePlan() EvictionPlan {
	return EvictionPlan{Deployment: studio + "/ollama/deepseek-r1:70b", Pool: "unified", Verdict: "evict", NeedBytes: ptr(int64(48_898_457_359)), FreeBytes: ptr(int64(41_200_000_000)),
		Evict: []VictimView{{Deployment: studio + "/ollama/llama3.2:3b", Bytes: ptr(int64(3_900_000_000)), LoadedAt: agoP(9 * time.Minute)}, {Deployment: studio + "/ollama/nomic-embed-text:latest"}},
		Text:  "Loading deepseek-r1:70b needs 45.5 GB of unified; llama3.2:3b and nomic-embed-text:latest would be unloaded for it."}
}
