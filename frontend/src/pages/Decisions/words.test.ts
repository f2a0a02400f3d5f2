import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { outcomeWords } from '../../ui/OutcomeBadge.svelte';
import { codes, codeWord, notes, noteWord, protocolWord } from './words';
import { protocols } from './tryit';

// The engine's own sources say what codes there are.
const engine = join(__dirname, '../../../../engine');
const of = (folder: string) => readdirSync(join(engine, folder)).filter((f) => f.endsWith('.go') && !f.endsWith('_test.go')).map((f) => readFileSync(join(engine, folder, f), 'utf8')).join('\n');
const exclusions = of('fleet');
const requests = of('dialect');
const routes = of('route') + of('gateway');
const all = (text: string, what: RegExp) => [...text.matchAll(what)].map((m) => m[1]!);

it('has the words of the command line, code by code', () => {
  const table = (name: string) => Object.fromEntries([...new RegExp(`var ${name} = .*\\{\n([^}]*)\\}`).exec(routes)![1]!.matchAll(/^\t"([a-z_]+)": *"(.*)",$/gm)].map((m) => [m[1]!, m[2]!]));
  expect(codes).toEqual(table('exclusionWords'));
  expect(notes).toEqual(table('noteWords'));
  expect(Object.fromEntries(outcomeWords)).toEqual(table('outcomeWords'));
});

it('has words for whatever leaves a deployment out', () => {
  const found = all(exclusions, /\bCode[A-Za-z]+ +Code = "([a-z_]+)"/g);
  expect(found.length).toBeGreaterThan(20);
  for (const c of found) expect(codeWord(c), c).not.toMatch(/_/);
  expect(codeWord('circuit_open')).toBe('failed too often');
});

it('has words for every note of a candidate and of a request', () => {
  const codes = [...all(routes, /\.note\("([a-z_]+)[":]/g), ...all(routes, /notes, (?:fmt\.Sprintf\()?"([a-z_]+):/g), 'output_clamped', 'thinking_room'];
  expect(codes.length).toBeGreaterThan(15);
  for (const c of codes) {
    expect(noteWord(c + ': so and so'), c).not.toMatch(/_/);
    if (c.includes('_') && !/^(thinking_used|only_thought|empty_answer)/.test(c)) expect(noteWord(c), c).not.toBe(c.replaceAll('_', ' '));
  }
  expect(noteWord('thinking_room')).toBe('a larger output limit: it thinks before it answers');
  expect(noteWord('same_weights_as:qwen3:8b')).toBe('has the same weights as qwen3:8b');
  expect(noteWord('only_thought: the answer is reasoning and nothing else')).toBe('the answer is reasoning and nothing else');
  expect(noteWord('a sentence, as it is')).toBe('a sentence, as it is');
});

it('names every protocol that requests come in', () => {
  const ids = all(requests, /\bProtocol = "([a-z-]+)"/g).filter((id) => !/models|meta|count/.test(id));
  expect(ids.length).toBeGreaterThan(8);
  for (const id of [...ids, ...protocols.map((p) => p.id)]) expect(protocolWord(id), id).not.toBe(id);
});
