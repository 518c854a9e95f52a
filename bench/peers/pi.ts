import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type SessionEntry, SessionManager } from "@mariozechner/pi-coding-agent";

export {
  buildSessionContext,
  migrateSessionEntries,
  parseSessionEntries,
} from "@mariozechner/pi-coding-agent";
// What pi plans a compaction with; its package exports only a part of it.
export {
  estimateContextTokens,
  prepareCompaction,
} from "../node_modules/@mariozechner/pi-coding-agent/dist/core/compaction/compaction.js";
export { computeFileLists } from "../node_modules/@mariozechner/pi-coding-agent/dist/core/compaction/utils.js";
export { SessionManager };
export type PiEntry = SessionEntry;

/** What a value is once it went through JSON, as both libraries' values do: members that are undefined are gone. */
export function plain<T>(value: T): T {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T);
}

/** An entry of pi's without the checksum that this library writes, which pi keeps as a field like any other. */
export function withoutChecksum(entry: PiEntry): PiEntry {
  const { crc: _crc, ...rest } = plain(entry) as PiEntry & { readonly crc?: string };
  return rest as PiEntry;
}

/** Runs `use` with a new directory that is gone afterwards. */
export async function inDirectory<T>(use: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), "sessile-peers-"));
  try {
    return await use(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
