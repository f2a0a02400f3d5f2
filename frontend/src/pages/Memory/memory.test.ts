import { fireEvent, render, screen, within } from '@testing-library/svelte';
import { describe, expect, it } from 'vitest';
import type { EvictionPlan, PoolHistory } from '../../lib/wire';
import { engine, goldenHello, showGolden, studio } from '../../test/golden';
import historyFile from '../../../../engine/admin/testdata/wire/history.json';
import planFile from '../../../../engine/admin/testdata/wire/plan.json';
import Memory from './Memory.svelte';
import { budgetParts, byWeight, claims, room, stacked, taken } from './pool';

const pool = () => goldenHello().state.pools[`${studio}/unified`]!;

describe('a pool’s budget', () => {
  it('fills its bar to the ceiling, and no further', () => {
    const p = pool();
    expect(budgetParts(p).reduce((a, x) => a + x.value, 0)).toBe(p.limit_bytes);
    expect(taken(p) + room(p) + p.margin_bytes).toBe(p.limit_bytes);
  });
  it('has no room below zero when more is held than it has', () => {
    const p = { ...pool(), resident_bytes: 200e9 };
    expect(room(p)).toBeLessThan(0);
    expect(budgetParts(p).find((x) => x.key === 'room')!.value).toBe(0);
  });
  it('has a claim that another covers below it, and none that is only assumed beside it', () => {
    const h = (deployment: string, kind: 'resident' | 'reserved' | 'assumed' | 'uncertain', bytes: number | null, counted_bytes: number) => ({ ...pool().holders[0]!, deployment, kind, bytes, counted_bytes });
    const list = claims([h('a', 'resident', 5, 5), h('b', 'resident', 3, 3), h('a', 'assumed', 5, 0), h('a', 'uncertain', 2, 0), h('c', 'assumed', 1, 1), h('d', 'assumed', null, 0)]);
    expect(list.map((x) => [x.h.deployment, x.h.kind, x.within])).toEqual([
      ['a', 'resident', null], ['a', 'uncertain', 'resident'], ['b', 'resident', null], ['c', 'assumed', null], ['d', 'assumed', null]]);
  });
  it('lists holders by what they count for', () => {
    expect(byWeight(pool().holders).map((h) => h.kind)).toEqual(['resident', 'reserved', 'resident', 'assumed', 'uncertain']);
  });
});

describe('its hour', () => {
  it('stacks, and has a gap where a sample is missing', () => {
    const h = { resident_bytes: [1, 2, null], reserved_bytes: [10, 0, 0], uncertain_bytes: [0, 0, 0], assumed_bytes: [5, 5, 5] } as unknown as PoolHistory;
    expect(stacked(h)).toEqual([[1, 2, null], [11, 2, null], [11, 2, null], [16, 7, null]]);
  });
  it('of the wire has as many sums as samples', () => {
    const h = Object.values(historyFile.pools)[0] as PoolHistory;
    for (const s of stacked(h)) expect(s).toHaveLength(historyFile.samples);
  });
});

describe('the page', () => {
  it('names who holds what, and marks what is not counted', async () => {
    engine({ 'GET /admin/history': { ...historyFile, pools: {} } });
    showGolden();
    render(Memory);
    const table = screen.getByRole('table', { name: 'Who holds memory of unified' });
    const lines = within(table).getAllByRole('row').slice(1).map((r) => r.textContent!.replace(/\s+/g, ' '));
    expect(lines).toHaveLength(5);
    expect(lines[0]).toContain('qwen3:30b-a3b');
    expect(lines[1]).toMatch(/gemma.*reserved.*17\.7 GB/);
    expect(lines.find((l) => /uncertain/.test(l))).toMatch(/uncertain.*within resident.*ends in/);
    expect(screen.getByText('not known')).toBeTruthy();
    expect((await screen.findAllByText('Nothing was sampled of this pool yet.')).length).toBe(2);
  });

  it('shows a pool set to 24 GB as 24 GB', () => {
    engine({ 'GET /admin/history': { ...historyFile, pools: {} } });
    showGolden((hello) => Object.assign(hello.state.pools[`${studio}/unified`]!, { total_bytes: 64 * 2 ** 30, limit_bytes: 24 * 2 ** 30, margin_bytes: 1.5 * 2 ** 30 }));
    render(Memory);
    expect(screen.getByText(/held of 24 GB for models/)).toBeTruthy();
    expect(document.body.textContent).toMatch(/64 GB/);
  });

  it('says what would be unloaded for a model, in order', async () => {
    const log = engine({ 'GET /admin/history': { ...historyFile, pools: {} }, [`GET /admin/pools/${studio}/unified/plan`]: planFile as unknown as EvictionPlan });
    showGolden();
    render(Memory);
    const choice = screen.getAllByRole('combobox')[0]!;
    await fireEvent.change(choice, { target: { value: `${studio}/ollama/deepseek-r1:70b` } });
    expect(await screen.findByText('fits after unloading')).toBeTruthy();
    expect(log.asked.at(-1)).toBe(`GET /admin/pools/${studio}/unified/plan?model=${studio}%2Follama%2Fdeepseek-r1%3A70b`);
    expect(screen.getAllByText(/would free/).map((x) => x.textContent)).toEqual(['would free 3.6 GB, loaded 9 min ago', 'would free an unknown amount']);
  });

  it('tells of room only where something is to be loaded', async () => {
    const path = `GET /admin/pools/${studio}/unified/plan`;
    const answers: Record<string, unknown> = { 'GET /admin/history': { ...historyFile, pools: {} }, [path]: planFile };
    engine(answers);
    showGolden();
    render(Memory);
    const choice = screen.getAllByRole('combobox')[0]!;
    await fireEvent.change(choice, { target: { value: `${studio}/ollama/deepseek-r1:70b` } });
    expect((await screen.findByText(/there is room for/)).textContent).toBe('It needs 45.5 GB; there is room for 38.4 GB.');
    answers[path] = { ...planFile, verdict: 'loaded', evict: [], text: 'It is in memory already.' };
    await fireEvent.change(choice, { target: { value: `${studio}/ollama/llama3.2:3b` } });
    await screen.findByText('It is in memory already.');
    expect(screen.queryByText(/there is room for/)).toBeNull();
  });

  it('asks for the one of two runtimes that is meant, and names their runtimes', async () => {
    const log = engine({ 'GET /admin/history': { ...historyFile, pools: {} }, [`GET /admin/pools/${studio}/unified/plan`]: planFile as unknown as EvictionPlan });
    const ids = ['ollama', 'llama-server'].map((r) => `${studio}/${r}/deepseek-r1:70b`);
    showGolden((h) => {
      const d = h.state.deployments[ids[0]!]!;
      h.state.deployments[ids[1]!] = { ...d, id: ids[1]!, runtime: 'llama-server' };
    });
    render(Memory);
    const choice = screen.getAllByRole('combobox')[0] as HTMLSelectElement;
    const both = [...choice.options].filter((o) => o.text.includes('deepseek'));
    expect(both.map((o) => [o.value, o.text.split(',')[0]])).toEqual(expect.arrayContaining([[ids[0], 'deepseek-r1:70b on ollama'], [ids[1], 'deepseek-r1:70b on llama-server']]));
    await fireEvent.change(choice, { target: { value: ids[1] } });
    await screen.findByText('fits after unloading');
    expect(log.asked.at(-1)).toBe(`GET /admin/pools/${studio}/unified/plan?model=${studio}%2Fllama-server%2Fdeepseek-r1%3A70b`);
    expect(choice.value).toBe(ids[1]);
  });
});
