// The settings as the engine has them, and what was typed and not saved. One
// owner for the page: it outlives a visit to another page, so that a draft is
// not lost by looking something up.
import { ApiError, get, post } from '../../lib/api';
import { notices } from '../../lib/notices.svelte';
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
  /** The draft that the preview is of: what is saved is what was reviewed. */
  #looked: Draft = {};
  /** How often the settings were asked for: of answers under way the last one counts. */
  #asked = 0;
  /** A revision that was heard while busy. */
  #missed: string | undefined;

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
    const asked = ++this.#asked;
    try {
      const a = await get<SettingsAnswer>('settings');
      if (asked !== this.#asked) return;
      const rest: Draft = {};
      for (const s of a.settings) {
        const d = this.draft[s.key];
        if (d !== undefined) Object.assign(rest, edited({}, s, d));
      }
      if (a.revision !== this.answer?.revision) notices.over('settings');
      Object.assign(this, { answer: a, draft: rest, refused: {}, moved: false, trouble: null });
    } catch (err) {
      if (asked === this.#asked) this.trouble = err;
    }
  }

  /** heard is told which revision the engine has now. */
  heard(revision: string | undefined): void {
    if (this.busy) this.#missed = revision;
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
    this.#left();
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
    this.#left();
  }

  // Without a draft there is nothing to be asked before a file that moved is read.
  #left(): void {
    if (this.moved && this.count === 0) void this.load();
  }

  /** look asks what saving would do, and shows it. False = refused for values or the revision, which is shown at
   *  their place; what else went wrong is thrown. */
  look = (): Promise<boolean> => this.#send(true, this.draft, this.answer?.revision);
  /** save saves what was looked at; what was typed since stays a draft. True = it was done. */
  save = (): Promise<boolean> => this.#send(false, this.#looked, this.preview?.revision);

  async #send(dry: boolean, draft: Draft, revision: string | undefined): Promise<boolean> {
    if (revision === undefined || this.busy) return false;
    this.busy = true;
    try {
      const p = await post<SettingsPreview>('settings', { revision, changes: this.#changes(draft), dry_run: dry });
      if (dry) {
        this.preview = p;
        this.#looked = draft;
      } else {
        this.draft = Object.fromEntries(Object.entries(this.draft).filter(([key, text]) => text !== draft[key]));
        Object.assign(this, { refused: {}, preview: null });
        await this.load();
      }
      return true;
    } catch (err) {
      if (err instanceof ApiError && err.code === 'revision_moved') this.moved = true; // a review that is open says so, and stays
      else {
        this.preview = null;
        if (!(err instanceof ApiError) || Object.keys(err.keys).length === 0) throw err;
        this.refused = err.keys;
        const rest = Object.entries(err.keys).filter(([key]) => !(key in draft));
        if (rest.length > 0) throw new ApiError(err.status, { ...err, message: rest.map(([key, said]) => (key ? `${key}: ${said}` : said)).join('\n') });
      }
      return false;
    } finally {
      this.busy = false;
      this.heard(this.#missed);
      this.#missed = undefined;
    }
  }

  #changes(draft: Draft): Draft {
    return Object.fromEntries(Object.entries(draft).map(([key, text]) => {
      const s = this.byKey.get(key);
      if (text === null || !s) return [key, text];
      return [key, isJSON(s) ? packed(text) : text];
    }));
  }
}

export const drafting = new Drafting();
unsaved.tell('settings', () => drafting.count);
