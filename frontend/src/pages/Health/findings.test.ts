import { fireEvent, render, screen } from '@testing-library/svelte';
import { describe, expect, it, vi } from 'vitest';
import { fleet } from '../../lib/fleet.svelte';
import { notices } from '../../lib/notices.svelte';
import { engine, showGolden } from '../../test/golden';
import { session } from '../../lib/session.svelte';
import Checks from './Checks.svelte';
import Log from './Log.svelte';
import hello from '../../../../engine/admin/testdata/wire/hello.json';
import log from '../../../../engine/admin/testdata/wire/log.json';
import type { FindingView, HelloFrame, LogLine } from '../../lib/wire';
import { beginning, counted, extent, heard, isCommand, kept, ranked, verdict } from './findings';

const findings = (hello as unknown as HelloFrame).state.findings;
const lines = log.lines as unknown as LogLine[];

describe('findings', () => {
  it('come with the worst first', () => {
    expect(ranked(findings).map((f) => f.severity)).toEqual(['broken', 'warning', 'warning', 'note', 'ok']);
  });
  it('are summed up in a sentence', () => {
    expect(counted(findings)).toEqual({ broken: 1, warning: 2, note: 1, ok: 1 });
    expect(verdict(findings)).toBe('One thing is broken');
    const { broken: _, ...rest } = Object.fromEntries(ranked(findings).map((f) => [f.severity, f])) as Record<string, FindingView>;
    expect(verdict({ w: rest.warning! })).toBe('One thing wants attention');
    expect(verdict({ n: rest.note!, o: rest.ok! })).toBe('All is well');
  });
  it('tell what a button only sets going from what it does', () => {
    const f = (over: Partial<FindingView>) => ({ ...ranked(findings)[0]!, ...over });
    expect(beginning(f({ id: 'pull.gpt-4o:latest' }))).toBe('gpt-4o:latest is being fetched.');
    expect(beginning(f({ id: 'capability.ollama/qwen3:4b', deployment: 'n1/ollama/qwen3:4b' }))).toBe('qwen3:4b is being asked what it can do.');
    expect(beginning(f({ id: 'private' }))).toBe('');
  });
  it('offer the way to a fetch that began', async () => {
    engine({ 'POST /admin/findings/pull.gpt-4o/cure': { done: true } });
    showGolden((h) => (h.state.findings = { 'pull.gpt-4o': { ...ranked(findings)[0]!, id: 'pull.gpt-4o', cure: { label: 'Fetch gpt-4o', confirm: '' } } }));
    render(Checks);
    await fireEvent.click(screen.getByRole('button', { name: 'Fetch gpt-4o' }));
    await vi.waitFor(() => expect(notices.list.at(-1)).toMatchObject({ text: 'gpt-4o is being fetched.', undoLabel: 'See Models' }));
  });
  it('tell a command from advice', () => {
    expect(isCommand('ollama serve')).toBe(true);
    expect(isCommand('bellwether resume')).toBe(true);
    expect(isCommand('bellwether eval --mode live --save-measurements grades them here, on what your machines run.')).toBe(false);
    expect(isCommand('bellwether open --print')).toBe(true);
    expect(isCommand('Unload it: the next request loads it whole.')).toBe(false);
    expect(isCommand('set memory_gb of pool gpu0 to auto')).toBe(false);
  });
});

describe('the log', () => {
  it('shows a level and those above it', () => {
    expect(lines.filter((l) => heard(l, 'warn', '')).map((l) => l.seq)).toEqual([107]);
    expect(lines.filter((l) => heard(l, 'debug', '')).length).toBe(3);
  });
  it('is searched by words and facts', () => {
    expect(lines.filter((l) => heard(l, 'debug', 'model=qwen9 pull')).map((l) => l.seq)).toEqual([107]);
  });
  it('keeps its newest lines, each once', () => {
    expect(kept(lines, lines, 2).map((l) => l.seq)).toEqual([107, 108]);
    expect(kept(lines, [{ ...lines[0]!, seq: 109 }], 2).map((l) => l.seq)).toEqual([108, 109]);
  });
});

it('says what of the log is shown', () => {
  expect(extent(3, lines)).toBe('Shown: the last 3 lines');
  expect(extent(2, lines)).toBe('Shown: 2 of the last 3 lines');
  expect(extent(1, [{ ...lines[0]!, seq: 1 }])).toBe('Shown: 1 line since the start');
});

it('shows of the log what the engine says that runs now, from its start on', async () => {
  const line = (seq: number, message: string) => ({ ...log.lines[0]!, seq, level: 'info', message, attrs: [] });
  const answers: Record<string, unknown> = { 'GET /admin/log': { lines: [line(1, 'first'), line(2, 'second')], next: 2, lost: 0, file: '' } };
  const { asked } = engine(answers);
  showGolden();
  const { container } = render(Log);
  const said = () => [...container.querySelectorAll('.message')].map((m) => m.textContent);
  await vi.waitFor(() => expect(said()).toEqual(['first', 'second']));
  answers['GET /admin/log'] = { lines: [line(1, 'started again'), line(2, 'ready'), line(3, 'serving')], next: 3, lost: 0, file: '' };
  fleet.meta = { engine: { ...fleet.engine!, started_at: '2026-11-03T10:00:00Z' } };
  await vi.waitFor(() => expect(said()).toEqual(['started again', 'ready', 'serving']));
  expect(asked.at(-1)).toBe('GET /admin/log?lines=500');
  expect(container.textContent).toContain('3 lines since the start');
});

it('says where older lines of the log are, or that they are nowhere', async () => {
  const shown = async (file: string) => {
    engine({ 'GET /admin/log': { ...log, file } });
    showGolden();
    session.unlocked = true;
    const { container, unmount } = render(Log);
    await vi.waitFor(() => expect(container.textContent).toMatch(/Shown: 2 of the last 3 lines/));
    const said = container.querySelector('.bar')!.textContent;
    unmount();
    return said;
  };
  expect(await shown('/var/log/bellwether.log')).toMatch(/older ones are in\s*\/var\/log\/bellwether\.log/);
  expect(await shown('')).toMatch(/older ones are not kept: no log file is written/);
});
