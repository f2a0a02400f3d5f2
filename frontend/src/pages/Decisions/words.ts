// The words for what a request needs and why a deployment was left out.
import type { Requirements } from '../../lib/record';
import { count } from '../../lib/format';
import { taskWord } from '../../lib/words';

/** needs are a request's requirements in words, most telling first. */
export function needs(r: Requirements): string[] {
  const all: [boolean | undefined, string][] = [
    [r.tool_choice_required, 'has to call a tool'],
    [r.needs_tools && !r.tool_choice_required, 'tools'],
    [r.parallel_tools, 'a turn of several calls'],
    [r.single_call, 'one call at a time'],
    [r.vision, r.images && r.images > 1 ? `${count(r.images)} images` : 'an image'],
    [r.remote_image, 'an image from the web'],
    [r.audio_in, 'audio'],
    [r.json_schema, 'JSON of a schema'],
    [r.json_object, 'JSON'],
    [r.think_asked, r.think_budget ? `thinking, up to ${count(r.think_budget)} tok` : 'thinking'],
    [r.think_off, 'no thinking'],
    [r.continuation, 'goes on with its own answer'],
    [r.insert, 'fills in between'],
    [r.load_only, 'loads only'],
    [r.streaming, 'streaming'],
  ];
  return all.filter(([is]) => is).map(([, word]) => word);
}

/** codes and notes are the engine's tables, engine/route/words.go: a test compares them. */
export const codes: Record<string, string> = {
  alias_constraint: 'outside the alias', role: 'another kind of model', model_absent: 'does not have the model', field_not_honoured: 'ignores a field',
  identity_unknown: 'weights not known', identity_differs: 'other weights', remote_image: 'no images from the web', no_runtime: 'runtime down',
  failed_before: 'failed it before', circuit_open: 'failed too often', uncertain_hold: 'may still be running', bound: 'bound elsewhere',
  disabled: 'switched off', locality: 'another machine', capability: 'cannot do it', context: 'context too small', admission: 'not let in',
  draining: 'about to leave', memory: 'no memory', pressure: 'short of memory', battery: 'on battery', meeting: 'in a meeting', availability: 'usually in use', observing: 'still learning', offline: 'offline', paused: 'paused', busy: 'busy', unhealthy: 'unhealthy',
};

/** codeWord is an exclusion's code in words. */
export const codeWord = (code: string): string => codes[code] ?? code.replaceAll('_', ' ');

export const notes: Record<string, string> = {
  loading: 'it was being loaded', late: 'its machine reports late', reload: 'would be loaded again, with a larger context', degraded: 'it runs worse than it could', evicts: 'others would be unloaded for it',
  size_unknown: 'its size is not known', memory_unknown: 'how much memory is free is not known', context_unknown: 'its context is not known', context_doubtful: 'may be too small: by estimate the request needs more than its context', uncertain_hold: 'a call that was given up may still run there',
  num_ctx_capped: 'the context asked for is more than it has', num_ctx_reload: 'would be loaded again for the context asked for', num_ctx_dropped: 'the context asked for is left out: the loaded one is enough',
  input_cut: 'the runtime cuts off what of an input is over its context', output_clamped: 'a smaller output limit: its context leaves no more', thinking_room: 'a larger output limit: it thinks before it answers',
  same_weights_as: 'has the same weights as', slots_learned: 'its slots are learnt from waits:', task_asked: 'asked what it is about:', task_not_asked: 'not asked what it is about:',
  only_thought: '', thinking_used_all_output: '', empty_answer: '', // what follows says all
};

/** noteWord is a note of a candidate or a record in words. What follows its code is words already. */
export function noteWord(note: string): string {
  const [, code = '', rest = ''] = /^([a-z_]+)(?::\s*(.*))?$/s.exec(note) ?? [];
  if (code === '') return note;
  const said = code === 'task_asked' ? rest.replace(/ says (\S+)$/, (_, task: string) => ` says ${taskWord(task)}`) : rest;
  return `${notes[code] || (rest ? '' : code.replaceAll('_', ' '))} ${said}`.trim();
}

const changing = new Set(['num_ctx_capped', 'num_ctx_dropped', 'input_cut', 'output_clamped', 'thinking_room']);

/** changes says that a note tells of something that was made of the request, and is no mere remark. */
export const changes = (note: string): boolean => changing.has(/^[a-z_]+/.exec(note)?.[0] ?? '');

const protocols: Record<string, string> = {
  'openai-chat': 'OpenAI chat', 'openai-responses': 'OpenAI responses', 'openai-completions': 'OpenAI completions', 'openai-embeddings': 'OpenAI embeddings',
  'anthropic-messages': 'Anthropic messages', 'ollama-chat': 'Ollama chat', 'ollama-generate': 'Ollama generate', 'ollama-embed': 'Ollama embed', 'ollama-embeddings': 'Ollama embed, the old way',
};

/** protocolWord is a protocol in words. */
export const protocolWord = (id: string): string => protocols[id] ?? id;
