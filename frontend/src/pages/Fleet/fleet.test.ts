import { fireEvent, render, screen, within } from '@testing-library/svelte';
import { tick } from 'svelte';
import { describe, expect, it } from 'vitest';
import { fleet } from '../../lib/fleet.svelte';
import { goldenHello, showGolden, studio } from '../../test/golden';
import { belongings, heatOf, machines, memoryParts, tally } from './machine';
import Fleet from './Fleet.svelte';

const state = () => goldenHello().state;

describe('machines', () => {
  it('have this one first, with what is in its memory, biggest first', () => {
    const all = machines(state().nodes, belongings(state()));
    expect(all.map((m) => m.node.name)).toEqual(['studio', 'tower']);
    expect(all[0]!.models.map((d) => d.model)).toEqual(['qwen3:30b-a3b', 'llama3.2:3b', 'nomic-embed-text:latest', 'gemma-3-27b-it-Q4_K_M.gguf']);
    expect(all[1]!.pools.map((p) => p.name)).toEqual(['gpu0']);
  });
  it('are counted by state', () => {
    const [one, other] = Object.values(state().nodes);
    expect(tally([one!, other!])).toEqual([['serving', 1], ['paused', 1]]);
    const bare = { ...one!, state: 'serving', reason: 'no runtime is up' } as const;
    expect(tally([other!, bare, one!, bare])).toEqual([['serving', 1], ['idle', 2], ['paused', 1]]);
  });
});

describe('a memory bar', () => {
  const value = (parts: ReturnType<typeof memoryParts>, key: string) => parts.find((p) => p.key === key)!.value;
  it('splits what is resident into weights and the rest, and counts nothing twice', () => {
    const s = state();
    const pool = s.pools[`${studio}/unified`]!;
    const parts = memoryParts(pool, s.deployments, 71_200_000_000);
    expect(value(parts, 'weights') + value(parts, 'kv')).toBe(pool.resident_bytes);
    expect(value(parts, 'weights')).toBe(18_556_701_137 + 2_019_393_189);
    expect(value(parts, 'promised')).toBe(pool.reserved_bytes + pool.assumed_bytes);
    expect(value(parts, 'other')).toBe(71_200_000_000 - pool.resident_bytes);
  });
  it('takes nothing for granted that is not known', () => {
    const s = state();
    expect(value(memoryParts(s.pools['b81e05d7c6a2394f/gpu0']!, s.deployments, null), 'other')).toBe(0);
    expect(value(memoryParts(s.pools[`${studio}/unified`]!, {}, null), 'kv')).toBe(0);
  });
});

describe('heat', () => {
  const none = { value: '', known: false, source: '', reason: '', celsius: null } as const;
  it('is not taken for cool when it is not known', () => {
    expect(heatOf({ ...none, reason: 'no sensor' })).toMatchObject({ text: 'heat not known', words: '', shown: false });
    expect(heatOf({ ...none, reason: 'no sensor' }).says).toContain('no sensor');
    expect(heatOf({ ...none, celsius: 91 })).toMatchObject({ text: '91 °C', words: '' });
  });
  it('says the level and the temperature, and shows where there is little room once it matters', () => {
    expect(heatOf({ ...none, value: 'normal', known: true, source: 'hwmon coretemp', celsius: 54 })).toMatchObject({ text: 'cool, 54 °C', shown: false });
    expect(heatOf({ ...none, value: 'hot', known: true, source: 'thermal_throttle' })).toMatchObject({ text: 'slowed by heat', shown: true });
  });
});

describe('the page', () => {
  it('has a card for each machine with state, reason and what holds its memory', () => {
    showGolden();
    render(Fleet);
    const here = screen.getByRole('article', { name: 'studio' });
    for (const text of ['serving', 'router', 'this machine', '2 running', '2 running, 1 queued', 'Apple M2 Ultra', '144 GB', 'its runtime lets it go in 28 min', 'cool', 'on mains'])
      expect(within(here).getAllByText(text, { exact: false }).length, text).toBeGreaterThan(0);
    const tower = screen.getByRole('article', { name: 'tower' });
    for (const text of ['paused', 'a build (until 11:00)', 'ollama', 'memory tight', '91 °C', 'power not known']) expect(within(tower).getAllByText(text, { exact: false }).length, text).toBeGreaterThan(0);
  });

  it('shows trouble where a machine has no runtime that is up', () => {
    showGolden((h) => {
      Object.assign(h.state.nodes[studio]!, { state: 'serving', reason: 'no runtime is up' });
    });
    render(Fleet);
    const badge = within(screen.getByRole('article', { name: 'studio' })).getByTitle('no runtime is up');
    expect(badge.textContent!.trim()).toBe('no runtime is up');
    expect(badge.className).toContain('idle');
    expect(badge.className).not.toContain('serving');
  });

  it('says nothing of now while there is no connection', async () => {
    showGolden();
    render(Fleet);
    expect(screen.getAllByText('heard now').length).toBeGreaterThan(0);
    fleet.link = 'disconnected';
    await tick();
    expect(screen.queryByText('heard now')).toBeNull();
    const here = screen.getByRole('article', { name: 'studio' });
    expect(within(here).getByTitle(/^As of \d\d:\d\d:\d\d/).className).toContain('lost');
  });

  it('is compact for many, and finds one by its model or state', async () => {
    showGolden((h) => {
      for (let i = 0; i < 50; i++) h.state.nodes[`n${i}`] = { ...h.state.nodes[studio]!, id: `n${i}`, name: `node-${i}`, local: false, router: false, state: i === 7 ? 'offline' : 'serving' };
    });
    render(Fleet);
    expect(screen.getAllByRole('article')).toHaveLength(52);
    await fireEvent.click(screen.getByRole('button', { name: /1\s*offline/ }));
    expect(screen.getAllByRole('article').map((a) => within(a).getByRole('heading').textContent)).toEqual(['node-7']);
    await fireEvent.click(screen.getByRole('button', { name: /1\s*offline/ }));
    await fireEvent.input(screen.getByPlaceholderText('Machine, chip or model'), { target: { value: 'qwen3:30b' } });
    expect(screen.getAllByRole('article')).toHaveLength(1);
  });

  it('waits for the first state instead of showing an empty fleet', () => {
    render(Fleet);
    expect(screen.getByRole('status', { name: /Waiting/ })).toBeTruthy();
    expect(screen.queryByRole('article')).toBeNull();
  });
});
