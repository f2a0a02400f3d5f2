import { describe, expect, it } from 'vitest';
import { scrollTo, shiftOf, windowOf } from './virtual';

describe('the rows that are drawn', () => {
  it('are few however long the list is', () => {
    const w = windowOf(150_000, 600, 30, 10_000);
    expect(w.end - w.first).toBe(32);
    expect(w.offset).toBe(w.first * 30);
    expect(w.first).toBeLessThanOrEqual(5000);
    expect(w.end).toBeGreaterThanOrEqual(5020);
  });
  it('stay inside a list that became shorter than the scrolling', () => {
    expect(windowOf(9_000, 600, 30, 40)).toEqual({ first: 14, end: 40, offset: 420 });
    expect(windowOf(9_000, 600, 30, 3)).toEqual({ first: 0, end: 3, offset: 0 });
    expect(windowOf(0, 600, 30, 0)).toEqual({ first: 0, end: 0, offset: 0 });
  });
});

describe('where a row went', () => {
  const key = (s: string) => s;
  it('is found after rows came above or left', () => {
    expect(shiftOf(['x', 'y', 'a', 'b', 'c'], key, 'b', 1)).toBe(2);
    expect(shiftOf(['b', 'c'], key, 'c', 2)).toBe(-1);
    expect(shiftOf(['a', 'b', 'c'], key, 'b', 1)).toBe(0);
  });
  it('is nowhere when it left', () => {
    expect(shiftOf(['a', 'b'], key, 'z', 1)).toBeNull();
    expect(shiftOf([], key, 'z', 0)).toBeNull();
    expect(shiftOf(['a'], key, 'z', 900)).toBeNull();
  });
});

it('scrolls no further than a row needs', () => {
  expect(scrollTo(5, 100, 300, 30)).toBe(100);
  expect(scrollTo(2, 100, 300, 30)).toBe(60);
  expect(scrollTo(20, 100, 300, 30)).toBe(330);
});
