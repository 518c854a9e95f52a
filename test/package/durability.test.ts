import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { checkNamedTests } from "../support/named-tests.js";

describe("docs/durability.md", () => {
  const markdown = readFileSync(join(root, "docs/durability.md"), "utf8");

  it("names tests that exist", () => {
    const problems = checkNamedTests(markdown, {
      exists: (path) => existsSync(join(root, path)),
      read: (path) => readFileSync(join(root, path), "utf8"),
    });
    expect(problems).toEqual([]);
  });

  it("has a test for each guarantee, and for each other row one or why there is none", () => {
    const [, guarantees = "", others = ""] =
      /\n## Guarantees\n(.*)\n## What is not guaranteed\n(.*?)\n## /s.exec(markdown) ?? [];
    const last = (table: string) =>
      table
        .split("\n")
        .filter((line) => line.startsWith("| "))
        .slice(2)
        .map((line) => line.split("|").at(-2)?.trim() ?? "");
    expect(last(guarantees).length).toBeGreaterThan(20);
    expect(last(guarantees).filter((cell) => !cell.includes("` › "))).toEqual([]);
    expect(last(others).length).toBeGreaterThan(10);
    const reasons = ["not tested", "no test can", "by design", "by their nature"];
    expect(last(others).filter((cell) => !cell.includes("` › ") && !reasons.includes(cell))).toEqual([]);
  });
});
