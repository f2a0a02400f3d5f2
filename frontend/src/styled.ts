/**
 * styled waits until the page is read and its style is there, or will not
 * come: this program runs as soon as it is here itself. Without a style sheet,
 * as in development, there is nothing to wait for.
 */
export async function styled(page: Document): Promise<void> {
  if (page.readyState === 'loading') await new Promise((done) => page.addEventListener('DOMContentLoaded', done, { once: true }));
  const link = page.querySelector<HTMLLinkElement>('link[rel=stylesheet]');
  if (!link || link.sheet) return;
  await new Promise((done) => {
    link.addEventListener('load', done, { once: true });
    link.addEventListener('error', done, { once: true });
  });
}
