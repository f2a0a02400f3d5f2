// The live state as Svelte sees it. Sections are raw: a changed key is a new
// section object with the other values untouched, so that what is keyed by id
// updates alone.
import { untrack } from 'svelte';
import { Connection, patience, type Effects, type Link, type Socket } from './connection';
import { emptySections, type FeedState } from './feed';
import { natural } from './order';
import { modelOf, nodeOf } from './record';
import type { DecisionRow, EngineView, HelloFrame, NodeView, Section, Sections } from './wire';

class Fleet {
  meta = $state.raw<Sections['meta']>({});
  nodes = $state.raw<Sections['nodes']>({});
  runtimes = $state.raw<Sections['runtimes']>({});
  deployments = $state.raw<Sections['deployments']>({});
  pools = $state.raw<Sections['pools']>({});
  lanes = $state.raw<Sections['lanes']>({});
  jobs = $state.raw<Sections['jobs']>({});
  apps = $state.raw<Sections['apps']>({});
  findings = $state.raw<Sections['findings']>({});
  contracts = $state.raw<Sections['contracts']>({});
  aliases = $state.raw<Sections['aliases']>({});
  /** Newest first. */
  rows = $state.raw<DecisionRow[]>([]);
  /** Grows when older rows were let go; see FeedState. */
  breaks = $state.raw(0);

  link = $state.raw<Link>('connecting');
  /** When it connects again, by this browser's clock; null while it is connected. */
  retryAt = $state.raw<number | null>(null);
  /** When the last frame came, by this browser's clock; 0 = never. */
  freshAt = $state.raw(0);
  /** Engine's clock less this browser's, in ms. */
  skew = $state.raw(0);
  version = $state.raw('');
  /** The engine was replaced by another version while this page was open. */
  updated = $state.raw(false);

  /** There is something to show, however old. */
  ready = $derived(this.freshAt > 0);
  engine: EngineView | undefined = $derived(this.meta.engine);
  /** The machine this engine runs on. */
  here: NodeView | undefined = $derived(this.engine && this.nodes[this.engine.node_id]);
  /** Machines that have more than one runtime. */
  several: ReadonlySet<string> = $derived.by(() => {
    const of = Object.values(this.runtimes).map((r) => r.node_id);
    return new Set(of.filter((id, i) => of.indexOf(id) !== i));
  });
  /** What is shown is not of now. What came with the page is, while its socket is on its way. */
  old = $derived(this.ready && this.link !== 'live' && this.link !== 'connecting');

  #connection: Connection | null = null;

  /** start connects; ended is called when the engine says that this browser's session ended. */
  start(ended?: () => void, fx: Effects = browserEffects()): () => void {
    const c = new Connection(fx, {
      state: (s, hello) => {
        this.#publish(s);
        if (!hello) return;
        this.skew = Date.parse(hello.at) - Date.now();
        if (this.version !== '' && this.version !== hello.version) this.updated = true;
        this.version = hello.version;
      },
      link: (link, retryAt) => {
        this.link = link;
        this.retryAt = retryAt;
      },
      session: ended,
    });
    this.#connection = c;
    const onVisible = () => {
      if (document.hidden) return;
      c.flush();
      c.retry();
    };
    const onOnline = () => c.retry();
    document.addEventListener('visibilitychange', onVisible);
    window.addEventListener('online', onOnline);
    c.start();
    return () => {
      document.removeEventListener('visibilitychange', onVisible);
      window.removeEventListener('online', onOnline);
      c.stop();
    };
  }

  /** first shows the state that came with the page, if it holds one and the socket has not brought it yet. */
  first(page: Document): void {
    const text = page.getElementById('state')?.textContent;
    try {
      if (text) this.#connection?.first(JSON.parse(text) as HelloFrame);
    } catch {
      // the socket brings it
    }
  }

  /** retry connects at once. */
  retry(): void {
    this.#connection?.retry();
  }

  #publish(s: FeedState): void {
    for (const name of Object.keys(s.sections) as Section[]) {
      if (this[name] !== s.sections[name]) (this as Record<Section, unknown>)[name] = s.sections[name];
    }
    this.rows = s.rows;
    this.breaks = s.breaks;
    this.freshAt = Date.now();
  }

  /** reset forgets everything, for tests. */
  reset(): void {
    Object.assign(this, emptySections(), { rows: [], breaks: 0, link: 'connecting', retryAt: null, freshAt: 0, skew: 0, version: '', updated: false });
  }

  /** load shows a state without a connection, for tests. */
  load(s: FeedState): void {
    this.#publish(s);
    this.link = 'live';
  }
}

export const fleet = new Fleet();

/** whenBack has run called each time the engine is there again, while the component that calls this is. */
export function whenBack(run: () => void): void {
  let gone = false;
  $effect.pre(() => {
    const live = fleet.link === 'live';
    if (live && gone) untrack(run);
    gone = !live;
  });
}

/** nodeName is a node's name by its id, the start of the id while it is not known. */
export function nodeName(id: string): string {
  return fleet.nodes[id]?.name ?? id.slice(0, 8);
}

/** pausedWords say that a machine takes no work, '' = it does. */
export const pausedWords = (id: string): string => (fleet.nodes[id]?.paused ? `${nodeName(id)} is paused: it takes no work until it is resumed.` : '');

/** named puts machines' names in the place of their ids, in a deployment's id or in a text that holds some. */
export function named(text: string): string {
  return text.replace(/[\w-]+(?=\/)/g, (id) => fleet.nodes[id]?.name ?? id);
}

/** askedFor is the model that was asked for, also where it was asked for by a deployment's id. */
export function askedFor(name: string): string {
  return name.includes('/') && fleet.nodes[nodeOf(name)] ? modelOf(name) : name;
}

/** runtimeWord names a deployment's runtime where its machine has several, else "". */
export function runtimeWord(deployment: string): string {
  const [node = '', runtime = ''] = deployment.split('/', 2);
  return fleet.several.has(node) ? runtime : '';
}

/** placeOf is where a deployment is: its machine's name, and its runtime's where the machine has several. */
export function placeOf(deployment: string): string {
  return [nodeName(nodeOf(deployment)), runtimeWord(deployment)].filter(Boolean).join(', ');
}

/** byName sorts the values of a section. */
export function byName<T extends { name: string }>(section: Record<string, T>): T[] {
  return Object.values(section).sort((a, b) => natural(a.name, b.name));
}

// Between two publications, in ms: a list that moves more often cannot be read,
// and would cost more to draw.
const calm = 80;

function browserEffects(): Effects {
  let drawn = 0;
  return {
    open() {
      const e = early();
      return e ? adapted(e.socket, e.heard) : adapted(new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/admin/ws`));
    },
    frame(run) {
      if (document.hidden) {
        const timer = setTimeout(run, patience.hidden);
        return () => clearTimeout(timer);
      }
      let id = 0;
      const draw = () => {
        id = requestAnimationFrame((t) => {
          drawn = t;
          run();
        });
      };
      const wait = drawn + calm - performance.now();
      const timer = wait > 0 ? setTimeout(draw, wait) : 0;
      if (wait <= 0) draw();
      return () => {
        clearTimeout(timer);
        cancelAnimationFrame(id);
      };
    },
    after(ms, run) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    now: () => Date.now(),
    random: () => Math.random(),
  };
}

declare global {
  interface Window {
    /** What public/early.js opened, until it is taken. */
    bellwetherFeed?: { socket: WebSocket; heard: string[] };
  }
}

// early takes the socket that was opened before this program came, if it is one still.
function early() {
  const e = window.bellwetherFeed;
  delete window.bellwetherFeed;
  return e && (e.socket.readyState === WebSocket.CONNECTING || e.socket.readyState === WebSocket.OPEN) ? e : undefined;
}

/** adapted is a socket that hands on what it heard before, first. */
export function adapted(ws: WebSocket, heard: string[] = []): Socket {
  const s: Socket = {
    send: (text) => ws.readyState === WebSocket.OPEN && ws.send(text),
    close: () => ws.close(),
    onopen: null,
    onmessage: null,
    onclose: null,
  };
  ws.onopen = () => s.onopen?.();
  ws.onmessage = (e) => s.onmessage?.(String(e.data));
  ws.onclose = () => s.onclose?.();
  if (ws.readyState === WebSocket.OPEN) {
    queueMicrotask(() => {
      s.onopen?.();
      for (const text of heard) s.onmessage?.(text);
    });
  }
  return s;
}
