// Words that more than one page has for the same thing.
import { until } from './format';
import type { DeploymentView } from './wire';

/** taskWord is a task in words: creative writing. */
export const taskWord = (task: string): string => (task === 'any' ? 'any task' : task.replaceAll('_', ' '));

/** unloads says when a model in memory leaves it if nobody asks for it, '' = nobody knows. Of one that is pinned its runtime alone decides. */
export function unloads(d: Pick<DeploymentView, 'residency' | 'expires_at' | 'pinned'>, now: number): string {
  if (d.residency !== 'loaded' || !d.expires_at) return '';
  return `${d.pinned ? 'its runtime lets it go' : 'unloads'} ${until(d.expires_at, now)}`;
}

const benches: Record<string, string> = {
  aider: 'Aider', arenahard: 'Arena-Hard', bfcl: 'BFCL', bigcodebench: 'BigCodeBench', deepseek: 'DeepSeek', evalplus: 'EvalPlus', livebench: 'LiveBench',
  lmarena: 'LMArena', openllm: 'Open LLM', wildbench: 'WildBench', zeroeval: 'ZeroEval',
};

/** provenanceWords are where a published quality comes from: "bfcl,openllm 2026-04" is BFCL, Open LLM, 2026-04. */
export const provenanceWords = (from: string): string => from.replace(/^([a-z,]+) (\d{4}-\d\d)$/, (_, names: string, month: string) => [...names.split(',').map((n) => benches[n] ?? n), month].join(', '));

/** sentence begins a remedy with a capital, unless it begins with something that is written as it stands: a command, a setting. */
export const sentence = (text: string): string => (/^(?!bellwether\b|ollama\b)[a-z]+[ ,:]/.test(text) ? text[0]!.toUpperCase() + text.slice(1) : text);
