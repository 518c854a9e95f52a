import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";

describe("docs/reference/durability.md", () => {
  const markdown = readFileSync(join(root, "docs/reference/durability.md"), "utf8");

  // test/package/shown-by.test.ts checks that each id has a test.
  it("has the id of a test for each guarantee, and for each other row one or why there is none", () => {
    const [, guarantees = "", others = ""] =
      /\n## Guarantees\n(.*)\n## What is not guaranteed\n(.*?)\n## /s.exec(markdown) ?? [];
    const last = (table: string) =>
      table
        .split("\n")
        .filter((line) => line.startsWith("| ") && !/^\| (?:event|limit|---) \|/.test(line))
        .map((line) => line.split("|").at(-2)?.trim() ?? "");
    const isId = (cell: string) => /^`[a-z0-9-]+`$/.test(cell);
    expect(last(guarantees).length).toBeGreaterThan(20);
    expect(last(guarantees).filter((cell) => !isId(cell))).toEqual([]);
    expect(last(others).length).toBeGreaterThan(10);
    const reasons = ["not tested", "no test can", "by design", "by their nature"];
    expect(last(others).filter((cell) => !isId(cell) && !reasons.includes(cell))).toEqual([]);
  });
});
