/** The clock of the file system of temporary files, which differs from the process's on a network or if one is faked. */

import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The time that a file gets if it is written now, in whole milliseconds; it may be a tick behind. */
export function fileClock(): number {
  const dir = mkdtempSync(join(tmpdir(), "sessile-clock-"));
  const path = join(dir, "file");
  writeFileSync(path, "");
  const { mtimeMs } = statSync(path);
  rmSync(dir, { recursive: true });
  return Math.floor(mtimeMs);
}
