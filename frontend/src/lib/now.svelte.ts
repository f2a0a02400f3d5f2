// The engine's clock for ages and countdowns, once a second, and not at all
// while the page is hidden.
import { fleet } from './fleet.svelte';

class Now {
  #tick = $state(Date.now());
  /** In ms since 1970, by the engine's clock. */
  get ms(): number {
    return this.#tick + fleet.skew;
  }

  start(): () => void {
    const tick = () => {
      if (!document.hidden) this.#tick = Date.now();
    };
    const timer = setInterval(tick, 1000);
    document.addEventListener('visibilitychange', tick);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', tick);
    };
  }

  /** set stops at a moment, for tests. */
  set(ms: number): void {
    this.#tick = ms - fleet.skew;
  }
}

export const now = new Now();
