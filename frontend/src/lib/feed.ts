// The feed's state and how frames change it: values in, values out. Who holds
// it (fleet.svelte.ts) and how frames come (connection.ts) is theirs to know.
import { sections, type DecisionRow, type DeltaFrame, type HelloFrame, type Section, type Sections } from './wire';

/** Rows kept of the live list; the oldest leave first. */
export const maxRows = 10_000;

/** FeedState is all that is shown live. A published value is never changed. */
export interface FeedState {
  seq: number;
  sections: Sections;
  rows: DecisionRow[]; // newest first
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

/** opened is the state that a hello brings; rows known from before are kept below it. */
export function opened(hello: HelloFrame, before: readonly DecisionRow[] = []): FeedState {
  const { rows, ...rest } = hello.state;
  return { seq: hello.seq, sections: { ...emptySections(), ...rest }, rows: joined(rows ?? [], before) };
}

// joined puts the rows of before that are older than all of fresh below them.
// A row that was under way and is not in fresh anymore is not known to have
// ended: it is left out rather than shown as running for ever.
function joined(fresh: DecisionRow[], before: readonly DecisionRow[]): DecisionRow[] {
  if (before.length === 0) return fresh;
  const known = new Set(fresh.map((r) => r.request_id));
  const oldest = fresh.at(-1)?.at ?? '';
  const older = before.filter((r) => !known.has(r.request_id) && r.outcome !== '' && earlier(r.at, oldest));
  return fresh.concat(older).slice(0, maxRows);
}

const earlier = (a: string, b: string) => b === '' || Date.parse(a) <= Date.parse(b);

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
  return { seq: batch.seq, sections: next, rows: withRows(state.rows, batch.rows) };
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
