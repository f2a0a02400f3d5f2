// Where a request's time went, as parts that follow each other.
import type { DecisionRecord } from '../../lib/record';

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
 * load. Parts that did not happen are left out; what was never reached is not
 * invented.
 */
export function spans(r: DecisionRecord): Span[] {
  const { queue_ms, load_ms, ttft_ms, total_ms } = r.timing;
  const parts: Omit<Span, 'fromMs'>[] = [];
  parts.push({ key: 'queue', label: 'Queued', says: 'waited for a free slot', ms: Math.min(queue_ms, total_ms || queue_ms), color: 'var(--stage-queue)' });
  const sent = Math.max(0, total_ms - queue_ms);
  const load = Math.min(load_ms, sent);
  if (load > 0) parts.push({ key: 'load', label: 'Loading', says: 'the model was loaded into memory', ms: load, color: 'var(--stage-load)' });
  if (ttft_ms > 0) {
    const prefill = Math.max(0, Math.min(ttft_ms, sent) - load);
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
