import { randomHex8 } from "../internal/ids.js";
import type { MediaPart } from "./turns.js";

/** Takes the base64 of a part to be another text for a while; undefined for its own. */
export const standIn: unique symbol = Symbol("stand-in");

/** A media part whose base64 can be stood in for. */
export interface Replaceable extends MediaPart {
  [standIn](text: string | undefined): void;
}

/** Short texts that stand for bytes in a larger text, until it is cut where they are. */
export class StandIns {
  /** Nobody can have written it before. */
  readonly #name = Array.from({ length: 4 }, randomHex8).join("");
  readonly #bytes: Uint8Array[] = [];

  /** A text for these bytes; JSON writes it as it is. */
  for(bytes: Uint8Array): string {
    this.#bytes.push(bytes);
    return `${this.#name}:${this.#bytes.length - 1};`;
  }

  /** What a text has between the texts of {@link StandIns.for}, and the bytes that each of these stands for. */
  cut(text: string): { readonly texts: readonly string[]; readonly spliced: readonly Uint8Array[] } {
    const pieces = text.split(new RegExp(`${this.#name}:(\\d+);`));
    const texts = pieces.filter((_, at) => at % 2 === 0);
    const spliced = pieces.flatMap((piece, at) => {
      const bytes = at % 2 === 1 ? this.#bytes[Number(piece)] : undefined;
      return bytes === undefined ? [] : [bytes];
    });
    return { texts, spliced };
  }
}

/** Does something while short texts stand for the base64 of these parts: what is made of it has none of the large strings. */
export function withStandIns<T>(parts: readonly MediaPart[], standIns: StandIns, make: () => T): T {
  const replaceable = parts.filter((part): part is Replaceable => standIn in part);
  for (const part of replaceable) part[standIn](standIns.for(part.bytes));
  try {
    return make();
  } finally {
    for (const part of replaceable) part[standIn](undefined);
  }
}

/** A value that was made with stand-ins. */
export interface Outline {
  readonly value: object;
  readonly standIns: StandIns;
}

/** Where a projection keeps its outline, for as long as nobody has had its value, which could be changed. */
export const outlineOf: unique symbol = Symbol("outline");
