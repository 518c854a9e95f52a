/**
 * The metadata that an export adds for an import back: ids of sessions and entries, and the members of
 * entries that opencode has no place for. Metadata of texts, calls and results, which opencode keeps as it
 * is.
 */

import { type ForeignObject, readCount, readObject, readText } from "../shared/values.js";
import type { EntryBuilder } from "../types.js";
import type { StoredMessage } from "./stored-sessions.js";

/** The annotation of a part, or of a tool's result. */
export interface EntryAnnotation {
  readonly entry: string;
  /** The part represents the entry, and its message is built from these members. */
  readonly draft?: ForeignObject | undefined;
  /** The message repeats an entry that a compaction keeps. */
  readonly kept: boolean;
  readonly members: ForeignObject;
}

/** The annotation in the metadata of a part, or in that of a tool's state. */
export function metadataAnnotation(metadata: unknown): EntryAnnotation | undefined {
  const members = readObject(readObject(metadata)?.sessile);
  const entry = readText(members?.entry);
  if (members === undefined || entry === undefined || entry === "") return undefined;
  return { entry, draft: readObject(members.draft), kept: members.kept === true, members };
}

/** The annotations of a message, the first one first. */
export function messageAnnotation({ parts }: StoredMessage): EntryAnnotation | undefined {
  for (const { value } of parts) {
    const annotation = metadataAnnotation(value.metadata);
    if (annotation !== undefined) return annotation;
  }
  return undefined;
}

/**
 * The id that the session had here, from its own metadata or from that of its first annotated part, since 1.2
 * drops the former. A fork has the annotations of its source: it is a session of its own.
 */
export function annotatedSessionId(
  id: string,
  info: ForeignObject,
  messages: readonly StoredMessage[],
): string | undefined {
  const candidates = [readObject(readObject(info.metadata)?.sessile)];
  for (const { parts } of messages.slice(0, 2))
    for (const { value } of parts) candidates.push(readObject(readObject(value.metadata)?.sessile));
  const found = candidates.find(
    (annotation) => annotation?.of === id && typeof annotation.session === "string",
  );
  return readText(found?.session);
}

/** The entries that the compaction of an own export kept. */
export function keptAnnotation(
  { members }: EntryAnnotation,
  builder: EntryBuilder,
): { firstKeptEntryId?: string; retain?: readonly string[]; tokensBefore?: number } {
  const first = readText(members.firstKept);
  const retain = Array.isArray(members.retain) ? members.retain.flatMap((id) => readText(id) ?? []) : [];
  return {
    ...(first === undefined ? {} : { firstKeptEntryId: first }),
    ...(retain.length === 0 ? {} : { retain: retain.filter((id) => builder.has(id)) }),
    ...(members.tokensBefore === undefined ? {} : { tokensBefore: readCount(members.tokensBefore) }),
  };
}
