import { describe, expect, it } from 'vitest';
import { mendLanguage } from './language';

class Browser {
  #language: string;
  constructor(language: string) {
    this.#language = language;
  }
  get language(): string {
    return this.#language;
  }
}

describe('the language of a browser', () => {
  it.each([['C', 'en-US'], ['C.UTF-8', 'en-US'], ['', 'en-US'], ['de-CH', 'de-CH'], ['en', 'en']])('%s is taken as %s', (named, want) => {
    const b = new Browser(named);
    mendLanguage(b);
    expect(b.language).toBe(want);
    expect(() => new Intl.NumberFormat(b.language)).not.toThrow();
  });
});
