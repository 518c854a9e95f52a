/**
 * Messages of the AI SDK's user interfaces, as far as the adapter reads them: their shapes, what a page may
 * post, and notes of the fields that messages of a session have no place for.
 */

import { describe } from "../../core/arguments.js";
import { SessileError } from "../../core/errors/index.js";
import { parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import { ownEntry } from "../../log/internal.js";

/** A message of `useChat`, versions 6 and 7. Fields that are not named here are kept. */
export interface UiMessage {
  id: string;
  role: "system" | "user" | "assistant";
  metadata?: unknown;
  parts: { type: string }[];
}

/** A chunk of a UI message stream. */
export interface UiChunk {
  type: string;
}

/** A part with the fields that its type has. */
export type UiPart = { type: string; [field: string]: unknown };

/** A part whose `url` may be a data URL with the bytes of a file. */
export interface FilePart {
  readonly type: "file" | "reasoning-file";
  readonly url: string;
  readonly mediaType?: unknown;
  readonly filename?: unknown;
}

export function isFilePart(part: unknown): part is FilePart {
  return (
    isRecord(part) && (part.type === "file" || part.type === "reasoning-file") && typeof part.url === "string"
  );
}

/** The parts of a message; empty for a value that is no message. */
export function messageParts(message: unknown): readonly unknown[] {
  return isRecord(message) && Array.isArray(message.parts) ? message.parts : [];
}

/** The head of a data URL with base64, such as `data:image/png;base64,`; undefined for any other text. */
export function dataUrlHead(url: string): string | undefined {
  if (!url.startsWith("data:")) return undefined;
  const head = url.slice(0, url.indexOf(",") + 1);
  return head.endsWith(";base64,") ? head : undefined;
}

// What a page may post. Its messages are a client's JSON: only the last one counts, the earlier ones are ids,
// and of a reply only the answers that its calls wait for.

/** What a page may write. A reply, a result and an instruction to the model are the server's. */
export interface PostedMessageOptions {
  /**
   * Whose messages a page may post. A system message instructs the model.
   * @default ["user"]
   */
  readonly roles?: readonly ("user" | "system")[];
  /** The names of the tools that run in the page: it may post the results of their calls. @default [] */
  readonly clientTools?: readonly string[];
}

/** A message as JSON has it. */
export interface PlainMessage {
  readonly id: string;
  readonly role: UiMessage["role"];
  readonly metadata?: unknown;
  readonly parts: readonly UiPart[];
}

/** A copy of a message. Throws INVALID_MESSAGE for a value that is none. */
export function checkedMessage(message: unknown, path: string): PlainMessage {
  const value = plainCopy(message, path);
  if (!isRecord(value)) throw invalidMessage(path, "a message", message);
  const { id, role, parts } = value;
  if (typeof id !== "string") throw invalidMessage(`${path}.id`, "a string", id);
  if (role !== "system" && role !== "user" && role !== "assistant")
    throw invalidMessage(`${path}.role`, "system, user or assistant", role);
  assertParts(parts, `${path}.parts`);
  for (const [at, part] of parts.entries()) {
    if (role !== "assistant" || part.type !== "steering-message") continue;
    const steeringPath = `${path}.parts[${at}]`;
    if (typeof part.id !== "string") throw invalidMessage(`${steeringPath}.id`, "a string", part.id);
    assertParts(part.parts, `${steeringPath}.parts`);
  }
  return value as unknown as PlainMessage;
}

/** A copy by JSON. Throws for a member that JSON has no text for, and for one nested too deep. */
function plainCopy(message: unknown, path: string): unknown {
  try {
    const text = JSON.stringify(message) as string | undefined;
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    throw invalidMessage(path, "a message as JSON", message);
  }
}

function assertParts(parts: unknown, path: string): asserts parts is readonly UiPart[] {
  if (!Array.isArray(parts)) throw invalidMessage(path, "an array", parts);
  for (const [at, part] of parts.entries())
    if (!isRecord(part) || typeof part.type !== "string")
      throw invalidMessage(`${path}[${at}]`, "a part", part);
}

/** The message that a page posted, a copy, and the ids of those that it shows before it, the last one last. */
export interface Posted {
  readonly message: PlainMessage;
  readonly path: string;
  readonly before: readonly string[];
}

/** Checks what a page posted. Throws INVALID_MESSAGE for a role that it may not write. */
export function postedMessage(
  messages: readonly unknown[],
  { roles = ["user"] }: PostedMessageOptions,
): Posted {
  if (!Array.isArray(messages)) throw invalidMessage("messages", "an array", messages);
  const path = `messages[${messages.length - 1}]`;
  if (messages.length === 0) throw invalidMessage("messages", "a message at the end", "none");
  const message = checkedMessage(messages.at(-1), path);
  const { role } = message;
  if (role !== "assistant" && !roles.includes(role))
    throw invalidMessage(`${path}.role`, "a role among roles", role);
  const before = messages
    .slice(0, -1)
    .flatMap((one: unknown) => (isRecord(one) && typeof one.id === "string" ? [one.id] : []));
  return { message, path, before };
}

/** The error of a message whose id names one that is not the page's to write, or an unknown reply. */
export function notOwn({ message, path }: Posted): SessileError<"INVALID_MESSAGE"> {
  const { id, role } = message;
  const expected = role === "assistant" ? "the id of a reply of this chat" : `the id of a ${role}'s message`;
  return invalidMessage(`${path}.id`, expected, id);
}

/** Whether a part is a call that waits for a result or an approval. */
function isWaiting({ state }: UiPart): boolean {
  return state === "input-available" || state === "approval-requested" || state === "approval-responded";
}

/** Whether a part has the final result of its call. */
export function isAnswered({ state, preliminary }: UiPart): boolean {
  if (state === "output-available") return preliminary !== true;
  return state === "output-error" || state === "output-denied";
}

/** Whether the user refused the call of a part. */
export function isDenied({ state, approval }: UiPart): boolean {
  return state === "approval-responded" && isRecord(approval) && approval.approved === false;
}

/** The name of the tool of a part. */
export function partToolName({ type, toolName }: UiPart): string {
  return type === "dynamic-tool" ? String(toolName) : type.slice("tool-".length);
}

/**
 * The answers of a page to the calls of a reply, by the indexes of their parts. An answer is the call as the
 * server has it, with the page's result, or with its approval if the call requests that one. Other changes of
 * the reply do not count. Throws INVALID_MESSAGE for the result of another tool than those of the page.
 */
export function replyAnswers(
  reply: UiMessage,
  { message, path }: Posted,
  { clientTools = [] }: PostedMessageOptions,
): ReadonlyMap<number, UiPart> {
  const answers = new Map<number, UiPart>();
  for (const [at, call] of (reply.parts as readonly UiPart[]).entries()) {
    if (!isWaiting(call)) continue;
    const index = message.parts.findLastIndex(({ toolCallId }) => toolCallId === call.toolCallId);
    const answer = message.parts[index];
    if (answer === undefined) continue;
    const { state } = answer;
    if (isAnswered(answer)) {
      const name = partToolName(call);
      if (call.providerExecuted === true || !clientTools.includes(name))
        throw invalidMessage(`${path}.parts[${index}]`, "a result of a tool among clientTools", name);
      const result =
        state === "output-available"
          ? { state, output: answer.output }
          : { state: "output-error", errorText: partErrorText(answer) };
      answers.set(at, { ...call, ...result });
    } else if (state === "approval-responded" && call.state === "approval-requested") {
      const { approval: request } = call;
      const { approval } = answer;
      if (!isRecord(request) || !isRecord(approval) || approval.id !== request.id) continue;
      const { approved, reason } = approval;
      if (typeof approved !== "boolean") continue;
      const said = { approved, ...(typeof reason === "string" ? { reason } : {}) };
      answers.set(at, { ...call, state, approval: { ...request, ...said } });
    }
  }
  return answers;
}

/** The error of a call, or the reason of its denial, as `convertToModelMessages` tells a model. */
export function partErrorText({ errorText, approval }: UiPart): string {
  if (typeof errorText === "string") return errorText;
  return isRecord(approval) && typeof approval.reason === "string"
    ? approval.reason
    : "Tool call execution denied.";
}

export function invalidMessage(
  path: string,
  expected: string,
  got: unknown,
): SessileError<"INVALID_MESSAGE"> {
  return new SessileError("INVALID_MESSAGE", `${path}: expected ${expected}, got ${describe(got)}`, {
    details: { path, expected },
  });
}

// Notes: fields of a message of the user interface that messages of a session have no place for. A note is an
// entry before the message's first one, which maps the message's id to that entry.

/** A difference between a part as the session shows it and as it was. */
interface PartChange {
  /** Index of the part. */
  readonly at: number;
  /** A part that the session does not have. */
  readonly put?: UiPart;
  readonly set?: Readonly<Record<string, unknown>>;
  readonly drop?: readonly string[];
  /** Holds only while the part's call has no result. */
  readonly open?: true;
}

/** A message id of a page, and its entry. */
export interface UiNote {
  readonly messageId: string;
  readonly entryId: string;
  readonly metadata?: unknown;
  /**
   * Whether the first part is no step-start, although the role has steps. Of a steering message: whether the
   * next part is none.
   */
  readonly noStep?: true;
  /** Whether the message is one of the user that the page shows as a part of the reply before it. */
  readonly steering?: true;
  readonly parts?: readonly PartChange[];
}

export const uiNote = ownEntry<UiNote>("sessile.ai-sdk.ui", (data) => {
  if (!isRecord(data) || typeof data.messageId !== "string" || typeof data.entryId !== "string")
    throw new TypeError("data: expected the id of a message and of its entry");
  if (data.parts !== undefined && !(Array.isArray(data.parts) && data.parts.every(isChange)))
    throw new TypeError("data.parts: expected changes");
  return data as unknown as UiNote;
});

function isChange(value: unknown): boolean {
  return isRecord(value) && Number.isSafeInteger(value.at);
}

/** The changes that make `shown` the original parts; `put` has those that the session does not have. */
export function changesBetween(
  shown: readonly UiPart[],
  original: readonly UiPart[],
  isPut: (at: number) => boolean,
  isOpen: (at: number) => boolean,
): readonly PartChange[] {
  const changes: PartChange[] = [];
  let next = 0;
  for (const [at, part] of original.entries()) {
    if (isPut(at)) {
      changes.push({ at, put: part });
      continue;
    }
    const now = shown[next++] ?? { type: "" };
    const set = Object.fromEntries(
      Object.entries(part).filter(([key, value]) => !(key in now) || !isSame(value, now[key])),
    );
    const drop = Object.keys(now).filter((key) => !(key in part));
    if (Object.keys(set).length === 0 && drop.length === 0) continue;
    changes.push({
      at,
      ...(Object.keys(set).length === 0 ? {} : { set }),
      ...(drop.length === 0 ? {} : { drop }),
      ...(isOpen(at) ? { open: true } : {}),
    });
  }
  return changes;
}

/**
 * The parts after the changes. `isOpen` tells the shown parts whose calls have no result, by their indexes.
 */
export function changedParts(
  shown: readonly UiPart[],
  changes: readonly PartChange[],
  isOpen: (at: number) => boolean,
): UiPart[] {
  const parts: UiPart[] = [];
  const byPlace = new Map(changes.map((change) => [change.at, change]));
  const addPut = () => {
    for (let put = byPlace.get(parts.length)?.put; put !== undefined; put = byPlace.get(parts.length)?.put)
      parts.push(put);
  };
  for (const [at, part] of shown.entries()) {
    addPut();
    const change = byPlace.get(parts.length);
    // A result that came later decides the state.
    const isLate = change?.open === true && !isOpen(at);
    const dropped = new Set(isLate ? [] : change?.drop);
    const kept = Object.fromEntries(Object.entries(part).filter(([key]) => !dropped.has(key)));
    parts.push({ ...kept, ...change?.set, ...(isLate ? { state: part.state } : {}) } as UiPart);
  }
  addPut();
  return parts;
}

/** Equal as JSON. The order of keys does not count. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((item, at) => isSame(item, other[at]));
  }
  if (!isRecord(one) || !isRecord(other)) return false;
  const [keys, others] = [readKeys(one), readKeys(other)];
  return (
    keys.length === others.length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key]))
  );
}

function readKeys(value: Record<string, unknown>): readonly string[] {
  return Object.keys(value).filter((key) => value[key] !== undefined);
}

/** A provider's metadata as the text of a block's signature; undefined for none. */
export function metadataSignature(metadata: unknown): string | undefined {
  return isRecord(metadata) && Object.keys(metadata).length > 0 ? JSON.stringify(metadata) : undefined;
}

/** The inverse of {@link metadataSignature}; undefined for a signature of another origin. */
export function signatureMetadata(signature: string | undefined): Record<string, unknown> | undefined {
  if (signature?.startsWith("{") !== true) return undefined;
  const value = parseJson(signature);
  return isRecord(value) && Object.values(value).every(isRecord) ? value : undefined;
}
