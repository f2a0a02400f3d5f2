// Links that lead out of the admin UI. A browser follows them by itself; in
// Bellwether's own window, which has no tabs and no address bar, they would
// lead nowhere or take the UI's place, so the engine opens them in the browser.
import { post } from './api';
import { carryOut } from './notices.svelte';

interface WebViews {
  webkit?: { messageHandlers?: { external?: unknown } };
  chrome?: { webview?: unknown };
}

/** inWindow reports whether this page is shown in Bellwether's own window, by what its web view adds to pages. */
export function inWindow(at: WebViews = window as WebViews): boolean {
  try {
    return at.webkit?.messageHandlers?.external !== undefined || at.chrome?.webview !== undefined;
  } catch {
    return false;
  }
}

/** outside is the web address to which a link leads out of this UI, '' = it stays, or leads to no web page. */
export function outside(link: HTMLAnchorElement): string {
  if (link.protocol !== 'http:' && link.protocol !== 'https:') return '';
  if (link.hasAttribute('download')) return '';
  return link.origin !== location.origin || link.target === '_blank' ? link.href : '';
}

class Links {
  /** start looks after the links of the whole page, where that is needed. */
  start(): () => void {
    if (!inWindow()) return () => {};
    // Captured: before the link's own doing, whatever stops the event on its way.
    document.addEventListener('click', this.#follow, true);
    document.addEventListener('auxclick', this.#follow, true);
    return () => {
      document.removeEventListener('click', this.#follow, true);
      document.removeEventListener('auxclick', this.#follow, true);
    };
  }

  #follow = (e: MouseEvent): void => {
    if (e.button > 1) return;
    const link = (e.target as Element | null)?.closest?.('a[href]');
    const url = link instanceof HTMLAnchorElement ? outside(link) : '';
    if (url === '') return;
    e.preventDefault();
    void carryOut(() => post('open-url', { url }));
  };
}

export const links = new Links();
