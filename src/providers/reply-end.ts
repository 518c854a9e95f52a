/** The end of a reply whose chunks carry a reason to stop, where a server gives one too early or too often. */

/** Ends after which a server can go on: those of a cut or of a refusal are final. */
const mayGoOn: ReadonlySet<string> = new Set(["stop", "STOP", "tool_calls"]);

/**
 * Decides which chunks belong to a reply. Nothing counts after the first reason to stop, with two exceptions:
 * servers that give one with each chunk, and servers that give one before any content.
 *
 * @see https://github.com/BerriAI/litellm/issues/2195, https://github.com/songquanpeng/one-api/pull/1477 and
 *   https://github.com/router-for-me/CLIProxyAPI/issues/5651 (stored copies, 2026-11-28)
 */
export class ReplyEnd {
  #reason: string | undefined;
  #hasContent = false;
  /** Whether a chunk of content came without a reason: then the first reason is the end. */
  #isPlain = false;
  /** The first chunk of content, if it has a reason. A server that sends the reply again repeats it. */
  #first: string | undefined;

  /** The reason to stop; undefined while the reply arrives. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** Whether a chunk belongs to the reply; if it does, its reason counts. */
  takes(chunk: object, hasContent: boolean, reason: string | undefined): boolean {
    if (this.#reason !== undefined && !(hasContent && this.#goesOn(chunk, reason))) return false;
    if (hasContent && !this.#hasContent && reason !== undefined) this.#first = JSON.stringify(chunk);
    this.#isPlain ||= hasContent && reason === undefined;
    this.#hasContent ||= hasContent;
    this.#reason = reason;
    return true;
  }

  /** Whether content can follow the reason that came. */
  #goesOn(chunk: object, reason: string | undefined): boolean {
    if (this.#reason === undefined || !mayGoOn.has(this.#reason)) return false;
    if (!this.#hasContent) return true;
    return !this.#isPlain && reason !== undefined && JSON.stringify(chunk) !== this.#first;
  }
}
