import type { FileOperation } from "./operations.js";

const addFile = "*** Add File: ";
const deleteFile = "*** Delete File: ";
const updateFile = "*** Update File: ";
const moveTo = "*** Move to: ";

/**
 * The files that a patch in codex's format touches, by its headers alone; what is no patch touches none. As codex's own
 * parser does, it takes space around a header, but not within an update, where a line of context begins with a space.
 *
 * @see https://github.com/openai/codex/blob/main/codex-rs/apply-patch/src/parser.rs (read 2026-11-22)
 */
export function operationsOfPatch(patch: string): readonly FileOperation[] {
  const operations: FileOperation[] = [];
  /** The path of the update that the line before began. */
  let begun: string | undefined;
  let updating = false;
  for (const raw of patch.split("\n")) {
    const line = updating ? raw.trimEnd() : raw.trim();
    const updated = begun;
    begun = undefined;
    if (updated !== undefined && line.startsWith(moveTo)) {
      const to = line.slice(moveTo.length);
      operations.splice(-1, 1, { operation: "move", path: updated, to }, { operation: "modify", path: to });
    } else if (line.startsWith(addFile)) {
      operations.push({ operation: "create", path: line.slice(addFile.length) });
      updating = false;
    } else if (line.startsWith(deleteFile)) {
      operations.push({ operation: "delete", path: line.slice(deleteFile.length) });
      updating = false;
    } else if (line.startsWith(updateFile)) {
      begun = line.slice(updateFile.length);
      operations.push({ operation: "modify", path: begun });
      updating = true;
    }
  }
  return operations;
}
