import { beforeEach, describe, expect, it, vi } from 'vitest';
import preview from '../../../../engine/admin/testdata/wire/settings_preview.json';
import refused from '../../../../engine/admin/testdata/wire/error_settings.json';
import golden from '../../../../engine/admin/testdata/wire/settings.json';
import { notices } from '../../lib/notices.svelte';
import type { SettingsAnswer } from '../../lib/wire';
import { drafting } from './draft.svelte';

const settings = golden as unknown as SettingsAnswer;
let answers: [status: number, body: unknown][] = [];
let sent: { revision: string; changes: Record<string, string | null>; dry_run: boolean }[] = [];

beforeEach(async () => {
  answers = [[200, settings]];
  sent = [];
  vi.stubGlobal('fetch', (_: string, init: RequestInit) => {
    if (init.method === 'POST') sent.push(JSON.parse(String(init.body)));
    const [status, body] = answers.shift() ?? [500, {}];
    return Promise.resolve(new Response(JSON.stringify(body), { status }));
  });
  drafting.discard();
  await drafting.load();
});
const setting = (key: string) => drafting.byKey.get(key)!;

describe('a draft of settings', () => {
  it('is looked at, saved with the revision it is based on, and empty then', async () => {
    drafting.edit(setting('routing.hold.max'), '60');
    drafting.edit(setting('pools'), '[\n  {"name": "unified"}\n]');
    answers = [[200, preview], [200, { ...preview, saved: true }], [200, settings]];
    expect(await drafting.look()).toBe(true);
    expect(drafting.preview?.restart).toEqual(['listen']);
    expect(await drafting.save()).toBe(true);
    expect(sent.map((s) => s.dry_run)).toEqual([true, false]);
    expect(sent[1]).toMatchObject({ revision: settings.revision, changes: { 'routing.hold.max': '60', pools: '[{"name":"unified"}]' } });
    expect(drafting.count).toBe(0);
    expect(drafting.preview).toBeNull();
  });

  it('that is refused says why at each setting, until that is typed anew', async () => {
    drafting.edit(setting('listen'), 'localhost');
    drafting.edit(setting('routing.hold.max'), 'soon');
    answers = [[422, refused]];
    expect(await drafting.look()).toBe(false);
    expect(drafting.wrong.listen).toContain('not allowed');
    drafting.edit(setting('listen'), 'localhost:11500');
    expect(drafting.wrong.listen).toBeUndefined();
  });

  it('outlives a file that moved, and goes by its new revision after loading', async () => {
    drafting.edit(setting('routing.hold.max'), '60');
    answers = [[409, { error: { code: 'revision_moved', message: 'The file was changed.' } }]];
    expect(await drafting.look()).toBe(false);
    expect(drafting.moved).toBe(true);
    answers = [[200, { ...settings, revision: 'next' }], [200, preview]];
    await drafting.load();
    expect(drafting.moved).toBe(false);
    expect(drafting.draft).toEqual({ 'routing.hold.max': '60' });
    await drafting.look();
    expect(sent.at(-1)!.revision).toBe('next');
  });

  it('in review says that the file moved, stays, and is looked at anew after loading', async () => {
    drafting.edit(setting('routing.hold.max'), '60');
    answers = [[200, preview], [409, { error: { code: 'revision_moved', message: 'The file was changed.' } }]];
    await drafting.look();
    expect(await drafting.save()).toBe(false);
    expect(drafting.moved).toBe(true);
    expect(drafting.preview).not.toBeNull();
    answers = [[200, { ...settings, revision: 'next' }], [200, { ...preview, revision: 'next' }]];
    await drafting.again();
    expect(drafting.moved).toBe(false);
    expect(drafting.preview?.revision).toBe('next');
    expect(sent.map((s) => [s.revision, s.dry_run])).toEqual([[settings.revision, true], [settings.revision, false], ['next', true]]);
    answers = [[200, { ...settings, revision: 'third' }]];
    drafting.discard();
  });

  it('is saved as it was reviewed; what was typed meanwhile stays a draft', async () => {
    drafting.edit(setting('routing.hold.max'), '7');
    answers = [[200, preview]];
    const looking = drafting.look();
    drafting.edit(setting('routing.hold.max'), '77');
    await looking;
    answers = [[200, { ...preview, saved: true }], [200, settings]];
    expect(await drafting.save()).toBe(true);
    expect(sent.map((s) => s.changes)).toEqual([{ 'routing.hold.max': '7' }, { 'routing.hold.max': '7' }]);
    expect(drafting.draft).toEqual({ 'routing.hold.max': '77' });
  });

  it('says what was refused of no setting that it changes', async () => {
    drafting.edit(setting('routing.hold.max'), '60');
    answers = [[400, { ...refused, keys: { '': 'config.yaml:14: a key of a table is missing', listen: 'not allowed' } }]];
    await expect(drafting.look()).rejects.toThrow('config.yaml:14: a key of a table is missing\nlisten: not allowed');
  });

  it('that is taken back over a file that moved leaves the file as it is now', async () => {
    drafting.edit(setting('routing.hold.max'), '60');
    drafting.heard('other');
    answers = [[200, { ...settings, revision: 'other' }]];
    drafting.edit(setting('routing.hold.max'), setting('routing.hold.max').value);
    await vi.waitFor(() => expect(drafting.answer?.revision).toBe('other'));
    expect(drafting.moved).toBe(false);
  });

  it('is told after a review of a file that moved while it was checked', async () => {
    drafting.edit(setting('routing.hold.max'), '60');
    answers = [[200, preview]];
    const looking = drafting.look();
    drafting.heard('other');
    await looking;
    expect(drafting.moved).toBe(true);
    answers = [[200, settings]];
  });

  it('cannot be loaded again from an engine that does not answer, and says so', async () => {
    drafting.edit(setting('routing.hold.max'), '60');
    drafting.heard('other');
    answers = [[500, { error: { code: 'x', message: 'It is stopping.' } }]];
    await expect(drafting.again()).rejects.toThrow('It is stopping.');
    expect(drafting.moved).toBe(true);
    answers = [[200, settings]];
  });

  it('loses what is in force already when the settings are loaded', async () => {
    drafting.edit(setting('routing.hold.max'), '60');
    answers = [[200, { ...settings, settings: settings.settings.map((s) => (s.key === 'routing.hold.max' ? { ...s, value: '60' } : s)) }]];
    await drafting.load();
    expect(drafting.count).toBe(0);
  });

  it('shows the last answer that was asked for, whichever comes last', async () => {
    const late: ((r: Response) => void)[] = [];
    vi.stubGlobal('fetch', () => new Promise((done) => late.push(done)));
    drafting.heard('second');
    drafting.heard('third');
    for (const [i, revision] of [[1, 'third'], [0, 'second']] as const) {
      late[i]!(new Response(JSON.stringify({ ...settings, revision })));
      await new Promise((done) => setTimeout(done));
    }
    expect(drafting.answer?.revision).toBe('third');
  });

  it('is told of another revision: with changes it warns, without it loads', async () => {
    drafting.edit(setting('routing.hold.max'), '60');
    drafting.heard('other');
    expect(drafting.moved).toBe(true);
    answers = [[200, { ...settings, revision: 'other' }]];
    drafting.discard();
    await vi.waitFor(() => expect(drafting.answer?.revision).toBe('other'));
  });

  it.each(['settings_unwritable', 'no_settings_file', 'settings_unreadable'])('is not taken for one of a file that moved: %s', async (code) => {
    drafting.edit(setting('routing.hold.max'), '60');
    answers = [[200, preview], [409, { error: { code, message: 'The settings file cannot be written: read-only.', remedy: 'Make its folder writable.' } }]];
    await drafting.look();
    await expect(drafting.save()).rejects.toMatchObject({ code, message: 'The settings file cannot be written: read-only.', remedy: 'Make its folder writable.' });
    expect(drafting.moved).toBe(false);
    expect(drafting.count).toBe(1);
  });

  it('has what was told of the file taken back once the file is another', async () => {
    notices.problem(new Error('The settings file is wrong.'), 'settings');
    answers = [[200, settings]];
    await drafting.load();
    expect(notices.list).toHaveLength(1);
    answers = [[200, { ...settings, revision: 'mended' }]];
    await drafting.load();
    expect(notices.list).toEqual([]);
  });

  it('passes on what is neither of values nor of the revision', async () => {
    drafting.edit(setting('routing.hold.max'), '60');
    answers = [[403, { error: { code: 'admin_token_needed', message: 'This needs its owner.' } }]];
    await expect(drafting.look()).rejects.toThrow('This needs its owner.');
    expect(drafting.count).toBe(1);
  });
});
