import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { checkRequirements } from "../support/requirements.js";

describe("docs/requirements.md", () => {
  it("has every requirement, and the paths that it names exist", () => {
    const markdown = readFileSync(join(root, "docs/requirements.md"), "utf8");
    expect(checkRequirements(markdown, 196, (path) => existsSync(join(root, path)))).toEqual([]);
  });
});

describe("checkRequirements", () => {
  const check = (...rows: readonly string[]) =>
    checkRequirements(
      ["| number | requirement | status |", "| --- | --- | --- |", ...rows].join("\n"),
      2,
      (path) => path === "src/session" || path === "examples/a.ts",
    );
  const reason = "| 2 | why |";
  const open = (number: string) => `| ${number} | words | not yet | |`;
  const row = (status: string, where: string) =>
    check(
      `| R1 | words | ${status} | ${where} |`,
      open("R2"),
      reason,
      ...(["partly", "not yet"].includes(status) ? ["| 1 | why |"] : []),
    );

  it("accepts rows that name existing paths", () => {
    expect(row("done", "`src/session`")).toEqual([]);
    expect(row("partly", "`src/session`, `examples/a.ts`")).toEqual([]);
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
    const met = "| R1 | words | done | `src/session` |";
    expect(check(met, open("R2"), reason, "| 1 | why |")).toEqual(["R1 has a reason, and is met"]);
  });

  it("wants a row that is met in an example only to say so", () => {
    expect(row("in an example", "`examples/a.ts`")).toEqual([]);
    expect(row("done", "`examples/a.ts`")).toEqual(["R1 is met in an example only, and does not say so"]);
    expect(row("in an example", "`src/session`")).toEqual(["R1 is met in an example, and names other paths"]);
  });

  it.each([
    ["an unknown status", "soon", "", 'R1 has the status "soon"'],
    ["no path", "done", "", "R1 names no path"],
    ["a missing path", "done", "`src/none`", "R1 names src/none, which does not exist"],
    ["a path before its time", "not yet", "`src/session`", "R1 is not yet there, but names a path"],
  ])("reports %s", (_, status, where, problem) => {
    expect(row(status, where)).toEqual([problem]);
  });
});
