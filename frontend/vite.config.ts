import { svelte } from '@sveltejs/vite-plugin-svelte';
import { readFileSync } from 'node:fs';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

// The engine serves the result below /ui/. During `npm run dev` its own API
// is reached through the proxy; BELLWETHER_URL names another engine.
const engine = process.env.BELLWETHER_URL ?? 'http://127.0.0.1:11435';

// The picture of a page on its way, inside the page.
const loading: Plugin = {
  name: 'bellwether-loading',
  transformIndexHtml: {
    order: 'pre',
    handler(html) {
      const picture = readFileSync(new URL('src/loading.svg', import.meta.url), 'utf8').replace(/\n\s*/g, ' ');
      const inside = html.replace('src/loading.svg', `data:image/svg+xml,${encodeURIComponent(picture).replace(/%20/g, ' ').replace(/%3D/g, '=').replace(/%3A/g, ':').replace(/%2F/g, '/')}`);
      if (inside === html) throw new Error('index.html: no place for loading.svg');
      return inside;
    },
  },
};

// Everything the page needs is asked for when the page itself has come, and
// nothing after another: the later pages are named in it, and the style stands
// below what shows meanwhile, which then need not wait for it. The program is
// of high priority: Chromium lets others of its kind wait for the first paint.
// The later pages are only fetched: they are compiled after that.
const atOnce: Plugin = {
  name: 'bellwether-at-once',
  transformIndexHtml: {
    order: 'post',
    handler(html, { bundle }) {
      if (!bundle) return html;
      const later = Object.values(bundle).filter((f) => f.type === 'chunk' && f.isDynamicEntry);
      const style = /\s*<link rel="stylesheet"[^>]*>/.exec(html)?.[0];
      const program = '<script async type="module"';
      if (later.length === 0 || !style || !html.includes(program)) throw new Error('index.html: no later pages, no style, or no program');
      return html
        .replace(program, `${program} fetchpriority="high"`)
        .replace(style, '')
        .replace('</head>', later.map((f) => `  <link rel="preload" as="script" crossorigin fetchpriority="low" href="/ui/${f.fileName}">\n  `).join('') + '</head>')
        .replace('</body>', `  ${style.trim()}\n  </body>`);
    },
  },
};

// Most of the first file runs before the first paint. Chromium then compiles it
// as a whole while it comes, instead of each function when it is called.
const whole: Plugin = {
  name: 'bellwether-whole',
  generateBundle(_, bundle) {
    for (const f of Object.values(bundle)) if (f.type === 'chunk' && f.isEntry) f.code = `//# allFunctionsCalledOnLoad\n${f.code}`;
  },
};

export default defineConfig({
  base: '/ui/',
  plugins: [svelte(), loading, atOnce, whole],
  build: {
    target: ['es2022', 'safari16', 'chrome109', 'firefox115'],
    cssCodeSplit: false,
    assetsInlineLimit: 0, // nothing inline: the content policy allows files of our own only
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  server: { port: 5173, strictPort: true, proxy: { '/admin': { target: engine, ws: true } } },
  resolve: process.env.VITEST ? { conditions: ['browser'] } : {},
  test: {
    environment: 'happy-dom',
    include: ['src/**/*.test.ts'],
    setupFiles: ['src/test/setup.ts'],
    restoreMocks: true,
    testTimeout: 20_000, // a machine may be busy with other work
  },
});
