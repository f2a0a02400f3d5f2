// A window as narrow as a phone, over models whose names have no end: all of a
// page and of every dialog is inside, or scrolls where one can see that it does.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { launch, Visit } from './browser.js';
import { answers, goldenHello } from './fleet.js';
import { views } from './shots.js';
import { openStage } from './stage.js';

const wide = { small: { width: 420, height: 800 }, usual: { width: 1280, height: 800 } };
const long = `hf.co/bartowski/Meta-Llama-3.1-70B-Instruct-abliterated-GGUF-${'without-an-end-'.repeat(7)}`.slice(0, 158) + ':Q4_K_M';
const button = `Fetch ${long}`;

/** named gives every model of the golden files a name of 165 letters; ids hold them too. */
const named = (v) => JSON.parse(['qwen3:30b-a3b', 'deepseek-r1:70b', 'llama3.2:3b', 'gpt-oss:20b', 'qwen3:8b', 'claude-sonnet-4-5'].reduce((text, model, i) => text.replaceAll(model, `${i}${long.slice(1)}`), JSON.stringify(v)));

const state = named(goldenHello().state);
const [pulled, deployment] = [Object.values(state.jobs).find((j) => j.cancellable), Object.values(state.deployments).find((d) => d.residency === 'loaded')];
Object.values(state.findings)[0].cure = { label: button, confirm: `${button}? It takes a while.` };

const stage = await openStage({ state, answers: named({ decision: answers.decision, plan: answers.plan, test_traffic: answers.test_traffic, apps: answers.apps }) });
const browser = await launch();
after(async () => {
  await browser.close();
  await stage.close();
});

const open = (size) => Visit.open(browser, new URL(stage.url).origin, { size: wide[size] });
const show = async (v, hash) => {
  await v.page.evaluate((h) => (location.hash = h), hash);
  await v.page.locator('main .content > *, main .page > .content').first().waitFor();
  await v.page.waitForTimeout(150); // a page that is fetched, and its first answers
};

/** outside runs in the page: what is beyond the window, or cut off without a sign that there is more. */
function outside() {
  const found = [];
  const scrolls = (e) => /auto|scroll/.test(getComputedStyle(e).overflowX);
  const dots = (e) => getComputedStyle(e).textOverflow === 'ellipsis';
  const named = (e) => `${e.tagName.toLowerCase()}.${String(e.className.baseVal ?? e.className).replace(/ ?svelte-\w+/g, '')} "${e.textContent.trim().slice(0, 24)}"`;
  const over = document.documentElement.scrollWidth - innerWidth;
  if (over > 0) found.push(`the window scrolls sideways by ${over} px`);
  for (const e of document.querySelectorAll('body *')) {
    const r = e.getBoundingClientRect();
    if (r.width === 0 || r.height === 0 || e.closest('.hidden-label, option, datalist, svg, .uplot, .skip, #main [inert]')) continue;
    let free = false; // inside something that scrolls by itself, or ends in dots
    for (let p = e.parentElement; p && !free; p = p.parentElement) free = scrolls(p) && p.scrollWidth > p.clientWidth + 1 && p.tagName === 'DIV' ? p.getAttribute('tabindex') === '0' : dots(p);
    if (free) continue;
    if (r.right > innerWidth + 1 || r.left < -1) found.push(`${named(e)} from ${r.left.toFixed(0)} to ${r.right.toFixed(0)}`);
    const s = getComputedStyle(e);
    if (s.overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1 && !dots(e) && !(scrolls(e) && e.getAttribute('tabindex') === '0') && e.tagName !== 'TEXTAREA' && e.tagName !== 'INPUT') found.push(`${named(e)} is cut off: ${e.scrollWidth} in ${e.clientWidth}`);
  }
  return [...new Set(found)].slice(0, 6);
}

describe('at 420 wide, with a model name of 165 letters', () => {
  it('the name is as long as that', () => assert.equal(long.length, 165));

  const places = [...views, ['decision', '#/decisions/01JBQ7YZG9'], ['under way', '#/decisions/01JBQ7Z0K1'], ['try it', '#/decisions/try'], ['model', `#/models/${encodeURIComponent(deployment.id)}`]];
  it('every page is inside the window', async () => {
    const v = await open('small');
    const wrong = [];
    for (const [name, hash] of places) {
      await show(v, hash);
      if (process.env.BELLWETHER_SHOTS) await v.page.screenshot({ path: `${process.env.BELLWETHER_SHOTS}/narrow-${name}.png` });
      wrong.push(...(await v.page.evaluate(outside)).map((f) => `${name}: ${f}`));
    }
    await v.close();
    assert.deepEqual(wrong, []);
  });

  it('what is opened beside a list can be closed', async () => {
    const v = await open('small');
    for (const [name, hash] of places.slice(views.length)) {
      await show(v, hash);
      const aside = v.page.getByRole('complementary');
      const x = await aside.getByRole('button', { name: 'Close' }).boundingBox();
      assert.ok(x.x >= 0 && x.x + x.width <= 420, `${name}: Close is at ${x.x}`);
      await aside.getByRole('button', { name: 'Close' }).click();
      await aside.waitFor({ state: 'detached' });
    }
    await v.close();
  });

  it('every dialog is inside the window, and so is its close', async () => {
    const v = await open('small');
    const p = v.page;
    const wrong = [];
    const dialogs = [
      ['add a machine', '#/fleet', () => p.getByRole('button', { name: 'Add a machine' }).first()],
      ['pull', '#/models', () => p.getByRole('button', { name: 'Pull', exact: true })],
      ['cancel a job', '#/models', () => p.locator(`[data-job="${pulled.id}"]`).getByRole('button', { name: 'Cancel' })],
      ['probe', `#/models/${encodeURIComponent(deployment.id)}`, () => p.getByRole('button', { name: 'Probe' })],
      ['measure', `#/models/${encodeURIComponent(deployment.id)}`, () => p.getByRole('button', { name: 'Measure' })],
      ['delete', `#/models/${encodeURIComponent(deployment.id)}`, () => p.getByRole('complementary').getByRole('button', { name: 'Delete' })],
      ['cure', '#/health', () => p.getByRole('button', { name: button })],
    ];
    for (const [name, hash, opener] of dialogs) {
      await show(v, hash);
      await opener().click();
      const dialog = p.getByRole('dialog');
      await dialog.waitFor();
      await p.waitForTimeout(50);
      wrong.push(...(await p.evaluate(outside)).map((f) => `${name}: ${f}`));
      const x = await dialog.getByRole('button', { name: 'Close' }).first().boundingBox();
      if (x.x < 0 || x.x + x.width > 420) wrong.push(`${name}: Close is at ${x.x}`);
      await dialog.getByRole('button', { name: 'Close' }).first().click();
      await dialog.waitFor({ state: 'detached' });
    }
    await v.close();
    assert.deepEqual(wrong, []);
  });

  it('a model can be loaded, pinned and opened without scrolling sideways', async () => {
    const v = await open('small');
    await show(v, '#/models');
    const row = v.page.locator(`[data-deployment="${deployment.id}"]`);
    const buttons = await row.getByRole('button').all();
    assert.equal(buttons.length, 3);
    for (const b of buttons) {
      const r = await b.boundingBox();
      assert.ok(r.x >= 0 && r.x + r.width <= 420, `${await b.getAttribute('aria-label')} is at ${r.x}`);
    }
    await v.close();
  });
});

describe('a finding whose button has a name without an end', () => {
  for (const size of ['small', 'usual']) {
    it(`can be read at ${wide[size].width} wide`, async () => {
      const v = await open(size);
      await show(v, '#/health');
      const finding = v.page.locator('[data-finding]').filter({ has: v.page.getByRole('button', { name: button }) });
      const [item, text, b] = await Promise.all([finding, finding.locator('.words'), finding.getByRole('button', { name: button })].map((l) => l.boundingBox()));
      assert.ok(text.width >= Math.min(400, item.width - 80), `the text is ${text.width} wide, of ${item.width}`);
      assert.ok(b.x + b.width <= item.x + item.width, 'the button leaves its row');
      await v.close();
    });
  }
});
