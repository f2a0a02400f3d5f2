// The README's pictures, of a live rig with traffic under way:
//
//	node readme.js ../../assets/docs
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { launch, Visit } from './browser.js';
import { Rig } from './rig.js';

const folder = process.argv[2];
const rig = await Rig.start();
const browser = await launch();
let over = false;
try {
  await rig.traffic();
  await rig.control('desk', { inject: [{ model: 'qwen3:8b', status: 500, times: 1, body: '{"error":"out of memory"}' }] });
  await rig.ask('claude-cli/2.0', 'claude-sonnet-4-5', { path: '/v1/messages', prompt: 'Write a function in Go that merges two sorted lists, with its tests.', max: 400 });
  // Several apps at once, until the pictures are taken.
  const going = ['continue/1.2 qwen3:8b', 'open-webui/0.6 llava:7b', 'codex/1.0 gpt-oss:20b', 'home-assistant/2026.1 llama3.2:3b', 'claude-cli/2.0 auto:quality'].map(async (line, i) => {
    const [app, model] = line.split(' ');
    while (!over) {
      await rig.ask(app, model, { max: 300 });
      await sleep(150 * (i + 1));
    }
  });
  const shoot = async (name, theme, run) => {
    const v = await Visit.open(browser, rig.base, { link: await rig.enterLink(), theme, size: { width: 1280, height: 800 } });
    await run(v);
    await v.page.waitForTimeout(400);
    await v.page.screenshot({ path: join(folder, `ui-${name}.png`) });
    await v.close();
  };
  await shoot('decisions', 'light', async (v) => {
    const list = await rig.get('/admin/decisions?limit=100');
    const d = list.find((x) => x.requested_model.startsWith('claude') && x.candidates?.length > 1 && x.outcome === 'ok') ?? list[0];
    await v.page.evaluate((id) => (location.hash = `#/decisions/${id}`), d.request_id);
    await v.page.getByRole('complementary', { name: 'Decision' }).getByText(d.request_id).first().waitFor();
  });
  await shoot('memory', 'dark', async (v) => {
    await sleep(Number(process.env.MEMORY_SECONDS ?? 240) * 1000); // for some of its last hour
    await v.go('Memory');
    await sleep(1500);
  });
  await shoot('models', 'light', async (v) => {
    await v.go('Models');
    await v.page.getByRole('button', { name: 'Pull', exact: true }).click();
    await v.page.getByRole('dialog').getByRole('textbox').fill('mistral:7b');
    await v.page.getByRole('dialog').getByRole('button', { name: 'Pull' }).click();
    await v.page.locator('[data-deployment$="/desk/gpt-oss:20b"]').getByRole('link').first().click();
    await sleep(900);
  });
  await shoot('settings', 'dark', async (v) => {
    await v.go('Settings');
    await v.page.locator('[data-setting="routing.max_retries"]').getByRole('textbox').fill('3');
    await v.page.locator('[data-setting="node.name"]').getByRole('textbox').fill('studio');
    await v.page.getByRole('button', { name: 'Review and save' }).click();
    await v.page.getByRole('dialog').waitFor();
  });
  over = true;
  await Promise.all(going);
} finally {
  over = true;
  await browser.close();
  await rig.stop();
}
