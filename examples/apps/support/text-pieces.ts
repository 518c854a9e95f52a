/** What the largest piece has at least, in characters, before it goes without waiting. */
const pieceLength = 200;
const pieceMs = 300;

/**
 * Text that comes word by word, given on in pieces worth a frame each: of some length, or some time after the one before. A ring
 * of a thousand frames would else hold the words of one answer and nothing before it.
 */
export class TextPieces {
  readonly #give: (text: string) => void;
  #text = "";
  #givenAt = Number.NEGATIVE_INFINITY;

  constructor(give: (text: string) => void) {
    this.#give = give;
  }

  add(text: string): void {
    this.#text += text;
    if (this.#text.length >= pieceLength || performance.now() - this.#givenAt >= pieceMs) this.flush();
  }

  /** Gives what is left. */
  flush(): void {
    if (this.#text === "") return;
    this.#give(this.#text);
    this.#text = "";
    this.#givenAt = performance.now();
  }
}
