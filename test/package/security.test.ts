import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";

const read = (path: string): string => readFileSync(join(root, path), "utf8");

describe("SECURITY.md", () => {
  const markdown = read("SECURITY.md");
  const rows = markdown.split("\n").filter((line) => line.startsWith("| "));
  const cells = rows.slice(2).map((row) => row.split(/(?<!\\)\|/).map((cell) => cell.trim()));

  // test/package/shown-by.test.ts checks that each id has a test.
  it("has the id of a test for each row", () => {
    expect(cells.length).toBeGreaterThan(15);
    expect(
      cells.filter(([, , , , id]) => !/^`[a-z0-9-]+`$/.test(id ?? "")).map(([, input]) => input),
    ).toEqual([]);
  });

  it("names codes that there are", () => {
    const known = new Set(read("docs/reference/errors.md").match(/`[A-Z][A-Z0-9_]+`/g));
    const named = cells.flatMap(([, , , refusal = ""]) => refusal.match(/`[A-Z][A-Z0-9_]+`/g) ?? []);
    expect(named.filter((code) => !known.has(code))).toEqual([]);
    expect(named.length).toBeGreaterThan(10);
  });

  it("is in the package, and one page", () => {
    expect(JSON.parse(read("package.json")).files).toContain("SECURITY.md");
    expect(markdown.split("\n").length).toBeLessThan(100);
  });
});
