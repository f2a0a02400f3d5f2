// The rig starts real programs on real sockets: three stand-in runtimes, one
// bellwether in front of them with its UI, and traffic of several apps.
// BELLWETHER and FAKERUNTIME name the binaries.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import WebSocket from 'ws';

const run = promisify(execFile);

/** until asks again and again until check gives something true. */
export async function until(what, check, seconds = 20) {
  const end = Date.now() + seconds * 1000;
  let last = '';
  for (;;) {
    try {
      const v = await check();
      if (v) return v;
    } catch (err) {
      last = `: ${err.message}`;
    }
    if (Date.now() > end) throw new Error(`waited ${seconds} s for ${what}${last}`);
    await sleep(20);
  }
}

/** freePort is a port of 127.0.0.1 that nobody has just now. */
async function freePort() {
  const s = createServer().listen(0, '127.0.0.1');
  await once(s, 'listening');
  const { port } = s.address();
  s.close();
  await once(s, 'close');
  return port;
}

/** fakes are three machines one could own, at a tenth of real sizes. */
const fakes = {
  desk: ['--memory', '6.4GB', '--load-rate', '600MB', '--pull-rate', '1.5MB', '--prefill', '3000', '--decode', '220', '--parallel', '4',
    '-m', 'qwen3:8b=520MB,ctx=32768,caps=completion+tools,family=qwen3,params=8.19B', '-m', 'gpt-oss:20b=1.3GB,ctx=32768,caps=completion+tools+thinking,family=gptoss,params=20.9B',
    '-m', 'nomic-embed-text=30MB,caps=embedding,width=768'],
  laptop: ['--memory', '1.6GB', '--load-rate', '400MB', '--prefill', '900', '--decode', '90', '--parallel', '1',
    '-m', 'qwen3:8b=520MB,ctx=32768,caps=completion+tools,family=qwen3,params=8.19B', '-m', 'llava:7b=470MB,caps=completion+vision,params=7.24B'],
  cupboard: ['--kind', 'llama-server', '--prefill', '400', '--decode', '60', '--parallel', '2', '-m', 'llama3.2:3b=200MB,ctx=8192,params=3.21B'],
};

const settings = (urls) => `# Settings of the rig. This line has to outlive every change.
node: {name: demo}
runtimes:
  - {name: desk, kind: ollama, url: "${urls.desk}"}
  - {name: laptop, kind: ollama, url: "${urls.laptop}"}
  - {name: cupboard, kind: llama-server, url: "${urls.cupboard}"}
aliases:
  house: {models: [qwen3:8b, llama3.2:3b], profile: fast}
embeddings:
  docs-index: {members: [nomic-embed-text]}
routing: {kv_per_request_gb: 0.01, hold: {max: 2s}}
log_level: debug
`;

class Process {
  constructor(bin, args) {
    this.child = spawn(bin, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.log = '';
    this.child.stderr.on('data', (b) => {
      this.log = (this.log + b).slice(-20_000);
    });
    this.exited = once(this.child, 'exit');
  }

  /** firstLine is what a stand-in says of its address. */
  async firstLine() {
    let text = '';
    const ended = this.exited.then(([code]) => {
      throw new Error(`ended with ${code} before its first line: ${this.log}`);
    });
    const read = (async () => {
      for await (const b of this.child.stdout) {
        text += b;
        const end = text.indexOf('\n');
        if (end >= 0) return text.slice(0, end).trim();
      }
      return '';
    })();
    return Promise.race([read, ended]);
  }

  async stop(signal = 'SIGTERM') {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill(signal);
    const late = setTimeoutUnref(() => this.child.kill('SIGKILL'), 5000);
    await this.exited;
    clearTimeout(late);
  }
}

function setTimeoutUnref(f, ms) {
  const t = setTimeout(f, ms);
  t.unref();
  return t;
}

/** Rig is the cast, and what tests do with it. */
export class Rig {
  static async start() {
    const rig = new Rig();
    try {
      await rig.begin();
    } catch (err) {
      await rig.stop();
      throw err;
    }
    return rig;
  }

  dir = mkdtempSync(join(tmpdir(), 'bellwether-ui-'));
  data = join(this.dir, 'data');
  config = join(this.dir, 'config.yaml');
  processes = [];
  urls = {};

  async begin() {
    await Promise.all(
      Object.entries(fakes).map(async ([name, flags]) => {
        const p = new Process(process.env.FAKERUNTIME, flags);
        this.processes.push(p);
        this.urls[name] = await p.firstLine();
      }),
    );
    writeFileSync(this.config, settings(this.urls), { mode: 0o600 });
    this.port = await freePort();
    this.base = `http://127.0.0.1:${this.port}`;
    await this.startEngine();
  }

  async startEngine() {
    this.engine = new Process(process.env.BELLWETHER, ['--data-dir', this.data, 'serve', '--config', this.config, '--listen', `127.0.0.1:${this.port}`]);
    this.engine.child.stdout.resume();
    await until('all models to be offered', async () => {
      if (this.engine.child.exitCode !== null) throw new Error(`bellwether ended: ${this.engine.log}`);
      const { models } = await (await fetch(this.base + '/api/tags')).json();
      return ['qwen3:8b', 'gpt-oss:20b', 'llava:7b', 'nomic-embed-text', 'llama3.2:3b'].every((n) => models.some((m) => m.name.startsWith(n)));
    });
    // One that was killed left its file, which this one writes anew about when it begins to answer.
    await until('the token of this start', async () => {
      this.token = JSON.parse(readFileSync(join(this.data, 'engine.json'), 'utf8')).token;
      return (await fetch(this.base + '/admin/log', { headers: { 'X-Fleet-Admin': this.token } })).ok;
    });
  }

  async stopEngine(signal) {
    await this.engine?.stop(signal);
  }

  /** get reads an answer of the admin API. */
  async get(path) {
    const r = await fetch(this.base + path, { headers: { 'X-Fleet-Admin': this.token } });
    if (!r.ok) throw new Error(`GET ${path}: ${r.status} ${await r.text()}`);
    return r.json();
  }

  /** post changes something as the owner does. */
  async post(path, body) {
    const r = await fetch(this.base + path, {
      method: 'POST',
      headers: { 'X-Fleet-Admin': this.token, 'Content-Type': 'application/json' },
      body: JSON.stringify(body ?? {}),
    });
    if (!r.ok) throw new Error(`POST ${path}: ${r.status} ${await r.text()}`);
    return r.json();
  }

  /** state is the feed's first frame: all that a page knows when it opens. */
  state() {
    return new Promise((resolve, reject) => {
      const ws = new WebSocket(this.base.replace('http', 'ws') + '/admin/ws');
      ws.onmessage = (m) => {
        const frame = JSON.parse(m.data);
        if (frame.type !== 'hello') return;
        ws.close();
        resolve(frame.state);
      };
      ws.onerror = () => reject(new Error('the feed cannot be opened'));
    });
  }

  /** cli runs the command line tool and gives what it printed. "Done but degraded" (5) is done. */
  async cli(...args) {
    try {
      return (await run(process.env.BELLWETHER, ['--data-dir', this.data, ...args])).stdout;
    } catch (err) {
      if (err.code === 5) return err.stdout;
      throw new Error(`bellwether ${args.join(' ')}: exit code ${err.code}: ${err.stderr}`);
    }
  }

  async enterLink() {
    return (await this.post('/admin/enter-link')).url.replace(/^http:\/\/[^/]+/, this.base);
  }

  /** control slows or breaks a stand-in. */
  async control(name, faults) {
    const r = await fetch(this.urls[name] + '/__control', { method: 'POST', body: JSON.stringify(faults) });
    if (!r.ok) throw new Error(`control ${name}: ${await r.text()}`);
  }

  /** ask sends one request of an app and reads the whole answer. */
  async ask(app, model, { path = '/v1/chat/completions', stream = true, prompt = 'Why is the sky blue?', max = 40, tags = '' } = {}) {
    const bodies = {
      '/v1/chat/completions': { model, stream, max_tokens: max, messages: [{ role: 'user', content: prompt }] },
      '/v1/messages': { model, stream, max_tokens: max, messages: [{ role: 'user', content: prompt }] },
      '/v1/responses': { model, stream, max_output_tokens: max, input: prompt },
      '/v1/embeddings': { model, input: prompt },
      '/api/chat': { model, stream, options: { num_predict: max }, messages: [{ role: 'user', content: prompt }] },
    };
    const r = await fetch(this.base + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'User-Agent': app, ...(tags && { 'X-Fleet-Tags': tags }) },
      body: JSON.stringify(bodies[path]),
    });
    return { status: r.status, text: await r.text().catch((err) => err.message) };
  }

  /** traffic makes a history worth looking at: apps, protocols and faults. */
  async traffic() {
    const chat = [
      this.ask('continue/1.2', 'qwen3:8b'),
      this.ask('claude-cli/2.0', 'claude-sonnet-4-5', { path: '/v1/messages', prompt: 'Write a function in Go that reverses a list.', tags: 'work,go' }),
      this.ask('open-webui/0.6', 'llava:7b', { path: '/api/chat' }),
      this.ask('codex/1.0', 'gpt-oss:20b', { path: '/v1/responses' }),
      this.ask('home-assistant/2026.1', 'llama3.2:3b', { stream: false }),
      this.ask('obsidian/1.8', 'nomic-embed-text', { path: '/v1/embeddings' }),
    ];
    await Promise.all(chat);
    await this.control('laptop', { inject: [{ model: 'llava:7b', status: 500, times: 4, body: '{"error":"out of memory"}' }] });
    await Promise.all([
      this.ask('open-webui/0.6', 'llava:7b'),
      this.ask('curl/8.5', 'gpt-4o'),
      this.ask('claude-cli/2.0', 'claude-sonnet-4-5', { path: '/v1/messages' }),
      this.ask('continue/1.2', 'auto'),
      this.ask('continue/1.2', 'qwen3:8b', { max: 8, tags: 'work' }),
    ]);
    await this.control('laptop', { heal: true });
  }

  async stop() {
    await this.engine?.stop();
    await Promise.all(this.processes.map((p) => p.stop()));
    rmSync(this.dir, { recursive: true, force: true });
  }
}
