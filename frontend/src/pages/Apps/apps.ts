// The apps as the page lists them. Values in, values out.
import { natural } from '../../lib/order';
import type { AppView } from '../../lib/wire';

/** By what the list is sorted; names go up, figures down. */
export type Order = 'name' | 'requests' | 'failed' | 'tokens' | 'total' | 'seen';

const figure: Record<Exclude<Order, 'name'>, (a: AppView) => number> = {
  requests: (a) => a.requests + a.active_requests,
  failed: (a) => a.failed_requests + a.refused_requests / 1e6,
  tokens: (a) => a.input_tokens + a.output_tokens,
  total: (a) => a.total_p95_ms ?? -1,
  seen: (a) => Date.parse(a.last_seen_at),
};

export function sorted(apps: readonly AppView[], order: Order): AppView[] {
  const byName = (a: AppView, b: AppView) => natural(a.name, b.name);
  if (order === 'name') return [...apps].sort(byName);
  const f = figure[order];
  return [...apps].sort((a, b) => f(b) - f(a) || byName(a, b));
}

/** Sums are the line below the list. */
export interface Sums {
  requests: number;
  failed: number;
  refused: number;
  active: number;
  input: number;
  output: number;
}

export function sums(apps: readonly AppView[]): Sums {
  const s: Sums = { requests: 0, failed: 0, refused: 0, active: 0, input: 0, output: 0 };
  for (const a of apps) {
    s.requests += a.requests;
    s.failed += a.failed_requests;
    s.refused += a.refused_requests;
    s.active += a.active_requests;
    s.input += a.input_tokens;
    s.output += a.output_tokens;
  }
  return s;
}

/** Spans that can be asked for. The last hour comes with the feed, live; the others are asked for. */
export const spans = { hour: 3600, day: 24 * 3600, week: 7 * 24 * 3600 } as const;
export type Span = keyof typeof spans;
export const spanWords: Record<Span, string> = { hour: 'the last hour', day: 'the last 24 hours', week: 'the last 7 days' };
