import { TelegramError } from "./bot-api.js";
import type { Chat, ShownMessage } from "./outgoing.js";
import { isBlank, maxTextUnits, textPieces } from "./outgoing.js";
import type { Clock } from "./retry.js";
import { maxRetryAfter } from "./retry.js";

/** Milliseconds: a chat takes about one message a second. https://core.telegram.org/bots/faq, read 2026-11-22. */
const pace = 1000;

/**
 * A message that grows while it is written: sent with the first text, then edited at most once a second, each time to the newest
 * text. Nobody waits for it, and what goes wrong with it is no error, since the whole text comes at the end.
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

  /** What is known of the text by now. Of a long one the beginning is shown. */
  show(text: string): void {
    if (this.#ended.signal.aborted || isBlank(text)) return;
    this.#wanted = textPieces(text, maxTextUnits)[0] ?? "";
    this.#running ??= this.#keepUp().finally(() => {
      this.#running = undefined;
    });
  }

  /**
   * Shows nothing more, and gives the message that is there, if there is one: as soon as the chat may be written to again, where
   * a 429 said to wait.
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
      // Ended while it waited.
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
