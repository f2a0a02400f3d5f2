// One question at a time before something that cannot be taken back.

export interface Question {
  title: string;
  text: string;
  /** What the button does: Delete, Unload. */
  action: string;
  /** What the other button does, where Cancel could be read as the action: Keep pulling. */
  stay?: string;
  danger?: boolean;
  /** Text that has to be typed first, for what destroys much. */
  type?: string;
  /** Whether there is still something to answer: once there is not, the question goes, unanswered. */
  holds?: () => boolean;
}

class Confirm {
  question = $state.raw<Question | null>(null);
  #answer: ((yes: boolean) => void) | null = null;

  /** ask shows the question; the answer is true only for its action button. */
  ask(q: Question): Promise<boolean> {
    this.#answer?.(false);
    this.question = q;
    return new Promise((resolve) => (this.#answer = resolve));
  }

  answer(yes: boolean): void {
    this.#answer?.(yes);
    this.#answer = null;
    this.question = null;
  }
}

const one = new Confirm();
export const confirmation = one;
export const confirm = (q: Question): Promise<boolean> => one.ask(q);
