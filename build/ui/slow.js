// A line with a long way to go: a TCP proxy that holds everything back for half
// a round trip in each direction, and a new connection for a whole one more, as
// its handshake would. Order is kept.
import { connect, createServer } from 'node:net';

/** openSlow puts a round trip of rtt ms before a port of this machine. */
export async function openSlow(port, rtt) {
  const open = new Set();
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    const ready = performance.now() + rtt;
    late(near, far, rtt / 2, ready);
    late(far, near, rtt / 2, 0);
    for (const s of [near, far]) {
      open.add(s);
      s.setNoDelay(true);
      s.on('close', () => open.delete(s)).on('error', () => (near.destroy(), far.destroy()));
    }
  });
  await new Promise((r) => server.listen(0, '127.0.0.1', r));
  return {
    port: server.address().port,
    close: () => {
      open.forEach((s) => s.destroy());
      return new Promise((r) => server.close(r));
    },
  };
}

// late hands on what comes from one side to the other, each piece ms later, and
// none before a moment.
function late(from, to, ms, earliest) {
  const held = [];
  let timer = null;
  const next = () => {
    timer = null;
    while (held.length > 0 && held[0].at <= performance.now()) {
      const { piece } = held.shift();
      if (to.destroyed) return;
      if (piece) to.write(piece);
      else to.end();
    }
    if (held.length > 0) timer = setTimeout(next, Math.max(0, held[0].at - performance.now()));
  };
  const put = (piece) => {
    held.push({ piece, at: Math.max(performance.now(), earliest) + ms });
    timer ??= setTimeout(next, held[0].at - performance.now());
  };
  from.on('data', put).on('end', () => put(null));
}
