// Which decisions are listed, as the address says it: ?app=&tag=&model=&node=&outcome=&text=
import { askedFor } from '../../lib/fleet.svelte';
import { count } from '../../lib/format';
import { runtimeOf } from '../../lib/record';
import type { DecisionRow } from '../../lib/wire';
import { lookOf, outcomeWords } from '../../ui/OutcomeBadge.svelte';

export interface Filter {
  app: string;
  tag: string; // a label, in full
  model: string; // as asked or as served
  node: string; // a name
  outcome: string; // an outcome, or under_way, or trouble
  text: string; // words, all of which a row has somewhere
}

export const noFilter: Filter = { app: '', tag: '', model: '', node: '', outcome: '', text: '' };

const outcomes = new Set(['under_way', 'trouble', ...outcomeWords.map(([outcome]) => outcome)]);

/** filterOf reads an address; an outcome that there is not asks for nothing. */
export function filterOf(query: Record<string, string>): Filter {
  const { app = '', tag = '', model = '', node = '', outcome = '', text = '' } = query;
  return { app, tag, model, node, outcome: outcomes.has(outcome) ? outcome : '', text };
}

export const isEmpty = (f: Filter): boolean => Object.values(f).every((v) => v === '');

const bad = new Set(['failed', 'held_out', 'stream_invalid_after_commit', 'truncated', 'refused']);

/** filtered keeps the rows that a filter lets through, in their order. */
export function filtered(rows: readonly DecisionRow[], f: Filter): readonly DecisionRow[] {
  if (isEmpty(f)) return rows;
  const words = f.text.toLowerCase().split(/\s+/).filter((w) => w !== '');
  return rows.filter((r) => {
    if (f.app !== '' && r.app !== f.app) return false;
    if (f.tag !== '' && !r.tags?.includes(f.tag)) return false;
    if (f.node !== '' && r.node_name !== f.node) return false;
    if (f.model !== '' && !sameModel(r.model, f.model) && !sameModel(r.requested_model, f.model)) return false;
    if (f.outcome === 'under_way' ? r.outcome !== '' : f.outcome === 'trouble' ? !bad.has(r.outcome) : f.outcome !== '' && r.outcome !== f.outcome) return false;
    if (words.length === 0) return true;
    const all = haystack(r);
    return words.every((w) => all.includes(w));
  });
}

/** sameModel compares names as the engine does: without a runtime's :latest, in any case. */
export function sameModel(a: string, b: string): boolean {
  return plain(a) === plain(b);
}
const plain = (m: string) => m.toLowerCase().replace(/:latest$/, '');

// What text is looked for in, kept per row: rows are never changed.
const stacks = new WeakMap<DecisionRow, string>();
function haystack(r: DecisionRow): string {
  let s = stacks.get(r);
  if (s === undefined) {
    s = [r.request_id, r.app, r.requested_model, askedFor(r.requested_model), r.model, r.node_name, runtimeOf(r.deployment), lookOf(r).word, r.task, r.alias, r.protocol, r.problem, marks(r), ...(r.tags ?? [])].join(' ').toLowerCase();
    stacks.set(r, s);
  }
  return s;
}

/** asked is the same filter for GET /admin/decisions; null = the records on the disk have none of it. */
export function asked(f: Filter): Record<string, string> | null {
  if (f.outcome === 'under_way') return null;
  const outcome = f.outcome === 'trouble' ? '' : f.outcome; // several: sorted out here
  return { app: f.app, model: f.model, node: f.node, outcome };
}

/** followed puts older rows from the disk below the live ones, each request once. */
export function followed(live: readonly DecisionRow[], older: readonly DecisionRow[]): readonly DecisionRow[] {
  if (older.length === 0) return live;
  const known = new Set(live.map((r) => r.request_id));
  const rest = older.filter((r) => !known.has(r.request_id));
  const last = live.at(-1);
  if (!last || rest.length === 0 || Date.parse(rest[0]!.at) <= Date.parse(last.at)) return [...live, ...rest];
  return [...live, ...rest].sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
}

/** marks are what a row notes beside its times: that it was tried again, that its model was loaded for it. */
export function marks(r: DecisionRow): string {
  // Each attempt that failed counts; where nobody took it after the last one, that was no further try.
  const again = r.outcome !== '' && r.model === '' ? r.retries - 1 : r.retries;
  return [again > 0 ? `${count(again)}× retried` : '', r.load_ms > 0 ? 'loaded first' : ''].filter((s) => s !== '').join(', ');
}
