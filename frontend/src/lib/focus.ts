// Where somebody works with keys, the focus is never lost. What has it may be
// gone, hidden or disabled by what it was pressed for: then what stands in its
// place has the focus, and what was disabled has it back once it can take it.

const takers = ':is(a[href], button, input, select, textarea, summary, [tabindex]):not([tabindex="-1"])';
const inside = (e: Element) => [...e.querySelectorAll<HTMLElement>(takers)];
const seen = (e: HTMLElement) => e.isConnected && (e.checkVisibility?.() ?? true);
const lost = () => document.activeElement === null || document.activeElement === document.body;

/** Place is where something stands: in each element around it, from the inside out, its number among what can have the focus. */
interface Place {
  of: HTMLElement;
  around: { element: Element; at: number }[];
}

/** placeOf notes where something stands, for when it does not any more. */
export function placeOf(of: HTMLElement): Place {
  const around: Place['around'] = [];
  const main = document.getElementById('main');
  for (let e = of.parentElement; e && !e.contains(main); e = e.parentElement) around.push({ element: e, at: inside(e).indexOf(of) });
  return { of, around };
}

let held: Place | null = null;

/** giveBack gives a lost focus to a place: to what stood there, else to what stands there now, else to the page. */
export function giveBack(to: Place): void {
  if (!lost()) return;
  held = to;
  const takes = seen(to.of) ? to.of : (inPlaceOf(to) ?? document.getElementById('main'));
  if (takes && takes !== to.of) held = placeOf(takes);
  takes?.focus({ preventScroll: true });
}

function inPlaceOf({ around }: Place): HTMLElement | undefined {
  for (const { element, at } of around) {
    const there = inside(element).filter(seen);
    if (there.length > 0) return there[Math.min(Math.max(at, 0), there.length - 1)];
  }
  return undefined;
}

/** keepFocus does so for whatever has the focus. A press beside everything lets go of it. */
export function keepFocus(): () => void {
  let due = 0;
  const look = () => {
    due = 0;
    if (held && document.hasFocus()) giveBack(held);
  };
  // What is hidden or disabled loses the focus with the frame that shows it.
  const changes = new MutationObserver(() => (due ||= requestAnimationFrame(() => setTimeout(look))));
  changes.observe(document.body, { subtree: true, childList: true, attributeFilter: ['disabled'] });
  const onFocus = (e: FocusEvent) => (held = placeOf(e.target as HTMLElement));
  const onPress = () => setTimeout(() => lost() && (held = null));
  document.addEventListener('focusin', onFocus);
  document.addEventListener('mousedown', onPress);
  return () => {
    changes.disconnect();
    document.removeEventListener('focusin', onFocus);
    document.removeEventListener('mousedown', onPress);
  };
}
