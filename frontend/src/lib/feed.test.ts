import { describe, expect, it } from 'vitest';
import { add, applied, emptyBatch, maxRows, opened, type FeedState } from './feed';
import type { DecisionRow, DeltaFrame, HelloFrame } from './wire';
import deltaFile from '../../../engine/admin/testdata/wire/delta.json';
import helloFile from '../../../engine/admin/testdata/wire/hello.json';

const hello = helloFile as unknown as HelloFrame;
const delta = deltaFile as unknown as DeltaFrame;

function after(state: FeedState, ...deltas: DeltaFrame[]): FeedState {
  const batch = emptyBatch(state.seq);
  for (const d of deltas) expect(add(batch, d)).toBe(true);
  return applied(state, batch);
}

const row = (id: string, second: number, outcome: DecisionRow['outcome'] = 'ok') =>
  ({ ...hello.state.rows[0]!, request_id: id, at: new Date(Date.UTC(2026, 10, 3, 9, 0, second)).toISOString(), outcome, stage: outcome === '' ? 'sent' : '' }) as DecisionRow;
const rows = (seq: number, ...r: DecisionRow[]): DeltaFrame => ({ type: 'delta', seq, rows: r });
const ids = (s: FeedState) => s.rows.map((r) => r.request_id);
const start = (...r: DecisionRow[]): FeedState => opened({ ...hello, seq: 1, state: { ...hello.state, rows: r } });

describe('a delta', () => {
  it('keeps each request once, where times that rows came with are told more exactly at their end', () => {
    const at = (id: string, time: string, outcome: DecisionRow['outcome'] = '') => ({ ...row(id, 0, outcome), at: `2026-11-30T11:14:${time}Z` });
    const told = [
      at('b', '19.718000100'), at('a', '19.718100000'),
      at('a', '19.717990000', 'ok'), at('b', '19.718000050', 'ok'), at('a', '18.000000000', 'ok'), at('b', '19.800000000', 'ok'),
    ];
    const s = told.reduce((s, r, i) => after(s, rows(i + 2, r)), start());
    expect(ids(s).sort()).toEqual(['a', 'b']);
  });

  it('replaces and removes by key, and leaves the rest the same objects', () => {
    const before = opened(hello);
    const now = after(before, delta);
    const studio = '3f9c2a1b7d4e6f80';
    expect(now.seq).toBe(42);
    expect(now.sections.nodes[studio]!.cpu_percent).toBe(61);
    expect(now.sections.findings.pause).toBeUndefined();
    expect(now.sections.lanes[`${studio}/ollama/llama3.2:3b`]).toBeUndefined();
    expect(now.sections.nodes.b81e05d7c6a2394f).toBe(before.sections.nodes.b81e05d7c6a2394f);
    expect(now.sections.deployments).toBe(before.sections.deployments);
    expect(before.sections.nodes[studio]!.cpu_percent).toBe(23.5);
  });

  it('that does not follow is refused and changes nothing', () => {
    const batch = emptyBatch(41);
    expect(add(batch, { ...delta, seq: 43 })).toBe(false);
    expect(add(batch, { ...delta, seq: 41 })).toBe(false);
    expect(applied(opened(hello), batch)).toEqual(opened(hello));
  });

  it('of many in one batch ends as the last one says', () => {
    const one = (seq: number, percent: number): DeltaFrame => ({ type: 'delta', seq, set: { jobs: { J: { ...hello.state.jobs.K4TQ2M7A!, id: 'J', percent } } } });
    const now = after(opened(hello), one(42, 10), { type: 'delta', seq: 43, del: { jobs: ['J'] } }, one(44, 30));
    expect(now.sections.jobs.J!.percent).toBe(30);
    expect(after(opened(hello), one(42, 10), { type: 'delta', seq: 43, del: { jobs: ['J'] } }).sections.jobs.J).toBeUndefined();
  });

  it('of a section that this version does not know breaks nothing', () => {
    const now = after(opened(hello), { type: 'delta', seq: 42, set: { weather: { today: 'rain' } } } as unknown as DeltaFrame);
    expect(now.sections.nodes).toBe(hello.state.nodes);
  });
});

describe('rows', () => {
  it('are newest first, and one under way is replaced where it stands', () => {
    let s = start(row('b', 2, ''), row('a', 1));
    s = after(s, rows(2, row('c', 3, '')), rows(3, row('b', 2, 'failed')));
    expect(ids(s)).toEqual(['c', 'b', 'a']);
    expect(s.rows[1]!.outcome).toBe('failed');
  });

  it('that come late are put where they belong', () => {
    expect(ids(after(start(row('d', 4), row('a', 1)), rows(2, row('c', 3), row('e', 5))))).toEqual(['e', 'd', 'c', 'a']);
  });

  it('are no more than are kept, the oldest leave', () => {
    let s = start();
    for (let i = 0; i < maxRows / 1000 + 1; i++) s = after(s, rows(i + 2, ...Array.from({ length: 1000 }, (_, k) => row(`r${i * 1000 + k}`, i * 1000 + k))));
    expect(s.rows).toHaveLength(maxRows);
    expect(s.rows[0]!.request_id).toBe('r10999');
    expect(s.rows.at(-1)!.request_id).toBe('r1000');
  });

  describe('of before a new hello', () => {
    const again = (before: FeedState, ...r: DecisionRow[]) => opened({ ...hello, state: { ...hello.state, rows: r } }, before);
    const before = start(row('d', 4, ''), row('c', 3), row('b', 2), row('a', 1));

    it('stay below it where they follow on its own', () => {
      const now = again(before, row('e', 5), row('d', 4), row('c', 3));
      expect(ids(now)).toEqual(['e', 'd', 'c', 'b', 'a']);
      expect(now.breaks).toBe(before.breaks);
    });

    it('leave where others may have come between, and it shows that they did', () => {
      const now = again(before, row('g', 7), row('f', 6));
      expect(ids(now)).toEqual(['g', 'f']);
      expect(now.breaks).toBe(before.breaks + 1);
      expect(ids(again(before))).toEqual([]);
      expect(after(now, rows(now.seq + 1, row('h', 8))).breaks).toBe(now.breaks);
    });

    it('leave from one on that was under way and may have ended unheard', () => {
      const now = again(start(row('d', 4), row('c', 3), row('b', 2, ''), row('a', 1)), row('e', 5), row('d', 4));
      expect(ids(now)).toEqual(['e', 'd', 'c']);
      expect(now.breaks).toBe(1);
    });

    it('are followed by none that the engine has dropped meanwhile', () => {
      expect(ids(again(start(row('c', 3), row('b', 2), row('a', 1)), row('d', 4), row('a', 1)))).toEqual(['d', 'a']);
    });
  });
});
