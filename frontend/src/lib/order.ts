// The order of names as people read them: node-2 before node-10. One collator:
// making one costs more than the sorting.
const names = new Intl.Collator(undefined, { numeric: true });

/** natural compares two names. */
export const natural = (a: string, b: string): number => names.compare(a, b);
