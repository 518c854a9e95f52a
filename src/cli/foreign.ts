/** Sessions of other agents for the command line: found in their homes, and imported into memory. */

import type { CommandContext, Parsed } from "./command.js";
import type { FoundSession, OpenedSession, SourceQuery } from "./sources.js";

/** The sessions of all known agents in their homes. */
export async function findForeign(
  _parsed: Parsed,
  _context: CommandContext,
  _query: SourceQuery,
): Promise<readonly FoundSession[]> {
  return [];
}

/** Imports a file of another agent; undefined if it is none. */
export async function openForeignFile(
  _path: string,
  _parsed: Parsed,
  _context: CommandContext,
): Promise<OpenedSession | undefined> {
  return undefined;
}
