// Requests for a dry run: a small form makes them for each protocol, or one
// writes them oneself.

export interface Ask {
  model: string;
  prompt: string;
  app: string;
  tools: boolean;
  json: boolean;
  image: boolean;
  streaming: boolean;
}

export const protocols = [
  { id: 'openai-chat', path: '/v1/chat/completions' },
  { id: 'openai-responses', path: '/v1/responses' },
  { id: 'openai-completions', path: '/v1/completions' },
  { id: 'openai-embeddings', path: '/v1/embeddings' },
  { id: 'anthropic-messages', path: '/v1/messages' },
  { id: 'ollama-chat', path: '/api/chat' },
  { id: 'ollama-generate', path: '/api/generate' },
  { id: 'ollama-embed', path: '/api/embed' },
] as const;
export type ProtocolId = (typeof protocols)[number]['id'];

/** What of the form a protocol has; the rest is not offered. */
export function offers(p: ProtocolId): { tools: boolean; json: boolean; image: boolean; streaming: boolean } {
  const chat = p === 'openai-chat' || p === 'openai-responses' || p === 'anthropic-messages' || p === 'ollama-chat';
  return { tools: chat, json: p === 'openai-chat' || p === 'openai-responses' || p.startsWith('ollama-') && p !== 'ollama-embed', image: chat, streaming: !p.includes('embed') };
}

// The smallest picture there is: one pixel.
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tool = { name: 'weather', description: 'The weather in a city', parameters };

/** bodyOf is the request's body as an app would send it. */
export function bodyOf(p: ProtocolId, ask: Ask): Record<string, unknown> {
  const has = offers(p);
  const a = { ...ask, tools: ask.tools && has.tools, json: ask.json && has.json, image: ask.image && has.image };
  const base = { model: a.model };
  const url = `data:image/png;base64,${pixel}`;
  switch (p) {
    case 'openai-chat':
      return {
        ...base,
        messages: [{ role: 'user', content: a.image ? [{ type: 'text', text: a.prompt }, { type: 'image_url', image_url: { url } }] : a.prompt }],
        ...(a.tools && { tools: [{ type: 'function', function: tool }] }),
        ...(a.json && { response_format: { type: 'json_object' } }),
        stream: a.streaming,
      };
    case 'openai-responses':
      return {
        ...base,
        input: a.image ? [{ role: 'user', content: [{ type: 'input_text', text: a.prompt }, { type: 'input_image', image_url: url }] }] : a.prompt,
        ...(a.tools && { tools: [{ type: 'function', ...tool }] }),
        ...(a.json && { text: { format: { type: 'json_object' } } }),
        stream: a.streaming,
      };
    case 'openai-completions':
      return { ...base, prompt: a.prompt, stream: a.streaming };
    case 'anthropic-messages':
      return {
        ...base,
        max_tokens: 1024,
        messages: [{ role: 'user', content: a.image ? [{ type: 'text', text: a.prompt }, { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } }] : a.prompt }],
        ...(a.tools && { tools: [{ name: tool.name, description: tool.description, input_schema: parameters }] }),
        stream: a.streaming,
      };
    case 'ollama-chat':
      return {
        ...base,
        messages: [{ role: 'user', content: a.prompt, ...(a.image && { images: [pixel] }) }],
        ...(a.tools && { tools: [{ type: 'function', function: tool }] }),
        ...(a.json && { format: 'json' }),
        stream: a.streaming,
      };
    case 'ollama-generate':
      return { ...base, prompt: a.prompt, ...(a.json && { format: 'json' }), stream: a.streaming };
    case 'openai-embeddings':
    case 'ollama-embed':
      return { ...base, input: a.prompt };
  }
}

/** wrongWith says what is wrong with a body written by hand; "" = nothing. */
export function wrongWith(text: string): string {
  try {
    const v: unknown = JSON.parse(text);
    if (v === null || typeof v !== 'object' || Array.isArray(v)) return 'The body has to be a JSON object.';
    return '';
  } catch (err) {
    return `This is not JSON: ${err instanceof Error ? err.message : err}`;
  }
}
