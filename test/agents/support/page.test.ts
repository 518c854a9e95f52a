import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { parseResults, printResults, type ResultRow, replaceResults } from "../agents/results.js";

const page = readFileSync(join(root, "docs/reference/interop.md"), "utf8");
const types = readFileSync(join(root, "src/agents/types.ts"), "utf8");

const codesOf = (type: string): readonly string[] => {
  const [, union = ""] = types.split(`export type ${type} =`);
  return [...(union.split(";")[0] ?? "").matchAll(/^ {2}\| "(\w+)"/gm)].map(([, code = ""]) => code);
};
const rowsOf = (heading: string): readonly string[] => {
  const [, section = ""] = page.split(`## ${heading}\n`);
  return [...(section.split("\n## ")[0] ?? "").matchAll(/^\| `(\w+)` \|/gm)].map(([, code = ""]) => code);
};

describe("docs/reference/interop.md", () => {
  it.each([
    ["Findings of an import", "ImportFindingCode"],
    ["Findings of an export", "ExportFindingCode"],
  ])("%s: a row for every code, and no other", (heading, type) => {
    expect(codesOf(type).length).toBeGreaterThan(10);
    expect(rowsOf(heading)).toEqual(codesOf(type));
  });

  it("has results that are printed as they were parsed, each check once", () => {
    const rows = parseResults(page);
    expect(replaceResults(page, printResults(rows))).toBe(page);
    const keys = rows.map(({ agent, version, check }) => [agent, version, check].join());
    expect(new Set(keys).size).toBe(rows.length);
  });

  it("keeps a result with a bar, and sorts versions as numbers", () => {
    const row: ResultRow = {
      agent: "codex",
      version: "0.98.0",
      check: "a | b",
      result: "yes",
      day: "2026-11-23",
    };
    const rows = [{ ...row, version: "0.128.0" }, row];
    const other = replaceResults(page, printResults(rows));
    expect(parseResults(other)).toEqual([row, rows[0]]);
    expect(replaceResults(other, printResults(parseResults(page)))).toBe(page);
  });
});
