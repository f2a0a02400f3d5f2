// Every page in both looks and three sizes: pictures in a folder for people to
// look at (BELLWETHER_SHOTS, else one that is left in the temporary folder),
// and what a program can see of a layout.
import assert from 'node:assert/strict';
import { mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { launch, Visit } from './browser.js';
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
      const found = [...(await v.page.evaluate(look)), ...(await v.page.evaluate(faint))];
      wrong.push(...found.map((f) => `${name}, ${v.page.viewportSize().width} wide: ${f}`));
    },
  });
  console.log(`${made.length} pictures in ${folder}`);
  for (const path of made) assert.ok(statSync(path).size > 8_000, `${path} is blank`);
  assert.deepEqual(wrong, []);
});

it('can be read under the pointer while it is at work, and where the system chooses the colours', async () => {
  const v = await Visit.open(browser, rig.base, { link: await rig.enterLink() });
  for (const colorScheme of ['light', 'dark']) {
    await v.page.emulateMedia({ colorScheme });
    await v.page.goto(`${rig.base}/ui/#/health/traffic`);
    await v.page.getByRole('button', { name: /^Send/ }).click(); // and the pointer stays there
    await v.page.getByRole('button', { name: 'Sending …' }).waitFor();
    assert.deepEqual((await v.page.evaluate(faint)).filter((f) => f.includes('Sending')), [], colorScheme);
    await v.page.getByRole('button', { name: /^Send again/ }).waitFor({ timeout: 30_000 });
  }
  await v.page.emulateMedia({ forcedColors: 'active' });
  const style = (where, key) => v.page.locator(where).first().evaluate((e, k) => getComputedStyle(e)[k], key);
  assert.equal(await style('nav[aria-label="Pages"] [aria-current]', 'outlineStyle'), 'solid');
  assert.equal(await style('nav[aria-label="Parts of Health"] [aria-current]', 'outlineStyle'), 'solid');
  await v.go('Fleet');
  assert.equal(await style('.bar > .mark', 'borderLeftStyle'), 'solid');
  await v.go('Settings');
  assert.equal(await style('nav[aria-label="Chapters"] [aria-current]', 'outlineStyle'), 'solid');
  assert.equal(await style('label:has(input[name="theme"]:checked)', 'outlineStyle'), 'solid');
  const on = v.page.locator('.switch:has(:checked) span').first();
  await on.waitFor();
  assert.notEqual(await on.evaluate((e) => getComputedStyle(e).backgroundColor), await style('.switch:not(:has(:checked)) span', 'backgroundColor'));
  await v.close();
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

/**
 * faint runs in the page: text that stands out from what is behind it by less
 * than 4.5 to 1, what WCAG asks of small text.
 */
function faint() {
  const pixel = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const read = (color) => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = '#000';
    pixel.fillStyle = color;
    pixel.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((n, v, i) => n + v * [0.2126, 0.7152, 0.0722][i], 0);
  const wrong = new Set();
  for (const e of document.querySelectorAll('body *')) {
    const s = getComputedStyle(e);
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || e.getBoundingClientRect().width === 0) continue;
    if (s.visibility === 'hidden' || e.closest('option, select, :disabled, .hidden-label')) continue;
    const behind = [];
    let opacity = 1;
    for (let p = e; p; p = p.parentElement) {
      behind.unshift(read(getComputedStyle(p).backgroundColor));
      opacity *= Number(getComputedStyle(p).opacity);
    }
    const back = behind.reduce((under, c) => over(c, under), [255, 255, 255, 1]);
    const ink = read(s.color);
    const [a, b] = [light(over([...ink.slice(0, 3), ink[3] * opacity], back)), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) wrong.add(`${ratio.toFixed(2)} to 1 only: ${e.tagName.toLowerCase()}.${e.className} "${e.textContent.trim().slice(0, 40)}"`);
  }
  return [...wrong];
}
