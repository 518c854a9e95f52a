import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import type { CommandBody, CommandContext, CommandRow } from "../../src/cli/command.js";
import { commands } from "../../src/cli/commands/index.js";
import { errorCode } from "../../src/cli/output.js";
import { runProgram } from "../../src/cli/program.js";
import * as transcript from "../agents/claude-code/transcript.js";

/** What a command writes to a terminal, in order, with the clock under control. */
async function written(
  run: (context: CommandContext, pass: (ms: number) => Promise<void>) => Promise<void>,
  { isTTY = true, words = ["slow"] }: { readonly isTTY?: boolean; readonly words?: readonly string[] } = {},
): Promise<readonly (readonly [string, string])[]> {
  const out: [string, string][] = [];
  let now = 1_000_000;
  const stream = (name: string) => ({
    write(text: string, done?: () => void) {
      out.push([name, text]);
      done?.();
      return true;
    },
    isTTY,
    columns: 60,
  });
  const slow: CommandBody = {
    ...{ description: [], arguments: [], options: [], examples: [] },
    async run(_parsed, context) {
      await run(context, async (ms) => {
        now += ms;
        // The clock of the display is the machine's own.
        await delay(150);
      });
      return 0;
    },
  };
  const row: CommandRow = {
    name: "slow",
    summary: "Take a while",
    load: async () => ({ bodies: { slow } }),
  };
  await runProgram({ version: "0", commands: [row] }, words, {
    ...{ stdout: stream("out"), stderr: stream("err"), env: {}, cwd: "/" },
    ...{ signal: new AbortController().signal, now: () => now },
  });
  return out;
}

const cleared = (text: string) => ["err", `\r${" ".repeat(text.length)}\r`] as const;

it("names an error by its code or class, and what is no error too", () => {
  const coded = Object.assign(new Error("x"), { code: "ENOENT" });
  expect([coded, new TypeError("x"), "text"].map(errorCode)).toEqual(["ENOENT", "TypeError", "Error"]);
});

describe("progress", () => {
  it("shows the time of any command after half a second, and is gone before data and at the end", async () => {
    const all = await written(async ({ out }, pass) => {
      await pass(400);
      await pass(1600);
      await out.line("data");
      await pass(60_000);
    });
    expect(all).toEqual([["err", "slow: 2 s"], cleared("slow: 2 s"), ["out", "data\n"]]);
  });

  it("shows the command's own words, cut to the width and clean", async () => {
    const all = await written(async ({ out }, pass) => {
      await pass(2000);
      await pass(200);
      out.progress(() => `7 sessions \u001b[31m${"x".repeat(100)}`);
    });
    const [, , [, shown = ""] = []] = all;
    expect(shown).toMatch(/^7 sessions \\u001b\[31mx+$/);
    expect(shown.length).toBe(59);
    expect(all.at(-1)).toEqual(cleared(shown));
  });

  it("shows nothing without a terminal, with --json, nor of quick work", async () => {
    expect(await written((_, pass) => pass(5000), { isTTY: false })).toEqual([]);
    expect(await written((_, pass) => pass(300))).toEqual([]);
    expect(await written((_, pass) => pass(3000), { words: ["slow", "--json"] })).toEqual([]);
  });

  it.each([
    ["search reef", /0 sessions with the words, 1 of 1 searched; /],
    ["archive", /0 archived, 0 unchanged/],
    ["archive status", /0 sessions compared/],
    ["stats all", /0 of 1 sessions/],
    ["ls", /turns of 1 sessions/],
  ] as const)("has the words of %s on one line, which is cleared", async (words, shown) => {
    const dir = mkdtempSync(join(tmpdir(), "sessile-progress-"));
    const path = join(dir, ".claude", transcript.mainPath);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${JSON.stringify(transcript.user("u1", null, "a reef"))}\n`);
    vi.stubEnv("CLAUDE_CONFIG_DIR", join(dir, ".claude"));
    vi.stubEnv("CODEX_HOME", join(dir, "none"));
    const stderrOf = async (isTTY: boolean, ...more: readonly string[]) => {
      const texts: string[] = [];
      let now = Date.parse("2026-11-29");
      const stream = (write: (text: string) => unknown) => ({
        write(written: string, done?: () => void) {
          write(written);
          done?.();
          return true;
        },
        ...{ isTTY, columns: 200 },
      });
      await runProgram({ version: "0", commands }, [...words.split(" "), "--agent", "claude-code", ...more], {
        ...{ stdout: stream(() => undefined), stderr: stream((written) => texts.push(written)) },
        ...{ env: { HOME: dir }, cwd: dir, signal: new AbortController().signal },
        // Each look at the clock is a second later.
        now() {
          now += 1000;
          return now;
        },
      });
      return texts.join("");
    };
    try {
      expect([await stderrOf(true, "--json"), await stderrOf(false)]).toEqual(["", ""]);
      rmSync(join(dir, ".sessile"), { recursive: true, force: true });
      const text = await stderrOf(true);
      expect(text).toMatch(shown);
      expect(text).toMatch(/^[^\n]*\r {1,200}\r$/);
    } finally {
      vi.unstubAllEnvs();
      rmSync(dir, { recursive: true });
    }
  });
});
