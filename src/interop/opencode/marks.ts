/**
 * The metadata that an export adds for an import back: ids of sessions and entries, and the members of
 * entries that opencode has no place for. Metadata of texts, calls and results, which opencode keeps as it
 * is.
 */

import { type ForeignObject, objectOf, textOf } from "../shared/values.js";
import type { StoredMessage } from "./stored-sessions.js";

/** The mark of a part, or of a tool's result. */
export interface EntryMark {
  readonly entry: string;
  /** The part represents the entry, and its message is built from these members. */
  readonly draft?: ForeignObject | undefined;
  /** The message repeats an entry that a compaction keeps. */
  readonly kept: boolean;
  readonly members: ForeignObject;
}

/** The mark in the metadata of a part, or in that of a tool's state. */
export function markOf(metadata: unknown): EntryMark | undefined {
  const members = objectOf(objectOf(metadata)?.sessile);
  const entry = textOf(members?.entry);
  if (members === undefined || entry === undefined || entry === "") return undefined;
  return { entry, draft: objectOf(members.draft), kept: members.kept === true, members };
}

/** The marks of a message, the first one first. */
export function messageMark({ parts }: StoredMessage): EntryMark | undefined {
  for (const { value } of parts) {
    const mark = markOf(value.metadata);
    if (mark !== undefined) return mark;
  }
  return undefined;
}

/**
 * The id that the session had here, from its own metadata or from that of its first marked part, since 1.2
 * drops the former. A fork has the marks of its source: it is a session of its own.
 */
export function sessionMark(
  id: string,
  info: ForeignObject,
  messages: readonly StoredMessage[],
): string | undefined {
  const candidates = [objectOf(objectOf(info.metadata)?.sessile)];
  for (const { parts } of messages.slice(0, 2))
    for (const { value } of parts) candidates.push(objectOf(objectOf(value.metadata)?.sessile));
  const found = candidates.find((mark) => mark?.of === id && typeof mark.session === "string");
  return textOf(found?.session);
}
