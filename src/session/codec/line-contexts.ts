import { idOf } from "../tree/entry-key.js";
import type { DecodeContext, Decoded } from "./decode.js";
import { versionOf } from "./migrate.js";

/** How each line of a log is to be read, for whoever takes them one after the other and keeps no tree. */
export class LineContexts {
  readonly #maxDepth: number;
  #version: number | undefined;
  #ordinal = 0;
  #previousId: string | null = null;

  constructor(maxDepth: number) {
    this.#maxDepth = maxDepth;
  }

  /** For the next line. What stands before the header has no version, and is read as the current one. */
  get next(): DecodeContext {
    return {
      version: this.#version,
      ordinal: this.#ordinal,
      previousId: this.#previousId,
      maxDepth: this.#maxDepth,
    };
  }

  /** Goes on behind a line. One that is too long to be read counts for nothing. */
  pass(line: Decoded): void {
    if (line.kind === "blank") return;
    // Version 1 counts every line that parses, so a bad one must not move the ids of those after it.
    if (line.kind !== "bad" || line.parsed) this.#ordinal++;
    if (line.kind === "header") this.#version ??= versionOf(line.header);
    if (line.kind === "entry") this.#previousId = idOf(line.head.id);
  }
}
