/** A client that repeats a request until it is answered. Every request of the service can be repeated. */
import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";

/** An answer of the service. */
export interface Answer<T = unknown> {
  readonly status: number;
  readonly body: T;
}

/** A message, as the service shows it. */
export interface ShownMessage {
  readonly id: string;
  readonly role: string;
  readonly text: string;
  readonly attachments: readonly string[];
}

/** A session in a list. */
export interface ShownSession {
  readonly id: string;
  readonly title?: string;
  readonly archivedAt?: string;
}

export interface ServiceClient {
  /** Sends bytes as they are, anything else as JSON. Repeats the request after 502, 503, a lost connection. */
  send<T = { error?: { code: string } }>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer<T>>;
  /** One turn, with one key for all attempts. */
  turn(
    session: string,
    text: string,
    attachments?: readonly string[],
  ): Promise<Answer<{ questionId: string; answerId: string; answer: string }>>;
  messages(session: string): Promise<readonly ShownMessage[]>;
  /** All sessions, page by page. */
  list(options?: { readonly limit?: number; readonly archived?: boolean }): Promise<readonly ShownSession[]>;
}

const maxAttempts = 100;

/** @param options.onRetry called before a request is repeated */
export function serviceClient(
  url: string,
  token: string,
  { onRetry = () => {} }: { readonly onRetry?: (reason: string) => void } = {},
): ServiceClient {
  const send: ServiceClient["send"] = async (method, path, body, headers = {}) => {
    const isBytes = body instanceof Uint8Array;
    const type = isBytes || body === undefined ? {} : { "content-type": "application/json" };
    const init = {
      method,
      headers: { authorization: `Bearer ${token}`, ...type, ...headers },
      ...(body === undefined ? {} : { body: isBytes ? Uint8Array.from(body) : JSON.stringify(body) }),
    };
    for (let attempt = 1; ; attempt++) {
      try {
        const response = await fetch(`${url}${path}`, init);
        const isJson = response.headers.get("content-type")?.startsWith("application/json");
        const answer = { status: response.status, body: await (isJson ? response.json() : response.text()) };
        const running = answer.body?.error?.code === "TURN_RUNNING";
        if (response.status !== 502 && response.status !== 503 && !running) return answer;
        if (attempt === maxAttempts) return answer;
        onRetry(`${response.status} ${answer.body?.error?.code}`);
      } catch (error) {
        if (attempt === maxAttempts) throw error;
        onRetry(String(error));
      }
      await setTimeout(Math.random() * Math.min(1_000, 20 * 2 ** attempt));
    }
  };
  return {
    send,
    turn: (session, text, attachments = []) =>
      send("POST", `/sessions/${session}/turns`, { text, attachments }, { "idempotency-key": randomUUID() }),
    async messages(session) {
      const { status, body } = await send<{ messages: ShownMessage[] }>("GET", `/sessions/${session}`);
      if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
      return body.messages;
    },
    async list({ limit = 50, archived } = {}) {
      const sessions: ShownSession[] = [];
      const filter = archived === undefined ? "" : `&archived=${archived}`;
      for (let after: string | undefined = ""; after !== undefined; ) {
        const from: string = after === "" ? "" : `&after=${encodeURIComponent(after)}`;
        const { body } = await send<{ sessions: ShownSession[]; next?: string }>(
          "GET",
          `/sessions?limit=${limit}${filter}${from}`,
        );
        sessions.push(...body.sessions);
        after = body.next;
      }
      return sessions;
    },
  };
}
