// Where the page is: #/PAGE/REST?QUERY. The address is the state, so that a
// link, the back button and a reload lead to the same place.

export interface Place {
  page: string;
  /** The part after the page, decoded; may hold slashes of its own. */
  rest: string;
  query: Record<string, string>;
}

/** parsed reads an address's hash. */
export function parsed(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const [page = '', ...rest] = path.split('/');
  return { page, rest: rest.map(decoded).join('/'), query: Object.fromEntries(new URLSearchParams(query)) };
}

function decoded(s: string): string {
  try {
    return decodeURIComponent(s);
  } catch {
    return s;
  }
}

/** href is the address of a place; query values that are empty are left out. */
export function href(page: string, rest = '', query: Record<string, string> = {}): string {
  const kept = Object.entries(query).filter(([, v]) => v !== '');
  const tail = kept.length === 0 ? '' : `?${new URLSearchParams(kept)}`;
  return `#/${page}${rest === '' ? '' : `/${encodeURIComponent(rest)}`}${tail}`;
}

class Route {
  place = $state.raw<Place>(parsed(location.hash));

  #seen: Record<string, Place> = {}; // by page, as it was last there

  /**
   * of is the place as a page may read it: its own. A page that is being left
   * is still there when the address is another's, whose rest is no id of its
   * own; it keeps the place it had. An address without a page holds nothing.
   */
  of(page: string): Place {
    const p = this.place;
    if (p.page === page || p.page === '') return (this.#seen[page] = p);
    return this.#seen[page] ?? { page, rest: '', query: {} };
  }

  start(): () => void {
    const read = () => (this.place = parsed(location.hash));
    read();
    window.addEventListener('hashchange', read);
    return () => window.removeEventListener('hashchange', read);
  }

  /** go leads to another place, with a step in the history. */
  go(page: string, rest = '', query: Record<string, string> = {}): void {
    location.hash = href(page, rest, query);
  }

  /** ask changes the query of this place, without a step in the history. */
  ask(query: Record<string, string>): void {
    const p = this.place;
    history.replaceState(null, '', href(p.page, p.rest, query));
    this.place = parsed(location.hash);
  }
}

export const route = new Route();
