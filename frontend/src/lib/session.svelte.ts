// Whether this browser may change things. It may after it opened a one-time
// link (bellwether open, or the tray); until then every page shows, and what
// would change something says how to unlock.
import { get, post, whenLocked } from './api';
import type { Session } from './wire';

class SessionState {
  known = $state(false);
  unlocked = $state(false);
  /** How to unlock, "" while it is. */
  unlock = $state('Run bellwether open in a terminal.');

  /** The dialog that says how to unlock is shown. */
  explaining = $state(false);

  explain(): void {
    this.explaining = true;
  }

  /** check asks the engine. It does not throw: unknown stays what it was. */
  async check(): Promise<void> {
    try {
      this.#set(await get<Session>('session'));
    } catch {
      // the connection's state says that the engine does not answer
    }
  }

  async lock(): Promise<void> {
    await post('lock');
    await this.check();
  }

  start(): () => void {
    whenLocked(() => {
      this.unlocked = false;
      void this.check();
    });
    const onVisible = () => {
      if (!document.hidden) void this.check(); // it may have been unlocked in another tab
    };
    document.addEventListener('visibilitychange', onVisible);
    window.addEventListener('focus', onVisible);
    void this.check();
    return () => {
      document.removeEventListener('visibilitychange', onVisible);
      window.removeEventListener('focus', onVisible);
    };
  }

  #set(s: Session): void {
    this.known = true;
    this.unlocked = s.unlocked;
    this.unlock = s.unlock;
    if (s.unlocked) this.explaining = false;
  }
}

export const session = new SessionState();
