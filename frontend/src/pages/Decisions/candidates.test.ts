import { render, screen } from '@testing-library/svelte';
import { describe, expect, it } from 'vitest';
import type { DecisionRecord } from '../../lib/record';
import { showGolden } from '../../test/golden';
import decisionFile from '../../../../engine/admin/testdata/wire/decision.json';
import RecordView from './RecordView.svelte';
import { evidenceOf, inOrder, residencyOf } from './signals';
import { noteWord } from './words';

const decision = decisionFile as unknown as DecisionRecord;

describe('candidates', () => {
  it('have no figures of a ranking where they were not ranked', () => {
    showGolden();
    const [first, second, ...rest] = inOrder(decision);
    const unranked = { ...second!, quality: 0, score: 0, latency_cost: 0, residency_cost: 0, overhead_cost: 0, affinity_adjust: 0 };
    const { container } = render(RecordView, { record: { ...decision, candidates: [first!, unranked, ...rest] } });
    expect(container.querySelectorAll('.rank-terms').length).toBe(rest.length + 1);
    expect([...container.querySelectorAll('.rank-terms')].some((x) => /Ranked 0/.test(x.textContent!))).toBe(false);
  });
  it('say what their figures rest on without codes', () => {
    expect(evidenceOf('prior:bfcl 2026-04 latency:size-heuristic').map((e) => e.text)).toEqual(['quality: BFCL, 2026-04', 'speed estimated']);
    expect(evidenceOf('prior:operator latency:measured:12').map((e) => e.text)).toEqual(['quality: as its operator says', 'speed measured (12)']);
    expect(evidenceOf('uncalibrated:size-heuristic')[0]!.says).toBe('Nobody measured it: guessed from its size.');
  });
  it('have tasks in words in what was noted', () => {
    expect(noteWord('task_asked: my_model:1b says creative_writing')).toBe('asked what it is about: my_model:1b says creative writing');
  });
  it('are not in memory while they are being loaded', () => {
    expect(residencyOf({ ...decision.candidates![0]!, loaded: false, notes: ['loading'] })).toBe('was being loaded');
    expect(residencyOf({ ...decision.candidates![0]!, loaded: true, notes: [] })).toBe('in memory');
    expect(residencyOf({ ...decision.candidates![0]!, loaded: false, notes: [] })).toBe('would be loaded first');
  });
  it('tell apart what was changed and what was noted', () => {
    showGolden();
    render(RecordView, { record: { ...decision, edits: ['num_ctx set'], notes: ['evicts', 'output_clamped', 'slots_learned:4'] } });
    const card = (title: string) => screen.getByRole('heading', { name: title }).closest('section')!.textContent!;
    expect(card('Changed on the way')).toMatch(/num_ctx set.*smaller output limit/);
    expect(card('Changed on the way')).not.toMatch(/unloaded|slots/);
    expect(card('Noted')).toMatch(/others would be unloaded.*slots/);
  });
});
