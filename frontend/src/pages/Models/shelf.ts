// What is where, as the page lists it: deployments grouped by model, filtered
// and sorted. Values in, values out.
import { natural } from '../../lib/order';
import type { CapabilityView, DeploymentView, LaneView, QualityView } from '../../lib/wire';
import { provenanceWords } from '../../lib/words';

/** Show is which deployments are listed. */
export type Show = 'all' | 'loaded' | 'trouble';

export interface Wish {
  text: string; // part of a model's name, family, tag, or machine's name
  show: Show;
  node: string; // id; '' = every machine
}

/** Shelf is one model and everywhere it is. */
export interface Shelf {
  model: string;
  deployments: DeploymentView[]; // by machine's name and runtime: a place that no load changes
  loaded: number;
}

/** shelves groups deployments by model, in alphabetical order. */
export function shelves(deployments: Record<string, DeploymentView>, wish: Wish, nodeName: (id: string) => string): Shelf[] {
  const words = wish.text.toLowerCase().split(/\s+/).filter(Boolean);
  const by = new Map<string, Shelf>();
  for (const d of Object.values(deployments)) {
    if (!wanted(d, wish, words, nodeName)) continue;
    let s = by.get(d.model);
    if (!s) by.set(d.model, (s = { model: d.model, deployments: [], loaded: 0 }));
    s.deployments.push(d);
    if (isLoaded(d)) s.loaded++;
  }
  for (const s of by.values()) s.deployments.sort((a, b) => natural(nodeName(a.node_id), nodeName(b.node_id)) || natural(a.runtime, b.runtime) || natural(a.id, b.id));
  return [...by.values()].sort((a, b) => natural(a.model, b.model));
}

function wanted(d: DeploymentView, wish: Wish, words: string[], nodeName: (id: string) => string): boolean {
  if (wish.node !== '' && d.node_id !== wish.node) return false;
  if (wish.show === 'loaded' && d.residency === 'on_disk') return false;
  if (wish.show === 'trouble' && !trouble(d)) return false;
  if (words.length === 0) return true;
  const text = [d.model, d.family, nodeName(d.node_id), d.runtime, ...d.tags, ...d.also_named].join(' ').toLowerCase();
  return words.every((w) => text.includes(w));
}

/** isLoaded: it takes memory, or is about to. */
export const isLoaded = (d: DeploymentView): boolean => d.residency === 'loaded' || d.residency === 'loading';

/** trouble is what is wrong with a deployment in words, '' = nothing. */
export const trouble = (d: DeploymentView): string => d.unhealthy || d.degraded || (d.disabled ? 'switched off in the settings' : '');

/** Totals are the page's first line. Weights that two names share are counted once for each machine. */
export interface Totals {
  models: number;
  deployments: number;
  loaded: number;
  diskBytes: number;
  residentBytes: number;
}

export function totals(deployments: Record<string, DeploymentView>): Totals {
  const models = new Set<string>();
  const weights = new Set<string>();
  const t: Totals = { models: 0, deployments: 0, loaded: 0, diskBytes: 0, residentBytes: 0 };
  for (const d of Object.values(deployments)) {
    models.add(d.model);
    t.deployments++;
    const file = d.digest === '' ? d.id : `${d.node_id}/${d.digest}`;
    if (!weights.has(file)) t.diskBytes += d.weights_bytes ?? 0;
    weights.add(file);
    if (d.residency === 'loaded') {
      t.loaded++;
      t.residentBytes += d.resident_bytes ?? 0;
    }
  }
  t.models = models.size;
  return t;
}

/** Residencies in words. */
export const residencyWords: Record<DeploymentView['residency'], string> = { on_disk: 'on disk', loading: 'loading', loaded: 'loaded', leaving: 'leaving' };

/** busyWords say what runs and waits for a deployment: "2 running, 1 waiting". */
export function busyWords(lane: LaneView | undefined): string {
  if (!lane) return '';
  const parts: string[] = [];
  if (lane.running_requests > 0) parts.push(`${lane.running_requests} running`);
  if (lane.waiting_requests > 0) parts.push(`${lane.waiting_requests} waiting`);
  return parts.join(', ');
}

/** capabilityWords are the abilities' names for people, in the order they are listed. */
const capabilityWords: Record<string, string> = {
  chat: 'chat',
  tools: 'tools',
  vision: 'images',
  thinking: 'thinking',
  embedding: 'embeddings',
  json_schema: 'JSON by schema',
  json_object: 'JSON',
  tool_choice_required: 'forced tool calls',
  parallel_tools: 'parallel tool calls',
  insert: 'fill in the middle',
  continuation: 'continues answers',
  audio_in: 'audio',
  streaming: 'streaming',
};

/** abilityWord is an ability in words. */
export const abilityWord = (name: string): string => capabilityWords[name] ?? name.replaceAll('_', ' ');

/** brief are the abilities that a table shows; the others are in the details. */
const brief = new Set(['chat', 'tools', 'vision', 'thinking', 'embedding', 'insert', 'audio_in']);

export interface Ability extends CapabilityView {
  name: string;
  words: string;
}

/** abilities lists what is known, in a fixed order; those without a word of their own come last, by name. */
export function abilities(d: DeploymentView): Ability[] {
  const order = Object.keys(capabilityWords);
  const rank = (n: string) => (order.includes(n) ? order.indexOf(n) : order.length);
  return Object.entries(d.capabilities)
    .map(([name, c]) => ({ name, words: abilityWord(name), ...c }))
    .sort((a, b) => rank(a.name) - rank(b.name) || natural(a.name, b.name));
}

/** can is what a deployment can do, for one cell. */
export const can = (d: DeploymentView): string[] => abilities(d).filter((a) => a.support === 'yes' && brief.has(a.name)).map((a) => a.words);

/** sourceWords say who knows of an ability. */
const sources: Record<string, string> = {
  operator: 'you said so',
  probe: 'asked and seen',
  runtime: 'its runtime says so',
  template: 'read from its template',
  adapter: 'true of every model of its runtime',
  catalogue: 'from the catalogue',
};
export const sourceWords = (source: string): string => sources[source] ?? source;

export interface Evidence {
  kind: 'measured' | 'said' | 'published' | 'other';
  words: string;
}

/** evidenceWords turn measured:30 or prior:... into a sentence's part. */
export function evidenceWords(q: QualityView): Evidence {
  const [head, ...rest] = q.evidence.split(':');
  const tail = rest.join(':');
  if (head === 'measured') return { kind: 'measured', words: `measured here, ${tail} ${tail === '1' ? 'item' : 'items'}` };
  if (head === 'prior' && tail === 'operator') return { kind: 'said', words: 'you said so' };
  if (head === 'prior') return { kind: 'published', words: provenanceWords(tail) };
  return { kind: 'other', words: q.evidence.replaceAll(':', ', ') };
}

/** bestQuality is the measured value if there is one, else the one for any task, else the first. */
export function bestQuality(list: readonly QualityView[]): QualityView | undefined {
  return list.find((q) => q.evidence.startsWith('measured:')) ?? list.find((q) => q.task === 'any') ?? list[0];
}
