import { render, screen } from '@testing-library/svelte';
import { tick } from 'svelte';
import { expect, it } from 'vitest';
import { route } from '../lib/route.svelte';
import type { DecisionRecord } from '../lib/record';
import { engine, goldenHello, showGolden, studio } from '../test/golden';
import apps from '../../../engine/admin/testdata/wire/apps.json';
import decision from '../../../engine/admin/testdata/wire/decision.json';
import history from '../../../engine/admin/testdata/wire/history.json';
import refused from '../../../engine/admin/testdata/wire/decision_refused.json';
import { askedFor, named, runtimeWord } from '../lib/fleet.svelte';
import { pages } from './pages';
import './rest'; // read before a test's time begins
import RecordView from './Decisions/RecordView.svelte';

/** raw are the words of code that somebody can read, but for what is marked as code: names of settings, of API fields, of commands. */
function raw(): string[] {
  const found: string[] = [];
  const look = (text: string | null) => found.push(...(text?.match(/(?<![\w.-])[a-z]+_[a-z_]+(?![\w.-])|\b[0-9a-f]{16}\b/g) ?? []));
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    if (n instanceof Element) for (const a of ['title', 'aria-label', 'placeholder']) look(n.getAttribute(a));
    else if (!n.parentElement?.closest('code, .mono, option')) look(n.textContent);
  }
  return found;
}

const answers = { 'GET /admin/apps': apps, 'GET /admin/history': { ...history, pools: {} }, 'GET /admin/decisions': [], 'GET /admin/log': [] };
// Titles of deployments are their ids, for who looks for exactly one; settings are called by their keys.
const allowed = (w: string) => /^[0-9a-f]{16}$/.test(w) || /^(memory_gb|margin_gb)$/.test(w);

it.each(pages.filter((p) => p.id !== 'settings').map((p) => [p.id, p] as const))('%s shows no word of code', async (id, page) => {
  engine(answers);
  showGolden();
  route.place = { ...route.place, page: id, rest: '', query: {} };
  const { default: Page } = await page.load();
  render(Page);
  await tick();
  expect(document.body.textContent!.length).toBeGreaterThan(50);
  expect(raw().filter((w) => !allowed(w))).toEqual([]);
});

it('a record shows no word of code, whatever its notes', () => {
  showGolden();
  const notes = ['thinking_room', 'num_ctx_reload', 'task_asked: gemma says coding', 'only_thought: the answer is reasoning and nothing else'];
  const parts = [{ first: 1, last: 8, outcome: 'client_disconnected', queue_ms: 0, took_ms: 1 }];
  for (const r of [decision, refused]) {
    const record = { ...r, notes, parts, candidates: (r as unknown as DecisionRecord).candidates!.map((c) => ({ ...c, notes })), problem: `${studio}/ollama/qwen3:8b failed` };
    const { unmount } = render(RecordView, { record: record as unknown as DecisionRecord });
    expect(raw().filter((w) => !allowed(w))).toEqual([]);
    expect(screen.getByText('studio/ollama/qwen3:8b failed')).toBeTruthy();
    unmount();
  }
});

it('names the machine of an id, and the runtime where a machine has several', () => {
  showGolden();
  const tower = Object.keys(goldenHello().state.nodes).find((id) => id !== studio)!;
  expect(named(`no machine could serve ${studio}/ollama/qwen3:8b, ${tower}/ollama/x; see https://${studio}.example/y`)).toBe(`no machine could serve studio/ollama/qwen3:8b, tower/ollama/x; see https://${studio}.example/y`);
  expect(named('hf.co/a/b:q4')).toBe('hf.co/a/b:q4');
  expect([askedFor(`${studio}/ollama/hf.co/a/b:q4`), askedFor('hf.co/a/b:q4'), askedFor('qwen3:8b')]).toEqual(['hf.co/a/b:q4', 'hf.co/a/b:q4', 'qwen3:8b']);
  expect([runtimeWord(`${studio}/ollama/m`), runtimeWord(`${tower}/ollama/m`), runtimeWord('')]).toEqual(['ollama', '', '']);
});
