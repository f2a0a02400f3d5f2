// The stage serves the built UI over a made-up fleet: for measuring frames and
// memory, and for looking at pages while they are made:
//
//	node stage.js [--golden] [--nodes 50] [--models 20] [--rate 100] [--port 8088]
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { WebSocketServer } from 'ws';
import { answers, Fleet, goldenHello } from './fleet.js';

const dist = fileURLToPath(new URL('../../frontend/dist', import.meta.url));
const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.json': 'application/json', '.ico': 'image/x-icon', '.png': 'image/png', '.woff2': 'font/woff2' };
export const policy = "default-src 'self'; img-src 'self' data:; connect-src 'self'; style-src 'self'; frame-ancestors 'none'";

function file(req, res, path) {
  const name = normalize(path.replace(/^\/ui\/?/, '')) || 'index.html';
  let at = join(dist, name);
  if (!at.startsWith(dist) || !existsSync(at) || !statSync(at).isFile()) at = join(dist, 'index.html');
  res.writeHead(200, { 'Content-Type': types[extname(at)] ?? 'application/octet-stream', 'Content-Security-Policy': policy });
  createReadStream(at).on('error', () => res.destroy()).pipe(res); // a build may replace it just now
}

function api(req, res, path, answers) {
  const json = (v) => {
    res.writeHead(200, { 'Content-Type': 'application/json' });
    res.end(JSON.stringify(v));
  };
  const [, , first, second] = path.split('/');
  if (first === 'settings' && req.method === 'POST') return json(answers.settings_preview);
  if (first === 'decisions') return json(second ? answers.decision : []);
  if (first === 'pools') return json(answers.plan);
  if (first === 'test-traffic') {
    res.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
    answers.test_traffic.forEach((line, i) => setTimeout(() => res.write(JSON.stringify(line) + '\n', () => line.kind === 'done' && res.end()), i * 300));
    return;
  }
  if (answers[first]) return json(answers[first]);
  if (req.method === 'POST') return json({ done: true });
  res.writeHead(404, { 'Content-Type': 'application/json' });
  res.end('{"error":{"code":"not_found","message":"The stage has no such answer."}}');
}

/** openStage serves until it is closed: a fleet that lives, with rate decisions a second, or the golden state, or
 *  another of its shape; answers replace some of the golden ones. */
export async function openStage({ port = 0, fleet, rate = 100, state, answers: other = {} } = {}) {
  const said = { ...answers, ...other };
  const server = createServer((req, res) => {
    const { pathname } = new URL(req.url, 'http://stage');
    if (pathname.startsWith('/ui')) return file(req, res, pathname);
    if (pathname.startsWith('/admin/')) return api(req, res, pathname, said);
    res.writeHead(302, { Location: '/ui/' });
    res.end();
  });
  const sockets = new WebSocketServer({ server, path: '/admin/ws' });
  let seq = 41;
  const hello = () => (fleet ? { type: 'hello', version: '0.4.0', at: new Date().toISOString(), seq, state: fleet.state } : { ...goldenHello(), ...(state && { at: new Date().toISOString(), state }), seq });
  sockets.on('connection', (ws) => {
    ws.send(JSON.stringify(hello()));
    ws.on('message', () => ws.send(JSON.stringify(hello())));
  });
  const tell = (change) => {
    seq++;
    const text = JSON.stringify({ type: 'delta', seq, ...change });
    for (const ws of sockets.clients) ws.send(text);
  };
  const timers = [];
  if (fleet) {
    let owed = 0;
    timers.push(setInterval(() => {
      owed += rate / 20;
      const rows = [];
      for (; owed >= 1; owed--) rows.push(fleet.row());
      if (rows.length > 0) tell({ rows });
    }, 50));
    timers.push(setInterval(() => tell({ set: fleet.readings() }), 500));
  }
  await new Promise((r) => server.listen(port, '127.0.0.1', r));
  return {
    url: `http://127.0.0.1:${server.address().port}/ui/`,
    tell,
    close: async () => {
      timers.forEach(clearInterval);
      for (const ws of sockets.clients) ws.terminate();
      server.closeAllConnections();
      await new Promise((r) => server.close(r));
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values: v } = parseArgs({ options: { golden: { type: 'boolean' }, nodes: { type: 'string', default: '50' }, models: { type: 'string', default: '20' }, rate: { type: 'string', default: '100' }, port: { type: 'string', default: '8088' } } });
  const stage = await openStage({ port: +v.port, rate: +v.rate, fleet: v.golden ? undefined : new Fleet({ nodes: +v.nodes, models: +v.models }) });
  console.log(stage.url);
}
