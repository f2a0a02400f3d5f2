// How long a pause may be asked for, as the tray's menu has it.

export interface Pause {
  label: string;
  /** When it ends, null = when it is resumed. */
  until(now: Date): Date | null;
  /** The command's body, by this browser's clock and time zone. */
  body(now: Date): { reason: string; seconds?: number; until?: string };
}

const reason = 'paused in the admin window';

export const pauses: readonly Pause[] = [
  { label: 'For 1 hour', until: (now) => new Date(now.getTime() + 3_600_000), body: () => ({ reason, seconds: 3600 }) },
  { label: 'Until tomorrow', until: tomorrow, body: (now) => ({ reason, until: tomorrow(now).toISOString() }) },
  { label: 'Until resumed', until: () => null, body: () => ({ reason }) },
];

/** tomorrow is 06:00 of the next day, local time: before that it is still tonight. */
export function tomorrow(now: Date): Date {
  const t = new Date(now);
  t.setHours(6, 0, 0, 0);
  if (t <= now) t.setDate(t.getDate() + 1);
  return t;
}
