import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { memoryBlobStore, memorySessionStore } from "sessile";
import { codex } from "sessile/codex";
import { exportSession, type ForeignFile, importSession } from "sessile/interop";
import { expect, test } from "vitest";
import { breakage } from "../../arbitraries/broken-sessions.js";
import { fixture } from "../../support/fixtures.js";
import { rounds } from "../../support/rounds.js";
import { contextOfImport, item, read, rollout, said, sample, samplesIn, textOf } from "./samples.js";

const names = [
  "tools-0.58.jsonl",
  "tools-0.98.jsonl",
  "tools-0.169.jsonl",
  "turns-0.98.jsonl",
  "turns-0.169.jsonl",
  "fork-0.169.jsonl",
];

/** Imports, and checks what holds for any bytes: a session that a store adopts, with a context. */
async function check(files: readonly ForeignFile[]): Promise<void> {
  const imported = await read(files, { keep: "none" });
  await using session = await memorySessionStore().adopt(imported);
  const context = await session.context();
  expect(contextOfImport(imported).items).toHaveLength(context.items.length);
  for (const child of imported.children) {
    await using adopted = await memorySessionStore().adopt(child);
    await adopted.context();
  }
}

/** Imports with the bytes kept, and expects the very bytes back. */
async function checkReturn(files: readonly ForeignFile[]): Promise<void> {
  const blobs = memoryBlobStore();
  const { files: back, report } = await exportSession(await read(files, { blobs }), { to: codex, blobs });
  expect(report.exact).toBe(true);
  expect(back).toEqual(files.map(({ path, bytes }) => ({ path, bytes })));
}

test("cut, shuffled and damaged rollouts are sessions all the same, and go back as they are", async () => {
  const groups = [...names.map((name) => [sample(name)]), samplesIn("agents-0.169")];
  await fc.assert(
    fc.asyncProperty(
      fc.nat({ max: groups.length - 1 }),
      breakage,
      fc.nat({ max: 20 }),
      async (which, broken, at) => {
        const group = groups[which] ?? [];
        const bytes = broken(group[at % group.length]?.bytes as Uint8Array);
        const files = group.map((file, index) => (index === at % group.length ? { ...file, bytes } : file));
        await (at % 2 === 0 ? check : checkReturn)(files);
      },
    ),
    { numRuns: rounds(30, 3000) },
  );
});

test("members of any type, and lines of any type, are sessions all the same", async () => {
  const lines = textOf(sample("turns-0.169.jsonl")).split("\n").slice(0, -1);
  const members = [...new Set(lines.join("").match(/"[a-z_]+":/g))].map((key) => key.slice(1, -2));
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom(null, "__proto__", "../../../etc/passwd", -1, Number.MAX_VALUE, [], {}, "x".repeat(5000)),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom(...members), value), { minLength: 1, maxLength: 4 }),
      fc.nat({ max: 40 }),
      async (changes, each) => {
        const changed = lines.map((line, at) => {
          if (each > 0 && at % each !== 0) return line;
          return JSON.stringify(JSON.parse(line), (key, old) => {
            const change = changes.find(([name]) => name === key);
            return change === undefined ? old : change[1];
          });
        });
        const bytes = new TextEncoder().encode(changed.join("\n"));
        await check([{ path: "rollout-a.jsonl", bytes }]);
      },
    ),
    { numRuns: rounds(30, 3000) },
  );
});

test("names that are paths stay text, and nested outputs cost nothing", async () => {
  const deep = `${"[".repeat(200)}${"]".repeat(200)}`;
  const file = rollout(
    [
      said("Hi"),
      item({ type: "function_call", call_id: "a", name: "../x", arguments: deep }),
      item({ type: "function_call_output", call_id: "a", output: JSON.parse(deep) }),
    ],
    { id: "../../etc/passwd", cwd: "/../..", forked_from_id: "..\\..\\up" },
  );
  const imported = await read(file);
  expect(imported.header.id).toMatch(/^[0-9a-f-]{36}$/);
  await check([file]);
});

const folder = fixture("agents/codex");
const filesBelow = (at: string): readonly string[] =>
  readdirSync(at).flatMap((name) => {
    const path = join(at, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });

test.skipIf(folder.absent)(
  `real rollouts import, with their bytes kept${folder.absent ? `: ${folder.absent}` : ""}`,
  async () => {
    for (const path of filesBelow(folder.path)) {
      const bytes = new Uint8Array(fixture(path).read());
      const blobs = memoryBlobStore();
      const imported = await importSession([{ path: path.slice(folder.path.length + 1), bytes }], {
        from: codex,
        blobs,
      });
      expect(imported.report.exact).toBe(true);
      const foreign = imported.entries.find(
        (entry) => entry.type === "custom" && entry.customType === "sessile.foreign",
      ) as unknown as { readonly data: { readonly files: readonly { readonly blob: `sha256:${string}` }[] } };
      expect(await blobs.get(foreign.data.files[0]?.blob ?? "sha256:")).toEqual(bytes);
      contextOfImport(imported);
    }
  },
);
