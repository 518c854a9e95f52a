import { describe, expect, it } from "vitest";
import { reaching } from "../../scripts/affected.mjs";

/** The files that reach `changed` among those of a repository. */
function reached(files: Readonly<Record<string, string>>, changed: string): readonly string[] {
  const paths = Object.keys(files);
  return [...reaching(paths, [changed], (path) => files[path] ?? "")].filter((path) => path !== changed);
}

describe("reaching", () => {
  it.each([
    ["test/cost/prices.ts", `import { x } from "./prices.js";`],
    ["src/index.ts", `import { x } from "sessile";`],
    ["src/providers/cost/index.ts", `import { x } from "sessile/cost";`],
    ["test/cost/main.tsx", `export * from "./main.js";`],
    ["test/cost/prices.ts", `const later = () => import("./prices.js");`],
    ["test/cost/prices.ts", `import {\n  type X,\n  y,\n} from "./prices.js";`],
    ["test/cost/prices.ts", `vi.mock("./prices.js");`],
    ["test/cost/child.ts", `const program = useProgram(new URL("./child.ts", import.meta.url));`],
    ["test/cost/files/a.json", `const text = readFileSync(new URL("./files/a.json", import.meta.url));`],
    ["docs/guide/memory.md", `const page = read("docs/guide/memory.md");`],
    ["docs/guide/memory.md", `const pages = readdirSync(join(root, "docs/guide"));`],
    ["src/providers/cost/prices.ts", `const sources = readFolder(join(root, "src"), ".ts");`],
  ])("finds a test that names %s by %s", (changed, text) => {
    expect(reached({ [changed]: "", "test/cost/a.test.ts": text }, changed)).toEqual(["test/cost/a.test.ts"]);
  });

  it.each([
    ["test/cost/prices.ts", `import type { X } from "./prices.js";`],
    ["test/cost/prices.ts", `import type {\n  X,\n} from "./prices.js";`],
    ["test/cost/prices.ts", `// as in "./prices.js"`],
    ["test/cost/prices.ts", `/**\n * import("./prices.js")\n */`],
    ["src/index.ts", `import { x } from "sessile/node";`],
    ["src/index.ts", `const title = "sessile";`],
    ["test/cost/prices.ts", `import { x } from "./price.js";`],
  ])("leaves a test that does not load %s: %s", (changed, text) => {
    expect(reached({ [changed]: "", "test/cost/a.test.ts": text }, changed)).toEqual([]);
  });

  it("goes over files between, in a circle too", () => {
    const files = {
      "src/providers/cost/index.ts": `export * from "./prices.js";`,
      "src/providers/cost/prices.ts": `import "./table.js"; import "./index.js";`,
      "src/providers/cost/table.ts": "",
      "test/cost/a.test.ts": `import { x } from "sessile/cost";`,
      "test/cost/b.test.ts": `import "./a.test.js";`,
      "test/media/c.test.ts": `import { x } from "sessile/media";`,
    };
    expect(reached(files, "src/providers/cost/table.ts")).toEqual([
      "src/providers/cost/prices.ts",
      "src/providers/cost/index.ts",
      "test/cost/a.test.ts",
      "test/cost/b.test.ts",
    ]);
  });

  it("takes a source by what it imports, not by the paths in its texts", () => {
    const files = {
      "src/providers/cost/a.ts": `const hint = "see docs/guide/memory.md";`,
      "docs/guide/memory.md": "",
    };
    expect(reached(files, "docs/guide/memory.md")).toEqual([]);
  });
});
