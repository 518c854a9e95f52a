/** Which agent wrote a file: by its first records, else by its path. */

import { parseCutJson } from "./shared/cut-json.js";
import { type ForeignObject, readObject } from "./shared/values.js";
import { agents } from "./table.js";
import type { DetectedSession } from "./types.js";

/** Records at the start of a file that are looked at. */
const maxRecords = 20;

/**
 * Tells which agent wrote a file: the first row of the table that knows a record is the one. Never throws.
 *
 * @param head the first bytes of the file; 64 KiB are enough
 * @param path relative to the agent's home; consulted if the bytes tell nothing
 * @example
 * ```ts
 * const line = '{"timestamp":"2026-11-20T09:00:00Z","type":"session_meta","payload":{"id":"0199a0f2"}}';
 * detectSession(new TextEncoder().encode(line))?.format; // "codex"
 * ```
 */
export function detectSession(head: Uint8Array, path?: string): DetectedSession | undefined {
  for (const record of headRecords(head)) {
    for (const { name, detect } of agents) {
      const found = detect(record);
      if (found !== undefined) return { format: name, ...found };
    }
  }
  if (typeof path !== "string") return undefined;
  const forward = path.replaceAll("\\", "/");
  const named = agents.find((row) => row.path?.test(forward) === true);
  return named === undefined ? undefined : { format: named.name, sure: false };
}

/** The objects at the start of a file: of its lines, or of the whole file. The last may be cut. */
function* headRecords(head: Uint8Array): Generator<ForeignObject> {
  if (!(head instanceof Uint8Array)) return;
  const text = new TextDecoder().decode(head);
  const lines = text.split("\n", maxRecords + 1);
  let found = 0;
  for (const line of lines.slice(0, maxRecords)) {
    const value = readObject(parseCutJson(line));
    // The first line of an object that is printed over several lines has no member.
    if (value === undefined || Object.keys(value).length === 0) continue;
    found++;
    yield value;
  }
  const whole = found === 0 || lines.length > 1 ? readObject(parseCutJson(text)) : undefined;
  if (whole !== undefined) yield whole;
}
