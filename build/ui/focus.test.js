// By keyboard alone: what a dialog or a panel took the focus from has it again, and what an order replaces hands it on.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { launch, sizes, Visit } from './browser.js';
import { goldenHello } from './fleet.js';
import { openStage } from './stage.js';

const { state } = goldenHello();
const loaded = Object.values(state.deployments).find((d) => d.residency === 'loaded' && d.runtime === 'ollama');
const cured = Object.values(state.findings).find((f) => f.cure?.confirm);
const job = Object.values(state.jobs).find((j) => j.cancellable);
const model = `#/models/${encodeURIComponent(loaded.id)}`;

const stage = await openStage();
const browser = await launch();
after(async () => {
  await browser.close();
  await stage.close();
});

/** dialogs: where each is opened, and by what. */
const dialogs = [
  ['Add a machine', '#/fleet', (p) => p.getByRole('button', { name: 'Add a machine' }).first()],
  ['Keys', '#/fleet', (p) => p.getByRole('button', { name: 'Keys', exact: true })],
  ['Pull', '#/models', (p) => p.getByRole('button', { name: 'Pull', exact: true })],
  ['Cancel a job', '#/models', (p) => p.locator(`[data-job="${job.id}"]`).getByRole('button', { name: 'Cancel' })],
  ['Probe', model, (p) => p.getByRole('button', { name: 'Probe' })],
  ['Measure', model, (p) => p.getByRole('button', { name: 'Measure' })],
  ['Delete', model, (p) => p.getByRole('complementary').getByRole('button', { name: /^Delete/ })],
  ['Cure', '#/health', (p) => p.locator(`[data-finding="${cured.id}"]`).getByRole('button', { name: cured.cure.label })],
];
const focused = (p) => p.evaluate(() => document.activeElement.outerHTML.slice(0, 120));
const until = async (p, l) => p.waitForFunction((e) => e === document.activeElement, await l.elementHandle({ timeout: 2000 }), { timeout: 2000 });
const has = (l) => l.evaluate((e) => e === document.activeElement);

describe('the focus, by keyboard', () => {
  it('is back at what opened a dialog, by Escape and by its close', async () => {
    const v = await Visit.open(browser, new URL(stage.url).origin, { size: sizes.usual });
    const p = v.page;
    const lost = [];
    for (const [name, hash, opener] of dialogs) {
      await p.evaluate((h) => (location.hash = h), hash);
      await opener(p).waitFor();
      for (const way of ['Escape', 'Close']) {
        await opener(p).focus();
        await p.keyboard.press('Enter');
        const dialog = p.getByRole('dialog');
        await dialog.waitFor();
        if (way === 'Close') await dialog.getByRole('button', { name: 'Close' }).first().focus();
        await p.keyboard.press(way === 'Close' ? 'Enter' : 'Escape');
        await dialog.waitFor({ state: 'detached' });
        await p.waitForFunction(() => document.activeElement !== document.body, null, { timeout: 1000 }).catch(() => {});
        if (!(await has(opener(p)))) lost.push(`${name}, ${way}: ${await focused(p)}`);
      }
    }
    await v.close();
    assert.deepEqual(lost, []);
  });

  it('is at what stands in its place where what opened a dialog is gone', async () => {
    const v = await Visit.open(browser, new URL(stage.url).origin, { size: sizes.usual });
    const p = v.page;
    await p.evaluate(() => (location.hash = '#/models'));
    const opener = dialogs[3][2](p);
    await opener.focus();
    await p.keyboard.press('Enter');
    await p.getByRole('dialog').waitFor();
    stage.tell({ set: { jobs: { [job.id]: { ...job, state: 'cancelled', ended_at: new Date().toISOString() } } } });
    await opener.waitFor({ state: 'detached' });
    await p.keyboard.press('Escape');
    await until(p, p.locator(`[data-job="${job.id}"]`).getByRole('button', { name: /^Dismiss/ }));
    stage.tell({ set: { jobs: { [job.id]: job } } });
    await v.close();
  });

  it('stays with what an order was given by, or goes to what replaces it', async () => {
    const v = await Visit.open(browser, new URL(stage.url).origin, { size: sizes.usual });
    const p = v.page;
    const here = Object.values(state.nodes).find((n) => n.local);
    const paused = (is) => ({ set: { nodes: { [here.id]: { ...here, paused: is, state: is ? 'paused' : 'serving' } } } });
    const shelved = (over) => ({ set: { deployments: { [loaded.id]: { ...loaded, ...over } } } });
    const row = p.locator(`[data-deployment="${loaded.id}"]`);
    const banner = p.getByRole('banner');
    const wish = (id) => ({ ...cured, id, title: id, dismissable: true, cure: null });
    const dismiss = (id) => p.locator(`[data-finding="${id}"]`).getByRole('button', { name: 'Dismiss' });
    const over = { ...job, state: 'done', ended_at: new Date().toISOString() };
    stage.tell({ set: { findings: { 'pull.a': wish('pull.a'), 'pull.b': wish('pull.b') }, jobs: { GONE: { ...over, id: 'GONE' } } } });
    /** orders: what is pressed, what the engine then tells, and what has the focus after it. */
    const orders = [
      ['#/fleet', banner.getByRole('button', { name: 'Pause this machine' }), paused(true), banner.getByRole('button', { name: 'Resume' }), 1],
      ['#/fleet', banner.getByRole('button', { name: 'Resume' }), paused(false), banner.getByRole('button', { name: 'Pause this machine' })],
      ['#/models', row.getByRole('button', { name: 'Pin' }), shelved({ pinned: !loaded.pinned }), row.getByRole('button', { name: 'Pin' })],
      ['#/models', row.getByRole('button', { name: 'Unload' }), shelved({ residency: 'on_disk' }), row.getByRole('button', { name: /^Load/ })],
      ['#/models', row.getByRole('button', { name: /^Load/ }), shelved({}), row.getByRole('button', { name: 'Unload' })],
      ['#/models', p.locator('[data-job=GONE]').getByRole('button'), { del: { jobs: ['GONE'] } }, p.locator('[data-job] button:focus')],
      ['#/health', dismiss('pull.a'), { del: { findings: ['pull.a'] } }, dismiss('pull.b')],
    ];
    let answer;
    await p.route((u) => u.pathname.startsWith('/admin/'), (r) => (r.request().method() === 'POST' ? new Promise((go) => (answer = () => r.fulfill({ json: { done: true } }).then(go))) : r.fallback()));
    const lost = [];
    for (const [hash, pressed, told, then, chosen] of orders) {
      await p.evaluate((h) => (location.hash = h), hash);
      await pressed.focus();
      answer = undefined;
      await p.keyboard.press('Enter');
      if (chosen) await p.keyboard.press('Enter');
      while (!answer) await p.waitForTimeout(10);
      await p.evaluate(() => new Promise((r) => requestAnimationFrame(() => setTimeout(r)))); // disabled meanwhile, and drawn so
      stage.tell(told);
      await answer();
      await until(p, then).catch(async () => lost.push(`${hash}, ${pressed}: ${await focused(p)}`));
    }
    await v.close();
    assert.deepEqual(lost, []);
  });

  it('is in what is shown where a decision hides the list, and then in the list, which goes on from there', async () => {
    const v = await Visit.open(browser, new URL(stage.url).origin, { size: sizes.small });
    const p = v.page;
    await p.evaluate(() => (location.hash = '#/decisions'));
    const grid = p.getByRole('grid');
    await grid.focus();
    for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await p.keyboard.press(key);
    const panel = p.getByRole('complementary', { name: 'Decision' });
    await panel.waitFor();
    await p.waitForFunction(() => document.activeElement.closest('aside'));
    const opened = await p.evaluate(() => location.hash);
    await p.keyboard.press('Escape');
    await until(p, grid);
    await p.keyboard.press('ArrowUp');
    await p.keyboard.press('Enter');
    await panel.waitFor();
    assert.notEqual(await p.evaluate(() => location.hash), opened);
    await p.keyboard.press('Escape');
    await until(p, grid);
    await p.keyboard.press('ArrowDown');
    await p.keyboard.press('Enter');
    await panel.waitFor();
    assert.equal(await p.evaluate(() => location.hash), opened);
    await v.close();
  });

  it('is not taken back by what somebody left', async () => {
    const v = await Visit.open(browser, new URL(stage.url).origin, { size: sizes.usual });
    const p = v.page;
    await p.getByRole('banner').getByRole('button', { name: 'Pause this machine' }).focus();
    await p.getByRole('heading', { level: 1 }).click();
    stage.tell({ set: { jobs: { [job.id]: job } } });
    await p.evaluate(() => new Promise((r) => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(() => setTimeout(r))))));
    assert.ok(await p.evaluate(() => document.activeElement === document.body), await focused(p));
    await v.close();
  });

  it('is back in the list when a decision or a model is closed', async () => {
    const v = await Visit.open(browser, new URL(stage.url).origin, { size: sizes.usual });
    const p = v.page;
    await p.evaluate(() => (location.hash = '#/models'));
    const link = p.locator(`[data-deployment="${loaded.id}"]`).getByRole('link');
    await link.focus();
    await p.keyboard.press('Enter');
    await p.getByRole('complementary', { name: 'Model' }).waitFor();
    await p.getByRole('complementary').getByRole('button', { name: 'Close' }).focus();
    await p.keyboard.press('Enter');
    await p.getByRole('complementary').waitFor({ state: 'detached' });
    await p.waitForFunction(() => document.activeElement.closest('[data-deployment]'));
    assert.ok(await has(link), await focused(p));
    await p.evaluate(() => (location.hash = '#/decisions/01JBQ7YZG9'));
    await p.getByRole('complementary', { name: 'Decision' }).waitFor();
    await p.keyboard.press('Escape');
    await p.getByRole('complementary').waitFor({ state: 'detached' });
    await p.waitForFunction(() => document.activeElement.getAttribute('role') === 'grid');
    await v.close();
  });
});
