import { describe, expect, it } from 'vitest';
import said from '../../../engine/fleet/testdata/bytes.json';
import * as f from './format';

const table = <T>(run: (v: T) => string, cases: [T, string][]) => it.each(cases)('%s is %s', (v, want) => expect(run(v)).toBe(want));

describe('bytes, as the engine says them', () => table<number | null>(f.bytes, [...(said as [number, string][]), [null, '–']]));
describe('spans of ms', () => table<number | null>(f.ms, [
  [0, '0 ms'], [0.41, '0.41 ms'], [12.4, '12.4 ms'], [380.5, '381 ms'], [999.6, '1.0 s'], [7402.6, '7.4 s'], [60_002, '1 min'], [125_000, '2 min 5 s'], [7_500_000, '2 h 5 min'], [null, '–'],
]));
describe('seconds', () => table<number | null>(f.seconds, [
  [0.05, '50 ms'], [6.4, '6.4 s'], [59.96, '1 min'], [3600, '1 h'], [3570 + 29.9, '1 h'], [190_800, '2 d 5 h'], [null, '–'],
]));
describe('tokens', () => table<number | null>(f.tokens, [[412, '412 tok'], [9_999, '9,999 tok'], [14_180, '14.2k tok'], [2_410_331, '2.4M tok'], [null, '–']]));
describe('context', () => table<number | null>(f.context, [[8192, '8k tok'], [131_072, '128k tok'], [1 << 20, '1M tok'], [32_000, '32k tok'], [null, '–']]));
describe('percent', () => table<number | null>(f.percent, [[0, '0 %'], [0.3, '< 1 %'], [37.5, '38 %'], [100, '100 %'], [null, '–']]));
describe('points', () => table<number | null>((n) => f.points(n, 2), [[50, '+50'], [-0.98, '−0.98'], [13.333, '+13.33'], [0, '0'], [null, '–']]));

describe('ages and moments', () => {
  const now = Date.UTC(2026, 10, 3, 9, 30, 0);
  const at = (s: number) => new Date(now + s * 1000).toISOString();
  it('tells ages in one unit', () => {
    expect([-1, -12, -540, -7200, -200_000].map((s) => f.ago(at(s), now))).toEqual(['just now', '12 s ago', '9 min ago', '2 h ago', '2 d ago']);
    expect([0, 12, 1680].map((s) => f.until(at(s), now))).toEqual(['now', 'in 12 s', 'in 28 min']);
  });
  it('never shows what is not known as a time', () => {
    for (const v of ['', null, undefined, 'soon']) expect([f.ago(v, now), f.until(v, now), f.clock(v), f.date(v), f.day(v, now)]).toEqual(Array(5).fill('–'));
  });
  it('adds the day to a moment of another day', () => {
    expect(f.day(at(0), now)).toMatch(/^\d\d:\d\d:\d\d$/);
    expect(f.day(at(-200_000), now)).toMatch(/^1 Nov \d\d:\d\d$|^31 Oct \d\d:\d\d$/);
  });
});

it('counts with its noun', () => {
  expect([f.plural(1, 'request'), f.plural(1234, 'request'), f.plural(0, 'reply', 'replies')]).toEqual(['1 request', '1,234 requests', '0 replies']);
});
