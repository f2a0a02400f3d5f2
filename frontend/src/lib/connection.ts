// One websocket to /admin/ws: opens it, keeps it open, and hands on what comes.
// It knows nothing of the state's meaning but its numbering.
import { add, applied, emptyBatch, opened, type Batch, type FeedState } from './feed';
import type { Frame, HelloFrame } from './wire';

/**
 * Link is how the feed stands: connecting (nothing was ever received over it), live,
 * stale (what is shown may be old: silence, or a gap being closed),
 * disconnected (no socket; what is shown is old).
 */
export type Link = 'connecting' | 'live' | 'stale' | 'disconnected';

/** Timing of a connection, in ms. */
export const patience = {
  firstRetry: 250,
  maxRetry: 8_000,
  /** Silence after which the state is asked for again: heartbeats come more often. */
  silence: 15_000,
  /** Wait for the answer before the socket counts as dead. */
  answer: 5_000,
  /** Between two publications while the page is hidden, where no frame is drawn. */
  hidden: 1_000,
};

export interface Effects {
  open(): Socket;
  /** Calls back when a frame may be drawn, or soon if none is. Returns its cancel. */
  frame(run: () => void): () => void;
  after(ms: number, run: () => void): () => void;
  now(): number;
  random(): number;
}

export interface Socket {
  send(text: string): void;
  close(): void;
  onopen: (() => void) | null;
  onmessage: ((text: string) => void) | null;
  onclose: (() => void) | null;
}

export interface Listener {
  state(state: FeedState, hello: { version: string; at: string } | null): void;
  link(link: Link, retryAt: number | null): void;
  /** The session of this browser ended. */
  session?(): void;
}

export class Connection {
  #fx: Effects;
  #to: Listener;
  #socket: Socket | null = null;
  #state: FeedState | null = null;
  #batch: Batch | null = null;
  #waitingHello = false;
  #attempt = 0;
  #link: Link = 'connecting';
  #stopped = false;
  #cancelFrame: (() => void) | null = null;
  #cancelRetry: (() => void) | null = null;
  #cancelWatch: (() => void) | null = null;

  constructor(fx: Effects, to: Listener) {
    this.#fx = fx;
    this.#to = to;
  }

  start(): void {
    this.#stopped = false;
    this.#connect();
  }

  /** first takes the state that came with the page, unless the socket was quicker. */
  first(hello: HelloFrame): void {
    if (this.#state) return;
    this.#state = opened(hello);
    this.#to.state(this.#state, hello);
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelRetry?.();
    this.#drop();
  }

  /** retry connects at once instead of when its turn comes. */
  retry(): void {
    if (this.#socket || this.#stopped) return;
    this.#cancelRetry?.();
    this.#attempt = 0;
    this.#connect();
  }

  /** flush publishes what came, without waiting for a frame. */
  flush(): void {
    this.#cancelFrame?.();
    this.#cancelFrame = null;
    if (!this.#state || !this.#batch || this.#batch.frames === 0) return;
    this.#state = applied(this.#state, this.#batch);
    this.#batch = emptyBatch(this.#state.seq);
    this.#to.state(this.#state, null);
  }

  #connect(): void {
    const s = this.#fx.open();
    this.#socket = s;
    this.#waitingHello = true; // the server says hello first
    s.onopen = () => this.#watch(patience.answer);
    s.onmessage = (text) => this.#onMessage(s, text);
    s.onclose = () => this.#onClose(s);
    this.#watch(patience.answer * 2); // also of the handshake
  }

  #onMessage(from: Socket, text: string): void {
    if (from !== this.#socket) return;
    let frame: Frame;
    try {
      frame = JSON.parse(text) as Frame;
    } catch {
      this.#lost(); // not ours to understand: a new start
      return;
    }
    this.#watch(this.#waitingHello && frame.type !== 'hello' ? patience.answer : patience.silence);
    switch (frame.type) {
      case 'hello':
        this.#cancelFrame?.();
        this.#cancelFrame = null;
        this.#waitingHello = false;
        this.#attempt = 0;
        this.#state = opened(frame, this.#state ?? undefined);
        this.#batch = emptyBatch(frame.seq);
        this.#to.state(this.#state, frame);
        this.#say('live');
        return;
      case 'delta':
        if (this.#waitingHello || !this.#batch) return; // of before the hello that is on its way
        if (!add(this.#batch, frame)) {
          this.#ask();
          return;
        }
        if (this.#link === 'stale') this.#say('live');
        this.#cancelFrame ??= this.#fx.frame(() => {
          this.#cancelFrame = null;
          this.flush();
        });
        return;
      case 'session':
        this.#to.session?.();
        return;
      case 'resync':
        this.#ask();
    }
  }

  // ask has the server send the whole state again; until it comes what is
  // shown is old.
  #ask(): void {
    if (this.#waitingHello) return;
    this.flush();
    this.#waitingHello = true;
    this.#say('stale');
    this.#socket?.send('{"type":"hello"}');
    this.#watch(patience.answer);
  }

  // watch waits for the next frame: silence is asked about once, then the
  // socket counts as dead.
  #watch(ms: number): void {
    this.#cancelWatch?.();
    this.#cancelWatch = this.#fx.after(ms, () => (this.#waitingHello ? this.#lost() : this.#ask()));
  }

  #lost(): void {
    const s = this.#socket;
    if (!s) return;
    this.#drop();
    this.#onGone();
  }

  #onClose(of: Socket): void {
    if (of !== this.#socket) return;
    this.#drop();
    this.#onGone();
  }

  #drop(): void {
    this.#cancelWatch?.();
    this.flush();
    const s = this.#socket;
    this.#socket = null;
    if (s) {
      s.onopen = s.onmessage = s.onclose = null;
      s.close();
    }
  }

  #onGone(): void {
    if (this.#stopped) return;
    const wait = Math.min(patience.maxRetry, patience.firstRetry * 2 ** this.#attempt) * (0.75 + this.#fx.random() / 2);
    this.#attempt = Math.min(this.#attempt + 1, 16);
    this.#say(this.#state ? 'disconnected' : this.#attempt > 1 ? 'disconnected' : 'connecting', this.#fx.now() + wait);
    this.#cancelRetry = this.#fx.after(wait, () => this.#connect());
  }

  #say(link: Link, retryAt: number | null = null): void {
    this.#link = link;
    this.#to.link(link, retryAt);
  }
}
