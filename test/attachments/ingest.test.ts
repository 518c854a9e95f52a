import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ContentBlock as AcpBlock } from "@agentclientprotocol/sdk";
import type { ContentBlock as McpBlock } from "@modelcontextprotocol/sdk/types.js";
import fc from "fast-check";
import {
  asUserMessage,
  type BlobStore,
  blockResource,
  collectGarbage,
  isResource,
  type LinkResource,
  memoryBlobStore,
  type StoredResource,
  userMessage,
} from "sessile";
import { type ImageContentSource, type IngestOptions, type IngestSource, ingest } from "sessile/attachments";
import { type LimitProfile, limitProfiles } from "sessile/limits";
import { readLocalFile } from "sessile/node";
import { describe, expect, expectTypeOf, test } from "vitest";
import { temporaryDirectory } from "../session/node/temporary-directory.js";
import { fixture } from "../support/fixtures.js";
import { base64, bytesOf, countingIds, failureOf, gif, pdf, png } from "./samples.js";

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

describe("ingest", () => {
  // @covers R1
  test("stores an image, and gives the whole descriptor", async () => {
    const blobs = memoryBlobStore();
    const bytes = png(640, 480);
    const source = { bytes, name: "screen.png", mediaType: "image/jpeg", size: 1 };
    const resource = await ingest(source, { blobs, newId: countingIds() });
    expect(resource).toEqual({
      resourceId: "res_0000000000000001",
      kind: "image",
      name: "screen.png",
      mediaType: "image/png",
      size: bytes.length,
      contentSha256: sha256(bytes),
      blob: `sha256:${sha256(bytes)}`,
      width: 640,
      height: 480,
      source: "upload",
      declared: { mediaType: "image/jpeg", size: 1 },
    });
    expect(await blobs.get(resource.blob)).toEqual(bytes);
  });

  // @covers R2 R3 R19
  test("keeps any bytes exactly, under their digest, and describes them well", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        const blobs = memoryBlobStore();
        const resource = await ingest({ bytes }, { blobs, mismatch: "file" });
        expect(await blobs.get(resource.blob)).toEqual(bytes);
        expect(resource).toMatchObject({ size: bytes.length, contentSha256: sha256(bytes) });
        expect(isResource(resource)).toBe(true);
      }),
    );
  });

  // @covers R5
  test("says the sha256 of bytes that are named otherwise", async () => {
    const resource = await ingest({ bytes: gif }, { blobs: memoryBlobStore({ digest: "blake3" }) });
    expect(resource.blob).toMatch(/^blake3:/);
    expect(resource.contentSha256).toBe(sha256(gif));
  });

  test("is done only when the bytes are", async () => {
    let stored = false;
    const inner = memoryBlobStore();
    const slow: Pick<BlobStore, "put"> = {
      async put(source, options) {
        const stat = await inner.put(source, options);
        await new Promise((later) => setTimeout(later, 20));
        stored = true;
        return stat;
      },
    };
    await ingest({ bytes: gif }, { blobs: slow });
    expect(stored).toBe(true);
  });

  test("gives one that was attached twice two ids and one blob", async () => {
    const blobs = memoryBlobStore();
    const [first, second] = await ingest([{ bytes: gif }, { bytes: gif }], { blobs });
    expect((first as StoredResource).contentSha256).toBe((second as StoredResource).contentSha256);
    expect(first?.resourceId).not.toBe(second?.resourceId);
    expect(await all(blobs.list())).toHaveLength(1);
  });

  test("gives a link at once, and nothing else of it than scheme, host and path", () => {
    const link = ingest({
      link: "https://user@example.com/context/report.pdf?download=true#fragment",
      name: "r",
    });
    expectTypeOf(link).toEqualTypeOf<LinkResource>();
    expect(link).toEqual({
      resourceId: link.resourceId,
      kind: "link",
      name: "r",
      uri: "https://example.com/context/report.pdf",
      source: "link",
    });
    expect(isResource(link)).toBe(true);
    expect(() => ingest({ link: "file:///etc/passwd" })).toThrow("link: ");
  });

  test("takes a block for what its type says, also with a link in it", async () => {
    const source = {
      type: "image",
      data: base64(gif),
      mimeType: "image/gif",
      link: "https://e.com/a",
    } as const;
    expect(await ingest(source as ImageContentSource, { blobs: memoryBlobStore() })).toMatchObject({
      kind: "image",
    });
  });

  test("takes every block of MCP and ACP but text", async () => {
    type Taken = Extract<IngestSource, { readonly type: string }>["type"];
    expectTypeOf<Exclude<(AcpBlock | McpBlock)["type"], Taken>>().toEqualTypeOf<"text">();
    const bytes = bytesOf("RIFF0000WAVEfmt ");
    const heard = { type: "audio", data: base64(bytes), mimeType: "audio/wav" } as const;
    const blobs = memoryBlobStore();
    const resource = await ingest(heard, { blobs });
    expect(resource).toMatchObject({ kind: "file", declared: { mediaType: "audio/wav" } });
    expect(await blobs.get(resource.blob)).toEqual(bytes);
    await expect(ingest({ ...heard, data: "?" }, { blobs })).rejects.toMatchObject({
      code: "INVALID_MESSAGE",
    });
  });

  // @covers R12
  test("copies in a local file that a link names, also from outside the workspace", async () => {
    const path = join(temporaryDirectory(), "notes.txt");
    writeFileSync(path, "hello");
    const blobs = memoryBlobStore();
    const source = { type: "resource_link", uri: ` ${pathToFileURL(path).href}`, name: "notes.txt" } as const;
    const resource = await ingest(source, { blobs, readFile: readLocalFile });
    expect(resource).toMatchObject({ kind: "file", mediaType: "text/plain", size: 5, name: "notes.txt" });
    expect(resource).not.toHaveProperty("uri");
    expect(await failureOf(() => ingest(source, { blobs, readFile: readLocalFile, maxBytes: 4 }))).toEqual({
      code: "FILE_TOO_LARGE",
      details: { path, bytes: 5, maxBytes: 4 },
    });
    const confined: IngestOptions = {
      blobs,
      readFile: (uri, options) => readLocalFile(uri, { ...options, roots: ["/nowhere"] }),
    };
    expect(await failureOf(() => ingest(source, confined))).toMatchObject({ code: "FILE_REFUSED" });
  });

  // @covers R70
  test("says how bytes came in", async () => {
    const blobs = memoryBlobStore();
    expect(await ingest({ bytes: gif }, { blobs, source: "tool" })).toMatchObject({ source: "tool" });
  });

  test("tells the store what kind of bytes they are", async () => {
    const seen: unknown[] = [];
    const inner = memoryBlobStore();
    const blobs: Pick<BlobStore, "put"> = {
      put(source, options) {
        seen.push(options?.mediaType);
        return inner.put(source, options);
      },
    };
    await ingest([{ bytes: gif, name: "a.png" }, { bytes: pdf }, { bytes: Uint8Array.of(0) }], { blobs });
    expect(seen).toEqual(["image/gif", "application/pdf", "application/octet-stream"]);
  });

  test("has a type for each source", () => {
    const blobs = memoryBlobStore();
    const stored = () => ingest({ bytes: gif }, { blobs });
    const linked = () => ingest({ type: "resource_link", uri: "https://a.example", name: "a" }, { blobs });
    expectTypeOf(stored).returns.resolves.toEqualTypeOf<StoredResource>();
    expectTypeOf(linked).returns.resolves.toEqualTypeOf<StoredResource | LinkResource>();
    // @ts-expect-error bytes need a place to go
    expectTypeOf(() => ingest({ bytes: gif })).toBeFunction();
  });

  test.each([
    [{ blobs: undefined }, TypeError],
    [{ blobs: {} }, TypeError],
    [{ maxBytes: -1 }, RangeError],
    [{ mismatch: "maybe" }, TypeError],
    [{ newId: () => "res_1" }, TypeError],
  ])("takes only options that make sense: %j", async (wrong, error) => {
    const options = { blobs: memoryBlobStore(), ...wrong } as IngestOptions;
    await expect(ingest({ bytes: gif }, options)).rejects.toThrow(error);
  });

  test("stops when it is told to", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(ingest({ bytes: gif }, { blobs: memoryBlobStore(), signal })).rejects.toThrow("enough");
  });

  for (const [name, facts] of Object.entries({
    "screenshot.png": { kind: "image", mediaType: "image/png" },
    "parrot.jpg": { kind: "image", mediaType: "image/jpeg" },
    "animated.gif": { kind: "image", mediaType: "image/gif" },
    "paper.pdf": { kind: "file", mediaType: "application/pdf" },
  })) {
    const real = fixture(`media/${name}`);
    test.skipIf(real.absent)(
      `takes in ${name}${real.absent ? ` (skipped: ${real.absent})` : ""}`,
      async () => {
        const blobs = memoryBlobStore();
        const bytes = new Uint8Array(real.read());
        const resource = await ingest({ bytes, name }, { blobs, limits: limitProfiles.anthropic });
        expect(resource).toMatchObject({ ...facts, size: bytes.length, contentSha256: sha256(bytes) });
        expect(Buffer.compare((await blobs.get(resource.blob)) ?? new Uint8Array(), bytes)).toBe(0);
      },
    );
  }
});

describe("ingest of a list", () => {
  test("keeps the order of the sources", async () => {
    const sources = [
      { bytes: gif },
      { link: "https://a.example/" },
      { dataUrl: `data:;base64,${base64(pdf)}` },
    ];
    const resources = await ingest(sources, { blobs: memoryBlobStore(), newId: countingIds() });
    expect(resources.map(({ kind }) => kind)).toEqual(["image", "link", "file"]);
    expect(new Set(resources.map(({ resourceId }) => resourceId)).size).toBe(3);
  });

  test("stores nothing if one is refused", async () => {
    const blobs = memoryBlobStore();
    const bad = { type: "image", data: "!", mimeType: "image/png" } as const;
    await failureOf(() => ingest([{ bytes: gif }, { bytes: png() }, bad], { blobs }));
    expect(await all(blobs.list())).toEqual([]);
  });

  const twoImages: LimitProfile = {
    name: "two",
    transports: ["any"],
    rows: [
      {
        rule: "imageCount",
        value: 2,
        unit: "count",
        scope: "request",
        evidence: "measured",
        asOf: "2026-11-21",
        source: "test",
      },
    ],
  };

  test("checks them together against the limits, and names the ones over a limit", async () => {
    const blobs = memoryBlobStore();
    const link = { link: "https://a.example/" };
    const sources = [
      { bytes: png() },
      link,
      { bytes: gif },
      { bytes: bytesOf("text") },
      { bytes: png(9, 9) },
    ];
    expect(await failureOf(() => ingest(sources, { blobs, limits: twoImages }))).toEqual({
      code: "LIMIT_EXCEEDED",
      details: {
        profile: "two",
        violations: [{ rule: "imageCount", unit: "count", limit: 2, actual: 3, items: [0, 2, 4] }],
      },
    });
    expect(await all(blobs.list())).toEqual([]);
    expect(await ingest(sources.slice(0, 4), { blobs, limits: twoImages })).toHaveLength(4);
  });

  test("knows the limits of real targets", async () => {
    const blobs = memoryBlobStore();
    const images = Array.from({ length: 5 }, (_, at) => ({ bytes: png(at + 1, 1) }));
    expect(await failureOf(() => ingest(images, { blobs, limits: limitProfiles.tether }))).toMatchObject({
      code: "LIMIT_EXCEEDED",
    });
    expect(await ingest(images.slice(1), { blobs, limits: limitProfiles.tether })).toHaveLength(4);
    const wide = { bytes: png(8001, 1) };
    expect(await failureOf(() => ingest(wide, { blobs, limits: limitProfiles.anthropic }))).toMatchObject({
      details: { violations: [{ rule: "imageSide", limit: 8000, actual: 8001, items: [0] }] },
    });
  });

  test("does not check bytes of unknown type against limits", async () => {
    const bytes = new Uint8Array(40_000_000);
    const blobs: Pick<BlobStore, "put"> = {
      put: async () => ({ ref: `sha256:${"0".repeat(64)}`, size: bytes.length, touchedAt: 0 }),
    };
    const resource = await ingest({ bytes }, { blobs, limits: limitProfiles.anthropic });
    expect(resource).toMatchObject({ kind: "file", mediaType: "application/octet-stream" });
  });

  // @covers R68
  test("leaves no orphan behind that a collection would not take", async () => {
    let now = 1000;
    const blobs = memoryBlobStore({ now: () => now });
    const full: Pick<BlobStore, "put"> = {
      put: (source, options) =>
        source === gif ? Promise.reject(new Error("full")) : blobs.put(source, options),
    };
    await expect(ingest([{ bytes: pdf }, { bytes: gif }], { blobs: full })).rejects.toThrow("full");
    expect(await all(blobs.list())).toHaveLength(1);
    const marks = [{ root: "log", refs: [], complete: true }];
    now += 15 * 86_400_000;
    await collectGarbage(blobs, { marks });
    now += 15 * 86_400_000;
    expect((await collectGarbage(blobs, { marks })).deleted.count).toBe(1);
  });

  test("rejects with the store's error after all puts have ended", async () => {
    let underWay = 0;
    const blobs: Pick<BlobStore, "put"> = {
      async put(source) {
        underWay++;
        const bytes = source as Uint8Array;
        await new Promise((later) => setTimeout(later, bytes === gif ? 20 : 1));
        underWay--;
        if (bytes !== gif) throw new Error("full");
        return { ref: `sha256:${sha256(bytes)}`, size: bytes.length, touchedAt: 0 };
      },
    };
    await expect(ingest([{ bytes: gif }, { bytes: pdf }], { blobs })).rejects.toThrow("full");
    expect(underWay).toBe(0);
  });
});

describe("a resource in a message", () => {
  // @covers R4 R6 R63
  test("is text for every reader, with no bytes in it", async () => {
    const resource = await ingest({ bytes: png(50, 50), name: "a.png" }, { blobs: memoryBlobStore() });
    const json = JSON.stringify(userMessage("look", resource));
    expect(json).not.toContain(base64(png(50, 50)).slice(0, 20));
    expect(json.length).toBeLessThan(1000);
  });

  // @covers R17 security:client-messages
  test("does not survive the way of a client's JSON, however it is forged", () => {
    const forged = fc.oneof(
      fc.constant({ resourceId: "res_0123456789abcdef", kind: "image", blob: `sha256:${"a".repeat(64)}` }),
      fc.object(),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(forged, { minLength: 1, maxLength: 4 }), (resources) => {
        const content = resources.map((resource) => ({ type: "text", text: "[image]", resource }));
        const message = asUserMessage(JSON.parse(JSON.stringify({ content })));
        expect(message.content).toHaveLength(resources.length);
        for (const block of message.content as readonly { readonly type: "text" }[]) {
          expect(blockResource(block)).toBeUndefined();
          expect(Object.keys(block)).toEqual(["type", "text"]);
        }
      }),
    );
  });

  test("tells how to read a path", async () => {
    const blobs = memoryBlobStore();
    await expect(ingest({ path: "a.png" } as never, { blobs })).rejects.toThrow(
      "got { path }: read it with readLocalFile first",
    );
    await expect(ingest("a.png" as never, { blobs })).rejects.toThrow('got "a.png"');
    await expect(readLocalFile("a.png")).rejects.toThrow("a.png: it is not absolute: give `resolve(path)`");
  });
});
