// What the page says of a machine as a guest: which settings hold, and where
// its learning stands. Values in, values out.
import type { NodeView, SettingView, Tri } from '../../lib/wire';

/** Rule is one setting of a polite guest in a sentence. */
export interface Rule {
  key: string;
  title: string;
  value: string;
  setting: SettingView;
}

const titles: [key: string, title: string][] = [
  ['on_pause', 'When it is paused, running requests'],
  ['meetings.enabled', 'Watches camera and microphone'],
  ['on_meeting', 'When a meeting begins, running requests'],
  ['meetings.ignore', 'Apps that are no meeting'],
  ['battery', 'On battery'],
  ['on_battery', 'When it leaves the mains, running requests'],
  ['schedule', 'Serves only at'],
  ['quiet_hours', 'Is quiet at'],
  ['on_schedule', 'When its hours end, running requests'],
  ['full_screen', 'While an app fills the screen'],
  ['exclusive_apps', 'Apps that have the machine to themselves'],
  ['cancel_grace', 'Requests that are cancelled may still run for'],
  ['unload_after', 'Unloads models that nobody uses after'],
  ['capacity.own_requests', 'Its own requests while it is busy'],
];

/** rules lists the settings of a guest that there are, in words. */
export function rules(settings: readonly SettingView[]): Rule[] {
  return titles.flatMap(([key, title]) => {
    const setting = settings.find((s) => s.key === key);
    return setting ? [{ key, title, value: valueWords(setting), setting }] : [];
  });
}

/** valueWords is a setting's text for people. */
export function valueWords(s: SettingView): string {
  if (s.value === '' || s.value === '[]' || s.value === '{}') return 'none set';
  if (s.kind === 'flag') return s.value === 'true' ? 'yes' : 'no';
  if (s.kind === 'list') {
    try {
      const list: unknown = JSON.parse(s.value);
      if (Array.isArray(list)) return list.map(String).join(', ');
    } catch {
      // shown as it is
    }
  }
  return s.unit === '' || !/^\d/.test(s.value) ? s.value : `${s.value} ${s.unit}`;
}

/** Learning says where a machine's learning stands. */
export interface Learning {
  state: 'off' | 'later' | 'observing' | 'learned';
  title: string;
  text: string;
}

export function learning(node: NodeView, settings: readonly SettingView[]): Learning {
  // The engine says of its own settings what it does not do yet; that comes
  // before what a node reports of itself.
  const later = settings.find((s) => (s.key === 'capacity.learning' || s.key === 'capacity.observation') && s.later !== '');
  if (later) {
    return { state: 'later', title: 'Nothing is learned yet', text: `This version does not watch the machine’s week: ${later.key} ${later.later}. From then on each hour of a week fills in as it passes, and seven days later all 168 are known. Until then this machine always counts as free unless it is paused.` };
  }
  if (node.learning && node.observing) {
    return { state: 'observing', title: 'Learning its first week', text: 'It watches when this machine has room, and takes nobody else’s work meanwhile. Hours fill in as they pass; after seven days the whole week is known.' };
  }
  if (node.learning) return { state: 'learned', title: 'Learns its week', text: 'Each hour is a mean of the weeks it has seen, the latest counting most.' };
  return { state: 'off', title: 'Learning is off', text: 'Switch capacity.learning on, and each hour of the week fills in as it passes; seven days later all 168 are known. Until then this machine always counts as free unless it is paused.' };
}

/** triWords tell a reading that may be unknown. */
export const triWords = (t: Tri, yes: string, no: string): string => (t === 'yes' ? yes : t === 'no' ? no : 'not known on this machine');
