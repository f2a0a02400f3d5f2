import { beforeEach, describe, expect, it } from 'vitest';
import { Connection, patience, type Effects, type Link, type Socket } from './connection';
import type { FeedState } from './feed';
import type { HelloFrame } from './wire';
import helloFile from '../../../engine/admin/testdata/wire/hello.json';

// The world of a connection by hand: sockets, frames and time.
class World implements Effects {
  sockets: (Socket & { sent: string[]; closed: boolean })[] = [];
  timers: { at: number; run: () => void }[] = [];
  frames: (() => void)[] = [];
  time = 0;
  links: Link[] = [];
  states: FeedState[] = [];
  retryAt: number | null = null;
  sessions = 0;

  open() {
    const s = { sent: [] as string[], closed: false, onopen: null, onmessage: null, onclose: null, send: (t: string) => s.sent.push(t), close: () => (s.closed = true) } as unknown as (typeof this.sockets)[0];
    this.sockets.push(s);
    return s;
  }
  frame(run: () => void) {
    this.frames.push(run);
    return () => (this.frames = this.frames.filter((f) => f !== run));
  }
  after(ms: number, run: () => void) {
    const t = { at: this.time + ms, run };
    this.timers.push(t);
    return () => (this.timers = this.timers.filter((x) => x !== t));
  }
  now() { return this.time; }
  random() { return 0.5; }

  get socket() { return this.sockets.at(-1)!; }
  draw() { this.frames.splice(0).forEach((f) => f()); }
  pass(ms: number) {
    const end = this.time + ms;
    for (;;) {
      const next = this.timers.filter((t) => t.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.timers = this.timers.filter((t) => t !== next);
      this.time = next.at;
      next.run();
    }
    this.time = end;
  }
  says(frame: object) { this.socket.onmessage!(JSON.stringify(frame)); }
  hello(seq: number) { this.says({ ...helloFile, seq }); }
  delta(seq: number, cpu = 1) { this.says({ type: 'delta', seq, set: { nodes: { x: { cpu_percent: cpu } } } }); }
}

let w: World;
let c: Connection;
beforeEach(() => {
  w = new World();
  c = new Connection(w, {
    state: (s) => w.states.push(s),
    link: (l, at) => { w.links.push(l); w.retryAt = at; },
    session: () => w.sessions++,
  });
  c.start();
});
const link = () => w.links.at(-1);
const cpu = () => (w.states.at(-1)!.sections.nodes.x as { cpu_percent: number } | undefined)?.cpu_percent;

describe('the feed', () => {
  it('is live with the first hello, and publishes what came once a frame', () => {
    w.hello(7);
    expect(link()).toBe('live');
    const published = w.states.length;
    for (let i = 1; i <= 50; i++) w.delta(7 + i, i);
    expect(w.states).toHaveLength(published);
    w.draw();
    expect(w.states).toHaveLength(published + 1);
    expect(cpu()).toBe(50);
    expect(w.states.at(-1)!.seq).toBe(57);
  });

  it('begins with what came with the page, which the first hello replaces', () => {
    const page = { ...structuredClone(helloFile), seq: 3 } as unknown as HelloFrame;
    page.state.aliases = { gone: page.state.aliases.auto! };
    c.first(page);
    expect(w.states.at(-1)!.rows).toEqual(page.state.rows);
    expect(w.links).toEqual([]); // still connecting
    w.delta(4); // of before the hello that is on its way
    w.draw();
    expect(cpu()).toBeUndefined();
    w.says({ ...helloFile, seq: 9, state: { ...helloFile.state, rows: page.state.rows.slice(0, -1) } });
    expect(link()).toBe('live');
    expect(w.states.at(-1)!.sections.aliases).not.toHaveProperty('gone');
    expect(w.states.at(-1)!.rows).toEqual(page.state.rows); // the last one is known still
    w.delta(10, 10);
    w.draw();
    expect(cpu()).toBe(10);
    c.first(page); // comes too late to be of use
    expect(w.states.at(-1)!.seq).toBe(10);
  });

  it('is disconnected where the socket fails after the page brought a state', () => {
    c.first({ ...structuredClone(helloFile), seq: 3 } as unknown as HelloFrame);
    w.socket.onclose!();
    expect(link()).toBe('disconnected');
    expect(w.states).toHaveLength(1);
  });

  it('asks for all of the state after a gap, and shows old figures as old until it comes', () => {
    w.hello(7);
    w.delta(8, 8);
    w.delta(10, 10);
    expect(link()).toBe('stale');
    expect(cpu()).toBe(8); // what came before the gap is shown, what came after is not
    expect(w.socket.sent).toEqual(['{"type":"hello"}']);
    w.delta(11, 11);
    w.draw();
    expect(cpu()).toBe(8);
    expect(w.socket.sent).toHaveLength(1); // asked once
    w.hello(11);
    expect(link()).toBe('live');
    w.delta(12, 12);
    w.draw();
    expect(cpu()).toBe(12);
  });

  it('asks when the server says that frames were lost', () => {
    w.hello(7);
    w.says({ type: 'resync' });
    expect(link()).toBe('stale');
    expect(w.socket.sent).toHaveLength(1);
    w.hello(90);
    expect(link()).toBe('live');
    expect(w.sockets).toHaveLength(1);
  });

  it('connects again, each time later, and keeps what it showed', () => {
    w.hello(7);
    w.delta(8, 42);
    w.socket.onclose!();
    expect(cpu()).toBe(42); // nothing that came is lost
    expect(link()).toBe('disconnected');
    const waits: number[] = [];
    for (let i = 0; i < 9; i++) {
      waits.push(w.retryAt! - w.time);
      w.pass(w.retryAt! - w.time);
      w.socket.onclose!();
    }
    expect(waits.slice(0, 4)).toEqual([250, 500, 1000, 2000]);
    expect(Math.max(...waits)).toBe(patience.maxRetry);
    w.pass(patience.maxRetry);
    w.hello(3); // another engine: its numbers start anew
    expect(link()).toBe('live');
    expect(w.states.at(-1)!.seq).toBe(3);
    w.socket.onclose!();
    expect(w.retryAt! - w.time).toBe(250); // patience is for those in a row
  });

  it('finds a socket dead that says nothing and does not answer', () => {
    w.hello(7);
    w.pass(patience.silence);
    expect(link()).toBe('stale');
    expect(w.socket.sent).toEqual(['{"type":"hello"}']);
    w.pass(patience.answer);
    expect(w.sockets[0]!.closed).toBe(true);
    expect(link()).toBe('disconnected');
    w.pass(1000);
    expect(w.sockets).toHaveLength(2);
  });

  it('stays live through silence that is answered', () => {
    w.hello(7);
    w.pass(patience.silence);
    w.hello(7);
    expect(link()).toBe('live');
    expect(w.sockets).toHaveLength(1);
  });

  it('gives up a handshake that hangs', () => {
    w.pass(patience.answer * 2);
    expect(w.sockets[0]!.closed).toBe(true);
    w.pass(1000);
    expect(w.sockets.length).toBeGreaterThan(1);
  });

  it('starts over after a frame that it cannot read', () => {
    w.hello(7);
    w.socket.onmessage!('<html>');
    expect(w.sockets[0]!.closed).toBe(true);
    w.pass(1000);
    w.hello(9);
    expect(link()).toBe('live');
  });

  it('hears nothing of a socket that it left', () => {
    w.hello(7);
    const left = w.socket;
    const hear = left.onmessage!;
    left.onclose!();
    w.pass(1000);
    w.hello(9);
    hear(JSON.stringify({ type: 'delta', seq: 10, set: { nodes: { x: { cpu_percent: 99 } } } }));
    w.draw();
    expect(cpu()).toBeUndefined();
  });

  it('connects at once when asked to, and not at all once stopped', () => {
    w.hello(7);
    w.socket.onclose!();
    c.retry();
    expect(w.sockets).toHaveLength(2);
    c.stop();
    w.pass(60_000);
    expect(w.sockets).toHaveLength(2);
    expect(w.sockets[1]!.closed).toBe(true);
  });
});

it('hears that the session of its browser ended, between two deltas', () => {
  w.hello(1);
  w.delta(2);
  w.says({ type: 'session' });
  w.delta(3);
  w.draw();
  expect(w.sessions).toBe(1);
  expect(w.states.at(-1)!.seq).toBe(3);
  expect(w.links).toEqual(['live']);
});
