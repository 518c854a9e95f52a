import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { mermaid, moduleImports } from "../../scripts/module-graph.mjs";
import { staleFiles } from "../../scripts/module-table.mjs";

describe("the picture of architecture.md", () => {
  it("has every import of another module, whatever its form, and none within a module", () => {
    const imports = moduleImports([
      ["src/session/tree/a.ts", 'import { b } from "../../attachments/internal.js";\nimport "./c.js";'],
      ["src/session/b.ts", 'export type { A } from "../content/index.js";'],
      ["src/storage/files/c.ts", 'const later = () => import("../../session/index.js");'],
      ["src/node.ts", 'export * from "./agents/node/index.js";'],
    ]);
    expect([...imports].filter(([, to]) => to.size > 0).map(([from, to]) => [from, [...to]])).toEqual([
      ["session", ["attachments", "content"]],
      ["storage/files", ["session"]],
    ]);
  });

  it("leaves out an arrow that others imply", () => {
    const imports = new Map([
      ["a", new Set(["b", "c", "d/e"])],
      ["b", new Set(["c"])],
      ["c", new Set(["d/e"])],
      ["d/e", new Set<string>()],
    ]);
    expect(mermaid(imports)).toBe(
      '```mermaid\nflowchart TD\n  a --> b\n  b --> c\n  c --> d_e\n  d_e["d/e"]\n```\n',
    );
  });

  it("is stale if an import is drawn that is not there", () => {
    const page = "docs/contributing/architecture.md";
    const read = (path: string) => readFileSync(join(root, path), "utf8");
    const changed = (path: string) =>
      path === page ? read(path).replace("cli --> ", "cli --> core & ") : read(path);
    expect(staleFiles(changed).get(page)).toBe(staleFiles(read).get(page) ?? read(page));
  });
});
