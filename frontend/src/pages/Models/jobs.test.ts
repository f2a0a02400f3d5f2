import { fireEvent, render, screen, within } from '@testing-library/svelte';
import { tick } from 'svelte';
import { expect, it, vi } from 'vitest';
import { fleet } from '../../lib/fleet.svelte';
import { notices } from '../../lib/notices.svelte';
import { session } from '../../lib/session.svelte';
import { engine, showGolden } from '../../test/golden';
import Confirmation from '../../shell/Confirmation.svelte';
import Detail from './Detail.svelte';
import Jobs from './Jobs.svelte';
import { orders } from './orders.svelte';
import Pull from './Pull.svelte';

it('an ended job can be dismissed, one that runs cannot', async () => {
  const asked = engine({ 'POST /admin/jobs/GONE/dismiss': { done: true } });
  session.unlocked = true;
  showGolden((h) => {
    const [running] = Object.values(h.state.jobs);
    h.state.jobs.GONE = { ...running!, id: 'GONE', kind: 'pull', model: 'phi4:14b', state: 'failed', error: 'no space left', ended_at: h.at, cancellable: false };
  });
  const { container } = render(Jobs);
  const line = (id: string) => within(container.querySelector(`[data-job="${id}"]`)!);
  expect(line('K4TQ2M7A').queryByRole('button', { name: /Dismiss/ })).toBeNull();
  await fireEvent.click(line('GONE').getByRole('button', { name: 'Dismiss the pull of phi4:14b' }));
  expect(asked.asked.join()).toContain('POST /admin/jobs/GONE/dismiss');
  const { GONE: _, ...rest } = fleet.jobs;
  fleet.jobs = rest;
  await tick();
  expect(screen.queryByText('phi4:14b')).toBeNull();
});

it('a pull goes on without this window, which tells of its end', async () => {
  showGolden();
  const running = fleet.jobs.K4TQ2M7A!;
  const begun = { ...running, id: 'NEW', model: 'phi4:14b' };
  const log = engine({ 'POST /admin/models/pull': begun });
  await orders.pull('phi4:14b', () => {});
  expect(log.bodies).toEqual([{ model: 'phi4:14b', background: true }]);
  const now = async (over: object) => {
    fleet.jobs = { ...fleet.jobs, NEW: { ...begun, ...over } };
    await tick();
    await tick();
  };
  await now({});
  expect(notices.list).toEqual([]);
  await now({ state: 'done' });
  await vi.waitFor(() => expect(notices.list.map((n) => n.text)).toEqual(['phi4:14b is pulled.']));
  await now({ state: 'failed', error: 'no more' }); // heard once
  expect(notices.list).toHaveLength(1);
});

it('a pull that a restart broke off is told once, by its name, until it is pulled', async () => {
  showGolden();
  const begun = { ...fleet.jobs.K4TQ2M7A!, id: 'CUT', model: 'phi4:14b' };
  engine({ 'POST /admin/models/pull': begun });
  const now = async (jobs: object) => {
    fleet.jobs = jobs as typeof fleet.jobs;
    await tick();
    await tick();
  };
  await orders.pull('phi4:14b', () => {});
  await now({ CUT: begun });
  const error = 'Bellwether ended while it ran. Pull it again: it goes on where it broke off.';
  for (let i = 0; i < 2; i++) await now({ CUT: { ...begun, state: 'failed', error } }); // as the next engine tells it
  expect(notices.list.map((n) => n.text)).toEqual([`The pull of phi4:14b failed. ${error}`]);
  await now({});
  await orders.pull('phi4:14b', () => {});
  await now({ CUT: { ...begun, state: 'done' } });
  await vi.waitFor(() => expect(notices.list.map((n) => n.text)).toEqual(['phi4:14b is pulled.']));
});

it('why a model was not loaded is told until it is', async () => {
  const answers: Record<string, unknown> = { 'POST /admin/models/load': new Response(JSON.stringify({ error: { code: 'no_room', message: 'There is no room for it.' } }), { status: 409 }) };
  engine(answers);
  showGolden();
  const d = Object.values(fleet.deployments).find((x) => x.residency === 'on_disk')!;
  await orders.load(d);
  await orders.load(d);
  expect(notices.list.map((n) => n.text)).toEqual(['There is no room for it.']);
  answers['POST /admin/models/load'] = { done: true };
  await orders.load(d);
  expect(notices.list.map((n) => n.text)).toEqual([`${d.model} is loaded.`]);
});

it('an eval and a probe go on without this window, and every window tells what comes of them', async () => {
  showGolden();
  const eval_ = { ...fleet.jobs.P9XW3C1D!, id: 'NEW' };
  const probe = { ...eval_, id: 'ASKED', kind: 'probe' as const, lines: [], done_items: null, total_items: null, percent: null };
  const log = engine({ 'POST /admin/eval': eval_, 'POST /admin/probe': probe });
  const d = fleet.deployments[eval_.lines[0]!.deployment]!;
  await orders.evaluate({ models: [d.id], items: 5 }, d.model);
  await orders.probe(d.id, d.model);
  expect(log.bodies).toEqual([{ models: [d.id], items: 5, live: true, save: true, background: true }, { models: [d.id], background: true }]);
  const { container } = render(Jobs);
  const now = async (jobs: object) => {
    fleet.jobs = { ...jobs } as typeof fleet.jobs;
    await tick();
    await tick();
  };
  await now({ NEW: eval_, ASKED: { ...probe, done_items: 1, step: 'json_schema', lines: [{ deployment: d.id, about: 'tools', support: 'yes', text: 'it called the tool' }] } });
  expect(container.querySelectorAll('progress')).toHaveLength(2);
  expect(screen.getAllByRole('button', { name: 'Cancel' })).toHaveLength(2);
  expect(container.querySelector('[data-job=ASKED]')!.textContent).toMatch(/1 answer.*JSON by schema/s);
  const ended = { state: 'done', ended_at: new Date().toISOString(), cancellable: false };
  await now({ NEW: { ...eval_, ...ended, lines: [...eval_.lines, { deployment: '', about: '', support: '', text: 'the machine was paused' }] }, ASKED: { ...probe, ...ended, lines: [{ deployment: d.id, about: 'tools', support: 'yes', text: 'it called the tool' }, { deployment: d.id, about: '', support: 'unknown', text: 'studio is paused. Resume it.' }] } });
  await vi.waitFor(() => expect(notices.list.map((n) => n.text)).toEqual([`The eval of ${d.model} ended early: the machine was paused. It goes on there when it is asked for again.`, `The probe of ${d.model} ended early: studio is paused. Resume it.`]));
  expect(container.querySelector('[data-job=NEW]')!.textContent).toMatch(/math 17 of 20 right, it ended early: the machine was paused/);
  const detail = render(Detail, { id: d.id });
  expect(detail.container.textContent).toMatch(/tools\s*it called the tool/);
  expect(detail.container.textContent).toMatch(/Measured .*: math 17 of 20 right/);
});

it('a question whether to cancel goes with the run that it is about', async () => {
  const log = engine({});
  session.unlocked = true;
  showGolden();
  const { container } = render(Jobs);
  render(Confirmation);
  await fireEvent.click(within(container.querySelector<HTMLElement>('[data-job="K4TQ2M7A"]')!).getByRole('button', { name: 'Cancel' }));
  expect(screen.getByText('Cancel the pull of gpt-oss:20b?')).toBeTruthy();
  fleet.jobs = { ...fleet.jobs, K4TQ2M7A: { ...fleet.jobs.K4TQ2M7A!, percent: 80 } };
  await tick();
  expect(screen.getByText('Cancel the pull of gpt-oss:20b?')).toBeTruthy();
  fleet.jobs = { ...fleet.jobs, K4TQ2M7A: { ...fleet.jobs.K4TQ2M7A!, state: 'done' } };
  await vi.waitFor(() => expect(screen.queryByText('Cancel the pull of gpt-oss:20b?')).toBeNull());
  expect(log.asked).toEqual([]);
});

it('says why nothing can be pulled and what to do, and offers nothing else', () => {
  const shown = (change: (up: boolean[]) => void, kinds = true) => {
    showGolden((h) => {
      for (const r of Object.values(h.state.runtimes)) {
        r.up = !kinds;
        if (!kinds) r.manages_models = false;
      }
    });
    change([]);
    const { container, unmount } = render(Pull, { onclose: () => {} });
    const button = screen.getByRole<HTMLButtonElement>('button', { name: 'Pull' });
    const said = { text: container.ownerDocument.body.textContent!, disabled: button.disabled, title: button.title };
    unmount();
    return said;
  };
  const down = shown(() => {});
  expect(down.text).toMatch(/Nothing can be pulled now: ollama is down\..*Start it/);
  expect(down.text).not.toMatch(/It is fetched by/);
  expect(down).toMatchObject({ disabled: true, title: expect.stringMatching(/ollama is down/) });
  expect(shown(() => {}, false).text).toMatch(/no runtime of this machine fetches models.*Ollama does/);
});

it('a refused name stays to be mended, with why; a pull that began closes the dialog', async () => {
  const answers: Record<string, unknown> = {
    'POST /admin/models/pull': new Response(JSON.stringify({ error: { code: 'invalid_model_name', message: 'The model name "a//b" is not well formed.', remedy: 'Write it as a library has it.' } }), { status: 400 }),
  };
  const log = engine(answers);
  const found = { severity: 'ok', remedy: '', setting: '', deployment: '', cure: null, dismissable: false };
  showGolden((h) => Object.assign(h.state.findings, {
    disk: { ...found, id: 'disk', title: 'Disk', text: 'The disk of the data folder has 52 GB left.' },
    'disk.ollama': { ...found, id: 'disk.ollama', title: "Disk of ollama's models", text: "The disk of ollama's models (/big/models) has 400 GB left." },
  }));
  const onclose = vi.fn();
  render(Pull, { onclose });
  expect(screen.getByText(/of memory free now\. The disk of ollama's models \(\/big\/models\) has 400 GB left\. You can/)).toBeTruthy();
  const field = screen.getByRole<HTMLInputElement>('textbox');
  await fireEvent.input(field, { target: { value: 'phi4:14b' } });
  await fireEvent.click(screen.getByRole('button', { name: 'Pull' }));
  expect(await screen.findByText(/is not well formed/)).toBeTruthy();
  expect(screen.getByText(/Write it as a library has it/)).toBeTruthy();
  expect(onclose).not.toHaveBeenCalled();
  expect(field.value).toBe('phi4:14b');
  expect(notices.list.filter((n) => n.kind === 'problem')).toEqual([]);
  await fireEvent.input(field, { target: { value: 'phi4:15b' } });
  expect(screen.queryByText(/is not well formed/)).toBeNull();
  answers['POST /admin/models/pull'] = { ...fleet.jobs.K4TQ2M7A!, id: 'NEW', model: 'phi4:15b' };
  await fireEvent.click(screen.getByRole('button', { name: 'Pull' }));
  await vi.waitFor(() => expect(onclose).toHaveBeenCalledOnce());
  expect(log.asked.length).toBe(2);
});
