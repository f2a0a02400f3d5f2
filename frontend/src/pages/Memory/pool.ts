// A pool's budget as parts of one bar, and its last hour as series that stack.
import { natural } from '../../lib/order';
import type { Part } from '../../ui/StackBar.svelte';
import type { DeploymentView, HolderKind, HolderView, PoolHistory, PoolView } from '../../lib/wire';

/** A kind of claim: in the order they stack, strongest first. */
export interface Kind {
  key: 'resident' | 'reserved' | 'uncertain' | 'assumed' | 'margin';
  label: string;
  says: string;
  color: string;
  hatched?: boolean;
}

export const kinds: readonly Kind[] = [
  { key: 'resident', label: 'resident', says: 'models in memory, as measured', color: 'var(--mem-resident)' },
  { key: 'reserved', label: 'reserved', says: 'promised to loads and longer contexts under way', color: 'var(--mem-reserved)' },
  { key: 'uncertain', label: 'uncertain', says: 'held by a call whose end was not seen and that may still run', color: 'var(--mem-uncertain)', hatched: true },
  { key: 'assumed', label: 'assumed', says: 'believed to be in memory while its runtime does not say', color: 'var(--mem-assumed)', hatched: true },
  { key: 'margin', label: 'margin', says: 'kept free below the ceiling', color: 'var(--mem-margin)', hatched: true },
];

/** held is what a pool counts for a kind, in bytes. */
export function held(p: PoolView, k: Kind['key']): number {
  return { resident: p.resident_bytes, reserved: p.reserved_bytes, uncertain: p.uncertain_bytes, assumed: p.assumed_bytes, margin: p.margin_bytes }[k];
}

/** taken is all that a pool counts without its margin, in bytes. */
export const taken = (p: PoolView): number => p.resident_bytes + p.reserved_bytes + p.uncertain_bytes + p.assumed_bytes;

/** room is what is left of the budget below ceiling and margin; it is below 0 where more is held than the budget has. */
export const room = (p: PoolView): number => p.limit_bytes - p.margin_bytes - taken(p);

/** budgetParts are a pool's bar up to its ceiling: claims, the room that is left, then the margin at its end. */
export function budgetParts(p: PoolView): Part[] {
  const parts = kinds.map((k) => ({ key: k.key, label: k.label, value: held(p, k.key), color: k.color, hatched: k.hatched }));
  const margin = parts.pop()!;
  return [...parts, { key: 'room', label: 'room for models', value: Math.max(0, room(p)), color: 'var(--mem-free)' }, margin];
}

/** twice are the models that more than one runtime has: their names alone do not say which is meant. */
export function twice(deployments: readonly DeploymentView[]): Set<string> {
  const seen = new Set<string>();
  const out = new Set<string>();
  for (const { model } of deployments) (seen.has(model) ? out : seen).add(model);
  return out;
}

const strength: Record<HolderKind, number> = { resident: 0, reserved: 1, uncertain: 2, assumed: 3 };

/** byWeight has the holders with the most counted bytes first. */
export function byWeight(holders: readonly HolderView[]): HolderView[] {
  return [...holders].sort((a, b) => b.counted_bytes - a.counted_bytes || (b.bytes ?? 0) - (a.bytes ?? 0) || strength[a.kind] - strength[b.kind] || natural(a.deployment, b.deployment));
}

/** Claim is a line of who holds what: within = the stronger claim of the same model that counts instead. */
export interface Claim {
  h: HolderView;
  within: HolderKind | null;
}

/**
 * claims has each model's counted claim, the largest first, and below it the weaker ones that it covers. What is
 * only assumed while a stronger claim is known says nothing, and is left out.
 */
export function claims(holders: readonly HolderView[]): Claim[] {
  const all = byWeight(holders);
  const cover = new Map<string, HolderView>();
  for (const h of all) if (h.counted_bytes > 0 && !cover.has(h.deployment)) cover.set(h.deployment, h);
  const covered = all.filter((h) => h.counted_bytes === 0 && h.bytes !== null && cover.has(h.deployment));
  return all.filter((h) => !covered.includes(h)).flatMap((h) => [
    { h, within: null },
    ...(cover.get(h.deployment) === h ? covered.filter((x) => x.deployment === h.deployment && x.kind !== 'assumed').map((x) => ({ h: x, within: h.kind })) : []),
  ]);
}

/**
 * stacked sums a pool's series from below, for a chart that draws each area
 * down to zero and the highest first. Where a sample is missing all are.
 */
export function stacked(h: PoolHistory): (number | null)[][] {
  const series = [h.resident_bytes, h.reserved_bytes, h.uncertain_bytes, h.assumed_bytes];
  const out: (number | null)[][] = series.map(() => []);
  for (let i = 0; i < h.resident_bytes.length; i++) {
    let sum: number | null = 0;
    for (const [s, values] of series.entries()) {
      const v: number | null = values[i] ?? null;
      sum = sum === null || v === null ? null : sum + v;
      out[s]!.push(sum);
    }
  }
  return out;
}
