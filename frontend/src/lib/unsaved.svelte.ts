// What was typed on a page and not saved, for what stands outside of the page.
// The page keeps the draft; this only knows whom to ask.

class Unsaved {
  #of = $state.raw<Record<string, () => number>>({});

  /** tell says who counts a page's unsaved changes. */
  tell(page: string, count: () => number): void {
    this.#of = { ...this.#of, [page]: count };
  }

  /** count is how many changes of a page are not saved. */
  count(page: string): number {
    return this.#of[page]?.() ?? 0;
  }
}

export const unsaved = new Unsaved();
