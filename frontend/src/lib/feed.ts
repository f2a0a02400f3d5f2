// The feed's state and how frames change it: values in, values out. Who holds
// it (fleet.svelte.ts) and how frames come (connection.ts) is theirs to know.
import { sections, type DecisionRow, type DeltaFrame, type HelloFrame, type Section, type Sections } from './wire';

/** Rows kept of the live list; the oldest leave first. */
export const maxRows = 10_000;

/** FeedState is all that is shown live. A published value is never changed. */
export interface FeedState {
  seq: number;
  sections: Sections;
  rows: DecisionRow[]; // newest first, and whole from the first to the last
  /** How often rows were let go that may not follow on those of a new hello: what was fetched below them is no use either. */
  breaks: number;
}

/** Batch is what frames changed since the state was last published. */
export interface Batch {
  seq: number;
  frames: number;
  set: Map<Section, Map<string, unknown>>; // undefined = gone
  rows: Map<string, DecisionRow>; // by request id, in the order they first came
}

export function emptySections(): Sections {
  return Object.fromEntries(sections.map((s) => [s, {}])) as unknown as Sections;
}

/** opened is the state that a hello brings; rows known from before are kept below its own where they follow on them. */
export function opened(hello: HelloFrame, before?: FeedState): FeedState {
  const { rows: fresh = [], ...rest } = hello.state;
  const rows = before ? fresh.concat(following(fresh, before.rows)) : fresh;
  const last = before?.rows.at(-1)?.request_id;
  const whole = last === undefined || rows.some((r) => r.request_id === last);
  return { seq: hello.seq, sections: { ...emptySections(), ...rest }, rows: rows.slice(0, maxRows), breaks: (before?.breaks ?? 0) + Number(!whole) };
}

// following are the rows of before that follow on fresh, the newest that there
// are: from one that both have down to the first that was under way and of which
// nothing is known any more. Without such a one others may have come between.
function following(fresh: readonly DecisionRow[], before: readonly DecisionRow[]): DecisionRow[] {
  const known = new Set(fresh.map((r) => r.request_id));
  const met = before.findIndex((r) => known.has(r.request_id));
  if (met < 0) return [];
  const oldest = Date.parse(fresh.at(-1)!.at);
  const older = before.slice(met).filter((r) => !known.has(r.request_id) && Date.parse(r.at) <= oldest);
  const end = older.findIndex((r) => r.outcome === '');
  return end < 0 ? older : older.slice(0, end);
}

export function emptyBatch(seq: number): Batch {
  return { seq, frames: 0, set: new Map(), rows: new Map() };
}

/** add notes a delta in a batch; false = frames are missing before it. */
export function add(batch: Batch, delta: DeltaFrame): boolean {
  if (delta.seq !== batch.seq + 1) return false;
  batch.seq = delta.seq;
  batch.frames++;
  for (const section of Object.keys(delta.set ?? {}) as Section[]) {
    const values = delta.set![section] as Record<string, unknown>;
    for (const key of Object.keys(values)) note(batch, section, key, values[key]);
  }
  for (const section of Object.keys(delta.del ?? {}) as Section[]) {
    for (const key of delta.del![section]!) note(batch, section, key, undefined);
  }
  for (const row of delta.rows ?? []) batch.rows.set(row.request_id, row);
  return true;
}

function note(batch: Batch, section: Section, key: string, value: unknown): void {
  let keys = batch.set.get(section);
  if (!keys) batch.set.set(section, (keys = new Map()));
  keys.set(key, value);
}

/** applied is the state with a batch in it. Sections and values that did not change stay the same objects. */
export function applied(state: FeedState, batch: Batch): FeedState {
  if (batch.frames === 0) return state;
  let next = state.sections;
  if (batch.set.size > 0) {
    next = { ...next };
    for (const [section, keys] of batch.set) {
      const values: Record<string, unknown> = { ...(next[section] as Record<string, unknown>) };
      for (const [key, value] of keys) {
        if (value === undefined) delete values[key];
        else values[key] = value;
      }
      (next as unknown as Record<string, unknown>)[section] = values;
    }
  }
  return { seq: batch.seq, sections: next, rows: withRows(state.rows, batch.rows), breaks: state.breaks };
}

/** How far, in ms, a row may stand from where its arrival puts it. */
const outOfOrder = 5_000;

// withRows replaces rows by id and puts new ones in by their arrival. A row
// keeps its place, so it is looked for no further down than the oldest changed
// one would stand: the list is long, and what changes is near its top. Rows
// stand by when they were heard of, which is not to the moment when they arrived.
function withRows(rows: DecisionRow[], changed: Map<string, DecisionRow>): DecisionRow[] {
  if (changed.size === 0) return rows;
  const fresh = new Map(changed);
  let oldest = Infinity;
  for (const r of fresh.values()) oldest = Math.min(oldest, Date.parse(r.at));
  const kept = rows.slice();
  for (let i = 0; i < kept.length && fresh.size > 0; i++) {
    const id = kept[i]!.request_id;
    const now = fresh.get(id);
    if (now) {
      kept[i] = now;
      fresh.delete(id);
    } else if (Date.parse(kept[i]!.at) < oldest - outOfOrder) break;
  }
  if (fresh.size === 0) return kept;
  const newest = (a: DecisionRow, b: DecisionRow) => Date.parse(b.at) - Date.parse(a.at);
  const added = [...fresh.values()].sort(newest);
  const all = added.concat(kept);
  const head = kept[0];
  if (head && Date.parse(added.at(-1)!.at) < Date.parse(head.at)) all.sort(newest);
  return all.slice(0, maxRows);
}
