import { expect, it } from 'vitest';
import { href, parsed, route, type Place } from './route.svelte';

it('leads back to the place it was made of', () => {
  const places: Place[] = [
    { page: 'fleet', rest: '', query: {} },
    { page: 'decisions', rest: '01JBQ7YZG9', query: { app: 'claude-code', text: 'a b&c=d' } },
    { page: 'memory', rest: '3f9c/unified', query: {} },
    { page: 'models', rest: 'qwen/qwen3 8b?#%', query: {} },
  ];
  for (const place of places) expect(parsed(href(place.page, place.rest, place.query))).toEqual(place);
});

it('reads whatever an address may hold', () => {
  expect(parsed('')).toEqual({ page: '', rest: '', query: {} });
  expect(parsed('#/decisions/%zz')).toEqual({ page: 'decisions', rest: '%zz', query: {} });
  expect(parsed('#decisions?app=')).toEqual({ page: 'decisions', rest: '', query: { app: '' } });
});

it('of a page is never that of another page, which it may see while it is left', () => {
  route.place = parsed('#/decisions/01JBQ7YZG9?app=curl');
  expect(route.of('decisions').rest).toBe('01JBQ7YZG9');
  route.place = parsed('#/health/log?q=x');
  expect(route.of('decisions')).toMatchObject({ rest: '01JBQ7YZG9', query: { app: 'curl' } });
  expect(route.of('health')).toMatchObject({ rest: 'log', query: { q: 'x' } });
  expect(route.of('models')).toEqual({ page: 'models', rest: '', query: {} });
  route.place = parsed('');
});
