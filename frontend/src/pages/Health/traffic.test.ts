import { fireEvent, render, screen } from '@testing-library/svelte';
import { expect, it } from 'vitest';
import { engine, showGolden } from '../../test/golden';
import { traffic } from './traffic.svelte';
import Traffic from './Traffic.svelte';

it('sends once for a double click, and stops only by its Stop', async () => {
  const log = engine({ 'POST /admin/test-traffic': new Response(new ReadableStream({ start: (c) => c.enqueue(new TextEncoder().encode('{"kind":"plan","requests":4}\n')) })) });
  showGolden();
  render(Traffic);
  const send = screen.getByRole('button', { name: 'Send test traffic' });
  await fireEvent.click(send);
  expect(send.isConnected).toBe(true);
  await fireEvent.click(send); // the second of a double click, in the same place
  expect(await screen.findByText('Sending …')).toBeTruthy();
  expect(await screen.findByText(/0 of 4/)).toBeTruthy();
  expect(log.asked).toEqual(['POST /admin/test-traffic']);
  expect(screen.queryByText('Stopped')).toBeNull();
  expect(screen.getByRole('button', { name: 'Stop' }).compareDocumentPosition(send) & Node.DOCUMENT_POSITION_PRECEDING).toBeTruthy();
});

it('is off with its reason where no chat model is loaded', () => {
  traffic.cancel();
  traffic.running = false;
  traffic.startedAt = 0;
  engine({});
  showGolden((h) => {
    for (const d of Object.values(h.state.deployments)) d.residency = 'on_disk';
  });
  render(Traffic);
  const send = screen.getByRole<HTMLButtonElement>('button', { name: /Send/ });
  expect(send.disabled).toBe(true);
  expect(send.title).toMatch(/No chat model is loaded: load one in Models/);
  expect(screen.getByText('No chat model is loaded')).toBeTruthy(); // once
});

it('says beforehand that a paused machine takes none, and why not all were sent', async () => {
  traffic.startedAt = 0;
  showGolden((h) => Object.values(h.state.nodes).forEach((n) => (n.paused = true)));
  const { unmount } = render(Traffic);
  const send = screen.getByRole<HTMLButtonElement>('button', { name: /Send/ });
  expect([send.disabled, send.title]).toEqual([true, 'studio is paused: it takes no work until it is resumed.']);
  expect(screen.getByText(send.title)).toBeTruthy();
  unmount();
  Object.assign(traffic, { startedAt: 1, planned: 20, requests: [{ kind: 'request', ok: false }], sum: { kind: 'done', ok: false, failed: 1, error: 'Not all were sent: studio is paused.', remedy: 'Resume it.' } });
  render(Traffic);
  expect(screen.getByText(/Not all were sent: studio is paused. Resume it./)).toBeTruthy();
});

it('counts a model once, wherever it is', () => {
  showGolden((h) => {
    const d = Object.values(h.state.deployments).find((x) => x.residency === 'loaded' && x.capabilities.chat?.support !== 'no')!;
    for (const x of Object.values(h.state.deployments)) x.residency = 'on_disk';
    d.residency = 'loaded';
    h.state.deployments.copy = { ...d, id: 'copy', runtime: 'other' };
  });
  render(Traffic);
  expect(screen.getByText(/loaded now \(1, in 2 places\)/)).toBeTruthy();
});
