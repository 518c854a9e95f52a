import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";

/** A raw connection. */
export class RawHttp implements Disposable {
  readonly socket: Socket;
  #received = "";
  #closed = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding("latin1");
    socket.on("error", () => {});
    socket.on("data", (text: string) => {
      this.#received += text;
    });
    socket.on("close", () => {
      this.#closed = true;
    });
  }

  static async open(port: number): Promise<RawHttp> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return new RawHttp(socket);
  }

  get received(): string {
    return this.#received;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** 0 before the first one. */
  get status(): number {
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(this.#received)?.[1] ?? 0);
  }

  write(...lines: readonly string[]): void {
    this.socket.write(lines.join("\r\n"), "latin1");
  }

  async untilStatus(): Promise<number> {
    while (this.status === 0 && !this.#closed) await setTimeout(5);
    return this.status;
  }

  async untilClosed(): Promise<void> {
    while (!this.#closed) await setTimeout(5);
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

/** The status of a request with exactly these header lines. */
export async function statusOf(port: number, first: string, ...headers: readonly string[]): Promise<number> {
  using raw = await RawHttp.open(port);
  raw.write(first, ...headers, "connection: close", "", "");
  return await raw.untilStatus();
}
