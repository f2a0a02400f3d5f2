import { afterEach, describe, expect, it, vi } from 'vitest';
import { engine } from '../test/golden';
import { inWindow, links, outside } from './outside';

const link = (html: string): HTMLAnchorElement => {
  document.body.innerHTML = html;
  return document.querySelector('a')!;
};
afterEach(() => {
  document.body.innerHTML = '';
  Reflect.deleteProperty(window, 'webkit');
});

describe('links out of the admin UI', () => {
  it('are those to other places and those that want a tab', () => {
    expect(outside(link('<a href="https://ollama.com/library?q=a">x</a>'))).toBe('https://ollama.com/library?q=a');
    expect(outside(link('<a href="/ui/help" target="_blank">x</a>'))).toBe(`${location.origin}/ui/help`);
    for (const stays of ['<a href="#/models">x</a>', '<a href="/ui/">x</a>', '<a href="mailto:a@b.c">x</a>', '<a href="javascript:void 0">x</a>', '<a href="https://a.b/c" download>x</a>'])
      expect(outside(link(stays)), stays).toBe('');
  });

  it('are left to the browser where there is one', () => {
    expect(inWindow({})).toBe(false);
    expect(inWindow({ chrome: {} })).toBe(false);
    expect(inWindow({ webkit: { messageHandlers: {} } })).toBe(false);
    const listening = vi.spyOn(document, 'addEventListener');
    links.start()();
    expect(listening).not.toHaveBeenCalled();
    listening.mockRestore();
  });

  it('are opened by the engine in the window', async () => {
    expect(inWindow({ chrome: { webview: {} } })).toBe(true);
    Object.defineProperty(window, 'webkit', { value: { messageHandlers: { external: {} } }, configurable: true });
    const log = engine({ 'POST /admin/open-url': { done: true } });
    const stop = links.start();
    const a = link('<a href="https://ollama.com/"><b>x</b></a>');
    const e = new MouseEvent('click', { bubbles: true, cancelable: true });
    a.querySelector('b')!.dispatchEvent(e);
    expect(e.defaultPrevented).toBe(true);
    await vi.waitFor(() => expect(log.bodies).toEqual([{ url: 'https://ollama.com/' }]));
    const own = new MouseEvent('click', { bubbles: true, cancelable: true });
    link('<a href="#/models">x</a>').dispatchEvent(own);
    expect(own.defaultPrevented).toBe(false);
    stop();
  });
});
