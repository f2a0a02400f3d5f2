import { expect, it } from 'vitest';
import { adapted } from './fleet.svelte';

/** A socket as the browser has it. */
function socket(readyState: number): WebSocket {
  return { readyState, send() {}, close() {}, onopen: null, onmessage: null, onclose: null } as unknown as WebSocket;
}

it('hands on what a socket heard before anyone listened, first and in order', async () => {
  const ws = socket(WebSocket.OPEN);
  const s = adapted(ws, ['hello', 'one']);
  const heard: string[] = [];
  s.onopen = () => heard.push('open');
  s.onmessage = (text) => heard.push(text);
  expect(heard).toEqual([]); // who listens is still being set up
  await Promise.resolve();
  ws.onmessage?.({ data: 'two' } as MessageEvent);
  expect(heard).toEqual(['open', 'hello', 'one', 'two']);
});

it('says of a socket on its way when it is open, once', async () => {
  const ws = socket(WebSocket.CONNECTING);
  const s = adapted(ws, []);
  let opened = 0;
  s.onopen = () => opened++;
  await Promise.resolve();
  ws.onopen?.({} as Event);
  expect(opened).toBe(1);
});
