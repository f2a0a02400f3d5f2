// A large screen is used: no page of figures ends in its upper third or at a part of its width, and no line of text
// becomes too long to read.
import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { launch, sizes, Visit } from './browser.js';
import { answers, goldenHello } from './fleet.js';
import { openStage } from './stage.js';

const state = goldenHello().state;
const [mine, other] = Object.values(state.nodes).sort((a, b) => Number(b.local) - Number(a.local)).map((n) => n.id);
const alone = structuredClone(state);
for (const all of [alone.nodes, alone.pools, alone.deployments, alone.runtimes, alone.lanes]) for (const id of Object.keys(all)) if (id.startsWith(other)) delete all[id];
// Both machines' pools have an hour behind them.
const [[, hour]] = Object.entries(answers.history.pools);
const history = { ...answers.history, pools: Object.fromEntries(Object.keys(state.pools).map((id) => [id, hour])) };

const stages = { one: await openStage({ state: alone, answers: { history } }), two: await openStage({ state, answers: { history } }) };
const browser = await launch();
after(async () => {
  await browser.close();
  for (const s of Object.values(stages)) await s.close();
});

/** room runs in the page: how far what is shown reaches, as a part of the page, and what is wrong with its text. */
function room() {
  const content = document.querySelector('main .content').getBoundingClientRect();
  const boxes = [...document.querySelectorAll('main article, main .card, main .add')].map((e) => e.getBoundingClientRect());
  const wrong = [];
  for (const e of document.querySelectorAll('main p, main dd, main li')) {
    const lines = e.getClientRects().length;
    const style = getComputedStyle(e);
    const per = e.clientWidth / (parseFloat(style.fontSize) * 0.5);
    if (lines > 0 && e.offsetHeight > 1.9 * parseFloat(style.lineHeight) && style.display === 'block' && per > 130) wrong.push(`${Math.round(per)} letters in a line: ${e.textContent.trim().slice(0, 60)}`);
  }
  for (const e of document.querySelectorAll('main td, main th')) if (getComputedStyle(e).textOverflow !== 'ellipsis' && e.scrollWidth > e.clientWidth + 1) wrong.push(`a cell overflows: ${e.textContent.trim()}`);
  return { wide: (Math.max(...boxes.map((b) => b.right)) - content.left) / content.width, high: (Math.max(...boxes.map((b) => b.bottom)) - content.top) / content.height, charts: document.querySelectorAll('main .plot canvas').length, wrong };
}

for (const [name, stage] of Object.entries(stages)) {
  for (const size of ['large', 'wide', 'huge']) {
    it(`${name} of machines fill ${sizes[size].width} by ${sizes[size].height}`, async () => {
      const v = await Visit.open(browser, new URL(stage.url).origin, { size: sizes[size], theme: size === 'wide' ? 'dark' : 'light' });
      for (const page of ['fleet', 'memory']) {
        await v.page.evaluate((h) => (location.hash = h), `#/${page}`);
        await v.page.locator('main .plot canvas').first().waitFor();
        await v.page.waitForTimeout(100);
        if (process.env.BELLWETHER_SHOTS) await v.page.screenshot({ path: `${process.env.BELLWETHER_SHOTS}/wide-${name}-${page}-${size}.png` });
        const r = await v.page.evaluate(room);
        assert.deepEqual(r.wrong, [], page);
        assert.ok(r.wide > 0.9, `${page} uses ${r.wide.toFixed(2)} of the width`);
        assert.ok(r.high > 0.55, `${page} uses ${r.high.toFixed(2)} of the height`);
        assert.equal(r.charts, name === 'one' ? 1 : 2, page);
      }
      await v.close();
    });
  }
}
