// Opens the feed's socket while the program that reads it is still on its way,
// and keeps what is heard for it (lib/fleet.svelte.ts). It also asks whether this
// browser may change things (lib/session.svelte.ts).
{
  const socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/admin/ws`);
  const heard = [];
  socket.onmessage = (e) => heard.push(String(e.data));
  window.bellwetherFeed = { socket, heard };
  window.bellwetherSession = fetch('/admin/session').then((r) => (r.ok ? r.json() : null), () => null);
  setTimeout(() => {
    if (window.bellwetherFeed) socket.close(); // nobody came for it
  }, 30_000);
}
