import { fireEvent, render, screen } from '@testing-library/svelte';
import { tick } from 'svelte';
import { describe, expect, it, vi } from 'vitest';
import { post } from '../lib/api';
import { confirm } from '../lib/confirm.svelte';
import { opened } from '../lib/feed';
import { fleet } from '../lib/fleet.svelte';
import { keys } from '../lib/keys.svelte';
import { carryOut, notices } from '../lib/notices.svelte';
import { now } from '../lib/now.svelte';
import { route } from '../lib/route.svelte';
import { session } from '../lib/session.svelte';
import { drafting } from '../pages/Settings/draft.svelte';
import { engine, goldenHello, showGolden } from '../test/golden';
import lockedFile from '../../../engine/admin/testdata/wire/session_locked.json';
import Confirmation from './Confirmation.svelte';
import { pauses, tomorrow } from './pauses';
import Sidebar from './Sidebar.svelte';
import StatusHeader from './StatusHeader.svelte';
import Toasts from '../ui/Toasts.svelte';

describe('the header', () => {
  it('pauses for as long as was chosen, and offers to resume', async () => {
    const log = engine({ 'POST /admin/pause': {}, 'POST /admin/resume': {} });
    showGolden();
    render(StatusHeader, { title: 'Fleet' });
    render(Toasts);
    await fireEvent.click(screen.getByRole('button', { name: 'Pause this machine' }));
    await fireEvent.click(screen.getByRole('menuitem', { name: 'For 1 hour' }));
    await vi.waitFor(() => expect(notices.list).toHaveLength(1));
    expect(log.bodies[0]).toMatchObject({ seconds: 3600 });
    expect(notices.list[0]!.text).toMatch(/^studio is paused until (\d+ \w{3} )?\d\d:\d\d\.$/);
    await fireEvent.click(await screen.findByText('Resume'));
    await vi.waitFor(() => expect(log.asked).toEqual(['POST /admin/pause', 'POST /admin/resume']));
  });

  it('tells of a pause only while there is one', async () => {
    engine({ 'POST /admin/pause': {} });
    showGolden();
    render(StatusHeader, { title: 'Fleet' });
    render(Toasts);
    await fireEvent.click(screen.getByRole('button', { name: 'Pause this machine' }));
    await fireEvent.click(screen.getByRole('menuitem', { name: 'Until resumed' }));
    await vi.waitFor(() => expect(notices.list).toHaveLength(1));
    const feed = async (paused: boolean) => {
      fleet.nodes = { ...fleet.nodes, [fleet.here!.id]: { ...fleet.here!, paused } };
      await tick();
    };
    await feed(true);
    expect(notices.list.map((n) => n.text)).toEqual(['studio is paused until it is resumed.']);
    await feed(false); // resumed from elsewhere
    expect(notices.list).toEqual([]);
  });

  it('says until when the machine is paused', () => {
    const paused = (until: string | null) => {
      showGolden((hello) => Object.assign(Object.values(hello.state.nodes).find((n) => n.local)!, { state: 'paused', paused: true, paused_until: until }));
      const { container, unmount } = render(StatusHeader, { title: 'Fleet' });
      const said = container.querySelector('.here')!.textContent!;
      unmount();
      return said;
    };
    const at = (time: number) => new Date(time).toISOString();
    const later = new Date(now.ms);
    later.setHours(23, 58, 30, 0);
    expect(paused(at(later.getTime()))).toMatch(/paused\s*until 23:58\s*Resume/);
    expect(paused(at(later.getTime() + 86_400_000))).toMatch(/until \d+ \w+ 23:58/);
    expect(paused(null)).toContain('until resumed');
  });

  it('says until when a request is held, with the day where that is not today', () => {
    const said = (until: string | null) => {
      showGolden((hello) => Object.assign(hello.state.meta.engine!, { held_requests: 1, held_until: until }));
      const { container, unmount } = render(StatusHeader, { title: 'Fleet' });
      const text = container.querySelector('.load')!.textContent!.replace(/\s+/g, ' ');
      unmount();
      return text;
    };
    const soon = new Date(now.ms);
    soon.setHours(23, 58, 30, 0);
    expect(said(soon.toISOString())).toMatch(/, 1 held until 23:58:30/);
    expect(said(new Date(soon.getTime() + 86_400_000).toISOString())).toMatch(/1 held until \d+ \w{3} 23:58/);
    expect(said(null)).toMatch(/1 held ?$/);
  });

  it('says how to unlock instead of acting while it may only read', async () => {
    const log = engine({ 'GET /admin/session': lockedFile });
    showGolden();
    session.unlocked = false;
    session.unlock = lockedFile.unlock;
    render(StatusHeader, { title: 'Fleet' });
    await fireEvent.click(screen.getByRole('button', { name: 'Pause' }));
    expect(screen.getByRole('dialog').textContent).toContain('bellwether open');
    expect(log.asked).toEqual([]);
  });

  it('shows a lost connection, what is shown being old, and tries at once when asked', async () => {
    showGolden();
    render(StatusHeader, { title: 'Fleet' });
    expect(screen.queryByRole('status')).toBeNull();
    fleet.link = 'disconnected';
    fleet.retryAt = Date.now() + 5000;
    await tick();
    expect(screen.getByRole('status').textContent).toContain('No connection to Bellwether');
    const retry = vi.spyOn(fleet, 'retry').mockImplementation(() => {});
    await fireEvent.click(screen.getByText('Try now'));
    expect(retry).toHaveBeenCalledOnce();
    fleet.link = 'stale';
    await tick();
    expect(screen.getByRole('status').textContent).toContain('Catching up');
  });

  it('is amber with the reason where no runtime is up, and grey with its time without a connection', async () => {
    showGolden((h) => {
      Object.assign(Object.values(h.state.nodes).find((n) => n.local)!, { state: 'serving', reason: 'no runtime is up' });
    });
    render(StatusHeader, { title: 'Fleet' });
    expect(screen.getByText('no runtime is up').closest('.badge')!.className).toMatch(/idle/);
    fleet.link = 'disconnected';
    await tick();
    const badge = screen.getByText(/no runtime is up/).closest('.badge')!;
    expect(badge.className).toMatch(/lost/);
    expect(badge.textContent).toMatch(/at \d\d:\d\d/);
  });

  it('says that the engine was updated under the page', async () => {
    showGolden();
    fleet.updated = true;
    fleet.version = '0.5.0';
    render(StatusHeader, { title: 'Fleet' });
    expect(screen.getByRole('status').textContent).toContain('updated to 0.5.0');
  });

  it('keeps its menu in reach of keys', async () => {
    showGolden();
    render(StatusHeader, { title: 'Fleet' });
    const trigger = screen.getByRole('button', { name: 'Pause this machine' });
    trigger.focus();
    await fireEvent.keyDown(trigger, { key: 'ArrowDown' });
    await tick();
    expect(document.activeElement?.textContent).toContain('For 1 hour');
    await fireEvent.keyDown(screen.getByRole('menu'), { key: 'End' });
    expect(document.activeElement?.textContent).toContain('Until resumed');
    await fireEvent.keyDown(screen.getByRole('menu'), { key: 'Escape' });
    expect(screen.queryByRole('menu')).toBeNull();
    expect(document.activeElement).toBe(trigger);
  });
});

it('pauses until six of the morning that comes', () => {
  expect(tomorrow(new Date(2026, 10, 3, 22, 0)).getTime()).toBe(new Date(2026, 10, 4, 6, 0).getTime());
  expect(tomorrow(new Date(2026, 10, 4, 1, 30)).getTime()).toBe(new Date(2026, 10, 4, 6, 0).getTime());
  expect(pauses.map((p) => Object.keys(p.body(new Date())).sort().join())).toEqual(['reason,seconds', 'reason,until', 'reason']);
});

describe('the sidebar', () => {
  it('leads to all pages and marks the one shown, and says what is to see to', () => {
    showGolden();
    render(Sidebar, { current: 'health' });
    expect(screen.getAllByRole('listitem').map((l) => l.querySelector('.title')!.textContent)).toEqual(['Fleet', 'Decisions', 'Models', 'Memory', 'Capacity', 'Apps', 'Health', 'Settings']);
    expect(document.querySelector('[aria-current=page]')!.textContent).toContain('Health');
    expect(screen.getByLabelText('3 to see to')).toBeTruthy();
  });
});

it('the sidebar shows on every page what was typed in the settings and not saved', async () => {
  showGolden();
  render(Sidebar, { current: 'fleet' });
  expect(screen.queryByLabelText(/not saved/)).toBeNull();
  drafting.draft = { listen: 'localhost:11500' };
  await tick();
  expect(screen.getByRole('link', { name: /Settings/ }).querySelector('[aria-label="1 change not saved"]')).toBeTruthy();
  drafting.draft = {};
  await tick();
  expect(screen.queryByLabelText(/not saved/)).toBeNull();
});

describe('a question', () => {
  it('is answered by its action only', async () => {
    render(Confirmation);
    const no = confirm({ title: 'Delete qwen3:8b?', text: 'It is gone.', action: 'Delete', danger: true });
    await tick();
    await fireEvent.click(screen.getByText('Cancel'));
    expect(await no).toBe(false);
    const yes = confirm({ title: 'Delete all?', text: 'All are gone.', action: 'Delete', type: 'all' });
    await tick();
    const action = screen.getByRole('button', { name: 'Delete' }) as HTMLButtonElement;
    expect(action.disabled).toBe(true);
    await fireEvent.input(screen.getByRole('textbox'), { target: { value: 'all' } });
    await fireEvent.click(action);
    expect(await yes).toBe(true);
    const keep = confirm({ title: 'Cancel the pull?', text: 'It stops.', action: 'Stop the pull', stay: 'Keep pulling' });
    await tick();
    expect(screen.queryByText('Cancel')).toBeNull();
    await fireEvent.click(screen.getByText('Keep pulling'));
    expect(await keep).toBe(false);
  });
});

it('a question is gone where its page is', async () => {
  showGolden();
  render(Confirmation);
  const asked = confirm({ title: 'Delete x?', text: '', action: 'Delete' });
  await screen.findByRole('dialog');
  route.place = { ...route.place, query: { q: 'x' } };
  await tick();
  expect(screen.queryByRole('dialog')).toBeTruthy();
  route.place = { page: 'health', rest: '', query: {} };
  await vi.waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
  expect(await asked).toBe(false);
});

it('that the engine does not answer is told until it is heard again', async () => {
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('no')));
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    showGolden();
    render(Toasts);
    await carryOut(() => post('resume'));
    expect(screen.getByRole('alert').textContent).toContain('does not answer');
    const heard = async (after: number) => {
      vi.setSystemTime(Date.now() + after);
      fleet.load(opened(goldenHello()));
      await tick();
      return screen.queryByRole('alert') !== null;
    };
    expect(await heard(500)).toBe(true); // long enough to be read
    expect(await heard(5_000)).toBe(false);
  } finally {
    vi.useRealTimers();
  }
});

describe('keys', () => {
  const press = (key: string, target: Element = document.body) => {
    const e = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true });
    Object.defineProperty(e, 'target', { value: target });
    keys.press(e);
  };
  it('work in twos, not while one types, and not when they are off', () => {
    const run = vi.fn();
    const remove = keys.add({ keys: 'g d', does: 'go', run });
    press('d');
    expect(run).not.toHaveBeenCalled();
    press('g');
    press('d');
    expect(run).toHaveBeenCalledOnce();
    press('g', document.createElement('input'));
    press('d', document.createElement('input'));
    keys.on = false;
    press('g');
    press('d');
    keys.on = true;
    expect(run).toHaveBeenCalledOnce();
    remove();
    press('g');
    press('d');
    expect(run).toHaveBeenCalledOnce();
  });
});
