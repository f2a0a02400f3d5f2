// Every page in both looks and three sizes: pictures in a folder for people to
// look at (BELLWETHER_SHOTS, else one that is left in the temporary folder),
// and what a program can see of a layout.
import assert from 'node:assert/strict';
import { mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { launch } from './browser.js';
import { Rig } from './rig.js';
import { shoot } from './shots.js';

const rig = await Rig.start();
const browser = await launch();
after(async () => {
  await browser.close();
  await rig.stop();
});

it('fits its window, in light and dark, small, large and narrow', async () => {
  await rig.traffic();
  const folder = process.env.BELLWETHER_SHOTS ?? mkdtempSync(join(tmpdir(), 'bellwether-shots-'));
  const wrong = [];
  const made = await shoot(browser, rig.base, folder, {
    which: ['small', 'large', 'narrow'],
    link: () => rig.enterLink(),
    before: async (v, name) => {
      const found = await v.page.evaluate(look);
      wrong.push(...found.map((f) => `${name}, ${v.page.viewportSize().width} wide: ${f}`));
    },
  });
  console.log(`${made.length} pictures in ${folder}`);
  for (const path of made) assert.ok(statSync(path).size > 8_000, `${path} is blank`);
  assert.deepEqual(wrong, []);
});

/** look runs in the page: what of its layout is wrong. */
function look() {
  const wrong = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) wrong.push(`the window scrolls sideways by ${root.scrollWidth - innerWidth} px`);
  for (const e of document.querySelectorAll('main *')) {
    const s = getComputedStyle(e);
    if (/auto|scroll/.test(s.overflowY) && e.scrollWidth > e.clientWidth + 1 && s.overflowX !== 'auto' && e.clientWidth > 0) wrong.push(`${e.className} is wider than its box`);
  }
  for (const e of document.querySelectorAll('button, a, input, select, textarea')) {
    const r = e.getBoundingClientRect();
    if (r.width === 0 && r.height === 0) continue;
    const label = e.getAttribute('aria-label') ?? e.getAttribute('aria-labelledby') ?? e.getAttribute('title') ?? e.labels?.[0]?.textContent ?? e.textContent;
    if (!label?.trim()) wrong.push(`no label: ${e.outerHTML.slice(0, 120)}`);
  }
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  const twice = ids.filter((id, i) => ids.indexOf(id) !== i);
  if (twice.length > 0) wrong.push(`ids twice: ${twice}`);
  return wrong;
}
