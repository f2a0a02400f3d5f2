import { describe, expect, it } from 'vitest';
import golden from '../../../../engine/admin/testdata/wire/apps.json';
import type { AppsAnswer } from '../../lib/wire';
import { sorted, sums } from './apps';

const apps = (golden as unknown as AppsAnswer).apps;
const names = (order: Parameters<typeof sorted>[1]) => sorted(apps, order).map((a) => a.name);

describe('sorted', () => {
  it('puts most first, and names upwards', () => {
    expect(names('requests')).toEqual(['claude-code', 'open-webui', 'curl']);
    expect(names('name')).toEqual(['claude-code', 'curl', 'open-webui']);
    expect(names('seen')).toEqual(['claude-code', 'open-webui', 'curl']);
  });
  it('puts what has no figure last', () => expect(names('total').at(-1)).toBe('curl'));
  it('leaves the list it was given', () => {
    sorted(apps, 'name');
    expect(apps[1]!.name).toBe('open-webui');
  });
});

it('sums add up all apps', () => {
  expect(sums(apps)).toEqual({ requests: 207, failed: 2, refused: 2, active: 4, input: 2442231, output: 110452 });
});
