/** Appends the messages that a page posts to a session: at their place in the tree, once. */

import { blockResource, describeResource, type Message, messageText } from "../../content/index.js";
import { isRecord } from "../../core/shape.js";
import type { EntryDraft, EntryNode, EntryType, Session, SessionTree } from "../../session/index.js";
import { type FromUIMessagesOptions, fromUIMessages } from "./from-ui-messages.js";
import { toUIMessages, updatedMessages } from "./to-ui-messages.js";
import {
  isAnswered,
  isDenied,
  isSame,
  notOwn,
  type Posted,
  type PostedMessageOptions,
  postedMessage,
  replyAnswers,
  type UiMessage,
  uiNote,
} from "./ui-message.js";

/** Options of {@link appendUIMessages}. */
export interface AppendUIMessagesOptions extends Omit<FromUIMessagesOptions, "has">, PostedMessageOptions {}

/**
 * Appends the last message that a page posted, and moves the leaf to it. The ids of the messages before it
 * tell its place, so that a page that did not see the newest messages gets a branch.
 * - A new message of the user follows the one that the page shows before it.
 * - A known message with other content is an edit: a branch from before the old version, under the same id.
 * - A known message with the same content, as of a regeneration or a retry, is not stored again. The leaf
 *   moves to it, and the next reply is a branch. Also what is shown but was never the user's, such as a
 *   displayed custom message, is known, and cannot be edited.
 * - Of a reply at the end, the results of `clientTools` are appended to their calls, and refusals of calls that
 *   request an approval.
 *
 * @param messages as posted by `DefaultChatTransport`: all, or the last one alone
 * @returns the entry to answer, and how many entries were written
 * @throws SessileError INVALID_MESSAGE for a value that is no message, for a role that is not among `roles`,
 *   for a result of a tool that is not among `clientTools`, for other content of a message that is not the
 *   user's, and for an unknown reply; errors of {@link fromUIMessages} and of the append. Nothing was written
 */
export async function appendUIMessages(
  session: Session,
  messages: readonly UiMessage[],
  options: AppendUIMessagesOptions = {},
): Promise<{ readonly leafId: string | null; readonly written: number }> {
  const posted = postedMessage(messages, options);
  const { message, before } = posted;
  const { versions, steering } = await sessionVersions(session, [message.id, ...before]);
  const known = versions.get(message.id) ?? [];
  if (message.role === "assistant") return appendResults(session, { posted, known, steering }, options);
  const tree = await session.tree();
  const roles = known.map((id) => tree.node(id)?.role);
  if (roles.some((role) => shownRole(role) !== message.role)) throw notOwn(posted);
  const draftOptions = { ...options, has: (id: string) => tree.has(id) };
  const drafts = await fromUIMessages([message as UiMessage], draftOptions);
  const same = await sameVersion(session, known, drafts);
  if (same !== undefined) {
    await session.branch(same);
    return { leafId: same, written: 0 };
  }
  // Shown as the user's, but written by the application.
  if (roles.some((role) => role !== message.role)) throw notOwn(posted);
  const [latest] = known.slice(-1);
  const seen = before.findLast((id) => versions.has(id));
  const end =
    seen === undefined ? session.leafId : treeEnd(tree, versions.get(seen)?.at(-1) as string, steering);
  const behind = latest === undefined ? end : treeParent(tree, latest);
  const written = await appendAfter(session, behind, drafts, options.signal);
  return { leafId: session.leafId, written: written.length };
}

/** The role under which a page sees a message; undefined for a result, which it sees as a part. */
function shownRole(role: string | undefined): string | undefined {
  if (role === "toolResult") return undefined;
  return role === "assistant" || role === "system" ? role : "user";
}

/** Appends after an entry. After a failure the leaf is where it was. */
async function appendAfter(
  session: Session,
  behind: string | null,
  drafts: readonly EntryDraft[],
  signal?: AbortSignal,
): Promise<readonly unknown[]> {
  const { leafId } = session;
  if (behind !== leafId) await session.branch(behind);
  try {
    return await session.append(drafts, signal === undefined ? {} : { signal });
  } catch (error) {
    if (behind !== leafId && session.leafId === behind) await session.branch(leafId);
    throw error;
  }
}

/** Entries by the ids that pages know, oldest first, and those that pages show as a part of a reply. */
async function sessionVersions(
  session: Session,
  ids: readonly string[],
): Promise<{
  readonly versions: ReadonlyMap<string, readonly string[]>;
  readonly steering: ReadonlySet<string>;
}> {
  const wanted = new Set(ids);
  const versions = new Map<string, string[]>();
  const noted = new Set<string>();
  const steering = new Set<string>();
  const add = (id: string, entryId: string) => versions.set(id, [...(versions.get(id) ?? []), entryId]);
  for (const { node } of (await session.tree()).walk()) {
    if (node.type !== "custom") continue;
    const entry = await session.entry(node.id);
    const note = entry && uiNote.read(entry);
    if (note === undefined || !(await session.tree()).has(note.entryId)) continue;
    noted.add(note.entryId);
    if (note.steering === true) steering.add(note.entryId);
    else if (wanted.has(note.messageId)) add(note.messageId, note.entryId);
  }
  for (const id of wanted) {
    const type = (await session.tree()).node(id)?.type;
    const isShown = type === "message" || type === "custom_message";
    if (isShown && !noted.has(id)) versions.set(id, [id, ...(versions.get(id) ?? [])]);
  }
  return { versions, steering };
}

/** The version with the content of the drafts: the one on the branch of the leaf, else the newest. */
async function sameVersion(
  session: Session,
  known: readonly string[],
  drafts: readonly EntryDraft[],
): Promise<string | undefined> {
  if (known.length === 0) return undefined;
  const current = new Set((await session.tree()).path(session.leafId).map(({ id }) => id));
  const newestFirst = known.toReversed();
  const ordered = [
    ...newestFirst.filter((id) => current.has(id)),
    ...newestFirst.filter((id) => !current.has(id)),
  ];
  const posted = drafts.flatMap((draft) => (draft.type === "message" ? [draft.message] : []))[0];
  for (const id of ordered) {
    const entry = await session.entry(id);
    if (entry === undefined) continue;
    const message = entry.type === "message" ? entry.message : updatedMessages([entry]).get(id);
    if (message !== undefined && isSameContent(messageContent(message), messageContent(posted as Message)))
      return id;
  }
  return undefined;
}

/** Whether content of a page is that of a message, with its attachments or with their descriptors as text. */
function isSameContent(known: readonly unknown[], posted: readonly unknown[]): boolean {
  return known.length === posted.length && known.every((block, at) => isSameBlock(block, posted[at]));
}

function isSameBlock(known: unknown, posted: unknown): boolean {
  const resource = isRecord(known) ? blockResource(known as never) : undefined;
  const isDescriptor = resource !== undefined && isSame(describeResource(resource), comparable(posted));
  return isDescriptor || isSame(comparable(known), comparable(posted));
}

/** Texts and blocks. */
function messageContent(message: Message): readonly unknown[] {
  if (!("content" in message)) return [messageText(message)];
  return typeof message.content === "string" ? [message.content] : message.content;
}

/** A block as it is compared: an attachment by its bytes, not by its id. */
function comparable(block: unknown): unknown {
  if (!isRecord(block)) return block;
  const resource = blockResource(block as never);
  if (resource === undefined) return block.type === "text" ? block.text : block;
  return resource.kind === "link" ? resource.uri : [resource.blob, resource.name ?? ""];
}

/** A version of a message, as {@link uiVersions} lists them. */
export interface UIVersion {
  /** The newest leaf below the version: pass it to `branch` or `path` to show it. */
  readonly leafId: string;
  /** Whether the session's leaf is below it. */
  readonly current: boolean;
}

/**
 * The versions of a message that edits and regenerations made, oldest first; empty for an unknown message.
 *
 * @param messageId as {@link toUIMessages} shows it
 */
export async function uiVersions(session: Session, messageId: string): Promise<readonly UIVersion[]> {
  const tree = await session.tree();
  const current = new Set(tree.path(session.leafId).map(({ id }) => id));
  const { versions } = await sessionVersions(session, [messageId]);
  const known = versions.get(messageId) ?? [];
  const entryId = known.findLast((id) => current.has(id)) ?? known.at(-1);
  if (entryId === undefined) return [];
  const { role } = tree.node(entryId) as EntryNode;
  // A version is after its own note, and after a change of tools or instructions that a turn recorded.
  const isBetween = (node: EntryNode) =>
    node.type === "custom" || (node.role === "system" && role !== "system");
  let parent = tree.node(entryId)?.parentId ?? null;
  for (
    let above = parent && tree.node(parent);
    above && isBetween(above);
    above = parent && tree.node(parent)
  )
    parent = above.parentId;
  const siblings: EntryNode[] = [];
  const open = tree.children(parent).toReversed();
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (isBetween(node)) for (const child of tree.children(node.id).toReversed()) open.push(child);
    else if (node.type === "message" && node.role === role) siblings.push(node);
  }
  const leaves = await session.leaves();
  const paths = leaves.map((leaf) => ({ leaf, ids: new Set(tree.path(leaf.id).map(({ id }) => id)) }));
  return siblings.map(({ id }) => ({
    leafId: paths.find(({ ids }) => ids.has(id))?.leaf.id ?? id,
    current: current.has(id),
  }));
}

/** The entry before a message, and before its note. */
function treeParent(tree: SessionTree, id: string): string | null {
  const parent = tree.node(id)?.parentId ?? null;
  return parent !== null && tree.node(parent)?.type === "custom" && tree.children(parent).length === 1
    ? (tree.node(parent)?.parentId ?? null)
    : parent;
}

/** Entry types that are no part of the conversation. A copy: the session's own set needs all its shapes. */
export const outsideConversation: ReadonlySet<string> = /* @__PURE__ */ new Set<EntryType>([
  "leaf",
  "label",
  "session_info",
  "usage",
]);

/** The last entry of the message that begins with an entry: its steps, results and notes. */
function treeEnd(tree: SessionTree, id: string, steering: ReadonlySet<string>): string {
  let last = id;
  const open = tree.node(id)?.role === "user" ? [] : [id];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const child of tree.children(at)) {
      if ((child.role === "user" && !steering.has(child.id)) || child.role === "system") continue;
      if (!outsideConversation.has(child.type)) last = child.id;
      open.push(child.id);
    }
  }
  return last;
}

/** Appends the results of a page's own tools to the calls of a reply that wait for them. */
async function appendResults(
  session: Session,
  reply: {
    readonly posted: Posted;
    readonly known: readonly string[];
    readonly steering: ReadonlySet<string>;
  },
  options: AppendUIMessagesOptions,
): Promise<{ readonly leafId: string | null; readonly written: number }> {
  const { posted, steering } = reply;
  const { message } = posted;
  const known = reply.known.at(-1);
  if (known === undefined || (await session.tree()).node(known)?.role !== "assistant") throw notOwn(posted);
  const leafId = treeEnd(await session.tree(), known, steering);
  const shown = await toUIMessages(await session.path(leafId), { running: true });
  const stored = shown.findLast(({ id }) => id === message.id);
  const answers = stored === undefined ? [] : [...replyAnswers(stored, posted, options).values()];
  const parts = answers.filter((part) => isAnswered(part) || isDenied(part));
  const drafts = await fromUIMessages([{ ...message, parts }]);
  const results = drafts.filter((draft) => draft.type === "message" && draft.message.role === "toolResult");
  if (results.length > 0) await appendAfter(session, leafId, results, options.signal);
  else await session.branch(leafId);
  return { leafId: session.leafId, written: results.length };
}
