import { type BlobRef, type BlobStore, collectGarbage, digest } from "sessile";
import { SessileError } from "sessile/errors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tunedStore } from "../../support/s3/conformance.js";
import { type Fault, type FaultProxy, startFaultProxy } from "../../support/s3/fault-proxy.js";
import { type S3Server, startS3Server } from "../../support/s3/server.js";

const kibibyte = 1024;
let server: S3Server;
let proxy: FaultProxy;
beforeAll(async () => {
  server = await startS3Server({ minPartBytes: 64 * kibibyte });
  proxy = await startFaultProxy(new URL(server.url).origin);
});
afterAll(async () => {
  await proxy.close();
  await server.close();
});

let prefixes = 0;

/** Stores on one new prefix, which share what they know or do not. */
function storage(): { open(partBytes?: number): BlobStore; readonly prefix: string } {
  const prefix = `${++prefixes}/`;
  return {
    prefix,
    open: (partBytes = 128 * kibibyte) =>
      tunedStore(
        { fetch, url: `${proxy.endpoint}/blobs`, prefix, partBytes },
        { minPartBytes: 1, policy: { attempts: 4, firstWaitMs: 1 }, copyLimits },
      ),
  };
}

const copyLimits = { maxCopyBytes: 5e9, copyPartBytes: 2 ** 30 };

const small = new TextEncoder().encode("a blob");
const noise = (length: number) => new Uint8Array(length).map((_, index) => index * 7 + (index >> 8));
/** More than a store puts in one piece: three parts. */
const large = noise(300 * kibibyte);
/** More than the first request of a read brings. */
const larger = noise(700 * kibibyte);
const day = 86_400_000;
const nothing = [{ root: "log", refs: [], complete: true }];

/** What is done on a store, and what then has to be there: the acknowledged bytes. */
const operations: Readonly<
  Record<
    string,
    {
      readonly prepare?: (store: BlobStore) => Promise<unknown>;
      readonly act: (store: BlobStore) => Promise<unknown>;
      /** What is acknowledged if `act` resolves, and what may be there if it does not. */
      readonly bytes: Uint8Array;
      /** Whether the bytes have to be there in any case, because they were before. */
      readonly stays?: boolean;
    }
  >
> = {
  "a put": { act: (store) => store.put(small), bytes: small },
  "a put of a blob that is there": {
    prepare: (store) => store.put(small),
    act: (store) => store.put(small),
    bytes: small,
    stays: true,
  },
  "a put by parts": { act: (store) => store.put(large), bytes: large },
  "a put by parts of a blob that is there": {
    prepare: (store) => store.put(large),
    act: (store) => store.put(large),
    bytes: large,
    stays: true,
  },
  "a touch": {
    prepare: (store) => store.put(small),
    act: (store) => store.touch(digest(small)),
    bytes: small,
    stays: true,
  },
  "a get": {
    prepare: (store) => store.put(larger),
    act: (store) => store.get(digest(larger)),
    bytes: larger,
    stays: true,
  },
  "a collection": {
    prepare: (store) => store.put(small),
    act: async (store) => {
      const now = (await store.backend.now()) + 15 * day;
      return collectGarbage(store, { marks: nothing, now: () => now });
    },
    bytes: small,
    stays: true,
  },
  "a restore": {
    prepare: async (store) => {
      await store.put(small);
      const now = (await store.backend.now()) + 15 * day;
      await collectGarbage(store, { marks: nothing, now: () => now });
    },
    act: (store) => store.get(digest(small)),
    bytes: small,
    stays: true,
  },
};

async function all(store: BlobStore): Promise<BlobRef[]> {
  const refs: BlobRef[] = [];
  for await (const { ref } of store.list()) refs.push(ref);
  return refs;
}

/** Faults of one request, after which the next attempt has an answer. */
const faults: Readonly<Record<string, readonly Fault[]>> = {
  "is lost": [{ kind: "dropBefore" }],
  "has an answer that is lost": [{ kind: "dropAfter" }],
  "is refused for a moment": [
    { kind: "answer", status: 500, code: "InternalError" },
    { kind: "answer", status: 503, code: "SlowDown", retryAfter: "0" },
    { kind: "answer", status: 409, code: "ConditionalRequestConflict" },
  ],
  "has an answer that is cut": [
    { kind: "cut", bytes: 3 },
    { kind: "shorten", bytes: 3 },
  ],
  "arrives damaged": [{ kind: "changeRequest" }],
};

/** Faults after which an operation may fail. */
const failures: Readonly<Record<string, readonly Fault[]>> = {
  "is answered by 412": [{ kind: "answer", status: 412, code: "PreconditionFailed" }],
  "is refused for good": [
    { kind: "answer", status: 403, code: "AccessDenied" },
    { kind: "answer", status: 501, code: "NotImplemented" },
  ],
  "has a damaged answer": [{ kind: "change" }],
};

describe.each(Object.entries(operations))("%s", (name, { prepare, act, bytes, stays }) => {
  /** Runs it once for each of its requests, with the fault on that one. */
  async function withEach(
    faults: readonly Fault[],
    check: (failed: unknown, store: BlobStore, fault: Fault) => Promise<void>,
  ) {
    for (let at = 0; ; at++) {
      proxy.fault = () => undefined;
      const { open, prefix } = storage();
      await prepare?.(open(2 ** 20));
      const first = proxy.seen.length;
      const fault = faults[at % faults.length] as Fault;
      proxy.fault = ({ index }) => (index === first + at ? fault : undefined);
      let failed: unknown;
      let result: unknown;
      try {
        result = await act(open());
      } catch (error) {
        failed = error;
      }
      if (result instanceof Uint8Array) expect(result).toEqual(bytes);
      // Of a list that arrived damaged nobody can tell.
      else if (failed === undefined && fault.kind !== "change") expect(result).toBeDefined();
      const isOver = proxy.seen.length <= first + at;
      proxy.fault = () => undefined;
      if (isOver) {
        expect(failed).toBeUndefined();
        expect(at).toBeGreaterThan(0);
        return;
      }
      await check(failed, open(), fault);
      if (bytes === large) expect(server.requests.some(({ query }) => query.has("partNumber"))).toBe(true);
      // Nothing of an upload is left, but what a later collection removes.
      if (bytes !== large) continue;
      await open().backend.removeLeftovers?.(Date.now() + day, { dryRun: false });
      expect([...server.objects.keys()].filter((key) => key.startsWith(`${prefix}staging`))).toEqual([]);
      expect([...server.uploads.values()].filter(({ key }) => key.startsWith(prefix))).toEqual([]);
    }
  }

  // @covers durability:s3-answers
  test.each(Object.entries(faults))("succeeds if any one of its requests %s", async (_, kinds) => {
    await withEach(kinds, async (failed, store, now) => {
      expect([name, now, failed]).toEqual([name, now, undefined]);
      expect(await contentOf(store)).toEqual([bytes]);
    });
  });

  // @covers durability:s3-answers
  test.each(Object.entries(failures))("loses nothing if any one of its requests %s", async (_, kinds) => {
    await withEach(kinds, async (failed, store, fault) => {
      if (failed !== undefined && !SessileError.is(failed, "STORAGE_FAILED")) {
        expect(SessileError.is(failed, "BLOB_CORRUPT") && fault.kind === "change").toBe(true);
      }
      const content = await contentOf(store);
      if (failed === undefined || stays) expect(content).toEqual([bytes]);
      else expect([[], [bytes]]).toContainEqual(content);
    });
  });
});

/** The bytes of all blobs, of those in the trash too. */
async function contentOf(store: BlobStore): Promise<Uint8Array[]> {
  const refs = new Set(await all(store));
  for await (const { ref } of store.backend.trash.list()) refs.add(ref);
  const content = [];
  for (const ref of refs) content.push((await store.get(ref)) as Uint8Array);
  return content;
}
