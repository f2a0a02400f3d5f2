// The golden files are written by the Go tests of engine/admin. Their values
// have to have exactly the fields that the types say: a field too few or too
// many is an error of the type check, and one of another kind of this test.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { modelOf, rowOf, type DecisionRecord } from './record';
import { sections, type AppsAnswer, type DecisionRow, type DeltaFrame, type ErrorAnswer, type EvictionPlan, type HelloFrame, type History, type LogAnswer, type Session, type SettingsAnswer, type SettingsPreview, type TrafficLine } from './wire';
import appsFile from '../../../engine/admin/testdata/wire/apps.json';
import decisionFile from '../../../engine/admin/testdata/wire/decision.json';
import refusedFile from '../../../engine/admin/testdata/wire/decision_refused.json';
import deltaFile from '../../../engine/admin/testdata/wire/delta.json';
import errorFile from '../../../engine/admin/testdata/wire/error.json';
import errorSettingsFile from '../../../engine/admin/testdata/wire/error_settings.json';
import helloFile from '../../../engine/admin/testdata/wire/hello.json';
import historyFile from '../../../engine/admin/testdata/wire/history.json';
import logFile from '../../../engine/admin/testdata/wire/log.json';
import planFile from '../../../engine/admin/testdata/wire/plan.json';
import lockedFile from '../../../engine/admin/testdata/wire/session_locked.json';
import unlockedFile from '../../../engine/admin/testdata/wire/session_unlocked.json';
import settingsFile from '../../../engine/admin/testdata/wire/settings.json';
import previewFile from '../../../engine/admin/testdata/wire/settings_preview.json';
import trafficFile from '../../../engine/admin/testdata/wire/test_traffic.json';

// The types are wide unions where JSON files have plain texts: through string.
type Loose<T> = T extends string ? string : T extends (infer U)[] ? Loose<U>[] : T extends object ? { [K in keyof T]: Loose<T[K]> } : T;
const hello: Loose<HelloFrame> = helloFile;
const delta: Loose<DeltaFrame> = deltaFile;
const apps: AppsAnswer = appsFile;
const decision: Loose<DecisionRecord> = decisionFile;
const refused: Loose<DecisionRecord> = refusedFile;
const error: ErrorAnswer = errorFile;
const errorSettings: Loose<ErrorAnswer> = errorSettingsFile;
const history: History = historyFile;
const log: Loose<LogAnswer> = logFile;
const plan: Loose<EvictionPlan> = planFile;
const locked: Session = lockedFile;
const unlocked: Session = unlockedFile;
const settings: Loose<SettingsAnswer> = settingsFile;
const preview: Loose<SettingsPreview> = previewFile;
const traffic: Loose<TrafficLine>[] = trafficFile;

const folder = join(import.meta.dirname, '../../../engine/admin/testdata/wire');
const types = readFileSync(join(import.meta.dirname, 'wire.ts'), 'utf8') + readFileSync(join(import.meta.dirname, 'record.ts'), 'utf8');

/** fields are the names of an interface's fields, with those that may be absent. */
function fields(name: string): { all: Set<string>; needed: string[] } {
  const body = new RegExp(`export interface ${name} \\{([^}]*)\\}`).exec(types)?.[1];
  if (body === undefined) throw new Error(`no interface ${name}`);
  const found = [...body.matchAll(/^ {2}(\w+)(\??):/gm)];
  return { all: new Set(found.map((f) => f[1]!)), needed: found.filter((f) => f[2] === '').map((f) => f[1]!) };
}

function hasFieldsOf(name: string, value: object): void {
  const { all, needed } = fields(name);
  const there = Object.keys(value);
  expect(there.filter((k) => !all.has(k)), `${name}: fields of the wire that the type misses`).toEqual([]);
  expect(needed.filter((k) => !there.includes(k)), `${name}: fields of the type that the wire misses`).toEqual([]);
}

describe('the golden files', () => {
  it('are all read here', () => {
    const known = ['apps', 'decision', 'decision_refused', 'delta', 'enter_link', 'error', 'error_settings', 'hello', 'history', 'log', 'plan', 'session_locked', 'session_unlocked', 'settings', 'settings_preview', 'test_traffic'];
    expect(readdirSync(folder).map((f) => f.replace('.json', '')).sort()).toEqual(known);
  });

  it('have the fields that the types have', () => {
    const s = hello.state;
    const all: [string, object[]][] = [
      ['EngineView', Object.values(s.meta)], ['StoreView', Object.values(s.meta).map((m) => m.store)],
      ['NodeView', Object.values(s.nodes)], ['ThermalView', Object.values(s.nodes).map((n) => n.thermal)], ['GPUView', Object.values(s.nodes).flatMap((n) => n.gpus)],
      ['RuntimeView', Object.values(s.runtimes)], ['DeploymentView', Object.values(s.deployments)],
      ['CapabilityView', Object.values(s.deployments).flatMap((d) => Object.values(d.capabilities))],
      ['QualityView', Object.values(s.deployments).flatMap((d) => d.quality)], ['SpeedView', Object.values(s.deployments).map((d) => d.speed)],
      ['PoolView', Object.values(s.pools)], ['HolderView', Object.values(s.pools).flatMap((p) => p.holders)],
      ['LaneView', Object.values(s.lanes)], ['JobView', Object.values(s.jobs)], ['JobLine', Object.values(s.jobs).flatMap((j) => j.lines)], ['AppView', [...Object.values(s.apps), ...apps.apps]], ['TagView', apps.apps.flatMap((a) => a.tags)],
      ['KeyView', apps.keys], ['FindingView', Object.values(s.findings)], ['CureView', Object.values(s.findings).flatMap((f) => (f.cure ? [f.cure] : []))],
      ['ContractView', Object.values(s.contracts)], ['AnchorView', Object.values(s.contracts).flatMap((c) => (c.anchor ? [c.anchor] : []))],
      ['AliasView', Object.values(s.aliases)], ['DecisionRow', [...s.rows, ...(delta.rows ?? [])]],
      ['AppsAnswer', [apps]], ['History', [history]], ['PoolHistory', Object.values(history.pools)], ['NodeHistory', Object.values(history.nodes)],
      ['EvictionPlan', [plan]], ['VictimView', plan.evict], ['Session', [locked, unlocked]], ['SettingsAnswer', [settings]], ['SettingView', settings.settings],
      ['SettingsPreview', [preview]], ['SettingChange', preview.changed], ['LogAttr', log.lines.flatMap((l) => l.attrs ?? [])], ['LogAnswer', [log]], ['LogLine', log.lines], ['TrafficLine', traffic],
      ['ErrorAnswer', [error, errorSettings]], ['Refusal', [error.error, errorSettings.error]],
      ['DecisionRecord', [decision, refused]], ['Requirements', [decision.requirements, refused.requirements]], ['Tokens', [decision.requirements.tokens]],
      ['Candidate', decision.candidates ?? []], ['Signals', (decision.candidates ?? []).map((c) => c.signals)],
      ['Exclusion', Object.values(decision.exclusions as unknown as Record<string, object[]>).flat()],
      ['Usage', [decision.usage!]], ['RuntimeTimings', [decision.runtime_timings!]], ['Timing', [decision.timing]], ['FailoverStep', decision.failover!], ['Failure', decision.failover!.map((f) => f.failure)],
    ];
    for (const [name, values] of all) {
      expect(values.length, `no ${name} in the golden files`).toBeGreaterThan(0);
      for (const v of values) hasFieldsOf(name, v);
    }
  });

  it('have the sections that the feed has', () => {
    expect(Object.keys(hello.state).filter((k) => k !== 'rows').sort()).toEqual([...sections].sort());
  });
});

describe('a record as a row', () => {
  const rowFor = (r: object, id: string) => [rowOf(r as DecisionRecord), (hello.state.rows as DecisionRow[]).find((x) => x.request_id === id)!] as const;

  it('is the row that the feed sends for it', () => {
    const [mine, sent] = rowFor(decision, '01JBQ7YZG9');
    for (const k of ['at', 'app', 'requested_model', 'alias', 'profile', 'task', 'outcome', 'stage', 'deployment', 'node_name', 'model', 'input_tokens', 'output_tokens'] as const) expect({ [k]: mine[k] }).toEqual({ [k]: sent[k] });
  });

  it('has no model when nobody served it', () => {
    const row = rowOf(refused as DecisionRecord);
    expect(row).toMatchObject({ model: '', node_name: '', deployment: '', outcome: 'held_out', status: 503, input_tokens: null });
  });

  it('keeps slashes of a model in its name', () => {
    expect(modelOf('3f9c/lm-studio/qwen/qwen3-8b')).toBe('qwen/qwen3-8b');
  });
});
