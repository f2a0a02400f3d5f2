// The UI under the load of a fleet larger than any home's: 50 nodes of 20
// models, 100 decisions a second in a list that holds 10,000 already, readings
// twice a second. A frame's cost is
// the page's own work for it: from the first callback to after its painting.
// SOAK_SECONDS (60) is how long the busiest page is watched.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, it } from 'node:test';
import { launch, Visit } from './browser.js';
import { Fleet } from './fleet.js';
import { openStage } from './stage.js';

const seconds = Number(process.env.SOAK_SECONDS ?? 60);
const stage = await openStage({ fleet: new Fleet({ nodes: 50, models: 20, rows: 10_000 }), rate: 100 });
const browser = await launch(['--js-flags=--expose-gc']);
after(async () => {
  await browser.close();
  await stage.close();
});

/** watch runs in the page: the costs of all frames of some seconds, in ms. */
function watch(ms) {
  return new Promise((resolve) => {
    const costs = [];
    const late = [];
    const { port1, port2 } = new MessageChannel();
    let began = 0;
    let last = 0;
    const end = performance.now() + ms;
    port1.onmessage = () => {
      costs.push(performance.now() - began);
      if (performance.now() < end) requestAnimationFrame(frame);
      else resolve({ costs, late: late.length, rows: document.querySelectorAll('main *').length });
    };
    const frame = (at) => {
      began = performance.now();
      if (last > 0 && at - last > 34) late.push(at - last);
      last = at;
      port2.postMessage(0);
    };
    requestAnimationFrame(frame);
  });
}

const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

/** memory of the page: its JavaScript heap, and all that its process holds for itself, in MB. */
async function memory(page) {
  const client = await page.context().newCDPSession(page);
  await client.send('HeapProfiler.collectGarbage');
  await client.send('Performance.enable');
  const { metrics } = await client.send('Performance.getMetrics');
  const heap = metrics.find((m) => m.name === 'JSHeapUsedSize').value / 1e6;
  const nodes = metrics.find((m) => m.name === 'Nodes').value;
  const root = await browser.newBrowserCDPSession();
  const { processInfo } = await root.send('SystemInfo.getProcessInfo');
  const own = processInfo.filter((p) => p.type === 'renderer').map((p) => privateOf(p.id));
  return { heap, nodes, process: Math.max(...own) };
}

/** cpuMeter gives the seconds that the page's main thread ran since it was made. */
async function cpuMeter(page) {
  const client = await page.context().newCDPSession(page);
  await client.send('Performance.enable', { timeDomain: 'threadTicks' });
  const used = async () => (await client.send('Performance.getMetrics')).metrics.find((x) => x.name === 'TaskDuration').value;
  const before = await used();
  return async () => (await used()) - before;
}

function privateOf(pid) {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    return [...rollup.matchAll(/^Private_\w+:\s+(\d+) kB/gm)].reduce((n, [, kb]) => n + kb / 1000, 0);
  } catch {
    return 0; // not on Linux
  }
}

for (const [name, time] of [['Decisions', seconds], ['Fleet', seconds / 4], ['Memory', seconds / 4], ['Models', seconds / 4], ['Apps', seconds / 6]]) {
  it(`${name} keeps its frames under 16 ms and its page under 150 MB`, async () => {
    const v = await Visit.open(browser, new URL(stage.url).origin);
    await v.go(name);
    await v.page.waitForTimeout(1000);
    let best = Infinity;
    let m;
    for (let round = 0; round < 3 && best >= 16; round++) { // others may be using this machine
      const cpu = await cpuMeter(v.page);
      const { costs, late, rows } = await v.page.evaluate(watch, time * 1000);
      const used = await cpu();
      costs.sort((a, b) => a - b);
      const p95 = at(costs, 0.95);
      best = Math.min(best, p95);
      m = await memory(v.page);
      console.log(`${name}: ${costs.length} frames in ${time} s, p50 ${at(costs, 0.5).toFixed(1)} ms, p95 ${p95.toFixed(1)} ms, p99 ${at(costs, 0.99).toFixed(1)} ms, ${late} late; ${(used * 1000 / costs.length).toFixed(1)} ms of CPU a frame; ${rows} elements; heap ${m.heap.toFixed(1)} MB, process ${m.process.toFixed(0)} MB`);
    }
    await v.close();
    assert.ok(best < 16, `p95 ${best} ms`);
    assert.ok(m.heap < 150 && m.process < 150, `${JSON.stringify(m)} MB`);
  });
}
