// The settings in chapters, the search over them, and a draft of changes.
// Values in, values out.
import type { SettingView } from '../../lib/wire';

/** Chapter is a group of settings with a title for people. */
export interface Chapter {
  id: string;
  title: string;
  settings: SettingView[];
}

// The first rule whose prefix fits a key has it; what no rule knows goes to
// the last chapter, so that a new setting is always shown.
const rules: [id: string, title: string, prefixes: string[]][] = [
  ['machine', 'This machine', ['listen', 'also_listen', 'data_dir', 'log_level', 'node.', 'start_at_login', 'notifications']],
  ['runtimes', 'Runtimes and memory', ['runtimes', 'pools', 'unknown_memory_policy', 'assumed_residency_ttl', 'deployments', 'unload_after']],
  ['names', 'Names for models', ['aliases', 'embeddings', 'response_model_field']],
  ['choice', 'How a model is chosen', ['routing.scoring', 'routing.score.', 'routing.profiles', 'routing.classifier', 'routing.locality', 'routing.pins', 'routing.switching_penalty', 'routing.pinned_models', 'routing.rebalance', 'routing.pre_warm', 'routing.preload', 'routing.model_fallback']],
  ['requests', 'Requests', ['routing.', 'clients.']],
  ['guest', 'A polite guest', ['capacity.', 'meetings.', 'on_', 'cancel_grace', 'schedule', 'quiet_hours', 'exclusive_apps', 'full_screen', 'battery']],
  ['security', 'Apps and access', ['security.']],
  ['fleet', 'Other machines', ['peer.', 'heartbeat.', 'membership.', 'wake_on_lan']],
  ['records', 'Records', ['store.', 'telemetry.']],
];
const rest: [string, string] = ['other', 'Other'];

const fits = (key: string, prefix: string): boolean => (/[._]$/.test(prefix) ? key.startsWith(prefix) : key === prefix || key.startsWith(`${prefix}.`) || key.startsWith(`${prefix}_`));

const chapterOf = (key: string): string => rules.find(([, , prefixes]) => prefixes.some((p) => fits(key, p)))?.[0] ?? rest[0];

/** chapters groups settings, in the order they came within each; chapters without any are left out. */
export function chapters(settings: readonly SettingView[]): Chapter[] {
  return [...rules.map(([id, title]) => [id, title] as const), rest]
    .map(([id, title]) => ({ id, title, settings: settings.filter((s) => chapterOf(s.key) === id) }))
    .filter((c) => c.settings.length > 0);
}

/** Only is what else than words a search keeps. */
export type Only = 'all' | 'changed' | 'file' | 'restart';

/** found reports whether a setting has all words of a text, in its name, description, value or variables. */
export function found(s: SettingView, text: string, only: Only = 'all'): boolean {
  if (only === 'changed' && s.value === s.default && s.source === 'default') return false;
  if (only === 'file' && !s.source.startsWith('file')) return false;
  if (only === 'restart' && !s.restart) return false;
  const hay = [s.key, s.doc, s.value, s.env.join(' ')].join(' ').toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((w) => hay.includes(w));
}

/** Draft is what was typed and not saved: by key, the new text; null = back to the default. */
export type Draft = Record<string, string | null>;

/** edited is the draft with one more change; a text that is in force already, or null where the default is, is no change. */
export function edited(draft: Draft, s: SettingView, to: string | null): Draft {
  const next = { ...draft };
  const same = to === null ? s.source === 'default' : to === s.value;
  if (same) delete next[s.key];
  else next[s.key] = to;
  return next;
}

/** shown is the text of a setting as it would be with the draft. */
export function shown(draft: Draft, s: SettingView): string {
  const d = draft[s.key];
  if (d === undefined) return s.value;
  return d ?? s.default;
}

/** measured is a value as people read it: a number with its unit. */
export const measured = (text: string, unit: string): string => (text === '' ? '(empty)' : unit && /^\d/.test(text) ? `${text} ${unit}` : text);

/** Why a setting cannot be changed here, '' = it can. */
export function locked(s: SettingView): string {
  if (s.fixed !== '') return s.fixed;
  if (s.secret) return 'It holds keys, which are not shown or changed here. Edit it in the settings file.';
  return '';
}

/** checked is what is wrong with a text before the engine is asked, '' = nothing that can be seen here. */
export function checked(s: SettingView, text: string): string {
  const t = text.trim();
  switch (s.kind) {
    case 'whole':
      return /^-?\d+$/.test(t) ? '' : `Not a whole number. Allowed: ${s.allowed}.`;
    case 'number':
      return t !== '' && Number.isFinite(Number(t)) ? '' : `Not a number. Allowed: ${s.allowed}.`;
    case 'span':
      return /^\d+(\.\d+)?$|^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h|d))+$/.test(t) || isWordOf(s, t) ? '' : `Not a time. Seconds, or text such as 1h30m. Allowed: ${s.allowed}.`;
    case 'choice':
      return s.choices.includes(t) ? '' : `Allowed: ${s.choices.map((c) => (c === '' ? '(empty)' : c)).join(', ')}.`;
    case 'flag':
      return t === 'true' || t === 'false' ? '' : 'Allowed: true or false.';
    case 'list':
    case 'table':
      return isJSON(s) ? json(t, s.kind) : '';
    default:
      return '';
  }
}

// isWordOf: what is allowed in words beside the kind's own, such as never.
const isWordOf = (s: SettingView, t: string): boolean => /^\p{L}+$/u.test(t) && new RegExp(`\\b${t}\\b`, 'u').test(`${s.allowed} ${s.value} ${s.default}`);

/** isJSON: a list or table that is written as JSON; some are a line of their own form, such as 5/10 in 1m. */
export const isJSON = (s: SettingView): boolean => (s.kind === 'list' || s.kind === 'table') && /^\s*[[{]/.test(s.value);

function json(t: string, kind: 'list' | 'table'): string {
  try {
    const v: unknown = JSON.parse(t);
    const right = kind === 'list' ? Array.isArray(v) : typeof v === 'object' && v !== null && !Array.isArray(v);
    if (right) return '';
    return kind === 'list' ? 'Not a list: it starts with [ and ends with ].' : 'Not a table: it starts with { and ends with }.';
  } catch (err) {
    return `Not JSON: ${(err as Error).message}.`;
  }
}

/** long texts (lists and tables) are written over several lines; what is not JSON stays as it is. */
export function spread(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** packed is the text of a list or table in one line, as the engine has it; what is not JSON stays as it is. */
export function packed(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

/** sourceWords say where a value comes from: "default", "config.yaml, line 12", "FLEET_LOG_LEVEL". */
export function sourceWords(source: string): string {
  const [kind, ...tail] = source.split(' ');
  const name = tail.join(' ');
  if (kind === 'file') {
    const at = name.lastIndexOf(':');
    return at > 0 ? `${name.slice(0, at)}, line ${name.slice(at + 1)}` : name;
  }
  if (kind === 'env') return `variable ${name}`;
  if (kind === 'flag') return `flag ${name}`;
  return source;
}
