import { afterEach, describe, expect, it, vi } from 'vitest';
import { ApiError, get, lines, post, search, whenLocked } from './api';
import errorFile from '../../../engine/admin/testdata/wire/error.json';
import errorSettingsFile from '../../../engine/admin/testdata/wire/error_settings.json';

afterEach(() => vi.unstubAllGlobals());
const answers = (body: BodyInit, init: ResponseInit = {}) => {
  const asked = vi.fn(async () => new Response(body, init));
  vi.stubGlobal('fetch', asked);
  return asked;
};
const caught = async (p: Promise<unknown>) => p.then(() => { throw new Error('it did not fail'); }, (e: unknown) => e as ApiError);

describe('the API', () => {
  it('asks below /admin/ and leaves empty questions out', async () => {
    const asked = answers('[]');
    await get('decisions', { app: 'claude-code', model: '', limit: 200, after: null });
    expect(asked.mock.calls[0]).toMatchObject(['/admin/decisions?app=claude-code&limit=200', { cache: 'no-store' }]);
    expect(search({})).toBe('');
  });

  it('hands on what the engine says went wrong, and what to do', async () => {
    answers(JSON.stringify(errorFile), { status: 403 });
    const locked = vi.fn();
    whenLocked(locked);
    const err = await caught(post('pause'));
    expect(err).toMatchObject({ status: 403, message: errorFile.error.message, remedy: errorFile.error.remedy, locked: true });
    expect(locked).toHaveBeenCalledOnce();
  });

  it('has what is wrong with settings by their keys', async () => {
    answers(JSON.stringify(errorSettingsFile), { status: 400 });
    expect((await caught(post('settings'))).keys).toEqual(errorSettingsFile.keys);
  });

  it('says that the engine does not answer, when it does not', async () => {
    vi.stubGlobal('fetch', async () => { throw new TypeError('Failed to fetch'); });
    const err = await caught(get('status'));
    expect(err.status).toBe(0);
    expect(err.remedy).toContain('bellwether status');
  });

  it('says something of use for an answer that is not its own', async () => {
    answers('<html>bad gateway</html>', { status: 502 });
    const err = await caught(get('status'));
    expect(err.message).toContain('502');
    expect(err.remedy).not.toBe('');
  });

  it('reads lines as they come, wherever they are cut', async () => {
    const cut = ['{"kind":"pl', 'an","requests":2}\n{"kind":"request","error":"gr', 'ün"}\n', '{"kind":"done"}'];
    const bytes = new TextEncoder().encode(cut.join(''));
    const body = new ReadableStream({
      start(c) {
        for (let i = 0; i < bytes.length; i += 7) c.enqueue(bytes.slice(i, i + 7)); // through the middle of letters too
        c.close();
      },
    });
    answers(body);
    const got: { kind: string; error?: string }[] = [];
    await lines<{ kind: string; error?: string }>('test-traffic', {}, (l) => got.push(l));
    expect(got.map((l) => l.kind)).toEqual(['plan', 'request', 'done']);
    expect(got[1]!.error).toBe('grün');
  });
});
