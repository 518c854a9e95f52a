import {
  type BlobRef,
  collectGarbage,
  deletePartition,
  digest,
  eraseBlobs,
  memorySessionStore,
} from "sessile";
import { SessileError } from "sessile/errors";
import { type S3BlobsOptions, s3BlobBackend, s3BlobStore } from "sessile/s3";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { nodeSha256 } from "../support/plain-values.js";
import { signedFetch } from "../support/s3/client.js";
import { keyOf, tunedStore } from "../support/s3/conformance.js";
import { type S3Server, startS3Server } from "../support/s3/server.js";

const kibibyte = 1024;
const mebibyte = 2 ** 20;
const day = 86_400_000;
const nothing = [{ root: "none", refs: [], complete: true }];
const noise = (length: number, seed = 7) =>
  new Uint8Array(length).map((_, index) => index * seed + (index >> 8));

let server: S3Server;
beforeEach(async () => {
  server = await startS3Server();
});
afterEach(() => server.close());

function open(options: Partial<S3BlobsOptions> = {}, tuning: Parameters<typeof tunedStore>[1] = {}) {
  const all = { fetch: signedFetch(), url: server.url, ...options };
  const policy = { attempts: 4, firstWaitMs: 1 };
  return tunedStore(all, { policy, ...tuning });
}

/** The requests of an act: methods, with the sub-resource or the copy. */
async function requestsOf(act: () => Promise<unknown>): Promise<string[]> {
  const before = server.requests.length;
  await act();
  return server.requests.slice(before).map(({ method, query, headers }) => {
    const sub = ["uploads", "partNumber", "uploadId", "list-type"].find((name) => query.has(name));
    return [method, sub, headers["x-amz-copy-source"] && "copy", headers.range].filter(Boolean).join(" ");
  });
}

async function errnoOf(promise: Promise<unknown>): Promise<unknown> {
  const error = await promise.catch((reason: unknown) => reason);
  return SessileError.is(error, "STORAGE_FAILED") ? error.details.errno : error;
}

describe("the options", () => {
  test.each([
    [{ fetch: undefined }, TypeError, "fetch: expected a function"],
    [{ url: "my-bucket" }, TypeError, "url: expected an http or https URL"],
    [{ prefix: "../" }, TypeError, "prefix: expected at most 512 bytes"],
    [{ partBytes: 5 * mebibyte - 1 }, RangeError, "partBytes: expected an integer from 5242880 to"],
    [{ assumeConditionalWrites: "yes" }, TypeError, "assumeConditionalWrites: expected true or false"],
    [{ maxBytes: -1 }, RangeError, "maxBytes: expected an integer >= 0"],
  ])("are named if they are wrong: %j", (wrong, type, message) => {
    const options = { fetch: signedFetch(), url: server.url, ...wrong } as S3BlobsOptions;
    expect(() => s3BlobStore(options)).toThrow(type);
    expect(() => s3BlobStore(options)).toThrow(message);
  });

  test("give the location of a store, and the keys of its blobs", async () => {
    expect(s3BlobBackend({ fetch: signedFetch(), url: server.url }).location).toBe(`${server.url}/`);
    const store = open({ prefix: "agents/" }).partition("acme");
    const { ref } = await store.put(noise(10));
    expect(store.backend.location).toBe(`${server.url}/agents/@acme/`);
    expect(await store.locate(ref)).toBe(keyOf("agents/@acme/", ref));
    expect([...server.objects.keys()]).toEqual([keyOf("agents/@acme/", ref)]);
    expect(await store.locate(digest(noise(9)))).toBeUndefined();
  });
});

describe("requests", () => {
  test("of each call are those of the reference", async () => {
    const store = open();
    expect(await requestsOf(() => store.put(noise(1)))).toEqual(["HEAD", "PUT", "PUT", "HEAD"]);
    expect(await requestsOf(() => store.put(noise(2)))).toEqual(["PUT", "HEAD"]);
    expect(await requestsOf(() => store.put(noise(2)))).toEqual(["PUT", "HEAD", "PUT copy", "HEAD"]);
    const large = noise(mebibyte);
    expect(await requestsOf(() => store.put(large))).toEqual(["HEAD", "PUT", "HEAD"]);
    expect(await requestsOf(() => store.put(large))).toEqual(["HEAD", "PUT copy", "HEAD"]);
    expect(await requestsOf(() => store.get(digest(noise(2))))).toEqual(["GET bytes=0-524287"]);
    expect(await requestsOf(() => store.get(digest(large)))).toEqual([
      "GET bytes=0-524287",
      "GET bytes=524288-",
    ]);
    expect(await requestsOf(() => store.stat(digest(large)))).toEqual(["HEAD"]);
    expect(await requestsOf(() => store.touch(digest(large)))).toEqual(["HEAD", "PUT copy", "HEAD"]);
    const now = (await store.backend.now()) + 15 * day;
    const collect = () => collectGarbage(store, { marks: nothing, now: () => now });
    const moves = ["HEAD", "PUT copy", "HEAD", "DELETE"];
    const listed = ["GET list-type", "GET list-type", ...moves, ...moves, ...moves, "GET list-type"];
    expect(await requestsOf(collect)).toEqual([...listed, "GET uploads", "GET list-type"]);
  });

  test.each([
    ["the whole", undefined, 22, 5],
    ["a partition", "acme", 22, 4],
    ["the whole", undefined, 5000, 9],
    ["a partition", "acme", 5000, 8],
  ])("of a collection of %s are lists: %s, %i blobs", async (_, partition, blobs, lists) => {
    const store = partition === undefined ? open() : open().partition(partition);
    const prefix = partition === undefined ? "" : `@${partition}/`;
    const refs: BlobRef[] = Array.from(
      { length: blobs },
      (_, at) => `sha256:${at.toString(16).padStart(64, "0")}` as BlobRef,
    );
    await store.put(noise(1));
    const [object] = server.objects.values();
    server.objects.clear();
    if (object === undefined) throw new Error("no object");
    for (const ref of refs) server.objects.set(keyOf(prefix, ref), object);
    // What other partitions have is no cost.
    for (let at = 0; at < 2000; at++) server.objects.set(`@acme.co/other/${at}`, object);
    const marks = [{ root: "all", refs, complete: true }];
    const now = await store.backend.now();
    const requests = await requestsOf(async () => {
      expect((await collectGarbage(store, { marks, now: () => now })).kept.count).toBe(blobs);
    });
    expect(requests.filter((request) => request !== "GET list-type")).toEqual(["GET uploads"]);
    expect(requests).toHaveLength(lists);
  });

  test("of a backend that knows the server need no probe", async () => {
    const knowing = open({ assumeConditionalWrites: true });
    expect(await requestsOf(() => knowing.put(noise(1)))).toEqual(["PUT", "HEAD"]);
    const without = open({ assumeConditionalWrites: false });
    expect(await requestsOf(() => without.put(noise(2)))).toEqual(["HEAD", "PUT", "HEAD"]);
    expect(server.requests.filter(({ headers }) => headers["if-none-match"] !== undefined).length).toBe(1);
  });

  test("to a server that refuses conditions and checksums go without", async () => {
    const refusing = await startS3Server({ conditions: "refused", checksums: "refused" });
    try {
      const store = open({ url: refusing.url });
      const { ref } = await store.put(noise(10));
      await store.put(noise(10));
      expect(await store.get(ref)).toEqual(noise(10));
      const now = (await store.backend.now()) + 15 * day;
      expect((await collectGarbage(store, { marks: nothing, now: () => now })).trashed.count).toBe(1);
      const refused = refusing.requests.filter(
        ({ headers }) => headers["if-none-match"] ?? headers["x-amz-checksum-sha256"],
      );
      // The first with both, the second with the checksum.
      expect(refused.length).toBe(2);
    } finally {
      await refusing.close();
    }
  });

  test("prove the bucket once if a blob is absent, and then not for each", async () => {
    const store = open({ prefix: "p/" });
    const absent = () => store.backend.stat(digest(noise(3)));
    expect(await requestsOf(absent)).toEqual(["HEAD", "GET list-type"]);
    expect(await requestsOf(absent)).toEqual(["HEAD"]);
    const { query } = server.requests.find(({ query: each }) =>
      each.has("list-type"),
    ) as (typeof server.requests)[0];
    expect(query.get("prefix")).toBe(keyOf("p/", digest(noise(3))));
  });

  test("to a bucket's own host learn its name from a list", async () => {
    const signed = signedFetch();
    const url = "https://own.example.com";
    const store = open({ url, fetch: (address, init) => signed(address.replace(url, server.url), init) });
    const { ref } = await store.put(noise(10));
    expect((await store.touch(ref))?.size).toBe(10);
    expect(await store.get(ref)).toEqual(noise(10));
  });
});

describe("streams", () => {
  test("of more than a part go by parts to a key of their own", async () => {
    const store = open({ partBytes: 5 * mebibyte });
    const bytes = noise(11 * mebibyte);
    const source = async function* () {
      for (let at = 0; at < bytes.length; at += 300_000) yield bytes.subarray(at, at + 300_000);
    };
    const requests = await requestsOf(() => store.put(source()));
    const parts = Array.from({ length: 3 }, () => "PUT partNumber");
    expect(requests).toEqual(["POST uploads", ...parts, "POST uploadId", "PUT copy", "HEAD", "DELETE"]);
    const sizes = server.requests
      .filter(({ query }) => query.has("partNumber"))
      .map(({ headers }) => Number(headers["content-length"]));
    expect(sizes).toEqual([5 * mebibyte, 5 * mebibyte, mebibyte]);
    expect([...server.objects.keys()]).toEqual([keyOf("", digest(bytes, nodeSha256))]);
  });

  test("that fail leave no upload", async () => {
    const store = open({ partBytes: 5 * mebibyte });
    const source = async function* () {
      yield noise(11 * mebibyte);
      throw new Error("the source broke");
    };
    await expect(store.put(source())).rejects.toThrow("the source broke");
    expect([server.uploads.size, server.objects.size]).toEqual([0, 0]);
  });

  test("of abandoned writers are removed after their time", async () => {
    const { backend } = open({ partBytes: 5 * mebibyte, prefix: "p/" });
    const abandoned = await backend.create({});
    await abandoned.write(noise(11 * mebibyte));
    await vi.waitFor(() => expect([...server.uploads.values()][0]?.parts.size).toBe(2), 30_000);
    const { backend: other } = open({ prefix: "p/" }).partition("acme");
    const before = Date.now() + 1000;
    expect(await other.removeLeftovers?.(before, { dryRun: false })).toEqual({ count: 0, bytes: 0 });
    expect(await backend.removeLeftovers?.(before - 60_000, { dryRun: false })).toEqual({
      count: 0,
      bytes: 0,
    });
    const left = { count: 1, bytes: 10 * mebibyte };
    expect(await backend.removeLeftovers?.(before, { dryRun: true })).toEqual(left);
    expect(await backend.removeLeftovers?.(before, { dryRun: false })).toEqual(left);
    expect(server.uploads.size).toBe(0);
  });

  test("of too many parts are refused", async () => {
    const upload = "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>";
    const store = open(
      {
        partBytes: 1,
        fetch: async (_, init) =>
          new Response(init?.method === "POST" ? upload : "", { headers: { etag: '"1"', date: "x" } }),
      },
      { minPartBytes: 1 },
    );
    const writer = await store.backend.create({});
    const error = await writer.write(noise(10_002)).catch((reason: unknown) => reason);
    expect(SessileError.is(error, "BLOB_TOO_LARGE") && error.details).toMatchObject({ maxBytes: 10_000 });
    const known = await store.backend.create({ size: 20_000 });
    await known.write(noise(20_000));
  });
});

describe("attempts", () => {
  /** Answers the next requests itself. */
  function refuse(times: number, status: number, headers: Record<string, string> = {}): { count: number } {
    const refused = { count: 0 };
    server.intercept = (request, response) => {
      if (refused.count === times) return false;
      refused.count++;
      request.resume();
      response.writeHead(status, headers).end();
      return true;
    };
    return refused;
  }

  test("end after their number, with the server's code", async () => {
    const refused = refuse(Number.POSITIVE_INFINITY, 503);
    expect(await errnoOf(open().put(noise(1)))).toBe("HTTP_503");
    expect(refused.count).toBe(4);
  });

  test("end at once for a refusal that stays", async () => {
    for (const status of [400, 403, 405]) {
      const refused = refuse(Number.POSITIVE_INFINITY, status);
      expect(await errnoOf(open().stat(digest(noise(1))))).toBe(`HTTP_${status}`);
      expect(refused.count).toBe(1);
    }
  });

  test("wait as long as the server asks", async () => {
    refuse(1, 503, { "retry-after": "1" });
    const before = performance.now();
    await open().put(noise(1));
    expect(performance.now() - before).toBeGreaterThan(950);
    refuse(1, 429, { "retry-after": new Date(Date.now() - 60_000).toUTCString() });
    await open().put(noise(1));
  });

  test("end if the server asks for more than a minute", async () => {
    for (const wait of ["61", new Date(Date.now() + 90_000).toUTCString()]) {
      const refused = refuse(Number.POSITIVE_INFINITY, 503, { "retry-after": wait });
      expect(await errnoOf(open().put(noise(1)))).toBe("HTTP_503");
      expect(refused.count).toBe(1);
    }
  });

  test("end with the signal, also in a wait", async () => {
    refuse(Number.POSITIVE_INFINITY, 503, { "retry-after": "30" });
    const controller = new AbortController();
    const listing = (async () => {
      for await (const _ of open().list({ signal: controller.signal }));
    })();
    setTimeout(() => controller.abort(new TypeError("enough")), 50);
    await expect(listing).rejects.toThrow("enough");
  });

  test("have the system's code if there is no server", async () => {
    const { url } = server;
    await server.close();
    expect(await errnoOf(open({ url }).put(noise(1)))).toBe("ECONNREFUSED");
    server = await startS3Server();
  });
});

describe("replies of a hostile server", () => {
  const answering = (status: number, body: string, headers: Record<string, string> = {}) =>
    open({ fetch: async () => new Response(body, { status, headers }) });
  const listed = (more: string) => `<ListBucketResult><Name>b</Name>${more}</ListBucketResult>`;
  const list = async (store: ReturnType<typeof open>) => {
    const refs = [];
    for await (const { ref } of store.list()) refs.push(ref);
    return refs;
  };

  test.each([
    ["no XML", "hello"],
    ["another document", "<Hello/>"],
    [
      "an endless list",
      listed("<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"),
    ],
    ["a part of a list that does not say where it goes on", listed("<IsTruncated>true</IsTruncated>")],
    ["an object without a size", listed("<Contents><Key>sha256/x</Key><ETag>e</ETag></Contents>")],
    ["nine megabytes", `<a>${"x".repeat(9 * mebibyte)}</a>`],
  ])("of a list: %s", async (_, body) => {
    expect(await errnoOf(list(answering(200, body)))).toBe("BROKEN_REPLY");
  });

  test("with foreign keys list nothing of them", async () => {
    const object = (key: string) =>
      `<Contents><Key>${key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>e</ETag><Size>1</Size></Contents>`;
    const ref = digest(noise(1));
    const keys = ["sha256/../../x", "sha256/ab/cd", keyOf("", ref), `${keyOf("", ref)}0`]
      .map(object)
      .join("");
    expect(await list(answering(200, listed(keys)))).toEqual([ref, ref]);
  });

  test("with an error in an answer of 200 are errors", async () => {
    const store = open();
    const { ref } = await store.put(noise(10));
    server.intercept = (request, response) => {
      if (request.headers["x-amz-copy-source"] === undefined) return false;
      request.resume();
      response.writeHead(200).end("  \n<Error><Code>InternalError</Code><Message>later</Message></Error>");
      return true;
    };
    expect(await errnoOf(store.touch(ref))).toBe("InternalError");
  });

  test("without a size or with strange codes are errors", async () => {
    expect(await errnoOf(answering(200, "", { etag: '"1"' }).stat(digest(noise(1))))).toBe("BROKEN_REPLY");
    const strange = answering(400, "<Error><Code>a b\u001b[2J</Code></Error>");
    expect(await errnoOf(strange.get(digest(noise(1))))).toBe("HTTP_400");
  });

  test("404 of the bucket is not 404 of a blob", async () => {
    const store = open({ url: server.url.replace("/blobs", "/other") });
    expect(await errnoOf(store.stat(digest(noise(1))))).toBe("NoSuchBucket");
    expect(await errnoOf(store.get(digest(noise(1))))).toBe("NoSuchBucket");
  });
});

describe("reads", () => {
  const bytes = noise(2 * mebibyte);
  const ref = digest(bytes, nodeSha256);

  /** Breaks bodies of ranges behind the first request, so many times. */
  function breakOff(times: number): void {
    let left = times;
    server.intercept = (request, response) => {
      const from = /^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1];
      if (from === undefined || left === 0) return false;
      left--;
      const start = Number(from);
      response.writeHead(206, {
        "content-length": bytes.length - start,
        "content-range": `bytes ${start}-${bytes.length - 1}/${bytes.length}`,
      });
      response.write(bytes.subarray(start, start + 100_000), () => setTimeout(() => response.destroy(), 20));
      return true;
    };
  }

  test("continue where a connection broke, by a range of the same object", async () => {
    const store = open();
    await store.put(bytes);
    breakOff(1);
    expect(await store.get(ref)).toEqual(bytes);
    const { headers } = server.requests.at(-1) as (typeof server.requests)[0];
    expect(headers.range).toBe(`bytes=${512 * kibibyte + 100_000}-`);
    expect(headers["if-match"]).toBe(server.objects.get(keyOf("", ref))?.etag);
  });

  test("fail if it breaks again, and never give a part for the whole", async () => {
    const store = open();
    await store.put(bytes);
    breakOff(Number.POSITIVE_INFINITY);
    expect(await errnoOf(store.get(ref))).toBe("BROKEN_REPLY");
    expect(await store.stat(ref)).toBeDefined();
  });

  test("continue if the blob was collected or replaced meanwhile", async () => {
    const store = open();
    for (const change of ["collected", "replaced"]) {
      await store.put(bytes);
      const reading = (await store.stream(ref)) as AsyncIterable<Uint8Array>;
      const now = (await store.backend.now()) + 15 * day;
      if (change === "collected") await collectGarbage(store, { marks: nothing, now: () => now });
      else {
        const object = server.objects.get(keyOf("", ref));
        if (object !== undefined) server.objects.set(keyOf("", ref), { ...object, etag: '"another"' });
      }
      const chunks = [];
      for await (const chunk of reading) chunks.push(chunk);
      expect(Buffer.concat(chunks)).toEqual(Buffer.from(bytes));
    }
  });

  test("quarantine bytes that are wrong on the server, and none that changed on the way", async () => {
    const store = open();
    await store.put(bytes);
    const key = keyOf("", ref);
    let changes = 1;
    const signed = signedFetch();
    const changing = open({
      fetch: async (url, init) => {
        const response = await signed(url, init);
        if (init?.method !== "GET" || changes === 0) return response;
        changes--;
        const body = new Uint8Array(await response.arrayBuffer());
        body[5] = (body[5] as number) ^ 1;
        return new Response(body, response);
      },
    });
    const error = await changing.get(ref).catch((reason: unknown) => reason);
    expect(SessileError.is(error, "BLOB_CORRUPT") && error.details.quarantined).toBeUndefined();
    expect([...server.objects.keys()]).toEqual([key]);
    expect(await changing.get(ref)).toEqual(bytes);

    // Wrong bytes, and then a look at the server that breaks off once.
    let reads = 0;
    const breaking = open({
      fetch: async (url, init) => {
        const response = await signed(url, init);
        if (init?.method !== "GET" || ++reads > 3) return response;
        const body = new Uint8Array(await response.arrayBuffer());
        if (reads === 1) body[5] = (body[5] as number) ^ 1;
        if (reads < 3) return new Response(body, response);
        const broken = new ReadableStream<Uint8Array>({
          pull: (controller) =>
            reads++ < 4 ? controller.enqueue(body.slice(0, 9)) : controller.error("cut"),
        });
        return new Response(broken, response);
      },
    });
    await expect(breaking.get(ref)).rejects.toMatchObject({ code: "BLOB_CORRUPT" });
    expect(reads).toBeGreaterThan(5);
    expect([...server.objects.keys()]).toEqual([key]);

    server.damage(key, noise(2 * mebibyte, 9));
    const corrupt = await store.get(ref).catch((reason: unknown) => reason);
    const quarantined = SessileError.is(corrupt, "BLOB_CORRUPT") ? corrupt.details.quarantined : undefined;
    expect(quarantined).toMatch(/^quarantine\/sha256\/[0-9a-f]{2}\/[0-9a-f]{64}\/[0-9a-f]{8}$/);
    expect([...server.objects.keys()]).toEqual([quarantined]);
    expect(await store.get(ref)).toBeUndefined();
  });
});

describe("a collection", () => {
  /** Acts when the n-th request that fits arrives, before it is answered. */
  function justBefore(fits: (method: string, key: string) => boolean, act: () => Promise<unknown>): void {
    const signed = signedFetch();
    let isDone = false;
    during = async (url, init) => {
      const { pathname } = new URL(url);
      if (!isDone && fits(init?.method ?? "", decodeURIComponent(pathname))) {
        isDone = true;
        await act();
      }
      return signed(url, init);
    };
  }
  let during: S3BlobsOptions["fetch"] = signedFetch();
  const collector = () => open({ fetch: (url, init) => during(url, init) });
  const bytes = noise(100);
  const ref = digest(bytes);
  const live = keyOf("", ref);
  const keys = () => [...server.objects.keys()].sort();

  test("leaves a blob that is touched after it was copied to the trash", async () => {
    const store = open();
    await store.put(bytes);
    let copied = false;
    justBefore(
      (method, path) => {
        if (path.includes("/trash/") && method === "PUT") copied = true;
        return copied && method === "HEAD";
      },
      () => store.touch(ref),
    );
    const collecting = collector();
    const now = (await collecting.backend.now()) + 15 * day;
    const report = await collectGarbage(collecting, { marks: nothing, now: () => now });
    expect([report.trashed.count, report.recent.count]).toEqual([0, 1]);
    expect(keys()).toEqual([live]);
  });

  test("keeps the lease of a blob that is touched just before its deletion, in the trash", async () => {
    const store = open();
    await store.put(bytes);
    justBefore(
      (method, path) => method === "DELETE" && path.endsWith(live),
      () => store.touch(ref),
    );
    const collecting = collector();
    const at = await collecting.backend.now();
    const options = { marks: nothing, trashMs: 0 };
    await collectGarbage(collecting, { ...options, now: () => at + 15 * day });
    expect(keys().every((key) => key.startsWith("trash/"))).toBe(true);
    const report = await collectGarbage(collecting, { ...options, now: () => at + 13 * day });
    expect([report.deleted.count, report.waiting.count]).toEqual([0, 1]);
    expect(await store.get(ref)).toEqual(bytes);
    expect(keys()).toEqual([live]);
  });

  test("keeps a blob in the trash if its deletion is refused, because it was done before", async () => {
    const store = open();
    await store.put(bytes);
    const signed = signedFetch();
    during = async (url, init) => {
      const response = await signed(url, init);
      return init?.method === "DELETE" && url.endsWith(live) ? new Response("", { status: 412 }) : response;
    };
    const collecting = collector();
    const now = (await collecting.backend.now()) + 15 * day;
    const { trashed } = await collectGarbage(collecting, { marks: nothing, now: () => now });
    expect(trashed.count).toBe(1);
    expect(await store.get(ref)).toEqual(bytes);
  });

  test("does not bring back a blob that is deleted meanwhile", async () => {
    const store = open();
    await store.put(bytes);
    let copied = false;
    justBefore(
      (method, path) => {
        if (path.includes("/trash/") && method === "PUT") copied = true;
        return copied && method === "HEAD";
      },
      () => store.delete(ref),
    );
    const collecting = collector();
    const now = (await collecting.backend.now()) + 15 * day;
    await collectGarbage(collecting, { marks: nothing, now: () => now });
    expect(keys()).toEqual([]);
    expect(await store.get(ref)).toBeUndefined();
  });

  test("puts a blob back that a put finds gone between its look and its touch", async () => {
    const store = open();
    await store.put(bytes);
    justBefore(
      (method, path) => method === "PUT" && path.endsWith(live),
      async () => {
        const now = (await store.backend.now()) + 15 * day;
        await collectGarbage(store, { marks: nothing, now: () => now });
      },
    );
    await collector().put(bytes);
    expect(keys()).toContain(live);
    expect(await store.get(ref)).toEqual(bytes);
  });
});

describe("an erasure", () => {
  test("deletes every object of a partition, and says that versions may remain", async () => {
    const versioned = await startS3Server({ versioned: true });
    try {
      const blobs = open({ url: versioned.url, prefix: "agents/" });
      const acme = blobs.partition("acme");
      await acme.put(noise(10));
      const { ref } = await acme.put(noise(11));
      const marks = [{ root: "r", refs: [ref], complete: true }];
      await collectGarbage(acme, { marks, graceMs: 0, trashMs: day, now: () => Date.now() + day });
      for (const folder of ["quarantine", "staging", "elsewhere"])
        await signedFetch()(`${versioned.url}/agents/@acme/${folder}/x`, { method: "PUT", body: "bytes" });
      await blobs.partition("acme.co").put(noise(10));
      await blobs.put(noise(10));
      const { remaining, blobs: deleted } = await deletePartition(memorySessionStore(), "acme", { blobs });
      expect(deleted).toEqual({ count: 1, bytes: 11 });
      expect([...versioned.objects.keys()].sort()).toEqual(
        [
          keyOf("agents/", digest(noise(10), nodeSha256)),
          keyOf("agents/@acme.co/", digest(noise(10), nodeSha256)),
        ].sort(),
      );
      expect(remaining.join("\n")).toContain("versions");
      expect(versioned.versions.some(({ bytes }) => bytes?.length === 11)).toBe(true);
    } finally {
      await versioned.close();
    }
  });

  test("deletes named blobs at once, without their lease and the trash", async () => {
    const store = open();
    const [one, two] = [await store.put(noise(10)), await store.put(noise(11))];
    const marks = [{ root: "r", refs: [two.ref], complete: true }];
    server.damage(keyOf("", one.ref), noise(10, 9));
    await expect(store.get(one.ref)).rejects.toMatchObject({ code: "BLOB_CORRUPT" });
    expect([...server.objects.keys()].join(" ")).toContain("quarantine/");
    expect(await eraseBlobs(store, [one.ref, two.ref], { marks })).toEqual({
      deleted: [one.ref],
      kept: [two.ref],
    });
    expect([...server.objects.keys()]).toEqual([keyOf("", two.ref)]);
    await store.put(noise(10));
    expect(await eraseBlobs(store, [one.ref], { marks })).toEqual({ deleted: [one.ref], kept: [] });
    await expect(eraseBlobs(store, [two.ref], { marks: [] })).rejects.toMatchObject({
      code: "COLLECTION_REFUSED",
    });
  });
});
