// The rig starts real programs on real sockets: stand-in runtimes, and one
// bellwether in front of them. BELLWETHER and FAKERUNTIME name the binaries.
// With CLIENTS_BASE set, the suite runs against that address instead, with
// the models named by CLIENTS_CHAT, CLIENTS_TOOLS, CLIENTS_EMBED.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const running = [];

function start(bin, args) {
  const child = spawn(bin, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  running.push(child);
  return child;
}

function firstLine(child) {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (b) => {
      text += b;
      const end = text.indexOf('\n');
      if (end >= 0) resolve(text.slice(0, end).trim());
    });
    child.on('exit', (code) => reject(new Error(`ended with ${code} before it said its address`)));
  });
}

async function until(what, check, seconds = 20) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    try {
      const v = await check();
      if (v) return v;
    } catch {
      // not yet
    }
    if (Date.now() > end) throw new Error(`waited ${seconds} s for ${what}`);
    await sleep(25);
  }
}

export async function startRig() {
  if (process.env.CLIENTS_BASE) {
    const chat = process.env.CLIENTS_CHAT;
    return {
      base: process.env.CLIENTS_BASE,
      targets: [{ name: 'given', chat, tools: process.env.CLIENTS_TOOLS ?? chat, embed: process.env.CLIENTS_EMBED, real: true }],
      stop: async () => {},
    };
  }
  const dir = mkdtempSync(join(tmpdir(), 'bellwether-clients-'));
  const ollama = start(process.env.FAKERUNTIME, [
    '--parallel', '8',
    '-m', 'tiny', '-m', 'tools=4MB,caps=completion+tools', '-m', 'think=4MB,caps=completion+thinking',
    '-m', 'vision=4MB,caps=completion+vision', '-m', 'slow=4MB,tokens=400', '-m', 'embed=1MB,caps=embedding,width=128',
    '--max-loaded', '8',
  ]);
  const paced = start(process.env.FAKERUNTIME, ['--parallel', '64', '-m', 'paced=4MB,tokens=100', '--decode', '40']);
  const llama = start(process.env.FAKERUNTIME, ['--kind', 'llama-server', '--parallel', '8', '-m', 'llama=4MB,caps=completion+tools+vision']);
  const urls = await Promise.all([ollama, paced, llama].map(firstLine));
  const config = join(dir, 'config.yaml');
  writeFileSync(
    config,
    `runtimes:
  - {name: ollama, kind: ollama, url: "${urls[0]}", parallel: 8}
  - {name: paced, kind: ollama, url: "${urls[1]}", parallel: 64}
  - {name: llama, kind: llama-server, url: "${urls[2]}"}
routing: {max_slots: 64, kv_per_request_gb: 0.01, auto_pull: "off"}
`,
  );
  const data = join(dir, 'data');
  start(process.env.BELLWETHER, ['--data-dir', data, 'serve', '--config', config, '--listen', '127.0.0.1:0']);
  const state = await until('the state file', () => JSON.parse(readFileSync(join(data, 'engine.json'), 'utf8')));
  const base = state.admin;
  await until('all models', async () => {
    const { models } = await (await fetch(base + '/api/tags')).json();
    return ['tiny', 'tools', 'think', 'vision', 'embed', 'paced', 'llama'].every((n) => models.some((m) => m.name.startsWith(n)));
  });
  return {
    base,
    fakes: { ollama: urls[0], paced: urls[1], llama: urls[2] },
    targets: [
      { name: 'ollama', chat: 'tiny', tools: 'tools', think: 'think', vision: 'vision', embed: 'embed', direct: urls[0] },
      { name: 'llama-server', chat: 'llama', tools: 'llama', vision: 'llama', direct: urls[2] },
    ],
    control: (name, faults) =>
      fetch({ ollama: urls[0], paced: urls[1], llama: urls[2] }[name] + '/__control', { method: 'POST', body: JSON.stringify(faults) }),
    // The lanes' depths as the dispatcher has them: all 0 when nothing leaks.
    busy: async () => {
      const { lanes } = await (await fetch(base + '/fleet/queue')).json();
      return lanes.reduce((n, l) => n + l.running + l.waiting, 0);
    },
    until,
    stop: async () => {
      for (const c of running.splice(0).reverse()) {
        const gone = new Promise((r) => c.once('exit', r));
        c.kill('SIGTERM');
        const late = setTimeout === undefined ? null : sleep(5000).then(() => c.kill('SIGKILL'));
        await Promise.race([gone, late]);
      }
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

export const weather = {
  name: 'get_time',
  description: 'The time in a zone',
  schema: { type: 'object', properties: { zone: { type: 'string' } }, required: ['zone'] },
};

export const person = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name', 'age'],
  additionalProperties: false,
};
