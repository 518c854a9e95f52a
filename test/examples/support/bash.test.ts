import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runBash } from "../../../examples/support/bash.js";

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "sessile-bash-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const never = new AbortController().signal;

describe("runBash", () => {
  it("keeps the agent's environment from the command", async () => {
    process.env.SESSILE_TEST_KEY = "secret";
    try {
      expect(await runBash("echo [$SESSILE_TEST_KEY]", { cwd: dir, signal: never })).toBe("[]\n");
    } finally {
      delete process.env.SESSILE_TEST_KEY;
    }
  });

  it("bounds the output", async () => {
    const run = runBash("for i in {1..1000}; do echo 123456789; done", {
      cwd: dir,
      signal: never,
      maxCharacters: 25,
    });
    expect(await run).toBe("123456789\n123456789\n12345\n[9975 more characters]");
  });

  it("stops the command, and what it started, when its time is over", async () => {
    const ticks = join(dir, "ticks");
    const command = "while :; do echo >> ticks; sleep 0.01; done & echo begun; sleep 30";
    const start = performance.now();
    const run = runBash(command, { cwd: dir, signal: never, timeoutMs: 300 });
    await expect(run).rejects.toThrow("begun\n\n[stopped]");
    expect(performance.now() - start).toBeLessThan(10_000);
    const { size } = statSync(ticks);
    await setTimeout(200);
    expect(statSync(ticks).size).toBe(size);
  });

  it("does not wait for what left its process group", async () => {
    const command = "setsid sleep 3 & echo begun; sleep 30";
    const start = performance.now();
    await expect(runBash(command, { cwd: dir, signal: never, timeoutMs: 300 })).rejects.toThrow("stopped");
    expect(performance.now() - start).toBeLessThan(2500);
  });

  it("stops on the caller's signal, and does not start after it", async () => {
    const stop = new AbortController();
    const run = runBash("sleep 30", { cwd: dir, signal: stop.signal });
    stop.abort();
    await expect(run).rejects.toThrow("[stopped]");
    await expect(runBash("echo", { cwd: dir, signal: stop.signal })).rejects.toThrow("aborted");
  });
});
