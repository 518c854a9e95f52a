import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { checkEvidence, reportedTests } from "../../scripts/named-tests.mjs";
import { checkNamedTests } from "../support/named-tests.js";

describe("checkNamedTests", () => {
  const source = `
    it("reads (1 time)", () => {});
    describe("a store", () => {
      it("keeps a | b", () => {});
      describe.each(["x", "y"])("of %s", () => it("is there", () => {}));
      describe("of the other kind", () => test.skipIf(no)("is there", () => {}));
      for (const n of [1, 2]) it(\`takes \${n} bytes\`, () => {});
      it.each(rows)("knows %s, $name and 100 %%", () => {});
    });
    const text = "is only a string";
    fits("is no test", () => {});
    // it("is a comment", () => {});`;
  const check = (reference: string) =>
    checkNamedTests(`| x | ${reference} |`, {
      exists: (path) =>
        path.endsWith("/a.test.ts") || path.endsWith("/a.slow.test.ts") || path === "src/a.ts",
      read: () => source,
    });

  it.each([
    "reads (1 time)",
    "keeps a \\| b",
    "a store › keeps a \\| b",
    "of %s › is there",
    "a store › of the other kind › is there",
    "takes … bytes",
    "takes 2 bytes",
    "knows %s, $name and 100 %%",
    "knows this, that and 100 %",
  ])("finds %j", (title) => {
    expect(check(`\`test/a.test.ts\` › ${title}`)).toEqual([]);
  });

  it.each([
    ["the end of a title", "eads (1 time)"],
    ["its beginning", "reads"],
    ["a describe that is another's", "of %s › keeps a \\| b"],
    ["a describe alone", "a store"],
    ["a string that is no title", "is only a string"],
    ["a call of something else", "is no test"],
    ["a comment", "is a comment"],
    ["half of a title with places", "knows this"],
  ])("does not take %s for a test", (_, title) => {
    const named = title.replaceAll("\\|", "|");
    expect(check(`\`test/a.test.ts\` › ${title}`)).toEqual([`test/a.test.ts has no test "${named}"`]);
  });

  it.each([
    ["`test/a.test.ts` › is there", 'test/a.test.ts has 2 tests "is there": name the describe'],
    ["`test/b.test.ts` › is there", "test/b.test.ts does not exist"],
    ["`src/a.ts` › reads (1 time)", "src/a.ts is no file of tests"],
    ["`test/a.slow.test.ts` › reads (1 time)", "test/a.slow.test.ts is in a project that CI never runs"],
    ["test/a.test.ts › reads (1 time)", "1 references to tests cannot be read"],
  ])("refuses %s", (reference, problem) => {
    expect(check(reference)).toEqual([problem]);
  });
});

/** What vitest's JSON reporter writes, of the parts that are read. */
function report(path: string, tests: readonly (readonly [status: string, ...chain: string[]])[]): string {
  const assertionResults = tests.map(([status, ...chain]) => ({
    ancestorTitles: chain.slice(0, -1),
    title: chain.at(-1),
    status,
  }));
  return JSON.stringify({ testResults: [{ name: join(root, path), assertionResults }] });
}

describe("checkEvidence", () => {
  const tests = reportedTests(
    [
      report("test/a.test.ts", [
        ["passed", "a store", "of x", "is there"],
        ["passed", "a store", "of y", "is there"],
        ["passed", "takes 1 bytes (a+b)"],
        ["failed", "takes 2 bytes (a+b)"],
        ["skipped", "needs root"],
        ["passed", "reads"],
      ]),
      report("test/b.test.ts", [["passed", "of x", "is there"]]),
      report("test/b.test.ts", [["failed", "of y", "is there"]]),
    ],
    root,
  );
  const check = (...rows: readonly string[]) => checkEvidence([rows.join("\n")], tests);

  it.each([
    "`test/a.test.ts` › is there",
    "`test/a.test.ts` › a store › of x › is there",
    "`test/a.test.ts` › takes 1 bytes (a+b)",
    "`test/b.test.ts` › of x › is there",
  ])("accepts %s", (reference) => {
    expect(check(`| R1 | ${reference} |`)).toEqual({ passed: 1, problems: [], skipped: [] });
  });

  it.each([
    ["`test/a.test.ts` › there", 'test/a.test.ts has no test "there"'],
    ["`test/a.test.ts` › a store › is there", 'test/a.test.ts has no test "a store › is there"'],
    ["`test/a.test.ts` › takes %d bytes (a+b)", "test/a.test.ts › takes %d bytes (a+b) failed"],
    ["`test/b.test.ts` › is there", "test/b.test.ts › is there failed"],
    ["`test/c.slow.test.ts` › reads", "test/c.slow.test.ts is no file of tests that CI ran"],
    ["`test/a.test.ts` › needs root", "test/a.test.ts › needs root was skipped"],
  ])("reports %s", (reference, problem) => {
    expect(check(`| R1 | ${reference} |`)).toEqual({ passed: 0, problems: [problem], skipped: [] });
  });

  it("lets a skipped test be if another of its row passed, and says so", () => {
    const row = "| R1 | `test/a.test.ts` › needs root<br>`test/a.test.ts` › reads |";
    expect(check(row)).toEqual({
      passed: 1,
      problems: [],
      skipped: ["test/a.test.ts › needs root was skipped"],
    });
    expect(check(row.replace("reads", "takes 2 bytes (a+b)")).problems).toHaveLength(1);
  });

  it("is what the script says, with its count and exit code", () => {
    const dir = mkdtempSync(join(tmpdir(), "sessile-evidence-"));
    try {
      const file = join(dir, "test.json");
      writeFileSync(file, report("test/a.test.ts", [["passed", "reads"]]));
      const { status, stdout } = spawnSync(process.execPath, [join(root, "scripts/named-tests.mjs"), file], {
        encoding: "utf8",
      });
      expect(stdout).toMatch(/✗ test\/.+ is no file of tests that CI ran\n/);
      expect(stdout).toMatch(/\n0 of the tests that documents name passed, [1-9]\d+ problems\n$/);
      expect(status).toBe(1);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
});
