// The wire's shapes, one to one with engine/admin/wire_*.go, where each field
// is explained. Every number's name ends in its unit. wire.test.ts reads the
// golden files that the Go tests write, and fails where these types miss one.

/** Time as RFC 3339. */
export type Instant = string;
export type Tri = 'yes' | 'no' | 'unknown';

export interface EngineView {
  version: string;
  started_at: Instant;
  address: string;
  node_id: string;
  node_name: string;
  settled: boolean;
  router_node_id: string;
  router_name: string;
  router_here: boolean;
  router_epoch: number;
  active_requests: number;
  held_requests: number;
  /** When the first of those held is refused if nobody can serve it until then. */
  held_until: Instant | null;
  /** False when requests of the last hour are missing in the section apps. */
  apps_complete: boolean;
  settings_revision: string;
  store: StoreView;
  measuring: string;
  window_asked: number;
  /** The start at login as last seen; looked at every few seconds while somebody watches. */
  login: LoginItem;
}

export interface StoreView {
  ok: boolean;
  reason: string;
  dropped_records: number;
  waiting_records: number;
  file_bytes: number;
}

export type NodeState = 'serving' | 'paused' | 'draining' | 'late' | 'offline';
export type Pressure = '' | 'warning' | 'critical';

export interface NodeView {
  id: string;
  name: string;
  local: boolean;
  router: boolean;
  state: NodeState;
  reason: string;
  last_seen_at: Instant;
  paused: boolean;
  pause_reason: string;
  paused_since: Instant | null;
  paused_until: Instant | null;
  on_battery: Tri;
  meeting: Tri;
  meeting_reason: string;
  pressure: Pressure;
  learning: boolean;
  observing: boolean;
  busy: boolean;
  availability_percent: number | null;
  mode: string;
  chip: string;
  cores: number;
  memory_bytes: number;
  bandwidth_gb_per_second: number | null;
  gpus: GPUView[];
  cpu_percent: number | null;
  memory_used_bytes: number | null;
  memory_available_bytes: number | null;
  thermal: ThermalView;
  models: number;
  loaded_models: number;
  running_requests: number;
  waiting_requests: number;
}

export interface ThermalView {
  value: '' | 'normal' | 'warm' | 'hot';
  known: boolean;
  source: string;
  reason: string;
  celsius: number | null;
}

export interface GPUView {
  name: string;
  vram_bytes: number | null;
}

export interface RuntimeView {
  node_id: string;
  name: string;
  kind: string;
  version: string;
  up: boolean;
  reason: string;
  pool: string;
  models: number;
  max_loaded_models: number | null;
  observed_at: Instant | null;
  manages_models: boolean;
}

export type Residency = 'on_disk' | 'loading' | 'loaded' | 'leaving';

export interface DeploymentView {
  id: string;
  node_id: string;
  runtime: string;
  model: string;
  kind: string;
  digest: string;
  family: string;
  parameter_size: string;
  quantization: string;
  weights_bytes: number | null;
  also_named: string[];
  tags: string[];
  licence: string;
  thinking: string;
  residency: Residency;
  resident_bytes: number | null;
  resident_vram_bytes: number | null;
  kv_bytes_per_token: number | null;
  max_context_tokens: number | null;
  loaded_context_tokens: number | null;
  slots: number | null;
  slots_busy: number;
  loaded_at: Instant | null;
  expires_at: Instant | null;
  unloaded_at: Instant | null;
  pinned: boolean;
  disabled: boolean;
  unhealthy: string;
  degraded: string;
  capabilities: Record<string, CapabilityView>;
  quality: QualityView[];
  speed: SpeedView;
  probed_at: Instant | null;
  context_read_tokens: number | null;
}

export interface CapabilityView {
  support: Tri;
  source: string;
}

export interface QualityView {
  task: string;
  value: number;
  evidence: string;
  suite?: string;
  at?: Instant;
}

export interface SpeedView {
  samples: number;
  answer_p75_seconds: number | null;
  load_p50_seconds: number | null;
  prefill_tokens_per_second: number | null;
  decode_tokens_per_second: number | null;
}

export interface PoolView {
  node_id: string;
  name: string;
  kind: string;
  total_bytes: number;
  limit_bytes: number;
  margin_bytes: number;
  free_bytes: number | null;
  /** Of it what the limit and what is held leave to models. */
  usable_bytes: number | null;
  resident_bytes: number;
  reserved_bytes: number;
  uncertain_bytes: number;
  assumed_bytes: number;
  pressure: Pressure;
  holders: HolderView[];
}

export type HolderKind = 'resident' | 'reserved' | 'assumed' | 'uncertain';

export interface HolderView {
  deployment: string;
  kind: HolderKind;
  bytes: number | null;
  label: string;
  counted_bytes: number;
  ends_at: Instant | null;
}

export interface LaneView {
  deployment: string;
  running_requests: number;
  waiting_requests: number;
  slots: number;
  closed: boolean;
  expected_wait_seconds: number;
  oldest_waiting_at: Instant | null;
  waiting_by_app: Record<string, number>;
  circuit_retry_at: Instant | null;
}

export interface JobView {
  id: string;
  kind: 'pull' | 'eval' | 'probe';
  node_id: string;
  runtime: string;
  model: string;
  state: 'running' | 'done' | 'failed' | 'cancelled';
  step: string;
  percent: number | null;
  completed_bytes: number | null;
  total_bytes: number | null;
  done_items: number | null;
  total_items: number | null;
  started_at: Instant;
  ended_at: Instant | null;
  error: string;
  cancellable: boolean;
  /** What an eval or probe found out so far, in its order. */
  lines: JobLine[];
}

/** One thing that an eval or probe found out. */
export interface JobLine {
  deployment: string; // id, '' = it is of the whole run
  about: string; // a task or an ability, '' = the run
  support: '' | 'yes' | 'no' | 'unknown'; // of an ability
  text: string;
}

export interface AppView {
  name: string;
  requests: number;
  failed_requests: number;
  refused_requests: number;
  active_requests: number;
  input_tokens: number;
  output_tokens: number;
  ttft_p50_ms: number | null;
  total_p50_ms: number | null;
  total_p95_ms: number | null;
  last_seen_at: Instant;
  tags: TagView[];
  more_tags: number;
}

export interface TagView {
  name: string;
  requests: number;
  failed_requests: number;
  refused_requests: number;
  input_tokens: number;
  output_tokens: number;
  ttft_p50_ms: number | null;
  total_p50_ms: number | null;
  total_p95_ms: number | null;
  last_seen_at: Instant;
}

export interface AppsAnswer {
  since: Instant;
  complete: boolean;
  apps: AppView[];
  keys: KeyView[];
}

export interface KeyView {
  name: string;
  manage: boolean;
  max_requests: number;
  batch: boolean;
}

export type Severity = 'broken' | 'warning' | 'note' | 'ok';

export interface FindingView {
  id: string;
  severity: Severity;
  title: string;
  text: string;
  remedy: string;
  setting: string;
  deployment: string;
  cure: CureView | null;
  dismissable: boolean;
}

export interface CureView {
  label: string;
  confirm: string;
}

export interface ContractView {
  name: string;
  members: string[];
  anchor: AnchorView | null;
  replicas: string[];
  out: OutsideView[];
  absent: string[];
}

export interface AnchorView {
  identity: string;
  quantization?: string;
  source: string;
  from?: string;
  at?: Instant;
}

export interface OutsideView {
  deployment: string;
  code: string;
  reason: string;
  remedy: string;
}

export interface AliasView {
  name: string;
  builtin: boolean;
  profile: string;
  models: string[];
  tags: string[];
  require_vision: boolean;
  locality: string;
  pinned_order: boolean;
  deployments: string[];
  absent: string[];
}

export type Stage = '' | 'held' | 'queued' | 'sent' | 'running';
export type Outcome =
  | ''
  | 'ok'
  | 'truncated'
  | 'client_disconnected'
  | 'refused'
  | 'failed'
  | 'held_out'
  | 'stream_invalid_after_commit';

export interface DecisionRow {
  request_id: string;
  at: Instant;
  app: string;
  tags?: string[];
  protocol: string;
  requested_model: string;
  alias?: string;
  profile?: string;
  task?: string;
  stage: Stage;
  outcome: Outcome;
  status?: number;
  problem?: string;
  deployment: string;
  node_name: string;
  model: string;
  queue_ms: number;
  load_ms: number;
  ttft_ms: number;
  total_ms: number;
  overhead_ms: number;
  input_tokens: number | null;
  output_tokens: number | null;
  cached_tokens: number | null;
  reasoning_tokens: number | null;
  streaming: boolean;
  retries: number;
  edits: number;
  notes: number;
}

/** Sections of the state, each a map by a stable id. */
export interface Sections {
  meta: Record<string, EngineView>;
  nodes: Record<string, NodeView>;
  runtimes: Record<string, RuntimeView>;
  deployments: Record<string, DeploymentView>;
  pools: Record<string, PoolView>;
  lanes: Record<string, LaneView>;
  jobs: Record<string, JobView>;
  apps: Record<string, AppView>;
  findings: Record<string, FindingView>;
  contracts: Record<string, ContractView>;
  aliases: Record<string, AliasView>;
}
export type Section = keyof Sections;
export const sections: readonly Section[] = [
  'meta', 'nodes', 'runtimes', 'deployments', 'pools', 'lanes',
  'jobs', 'apps', 'findings', 'contracts', 'aliases',
];

export interface HelloFrame {
  type: 'hello';
  version: string;
  at: Instant;
  seq: number;
  state: Sections & { rows: DecisionRow[] };
}

export interface DeltaFrame {
  type: 'delta';
  seq: number;
  set?: { [S in Section]?: Sections[S] };
  del?: { [S in Section]?: string[] };
  rows?: DecisionRow[];
}

export interface ResyncFrame {
  type: 'resync';
}

/** This browser's session ended: the engine is asked how it stands. */
export interface SessionFrame {
  type: 'session';
}

export type Frame = HelloFrame | DeltaFrame | ResyncFrame | SessionFrame;

export interface Session {
  unlocked: boolean;
  version: string;
  node_name: string;
  unlock: string;
}

/** Whether Bellwether starts when its owner logs in, by the system's own truth. */
export interface LoginItem {
  known: boolean;
  on: boolean;
  can: boolean;
  reason: string;
  remedy: string;
  entry: string;
  ask: boolean;
}

export interface History {
  from: Instant;
  step_seconds: number;
  samples: number;
  pools: Record<string, PoolHistory>;
  nodes: Record<string, NodeHistory>;
}
export type Series = (number | null)[];

export interface PoolHistory {
  resident_bytes: Series;
  reserved_bytes: Series;
  uncertain_bytes: Series;
  assumed_bytes: Series;
  margin_bytes: Series;
  free_bytes: Series;
  limit_bytes: Series;
}

export interface NodeHistory {
  cpu_percent: Series;
  memory_used_bytes: Series;
  running_requests: Series;
  waiting_requests: Series;
}

export interface EvictionPlan {
  deployment: string;
  pool: string;
  verdict: 'loaded' | 'fits' | 'evict' | 'wait' | 'never';
  need_bytes: number | null;
  free_bytes: number | null;
  evict: VictimView[];
  text: string;
  remedy: string;
}

export interface VictimView {
  deployment: string;
  bytes: number | null;
  loaded_at: Instant | null;
}

export interface SettingsAnswer {
  revision: string;
  file: string;
  error: string;
  settings: SettingView[];
}

export interface SettingView {
  key: string;
  value: string;
  source: string;
  default: string;
  unit: string;
  kind: 'text' | 'choice' | 'flag' | 'number' | 'whole' | 'span' | 'list' | 'table';
  choices: string[];
  allowed: string;
  doc: string;
  scope: 'node' | 'fleet';
  restart: boolean;
  later: string;
  env: string[];
  secret: boolean;
  fixed: string;
}

export interface SettingsChange {
  revision: string;
  changes: Record<string, string | null>;
  dry_run: boolean;
}

export interface SettingsPreview {
  revision: string;
  changed: SettingChange[];
  restart: string[];
  warnings: string[];
  saved: boolean;
}

export interface SettingChange {
  key: string;
  from: string;
  to: string;
}

export interface LogAnswer {
  lines: LogLine[];
  next: number;
  lost: number;
  /** Has these lines and older ones; '' = none is written. */
  file: string;
}

export interface LogLine {
  seq: number;
  at: Instant;
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  attrs?: LogAttr[];
}

export interface LogAttr {
  key: string;
  value: string;
}

export interface TrafficLine {
  kind: 'plan' | 'request' | 'done';
  requests?: number;
  protocol?: string;
  deployment?: string;
  request_id?: string;
  ok: boolean;
  status?: number;
  ttft_ms?: number;
  total_ms?: number;
  output_tokens?: number;
  error?: string;
  remedy?: string;
  passed?: number;
  failed?: number;
}

/** What went wrong, why, and what to do: the shape of every refusal. */
export interface Refusal {
  code: string;
  message: string;
  remedy?: string;
}

export interface ErrorAnswer {
  error: Refusal;
  keys?: Record<string, string>; // of settings, what is wrong by key
}
