// The golden files of the wire as the state of a page under test, and an
// engine that answers from them.
import { vi } from 'vitest';
import { opened } from '../lib/feed';
import { fleet } from '../lib/fleet.svelte';
import { now } from '../lib/now.svelte';
import { session } from '../lib/session.svelte';
import type { HelloFrame } from '../lib/wire';
import helloFile from '../../../engine/admin/testdata/wire/hello.json';

export const studio = '3f9c2a1b7d4e6f80';

/** goldenHello is a copy of the golden hello, to be changed at will. */
export const goldenHello = (): HelloFrame => structuredClone(helloFile) as unknown as HelloFrame;

/** showGolden loads the golden state as of its own moment, unlocked. change alters it before. */
export function showGolden(change: (hello: HelloFrame) => void = () => {}): void {
  const hello = goldenHello();
  change(hello);
  fleet.load(opened(hello));
  now.set(Date.parse(hello.at));
  session.known = session.unlocked = true;
}

/** engine answers requests by method and path; what it was asked is returned. An answer may be a Response. */
export function engine(answers: Record<string, unknown>): { asked: string[]; bodies: unknown[] } {
  const log = { asked: [] as string[], bodies: [] as unknown[] };
  vi.stubGlobal('fetch', async (url: string, init: RequestInit = {}) => {
    const key = `${init.method ?? 'GET'} ${url}`;
    log.asked.push(key);
    log.bodies.push(init.body ? JSON.parse(String(init.body)) : undefined);
    const found = Object.keys(answers).find((a) => key === a || key.split('?')[0] === a);
    if (found === undefined) return new Response(JSON.stringify({ error: { code: 'not_here', message: `The test has no answer to ${key}.` } }), { status: 404 });
    const a = answers[found];
    return a instanceof Response ? a.clone() : new Response(JSON.stringify(a));
  });
  return log;
}
