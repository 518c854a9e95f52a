import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { checkRequirements } from "../support/requirements.js";

describe("docs/requirements.md", () => {
  it("has every requirement, and what it names exists", () => {
    const problems = checkRequirements(readFileSync(join(root, "docs/requirements.md"), "utf8"), 196, {
      exists: (path) => existsSync(join(root, path)),
      read: (path) => readFileSync(join(root, path), "utf8"),
    });
    expect(problems).toEqual([]);
  });
});

describe("checkRequirements", () => {
  const files: Record<string, string> = {
    "src/session": "",
    "examples/a.ts": "",
    "test/session/a.test.ts": `it("keeps a | b", () => {}); it("reads", () => {});`,
  };
  const check = (...rows: readonly string[]) =>
    checkRequirements(["| number | requirement | status |", "| --- | --- | --- |", ...rows].join("\n"), 2, {
      exists: (path) => path in files,
      read: (path) => files[path] ?? "",
    });
  const reason = "| 2 | why |";
  const open = (number: string) => `| ${number} | words | not yet | | |`;
  const row = (status: string, module: string, test: string) =>
    check(
      `| R1 | words | ${status} | ${module} | ${test} |`,
      open("R2"),
      reason,
      ...(["partly", "not yet"].includes(status) ? ["| 1 | why |"] : []),
    );

  it("accepts rows that name what exists", () => {
    expect(row("done", "`src/session`", "`test/session/a.test.ts` › reads")).toEqual([]);
    expect(
      row(
        "partly",
        "`src/session`",
        "`test/session/a.test.ts` › reads<br>`test/session/a.test.ts` › keeps a \\| b",
      ),
    ).toEqual([]);
  });

  it.each([
    ["a missing number", [open("R1")], "R2 is missing"],
    ["a number too many", [open("R1"), open("R2"), open("R3")], "R3 is not a requirement"],
    ["a number twice", [open("R1"), open("R2"), open("R2")], "R2 is there twice"],
    ["a wrong order", [open("R2"), open("R1")], "R1 is out of order"],
  ])("reports %s", (_, rows, problem) => {
    const reasons = new Set(rows.map((line) => `| ${line.slice(3, 4)} | why |`));
    expect(check(...rows, ...reasons)).toEqual([problem]);
  });

  it("wants a reason for what is not met, and for nothing else", () => {
    expect(check(open("R1"), open("R2"), reason)).toEqual(["R1 has no reason"]);
    const met = "| R1 | words | done | `src/session` | `test/session/a.test.ts` › reads |";
    expect(check(met, open("R2"), reason, "| 1 | why |")).toEqual(["R1 has a reason, and is met"]);
  });

  it("wants a row that is met in an example only to say so", () => {
    const reading = "`test/session/a.test.ts` › reads";
    expect(row("in an example", "`examples/a.ts`", reading)).toEqual([]);
    expect(row("done", "`examples/a.ts`", reading)).toEqual([
      "R1 is met in an example only, and does not say so",
    ]);
    expect(row("in an example", "`src/session`", reading)).toEqual([
      "R1 is met in an example, and names other modules",
    ]);
  });

  const test = "`test/session/a.test.ts` › reads";
  it.each([
    ["an unknown status", "soon", "", "", 'R1 has the status "soon"'],
    ["no module", "done", "", test, "R1 names no module"],
    ["no test", "partly", "`src/session`", "", "R1 names no test"],
    ["a missing module", "done", "`src/none`", test, "R1 names src/none, which does not exist"],
    [
      "a missing test file",
      "done",
      "`src/session`",
      "`test/b.test.ts` › reads",
      "R1 names a test: test/b.test.ts does not exist",
    ],
    [
      "a missing title",
      "done",
      "`src/session`",
      "`test/session/a.test.ts` › writes",
      'R1 names a test: test/session/a.test.ts has no test "writes"',
    ],
    [
      "a part of a title",
      "done",
      "`src/session`",
      "`test/session/a.test.ts` › read",
      'R1 names a test: test/session/a.test.ts has no test "read"',
    ],
    [
      "a test without a title",
      "done",
      "`src/session`",
      "`test/session/a.test.ts`",
      "R1 has a test that cannot be read: `test/session/a.test.ts`",
    ],
    [
      "a module before its time",
      "not yet",
      "`src/session`",
      "",
      "R1 is not yet there, but names a module or a test",
    ],
  ])("reports %s", (_, status, module, reference, problem) => {
    expect(row(status, module, reference)).toEqual([problem]);
  });
});
