import { expect, it } from 'vitest';
import { natural } from './order';

it('counts the numbers in names', () => {
  expect(['family10:2b', 'family2', 'Family1', 'family1:7b', 'qwen3:30b', 'qwen2.5:14b', 'qwen3:8b', 'qwen2.5:7b'].sort(natural))
    .toEqual(['Family1', 'family1:7b', 'family2', 'family10:2b', 'qwen2.5:7b', 'qwen2.5:14b', 'qwen3:8b', 'qwen3:30b']);
});

it('is that of a collator, which it does without for most names', () => {
  const collator = new Intl.Collator('en', { numeric: true });
  let seed = 7;
  const any = (n: number) => (seed = (seed * 48271) % 0x7fffffff) % n;
  const alphabet = 'aAbBzZ0129--__..::// qwen#+()';
  const name = () => Array.from({ length: any(7) }, () => (any(9) === 0 ? String.fromCharCode(32 + any(95)) : alphabet[any(alphabet.length)])).join('');
  for (let i = 0; i < 20_000; i++) {
    const [a, b] = [name(), name()];
    expect([a, b, Math.sign(natural(a, b))]).toEqual([a, b, Math.sign(collator.compare(a, b))]);
  }
  expect(Math.sign(natural('Büro', 'Buro 2'))).toBe(Math.sign(collator.compare('Büro', 'Buro 2')));
});
