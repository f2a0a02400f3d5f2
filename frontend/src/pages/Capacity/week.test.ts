import { render, screen } from '@testing-library/svelte';
import { describe, expect, it } from 'vitest';
import hello from '../../../../engine/admin/testdata/wire/hello.json';
import golden from '../../../../engine/admin/testdata/wire/settings.json';
import type { HelloFrame, SettingsAnswer, SettingView } from '../../lib/wire';
import { engine, showGolden } from '../../test/golden';
import Capacity from './Capacity.svelte';
import { learning, rules, triWords, valueWords } from './week';

const node = Object.values((hello as unknown as HelloFrame).state.nodes)[0]!;
const like = (over: Partial<SettingView>): SettingView => ({ ...(golden as unknown as SettingsAnswer).settings[0]!, ...over });

describe('learning', () => {
  it('says when a version cannot learn, instead of promising it', () => {
    const l = learning(node, [like({ key: 'capacity.learning', later: "counts once the machine's week is learned" })]);
    expect(l.state).toBe('later');
    expect(learning({ ...node, learning: true }, [like({ key: 'capacity.observation', later: 'counts later' })]).state).toBe('later');
    expect(l.text).toContain("counts once the machine's week is learned");
  });
  it('tells off from on', () => {
    expect(learning(node, [like({ key: 'capacity.learning', later: '' })]).state).toBe('off');
    expect(learning({ ...node, learning: true, observing: true }, []).state).toBe('observing');
    expect(learning({ ...node, learning: true }, []).state).toBe('learned');
  });
});

describe('the page', () => {
  const takes = () => screen.getByText('Takes work').nextElementSibling!.textContent!.trim();
  it('takes no work where no runtime is up', () => {
    engine({ 'GET /admin/settings': golden });
    showGolden((h) => Object.assign(Object.values(h.state.nodes).find((n) => n.local)!, { state: 'serving', reason: 'no runtime is up' }));
    render(Capacity);
    expect(takes()).toBe('no no runtime is up');
  });
  it('takes work where it serves', () => {
    engine({ 'GET /admin/settings': golden });
    showGolden();
    render(Capacity);
    expect(takes()).toBe('yes');
  });
});

describe('rules', () => {
  it('are those settings that there are', () => {
    const list = rules([like({ key: 'on_pause', value: 'finish' }), like({ key: 'listen' })]);
    expect(list.map((r) => [r.title, r.value])).toEqual([['When it is paused, running requests', 'finish']]);
  });
  it('read as words', () => {
    expect(valueWords(like({ value: '[]', kind: 'list' }))).toBe('none set');
    expect(valueWords(like({ value: '["mon-fri 09:00-17:30"]', kind: 'list' }))).toBe('mon-fri 09:00-17:30');
    expect(valueWords(like({ value: '10', unit: 's', kind: 'span' }))).toBe('10 s');
    expect(valueWords(like({ value: 'never', unit: 's', kind: 'span' }))).toBe('never');
    expect(valueWords(like({ value: 'true', kind: 'flag' }))).toBe('yes');
    expect(triWords('unknown', 'a', 'b')).toBe('not known on this machine');
  });
});
