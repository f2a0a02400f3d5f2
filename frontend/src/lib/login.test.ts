import { flushSync } from 'svelte';
import { afterEach, expect, it, vi } from 'vitest';
import { fleet } from './fleet.svelte';
import { login } from './login.svelte';
import type { EngineView, LoginItem } from './wire';

const item = (on: boolean): LoginItem => ({ known: true, on, can: true, reason: '', remedy: '', entry: 'x', ask: false });
const tell = (it: LoginItem) => {
  fleet.meta = { engine: { login: it } as EngineView };
  flushSync();
};

afterEach(() => vi.unstubAllGlobals());

it('shows what the tray or the command line switched, as soon as the feed tells', () => {
  vi.stubGlobal('fetch', () => Promise.reject(new Error('no engine')));
  const stop = login.start();
  tell(item(true));
  expect(login.item?.on).toBe(true);
  tell(item(false));
  expect(login.item?.on).toBe(false);
  stop();
  tell(item(true));
  expect(login.item?.on).toBe(false);
});
