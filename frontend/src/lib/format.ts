// Numbers as people read them, always with their unit. null and undefined are
// "not known", shown as a dash; they are never shown as zero.

export const unknown = '–';

type Maybe = number | null | undefined;

const missing = (n: Maybe): n is null | undefined => n === null || n === undefined || !Number.isFinite(n);

/** count groups a whole number: 12,800. By hand: the first formatter of Intl takes the browser some 15 ms. */
export function count(n: Maybe): string {
  return missing(n) ? unknown : n.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** plural is a count with its noun: 1 request, 2 requests. */
export function plural(n: Maybe, one: string, many = one + 's'): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

// digits keeps three figures of a number: 0.41, 3.2, 48.9, 412.
function digits(n: number): string {
  const a = Math.abs(n);
  if (a >= 99.95 || Number.isInteger(n)) return n.toFixed(0);
  if (a >= 9.995) return n.toFixed(1);
  return n.toFixed(a >= 0.995 ? 1 : 2);
}

const byteUnits = ['B', 'KB', 'MB', 'GB', 'TB'];

/** bytes in powers of 1024, as memory is sold and as settings count it: 24 GB, 48.9 GB. The engine's fleet.Bytes says it alike. */
export function bytes(n: Maybe): string {
  if (missing(n)) return unknown;
  let unit = 0;
  let v = n;
  while (Math.abs(v) >= 999.5 && unit < byteUnits.length - 1) {
    v /= 1024;
    unit++;
  }
  return `${v.toFixed(v >= 99.95 ? 0 : 1).replace(/\.0$/, '')} ${byteUnits[unit]}`;
}

/** ms as a span: 0.41 ms, 380 ms, 7.4 s, 2 min 5 s. */
export function ms(n: Maybe): string {
  if (missing(n)) return unknown;
  if (n === 0) return '0 ms';
  if (n < 999.5) return `${digits(n)} ms`;
  return seconds(n / 1000);
}

/** seconds as a span: 6.4 s, 2 min 5 s, 3 h 10 min, 2 d 4 h. */
export function seconds(n: Maybe): string {
  if (missing(n)) return unknown;
  if (n < 0.9995 && n > 0) return `${digits(n * 1000)} ms`;
  if (n < 59.95) return `${digits(n)} s`;
  const whole = Math.round(n);
  if (whole < 3600) return pair(Math.floor(whole / 60), 'min', whole % 60, 's');
  const minutes = Math.round(n / 60);
  if (minutes < 48 * 60) return pair(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  const hours = Math.round(n / 3600);
  return pair(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

const pair = (a: number, ua: string, b: number, ub: string) => (b === 0 ? `${a} ${ua}` : `${a} ${ua} ${b} ${ub}`);

/** tokens with their unit: 412 tok, 14.2k tok, 2.4M tok. */
export function tokens(n: Maybe): string {
  return missing(n) ? unknown : `${short(n)} tok`;
}

/** short shortens a count in tables: 412, 14.2k, 2.4M. */
export function short(n: Maybe): string {
  if (missing(n)) return unknown;
  if (n < 10_000) return count(n);
  if (n < 999_500) return `${digits(n / 1000)}k`;
  return `${digits(n / 1_000_000)}M`;
}

/** context is a size of context, in powers of two where it is one: 8k, 128k, 32.8k. */
export function context(n: Maybe): string {
  if (missing(n)) return unknown;
  if (n >= 1024 && n % 1024 === 0) return n >= 1 << 20 && n % (1 << 20) === 0 ? `${n / (1 << 20)}M tok` : `${n / 1024}k tok`;
  return tokens(n);
}

/** rate in tokens per second: 71 tok/s. */
export function rate(n: Maybe): string {
  return missing(n) ? unknown : `${n >= 9.95 ? count(n) : digits(n)} tok/s`;
}

/** percent of a number that is 0 to 100 already. */
export function percent(n: Maybe): string {
  if (missing(n)) return unknown;
  if (n > 0 && n < 1) return '< 1 %';
  return `${n.toFixed(0)} %`;
}

/** points of a score, with their sign: +15, −0.98. */
export function points(n: Maybe, decimals = 1): string {
  if (missing(n)) return unknown;
  const text = Math.abs(n).toFixed(decimals).replace(/\.0+$/, '');
  return text === '0' ? '0' : `${n < 0 ? '−' : '+'}${text}`;
}

/** clock is a moment's time of day: 09:30:14. */
export function clock(at: string | number | null | undefined, withSeconds = true): string {
  const d = moment(at);
  if (!d) return unknown;
  const two = (n: number) => String(n).padStart(2, '0');
  return `${two(d.getHours())}:${two(d.getMinutes())}${withSeconds ? `:${two(d.getSeconds())}` : ''}`;
}

/** date is a moment in full, for titles: 3 Nov 2026, 09:30:14. */
export function date(at: string | number | null | undefined): string {
  const d = moment(at);
  if (!d) return unknown;
  return `${d.getDate()} ${months[d.getMonth()]} ${d.getFullYear()}, ${clock(d.getTime())}`;
}

/** day is clock today, else with the day: 09:30:14, 2 Nov 07:30. */
export function day(at: string | null | undefined, now: number): string {
  const d = moment(at);
  if (!d) return unknown;
  if (d.toDateString() === new Date(now).toDateString()) return clock(d.getTime());
  return `${d.getDate()} ${months[d.getMonth()]} ${clock(d.getTime(), false)}`;
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function moment(at: string | number | null | undefined): Date | null {
  if (at === null || at === undefined || at === '') return null;
  const d = new Date(at);
  return Number.isNaN(d.getTime()) ? null : d;
}

/** ago is how long something is past: just now, 12 s ago, 9 min ago. */
export function ago(at: string | null | undefined, now: number): string {
  const d = moment(at);
  if (!d) return unknown;
  const s = (now - d.getTime()) / 1000;
  if (s < 2) return 'just now';
  return `${coarse(s)} ago`;
}

/** until is how long something is ahead: in 12 s, in 27 min; past it is now. */
export function until(at: string | null | undefined, now: number): string {
  const d = moment(at);
  if (!d) return unknown;
  const s = (d.getTime() - now) / 1000;
  return s <= 0 ? 'now' : `in ${coarse(s)}`;
}

/** coarse is a span in one unit. */
export function coarse(s: number): string {
  if (s < 90) return `${Math.max(1, Math.round(s))} s`;
  if (s < 90 * 60) return `${Math.round(s / 60)} min`;
  if (s < 36 * 3600) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} d`;
}
