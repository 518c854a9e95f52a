import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";

/** File systems of a test file's own. */
export interface Mounts {
  /** A directory that is removed after the tests; anybody may look into it. */
  readonly dir: string;
  /** A file system in memory with these options, such as `size=1m`, at a new place or the one given. */
  tmpfs(options: string, at?: string): string;
  /** Makes a file system in a file: ext4, or XFS, which shares blocks and takes 300 megabytes at least. */
  makeImage(file: string, megabytes: number, type?: "ext4" | "xfs"): void;
  /** Mounts the file system in a file, by a loop device. Journals are replayed, as after a loss of power. */
  image(file: string, options?: string, type?: "ext4" | "xfs"): string;
  unmount(at: string): void;
}

/** Mounts that are undone after this file's tests, whatever became of them. */
export function useMounts(): Mounts {
  const mounted: string[] = [];
  let dir = "";
  let count = 0;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), "sessile-mounts-"));
    execFileSync("chmod", ["755", dir]);
  });
  afterAll(() => {
    // Lazily where something is busy: what still uses it is on its way out.
    for (const at of mounted.splice(0).reverse()) {
      if (spawnSync("umount", [at]).status !== 0) spawnSync("umount", ["-l", at]);
    }
    rmSync(dir, { recursive: true, force: true });
  });
  const mount = (args: readonly string[], at = join(dir, `mount-${++count}`)) => {
    mkdirSync(at, { recursive: true });
    execFileSync("mount", [...args, at], { stdio: "pipe" });
    mounted.push(at);
    return at;
  };
  return {
    get dir() {
      return dir;
    },
    tmpfs: (options, at) => mount(["-t", "tmpfs", "-o", options, "tmpfs"], at),
    makeImage(file, megabytes, type = "ext4") {
      execFileSync("truncate", ["-s", `${megabytes}M`, file]);
      const args = type === "ext4" ? ["-q", "-F"] : ["-q", "-m", "reflink=1"];
      execFileSync(`mkfs.${type}`, [...args, file], { stdio: "pipe" });
    },
    image: (file, options = "loop", type = "ext4") => mount(["-t", type, "-o", options, file]),
    unmount(at) {
      execFileSync("umount", [at]);
      mounted.splice(mounted.indexOf(at), 1);
    },
  };
}
