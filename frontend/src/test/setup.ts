import { cleanup } from '@testing-library/svelte';
import { afterEach, beforeEach, vi } from 'vitest';
import { confirmation } from '../lib/confirm.svelte';
import { fleet } from '../lib/fleet.svelte';
import { notices } from '../lib/notices.svelte';
import { session } from '../lib/session.svelte';

beforeEach(() => {
  document.documentElement.style.fontSize = '13px'; // as base.css has it
  fleet.reset();
  location.hash = '';
  notices.list = [];
  session.known = session.unlocked = session.explaining = false;
});
afterEach(() => {
  confirmation.answer(false);
  cleanup();
  vi.unstubAllGlobals();
});
