import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { memorySessionStore, parseSession } from "sessile/session";
import { diagnoseSession, fileSessionStore, openSessionFile } from "sessile/session/node";
import { describe, expect, test } from "vitest";
import { type Diagnostic, DiagnosticList } from "../../src/session/api/diagnostics.js";
import { sessionOf } from "../arbitraries/entries.js";
import { temporaryDirectory } from "./node/temporary-directory.js";

const problem = (line: number): Diagnostic => ({
  code: "INVALID_JSON",
  line,
  offset: 2 * line,
  message: "no",
});
const linesOf = (diagnostics: readonly { readonly line?: number }[]) => diagnostics.map(({ line }) => line);
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);

describe("a list of problems", () => {
  test.each([0, 1, 999, 1000, 1001, 1999, 2000, 2001, 2500, 3000, 12_345])(
    "keeps the ends of %i",
    (count) => {
      const list = new DiagnosticList();
      for (const line of numbers(0, count)) list.add(problem(line));
      const kept = count <= 2000 ? numbers(0, count) : [...numbers(0, 1000), ...numbers(count - 1000, count)];
      expect(linesOf(list.all)).toEqual(kept);
      expect(list.all.total).toBe(count);
      expect(list.all.counts).toEqual(count === 0 ? {} : { INVALID_JSON: count });
    },
  );

  test("gives the same array until there is more, and does not change one that it gave", () => {
    const list = new DiagnosticList();
    list.add(problem(1));
    const before = list.all;
    expect(list.all).toBe(before);
    list.add(problem(2));
    expect([before.length, before.total, list.all.length, list.all.total]).toEqual([1, 1, 2, 2]);
    expect(before).toEqual([problem(1)]);
  });
});

// @covers security:session-lines
test("the problems of a file are counted exactly by every reader, and only their ends are listed", async () => {
  const bad = ["x", "{}", "7", '{"type":"session"}', ""];
  const rounds = 1000;
  const text = `${sessionOf([]).lines[0]}\n${bad
    .map((line) => `${line}\n`)
    .join("")
    .repeat(rounds)}`;
  const counts = { INVALID_JSON: rounds, INVALID_ENTRY: 2 * rounds, NOT_AN_OBJECT: rounds };
  const path = join(temporaryDirectory(), "x.jsonl");
  writeFileSync(path, text);
  const session = await openSessionFile(path);
  for (const found of [parseSession(text).diagnostics, session.diagnostics, await session.diagnose()]) {
    expect([found.length, found.total, found.counts]).toEqual([2000, 4 * rounds, counts]);
    expect([found[0]?.line, found[999]?.line, found.at(-1)?.line]).toEqual([2, 1250, 1 + 5 * rounds - 1]);
  }
  await session.close();
  const { findings, omitted, counts: all } = await diagnoseSession(path);
  expect([findings.length, omitted, all]).toEqual([2000, 4 * rounds - 2000, counts]);
  expect(findings.at(-1)?.line).toBe(5 * rounds);
  const few = await diagnoseSession(path, { maxFindings: 3 });
  expect([linesOf(few.findings), few.omitted]).toEqual([[2, 3, 5 * rounds], 4 * rounds - 3]);
});

test("a session that has none lists none", async () => {
  const session = await memorySessionStore().create({ cwd: "/p" });
  expect([session.diagnostics, session.diagnostics.total, (await session.diagnose()).counts]).toEqual([
    [],
    0,
    {},
  ]);
});

test("a list of sessions looks at a bounded beginning of each file", async () => {
  const dir = temporaryDirectory();
  for (const [name, line] of Object.entries({ a: "x", b: "", c: "{}", d: '{"type":"session"}' })) {
    writeFileSync(join(dir, `${name}.jsonl`), `${line}\n`.repeat(400_000));
  }
  const started = performance.now();
  const store = fileSessionStore({ dir });
  for await (const row of store.list()) expect.unreachable(row.id);
  // Read in whole they take several seconds.
  expect(performance.now() - started).toBeLessThan(2000);
});
