// The checks as the page lists them, and the log's filter. Values in, values out.
import { count, plural } from '../../lib/format';
import { natural } from '../../lib/order';
import { modelOf } from '../../lib/record';
import type { FindingView, LogLine, Severity } from '../../lib/wire';

export const severities: readonly Severity[] = ['broken', 'warning', 'note', 'ok'];

/** severityWords name severities for people. */
export const severityWords: Record<Severity, string> = { broken: 'Broken', warning: 'Warning', note: 'Note', ok: 'Fine' };

/** ranked lists findings, the worst first, then by title. */
export function ranked(findings: Record<string, FindingView>): FindingView[] {
  const rank = (f: FindingView) => severities.indexOf(f.severity);
  return Object.values(findings).sort((a, b) => rank(a) - rank(b) || natural(a.title, b.title) || natural(a.id, b.id));
}

/** counted is how many findings have each severity. */
export function counted(findings: Record<string, FindingView>): Record<Severity, number> {
  const n: Record<Severity, number> = { broken: 0, warning: 0, note: 0, ok: 0 };
  for (const f of Object.values(findings)) n[f.severity]++;
  return n;
}

/** verdict is the whole in one sentence. */
export function verdict(findings: Record<string, FindingView>): string {
  const n = counted(findings);
  if (n.broken > 0) return n.broken === 1 ? 'One thing is broken' : `${n.broken} things are broken`;
  if (n.warning > 0) return n.warning === 1 ? 'One thing wants attention' : `${n.warning} things want attention`;
  return 'All is well';
}

/** isCommand: a remedy that one can paste into a terminal as it stands. */
export const isCommand = (remedy: string): boolean => /^(bellwether|ollama|llama-server|brew|systemctl|sudo|apt|launchctl)( [\w@:=/.-]*[\w/])*$/.test(remedy);

/** Levels of the log, the most talkative first. */
export const levels = ['debug', 'info', 'warn', 'error'] as const;
export type Level = (typeof levels)[number];

/** heard reports whether a line is of a level or above, and has all words of a text. */
export function heard(line: LogLine, least: Level, text: string): boolean {
  if (levels.indexOf(line.level) < levels.indexOf(least)) return false;
  if (text === '') return true;
  const hay = `${line.message} ${(line.attrs ?? []).map((a) => `${a.key}=${a.value}`).join(' ')}`.toLowerCase();
  return text.toLowerCase().split(/\s+/).every((w) => hay.includes(w));
}

/** kept is the tail with new lines, never longer than most. */
export function kept(tail: readonly LogLine[], fresh: readonly LogLine[], most = 2000): LogLine[] {
  const last = tail.at(-1)?.seq ?? -1;
  return tail.concat(fresh.filter((l) => l.seq > last)).slice(-most);
}

/** extent says what of the log is shown: of the lines here, how many pass, and which those are. */
export function extent(shown: number, lines: readonly LogLine[]): string {
  const n = plural(lines.length, 'line');
  const all = (lines[0]?.seq ?? 1) <= 1 ? `${n} since the start` : `the last ${n}`;
  return shown === lines.length ? `Shown: ${all}` : `Shown: ${count(shown)} of ${all}`;
}

/** beginning says what a finding's button only sets going; '' = it does it at once. */
export function beginning(f: FindingView): string {
  if (f.id.startsWith('pull.')) return `${f.id.slice('pull.'.length)} is being fetched.`;
  if (f.id.startsWith('capability.')) return `${modelOf(f.deployment)} is being asked what it can do.`;
  return '';
}
