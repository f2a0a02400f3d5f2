// Vercel's ai library, with three of its providers, against bellwether.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { embedMany, generateObject, generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { startRig } from './rig.js';

const rig = await startRig();
after(() => rig.stop());

const compatible = createOpenAICompatible({ name: 'bellwether', baseURL: rig.base + '/v1', includeUsage: true, supportsStructuredOutputs: true });
const openai = createOpenAI({ baseURL: rig.base + '/v1', apiKey: 'any' });
const anthropic = createAnthropic({ baseURL: rig.base + '/v1', apiKey: 'any' });
const clock = tool({ description: 'The time in a zone', inputSchema: z.object({ zone: z.string() }), execute: async () => '12:00' });

for (const t of rig.targets) {
  for (const [name, model] of [['openai-compatible', compatible], ['openai (responses)', openai], ['anthropic', anthropic]]) {
    describe(`ai through ${name} over ${t.name}`, () => {
      it('answers and counts', async () => {
        const r = await generateText({ model: model(t.chat), prompt: 'hi', maxOutputTokens: 16, maxRetries: 0 });
        assert.ok(r.text.length > 0);
        assert.ok(r.usage.inputTokens > 0 && r.usage.outputTokens > 0);
      });

      it('streams', async () => {
        const r = streamText({ model: model(t.chat), prompt: 'hi', maxOutputTokens: 16, maxRetries: 0 });
        let text = '';
        for await (const d of r.textStream) text += d;
        assert.ok(text.length > 0);
        assert.ok(['stop', 'length'].includes(await r.finishReason));
      });

      it('runs a tool and goes on', async () => {
        const r = await generateText({ model: model(t.tools), prompt: 'what time is it in UTC?', tools: { get_time: clock }, stopWhen: stepCountIs(3), maxRetries: 0 });
        assert.equal(r.steps[0].finishReason, 'tool-calls');
        assert.equal(r.steps[0].toolResults[0].output, '12:00');
        assert.ok(r.text.length > 0);
      });
    });
  }

  it(`ai keeps to a schema over ${t.name}`, async () => {
    const r = await generateObject({ model: compatible(t.chat), schema: z.object({ name: z.string(), age: z.number() }), prompt: 'a person', maxRetries: 0 });
    assert.equal(typeof r.object.age, 'number');
  });
}

if (rig.targets[0].embed) {
  it('ai embeds many', async () => {
    const r = await embedMany({ model: compatible.embeddingModel(rig.targets[0].embed), values: ['one', 'two'], maxRetries: 0 });
    assert.equal(r.embeddings.length, 2);
  });
}
