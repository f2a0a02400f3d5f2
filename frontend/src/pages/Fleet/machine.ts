// What a machine's card shows, out of the parts of the state that are about it.
import { natural } from '../../lib/order';
import { standOf } from '../../ui/NodeStateBadge.svelte';
import type { Part } from '../../ui/StackBar.svelte';
import type { DeploymentView, NodeView, PoolView, RuntimeView, Sections, ThermalView } from '../../lib/wire';

export interface Machine {
  node: NodeView;
  pools: PoolView[];
  runtimes: RuntimeView[];
  /** In memory, on its way there or out of it; biggest first. */
  models: DeploymentView[];
}

/** Stand is a machine's state as it is counted: idle = it would serve, and has no runtime that is up. */
export type Stand = NodeView['state'] | 'idle';

const order: Record<Stand, number> = { serving: 0, idle: 1, paused: 2, draining: 2, late: 3, offline: 4 };

/** What is on machines, by node id; it changes less often than their readings. */
export type Belongings = Map<string, Omit<Machine, 'node'>>;

export function belongings(s: Pick<Sections, 'pools' | 'runtimes' | 'deployments'>): Belongings {
  const all: Belongings = new Map();
  const of = (id: string) => {
    let b = all.get(id);
    if (!b) all.set(id, (b = { pools: [], runtimes: [], models: [] }));
    return b;
  };
  for (const p of Object.values(s.pools)) of(p.node_id).pools.push(p);
  for (const r of Object.values(s.runtimes)) of(r.node_id).runtimes.push(r);
  for (const d of Object.values(s.deployments)) if (d.residency !== 'on_disk') of(d.node_id).models.push(d);
  for (const b of all.values()) {
    b.pools.sort((x, y) => natural(x.name, y.name));
    b.runtimes.sort((x, y) => natural(x.name, y.name));
    b.models.sort((x, y) => (y.resident_bytes ?? 0) - (x.resident_bytes ?? 0) || natural(x.model, y.model));
  }
  return all;
}

/** machines are all nodes with what is theirs: this machine first, then by name. */
export function machines(nodes: Sections['nodes'], belong: Belongings): Machine[] {
  return Object.values(nodes)
    .sort((a, b) => Number(b.local) - Number(a.local) || natural(a.name, b.name))
    .map((node) => ({ node, ...(belong.get(node.id) ?? { pools: [], runtimes: [], models: [] }) }));
}

/** standing is what a machine counts as. */
export const standing = (n: NodeView): Stand => standOf(n).look;

/** tally counts machines by what they can do, those that serve first. */
export function tally(nodes: readonly NodeView[]): [Stand, number][] {
  const n = new Map<Stand, number>();
  for (const x of nodes) n.set(standing(x), (n.get(standing(x)) ?? 0) + 1);
  return [...n].sort(([a], [b]) => order[a] - order[b]);
}

/**
 * memoryParts are what fills a pool: weights, KV caches and buffers, memory
 * reserved for loads, and what other programs use as far as it is known. The
 * weights are what the file has, for a runtime tells only the sum.
 */
export function memoryParts(pool: PoolView, deployments: Sections['deployments'], usedBytes: number | null): Part[] {
  let weights = 0;
  let kv = 0;
  for (const h of pool.holders) {
    if (h.kind !== 'resident' || h.counted_bytes <= 0) continue;
    const onDisk = deployments[h.deployment]?.weights_bytes ?? h.counted_bytes;
    weights += Math.min(onDisk, h.counted_bytes);
    kv += Math.max(0, h.counted_bytes - onDisk);
  }
  const promised = pool.reserved_bytes + pool.uncertain_bytes + pool.assumed_bytes;
  const used = pool.kind === 'vram' ? (pool.free_bytes === null ? null : pool.total_bytes - pool.free_bytes) : usedBytes;
  const others = used === null ? 0 : Math.max(0, used - pool.resident_bytes);
  return [
    { key: 'weights', label: 'weights', value: weights, color: 'var(--mem-weights)' },
    { key: 'kv', label: 'KV and buffers', value: kv, color: 'var(--mem-kv)' },
    { key: 'promised', label: 'promised to loads', value: promised, color: 'var(--mem-reserved)', hatched: true },
    { key: 'other', label: 'other programs', value: others, color: 'var(--mem-other)' },
  ];
}

/** poolName is what people call a pool. */
export function poolName(p: PoolView): string {
  switch (p.kind) {
    case 'unified': return 'Memory';
    case 'ram': return 'Memory';
    case 'vram': return `VRAM ${p.name}`;
  }
  return p.name;
}

/** Heat is a machine's thermals in words. */
export interface Heat {
  words: string; // '' = not known
  text: string; // with the temperature
  says: string; // who says so, or why nobody does
  shown: boolean; // where there is little room: it is worth it
}

const heats: Record<ThermalView['value'], string> = { '': '', normal: 'cool', warm: 'warm', hot: 'slowed by heat' };
const means: Record<ThermalView['value'], string> = {
  '': '', normal: 'Far from the temperature at which it slows down', warm: 'Near the temperature at which it slows down', hot: 'At its limit, or slowed down within the last minute',
};

export function heatOf(t: ThermalView): Heat {
  const words = t.known ? heats[t.value] : '';
  const degrees = t.celsius === null ? '' : `${t.celsius.toFixed(0)} °C`;
  const text = words === '' ? degrees || 'heat not known' : [words, degrees].filter(Boolean).join(', ');
  const says = words === '' ? `How near it is to slowing down is not known${t.reason ? `: ${t.reason}` : ''}` : `${means[t.value]} (${t.source})`;
  return { words, text, says, shown: t.value === 'warm' || t.value === 'hot' };
}
