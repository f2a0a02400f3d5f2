// The whole record of one decision (engine/route/record.go), as
// GET /admin/decisions/{id} and a dry run answer it.
import type { DecisionRow, Instant, Outcome } from './wire';

export interface Tokens {
  input: number;
  output: number;
  reasoning: number;
}

export interface Requirements {
  role: string;
  primary_task?: string;
  tasks?: Record<string, number>;
  clear: boolean;
  tokens: Tokens;
  output_asked?: number;
  needs_tools: boolean;
  tool_choice_required: boolean;
  parallel_tools: boolean;
  single_call?: boolean;
  json_schema: boolean;
  json_object: boolean;
  streaming: boolean;
  vision: boolean;
  images?: number;
  remote_image: boolean;
  audio_in: boolean;
  continuation: boolean;
  insert: boolean;
  load_only?: boolean;
  think_asked?: boolean;
  think_strict?: boolean;
  think_off?: boolean;
  think_budget?: number;
  fields?: string[];
  input_total?: number;
  text?: string;
  session?: string;
  session_pins?: boolean;
  app?: string;
  tags?: string[];
}

export interface Exclusion {
  code: string;
  reason: string;
  remedy: string;
}

/** The parts of a deployment's score, in points. */
export interface Signals {
  warmth: number;
  memory_fit: number;
  queue_depth: number;
  wait: number;
  role_affinity: number;
  availability: number;
  context_fit: number;
  session_affinity: number;
}
export type Signal = keyof Signals;

export interface Candidate {
  deployment: string;
  quality: number;
  evidence: string;
  tokens: Tokens;
  /** What the estimate of the prompt was multiplied by, learnt from the model's counts. */
  factor?: number;
  loaded: boolean;
  depth: number;
  latency_cost: number;
  residency_cost: number;
  overhead_cost: number;
  affinity_adjust: number;
  score: number;
  node_score: number;
  signals: Signals;
  slots?: number;
  notes?: string[];
}

export interface Usage {
  input?: number;
  output?: number;
  cached?: number;
  reasoning?: number;
}

/** Timings a runtime reported itself, in nanoseconds; 0 = not said. */
export interface RuntimeTimings {
  Total: number;
  Load: number;
  Prefill: number;
  Decode: number;
}

export interface Failure {
  class: string;
  status?: number;
  code?: string;
  message?: string;
}

/** Where a request's time went. ttft_ms counts from when it was sent; 0 = there was no content. */
export interface Timing {
  queue_ms: number;
  load_ms: number;
  ttft_ms: number;
  total_ms: number;
}

/** An attempt that failed before content. */
export interface FailoverStep {
  deployment: string;
  failure: Failure;
  after_ms: number;
}

export interface DecisionRecord {
  request_id: string;
  at: Instant;
  config_hash?: string;
  registry_version: number;
  requested_model: string;
  alias?: string;
  profile?: string;
  app: string;
  tags?: string[];
  session?: string;
  protocol: string;
  requirements: Requirements;
  exclusions?: Record<string, Exclusion[]>;
  other_codes?: Record<string, number>;
  candidates: Candidate[] | null;
  chosen?: string;
  node?: string;
  evidence?: string;
  reasons: string[] | null;
  edits?: string[];
  timing: Timing;
  usage?: Usage;
  runtime_timings?: RuntimeTimings;
  parts?: RecordPart[];
  retries: number;
  failover?: FailoverStep[];
  failover_allowed: boolean;
  failover_note?: string;
  may_have_run?: boolean;
  outcome: Outcome;
  status?: number;
  problem?: string;
  notes?: string[];
  overhead_ms: number;
  scenario?: string;
}

/** A share of a split embedding request. */
export interface RecordPart {
  first: number;
  last: number;
  deployment?: string;
  outcome: Outcome;
  retries?: number;
  queue_ms: number;
  took_ms: number;
  usage?: Usage;
}

/** The answer of a dry run. */
export interface Explained {
  requirements: Requirements;
  micros: number;
  verdict: string;
  chosen?: string;
  record: DecisionRecord;
  text: string;
  problem?: string;
}

/** modelOf is the model of a deployment id, node/runtime/model; models may hold slashes. */
export function modelOf(deployment: string): string {
  const first = deployment.indexOf('/');
  const second = deployment.indexOf('/', first + 1);
  return second < 0 ? deployment : deployment.slice(second + 1);
}

/** nodeOf is the node id of a deployment id. */
export function nodeOf(deployment: string): string {
  const first = deployment.indexOf('/');
  return first < 0 ? deployment : deployment.slice(0, first);
}

/** runtimeOf is the runtime's name of a deployment id. */
export function runtimeOf(deployment: string): string {
  return deployment.split('/', 2)[1] ?? '';
}

/** rowOf is a record that has ended as a line of the live list. */
export function rowOf(r: DecisionRecord): DecisionRow {
  return {
    request_id: r.request_id,
    at: r.at,
    app: r.app,
    tags: r.tags,
    protocol: r.protocol,
    requested_model: r.requested_model,
    alias: r.alias,
    profile: r.profile,
    task: r.requirements.primary_task,
    stage: '',
    outcome: r.outcome,
    status: r.status,
    problem: r.problem,
    deployment: r.chosen ?? '',
    node_name: r.node ?? '',
    model: r.chosen ? modelOf(r.chosen) : '',
    queue_ms: r.timing.queue_ms,
    load_ms: r.timing.load_ms,
    ttft_ms: r.timing.ttft_ms,
    total_ms: r.timing.total_ms,
    overhead_ms: r.overhead_ms,
    input_tokens: r.usage?.input ?? null,
    output_tokens: r.usage?.output ?? null,
    cached_tokens: r.usage?.cached ?? null,
    reasoning_tokens: r.usage?.reasoning ?? null,
    streaming: r.requirements.streaming,
    retries: r.retries,
    edits: r.edits?.length ?? 0,
    notes: r.notes?.length ?? 0,
  };
}
