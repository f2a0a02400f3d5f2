// The last hour of every pool and machine, read while somebody shows it.
import { onMount } from 'svelte';
import { get } from './api';
import type { History } from './wire';

class Hour {
  history = $state.raw<History | null>(null);
  error = $state.raw<unknown>(null);
  #shown = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** show reads it every ten seconds, as it is sampled, until the component that calls this is gone. */
  show(): void {
    onMount(() => {
      if (this.#shown++ === 0) {
        void this.#read();
        this.#timer = setInterval(() => void this.#read(), 10_000);
      }
      return () => {
        if (--this.#shown === 0) clearInterval(this.#timer);
      };
    });
  }

  async #read(): Promise<void> {
    if (document.hidden) return;
    try {
      this.history = await get<History>('history');
      this.error = null;
    } catch (err) {
      if (this.#shown > 0) this.error = err;
    }
  }
}

export const hour = new Hour();
