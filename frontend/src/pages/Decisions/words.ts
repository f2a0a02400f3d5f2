// The words for what a request needs and why a deployment was left out.
import type { Requirements } from '../../lib/record';
import { count } from '../../lib/format';

/** needs are a request's requirements in words, most telling first. */
export function needs(r: Requirements): string[] {
  const all: [boolean | undefined, string][] = [
    [r.tool_choice_required, 'has to call a tool'],
    [r.needs_tools && !r.tool_choice_required, 'tools'],
    [r.parallel_tools && r.needs_tools, 'several calls at once'],
    [r.single_call, 'one call only'],
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

const codes: Record<string, string> = {
  alias_constraint: 'outside the alias', role: 'another kind of model', model_absent: 'does not have the model', field_not_honoured: 'ignores a field',
  identity_unknown: 'weights not known', identity_differs: 'other weights', remote_image: 'no images from the web', no_runtime: 'runtime down',
  failed_before: 'failed it before', circuit_open: 'failed too often', uncertain_hold: 'may still be running', bound: 'bound elsewhere',
};

/** codeWord is an exclusion's code in words. */
export const codeWord = (code: string): string => codes[code] ?? code.replaceAll('_', ' ');
