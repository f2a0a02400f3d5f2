// How long a pause may be asked for, as the tray's menu has it.

export interface Pause {
  label: string;
  said: string; // as the message after it says it
  /** The command's body, by this browser's clock and time zone. */
  body(now: Date): { reason: string; seconds?: number; until?: string };
}

const reason = 'paused in the admin window';

export const pauses: readonly Pause[] = [
  { label: 'For 1 hour', said: 'for 1 hour', body: () => ({ reason, seconds: 3600 }) },
  { label: 'Until tomorrow', said: 'until tomorrow', body: (now) => ({ reason, until: tomorrow(now).toISOString() }) },
  { label: 'Until resumed', said: 'until it is resumed', body: () => ({ reason }) },
];

/** tomorrow is 06:00 of the next day, local time: before that it is still tonight. */
export function tomorrow(now: Date): Date {
  const t = new Date(now);
  t.setHours(6, 0, 0, 0);
  if (t <= now) t.setDate(t.getDate() + 1);
  return t;
}
