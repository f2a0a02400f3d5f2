import { fireEvent, render, screen, within } from '@testing-library/svelte';
import { tick } from 'svelte';
import { describe, expect, it, vi } from 'vitest';
import { route } from '../../lib/route.svelte';
import { fleet } from '../../lib/fleet.svelte';
import { emptySections, opened } from '../../lib/feed';
import type { DecisionRecord } from '../../lib/record';
import type { DecisionRow } from '../../lib/wire';
import { engine, goldenHello, showGolden, studio } from '../../test/golden';
import decisionFile from '../../../../engine/admin/testdata/wire/decision.json';
import refusedFile from '../../../../engine/admin/testdata/wire/decision_refused.json';
import { lookOf } from '../../ui/OutcomeBadge.svelte';
import Decisions from './Decisions.svelte';
import RecordView from './RecordView.svelte';
import { filterOf, filtered, followed, marks, noFilter, sameModel } from './filter';
import { evidenceOf, extent, inOrder, ranked } from './signals';
import { spans, steps, tokensPerSecond, wentOn } from './timeline';
import { bodyOf, offers, protocols, wrongWith } from './tryit';
import { needs } from './words';

const decision = decisionFile as unknown as DecisionRecord;
const refused = refusedFile as unknown as DecisionRecord;
const rows = () => goldenHello().state.rows;
const ids = (r: readonly DecisionRow[]) => r.map((x) => x.request_id);

describe('the filter', () => {
  it('lets all through when it asks for nothing', () => {
    const r = rows();
    expect(filtered(r, noFilter)).toBe(r);
  });
  it('sorts out by what is asked, all at once', () => {
    for (const r of filtered(rows(), { ...noFilter, app: 'claude-code' })) expect(r.app).toBe('claude-code');
    expect(filtered(rows(), { ...noFilter, outcome: 'under_way' }).every((r) => r.outcome === '')).toBe(true);
    const trouble = filtered(rows(), { ...noFilter, outcome: 'trouble' });
    expect(trouble.length).toBeGreaterThan(0);
    expect(trouble.some((r) => r.outcome === 'ok' || r.outcome === '')).toBe(false);
    expect(ids(filtered(rows(), { ...noFilter, app: 'claude-code', text: 'CODING sonnet' }))).toEqual(['01JBQ7YZG9']);
    expect(filtered(rows(), { ...noFilter, text: 'no such words' })).toEqual([]);
  });
  it('takes an answer that was cut off for trouble, and its look says so', () => {
    const cut = { ...rows().find((r) => r.outcome === 'ok')!, outcome: 'truncated' } as DecisionRow;
    expect(filtered([cut], { ...noFilter, outcome: 'trouble' })).toEqual([cut]);
    expect(lookOf(cut).tone).toBe('bad');
  });
  it('knows a model by any spelling of its name', () => {
    expect(sameModel('Nomic-Embed-Text:latest', 'nomic-embed-text')).toBe(true);
    expect(sameModel('qwen3:8b', 'qwen3:30b')).toBe(false);
  });
  it('finds every word that stands in a row', () => {
    const row = (over: Partial<DecisionRow>) => ({ ...rows().find((r) => r.outcome === 'ok')!, ...over });
    const found = (r: DecisionRow, text: string) => filtered([r], { ...noFilter, text }).length === 1;
    const one = row({ deployment: 'a1/llama-server/gemma', retries: 2, load_ms: 10 });
    for (const text of ['answered', 'llama-server', '2× retried', 'loaded first', one.node_name, one.app]) expect(found(one, text), text).toBe(true);
    expect(found(one, 'held too long')).toBe(false);
    expect(found(row({ outcome: '', stage: 'held' }), 'held')).toBe(true);
    expect(found(row({ outcome: 'stream_invalid_after_commit' }), 'broke off')).toBe(true);
  });
  it('counts as retries what was tried again, not the attempt that was the last', () => {
    const row = (over: Partial<DecisionRow>) => marks({ ...rows().find((r) => r.outcome === 'ok')!, load_ms: 0, ...over });
    expect(row({ retries: 1 })).toBe('1× retried');
    expect(row({ retries: 1, outcome: 'failed', model: '', deployment: '' })).toBe('');
    expect(row({ retries: 2, outcome: 'failed', model: '', deployment: '' })).toBe('1× retried');
  });
  it('asks for nothing where an address names an outcome that there is not', () => {
    expect(filterOf({ outcome: 'nosuch' })).toEqual(noFilter);
    for (const outcome of ['under_way', 'trouble', 'held_out']) expect(filterOf({ outcome }).outcome).toBe(outcome);
  });
  it('survives an address that says more or less', () => {
    expect(filterOf({ app: 'x', colour: 'red' })).toEqual({ ...noFilter, app: 'x' });
  });
});

describe('older rows', () => {
  it('follow the live ones, each once', () => {
    const [a, b, c] = rows().slice(-3) as [DecisionRow, DecisionRow, DecisionRow];
    expect(ids(followed([a, b], [b, c]))).toEqual(ids([a, b, c]));
    expect(followed([], [c])).toEqual([c]);
  });
});

describe('a decision’s parts', () => {
  it('add up to its time', () => {
    const s = spans(decision);
    expect(s.map((p) => p.key)).toEqual(['queue', 'prefill', 'decode']);
    expect(s.reduce((a, p) => a + p.ms, 0)).toBeCloseTo(decision.timing.total_ms, 3);
    for (const [i, p] of s.entries()) expect(p.fromMs).toBeCloseTo(i === 0 ? 0 : s[i - 1]!.fromMs + s[i - 1]!.ms, 6);
  });
  it('count a load once, though the time to the first token holds it', () => {
    const s = spans({ ...decision, timing: { queue_ms: 100, load_ms: 5000, ttft_ms: 5600, total_ms: 8000 } });
    expect(s.map((p) => [p.key, Math.round(p.ms)])).toEqual([['queue', 100], ['load', 5000], ['prefill', 600], ['decode', 2300]]);
  });
  it('have no first token in an answer that came whole, but what its runtime says', () => {
    const whole = { ...decision, requirements: { ...decision.requirements, streaming: false }, timing: { queue_ms: 0, load_ms: 0, ttft_ms: 331, total_ms: 333 }, usage: { output: 14 } };
    expect(spans({ ...whole, runtime_timings: { Total: 0, Load: 0, Prefill: 8e6, Decode: 325e6 } }).map((p) => [p.key, p.ms])).toEqual([['queue', 0], ['prefill', 8], ['decode', 325]]);
    expect(spans({ ...whole, runtime_timings: undefined }).map((p) => p.label)).toEqual(['Queued', 'Working']);
    expect(tokensPerSecond({ ...whole, runtime_timings: undefined })).toBeNull();
    expect(tokensPerSecond(decision)).toBeCloseTo(388 / 5.44, 3);
  });
  it('have no answer where none came', () => {
    expect(spans(refused).map((p) => p.key)).toEqual(['queue', 'answer']);
    expect(spans(refused).at(-1)!.label).toBe('No answer');
  });
});

describe('an attempt that failed', () => {
  const [step] = decision.failover!;
  const after = (deployments: string[], chosen?: string) => {
    const r = { ...decision, chosen, failover: deployments.map((deployment) => ({ ...step!, deployment })) };
    return deployments.map((_, i) => wentOn(r, i));
  };
  it('is called what came of it', () => {
    expect(after(['n/r/a'], 'n/r/b')).toEqual(['failed over']);
    expect(after(['n/r/a'], 'n/r/a')).toEqual(['tried again']);
    expect(after(['n/r/a', 'n/r/b'])).toEqual(['failed over', 'failed']);
    expect(after(['n/r/a'], '')).toEqual(['failed']);
  });
});

describe('candidates', () => {
  it('have the chosen one first, and one axis for all', () => {
    expect(inOrder(decision).map((c) => c.score)).toEqual([0.5655, 0.5, -0.211]);
    const { low, high } = extent(decision.candidates!);
    expect(low).toBeCloseTo(-15, 5);
    expect(high).toBeCloseTo(101.33, 5);
    expect(ranked(decision)).toBe(true);
    expect(ranked({ ...decision, alias: undefined })).toBe(false);
  });
  it('say what their figures rest on', () => {
    expect(evidenceOf('measured:30 p75:measured:412').map((e) => e.text)).toEqual(['quality measured (30)', 'speed measured (412)']);
    expect(evidenceOf('prior:operator p75:heuristic').map((e) => e.tone)).toEqual(['note', 'plain']);
    expect(evidenceOf('prior:published scores, 2026-10')[0]!.text).toBe('quality: published scores, 2026-10');
    expect(evidenceOf('')).toEqual([]);
  });
});

describe('what a request asks for', () => {
  it('is said in words', () => {
    expect(needs(decision.requirements)).toEqual(['tools', 'a turn of several calls', 'thinking, up to 4,096 tok', 'streaming']);
    expect(needs(refused.requirements)).toEqual([]);
  });
});

describe('a request to try', () => {
  const ask = { model: 'auto', prompt: 'Hello', app: '', tools: true, json: true, image: true, streaming: true };
  it('is one that each protocol has, with nothing it does not', () => {
    for (const p of protocols) {
      const body = bodyOf(p.id, ask);
      expect(wrongWith(JSON.stringify(body))).toBe('');
      expect(body.model).toBe('auto');
      expect('tools' in body).toBe(offers(p.id).tools);
      expect(JSON.stringify(body)).toContain('Hello');
    }
  });
  it('is refused here when it is no object', () => {
    for (const text of ['', '[]', 'null', '{"model":']) expect(wrongWith(text)).not.toBe('');
  });
});

describe('the page', () => {
  const show = (hash: string) => {
    location.hash = hash;
    route.place = { ...route.place, ...{ page: 'decisions', rest: hash.split('/')[2]?.split('?')[0] ?? '', query: Object.fromEntries(new URLSearchParams(hash.split('?')[1] ?? '')) } };
    return render(Decisions);
  };

  it('lists what the feed has, held, queued and sent told apart', async () => {
    engine({ 'GET /admin/decisions': [] });
    showGolden();
    show('#/decisions');
    const grid = screen.getByRole('grid');
    expect(grid.getAttribute('aria-rowcount')).toBe(String(fleet.rows.length + 1));
    for (const word of ['held', 'queued', 'sent', 'answered', 'refused']) expect(within(grid).getAllByText(word).length).toBeGreaterThan(0);
  });

  it('shows a decision with candidates, exclusions with remedies, timeline and failover', async () => {
    const log = engine({ 'GET /admin/decisions/01JBQ7YZG9': { ...decision, scenario: 'node studio' }, 'GET /admin/decisions': [] });
    showGolden();
    show('#/decisions/01JBQ7YZG9');
    const panel = await screen.findByLabelText('Decision');
    await within(panel).findByText('Candidates');
    for (const text of ['chosen', 'needs 45.5 GB, offers 38.4 GB', 'unload a model, or raise memory_gb of pool unified', 'bellwether resume on tower', 'failed over', 'Copy as scenario', 'qwen3:30b-a3b scores best for coding (0.57)'])
      expect(within(panel).getAllByText(text, { exact: false }).length, text).toBeGreaterThan(0);
    expect(within(panel).getByLabelText(/qwen3:30b-a3b, 84.3 points: Warmth \+50/)).toBeTruthy();
    expect(log.asked.filter((a) => a.includes('01JBQ7YZG9'))).toHaveLength(1);
  });

  it('shows of a request under way what is decided so far, read anew as it moves and when it has ended', async () => {
    const going = { ...decision, request_id: '01JBQ7Z0H2', outcome: '' } as DecisionRecord;
    const answers: Record<string, unknown> = { 'GET /admin/decisions/01JBQ7Z0H2': going, 'GET /admin/decisions': [] };
    const log = engine(answers);
    const asked = () => log.asked.filter((a) => a.includes('01JBQ7Z0H2')).length;
    const set = (over: Partial<DecisionRow>) => (fleet.rows = fleet.rows.map((r) => (r.request_id === '01JBQ7Z0H2' ? { ...r, ...over } : r)));
    showGolden();
    show('#/decisions/01JBQ7Z0H2');
    expect(await screen.findByText('Sent to studio')).toBeTruthy();
    for (const card of ['Candidates', 'What it asks for', 'Why there']) expect(await screen.findByText(card)).toBeTruthy();
    expect(screen.queryByText('Where the time went')).toBeNull();
    expect(asked()).toBe(1);
    set({ queue_ms: 501 });
    await tick();
    expect(asked()).toBe(1);
    set({ stage: 'running' });
    await tick();
    expect(asked()).toBe(2);
    answers['GET /admin/decisions/01JBQ7Z0H2'] = { ...going, outcome: 'ok' };
    set({ outcome: 'ok', stage: '' });
    expect(await screen.findByText('Where the time went')).toBeTruthy();
    expect(asked()).toBe(3);
  });

  it('goes on showing where a request is when nothing is decided of it yet', async () => {
    engine({ 'GET /admin/decisions': [] });
    showGolden();
    show('#/decisions/01JBQ7Z0H2');
    expect(await screen.findByText('Sent to studio')).toBeTruthy();
    await tick();
    expect(screen.queryByRole('alert')).toBeNull();
  });

  it('tells queued, sent to and running on apart, in the list and opened', async () => {
    engine({ 'GET /admin/decisions': [] });
    showGolden();
    show('#/decisions/01JBQ7Z0H2');
    const now = () => document.querySelector('[aria-current="step"]')?.textContent ?? '';
    for (const [stage, words] of [['queued', 'Queued'], ['sent', 'Sent to studio'], ['running', 'Running on studio']] as const) {
      fleet.rows = fleet.rows.map((r) => (r.request_id === '01JBQ7Z0H2' ? { ...r, stage, ttft_ms: stage === 'running' ? 812 : 0 } : r));
      await tick();
      expect(now()).toContain(words);
    }
    for (const words of ['queued for studio, ollama', 'on studio, ollama']) expect(screen.getAllByText(words).length, words).toBeGreaterThan(0);
    for (const word of ['held', 'queued', 'running']) expect(screen.getAllByText(word).length, word).toBeGreaterThan(0);
  });

  it('says plainly that no machine has the model asked for', async () => {
    const nobody = { ...refused, request_id: 'NOBODY', requested_model: 'lama3.3', outcome: 'refused', status: 404, exclusions: undefined, candidates: [],
      reasons: ['no machine has a model called lama3.3; near in name: llama3.3:70b'], problem: "model 'lama3.3' not found. Fetch it with `bellwether models pull lama3.3`, or ask for an installed model. Similar: llama3.3:70b." };
    engine({ 'GET /admin/decisions/NOBODY': nobody, 'GET /admin/decisions': [] });
    showGolden();
    show('#/decisions/NOBODY');
    const panel = await screen.findByLabelText('Decision');
    expect(await within(panel).findByText(/There was nobody to choose from: no machine has what it asked for/)).toBeTruthy();
    for (const words of [/near in name: llama3\.3:70b/, /bellwether models pull lama3\.3/]) expect(within(panel).getByText(words)).toBeTruthy();
    expect(panel.textContent).not.toMatch(/reasons below|Left out|Without detail/);
  });

  it('says that a decision is not kept, and what to do, and nothing of it that it does not know', async () => {
    engine({ 'GET /admin/decisions': [] });
    showGolden();
    show('#/decisions/GONE');
    expect((await screen.findByRole('alert')).textContent).toContain('not kept any more');
    expect(screen.getByLabelText('Decision').querySelector('header')!.textContent).not.toMatch(/from|unknown|–/);
  });

  it('looks among older ones, page by page, before it says that nothing passes a filter', async () => {
    const page = (from: number, app: string) => Array.from({ length: 200 }, (_, i) => ({ ...decision, request_id: `OLD${from + i}`, app, tags: from + i === 250 ? ['garden'] : [] }));
    const pages = [page(0, 'n8n'), page(200, 'n8n'), []];
    const asked: string[] = [];
    vi.stubGlobal('fetch', async (url: string) => {
      asked.push(url);
      return new Response(JSON.stringify(pages.shift() ?? []));
    });
    showGolden();
    show('#/decisions?app=n8n&tag=garden');
    await tick();
    expect(screen.getByRole('status', { name: 'Looking among older decisions' })).toBeTruthy();
    expect(screen.queryByText(/Nothing matches/)).toBeNull();
    const grid = await screen.findByRole('grid');
    expect(grid.getAttribute('aria-rowcount')).toBe('2');
    expect(asked[0]).toContain('app=n8n');
    expect(asked[1]).toContain('after=OLD199');
  });

  it('says that nothing passes a filter once there is nothing older, and at once of what is under way', async () => {
    const log = engine({ 'GET /admin/decisions': [] });
    showGolden();
    const first = show('#/decisions?app=n8n');
    expect(await screen.findByText('No decision that is kept passes this filter.')).toBeTruthy();
    expect(log.asked).toEqual(['GET /admin/decisions?app=n8n&limit=200']);
    first.unmount();
    show('#/decisions?app=n8n&outcome=under_way');
    expect(await screen.findByText('No request that is under way passes this filter.')).toBeTruthy();
    expect(log.asked).toHaveLength(1);
  });

  it('says what kept it from reading older ones, and tries again', async () => {
    const answers: Record<string, unknown> = { 'GET /admin/decisions': new Response(JSON.stringify({ error: { code: 'store', message: 'The disk is full.' } }), { status: 500 }) };
    engine(answers);
    showGolden();
    show('#/decisions?app=n8n');
    expect((await screen.findByRole('alert')).textContent).toContain('The disk is full.');
    answers['GET /admin/decisions'] = [{ ...decision, app: 'n8n', request_id: 'OLD' }];
    await fireEvent.click(screen.getByText('Try again'));
    expect(await screen.findByRole('grid')).toBeTruthy();
  });

  it('reads older ones again once the engine is back, below the rows that the feed has now', async () => {
    const answers: Record<string, unknown> = { 'GET /admin/decisions': [{ ...decision, request_id: 'BEFORE' }] };
    const log = engine(answers);
    showGolden();
    show('#/decisions');
    const grid = await screen.findByRole('grid');
    expect(await within(grid).findByText(/there are none before/)).toBeTruthy();
    const hello = goldenHello();
    const row = hello.state.rows.find((r) => r.outcome === 'ok')!;
    hello.state.rows = [{ ...row, request_id: 'AFTER', at: new Date(Date.parse(row.at) + 9e6).toISOString() }];
    answers['GET /admin/decisions'] = new Response('', { status: 503 });
    fleet.link = 'disconnected';
    await tick();
    fleet.load(opened(hello, { seq: 1, sections: emptySections(), rows: fleet.rows, breaks: 0 }));
    fleet.link = 'disconnected'; // what is asked for at this moment fails
    expect(await within(grid).findByText(/could not be read/)).toBeTruthy();
    expect(grid.getAttribute('aria-rowcount')).toBe('2');
    answers['GET /admin/decisions'] = [{ ...decision, request_id: 'MISSED' }, { ...decision, request_id: 'BEFORE' }];
    fleet.link = 'live';
    fleet.rows = [...fleet.rows];
    expect(await within(grid).findByText(/3 shown; there are none before/)).toBeTruthy();
    expect(log.asked.at(-1)).toContain('after=AFTER');
  });

  it('tells where a request went that failed, by machine and runtime, and leads nowhere else for it', async () => {
    const id = `${studio}/llama-server/gemma-3-27b-it-Q4_K_M.gguf`;
    const failed = { ...decision, request_id: 'FAILED', outcome: 'failed', status: 503, chosen: undefined, node: 'studio', candidates: [], scenario: 'node studio',
      exclusions: { [id]: [{ code: 'failed_before', reason: 'this request failed on studio already', remedy: 'see the failed attempt in the decision record' }] },
      problem: 'It could not be loaded: out of memory.' };
    engine({ 'GET /admin/decisions/FAILED': failed, 'GET /admin/decisions': [] });
    showGolden((h) => {
      const r = Object.values(h.state.runtimes).find((x) => x.node_id === studio)!;
      for (const name of ['ollama', 'llama-server']) h.state.runtimes[`${studio}/${name}`] = { ...r, name };
    });
    show('#/decisions/FAILED');
    const panel = await screen.findByLabelText('Decision');
    expect(await within(panel).findByText(/It was sent to gemma-3-27b-it-Q4_K_M\.gguf on studio, llama-server, and failed there\. Nobody else was left/)).toBeTruthy();
    expect(within(panel).getAllByText('failed').length).toBe(2); // its outcome, and the attempt's
    expect(panel.textContent).not.toMatch(/failed over|every deployment|decision record/);
    expect(panel.textContent!.match(/on studio, llama-server/g)!.length).toBe(4); // header, attempt, candidates, left out
    expect(within(panel).getByText('studio, llama-server')).toBeTruthy(); // where it was sent
  });

  it('says why there is no scenario to copy', async () => {
    const bare = { ...decision, request_id: 'BARE' };
    const unasked = { ...bare, candidates: [], exclusions: undefined, failover: undefined, outcome: 'refused' };
    const answers: Record<string, unknown> = { 'GET /admin/decisions/BARE': bare, 'GET /admin/decisions': [] };
    engine(answers);
    showGolden();
    const first = show('#/decisions/BARE');
    expect(await screen.findByText('no scenario: of many requests at once only the first are kept whole')).toBeTruthy();
    expect(screen.queryByText('Copy as scenario')).toBeNull();
    first.unmount();
    answers['GET /admin/decisions/BARE'] = unasked;
    show('#/decisions/BARE');
    expect(await screen.findByText('no scenario: nobody was compared')).toBeTruthy();
  });

  it('stands still while it is frozen, and counts what came; held is said of requests alone', async () => {
    engine({ 'GET /admin/decisions': [] });
    showGolden();
    show('#/decisions');
    expect(screen.queryByRole('button', { name: /hold|held/i })).toBeNull();
    await fireEvent.click(screen.getByText('Freeze'));
    const before = screen.getByRole('grid').getAttribute('aria-rowcount');
    fleet.rows = [{ ...fleet.rows[0]!, request_id: 'NEW' }, ...fleet.rows];
    await tick();
    expect(screen.getByRole('grid').getAttribute('aria-rowcount')).toBe(before);
    await fireEvent.click(screen.getByText('Follow (1 new)'));
    expect(screen.getByRole('grid').getAttribute('aria-rowcount')).toBe(String(fleet.rows.length + 1));
  });

  it('tells how a first decision comes about where there is none', async () => {
    engine({ 'GET /admin/decisions': [] });
    showGolden((h) => (h.state.rows = []));
    show('#/decisions');
    expect(await screen.findByText('No decisions yet')).toBeTruthy();
    expect(screen.getByText('http://localhost:11435')).toBeTruthy();
  });

  it('tries a request without sending it', async () => {
    const log = engine({ 'POST /admin/explain/openai-chat': { requirements: decision.requirements, micros: 84, verdict: 'serve', chosen: decision.chosen, record: decision, text: 'because' }, 'GET /admin/decisions': [] });
    showGolden();
    show('#/decisions/try');
    await fireEvent.submit(screen.getByText('Decide').closest('form')!);
    expect(await screen.findByText('would be served')).toBeTruthy();
    expect(screen.queryByText('Where the time went')).toBeNull();
    expect(log.bodies.find((b) => b !== undefined)).toMatchObject({ model: 'auto', stream: true });
  });
});

describe('the steps of a request under way', () => {
  const row = { at: '2026-11-02T08:00:00Z', node_name: 'studio', queue_ms: 400, ttft_ms: 0 };
  const at = Date.parse(row.at) + 3000;
  const told = (stage: DecisionRow['stage'], over = {}) => steps({ ...row, ...over, stage }, at).map((s) => `${s.label} ${s.state} ${s.ms}`);
  it('promise nothing that has not come', () => {
    expect(told('queued', { queue_ms: 0 })).toEqual(['Queued now 3000', 'Sent to studio ahead null', 'Running on studio ahead null']);
    expect(told('held', { node_name: '', queue_ms: 0 })[0]).toBe('Held now 3000');
    expect(told('held', { node_name: '', queue_ms: 0 })[1]).toBe('Sent to a machine ahead null');
  });
  it('part the time since it came', () => {
    expect(told('sent')).toEqual(['Queued over 400', 'Sent to studio now 2600', 'Running on studio ahead null']);
    expect(told('running', { ttft_ms: 600 })).toEqual(['Queued over 400', 'Sent to studio over 600', 'Running on studio now 2000']);
  });
});

describe('a record that broke off', () => {
  it('says why it broke off apart from why it went there', () => {
    showGolden();
    render(RecordView, { record: { ...decision, outcome: 'truncated', problem: 'the runtime ended the stream' } as DecisionRecord });
    const card = (title: string) => screen.getByRole('heading', { name: title }).closest('section, article, div')!;
    expect(card('Why it broke off').parentElement!.textContent).toContain('the runtime ended the stream');
    expect(screen.getByRole('heading', { name: 'Why there' })).toBeTruthy();
    expect(screen.getAllByText('the runtime ended the stream')).toHaveLength(1);
  });
});
