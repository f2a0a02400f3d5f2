import { fireEvent, render, screen, within } from '@testing-library/svelte';
import { tick } from 'svelte';
import { expect, it } from 'vitest';
import { fleet } from '../../lib/fleet.svelte';
import { session } from '../../lib/session.svelte';
import { engine, showGolden } from '../../test/golden';
import Jobs from './Jobs.svelte';
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
