/** The tree of a chat: the entries of its messages, their ids, and the versions of a message. */

import { SessileError } from "../../core/errors/index.js";
import { isRecord } from "../../core/shape.js";
import { entryErasure, ownEntry } from "../../log/internal.js";
import type { Session, SessionTree } from "../../session/index.js";
import { entryId, textDigest } from "../shared/ids.js";
import { isParcel, type Parcel } from "../shared/parcels.js";
import { messageDigest } from "./chat-files.js";

/** The data of an entry of a message. */
export interface StoredMessage {
  readonly id?: string;
  readonly sha256: string;
  readonly message: Parcel;
}

export const stored = ownEntry<StoredMessage>("sessile.ai-sdk.message", (data) => {
  if (isRecord(data) && typeof data.sha256 === "string" && isParcel(data.message)) return data as never;
  throw new TypeError("data: expected a message");
});

const prefix = entryId("m", "");

/** The id of a message after another one: a digest of all messages up to it. */
export function messageEntryId(before: string | null, sha256: string): string {
  return prefix + textDigest(`${before ?? ""} ${sha256}`);
}

/** Whether an entry is a message. */
export function isMessageId(id: string): boolean {
  return id.startsWith(prefix);
}

/** The last message at or before an entry; null if there is none. */
function messageAtOrBefore(tree: SessionTree, id: string | null): string | null {
  for (let at = id; at !== null; at = tree.node(at)?.parentId ?? null) if (isMessageId(at)) return at;
  return null;
}

/** The message before another one; null for the first. */
export function messageBefore(tree: SessionTree, id: string): string | null {
  return messageAtOrBefore(tree, tree.node(id)?.parentId ?? null);
}

/** The last message of the branch of the leaf; null if there is none. */
export async function leafMessage(session: Session | undefined): Promise<string | null> {
  return session === undefined ? null : messageAtOrBefore(await session.tree(), session.leafId);
}

/** The messages up to a leaf, oldest first. Throws ENTRY_NOT_FOUND if the leaf or a message is missing. */
export async function messagesUpTo(
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
export function treeSiblings(tree: SessionTree, id: string): readonly string[] {
  const parent = messageBefore(tree, id);
  return Array.from(tree.walk(), ({ node }) => node)
    .filter((node) => isMessageId(node.id) && messageBefore(tree, node.id) === parent)
    .sort((a, b) => (a.timestamp < b.timestamp ? -1 : a.timestamp > b.timestamp ? 1 : 0))
    .map((node) => node.id);
}

/** The last message of the newest branch through a message. */
export async function newestEnd(session: Session, id: string): Promise<string> {
  const tree = await session.tree();
  for (const leaf of await session.leaves())
    if (tree.path(leaf.id).some((node) => node.id === id)) return messageAtOrBefore(tree, leaf.id) ?? id;
  return id;
}

/**
 * The erased message after another one that a load shows as the message of this digest: its own id is a digest of
 * what it was.
 */
export async function erasedAfter(
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
export function chatConflict(after: string | null, leaf: string | null): SessileError<"CONCURRENT_WRITER"> {
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
