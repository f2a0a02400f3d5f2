// A real browser for the tests. Each visit notes what must not be: errors of
// the page, and requests to anywhere but the engine.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-extensions'];

/** launch starts the browser that CHROMIUM names. */
export const launch = (more = []) => chromium.launch({ executablePath: process.env.CHROMIUM, args: [...flags, ...more] });

export const sizes = { small: { width: 900, height: 640 }, usual: { width: 1280, height: 800 }, narrow: { width: 400, height: 800 }, large: { width: 1920, height: 1080 }, wide: { width: 2560, height: 1440 }, huge: { width: 3840, height: 2160 } };

/** Visit is one browser of one person, with nothing remembered. */
export class Visit {
  /** base is the engine's address; link unlocks the page, without one it may only read; held = its socket gets no
   *  further than to here, until letGo; alone = nothing of the test runs in the page while it opens. */
  static async open(browser, base, { link, size = sizes.large, theme = 'light', reducedMotion = 'reduce', script, held, alone } = {}) {
    const context = await browser.newContext({ viewport: size, colorScheme: theme, reducedMotion, baseURL: base });
    context.setDefaultTimeout(8000);
    if (script) await context.addInitScript(script);
    const page = await context.newPage();
    const v = new Visit(context, page, new URL(base).origin);
    if (held) await v.hold();
    await page.goto(link ?? base + '/ui/');
    await page.waitForURL(/\/ui\//);
    if (!alone) await v.ready();
    return v;
  }

  constructor(context, page, origin) {
    Object.assign(this, { context, page, origin, wrong: [], outside: [], requests: [], expected: [] });
    page.on('console', (m) => m.type() === 'error' && this.wrong.push(m.text() + ' ' + (m.location()?.url ?? '')));
    page.on('pageerror', (err) => this.wrong.push(err.stack ?? err.message));
    context.on('request', (r) => this.note(r.url()));
    page.on('websocket', (ws) => this.note(ws.url()));
  }

  note(url) {
    this.requests.push(url);
    const u = new URL(url);
    if (u.protocol === 'data:') return;
    if (u.host !== new URL(this.origin).host) this.outside.push(url);
  }

  /** hold keeps the sockets of the page from the engine. */
  async hold() {
    const let_ = new Promise((go) => (this.letGo = go));
    await this.page.routeWebSocket(/\/admin\/ws$/, async (ws) => {
      await let_;
      ws.connectToServer();
    });
  }

  /** ready waits until the feed is shown. */
  async ready() {
    await this.page.getByRole('heading', { level: 1 }).first().waitFor();
  }

  /** go opens a page by its name in the sidebar. */
  async go(name) {
    await this.page.getByRole('navigation').getByRole('link', { name, exact: false }).first().click();
    await this.page.getByRole('heading', { level: 1, name }).waitFor();
    await this.page.getByRole('main', { name }).locator('.content > *').first().waitFor();
  }

  /** expect says that errors with this text are part of the test. */
  expect(text) {
    this.expected.push(text);
  }

  /** close ends the visit; what must not be fails the test. */
  async close() {
    await this.context.close();
    const wrong = this.wrong.filter((w) => !this.expected.some((e) => w.includes(e)));
    assert.deepEqual(wrong, [], 'errors in the page');
    assert.deepEqual(this.outside, [], 'requests to other hosts');
    assert.ok(this.requests.length > 0, 'nothing was requested');
  }
}

/** cells are the texts of a table's row, by the table's column titles. */
export async function cells(row) {
  return row.evaluate((tr) => {
    const heads = [...tr.closest('table').querySelectorAll('thead th')].map((th) => th.textContent.trim());
    return Object.fromEntries([...tr.children].map((td, i) => [heads[i] ?? i, td.innerText.replace(/\s+/g, ' ').trim()]));
  });
}
