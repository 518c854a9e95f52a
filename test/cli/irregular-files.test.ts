// A name of a FIFO, a device or a folder ends a command with a reason: it waits for no writer, and reads no end.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { call } from "./call.js";
import { sample } from "./sample.js";

const dir = mkdtempSync(join(tmpdir(), "sessile-irregular-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const isPosix = process.platform !== "win32";
if (isPosix) execFileSync("mkfifo", [join(dir, "fifo.jsonl")]);
symlinkSync("/dev/zero", join(dir, "zero.jsonl"));
mkdirSync(join(dir, "folder.jsonl"));

const names = ["fifo.jsonl", "zero.jsonl", "folder.jsonl"];
const commands: readonly (readonly string[])[] = [
  ["show", "FILE"],
  ["show", "FILE", "--tree"],
  ["stats", "FILE"],
  ["view", "FILE", "-o", "view.html"],
  ["project", "FILE", "--target", "anthropic", "--model", "m"],
  ["import", "FILE", "--to", "store"],
  ["export", "FILE", "--to", "codex", "-o", "out"],
  ["convert", "FILE", "--to", "codex", "-o", "out"],
  ["redact", "FILE", "--to", "copy.jsonl"],
  ["diagnose", "FILE"],
  ["salvage", "FILE", "--to", "clean.jsonl"],
  ["merge", "FILE", "FILE", "-o", "merged.jsonl"],
  ["diff", "FILE", "one", "other"],
];

// Windows has neither.
describe.skipIf(!isPosix).each(names)("%s", (name) => {
  it.each(commands.map((words) => [words.join(" "), words] as const))("%s", async (_, words) => {
    const given = words.map((word) => (word === "FILE" ? join(dir, name) : word));
    const { code, stdout, stderr } = await call(given, { cwd: dir });
    expect(code).toBeGreaterThanOrEqual(2);
    expect(stdout).toBe("");
    expect(stderr).toMatch(/is a (FIFO|device|directory), not a file/);
  });

  it("is no session by its name in the working directory", async () => {
    const { code, stderr } = await call(["show", name], { cwd: dir });
    // A directory may have the name of a session.
    const reason = name === "folder.jsonl" ? /no session has the id/ : /is a (FIFO|device), not a file/;
    expect([code, stderr]).toEqual([3, expect.stringMatching(reason)]);
  });

  it("is no list of prices", async () => {
    await using own = await sample();
    const { code, stderr } = await call(["stats", own.path, "--prices", join(dir, name)], { cwd: own.dir });
    expect([code > 1, stderr]).toEqual([
      true,
      expect.stringMatching(/is a (FIFO|device|directory), not a file/),
    ]);
  });
});
