// Keys that work everywhere: g and a letter goes to a page, / to the page's
// search, ? shows them. They can be switched off, and never act while one
// types.
import { remember, remembered } from './stored';

export interface Shortcut {
  keys: string; // as pressed: "g d", "/", "?"
  does: string;
  run: () => void;
}

class Keys {
  list = $state.raw<Shortcut[]>([]);
  on = $state(remembered('keys', 'on') === 'on');
  /** The list of keys is shown. */
  shown = $state(false);
  #first = '';
  #firstAt = 0;

  /** add makes a shortcut work until its remover is called. */
  add(s: Shortcut): () => void {
    this.list = [...this.list, s];
    return () => (this.list = this.list.filter((x) => x !== s));
  }

  switch(on: boolean): void {
    this.on = on;
    remember('keys', on ? 'on' : 'off');
  }

  start(): () => void {
    const listen = (e: KeyboardEvent) => this.press(e);
    window.addEventListener('keydown', listen);
    return () => window.removeEventListener('keydown', listen);
  }

  press(e: KeyboardEvent): void {
    if (!this.on || e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || typing(e.target)) return;
    if (document.querySelector('dialog[open]') && e.key !== '?') return;
    const recent = e.timeStamp - this.#firstAt < 1200;
    const pressed = this.#first !== '' && recent ? `${this.#first} ${e.key}` : e.key;
    this.#first = '';
    const found = this.list.findLast((s) => s.keys === pressed);
    if (found) {
      e.preventDefault();
      found.run();
    } else if (this.list.some((s) => s.keys.startsWith(`${e.key} `))) {
      this.#first = e.key;
      this.#firstAt = e.timeStamp;
    }
  }
}

function typing(t: EventTarget | null): boolean {
  return t instanceof HTMLElement && (t.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(t.tagName));
}

export const keys = new Keys();
