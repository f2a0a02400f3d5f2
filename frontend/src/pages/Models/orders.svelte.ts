// What the owner orders for models: load, unload, pin, delete, pull, probe, eval.
// Runs that last are held here and not by a component: an eval ends with the
// request that asked for it, so it has to outlive a visit to another page. A
// pull is the engine's, and outlives the window.
import { lines, post, segment } from '../../lib/api';
import { confirm } from '../../lib/confirm.svelte';
import { fleet } from '../../lib/fleet.svelte';
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

/** Result is one task's grade of one model. */
export interface Result {
  deployment: string;
  name: string;
  task: string;
  right: number;
  of: number;
  unanswered?: number;
  low: number;
  high: number;
  seconds: number;
  saved: boolean;
  why?: string;
}

interface Step {
  plan?: Plan;
  results?: Result[];
  stopped?: string;
  error?: string;
}

/** Found is one ability as a probe established it. */
export interface Found {
  deployment: string;
  name: string;
  capability: string;
  support: 'yes' | 'no' | 'unknown';
  value?: number;
  reason: string;
  skipped?: boolean;
  error?: string;
}

/** EvalWish is what is graded: one deployment, some tasks, at most so many items of each (0 = all). */
export interface EvalWish {
  models: string[];
  tasks?: string[];
  items?: number;
}

const loaded = (d: DeploymentView) => fleet.deployments[d.id]?.residency === 'loaded';

class Orders {
  /** Deployments whose order is under way. */
  busy = $state.raw<ReadonlySet<string>>(new Set());
  /** Results of the latest eval, and findings of the latest probe, of this page's session. */
  results = $state.raw<Result[]>([]);
  found = $state.raw<Found[]>([]);

  async load(d: DeploymentView): Promise<void> {
    if (await this.#run(d, () => post('models/load', { deployment: d.id }))) notices.done(`${d.model} is loaded.`, null, '', { about: `memory ${d.id}`, holds: () => loaded(d) });
  }

  /** unload frees memory; it can be taken back by loading it again. */
  async unload(d: DeploymentView, busyNow: number): Promise<void> {
    if (busyNow > 0) {
      const yes = await confirm({ title: `Unload ${d.model}?`, text: `It runs ${busyNow === 1 ? 'a request' : `${busyNow} requests`} now. What runs may break off, and the next request waits until the model is loaded again.`, action: 'Unload', holds: () => loaded(d) });
      if (!yes) return;
    }
    if (await this.#run(d, () => post('models/unload', { deployment: d.id }))) notices.done(`${d.model} is unloaded.`, () => this.load(d), 'Load again', { about: `memory ${d.id}`, holds: () => !loaded(d) });
  }

  /** pin keeps a model, wherever it is, from being unloaded for another, or lets it go again. */
  async pin(d: DeploymentView, on: boolean): Promise<void> {
    if (await this.#run(d, () => post(on ? 'models/pin' : 'models/unpin', { deployment: d.id }))) {
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
    if (!yes || !(await this.#run(d, () => post('models/delete', { deployment: d.id })))) return false;
    notices.done(`${d.model} is deleted from ${where}.`);
    return true;
  }

  /** pull begins to fetch a model. It is a job of the engine's, which goes on when this page is left; the feed tells
   *  how far it is, and here its end is heard. True = it has begun; why it has not, refused is told. */
  async pull(model: string, refused: (err: unknown) => void): Promise<boolean> {
    let id = '';
    try {
      id = (await post<JobView>('models/pull', { model, background: true })).id;
    } catch (err) {
      refused(err);
      return false;
    }
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
          if (j?.state === 'failed') notices.problem(new Error(j.error));
          else if (j?.state === 'done') notices.done(`${model} is pulled.`, null, '', { about: `pull ${id}` });
        });
      });
    });
    return true;
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

  /** evaluate runs an eval and keeps its grades. */
  async evaluate(w: EvalWish): Promise<void> {
    let end: Step = {};
    const done = await carryOut(() => lines<Step>('eval', { ...w, live: true, save: true }, (l) => {
      if (l.results || l.error) end = l;
    }));
    if (end.error) notices.problem(new Error(end.error));
    if (!done || !end.results) return;
    this.results = end.results;
    notices.done(end.stopped ? `The eval ended early: ${end.stopped}. It goes on there when it is asked for again.` : `${w.models.join(', ')}: measured.`);
  }

  /** probe asks deployments what they can do. */
  async probe(models: string[], name: string): Promise<void> {
    this.found = [];
    let failed = '';
    const done = await carryOut(() => lines<Found>('probe', { models }, (f) => {
      if (f.error) failed = f.error;
      else this.found = [...this.found, f];
    }));
    if (failed) notices.problem(new Error(failed));
    else if (done) notices.done(`${name} was asked what it can do.`);
  }

  async #run(d: DeploymentView, order: () => Promise<unknown>): Promise<boolean> {
    this.busy = new Set(this.busy).add(d.id);
    const done = await carryOut(order);
    const rest = new Set(this.busy);
    rest.delete(d.id);
    this.busy = rest;
    return done;
  }
}

export const orders = new Orders();
