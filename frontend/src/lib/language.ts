// WebKitGTK names the language of a system whose locale is C.UTF-8 "C", which
// is no language: whatever formats numbers by it throws, the charts' library
// while it is loaded. Such a page is in English, as all of ours are.

/** mendLanguage gives a browser a language that can be formatted by, where it names none. */
export function mendLanguage(at: { readonly language: string } = navigator): void {
  try {
    new Intl.Locale(at.language); // as strict as a formatter, which takes some 15 ms to make
  } catch {
    Object.defineProperty(at, 'language', { value: 'en-US', configurable: true });
  }
}
