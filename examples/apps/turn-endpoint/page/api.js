/**
 * @typedef {object} Resource
 * @property {string} resourceId
 * @property {string} kind "image" for what has a thumbnail
 * @property {string} [name]
 * @property {string} mediaType
 * @property {number} size bytes
 * @property {number} [width]
 * @property {number} [height]
 * @property {string} blob
 */

/** @import { SessionEntry, UnknownEntry } from "sessile" */

/** @typedef {SessionEntry | UnknownEntry} Entry */

/**
 * A part of the path to the leaf.
 *
 * @typedef {object} PathPage
 * @property {string} id
 * @property {string} [name]
 * @property {string | null} leafId
 * @property {boolean} running
 * @property {readonly Entry[]} entries oldest first
 * @property {string} [before] the cursor of the page before; absent if there is none
 */

/**
 * An entry in the tree.
 *
 * @typedef {object} EntrySummary
 * @property {string} id
 * @property {string | null} parentId
 * @property {string} type
 * @property {"user" | "assistant" | "toolResult"} [role]
 * @property {string} [text]
 * @property {readonly { readonly name: string }[]} [calls]
 * @property {readonly Resource[]} [resources]
 * @property {string} [label]
 */

/**
 * @typedef {object} SessionSummary
 * @property {string} id
 * @property {string} [name]
 * @property {string | null} leafId
 * @property {boolean} running
 * @property {readonly EntrySummary[]} entries parents before their children, siblings in the order of the file
 */

/** @typedef {{ readonly name: string, readonly code: string, readonly reason: string }} Failure of an attachment */
/** @typedef {{ readonly code: string, readonly message: string, readonly category?: string, readonly errors?: readonly Failure[] }} ErrorBody */
/** @typedef {{ readonly path: string, readonly name: string, readonly mediaType: string, readonly kind: string, readonly size: number }} Upload */

/**
 * @typedef {(
 *   | { readonly type: "entry", readonly entry: Entry, readonly summary: EntrySummary }
 *   | { readonly type: "warning", readonly failed: readonly Failure[] }
 *   | { readonly type: "delta", readonly text: string }
 *   | { readonly type: "done", readonly leafId: string | null }
 *   | { readonly type: "error", readonly error: ErrorBody }
 * )} TurnEvent
 */

/** A refusal of the server, with its message. */
export class Refused extends Error {
  /** @override */
  name = "Refused";

  /**
   * @param {number} status
   * @param {ErrorBody} body
   */
  constructor(status, body) {
    super(body.message);
    this.status = status;
    this.code = body.code;
    this.errors = body.errors ?? [];
  }
}

/** No response arrived, or it broke off. */
export class ConnectionLost extends Error {
  /** @override */
  name = "ConnectionLost";
}

/** @typedef {ReturnType<typeof connect>} Api */

/**
 * The server's interface as functions.
 *
 * @param {string} token
 */
export function connect(token) {
  /**
   * @param {string} method
   * @param {string} path
   * @param {{ body?: Blob | string, signal?: AbortSignal }} [options] a string is JSON
   */
  async function call(method, path, { body, signal } = {}) {
    const authorization = `Bearer ${token}`;
    const type = typeof body === "string" ? "application/json" : "application/octet-stream";
    const answer = await fetch(`/api/harness/${path}`, {
      method,
      headers: body === undefined ? { authorization } : { authorization, "content-type": type },
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    }).catch(lost);
    if (answer.ok) return answer;
    throw new Refused(answer.status, await errorOf(answer));
  }

  return {
    /**
     * The newest part of the path to the leaf, or the part before a cursor.
     *
     * @param {string} [before]
     * @returns {Promise<PathPage>}
     */
    recent: async (before) =>
      json(
        await call("GET", before === undefined ? "recent" : `recent?before=${encodeURIComponent(before)}`),
      ),

    /** @returns {Promise<SessionSummary>} the whole tree */
    session: async () => json(await call("GET", "session")),

    /**
     * @param {File} file
     * @param {AbortSignal} signal
     * @returns {Promise<Upload>}
     */
    upload: async (file, signal) =>
      json(await call("POST", `files?name=${encodeURIComponent(file.name)}`, { body: file, signal })),

    /**
     * Begins a turn: resolves once the server accepted it.
     *
     * @param {string} message
     * @param {readonly string[]} attachments paths of uploads
     * @returns {Promise<AsyncGenerator<TurnEvent, void>>}
     */
    turn: async (message, attachments) =>
      eventsOf(await call("POST", "turn", { body: JSON.stringify({ message, attachments }) })),

    /**
     * Begins a turn without a message: the leaf is one that gets another reply.
     *
     * @returns {Promise<AsyncGenerator<TurnEvent, void>>}
     */
    again: async () => eventsOf(await call("POST", "turn", { body: JSON.stringify({ again: true }) })),

    stop: async () => void (await call("DELETE", "turn")),

    /**
     * Moves the leaf, which the next message follows; null for before the first.
     *
     * @param {string | null} entryId
     */
    moveTo: async (entryId) => void (await call("POST", "leaf", { body: JSON.stringify({ entryId }) })),

    /** @param {string} ref such as `sha256:…` */
    blob: async (ref) => (await call("GET", `blobs/${ref}`)).blob().catch(lost),
  };
}

/**
 * @param {Response} answer
 * @returns {AsyncGenerator<TurnEvent, void>}
 */
async function* eventsOf(answer) {
  let ended = false;
  const events = readEventStream(piecesOf(answer));
  for await (const { event, data } of events) {
    const value = JSON.parse(data);
    if (event === "entry") {
      const { entry, ...summary } = value;
      yield { type: event, entry, summary };
    }
    if (event === "warning") yield { type: event, failed: value.failed };
    if (event === "delta") yield { type: event, text: value.text };
    if (event === "done") yield { type: event, leafId: value.leafId };
    if (event === "error") yield { type: event, error: value.error };
    ended ||= event === "done" || event === "error";
  }
  if (!ended) throw new ConnectionLost("the reply broke off");
}

/**
 * Not every browser can iterate over a body.
 *
 * @param {Response} answer
 * @returns {AsyncGenerator<Uint8Array, void>}
 */
async function* piecesOf(answer) {
  const reader = answer.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(lost);
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** @param {Response} answer */
function json(answer) {
  return answer.json().catch(lost);
}

/**
 * @param {Response} answer
 * @returns {Promise<ErrorBody>}
 */
async function errorOf(answer) {
  try {
    return (await answer.json()).error;
  } catch {
    return { code: "UNKNOWN", message: `the server answered ${answer.status}` };
  }
}

/**
 * @param {unknown} cause
 * @returns {never}
 */
function lost(cause) {
  if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
  throw new ConnectionLost("the server does not answer", { cause });
}

/**
 * @typedef {object} ServerEvent
 * @property {string} event
 * @property {string} data
 */

/**
 * Reads server-sent events from chunks of any size. EventSource neither posts nor sends an Authorization
 * header. Rules: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream, read
 * 2026-11-22. Ids and retry times are ignored, because a turn is not sent twice.
 *
 * @param {AsyncIterable<Uint8Array>} chunks
 * @returns {AsyncGenerator<ServerEvent, void>} an event that the end of the stream cuts off is none
 */
export async function* readEventStream(chunks) {
  let event = "";
  /** @type {string[]} */
  let data = [];
  for await (const line of readLines(chunks)) {
    if (line === "") {
      if (data.length > 0) yield { event: event || "message", data: data.join("\n") };
      event = "";
      data = [];
      continue;
    }
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") event = value;
    if (field === "data") data.push(value);
  }
}

/**
 * Lines that end with a line feed, a carriage return, or both.
 *
 * @param {AsyncIterable<Uint8Array>} chunks
 * @returns {AsyncGenerator<string, void>}
 */
async function* readLines(chunks) {
  const decoder = new TextDecoder();
  /**
   * @type {string[]} Pieces of a line without its end: joined once, so that a long line in many chunks
   *   takes linear time.
   */
  let begun = [];
  let afterReturn = false;
  for await (const chunk of chunks) {
    let text = decoder.decode(chunk, { stream: true });
    if (text === "") continue;
    // If CR LF was cut in two, the CR has ended the line.
    if (afterReturn && text.startsWith("\n")) text = text.slice(1);
    afterReturn = text.endsWith("\r");
    const lines = text.split(/\r\n|\n|\r/);
    const rest = lines.pop() ?? "";
    for (const line of lines) {
      begun.push(line);
      yield begun.join("");
      begun = [];
    }
    if (rest !== "") begun.push(rest);
  }
}
