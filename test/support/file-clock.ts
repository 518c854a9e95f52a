/** The clock of the file system of temporary files, which differs from the process's on a network or if one is faked. */

import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ExactFileStat, FileStat, FileSystem, OpenFile } from "../../src/core/node/file-system.js";
import { nodeFileSystem } from "../../src/core/node/node-file-system.js";

/** The time that a file gets if it is written now, in whole milliseconds; it may be a tick behind. */
export function fileClock(): number {
  const dir = mkdtempSync(join(tmpdir(), "sessile-clock-"));
  const path = join(dir, "file");
  writeFileSync(path, "");
  const { mtimeMs } = statSync(path);
  rmSync(dir, { recursive: true });
  return Math.floor(mtimeMs);
}

/** The machine's file system, with the times of its files by the clock of this process. */
export function fileSystemByProcessClock(): FileSystem {
  const aheadMs = Date.now() - fileClock();
  // A tick is no other clock.
  if (Math.abs(aheadMs) < 60_000) return nodeFileSystem;
  const timed = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(of, key) {
        const method: unknown = Reflect.get(of, key);
        if (typeof method !== "function") return method;
        if (key === "setTime") return (ms: number) => method.call(of, ms - aheadMs);
        return (...args: unknown[]) => {
          const result: unknown = method.apply(of, args);
          return result instanceof Promise ? result.then(moved) : moved(result);
        };
      },
    });
  const moved = (result: unknown): unknown => {
    if (typeof result !== "object" || result === null) return result;
    if ("appendAsync" in result) return timed(result as OpenFile);
    if ("mtimeNs" in result) {
      const { mtimeNs } = result as ExactFileStat;
      return { ...result, mtimeNs: mtimeNs + BigInt(aheadMs) * 1_000_000n };
    }
    if (!("mtimeMs" in result)) return result;
    const { mtimeMs, ctimeMs } = result as FileStat;
    return { ...result, mtimeMs: mtimeMs + aheadMs, ctimeMs: ctimeMs + aheadMs };
  };
  return timed(nodeFileSystem);
}
