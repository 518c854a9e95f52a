import type {
  AssistantMessage,
  ImageBlock,
  Message,
  SystemMessage,
  TextBlock,
  Usage,
} from "../content/index.js";
import type { PermissionRule } from "./permissions.js";

/** The version of the base format that this library writes: pi's session format. */
export const formatVersion = 3;
/** The version of the entry types that are this library's own. */
export const extensionVersion = 1;

/** The first line of a session. */
export interface SessionHeader {
  readonly type: "session";
  /** Of the base format; absent in version 1. */
  readonly version?: number;
  readonly id: string;
  /** ISO 8601. */
  readonly timestamp: string;
  /** The project's directory, absolute. */
  readonly cwd: string;
  /** The session that this one was forked from: a path or an id. */
  readonly parentSession?: string;
  /** The version of this library's own entry types; absent reads as 1. */
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

/** The fields of a session_info entry: a full snapshot of them every time. */
export interface SessionInfoFields {
  /** A display name, read by pi too. */
  readonly name?: string;
  readonly title?: string;
  /** A short name for addresses, in the place of the one that is made of the id. */
  readonly slug?: string;
  /** ISO 8601; absent while the session is active. */
  readonly archivedAt?: string;
  readonly share?: { readonly url: string };
  /** Rules in order; see {@link evaluatePermission}. */
  readonly permission?: readonly PermissionRule[];
  readonly stats?: SessionStats;
}

/** The fields of every entry type besides `type`, `id`, `parentId` and `timestamp`. See docs/format.md. */
export interface EntryMap {
  message: { readonly message: Message };
  thinking_level_change: { readonly thinkingLevel: string };
  model_change: { readonly provider: string; readonly modelId: string };
  /** Replaces the history before `firstKeptEntryId` by a summary. An own id there keeps nothing. */
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
     * Ids of entries from before it on the path that stay in context between summary and tail, in the order in which they
     * are shown. One that lies in the kept range is shown here and not there; ids that are not there count for nothing.
     */
    readonly retain?: readonly string[];
    readonly strategy?: string;
    /** The model that wrote the summary, where it is another one. */
    readonly model?: { readonly provider: string; readonly modelId: string };
  };
  branch_summary: {
    /** The leaf that was left, or `root`. */
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
  /** Tokens of a provider call that is no assistant message. */
  usage: {
    readonly kind: string;
    readonly provider: string;
    readonly model: string;
    readonly usage: Usage;
    readonly note?: string;
  };
  /** Changes what later contexts show of one entry: null omits it. The latest on the path wins. */
  context_edit: {
    readonly targetId: string;
    readonly replacement: null | {
      /** Text, or blocks of the message's role. */
      readonly content: string | readonly unknown[];
    };
  };
  /** The target's message is this one now, of the same role. The latest on the path counts. */
  message_update: { readonly targetId: string; readonly message: Message };
  /** A block of the target's message is this one now; at the index behind the last it is added. */
  part_update: {
    readonly targetId: string;
    readonly index: number;
    readonly part: AssistantMessage["content"][number] | ImageBlock;
  };
  /** The tip was moved here: `parentId` and `targetId` are the new tip, null for before the first entry. */
  leaf: { readonly targetId: string | null; readonly name?: string };
  /** The next compaction keeps the target, or no longer does. The latest on the path wins. */
  context_pin: { readonly targetId: string; readonly pinned: boolean };
  /** The work since the target was undone outside, for example by a git checkout; `undone` takes that back. */
  revert: {
    readonly targetId: string;
    readonly partId?: string;
    readonly snapshot?: string;
    readonly diff?: string;
    readonly undone?: boolean;
  };
  /** The model asked to see a resource again. */
  resource_view: { readonly resourceId: string; readonly reason?: string };
  /** What was seen in a resource, on this branch. */
  resource_observation: { readonly resourceId: string; readonly text: string };
}

/** The name of an entry type that this version knows. */
export type EntryType = keyof EntryMap;

/** What every entry has besides the fields of its type. */
export interface EntryBase {
  /** Unique in the session; eight hexadecimal digits where this library made it. */
  readonly id: string;
  /** null for a root. */
  readonly parentId: string | null;
  /** ISO 8601. */
  readonly timestamp: string;
}

/** An entry of a session. Narrow it by `type`. */
export type SessionEntry = { [T in EntryType]: { readonly type: T } & EntryMap[T] & EntryBase }[EntryType];

/** An entry whose type, or whose shape, this version does not understand. Kept verbatim, never in context. */
export interface UnknownEntry extends EntryBase {
  readonly type: "unknown";
  /** The type as stored. */
  readonly entryType: string;
  /** The stored line without its line feed. */
  readonly raw: string;
}

/** A session_info draft: what is absent stays as it is, null clears. The entry that is written has every field. */
export type SessionInfoPatch = {
  readonly [K in keyof SessionInfoFields]?: Exclude<SessionInfoFields[K], undefined> | null;
};

/**
 * What `append` and `stage` take: an entry without its place. With `id`, writing it a second time does nothing, so that
 * a retry is safe.
 */
export type EntryDraft = {
  [T in EntryType]: { readonly type: T; readonly id?: string } & (T extends "session_info"
    ? SessionInfoPatch
    : EntryMap[T]);
}[EntryType];

/** The fields of an entry type that a caller made with {@link customEntry}. */
export interface CustomEntryType<T> {
  /** The `customType` in the file. */
  readonly customType: string;
  /** The entry to append for `data`, which must be JSON. */
  draft(data: T): EntryDraft & { readonly type: "custom" };
  /** The data of an entry of this type; undefined for any other entry, and where `parse` throws. */
  read(entry: SessionEntry | UnknownEntry): T | undefined;
}

/**
 * A typed entry of your own that other readers keep and ignore.
 *
 * @param customType its name in the file; prefix it with your project's name
 * @param parse turns stored data into T, and throws where it cannot
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
