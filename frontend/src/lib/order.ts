// The order of names as people read them: node-2 before node-10. The first
// formatter or collator of Intl takes the browser some 15 ms, which the first
// paint would wait for: names of ASCII are compared without one, in its order.

const ranks = ' _-,;:!?.\'"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz';
const ascii = /^[ -~]*$/;
let names: Intl.Collator | undefined;

/** natural compares two names. */
export function natural(a: string, b: string): number {
  if (a === b) return 0;
  if (ascii.test(a) && ascii.test(b)) return plain(a, b);
  names ??= new Intl.Collator('en', { numeric: true });
  return names.compare(a, b);
}

// plain compares number by number and sign by sign, then small letters before
// capitals.
function plain(a: string, b: string): number {
  const x = parts(a);
  const y = parts(b);
  for (let i = 0; i < x.length && i < y.length; i++) {
    const apart = ranks.indexOf(x[i]![0]!) - ranks.indexOf(y[i]![0]!);
    const [n, m] = [Number(x[i]), Number(y[i])];
    if (digit(x[i]!) && digit(y[i]!)) {
      if (n !== m) return n - m;
    } else if (apart !== 0) return apart;
  }
  if (x.length !== y.length) return x.length - y.length;
  const [p, q] = [a.match(/[a-z]/gi) ?? [], b.match(/[a-z]/gi) ?? []];
  const i = p.findIndex((c, at) => c !== q[at]);
  return i < 0 ? 0 : p[i]! > q[i]! ? -1 : 1;
}

const parts = (s: string): string[] => s.toLowerCase().match(/\d+|\D/g) ?? [];
const digit = (s: string): boolean => s[0]! >= '0' && s[0]! <= '9';
