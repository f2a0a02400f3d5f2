import { afterEach, expect, it, vi } from 'vitest';
import { notices } from './notices.svelte';

// Two tabs of one browser: each has its own program, and the engine one session.
let unlocked = true;
async function tab() {
  vi.resetModules();
  const { session } = await import('./session.svelte');
  const { notices } = await import('./notices.svelte');
  const stop = session.start();
  stops.push(stop);
  await vi.waitFor(() => expect(session.known).toBe(true));
  return { session, notices };
}
const stops: (() => void)[] = [];
afterEach(() => stops.splice(0).forEach((s) => s()));

function engine() {
  vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
    if (path.endsWith('/lock') && init?.method === 'POST') unlocked = false;
    const refused = path.endsWith('/pause') && !unlocked;
    const body = refused ? { error: { code: 'admin_token_needed', message: 'needs its owner' } } : { unlocked, version: 't', node_name: 'n', unlock: unlocked ? '' : 'Run bellwether open.' };
    return new Response(JSON.stringify(body), { status: refused ? 403 : 200 });
  });
}

it('is one for all tabs: locked in one, it is locked in the others, and unlocked again', async () => {
  engine();
  unlocked = true;
  const [a, b] = [await tab(), await tab()];
  expect([a.session.unlocked, b.session.unlocked]).toEqual([true, true]);
  await a.session.lock();
  expect(a.session.unlocked).toBe(false);
  await vi.waitFor(() => expect(b.session.unlocked).toBe(false));
  expect(b.notices.list.map((n) => n.text).join()).toMatch(/This browser was locked: it may only read\. Run bellwether open/);
  expect(a.notices.list).toEqual([]); // its own owner did it, and is told there
  unlocked = true; // by a link, in a third tab
  const c = await tab();
  expect(c.session.unlocked).toBe(true);
  await vi.waitFor(() => expect([a.session.unlocked, b.session.unlocked]).toEqual([true, true]));
});

it('that ended without a word shows with the first refusal, in every tab', async () => {
  engine();
  unlocked = true;
  const [a, b] = [await tab(), await tab()];
  unlocked = false;
  const { post } = await import('./api'); // of the second tab
  await post('pause').catch(() => {});
  await vi.waitFor(() => expect([a.session.unlocked, b.session.unlocked]).toEqual([false, false]));
  expect(notices.list).toEqual([]);
});

it('takes what was asked before it was here, and asks itself where there was no answer', async () => {
  engine();
  unlocked = false;
  window.bellwetherSession = Promise.resolve({ unlocked: true, version: 't', node_name: 'n', unlock: '' });
  expect((await tab()).session.unlocked).toBe(true);
  expect(window.bellwetherSession).toBeUndefined(); // it is of that moment only
  window.bellwetherSession = Promise.resolve(null);
  expect((await tab()).session.unlocked).toBe(false);
});
