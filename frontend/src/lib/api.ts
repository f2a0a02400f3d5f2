// Commands and questions to the engine, by HTTP. What fails says what, why and
// what to do, in the engine's own words where it answered.
import type { ErrorAnswer, Refusal } from './wire';

/** ApiError is a refusal of the engine, or that it could not be asked. */
export class ApiError extends Error {
  readonly status: number; // HTTP; 0 = there was no answer
  readonly code: string;
  readonly remedy: string;
  /** Of settings: what is wrong, by key. */
  readonly keys: Record<string, string>;

  constructor(status: number, refusal: Refusal, keys: Record<string, string> = {}) {
    super(refusal.message);
    this.name = 'ApiError';
    this.status = status;
    this.code = refusal.code;
    this.remedy = refusal.remedy ?? '';
    this.keys = keys;
  }

  /** The page may only read: its owner has to unlock it. */
  get locked(): boolean {
    return this.code === 'admin_token_needed';
  }
}

type Query = Record<string, string | number | undefined | null>;

/** get asks for JSON below /admin/. Empty query values are left out. */
export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return json<T>(await request(path + search(query), { signal }));
}

/** text asks for plain text below /admin/. */
export async function text(path: string, signal?: AbortSignal): Promise<string> {
  return (await request(path, { signal })).text();
}

/** blob asks for a file below /admin/, with the name that the engine gives it, '' = none. */
export async function blob(path: string, query: Query = {}): Promise<{ data: Blob; name: string }> {
  const answer = await request(path + search(query), {});
  const name = /filename="?([^";]+)/.exec(answer.headers.get('Content-Disposition') ?? '')?.[1] ?? '';
  return { data: await answer.blob(), name };
}

/** post gives a command. */
export async function post<T = unknown>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> {
  return json<T>(await request(path, posted(body, signal)));
}

/** postText gives a body as it is written, which the engine reads; its answer is JSON. */
export async function postText<T>(path: string, body: string, headers: Record<string, string> = {}): Promise<T> {
  return json<T>(await request(path, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body }));
}

/** lines gives a command whose answer comes line by line, each a JSON value. */
export async function lines<T>(path: string, body: unknown, onLine: (line: T) => void, signal?: AbortSignal): Promise<void> {
  const answer = await request(path, posted(body, signal));
  if (!answer.body) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    rest += value;
    const whole = rest.split('\n');
    rest = whole.pop()!;
    for (const l of whole) if (l.trim() !== '') onLine(JSON.parse(l) as T);
  }
  if (rest.trim() !== '') onLine(JSON.parse(rest) as T);
}

const posted = (body: unknown, signal?: AbortSignal): RequestInit => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
  signal,
});

async function request(path: string, init: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(`/admin/${path}`, { cache: 'no-store', ...init });
  } catch (err) {
    if (init.signal?.aborted) throw err;
    throw new ApiError(0, {
      code: 'unreachable',
      message: 'Bellwether does not answer.',
      remedy: 'See that it runs: bellwether status. This page connects again by itself.',
    });
  }
  if (answer.ok) return answer;
  throw await refused(answer);
}

async function refused(answer: Response): Promise<ApiError> {
  try {
    const body = (await answer.json()) as ErrorAnswer;
    if (body.error?.message) {
      const err = new ApiError(answer.status, body.error, body.keys);
      if (err.locked) onLocked?.();
      return err;
    }
  } catch {
    // not JSON: said below
  }
  return new ApiError(answer.status, {
    code: 'unexpected',
    message: `The engine answered with status ${answer.status}.`,
    remedy: 'Reload this page; if that does not help, see bellwether doctor.',
  });
}

let onLocked: (() => void) | null = null;

/** whenLocked has run called when the engine says that this page may only read. */
export function whenLocked(run: () => void): void {
  onLocked = run;
}

async function json<T>(answer: Response): Promise<T> {
  const body = await answer.text();
  return (body === '' ? undefined : JSON.parse(body)) as T;
}

/** search writes a query; empty values are left out. */
export function search(query: Query): string {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(query)) if (v !== undefined && v !== null && v !== '') q.set(k, String(v));
  const s = q.toString();
  return s === '' ? '' : `?${s}`;
}

/** segment writes a part of a path, whose own slashes do not split it. */
export const segment = (s: string): string => encodeURIComponent(s);
