// Light, dark, or as the system has it. The tokens of tokens.css hang on
// data-theme, which is always light or dark.
import { remember, remembered } from './stored';

export type Choice = 'system' | 'light' | 'dark';
export const choices: readonly Choice[] = ['system', 'light', 'dark'];

class Theme {
  choice = $state<Choice>(choices.find((c) => c === remembered('theme', 'system')) ?? 'system');
  /** What is shown. */
  shown = $state<'light' | 'dark'>('light');

  start(): () => void {
    const system = matchMedia('(prefers-color-scheme: dark)');
    const apply = () => this.#apply(system.matches);
    apply();
    system.addEventListener('change', apply);
    return () => system.removeEventListener('change', apply);
  }

  choose(choice: Choice): void {
    this.choice = choice;
    remember('theme', choice);
    this.#apply(matchMedia('(prefers-color-scheme: dark)').matches);
  }

  #apply(systemDark: boolean): void {
    this.shown = this.choice === 'dark' || (this.choice === 'system' && systemDark) ? 'dark' : 'light';
    document.documentElement.dataset.theme = this.shown;
  }
}

export const theme = new Theme();
