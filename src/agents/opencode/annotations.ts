/**
 * The metadata that an export adds for an import back: ids of sessions and entries, and the members of
 * entries that opencode has no place for. Metadata of texts, calls and results, which opencode keeps as it
 * is.
 */

import { countOf, type ForeignObject, objectOf, textOf } from "../shared/values.js";
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
export function annotationOf(metadata: unknown): EntryAnnotation | undefined {
  const members = objectOf(objectOf(metadata)?.sessile);
  const entry = textOf(members?.entry);
  if (members === undefined || entry === undefined || entry === "") return undefined;
  return { entry, draft: objectOf(members.draft), kept: members.kept === true, members };
}

/** The annotations of a message, the first one first. */
export function messageAnnotation({ parts }: StoredMessage): EntryAnnotation | undefined {
  for (const { value } of parts) {
    const annotation = annotationOf(value.metadata);
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
  const candidates = [objectOf(objectOf(info.metadata)?.sessile)];
  for (const { parts } of messages.slice(0, 2))
    for (const { value } of parts) candidates.push(objectOf(objectOf(value.metadata)?.sessile));
  const found = candidates.find(
    (annotation) => annotation?.of === id && typeof annotation.session === "string",
  );
  return textOf(found?.session);
}

/** The entries that the compaction of an own export kept. */
export function keptOf(
  { members }: EntryAnnotation,
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
