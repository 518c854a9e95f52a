import { SessileError } from "sessile/errors";
import { describe, expect, test, vi } from "vitest";
import { ObjectBlobs } from "../../src/storage/objects/blobs.js";
import { BucketKeys } from "../../src/storage/objects/keys.js";
import { S3Client, S3Failure } from "../../src/storage/objects/s3/client.js";
import { S3Driver, wholeSeconds } from "../../src/storage/objects/s3/driver.js";
import { S3Uploads } from "../../src/storage/objects/s3/multipart.js";
import { S3Objects } from "../../src/storage/objects/s3/objects.js";

/** A request as the server gets it. */
interface Sent {
  readonly method: string;
  readonly target: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
}

const base = "http://host/b";
const ref = `sha256:${"ab".repeat(32)}` as const;

/** The parts of a backend on a server whose replies a test makes. */
function serverOf(answer: (request: Sent, count: number) => Response | undefined | Promise<never>) {
  const sent: Sent[] = [];
  const client = new S3Client({
    base,
    policy: { attempts: 4, firstWaitMs: 0 },
    fetch: async (url, init = {}) => {
      const { pathname, searchParams, search } = new URL(url);
      const headers = init.headers as Record<string, string>;
      const target = pathname.slice("/b".length) + search;
      const body = init.body as Uint8Array | undefined;
      const request = { method: String(init.method), target, query: searchParams, headers, body };
      sent.push(request);
      return (await answer(request, sent.length)) ?? new Response("");
    },
  });
  const objects = new S3Objects(client, "b");
  const uploads = new S3Uploads(objects, { maxCopyBytes: 10, copyPartBytes: 4 });
  const bucket = { objects, uploads, partBytes: 5, conditional: true };
  return { sent, client, objects, uploads, blobs: new ObjectBlobs(new S3Driver(bucket), new BucketKeys("")) };
}

const xml = (root: string, content = "", status = 200, headers: Record<string, string> = {}) =>
  new Response(`<${root}>${content}</${root}>`, { status, headers });
const failing = (status: number, code: string) => xml("Error", `<Code>${code}</Code>`, status);
const get = { operation: "look into", method: "GET", target: "/x" } as const;
const codeOf = async (promise: Promise<unknown>) => {
  const error = await promise.catch((reason: unknown) => reason);
  if (SessileError.is(error, "STORAGE_FAILED")) return error.details.errno;
  return error instanceof S3Failure ? error.code : error;
};
const headOf = (more: Record<string, string> = {}) =>
  new Response(null, {
    headers: {
      "content-length": "3",
      "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT",
      etag: '"e"',
      "x-amz-meta-touched": "5",
      ...more,
    },
  });

describe("a request", () => {
  const again = async (reply: () => Response) => {
    const { client, sent } = serverOf((_, count) => (count === 1 ? reply() : undefined));
    const code = await codeOf(client.send(get, [], () => "done"));
    return [sent.length, code];
  };

  test.each([408, 409, 429, 500, 502, 503, 504])("is repeated after status %i", async (status) => {
    expect(await again(() => new Response("", { status }))).toEqual([2, "done"]);
  });

  test.each([400, 401, 403, 404, 405, 411, 412, 501])("ends with status %i", async (status) => {
    expect(await again(() => new Response("", { status }))).toEqual([1, `HTTP_${status}`]);
  });

  test.each([
    "BadDigest",
    "XAmzContentSHA256Mismatch",
    "IncompleteBody",
    "RequestTimeout",
    "OperationAborted",
    "ConditionalRequestConflict",
    "InternalError",
    "ServiceUnavailable",
    "SlowDown",
  ])("is repeated after %s, whatever its status", async (code) => {
    expect(await again(() => failing(400, code))).toEqual([2, "done"]);
    const { client, sent } = serverOf((_, count) => (count === 1 ? failing(200, code) : xml("Done")));
    expect((await client.sendForXml(get, "Done")).name).toBe("Done");
    expect(sent).toHaveLength(2);
  });

  test("has the code of the reply, if it is one, and a part of its message", async () => {
    for (const [code, expected] of [
      ["AccessDenied", "AccessDenied"],
      ["x".repeat(100), "x".repeat(100)],
      ["x".repeat(101), "HTTP_403"],
      ["a b", "HTTP_403"],
      ["", "HTTP_403"],
    ] as const)
      expect(await again(() => failing(403, code))).toEqual([1, expected]);
    const long = `<Code>No</Code><Message>${"m".repeat(400)}</Message>`;
    const { client } = serverOf(() => xml("Error", long, 403));
    const message = `look into: status 403, No: ${"m".repeat(300)}`;
    await expect(client.send(get, [], () => "done")).rejects.toMatchObject({ message, status: 403 });
  });

  test("has the code of the system, if one of its causes has it", async () => {
    const chain = (depth: number, code: unknown): Error =>
      depth === 0
        ? Object.assign(new Error("end"), { code })
        : new Error("x", { cause: chain(depth - 1, code) });
    for (const [error, code] of [
      [chain(1, "ECONNRESET"), "ECONNRESET"],
      [chain(3, "ECONNRESET"), "ECONNRESET"],
      [chain(4, "ECONNRESET"), "NO_REPLY"],
      [chain(0, "econnreset"), "NO_REPLY"],
      [chain(0, 7), "NO_REPLY"],
    ] as const) {
      const { client, sent } = serverOf(() => Promise.reject(error));
      expect(await codeOf(client.send(get, [], () => "done"))).toBe(code);
      expect(sent).toHaveLength(4);
    }
  });

  test("takes no reply of another length than its header says", async () => {
    const wrong = { "content-length": "99" };
    const { client, sent } = serverOf(() => xml("Done", "", 200, wrong));
    expect(await codeOf(client.sendForXml(get, "Done"))).toBe("BROKEN_REPLY");
    expect(sent).toHaveLength(4);
    const encoded = serverOf(() => xml("Done", "", 200, { ...wrong, "content-encoding": "gzip" }));
    expect((await encoded.client.sendForXml(get, "Done")).name).toBe("Done");
  });

  test("is not sent after its signal, whose reason it has", async () => {
    const { client, sent } = serverOf(() => undefined);
    const signal = AbortSignal.abort(new TypeError("enough"));
    await expect(client.send({ ...get, signal }, [], () => "done")).rejects.toThrow("enough");
    expect(sent).toEqual([]);
  });

  test("proves the bucket for a minute, if its reply comes of the bucket", async () => {
    const clock = vi.spyOn(performance, "now").mockReturnValue(1_000_000);
    try {
      for (const [reply, method, isProved] of [
        [new Response(""), "GET", true],
        [failing(404, "NoSuchKey"), "GET", true],
        [failing(404, "NoSuchBucket"), "GET", false],
        [failing(403, "AccessDenied"), "GET", false],
        [new Response(null, { status: 404 }), "HEAD", false],
        [new Response(null), "HEAD", true],
      ] as const) {
        clock.mockReturnValue(1_000_000);
        const { client } = serverOf(() => reply);
        expect(client.isBucketProved).toBe(false);
        await client.send({ ...get, method }, [404, 403], () => "done").catch(() => undefined);
        expect(client.isBucketProved).toBe(isProved);
        clock.mockReturnValue(1_059_999);
        expect(client.isBucketProved).toBe(isProved);
        clock.mockReturnValue(1_060_000);
        expect(client.isBucketProved).toBe(false);
      }
    } finally {
      clock.mockRestore();
    }
  });
});

describe("an object", () => {
  test("is looked at with a checksum if it is asked for", async () => {
    const { objects, sent } = serverOf(() => headOf({ "x-amz-checksum-sha256": "abc=" }));
    expect(await objects.head("k")).toEqual({
      key: "k",
      size: 3,
      etag: '"e"',
      modifiedAt: Date.UTC(2026, 0),
      touched: 5,
      sha256: "abc=",
    });
    await objects.head("k", { withChecksum: true });
    expect(sent.map(({ headers }) => headers["x-amz-checksum-mode"])).toEqual([undefined, "ENABLED"]);
  });

  test.each([
    [{ "x-amz-meta-touched": "5x" }, { touched: undefined }],
    [{ "x-amz-meta-touched": "1234567890123456" }, { touched: undefined }],
    [{ "x-amz-checksum-sha256": "abc=-2" }, { sha256: undefined }],
    [{ "x-amz-checksum-sha256": "abc=", "x-amz-checksum-type": "COMPOSITE" }, { sha256: undefined }],
    [{ "x-amz-checksum-sha256": "abc=", "x-amz-checksum-type": "FULL_OBJECT" }, { sha256: "abc=" }],
    [{ "content-length": "0" }, { size: 0 }],
  ])("with %j is known as it says", async (headers, expected) => {
    expect(await serverOf(() => headOf(headers)).objects.head("k")).toMatchObject(expected);
  });

  test.each([{ "content-length": "x" }, { "content-length": "-1" }, { "last-modified": "x" }, { etag: "" }])(
    "with %j is a broken reply",
    async (headers) => {
      expect(await codeOf(serverOf(() => headOf(headers)).objects.head("k"))).toBe("BROKEN_REPLY");
    },
  );

  test("that is absent proves the bucket by a list, unless a write follows", async () => {
    const absent = () =>
      serverOf(({ method }) =>
        method === "HEAD" ? new Response(null, { status: 404 }) : xml("ListBucketResult", "<Name>b</Name>"),
      );
    const looking = absent();
    expect(await looking.objects.head("k")).toBeUndefined();
    expect(looking.sent.map(({ target }) => target)).toEqual(["/k", "?list-type=2&prefix=k&max-keys=0"]);
    const writing = absent();
    await writing.objects.head("k", { isFollowed: true });
    expect(writing.sent).toHaveLength(1);
    const unnamed = serverOf(({ method }) =>
      method === "HEAD" ? new Response(null, { status: 404 }) : xml("ListBucketResult"),
    );
    expect(await codeOf(unnamed.objects.head("k"))).toBe("BROKEN_REPLY");
  });

  const body = new Uint8Array([1]);
  const put = (server: ReturnType<typeof serverOf>, ifAbsent: boolean) =>
    server.objects.put("k", body, { sha256: { hex: "h", base64: "b" }, touched: 7, ifAbsent });

  test("is put with its digests, its time and the condition", async () => {
    const server = serverOf(() => undefined);
    const headers = {
      "content-type": "application/octet-stream",
      "x-amz-content-sha256": "h",
      "x-amz-checksum-sha256": "b",
      "x-amz-meta-touched": "7",
    };
    expect([await put(server, false), await put(server, true)]).toEqual([true, true]);
    expect(server.sent).toMatchObject([{ headers }, { headers: { ...headers, "if-none-match": "*" } }]);
    expect(server.sent[0]?.headers).toEqual(headers);
  });

  test("is put again without what the server does not implement", async () => {
    expect(
      await put(
        serverOf(() => failing(412, "PreconditionFailed")),
        true,
      ),
    ).toBe(false);
    expect(
      await codeOf(
        put(
          serverOf(() => failing(412, "PreconditionFailed")),
          false,
        ),
      ),
    ).toBe("PreconditionFailed");
    const without = serverOf(({ headers }) =>
      "x-amz-checksum-sha256" in headers || "if-none-match" in headers
        ? failing(501, "NotImplemented")
        : undefined,
    );
    expect(await put(without, true)).toBe("unsupported");
    expect([await put(without, false), await put(without, false)]).toEqual([true, true]);
    expect(without.sent.map(({ headers }) => "x-amz-checksum-sha256" in headers)).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(
      await codeOf(
        put(
          serverOf(() => failing(501, "NotImplemented")),
          false,
        ),
      ),
    ).toBe("NotImplemented");
  });

  test("is deleted as it was seen, if the server compares", async () => {
    const ifMatch = ({ sent }: ReturnType<typeof serverOf>) => sent.map(({ headers }) => headers["if-match"]);
    const changed = serverOf(() => failing(412, "PreconditionFailed"));
    expect(await changed.objects.delete("k", '"e"')).toBe(false);
    expect(ifMatch(changed)).toEqual(['"e"']);
    expect(await codeOf(changed.objects.delete("k"))).toBe("PreconditionFailed");
    const absent = serverOf(() => failing(404, "NoSuchKey"));
    expect([await absent.objects.delete("k"), await absent.objects.delete("k", '"e"')]).toEqual([true, true]);
    const refusing = serverOf(({ headers }) =>
      "if-match" in headers ? failing(501, "NotImplemented") : undefined,
    );
    expect(await refusing.objects.delete("k", '"e"')).toBe(true);
    expect(await refusing.objects.delete("k", '"e"')).toBe(true);
    expect(ifMatch(refusing)).toEqual(['"e"', undefined, undefined]);
  });

  const row = (name: string, ...without: readonly string[]) => {
    const fields = { Key: name, LastModified: "2026-01-01T00:00:00.500Z", ETag: "e", Size: "1" };
    const kept = Object.entries(fields).filter(([field]) => !without.includes(field));
    return `<Contents>${kept.map(([field, value]) => `<${field}>${value}</${field}>`).join("")}</Contents>`;
  };
  const listed = async ({ objects }: ReturnType<typeof serverOf>) => {
    const keys: string[] = [];
    for await (const page of objects.list("p/")) for (const { key } of page) keys.push(key);
    return keys;
  };

  test("is listed, page by page", async () => {
    const next = "<IsTruncated>true</IsTruncated><NextContinuationToken>t+1</NextContinuationToken>";
    const server = serverOf(({ query }) =>
      query.has("continuation-token")
        ? xml("ListBucketResult", `<NextContinuationToken>t2</NextContinuationToken>${row("p/c")}`)
        : xml("ListBucketResult", `${next}${row("p/a")}${row("p/b")}`),
    );
    expect(await listed(server)).toEqual(["p/a", "p/b", "p/c"]);
    expect(server.sent.map(({ target }) => target)).toEqual([
      "?list-type=2&prefix=p%2F",
      "?list-type=2&prefix=p%2F&continuation-token=t%2B1",
    ]);
  });

  test.each(["Key", "LastModified", "ETag", "Size"])("is not listed without %s", async (field) => {
    const server = serverOf(() => xml("ListBucketResult", row("p/a", field)));
    expect(await codeOf(listed(server))).toBe("BROKEN_REPLY");
  });
});

describe("a multipart upload", () => {
  const upload = { key: "p/k", id: "u&1" };
  const target = "/p/k?uploadId=u%261";

  test("has the identifier, the parts and the ETags of the server", async () => {
    const server = serverOf(({ method, query }) =>
      method === "PUT"
        ? new Response("", { headers: { etag: '"<&>"' } })
        : query.has("uploads")
          ? xml("InitiateMultipartUploadResult", "<UploadId>u&amp;1</UploadId>")
          : xml("CompleteMultipartUploadResult", "<ETag>whole</ETag>"),
    );
    const made = await server.uploads.create("p/k", { "x-amz-meta-touched": "7" });
    expect(made).toEqual(upload);
    const part = await server.uploads.put(made, 1, new Uint8Array([1]));
    expect(part).toEqual({ number: 1, etag: '"<&>"' });
    expect(await server.uploads.complete(made, [part], () => false)).toBe("whole");
    expect(server.sent.map(({ method, target }) => `${method} ${target}`)).toEqual([
      "POST /p/k?uploads=",
      "PUT /p/k?partNumber=1&uploadId=u%261",
      `POST ${target}`,
    ]);
    expect(server.sent[0]?.headers["x-amz-meta-touched"]).toBe("7");
    expect(new TextDecoder().decode(server.sent[2]?.body)).toContain(
      '<Part><PartNumber>1</PartNumber><ETag>"&lt;&amp;&gt;"</ETag></Part>',
    );
  });

  test("without an identifier or an ETag is a broken reply", async () => {
    const { uploads } = serverOf(({ method }) =>
      method === "PUT" ? undefined : xml("InitiateMultipartUploadResult"),
    );
    expect(await codeOf(uploads.create("k"))).toBe("BROKEN_REPLY");
    expect(await codeOf(uploads.put(upload, 1, new Uint8Array()))).toBe("BROKEN_REPLY");
  });

  test.each([
    ["that is done although the answer was lost", () => failing(404, "NoSuchUpload"), true, ["POST", "HEAD"]],
    ["of which another object is there", () => failing(404, "NoSuchUpload"), false, ["POST", "HEAD"]],
    [
      "of a server that fails",
      () => failing(500, "InternalError"),
      false,
      Array.from({ length: 4 }, () => ["POST", "POST", "HEAD"]).flat(),
    ],
  ])("%s is looked at", async (_, reply, isDone, methods) => {
    const server = serverOf(({ method }) => (method === "HEAD" ? headOf() : reply()));
    const completed = await codeOf(server.uploads.complete(upload, [], ({ size }) => isDone && size === 3));
    expect(completed).toBe(
      isDone ? '"e"' : ((await codeOf(Promise.reject(await failureOf(reply)))) as string),
    );
    expect(server.sent.map(({ method }) => method)).toEqual(methods);
  });
  const failureOf = async (reply: () => Response) =>
    serverOf(reply)
      .client.send({ ...get, attempts: 1 }, [], () => "done")
      .catch((error: unknown) => error);

  test("is aborted, or gone already", async () => {
    for (const [reply, expected] of [
      [() => undefined, undefined],
      [() => failing(404, "NoSuchUpload"), undefined],
      [() => failing(403, "AccessDenied"), "AccessDenied"],
    ] as const) {
      const server = serverOf(reply);
      expect(await codeOf(server.uploads.abort(upload))).toBe(expected);
      expect(server.sent).toMatchObject([{ method: "DELETE", target }]);
    }
  });

  const started = (key: string, id: string, at = "2026-01-01T00:00:00.000Z") =>
    `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${at}</Initiated></Upload>`;
  const listed = async ({ uploads }: ReturnType<typeof serverOf>) => {
    const ids: string[] = [];
    for await (const { id } of uploads.list("p/")) ids.push(id);
    return ids;
  };
  const more = "<IsTruncated>true</IsTruncated><NextKeyMarker>p/k</NextKeyMarker>";

  test("is listed, page by page, if it is below the prefix and has a time", async () => {
    const first = `${more}<NextUploadIdMarker>2</NextUploadIdMarker>`;
    const server = serverOf(({ query }) =>
      query.has("key-marker")
        ? xml("ListMultipartUploadsResult", started("p/k", "3"))
        : xml(
            "ListMultipartUploadsResult",
            first + started("p/k", "2") + started("q", "4") + started("p/l", "5", "x"),
          ),
    );
    expect(await listed(server)).toEqual(["2", "3"]);
    expect(server.sent.map(({ target }) => target)).toEqual([
      "?uploads=&prefix=p%2F",
      "?uploads=&prefix=p%2F&key-marker=p%2Fk&upload-id-marker=2",
    ]);
    const endless = serverOf(() => xml("ListMultipartUploadsResult", more));
    expect(await codeOf(listed(endless))).toBe("BROKEN_REPLY");
    expect(endless.sent).toHaveLength(2);
  });

  test("has the bytes of all its parts", async () => {
    const part = (size: number) => `<Part><Size>${size}</Size></Part>`;
    const next = "<IsTruncated>true</IsTruncated><NextPartNumberMarker>2</NextPartNumberMarker>";
    const server = serverOf(({ query }) =>
      query.get("part-number-marker") === "0"
        ? xml("ListPartsResult", `${next}${part(3)}${part(4)}`)
        : xml("ListPartsResult", part(5)),
    );
    expect(await server.uploads.uploadBytes(upload)).toBe(12);
    expect(server.sent.map(({ query }) => query.get("part-number-marker"))).toEqual(["0", "2"]);
    const endless = serverOf(() => xml("ListPartsResult", next));
    expect(await codeOf(endless.uploads.uploadBytes(upload))).toBe("BROKEN_REPLY");
  });
});

describe("a copy", () => {
  const source = (size: number) => ({ key: "from", size, etag: '"e"' });
  const from = { "x-amz-copy-source": "/b/from", "x-amz-copy-source-if-match": '"e"' };
  const replies = (part: (number: number) => Response | undefined, complete?: () => Response) =>
    serverOf(({ method, query, headers }) => {
      if (query.has("uploads")) return xml("InitiateMultipartUploadResult", "<UploadId>1</UploadId>");
      if (query.has("partNumber"))
        return part(Number(query.get("partNumber"))) ?? xml("CopyPartResult", "<ETag>e</ETag>");
      if (headers["x-amz-copy-source"] !== undefined) return xml("CopyObjectResult");
      if (method === "HEAD") return headOf({ "content-length": "11", "x-amz-meta-touched": "7" });
      return method === "POST"
        ? (complete?.() ?? xml("CompleteMultipartUploadResult", "<ETag>x</ETag>"))
        : undefined;
    });

  test("up to the limit is one request, with new metadata", async () => {
    const server = replies(() => undefined);
    expect(await server.uploads.copy(source(10), "to", 7)).toBe(true);
    expect(server.sent.map(({ method, target }) => `${method} ${target}`)).toEqual(["PUT /to"]);
    expect(server.sent[0]?.headers).toEqual({
      ...from,
      "x-amz-meta-touched": "7",
      "content-type": "application/octet-stream",
      "x-amz-metadata-directive": "REPLACE",
    });
  });

  test("above it goes by parts, each of the object as it was seen", async () => {
    const server = replies(() => undefined);
    expect(await server.uploads.copy(source(11), "to", 7)).toBe(true);
    const ranges = ["bytes=0-3", "bytes=4-7", "bytes=8-10"];
    expect(server.sent.map(({ method, headers }) => [method, headers["x-amz-copy-source-range"]])).toEqual([
      ["POST", undefined],
      ...ranges.map((range) => ["PUT", range]),
      ["POST", undefined],
    ]);
    expect(server.sent[0]?.headers["x-amz-meta-touched"]).toBe("7");
    for (const { headers } of server.sent.slice(1, 4)) expect(headers).toMatchObject(from);
  });

  test.each([
    ["412", failing(412, "PreconditionFailed"), false],
    ["404", failing(404, "NoSuchKey"), false],
    ["a bucket that is gone", failing(404, "NoSuchBucket"), "NoSuchBucket"],
    ["an upload that is gone", failing(404, "NoSuchUpload"), "NoSuchUpload"],
    ["a refusal", failing(403, "AccessDenied"), "AccessDenied"],
  ])("of which a part meets %s leaves no upload", async (_, reply, expected) => {
    const server = replies((number) => (number === 2 ? reply : undefined));
    expect(await codeOf(server.uploads.copy(source(11), "to", 7))).toBe(expected);
    expect(server.sent.at(-1)).toMatchObject({ method: "DELETE", target: "/to?uploadId=1" });
  });

  test.each([
    [7, true],
    [8, "NoSuchUpload"],
  ])("whose last answer is lost is known by its size and its time: %i", async (touched, expected) => {
    const server = replies(
      () => undefined,
      () => failing(404, "NoSuchUpload"),
    );
    expect(await codeOf(server.uploads.copy(source(11), "to", touched))).toBe(expected);
    const other = replies(
      () => undefined,
      () => failing(404, "NoSuchUpload"),
    );
    expect(await codeOf(other.uploads.copy(source(12), "to", 7))).toBe("NoSuchUpload");
  });
});

describe("a blob", () => {
  test("has a lease from the second of its last write", () => {
    expect([1999, 2000, 2001].map((modifiedAt) => wholeSeconds(modifiedAt))).toEqual([1000, 2000, 2000]);
  });

  test.each([
    ["as it was seen", {}, true],
    ["with another ETag", { etag: '"f"' }, false],
    ["with another time", { "last-modified": "Thu, 01 Jan 2026 00:00:01 GMT" }, false],
    ["that was touched", { "x-amz-meta-touched": "6" }, false],
  ])("%s is moved, or stays", async (_, now, isMoved) => {
    let isCopied = false;
    const server = serverOf(({ method }) => {
      if (method === "PUT") isCopied = true;
      if (method === "PUT") return xml("CopyObjectResult");
      return method === "HEAD" ? headOf(isCopied ? now : {}) : undefined;
    });
    const seen = await server.blobs.head(ref);
    if (seen === undefined) throw new Error("no blob");
    expect(await server.blobs.move(seen, "trash/x")).toBe(isMoved);
    expect(server.sent.find(({ method }) => method === "PUT")).toMatchObject({
      target: "/trash/x",
      headers: { "x-amz-meta-touched": expect.stringMatching(/^[0-9]{13}$/) },
    });
    const deleted = server.sent.filter(({ method }) => method === "DELETE");
    expect(deleted.map(({ target, headers }) => [target, headers["if-match"]])).toEqual([
      isMoved ? [`/${seen.key}`, '"e"'] : ["/trash/x", undefined],
    ]);
  });

  test("that is touched and then deleted while it is moved leaves no copy", async () => {
    let looks = 0;
    const server = serverOf(({ method }) => {
      if (method === "PUT") return xml("CopyObjectResult");
      if (method !== "HEAD") return undefined;
      looks++;
      return looks > 2
        ? new Response(null, { status: 404 })
        : headOf({ "x-amz-meta-touched": String(looks) });
    });
    const seen = await server.blobs.head(ref);
    if (seen === undefined) throw new Error("no blob");
    expect(await server.blobs.move(seen, "trash/x")).toBe(false);
    expect(server.sent.at(-1)).toMatchObject({ method: "DELETE", target: "/trash/x" });
  });

  test("that changes again and again is given up after four rounds", async () => {
    for (const act of [
      ({ blobs }: ReturnType<typeof serverOf>) => blobs.touch(ref),
      ({ blobs }: ReturnType<typeof serverOf>) =>
        blobs.publish(ref, { key: "staging/x", size: 3, etag: '"e"' }),
      ({ blobs }: ReturnType<typeof serverOf>) => blobs.write(ref, new Uint8Array(4)),
    ]) {
      const server = serverOf(({ method, headers }) => {
        if (method === "HEAD") return headOf();
        return "x-amz-copy-source" in headers || "if-none-match" in headers
          ? failing(412, "PreconditionFailed")
          : undefined;
      });
      expect(await codeOf(act(server))).toBe("CHANGING");
      expect(server.sent.filter(({ method }) => method === "PUT")).toHaveLength(4);
    }
  });

  test("that others put and delete each time is put without a condition at last", async () => {
    let isPut = false;
    const server = serverOf(({ method, headers }) => {
      if (method === "HEAD") return isPut ? headOf() : new Response(null, { status: 404 });
      if ("if-none-match" in headers) return failing(412, "PreconditionFailed");
      isPut = true;
      return undefined;
    });
    expect(await server.blobs.write(ref, new Uint8Array(3))).toMatchObject({ size: 3 });
    const puts = server.sent.filter(({ method }) => method === "PUT");
    expect(puts.map(({ headers }) => headers["if-none-match"])).toEqual(["*", "*", "*", undefined]);
  });
});

describe("the trash", () => {
  const keys = new BucketKeys("");
  /** A bucket with the copies of a blob in the trash, of which some cannot be copied, and maybe the blob. */
  const trashOf = (
    times: readonly number[],
    options: { gone?: readonly string[]; isLive?: boolean } = {},
  ) => {
    const names = times.map((time) => keys.trashed(ref, time));
    const movedAt = (key: string) => new Date((keys.trashedRef(key)?.trashedAt ?? 0) * 1000).toISOString();
    const row = (key: string) =>
      `<Contents><Key>${key}</Key><LastModified>${movedAt(key)}</LastModified><ETag>"e"</ETag><Size>3</Size></Contents>`;
    let isLive = options.isLive ?? false;
    const server = serverOf(({ method, headers }) => {
      if (method === "GET")
        return xml("ListBucketResult", `<Name>b</Name>${[...names, "trash/x"].map(row).join("")}`);
      if (method === "HEAD") return isLive ? headOf() : new Response(null, { status: 404 });
      if (method === "DELETE") return undefined;
      if (options.gone?.some((time) => headers["x-amz-copy-source"]?.includes(`/${time}-`)))
        return failing(404, "NoSuchKey");
      isLive = true;
      return xml("CopyObjectResult");
    });
    const { trash } = server.blobs;
    const did = (wanted: string) => server.sent.filter(({ method }) => method === wanted);
    const copied = () => did("PUT").map(({ headers }) => headers["x-amz-copy-source"]?.slice("/b/".length));
    return {
      trash,
      names,
      server,
      copied,
      deleted: () => did("DELETE").map(({ target }) => target.slice(1)),
    };
  };

  test("gives back the newest copy that is there, and keeps none", async () => {
    const { trash, names, copied, deleted, server } = trashOf([1, 2, 3], { gone: ["3"] });
    expect(await trash.restore(ref)).toBe(true);
    expect(copied()).toEqual([names[2], names[1]]);
    expect(deleted()).toEqual(names);
    const lists = server.sent.filter(({ query }) => query.has("list-type") && !query.has("max-keys"));
    expect(lists.map(({ query }) => query.get("prefix"))).toEqual([keys.trashFolder(ref)]);
  });

  test("gives back nothing over a blob that is there, which it touches", async () => {
    const { trash, names, copied, deleted } = trashOf([1], { isLive: true });
    expect(await trash.restore(ref)).toBe(true);
    expect(copied()).toEqual([keys.blob(ref)]);
    expect(deleted()).toEqual(names);
  });

  test("gives up copies that are never there, and has none of a blob that was not moved", async () => {
    expect(await codeOf(trashOf([1], { gone: ["1"] }).trash.restore(ref))).toBe("CHANGING");
    expect(await trashOf([]).trash.restore(ref)).toBe(false);
  });

  test("deletes the copy that was seen, or all", async () => {
    const seen = { ref, size: 3, trashedAt: 2000, touchedAt: 2000 };
    for (const [wanted, at] of [
      [seen, [1]],
      [undefined, [0, 1, 2]],
    ] as const) {
      const { trash, names, deleted } = trashOf([1, 2, 3]);
      expect(await trash.delete(ref, wanted)).toBe(true);
      expect(deleted()).toEqual(at.map((index) => names[index]));
    }
    expect(await trashOf([1]).trash.delete(ref, seen)).toBe(false);
    expect(await trashOf([]).trash.delete(ref)).toBe(false);
  });

  test("takes a blob that was not touched since, by whole seconds", async () => {
    const second = Date.UTC(2026, 0);
    for (const [touchedAt, isTaken] of [
      [second, true],
      [second - 1, false],
    ] as const)
      expect(await trashOf([], { isLive: true }).trash.take({ ref, size: 3, touchedAt })).toBe(isTaken);
    expect(await trashOf([]).trash.take({ ref, size: 3, touchedAt: second })).toBe(false);
  });
});

describe("a read", () => {
  const half = 512 * 1024;
  const size = half + 10;
  const bytes = new Uint8Array(size).map((_, index) => index % 251);
  const part = (from: number, to: number, more: Record<string, string> = {}, total = size) =>
    new Response(bytes.subarray(from, to), {
      status: 206,
      headers: { etag: '"e"', "content-range": `bytes ${from}-${to - 1}/${total}`, ...more },
    });
  const begin = () => part(0, half);

  async function read(answer: (request: Sent, count: number) => Response | undefined) {
    const server = serverOf(answer);
    const reading = await server.blobs.read(ref);
    const chunks: Uint8Array[] = [];
    for await (const chunk of reading?.bytes ?? []) chunks.push(chunk);
    return { server, reading, length: chunks.reduce((sum, chunk) => sum + chunk.length, 0) };
  }

  test("of an empty object, for which no range can be had, has no bytes", async () => {
    const { reading, length } = await read(() => failing(416, "InvalidRange"));
    expect([reading?.size, length]).toEqual([0, 0]);
  });

  test.each([
    ["no size", part(0, half, { "content-range": "" })],
    ["a size that is no number", part(0, half, { "content-range": `bytes 0-${half - 1}/*` })],
    ["a length that is no number", new Response(bytes, { headers: { "content-length": "9x" } })],
    ["a length that begins with none", new Response(bytes, { headers: { "content-length": "x9" } })],
  ])("of a reply with %s fails", async (_, reply) => {
    expect(await codeOf(read(() => reply.clone()))).toBe("BROKEN_REPLY");
  });

  test("from a server without ranges has the beginning, and never the beginning for the rest", async () => {
    const whole = () => new Response(bytes, { headers: { etag: '"e"', "content-length": String(size) } });
    expect(await codeOf(read(whole))).toBe("BROKEN_REPLY");
    const server = serverOf(whole);
    expect((await server.blobs.read(ref))?.size).toBe(size);
    const { length } = await read((_, count) => (count === 1 ? whole() : part(half, size)));
    expect(length).toBe(size);
    expect(await codeOf(read((_, count) => (count === 1 ? begin() : part(half - 1, size))))).toBe(
      "BROKEN_REPLY",
    );
    const unsaid = () =>
      new Response(bytes.subarray(half), { headers: { "content-range": `bytes ${half}-/9` } });
    expect(await codeOf(read((_, count) => (count === 1 ? begin() : unsaid())))).toBe("BROKEN_REPLY");
  });

  test("goes on in an object of the same size alone", async () => {
    const replaced = (length: number) => {
      const answer = ({ method, headers }: Sent, count: number) => {
        if (method === "HEAD") return headOf({ "content-length": String(length), etag: '"f"' });
        if (count === 1) return begin();
        return headers["if-match"] === '"f"' ? part(half, size) : failing(412, "PreconditionFailed");
      };
      return codeOf(read(answer).then(({ length: found }) => found));
    };
    expect([await replaced(size), await replaced(size + 1)]).toEqual([size, "GONE"]);
    const gone = (_: Sent, count: number) => (count === 1 ? begin() : failing(404, "NoSuchKey"));
    expect(await codeOf(read(gone))).toBe("NoSuchKey");
    const deleted = ({ method }: Sent, count: number) => {
      if (method === "HEAD") return new Response(null, { status: 404 });
      return count === 1 ? begin() : failing(412, "PreconditionFailed");
    };
    expect(await codeOf(read(deleted))).toBe("PreconditionFailed");
  });

  test("quarantines nothing that is another object by now", async () => {
    for (const answer of [() => headOf({ etag: '"f"' }), () => new Response(null, { status: 404 })]) {
      const { server, reading } = await read(({ method }) =>
        method === "HEAD" ? answer() : part(0, 3, {}, 3),
      );
      server.sent.length = 0;
      expect(await codeOf(reading?.quarantine?.() as Promise<unknown>)).not.toEqual(expect.any(String));
      expect(server.sent.filter(({ method }) => method === "PUT")).toEqual([]);
    }
  });
});
