// What the owner orders for models: load, unload, pin, delete, pull, probe, eval.
// Those that last are jobs of the engine's, which outlive the window; the feed
// tells every window how far they are and what came of them.
import { lines, post, segment } from '../../lib/api';
import { confirm } from '../../lib/confirm.svelte';
import { fleet, pausedWords } from '../../lib/fleet.svelte';
import { bytes } from '../../lib/format';
import { carryOut, notices } from '../../lib/notices.svelte';
import type { DeploymentView, JobView } from '../../lib/wire';

/** Plan is what an eval would cost: engine/measure's own, as POST /admin/eval tells it. */
export interface Plan {
  suite: string;
  models: ModelPlan[];
  requests: number;
  done: number;
  input: number; // tokens, estimated
  output: number;
  seconds: number;
  loads: number;
}

export interface ModelPlan {
  deployment: string;
  name: string;
  tasks: { task: string; items: number; done: number; input: number; output: number; seconds: number }[];
  load: boolean;
  seconds: number;
  source: string; // measured, heuristic
}

interface Step {
  plan?: Plan;
}

/** EvalWish is what is graded: one deployment, some tasks, at most so many items of each (0 = all). */
export interface EvalWish {
  models: string[];
  tasks?: string[];
  items?: number;
}

const loaded = (d: DeploymentView) => fleet.deployments[d.id]?.residency === 'loaded';

/** hindrance says why a deployment can be neither loaded nor unloaded just now, '' = it can. */
export function hindrance(d: DeploymentView): string {
  if (d.residency === 'loaded') return '';
  if (d.residency !== 'on_disk') return `It is being ${d.residency === 'loading' ? 'loaded' : 'unloaded'} just now.`;
  return fleet.runtimes[`${d.node_id}/${d.runtime}`]?.up === false ? 'Its runtime is down.' : pausedWords(d.node_id);
}

// early says that an eval or a probe ended before all was asked, '' = it did not.
const early = (j: JobView, model: string) => j.lines.filter((l) => l.about === '').map((l) => `The ${j.kind} of ${model} ended early: ${l.text.replace(/\.$/, '')}.`)[0] ?? '';

class Orders {
  /** Deployments whose order is under way. */
  busy = $state.raw<ReadonlySet<string>>(new Set());

  async load(d: DeploymentView): Promise<void> {
    if (await this.#run(d, 'memory', () => post('models/load', { deployment: d.id }))) notices.done(`${d.model} is loaded.`, null, '', { about: `memory ${d.id}`, holds: () => loaded(d) });
  }

  /** unload frees memory; it can be taken back by loading it again. */
  async unload(d: DeploymentView, busyNow: number): Promise<void> {
    if (busyNow > 0) {
      const yes = await confirm({ title: `Unload ${d.model}?`, text: `It runs ${busyNow === 1 ? 'a request' : `${busyNow} requests`} now. What runs may break off, and the next request waits until the model is loaded again.`, action: 'Unload', holds: () => loaded(d) });
      if (!yes) return;
    }
    if (await this.#run(d, 'memory', () => post('models/unload', { deployment: d.id }))) notices.done(`${d.model} is unloaded.`, () => this.load(d), 'Load again', { about: `memory ${d.id}`, holds: () => !loaded(d) });
  }

  /** pin keeps a model, wherever it is, from being unloaded for another, or lets it go again. */
  async pin(d: DeploymentView, on: boolean): Promise<void> {
    if (await this.#run(d, 'pin', () => post(on ? 'models/pin' : 'models/unpin', { deployment: d.id }))) {
      notices.done(on ? `${d.model} is pinned: it is never unloaded for another.` : `${d.model} is not pinned anymore.`, () => this.pin(d, !on), 'Undo', { about: `pin ${d.id}`, holds: () => fleet.deployments[d.id]?.pinned === on });
    }
  }

  /** remove deletes the weights from the disk. True = they are gone. */
  async remove(d: DeploymentView, where: string): Promise<boolean> {
    const size = d.weights_bytes === null ? '' : ` (${bytes(d.weights_bytes)})`;
    const names = d.also_named.length > 0 ? ` Its other names stay: ${d.also_named.join(', ')}.` : '';
    const yes = await confirm({
      title: `Delete ${d.model}?`,
      text: `This removes the weights${size} from the disk of ${where}. Bellwether cannot bring them back: they have to be pulled again.${names}`,
      action: 'Delete',
      danger: true,
      type: d.model,
      holds: () => fleet.deployments[d.id] !== undefined,
    });
    if (!yes || !(await this.#run(d, 'memory', () => post('models/delete', { deployment: d.id })))) return false;
    notices.done(`${d.model} is deleted from ${where}.`);
    return true;
  }

  /** pull begins to fetch a model. It is a job of the engine's, which goes on when this page is left; the feed tells
   *  how far it is, and here its end is heard. True = it has begun; why it has not, refused is told. */
  async pull(model: string, refused: (err: unknown) => void): Promise<boolean> {
    try {
      this.#hear((await post<JobView>('models/pull', { model, background: true })).id, () => `${model} is pulled.`);
    } catch (err) {
      refused(err);
      return false;
    }
    return true;
  }

  /** #hear tells of a job's end, once: what it failed of, or what it did. */
  #hear(id: string, did: (j: JobView) => string): void {
    let seen = false;
    const stop = $effect.root(() => {
      $effect(() => {
        const j = fleet.jobs[id];
        if (j ? j.state === 'running' : !seen) {
          seen ||= j !== undefined;
          return;
        }
        queueMicrotask(() => {
          stop();
          const about = `${j?.kind} ${j?.model}`;
          if (j?.state === 'failed') notices.problem(new Error(`The ${j.kind} of ${j.model} failed. ${j.error}`), about);
          else if (j?.state === 'done') notices.done(did(j), null, '', { about });
        });
      });
    });
  }

  cancel = (job: string): Promise<boolean> => carryOut(() => post(`jobs/${segment(job)}/cancel`));

  /** dismiss takes an ended job off the list. */
  dismiss = (job: string): Promise<boolean> => carryOut(() => post(`jobs/${segment(job)}/dismiss`));

  /** plan asks what an eval would cost. Nothing is asked of a model. */
  async plan(w: EvalWish, signal?: AbortSignal): Promise<Plan | null> {
    let plan: Plan | null = null;
    await lines<Step>('eval', { ...w, live: false }, (l) => (plan = l.plan ?? plan), signal);
    return plan;
  }

  /** evaluate begins an eval that keeps its grades. */
  async evaluate(w: EvalWish, model: string): Promise<void> {
    await carryOut(async () => this.#hear((await post<JobView>('eval', { ...w, live: true, save: true, background: true })).id, (j) => {
      const said = early(j, model);
      return said ? `${said} It goes on there when it is asked for again.` : `${model}: measured.`;
    }));
  }

  /** probe begins to ask a deployment what it can do. */
  async probe(id: string, model: string): Promise<void> {
    await carryOut(async () => this.#hear((await post<JobView>('probe', { models: [id], background: true })).id, (j) => early(j, model) || `${model} was asked what it can do.`));
  }

  async #run(d: DeploymentView, about: 'memory' | 'pin', order: () => Promise<unknown>): Promise<boolean> {
    this.busy = new Set(this.busy).add(d.id);
    const done = await carryOut(order, `${about} ${d.id}`);
    const rest = new Set(this.busy);
    rest.delete(d.id);
    this.busy = rest;
    return done;
  }
}

export const orders = new Orders();
