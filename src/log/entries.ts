/** The public types of entries and headers. */

import type {
  AssistantMessage,
  ImageBlock,
  Message,
  SystemMessage,
  TextBlock,
  Usage,
} from "../content/index.js";
import { isRecord } from "../core/shape.js";
import type { OwnCustomType } from "./ownership.js";

/** The version of the base format that this library writes: pi's session format. */
export const formatVersion = 3;
/** The version of this library's own entry types. */
export const extensionVersion = 1;

/** The first line of a session. */
export interface SessionHeader {
  readonly type: "session";
  /** The version of the base format; absent in version 1. */
  readonly version?: number;
  readonly id: string;
  /** ISO 8601. */
  readonly timestamp: string;
  /** The project's directory, absolute. */
  readonly cwd: string;
  /** The source of a fork: a path or an id. */
  readonly parentSession?: string;
  /** The version of this library's own entry types. An absent one counts as 1. */
  readonly sessile?: number;
}

/** Lines changed by the session so far. */
export interface SessionStats {
  readonly additions: number;
  readonly deletions: number;
  readonly files: number;
  readonly diffs?: readonly FileDiff[];
}

/** Lines changed in one file. */
export interface FileDiff {
  readonly file: string;
  readonly additions: number;
  readonly deletions: number;
}

/** The fields of a session_info entry: always a full snapshot. */
export interface SessionInfoFields {
  /** A display name, which pi reads too. */
  readonly name?: string;
  readonly title?: string;
  /** A short name for URLs, in place of the one derived from the id. */
  readonly slug?: string;
  /** ISO 8601; absent while the session is active. */
  readonly archivedAt?: string;
  readonly share?: { readonly url: string };
  /** Rules in order; see {@link evaluatePermission}. */
  readonly permission?: readonly PermissionRule[];
  readonly stats?: SessionStats;
}

/**
 * The fields of every entry type beside `type`, `id`, `parentId` and `timestamp`. See
 * docs/reference/format.md.
 */
export interface EntryMap {
  message: {
    readonly message: Message;
    /** For programs, such as what a framework saved beside the message; never sent to a model. */
    readonly details?: unknown;
  };
  thinking_level_change: { readonly thinkingLevel: string };
  model_change: { readonly provider: string; readonly modelId: string };
  /** Replaces the history before `firstKeptEntryId` by a summary. The compaction's own id keeps nothing. */
  compaction: {
    readonly summary: string;
    readonly firstKeptEntryId: string;
    readonly tokensBefore: number;
    readonly details?: unknown;
    readonly fromHook?: boolean;
    readonly usage?: Usage;
    /** Instructions and tools in force, so that those of the summarised part are not lost. */
    readonly systemMessage?: SystemMessage;
    /**
     * Ids of earlier entries on the path that stay in context between summary and tail, in the order of
     * display. An entry of the kept range is shown here only. Unknown ids are ignored.
     */
    readonly retain?: readonly string[];
    readonly strategy?: string;
    /** The model that wrote the summary, if it is another one. */
    readonly model?: { readonly provider: string; readonly modelId: string };
    /** Written by an append: what the path before the entry has in force, so that no reader needs that path. */
    readonly inForce?: {
      readonly model: { readonly provider: string; readonly modelId: string } | null;
      readonly thinkingLevel: string;
      /** Ids of pinned entries, in path order. */
      readonly pins: readonly string[];
      /** Whether the path has observations of resources. */
      readonly isObserved: boolean;
    };
  };
  branch_summary: {
    /** The abandoned leaf, or `root`. */
    readonly fromId: string;
    readonly summary: string;
    readonly details?: unknown;
    readonly fromHook?: boolean;
    readonly usage?: Usage;
  };
  /** State of an extension; not in context. */
  custom: { readonly customType: string; readonly data?: unknown };
  /** A message of an extension; in context. */
  custom_message: {
    readonly customType: string;
    readonly content: string | readonly (TextBlock | ImageBlock)[];
    readonly display: boolean;
    readonly details?: unknown;
  };
  /** An absent or empty label clears. */
  label: { readonly targetId: string; readonly label?: string };
  session_info: SessionInfoFields;
  /** The usage of a provider call without an assistant message. */
  usage: {
    readonly kind: string;
    readonly provider: string;
    readonly model: string;
    readonly usage: Usage;
    readonly note?: string;
  };
  /** Changes an entry in later contexts: null omits it. The latest edit on the path wins. */
  context_edit: {
    readonly targetId: string;
    readonly replacement: null | {
      /** Text, or blocks of the message's role. */
      readonly content: string | readonly unknown[];
    };
  };
  /** Replaces the target's message by one of the same role. The latest on the path wins. */
  message_update: { readonly targetId: string; readonly message: Message };
  /** Replaces a block of the target's message; the index after the last one appends. */
  part_update: {
    readonly targetId: string;
    readonly index: number;
    readonly part: AssistantMessage["content"][number] | ImageBlock;
  };
  /** The leaf moved: `parentId` and `targetId` are the new leaf, null for before the first entry. */
  leaf: { readonly targetId: string | null; readonly name?: string };
  /** The next compaction keeps the target, or no longer does. The latest on the path wins. */
  context_pin: { readonly targetId: string; readonly pinned: boolean };
  /** The work since the target was undone outside, such as by a git checkout; `undone` reverses that. */
  revert: {
    readonly targetId: string;
    readonly partId?: string;
    readonly snapshot?: string;
    readonly diff?: string;
    readonly undone?: boolean;
  };
  /** The model asked to see a resource again. */
  resource_view: { readonly resourceId: string; readonly reason?: string };
  /** An observation about a resource, on this branch. */
  resource_observation: { readonly resourceId: string; readonly text: string };
}

/** The name of a known entry type. */
export type EntryType = keyof EntryMap;

/** The fields of every entry. */
export interface EntryBase {
  /** Unique in the session; eight hexadecimal digits if this library made it. */
  readonly id: string;
  /** null for a root. */
  readonly parentId: string | null;
  /** ISO 8601. */
  readonly timestamp: string;
  /** Set if the body was erased; see {@link eraseEntries}. Texts of such an entry are `[erased]`. */
  readonly erased?: Erasure;
  /** The entry that ended the log before this one, if that is another one than the parent. */
  readonly prior?: string;
  /** Set if a sync or a merge wrote the entry: the ends of the logs whose state it states. */
  readonly merges?: readonly string[];
}

/** The record of an erasure in its entries. */
export interface Erasure {
  /** ISO 8601. */
  readonly at: string;
  /** The caller's reason. */
  readonly reason: string;
}

/** The erasure that a value of JSON records; undefined if it is no tombstone. */
export function entryErasure(entry: unknown): Erasure | undefined {
  if (!isRecord(entry) || !isRecord(entry.erased)) return undefined;
  const { at, reason } = entry.erased;
  return typeof at === "string" && typeof reason === "string" ? { at, reason } : undefined;
}

/** An entry that was made from an erased one and is not erased itself. */
export interface DerivedEntry {
  readonly entryId: string;
  /**
   * A summary that covers it, a value of a memory block written after it, the result of an erased tool call,
   * an observation about its attachment, a revert to it, a part of the file that it was imported from, an
   * adapter's entry with the same text, or an entry of another program that names it.
   */
  readonly kind:
    | "compaction"
    | "branch_summary"
    | "memory"
    | "tool_result"
    | "observation"
    | "revert"
    | "import"
    | "copy"
    | "custom";
  /** The erased entries that it may have content of. */
  readonly from: readonly string[];
}

/** An entry of a session. Narrow it by `type`. */
export type SessionEntry = { [T in EntryType]: { readonly type: T } & EntryMap[T] & EntryBase }[EntryType];

/** An entry with a type or a shape that this version does not know. Kept verbatim, never in context. */
export interface UnknownEntry extends EntryBase {
  readonly type: "unknown";
  /** The stored type. */
  readonly entryType: string;
  /** The stored line without its line feed. */
  readonly raw: string;
}

/** A session_info draft: absent fields stay, null clears. The written entry has every field. */
export type SessionInfoPatch = {
  readonly [K in keyof SessionInfoFields]?: Exclude<SessionInfoFields[K], undefined> | null;
};

/**
 * The input of `append` and `stage`: an entry without its place in the tree. With an `id` the append is
 * idempotent: a retry writes nothing.
 */
export type EntryDraft = {
  [T in EntryType]: { readonly type: T; readonly id?: string } & (T extends "session_info"
    ? SessionInfoPatch
    : EntryMap[T]);
}[EntryType];

/** A typed entry of a caller, made by {@link customEntry}. */
export interface CustomEntryType<T> {
  /** The `customType` in the file. */
  readonly customType: string;
  /** Makes a draft for `data`, which must be JSON. */
  draft(data: T): EntryDraft & { readonly type: "custom" };
  /** Reads the data of an entry of this type; undefined for any other entry, and if `parse` throws. */
  read(entry: SessionEntry | UnknownEntry): T | undefined;
}

/**
 * Defines a typed entry of your own, which other readers keep and ignore.
 * @param customType its name in the file; prefix it with your project's name
 * @param parse converts stored data to T, or throws
 * @example
 * ```ts
 * const todo = customEntry("acme.todo", (data) => z.array(z.string()).parse(data));
 * await session.append([todo.draft(["write the test"])]);
 * ```
 */
export function customEntry<T>(customType: string, parse: (data: unknown) => T): CustomEntryType<T> {
  return {
    customType,
    draft: (data) => ({ type: "custom", customType, data }),
    read(entry) {
      if (entry.type !== "custom" || entry.customType !== customType) return undefined;
      try {
        return parse(entry.data);
      } catch {
        return undefined;
      }
    },
  };
}

/** {@link customEntry} for a type of this library: one without a row in the table of ownership does not compile. */
export function ownEntry<T>(customType: OwnCustomType, parse: (data: unknown) => T): CustomEntryType<T> {
  return customEntry(customType, parse);
}

/** A rule: the action if `permission` is requested for a subject that matches `pattern`. */
export interface PermissionRule {
  /** The requested permission, such as `bash` or `edit`; `*` for all. */
  readonly permission: string;
  /** A wildcard pattern: `*` matches any run of characters, `?` one character. */
  readonly pattern: string;
  /** An unknown action counts as `ask`. */
  readonly action: "allow" | "deny" | "ask" | (string & Record<never, never>);
}
