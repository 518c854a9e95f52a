import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSession } from "sessile";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { fixture } from "../support/fixtures.js";
import { mutant, seeded } from "./mutants.js";
import { recover } from "./recover.js";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const corpus = readdirSync(here("corpus")).sort();
/** Seconds of changed files: a minute and more by SESSILE_FUZZ_SECONDS, half an hour by hand before a release. */
const seconds = Number(process.env.SESSILE_FUZZ_SECONDS ?? 5);
/** The same files each time; SESSILE_FUZZ_SEED=$RANDOM for others. */
const seed = Number(process.env.SESSILE_FUZZ_SEED ?? 1);
const heapMb = 192;
/** No file takes longer, on a machine with other work to do. */
const patienceMs = 180_000;
/** A large session of pi's, changed as the others where it is there; it is not kept with them. */
const real = fixture("pi/large-session.v1.jsonl");

vi.setConfig({ testTimeout: seconds * 1000 + 3 * patienceMs });

let dir = "";
const running = new Set<ChildProcess>();
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "sessile-mutated-"));
});
afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(dir, { recursive: true, force: true });
});

describe("row 19: the table of broken files, and mutated real files", () => {
  // @covers durability:broken-file
  test("each of the 26 rows of the table has its test in broken-files.test.ts", () => {
    const source = readFileSync(here("../session/broken-files.test.ts"), "utf8");
    const rows = [...source.matchAll(/^ {2}(?:test|describe)\("row (\d+): /gm)].map(([, row]) => Number(row));
    expect([...new Set(rows)]).toEqual(Array.from({ length: 26 }, (_, at) => at + 1));
  });

  test.each(corpus)("%s, as it was kept, is read, written and copied", async (name) => {
    await expect(recover(Uint8Array.from(readFileSync(here(`corpus/${name}`))))).resolves.toMatch(
      /^(?:whole|mended|migrated)/,
    );
  });

  test("mutants are damaged in all the ways that a reader has to tell apart", () => {
    const files = corpus.map((name) => Uint8Array.from(readFileSync(here(`corpus/${name}`))));
    const random = seeded(7);
    const codes = new Set<string>();
    for (let made = 0; made < 2000; made++) {
      for (const { code } of parseSession(mutant(files, random)).diagnostics) codes.add(code);
    }
    const ofContent =
      "EMPTY NO_HEADER EXTRA_HEADER BEFORE_HEADER NEWER_VERSION INVALID_JSON NOT_AN_OBJECT INVALID_UTF8 TOO_DEEP " +
      "UNSAFE_KEY INVALID_ENTRY INVALID_FIELDS DUPLICATE_ID ORPHAN CYCLE MODIFIED TORN_TAIL INVALID_INDEX " +
      "JOINED_LINE NUL_BYTES BYTE_ORDER_MARK";
    expect([...codes].sort()).toEqual(ofContent.split(" ").sort());
  });

  // @covers durability:changed-bytes security:session-lines
  test(`whatever the bytes, nothing throws but an error with a code, nothing hangs, memory is bounded (${seconds} s)`, async () => {
    const files = corpus.map((name) => here(`corpus/${name}`));
    if (real.absent === undefined) files.push(real.path);
    const outcome = await fuzz(files);
    expect(outcome.failures).toEqual([]);
    expect(outcome.rounds).toBeGreaterThan(seconds);
    expect(outcome.kinds).toBeGreaterThan(Math.min(40, seconds));
    expect(outcome.peakMb).toBeLessThan(heapMb + 250);
  });
});

interface Outcome {
  readonly rounds: number;
  readonly kinds: number;
  readonly slowestMs: number;
  readonly peakMb: number;
  readonly failures: readonly string[];
}

/** Runs fuzz.ts in a process with little memory; fails where it says nothing for long, or dies. */
function fuzz(files: readonly string[]): Promise<Outcome> {
  const args = [`--max-old-space-size=${heapMb}`, "--import", "tsx", here("fuzz.ts")];
  const child = spawn(process.execPath, [...args, String(seconds), String(seed), dir, ...files], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  let [said, wrong] = ["", ""];
  let last = performance.now();
  child.stdout.on("data", (chunk: Buffer) => {
    last = performance.now();
    said = (said + chunk.toString()).slice(-100_000);
  });
  child.stderr.on("data", (chunk: Buffer) => {
    wrong = (wrong + chunk.toString()).slice(-10_000);
  });
  const watch = setInterval(() => {
    if (performance.now() - last > patienceMs) child.kill("SIGKILL");
  }, 1000);
  return new Promise((resolve, reject) => {
    child.on("close", (code, signal) => {
      clearInterval(watch);
      running.delete(child);
      if (code === 0) {
        resolve(JSON.parse(said.trim().split("\n").at(-1) ?? "") as Outcome);
        return;
      }
      const input = readFileSync(join(dir, "last.jsonl")).toString("base64");
      reject(new Error(`${signal ?? code} at this file, in base64:\n${input}\n${wrong}`));
    });
  });
}
