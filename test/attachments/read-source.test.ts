import fc from "fast-check";
import type { IngestSource, ReadFile } from "sessile/attachments";
import { SessileError } from "sessile/errors";
import { describe, expect, test } from "vitest";
import {
  declaredFrom,
  linkResource,
  linkUri,
  nameFrom,
  parseDataUrl,
  type ReadSourceOptions,
  readSource,
} from "../../src/attachments/sources.js";
import { text } from "../arbitraries/values.js";
import { base64, bytesOf, countingIds, failureOf, png } from "./samples.js";

const options = (more: Partial<ReadSourceOptions> = {}): ReadSourceOptions => ({
  maxBytes: 1000,
  newId: countingIds(),
  ...more,
});
const url = `data:image/png;base64,${base64(png())}`;

describe("readSource", () => {
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
    expect(await readSource(source, options())).toMatchObject({ kind: "bytes", bytes: png(), ...expected });
  });

  test.each([{ link: "https://e.com/a" }, { bytes: 70 }, { dataUrl: "data:,x" }])(
    "goes by the type of a block, whatever else it has: %j",
    async (more) => {
      const source = { type: "image", data: base64(png()), mimeType: "image/png", ...more } as IngestSource;
      expect(await readSource(source, options())).toMatchObject({ kind: "bytes", bytes: png() });
    },
  );

  test("reads the text of an embedded resource", async () => {
    const source: IngestSource = { type: "resource", resource: { uri: "file:///x/notes.md", text: "grüße" } };
    expect(await readSource(source, options())).toMatchObject({ bytes: bytesOf("grüße"), name: "notes.md" });
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
    expect(await readSource(source, options())).toMatchObject({ name });
  });

  // @covers R11 R14 security:links
  test("makes links of what is remote, and fetches nothing", async () => {
    const resource_link = {
      type: "resource_link",
      uri: "https://user@example.com/context/report.pdf?download=true#fragment",
      name: "report",
      mimeType: "application/pdf",
      size: 12n,
    } as const;
    expect(await readSource(resource_link, options())).toEqual({
      resourceId: "res_0000000000000001",
      kind: "link",
      name: "report",
      uri: "https://example.com/context/report.pdf",
      source: "link",
      declared: { mediaType: "application/pdf", size: 12 },
    });
    const input = { type: "input_image", image_url: "https://example.com/a.png?sig=x" } as const;
    expect(await readSource(input, options())).toMatchObject({
      kind: "link",
      uri: "https://example.com/a.png",
    });
    expect(await readSource({ link: "https://example.com/" }, options())).toMatchObject({ kind: "link" });
  });

  // @covers R11
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
    expect(await readSource(link, options({ readFile }))).toEqual({
      kind: "bytes",
      bytes: bytesOf("notes"),
      name: "Notes",
      declared: undefined,
      // Where a file lay is nobody's business.
      uri: undefined,
    });
    const { signal } = new AbortController();
    await readSource(
      { ...link, uri: " file:///tmp/a b\n" },
      options({ readFile, signal, maxBytes: 2 ** 40 }),
    );
    await failureOf(() => readSource(link, options({ readFile, maxBytes: 0 })));
    expect(asked).toEqual([
      ["file:///tmp/notes.txt", { maxBytes: 1000 }],
      ["file:///tmp/a b", { maxBytes: 2 ** 32 - 1, signal }],
      // The least that readLocalFile takes.
      ["file:///tmp/notes.txt", { maxBytes: 1 }],
    ]);
    expect(await failureOf(() => readSource(link, options()))).toEqual({
      code: "LINK_REFUSED",
      details: { reason: "file" },
    });
    expect(await failureOf(() => readSource(link, options({ readFile, maxBytes: 4 })))).toMatchObject({
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
    ["sound without bytes", { type: "audio" }, "INVALID_MESSAGE"],
    ["a link without an address", { type: "resource_link", name: "x" }, "LINK_REFUSED"],
    ["neither text nor bytes", { type: "resource", resource: { uri: "x:y" } }, "INVALID_MESSAGE"],
  ])("refuses %s without repeating it", async (_, source, code) => {
    const failure = await failureOf(() => readSource(source as IngestSource, options()));
    expect(failure.code).toBe(code);
    expect(JSON.stringify(failure)).not.toContain("c2Vj");
  });

  test.each([undefined, null, "x", { type: "video" }, {}, { bytes: [1, 2] }])(
    "throws a TypeError for %j",
    async (source) => {
      await expect(readSource(source as never, options())).rejects.toThrow(TypeError);
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
      expect(await readSource(source, options({ maxBytes: 100 }))).toMatchObject({ kind: "bytes" });
      expect(await failureOf(() => readSource(source, options({ maxBytes: 99 })))).toEqual({
        code: "BLOB_TOO_LARGE",
        details: { bytes: 100, maxBytes: 99 },
      });
    }
    // It is not even base64: the length alone decides.
    const huge = { type: "image", data: "!".repeat(4000), mimeType: "image/png" } as const;
    expect(await failureOf(() => readSource(huge, options()))).toMatchObject({ code: "BLOB_TOO_LARGE" });
  });

  // @covers R18
  test("gives the bytes of any payload exactly", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        const source = { type: "image", data: base64(bytes), mimeType: "image/png" } as const;
        expect(await readSource(source, options())).toMatchObject({ bytes });
      }),
    );
  });
});

describe("declaredFrom", () => {
  test.each([
    [{ mediaType: " IMAGE/PNG " }, { mediaType: "image/png" }],
    [
      { mediaType: "text/plain; charset=utf-8", size: 3 },
      { mediaType: "text/plain", size: 3 },
    ],
    [{ mediaType: "", size: 0 }, { size: 0 }],
    [{ mediaType: null, size: null }, undefined],
    [{ mediaType: 5, size: "5" }, undefined],
    [{ size: -1 }, undefined],
    [{ size: Number.POSITIVE_INFINITY }, undefined],
    [{ size: 1.5 }, undefined],
    [{}, undefined],
  ])("of %j records %j", (claims, expected) => {
    expect(declaredFrom(claims)).toEqual(expected);
  });

  test("is bounded, and says the same of what it has said", () => {
    fc.assert(
      fc.property(text, (mediaType) => {
        const once = declaredFrom({ mediaType });
        expect(once?.mediaType?.length ?? 0).toBeLessThanOrEqual(255);
        expect(declaredFrom(once ?? {})?.mediaType?.trim()).toEqual(once?.mediaType?.trim());
      }),
    );
  });
});

describe("nameFrom", () => {
  test.each([
    ["screen.png", "screen.png"],
    ["/home/me/screen.png", "screen.png"],
    ["C:\\Users\\me\\screen.png", "screen.png"],
    ["../../etc/passwd", "passwd"],
    ["https://u:secret@example.com/a%20b.png?token=secret", "a b.png"],
    [" HTTPS://u:secret@example.com", undefined],
    ["https://example.com/https%3A%2F%2Fu:secret@example.com", undefined],
    ["https://example.com/a%ff", undefined],
    ["redis://u:secret@example.com/0", undefined],
    ["data:text/plain;base64,c2VjcmV0", undefined],
    ["file:///home/me/screen.png", "screen.png"],
    ["see https://example.com/a", undefined],
    ["größe 😀.txt", "größe 😀.txt"],
    ["", undefined],
    ["  ", undefined],
    ["/", undefined],
    [5, undefined],
    [undefined, undefined],
  ])("of %j is %j", (name, expected) => {
    expect(nameFrom(name)).toBe(expected);
  });

  test("is bounded, whole in its characters, and keeps the extension", () => {
    expect(nameFrom(`${"a".repeat(10_000)}.png`)).toMatch(/^a+….png$/);
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 400 }), (part, times) => {
        const given = `x${part.repeat(times).slice(0, 8000)}.jpg`;
        fc.pre(!given.includes("://"));
        const name = nameFrom(given);
        expect(Array.from(name ?? "").length).toBeLessThanOrEqual(255);
        expect(name?.isWellFormed()).toBe(true);
        expect(name?.endsWith(".jpg")).toBe(true);
      }),
    );
  });
});

describe("parseDataUrl", () => {
  test("gives the bytes of every data URL", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 100 }),
        fc.constantFrom("image/png", "", "text/plain;a=b"),
        (bytes, type) => {
          const url = parseDataUrl(`data:${type};base64,${base64(bytes)}`);
          expect(url).toMatchObject({ mediaType: type, size: bytes.length });
          expect(url?.decode()).toEqual(bytes);
        },
      ),
    );
  });

  test.each([
    ["DATA:image/png;BASE64,Zg==", "image/png"],
    [" data: IMAGE/PNG ;base64,Zg==", "IMAGE/PNG"],
    ["data:image/svg+xml;charset=utf-8;base64,Zg==", "image/svg+xml;charset=utf-8"],
  ])("is lenient around the type: %j", (url, mediaType) => {
    expect(parseDataUrl(url)?.mediaType).toBe(mediaType);
  });

  test.each([
    "",
    "data:",
    "data:image/png;base64",
    "data:image/png,Zg==",
    "data:image/pngbase64,Zg==",
    "data:image/png;base64,Zg",
    "https://example.com/a,b",
    `data:${" ".repeat(2000)};base64,Zg==`,
  ])("reads nothing from %j", (url) => {
    expect(parseDataUrl(url)).toBeUndefined();
  });

  test.each(["Zg==\n", "Z%67==", "Zh==", "Zm9-", " Zm9v   "])(
    "has no bytes for the payload %j",
    (payload) => {
      expect(parseDataUrl(`data:image/png;base64,${payload}`)?.decode()).toBeUndefined();
    },
  );
});

describe("linkUri", () => {
  test.each([
    [
      "https://user@example.com/context/report.pdf?download=true#fragment",
      "https://example.com/context/report.pdf",
    ],
    ["https://user:secret@example.com", "https://example.com/"],
    ["HTTP://EXAMPLE.com:8080/A/../b", "http://example.com:8080/b"],
    ["https://example.com:443/a", "https://example.com/a"],
    ["https://grüße.example/ä b", "https://xn--gre-6ka8l.example/%C3%A4%20b"],
    ["  https://example.com/a?token=secret  ", "https://example.com/a"],
  ])("of %s keeps %s", (link, uri) => {
    expect(linkUri(link)).toBe(uri);
  });

  test.each([
    ["DATA:image/png;base64,c2VjcmV0", "data"],
    ["da\nta:image/png;base64,c2VjcmV0", "data"],
    ["file:///etc/passwd", "file"],
    ["javascript:alert(1)", "scheme"],
    ["ftp://example.com/a", "scheme"],
    ["mailto:a@example.com", "scheme"],
    ["report.pdf", "malformed"],
    ["//example.com/a", "malformed"],
    ["https://", "malformed"],
    ["", "malformed"],
    [`https://example.com/${"a".repeat(1000)}`, "tooLong"],
  ])("refuses %j: %s", async (link, reason) => {
    expect(await failureOf(() => linkUri(link))).toEqual({ code: "LINK_REFUSED", details: { reason } });
  });

  test("takes 1000 bytes, and not one more", async () => {
    const path = "a".repeat(1000 - "https://example.com/".length);
    expect(linkUri(`https://example.com/${path}?${"q".repeat(10_000)}`)).toHaveLength(1000);
    await failureOf(() => linkUri(`https://example.com/${path}a`));
  });

  test("does not repeat what it refuses", () => {
    const secret = "c2VjcmV0".repeat(1000);
    for (const link of [`data:image/png;base64,${secret}`, `x://${secret}`, secret]) {
      try {
        linkUri(link);
        expect.fail("it was taken");
      } catch (error) {
        expect(String(error) + JSON.stringify(error)).not.toContain("c2VjcmV0");
        expect(error).toBeInstanceOf(SessileError);
      }
    }
  });

  test("keeps nothing of user, query and fragment, and nothing changes the second time", () => {
    fc.assert(
      fc.property(
        fc.webUrl({ withQueryParameters: true, withFragments: true, validSchemes: ["http", "https"] }),
        fc.constantFrom("", "user@", "user:pass@"),
        (address, user) => {
          const link = address.replace("://", `://${user}`);
          fc.pre(URL.canParse(link) && link.length < 900);
          const uri = linkUri(link);
          const { username, password, search, hash, host, pathname } = new URL(uri);
          expect([username, password, search, hash]).toEqual(["", "", "", ""]);
          expect({ host, pathname }).toEqual({ host: new URL(link).host, pathname: new URL(link).pathname });
          expect(linkUri(uri)).toBe(uri);
        },
      ),
    );
  });
});

describe("linkResource", () => {
  test("has no bytes, and says so by having no fields for them", () => {
    expect(linkResource("https://a.example/x?y", { resourceId: "res_0000000000000001", name: "x" })).toEqual({
      resourceId: "res_0000000000000001",
      kind: "link",
      name: "x",
      uri: "https://a.example/x",
      source: "link",
    });
  });
});
