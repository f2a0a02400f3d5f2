import { fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { tick } from 'svelte';
import { expect, it } from 'vitest';
import { fleet } from '../../lib/fleet.svelte';
import { engine, showGolden, studio } from '../../test/golden';
import Detail from './Detail.svelte';

it('a model is pinned by its button, and let go by the same', async () => {
  const log = engine({ 'POST /admin/models/pin': { done: true }, 'POST /admin/models/unpin': { done: true } });
  showGolden();
  const id = `${studio}/ollama/qwen3:30b-a3b`;
  render(Detail, { id });
  const pinned = fleet.deployments[id]!.pinned;
  const button = () => screen.getByRole('button', { name: pinned === fleet.deployments[id]!.pinned ? (pinned ? 'Unpin' : 'Pin') : pinned ? 'Pin' : 'Unpin' });
  expect(button().getAttribute('aria-pressed')).toBe(String(pinned));
  await fireEvent.click(button());
  fleet.deployments = { ...fleet.deployments, [id]: { ...fleet.deployments[id]!, pinned: !pinned } };
  await tick();
  await waitFor(() => expect(button().hasAttribute('disabled')).toBe(false)); // its order is carried out
  expect(button().getAttribute('aria-pressed')).toBe(String(!pinned));
  await fireEvent.click(button());
  const [one, other] = pinned ? ['unpin', 'pin'] : ['pin', 'unpin'];
  expect(log.asked).toEqual([`POST /admin/models/${one}`, `POST /admin/models/${other}`]);
  expect(log.bodies).toEqual([{ deployment: id }, { deployment: id }]);
});
