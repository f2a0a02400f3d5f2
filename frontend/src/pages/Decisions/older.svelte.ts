// Decisions from before the live list, fetched page by page as one scrolls
// down. A changed filter starts anew, and so does a live list that was cut short.
import { ApiError, get } from '../../lib/api';
import { maxRows } from '../../lib/feed';
import { rowOf, type DecisionRecord } from '../../lib/record';
import type { DecisionRow } from '../../lib/wire';
import { asked, type Filter } from './filter';

const page = 200;

export class Older {
  rows = $state.raw<DecisionRow[]>([]);
  busy = $state(false);
  /** There is nothing older. */
  exhausted = $state(false);
  error = $state.raw<unknown>(null);
  #about = '';
  #abort: AbortController | null = null;

  /** about forgets what was fetched for another filter, or to follow on a live list that had more rows (FeedState.breaks). */
  about(f: Filter, breaks: number): void {
    const query = asked(f);
    const about = JSON.stringify([query, breaks]);
    if (about === this.#about) return;
    this.#about = about;
    this.#abort?.abort();
    this.rows = [];
    this.busy = false;
    this.error = null;
    this.exhausted = query === null;
  }

  /** more fetches the page after the last row shown; after is its id, "" = from the newest. */
  async more(f: Filter, after: string, shown: number): Promise<void> {
    const query = asked(f);
    if (this.busy || this.exhausted || this.error || query === null || shown >= maxRows) return;
    this.busy = true;
    const abort = (this.#abort = new AbortController());
    try {
      const records = await get<DecisionRecord[]>('decisions', { ...query, after, limit: page }, abort.signal);
      this.rows = [...this.rows, ...records.map(rowOf)];
      this.exhausted = records.length < page;
    } catch (err) {
      if (abort.signal.aborted) return;
      // The last row may not be on the disk any more: then there is nothing older.
      if (err instanceof ApiError && err.status === 404) this.exhausted = true;
      else this.error = err;
    } finally {
      if (this.#abort === abort) this.busy = false;
    }
  }

  retry(): void {
    this.error = null;
  }
}
