import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

// The engine serves the result below /ui/. During `npm run dev` its own API
// is reached through the proxy; BELLWETHER_URL names another engine.
const engine = process.env.BELLWETHER_URL ?? 'http://127.0.0.1:11435';

export default defineConfig({
  base: '/ui/',
  plugins: [svelte()],
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
  },
});
