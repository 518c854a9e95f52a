import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { memoryBlobStore, parseSession } from "sessile";
import { exportSession, type ForeignFile, importSession } from "sessile/interop";
import { opencode } from "sessile/opencode";
import { describe, expect, it } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { damage, damaged } from "../../arbitraries/bytes.js";
import { sessionOf } from "../../arbitraries/entries.js";
import { mutationOf } from "../../arbitraries/mutations.js";
import { fixture } from "../../support/fixtures.js";
import { encodeUtf8 } from "../../support/plain-values.js";
import { rounds } from "../../support/rounds.js";
import { sqlite } from "../support/sqlite.js";

const folder = join(root, "test/agents/opencode/files");
const samples = readdirSync(folder, { recursive: true })
  .map(String)
  .filter((path) => path.endsWith(".json") && !path.endsWith("request.json"))
  .sort()
  .map((path) => new Uint8Array(readFileSync(join(folder, path))));

/** Imports files, checks that a session can hold the result, and that the same bytes come back. */
async function roundTrip(files: readonly ForeignFile[]): Promise<void> {
  const blobs = memoryBlobStore();
  const imported = await importSession(files, { from: opencode, blobs, sqlite });
  const { entries, diagnostics } = parseSession(sessionOf(imported.entries).text);
  expect(entries.length).toBe(imported.entries.length);
  expect([...diagnostics]).toEqual([]);
  // A database has other sessions too, and is not kept.
  if (!imported.report.exact) return;
  const written = await exportSession(imported, { to: opencode, blobs });
  expect(written.report.exact).toBe(true);
  const sorted = (list: readonly ForeignFile[]) => [...list].sort((a, b) => (a.path < b.path ? -1 : 1));
  expect(sorted(written.files)).toEqual(sorted(files.map(({ path, bytes }) => ({ path, bytes }))));
}

describe("opencode", () => {
  it("imports damaged copies without a throw, and gives their bytes back", async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...samples), damage, async (bytes, changes) => {
        await roundTrip([{ path: "export.json", bytes: damaged(bytes, changes) }]);
      }),
      { numRuns: rounds(15, 1000) },
    );
  });

  it("imports cut and shuffled copies without a throw", async () => {
    const values = samples.map(
      (bytes) => JSON.parse(new TextDecoder().decode(bytes)) as { messages: unknown[] },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...values),
        fc.infiniteStream(fc.nat()),
        fc.nat(20_000),
        async (value, order, cut) => {
          const keys = value.messages.map((message) => ({ message, key: order.next().value as number }));
          const messages = keys.sort((a, b) => a.key - b.key).map(({ message }) => message);
          const bytes = encodeUtf8(JSON.stringify({ ...value, messages }));
          await roundTrip([{ path: "export.json", bytes }]);
          await roundTrip([{ path: "export.json", bytes: bytes.subarray(0, cut) }]);
        },
      ),
      { numRuns: rounds(10, 500) },
    );
  });

  it("imports sessions with a member of a wrong type without a throw", async () => {
    const value = JSON.parse(new TextDecoder().decode(samples[0])) as object;
    await fc.assert(
      fc.asyncProperty(mutationOf(fc.constant(value)), async (changed) => {
        await roundTrip([{ path: "export.json", bytes: encodeUtf8(JSON.stringify(changed ?? null)) }]);
      }),
      { numRuns: rounds(60, 3000) },
    );
  });

  const fixtures = [
    "1.1.65/export.json",
    "1.18.33/export.json",
    "1.18.33/opencode.db",
    "casr/opencode.db",
  ].map((path) => ({ path, file: fixture(`agents/opencode/${path}`) }));
  for (const { path, file } of fixtures) {
    it.skipIf(file.absent !== undefined)(
      `imports the shared ${path}${file.absent ? `: ${file.absent}` : ""}`,
      async () => {
        const name = path.slice(path.lastIndexOf("/") + 1);
        await roundTrip([{ path: name, bytes: new Uint8Array(file.read()) }]);
      },
    );
  }

  const stored = fixture("agents/opencode/1.1.65/storage");
  it.skipIf(stored.absent !== undefined)(
    `imports the shared folders of 1.1.65${stored.absent ? `: ${stored.absent}` : ""}`,
    async () => {
      const files = readdirSync(stored.path, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .map((full) => ({
          path: `storage${full.slice(stored.path.length)}`,
          bytes: new Uint8Array(readFileSync(full)),
        }));
      await roundTrip(files);
    },
  );
});
