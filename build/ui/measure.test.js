// What the owner has measured goes on in the engine when the window that began it is closed, and every window shows it.
import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { launch, sizes, Visit } from './browser.js';
import { Rig, until } from './rig.js';

const rig = await Rig.start();
const browser = await launch();
after(async () => {
  await browser.close();
  await rig.stop();
});

const open = async (theme, size = 'usual') => Visit.open(browser, rig.base, { link: await rig.enterLink(), theme, size: sizes[size] });
const shoot = (v, name) => process.env.BELLWETHER_SHOTS && v.page.screenshot({ path: `${process.env.BELLWETHER_SHOTS}/measure-${name}.png` });
const job = async (id) => (await rig.state()).jobs[id];

it('an eval begun in a window goes on when it is closed, is shown in another, and is cancelled there', async () => {
  const { deployments } = await rig.state();
  const d = Object.values(deployments).find((x) => x.model.startsWith('qwen3:8b') && x.runtime === 'cupboard') ?? Object.values(deployments).find((x) => x.model.startsWith('llama3.2:3b'));
  const first = await open('light');
  await first.page.evaluate((id) => (location.hash = `#/models/${encodeURIComponent(id)}`), d.id);
  await first.page.getByRole('button', { name: 'Measure …' }).click();
  const dialog = first.page.getByRole('dialog');
  await shoot(first, 'dialog');
  await dialog.getByRole('button', { name: 'Measure', exact: true }).click();
  const { id } = await until('the eval to run', async () => Object.values((await rig.state()).jobs).find((j) => j.kind === 'eval' && j.done_items > 0));
  await first.close();

  const { done_items: then } = await job(id);
  await until('it to go on without its window', async () => (await job(id)).done_items > then, 60);
  const second = await open('dark', 'small');
  await second.go('Models');
  const line = second.page.locator(`[data-job="${id}"]`);
  await line.getByText(/\d+ of \d+ items/).waitFor();
  assert.match(await line.innerText(), /Eval llama3\.2:3b/);
  await shoot(second, 'under-way');
  await line.getByRole('button', { name: 'Cancel' }).click();
  await second.page.getByRole('button', { name: 'Stop the eval' }).click();
  await line.getByText('cancelled', { exact: true }).waitFor();
  assert.equal((await job(id)).state, 'cancelled');
  await second.close();
});

it('a probe begun in a window tells another what it found', async () => {
  const d = Object.values((await rig.state()).deployments).find((x) => x.model.startsWith('llama3.2:3b'));
  const [first, second] = [await open('light'), await open('light')];
  for (const v of [first, second]) await v.page.evaluate((id) => (location.hash = `#/models/${encodeURIComponent(id)}`), d.id);
  await first.page.getByRole('button', { name: 'Probe' }).click();
  await first.page.getByRole('button', { name: 'Ask it' }).click();
  await until('the probe to run', async () => Object.values((await rig.state()).jobs).some((j) => j.kind === 'probe'));
  await first.close();
  const { id } = await until('the probe to end', async () => Object.values((await rig.state()).jobs).find((j) => j.kind === 'probe' && j.state === 'done'), 60);
  const { lines } = await job(id);
  assert.ok(lines.length > 3, JSON.stringify(lines));
  await second.page.locator('.found').getByText(lines[0].text).first().waitFor();
  await shoot(second, 'found');
  await second.close();
});
