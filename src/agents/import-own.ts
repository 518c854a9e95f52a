/** Sessions of pi and of this library: the same format, which needs no reader of its own. */

import { copyJson } from "../core/json.js";
import { defaultLimits, formatVersion, jsonProblem } from "../log/internal.js";
import { type ParsedSession, parseSession, type SessionEntry } from "../session/index.js";
import { readCwd } from "./entry-builder.js";
import type { LoadedFile } from "./load-files.js";
import type { ReportBuilder } from "./report.js";
import { derivedSessionId } from "./shared/ids.js";
import { redacted } from "./shared/redact.js";
import { readMilliseconds } from "./shared/values.js";
import type { DetectedSession, ImportedSession, Redaction } from "./types.js";

/** Imports the first file. Entries of unknown types become custom entries with their lines. */
export function importOwn(
  files: readonly LoadedFile[],
  detected: DetectedSession,
  options: {
    readonly report: ReportBuilder;
    readonly maxLineBytes: number;
    readonly redact: Redaction | undefined;
  },
): ImportedSession {
  const { report, maxLineBytes, redact } = options;
  const file = files.find(({ bytes }) => bytes !== undefined);
  const path = file?.path ?? "";
  const parsed = parseSession(file?.bytes ?? new Uint8Array(), { maxLineBytes });
  for (const { code, line, message } of parsed.diagnostics) {
    const found = code === "LINE_TOO_LONG" ? "tooLong" : code === "NEWER_VERSION" ? "newer" : "unreadable";
    report.find({ code: found, file: path, line, text: `${code}: ${message}` });
  }
  const readable = nearestReadable(parsed);
  const entries = parsed.entries.map((entry): SessionEntry => {
    const { id, timestamp } = entry;
    // The tree has the parent that an entry with a missing one follows, and null for one that closes a cycle.
    const parentId = readable(parsed.tree.node(id)?.parentId ?? null);
    const place = { id, parentId, timestamp };
    const isKnown = entry.type !== "unknown";
    report.count(isKnown ? entry.type : entry.entryType, { mapped: isKnown, kept: !isKnown });
    if (!isKnown) {
      report.find({ code: "unmapped", file: path, entryId: id, text: `an entry of type ${entry.entryType}` });
      const data = { file: path, text: entry.raw };
      return { type: "custom", ...place, customType: "sessile.foreign_line", data };
    }
    const placed = entry.parentId === parentId ? entry : { ...entry, parentId };
    // JSON.parse reads 1e999 as infinite.
    const isJson = jsonProblem(placed, defaultLimits.maxDepth) === undefined;
    return isJson ? placed : (copyJson(placed) as unknown as SessionEntry);
  });
  const { header } = parsed;
  const shared = (text: unknown) => (redact === undefined ? text : redacted(text, redact));
  const id = derivedSessionId(detected.format, String(shared(header?.id ?? path)));
  return {
    header: {
      ...(header?.parentSession === undefined ? {} : { parentSession: String(shared(header.parentSession)) }),
      type: "session",
      version: formatVersion,
      id,
      timestamp: new Date(readMilliseconds(header?.timestamp) ?? 0).toISOString(),
      cwd: readCwd(shared(header?.cwd)),
      sessile: 1,
    },
    entries: parentsFirst(redact === undefined ? entries : (redacted(entries, redact) as SessionEntry[])),
    leafId: readable(parsed.leafId),
    children: [],
    report: report.build(detected.format, { exact: false }),
  };
}

/** Finds the entry itself, or its nearest ancestor, that has a readable body. */
function nearestReadable({ entries, tree }: ParsedSession): (id: string | null) => string | null {
  const known = new Map<string, string | null>(entries.map(({ id }) => [id, id]));
  return (from) => {
    const passed: string[] = [];
    let id = from;
    while (id !== null && !known.has(id)) {
      passed.push(id);
      id = tree.node(id)?.parentId ?? null;
    }
    const found = id === null ? null : (known.get(id) ?? null);
    for (const each of passed) known.set(each, found);
    return found;
  };
}

/** The entries in their order, except that children before their parents are moved after them. */
function parentsFirst(entries: readonly SessionEntry[]): readonly SessionEntry[] {
  const done = new Set<string>();
  const waiting = new Map<string, SessionEntry[]>();
  const ordered: SessionEntry[] = [];
  for (const entry of entries) {
    const next = [entry];
    for (let each = next.pop(); each !== undefined; each = next.pop()) {
      const { id, parentId } = each;
      if (parentId !== null && !done.has(parentId)) {
        const others = waiting.get(parentId);
        if (others === undefined) waiting.set(parentId, [each]);
        else others.push(each);
        continue;
      }
      done.add(id);
      ordered.push(each);
      for (const child of waiting.get(id)?.toReversed() ?? []) next.push(child);
      waiting.delete(id);
    }
  }
  return ordered;
}
