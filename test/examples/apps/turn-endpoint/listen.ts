import { eventsIn, type TurnEvent } from "../../../../examples/apps/turn-endpoint/client.js";

/** A stream of events that is read as it arrives. */
export class Listening {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #heard = "";

  constructor(answer: Response) {
    this.#reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  }

  get heard(): string {
    return this.#heard;
  }

  /** Reads until this text. */
  async until(text: string): Promise<void> {
    while (!this.#heard.includes(text)) {
      const { done, value } = await this.#reader.read();
      if (done) throw new Error(`the stream has ended without ${text}`);
      this.#heard += this.#decoder.decode(value, { stream: true });
    }
  }

  /** Reads to the end. */
  async rest(): Promise<readonly TurnEvent[]> {
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) return eventsIn(this.#heard);
      this.#heard += this.#decoder.decode(value, { stream: true });
    }
  }
}
