import { encodeUtf8, hex8 } from "../../internal/bytes.js";
import { crc32 } from "../../internal/crc32.js";
import { copyJsonObject } from "../../internal/json.js";
import type { SessionHeader, SessionInfoFields, SessionInfoPatch } from "../api/entries.js";
import type { LogReader } from "../tree/log-reader.js";
import { entryTableOf } from "../tree/session-tree.js";

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

/** One rule: what to do when `permission` is asked for something that matches `pattern`. */
export interface PermissionRule {
  /** What is asked for, such as `bash` or `edit`; `*` for all. */
  readonly permission: string;
  /** `*` stands for any run of characters, `?` for one; anything else for itself. */
  readonly pattern: string;
  /** Another writer's word that is not listed counts as `ask`. */
  readonly action: "allow" | "deny" | "ask" | (string & Record<never, never>);
}

/**
 * What the rules say of one request: the last rule that matches wins, and `ask` where none does.
 *
 * @example
 * ```ts
 * evaluatePermission([{ permission: "bash", pattern: "git *", action: "allow" }], "bash", "git status"); // "allow"
 * ```
 */
export function evaluatePermission(
  rules: readonly PermissionRule[],
  permission: string,
  subject: string,
): "allow" | "deny" | "ask" {
  for (let i = rules.length - 1; i >= 0; i--) {
    const rule = rules[i] as PermissionRule;
    if (matchesWildcard(rule.permission, permission) && matchesWildcard(rule.pattern, subject))
      return decided(rule);
  }
  return "ask";
}

/**
 * The rules after somebody answered "always" for a request: an allow rule at the end, and no second copy of it.
 * A pattern that is already allowed by its own rule at the end is not repeated.
 */
export function withApproval(
  rules: readonly PermissionRule[],
  approval: Pick<PermissionRule, "permission" | "pattern">,
): readonly PermissionRule[] {
  const same = (rule: PermissionRule) =>
    rule.permission === approval.permission && rule.pattern === approval.pattern && rule.action === "allow";
  return [
    ...rules.filter((rule) => !same(rule)),
    { permission: approval.permission, pattern: approval.pattern, action: "allow" },
  ];
}

/** An action that this version does not know neither allows nor denies: a person is asked. */
function decided({ action }: PermissionRule): "allow" | "deny" | "ask" {
  if (action === "allow") return "allow";
  return action === "deny" ? "deny" : "ask";
}

/** Iterative matching with one point to go back to: at worst pattern length times text length, never exponential. */
function matchesWildcard(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let starAt = -1;
  let resumeAt = 0;
  while (t < text.length) {
    const wanted = pattern[p];
    if (wanted === "*") {
      starAt = p++;
      resumeAt = t;
    } else if (wanted === "?" || (wanted !== undefined && wanted === text[t])) {
      p++;
      t++;
    } else if (starAt >= 0) {
      p = starAt + 1;
      t = ++resumeAt;
    } else {
      return false;
    }
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}

/** How far from the end of a log a list looks for its last session_info, at least. Bytes. */
const listReach = 32 * 1024;

/**
 * Whether the last session_info lies so far from the end that a list, which reads only the two ends of a log, would miss
 * it. Then it is written again when the session is closed.
 */
export function needsInfoRewrite(reader: LogReader): boolean {
  const rows = entryTableOf(reader.tree);
  const info = rows.kindCode("session_info");
  let bytes = 0;
  for (let row = rows.size - 1; row >= 0 && bytes <= listReach; row--) {
    if (rows.kindAt(row) === info) return false;
    bytes += rows.line(row)?.length ?? 0;
  }
  return info >= 0 && bytes > listReach;
}

/** The title of a fork: numbered on from the title's own number. */
export function forkTitle(title: string): string {
  const numbered = /^(.*) \(fork #(\d{1,9})\)$/s.exec(title);
  return numbered === null ? `${title} (fork #1)` : `${numbered[1]} (fork #${Number(numbered[2]) + 1})`;
}

const adjectives =
  "amber bold brave brief bright brisk calm clear clever cosy crisp curious daring dawn deep eager early fair fancy fleet fresh gentle glad golden grand green happy hardy hidden honest humble jolly keen kind lively loyal lucky mellow merry mild misty neat nimble noble proud quick quiet ready rosy royal sandy shiny silent silver smart snowy solid steady sunny swift tidy vivid warm witty".split(
    " ",
  );
const nouns =
  "acorn anchor arrow badger beacon birch bridge brook canyon cedar comet coral crane creek delta dune eagle ember falcon fern field finch forest fox garden glacier harbor hawk heron hill island jasper lake lantern lark lotus maple marsh meadow moon moss nebula oak ocean orchid otter owl panda pebble pine planet pond raven reef river robin sparrow star stone thistle tiger valley willow wolf".split(
    " ",
  );

/**
 * The short name of a session that was given none, such as `brisk-otter-3f2a`: made of its id, so that it is there
 * from the start and stays. Of a million sessions some thousand pairs share one: it is for people, not a key.
 */
export function slugOf(sessionId: string): string {
  const hash = crc32(encodeUtf8(sessionId));
  const word = (words: readonly string[], shift: number) => words[(hash >>> shift) & 63] as string;
  return `${word(adjectives, 26)}-${word(nouns, 20)}-${hex8(hash & 0xffff).slice(4)}`;
}
