/**
 * Chats of the AI SDK in sessions. A chat is a tree of messages: a message that a regeneration or an edit
 * replaces stays as a branch. The id of a message's entry is a digest of the messages up to it, so that one
 * message at one place has one entry, however often it is saved.
 */

import { describe } from "../../core/arguments.js";
import { SessileError } from "../../core/errors/index.js";
import { isRecord } from "../../core/shape.js";
import { entryErasure, ownEntry } from "../../log/internal.js";
import type { EntryDraft, Session, SessionTree } from "../../session/index.js";
import { partPreview } from "../../session/internal.js";
import {
  type AdapterOptions,
  type AppendPlan,
  adapterSettings,
  SessionHandles,
  type SessionPlace,
} from "../shared/handles.js";
import { entryId, isParcel, type PackedValue, type Parcel, Parcels, textDigest } from "../shared/parcels.js";
import {
  type ChatFile,
  fileBytes,
  hasAddress,
  messageDigest,
  parcelFiles,
  type StoredFile,
  withoutFiles,
  withStoredFiles,
} from "./chat-files.js";
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

const noFiles: ReadonlyMap<string, StoredFile> = new Map();

/** A message as it was at the call of `save`. */
interface TakenMessage {
  readonly packed: PackedValue;
  readonly sha256: string;
  /** A copy, if one of its files may be an address of the chat. */
  readonly addressed: unknown;
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
  const replies = new RunningReplies<never>();
  const files = new WeakMap<Session, Map<string, readonly StoredFile[]>>();
  const placeByChatId = (chatId: string): SessionPlace => {
    if (typeof chatId !== "string") throw new TypeError(`chatId: expected a string, got ${describe(chatId)}`);
    return { partition, key: chatId };
  };

  async function messageAt(session: Session, id: string): Promise<StoredMessage | undefined> {
    const entry = await session.entry(id);
    return entry === undefined ? undefined : stored.read(entry);
  }

  /** The files of all messages of a chat, on every branch. */
  async function filesIn(session: Session, chatId: string): Promise<readonly StoredFile[]> {
    const known = files.get(session) ?? new Map<string, readonly StoredFile[]>();
    files.set(session, known);
    for (const { node } of (await session.tree()).walk()) {
      if (!isMessageId(node.id) || known.has(node.id)) continue;
      const message = await messageAt(session, node.id);
      known.set(node.id, message === undefined ? [] : parcelFiles(message.message, chatId));
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
    parcel: Parcel,
    chatId: string,
    { files: form = "data" }: LoadChatOptions,
  ): Promise<M> {
    if (form === "data") return (await parcels.open(parcel)) as M;
    if (fileUrl === undefined) throw new TypeError('files: "url" needs the option fileUrl');
    const message = await parcels.open(withoutFiles(parcel));
    const parts = messageParts(message) as { url?: string }[];
    for (const file of parcelFiles(parcel, chatId)) {
      const part = parts[file.part];
      if (part !== undefined) part.url = await fileUrl(file.file);
    }
    return message as M;
  }

  async function planSave(
    session: Session | undefined,
    {
      chatId,
      taken,
      from = null,
      after,
    }: {
      readonly chatId: string;
      readonly taken: readonly TakenMessage[];
      /** The entry of the message before those. */
      readonly from?: string | null;
      readonly after?: string | null | undefined;
    },
  ): Promise<AppendPlan<{ leafId: string | null; written: number }>> {
    const known =
      session !== undefined && taken.some(({ addressed }) => addressed !== undefined)
        ? await addressesIn(session, chatId)
        : noFiles;
    const leaf = await leafMessage(session);
    let leafId = from;
    // The entry after which the first new message is appended.
    let parent = from;
    const drafts: EntryDraft[] = [];
    for (const { packed, addressed, ...message } of taken) {
      const sha256 = addressed === undefined ? message.sha256 : messageDigest(addressed, known);
      const before: string | null = leafId;
      leafId = messageEntryId(before, sha256);
      if (drafts.length === 0 && session !== undefined) {
        const known: string | undefined = (await session.tree()).has(leafId)
          ? leafId
          : await erasedAfter(session, before, sha256);
        if (known !== undefined) {
          leafId = known;
          parent = known;
          continue;
        }
      }
      const id = isRecord(packed.json) ? packed.json.id : undefined;
      const draft = stored.draft({
        ...(typeof id === "string" ? { id } : {}),
        sha256,
        message: await parcels.store(addressed === undefined ? packed : withStoredFiles(packed, known)),
      });
      drafts.push({ ...draft, id: leafId });
    }
    const result = { leafId, written: drafts.length };
    const done = () => result;
    if (leafId === leaf) return { drafts: [], done };
    if (after !== undefined && after !== leaf) throw chatConflict(after, leaf);
    if (drafts.length === 0) return { drafts: [{ type: "leaf", targetId: leafId }], done };
    // Not of a message that the chat has: its text may be erased, and the page may still have it.
    const title = chatTitle(taken, taken.length - drafts.length);
    const isTitled =
      title === undefined || session?.info.title !== undefined || session?.info.name !== undefined;
    return {
      drafts: [...(isTitled ? [] : [{ type: "session_info", title } as const]), ...drafts],
      // After the leaf rather than after its message, if a label or a name follows that.
      ...(parent === leaf ? {} : { parent }),
      done,
    };
  }

  return {
    async load(chatId, options = {}) {
      return handles.read(placeByChatId(chatId), async (session) => {
        const { leafId = await leafMessage(session) } = options;
        const messages: M[] = [];
        for (const { message } of await messagesUpTo(session, leafId))
          messages.push(await opened(message, chatId, options));
        return messages;
      });
    },

    async save({ chatId, messages, after }) {
      const place = placeByChatId(chatId);
      if (!Array.isArray(messages))
        throw new TypeError(`messages: expected an array, got ${describe(messages)}`);
      const taken = messages.map((message, at) => takenMessage(message, `messages[${at}]`));
      return handles.append(place, (session) => planSave(session, { chatId, taken, after }));
    },

    async post({ chatId, messages, ...rules }) {
      const place = placeByChatId(chatId);
      const posted = postedMessage(messages, rules);
      const { message, path, before } = posted;
      const said = takenMessage(message, path);
      return handles.append(place, async (session) => {
        const entries = await sessionEntries(session, [message.id, ...before]);
        const known = entries.get(message.id);
        const shown = before.findLast((id) => entries.has(id));
        if (session === undefined || known === undefined) {
          if (message.role === "assistant") throw notOwn(posted);
          const from = shown === undefined ? await leafMessage(session) : (entries.get(shown) as string);
          return planSave(session, { chatId, taken: [said], from });
        }
        const parcel = (await messageAt(session, known))?.message as Parcel;
        const isReply = message.role === "assistant";
        const stored = (await parcels.open(isReply ? parcel : withoutFiles(parcel))) as UiMessage;
        if (stored.role !== message.role) throw notOwn(posted);
        const from = messageBefore(await session.tree(), known);
        if (!isReply) return planSave(session, { chatId, taken: [said], from });
        const answers = replyAnswers(stored, posted, rules);
        const parts = stored.parts.map((part, at) => answers.get(at) ?? part);
        return planSave(session, { chatId, taken: [takenMessage({ ...stored, parts }, path)], from });
      });
    },

    async leafId(chatId) {
      return handles.read(placeByChatId(chatId), async (session) => leafMessage(session));
    },

    async versions(chatId, messageId, options = {}) {
      return handles.read(placeByChatId(chatId), async (session) => {
        const id = (await sessionEntries(session, [messageId])).get(messageId);
        if (session === undefined || id === undefined) return [];
        const found: { leafId: string; message: M }[] = [];
        for (const sibling of treeSiblings(await session.tree(), id)) {
          const message = await messageAt(session, sibling);
          if (message === undefined) continue;
          const leafId = await newestEnd(session, sibling);
          found.push({ leafId, message: await opened(message.message, chatId, options) });
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

  function takenMessage(message: unknown, path: string): TakenMessage {
    const packed = parcels.pack(message, path);
    const addressed = fileUrl !== undefined && hasAddress(message) ? structuredClone(message) : undefined;
    return { packed, sha256: messageDigest(message, noFiles), addressed };
  }

  /** The entries of messages: of each the newest on the branch of the leaf, else the newest of all. */
  async function sessionEntries(
    session: Session | undefined,
    messageIds: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    if (session === undefined) return found;
    const wanted = new Set(messageIds);
    const tree = await session.tree();
    const leaf = await leafMessage(session);
    const current = leaf === null ? [] : tree.path(leaf).map(({ id }) => id);
    const all = Array.from(tree.walk(), ({ node }) => node.id);
    for (const entryId of new Set([...current.reverse(), ...all.reverse()])) {
      if (found.size === wanted.size) break;
      const id = isMessageId(entryId) ? (await messageAt(session, entryId))?.id : undefined;
      if (id !== undefined && wanted.has(id) && !found.has(id)) found.set(id, entryId);
    }
    return found;
  }
}

/** The first text of the user, or the names of the files; undefined if it stands before the new messages. */
function chatTitle(taken: readonly TakenMessage[], firstNew: number): string | undefined {
  const all = taken.map(({ packed }) => packed.json);
  const at = all.findIndex((json) => isRecord(json) && json.role === "user");
  const first = at < firstNew ? undefined : all[at];
  return partPreview(
    messageParts(first).map((part) => {
      if (!isRecord(part)) return {};
      if (part.type === "text" && typeof part.text === "string") return { text: part.text };
      return isRecord(part) && part.type === "file" && typeof part.filename === "string"
        ? { name: part.filename }
        : {};
    }),
  );
}

// The tree of a chat: the entries of its messages, their ids, and the versions of a message.

/** The data of an entry of a message. */
interface StoredMessage {
  readonly id?: string;
  readonly sha256: string;
  readonly message: Parcel;
}

const stored = ownEntry<StoredMessage>("sessile.ai-sdk.message", (data) => {
  if (isRecord(data) && typeof data.sha256 === "string" && isParcel(data.message)) return data as never;
  throw new TypeError("data: expected a message");
});

const prefix = entryId("m", "");

/** The id of a message after another one: a digest of all messages up to it. */
function messageEntryId(before: string | null, sha256: string): string {
  return prefix + textDigest(`${before ?? ""} ${sha256}`);
}

/** Whether an entry is a message. */
function isMessageId(id: string): boolean {
  return id.startsWith(prefix);
}

/** The last message at or before an entry; null if there is none. */
function messageAtOrBefore(tree: SessionTree, id: string | null): string | null {
  for (let at = id; at !== null; at = tree.node(at)?.parentId ?? null) if (isMessageId(at)) return at;
  return null;
}

/** The message before another one; null for the first. */
function messageBefore(tree: SessionTree, id: string): string | null {
  return messageAtOrBefore(tree, tree.node(id)?.parentId ?? null);
}

/** The last message of the branch of the leaf; null if there is none. */
async function leafMessage(session: Session | undefined): Promise<string | null> {
  return session === undefined ? null : messageAtOrBefore(await session.tree(), session.leafId);
}

/** The messages up to a leaf, oldest first. Throws ENTRY_NOT_FOUND if the leaf or a message is missing. */
async function messagesUpTo(
  session: Session | undefined,
  leafId: string | null,
): Promise<readonly StoredMessage[]> {
  if (leafId === null) return [];
  const tree = await session?.tree();
  if (session === undefined || tree?.has(leafId) !== true || !isMessageId(leafId)) throw unknownLeaf(leafId);
  const entries = new Map((await session.path(leafId)).map((entry) => [entry.id, entry]));
  const ids = tree.path(leafId).map(({ id }) => id);
  return ids.filter(isMessageId).map((entryId) => {
    const entry = entries.get(entryId);
    const found = entry && stored.read(entry);
    if (found !== undefined) return found;
    const message = `the entry ${JSON.stringify(entryId)} is damaged`;
    throw new SessileError("ENTRY_NOT_FOUND", message, { details: { entryId } });
  });
}

/** The messages that follow the same message, in the order in which they were written. */
function treeSiblings(tree: SessionTree, id: string): readonly string[] {
  const parent = messageBefore(tree, id);
  return Array.from(tree.walk(), ({ node }) => node)
    .filter((node) => isMessageId(node.id) && messageBefore(tree, node.id) === parent)
    .sort((a, b) => (a.timestamp < b.timestamp ? -1 : a.timestamp > b.timestamp ? 1 : 0))
    .map((node) => node.id);
}

/** The last message of the newest branch through a message. */
async function newestEnd(session: Session, id: string): Promise<string> {
  const tree = await session.tree();
  for (const leaf of await session.leaves())
    if (tree.path(leaf.id).some((node) => node.id === id)) return messageAtOrBefore(tree, leaf.id) ?? id;
  return id;
}

/**
 * The erased message after another one that a load shows as the message of this digest: its own id is a digest of
 * what it was.
 */
async function erasedAfter(
  session: Session,
  before: string | null,
  sha256: string,
): Promise<string | undefined> {
  const tree = await session.tree();
  const open = [...tree.children(before)];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (!isMessageId(node.id)) {
      for (const child of tree.children(node.id)) open.push(child);
      continue;
    }
    const entry = await session.entry(node.id);
    if (entry === undefined || entryErasure(entry) === undefined) continue;
    const parcel = stored.read(entry)?.message;
    if (parcel !== undefined && "v" in parcel && messageDigest(parcel.v, new Map()) === sha256)
      return node.id;
  }
  return undefined;
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
