/** The one error class of the library. */

import type { ErrorCode, ErrorDetails } from "./codes.js";

/** Parts of a {@link SessileError} beside its code and message. */
export interface SessileErrorOptions<C extends ErrorCode> {
  /** JSON-safe facts about the failure; the shape is fixed by the code. */
  readonly details: ErrorDetails[C];
  /** The error that caused this one. */
  readonly cause?: unknown;
}

/** C0, DEL, C1, bidirectional controls, line and paragraph separators, and lone surrogates. */
const unprintable =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches them on purpose
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Surrogate}/gu;

/**
 * A failure with a stable `code` and JSON-safe `details`. The message is for people and may change.
 *
 * @example
 * ```ts
 * try {
 *   await session.appendMessage(message);
 * } catch (error) {
 *   if (!SessileError.is(error, "CONCURRENT_WRITER")) throw error;
 *   await session.appendMessage(message); // a deliberate branch next to the other writer's
 * }
 * ```
 */
export class SessileError<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name = "SessileError";
  /** The stable name of the failure. */
  readonly code: C;
  /** Facts about the failure, safe to put in a log as JSON. */
  readonly details: ErrorDetails[C];

  constructor(code: C, message: string, options: SessileErrorOptions<C>) {
    super(
      SessileError.printable(message),
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.code = code;
    this.details = options.details;
  }

  /**
   * Escapes control characters, line separators and bidirectional controls in untrusted text, so that no id,
   * path or damaged line can move a terminal's cursor or forge a log line. Messages are escaped, `details`
   * are not.
   *
   * @example
   * ```ts
   * SessileError.printable("a\u001b[2J\nb"); // "a\\u001b[2J\\nb"
   * ```
   */
  static printable(text: string): string {
    return text.replace(unprintable, (character) => {
      const short =
        character === "\n" ? "\\n" : character === "\r" ? "\\r" : character === "\t" ? "\\t" : undefined;
      return short ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
    });
  }

  /**
   * Whether `value` is a SessileError with this code; narrows its `details`. Compares name and code, so that
   * errors of a second copy of the library match too.
   */
  static is<C extends ErrorCode>(value: unknown, code: C): value is SessileError<C> {
    return (
      value instanceof Error && value.name === "SessileError" && (value as { code?: unknown }).code === code
    );
  }

  /** The error as plain data, for logs and for the wire. */
  toJSON(): {
    readonly name: string;
    readonly code: C;
    readonly message: string;
    readonly details: ErrorDetails[C];
  } {
    return { name: this.name, code: this.code, message: this.message, details: this.details };
  }
}
