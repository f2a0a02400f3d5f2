// Pictures of every page, for people to look at:
//
//	node shots.js FOLDER [--golden | --nodes 50]    of a made-up fleet
//	node shots.js FOLDER --live                     of the rig, with traffic
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { launch, sizes, Visit } from './browser.js';

/** views are all that is pictured: a name, and where it is. */
export const views = [
  ['fleet', '#/fleet'], ['decisions', '#/decisions'], ['models', '#/models'], ['models-names', '#/models?part=names'], ['memory', '#/memory'],
  ['capacity', '#/capacity'], ['apps', '#/apps'], ['health', '#/health'], ['health-traffic', '#/health/traffic'], ['health-log', '#/health/log'], ['health-bundle', '#/health/bundle'], ['settings', '#/settings'],
];

// Parts of pages, which are pictured in one look for each size unless all is wanted.
const parts = new Set(['models-names', 'health-traffic', 'health-log', 'health-bundle']);

/** shoot pictures the views in both looks and both sizes. */
export async function shoot(browser, base, folder, { list = views, link = async () => undefined, themes = ['light', 'dark'], which = ['small', 'large'], whole = false, before = async () => {} } = {}) {
  mkdirSync(folder, { recursive: true });
  const made = [];
  for (const theme of themes) {
    for (const size of which) {
      const v = await Visit.open(browser, base, { theme, size: sizes[size], link: await link() });
      for (const [name, hash] of list.filter(([n]) => whole || !parts.has(n) || (theme === 'dark') === (size === 'large'))) {
        await v.page.evaluate((h) => (location.hash = h), hash);
        await v.page.waitForFunction(() => document.querySelector('main')?.innerText.length > 20, null, { timeout: 5000 }).catch(() => {});
        await v.page.waitForTimeout(120);
        await before(v, name);
        const path = join(folder, `${name}-${theme}-${size}.png`);
        await v.page.screenshot({ path });
        made.push(path);
      }
      await v.close();
    }
  }
  return made;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values: o, positionals } = parseArgs({ allowPositionals: true, options: { live: { type: 'boolean' }, golden: { type: 'boolean' }, nodes: { type: 'string', default: '3' }, theme: { type: 'string', multiple: true }, size: { type: 'string', multiple: true }, only: { type: 'string', multiple: true }, view: { type: 'string', multiple: true } } });
  const browser = await launch();
  const extra = (o.view ?? []).map((v) => v.split('='));
  const list = [...views.filter(([n]) => !o.only || o.only.includes(n)), ...extra.map(([n, ...h]) => [n, h.join('=')])];
  const options = { list: o.view && !o.only ? extra.map(([n, ...h]) => [n, h.join('=')]) : list, themes: o.theme, which: o.size, whole: true };
  if (o.live) {
    const { Rig } = await import('./rig.js');
    const rig = await Rig.start();
    try {
      await rig.traffic();
      await shoot(browser, rig.base, positionals[0], { ...options, link: () => rig.enterLink() });
    } finally {
      await rig.stop();
    }
  } else {
    const { openStage } = await import('./stage.js');
    const { Fleet } = await import('./fleet.js');
    const stage = await openStage({ rate: 2, fleet: o.golden ? undefined : new Fleet({ nodes: +o.nodes, models: 20 }) });
    try {
      await shoot(browser, stage.url.replace('/ui/', ''), positionals[0], options);
    } finally {
      await stage.close();
    }
  }
  await browser.close();
}
