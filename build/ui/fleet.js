// A made-up fleet of any size, in the shapes of the wire: grown from the golden
// files, so that a change of shape reaches it too. Only for measuring and
// looking; what is tested runs against the real engine.
import { readFileSync } from 'node:fs';

const golden = (name) => JSON.parse(readFileSync(new URL(`../../engine/admin/testdata/wire/${name}.json`, import.meta.url), 'utf8'));

export const answers = {
  apps: golden('apps'),
  decision: golden('decision'),
  history: golden('history'),
  log: golden('log'),
  'login-item': { known: true, on: false, can: true, reason: '', remedy: '', entry: '', ask: false },
  plan: golden('plan'),
  session: golden('session_unlocked'),
  settings: golden('settings'),
  settings_preview: golden('settings_preview'),
  test_traffic: golden('test_traffic'),
};

export const goldenHello = () => golden('hello');

const chips = ['Apple M2 Ultra', 'Apple M4 Pro', 'AMD Ryzen 9 7950X', 'Intel Core Ultra 7', 'Apple M1'];
const names = ['qwen3:8b', 'qwen3:30b-a3b', 'llama3.2:3b', 'llama3.3:70b', 'gpt-oss:20b', 'gpt-oss:120b', 'gemma3:27b', 'gemma3:4b', 'mistral-small:24b', 'devstral:24b',
  'phi4:14b', 'deepseek-r1:32b', 'deepseek-r1:8b', 'nomic-embed-text:latest', 'bge-m3:latest', 'llava:7b', 'qwen2.5vl:7b', 'granite3.3:8b', 'command-r:35b', 'smollm2:1.7b'];
const apps = ['claude-code', 'open-webui', 'continue', 'home-assistant', 'codex', 'obsidian', 'curl', 'n8n'];

/** random is a small generator, so that each run shows the same. */
export function random(seed = 7) {
  let s = seed >>> 0;
  return () => {
    s = (s + 0x6d2b79f5) >>> 0;
    let t = Math.imul(s ^ (s >>> 15), 1 | s);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Fleet is the state that grows, and the deltas that change it. */
export class Fleet {
  constructor({ nodes = 50, models = 20, seed = 7, rows = 200 } = {}) {
    this.random = random(seed);
    this.now = Date.now();
    const base = golden('hello').state;
    const [node] = Object.values(base.nodes);
    const [pool] = Object.values(base.pools);
    const [runtime] = Object.values(base.runtimes);
    const deployment = Object.values(base.deployments).find((d) => d.residency === 'loaded' && d.speed.samples > 0);
    this.rowShape = base.rows.find((r) => r.outcome === 'ok');
    this.state = { ...base, nodes: {}, runtimes: {}, deployments: {}, pools: {}, lanes: {}, rows: [] };
    this.made = 0;
    for (let i = 0; i < nodes; i++) {
      const id = (0x1000 + i).toString(16).padStart(16, '0');
      const name = `node-${String(i + 1).padStart(2, '0')}`;
      this.state.nodes[id] = { ...node, id, name, local: i === 0, router: i === 0, state: 'serving', reason: '', paused: false, chip: chips[i % chips.length], gpus: [], models, loaded_models: 2, last_seen_at: this.at() };
      this.state.pools[`${id}/${pool.name}`] = { ...pool, node_id: id, holders: [] };
      this.state.runtimes[`${id}/ollama`] = { ...runtime, node_id: id, name: 'ollama', up: true, models };
      for (let m = 0; m < models; m++) {
        const model = names[m % names.length] + (m >= names.length ? `-${m}` : '');
        const key = `${id}/ollama/${model}`;
        const loaded = m < 2;
        this.state.deployments[key] = { ...deployment, id: key, node_id: id, runtime: 'ollama', model, pinned: false, residency: loaded ? 'loaded' : 'on_disk', loaded_context_tokens: loaded ? 32768 : null,
          weights_bytes: Math.round(1e9 * (1 + m * 1.7)), resident_bytes: loaded ? Math.round(1.2e9 * (1 + m * 1.7)) : null, expires_at: loaded ? this.at(240_000) : null };
        if (loaded) {
          this.state.pools[`${id}/${pool.name}`].holders.push({ deployment: key, kind: 'resident', bytes: Math.round(1.2e9 * (1 + m * 1.7)), label: 'measured', counted_bytes: Math.round(1.2e9 * (1 + m * 1.7)), ends_at: null });
        }
      }
    }
    const [first] = Object.keys(this.state.nodes);
    this.state.meta.engine = { ...this.state.meta.engine, node_id: first, node_name: 'node-01', router_node_id: first, router_name: 'node-01' };
    for (let i = 0; i < rows; i++) this.state.rows.push(this.row());
    this.state.rows.reverse();
  }

  at(later = 0) {
    return new Date(Date.now() + later).toISOString();
  }

  pick(list) {
    return list[Math.floor(this.random() * list.length)];
  }

  /** row is a request that just ended. */
  row() {
    const id = this.pick(Object.keys(this.state.nodes));
    const model = this.pick(names);
    const roll = this.random();
    const outcome = roll < 0.93 ? 'ok' : roll < 0.96 ? 'truncated' : roll < 0.98 ? 'failed' : 'refused';
    this.made++;
    return { ...this.rowShape, request_id: `01SYN${String(this.made).padStart(7, '0')}`, at: this.at(), app: this.pick(apps), requested_model: model, alias: undefined, outcome,
      status: outcome === 'failed' ? 502 : outcome === 'refused' ? 404 : 200, problem: outcome === 'failed' ? 'The runtime sent no content within 60 s.' : undefined,
      deployment: `${id}/ollama/${model}`, node_name: this.state.nodes[id].name, model, ttft_ms: 80 + this.random() * 900, total_ms: 400 + this.random() * 9000,
      input_tokens: Math.round(this.random() * 20000), output_tokens: Math.round(this.random() * 900) };
  }

  /** readings are the sections that change twice a second: every machine's. */
  readings() {
    const nodes = {};
    for (const [id, n] of Object.entries(this.state.nodes)) {
      n.cpu_percent = Math.round(this.random() * 1000) / 10;
      n.memory_used_bytes = Math.round(n.memory_bytes * (0.3 + this.random() * 0.3));
      n.memory_available_bytes = n.memory_bytes - n.memory_used_bytes;
      n.running_requests = Math.floor(this.random() * 4);
      n.last_seen_at = this.at();
      nodes[id] = n;
    }
    const app = this.state.apps['claude-code'];
    app.requests++;
    app.last_seen_at = this.at();
    return { nodes, apps: { 'claude-code': app } };
  }
}
