import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/**
 * A proxy in front of a PostgreSQL server that loses a request, or the answer to one. It reads as much of the
 * protocol as tells where a request ends and which statements are in it; see "Message Formats" in PostgreSQL's
 * documentation.
 */

/**
 * What happens to a request. `"before"`: it never reaches the server. `"during"`: it reaches the server, and the
 * client loses its connection at once. `"after"`: the server has answered, and the answer is lost.
 * `"partial"`: half of its bytes reach the server.
 */
export type Cut = "before" | "partial" | "during" | "after";

/** A running proxy. */
export interface PostgresProxy {
  /** The connection string of the server, by way of the proxy. */
  readonly url: string;
  /** Called for each request with the text of its statements. An answer other than undefined cuts. */
  decide: (statements: string) => Cut | undefined;
  /** The number of requests that were cut. */
  readonly cuts: number;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startPostgresProxy(url: string): Promise<PostgresProxy> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let cuts = 0;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    return socket.setNoDelay();
  };
  const proxy: PostgresProxy = {
    url: "",
    decide: () => undefined,
    get cuts() {
      return cuts;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
  const server = createServer((accepted) => {
    const client = keep(accepted);
    const upstream = keep(connect(Number(port), hostname));
    const requests = new RequestReader();
    /** Whether the answer to the last request is lost. */
    let muted = false;
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    client.on("data", (data) => {
      for (const { bytes, statements } of requests.push(data)) {
        const cut = statements === "" ? undefined : proxy.decide(statements);
        if (cut === undefined) {
          upstream.write(bytes);
          continue;
        }
        cuts++;
        if (cut === "before") return end();
        if (cut === "partial") {
          upstream.end(bytes.subarray(0, bytes.length >> 1));
          client.destroy();
          return;
        }
        muted = true;
        upstream.write(bytes);
        // The server goes on with it although nobody listens.
        if (cut === "during") client.destroy();
      }
    });
    upstream.on("data", (data) => {
      if (!muted) client.write(data);
      else if (endsRequest(data)) end();
    });
    client.on("close", () => (muted ? undefined : upstream.destroy()));
    upstream.on("close", () => client.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no port");
  const own = new URL(url);
  own.port = String(address.port);
  return Object.assign(proxy, { url: own.href });
}

/** ReadyForQuery ends every answer: "Z", a length of five, the state of the transaction. */
function endsRequest(data: Buffer): boolean {
  return data.length >= 6 && data[data.length - 6] === 0x5a && data.readUInt32BE(data.length - 5) === 5;
}

interface Request {
  readonly bytes: Buffer;
  /** Empty for the start of a connection, and its end. */
  readonly statements: string;
}

/** Splits the bytes of a client into requests, each up to and including a Sync or a simple Query. */
class RequestReader {
  #rest: Buffer = Buffer.alloc(0);
  #started = false;
  readonly #named = new Map<string, string>();

  *push(data: Buffer): Generator<Request> {
    this.#rest = Buffer.concat([this.#rest, data]);
    if (!this.#started) {
      if (this.#rest.length < 4 || this.#rest.length < this.#rest.readUInt32BE(0)) return;
      // The startup message alone has no type.
      yield { bytes: this.#take(this.#rest.readUInt32BE(0)), statements: "" };
      this.#started = true;
    }
    let at = 0;
    const statements: string[] = [];
    while (this.#rest.length >= at + 5) {
      const end = at + 1 + this.#rest.readUInt32BE(at + 1);
      if (this.#rest.length < end) break;
      const type = String.fromCharCode(this.#rest[at] ?? 0);
      const body = this.#rest.subarray(at + 5, end);
      at = end;
      if (type === "P") {
        const [name = "", text = ""] = body.toString("latin1").split("\0");
        this.#named.set(name, text);
      }
      if (type === "B") statements.push(this.#named.get(body.toString("latin1").split("\0")[1] ?? "") ?? "?");
      if (type === "Q") statements.push(body.toString("latin1"));
      if (!"QSXp".includes(type)) continue;
      yield { bytes: this.#take(at), statements: statements.splice(0).join("\n") };
      at = 0;
    }
  }

  #take(count: number): Buffer {
    const taken = this.#rest.subarray(0, count);
    this.#rest = this.#rest.subarray(count);
    return taken;
  }
}
