import { fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { expect, it } from 'vitest';
import { fleet } from '../../lib/fleet.svelte';
import { engine, showGolden, studio } from '../../test/golden';
import Detail from './Detail.svelte';
import Measure from './Measure.svelte';
import type { Plan } from './orders.svelte';

const id = `${studio}/ollama/qwen3:30b-a3b`;
const button = (name: string) => screen.getByRole<HTMLButtonElement>('button', { name });

it('says at the button why a model cannot be loaded, unloaded or asked', () => {
  showGolden((h) => (h.state.deployments[id]!.residency = 'loading'));
  const loading = render(Detail, { id });
  expect([button('Unload').disabled, button('Unload').title]).toEqual([true, 'It is being loaded just now.']);
  expect(button('Probe').disabled).toBe(false);
  loading.unmount();
  showGolden((h) => {
    h.state.deployments[id]!.residency = 'on_disk';
    h.state.nodes[studio]!.paused = true;
  });
  const words = 'studio is paused: it takes no work until it is resumed.';
  const paused = render(Detail, { id });
  for (const name of ['Load', 'Probe', 'Measure …']) expect([button(name).disabled, button(name).title]).toEqual([true, words]);
  expect(screen.getByText(words)).toBeTruthy();
  paused.unmount();
  showGolden((h) => {
    h.state.deployments[id]!.residency = 'loaded';
    h.state.nodes[studio]!.paused = true;
  });
  render(Detail, { id });
  expect(button('Unload').disabled).toBe(false);
});

it('an eval of no task costs nothing, and is not begun', async () => {
  const plan: Plan = { suite: 's', requests: 31, done: 0, input: 900, output: 400, seconds: 35.1, loads: 0, models: [{ deployment: id, name: 'x', load: false, seconds: 35.1, source: 'measured', tasks: [{ task: 'math', items: 31, done: 0, input: 900, output: 400, seconds: 35.1 }] }] };
  engine({ 'POST /admin/eval': { plan } });
  showGolden();
  render(Measure, { deployment: fleet.deployments[id]!, onclose: () => {} });
  await fireEvent.click(await screen.findByRole('checkbox', { name: /math/ }));
  await waitFor(() => expect(screen.getByText(/No task is chosen/)).toBeTruthy());
  expect(screen.queryByText('31')).toBeNull();
  expect(screen.getByText('left out')).toBeTruthy();
  expect(button('Measure').disabled).toBe(true);
});
