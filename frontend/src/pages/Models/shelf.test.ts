import { describe, expect, it } from 'vitest';
import hello from '../../../../engine/admin/testdata/wire/hello.json';
import { natural } from '../../lib/order';
import type { DeploymentView, HelloFrame } from '../../lib/wire';
import { abilities, bestQuality, busyWords, can, evidenceWords, shelves, totals, trouble, type Wish } from './shelf';

const state = (hello as unknown as HelloFrame).state;
const name = (id: string) => state.nodes[id]?.name ?? id;
const all: Wish = { text: '', show: 'all', node: '' };
const models = (wish: Partial<Wish>) => shelves(state.deployments, { ...all, ...wish }, name).map((s) => s.model);
const first = Object.values(state.deployments)[0]!;
const like = (over: Partial<DeploymentView>): DeploymentView => ({ ...first, ...over });

describe('shelves', () => {
  it('lists every model once, by name', () => {
    const got = models({});
    expect(got).toEqual([...new Set(Object.values(state.deployments).map((d) => d.model))].sort(natural));
    const ten = Object.fromEntries(['family1', 'family10', 'family2'].map((m) => [m, like({ id: m, model: m })]));
    expect(shelves(ten, all, name).map((s) => s.model)).toEqual(['family1', 'family2', 'family10']);
  });
  it('puts copies of a model together by machine and runtime, in places that no load changes', () => {
    const [near, far] = Object.keys(state.nodes) as [string, string];
    const copies = (loaded: string) => ['x', 'y', 'z'].map((id, i) => like({ id, model: 'm', node_id: [far, near, near][i]!, runtime: ['ollama', 'ollama', 'llama-server'][i]!, residency: id === loaded ? 'loaded' : 'on_disk' }));
    const order = (loaded: string) => shelves(Object.fromEntries(copies(loaded).map((d) => [d.id, d])), all, name)[0]!;
    const names = [name(near), name(far)];
    expect(order('x').deployments.map((d) => d.id)).toEqual(names[0]! < names[1]! ? ['z', 'y', 'x'] : ['x', 'z', 'y']);
    for (const loaded of ['x', 'y', 'z', '']) expect(order(loaded).deployments.map((d) => d.id)).toEqual(order('x').deployments.map((d) => d.id));
    expect(order('y').loaded).toBe(1);
  });
  it('finds by parts of names, tags and machines, all words at once', () => {
    expect(models({ text: 'QWEN3:30' })).toEqual(['qwen3:30b-a3b']);
    expect(models({ text: 'tower' })).toEqual(['qwen3:8b']);
    expect(models({ text: 'studio work' })).toEqual(['qwen3:30b-a3b']);
    expect(models({ text: 'nobody' })).toEqual([]);
  });
  it('shows only what is loaded, or in trouble', () => {
    expect(models({ show: 'loaded' })).not.toContain('deepseek-r1:70b');
    expect(models({ show: 'trouble' })).toContain('llama3.2:3b');
    expect(models({ show: 'trouble' })).not.toContain('qwen3:30b-a3b');
  });
});

describe('totals', () => {
  it('counts weights that two names share once', () => {
    const t = totals({ a: like({ id: 'a', digest: 'x', weights_bytes: 5, residency: 'on_disk' }), b: like({ id: 'b', digest: 'x', weights_bytes: 5, residency: 'loaded', resident_bytes: 7 }) });
    expect(t).toMatchObject({ deployments: 2, loaded: 1, diskBytes: 5, residentBytes: 7 });
  });
});

describe('words', () => {
  it('tell what is wrong, worst first', () => {
    expect(trouble(like({ unhealthy: 'it is gone', degraded: 'slow' }))).toBe('it is gone');
    expect(trouble(like({ unhealthy: '', degraded: '', disabled: true }))).toBe('switched off in the settings');
    expect(trouble(like({ unhealthy: '', degraded: '', disabled: false }))).toBe('');
  });
  it('tell of abilities in a fixed order, unknown names last', () => {
    const d = like({ capabilities: { zz_top: { support: 'yes', source: 'probe' }, vision: { support: 'yes', source: 'runtime' }, chat: { support: 'yes', source: 'runtime' }, tools: { support: 'no', source: 'template' } } });
    expect(abilities(d).map((a) => a.words)).toEqual(['chat', 'tools', 'images', 'zz top']);
    expect(can(d)).toEqual(['chat', 'images']);
  });
  it('tell where a quality comes from', () => {
    expect(evidenceWords({ task: 'coding', value: 0.8, evidence: 'measured:30' })).toEqual({ kind: 'measured', words: 'measured here, 30 items' });
    expect(evidenceWords({ task: 'any', value: 0.8, evidence: 'prior:operator' })).toEqual({ kind: 'said', words: 'you said so' });
    expect(evidenceWords({ task: 'any', value: 0.8, evidence: 'prior:a board: 2026-10' })).toEqual({ kind: 'published', words: 'a board: 2026-10' });
  });
  it('prefer what was measured', () => {
    const q = [{ task: 'any', value: 0.5, evidence: 'prior:x' }, { task: 'math', value: 0.9, evidence: 'measured:10' }];
    expect(bestQuality(q)?.task).toBe('math');
    expect(bestQuality([])).toBeUndefined();
  });
  it('tell what a lane does', () => {
    const lane = state.lanes[Object.keys(state.lanes).find((k) => k.includes('qwen'))!];
    expect(busyWords(lane)).toBe('2 running, 1 waiting');
    expect(busyWords(undefined)).toBe('');
  });
});
