// Which rows of a long list are drawn: only those in sight, and a few around.

export interface Window {
  first: number; // index of the first row drawn
  end: number; // one past the last
  offset: number; // px above the first
}

/** windowOf finds the rows to draw of count rows of one height, in px. */
export function windowOf(top: number, height: number, row: number, count: number, around = 6): Window {
  if (count === 0 || row <= 0) return { first: 0, end: 0, offset: 0 };
  const at = Math.min(Math.max(0, top), Math.max(0, count * row - height));
  const first = Math.max(0, Math.floor(at / row) - around);
  const end = Math.min(count, Math.ceil((at + height) / row) + around);
  return { first, end, offset: first * row };
}

/**
 * shiftOf is by how many places the row at index moved, when rows came before
 * it or left; null = it is not there any more. It looks near its old place
 * first: rows come one by one.
 */
export function shiftOf<T>(items: readonly T[], key: (item: T) => string, wanted: string, index: number): number | null {
  for (let by = 0; by < items.length; by++) {
    const below = index + by;
    if (below < items.length && below >= 0 && key(items[below]!) === wanted) return by;
    const above = index - by;
    if (above >= 0 && above < items.length && key(items[above]!) === wanted) return -by;
    if (below >= items.length && above < 0) return null;
  }
  return null;
}

/** scrollTo is the least scrolling that shows a row whole. */
export function scrollTo(index: number, top: number, height: number, row: number): number {
  const from = index * row;
  if (from < top) return from;
  if (from + row > top + height) return from + row - height;
  return top;
}
