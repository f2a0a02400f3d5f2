// By keyboard alone: what a dialog or a panel took the focus from has it again.
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

  it('is at the page where what opened a dialog is gone', async () => {
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
    await p.waitForFunction(() => document.activeElement === document.getElementById('main'));
    stage.tell({ set: { jobs: { [job.id]: job } } });
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
