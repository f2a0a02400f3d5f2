package engine

import (
	"reflect"
	"time"

	"bellwether/engine/fleet"
)

// Setting describes one key of the settings file.
type Setting struct {
	Key string `json:"key"`
	// Env are the variables that set it, the documented one first; the others
	// are older names that keep working.
	Env   []string `json:"env,omitempty"`
	Unit  string   `json:"unit,omitempty"`
	Scope string   `json:"scope"` // node: this machine's own; fleet: the same on every member
	// Restart says that a change is in force after a restart only.
	Restart bool `json:"restart,omitempty"`
	// Later says why nothing reads the setting yet; it is checked and shown all
	// the same, so that a file written for a later version is not refused.
	Later string `json:"later,omitempty"`
	Doc   string `json:"doc"`

	kind kind
}

// Why some settings are not read yet.
const (
	laterFleet    = "counts once machines can be paired"
	laterLearning = "counts once the machine's week is learned"
	laterGuest    = "counts once meetings, schedules and full-screen apps are watched"
)

const (
	scopeNode  = "node"
	scopeFleet = "fleet"
	oneDay     = 24 * time.Hour
)

// Kinds used more than once.
var (
	onOffKind      flagKind
	pointsKind     = numberKind{-1000, 1000, ""}
	gbKind         = numberKind{0, 65536, ""}
	anyWord        = wordKind{says: "any text"}
	anyWords       = words("any text", nil)
	busyKind       = oneOf("finish", "handover", "cancel")
	localityKind   = oneOf("", "fleet", "this_node")
	hoursKind      = words("days and hours, such as mon-fri 09:00-17:30, sat 10:00-12:00 or 22:00-07:00", validHours)
	within         = func(min, max time.Duration) spanKind { return spanKind{min, max, ""} }
	deadlineFields = map[string]kind{
		"first_content": spanKind{time.Second, oneDay, "fleet"},
		"stream_idle":   spanKind{time.Second, oneDay, "fleet"},
		"total":         spanKind{time.Second, 7 * oneDay, "fleet"},
	}
)

// settings is the list of all keys, in the order of the docs.
var settings = []Setting{
	{Key: "listen", Env: []string{"FLEET_HOST", "FLEET_PORT"}, Scope: scopeNode, Restart: true, kind: wordKind{says: "host:port, such as localhost:11435", valid: validListen, tidy: everyInterface},
		Doc: "Address of the endpoint that apps use. localhost means 127.0.0.1 and ::1. Beyond this machine it needs security.api_keys. FLEET_HOST and FLEET_PORT each set their half."},
	{Key: "also_listen", Env: []string{"FLEET_ALSO_LISTEN"}, Scope: scopeNode, Restart: true, Later: "counts once a runtime's usual port can be taken over", kind: listOf{wholeKind{1, 65535}, reflect.TypeFor[int]()},
		Doc: "Further ports on localhost, such as 11434 or 1234, taken when free, for apps whose address cannot be changed."},
	{Key: "data_dir", Env: []string{"FLEET_DATA_DIR", "FLEET_NODE_DATA_DIR"}, Scope: scopeNode, Restart: true, kind: anyWord,
		Doc: "Folder of the database, the log and the state file. Two programs must not share one."},
	{Key: "log_level", Env: []string{"FLEET_LOG_LEVEL"}, Scope: scopeNode, kind: oneOf("debug", "info", "warn", "error"),
		Doc: "Least important message that is logged. Prompts, answers and keys are logged at no level."},
	{Key: "node.name", Env: []string{"FLEET_NODE_ID", "FLEET_NODE_NODE_ID"}, Scope: scopeNode, Restart: true, kind: wordKind{says: "a name without slash or space", valid: validName},
		Doc: "Name of this machine in decisions, headers and the UI; the host's name unless set."},
	{Key: "node.router", Env: []string{"FLEET_NODE_ROUTER"}, Scope: scopeNode, Later: laterFleet, kind: oneOf("auto", "prefer", "never"),
		Doc: "Whether this machine may be the router: auto lets mains power and uptime decide, prefer puts it first, never keeps it out."},
	{Key: "peer.listen", Env: []string{"FLEET_PEER_LISTEN"}, Scope: scopeNode, Restart: true, Later: laterFleet, kind: wordKind{says: "host:port, or :port for every interface", valid: validListen},
		Doc: "Address for the other machines of the fleet. Nothing unpaired gets past its handshake."},
	{Key: "peer.advertise", Env: []string{"FLEET_PEER_ADVERTISE"}, Scope: scopeNode, Restart: true, Later: laterFleet, kind: words("host or host:port", validHost),
		Doc: "Addresses told to other machines, besides those found; for a VPN or a forwarded port."},
	{Key: "peer.join", Env: []string{"FLEET_ROUTER_URL", "FLEET_NODE_ROUTER_URL"}, Scope: scopeNode, Later: laterFleet, kind: words("host or host:port", validPeer),
		Doc: "Machines to look for besides those discovered and remembered. Pairing is needed all the same."},
	{Key: "peer.discovery", Env: []string{"FLEET_DISCOVERY"}, Scope: scopeNode, Later: laterFleet, kind: onOffKind,
		Doc: "Announce this machine on the local network, and look for others there. Only id, version and port are told."},
	{Key: "heartbeat.interval", Env: []string{"FLEET_HEARTBEAT_INTERVAL", "FLEET_NODE_HEARTBEAT_INTERVAL"}, Unit: "s", Scope: scopeFleet, Later: laterFleet, kind: within(time.Second, time.Minute),
		Doc: "How often a node reports when nothing changes; changes are reported at once."},
	{Key: "heartbeat.late", Env: []string{"FLEET_HEARTBEAT_TIMEOUT"}, Unit: "s", Scope: scopeFleet, Restart: true, kind: within(2*time.Second, 10*time.Minute),
		Doc: "Silence after which a node is marked late; it goes on serving. At least two intervals."},
	{Key: "heartbeat.offline", Env: []string{"FLEET_HEARTBEAT_OFFLINE"}, Unit: "s", Scope: scopeFleet, Restart: true, kind: within(3*time.Second, time.Hour),
		Doc: "Silence after which a node gets no more requests. Smaller moves work away sooner and mistakes slow machines for dead ones."},
	{Key: "membership.probe_interval", Env: []string{"FLEET_MEMBERSHIP_PROBE_INTERVAL"}, Unit: "s", Scope: scopeFleet, Restart: true, Later: laterFleet, kind: within(100*time.Millisecond, 30*time.Second),
		Doc: "How often members look after one another."},
	{Key: "membership.suspicion_mult", Env: []string{"FLEET_MEMBERSHIP_SUSPICION_MULT"}, Scope: scopeFleet, Restart: true, Later: laterFleet, kind: wholeKind{1, 20},
		Doc: "How many rounds a suspected member has to answer before it counts as gone."},
	{Key: "membership.claim_after", Env: []string{"FLEET_MEMBERSHIP_CLAIM_AFTER"}, Unit: "s", Scope: scopeFleet, Restart: true, Later: laterFleet, kind: within(100*time.Millisecond, time.Minute),
		Doc: "How long the fleet is without a router before the next in line takes the role."},

	{Key: "runtimes", Env: []string{"FLEET_OLLAMA_HOST", "FLEET_NODE_OLLAMA_HOST", "OLLAMA_HOST"}, Scope: scopeNode, kind: listOf{runtimeKind, reflect.TypeFor[RuntimeConfig]()},
		Doc: "Inference servers to use, in place of those found at their usual ports: name, kind (ollama, llama-server; recognised unless given), url, api_key, parallel and max_loaded where the server does not tell, timeouts, and cancel: drain for a server that a cut connection breaks. Each server once, since its memory and slots are its own: two entries of one address are wrong, and of two addresses that turn out to lead to one server the first is used, which doctor tells. The variable gives the address of the one named ollama."},
	{Key: "pools", Env: []string{"FLEET_POOL_MEMORY_GB", "FLEET_POOL_MARGIN_GB"}, Unit: "GB", Scope: scopeNode, kind: listOf{poolKind, reflect.TypeFor[PoolConfig]()},
		Doc: "Limits of memory pools by name (unified, vram0, ram; without name: the main one): memory_gb is the most that models may take in all, auto what the machine can spare; margin_gb stays free below it."},
	{Key: "unknown_memory_policy", Env: []string{"FLEET_UNKNOWN_MEMORY_POLICY"}, Scope: scopeNode, kind: oneOf("allow", "reject"),
		Doc: "What a model of unknown size means for the budget: allow counts 0 and labels it, reject refuses whenever one is counted."},
	{Key: "assumed_residency_ttl", Env: []string{"FLEET_ASSUMED_RESIDENCY_TTL"}, Unit: "s", Scope: scopeNode, kind: spanKind{time.Second, 7 * oneDay, "never"},
		Doc: "How long a model counts as loaded on a runtime that cannot say what is. Too short a time overcommits memory."},
	{Key: "deployments", Scope: scopeFleet, kind: listOf{deploymentKind, reflect.TypeFor[DeploymentConfig]()},
		Doc: "What you know of models better than their runtimes: match (a pattern over node/runtime/model or the model's name), identity (of the weights, where the runtime reports no digest), capabilities, context, memory_gb, tags, enabled, quality by task (coding: 0.8, any: 0.6; 0 to 1, an average 8B model being 0.75). The strongest source there is. Where several entries cover a model, the one whose pattern names the most letters counts, whatever their order; two that are equally long and disagree settle nothing, which doctor tells."},
	{Key: "aliases", Scope: scopeFleet, kind: tableOf{aliasKind, reflect.TypeFor[map[string]AliasConfig](), notEmpty},
		Doc: "Names of your own for sets of models: models, tags, profile, require_vision, locality, and pinned_order to take them in the order written. Without models an alias chooses among every chat model with its tags. auto, auto:fast, auto:quality and the claude-* names are there from the start; one of the same name here replaces it, and a pattern (claude-*, gpt-*) those it covers. Members may be aliases with a list of their own."},
	{Key: "embeddings", Scope: scopeFleet, kind: tableOf{embeddingKind, reflect.TypeFor[map[string]EmbeddingConfig](), notEmpty},
		Doc: "Embedding contracts: names whose vectors are all of one space, because only members with the weights that the contract is bound to answer for it. members are models or deployments (node/runtime/model), in order; identity is what the index was made with (a model's digest, or a word of your own that deployments[].identity gives to what reports none), else the first member known is taken, once and for good; dimensions and normalized are what every answer is checked for."},

	{Key: "routing.scoring", Env: []string{"FLEET_SCORING"}, Scope: scopeFleet, Later: "counts once completion times are predicted", kind: oneOf("signals", "predicted"),
		Doc: "How nodes are compared: by the eight signals, or by predicted completion time."},
	{Key: "routing.score.model_hot", Env: []string{"FLEET_SCORE_MODEL_HOT"}, Unit: "points", Scope: scopeFleet, kind: pointsKind,
		Doc: "Signal 1 for a model that is loaded. Larger keeps requests longer on the machine that has it loaded."},
	{Key: "routing.score.model_loading", Env: []string{"FLEET_SCORE_MODEL_LOADING"}, Unit: "points", Scope: scopeFleet, kind: pointsKind,
		Doc: "Signal 1 for a model being loaded just now; below hot, above warm, so that two machines do not load the same one."},
	{Key: "routing.score.model_warm", Env: []string{"FLEET_SCORE_MODEL_WARM"}, Unit: "points", Scope: scopeFleet, kind: pointsKind,
		Doc: "Signal 1 for a model unloaded within routing.score.warm_window: its file is likely still in the system's cache."},
	{Key: "routing.score.model_cold", Env: []string{"FLEET_SCORE_MODEL_COLD"}, Unit: "points", Scope: scopeFleet, kind: pointsKind,
		Doc: "Signal 1 for a model that is only on disk."},
	{Key: "routing.score.warm_window", Env: []string{"FLEET_SCORE_WARM_WINDOW"}, Unit: "s", Scope: scopeFleet, kind: within(0, oneDay),
		Doc: "How long after its unloading a model counts as warm."},
	{Key: "routing.score.memory_fit_max", Env: []string{"FLEET_SCORE_MEMORY_FIT_MAX"}, Unit: "points", Scope: scopeFleet, kind: pointsKind,
		Doc: "Signal 2 for a loaded model, and its most for one that fits well."},
	{Key: "routing.score.fit_tiers", Env: []string{"FLEET_SCORE_FIT_TIERS"}, Unit: "ratio:points", Scope: scopeFleet, kind: fitTiers{},
		Doc: "Signal 2 by r = available / size: the points of the first tier whose ratio r exceeds (the last: reaches)."},
	{Key: "routing.score.queue_depth_max_penalty", Env: []string{"FLEET_SCORE_QUEUE_DEPTH_MAX_PENALTY"}, Unit: "points", Scope: scopeFleet, kind: numberKind{0, 1000, ""},
		Doc: "Most that signal 3 takes away."},
	{Key: "routing.score.queue_depth_per", Env: []string{"FLEET_SCORE_QUEUE_DEPTH_PENALTY_PER"}, Unit: "points", Scope: scopeFleet, kind: numberKind{0, 1000, ""},
		Doc: "What signal 3 takes away for each request running or waiting there. Smaller tolerates longer queues before spreading."},
	{Key: "routing.score.queue_bandwidth_normalize", Env: []string{"FLEET_QUEUE_PENALTY_BANDWIDTH_NORMALIZE"}, Scope: scopeFleet, kind: onOffKind,
		Doc: "Divide the depth by the node's memory bandwidth over the fleet's median (0.25 to 4): fast machines carry longer queues."},
	{Key: "routing.score.wait_time_max_penalty", Env: []string{"FLEET_SCORE_WAIT_TIME_MAX_PENALTY"}, Unit: "points", Scope: scopeFleet, kind: numberKind{0, 1000, ""},
		Doc: "Most that signal 4 takes away; it is a tenth of the expected wait in seconds."},
	{Key: "routing.score.role_affinity_max", Env: []string{"FLEET_SCORE_ROLE_AFFINITY_MAX"}, Unit: "points", Scope: scopeFleet, kind: pointsKind,
		Doc: "Most that signal 5 gives: large models to machines of high memory bandwidth, small ones to the others."},
	{Key: "routing.score.large_gb", Env: []string{"FLEET_SCORE_ROLE_LARGE_THRESHOLD_GB"}, Unit: "GB", Scope: scopeFleet, kind: gbKind,
		Doc: "Weights above this are a large model for signal 5."},
	{Key: "routing.score.small_gb", Env: []string{"FLEET_SCORE_ROLE_SMALL_THRESHOLD_GB"}, Unit: "GB", Scope: scopeFleet, kind: gbKind,
		Doc: "Weights below this are a small model for signal 5."},
	{Key: "routing.score.availability_max", Env: []string{"FLEET_SCORE_AVAILABILITY_TREND_MAX"}, Unit: "points", Scope: scopeFleet, kind: pointsKind,
		Doc: "Signal 6 for a machine that is fully free; only where capacity.learning is on."},
	{Key: "routing.score.context_fit_max", Env: []string{"FLEET_SCORE_CONTEXT_FIT_MAX"}, Unit: "points", Scope: scopeFleet, kind: pointsKind,
		Doc: "Most that signal 7 gives for room in the loaded context, and what it takes away when the request does not fit."},
	{Key: "routing.score.session_max", Env: []string{"FLEET_SCORE_SESSION_AFFINITY_MAX"}, Unit: "points", Scope: scopeFleet, kind: pointsKind,
		Doc: "Signal 8 for the runtime that served the session before, at an empty queue."},
	{Key: "routing.pins.ttl", Env: []string{"FLEET_PIN_TTL"}, Unit: "s", Scope: scopeFleet, kind: within(0, 7*oneDay),
		Doc: "How long an idle session keeps its node and model."},
	{Key: "routing.pins.max", Env: []string{"FLEET_PIN_MAX"}, Scope: scopeFleet, kind: wholeKind{0, 1_000_000},
		Doc: "Most sessions remembered at once; the longest idle goes first."},
	{Key: "routing.switching_penalty", Env: []string{"FLEET_SWITCHING_PENALTY"}, Scope: scopeFleet, kind: numberKind{0, 10, ""},
		Doc: "What ranking adds for a session's current model and takes from the others."},
	{Key: "routing.profiles", Scope: scopeFleet, kind: tableOf{profileKind, reflect.TypeFor[map[string]ProfileConfig](), notEmpty},
		Doc: "Weights of quality, latency, residency and overhead by profile, from 0 to 10. A name of your own adds a profile, a known one changes it. A weight left out is that of the known profile, in one of your own that of balanced; 0 switches it off."},
	{Key: "routing.hold.interval", Env: []string{"FLEET_HOLD_INTERVAL"}, Unit: "s", Scope: scopeFleet, kind: within(100*time.Millisecond, time.Minute),
		Doc: "How often held requests are looked at again, besides at once on a change."},
	{Key: "routing.hold.max", Env: []string{"FLEET_HOLD_MAX"}, Unit: "s", Scope: scopeFleet, kind: within(0, 10*time.Minute),
		Doc: "How long a request that nobody can serve just now waits, from its arrival, before 503 with Retry-After."},
	{Key: "routing.open_after", Env: []string{"FLEET_OPEN_AFTER"}, Unit: "s", Scope: scopeFleet, kind: within(time.Second, 10*time.Minute),
		Doc: "When a stream that still waits is opened with keep-alives: some clients give up at 30 s without headers. From then on errors come inside the stream."},
	{Key: "routing.settle", Env: []string{"FLEET_SETTLE"}, Unit: "s", Scope: scopeFleet, Restart: true, kind: within(0, time.Minute),
		Doc: "How long a router that just started holds everything, at most, until all members said hello."},
	{Key: "routing.kv_per_request_gb", Env: []string{"FLEET_KV_PER_REQUEST_GB"}, Unit: "GB", Scope: scopeFleet, kind: numberKind{0.01, 1024, ""},
		Doc: "Memory one request's context is taken to cost where the model's geometry is unknown. Larger means fewer at once."},
	{Key: "routing.max_slots", Env: []string{"FLEET_MAX_SLOTS"}, Scope: scopeFleet, kind: wholeKind{1, 256},
		Doc: "Most requests at once on one deployment whose runtime declares none."},
	{Key: "routing.pre_warm.threshold", Env: []string{"FLEET_PRE_WARM_THRESHOLD"}, Scope: scopeFleet, Later: "counts once models are loaded ahead of need", kind: wholeKind{1, 1000},
		Doc: "Depth of a lane at which its model is loaded on a second node."},
	{Key: "routing.pre_warm.min_availability", Env: []string{"FLEET_PRE_WARM_MIN_AVAILABILITY"}, Scope: scopeFleet, Later: laterLearning, kind: numberKind{0, 1, ""},
		Doc: "Least availability of a learning node that gets a model ahead of need."},
	{Key: "routing.rebalance.interval", Env: []string{"FLEET_REBALANCE_INTERVAL"}, Unit: "s", Scope: scopeFleet, Later: laterFleet, kind: within(time.Second, 10*time.Minute),
		Doc: "How often waiting requests are moved to another node."},
	{Key: "routing.rebalance.threshold", Env: []string{"FLEET_REBALANCE_THRESHOLD"}, Scope: scopeFleet, Later: laterFleet, kind: wholeKind{1, 1000},
		Doc: "Waiting requests of a lane from which some are moved."},
	{Key: "routing.rebalance.max_per_cycle", Env: []string{"FLEET_REBALANCE_MAX_PER_CYCLE"}, Scope: scopeFleet, Later: laterFleet, kind: wholeKind{0, 1000},
		Doc: "Most requests moved at a time."},
	{Key: "routing.pull_when_free", Env: []string{"FLEET_PULL_WHEN_FREE"}, Scope: scopeFleet, kind: onOffKind,
		Doc: "A node with a free slot takes the next request of the longest waiting lane whose model it has loaded, if it ends sooner there."},
	{Key: "routing.max_retries", Env: []string{"FLEET_MAX_RETRIES"}, Scope: scopeFleet, kind: wholeKind{0, 5},
		Doc: "Further attempts after a failure before content, other nodes of the same model first."},
	{Key: "routing.uncertain_hold", Env: []string{"FLEET_UNCERTAIN_HOLD"}, Unit: "s", Scope: scopeFleet, kind: within(0, time.Hour),
		Doc: "How long a call whose end was not seen (it timed out, or the program was killed), and that may still be running, keeps its slot and memory. A runtime that tells what it runs ends it sooner."},
	{Key: "routing.circuit", Env: []string{"FLEET_CIRCUIT"}, Scope: scopeFleet, kind: circuitKind{},
		Doc: "Failures of the last so many within a time that take a deployment out, for one app alone where only its requests fail; one try after 15 s, doubling to 5 min."},
	{Key: "routing.timeouts.first_content", Env: []string{"FLEET_TIMEOUT_FIRST_CONTENT"}, Unit: "s", Scope: scopeFleet, kind: within(time.Second, oneDay),
		Doc: "Time to the first content; three times the predicted load and prefill, and writing where the answer comes in one piece, when that is longer. A machine that misses it is taken to be slower from then on, and given more."},
	{Key: "routing.timeouts.stream_idle", Env: []string{"FLEET_TIMEOUT_STREAM_IDLE", "FLEET_STALE_TIMEOUT"}, Unit: "s", Scope: scopeFleet, kind: within(time.Second, oneDay),
		Doc: "Longest silence within a stream."},
	{Key: "routing.timeouts.total", Env: []string{"FLEET_TIMEOUT_TOTAL"}, Unit: "s", Scope: scopeFleet, kind: within(time.Second, 7*oneDay),
		Doc: "Longest a request may take, unless it says so itself."},
	{Key: "routing.auto_pull", Env: []string{"FLEET_AUTO_PULL"}, Scope: scopeFleet, kind: choiceKind{of: []string{"off", "ask", "on"}, also: map[string]string{"true": "on", "false": "off", "yes": "on", "no": "off", "1": "on", "0": "off"}},
		Doc: "What a request for a model nobody has does: off answers 404, ask waits for your approval, on fetches it."},
	{Key: "routing.auto_pull_allow", Env: []string{"FLEET_AUTO_PULL_ALLOW"}, Scope: scopeFleet, kind: words("a registry's host name", validHost),
		Doc: "Registries that models may be fetched from; ollama.com includes plain names such as qwen3:8b."},
	{Key: "routing.auto_pull_timeout", Env: []string{"FLEET_AUTO_PULL_TIMEOUT"}, Unit: "s", Scope: scopeFleet, kind: within(time.Second, oneDay),
		Doc: "How long a request waits for its model to be fetched."},
	{Key: "routing.model_fallback", Env: []string{"FLEET_VRAM_FALLBACK"}, Scope: scopeFleet, kind: onOffKind,
		Doc: "Answer with another loaded model of the same kind when the one asked for cannot be served; X-Fleet-Fallback says which. Off: a model is never swapped for one the request did not list."},
	{Key: "routing.context_protection", Env: []string{"FLEET_CONTEXT_PROTECTION"}, Scope: scopeFleet, kind: oneOf("strip", "warn", "passthrough"),
		Doc: "What a client's num_ctx does. strip: one no larger than loaded is dropped, since it would force a reload; a larger one reloads, which is priced and noted. warn keeps it and notes it, passthrough keeps it."},
	{Key: "routing.thinking.overhead", Env: []string{"FLEET_THINKING_OVERHEAD"}, Unit: "factor", Scope: scopeFleet, kind: numberKind{1, 100, ""},
		Doc: "What a client's output limit is multiplied by for models that think, so that thinking does not use it up."},
	{Key: "routing.thinking.min_predict", Env: []string{"FLEET_THINKING_MIN_PREDICT"}, Unit: "tokens", Scope: scopeFleet, kind: wholeKind{0, 1_000_000},
		Doc: "Least output limit sent for models that think, where the client set one."},
	{Key: "routing.classifier.enabled", Env: []string{"FLEET_CLASSIFIER_ENABLED"}, Scope: scopeFleet, kind: onOffKind,
		Doc: "Ask a small model what a request for an alias is about before choosing for it. What is read from the request counts when it fails."},
	{Key: "routing.classifier.when", Env: []string{"FLEET_CLASSIFIER_WHEN"}, Scope: scopeFleet, kind: oneOf("ambiguous", "always"),
		Doc: "Which requests the classifier sees: those whose task is not clear, or all. Answers are remembered."},
	{Key: "routing.classifier.deployment", Env: []string{"FLEET_CLASSIFIER_DEPLOYMENT"}, Scope: scopeFleet, kind: anyWord,
		Doc: "Model or deployment (node/runtime/model) that classifies; must be set when it is enabled."},
	{Key: "routing.classifier.timeout", Env: []string{"FLEET_CLASSIFIER_TIMEOUT"}, Unit: "s", Scope: scopeFleet, kind: within(100*time.Millisecond, time.Minute),
		Doc: "How long the classifier may take before the request goes on without it."},
	{Key: "routing.locality", Env: []string{"FLEET_LOCALITY"}, Scope: scopeFleet, kind: oneOf("fleet", "this_node"),
		Doc: "Where requests may run: on any machine of the fleet, or on the one they were made."},
	{Key: "routing.pinned_models", Env: []string{"FLEET_PINNED_MODELS"}, Scope: scopeFleet, kind: anyWords,
		Doc: "Models that are never unloaded to make room."},
	{Key: "routing.preload_max", Env: []string{"FLEET_MODEL_PRELOAD_MAX_COUNT"}, Scope: scopeFleet, Later: "counts once models are loaded ahead of need", kind: wholeKind{0, 100},
		Doc: "Most models a node loads by itself after its start."},

	{Key: "clients.max_in_flight", Env: []string{"FLEET_CLIENT_MAX_IN_FLIGHT"}, Scope: scopeFleet, kind: wholeKind{0, 100_000},
		Doc: "Most requests of one app at once, beyond which it gets 429; 0 sets no limit."},
	{Key: "clients.retry_after", Env: []string{"FLEET_CLIENT_CONCURRENCY_RETRY_AFTER"}, Unit: "s", Scope: scopeFleet, kind: within(0, time.Hour),
		Doc: "Retry-After of that 429."},
	{Key: "capacity.learning", Env: []string{"FLEET_NODE_ENABLE_CAPACITY_LEARNING"}, Scope: scopeNode, kind: onOffKind,
		Doc: "Learn when this machine's owner needs it, and serve others less then."},
	{Key: "capacity.observation", Env: []string{"FLEET_CAPACITY_OBSERVATION"}, Scope: scopeNode, Later: laterLearning, kind: oneOf("strict", "gradual"),
		Doc: "Whether the first week only watches, or serves a little from the start."},
	{Key: "capacity.own_requests", Env: []string{"FLEET_CAPACITY_OWN_REQUESTS"}, Scope: scopeNode, kind: choiceKind{of: []string{"serve", "same"}},
		Doc: "serve: requests made on this machine are served here although others' would not be (meeting, battery, busy; never while paused). same: no difference."},
	{Key: "meetings.enabled", Env: []string{"FLEET_MEETINGS"}, Scope: scopeNode, Later: laterGuest, kind: onOffKind,
		Doc: "Take no others' requests while camera or microphone is in use."},
	{Key: "meetings.ignore", Env: []string{"FLEET_MEETINGS_IGNORE"}, Scope: scopeNode, Later: laterGuest, kind: anyWords,
		Doc: "Programs whose use of camera or microphone is no meeting."},
	{Key: "on_meeting", Env: []string{"FLEET_ON_MEETING"}, Scope: scopeNode, Later: laterGuest, kind: busyKind,
		Doc: "What a meeting does to requests already running: finish, handover of those without content yet, or cancel after cancel_grace."},
	{Key: "on_pause", Env: []string{"FLEET_ON_PAUSE"}, Scope: scopeNode, kind: busyKind,
		Doc: "The same for a pause by the owner."},
	{Key: "on_battery", Env: []string{"FLEET_ON_BATTERY"}, Scope: scopeNode, Later: laterGuest, kind: busyKind,
		Doc: "The same for the change to battery."},
	{Key: "on_schedule", Env: []string{"FLEET_ON_SCHEDULE"}, Scope: scopeNode, Later: laterGuest, kind: busyKind,
		Doc: "The same for the begin of a time without serving."},
	{Key: "cancel_grace", Env: []string{"FLEET_CANCEL_GRACE"}, Unit: "s", Scope: scopeNode, kind: within(0, time.Hour),
		Doc: "How long running requests have to end before cancel cuts them."},
	{Key: "unload_after", Env: []string{"FLEET_UNLOAD_AFTER"}, Unit: "s", Scope: scopeNode, Later: laterGuest, kind: spanKind{0, oneDay, "never"},
		Doc: "How long after serving stopped the models are unloaded, to give the owner their memory back."},
	{Key: "schedule", Env: []string{"FLEET_SCHEDULE"}, Scope: scopeNode, Later: laterGuest, kind: hoursKind,
		Doc: "When this machine serves others; empty: always."},
	{Key: "quiet_hours", Env: []string{"FLEET_QUIET_HOURS"}, Scope: scopeNode, Later: laterGuest, kind: hoursKind,
		Doc: "When this machine does not serve others."},
	{Key: "exclusive_apps", Env: []string{"FLEET_EXCLUSIVE_APPS"}, Scope: scopeNode, Later: laterGuest, kind: anyWords,
		Doc: "Programs that pause serving while they run, such as a game or a build."},
	{Key: "full_screen", Env: []string{"FLEET_FULL_SCREEN"}, Scope: scopeNode, Later: laterGuest, kind: oneOf("serve", "pause"),
		Doc: "What a program in full screen does."},
	{Key: "battery", Env: []string{"FLEET_BATTERY"}, Scope: scopeNode, kind: oneOf("serve", "own", "none"),
		Doc: "On battery: serve as ever, own only this machine's requests, or none."},
	{Key: "notifications", Env: []string{"FLEET_NOTIFICATIONS"}, Scope: scopeNode, kind: tableOf{onOffKind, reflect.TypeFor[map[string]bool](), validNoticeKind},
		Doc: "Notifications by kind, on or off; each is on unless said otherwise. runtime: one that served is gone. records: the disk is full, or records are lost. port: the address for apps is another. pull: a request waits for a model that you may fetch. trouble: anything else that needs an act of yours."},
	{Key: "start_at_login", Scope: scopeNode, kind: choiceKind{of: []string{"ask", "on", "off"}, also: map[string]string{"true": "on", "false": "off"}},
		Doc: "Start when you log in. ask: the admin UI asks once, and it stays off until you say yes. on and off are carried out when they are set, and only then: what you switch afterwards, in the tray, on the Settings page or in the system's own settings, stays."},
	{Key: "wake_on_lan", Env: []string{"FLEET_WAKE_ON_LAN"}, Scope: scopeFleet, Later: laterFleet, kind: onOffKind,
		Doc: "Wake a sleeping machine when only it could serve."},

	{Key: "security.api_keys", Env: []string{"FLEET_ANTHROPIC_API_KEY"}, Scope: scopeFleet, kind: listOf{apiKeyKind, reflect.TypeFor[APIKey]()},
		Doc: "Keys that let apps in from beyond this machine: name, key (or sha256:<hex> of it), rights (inference; manage also pulls, deletes, copies and creates models), limits {max_in_flight, priority}. The variable adds one."},
	{Key: "security.allowed_hosts", Env: []string{"FLEET_ALLOWED_HOSTS"}, Scope: scopeNode, kind: words("a host name, *.name for all below it", validHostPattern),
		Doc: "Names under which this machine may be addressed, besides localhost, its addresses, its own name, *.localhost, *.local and *.internal. Keeps web pages that rebind DNS out."},
	{Key: "security.allowed_origins", Env: []string{"FLEET_CORS_ORIGINS"}, Scope: scopeNode, kind: words("scheme://host[:port], * for any host or port, not * alone", validOrigin),
		Doc: "Web pages that may call the endpoint, besides those of local apps. Never counts for the admin interface."},
	{Key: "security.remote_images", Env: []string{"FLEET_REMOTE_IMAGES"}, Scope: scopeNode, kind: onOffKind,
		Doc: "Fetch the images that requests give by an http or https address: from the public internet only, never from this machine, its networks or a private address, behind redirects neither; each at most 20 MB and 10 s. Off refuses such requests."},
	{Key: "security.cidr", Env: []string{"FLEET_CIDR"}, Scope: scopeNode, kind: words("a network such as 192.168.1.0/24", validCIDR),
		Doc: "Networks whose machines may connect at all, when the endpoint listens beyond this one; empty: any, with a key. A reverse proxy on this machine makes everyone local: give keys then."},
	{Key: "security.max_body_mb", Env: []string{"FLEET_MAX_BODY_MB"}, Unit: "MB", Scope: scopeNode, kind: numberKind{0.001, 4096, ""},
		Doc: "Largest request body, unpacked; a larger one gets 413."},
	{Key: "response_model_field", Env: []string{"FLEET_RESPONSE_MODEL_FIELD"}, Scope: scopeFleet, kind: oneOf("requested", "deployment"),
		Doc: "What answers carry as model: the name that was asked for, which some clients compare, or the deployment that served."},
	{Key: "store.retention_days", Env: []string{"FLEET_STORE_RETENTION_DAYS"}, Unit: "days", Scope: scopeNode, Restart: true, kind: numberKind{0.01, 3650, ""},
		Doc: "How long decision records are kept."},
	{Key: "store.max_mb", Env: []string{"FLEET_STORE_MAX_MB"}, Unit: "MB", Scope: scopeNode, Restart: true, kind: numberKind{1, 1 << 20, ""},
		Doc: "Most the database may take on disk; the oldest decisions go first."},
	{Key: "store.capture_bodies", Env: []string{"FLEET_STORE_CAPTURE_BODIES"}, Scope: scopeNode, Later: "no version keeps prompts or answers yet", kind: onOffKind,
		Doc: "Keep the texts of requests and answers with their decisions. Off, none is kept anywhere."},
	{Key: "telemetry.otlp_endpoint", Env: []string{"FLEET_OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"}, Scope: scopeNode, Restart: true, Later: "counts once traces are exported", kind: choiceOrURL{},
		Doc: "Where traces are sent, off for nowhere. They hold no prompts."},
}

// The fields of nested entries.
var (
	runtimeKind = entryKind{
		start: RuntimeConfig{Cancel: "confirmed"},
		need:  []string{"url"},
		fields: map[string]kind{
			"name": wordKind{says: "a name without slash or space", valid: validName}, "kind": oneOf("", "ollama", "llama-server"),
			"url": wordKind{says: "http://host:port or https://...", valid: validURL}, "api_key": hiddenKind{anyWord},
			"parallel": wholeKind{0, 256}, "max_loaded": wholeKind{0, 100},
			"timeouts": entryKind{start: TimeoutsConfig{}, fields: deadlineFields}, "cancel": oneOf("confirmed", "drain"),
		},
	}
	poolKind = entryKind{
		start:  PoolConfig{MarginGB: 2},
		fields: map[string]kind{"name": wordKind{says: "a name without slash or space", valid: validName}, "memory_gb": numberKind{0, 65536, "auto"}, "margin_gb": gbKind},
	}
	deploymentKind = entryKind{
		start: DeploymentConfig{},
		need:  []string{"match"},
		fields: map[string]kind{
			"match":        wordKind{says: "a pattern over node/runtime/model or a model's name", valid: validPattern},
			"identity":     anyWord,
			"capabilities": tableOf{triKind{}, reflect.TypeFor[map[fleet.Capability]fleet.Tri](), validCapability},
			"context":      wholeKind{0, 100_000_000}, "memory_gb": gbKind, "tags": anyWords, "enabled": onOffKind,
			"quality": tableOf{numberKind{0, 1, ""}, reflect.TypeFor[map[string]float64](), validTask},
		},
	}
	aliasKind = entryKind{
		start: AliasConfig{},
		fields: map[string]kind{
			"profile": anyWord, "models": anyWords, "tags": anyWords, "require_vision": onOffKind,
			"locality": localityKind, "pinned_order": onOffKind,
		},
	}
	embeddingKind = entryKind{
		start:  EmbeddingConfig{},
		need:   []string{"members"},
		fields: map[string]kind{"members": anyWords, "identity": anyWord, "dimensions": unsetKind{wholeKind{1, 1_000_000}}, "normalized": onOffKind},
	}
	profileKind = entryKind{
		start: ProfileConfig{}, startOf: usualProfile,
		fields: map[string]kind{"quality": numberKind{0, 10, ""}, "latency": numberKind{0, 10, ""}, "residency": numberKind{0, 10, ""}, "overhead": numberKind{0, 10, ""}},
	}
	apiKeyKind = entryKind{
		start: APIKey{},
		need:  []string{"name", "key"},
		fields: map[string]kind{
			"name":   wordKind{says: "a name without slash or space", valid: validName},
			"key":    hiddenKind{wordKind{says: "at least 8 characters without spaces, or sha256: and 64 hexadecimal digits", valid: validKey}},
			"rights": listOf{oneOf(RightInference, RightManage), reflect.TypeFor[string]()},
			"limits": entryKind{start: KeyLimits{}, fields: map[string]kind{"max_in_flight": wholeKind{0, 100_000}, "priority": oneOf("", "interactive", "batch")}},
		},
	}
)

// AllSettings returns the description of every key, in the order of the docs.
func AllSettings() []Setting { return settings }

// settingOf returns the setting with that key.
func settingOf(key string) (*Setting, bool) {
	for i := range settings {
		if settings[i].Key == key {
			return &settings[i], true
		}
	}
	return nil, false
}
