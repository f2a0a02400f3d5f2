import { describe, expect, it } from 'vitest';
import { areaPath, levelOf, linePath, niceCeiling, stack } from './scale';

describe('niceCeiling', () => {
  it.each([[0, 1], [0.3, 0.5], [1, 1], [1.01, 2], [47, 50], [501, 1000], [-4, 1]])('of %d is %d', (v, want) => {
    expect(niceCeiling(v)).toBe(want);
  });
});

describe('linePath', () => {
  it('runs from the bottom to the top', () => expect(linePath([0, 5, 10], 10, 100, 20)).toBe('M0 20L50 10L100 0'));
  it('leaves gaps, and shows a value between them', () => expect(linePath([10, null, 5, null, 0, 0], 10, 100, 20)).toBe('M0 0h1M40 10h1M80 20L100 20'));
  it('keeps what is above the top inside', () => expect(linePath([20, 0], 10, 100, 20)).toBe('M0 0L100 20'));
  it('draws nothing of nothing', () => expect(linePath([null, null], 10, 100, 20)).toBe(''));
});

describe('areaPath', () => {
  it('closes each stretch by itself', () => expect(areaPath([10, 10, null, 10, 10], 10, 4, 2)).toBe('M0 2L0 0L1 0L1 2ZM3 2L3 0L4 0L4 2Z'));
  it('of nothing is nothing', () => expect(areaPath([], 10, 4, 2)).toBe(''));
});

describe('stack', () => {
  it('lays parts side by side and leaves out what is nothing', () => {
    const got = stack([{ name: 'a', value: 25 }, { name: 'b', value: 0 }, { name: 'c', value: 50 }], 100);
    expect(got.map((p) => [p.part.name, p.at, p.size])).toEqual([['a', 0, 0.25], ['c', 0.25, 0.5]]);
  });
  it('squeezes what is more than the whole', () => {
    const got = stack([{ name: 'a', value: 100 }, { name: 'b', value: 100 }], 100);
    expect(got.map((p) => [p.at, p.size])).toEqual([[0, 0.5], [0.5, 0.5]]);
  });
  it('of an unknown whole is empty', () => expect(stack([], 0)).toEqual([]));
});

describe('levelOf', () => {
  it.each([[null, null], [0, 0], [0.19, 0], [0.2, 1], [0.99, 4], [1, 4], [7, 4]])('of %s is %s', (v, want) => {
    expect(levelOf(v)).toBe(want);
  });
});
