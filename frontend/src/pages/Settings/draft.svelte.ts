// The settings as the engine has them, and what was typed and not saved. One
// owner for the page: it outlives a visit to another page, so that a draft is
// not lost by looking something up.
import { ApiError, get, post } from '../../lib/api';
import type { SettingsAnswer, SettingsPreview, SettingView } from '../../lib/wire';
import { unsaved } from '../../lib/unsaved.svelte';
import { checked, edited, isJSON, packed, type Draft } from './groups';

class Drafting {
  answer = $state.raw<SettingsAnswer | null>(null);
  /** Why they could not be read. */
  trouble = $state.raw<unknown>(null);
  draft = $state.raw<Draft>({});
  /** What the engine said of texts it refused, by key. */
  refused = $state.raw<Record<string, string>>({});
  /** What saving would do; shown until it is done or left. */
  preview = $state.raw<SettingsPreview | null>(null);
  /** The file was changed by someone else while there is a draft. */
  moved = $state(false);
  busy = $state(false);

  count = $derived(Object.keys(this.draft).length);
  byKey = $derived(new Map((this.answer?.settings ?? []).map((s) => [s.key, s])));
  /** What is wrong with the draft, by key. */
  wrong: Record<string, string> = $derived.by(() => {
    const out: Record<string, string> = {};
    for (const [key, text] of Object.entries(this.draft)) {
      const s = this.byKey.get(key);
      const said = this.refused[key] ?? (s && text !== null ? checked(s, text) : '');
      if (said) out[key] = said;
    }
    return out;
  });

  /** load reads the settings. A draft stays, less what is in force already. */
  async load(): Promise<void> {
    try {
      const a = await get<SettingsAnswer>('settings');
      const rest: Draft = {};
      for (const s of a.settings) {
        const d = this.draft[s.key];
        if (d !== undefined) Object.assign(rest, edited({}, s, d));
      }
      Object.assign(this, { answer: a, draft: rest, refused: {}, moved: false, trouble: null });
    } catch (err) {
      this.trouble = err;
    }
  }

  /** heard is told which revision the engine has now. */
  heard(revision: string | undefined): void {
    if (!revision || this.busy || (this.answer && revision === this.answer.revision)) return;
    if (this.answer && this.count > 0) this.moved = true;
    else void this.load();
  }

  edit(s: SettingView, to: string | null): void {
    this.draft = edited(this.draft, s, to);
    if (this.refused[s.key]) {
      const { [s.key]: _, ...rest } = this.refused;
      this.refused = rest;
    }
  }

  /** again reads a file that moved; in a review what saving would do is looked at anew. What goes wrong is thrown. */
  again = async (): Promise<void> => {
    await this.load();
    if (this.trouble) throw this.trouble;
    if (this.count === 0) this.preview = null;
    else if (this.preview) await this.look();
  };

  discard(): void {
    Object.assign(this, { draft: {}, refused: {}, preview: null });
    if (this.moved) void this.load();
  }

  /** look asks what saving would do, and shows it. False = refused for values or the revision, which is shown at
   *  their place; what else went wrong is thrown. */
  look = (): Promise<boolean> => this.#send(true);
  /** save saves. True = it was done. */
  save = (): Promise<boolean> => this.#send(false);

  async #send(dry: boolean): Promise<boolean> {
    if (!this.answer || this.busy) return false;
    this.busy = true;
    try {
      const p = await post<SettingsPreview>('settings', { revision: this.answer.revision, changes: this.#changes(), dry_run: dry });
      if (dry) this.preview = p;
      else {
        Object.assign(this, { draft: {}, refused: {}, preview: null });
        await this.load();
      }
      return true;
    } catch (err) {
      if (err instanceof ApiError && err.code === 'revision_moved') this.moved = true; // a review that is open says so, and stays
      else {
        this.preview = null;
        if (!(err instanceof ApiError) || Object.keys(err.keys).length === 0) throw err;
        this.refused = err.keys;
      }
      return false;
    } finally {
      this.busy = false;
    }
  }

  #changes(): Draft {
    return Object.fromEntries(Object.entries(this.draft).map(([key, text]) => {
      const s = this.byKey.get(key);
      if (text === null || !s) return [key, text];
      return [key, isJSON(s) ? packed(text) : text];
    }));
  }
}

export const drafting = new Drafting();
unsaved.tell('settings', () => drafting.count);
