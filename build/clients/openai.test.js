// The official OpenAI library against bellwether.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import OpenAI, { APIUserAbortError, BadRequestError, NotFoundError } from 'openai';
import { person, pixel, startRig, weather } from './rig.js';

const rig = await startRig();
after(() => rig.stop());
const client = new OpenAI({ baseURL: rig.base + '/v1', apiKey: 'any', maxRetries: 0 });
const hi = [{ role: 'user', content: 'hi' }];
const tool = { type: 'function', function: { name: weather.name, description: weather.description, parameters: weather.schema } };

for (const t of rig.targets) {
  describe(`openai chat over ${t.name}`, () => {
    it('answers', async () => {
      const r = await client.chat.completions.create({ model: t.chat, messages: hi, max_tokens: 12 });
      assert.equal(r.object, 'chat.completion');
      assert.equal(r.model, t.chat);
      assert.match(r.id, /^chatcmpl-[0-9a-f]{32}$/);
      assert.ok(r.choices[0].message.content.length > 0);
      assert.ok(r.usage.prompt_tokens > 0 && r.usage.completion_tokens > 0);
    });

    it('streams, with usage only when asked', async () => {
      for (const include of [false, true]) {
        const s = await client.chat.completions.create({
          model: t.chat, messages: hi, max_tokens: 12, stream: true, ...(include ? { stream_options: { include_usage: true } } : {}),
        });
        let text = '', finish, usage, ids = new Set();
        for await (const c of s) {
          ids.add(c.id);
          text += c.choices[0]?.delta.content ?? '';
          finish = c.choices[0]?.finish_reason ?? finish;
          usage = c.usage ?? usage;
        }
        assert.ok(text.length > 0);
        assert.ok(['stop', 'length'].includes(finish));
        assert.equal(ids.size, 1);
        assert.equal(usage !== undefined, include);
      }
    });

    it('makes a tools round trip, streamed and whole', async () => {
      for (const stream of [false, true]) {
        const ask = [{ role: 'user', content: 'what time is it in UTC?' }];
        let call;
        if (stream) {
          const run = client.chat.completions.stream({ model: t.tools, messages: ask, tools: [tool] });
          const final = await run.finalChatCompletion();
          assert.equal(final.choices[0].finish_reason, 'tool_calls');
          call = final.choices[0].message.tool_calls[0];
        } else {
          const r = await client.chat.completions.create({ model: t.tools, messages: ask, tools: [tool] });
          assert.equal(r.choices[0].finish_reason, 'tool_calls');
          call = r.choices[0].message.tool_calls[0];
        }
        assert.equal(call.function.name, weather.name);
        assert.equal(typeof JSON.parse(call.function.arguments), 'object');
        const done = await client.chat.completions.create({
          model: t.tools, tools: [tool],
          messages: [...ask, { role: 'assistant', content: null, tool_calls: [call] }, { role: 'tool', tool_call_id: call.id, content: '12:00' }],
        });
        assert.equal(done.choices[0].finish_reason, 'stop');
        assert.ok(done.choices[0].message.content.length > 0);
      }
    });

    it('tool_choice none never calls', async () => {
      const r = await client.chat.completions.create({ model: t.tools, messages: hi, tools: [tool], tool_choice: 'none', max_tokens: 12 });
      assert.equal(r.choices[0].message.tool_calls, undefined);
    });

    it('keeps to a JSON schema', async () => {
      const r = await client.chat.completions.create({
        model: t.chat, messages: hi, response_format: { type: 'json_schema', json_schema: { name: 'person', schema: person, strict: true } },
      });
      const v = JSON.parse(r.choices[0].message.content);
      assert.equal(typeof v.name, 'string');
      assert.equal(typeof v.age, 'number');
    });

    if (t.vision) {
      it('takes an image', async () => {
        const r = await client.chat.completions.create({
          model: t.vision, max_tokens: 12,
          messages: [{ role: 'user', content: [{ type: 'text', text: 'what is it?' }, { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } }] }],
        });
        assert.ok(r.choices[0].message.content.length > 0);
      });
    }

    it('speaks Responses, whole, streamed, and goes on from an answer', async () => {
      const r = await client.responses.create({ model: t.chat, input: 'hi', max_output_tokens: 12 });
      assert.ok(r.output_text.length > 0);
      assert.match(r.id, /^resp_/);
      let text = '', completed;
      for await (const e of await client.responses.create({ model: t.chat, input: 'hi', stream: true })) {
        if (e.type === 'response.output_text.delta') text += e.delta;
        if (e.type === 'response.completed') completed = e.response;
      }
      assert.equal(completed.output.at(-1).content[0].text, text);
      const next = await client.responses.create({ model: t.chat, input: 'and again', previous_response_id: completed.id });
      assert.equal(next.previous_response_id, completed.id);
      assert.ok(next.usage.input_tokens > completed.usage.input_tokens, 'the conversation before counts');
      await assert.rejects(client.responses.create({ model: t.chat, input: 'x', previous_response_id: 'resp_nobody' }), BadRequestError);
    });

    it('calls a tool through Responses', async () => {
      const r = await client.responses.create({
        model: t.tools, input: 'what time is it?', tools: [{ type: 'function', name: weather.name, parameters: weather.schema, strict: false }],
      });
      const call = r.output.find((o) => o.type === 'function_call');
      assert.equal(call.name, weather.name);
      const done = await client.responses.create({
        model: t.tools,
        input: [{ role: 'user', content: 'what time is it?' }, call, { type: 'function_call_output', call_id: call.call_id, output: '12:00' }],
        tools: [{ type: 'function', name: weather.name, parameters: weather.schema, strict: false }],
      });
      assert.ok(done.output_text.length > 0);
    });
  });
}

const t = rig.targets[0];

if (t.embed) {
  it('embeds: base64, the library\'s default, equals floats', async () => {
    const input = ['one', 'two'];
    const a = await client.embeddings.create({ model: t.embed, input });
    const b = await client.embeddings.create({ model: t.embed, input, encoding_format: 'float' });
    assert.equal(a.data.length, 2);
    assert.deepEqual(a.data.map((d) => d.index), [0, 1]);
    assert.equal(a.data[0].embedding.length, b.data[0].embedding.length);
    a.data[0].embedding.forEach((v, i) => assert.ok(Math.abs(v - b.data[0].embedding[i]) < 1e-6));
  });
}

it('lists models and finds one by an id with a colon', async () => {
  const ids = [];
  for await (const m of client.models.list()) ids.push(m.id);
  assert.ok(ids.some((id) => id.startsWith(t.chat)));
  const one = await client.models.retrieve(ids[0]);
  assert.equal(one.id, ids[0]);
});

it('raises the library\'s own error classes, with our code and remedy', async () => {
  await assert.rejects(client.chat.completions.create({ model: 'nobody-has-this', messages: hi }), (e) => {
    assert.ok(e instanceof NotFoundError);
    assert.equal(e.code, 'model_not_found');
    assert.equal(e.headers.get('x-should-retry'), 'false');
    return true;
  });
  await assert.rejects(client.chat.completions.create({ model: t.chat, messages: [] }), BadRequestError);
  if (!t.real) {
    await assert.rejects(client.chat.completions.create({ model: 'embed', messages: hi }), BadRequestError);
    await assert.rejects(client.chat.completions.create({ model: t.chat, messages: [{ role: 'user', content: 'word '.repeat(60000) }] }), (e) => {
      assert.ok(e instanceof BadRequestError);
      assert.equal(e.code, 'context_length_exceeded');
      return true;
    });
  }
});

if (!t.real) {
  it('an abort in mid-stream frees the slot at once', async () => {
    const s = await client.chat.completions.create({ model: 'paced', messages: hi, stream: true });
    let n = 0;
    await assert.rejects(
      (async () => {
        for await (const c of s) {
          if (c.choices[0]?.delta.content && ++n === 3) s.controller.abort();
          if (n > 90) return; // the abort came too late: no rejection, the test fails
        }
        throw new APIUserAbortError();
      })(),
      APIUserAbortError,
    );
    assert.ok(n < 90);
    await rig.until('no lane to be busy', async () => (await rig.busy()) === 0, 3);
  });

  it('50 streams at once all end whole', async () => {
    const all = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const s = await client.chat.completions.create({ model: 'paced', messages: hi, stream: true, max_tokens: 30 });
        let text = '', finish;
        for await (const c of s) {
          text += c.choices[0]?.delta.content ?? '';
          finish = c.choices[0]?.finish_reason ?? finish;
        }
        return { text, finish };
      }),
    );
    for (const a of all) {
      assert.ok(a.text.length > 0);
      assert.equal(a.finish, 'length');
    }
    assert.equal(new Set(all.map((a) => a.text)).size, 1);
    await rig.until('no lane to be busy', async () => (await rig.busy()) === 0, 3);
  });
}
