import { collectGarbage, digest } from "sessile";
import { SessileError } from "sessile/errors";
import { type S3BlobsOptions, s3BlobStore } from "sessile/s3";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { nodeSha256 } from "../../support/plain-values.js";
import { signedFetch } from "../../support/s3/client.js";
import { keyOf, testConformance, tunedStore } from "../../support/s3/conformance.js";
import { type Fault, type FaultProxy, startFaultProxy } from "../../support/s3/fault-proxy.js";
import { type Radosgw, startRadosgw, withoutRadosgw } from "../../support/s3/radosgw.js";
import { startProcess, useProgram } from "../start-child.js";

vi.setConfig({ hookTimeout: 900_000 });

const mebibyte = 2 ** 20;
const hashes = [nodeSha256];
const seconds = Number(process.env.SESSILE_SOAK_SECONDS ?? 8);
const worker = useProgram(new URL("./worker.ts", import.meta.url));

let radosgw: Radosgw;
let proxy: FaultProxy;
/** The bucket of most tests, without faults. */
let url: string;
const send = signedFetch();

async function newBucket(name: string): Promise<string> {
  const bucket = `${radosgw.endpoint}/${name}`;
  // The first bucket makes pools, for which the server may have to wait.
  await vi.waitFor(async () => expect((await send(bucket, { method: "PUT" })).status).toBe(200), {
    timeout: 60_000,
    interval: 200,
  });
  return bucket;
}

beforeAll(async () => {
  if (withoutRadosgw !== undefined) return;
  radosgw = await startRadosgw();
  proxy = await startFaultProxy(radosgw.endpoint);
  url = await newBucket("blobs");
});
afterAll(async () => {
  await proxy?.close();
  await radosgw?.stop();
});
beforeEach(({ skip }) => {
  skip(withoutRadosgw !== undefined, withoutRadosgw);
  proxy.fault = () => undefined;
  proxy.ignoresConditions = false;
});

/** Through the proxy, which signs. */
const proxied = (prefix: string): S3BlobsOptions => ({ fetch, url: `${proxy.endpoint}/blobs`, prefix });

function noise(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0, state = seed; at < length; at++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

async function keysBelow(prefix: string): Promise<string[]> {
  const reply = await send(`${url}?list-type=2&prefix=${encodeURIComponent(prefix)}`);
  return [...(await reply.text()).matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key]) => key as string);
}

describe("a store on radosgw", () => {
  let loses = 0;
  testConformance(() => {
    proxy.fault = ({ method }) => {
      if (loses === 0 || (method !== "PUT" && method !== "POST")) return undefined;
      loses--;
      return { kind: "dropAfter" };
    };
    return {
      options: { fetch, url: `${proxy.endpoint}/blobs` },
      tuning: { policy: { attempts: 8, firstWaitMs: 20 } },
      loseAnswer: () => void loses++,
      async damage(key, bytes) {
        const path = key.split("/").map(encodeURIComponent).join("/");
        const { status } = await send(`${url}/${path}`, {
          method: "PUT",
          body: bytes as Uint8Array<ArrayBuffer>,
        });
        expect(status).toBe(200);
      },
    };
  });
});

describe("radosgw", () => {
  test("gets streams by parts, and copies of parts, and restores them", async () => {
    const options: S3BlobsOptions = { fetch: send, url, prefix: "parts/", partBytes: 5 * mebibyte };
    const copyLimits = { maxCopyBytes: 6 * mebibyte, copyPartBytes: 5 * mebibyte };
    const store = tunedStore(options, { copyLimits });
    const bytes = noise(12 * mebibyte);
    const { ref, size } = await store.put(bytes);
    expect([ref, size]).toEqual([nodeDigest(bytes), bytes.length]);
    expect(await keysBelow("parts/")).toEqual([keyOf("parts/", ref)]);
    expect((await store.touch(ref))?.size).toBe(size);
    const now = (await store.backend.now()) + 15 * 86_400_000;
    const marks = [{ root: "none", refs: [], complete: true }];
    expect((await collectGarbage(store, { marks, now: () => now })).trashed.count).toBe(1);
    expect(await store.get(ref)).toEqual(bytes);
    expect(await keysBelow("parts/")).toEqual([keyOf("parts/", ref)]);
  });

  test("keeps blobs in a versioned bucket, where a deleted one is absent", async () => {
    const versioned = await newBucket("versioned");
    const body = `<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>Enabled</Status></VersioningConfiguration>`;
    expect((await send(`${versioned}?versioning`, { method: "PUT", body })).status).toBe(200);
    const store = s3BlobStore({ fetch: send, url: versioned, hashes });
    const { ref } = await store.put(noise(1000));
    await store.touch(ref);
    expect(await store.delete(ref)).toBe(true);
    expect([await store.get(ref), await store.stat(ref)]).toEqual([undefined, undefined]);
    await store.put(noise(1000));
    const now = (await store.backend.now()) + 15 * 86_400_000;
    const marks = [{ root: "none", refs: [], complete: true }];
    expect((await collectGarbage(store, { marks, now: () => now })).trashed.count).toBe(1);
    expect(await store.get(ref)).toEqual(noise(1000));
  });

  // @covers durability:s3-refusals
  test("is told apart: an absent bucket and a wrong key are errors, an absent blob is not", async () => {
    const ref = digest(noise(3));
    const absent = s3BlobStore({ fetch: send, url: `${radosgw.endpoint}/absent` });
    const strange = s3BlobStore({ fetch, url });
    for (const [store, errno] of [
      [absent, "NoSuchBucket"],
      [strange, /^(AccessDenied|HTTP_403)$/],
    ] as const) {
      for (const act of [
        () => store.get(ref),
        () => store.stat(ref),
        () => store.touch(ref),
        () => store.delete(ref),
        () => store.put(noise(3)),
        () => store.list()[Symbol.asyncIterator]().next(),
      ]) {
        const error = await (act() as Promise<unknown>).catch((reason: unknown) => reason);
        expect(SessileError.is(error, "STORAGE_FAILED") && error.details.errno).toMatch(errno);
      }
    }
    const store = s3BlobStore({ fetch: send, url, prefix: "nothing/" });
    expect([await store.get(ref), await store.stat(ref), await store.touch(ref)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(await store.delete(ref)).toBe(false);
  });

  // @covers durability:s3-answers
  test("has every blob once if the answer of any one request of a put is lost", async () => {
    const bytes = noise(5.2 * mebibyte, 2);
    for (let at = 0, isOver = false; !isOver; at++) {
      const prefix = `lost ${at}/`;
      const options = { ...proxied(prefix), partBytes: 5 * mebibyte };
      const store = tunedStore(options, { policy: { attempts: 5, firstWaitMs: 5 } });
      const first = proxy.seen.length;
      proxy.fault = ({ index }) => (index === first + at ? { kind: "dropAfter" } : undefined);
      const { ref } = await store.put(bytes);
      isOver = proxy.seen.length <= first + at;
      proxy.fault = () => undefined;
      expect(nodeDigest((await store.get(ref)) as Uint8Array)).toBe(ref);
      await store.backend.removeLeftovers?.(Date.now() + 60_000, { dryRun: false });
      expect(await keysBelow(prefix)).toEqual([keyOf(prefix, ref)]);
      await store.delete(ref);
    }
  });

  // @covers durability:s3-answers
  test("works where conditions are ignored, and where they are refused", async () => {
    proxy.ignoresConditions = true;
    const ignoring = s3BlobStore({ ...proxied("ignoring/"), hashes });
    const twenty = await Promise.all(Array.from({ length: 20 }, () => ignoring.put(noise(500))));
    expect(new Set(twenty.map(({ ref }) => ref)).size).toBe(1);
    expect(await ignoring.get(digest(noise(500)))).toEqual(noise(500));
    proxy.ignoresConditions = false;
    proxy.fault = ({ headers, method }): Fault | undefined =>
      headers["if-none-match"] !== undefined || (headers["if-match"] !== undefined && method === "DELETE")
        ? { kind: "answer", status: 501, code: "NotImplemented" }
        : undefined;
    const refusing = s3BlobStore({ ...proxied("refusing/"), hashes });
    const { ref } = await refusing.put(noise(500));
    await refusing.put(noise(500));
    const now = (await refusing.backend.now()) + 15 * 86_400_000;
    const marks = [{ root: "none", refs: [], complete: true }];
    expect((await collectGarbage(refusing, { marks, now: () => now })).trashed.count).toBe(1);
    expect(await refusing.get(ref)).toEqual(noise(500));
  });

  // @covers durability:s3-killed
  test("shows nothing of a put that was killed in the middle, and gives back its room", async () => {
    const prefix = "killed/";
    const acknowledged = new Set<string>();
    for (let round = 0; round < 6; round++) {
      const end = proxy.seen.length + 2 + round;
      const child = startProcess(process.execPath, [
        worker(),
        "put",
        `${proxy.endpoint}/blobs`,
        prefix,
        `${round}`,
      ]);
      // It dies while this request of a put by parts is under way.
      proxy.fault = ({ index }) => {
        if (index >= end) child.kill("SIGKILL");
        return undefined;
      };
      await child.ended;
      for (const ref of child.said) acknowledged.add(ref);
    }
    proxy.fault = () => undefined;
    await proxy.idle();
    const store = s3BlobStore({ ...proxied(prefix), hashes });
    const { corrupt, checked } = await store.verify();
    expect(corrupt).toEqual([]);
    expect(checked.count).toBeGreaterThanOrEqual(acknowledged.size);
    for (const ref of acknowledged) expect(await store.stat(ref as `sha256:${string}`)).toBeDefined();
    const dry = await store.backend.removeLeftovers?.(Date.now() + 60_000, { dryRun: true });
    expect(dry?.count).toBeGreaterThan(0);
    expect(await store.backend.removeLeftovers?.(Date.now() - 60_000, { dryRun: false })).toEqual({
      count: 0,
      bytes: 0,
    });
    expect(await store.backend.removeLeftovers?.(Date.now() + 60_000, { dryRun: false })).toEqual(dry);
    expect(await keysBelow(`${prefix}staging/`)).toEqual([]);
    const uploads = await (await send(`${url}?uploads=&prefix=${prefix}`)).text();
    expect(uploads).not.toContain("<Upload>");
  });

  // @covers durability:s3-collection
  test("keeps every blob for its lease, while processes put, touch and collect and requests fail", async () => {
    const kinds: readonly Fault[] = [
      { kind: "dropBefore" },
      { kind: "dropAfter" },
      { kind: "answer", status: 500, code: "InternalError" },
      { kind: "answer", status: 503, code: "SlowDown", retryAfter: "0" },
      { kind: "answer", status: 409, code: "ConditionalRequestConflict" },
      { kind: "cut", bytes: 100 },
    ];
    let state = 1;
    proxy.fault = () => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
      return (state >> 8) % 100 < 6 ? kinds[(state >> 16) % kinds.length] : undefined;
    };
    const start = (role: string) =>
      startProcess(process.execPath, [worker(), role, `${proxy.endpoint}/blobs`, "soak/"]);
    const writers = [start("renew"), start("renew"), start("renew")];
    const collectors = [start("collect"), start("collect")];
    const heard = () => writers.flatMap((writer) => writer.said);
    const collected = () => collectors.some(({ said }) => said.length > 0);
    let killed = 0;
    for (let second = 0; second < seconds || heard().length <= 20 || killed < 2; second++) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      if (second % 3 !== 2 || !collected()) continue;
      collectors.shift()?.kill("SIGKILL");
      collectors.push(start("collect"));
      killed++;
    }
    for (const child of [...writers, ...collectors]) child.kill("SIGKILL");
    await Promise.all([...writers, ...collectors].map((child) => child.ended));
    proxy.fault = () => undefined;
    await proxy.idle();
    const said = heard();
    expect(said.filter((line) => line.startsWith("LOST"))).toEqual([]);
    const store = s3BlobStore({ ...proxied("soak/"), hashes });
    for (const line of said) {
      const [ref, at] = line.split(" ") as [`sha256:${string}`, string];
      if (Number(at) < Date.now() - 2500) continue;
      expect([line, (await store.get(ref)) !== undefined]).toEqual([line, true]);
    }
    expect((await store.verify()).corrupt).toEqual([]);
  });
});

function nodeDigest(bytes: Uint8Array): string {
  return digest(bytes, nodeSha256);
}
