import { expect, it } from 'vitest';
import { provenanceWords, sentence, taskWord, unloads } from './words';

const now = Date.parse('2026-11-03T09:00:00Z');
const model = { residency: 'loaded', expires_at: '2026-11-03T09:04:00Z', pinned: false } as const;

it('says when a model unloads, and of a pinned one who lets it go', () => {
  expect(unloads(model, now)).toBe('unloads in 4 min');
  expect(unloads({ ...model, pinned: true }, now)).toBe('its runtime lets it go in 4 min');
  expect(unloads({ ...model, expires_at: null }, now)).toBe('');
  expect(unloads({ ...model, residency: 'loading' }, now)).toBe('');
});

it('has no code in its words', () => {
  expect(taskWord('creative_writing')).toBe('creative writing');
  expect(taskWord('any')).toBe('any task');
  expect(provenanceWords('bfcl 2026-04')).toBe('BFCL, 2026-04');
  expect(provenanceWords('bigcodebench,openllm 2025-05')).toBe('BigCodeBench, Open LLM, 2025-05');
  expect(provenanceWords('published scores, 2026-10')).toBe('published scores, 2026-10');
});

it('begins a remedy with a capital, and leaves commands and settings as they are written', () => {
  expect(sentence('declare a pool: pools: [...]')).toBe('Declare a pool: pools: [...]');
  expect(sentence('bellwether resume')).toBe('bellwether resume');
  expect(sentence('memory_gb of pool ram is too much')).toBe('memory_gb of pool ram is too much');
  expect(sentence('Nothing has to be done.')).toBe('Nothing has to be done.');
});
