// What open windows cost the engine: the CPU time of its process, with five of
// them and without, under the same traffic. SOAK_SECONDS (60) is how long in all.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, it } from 'node:test';
import WebSocket from 'ws';
import { Rig } from './rig.js';

const seconds = Number(process.env.SOAK_SECONDS ?? 60);
const rig = await Rig.start();
after(() => rig.stop());

/** cpu is the CPU time of the engine so far, in seconds. */
function cpu() {
  const stat = readFileSync(`/proc/${rig.engine.child.pid}/stat`, 'utf8');
  const [user, system] = stat.slice(stat.lastIndexOf(')') + 2).split(' ').slice(11, 13);
  return (Number(user) + Number(system)) / 100;
}

/** share is the part of a core that the engine takes while apps ask, five times a second. */
async function share(time) {
  const before = cpu();
  const end = performance.now() + time * 1000;
  while (performance.now() < end) {
    const due = performance.now() + 200;
    await rig.ask('steady', 'nomic-embed-text', { path: '/v1/embeddings' });
    await new Promise((r) => setTimeout(r, Math.max(0, due - performance.now())));
  }
  return (cpu() - before) / time;
}

it('five open windows cost the engine at most 2 % of a core', async () => {
  await rig.traffic();
  const turns = [];
  for (let i = 0; i < 3; i++) { // in turns, for others use this machine too
    const without = await share(seconds / 6);
    const windows = Array.from({ length: 5 }, () => new WebSocket(rig.base.replace('http', 'ws') + '/admin/ws'));
    let frames = 0;
    for (const w of windows) w.on('message', () => frames++);
    await Promise.all(windows.map((w) => new Promise((r) => w.once('message', r))));
    const all = await share(seconds / 6);
    for (const w of windows) w.close();
    turns.push(100 * (all - without));
    console.log(`${(100 * without).toFixed(2)} % of a core without windows, ${(100 * all).toFixed(2)} % with five, ${frames} frames`);
  }
  const cost = turns.sort((a, b) => a - b)[1];
  assert.ok(cost <= 2, `${turns.map((t) => t.toFixed(2))} % of a core`);
});
