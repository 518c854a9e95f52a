import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
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
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  });
  const mount = (args: readonly string[], at = join(dir, `mount-${++count}`)) => {
    mkdirSync(at, { recursive: true });
    patiently(() => execFileSync("mount", [...args, at], { stdio: "pipe" }));
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
      patiently(() => execFileSync("umount", [at], { stdio: "pipe" }));
      mounted.splice(mounted.indexOf(at), 1);
    },
  };
}

/** Does what fails while something else has the loop device or the mount for a moment. */
function patiently(act: () => unknown): void {
  for (let attempt = 1; ; attempt++) {
    try {
      act();
      return;
    } catch (error) {
      if (attempt === 20) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    }
  }
}

/**
 * What the device has at one moment, as if the power went then: a copy of the file that it lies in, made while it is
 * mounted and nothing synced it for the copy. Made again where a block was written meanwhile, since no device stops at
 * two moments.
 */
export async function cutPower(image: string, copy: string): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    const before = written(image);
    copyFileSync(image, copy);
    if (before.inFlight === 0 && written(image).text === before.text) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("the device was written to all the time");
}

/** What the kernel says was written to the loop device of a file. See Documentation/block/stat.rst, read 2026-11-22. */
function written(image: string): { readonly text: string; readonly inFlight: number } {
  for (const device of readdirSync("/sys/block").filter((name) => name.startsWith("loop"))) {
    const loop = join("/sys/block", device);
    try {
      if (basename(readFileSync(join(loop, "loop/backing_file"), "utf8").trim()) !== basename(image))
        continue;
    } catch {
      continue;
    }
    const fields = readFileSync(join(loop, "stat"), "utf8").trim().split(/\s+/);
    const [, , , , writes = "", , sectors = "", , inFlight = ""] = fields;
    return { text: `${writes} ${sectors}`, inFlight: Number(inFlight) };
  }
  throw new Error(`no loop device has ${image}`);
}
