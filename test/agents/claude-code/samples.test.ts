import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import fc from "fast-check";
import { memoryBlobStore } from "sessile";
import { claudeCode } from "sessile/claude-code";
import { exportSession, importSession } from "sessile/interop";
import { describe, expect, it } from "vitest";
import { breakage } from "../../arbitraries/broken-sessions.js";
import { damage, damaged } from "../../arbitraries/bytes.js";
import { transcripts } from "../../arbitraries/claude-code.js";
import { fixture } from "../../support/fixtures.js";
import { rounds } from "../../support/rounds.js";
import { bytesOf, call, line, mainPath, reply, result, shown, text, user } from "./transcript.js";

type Files = Parameters<typeof importSession>[0];

const samples = fixture("agents/claude-code");

function filesBelow(folder: string): Files {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path: path.slice(folder.length + 1), bytes: new Uint8Array(readFileSync(path)) }));
}

/** Imports files, and expects entries that a session can hold and the same bytes again. */
async function expectReturn(files: Files) {
  const blobs = memoryBlobStore();
  const imported = await importSession(files, { from: claudeCode, blobs });
  for (const session of [imported, ...imported.children]) {
    const ids = new Set(session.entries.map(({ id }) => id));
    expect(ids.size).toBe(session.entries.length);
    for (const { parentId } of session.entries) expect(parentId === null || ids.has(parentId)).toBe(true);
    shown(session);
  }
  expect(imported.report.findings.filter(({ text }) => text.startsWith("message: "))).toEqual([]);
  const { files: again, report } = await exportSession(imported, { to: claudeCode, blobs });
  expect(report.exact).toBe(true);
  expect(again).toEqual(files);
  return imported;
}

describe.skipIf(samples.absent !== undefined)(`real transcripts (${samples.absent ?? "all"})`, () => {
  it("import, and come back as they were", async () => {
    const files = filesBelow(samples.path);
    const mains = files.filter(({ path }) => path.endsWith(".jsonl") && !basename(path).startsWith("agent-"));
    expect(mains.length).toBeGreaterThanOrEqual(8);
    let messages = 0;
    for (const main of mains) {
      const folder = main.path.replace(/\.jsonl$/, "/");
      const imported = await expectReturn([main, ...files.filter(({ path }) => path.startsWith(folder))]);
      messages += shown(imported).length;
    }
    expect(messages).toBeGreaterThan(40);
    for (const file of files) if (file.path.includes("agent-")) await expectReturn([file]);
  });

  it("import and come back cut, shuffled and damaged", async () => {
    const files = filesBelow(samples.path).filter(({ bytes }) => (bytes as Uint8Array).length < 60_000);
    const broken = fc.record({
      file: fc.constantFrom(...files),
      change: breakage,
      damage,
      isShuffled: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(broken, async ({ file, change, damage: changes, isShuffled }) => {
        const bytes = damaged(change(file.bytes as Uint8Array), changes);
        const lines = new TextDecoder("latin1").decode(bytes).split("\n");
        const mixed = isShuffled ? Buffer.from(lines.reverse().join("\n"), "latin1") : bytes;
        await expectReturn([{ path: file.path, bytes: new Uint8Array(mixed) }]);
      }),
      { numRuns: rounds(40, 2000) },
    );
  });
});

it("reads generated transcripts in any order of their lines, and returns them", async () => {
  const shuffled = transcripts
    .filter((lines) => lines.length > 0)
    .chain((lines) => fc.shuffledSubarray([...lines], { minLength: 1 }));
  await fc.assert(
    fc.asyncProperty(shuffled, async (lines) => {
      await expectReturn([{ path: mainPath, bytes: bytesOf(lines) }]);
    }),
    { numRuns: rounds(60, 3000) },
  );
});

/** Values of the wrong type, and texts that mean something elsewhere. */
const strange = fc.constantFrom<unknown>(
  null,
  1,
  true,
  [],
  {},
  "",
  "__proto__",
  "../../etc/passwd",
  [[null]],
  { id: 7 },
  "\ud800",
);

it("reads lines with anything in their members", async () => {
  const lines = [
    user("u1", null, "hello"),
    reply("a1", "u1", "m1", call("c1")),
    user("r1", "a1", [result("c1")], { toolUseResult: { agentId: "b" } }),
    line("system", "b1", null, {
      subtype: "compact_boundary",
      logicalParentUuid: "r1",
      compactMetadata: { preservedMessages: { anchorUuid: "s1", uuids: ["a1"] } },
    }),
    user("s1", "b1", "sum", { isCompactSummary: true }),
    line("attachment", "t1", "s1", { attachment: { type: "x" }, rendered: [{ content: "y" }] }),
    line("system", "k1", "t1", {
      subtype: "microcompact_boundary",
      microcompactMetadata: { compactedToolIds: ["c1"] },
    }),
    reply("a2", "k1", "m2", text("done")),
  ];
  const places = lines.flatMap((each, at) => pathsIn(each).map((path) => ({ at, path })));
  const changes = fc.array(fc.record({ place: fc.constantFrom(...places), value: strange }), {
    minLength: 1,
    maxLength: 3,
  });
  await fc.assert(
    fc.asyncProperty(changes, async (made) => {
      const copy = structuredClone(lines) as Record<string, unknown>[];
      // A value that is put into two places must not be one object.
      for (const { place, value } of made) put(copy[place.at], place.path, structuredClone(value));
      await expectReturn([{ path: mainPath, bytes: bytesOf(copy) }]);
    }),
    { numRuns: rounds(150, 5000) },
  );
});

/** The paths of all members of a value. */
function pathsIn(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, member]) => pathsIn(member, [...path, key]))].filter(
    (each) => each.length > 0,
  );
}

function put(target: unknown, path: readonly string[], value: unknown): void {
  let at = target;
  for (const key of path.slice(0, -1))
    at = typeof at === "object" && at !== null ? (at as Record<string, unknown>)[key] : undefined;
  const last = path.at(-1);
  if (typeof at === "object" && at !== null && last !== undefined)
    (at as Record<string, unknown>)[last] = value;
}
