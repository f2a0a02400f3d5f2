// Every page of a live node after traffic and faults: what stands there is what
// the API says, nothing goes outside, and nothing complains.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { cells, launch, Visit } from './browser.js';
import { within } from './promise.js';
import { Rig, until } from './rig.js';

const rig = await Rig.start();
const browser = await launch();
let visit;
before(async () => {
  await rig.traffic();
  visit = await Visit.open(browser, rig.base, { link: await rig.enterLink() });
});
after(async () => {
  await browser.close();
  await rig.stop();
});

const page = () => visit.page;
const count = (n) => n.toLocaleString('en-US');
/** bytes as the UI says them: at most one decimal, powers of 1024. */
function bytes(n) {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let u = 0;
  for (; Math.abs(n) >= 999.5 && u < 4; u++) n /= 1024;
  return `${n.toFixed(n >= 99.95 ? 0 : 1).replace(/\.0$/, '')} ${units[u]}`;
}
const main = () => page().locator('main').innerText();

describe('what a page shows is what the API says', () => {
  it('Fleet', async () => {
    await visit.go('Fleet');
    const { nodes } = await rig.state();
    const text = await main();
    for (const n of Object.values(nodes)) {
      assert.ok(text.includes(n.name), `machine ${n.name}`);
      assert.ok(text.includes(n.state), `state ${n.state}`);
      if (n.chip) assert.ok(text.includes(n.chip), `chip ${n.chip}`);
      const heat = n.thermal.known ? { normal: 'cool', warm: 'warm', hot: 'slowed by heat' }[n.thermal.value] : n.thermal.celsius === null ? 'heat not known' : `${n.thermal.celsius} °C`;
      assert.ok(text.includes(heat), `heat ${heat}`);
    }
  });

  it('Decisions', async () => {
    await visit.go('Decisions');
    const list = await rig.get('/admin/decisions?limit=50');
    const rows = page().getByRole('row');
    await until('all rows', async () => (await rows.count()) >= list.length);
    const texts = (await rows.allInnerTexts()).map((t) => t.replace(/\s+/g, ' '));
    for (const d of list) {
      const found = texts.some((t) => t.includes(d.requested_model) && (!d.app || t.includes(d.app)));
      assert.ok(found, `${d.app} asked for ${d.requested_model}: no such row`);
    }
  });

  it('one decision opened', async () => {
    const list = await rig.get('/admin/decisions?limit=50');
    const d = list.find((x) => x.requested_model.startsWith('claude') && x.outcome === 'ok');
    await page().evaluate((id) => (location.hash = `#/decisions/${id}`), d.request_id);
    const aside = page().getByRole('complementary', { name: 'Decision' });
    await aside.waitFor();
    const model = d.chosen.split('/').slice(2).join('/');
    await until(`its record, with ${model}`, async () => {
      const text = await aside.innerText();
      return text.includes(d.request_id) && text.includes(model);
    });
  });

  it('Models', async () => {
    await visit.go('Models');
    const { deployments } = await rig.state();
    for (const d of Object.values(deployments)) {
      const row = page().locator(`[data-deployment="${d.id}"]`);
      const c = await cells(row);
      assert.ok(c.Model.startsWith(d.model), c.Model);
      assert.ok(c.Model.includes(d.runtime), c.Model);
      assert.equal(c['On disk'], bytes(d.weights_bytes));
      assert.equal(c['In memory'], d.resident_bytes === null ? '–' : bytes(d.resident_bytes));
      assert.ok(c.State.startsWith(d.residency === 'on_disk' ? 'on disk' : d.residency), c.State);
      const speed = d.speed.decode_tokens_per_second;
      assert.equal(c.Speed, speed === null ? '–' : `${speed >= 9.95 ? count(Math.round(speed)) : speed.toFixed(1)} tok/s`);
      assert.equal(c.Can.includes('tools'), d.capabilities.tools?.support === 'yes', c.Can);
    }
  });

  it('one model opened, with the source of each ability', async () => {
    const { deployments } = await rig.state();
    const d = Object.values(deployments).find((x) => x.model === 'gpt-oss:20b');
    await page().locator(`[data-deployment="${d.id}"]`).getByRole('link', { name: d.model }).click();
    const aside = page().getByRole('complementary', { name: 'Model' });
    await aside.getByRole('heading', { name: d.model }).waitFor();
    for (const [name, c] of Object.entries(d.capabilities)) {
      const row = aside.locator(`[data-capability="${name}"]`);
      assert.ok((await row.innerText()).includes(c.support === 'unknown' ? 'not known' : c.support), name);
      assert.equal(await row.locator('[title]').getAttribute('title'), c.source);
    }
    await page().keyboard.press('Escape');
    await aside.waitFor({ state: 'detached' });
  });

  it('names: aliases and contracts', async () => {
    await page().getByRole('link', { name: /^Names/ }).click();
    const { aliases, contracts } = await rig.state();
    for (const a of Object.values(aliases)) {
      const row = page().locator(`[data-alias="${a.name}"]`);
      assert.ok((await row.innerText()).includes(a.profile), a.name);
    }
    for (const c of Object.values(contracts)) {
      const text = await page().locator(`[data-contract="${c.name}"]`).innerText();
      assert.ok(text.includes(c.anchor ? c.anchor.identity : 'Bound to no model'), text);
    }
  });

  it('Memory', async () => {
    await visit.go('Memory');
    const { pools } = await rig.state();
    const text = await main();
    for (const p of Object.values(pools)) {
      assert.ok(text.includes(p.name), `pool ${p.name}`);
      assert.ok(text.includes(bytes(p.limit_bytes)), `limit ${bytes(p.limit_bytes)} of ${p.name}`);
    }
  });

  it('Capacity', async () => {
    await visit.go('Capacity');
    await page().getByRole('gridcell').first().waitFor();
    assert.equal(await page().getByRole('gridcell').count(), 168);
    const { settings } = await rig.get('/admin/settings');
    await page().getByRole('link', { name: 'When it is paused, running requests' }).waitFor();
    assert.ok((await main()).includes(settings.find((s) => s.key === 'on_pause').value));
  });

  it('Apps', async () => {
    await visit.go('Apps');
    const { apps } = await rig.get('/admin/apps');
    assert.ok(apps.length >= 6, `${apps.length} apps`);
    for (const a of apps) {
      const c = await cells(page().locator(`[data-app="${a.name}"]`));
      assert.equal(c['Requests'] ?? c['Requests ↓'], count(a.requests), a.name);
      assert.equal(c.Failed, count(a.failed_requests), a.name);
      assert.equal(c.Refused, count(a.refused_requests), a.name);
      assert.equal(c['Tokens in'], count(a.input_tokens), a.name);
    }
    const tagged = apps.filter((a) => a.tags.length > 0);
    assert.deepEqual(tagged.map((a) => a.name).sort(), ['claude-code', 'continue']);
    for (const a of tagged) {
      await page().getByRole('button', { name: `Tags of ${a.name}` }).click();
      for (const t of a.tags) {
        const c = await cells(page().locator(`[data-app-tag="${a.name} ${t.name}"]`));
        assert.equal(c.App, t.name);
        assert.equal(c['Requests'] ?? c['Requests ↓'], count(t.requests), t.name);
        assert.equal(c['Tokens in'], count(t.input_tokens), t.name);
        assert.equal(c.Failed, count(t.failed_requests), t.name);
      }
    }
  });

  it('Health', async () => {
    await visit.go('Health');
    const { findings } = await rig.state();
    await page().locator('details').evaluate((d) => (d.open = true));
    for (const f of Object.values(findings)) {
      const item = page().locator(`[data-finding="${f.id}"]`);
      assert.equal(await item.getAttribute('data-severity'), f.severity);
      const text = await item.innerText();
      assert.ok(text.includes(f.title) && text.includes(f.text), `${f.id}: ${text}`);
    }
    assert.equal(await page().locator('[data-finding]').count(), Object.keys(findings).length);
    assert.ok(Object.keys(findings).length >= 25, `${Object.keys(findings).length} checks: ${Object.keys(findings).join(' ')}`);
  });

  it('Settings', async () => {
    await visit.go('Settings');
    const { settings, revision } = await rig.get('/admin/settings');
    await page().locator('[data-setting]').first().waitFor();
    assert.equal(await page().locator('[data-setting]').count(), settings.length);
    assert.ok((await page().getByTitle('The file that changes').innerText()).includes(revision.slice(0, 8)));
    for (const s of settings) {
      const row = page().locator(`[data-setting="${s.key}"]`);
      const shown = s.kind === 'flag' ? String(await row.getByRole('switch').isChecked())
        : s.kind === 'choice' ? await row.getByRole('combobox').inputValue()
        : await row.getByRole('textbox').inputValue();
      const same = /^[[{]/.test(s.value) ? JSON.stringify(JSON.parse(shown)) === JSON.stringify(JSON.parse(s.value)) : shown === s.value;
      assert.ok(same, `${s.key}: ${shown}, not ${s.value}`);
      const facts = await row.textContent();
      if (s.restart) assert.ok(facts.includes('after a restart'), s.key);
      if (s.later) assert.ok(facts.includes(s.later), s.key);
    }
  });
});

/** stopwatch runs in the page: when the first card was painted, since the page was asked for. */
function stopwatch() {
  const watch = new MutationObserver(() => {
    if (!document.querySelector('main article')) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => (window.painted = performance.now())));
  });
  watch.observe(document, { childList: true, subtree: true });
}

describe('the page', () => {
  it('says a policy that allows its own files only', async () => {
    const r = await fetch(rig.base + '/ui/');
    const policy = r.headers.get('content-security-policy') ?? '';
    for (const part of ["default-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"]) assert.ok(policy.includes(part), policy);
    assert.ok(!policy.includes('unsafe'), policy);
    assert.equal(r.headers.get('cache-control'), 'no-store'); // the state of the moment is in it
    const asset = /assets\/[^"]+\.js/.exec(await r.text())[0];
    const a = await fetch(`${rig.base}/ui/${asset}`);
    assert.match(a.headers.get('cache-control'), /immutable/);
  });

  it('shows its machines before its socket is there, and nothing of it as old', async () => {
    const v = await Visit.open(browser, rig.base, { link: await rig.enterLink(), held: true });
    await v.page.locator('main article').first().waitFor();
    const said = await v.page.evaluate(() => ({ cards: document.querySelectorAll('main article').length, old: [...document.querySelectorAll('.old, .link')].map((e) => e.outerHTML.slice(0, 300)), text: document.querySelector('main article').innerText }));
    const state = await rig.state();
    assert.equal(said.cards, Object.keys(state.nodes).length);
    assert.ok(said.text.includes(Object.values(state.nodes)[0].name), said.text);
    assert.deepEqual(said.old, []);
    await v.letGo();
    await rig.ask('held-back/1.0', 'qwen3:8b', { max: 4 });
    await v.go('Decisions');
    await v.page.getByRole('main', { name: 'Decisions' }).getByRole('row').filter({ hasText: 'held-back' }).first().waitFor(); // the socket goes on from there
    await v.close(); // and neither an error nor a breach of the policy stands in the console
  });

  it('weighs at most 150 KB, gzipped', () => {
    const dist = fileURLToPath(new URL('../../frontend/dist', import.meta.url));
    const files = readdirSync(dist, { recursive: true, withFileTypes: true }).filter((f) => f.isFile() && !f.name.startsWith('.'));
    const sizes = files.map((f) => [f.name, gzipSync(readFileSync(join(f.parentPath ?? f.path, f.name)), { level: 9 }).length]);
    const all = sizes.reduce((n, [, s]) => n + s, 0);
    console.log(`${(all / 1000).toFixed(1)} KB gzipped in ${files.length} files`);
    assert.ok(all <= 150_000, JSON.stringify(sizes));
  });

  it('had no error, and asked nobody outside', () => visit.close());

  it('shows its machines within 300 ms', () => within(300, 'the first card was painted', async () => {
    const v = await Visit.open(browser, rig.base, { script: stopwatch, reducedMotion: null, alone: true });
    let ms;
    await until('it is painted', async () => {
      await sleep(700); // nothing of the test runs in the page meanwhile
      return (ms = await v.page.evaluate(() => window.painted));
    });
    await v.close();
    return ms;
  }));
});
