// A line with a long way to go: what shows meanwhile, and how soon the page is there.
import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { launch } from './browser.js';
import { Fleet } from './fleet.js';
import { openSlow } from './slow.js';
import { openStage } from './stage.js';

const rtt = 600; // ms
const stage = await openStage({ rate: 2, fleet: new Fleet({ nodes: 3, models: 20 }) });
const line = await openSlow(new URL(stage.url).port, rtt);
const browser = await launch();
after(async () => {
  await browser.close();
  await line.close();
  await stage.close();
});

// In round trips: two for a connection and the page itself, one for the program
// on it, two for the connection of the feed. A file that is asked for by another
// file, or a feed that waits for the style, costs one more and makes it six.
for (const [hash, sign] of [['fleet', 'main article'], ['models', '[data-deployment]']]) {
  it(`${hash} shows that it loads once it is there itself, and asks for nothing one after another`, async () => {
    const times = [];
    for (let i = 0; i < 5; i++) { // the machine may be busy with other work
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
      try {
        const page = await context.newPage();
        const wrong = [];
        page.on('console', (m) => m.type() === 'error' && wrong.push(m.text()));
        const began = performance.now();
        await page.goto(`http://127.0.0.1:${line.port}/ui/#/${hash}`, { waitUntil: 'commit' });
        await page.getByAltText('Bellwether is loading').waitFor();
        await page.locator(sign).first().waitFor({ timeout: 30 * rtt });
        const content = performance.now() - began;
        const first = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Infinity);
        assert.equal(await page.getByAltText('Bellwether is loading').count(), 0, 'what showed meanwhile goes');
        assert.deepEqual(wrong, [], 'no error, and no breach of the policy');
        times.push([first / rtt, content / rtt]);
      } finally {
        await context.close();
      }
      const [first, content] = times.at(-1);
      if (first < 3 && content < 6) return;
    }
    assert.fail(`round trips until the first paint and the content: ${times.map((t) => t.map((n) => n.toFixed(1)).join(' and ')).join('; ')}`);
  });
}
