// The words and colours for the parts of a score, in the order they stack.
import { natural } from '../../lib/order';
import type { Candidate, DecisionRecord, Signal } from '../../lib/record';
import { provenanceWords } from '../../lib/words';

export const signals: { key: Signal; label: string; says: string }[] = [
  { key: 'warmth', label: 'Warmth', says: 'the model is in memory, or was lately' },
  { key: 'memory_fit', label: 'Memory fit', says: 'room for it once it is loaded' },
  { key: 'role_affinity', label: 'Role affinity', says: 'the machine suits this kind of work' },
  { key: 'context_fit', label: 'Context fit', says: 'its context fits the request' },
  { key: 'session_affinity', label: 'Session', says: 'it has the conversation’s beginning in its cache' },
  { key: 'availability', label: 'Availability', says: 'how free its owner leaves the machine' },
  { key: 'queue_depth', label: 'Queue depth', says: 'requests before this one' },
  { key: 'wait', label: 'Expected wait', says: 'time until it could begin' },
];

/** extent is the range, in points, that all candidates' bars fit into. */
export function extent(candidates: readonly Candidate[]): { low: number; high: number } {
  let low = 0;
  let high = 0;
  for (const c of candidates) {
    let plus = 0;
    let minus = 0;
    for (const s of signals) {
      const v = c.signals[s.key];
      if (v > 0) plus += v;
      else minus += v;
    }
    high = Math.max(high, plus);
    low = Math.min(low, minus);
  }
  return { low, high: high === 0 && low === 0 ? 1 : high };
}

/** rankedOne says that a candidate stood for its model in the ranking; of the model's other places nothing was measured there. */
export const rankedOne = (c: Candidate): boolean => c.quality > 0 || c.score !== 0;

/** residencyOf says where a candidate's model was. Records of before the note say of a load under way that it is in memory. */
export function residencyOf(c: Candidate): string {
  if (c.notes?.includes('loading')) return 'was being loaded';
  return c.loaded ? 'in memory' : 'would be loaded first';
}

/** ranked says that models were compared for an alias, so that the ranking's terms mean something. */
export function ranked(r: DecisionRecord): boolean {
  return !!r.alias && (r.candidates ?? []).some(rankedOne);
}

/** inOrder has the chosen candidate first, then the best. */
export function inOrder(r: DecisionRecord): Candidate[] {
  const best = (c: Candidate) => (ranked(r) ? c.score : c.node_score);
  return [...(r.candidates ?? [])].sort(
    (a, b) => Number(b.deployment === r.chosen) - Number(a.deployment === r.chosen) || best(b) - best(a) || natural(a.deployment, b.deployment),
  );
}

/** A label of evidence: what it is about, where it comes from, and how much it rests on. */
export interface Evidence {
  tone: 'good' | 'note' | 'plain';
  text: string;
  says: string;
}

/** evidenceOf reads an evidence text such as "measured:30 p75:measured:412". */
export function evidenceOf(text: string): Evidence[] {
  return text.split(/\s+(?=measured:|prior:|uncalibrated\b|p75:|latency:)/).filter((t) => t !== '').map(one);
}

function one(text: string): Evidence {
  const about = /^(p75|latency):/.test(text) ? 'speed' : 'quality';
  const [kind = '', ...rest] = text.replace(/^(p75|latency):/, '').split(':');
  const detail = rest.join(':');
  switch (kind) {
    case 'measured':
      return { tone: 'good', text: `${about} measured (${detail})`, says: `From ${detail} ${about === 'speed' ? 'answers' : 'checked tasks'} here.` };
    case 'prior':
      return { tone: 'note', text: `${about}: ${detail === 'operator' ? 'as its operator says' : provenanceWords(detail)}`, says: 'Not measured here: from published scores, or as its operator says.' };
    case 'uncalibrated':
      return { tone: 'plain', text: `${about} guessed`, says: `Nobody measured it: ${detail === 'size-heuristic' ? 'guessed from its size' : 'nothing is known of it'}.` };
    case 'size-heuristic':
    case 'heuristic':
      return { tone: 'plain', text: `${about} estimated`, says: 'Nobody measured it: estimated from its size and the machine.' };
  }
  return { tone: 'plain', text: text.replaceAll('_', ' '), says: '' };
}
