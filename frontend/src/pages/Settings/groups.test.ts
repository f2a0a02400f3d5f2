import { describe, expect, it } from 'vitest';
import golden from '../../../../engine/admin/testdata/wire/settings.json';
import type { SettingsAnswer, SettingView } from '../../lib/wire';
import { chapters, checked, edited, found, locked, measured, packed, shown, sourceWords, spread } from './groups';

const all = (golden as unknown as SettingsAnswer).settings;
const one = (key: string): SettingView => all.find((s) => s.key === key)!;
const named = (key: string): SettingView => ({ ...one('listen'), key });

describe('chapters', () => {
  it('have every setting, each once', () => {
    const keys = chapters(all).flatMap((c) => c.settings.map((s) => s.key));
    expect(keys.sort()).toEqual(all.map((s) => s.key).sort());
  });
  it.each([
    ['listen', 'machine'], ['node.name', 'machine'], ['routing.score.model_hot', 'choice'], ['routing.pins.ttl', 'choice'], ['routing.hold.max', 'requests'],
    ['clients.retry_after', 'requests'], ['on_battery', 'guest'], ['battery', 'guest'], ['peer.listen', 'fleet'], ['deployments', 'runtimes'], ['something_new', 'other'],
  ])('put %s into %s', (key, id) => expect(chapters([named(key)])[0]!.id).toBe(id));
});

describe('found', () => {
  it('looks at names, words and variables', () => {
    expect(found(one('routing.hold.max'), 'HOLD waits')).toBe(true);
    expect(found(one('routing.hold.max'), 'fleet_hold')).toBe(true);
    expect(found(one('routing.hold.max'), 'battery')).toBe(false);
  });
  it('keeps to what differs from its default', () => {
    expect(found(one('routing.hold.max'), '', 'changed')).toBe(true);
    expect(found(one('listen'), '', 'changed')).toBe(false);
    expect(found(one('log_level'), '', 'file')).toBe(false);
    expect(found(one('listen'), '', 'restart')).toBe(true);
  });
});

describe('a draft', () => {
  const hold = one('routing.hold.max');
  it('holds only what differs from what is in force', () => {
    const d = edited({}, hold, '60');
    expect(d).toEqual({ 'routing.hold.max': '60' });
    expect(edited(d, hold, '45')).toEqual({});
  });
  it('knows the way back to the default', () => {
    const d = edited({}, hold, null);
    expect(d).toEqual({ 'routing.hold.max': null });
    expect(shown(d, hold)).toBe('30');
    expect(edited({}, one('listen'), null)).toEqual({});
  });
});

describe('checked', () => {
  it.each([
    ['routing.max_retries', '3', true], ['routing.max_retries', '3.5', false], ['routing.max_retries', '', false],
    ['routing.hold.max', '1h30m', true], ['routing.hold.max', '45', true], ['routing.hold.max', 'soon', false],
    ['log_level', 'warn', true], ['log_level', 'loud', false], ['routing.model_fallback', 'yes', false],
    ['pools', '[]', true], ['pools', '{}', false], ['pools', '[', false], ['listen', 'anything', true],
  ])('%s = %s is right: %s', (key, text, right) => expect(checked(one(key), text) === '').toBe(right));
});

describe('what is no JSON', () => {
  const circuit = { ...one('pools'), kind: 'table' as const, value: '5/10 in 1m', allowed: 'failures/of in time' };
  it('is the engine’s to check', () => expect(checked(circuit, '3/10 in 1m')).toBe(''));
  it('a span may be a word that is allowed', () => {
    const never = { ...one('routing.hold.max'), allowed: '1s to 1h, or never' };
    expect(checked(never, 'never')).toBe('');
    expect(checked(never, 'always')).not.toBe('');
  });
});

describe('words', () => {
  it('say where a value comes from', () => {
    expect(sourceWords('file config.yaml:12')).toBe('config.yaml, line 12');
    expect(sourceWords('env FLEET_LOG_LEVEL')).toBe('variable FLEET_LOG_LEVEL');
    expect(sourceWords('default')).toBe('default');
  });
  it('say why a setting cannot be changed', () => {
    expect(locked(one('log_level'))).toContain('FLEET_LOG_LEVEL');
    expect(locked(one('security.api_keys'))).not.toBe('');
    expect(locked(one('listen'))).toBe('');
  });
  it('spread lists, and pack them again', () => {
    const text = one('pools').value;
    expect(spread(text)).toContain('\n');
    expect(packed(spread(text))).toBe(text);
    expect(spread('[')).toBe('[');
  });
});

describe('a value as it is read', () => {
  it.each([['8', 's', '8 s'], ['', 's', '(empty)'], ['never', 's', 'never'], ['[]', 'GB', '[]'], ['2', '', '2']])('%s in %s is %s', (text, unit, want) => expect(measured(text, unit)).toBe(want));
});
