// What can wait waits for the paint: the first one is what people wait for.

/** How long, in ms, a browser that always has something to do may put it off. */
const atMost = 500;

/** oncePainted runs something when what is in the page now has been painted, and the browser has nothing else to do.
 *  Returns its cancel. */
export function oncePainted(run: () => void): () => void {
  let wanted = true;
  const now = () => {
    if (wanted) run();
  };
  requestAnimationFrame(() => ('requestIdleCallback' in window ? requestIdleCallback(now, { timeout: atMost }) : setTimeout(now, 50)));
  return () => {
    wanted = false;
  };
}
