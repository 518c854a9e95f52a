/** Damage of the sessions that a command reads, always reported on standard error. */

import type { InteropReport } from "../agents/index.js";
import { SessileError } from "../core/errors/index.js";
import { missingHeaderError } from "../log/internal.js";
import { type Diagnostics, type ParsedSession, parseSession } from "../session/index.js";
import type { CommandContext } from "./command.js";
import type { NamedSession, OpenedSession } from "./named-session.js";
import type { Output } from "./output.js";
import { chunksOfFile } from "./regular-file.js";

/** Codes of a line that is lost, or is not as it was written. */
const damagedCodes = new Set([
  ...["INVALID_JSON", "NOT_AN_OBJECT", "INVALID_UTF8", "LINE_TOO_LONG", "TOO_DEEP", "UNSAFE_KEY"],
  ...["INVALID_ENTRY", "INVALID_FIELDS", "DUPLICATE_ID", "MODIFIED", "TORN_TAIL"],
  ...["JOINED_LINE", "NUL_BYTES", "BYTE_ORDER_MARK"],
]);
/** Codes of a whole line that refers to a lost one. */
const strayCodes = new Set(["ORPHAN", "CYCLE"]);

/** The number of damaged lines; without any, of those whose parent is lost. */
export function damagedLines(diagnostics: Diagnostics): number {
  const count = (codes: ReadonlySet<string>) =>
    new Set(diagnostics.filter(({ code }) => codes.has(code)).map(({ line }) => line)).size;
  const omitted = diagnostics.total - diagnostics.length;
  return count(damagedCodes) + omitted || count(strayCodes);
}

/** The number of damaged lines and files of another agent. */
export function damagedRecords({ findings }: InteropReport): number {
  return findings.filter(({ code }) => code === "unreadable" || code === "tooLong").length;
}

/** Reports the number of damaged lines of a session, if there are any. */
export function noteDamage(path: string, damaged: number, out: Output): void {
  if (damaged === 0) return;
  const lines = damaged === 1 ? "1 line is damaged" : `${damaged} lines are damaged`;
  out.warn({ code: "damaged", message: `${path}: ${lines}; sessile diagnose shows which`, path, damaged });
}

/** A file of this library's own session, read in full. */
export interface ReadSession extends ParsedSession {
  readonly header: NonNullable<ParsedSession["header"]>;
  readonly damaged: number;
}

/**
 * Reads a session file in full.
 * @throws SessileError EMPTY, NO_HEADER, NOT_A_FILE
 */
export async function readOwn(path: string, { signal, out }: CommandContext): Promise<ReadSession> {
  let isEmpty = true;
  async function* chunks() {
    for await (const chunk of chunksOfFile(path, signal)) {
      isEmpty = false;
      yield chunk;
    }
  }
  const source = await parseSession(chunks());
  const { header, diagnostics } = source;
  if (header === undefined) throw isEmpty ? missingHeaderError(path, 0) : unknownSession(path);
  const damaged = damagedLines(diagnostics);
  noteDamage(path, damaged, out);
  return { ...source, header, damaged };
}

/** The error for a file that no reader knows. */
export function unknownSession(path: string): SessileError {
  const message = `${path} is no session of a known agent; sessile salvage recovers one whose first line is lost`;
  return new SessileError("NO_HEADER", message, { details: { path, lines: 1 } });
}

/**
 * Opens one of many sessions. One that cannot be read is named on standard error, and the command
 * continues: its exit code becomes 3.
 */
export async function openOrSkip(
  named: NamedSession,
  { out, signal }: CommandContext,
): Promise<OpenedSession | undefined> {
  try {
    return await named.open();
  } catch (error) {
    signal.throwIfAborted();
    out.skip(named.path, error);
    return undefined;
  }
}
