// Whether Bellwether starts when its owner logs in. The system owns the truth
// and its owner may change it there: the engine looks every few seconds and tells
// it in the feed, as it does when the tray or the command line changed it.
import { get, post } from './api';
import { fleet } from './fleet.svelte';
import { notices } from './notices.svelte';
import { oncePainted } from './painted';
import type { LoginItem } from './wire';

class Login {
  /** What the system says, null = it was not asked yet. */
  item = $state.raw<LoginItem | null>(null);
  busy = $state(false);

  /** load asks the engine. It does not throw: unknown stays what it was. */
  async load(): Promise<void> {
    try {
      this.item = await get<LoginItem>('login-item');
    } catch {
      // the connection's state says that the engine does not answer
    }
  }

  /** set switches it; what is shown then is what the system made of it. */
  async set(on: boolean): Promise<void> {
    await this.#tell({ on });
  }

  /** leave answers the question of the first start with no. */
  async leave(): Promise<void> {
    await this.#tell({});
  }

  /** start follows the feed, and asks whenever the page is looked at, first once it has been painted. */
  start(): () => void {
    const look = () => {
      if (!document.hidden) void this.load();
    };
    window.addEventListener('focus', look);
    const cancel = oncePainted(look);
    const unfollow = $effect.root(() => {
      $effect(() => {
        const told = fleet.engine?.login;
        if (told && (told.known || told.reason)) this.item = told;
      });
    });
    return () => {
      window.removeEventListener('focus', look);
      cancel();
      unfollow();
    };
  }

  async #tell(body: { on?: boolean }): Promise<void> {
    this.busy = true;
    try {
      this.item = await post<LoginItem>('login-item', body);
    } catch (err) {
      notices.problem(err);
      await this.load(); // as it is, not as it was wished
    } finally {
      this.busy = false;
    }
  }
}

export const login = new Login();
