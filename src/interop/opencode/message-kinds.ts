/** Kinds of messages and parts: which are sent, and which is a summary. */

import { digestOf } from "../shared/ids.js";
import { countOf, type ForeignObject, objectOf, textOf } from "../shared/values.js";
import type { EntryBuilder } from "../types.js";
import type { EntryMark } from "./marks.js";
import type { StoredMessage } from "./stored-sessions.js";

/** A record's type, for the counts. */
export function kindOf(value: ForeignObject): string {
  return textOf(value.type) ?? textOf(value.role) ?? "part";
}

/** The id of a part; for one without an id a digest of it. */
export function partIdOf(part: ForeignObject): string {
  return textOf(part.id) ?? digestOf(JSON.stringify(part)).slice(0, 16);
}

/** Whether a reply is a summary that replaces all messages before it. */
export function isSummary({ role, summary, finish, error }: ForeignObject): boolean {
  return role === "assistant" && summary === true && Boolean(finish) && !error;
}

/** Whether opencode leaves a reply out: it failed, or it was stopped before it had said anything. */
export function isUnsent({ info, parts }: StoredMessage): boolean {
  const error = objectOf(info.value.error);
  if (error === undefined) return false;
  const said = parts.some(({ value }) => value.type !== "step-start" && value.type !== "reasoning");
  return error.name !== "MessageAbortedError" || !said;
}

/** The entries that the compaction of an own export kept. */
export function keptOf(
  { members }: EntryMark,
  builder: EntryBuilder,
): { firstKeptEntryId?: string; retain?: readonly string[]; tokensBefore?: number } {
  const first = textOf(members.firstKept);
  const retain = Array.isArray(members.retain) ? members.retain.flatMap((id) => textOf(id) ?? []) : [];
  return {
    ...(first === undefined ? {} : { firstKeptEntryId: first }),
    ...(retain.length === 0 ? {} : { retain: retain.filter((id) => builder.has(id)) }),
    ...(members.tokensBefore === undefined ? {} : { tokensBefore: countOf(members.tokensBefore) }),
  };
}
