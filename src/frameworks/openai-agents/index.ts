/**
 * Sessions of OpenAI Agents as sessions: each item is a message, images are blobs.
 *
 * @module openai-agents
 */

import {
  type AssistantMessage,
  blockResource,
  type ImageBlock,
  type Message,
  messageText,
  type TextBlock,
  userMessage,
} from "../../content/index.js";
import { stringArgument } from "../../core/arguments.js";
import { mapConcurrent } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import { parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import { ownEntry } from "../../log/internal.js";
import type { EntryDraft, Session } from "../../session/index.js";
import { type AdapterOptions, type AppendPlan, adapterSettings, SessionHandles } from "../shared/handles.js";
import {
  type Attach,
  difference,
  eachMessage,
  Media,
  type MessageForm,
  MessageValues,
  messagesOf,
  type PathEntry,
} from "../shared/message-values.js";
import { canonicalText, Parcels, textDigest, valueDigest } from "../shared/parcels.js";

// A session of OpenAI Agents: its items are messages on the path to the leaf.

/** Options of {@link openaiAgentsSession}. */
interface OpenAiAgentsOptions extends AdapterOptions {
  /** The key of the session: any string that is not empty. */
  readonly sessionId: string;
}

/** Entries with the items that they are: one that was saved, or those of another message of the session. */
interface ItemPlace {
  readonly parentId: string | null;
  readonly items: readonly unknown[];
}

const adapter = "openai-agents";
const clearPrefix = "clear.";
const maxConcurrentReads = 16;

/** Its id begins with `clear.`, so that the tree alone shows where the history begins. */
const clearEntry = ownEntry(`sessile.${adapter}.clear`, (data) => data);

const operationEntry = ownEntry(`sessile.${adapter}.operation`, (data): { readonly digest: string } => {
  if (isRecord(data) && typeof data.digest === "string") return { digest: data.digest };
  throw new TypeError("data: expected an operation");
});

/**
 * A session for OpenAI Agents: `run(agent, input, { session })`.
 *
 * Items are appended, never rewritten; images and other large values go to `blobs`. Transactions are made
 * once, also across processes and crashes.
 * @throws TypeError, RangeError for invalid options
 */
export function openaiAgentsSession<Item extends object>(
  options: OpenAiAgentsOptions,
): OpenAiAgentsSession<Item> {
  const settings = adapterSettings(adapter, options);
  const key = stringArgument("sessionId", options.sessionId);
  const place = { partition: settings.partition, key };
  const parcels = new Parcels(settings);
  const values = new MessageValues({ of: adapter, form: itemForm, parcels, blobs: settings.blobs });
  const handles = new SessionHandles(adapter, settings);

  /**
   * Copies and checks items at the call. The result stores their blobs once: a plan calls it, so that appends
   * with and without blobs keep the order of the calls.
   */
  const copied = (items: readonly unknown[], name: string): Copied => {
    const copies = items.map((item, at) => parcels.copy(item, `${name}[${at}]`));
    let stored: readonly EntryDraft[] | undefined;
    return {
      items: copies,
      async drafts() {
        stored ??= await draftsOf(copies);
        return stored;
      },
    };
  };
  const draftsOf = async (items: readonly unknown[]): Promise<readonly EntryDraft[]> => {
    const made: EntryDraft[] = [];
    for (const item of items) {
      // The form renders the item of a model by its id.
      const about = isRecord(item) && typeof item.id === "string" ? { id: item.id } : {};
      for (const draft of await values.drafts(item, { about })) made.push(draft);
    }
    return made;
  };
  /** The same for a transaction, whose errors show none of its content. */
  const copiedContent: typeof copied = (items, name) => {
    try {
      return copied(items, name);
    } catch (error) {
      if (SessileError.is(error, "INVALID_ENTRY"))
        throw unsupported(`transaction.${name}`, "JSON values, undefined and Uint8Array");
      throw error;
    }
  };
  const open = async (places: readonly ItemPlace[]): Promise<Item[]> => {
    const opened: Item[] = [];
    const items = places.flatMap((each) => each.items);
    for await (const item of mapConcurrent(items, maxConcurrentReads, (each) => values.open(each)))
      opened.push(item as Item);
    return opened;
  };
  const newest = async (session: Session | undefined, limit: number): Promise<readonly ItemPlace[]> =>
    session === undefined ? [] : newestItems(session, values, limit);
  const change = (plan: (session: Session | undefined) => Promise<Change>): Promise<void> =>
    handles.append(place, async (session): Promise<AppendPlan<void>> => {
      return { done: () => undefined, ...(await plan(session)) };
    });

  return {
    async getSessionId() {
      return key;
    },

    async getItems(limit) {
      if (limit !== undefined && limit <= 0) return [];
      return handles.read(place, async (session) => {
        const items = await open(await newest(session, limit ?? Infinity));
        return limit === undefined ? items : items.slice(-limit);
      });
    },

    async addItems(items) {
      if (items.length === 0) return;
      const made = copied(items, "items");
      await change(async () => ({ drafts: await made.drafts() }));
    },

    async popItem() {
      return handles.append(place, async (session): Promise<AppendPlan<Item | undefined>> => {
        const last = (await newest(session, 1)).at(-1);
        if (last === undefined) return { drafts: [], done: () => undefined };
        const item = (await open([last])).at(-1);
        const { drafts, parent } = branch(last.parentId, await draftsOf(last.items.slice(0, -1)));
        return { drafts, ...(parent === undefined ? {} : { parent }), done: () => item };
      });
    },

    async clearSession() {
      await change(async (session) => ({ drafts: (await isFresh(session)) ? [] : [clear()] }));
    },

    async replaceHistoryWithCompaction(items) {
      const made = copied(items, "items");
      await change(async (session) => ({
        drafts: [...((await isFresh(session)) ? [] : [clear()]), ...(await made.drafts())],
      }));
    },

    async applyHistoryMutations({ mutations }) {
      const known = mutations.filter(({ type }) => type === "replace_function_call");
      if (known.length === 0) return;
      const callIds = known.map(({ callId }) => callId);
      const replacements = copied(
        known.map(({ replacement }: HistoryMutation<Item>) => replacement),
        "replacements",
      );
      await change(async (session) => {
        const places = await newest(session, Infinity);
        const known = places.flatMap(({ items }, at) => items.map((item) => ({ item, at })));
        const wanted = mutated(known, callIds, replacements.items);
        const first = known.findIndex(({ item }, at) => item !== wanted[at]);
        const changed = places[known[first]?.at ?? -1];
        if (changed === undefined) return { drafts: [] };
        const start = known.findIndex(({ at }) => at === known[first]?.at);
        return branch(changed.parentId, await draftsOf(wanted.slice(start)));
      });
    },

    async applyHistoryTransaction(args) {
      const { operationId, transaction } = copyTransaction(args);
      const added = transaction.type === "append_items" ? transaction.items : transaction.replacement;
      const made = copiedContent(added, transaction.type === "append_items" ? "items" : "replacement");
      const digest = valueDigest(transaction);
      await change(async (session) => {
        const id = `op.${textDigest(JSON.stringify([session === undefined ? null : await lastClear(session), operationId]))}`;
        if (session !== undefined && (await session.tree()).has(id)) {
          await assertSameOperation(session, id, digest);
          return { drafts: [] };
        }
        const parent = await suffixParent(session, transaction);
        const { before = [], ...behind } = parent;
        const kept = [...(await draftsOf(before)), ...(await made.drafts())];
        return { drafts: [{ ...operationEntry.draft({ digest }), id }, ...kept], ...behind };
      });
    },

    async close() {
      await handles.close();
    },
  };

  /** The entry that a replacement follows. Throws CONCURRENT_WRITER if the history has another end. */
  async function suffixParent(
    session: Session | undefined,
    transaction: TransactionCopy,
  ): Promise<{ readonly parent?: string | null; readonly before?: readonly unknown[] }> {
    if (transaction.type === "append_items") return {};
    const { expectedSuffix } = transaction;
    if (expectedSuffix.length === 0) return {};
    const places = await newest(session, expectedSuffix.length);
    const items = await open(places);
    const actual = canonicalText(items.slice(-expectedSuffix.length));
    // The first place may be a message with more items than are expected.
    const before = places[0]?.items.slice(0, Math.max(0, items.length - expectedSuffix.length));
    if (actual === canonicalText(expectedSuffix))
      return { parent: places[0]?.parentId ?? null, before: before ?? [] };
    const message = "Session history suffix no longer matches the transaction precondition.";
    const details = { expected: `${expectedSuffix.length} items`, actual: session?.leafId ?? "none" };
    throw new SessileError("CONCURRENT_WRITER", `${message} Nothing was written`, { details });
  }
}

type Change = Omit<AppendPlan<void>, "done">;

/** Items as they were at a call, and their drafts. */
interface Copied {
  readonly items: readonly unknown[];
  drafts(): Promise<readonly EntryDraft[]>;
}

function clear(): EntryDraft {
  return { ...clearEntry.draft({}), id: `${clearPrefix}${crypto.randomUUID()}` };
}

/** New entries after an entry. Without any only the leaf moves. */
function branch(parent: string | null, drafts: readonly EntryDraft[]): Change {
  return drafts.length === 0 ? { drafts: [{ type: "leaf", targetId: parent }] } : { drafts, parent };
}

/** The items after the mutations, each of which sees the ones before it. An equal replacement is the old item. */
function mutated(
  known: readonly { readonly item: unknown }[],
  ids: readonly string[],
  replacements: readonly unknown[],
): readonly unknown[] {
  let list = known.map(({ item }) => item);
  for (const [at, id] of ids.entries()) {
    const first = list.findIndex((item) => readCallId(item) === id);
    const next = replacements[at];
    list = list.flatMap((item, index) => {
      if (index === first) return [difference(item, next) === undefined ? item : next];
      return readCallId(item) === id ? [] : [item];
    });
  }
  return list;
}

async function assertSameOperation(session: Session, id: string, digest: string): Promise<void> {
  const entry = await session.entry(id);
  const known = entry && operationEntry.read(entry);
  if (known?.digest === digest) return;
  const message = "Session history operation was already applied with a different transaction.";
  throw new SessileError("DUPLICATE_ID", `${message} Nothing was written`, { details: { entryId: id } });
}

/** The id of the last clear above the leaf; null if there is none. */
async function lastClear(session: Session): Promise<string | null> {
  const tree = await session.tree();
  let at = session.leafId;
  while (at !== null && !at.startsWith(clearPrefix)) at = tree.node(at)?.parentId ?? null;
  return at;
}

/** Whether there is nothing to clear: no branch has an entry after the key or the last clear. */
async function isFresh(session: Session | undefined): Promise<boolean> {
  const leaf = session?.leafId ?? null;
  if (session === undefined || leaf === null) return true;
  const tree = await session.tree();
  const isStart = leaf.startsWith(clearPrefix) || tree.node(leaf)?.parentId === null;
  return isStart && tree.children(leaf).length === 0;
}

/** Entries that are read one by one. More of them are read in one batch with all others. */
const maxSingleReads = 16;

/** The entries with the newest items, oldest first: as few as have so many, or all. */
async function newestItems(
  session: Session,
  values: MessageValues,
  limit: number,
): Promise<readonly ItemPlace[]> {
  const tree = await session.tree();
  const nodes = tree.path(session.leafId);
  const own = nodes.slice(nodes.findLastIndex(({ id }) => id.startsWith(clearPrefix)) + 1);
  const isFew = limit <= maxSingleReads;
  const path = isFew ? [] : await session.path();
  const entries = new Map(path.map((entry) => [entry.id, entry]));
  const found: PathEntry[] = [];
  for (const { id } of own.toReversed()) {
    const entry = (isFew ? await session.entry(id) : entries.get(id)) ?? damaged(id);
    found.unshift(entry);
    if (isFew && (await itemCount(found, values)) >= limit) break;
  }
  const places: ItemPlace[] = [];
  for (const value of values.values(found).flatMap(eachMessage)) {
    const parentId = tree.node(value.entries[0]?.id ?? "")?.parentId ?? null;
    places.push({ parentId, items: await values.read(value) });
  }
  let first = places.length;
  for (let count = 0; first > 0 && count < limit; first--) count += places[first - 1]?.items.length ?? 0;
  return places.slice(first);
}

async function itemCount(entries: readonly PathEntry[], values: MessageValues): Promise<number> {
  let count = 0;
  for (const value of values.values(entries))
    count += value.id === undefined ? (await values.read(value)).length : 1;
  return count;
}

function readCallId(item: unknown): string | undefined {
  if (!isRecord(item) || item.type !== "function_call") return undefined;
  return typeof item.callId === "string" ? item.callId : undefined;
}

function damaged(entryId: string): never {
  const message = `the entry ${JSON.stringify(entryId)} is damaged`;
  throw new SessileError("ENTRY_NOT_FOUND", message, { details: { entryId } });
}

// Items of OpenAI Agents as messages: of each item one, and of a message of the model an item a block.

/** An item's attachment: an image, or a file, as a data URL. */
const mediaKeys: Readonly<Record<string, string>> = {
  input_image: "image",
  image: "image",
  input_file: "file",
  file: "file",
};

const itemForm: MessageForm = {
  async drafts(item, attach) {
    const message = isRecord(item) ? await itemMessage(item, attach) : undefined;
    return message && [{ type: "message", message }];
  },
  async render(entries, about) {
    const items = messagesOf(entries).flatMap(messageItems);
    return typeof about?.id === "string" ? items.map((item) => modelItem(item, about.id as string)) : items;
  },
  isMedia: (holder, key) => typeof holder.type === "string" && mediaKeys[holder.type] === key,
};

type ItemObject = Readonly<Record<string, unknown>>;

async function itemMessage(item: ItemObject, attach: Attach): Promise<Message | undefined> {
  const timestamp = Date.now();
  const { role, type = "message", content } = item;
  const model = { provider: "unknown", model: "unknown" } as const;
  const said = (block: AssistantMessage["content"][number]): AssistantMessage => {
    return { role: "assistant", content: [block], ...model, timestamp };
  };
  if (type === "message" && (role === "user" || role === "system")) {
    if (typeof content === "string") return { role, content, timestamp };
    const blocks = role === "user" ? await itemBlocks(content, attach, "upload") : undefined;
    return blocks && { role: "user", content: blocks, timestamp };
  }
  if (type === "message" && role === "assistant" && Array.isArray(content)) {
    const parts = content.filter(isRecord);
    const texts = parts.flatMap(({ type: kind, text, refusal }) => {
      const shown = kind === "refusal" ? refusal : text;
      return typeof shown === "string" ? [{ type: "text", text: shown } as const] : [];
    });
    const refused = parts.some(({ type: kind }) => kind === "refusal") ? { refused: true } : {};
    if (texts.length === 0) return undefined;
    return { role, content: texts, ...model, ...refused, timestamp };
  }
  if (type === "function_call" && typeof item.callId === "string" && typeof item.name === "string") {
    const { callId: id, name, arguments: text, namespace } = item;
    const input = typeof text === "string" ? (parseJson(text) ?? text) : {};
    const group = typeof namespace === "string" ? { namespace } : {};
    return said({ type: "toolCall", id, name, arguments: input, ...group });
  }
  if (type === "function_call_result" && typeof item.callId === "string" && typeof item.name === "string") {
    const { callId: toolCallId, name: toolName, output, status } = item;
    const blocks = await itemBlocks(Array.isArray(output) ? output : [output], attach, "tool");
    const isError = status === "incomplete";
    return blocks && { role: "toolResult", toolCallId, toolName, content: blocks, isError, timestamp };
  }
  if (type === "reasoning" && Array.isArray(content)) {
    const texts = content.flatMap((part: unknown) =>
      isRecord(part) && typeof part.text === "string" ? [part.text] : [],
    );
    return said({ type: "thinking", thinking: texts.join("\n\n") });
  }
  return typeof item.type === "string" && item.type !== "message"
    ? said({ type: "opaque", data: item })
    : undefined;
}

/** Texts and attachments; undefined for a list with no text and no attachment. */
async function itemBlocks(
  content: unknown,
  attach: Attach,
  source: "upload" | "tool",
): Promise<TextBlock[] | undefined> {
  if (!Array.isArray(content)) return undefined;
  const blocks: TextBlock[] = [];
  for (const part of content as readonly unknown[]) {
    if (typeof part === "string") blocks.push({ type: "text", text: part });
    if (!isRecord(part)) continue;
    const { type, text, filename } = part;
    const media = typeof type === "string" ? part[mediaKeys[type] ?? ""] : undefined;
    if (typeof text === "string") blocks.push({ type: "text", text });
    const [, mediaType] = typeof media === "string" ? (/^data:([^;,]{1,127});base64,/.exec(media) ?? []) : [];
    if (media === undefined) continue;
    const resource =
      mediaType === undefined ? undefined : await attach(media, { mediaType, name: filename, source });
    if (resource !== undefined)
      for (const one of userMessage(resource).content as readonly TextBlock[]) blocks.push(one);
    else
      blocks.push({
        type: "text",
        text: typeof media === "string" && media.length < 2048 ? `[${media}]` : `[${String(type)}]`,
      });
  }
  return blocks.length === 0 ? undefined : blocks;
}

/** The items that a message of a session yields. */
function messageItems(message: Message): readonly unknown[] {
  switch (message.role) {
    case "user":
    case "system": {
      const { role, content } = message;
      return [
        { type: "message", role, content: typeof content === "string" ? content : content.map(inputPart) },
      ];
    }
    case "assistant":
      return assistantItems(message);
    case "toolResult": {
      const { toolName: name, toolCallId: callId, content, isError } = message;
      const [only] = content;
      const isText = content.length === 1 && only?.type === "text" && only.resource === undefined;
      const output = isText ? { type: "text", text: only.text } : content.map(inputPart);
      const status = isError ? "incomplete" : "completed";
      return [{ type: "function_call_result", name, callId, status, output }];
    }
    case "custom":
      return message.display
        ? [{ type: "message", role: "user", content: messageText(message, { attachments: true }) }]
        : [];
    case "bashExecution":
      return message.excludeFromContext === true
        ? []
        : [{ type: "message", role: "user", content: messageText(message) }];
  }
}

/** An item as the SDK's model for OpenAI's Responses gives it, with its members in that order. */
function modelItem(item: unknown, id: string): unknown {
  if (!isRecord(item)) return item;
  switch (item.type) {
    case "message": {
      const { content, status } = item;
      const parts = Array.isArray(content) ? content.map(modelPart) : content;
      return { id, type: "message", role: item.role, content: parts, status, providerData: {} };
    }
    case "function_call": {
      const { type, ...call } = item;
      return { type, id, ...call, providerData: { id, type } };
    }
    case "reasoning": {
      const { content } = item;
      const parts = Array.isArray(content) ? content.map(modelPart) : content;
      return { type: "reasoning", id, content: parts, providerData: { id, type: "reasoning" } };
    }
    default:
      return item;
  }
}

function modelPart(part: unknown): unknown {
  if (!isRecord(part)) return part;
  if (part.type === "output_text") return { ...part, providerData: { annotations: [], logprobs: [] } };
  return part.type === "input_text" ? { ...part, providerData: { type: "summary_text" } } : part;
}

/** One message of the texts in a row, and an item for each call and each reasoning. */
function assistantItems({ content, refused }: AssistantMessage): readonly unknown[] {
  const items: Record<string, unknown>[] = [];
  let texts: unknown[] | undefined;
  for (const block of content) {
    if (block.type === "text") {
      const part =
        refused === true
          ? { type: "refusal", refusal: block.text }
          : { type: "output_text", text: block.text };
      if (texts !== undefined) texts.push(part);
      else {
        texts = [part];
        items.push({ type: "message", role: "assistant", status: "completed", content: texts });
      }
      continue;
    }
    texts = undefined;
    if (block.type === "toolCall") {
      const { id: callId, name, arguments: input, namespace } = block;
      const group = namespace === undefined ? {} : { namespace };
      const text = JSON.stringify(input);
      items.push({ type: "function_call", callId, name, ...group, status: "completed", arguments: text });
    } else if (block.type === "thinking") {
      const parts = block.thinking === "" ? [] : [{ type: "input_text", text: block.thinking }];
      items.push({ type: "reasoning", content: parts });
    } else if (block.type === "opaque" && isRecord(block.data)) items.push(block.data);
  }
  return items;
}

function inputPart(block: TextBlock | ImageBlock): unknown {
  if (block.type === "image")
    return { type: "input_image", image: `data:${block.mimeType};base64,${block.data}` };
  const resource = blockResource(block);
  if (resource === undefined || resource.kind === "link") return { type: "input_text", text: block.text };
  const { kind, name, declared, mediaType } = resource;
  const media = new Media(resource, `data:${declared?.mediaType ?? mediaType};base64,`);
  if (kind === "image") return { type: "input_image", image: media };
  return { type: "input_file", file: media, ...(name === undefined ? {} : { filename: name }) };
}

// Checked copies of transactions. Each value of the arguments is read once.

/** A transaction that no caller can change any more. */
type TransactionCopy =
  | { readonly type: "append_items"; readonly items: readonly object[] }
  | {
      readonly type: "replace_suffix";
      readonly expectedSuffix: readonly object[];
      readonly replacement: readonly object[];
    };

/** The fields of each type besides `type`. */
const readFields: Readonly<Record<string, readonly string[]>> = {
  append_items: ["items"],
  replace_suffix: ["expectedSuffix", "replacement"],
};

/**
 * Copies the arguments of a transaction.
 * @throws SessileError INVALID_ENTRY for other fields, and for values that cannot be copied exactly:
 *   accessors, symbols, sparse arrays, dates, cycles, typed arrays except Uint8Array
 */
function copyTransaction(args: unknown): {
  readonly operationId: string;
  readonly transaction: TransactionCopy;
} {
  const [operationId, transaction] = readArguments(args);
  if (typeof operationId !== "string" || operationId.trim() === "")
    throw invalid("operationId", "a non-empty string", "operationId must be a non-empty string");
  if (typeof transaction !== "object" || transaction === null)
    throw invalid("transaction", "an object", "must be an object");
  const copy = copied(transaction) as Readonly<Record<string, unknown>>;
  const type = String(copy.type);
  const fields = Object.hasOwn(readFields, type) ? readFields[type] : undefined;
  if (fields === undefined)
    throw invalid(
      "transaction.type",
      "a known type",
      undefined,
      "Unsupported session history transaction type.",
    );
  const isWhole =
    Object.keys(copy).length === fields.length + 1 && fields.every((field) => Array.isArray(copy[field]));
  const name = type === "append_items" ? "append" : "suffix";
  if (!isWhole) {
    const message = `Session history ${name} transaction fields are invalid.`;
    throw invalid("transaction", `type and ${fields.join(" and ")} alone`, undefined, message);
  }
  for (const field of fields) for (const item of copy[field] as unknown[]) assertItem(item, field);
  return { operationId, transaction: copy as unknown as TransactionCopy };
}

function readArguments(args: unknown): readonly [operationId: unknown, transaction: unknown] {
  try {
    if (typeof args === "object" && args !== null)
      return [Reflect.get(args, "operationId"), Reflect.get(args, "transaction")];
  } catch {
    // An accessor threw.
  }
  throw invalid("args", "an object", "arguments are invalid");
}

function assertItem(item: unknown, field: string): void {
  if (typeof item !== "object" || item === null || Array.isArray(item) || item instanceof Uint8Array)
    throw unsupported(`transaction.${field}`, "items that are objects");
}

function copied(transaction: object): object {
  let copy: unknown;
  try {
    copy = copyValue(transaction, "transaction", new Set());
    // Refuses values that cannot be copied at all, such as a proxy.
    structuredClone(transaction);
  } catch (error) {
    if (SessileError.is(error, "INVALID_ENTRY")) throw error;
    throw unsupported("transaction", "values that can be copied");
  }
  return copy as object;
}

function copyValue(value: unknown, path: string, above: Set<object>): unknown {
  if (value === null || value === undefined) return value;
  if (typeof value === "string" || typeof value === "boolean" || typeof value === "number") return value;
  if (typeof value !== "object") throw unsupported(path, "JSON values, undefined and Uint8Array");
  if (value instanceof Uint8Array) return copyBytes(value, path);
  if (above.has(value)) throw unsupported(path, "no cycle");
  above.add(value);
  const copy = Array.isArray(value) ? copyArray(value, path, above) : copyObject(value, path, above);
  above.delete(value);
  return copy;
}

function copyBytes(value: Uint8Array, path: string): Uint8Array {
  if (Reflect.ownKeys(value).length !== value.length) throw unsupported(path, "bytes without other members");
  return Uint8Array.from(value);
}

function copyArray(value: readonly unknown[], path: string, above: Set<object>): unknown[] {
  const { length } = value;
  // The length is a key too.
  if (Reflect.ownKeys(value).length !== length + 1) throw unsupported(path, "arrays without holes");
  return Array.from({ length }, (_, at) =>
    copyValue(readMember(value, String(at), path), placeByPath(path, at), above),
  );
}

function copyObject(value: object, path: string, above: Set<object>): object {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw unsupported(path, "plain objects");
  const members = Reflect.ownKeys(value).map((key) => {
    if (typeof key !== "string") throw unsupported(path, "no symbols as keys");
    return [key, copyValue(readMember(value, key, path), placeByPath(path, key), above)] as const;
  });
  return Object.fromEntries(members);
}

/** The field or the item that a member is in. Keys of items are content, which an error must not show. */
function placeByPath(path: string, key: string | number): string {
  if (typeof key === "number") return path.endsWith("]") ? path : `${path}[${key}]`;
  const isField = path === "transaction" && Object.values(readFields).flat().includes(key);
  return isField ? `${path}.${key}` : path;
}

/** A member that is data: an accessor could give another value to the next reader. */
function readMember(value: object, key: string, path: string): unknown {
  const descriptor = Object.getOwnPropertyDescriptor(value, key);
  if (descriptor?.enumerable === true && "value" in descriptor) return descriptor.value;
  throw unsupported(path, "enumerable members without accessors");
}

/** The error of values that cannot be copied, or not be stored. It shows nothing of them. */
function unsupported(path: string, expected: string): SessileError<"INVALID_ENTRY"> {
  return invalid(path, expected, "items contain invalid or unsupported data");
}

/** The message is that of the SDK's own session, which its users may match. */
function invalid(
  path: string,
  expected: string,
  problem = "",
  message = `Session history transaction ${problem}.`,
): SessileError<"INVALID_ENTRY"> {
  return new SessileError("INVALID_ENTRY", message, { details: { path, expected } });
}

// Structural types of OpenAI Agents for the session. A test compares them with the official ones.

/** Replaces a call in the history; further items of the same call are removed. */
interface HistoryMutation<Item> {
  readonly type: "replace_function_call";
  readonly callId: string;
  readonly replacement: Extract<Item, { type: "function_call" }>;
}

/** A change of the history that is made once, however often it is tried. */
type HistoryTransaction<Item> =
  | { readonly type: "append_items"; readonly items: Item[] }
  | { readonly type: "replace_suffix"; readonly expectedSuffix: Item[]; readonly replacement: Item[] };

/** A session of OpenAI Agents, for `run(agent, input, { session })`. */
export interface OpenAiAgentsSession<Item> {
  /** The `sessionId` of the options. */
  getSessionId(): Promise<string>;
  /**
   * The items, oldest first, as new objects; with a limit the newest ones.
   * @throws SessileError BLOB_CORRUPT, ENTRY_NOT_FOUND if an item is damaged
   */
  getItems(limit?: number): Promise<Item[]>;
  /**
   * Appends copies of the items, all or none.
   * @throws SessileError INVALID_ENTRY naming the member that cannot be stored; nothing was written
   */
  addItems(items: Item[]): Promise<void>;
  /** Removes the newest item from the history, and returns it. It stays in the log. */
  popItem(): Promise<Item | undefined>;
  /** Begins an empty history. Earlier items stay in the log; `sessions.delete` erases them. */
  clearSession(): Promise<void>;
  /** Clears the history and adds items, in one append. */
  replaceHistoryWithCompaction(items: Item[]): Promise<void>;
  /** Replaces items, on a branch that begins before the first one that changes. */
  applyHistoryMutations(args: { readonly mutations: HistoryMutation<Item>[] }): Promise<void>;
  /**
   * Makes a change once: another call with the same id and transaction does nothing.
   * @throws SessileError INVALID_ENTRY for arguments that cannot be stored; DUPLICATE_ID if the id belongs to
   *   another transaction; CONCURRENT_WRITER if the history does not end with the expected items. Nothing was
   *   written
   */
  applyHistoryTransaction(args: {
    readonly operationId: string;
    readonly transaction: HistoryTransaction<Item>;
  }): Promise<void>;
  /** Releases the open session. A later call opens it again. */
  close(): Promise<void>;
}
