// Scales and paths of the small charts: plain numbers in, SVG out.

/** niceCeiling is the least 1, 2 or 5 times a power of ten that is at least v; 1 of nothing. */
export function niceCeiling(v: number): number {
  if (!(v > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(v));
  for (const step of [1, 2, 5]) if (v <= step * power * (1 + 1e-9)) return step * power;
  return 10 * power;
}

/**
 * linePath draws values over width and height with 0 at the bottom and max at
 * the top. A null is a gap; a value alone between gaps is a short dash, so that
 * it is seen.
 */
export function linePath(values: readonly (number | null)[], max: number, width: number, height: number): string {
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  let path = '';
  let pen = false;
  values.forEach((v, i) => {
    if (v === null) {
      pen = false;
      return;
    }
    const x = round(i * step);
    const y = round(height - clamp(v / max) * height);
    const alone = !pen && (i + 1 >= values.length || values[i + 1] === null);
    path += `${pen ? 'L' : 'M'}${x} ${y}`;
    if (alone) path += 'h1';
    pen = true;
  });
  return path;
}

/** areaPath is the line of linePath, closed down to 0. Stretches without values stay open. */
export function areaPath(values: readonly (number | null)[], max: number, width: number, height: number): string {
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  let path = '';
  let from = -1;
  for (let i = 0; i <= values.length; i++) {
    const v = values[i] ?? null;
    if (v !== null && from < 0) from = i;
    if (v === null && from >= 0) {
      const part = values.slice(from, i) as number[];
      const top = part.map((p, k) => `L${round((from + k) * step)} ${round(height - clamp(p / max) * height)}`).join('');
      path += `M${round(from * step)} ${height}${top}L${round((i - 1) * step)} ${height}Z`;
      from = -1;
    }
  }
  return path;
}

/** Part is a share of a stacked bar. */
export interface Part {
  name: string;
  value: number;
}

/** Placed is a part with its place, in shares of the whole bar (0 to 1). */
export interface Placed<P extends Part> {
  part: P;
  at: number;
  size: number;
}

/**
 * stack lays parts one after another over total. Parts beyond the total are
 * squeezed by one factor, so that the bar never leaves its box; parts of
 * nothing are left out.
 */
export function stack<P extends Part>(parts: readonly P[], total: number): Placed<P>[] {
  const sum = parts.reduce((n, p) => n + Math.max(0, p.value), 0);
  const whole = Math.max(total, sum);
  if (!(whole > 0)) return [];
  let at = 0;
  const placed: Placed<P>[] = [];
  for (const part of parts) {
    if (!(part.value > 0)) continue;
    const size = part.value / whole;
    placed.push({ part, at, size });
    at += size;
  }
  return placed;
}

/** levelOf puts a value of 0 to 1 on one of five levels of a heat map; null = not known. */
export function levelOf(v: number | null): 0 | 1 | 2 | 3 | 4 | null {
  if (v === null || Number.isNaN(v)) return null;
  return Math.min(4, Math.floor(clamp(v) * 5)) as 0 | 1 | 2 | 3 | 4;
}

const clamp = (v: number): number => Math.min(1, Math.max(0, v));
const round = (v: number): number => Math.round(v * 100) / 100;
