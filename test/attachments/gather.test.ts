import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type GatherOptions, gather, type ReadFile } from "../../src/attachments/gather.js";
import type { IngestSource } from "../../src/attachments/source.js";
import { base64, bytesOf, countingIds, failureOf, png } from "./samples.js";

const options = (more: Partial<GatherOptions> = {}): GatherOptions => ({
  maxBytes: 1000,
  newId: countingIds(),
  ...more,
});
const url = `data:image/png;base64,${base64(png())}`;

describe("gather", () => {
  test.each<[string, IngestSource, object]>([
    [
      "bytes with what is said of them",
      { bytes: png(), name: "/tmp/a.png", mediaType: " IMAGE/PNG ", size: 9 },
      { name: "a.png", declared: { mediaType: "image/png", size: 9 } },
    ],
    ["a data URL", { dataUrl: url, name: "a.png" }, { name: "a.png", declared: { mediaType: "image/png" } }],
    [
      "a data URL in capitals",
      { dataUrl: url.replace("data:", "DATA:") },
      { declared: { mediaType: "image/png" } },
    ],
    [
      "an image block, with a remote origin",
      { type: "image", data: base64(png()), mimeType: "image/jpeg", uri: "https://a.example/b?token=c" },
      { declared: { mediaType: "image/jpeg" }, uri: "https://a.example/b" },
    ],
    [
      "an image block, with a local origin, which is not kept",
      { type: "image", data: base64(png()), mimeType: "image/png", uri: "file:///home/me/a.png" },
      { declared: { mediaType: "image/png" }, uri: undefined },
    ],
    [
      "an embedded resource",
      { type: "resource", resource: { uri: "file:///ws/a%20b.png", mimeType: null, blob: base64(png()) } },
      { name: "a b.png", declared: undefined },
    ],
    [
      "an input image",
      { type: "input_image", image_url: url, detail: "auto" },
      { declared: { mediaType: "image/png" } },
    ],
  ])("reads %s", async (_, source, expected) => {
    expect(await gather(source, options())).toMatchObject({ kind: "bytes", bytes: png(), ...expected });
  });

  test.each([{ link: "https://e.com/a" }, { bytes: 70 }, { dataUrl: "data:,x" }])(
    "goes by the type of a block, whatever else it has: %j",
    async (more) => {
      const source = { type: "image", data: base64(png()), mimeType: "image/png", ...more } as IngestSource;
      expect(await gather(source, options())).toMatchObject({ kind: "bytes", bytes: png() });
    },
  );

  test("reads the text of an embedded resource", async () => {
    const source: IngestSource = { type: "resource", resource: { uri: "file:///x/notes.md", text: "grüße" } };
    expect(await gather(source, options())).toMatchObject({ bytes: bytesOf("grüße"), name: "notes.md" });
  });

  test.each([
    ["https://user:secret@example.com", undefined],
    ["https://user:secret@example.com/a%20b.md?token=secret#secret", "a b.md"],
    ["https://example.com/https%3A%2F%2Fuser:secret@example.com", undefined],
    ["data:text/plain;base64,c2VjcmV0", undefined],
    ["zed://user:secret@host", undefined],
    ["urn:secret", undefined],
    ["//user:secret@example.com", undefined],
  ])("names an embedded resource after the path of %s at most", async (uri, name) => {
    const source: IngestSource = { type: "resource", resource: { uri, text: "x" } };
    expect(await gather(source, options())).toMatchObject({ name });
  });

  test("makes links of what is remote, and fetches nothing", async () => {
    const resource_link = {
      type: "resource_link",
      uri: "https://user@example.com/context/report.pdf?download=true#fragment",
      name: "report",
      mimeType: "application/pdf",
      size: 12n,
    } as const;
    expect(await gather(resource_link, options())).toEqual({
      resourceId: "res_0000000000000001",
      kind: "link",
      name: "report",
      uri: "https://example.com/context/report.pdf",
      source: "link",
      declared: { mediaType: "application/pdf", size: 12 },
    });
    const input = { type: "input_image", image_url: "https://example.com/a.png?sig=x" } as const;
    expect(await gather(input, options())).toMatchObject({ kind: "link", uri: "https://example.com/a.png" });
    expect(await gather({ link: "https://example.com/" }, options())).toMatchObject({ kind: "link" });
  });

  test("reads the file of a link through the port, and no other way", async () => {
    const link: IngestSource = {
      type: "resource_link",
      uri: "FILE:///tmp/notes.txt",
      name: "Notes",
      size: null,
    };
    const asked: unknown[] = [];
    const readFile: ReadFile = async (uri, options) => {
      asked.push([uri, options]);
      return { bytes: bytesOf("notes"), name: "notes.txt" };
    };
    expect(await gather(link, options({ readFile }))).toEqual({
      kind: "bytes",
      bytes: bytesOf("notes"),
      name: "Notes",
      declared: undefined,
      // Where a file lay is nobody's business.
      uri: undefined,
    });
    const { signal } = new AbortController();
    await gather({ ...link, uri: " file:///tmp/a b\n" }, options({ readFile, signal, maxBytes: 2 ** 40 }));
    await failureOf(() => gather(link, options({ readFile, maxBytes: 0 })));
    expect(asked).toEqual([
      ["file:///tmp/notes.txt", { maxBytes: 1000 }],
      ["file:///tmp/a b", { maxBytes: 2 ** 32 - 1, signal }],
      // The least that readLocalFile takes.
      ["file:///tmp/notes.txt", { maxBytes: 1 }],
    ]);
    expect(await failureOf(() => gather(link, options()))).toEqual({
      code: "LINK_REFUSED",
      details: { reason: "file" },
    });
    expect(await failureOf(() => gather(link, options({ readFile, maxBytes: 4 })))).toMatchObject({
      code: "BLOB_TOO_LARGE",
    });
  });

  test.each<[string, unknown, string]>([
    [
      "a data URL that is a link",
      { type: "resource_link", uri: "DATA:image/png;base64,c2VjcmV0", name: "x" },
      "LINK_REFUSED",
    ],
    ["an id of a provider's file", { type: "input_image", file_id: "file-1" }, "LINK_REFUSED"],
    ["base64 that is none", { type: "image", data: "c2VjcmV0!", mimeType: "image/png" }, "INVALID_MESSAGE"],
    ["no base64", { type: "image", mimeType: "image/png" }, "INVALID_MESSAGE"],
    ["base64 with line breaks", { dataUrl: "data:image/png;base64,c2Vj\ncmV0" }, "INVALID_MESSAGE"],
    ["a data URL that is text", { dataUrl: "data:,c2VjcmV0" }, "INVALID_MESSAGE"],
    ["a block without its resource", { type: "resource" }, "INVALID_MESSAGE"],
    ["a link without an address", { type: "resource_link", name: "x" }, "LINK_REFUSED"],
    ["neither text nor bytes", { type: "resource", resource: { uri: "x:y" } }, "INVALID_MESSAGE"],
  ])("refuses %s without repeating it", async (_, source, code) => {
    const failure = await failureOf(() => gather(source as IngestSource, options()));
    expect(failure.code).toBe(code);
    expect(JSON.stringify(failure)).not.toContain("c2Vj");
  });

  test.each([undefined, null, "x", { type: "audio" }, {}, { bytes: [1, 2] }])(
    "throws a TypeError for %j",
    async (source) => {
      await expect(gather(source as never, options())).rejects.toThrow(TypeError);
    },
  );

  test("refuses what is too large before it is decoded, and takes the bound itself", async () => {
    const bytes = new Uint8Array(100);
    const sources: readonly IngestSource[] = [
      { bytes },
      { dataUrl: `data:;base64,${base64(bytes)}` },
      { type: "image", data: base64(bytes), mimeType: "image/png" },
      { type: "resource", resource: { uri: "a:b", blob: base64(bytes) } },
      { type: "resource", resource: { uri: "a:b", text: "ä".repeat(50) } },
    ];
    for (const source of sources) {
      expect(await gather(source, options({ maxBytes: 100 }))).toMatchObject({ kind: "bytes" });
      expect(await failureOf(() => gather(source, options({ maxBytes: 99 })))).toEqual({
        code: "BLOB_TOO_LARGE",
        details: { bytes: 100, maxBytes: 99 },
      });
    }
    // It is not even base64: the length alone decides.
    const huge = { type: "image", data: "!".repeat(4000), mimeType: "image/png" } as const;
    expect(await failureOf(() => gather(huge, options()))).toMatchObject({ code: "BLOB_TOO_LARGE" });
  });

  test("gives the bytes of any payload exactly", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        const source = { type: "image", data: base64(bytes), mimeType: "image/png" } as const;
        expect(await gather(source, options())).toMatchObject({ bytes });
      }),
    );
  });
});
