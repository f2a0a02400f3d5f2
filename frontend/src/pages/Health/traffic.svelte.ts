// Test traffic under way or ended. It outlives the page's part, so that one may
// look at Decisions meanwhile and come back.
import { lines } from '../../lib/api';
import { notices } from '../../lib/notices.svelte';
import type { TrafficLine } from '../../lib/wire';

class Traffic {
  planned = $state(0);
  requests = $state.raw<TrafficLine[]>([]);
  sum = $state.raw<TrafficLine | null>(null);
  running = $state(false);
  stopped = $state(false);
  startedAt = $state(0);
  #stop: AbortController | null = null;

  async send(): Promise<void> {
    if (this.running) return;
    Object.assign(this, { planned: 0, requests: [], sum: null, running: true, stopped: false, startedAt: Date.now() });
    this.#stop = new AbortController();
    try {
      await lines<TrafficLine>('test-traffic', {}, (l) => this.#take(l), this.#stop.signal);
    } catch (err) {
      notices.problem(err);
    } finally {
      this.running = false;
    }
  }

  cancel(): void {
    this.stopped = true;
    this.#stop?.abort();
  }

  #take(l: TrafficLine): void {
    if (l.kind === 'plan') this.planned = l.requests ?? 0;
    else if (l.kind === 'request') this.requests = [...this.requests, l];
    else this.sum = l;
  }
}

export const traffic = new Traffic();
