import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { entries, root } from "../../scripts/entries.mjs";
import { checkLayers } from "../support/layers.js";
import { readFolder, readSources } from "../support/sources.js";

const innerTests = 227;
const entryPoints = entries.map(({ source }) => source);

describe("the sources", () => {
  it("keep to the layers", () => {
    const sources = readSources();
    expect(sources.length).toBeGreaterThan(entries.length);
    expect(checkLayers(sources, entryPoints)).toEqual([]);
  });
});

describe("the tests", () => {
  const inner = readFolder(join(root, "test"), ".ts").flatMap(({ path, text }) => {
    if (path.includes("/node_modules/")) return [];
    const specifiers = [...text.matchAll(/"((?:\.\.\/)+src\/[^"]+)\.js"/g)]
      .map(([, specifier = ""]) => specifier)
      // What other modules of the library import, a test may import too.
      .filter((specifier) => !specifier.endsWith("/internal"));
    return specifiers.length === 0 ? [] : [{ path, specifiers }];
  });

  it("import an entry point by the name that users write", () => {
    const named = inner.filter(({ path, specifiers }) =>
      specifiers.some((specifier) =>
        entryPoints.includes(`${join(path, "..", specifier).slice(root.length)}.ts`),
      ),
    );
    expect(named.map(({ path }) => path)).toEqual([]);
  });

  // It should only fall: a test of behaviour goes through a subpath or a port. The goal is 60.
  it("name inner files of src in at most so many files", () => {
    expect(inner.length).toBeLessThanOrEqual(innerTests);
    expect(inner.length).toBeGreaterThan(innerTests * 0.95);
  });
});

describe("checkLayers", () => {
  const check = (path: string, text: string) =>
    checkLayers([{ path, text }], entryPoints).map(({ rule, line }) => ({ rule, line }));

  it.each([
    ["node in core", "src/content/block.ts", `import { readFile } from "node:fs/promises";`],
    ["node in core", "src/content/block.ts", `import fs from "fs";`],
    ["node file from core", "src/session/index.ts", `export * from "../storage/files/index.js";`],
    ["node file from core", "src/compaction/plan.ts", `import "../storage/files/index.js";`],
    ["upward", "src/content/block.ts", `import type { Session } from "../session/index.js";`],
    ["upward", "src/session/tree.ts", `import "../index.js";`],
    ["upward", "src/core/errors/index.ts", `export { utf8 } from "../../content/index.js";`],
    ["upward", "src/content/block.ts", `type Later = import("../session/index.js").Session;`],
    ["upward", "src/content/block.ts", `const later = () => import("../session/index.js");`],
    ["upward", "src/attachments/plan.ts", `import "../session/index.js";`],
    ["sideways", "src/compaction/plan.ts", `import "../providers/index.js";`],
    ["sideways", "src/storage/files/blobs/lock.ts", `import "../../sql/sqlite/index.js";`],
    ["inner file", "src/session/tree.ts", `import { text } from "../content/block.js";`],
    ["later chapter", "src/session/context/decode.ts", `import { rows } from "../store/session-tree.js";`],
    [
      "later chapter",
      "src/session/context/decode.ts",
      `import type { Rows } from "../store/session-tree.js";`,
    ],
    ["later chapter", "src/session/api/session.ts", `import { turn } from "../runtime/turn-settings.js";`],
    ["later chapter", "src/session/api/session.ts", `import { type Turn, turn } from "../store/store.js";`],
    ["later chapter", "src/session/context/turn.ts", `import "../store/store.js";`],
    ["root", "src/index.ts", `export * from "./core/errors/index.js";`],
    ["inner file", "src/index.ts", `export * from "./content/block.js";`],
    ["inner file", "src/index.ts", `export * from "./content/internal.js";`],
    ["upward", "src/content/block.ts", `import { externalizeEntry } from "../attachments/internal.js";`],
    ["by name", "src/session/tree.ts", `import { userMessage } from "sessile";`],
    ["validator", "src/session/codec.ts", `import { z } from "zod";`],
    ["between siblings", "src/frameworks/acp/index.ts", `import { chats } from "../ai-sdk/index.js";`],
    ["between siblings", "src/frameworks/acp/index.ts", `import type { Chats } from "../ai-sdk/index.js";`],
    ["between siblings", "src/frameworks/shared/handles.ts", `import { chats } from "../ai-sdk/index.js";`],
    ["between siblings", "src/agents/codex/read.ts", `import { read } from "../gemini-cli/read.js";`],
    ["between siblings", "src/agents/codex/read.ts", `import { importSession } from "../import.js";`],
    ["between siblings", "src/agents/shared/ids.ts", `import { importSession } from "../import.js";`],
    ["between siblings", "src/agents/import.ts", `import { codex } from "./codex/index.js";`],
    ["between siblings", "src/agents/node/find.ts", `import { codex } from "../codex/index.js";`],
    ["upward", "src/session/tree.ts", `import { nameOf } from "../adapters/shared/names.js";`],
    ["sideways", "src/frameworks/acp/index.ts", `import "../../agents/index.js";`],
    ["unknown module", "src/helpers/list.ts", `export const list = [];`],
  ])("reports %s: %s with %s", (rule, path, statement) => {
    const line = rule === "unknown module" ? 1 : 2;
    expect(check(path, `// first line\n${statement}\n`)).toEqual([{ rule, line }]);
  });

  it.each([
    ["src/session/tree.ts", `import { contextFrom } from "../content/index.js";`],
    ["src/session/tree.ts", `import { utf8 } from "../core/utf8.js";`],
    ["src/session/tree.ts", `import { walk } from "./walk.js";`],
    ["src/session/tree/session-tree.ts", `import { keys } from "../format/keys.js"; import "./rows.js";`],
    ["src/session/api/session.ts", `import type { Turn } from "../runtime/turn-settings.js";`],
    ["src/session/api/session.ts", `import { type Turn } from "../runtime/turn-settings.js";`],
    ["src/session/index.ts", `export { store } from "./store/store.js";`],
    ["src/session/tree.ts", `import { externalizeEntry } from "../attachments/internal.js";`],
    [
      "src/storage/files/index.ts",
      `import { open } from "node:fs/promises"; import "../../session/index.js";`,
    ],
    ["src/storage/files/blobs.ts", `import { createHash } from "node:crypto";`],
    ["src/log/schema.ts", `import { z } from "zod";`],
    ["src/frameworks/acp/index.ts", `import { nameOf } from "../shared/names.js"; import "./replay.js";`],
    [
      "src/frameworks/shared/handles.ts",
      `import { nameOf } from "./names.js"; import "../../session/index.js";`,
    ],
    ["src/agents/codex.ts", `import "../session/internal.js";`],
    ["src/agents/codex/read.ts", `import type { A } from "../types.js"; import "../shared/ids.js";`],
    ["src/agents/import.ts", `import "./detect.js"; import "./shared/ids.js";`],
    [
      "src/agents/table.ts",
      `import { row } from "./codex/agent.js"; const load = () => import("./codex/index.js");`,
    ],
    ["src/agents/node/find.ts", `import { importSession } from "../import.js";`],
    ["src/index.ts", `export * from "./content/index.js";`],
    ["src/content/block.ts", `const text = 'import "node:fs"'; // import "../session/index.js"`],
  ])("allows %s with %s", (path, statement) => {
    expect(check(path, statement)).toEqual([]);
  });
});
