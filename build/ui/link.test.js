// The connection, the keyboard, and who else may come in.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import WebSocket from 'ws';
import { launch, sizes, Visit } from './browser.js';
import { Rig, until } from './rig.js';

const rig = await Rig.start();
const browser = await launch();
after(async () => {
  await browser.close();
  await rig.stop();
});

/** knock opens the feed with an Origin, and tells how that ended. */
const knock = (headers) => new Promise((resolve) => {
  const ws = new WebSocket(rig.base.replace('http', 'ws') + '/admin/ws', { headers });
  ws.on('unexpected-response', (_, r) => (resolve(r.statusCode), ws.terminate()));
  ws.on('message', () => (resolve('open'), ws.close()));
  ws.on('error', () => resolve('error'));
});

it('a page that is left asks for nothing by the address of the next one', async () => {
  const v = await Visit.open(browser, rig.base, { link: await rig.enterLink() });
  for (const part of ['log', 'traffic', 'bundle']) {
    await v.page.evaluate((h) => (location.hash = h), `#/health/${part}`);
    await v.page.getByRole('main', { name: 'Health' }).waitFor();
    await v.go('Decisions');
    await v.page.goBack();
    await v.page.getByRole('main', { name: 'Health' }).waitFor();
    await v.page.locator('.toolbar [aria-current=page]').waitFor();
  }
  assert.deepEqual(v.requests.filter((r) => /\/admin\/decisions\/./.test(r)), []);
  await v.close(); // and no error stands in the console
});

describe('the feed', () => {
  it('opens for its own page', async () => assert.equal(await knock({ Origin: rig.base }), 'open'));
  it('does not open for a page of elsewhere', async () => assert.equal(await knock({ Origin: 'https://example.org' }), 403));
  it('does not open for another port of this machine', async () => assert.equal(await knock({ Origin: 'http://127.0.0.1:1' }), 403));
  it('does not open for a name that was bent to here', async () => assert.equal(await knock({ Host: 'evil.example', Origin: 'http://evil.example' }), 403));
});

it('a page of elsewhere in the same browser can neither read nor order', async () => {
  const v = await Visit.open(browser, rig.base, { link: await rig.enterLink() });
  const foreign = await v.context.newPage();
  await foreign.goto(rig.urls.desk); // another port: same site, another origin
  const tried = await foreign.evaluate(async (base) => {
    const socket = await new Promise((r) => {
      const ws = new WebSocket(base.replace('http', 'ws') + '/admin/ws');
      ws.onopen = () => r('open');
      ws.onerror = () => r('refused');
    });
    const post = await fetch(base + '/admin/pause', { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}' }).then(() => 'sent', () => 'refused');
    const read = await fetch(base + '/admin/status', { credentials: 'include' }).then(() => 'read', () => 'refused');
    return { socket, post, read };
  }, rig.base);
  assert.equal(tried.socket, 'refused');
  assert.equal(tried.read, 'refused');
  assert.equal((await rig.get('/admin/status')).node.state, 'serving', 'its order was not carried out');
  await v.context.close();
});

/** firstSample is when the memory of the last hour begins, undefined before there is a sample. */
async function firstSample() {
  const h = await rig.get('/admin/history');
  const at = Object.values(h.pools).flatMap((p) => p.resident_bytes.findIndex((b) => b !== null)).filter((i) => i >= 0);
  return at.length > 0 ? Date.parse(h.from) + Math.min(...at) * h.step_seconds * 1000 : undefined;
}

it('what is locked in one tab is locked in the others at once', async () => {
  const v = await Visit.open(browser, rig.base, { link: await rig.enterLink() });
  const other = await v.context.newPage();
  await other.goto(rig.base + '/ui/');
  const lock = (p) => p.getByRole('banner').getByRole('button', { name: 'Lock', exact: true });
  await lock(other).waitFor();
  await lock(v.page).click();
  await other.getByRole('banner').getByRole('button', { name: 'Read-only' }).waitFor({ timeout: 1000 });
  await other.getByText('This browser was locked').waitFor();
  const third = await v.context.newPage(); // and unlocked again
  await third.goto(await rig.enterLink());
  for (const p of [v.page, other]) await lock(p).waitFor({ timeout: 3000 });
  await v.close();
});

describe('an engine that is started again', () => {
  for (const signal of ['SIGTERM', 'SIGKILL']) {
    it(`after ${signal} is found again, and what is shown meanwhile is marked as old`, async () => {
      const v = await Visit.open(browser, rig.base);
      for (const text of ['WebSocket', 'ERR_CONNECTION_REFUSED', 'Failed to load resource']) v.expect(text);
      await v.go('Models');
      // A stop loses nothing of the last hour, a kill a minute at most: what was kept before that is still there.
      const hour = await until('a sample', firstSample);
      await rig.stopEngine(signal);
      await v.page.getByText('No connection to Bellwether.').waitFor();
      assert.ok(await v.page.locator('[data-deployment]').count() > 0, 'what was known still shows');
      await rig.startEngine();
      await v.page.getByText('No connection to Bellwether.').waitFor({ state: 'detached' });
      assert.equal(await until('the last hour', firstSample), hour, 'the last hour begins where it began');
      await rig.cli('pause');
      await v.page.getByRole('banner').getByText('paused', { exact: true }).waitFor({ timeout: 2000 });
      await rig.cli('resume');
      await v.page.getByRole('banner').getByText('serving', { exact: true }).waitFor();
      await v.close();
    });
  }
});

describe('the keyboard alone', () => {
  it('reaches every page, opens what is there, and leaves it', async () => {
    const v = await Visit.open(browser, rig.base, { link: await rig.enterLink(), size: sizes.small });
    const p = v.page;
    const title = (name) => p.getByRole('heading', { level: 1, name }).waitFor();
    for (const [key, name] of Object.entries({ d: 'Decisions', m: 'Models', y: 'Memory', c: 'Capacity', a: 'Apps', h: 'Health', s: 'Settings', f: 'Fleet' })) {
      await p.keyboard.press('g');
      await p.keyboard.press(key);
      await title(name);
    }
    await p.keyboard.press('g');
    await p.keyboard.press('m');
    await title('Models');
    await p.getByRole('searchbox').waitFor(); // the page stands, not its title only
    await p.keyboard.press('/');
    await p.keyboard.type('gpt-oss');
    await until('the search', async () => (await p.locator('[data-deployment]').count()) === 1);
    const name = p.locator('[data-deployment]').getByRole('link', { name: 'gpt-oss:20b' });
    await tabTo(p, name);
    await p.keyboard.press('Enter');
    await p.getByRole('complementary', { name: 'Model' }).waitFor();
    await p.keyboard.press('Escape');
    await p.getByRole('complementary', { name: 'Model' }).waitFor({ state: 'detached' });
    await p.keyboard.press('?');
    await p.getByRole('dialog', { name: 'Keys' }).waitFor();
    await p.keyboard.press('Escape');
    await p.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'detached' });
    await v.close();
  });

  it('pauses and resumes', async () => {
    const v = await Visit.open(browser, rig.base, { link: await rig.enterLink() });
    const p = v.page;
    await tabTo(p, p.getByRole('button', { name: 'Pause this machine' }));
    await p.keyboard.press('Enter');
    await p.keyboard.press('ArrowDown');
    await p.keyboard.press('ArrowDown');
    await p.keyboard.press('Enter');
    await p.getByRole('banner').getByText('paused', { exact: true }).waitFor();
    await tabTo(p, p.getByRole('banner').getByRole('button', { name: 'Resume' }));
    await p.keyboard.press('Enter');
    await p.getByRole('banner').getByText('serving', { exact: true }).waitFor();
    await v.close();
  });

  it('sees where it is: whatever has the focus has an outline', async () => {
    const v = await Visit.open(browser, rig.base);
    for (let i = 0; i < 12; i++) {
      await v.page.keyboard.press('Tab');
      const seen = await v.page.evaluate(() => {
        const e = document.activeElement;
        const s = getComputedStyle(e);
        return e === document.body || s.outlineStyle !== 'none' || e.id === 'main' ? '' : e.outerHTML.slice(0, 200);
      });
      assert.equal(seen, '', 'no outline');
    }
    await v.close();
  });
});

/** tabTo presses Tab until something has the focus. */
async function tabTo(page, what) {
  for (let i = 0; i < 80; i++) {
    if (await what.evaluate((e) => e === document.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error('the keyboard does not get there');
}
