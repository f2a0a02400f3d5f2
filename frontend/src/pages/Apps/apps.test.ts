import { fireEvent, render, screen, within } from '@testing-library/svelte';
import { tick } from 'svelte';
import { describe, expect, it } from 'vitest';
import { fleet } from '../../lib/fleet.svelte';
import { engine, showGolden } from '../../test/golden';
import Apps from './Apps.svelte';
import golden from '../../../../engine/admin/testdata/wire/apps.json';
import type { AppsAnswer } from '../../lib/wire';
import { sorted, sums } from './apps';

const apps = (golden as unknown as AppsAnswer).apps;
const names = (order: Parameters<typeof sorted>[1]) => sorted(apps, order).map((a) => a.name);

describe('sorted', () => {
  it('puts most first, and names upwards', () => {
    expect(names('requests')).toEqual(['claude-code', 'open-webui', 'curl']);
    expect(names('name')).toEqual(['claude-code', 'curl', 'open-webui']);
    expect(names('seen')).toEqual(['claude-code', 'open-webui', 'curl']);
  });
  it('puts what has no figure last', () => expect(names('total').at(-1)).toBe('curl'));
  it('leaves the list it was given', () => {
    sorted(apps, 'name');
    expect(apps[1]!.name).toBe('open-webui');
  });
});

it('sums add up all apps', () => {
  expect(sums(apps)).toEqual({ requests: 207, failed: 2, refused: 2, active: 4, input: 2442231, output: 110452 });
});

it('an app opens into its tags, each with figures and decisions of its own', async () => {
  engine({ 'GET /admin/apps': golden });
  showGolden();
  render(Apps);
  expect(screen.queryByText('user:ann')).toBeNull();
  expect(screen.queryByRole('button', { name: 'Tags of curl' })).toBeNull();
  await fireEvent.click(screen.getByRole('button', { name: 'Tags of claude-code' }));
  const row = document.querySelector<HTMLElement>('[data-app-tag="claude-code work"]')!;
  for (const text of ['120', '2', '2.1M', '80.1k', '430 ms', '6.6 s', '31.0 s']) expect(within(row).getAllByText(text).length, text).toBeGreaterThan(0);
  expect(within(row).getByRole('link', { name: 'work' }).getAttribute('href')).toBe('#/decisions?app=claude-code&tag=work');
  expect(screen.getByText(/3 more tags/)).toBeTruthy();
  await fireEvent.click(screen.getByRole('button', { name: 'Tags of claude-code' }));
  expect(screen.queryByText('user:ann')).toBeNull();
});

it('says when requests of the hour are missing in its figures', async () => {
  engine({ 'GET /admin/apps': golden });
  showGolden((h) => (h.state.meta.engine!.apps_complete = false));
  const { unmount } = render(Apps);
  expect(screen.getByRole('note').textContent).toContain('Requests of the last hour are missing');
  unmount();
  showGolden();
  render(Apps);
  expect(screen.queryByRole('note')).toBeNull();
});

it('says live only while there is a connection', async () => {
  engine({ 'GET /admin/apps': golden });
  showGolden();
  render(Apps);
  expect(screen.getByText('live')).toBeTruthy();
  fleet.link = 'disconnected';
  await tick();
  expect(screen.queryByText('live')).toBeNull();
  expect(screen.getByText(/^as of \d\d:\d\d:\d\d/)).toBeTruthy();
});
