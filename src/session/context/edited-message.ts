/** Makes the message that stands beside a user message, on another branch. */

import { describeResource, type Resource, type UserMessage } from "../../content/index.js";
import { describe } from "../../core/arguments.js";
import { SessileError } from "../../core/errors/index.js";
import { entryTypesWith, type SessionEntry, type UnknownEntry } from "../../log/internal.js";
import { type EntryTable, noRow, tableRow } from "../tree/session-tree.js";
import { type EntryRequests, NeedsWholeLog } from "./build-context.js";
import { applyEdit, applyUpdates, entryItem, entryUpdates, latestEdits } from "./context-items.js";

/** The edited message, and the entry that it follows. */
export interface EditedMessage {
  readonly parentId: string | null;
  readonly message: UserMessage;
}

const editTypes = entryTypesWith("edits");
const noIds: ReadonlySet<string> = new Set();

/** Throws a TypeError for a text or attachments of another type. */
export function assertEdit(text: unknown, attachments: unknown): void {
  if (typeof text !== "string") throw new TypeError(`text: expected a string, got ${describe(text)}`);
  if (attachments === undefined) return;
  if (!Array.isArray(attachments))
    throw new TypeError(`attachments: expected an array of resources, got ${describe(attachments)}`);
  for (const [at, each] of attachments.entries())
    if (typeof each?.resourceId !== "string")
      throw new TypeError(`attachments[${at}]: expected a resource, got ${describe(each)}`);
}

/**
 * Makes a user message anew, with another text. Its attachments are those that the message has at a leaf, unless others
 * are given.
 */
export function* editMessageSteps(
  table: EntryTable,
  leaf: number,
  id: string,
  text: string,
  attachments: readonly Resource[] | undefined,
): EntryRequests<EditedMessage> {
  const row = tableRow(table, id);
  if (table.isCut(row)) throw new NeedsWholeLog();
  const editRows = editsBetween(table, leaf, row);
  const readBody = yield [row, ...editRows];
  const entry = readBody(row);
  if (entry?.type !== "message" || entry.message.role !== "user")
    throw invalid("id", "the id of a user message", `that of ${table.kind(row)}`);
  const edits = editRows.map(readBody);
  const updated = applyUpdates(entry, entryUpdates(edits));
  const item = updated && entryItem(updated, noIds);
  const shown = item && applyEdit(item, latestEdits(edits).get(id))?.message;
  const content = editedContent(shown?.role === "user" ? shown.content : [], text, attachments);
  if (content.length === 0) throw invalid("text", "a text, or an attachment", describe(text));
  const parent = table.parent(row);
  return {
    parentId: parent === noRow ? null : table.id(parent),
    message: { ...userMessageOf(updated, entry.message), content, timestamp: Date.now() },
  };
}

/** The message of an entry, if it is a user's. */
function userMessageOf(entry: SessionEntry | UnknownEntry | undefined, other: UserMessage): UserMessage {
  return entry?.type === "message" && entry.message.role === "user" ? entry.message : other;
}

/** The rows of edits between an entry and a leaf below it, in path order. */
function editsBetween(table: EntryTable, leaf: number, row: number): readonly number[] {
  const edits: number[] = [];
  let at = leaf;
  for (; at > row; at = table.parent(at)) {
    if (editTypes.has(table.kind(at) as never)) edits.push(at);
    if (table.isCut(at)) throw new NeedsWholeLog();
  }
  return at === row ? edits.reverse() : [];
}

type Content = Exclude<UserMessage["content"], string>;

/** The text in place of the first one, and the attachments where they were. Without a text, the attachments alone. */
function editedContent(
  before: UserMessage["content"],
  text: string,
  attachments: readonly Resource[] | undefined,
): UserMessage["content"] {
  const given = attachments?.map(
    (resource) => ({ type: "text", text: describeResource(resource), resource }) as const,
  );
  if (typeof before === "string") return withText([], 0, text, given);
  const isAttachment = (block: Content[number]) => block.type !== "text" || block.resource !== undefined;
  const place = before.findIndex((block) => !isAttachment(block));
  return withText(before.filter(isAttachment), Math.max(place, 0), text, given);
}

function withText(kept: Content, place: number, text: string, given: Content = kept): UserMessage["content"] {
  if (text.trim() === "") return given;
  if (given.length === 0) return text;
  return given.toSpliced(given === kept ? place : 0, 0, { type: "text", text });
}

function invalid(path: string, expected: string, got: string): SessileError<"INVALID_MESSAGE"> {
  return new SessileError("INVALID_MESSAGE", `${path}: expected ${expected}, got ${got}`, {
    details: { path, expected },
  });
}
