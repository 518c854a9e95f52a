import fc from "fast-check";
import { type FileRecord, staleFiles } from "sessile/compaction";
import { describe, expect, test } from "vitest";
import { hashes } from "./arbitraries.js";

const [hashA = "", hashB = ""] = hashes;
const file = (path: string, more: Partial<FileRecord> = {}): FileRecord => ({
  path,
  operations: ["read"],
  step: 1,
  ...more,
});
const known = { contentSha256: hashA };

describe("a file", () => {
  const rows: readonly (readonly [string, FileRecord, string | undefined, string | undefined])[] = [
    ["as it was", file("a", known), hashA, undefined],
    ["as it was, in capitals", file("a", known), hashA.toUpperCase(), undefined],
    ["with another content", file("a", known), hashB, "changed"],
    ["that is not there", file("a", known), undefined, "missing"],
    ["of unknown content that is not there", file("a"), undefined, "missing"],
    ["of unknown content", file("a"), hashB, undefined],
    ["that is there and has no hash", file("a", known), "", undefined],
    ["that is gone and not there", file("a", { gone: true }), undefined, undefined],
    ["that is gone and there", file("a", { gone: true }), hashB, "back"],
    ["that is gone and there as a directory", file("a", { gone: true }), "", "back"],
  ];

  test.each(rows)("%s", async (_, record, now, reason) => {
    const expected = reason === undefined ? [] : [{ record, reason }];
    expect(await staleFiles({ files: [record] }, () => now)).toEqual(expected);
    expect(await staleFiles({ files: [record] }, async () => now)).toEqual(expected);
  });

  test("that is unconfirmed is not asked for", async () => {
    const asked: string[] = [];
    const probe = (path: string) => void asked.push(path);
    await staleFiles({ files: [file("a", { unconfirmed: true }), file("b")] }, probe);
    expect(asked).toEqual(["b"]);
  });

  test("whose probe throws is unknown, and the others are told", async () => {
    const cause = new Error("no access");
    const probe = (path: string) => {
      if (path === "a") throw cause;
      return undefined;
    };
    const [a, b] = [file("a", known), file("b", known)];
    expect(await staleFiles({ files: [a, b] }, probe)).toEqual([
      { record: a, reason: "unknown", cause },
      { record: b, reason: "missing" },
    ]);
  });
});

describe("probes", () => {
  test("run at most so many at a time, each file once, and the result is in the order of the ledger", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(20),
        fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
        fc.infiniteStream(fc.integer({ min: 1, max: 3 })),
        async (count, concurrency, waits) => {
          const files = Array.from({ length: count }, (_, at) => file(`f${at}`, known));
          const asked: string[] = [];
          let running = 0;
          let most = 0;
          const probe = async (path: string) => {
            asked.push(path);
            most = Math.max(most, ++running);
            for (let wait = waits.next().value ?? 0; wait > 0; wait--) await undefined;
            running -= 1;
            return hashB;
          };
          const stale = await staleFiles({ files }, probe, concurrency === undefined ? {} : { concurrency });
          expect(asked).toEqual(files.map(({ path }) => path));
          expect(stale.map(({ record }) => record)).toEqual(files);
          expect(most).toBe(Math.min(count, concurrency ?? 8));
        },
      ),
    );
  });

  test("that hang are left when the signal aborts, and no more are begun", async () => {
    const controller = new AbortController();
    let asked = 0;
    const probe = () => {
      asked += 1;
      return new Promise<undefined>(() => undefined);
    };
    const files = [file("a"), file("b"), file("c")];
    const stale = staleFiles({ files }, probe, { signal: controller.signal, concurrency: 2 });
    controller.abort(new Error("enough"));
    await expect(stale).rejects.toThrow("enough");
    expect(asked).toBe(2);
  });

  test("that abort the signal themselves are the last", async () => {
    const controller = new AbortController();
    const asked: string[] = [];
    const probe = (path: string) => {
      asked.push(path);
      controller.abort(new Error("enough"));
      return undefined;
    };
    const options = { signal: controller.signal, concurrency: 1 };
    await expect(staleFiles({ files: [file("a"), file("b")] }, probe, options)).rejects.toThrow("enough");
    expect(asked).toEqual(["a"]);
  });

  test("that hang after they aborted the signal are left too", async () => {
    const controller = new AbortController();
    const probe = () => {
      controller.abort(new Error("enough"));
      return new Promise<undefined>(() => undefined);
    };
    const stale = staleFiles({ files: [file("a")] }, probe, { signal: controller.signal });
    await expect(stale).rejects.toThrow("enough");
  });

  test("are not begun after an abort, nor with a concurrency of none", async () => {
    let asked = 0;
    const probe = () => {
      asked += 1;
      return undefined;
    };
    const ledger = { files: [file("a")] };
    await expect(staleFiles(ledger, probe, { signal: AbortSignal.abort(new Error("no")) })).rejects.toThrow(
      "no",
    );
    await expect(staleFiles(ledger, probe, { concurrency: 0 })).rejects.toThrow(RangeError);
    expect(asked).toBe(0);
  });
});
