import { expect, it } from 'vitest';
import { natural } from './order';

it('counts the numbers in names', () => {
  expect(['family10:2b', 'family2', 'Family1', 'family1:7b', 'qwen3:30b', 'qwen2.5:14b', 'qwen3:8b', 'qwen2.5:7b'].sort(natural))
    .toEqual(['Family1', 'family1:7b', 'family2', 'family10:2b', 'qwen2.5:7b', 'qwen2.5:14b', 'qwen3:8b', 'qwen3:30b']);
});
