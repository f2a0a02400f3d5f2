// Short messages about what was done, below the page: toasts. A failed command
// stays until it is closed or what it says is no longer so; a done one leaves by itself, and can be undone
// while it is there if its command says how.
import { ApiError } from './api';
import { fleet } from './fleet.svelte';

export interface Notice {
  id: number;
  kind: 'done' | 'problem';
  text: string;
  remedy: string;
  undo: (() => void | Promise<void>) | null;
  undoLabel: string;
  /** What it tells of: a newer notice about the same takes its place. '' = nothing that changes. */
  about: string;
  /** Whether what it tells is so. Once it was and is no more, the notice leaves. */
  holds: (() => boolean) | null;
}

class Notices {
  list = $state.raw<Notice[]>([]);
  /** The id that the next one gets. */
  next = 1;
  #timers = new Map<number, ReturnType<typeof setTimeout>>();

  /** done says that something was done; with undo, how it is taken back. */
  done(text: string, undo: Notice['undo'] = null, undoLabel = 'Undo', of: Partial<Pick<Notice, 'about' | 'holds'>> = {}): void {
    const { about = '', holds = null } = of;
    const id = this.#add({ kind: 'done', text, remedy: '', undo, undoLabel, about, holds });
    this.#leave(id, undo ? 10_000 : 4_000);
  }

  /** problem says what went wrong and what to do, until the same is done after all. */
  problem(err: unknown, about = ''): void {
    if (err instanceof DOMException && err.name === 'AbortError') return;
    const text = err instanceof Error ? err.message : String(err);
    const remedy = err instanceof ApiError ? err.remedy : '';
    const at = Date.now();
    // That there is no answer is so until the engine is heard again; as long as it takes to read, it stays.
    const holds = err instanceof ApiError && err.status === 0 ? () => fleet.freshAt < at + 4_000 : null;
    this.#add({ kind: 'problem', text, remedy, undo: null, undoLabel: '', about: holds || about === '' ? text : about, holds });
  }

  close(id: number): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
    this.list = this.list.filter((n) => n.id !== id);
  }

  /** over closes what was told of something that is another by now. */
  over(about: string): void {
    this.list.filter((n) => n.about === about).forEach((n) => this.close(n.id));
  }

  /** hold keeps a notice while it is pointed at or has the focus. */
  hold(id: number): void {
    clearTimeout(this.#timers.get(id));
  }

  /** release lets a held notice leave. */
  release(id: number): void {
    const n = this.list.find((x) => x.id === id);
    if (n?.kind === 'done') this.#leave(id, 4_000);
  }

  #add(n: Omit<Notice, 'id'>): number {
    if (n.about !== '') this.over(n.about);
    const id = this.next++;
    this.list = [...this.list.slice(-3), { ...n, id }];
    return id;
  }

  #leave(id: number, ms: number): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.set(id, setTimeout(() => this.close(id), ms));
  }
}

export const notices = new Notices();

/** carryOut runs a command and says what went wrong, if something did; about is what its notices tell of. True = it was done. */
export async function carryOut(run: () => Promise<unknown>, about = ''): Promise<boolean> {
  try {
    await run();
    return true;
  } catch (err) {
    notices.problem(err, about);
    return false;
  }
}
