/**
 * Chats of the AI SDK in sessions. A chat is a tree of messages: a message that a regeneration or an edit
 * replaces stays as a branch. The id of a message's entry is a digest of the messages up to it, so that one
 * message at one place has one entry, however often it is saved.
 */

import { describe } from "../../core/arguments.js";
import { SessileError } from "../../core/errors/index.js";
import { isRecord } from "../../core/shape.js";
import { entryErasure, restOfValue } from "../../log/internal.js";
import type { EntryDraft, Session, SessionTree } from "../../session/index.js";
import { partPreview } from "../../session/internal.js";
import {
  type AdapterOptions,
  type AppendPlan,
  adapterSettings,
  SessionHandles,
  type SessionPlace,
} from "../shared/handles.js";
import { MessageValues, type PathEntry, type PathValue } from "../shared/message-values.js";
import { entryId, Parcels, shortDigest } from "../shared/parcels.js";
import {
  type ChatFile,
  fileBytes,
  hasAddress,
  messageDigest,
  type StoredFile,
  storedFiles,
  uiMessageForm,
  withAddresses,
  withStoredFiles,
} from "./chat-messages.js";
import {
  messageParts,
  notOwn,
  type PostedMessageOptions,
  postedMessage,
  replyAnswers,
  type UiChunk,
  type UiMessage,
} from "./ui-message.js";
import { RunningReplies } from "./ui-replies.js";

/** Options of {@link aiSdkChats}. */
export interface AiSdkChatsOptions extends AdapterOptions {
  /**
   * The address of a file for a page: `load` with `files: "url"` returns it, and `save` takes it for the
   * file. The same file must always have the same address. @default files are data URLs
   */
  readonly fileUrl?: (file: ChatFile) => string | Promise<string>;
}

/** Options of reading messages. */
export interface LoadChatOptions {
  /**
   * The last message to return, from `save` or `versions`; null for an empty list. @default the chat's leaf
   */
  readonly leafId?: string | null;
  /**
   * `data`: files as they were saved, for a model. `url`: files in the blob store by their `fileUrl`, for a
   * page.
   * @default "data"
   */
  readonly files?: "data" | "url";
}

/** The chats of an application. A chat id may be any string. */
export interface AiSdkChats<M extends UiMessage = UiMessage> {
  /**
   * The messages of a chat, oldest first, deep-equal to those that were saved; empty if there is no such
   * chat. They are not validated.
   * @throws SessileError ENTRY_NOT_FOUND for an unknown leaf or a damaged message; BLOB_CORRUPT if the bytes
   *   of a file are gone
   */
  load(chatId: string, options?: LoadChatOptions): Promise<M[]>;
  /**
   * Makes `messages` the chat: writes those that the chat does not have at their place, and moves its leaf to
   * the last. Nothing is removed: messages that are no longer in the list are on a branch of their own.
   * Saving the same list again writes nothing. The messages are copied at the call, and are the server's:
   * {@link AiSdkChats.post} takes those of a page, which may hold forged replies, results and instructions.
   * @param chat.after the leaf that the caller loaded; null for an empty chat
   * @returns the new leaf, and the number of messages written
   * @throws SessileError CONCURRENT_WRITER if the chat has another leaf than `after`; INVALID_ENTRY naming a
   *   member that JSON cannot keep. Nothing was written
   */
  save(chat: {
    readonly chatId: string;
    readonly messages: readonly M[];
    readonly after?: string | null;
  }): Promise<{ readonly leafId: string | null; readonly written: number }>;
  /**
   * Saves the last message that a page posted, and moves the leaf to it. The messages before it tell its
   * place by their ids, and are not read. A new message of the user follows the one that the page shows
   * before it, a known one with other content is a branch, and of a reply count the results of `clientTools`
   * and the answers to approvals that it requests.
   * @param chat.messages as posted by `DefaultChatTransport`: all, or the last one alone
   * @throws SessileError INVALID_MESSAGE for a value that is no message, for a role that is not among
   *   `roles`, for a result of a tool that is not among `clientTools`, and for an unknown reply; INVALID_ENTRY
   *   as `save`. Nothing was written
   */
  post(
    chat: { readonly chatId: string; readonly messages: readonly UiMessage[] } & PostedMessageOptions,
  ): Promise<{ readonly leafId: string | null; readonly written: number }>;
  /** The id of the chat's last message as `after` and `leafId` take it; null for an empty chat. */
  leafId(chatId: string): Promise<string | null>;
  /**
   * The versions of a message that regenerations and edits made, newest last. `leafId` is the newest leaf
   * below the version: `load` it to show that branch, and `save` the result to continue it. Empty for an
   * unknown message.
   */
  versions(
    chatId: string,
    messageId: string,
    options?: Pick<LoadChatOptions, "files">,
  ): Promise<{ readonly leafId: string; readonly message: M }[]>;
  /**
   * The chats, last modified first. A title is the text of the first user message, unless the session has
   * another one.
   */
  list(): AsyncIterable<{ readonly chatId: string; readonly title?: string; readonly modified: string }>;
  /** The bytes of a file that a message of the chat has; undefined for any other ref. */
  file(
    chatId: string,
    ref: string,
  ): Promise<
    { readonly bytes: Uint8Array; readonly mediaType: string; readonly filename?: string } | undefined
  >;
  /**
   * Passes on a reply, and keeps its chunks until it ends. It is read to its end also if the returned stream
   * is not, so that a page that goes away stops nothing.
   */
  stream<C extends UiChunk>(chatId: string, reply: ReadableStream<C>): ReadableStream<C>;
  /**
   * The chunks of the reply that runs in this process, from the first one on; undefined if none runs. The
   * page's transport takes this as the answer of its request to reconnect.
   */
  resume<C extends UiChunk>(chatId: string): ReadableStream<C> | undefined;
  /** Deletes a chat. Returns whether it existed. Its files go with the next garbage collection. */
  delete(chatId: string): Promise<boolean>;
  /** Closes the open sessions. */
  close(): Promise<void>;
}

/** A message as it was at the call of `save`. */
interface SavedMessage {
  /** A copy. */
  readonly value: unknown;
  readonly digest: string;
}

/**
 * Keeps chats of the AI SDK in sessions, one session a chat: the two functions that its guides leave to the
 * application, and versions, titles, files and resumable streams. Chat ids come from clients: check who may
 * read which chat before a call.
 *
 * @throws TypeError, RangeError for invalid options
 * @see https://ai-sdk.dev/docs/ai-sdk-ui/chatbot-message-persistence (a stored copy, read 2026-11-23)
 * @example
 * ```ts
 * import { convertToModelMessages, type LanguageModel, streamText, type UIMessage } from "ai";
 *
 * const chats = aiSdkChats<UIMessage>({ sessions, blobs });
 * async function answer(chatId: string, model: LanguageModel) {
 *   const originalMessages = await chats.load(chatId);
 *   const result = streamText({ model, messages: await convertToModelMessages(originalMessages) });
 *   return result.toUIMessageStreamResponse({
 *     originalMessages,
 *     onFinish: async ({ messages }) => {
 *       await chats.save({ chatId, messages });
 *     },
 *   });
 * }
 * ```
 */
export function aiSdkChats<M extends UiMessage = UiMessage>(options: AiSdkChatsOptions): AiSdkChats<M> {
  const { sessions, blobs, partition, outOfLine, maxOpen } = adapterSettings("ai-sdk", options);
  const { fileUrl } = options;
  const handles = new SessionHandles("ai-sdk", { sessions, maxOpen });
  const parcels = new Parcels({ blobs, outOfLine });
  const values = new MessageValues({ of: "ai-sdk", form: uiMessageForm, parcels, blobs });
  const replies = new RunningReplies<never>();
  const files = new WeakMap<SessionTree, Map<string, readonly StoredFile[]>>();
  const placeByChatId = (chatId: string): SessionPlace => {
    if (typeof chatId !== "string") throw new TypeError(`chatId: expected a string, got ${describe(chatId)}`);
    return { partition, key: chatId };
  };

  /** The files of all messages of a chat, on every branch. */
  async function filesIn(session: Session, chatId: string): Promise<readonly StoredFile[]> {
    const tree = await session.tree();
    const known = files.get(tree) ?? new Map<string, readonly StoredFile[]>();
    files.set(tree, known);
    for (const { node } of tree.walk()) {
      if (!isMessage(node) || isRest(node.id) || known.has(node.id)) continue;
      const [message] = await messagesAt(session, values, node.id);
      known.set(node.id, storedFiles(message?.value, chatId));
    }
    return [...known.values()].flat();
  }

  async function addressesIn(session: Session, chatId: string): Promise<ReadonlyMap<string, StoredFile>> {
    const known = new Map<string, StoredFile>();
    if (fileUrl === undefined) return known;
    for (const file of await filesIn(session, chatId)) known.set(await fileUrl(file.file), file);
    return known;
  }

  async function opened(
    value: unknown,
    chatId: string,
    { files: form = "data" }: LoadChatOptions,
  ): Promise<M> {
    if (form === "data") return (await values.open(value)) as M;
    if (fileUrl === undefined) throw new TypeError('files: "url" needs the option fileUrl');
    return (await values.open(await withAddresses(value, chatId, fileUrl))) as M;
  }

  async function planSave(
    session: Session | undefined,
    {
      chatId,
      saved,
      from = null,
      after,
    }: {
      readonly chatId: string;
      readonly saved: readonly SavedMessage[];
      /** The entry of the message before those. */
      readonly from?: string | null;
      readonly after?: string | null | undefined;
    },
  ): Promise<AppendPlan<{ leafId: string | null; written: number }>> {
    const isAddressed = fileUrl !== undefined && saved.some(({ value }) => hasAddress(value));
    const addresses = session !== undefined && isAddressed ? await addressesIn(session, chatId) : noFiles;
    const leaf = session === undefined ? null : await leafMessage(session, values);
    let leafId = from;
    // The entry after which the first new message is appended.
    let parent = from;
    let written = 0;
    const drafts: EntryDraft[] = [];
    for (const each of saved) {
      const isKnown = addresses.size > 0 && hasAddress(each.value);
      const value = isKnown ? withStoredFiles(each.value, addresses) : each.value;
      const contentDigest = isKnown ? messageDigest(value) : each.digest;
      const before: string | null = leafId;
      leafId = messageEntryId(before, contentDigest);
      if (written === 0 && session !== undefined) {
        const known: string | undefined = (await session.tree()).has(leafId)
          ? leafId
          : await shownAfter(session, values, before, contentDigest);
        if (known !== undefined) {
          leafId = known;
          parent = known;
          continue;
        }
      }
      const id = isRecord(value) && typeof value.id === "string" ? { id: value.id } : {};
      const about = { ...id, digest: contentDigest };
      for (const draft of await values.drafts(value, { id: leafId, about })) drafts.push(draft);
      written++;
    }
    const result = { leafId, written };
    const done = () => result;
    if (leafId === leaf) return { drafts: [], done };
    if (after !== undefined && after !== leaf) throw chatConflict(after, leaf);
    const end = session === undefined || parent === null ? null : await messageEnd(session, values, parent);
    if (written === 0) return { drafts: [{ type: "leaf", targetId: end }], done };
    // Not of a message that the chat has: its text may be erased, and the page may still have it.
    const title = chatTitle(saved, saved.length - written);
    const isTitled =
      title === undefined || session?.info.title !== undefined || session?.info.name !== undefined;
    return {
      drafts: [...(isTitled ? [] : [{ type: "session_info", title } as const]), ...drafts],
      // After the leaf rather than after its message, if a label or a name follows that.
      ...(parent === leaf ? {} : { parent: end }),
      done,
    };
  }

  return {
    async load(chatId, options = {}) {
      return handles.read(placeByChatId(chatId), async (session) => {
        const { leafId = session === undefined ? null : await leafMessage(session, values) } = options;
        const messages: M[] = [];
        for (const { value } of await messagesUpTo(session, values, leafId))
          messages.push(await opened(value, chatId, options));
        return messages;
      });
    },

    async save({ chatId, messages, after }) {
      const place = placeByChatId(chatId);
      if (!Array.isArray(messages))
        throw new TypeError(`messages: expected an array, got ${describe(messages)}`);
      const saved = messages.map((message, at) => savedMessage(parcels.copy(message, `messages[${at}]`)));
      return handles.append(place, (session) => planSave(session, { chatId, saved, after }));
    },

    async post({ chatId, messages, ...rules }) {
      const place = placeByChatId(chatId);
      const posted = postedMessage(messages, rules);
      const { message, path, before } = posted;
      const said = savedMessage(parcels.copy(message, path));
      return handles.append(place, async (session) => {
        const entries = await sessionEntries(session, [message.id, ...before]);
        const known = entries.get(message.id);
        const shown = before.findLast((id) => entries.has(id));
        if (session === undefined || known === undefined) {
          if (message.role === "assistant") throw notOwn(posted);
          const leaf = session === undefined ? null : await leafMessage(session, values);
          const from = shown === undefined ? leaf : (entries.get(shown) as string);
          return planSave(session, { chatId, saved: [said], from });
        }
        const stored = (await messageAt(session, values, known))?.value as UiMessage;
        if (stored.role !== message.role) throw notOwn(posted);
        const from = await messageBefore(session, values, known);
        if (message.role !== "assistant") return planSave(session, { chatId, saved: [said], from });
        const answers = replyAnswers(stored, posted, rules);
        const parts = stored.parts.map((part, at) => answers.get(at) ?? part);
        return planSave(session, { chatId, saved: [savedMessage({ ...stored, parts })], from });
      });
    },

    async leafId(chatId) {
      return handles.read(placeByChatId(chatId), async (session) =>
        session === undefined ? null : leafMessage(session, values),
      );
    },

    async versions(chatId, messageId, options = {}) {
      return handles.read(placeByChatId(chatId), async (session) => {
        const id = (await sessionEntries(session, [messageId])).get(messageId);
        if (session === undefined || id === undefined) return [];
        const found: { leafId: string; message: M }[] = [];
        for (const sibling of await treeSiblings(session, values, id)) {
          const message = await messageAt(session, values, sibling);
          if (message === undefined) continue;
          const leafId = await newestEnd(session, values, sibling);
          found.push({ leafId, message: await opened(message.value, chatId, options) });
        }
        return found;
      });
    },

    async *list() {
      for await (const { key, summary } of handles.list(partition)) {
        const title = summary.title ?? summary.name;
        yield { chatId: key, ...(title === undefined ? {} : { title }), modified: summary.modified };
      }
    },

    async file(chatId, ref) {
      return handles.read(placeByChatId(chatId), async (session) => {
        const known = session === undefined ? [] : await filesIn(session, chatId);
        return fileBytes(blobs, known.find(({ file }) => file.ref === ref)?.file);
      });
    },

    stream: (chatId, reply) => replies.start(placeByChatId(chatId).key, reply as never) as never,
    resume: (chatId) => replies.resume(placeByChatId(chatId).key) as never,
    delete: async (chatId) => handles.delete(placeByChatId(chatId)),
    close: async () => handles.close(),
  };

  /** The entries of messages: of each the newest on the branch of the leaf, else the newest of all. */
  async function sessionEntries(
    session: Session | undefined,
    messageIds: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    if (session === undefined) return found;
    const wanted = new Set(messageIds);
    const tree = await session.tree();
    const end = messageAtOrBefore(tree, session.leafId);
    const current = end === null ? [] : await pathMessages(session, values, end);
    for (const { id, value } of current.toReversed()) {
      const messageId = isRecord(value) ? value.id : undefined;
      if (typeof messageId === "string" && wanted.has(messageId) && !found.has(messageId))
        found.set(messageId, id);
    }
    for (const id of Array.from(tree.walk(), ({ node }) => node.id).reverse()) {
      if (found.size === wanted.size) break;
      if (!isOwnMessage(id)) continue;
      const entry = await session.entry(id);
      const messageId = entry && savedId(entry);
      if (messageId !== undefined && wanted.has(messageId) && !found.has(messageId)) found.set(messageId, id);
    }
    return found;
  }
}

const noFiles: ReadonlyMap<string, StoredFile> = new Map();

function savedMessage(value: unknown): SavedMessage {
  return { value, digest: messageDigest(value) };
}

/** The first text of the user, or the names of the files; undefined if it stands before the new messages. */
function chatTitle(saved: readonly SavedMessage[], firstNew: number): string | undefined {
  const at = saved.findIndex(({ value }) => isRecord(value) && value.role === "user");
  const first = at < firstNew ? undefined : saved[at]?.value;
  return partPreview(
    messageParts(first).map((part) => {
      if (!isRecord(part)) return {};
      if (part.type === "text" && typeof part.text === "string") return { text: part.text };
      return part.type === "file" && typeof part.filename === "string" ? { name: part.filename } : {};
    }),
  );
}

// The tree of a chat: the entries of its messages, their ids, and the versions of a message. Messages that were
// appended by other means than `save` are messages of the chat too, as `toUIMessages` shows them.

/** A message of a path. */
interface PathMessage {
  /** The id of its first entry. */
  readonly id: string;
  /** The id of its last entry. */
  readonly end: string;
  /** The message, with `Media` in the place of the bytes of files. */
  readonly value: unknown;
}

const prefix = entryId("m", "");

/** The id of a message after another one: a digest of all messages up to it. */
function messageEntryId(before: string | null, contentDigest: string): string {
  return prefix + shortDigest(`${before ?? ""} ${contentDigest}`);
}

/** Whether an entry is the first one of a message that was saved. */
function isOwnMessage(id: string): boolean {
  return id.startsWith(prefix) && !isRest(id);
}

/** Whether an entry is one of those after the first one of a saved message. */
function isRest(id: string): boolean {
  return id.startsWith(prefix) && id.includes(".");
}

/** Whether an entry is a message or a part of one, saved or not. */
function isMessage({ id, type }: { readonly id: string; readonly type: string }): boolean {
  return id.startsWith(prefix) || type === "message" || type === "custom_message";
}

/** The last entry of a message at or before an entry; null if there is none. */
function messageAtOrBefore(tree: SessionTree, id: string | null): string | null {
  for (let at = id; at !== null; ) {
    const node = tree.node(at);
    if (node !== undefined && isMessage(node)) return at;
    at = node?.parentId ?? null;
  }
  return null;
}

/** The first entry of the message of an entry; undefined if no message that was saved has it. */
function ownStart(id: string): string | undefined {
  if (!id.startsWith(prefix)) return undefined;
  return id.split(".")[0] as string;
}

/** The message before another one; null for the first. */
async function messageBefore(session: Session, values: MessageValues, id: string): Promise<string | null> {
  const tree = await session.tree();
  return startAt(session, values, messageAtOrBefore(tree, tree.node(id)?.parentId ?? null));
}

/** The first entry of the message that ends with an entry. */
async function startAt(session: Session, values: MessageValues, end: string | null): Promise<string | null> {
  if (end === null) return null;
  const own = ownStart(end);
  if (own !== undefined) return own;
  return (await pathMessages(session, values, end)).at(-1)?.id ?? null;
}

/** The last message of the branch of the leaf; null if there is none. */
async function leafMessage(session: Session, values: MessageValues): Promise<string | null> {
  return startAt(session, values, messageAtOrBefore(await session.tree(), session.leafId));
}

/** The last entry of a message. */
async function messageEnd(session: Session, values: MessageValues, id: string): Promise<string> {
  const tree = await session.tree();
  if (isOwnMessage(id)) {
    let end = id;
    for (let at = 1; tree.has(`${id}.${at}`); at++) end = `${id}.${at}`;
    return end;
  }
  // A reply of another writer ends before the next message of any branch.
  for (const leaf of await session.leaves()) {
    if (!tree.path(leaf.id).some((node) => node.id === id)) continue;
    const found = (await pathMessages(session, values, leaf.id)).find((message) => message.id === id);
    if (found !== undefined) return found.end;
  }
  return id;
}

/** The messages of the path to an entry. Throws ENTRY_NOT_FOUND if one that was saved is damaged. */
async function pathMessages(
  session: Session,
  values: MessageValues,
  leafId: string,
): Promise<readonly PathMessage[]> {
  const tree = await session.tree();
  const path = await session.path(leafId);
  const read = new Set(path.flatMap(({ id, type }) => (type === "unknown" ? [] : [id])));
  for (const { id } of tree.path(leafId)) if (id.startsWith(prefix) && !read.has(id)) throw damaged(id);
  const found: PathMessage[] = [];
  const known = new Set<string>();
  for (const value of values.values(path)) {
    if (value.id !== undefined) known.add(value.id);
    for (const message of await valueMessages(values, value)) found.push(message);
  }
  for (const { id } of path) if (isOwnMessage(id) && !known.has(id)) throw damaged(id);
  return found;
}

/** The messages of entries: one that was saved, or those that others show as `toUIMessages` does. */
async function valueMessages(values: MessageValues, value: PathValue): Promise<readonly PathMessage[]> {
  const read = await values.read(value);
  const own = value.entries.filter(({ type }) => type !== "message_update" && type !== "part_update");
  const last = own.at(-1)?.id as string;
  if (value.id !== undefined)
    return read.slice(0, 1).map((each) => ({ id: value.id as string, end: last, value: each }));
  const starts = read.map((each) => String((each as UiMessage).id));
  const index = new Map(own.map(({ id }, at) => [id, at]));
  return read.map((each, at): PathMessage => {
    const next = index.get(starts[at + 1] ?? "");
    const end = next === undefined ? last : (own[next - 1]?.id as string);
    return { id: starts[at] as string, end, value: each };
  });
}

/** The messages up to a leaf, oldest first. Throws ENTRY_NOT_FOUND if the leaf or a message is missing. */
async function messagesUpTo(
  session: Session | undefined,
  values: MessageValues,
  leafId: string | null,
): Promise<readonly PathMessage[]> {
  if (leafId === null) return [];
  const tree = await session?.tree();
  const node = tree?.node(leafId);
  if (session === undefined || node === undefined || !isMessage(node)) throw unknownLeaf(leafId);
  return pathMessages(session, values, await messageEnd(session, values, leafId));
}

/** The message that begins with an entry. */
async function messageAt(
  session: Session,
  values: MessageValues,
  id: string,
): Promise<PathMessage | undefined> {
  return (await messagesAt(session, values, id))[0];
}

/** The messages that the value that begins with an entry shows. */
async function messagesAt(
  session: Session,
  values: MessageValues,
  id: string,
): Promise<readonly PathMessage[]> {
  const entry = await session.entry(id);
  if (entry === undefined) return [];
  const entries = [entry];
  for (const rest of entry.type === "unknown" ? [] : restOfValue(entry)) {
    const next = await session.entry(rest);
    if (next !== undefined) entries.push(next);
  }
  const [value] = values.values(entries);
  return value === undefined ? [] : valueMessages(values, value);
}

/** The saved messages that follow the same message, in the order in which they were written. */
async function treeSiblings(session: Session, values: MessageValues, id: string): Promise<readonly string[]> {
  const tree = await session.tree();
  const parent = await messageBefore(session, values, id);
  const found: { readonly id: string; readonly timestamp: string }[] = [];
  for (const { node } of tree.walk())
    if (isOwnMessage(node.id) && (await messageBefore(session, values, node.id)) === parent) found.push(node);
  return found
    .sort((a, b) => (a.timestamp < b.timestamp ? -1 : a.timestamp > b.timestamp ? 1 : 0))
    .map((node) => node.id);
}

/** The last message of the newest branch through a message. */
async function newestEnd(session: Session, values: MessageValues, id: string): Promise<string> {
  const tree = await session.tree();
  for (const leaf of await session.leaves())
    if (tree.path(leaf.id).some((node) => node.id === id))
      return (await startAt(session, values, messageAtOrBefore(tree, leaf.id))) ?? id;
  return id;
}

/**
 * The message after another one that a load shows as the message of this digest, although its own id is no digest
 * of it: one that was erased, changed, or appended by other means.
 */
async function shownAfter(
  session: Session,
  values: MessageValues,
  before: string | null,
  contentDigest: string,
): Promise<string | undefined> {
  const tree = await session.tree();
  const end = before === null ? null : await messageEnd(session, values, before);
  const open = [...tree.children(end)];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (!isMessage(node)) {
      for (const child of tree.children(node.id)) open.push(child);
      continue;
    }
    const entry = isOwnMessage(node.id) ? await session.entry(node.id) : undefined;
    if (isOwnMessage(node.id) && (entry === undefined || entryErasure(entry) === undefined)) continue;
    for (const leaf of isOwnMessage(node.id) ? [] : await session.leaves()) {
      if (!tree.path(leaf.id).some(({ id }) => id === node.id)) continue;
      const found = (await pathMessages(session, values, leaf.id)).find(({ id }) => id === node.id);
      if (found !== undefined && messageDigest(found.value) === contentDigest) return node.id;
    }
    const own = isOwnMessage(node.id) ? await messageAt(session, values, node.id) : undefined;
    if (own !== undefined && messageDigest(own.value) === contentDigest) return node.id;
  }
  return undefined;
}

/** The id under which a page knows a saved message. */
function savedId(entry: PathEntry): string | undefined {
  const details = entry.type === "custom" ? entry.data : entry.type === "message" ? entry.details : undefined;
  return isRecord(details) && typeof details.id === "string" ? details.id : undefined;
}

function damaged(entryId: string): SessileError<"ENTRY_NOT_FOUND"> {
  const message = `the entry ${JSON.stringify(entryId)} is damaged`;
  return new SessileError("ENTRY_NOT_FOUND", message, { details: { entryId } });
}

/** The error of a save after another leaf than the caller loaded. */
function chatConflict(after: string | null, leaf: string | null): SessileError<"CONCURRENT_WRITER"> {
  const [expected, actual] = [after ?? "none", leaf ?? "none"];
  return new SessileError(
    "CONCURRENT_WRITER",
    `after: expected the leaf ${expected}, got ${actual}; nothing was written. Load the chat again`,
    { details: { expected, actual, leafId: leaf } },
  );
}

function unknownLeaf(id: string): SessileError<"ENTRY_NOT_FOUND"> {
  return new SessileError(
    "ENTRY_NOT_FOUND",
    `leafId: the chat has no message ${SessileError.printable(id)}`,
    {
      details: { entryId: id },
    },
  );
}
