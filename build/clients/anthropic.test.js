// The official Anthropic library against bellwether.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import Anthropic, { BadRequestError, NotFoundError } from '@anthropic-ai/sdk';
import { pixel, startRig, weather } from './rig.js';

const rig = await startRig();
after(() => rig.stop());
const client = new Anthropic({ baseURL: rig.base, apiKey: 'any', maxRetries: 0 });
const hi = [{ role: 'user', content: 'hi' }];
const tool = { name: weather.name, description: weather.description, input_schema: weather.schema };

for (const t of rig.targets) {
  describe(`anthropic messages over ${t.name}`, () => {
    it('answers', async () => {
      const m = await client.messages.create({ model: t.chat, max_tokens: 12, messages: hi });
      assert.equal(m.type, 'message');
      assert.equal(m.model, t.chat);
      assert.ok(m.content[0].text.length > 0);
      assert.ok(!('input' in m.content[0]));
      assert.ok(m.usage.input_tokens > 0 && m.usage.output_tokens > 0);
      assert.ok(m._request_id.startsWith('req_'));
    });

    it('streams what it answers', async () => {
      const s = client.messages.stream({ model: t.chat, max_tokens: 12, messages: hi });
      let text = '';
      s.on('text', (d) => (text += d));
      const m = await s.finalMessage();
      assert.equal(m.content[0].text, text);
      assert.ok(['end_turn', 'max_tokens'].includes(m.stop_reason));
      assert.ok(m.usage.output_tokens > 0);
    });

    it('makes a tools round trip, streamed and whole', async () => {
      for (const stream of [false, true]) {
        const ask = { model: t.tools, max_tokens: 200, tools: [tool], messages: [{ role: 'user', content: 'what time is it in UTC?' }] };
        const m = stream ? await client.messages.stream(ask).finalMessage() : await client.messages.create(ask);
        assert.equal(m.stop_reason, 'tool_use');
        const use = m.content.find((b) => b.type === 'tool_use');
        assert.equal(use.name, weather.name);
        assert.equal(typeof use.input, 'object');
        const done = await client.messages.create({
          ...ask,
          messages: [...ask.messages, { role: 'assistant', content: m.content }, { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: '12:00' }] }],
        });
        assert.equal(done.stop_reason, 'end_turn');
      }
    });

    if (t.vision) {
      it('takes an image', async () => {
        const m = await client.messages.create({
          model: t.vision, max_tokens: 12,
          messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } }, { type: 'text', text: 'what is it?' }] }],
        });
        assert.ok(m.content[0].text.length > 0);
      });
    }

    if (t.think) {
      it('streams thinking as a block of its own', async () => {
        const m = await client.messages
          .stream({ model: t.think, max_tokens: 2048, thinking: { type: 'enabled', budget_tokens: 1024 }, messages: hi })
          .finalMessage();
        assert.deepEqual(m.content.map((b) => b.type), ['thinking', 'text']);
        assert.ok(m.content[0].thinking.length > 0);
      });
    }

    it('counts tokens', async () => {
      const few = await client.messages.countTokens({ model: t.chat, messages: hi });
      const many = await client.messages.countTokens({ model: t.chat, messages: [{ role: 'user', content: 'word '.repeat(500) }] });
      assert.ok(few.input_tokens > 0 && many.input_tokens > few.input_tokens + 300);
    });
  });
}

const t = rig.targets[0];

it('raises the library\'s own error classes', async () => {
  await assert.rejects(client.messages.create({ model: 'nobody-has-this', max_tokens: 5, messages: hi }), (e) => {
    assert.ok(e instanceof NotFoundError);
    assert.equal(e.error.type, 'error');
    assert.equal(e.error.error.type, 'not_found_error');
    return true;
  });
  if (!t.real) {
    await assert.rejects(client.messages.create({ model: t.chat, max_tokens: 5, messages: [{ role: 'user', content: 'word '.repeat(60000) }] }), (e) => {
      assert.ok(e instanceof BadRequestError);
      assert.match(e.error.error.message, /^prompt is too long: \d+ tokens > \d+ maximum/);
      return true;
    });
  }
});

it('a base URL with /v1 works all the same', async () => {
  const wrong = new Anthropic({ baseURL: rig.base + '/v1', apiKey: 'any', maxRetries: 0 });
  const m = await wrong.messages.create({ model: t.chat, max_tokens: 5, messages: hi });
  assert.ok(m.content.length > 0);
});

it('lists models in the library\'s shape', async () => {
  const ids = [];
  for await (const m of client.models.list()) ids.push(m.id);
  assert.ok(ids.some((id) => id.startsWith(t.chat)));
});

if (!t.real) {
  it('an abort in mid-stream frees the slot at once', async () => {
    const s = client.messages.stream({ model: 'paced', max_tokens: 100, messages: hi });
    let n = 0;
    s.on('text', () => {
      if (++n === 3) s.abort();
    });
    await assert.rejects(s.finalMessage());
    await rig.until('no lane to be busy', async () => (await rig.busy()) === 0, 3);
  });
}
