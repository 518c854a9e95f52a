/** Name, title, slug and permissions of a session, from its session_info entries. */

import { crc32, encodeUtf8, hex8 } from "../../core/bytes.js";
import { copyJsonObject } from "../../core/json.js";
import type {
  PermissionRule,
  SessionHeader,
  SessionInfoFields,
  SessionInfoPatch,
} from "../../log/internal.js";
import type { LogReader } from "../tree/log-reader.js";
import { treeRows } from "../tree/session-tree.js";

/** Name, times and state of a session, for lists and title bars. */
export interface SessionInfo extends Omit<SessionInfoFields, "archivedAt"> {
  readonly id: string;
  /** A short name for addresses. @default words made of the id */
  readonly slug: string;
  /** The project's directory. */
  readonly cwd: string;
  /** The source of a fork: a path or an id. */
  readonly parentSession?: string;
  /** The version of the base format. */
  readonly version: number;
  /** ISO 8601. */
  readonly time: {
    readonly created: string;
    /** The time of the last entry. */
    readonly updated: string;
    /** The start of a compaction that runs in this process. */
    readonly compacting?: string;
    readonly archived?: string;
  };
}

const fieldNames = ["name", "title", "slug", "archivedAt", "share", "permission", "stats"] as const;

/** The info of a session, from its header, its latest session_info and the time of its last entry. */
export function headerInfo(
  header: SessionHeader,
  fields: SessionInfoFields,
  updated: string,
  compacting?: string,
): SessionInfo {
  // Only known fields: another writer's session_info must not override the header's.
  const { archivedAt, ...rest } = Object.fromEntries(
    fieldNames.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]])),
  ) as SessionInfoFields;
  return {
    ...rest,
    id: header.id,
    slug: fields.slug || slugBySessionId(header.id),
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
 * Applies a patch to a session_info. The result is a full snapshot with unknown fields: other readers use the
 * last session_info alone, so that a partial one would clear the other fields.
 */
export function patchedInfo(current: SessionInfoFields, patch: SessionInfoPatch): SessionInfoFields {
  // JSON.parse reads a number such as 1e999 as Infinity, which JSON cannot express.
  const out: Record<string, unknown> = copyJsonObject(current);
  for (const name of fieldNames) {
    if (patch[name] === null) delete out[name];
    else if (patch[name] !== undefined) out[name] = patch[name];
  }
  return out;
}

/**
 * Evaluates permission rules for one request. The last matching rule wins; `ask` if no rule matches.
 *
 * @example
 * ```ts
 * const rules = [{ permission: "bash", pattern: "git *", action: "allow" as const }];
 * evaluatePermission(rules, "bash", "git status"); // "allow"
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
      return ruleAction(rule);
  }
  return "ask";
}

/** Adds an allow rule for an approved request at the end, and removes equal rules before it. */
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

/** The action of a rule; `ask` for an unknown one. */
function ruleAction({ action }: PermissionRule): "allow" | "deny" | "ask" {
  if (action === "allow") return "allow";
  return action === "deny" ? "deny" : "ask";
}

/** Matches with one backtracking point: at worst pattern length times text length, never exponential. */
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

/** The minimum number of bytes at the end of a log that a list reads first. */
const listReach = 32 * 1024;

/**
 * Whether the last session_info is so far from the end that each list has to search for it. Then `close`
 * writes it again.
 */
export function needsInfoRewrite(reader: LogReader): boolean {
  return treeRows(reader.tree).kindCode("session_info") >= 0 && isInfoFar(reader);
}

/** Whether the last session_info is far from the end, or the session has none and is long. */
export function isInfoFar(reader: LogReader): boolean {
  const rows = treeRows(reader.tree);
  const info = rows.kindCode("session_info");
  let bytes = 0;
  for (let row = rows.size - 1; row >= 0 && bytes <= listReach; row--) {
    if (rows.kindAt(row) === info) return false;
    bytes += rows.line(row)?.length ?? 0;
  }
  return bytes > listReach;
}

/** The title of a fork: the number after the title's own, and after those of the forks that there are. */
export function forkTitle(title: string, others: Iterable<string> = []): string {
  const { base, number } = forkNumber(title);
  let last = number;
  for (const other of others) {
    const fork = forkNumber(other);
    if (fork.base === base) last = Math.max(last, fork.number);
  }
  return `${base} (fork #${last + 1})`;
}

function forkNumber(title: string): { readonly base: string; readonly number: number } {
  const found = / \(fork #(\d{1,9})\)$/.exec(title);
  return { base: title.slice(0, found?.index), number: Number(found?.[1] ?? 0) };
}

const adjectives = (
  "amber bold brave brief bright brisk calm clear clever cosy crisp curious daring dawn deep " +
  "eager early fair fancy fleet fresh gentle glad golden grand green happy hardy hidden honest " +
  "humble jolly keen kind lively loyal lucky mellow merry mild misty neat nimble noble proud " +
  "quick quiet ready rosy royal sandy shiny silent silver smart snowy solid steady sunny swift " +
  "tidy vivid warm witty"
).split(" ");
const nouns = (
  "acorn anchor arrow badger beacon birch bridge brook canyon cedar comet coral crane creek " +
  "delta dune eagle ember falcon fern field finch forest fox garden glacier harbor hawk heron " +
  "hill island jasper lake lantern lark lotus maple marsh meadow moon moss nebula oak ocean " +
  "orchid otter owl panda pebble pine planet pond raven reef river robin sparrow star stone " +
  "thistle tiger valley willow wolf"
).split(" ");

/**
 * The default short name of a session, such as `brisk-otter-3f2a`. Derived from the id, so that it never
 * changes. Not a key: among a million sessions some thousand pairs have the same one.
 */
export function slugBySessionId(sessionId: string): string {
  const hash = crc32(encodeUtf8(sessionId));
  const word = (words: readonly string[], shift: number) => words[(hash >>> shift) & 63] as string;
  return `${word(adjectives, 26)}-${word(nouns, 20)}-${hex8(hash & 0xffff).slice(4)}`;
}
