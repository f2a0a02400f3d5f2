import { render, screen } from '@testing-library/svelte';
import { expect, it } from 'vitest';
import { engine, showGolden } from '../../test/golden';
import Models from './Models.svelte';

const empty = (up: boolean) => {
  engine({});
  showGolden((h) => {
    h.state.deployments = {};
    h.state.jobs = {};
    for (const r of Object.values(h.state.runtimes)) r.up = up;
  });
  render(Models);
};

it('without a runtime, Models says what to start and where more is said', () => {
  empty(false);
  expect(screen.getByText('No runtime answers')).toBeTruthy();
  expect(screen.getByRole('link', { name: 'What Health found' }).getAttribute('href')).toBe('#/health');
  expect(screen.queryByRole('button', { name: 'Pull a model' })).toBeNull();
});

it('with a runtime that has none, Models offers to pull a first one', () => {
  empty(true);
  expect(screen.getByText('There is no model yet')).toBeTruthy();
  expect(screen.getByRole('button', { name: 'Pull a model' })).toBeTruthy();
});
