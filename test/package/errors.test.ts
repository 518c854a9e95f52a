import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const matches = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, code]) => code).sort();

describe("docs/reference/errors.md", () => {
  it("has a heading for every code, and no other", () => {
    const [codes = ""] = read("docs/reference/errors.md").split("## Diagnostics");
    const declared = matches(read("src/errors/codes.ts"), /^ {2}([A-Z][A-Z_]+): \{/gm);
    expect(declared.length).toBeGreaterThan(30);
    expect(matches(codes, /^### `([A-Z_]+)`$/gm)).toEqual(declared);
  });

  it("has a row for every diagnostic and every finding, and no other", () => {
    const [, diagnostics = ""] = read("docs/reference/errors.md").split("## Diagnostics");
    const sources = ["src/session/api/diagnostics.ts", "src/session/node/repair/findings.ts"];
    const declared = sources.flatMap((source) => matches(read(source), /^ {2}\| "([A-Z_0-9]+)"/gm));
    expect(declared.length).toBeGreaterThan(25);
    const rows = matches(diagnostics, /^\| (`.*`) \|/gm).flatMap((cell = "") =>
      matches(cell, /`([A-Z_0-9]+)`/g),
    );
    expect(rows.sort()).toEqual(declared.sort());
  });
});
