/** Appends the messages that a page posts to a session: at their place in the tree, once. */

import { type Message, resourceOf } from "../../content/index.js";
import { SessileError } from "../../errors/index.js";
import type { EntryDraft, EntryNode, EntryType, Session } from "../../session/index.js";
import { type FromUIMessagesOptions, fromUIMessages } from "./from-ui-messages.js";
import { toUIMessages } from "./to-ui-messages.js";
import type { UiMessage, UiPart } from "./ui-message.js";
import { isSame, uiNote } from "./ui-note.js";

/**
 * Appends the last message that a page posted, and moves the leaf to it. The ids of the messages before it
 * tell its place, so that a page that did not see the newest messages gets a branch.
 * - A new message follows the one that the page shows before it.
 * - A known message with other content is an edit: a branch from before the old version, under the same id.
 * - A known message with the same content, as of a regeneration or a retry, is not stored again. The leaf
 *   moves to it, and the next reply is a branch.
 * - Of a reply at the end, the results of the page's own tools are appended to their calls.
 *
 * @param messages as posted by `DefaultChatTransport`: all, or the last one alone
 * @returns the entry to answer, and how many entries were written
 * @throws SessileError INVALID_MESSAGE for a value that is no message, and for an unknown reply; errors of
 *   {@link fromUIMessages} and of the append. Nothing was written
 */
export async function appendUIMessages(
  session: Session,
  messages: readonly UiMessage[],
  options: Omit<FromUIMessagesOptions, "has"> = {},
): Promise<{ readonly leafId: string | null; readonly written: number }> {
  const posted = messages.at(-1);
  if (posted === undefined) throw invalid("messages", "a message at the end");
  const before = messages.slice(0, -1).map(({ id }) => id);
  const versions = await versionsOf(session, [posted.id, ...before]);
  const known = versions.get(posted.id) ?? [];
  if (posted.role === "assistant") return appendResults(session, posted, known.at(-1), options);
  if (known.some((id) => session.tree.node(id)?.role !== posted.role))
    throw invalid(`messages[${before.length}].id`, `the id of a message of the role ${posted.role}`);
  const drafts = await fromUIMessages([posted], { ...options, has: (id) => session.tree.has(id) });
  const same = await sameVersion(session, known, drafts);
  if (same !== undefined) {
    session.branch(same);
    return { leafId: same, written: 0 };
  }
  const [latest] = known.slice(-1);
  const seen = before.findLast((id) => versions.has(id));
  const end = seen === undefined ? session.leafId : endOf(session, versions.get(seen)?.at(-1) as string);
  const behind = latest === undefined ? end : parentOf(session, latest);
  const written = await appendAfter(session, behind, drafts, options.signal);
  return { leafId: session.leafId, written: written.length };
}

/** Appends after an entry. After a failure the leaf is where it was. */
async function appendAfter(
  session: Session,
  behind: string | null,
  drafts: readonly EntryDraft[],
  signal?: AbortSignal,
): Promise<readonly unknown[]> {
  const { leafId } = session;
  if (behind !== leafId) session.branch(behind);
  try {
    return await session.append(drafts, signal === undefined ? {} : { signal });
  } catch (error) {
    if (behind !== leafId && session.leafId === behind) session.branch(leafId);
    throw error;
  }
}

/** The entries of messages by the ids that pages know, oldest first. */
async function versionsOf(
  session: Session,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const wanted = new Set(ids);
  const versions = new Map<string, string[]>();
  const noted = new Set<string>();
  const add = (id: string, entryId: string) => versions.set(id, [...(versions.get(id) ?? []), entryId]);
  for (const { node } of session.tree.walk()) {
    if (node.type !== "custom") continue;
    const entry = await session.entry(node.id);
    const note = entry && uiNote.read(entry);
    if (note === undefined || !session.tree.has(note.entryId)) continue;
    noted.add(note.entryId);
    if (wanted.has(note.messageId)) add(note.messageId, note.entryId);
  }
  for (const id of wanted) {
    const isMessage = session.tree.node(id)?.type === "message";
    if (isMessage && !noted.has(id)) versions.set(id, [id, ...(versions.get(id) ?? [])]);
  }
  return versions;
}

/** The version with the content of the drafts: the one on the branch of the leaf, else the newest. */
async function sameVersion(
  session: Session,
  known: readonly string[],
  drafts: readonly EntryDraft[],
): Promise<string | undefined> {
  if (known.length === 0) return undefined;
  const current = new Set(session.tree.path(session.leafId).map(({ id }) => id));
  const newestFirst = known.toReversed();
  const ordered = [
    ...newestFirst.filter((id) => current.has(id)),
    ...newestFirst.filter((id) => !current.has(id)),
  ];
  const posted = drafts.flatMap((draft) => (draft.type === "message" ? [draft.message] : []))[0];
  for (const id of ordered) {
    const entry = await session.entry(id);
    if (entry?.type === "message" && isSame(contentOf(entry.message), contentOf(posted))) return id;
  }
  return undefined;
}

/** Content by which versions are compared: attachments by their bytes, not by their ids. */
function contentOf(message: Message | undefined): unknown {
  if (message === undefined || !("content" in message)) return undefined;
  if (typeof message.content === "string") return [message.content];
  return message.content.map((block) => {
    const resource = resourceOf(block);
    if (resource === undefined) return block.type === "text" ? block.text : block;
    return resource.kind === "link" ? resource.uri : [resource.blob, resource.name ?? ""];
  });
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
  const { tree } = session;
  const current = new Set(tree.path(session.leafId).map(({ id }) => id));
  const known = (await versionsOf(session, [messageId])).get(messageId) ?? [];
  const entryId = known.findLast((id) => current.has(id)) ?? known.at(-1);
  if (entryId === undefined) return [];
  const { role } = tree.node(entryId) as EntryNode;
  // A version is after its own note, if it has one.
  const siblings = tree
    .children(parentOf(session, entryId))
    .flatMap((node) => (node.type === "custom" ? tree.children(node.id) : [node]))
    .filter((node) => node.type === "message" && node.role === role);
  const paths = session
    .leaves()
    .map((leaf) => ({ leaf, ids: new Set(tree.path(leaf.id).map(({ id }) => id)) }));
  return siblings.map(({ id }) => ({
    leafId: paths.find(({ ids }) => ids.has(id))?.leaf.id ?? id,
    current: current.has(id),
  }));
}

/** The entry before a message, and before its note. */
function parentOf({ tree }: Session, id: string): string | null {
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
function endOf({ tree }: Session, id: string): string {
  let last = id;
  const open = tree.node(id)?.role === "user" ? [] : [id];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const child of tree.children(at)) {
      if (child.role === "user" || child.role === "system") continue;
      if (!outsideConversation.has(child.type)) last = child.id;
      open.push(child.id);
    }
  }
  return last;
}

/** Appends the results of a page's own tools to the calls of a reply that wait for them. */
async function appendResults(
  session: Session,
  posted: UiMessage,
  known: string | undefined,
  options: Omit<FromUIMessagesOptions, "has">,
): Promise<{ readonly leafId: string | null; readonly written: number }> {
  if (known === undefined)
    throw invalid("messages", "a user's message, or a reply of this session, at the end");
  const leafId = endOf(session, known);
  const [shown] = (await toUIMessages(await session.path(leafId), { running: true })).slice(-1);
  const open = new Set(
    ((shown?.parts ?? []) as UiPart[]).flatMap((part) => (isWaiting(part) ? [part.toolCallId] : [])),
  );
  const drafts = await fromUIMessages([posted], options);
  const results = drafts.filter(
    (draft) =>
      draft.type === "message" && draft.message.role === "toolResult" && open.has(draft.message.toolCallId),
  );
  if (results.length > 0) await appendAfter(session, leafId, results, options.signal);
  else session.branch(leafId);
  return { leafId: session.leafId, written: results.length };
}

function isWaiting(part: UiPart): boolean {
  return (
    part.state === "input-available" ||
    part.state === "approval-requested" ||
    part.state === "approval-responded"
  );
}

function invalid(path: string, expected: string): SessileError<"INVALID_MESSAGE"> {
  return new SessileError("INVALID_MESSAGE", `${path}: expected ${expected}`, {
    details: { path, expected },
  });
}
