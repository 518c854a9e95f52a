import {
  appendFileSync,
  createReadStream,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BlobMark, type BlobRef, type BlobStore, collectGarbage, sessionBlobRoots } from "sessile";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

let dir = "";
let blobs: BlobStore;
let log = "";
let named: BlobRef;
let garbage: BlobRef;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "sessile-collector-"));
  blobs = fileBlobStore({ dir: join(dir, "blobs") });
  named = (await blobs.put(new TextEncoder().encode("named"))).ref;
  garbage = (await blobs.put(new TextEncoder().encode("garbage"))).ref;
  const session = await fileSessionStore({ dir: join(dir, "sessions") }).create({ cwd: "/work", id: "one" });
  await session.append([
    { type: "custom", customType: "c", data: { blob: named } },
    { type: "custom", customType: "c", data: "ü" },
  ]);
  await session.close();
  log = session.location ?? "";
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const later = () => Date.now() + 60 * 86_400_000;
const files = () => readdirSync(join(dir, "blobs"), { recursive: true }).map(String).sort();

/** Refuses, whatever else is named, and neither moves nor deletes anything. */
async function isRefused(marks: readonly BlobMark[], reason: RegExp): Promise<void> {
  const before = files();
  const sound = await sessionBlobRoots("sound", createReadStream(log));
  for (const order of [
    [...marks, sound],
    [sound, ...marks],
  ]) {
    await expect(collectGarbage(blobs, { marks: order, now: later, graceMs: 0 })).rejects.toMatchObject({
      code: "COLLECTION_REFUSED",
      message: expect.stringMatching(reason),
    });
  }
  expect(files()).toEqual(before);
}

describe("row 15: the collector with a corrupt or newer log", () => {
  const text = () => readFileSync(log, "utf8");

  // @covers R68 durability:collection-refuses
  test.each<readonly [string, (whole: string) => string, RegExp]>([
    ["of a newer version", (whole) => whole.replace('"version":3', '"version":4'), /NEWER_VERSION in line 1/],
    ["with newer entries", (whole) => whole.replace('"sessile":1', '"sessile":2'), /NEWER_VERSION in line 1/],
    ["with a line that was changed", (whole) => whole.replace(/sha256:./, "sha256:0"), /MODIFIED in line 2/],
    ["with a line that is no JSON", (whole) => whole.replace('"data":', '"data"'), /INVALID_JSON in line 2/],
    ["with a torn end", (whole) => whole.slice(0, -9), /TORN_TAIL in line 3/],
    [
      "with NULs",
      (whole) => whole.replace(/sha256:.{9}/, "\0".repeat(16)),
      /(?:NUL_BYTES|MODIFIED) in line 2/,
    ],
    ["without its header", (whole) => whole.slice(whole.indexOf("\n") + 1), /NO_HEADER/],
    ["that is empty", () => "", /EMPTY/],
  ])("a log %s: it refuses, and nothing is touched", async (_, change, reason) => {
    const path = join(dir, "changed.jsonl");
    const changed = change(text());
    expect(changed).not.toBe(text());
    writeFileSync(path, changed);
    await isRefused([await sessionBlobRoots("changed", createReadStream(path))], reason);
  });

  test("a torn line that a writer ended was never acknowledged: it refuses no more, and keeps what the line names", async () => {
    const path = join(dir, "ended.jsonl");
    writeFileSync(path, text().slice(0, -9));
    const { complete: before } = await sessionBlobRoots("ended", createReadStream(path));
    appendFileSync(path, "\t\n");
    const { complete, refs } = await sessionBlobRoots("ended", createReadStream(path));
    expect([before, complete]).toEqual([false, true]);
    expect(refs).toEqual((await sessionBlobRoots("whole", readFileSync(log))).refs);
  });

  // @covers durability:collection-refuses
  test("any byte of a log changed: it refuses, or knows the blob all the same", async () => {
    const whole = readFileSync(log);
    for (let at = 0; at < whole.length; at++) {
      for (const mask of [0x01, 0x20, 0x80]) {
        const changed = Uint8Array.from(whole);
        changed[at] = (changed[at] ?? 0) ^ mask;
        const { complete, refs } = await sessionBlobRoots("changed", changed);
        if (complete) expect([...refs]).toContain(named);
      }
    }
  });

  test("a log in any chunks names the same; one that is whole is collected by", async () => {
    const whole = Uint8Array.from(readFileSync(log));
    const expected = await sessionBlobRoots("one", whole);
    expect(expected).toEqual({ root: "one", refs: new Set([named]), complete: true });
    for (const size of [1, 7, 100]) {
      const chunks = Array.from({ length: Math.ceil(whole.length / size) }, (_, n) =>
        whole.slice(n * size, (n + 1) * size),
      );
      expect(await sessionBlobRoots("one", chunks)).toEqual(expected);
    }
    const report = await collectGarbage(blobs, { marks: [expected], now: later, graceMs: 0 });
    expect([report.kept.count, report.trashed.count, report.missing.count]).toEqual([1, 1, 0]);
    expect(await blobs.get(named)).toBeDefined();
    expect(files().some((name) => name.includes(garbage.slice(7)) && name.startsWith("trash"))).toBe(true);
  });
});
