import { setTimeout } from "node:timers/promises";
import type { UploadedFile } from "./files.js";
import type { EntrySummary } from "./served-session.js";
import type { TurnServer } from "./server.js";

/** An event of a turn, as far as it is looked at. */
export interface TurnEvent {
  readonly event: string;
  readonly data: Partial<EntrySummary> & {
    readonly leafId?: string;
    readonly failed?: readonly { readonly name: string; readonly code: string; readonly reason: string }[];
    readonly error?: { readonly code: string; readonly message: string };
  };
}

/** A session as the server tells it. */
export interface TurnSession {
  readonly id: string;
  readonly leafId: string | null;
  readonly running: boolean;
  readonly entries: readonly EntrySummary[];
}

/** A client that does what the page does. */
export interface TurnClient {
  readonly origin: string;
  /** Sends bytes as they are, anything else as JSON. */
  send(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Response>;
  /** Rejects unless the answer is 201. */
  upload(name: string, bytes: Uint8Array): Promise<UploadedFile>;
  /** All events of a turn. Rejects unless the answer is 200. */
  turn(message: string, attachments?: readonly string[]): Promise<readonly TurnEvent[]>;
  session(): Promise<TurnSession>;
  /** Asks for the session until it is as wanted. */
  until(isWanted: (session: TurnSession) => boolean): Promise<TurnSession>;
}

/** A client of a server. */
export function turnClient({ origin, token }: Pick<TurnServer, "origin" | "token">): TurnClient {
  const send: TurnClient["send"] = (method, path, body, headers = {}) => {
    const isBytes = body instanceof Uint8Array;
    return fetch(`${origin}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined || isBytes ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isBytes ? Uint8Array.from(body) : JSON.stringify(body) }),
    });
  };
  const session = async () => (await send("GET", "/api/harness/session")).json() as Promise<TurnSession>;
  return {
    origin,
    send,
    session,
    async upload(name, bytes) {
      const response = await send("POST", `/api/harness/files?name=${encodeURIComponent(name)}`, bytes);
      if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
      return (await response.json()) as UploadedFile;
    },
    async turn(message, attachments) {
      const body = { message, ...(attachments === undefined ? {} : { attachments }) };
      const response = await send("POST", "/api/harness/turn", body);
      if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
      return eventsIn(await response.text());
    },
    async until(isWanted) {
      for (;;) {
        const now = await session();
        if (isWanted(now)) return now;
        await setTimeout(10);
      }
    },
  };
}

/** The events of a stream that has ended, each of one line of data, as this server sends them. */
export function eventsIn(text: string): readonly TurnEvent[] {
  const blocks = text.split("\n\n").filter((block) => block.startsWith("event: "));
  return blocks.map((block) => {
    const [event = "", data = ""] = block.split("\n");
    return {
      event: event.slice("event: ".length),
      data: JSON.parse(data.slice("data: ".length)) as TurnEvent["data"],
    };
  });
}
