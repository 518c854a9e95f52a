import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";

const read = (path: string): string => readFileSync(join(root, path), "utf8");
/** The text below a heading of the page, up to the next one. */
const section = (heading: string): string =>
  read("docs/reference/errors.md").split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
/** The members of a union of texts. */
const union = (source: string, name: string): string[] => {
  const [, type = ""] =
    new RegExp(`(?:type ${name} =|interface ${name} \\{[^}]*?code:)([^;]*);`).exec(read(source)) ?? [];
  return matches(type, /"([^"]+)"/g);
};
const matches = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, code = ""]) => code).sort();

describe("docs/reference/errors.md", () => {
  it("has a heading for every code, and no other", () => {
    const [codes = ""] = read("docs/reference/errors.md").split("## Diagnostics");
    const declared = matches(read("src/core/errors/index.ts"), /^ {2}([A-Z][A-Z_]+): \{/gm);
    expect(declared.length).toBeGreaterThan(30);
    expect(matches(codes, /^### `([A-Z_]+)`$/gm)).toEqual(declared);
  });

  it("has a row for every diagnostic and every finding, and no other", () => {
    const diagnostics = section("Diagnostics");
    const sources = ["src/log/diagnostics.ts", "src/storage/files/repair/diagnose.ts"];
    const declared = sources.flatMap((source) => matches(read(source), /^ {2}\| "([A-Z_0-9]+)"/gm));
    expect(declared.length).toBeGreaterThan(25);
    const rows = matches(diagnostics, /^\| (`.*`) \|/gm).flatMap((cell = "") =>
      matches(cell, /`([A-Z_0-9]+)`/g),
    );
    expect(rows.sort()).toEqual(declared.sort());
  });

  it("has every code of files, losses, reasons and warnings", () => {
    const named = (heading: string) => matches(section(heading), /`([A-Za-z_-]+)`/g);
    const files = union("src/frameworks/claude-agent/node/attachments.ts", "AttachmentErrorCode");
    expect(files).toContain("PDF_LOCKED");
    expect(named("Files of a turn").filter((name) => /^[A-Z_]+$/.test(name))).toEqual(files);
    const codes = [
      union("src/providers/losses.ts", "LossCode"),
      union("src/attachments/decide.ts", "AttachmentReason"),
      union("src/providers/attachment-state.ts", "SendReason"),
      union("src/providers/projection.ts", "ProjectionWarning"),
      union("src/content/media/types.ts", "InvalidReason"),
    ];
    for (const list of codes) {
      expect(list.length).toBeGreaterThan(2);
      expect(named("Requests")).toEqual(expect.arrayContaining(list));
    }
    expect(codes[0]).toContain("overLimit");
  });
});

describe("docs/reference/interop.md", () => {
  it("has every finding of an import and an export", () => {
    const named = matches(read("docs/reference/interop.md"), /`([A-Za-z]+)`/g);
    for (const name of ["ImportFindingCode", "ExportFindingCode"]) {
      const codes = union("src/agents/types.ts", name);
      expect(codes.length).toBeGreaterThan(10);
      expect(named).toEqual(expect.arrayContaining(codes));
    }
  });
});
