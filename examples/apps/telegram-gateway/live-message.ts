import { TelegramError } from "./bot-api.js";
import type { Chat, ShownMessage } from "./outgoing.js";
import { isBlank, maxTextUnits, textPieces } from "./outgoing.js";
import type { Clock } from "./retry.js";
import { maxRetryAfter } from "./retry.js";

/**
 * Milliseconds: a chat takes about one message a second. https://core.telegram.org/bots/faq, read 2026-11-22.
 */
const pace = 1000;

/**
 * A message that grows while the agent writes: sent with the first text, then edited at most once a second.
 * Its failures are ignored, because the whole text is sent at the end.
 */
export class LiveMessage {
  readonly #chat: Pick<Chat, "sendText" | "editText">;
  readonly #clock: Clock;
  readonly #ended = new AbortController();
  #wanted = "";
  #shown: ShownMessage | undefined;
  #notBefore = Number.NEGATIVE_INFINITY;
  #blockedUntil = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;

  constructor(chat: Pick<Chat, "sendText" | "editText">, clock: Clock) {
    this.#chat = chat;
    this.#clock = clock;
  }

  /** Shows the text so far; of a long text the beginning. */
  show(text: string): void {
    if (this.#ended.signal.aborted || isBlank(text)) return;
    this.#wanted = textPieces(text, maxTextUnits)[0] ?? "";
    this.#running ??= this.#keepUp().finally(() => {
      this.#running = undefined;
    });
  }

  /**
   * Stops, and returns the shown message, if there is one. After a 429 it resolves when the chat accepts
   * messages again.
   */
  async end(): Promise<ShownMessage | undefined> {
    this.#ended.abort();
    await this.#running;
    const pause = Math.min(this.#blockedUntil - this.#clock.now(), maxRetryAfter * 1000);
    if (pause > 0) await this.#clock.sleep(pause);
    return this.#shown;
  }

  async #keepUp(): Promise<void> {
    const { signal } = this.#ended;
    try {
      while (this.#wanted !== (this.#shown?.text ?? "")) {
        const pause = this.#notBefore - this.#clock.now();
        if (pause > 0) await this.#clock.sleep(pause, signal);
        if (signal.aborted) return;
        await this.#showOnce(this.#wanted);
      }
    } catch {
      // Ended during a pause.
    }
  }

  async #showOnce(text: string): Promise<void> {
    this.#notBefore = this.#clock.now() + pace;
    try {
      const messageId = this.#shown?.messageId;
      if (messageId === undefined) this.#shown = { messageId: await this.#chat.sendText(text), text };
      else {
        await this.#chat.editText(messageId, text);
        this.#shown = { messageId, text };
      }
    } catch (error) {
      if (!(error instanceof TelegramError) || error.retryAfter === undefined) this.#ended.abort();
      else this.#notBefore = this.#blockedUntil = this.#clock.now() + error.retryAfter * 1000;
    }
  }
}
