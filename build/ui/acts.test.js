// What an owner does in the window, and how soon it shows elsewhere.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { launch, Visit } from './browser.js';
import { within } from './promise.js';
import { Rig, until } from './rig.js';

const rig = await Rig.start();
const browser = await launch();
let visit;
before(async () => {
  visit = await Visit.open(browser, rig.base, { link: await rig.enterLink() });
});
after(async () => {
  await browser.close();
  await rig.stop();
});

const page = () => visit.page;
const status = async () => JSON.parse(await rig.cli('status', '--json'));
const shownAs = (state) => page().getByRole('banner').getByText(state, { exact: true });
const button = (name, options) => page().getByRole('button', { name, exact: true, ...options });
const notice = (text) => page().getByRole('list', { name: 'Messages' }).getByText(text);

describe('a bare browser', () => {
  it('may read, and says how to unlock instead of doing', async () => {
    const v = await Visit.open(browser, rig.base);
    v.expect('403'); // the log is the owner's
    await v.page.getByRole('button', { name: 'Pause' }).click({ force: true }); // it looks disabled, and explains itself
    await v.page.getByRole('dialog').getByText('bellwether open').first().waitFor();
    assert.equal((await status()).node.state, 'serving');
    await v.page.keyboard.press('Escape');
    await v.page.evaluate(() => (location.hash = '#/health/log'));
    await v.page.getByText('The log is its owner’s to read').waitFor();
    const refused = await v.page.evaluate(async () => (await fetch('/admin/pause', { method: 'POST', body: '{}' })).status);
    assert.equal(refused, 403);
    await v.close();
  });

  it('is unlocked by a link, once', async () => {
    const link = await rig.enterLink();
    const v = await Visit.open(browser, rig.base, { link });
    await v.page.getByRole('button', { name: 'Lock' }).first().waitFor();
    const again = await fetch(link);
    assert.equal(again.headers.get('set-cookie'), null, 'a used link gives no cookie');
    await v.context.close();
  });
});

describe('a pause', () => {
  const resume = async () => {
    await rig.cli('resume');
    await shownAs('serving').waitFor();
  };

  it('from the window shows in the CLI within 300 ms', () => within(300, 'a pause from the window was everywhere', async () => {
    await button('Pause this machine').click();
    const item = page().getByRole('menuitem', { name: 'Until resumed' });
    await item.waitFor();
    const began = performance.now();
    await item.click();
    await until('the pause', async () => (await rig.get('/admin/status')).node.state === 'paused', 3);
    await shownAs('paused').waitFor();
    assert.equal((await status()).node.state, 'paused');
    const ms = performance.now() - began;
    await resume();
    return ms;
  }));

  it('from the CLI shows in the window within 300 ms', () => within(300, 'a pause from the CLI was in the window', async () => {
    await rig.cli('pause', '--reason', 'a build');
    const began = performance.now();
    await shownAs('paused').waitFor();
    const ms = performance.now() - began;
    await resume();
    return ms;
  }));

  it('from the CLI is undone in the window', async () => {
    await rig.cli('pause', '--reason', 'a build');
    await button('Resume').first().click();
    await shownAs('serving').waitFor();
    assert.equal((await status()).node.state, 'serving');
  });

  it('is a finding that Health cures', async () => {
    await rig.cli('pause', '--reason', 'a build');
    await visit.go('Health');
    const finding = page().locator('[data-finding="pause"]');
    await finding.getByText('a build').waitFor();
    await finding.getByRole('button', { name: 'Resume' }).click();
    await shownAs('serving').waitFor();
    assert.equal((await status()).node.state, 'serving');
  });
});

describe('models', () => {
  const row = (name) => page().locator(`[data-deployment$="/desk/${name}"]`);

  it('are pulled with their progress shown, also when the window is loaded anew meanwhile', async () => {
    await visit.go('Models');
    await button('Pull').click();
    await page().getByRole('dialog').getByRole('textbox').fill('mistral:7b');
    await page().getByRole('dialog').getByRole('button', { name: 'Pull' }).click();
    const job = page().locator('[data-job]', { hasText: 'mistral:7b' });
    await job.getByRole('progressbar').waitFor();
    await until('a percentage', async () => /[1-9]\d? %/.test(await job.innerText()), 5);
    await page().reload();
    await page().locator('[data-deployment*="mistral:7b"]').waitFor();
  });

  it('can be cancelled while they are pulled', async () => {
    await button('Pull').click();
    await page().getByRole('dialog').getByRole('textbox').fill('phi4:14b');
    await page().getByRole('dialog').getByRole('button', { name: 'Pull' }).click();
    const job = page().locator('[data-job]', { hasText: 'phi4:14b' });
    await job.getByRole('button', { name: 'Cancel' }).click();
    await page().getByRole('dialog').getByRole('button', { name: 'Stop the pull' }).click();
    await job.getByText('cancelled', { exact: true }).waitFor();
    await job.getByRole('button', { name: 'Dismiss the pull of phi4:14b' }).click();
    await job.waitFor({ state: 'detached' });
    const { deployments } = await rig.state();
    assert.ok(!Object.keys(deployments).some((id) => id.includes('phi4')));
  });

  it('are loaded and unloaded, and the unloading undone', async () => {
    await row('qwen3:8b').getByRole('button', { name: 'Load qwen3:8b' }).click();
    await row('qwen3:8b').getByText('loaded', { exact: true }).waitFor();
    await row('qwen3:8b').getByRole('button', { name: 'Unload qwen3:8b' }).click();
    await row('qwen3:8b').getByText('on disk').waitFor();
    await button('Load again').click();
    await row('qwen3:8b').getByText('loaded', { exact: true }).waitFor();
  });

  it('are deleted only after their name was typed', async () => {
    const id = Object.keys((await rig.state()).deployments).find((k) => k.includes('mistral:7b'));
    await page().locator(`[data-deployment="${id}"]`).getByRole('link', { name: 'mistral:7b' }).click();
    await button('Delete mistral:7b').click();
    const dialog = page().getByRole('dialog');
    assert.ok(await dialog.getByRole('button', { name: 'Delete' }).isDisabled());
    await dialog.getByRole('textbox').fill('mistral:7b');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page().locator(`[data-deployment="${id}"]`).waitFor({ state: 'detached' });
    assert.ok(!(id in (await rig.state()).deployments));
  });

  it('are measured after their cost was shown', async () => {
    await row('qwen3:8b').getByRole('link', { name: 'qwen3:8b' }).click();
    await button('Measure …').click();
    const dialog = page().getByRole('dialog');
    await dialog.getByText('questions', { exact: false }).first().waitFor();
    await dialog.getByRole('combobox').selectOption('5');
    const boxes = dialog.getByRole('checkbox');
    for (let i = (await boxes.count()) - 1; i > 0; i--) await boxes.nth(i).uncheck();
    await dialog.getByRole('button', { name: 'Measure' }).click();
    const job = page().locator('[data-job]', { hasText: 'Eval' });
    await job.getByText('done', { exact: true }).waitFor();
    await until('the grade', async () => {
      const d = Object.values((await rig.state()).deployments).find((x) => x.id.endsWith('/desk/qwen3:8b'));
      return d.quality.some((q) => q.evidence === 'measured:5');
    });
    await page().getByText('measured here, 5 items').waitFor();
  });

  it('are asked what they can do', async () => {
    await button('Probe').click();
    await page().getByRole('dialog').getByRole('button', { name: 'Ask it' }).click();
    await page().locator('[data-job]', { hasText: 'Probe' }).getByText('done', { exact: true }).waitFor();
    await page().getByText(/^Probed/).waitFor();
  });
});

describe('settings', () => {
  const row = (key) => page().locator(`[data-setting="${key}"]`);

  it('are checked while they are typed, previewed, and saved with the file’s comments kept', async () => {
    await visit.go('Settings');
    const field = row('routing.max_retries').getByRole('textbox');
    await field.fill('many');
    await row('routing.max_retries').getByText('Not a whole number').waitFor();
    assert.ok(await button('Review and save').isDisabled());
    await field.fill('3');
    await button('Review and save').click();
    const dialog = page().getByRole('dialog');
    await dialog.getByText('routing.max_retries').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row('routing.max_retries').getByText('config.yaml, line').waitFor();
    const file = readFileSync(rig.config, 'utf8');
    assert.match(file, /max_retries: 3/);
    assert.match(file, /This line has to outlive every change/);
    const { settings } = await rig.get('/admin/settings');
    assert.equal(settings.find((s) => s.key === 'routing.max_retries').value, '3');
  });

  it('that the engine refuses say why at their place', async () => {
    await row('routing.max_retries').getByRole('textbox').fill('4000');
    visit.expect('400');
    visit.expect('422');
    await button('Review and save').click();
    await row('routing.max_retries').getByRole('alert').filter({ hasText: 'from 0 to 5' }).waitFor();
    await button('Discard').click();
  });

  it('are not saved over a file that moved, and can be after loading again', async () => {
    visit.expect('409');
    await row('routing.max_retries').getByRole('textbox').fill('1');
    writeFileSync(rig.config, readFileSync(rig.config, 'utf8').replace('log_level: debug', 'log_level: info'));
    const moved = page().getByText('The settings file was changed meanwhile.');
    await button('Review and save').click({ timeout: 1000 }).catch(() => {}); // it may be heard before
    await moved.waitFor();
    await button('Load again').click();
    await moved.waitFor({ state: 'detached' });
    assert.equal(await row('routing.max_retries').getByRole('textbox').inputValue(), '1', 'the draft stays');
    await button('Review and save').click();
    await page().getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await until('the file', () => /max_retries: 1/.test(readFileSync(rig.config, 'utf8')));
    assert.match(readFileSync(rig.config, 'utf8'), /log_level: info/);
    writeFileSync(rig.config, readFileSync(rig.config, 'utf8').replace('log_level: info', 'log_level: warn'));
    await until('the page to show the file as it is', async () => (await row('log_level').getByRole('combobox').inputValue()) === 'warn');
  });
});

describe('health', () => {
  it('sends test traffic, and shows each request as it ends', async () => {
    await rig.ask('curl/8', 'qwen3:8b'); // so that one is loaded
    await visit.go('Health');
    await page().getByRole('link', { name: 'Test traffic' }).click();
    await button('Send test traffic').dblclick(); // the second press is no stop
    await page().getByText('All passed').waitFor({ timeout: 30_000 });
    const rows = page().getByRole('region', { name: 'Results of test traffic' }).locator('tbody tr');
    assert.ok((await rows.count()) > 0);
  });

  it('shows a runtime that went down, and that it came back', async () => {
    await page().getByRole('link', { name: 'Checks' }).click();
    const finding = page().locator('[data-finding^="runtime"]', { hasText: 'laptop' }).first();
    await rig.control('laptop', { inject: [{ path: '*', status: 500 }] });
    await until('the finding', async () => (await finding.getAttribute('data-severity')) === 'broken', 30);
    await rig.control('laptop', { heal: true });
    await until('its end', async () => (await finding.getAttribute('data-severity')) !== 'broken', 30);
  });

  it('tails the log', async () => {
    await page().getByRole('link', { name: 'Log' }).click();
    const lines = page().getByRole('log').locator('p');
    await lines.first().waitFor();
    await page().getByRole('searchbox', { name: 'Search the log' }).fill('serving');
    await page().getByRole('log').getByText('serving').first().waitFor();
  });

  it('hands out a support bundle without secrets', async () => {
    await page().getByRole('link', { name: 'Support' }).click();
    const [download] = await Promise.all([page().waitForEvent('download'), button('Download').click()]);
    const raw = readFileSync(await download.path());
    assert.equal(raw.subarray(0, 2).toString(), 'PK');
    assert.ok(!raw.includes(rig.token), 'the token is not in it');
  });
});

it('locking takes the rights away', async () => {
  await visit.go('Settings');
  await button('Lock').first().click();
  await page().getByRole('button', { name: 'Read-only' }).waitFor();
  visit.expect('403');
  const refused = await page().evaluate(async () => (await fetch('/admin/resume', { method: 'POST' })).status);
  assert.equal(refused, 403);
});

it('nothing of it was an error of the page', () => visit.close());
