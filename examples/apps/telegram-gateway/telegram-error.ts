/** A call of the Bot API that did not succeed. It never has the token, nor a URL, nor a cause that might have one. */
export class TelegramError extends Error {
  /** Such as 400, as the answer says it; absent where no answer came. */
  readonly code: number | undefined;
  /** Seconds to leave the method alone. */
  readonly retryAfter: number | undefined;
  /** The chat is a supergroup now, with this id. */
  readonly migrateTo: number | undefined;

  constructor(
    method: string,
    description: string,
    facts: { readonly code?: number; readonly retryAfter?: number; readonly migrateTo?: number } = {},
  ) {
    super(`${method}: ${description}`);
    this.name = "TelegramError";
    this.code = facts.code;
    this.retryAfter = facts.retryAfter;
    this.migrateTo = facts.migrateTo;
  }
}
