/** The table of entry types: one row each, from which checks, schemas and sets of types derive. */

import {
  blockShape,
  messageRoles,
  messageShape,
  modelShape,
  shownContent,
  systemMessageShape,
  usageShape,
} from "../core/message-shapes.js";
import {
  anything,
  array,
  boolean,
  type Fields,
  nonEmptyString,
  nullable,
  number,
  object,
  oneOf,
  optional,
  type Shape,
  string,
  stringAmong,
  union,
  variants,
} from "../core/shape.js";
import type { EntryType, SessionEntry } from "./entries.js";

/** Everything that depends on an entry's type alone. */
export interface EntryTypeSpec {
  /** Its fields besides `type`, `id`, `parentId` and `timestamp`. */
  readonly fields: Fields;
  /** pi does not know the type; it keeps and ignores such entries. */
  readonly isExtension?: true;
  /** An item of its own in contexts. */
  readonly inContext?: true;
  /** Opening a session needs the body, for labels, session_info or the leaf. */
  readonly structural?: true;
  /** Outside the conversation: an entry of another writer is not a conflict. */
  readonly metadata?: true;
  /**
   * Fields with ids of entries that must exist, `[]` after a list: a dangling id would silently change a
   * context.
   */
  readonly references?: readonly string[];
  /** Changes how contexts show an earlier message. */
  readonly edits?: true;
  /** Depends on or changes earlier entries: after it, a context is built from its start. */
  readonly changesEarlier?: true;
  /** A setting: no reason to create the file of a session without messages. */
  readonly setting?: true;
  /** Omitted when a path is extracted: it describes the whole tree. */
  readonly droppedOnExtract?: true;
}

/** The lines that a session changed in files. */
const statsShape = object({
  additions: number,
  deletions: number,
  files: number,
  diffs: optional(array(object({ file: string, additions: number, deletions: number }))),
});

const permissionRule = object({
  permission: string,
  pattern: string,
  action: stringAmong<"allow" | "deny" | "ask" | (string & Record<never, never>)>(),
});

/**
 * The entry types, one row each. Validation, the zod schema, and every set of types in this module derive
 * from it. Tests compare it with `EntryMap` and with the table of docs/reference/format.md.
 */
export const entryTypes = {
  message: { fields: { message: messageShape, details: optional(anything) }, inContext: true },
  thinking_level_change: { fields: { thinkingLevel: string }, setting: true },
  model_change: { fields: { provider: string, modelId: string }, setting: true },
  compaction: {
    fields: {
      summary: string,
      firstKeptEntryId: string,
      tokensBefore: number,
      details: optional(anything),
      fromHook: optional(boolean),
      usage: optional(usageShape),
      systemMessage: optional(systemMessageShape),
      retain: optional(array(string)),
      strategy: optional(string),
      model: optional(modelShape),
      inForce: optional(
        object({
          model: nullable(modelShape),
          thinkingLevel: string,
          pins: array(string),
          isObserved: boolean,
        }),
      ),
    },
    references: ["firstKeptEntryId", "retain[]"],
    changesEarlier: true,
  },
  branch_summary: {
    fields: {
      fromId: string,
      summary: string,
      details: optional(anything),
      fromHook: optional(boolean),
      usage: optional(usageShape),
    },
    inContext: true,
  },
  custom: { fields: { customType: string, data: optional(anything) } },
  custom_message: {
    fields: { customType: string, content: shownContent, display: boolean, details: optional(anything) },
    inContext: true,
  },
  label: {
    fields: { targetId: string, label: optional(string) },
    structural: true,
    metadata: true,
    references: ["targetId"],
    setting: true,
    droppedOnExtract: true,
  },
  session_info: {
    fields: {
      name: optional(string),
      title: optional(string),
      slug: optional(string),
      archivedAt: optional(string),
      share: optional(object({ url: string })),
      permission: optional(array(permissionRule)),
      stats: optional(statsShape),
    },
    structural: true,
    metadata: true,
    setting: true,
  },
  usage: {
    fields: { kind: string, provider: string, model: string, usage: usageShape, note: optional(string) },
    metadata: true,
  },
  context_edit: {
    fields: {
      targetId: string,
      replacement: nullable(object({ content: union(string, array(anything)) })),
    },
    references: ["targetId"],
    edits: true,
    changesEarlier: true,
  },
  message_update: {
    fields: { targetId: string, message: messageShape },
    isExtension: true,
    references: ["targetId"],
    edits: true,
    changesEarlier: true,
  },
  part_update: {
    fields: { targetId: string, index: number, part: blockShape },
    isExtension: true,
    references: ["targetId"],
    edits: true,
    changesEarlier: true,
  },
  leaf: {
    fields: { targetId: nullable(string), name: optional(string) },
    isExtension: true,
    structural: true,
    references: ["targetId"],
    setting: true,
    droppedOnExtract: true,
  },
  context_pin: {
    fields: { targetId: string, pinned: boolean },
    isExtension: true,
    references: ["targetId"],
    changesEarlier: true,
  },
  revert: {
    fields: {
      targetId: string,
      partId: optional(string),
      snapshot: optional(string),
      diff: optional(string),
      undone: optional(boolean),
    },
    isExtension: true,
    references: ["targetId"],
  },
  resource_view: {
    fields: { resourceId: string, reason: optional(string) },
    isExtension: true,
    changesEarlier: true,
  },
  resource_observation: {
    fields: { resourceId: string, text: string },
    isExtension: true,
    changesEarlier: true,
  },
} as const satisfies Readonly<Record<EntryType, EntryTypeSpec>>;

const types = Object.entries(entryTypes) as readonly (readonly [EntryType, EntryTypeSpec])[];

/** The names of the entry types that this version knows, in the table's order. */
export const entryTypeNames: readonly EntryType[] = types.map(([type]) => type);

/** Whether this version knows the type. */
export function isEntryType(type: string): type is EntryType {
  return Object.hasOwn(entryTypes, type);
}

/** The types whose row has a property. */
export function entryTypesWith(
  property: Exclude<keyof EntryTypeSpec, "fields" | "references">,
): ReadonlySet<string> {
  return new Set(types.flatMap(([type, spec]) => (spec[property] === true ? [type] : [])));
}

/** Types whose bodies opening a session needs. */
export const isStructural: ReadonlySet<string> = entryTypesWith("structural");

/** The types with ids of other entries in their fields. */
export const referencingTypes: ReadonlySet<string> = new Set(
  types.flatMap(([type, { references }]) => (references === undefined ? [] : [type])),
);

/** Kinds of the tree's rows that are items in contexts: a message's kind has its role. */
export const kindsInContext: readonly string[] = Array.from(entryTypesWith("inContext")).flatMap((type) =>
  type === "message" ? messageRoles.map((role) => `message/${role}`) : [type],
);

/** The shapes of the fields of each type alone. */
export const fieldShapes: ReadonlyMap<string, Shape> = new Map(
  types.map(([type, { fields }]) => [type, object(fields)]),
);

const placeFields = { id: nonEmptyString, parentId: nullable(string), timestamp: string };

/** A whole entry of any known type. */
export const entryShape: Shape<SessionEntry> = variants(
  "type",
  types.map(([type, { fields }]) => object({ type: oneOf(type), ...placeFields, ...fields })),
) as Shape<SessionEntry>;

/** The members of the first line of a session. */
export const headerFields = {
  type: oneOf("session"),
  version: optional(number),
  id: nonEmptyString,
  timestamp: optional(string),
  cwd: optional(string),
  parentSession: optional(string),
  sessile: optional(number),
} as const;

/** The first line of a session. */
export const headerShape: Shape = object(headerFields);

/** The ids of other entries in an entry or draft, each with its path. They are unchecked values. */
export function references(entry: {
  readonly type: string;
}): readonly (readonly [path: string, id: unknown])[] {
  const fields = isEntryType(entry.type) ? (entryTypes[entry.type] as EntryTypeSpec).references : undefined;
  if (fields === undefined) return noReferences;
  return fields.flatMap((field): readonly (readonly [string, unknown])[] => {
    const name = field.replace("[]", "");
    const value = (entry as Readonly<Record<string, unknown>>)[name];
    if (name === field) return [[field, value]];
    return Array.isArray(value) ? value.map((id: unknown, i) => [`${name}[${i}]`, id] as const) : [];
  });
}

const noReferences: readonly (readonly [string, unknown])[] = [];
