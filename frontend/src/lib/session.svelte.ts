// Whether this browser may change things. It may after it opened a one-time
// link (bellwether open, or the tray); until then every page shows, and what
// would change something says how to unlock. The engine holds the session: it
// is asked, and asked again when another tab or the feed says that it changed.
import { get, post, whenLocked } from './api';
import { notices } from './notices.svelte';
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

  #tabs: BroadcastChannel | null = null;
  #turn = 0;
  #locking = false;

  /**
   * check asks the engine. It does not throw: unknown stays what it was. What
   * changed is passed on to the other tabs, unless they said so (heard).
   */
  async check(heard = false): Promise<void> {
    const mine = ++this.#turn; // an answer that another question overtook is of before
    const before = this.unlocked;
    try {
      const s = (await early()) ?? (await get<Session>('session'));
      if (mine !== this.#turn) return;
      this.#set(s);
    } catch {
      return; // the connection's state says that the engine does not answer
    }
    if (before && !this.unlocked && !this.#locking) notices.done(`This browser was locked: it may only read. ${this.unlock}`, null, '', { about: 'session', holds: () => !this.unlocked });
    if (before !== this.unlocked && !heard) this.#tabs?.postMessage('changed');
  }

  async lock(): Promise<void> {
    this.#locking = true; // the feed may say so before the answer comes
    try {
      await post('lock');
      this.#tabs?.postMessage('changed');
      await this.check(true);
    } finally {
      this.#locking = false;
    }
  }

  start(): () => void {
    whenLocked(() => {
      void this.check();
    });
    this.#tabs = new BroadcastChannel('bellwether-session');
    this.#tabs.onmessage = () => void this.check(true);
    const onVisible = () => {
      if (!document.hidden) void this.check(); // it may have been unlocked in another tab
    };
    document.addEventListener('visibilitychange', onVisible);
    window.addEventListener('focus', onVisible);
    void this.check();
    return () => {
      this.#tabs?.close();
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

declare global {
  interface Window {
    /** What public/early.js asked for, until it is taken; null = there was no answer. */
    bellwetherSession?: Promise<Session | null>;
  }
}

// early takes the answer to what was asked before this program came.
function early(): Promise<Session | null> | undefined {
  const e = window.bellwetherSession;
  delete window.bellwetherSession;
  return e;
}

export const session = new SessionState();
