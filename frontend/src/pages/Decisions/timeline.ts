// Where a request's time went, as parts that follow each other.
import type { DecisionRecord } from '../../lib/record';
import type { DecisionRow } from '../../lib/wire';

export interface Span {
  key: 'queue' | 'load' | 'prefill' | 'decode' | 'answer';
  label: string;
  says: string;
  fromMs: number;
  ms: number;
  color: string;
}

/**
 * spans are a record's parts in order: queued, loading, waiting for the first
 * token, writing the answer. ttft_ms counts from when it was sent and holds the
 * load. An answer that comes whole has no first token to see: then its runtime's
 * own figure parts reading from writing, if it gives one. Parts that did not happen are left out; what was never reached is not
 * invented.
 */
export function spans(r: DecisionRecord): Span[] {
  const { queue_ms, load_ms, total_ms } = r.timing;
  const parts: Omit<Span, 'fromMs'>[] = [];
  parts.push({ key: 'queue', label: 'Queued', says: 'waited for a free slot', ms: Math.min(queue_ms, total_ms || queue_ms), color: 'var(--stage-queue)' });
  const sent = Math.max(0, total_ms - queue_ms);
  const load = Math.min(load_ms, sent);
  if (load > 0) parts.push({ key: 'load', label: 'Loading', says: 'the model was loaded into memory', ms: load, color: 'var(--stage-load)' });
  const prefill = reading(r, sent - load);
  if (prefill !== null) {
    parts.push({ key: 'prefill', label: 'Reading', says: 'until the first token: the prompt was read', ms: prefill, color: 'var(--stage-prefill)' });
    parts.push({ key: 'decode', label: 'Writing', says: 'the answer, token by token', ms: Math.max(0, sent - load - prefill), color: 'var(--stage-decode)' });
  } else if (sent - load > 0) {
    parts.push({ key: 'answer', label: r.outcome === 'ok' ? 'Working' : 'No answer', says: r.outcome === 'ok' ? 'until the whole answer' : 'nothing came before it ended', ms: sent - load, color: 'var(--stage-decode)' });
  }
  let at = 0;
  return parts.map((p) => {
    const span = { ...p, fromMs: at };
    at += p.ms;
    return span;
  });
}

/** Step is one stage of a request under way; ms is how long it took, null = not known, or not over. */
export interface Step {
  key: 'queue' | 'sent' | 'run';
  label: string;
  says: string;
  state: 'over' | 'now' | 'ahead';
  ms: number | null;
}

/** steps are where a request under way is: queued, sent to, running on. atMs is now; what is ahead is not promised. */
export function steps(r: Pick<DecisionRow, 'stage' | 'at' | 'node_name' | 'queue_ms' | 'ttft_ms'>, atMs: number): Step[] {
  const since = Math.max(0, atMs - Date.parse(r.at));
  const on = r.node_name === '' ? '' : ` ${r.node_name}`;
  const at = { held: 0, queued: 0, sent: 1, running: 2, '': 0 }[r.stage];
  const state = (i: number) => (i < at ? 'over' : i === at ? 'now' : 'ahead');
  return [
    { key: 'queue', label: r.stage === 'held' ? 'Held' : 'Queued', says: r.stage === 'held' ? 'nobody can serve it' : 'for a free slot', state: state(0), ms: at === 0 ? since : r.queue_ms },
    { key: 'sent', label: `Sent to${on || ' a machine'}`, says: 'loading or reading the prompt', state: state(1), ms: at === 1 ? Math.max(0, since - r.queue_ms) : at > 1 ? r.ttft_ms : null },
    { key: 'run', label: `Running${on ? ` on${on}` : ''}`, says: 'the answer is written', state: state(2), ms: at === 2 ? Math.max(0, since - r.queue_ms - r.ttft_ms) : null },
  ];
}

/** reading is how long the prompt was read, in ms; null = nobody can tell. rest is the time after the load. */
function reading(r: DecisionRecord, rest: number): number | null {
  const { load_ms, ttft_ms } = r.timing;
  if (r.requirements.streaming) return ttft_ms > 0 ? Math.min(Math.max(0, ttft_ms - load_ms), rest) : null;
  const own = r.runtime_timings;
  return own && own.Decode > 0 ? Math.min(own.Prefill / 1e6, rest) : null;
}

/** tokensPerSecond is how fast the answer was written; null = nobody can tell. */
export function tokensPerSecond(r: DecisionRecord): number | null {
  const out = r.usage?.output;
  if (!out) return null;
  const decode = r.runtime_timings?.Decode ?? 0;
  if (decode > 0) return out / (decode / 1e9);
  const writing = r.requirements.streaming ? (spans(r).find((s) => s.key === 'decode')?.ms ?? 0) : 0;
  return writing >= 50 && out > 1 ? out / (writing / 1000) : null;
}

/** wentOn says what came of an attempt that failed: another place, the same one again, or nothing. */
export function wentOn(r: DecisionRecord, attempt: number): 'failed over' | 'tried again' | 'failed' {
  const of = (r.failover ?? []).map((f) => f.deployment);
  const next = of[attempt + 1] ?? r.chosen;
  if (!next) return 'failed';
  return next === of[attempt] ? 'tried again' : 'failed over';
}
