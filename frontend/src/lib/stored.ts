// What this browser remembers. A browser that forbids it forgets; nothing else
// changes.

export function remembered(key: string, otherwise: string): string {
  try {
    return localStorage.getItem(`bellwether.${key}`) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(`bellwether.${key}`, value);
  } catch {
    // a private window: it lasts as long as the page
  }
}
