import { setTimeout } from "node:timers/promises";
import type { RecentPage, SessionEntry } from "sessile";
import type { UploadedFile } from "./files.js";
import type { EntrySummary } from "./served-session.js";
import type { TurnServer } from "./server.js";

/** The fields of an event of a turn that the client reads. */
export interface TurnEvent {
  readonly event: string;
  readonly data: Partial<EntrySummary> & {
    /** The whole entry. */
    readonly entry?: SessionEntry;
    readonly leafId?: string;
    readonly failed?: readonly { readonly name: string; readonly code: string; readonly reason: string }[];
    readonly error?: { readonly code: string; readonly message: string };
  };
}

/** A session, as the server sends it. */
export interface TurnSession {
  readonly id: string;
  readonly leafId: string | null;
  readonly running: boolean;
  readonly entries: readonly EntrySummary[];
}

/** A client with the requests of the page. */
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
  /** The newest part of the path, or the part before a cursor. */
  recent(before?: string): Promise<RecentPage & Omit<TurnSession, "entries">>;
  /** Polls the session until the predicate is true. */
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
    async recent(before) {
      const query = before === undefined ? "" : `?before=${encodeURIComponent(before)}`;
      return (await send("GET", `/api/harness/recent${query}`)).json() as ReturnType<TurnClient["recent"]>;
    },
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

/** The events of a complete stream, each with one line of data. */
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
