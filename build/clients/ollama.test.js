// The official Ollama library against bellwether.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { Ollama } from 'ollama';
import { person, pixel, startRig, weather } from './rig.js';

const rig = await startRig();
after(() => rig.stop());
const client = new Ollama({ host: rig.base });
const hi = [{ role: 'user', content: 'hi' }];
const tool = { type: 'function', function: { name: weather.name, description: weather.description, parameters: weather.schema } };

const same = { num_predict: 12, temperature: 0 }; // a real model says the same only so

for (const t of rig.targets) {
  describe(`ollama chat over ${t.name}`, () => {
    it('answers, and streams the same', async () => {
      const r = await client.chat({ model: t.chat, messages: hi, options: same });
      assert.equal(r.done, true);
      assert.equal(r.model, t.chat);
      assert.ok(r.message.content.length > 0);
      assert.ok(r.eval_count > 0);
      let text = '', last;
      for await (const c of await client.chat({ model: t.chat, messages: hi, stream: true, options: same })) {
        text += c.message.content;
        last = c;
      }
      assert.equal(text, r.message.content);
      assert.equal(last.done, true);
    });

    it('makes a tools round trip', async () => {
      const ask = [{ role: 'user', content: 'what time is it in UTC?' }];
      const r = await client.chat({ model: t.tools, messages: ask, tools: [tool] });
      const call = r.message.tool_calls[0];
      assert.equal(call.function.name, weather.name);
      assert.equal(typeof call.function.arguments, 'object');
      const done = await client.chat({ model: t.tools, messages: [...ask, r.message, { role: 'tool', content: '12:00', tool_name: weather.name }], tools: [tool] });
      assert.ok(done.message.content.length > 0);
    });

    it('keeps to a schema', async () => {
      const r = await client.chat({ model: t.chat, messages: hi, format: person });
      assert.equal(typeof JSON.parse(r.message.content).age, 'number');
    });

    if (t.vision) {
      it('takes an image', async () => {
        const r = await client.chat({ model: t.vision, messages: [{ role: 'user', content: 'what is it?', images: [pixel] }] });
        assert.ok(r.message.content.length > 0);
      });
    }

    it('generates from a prompt, whole and streamed', async () => {
      const r = await client.generate({ model: t.chat, prompt: 'hi', options: same });
      assert.ok(r.response.length > 0);
      let text = '';
      for await (const c of await client.generate({ model: t.chat, prompt: 'hi', stream: true, options: same })) text += c.response;
      assert.equal(text, r.response);
    });
  });
}

const t = rig.targets[0];

if (t.think) {
  it('thinks in its own field', async () => {
    const r = await client.chat({ model: t.think, messages: hi, think: true });
    assert.ok(r.message.thinking.length > 0);
    assert.ok(r.message.content.length > 0);
  });
}

if (t.embed) {
  it('embeds a text and a list', async () => {
    const one = await client.embed({ model: t.embed, input: 'one' });
    const two = await client.embed({ model: t.embed, input: ['one', 'two'] });
    assert.equal(two.embeddings.length, 2);
    // A real model's numbers depend a little on what else is in the batch.
    two.embeddings[0].forEach((v, i) => assert.ok(Math.abs(v - one.embeddings[0][i]) < 1e-5));
    assert.equal(two.embeddings[0].length, one.embeddings[0].length);
  });
}

it('lists, shows and reports what is loaded', async () => {
  const { models } = await client.list();
  const m = models.find((m) => m.name.startsWith(t.chat));
  for (const key of ['name', 'model', 'modified_at', 'size', 'digest', 'details']) assert.ok(key in m, key);
  const show = await client.show({ model: t.chat });
  assert.ok(show.capabilities.includes('completion'));
  await client.chat({ model: t.chat, messages: hi, options: { num_predict: 1 } });
  if (!t.real) await rig.until('ps to list it', async () => (await client.ps()).models.some((m) => m.name.startsWith(t.chat)));
});

it('raises its error for a missing model', async () => {
  await assert.rejects(client.chat({ model: 'nobody-has-this', messages: hi }), (e) => {
    assert.equal(e.status_code, 404);
    assert.match(e.error, /model 'nobody-has-this' not found/);
    return true;
  });
});

if (!t.real) {
  it('raises when the runner dies in mid-stream, and the next request is served', async () => {
    await rig.control('ollama', { inject: [{ break: 'runner', after: 3, times: 1 }] });
    await assert.rejects(async () => {
      for await (const c of await client.chat({ model: t.chat, messages: hi, stream: true })) void c;
    });
    const r = await client.chat({ model: t.chat, messages: hi });
    assert.equal(r.done, true);
  });

  it('an abort in mid-stream frees the slot at once', async () => {
    const s = await client.chat({ model: 'paced', messages: hi, stream: true });
    let n = 0;
    await assert.rejects(async () => {
      for await (const c of s) if (c.message.content && ++n === 3) s.abort();
    });
    await rig.until('no lane to be busy', async () => (await rig.busy()) === 0, 3);
  });
}
