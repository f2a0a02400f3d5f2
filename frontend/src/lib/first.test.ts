import { render, screen } from '@testing-library/svelte';
import { tick } from 'svelte';
import { afterEach, beforeEach, expect, it } from 'vitest';
import Decisions from '../pages/Decisions/Decisions.svelte';
import Fleet from '../pages/Fleet/Fleet.svelte';
import StatusHeader from '../shell/StatusHeader.svelte';
import { engine, goldenHello } from '../test/golden';
import type { Effects, Socket } from './connection';
import { fleet } from './fleet.svelte';
import { session } from './session.svelte';

// A page that brought its state, whose socket is still on its way.
let socket: Socket;
let stop: () => void;
const world: Effects = {
  open: () => (socket = { send() {}, close() {}, onopen: null, onmessage: null, onclose: null }),
  frame: (run) => (run(), () => {}),
  after: () => () => {},
  now: () => Date.now(),
  random: () => 0.5,
};
const brought = (text: string) => {
  document.body.innerHTML = '<script type="application/json" id="state"></script>';
  document.getElementById('state')!.textContent = text;
  fleet.first(document);
};
beforeEach(() => {
  engine({ 'GET /admin/decisions': [] });
  stop = fleet.start(undefined, world);
});
afterEach(() => {
  stop();
  document.body.replaceChildren();
});

it('shows its machines at once, and says of nothing that it is old', () => {
  brought(JSON.stringify(goldenHello()));
  session.known = session.unlocked = true;
  render(StatusHeader, { title: 'Fleet' });
  const { container } = render(Fleet);
  expect(container.querySelectorAll('article').length).toBe(Object.keys(goldenHello().state.nodes).length);
  expect(screen.queryByRole('status')).toBeNull();
  expect(container.querySelector('.old')).toBeNull();
  expect(screen.getByRole('button', { name: 'Pause this machine' })).toHaveProperty('disabled', false);
  expect(fleet.version).toBe(goldenHello().version);
});

it('is that of the socket as soon as it says hello', async () => {
  brought(JSON.stringify(goldenHello()));
  const { container } = render(Fleet);
  render(StatusHeader, { title: 'Fleet' });
  const hello = goldenHello();
  hello.seq += 5;
  const [id, node] = Object.entries(hello.state.nodes)[0]!;
  hello.state.nodes = { [id]: { ...node, name: 'renamed' } };
  socket.onmessage!(JSON.stringify(hello));
  await tick();
  expect(fleet.link).toBe('live');
  expect(fleet.updated).toBe(false);
  expect([...container.querySelectorAll('article h2')].map((h) => h.textContent)).toEqual(['renamed']);
});

it('says that it is old when the socket does not come', async () => {
  brought(JSON.stringify(goldenHello()));
  render(StatusHeader, { title: 'Fleet' });
  socket.onclose!();
  await tick();
  expect(screen.getByRole('status').textContent).toMatch(/No connection to Bellwether\..*What is shown is of/);
});

it('is there for whichever page is looked at first', () => {
  brought(JSON.stringify(goldenHello()));
  const { container } = render(Decisions);
  expect(container.textContent).toContain(goldenHello().state.rows[0]!.app);
});

it('waits for the socket where the page brought none, or none that can be read', () => {
  fleet.first(document);
  brought('');
  brought('{"type":');
  const { container } = render(Fleet);
  expect(fleet.ready).toBe(false);
  expect(container.querySelector('article')).toBeNull();
  expect(screen.getByLabelText("Waiting for the engine's state")).toBeTruthy();
});
