// Messages and what is said of a lost connection have a place of their own: over
// nothing that can be clicked, neither of a page nor of a dialog.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { launch, sizes, Visit } from './browser.js';
import { openStage } from './stage.js';

const stage = await openStage();
const browser = await launch();
after(async () => {
  await browser.close();
  await stage.close();
});

const open = async (size, theme, on = stage) => {
  const v = await Visit.open(browser, new URL(on.url).origin, { size: { width: sizes[size].width, height: 640 }, theme });
  v.expect('500');
  let n = 0;
  await v.page.route('**/admin/lock', (r) => r.fulfill({ status: 500, json: { error: { code: 'internal', message: `${++n}. This browser could not be locked, since the file that says so could not be written to its folder. ${'It says why at length. '.repeat(n * 3)}`, remedy: 'Free some room on the disk of the data folder, and try again.' } } }));
  return v;
};

/** fail has the page show so many messages. */
const fail = async (p, n) => {
  for (let i = 1; i <= n; i++) {
    await p.getByRole('banner').getByRole('button', { name: 'Lock', exact: true }).click();
    await p.getByText(`${i}. This browser could not`).waitFor();
  }
};

/** hidden runs in the page: what can be clicked and is below something else. */
function hidden() {
  const wrong = [];
  for (const e of document.querySelectorAll('button, a[href], input, select')) {
    if (e.closest('.skip, [inert]') || (document.querySelector('dialog[open]') && !e.closest('dialog[open]'))) continue;
    const r = e.getBoundingClientRect();
    const [x, y] = [r.x + r.width / 2, r.y + r.height / 2];
    if (r.width === 0 || x < 0 || y < 0 || x > innerWidth || y > innerHeight) continue;
    const top = document.elementFromPoint(x, y);
    const over = top?.closest('[aria-label=Messages], .link');
    const box = e.closest('main, [aria-label=Messages], .rest')?.getBoundingClientRect(); // what is scrolled out of it is not hidden by another
    if (over && !over.contains(e) && !(box && y > box.bottom)) wrong.push(`${e.getAttribute('aria-label') ?? e.textContent.trim()} is below ${over.className}`);
  }
  return wrong;
}

/** ends runs in the page: whether the end of what scrolls can be brought into view, above what is told. */
function ends() {
  const wrong = [];
  const place = Math.min(...[...document.querySelectorAll('[aria-label=Messages], .link')].filter((e) => e.offsetHeight > 0).map((e) => e.getBoundingClientRect().top));
  for (const e of document.querySelectorAll('main *')) {
    if (!/auto|scroll/.test(getComputedStyle(e).overflowY) || e.clientHeight === 0 || e.tagName === 'TEXTAREA') continue;
    e.scrollTop = e.scrollHeight;
    if (e.getBoundingClientRect().bottom > place + 1) wrong.push(`${e.className} ends at ${e.getBoundingClientRect().bottom}, below ${place}`);
  }
  return wrong;
}

for (const size of ['narrow', 'small', 'usual']) {
  describe(`at ${sizes[size].width} wide`, () => {
    it('four long messages hide nothing of any page, and can be closed', async () => {
      const v = await open(size, size === 'small' ? 'dark' : 'light');
      const p = v.page;
      await fail(p, 4);
      const messages = p.getByRole('list', { name: 'Messages' });
      assert.equal(await messages.getByRole('alert').count(), 4, 'each is told at once to those who listen');
      const wrong = [];
      for (const name of ['fleet', 'models', 'memory', 'apps', 'health', 'settings', 'decisions']) {
        await p.evaluate((h) => (location.hash = h), `#/${name}`);
        await p.waitForTimeout(120);
        wrong.push(...(await p.evaluate(hidden)), ...(await p.evaluate(ends)), ...(await p.evaluate(hidden)));
        const main = await p.getByRole('main').boundingBox();
        if (main.height < 640 / 4) wrong.push(`${name} has ${main.height} px left`);
      }
      if (process.env.BELLWETHER_SHOTS) await p.screenshot({ path: `${process.env.BELLWETHER_SHOTS}/notices-${size}.png` });
      assert.deepEqual(wrong, []);
      for (let left = 4; left > 0; left--) await messages.getByRole('button', { name: 'Close' }).first().click();
      await messages.getByRole('alert').waitFor({ state: 'detached' });
      await v.close();
    });

    it('what is said of a lost connection hides nothing', async () => {
      const gone = await openStage();
      const v = await open(size, 'light', gone);
      const p = v.page;
      v.expect('net::ERR_CONNECTION'); // refused, or reset with what was asked meanwhile
      await p.evaluate(() => (location.hash = '#/settings'));
      await p.waitForTimeout(120);
      await gone.close();
      await p.getByText('No connection to Bellwether').waitFor();
      const wrong = [...(await p.evaluate(ends)), ...(await p.evaluate(hidden))];
      if (process.env.BELLWETHER_SHOTS) await p.screenshot({ path: `${process.env.BELLWETHER_SHOTS}/lost-${size}.png` });
      assert.deepEqual(wrong, []);
      await v.close();
    });

    it('what fails while a dialog is open is told beside it, can be closed, and hides none of its buttons', async () => {
      const v = await open(size, size === 'small' ? 'light' : 'dark');
      const p = v.page;
      let fail;
      const held = new Promise((f) => (fail = f));
      let n = 0;
      await p.route('**/admin/models/*', async (r) => {
        await held;
        await r.fulfill({ status: 500, json: { error: { code: 'internal', message: `${++n}. Its runtime refused. ${'It says why at length. '.repeat(12)}`, remedy: 'Try again.' } } });
      });
      await p.evaluate(() => (location.hash = '#/models'));
      for (let i = 0; i < 3; i++) await p.locator('[data-deployment]').nth(i).getByRole('button', { name: /^(P|Unp)in/ }).click();
      await p.getByRole('button', { name: 'Pull', exact: true }).click();
      const dialog = p.getByRole('dialog');
      await dialog.getByRole('textbox').waitFor();
      fail();
      await dialog.getByText('3. Its runtime').waitFor();
      if (process.env.BELLWETHER_SHOTS) await p.screenshot({ path: `${process.env.BELLWETHER_SHOTS}/notices-dialog-${size}.png` });
      assert.equal(await dialog.getByRole('alert').count(), 3);
      assert.deepEqual(await p.evaluate(hidden), []);
      const end = await dialog.getByRole('button', { name: 'Close', exact: true }).nth(1).boundingBox();
      const place = await dialog.getByRole('list', { name: 'Messages' }).boundingBox();
      assert.ok(end.y + end.height <= place.y, 'its own buttons are above what is told');
      for (let left = 3; left > 0; left--) await dialog.getByRole('list', { name: 'Messages' }).getByRole('button', { name: 'Close' }).first().click();
      await dialog.getByRole('alert').waitFor({ state: 'detached' });
      await v.close();
    });
  });
}
