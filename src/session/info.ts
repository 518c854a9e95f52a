import { copyJsonObject } from "../internal/copy-json.js";
import type { SessionHeader, SessionInfoFields, SessionInfoPatch } from "./entries.js";
import { slugOf } from "./names.js";

/** A session as a list or a title bar shows it. */
export interface SessionInfo extends Omit<SessionInfoFields, "archivedAt"> {
  readonly id: string;
  /** A short name for addresses: the one that was given, or else words made of the id. */
  readonly slug: string;
  /** The project's directory. */
  readonly cwd: string;
  /** The session that this one was forked from: a path or an id. */
  readonly parentSession?: string;
  /** Of the base format. */
  readonly version: number;
  /** ISO 8601. */
  readonly time: {
    readonly created: string;
    /** Of the last entry. */
    readonly updated: string;
    /** Set while a compaction is at work in this process. */
    readonly compacting?: string;
    readonly archived?: string;
  };
}

const fieldNames = ["name", "title", "slug", "archivedAt", "share", "permission", "stats"] as const;

/** The info of a session from its header, its latest session_info, and its last entry's time. */
export function infoOf(
  header: SessionHeader,
  fields: SessionInfoFields,
  updated: string,
  compacting?: string,
): SessionInfo {
  // Another writer's session_info may have more, which must not speak for the header.
  const { archivedAt, ...rest } = Object.fromEntries(
    fieldNames.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]])),
  ) as SessionInfoFields;
  return {
    ...rest,
    id: header.id,
    slug: fields.slug || slugOf(header.id),
    cwd: header.cwd,
    ...(header.parentSession === undefined ? {} : { parentSession: header.parentSession }),
    version: header.version ?? 1,
    time: {
      created: header.timestamp,
      updated,
      ...(compacting === undefined ? {} : { compacting }),
      ...(archivedAt === undefined ? {} : { archived: archivedAt }),
    },
  };
}

/**
 * The full snapshot that a patch makes of what was there. Other readers take the last session_info for the whole truth,
 * so one that says only what changed would clear the rest: what this version does not know is carried on too.
 */
export function patchedInfo(current: SessionInfoFields, patch: SessionInfoPatch): SessionInfoFields {
  // A number such as 1e999 is read as none that can be written.
  const out: Record<string, unknown> = copyJsonObject(current);
  for (const name of fieldNames) {
    if (patch[name] === null) delete out[name];
    else if (patch[name] !== undefined) out[name] = patch[name];
  }
  return out;
}
