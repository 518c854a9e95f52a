/** PDFs: their pages are counted, encryption is found, and hostile files end. */
import { deflateSync } from "node:zlib";
import fc from "fast-check";
import { sniff } from "sessile/media";
import { describe, expect, it, test, vi } from "vitest";
import { inflate } from "../../src/content/media/inflate.js";
import { needsPassword } from "../../src/content/media/internal.js";
import { damage, damaged } from "../arbitraries/bytes.js";
import { latin1, objectStream, pdfOf, stream } from "../support/pdf-files.js";

const pdf = { kind: "pdf", mediaType: "application/pdf" };

describe("pages", () => {
  it("are the leaves of the tree, plain or in object streams", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.boolean(), fc.boolean(), (pages, packed, nested) => {
        expect(sniff(pdfOf(pages, { packed, nested }))).toEqual({ ...pdf, pages });
      }),
      { numRuns: 60 },
    );
  });

  test.each<[string, Uint8Array, number | undefined]>([
    ["700 of them", pdfOf(700), 700],
    ["3 in a large file", pdfOf(3, { extra: stream("", "\u0001".repeat(100_000)) }), 3],
    ["a stream that holds a PDF of its own", pdfOf(2, { extra: stream("", pdfOf(9)) }), 2],
    ["one whose length is elsewhere", pdfOf(2, { extra: stream("", pdfOf(9), "7 0 R") }), 2],
    ["one whose length is wrong", pdfOf(2, { extra: stream("", "ab", "999999") }), 2],
    [
      "a later version of an object",
      latin1(pdfOf(5), "2 0 obj<</Type/Pages/Count 1/Kids[3 0 R]>>endobj trailer<</Root 1 0 R>>"),
      1,
    ],
    ["a stream whose length is negative", pdfOf(2, { extra: stream("", "ab", "-9") }), 2],
    ["a tree that leads back to itself", pdfOf(2, { kids: "3 0 R 2 0 R 4 0 R" }), 2],
    [
      "names with escapes, strings and comments",
      pdfOf(1, { kids: "%]>>\n3 0 R", page: "/A(\\)>>(x)>>)/T#79pe/Page" }),
      1,
    ],
    ["a tree that is missing: the pages that are there", pdfOf(4, { kids: "99 0 R", count: 1 }), 4],
    ["a tree that is missing: its own count", pdfOf(1, { kids: "99 0 R", count: 12 }), 12],
    ["no trailer", pdfOf(3).subarray(0, Buffer.from(pdfOf(3)).indexOf("trailer")), 3],
    ["no pages", latin1("%PDF-1.7\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n"), undefined],
    ["nothing but a header", latin1("%PDF-1.7\n"), undefined],
  ])("%s", (_, bytes, pages) => {
    expect(sniff(bytes)).toEqual(pages === undefined ? pdf : { ...pdf, pages });
  });
});

describe("encryption", () => {
  // Made by qpdf 11.3 of a page without content; the passwords are "" or "u", and "o".
  const id = "/ID[<31415926535897932384626433832795><31415926535897932384626433832795>]";
  const owner = "2a2f0a1990192c60114730bdcd39f37828a53c89a340dd473c85299dc5258e1c";
  const openOwner = "77b8fb098022d3ab34237ea5643c08710ea5123fc5f88bf993a68cca5f12b40f";
  const rest = "0122456a91bae5134273a6db134c87c4";
  const entries = (version: number, revision: number, length: number, o: string, u: string, more = "") =>
    `/Filter/Standard/V ${version}/R ${revision}/Length ${length}/P -4/O<${o}>/U<${u}>${more}`;
  const open: readonly (readonly [string, string])[] = [
    [
      "40 bits of RC4",
      entries(
        1,
        2,
        40,
        "d8a81f2f756b03f0e776376607dc67c098531ac3e51f6e5cf0fc1473b1ce0975",
        "b5a466befae4c5de775003b0de5729182cdd155787a66a8a571d12f966286f2d",
      ),
    ],
    ["128 bits of RC4", entries(2, 3, 128, openOwner, `b877678d12cd09ae5480e3754cad75ba${rest}`)],
    ["AES", entries(4, 4, 128, openOwner, `b877678d12cd09ae5480e3754cad75ba${rest}`)],
    [
      "AES but for metadata",
      entries(4, 4, 128, openOwner, `f5d567fc565c4688dc7c91c0a8ae0a60${rest}`, "/EncryptMetadata false"),
    ],
    [
      "256 bits of AES, revision 5",
      entries(
        5,
        5,
        256,
        "00",
        "40aeb0ae6ad96aaf6649bf94318d3760468e27ce6d3ee78dfe4b01f989d18a2054ba4af26276108e55d7db177202785b",
      ),
    ],
    [
      "256 bits of AES",
      entries(
        5,
        6,
        256,
        "00",
        "b7e0f2bf354ead39e8e1e58c62f042ee7067de2eb5fa67aaba6275eec0145c764baadcdee31ac77a2391b7d201dba922",
      ),
    ],
  ];
  const locked: readonly (readonly [string, string])[] = [
    [
      "40 bits of RC4",
      entries(
        1,
        2,
        40,
        "853fee3f6550fc3bc212797eaed99cc9be53347583a738e25fdfb1242bf93366",
        "5c78313a3f3f17efd751ded6e1f69b40e384ea413e49df3af00c031a9f4185c0",
      ),
    ],
    ["128 bits of RC4", entries(2, 3, 128, owner, `fbe50a471395e24b4e73472e36a4abf0${rest}`)],
    ["AES", entries(4, 4, 128, owner, `fbe50a471395e24b4e73472e36a4abf0${rest}`)],
    [
      "256 bits of AES, revision 5",
      entries(
        5,
        5,
        256,
        "00",
        "dc81cec3a2daff03fd86423dfeb0378974d1caa30099d8a0c0ef5acc1b306c171c5a9b0f1bee1b07a1129ff4256f2a28",
      ),
    ],
    [
      "256 bits of AES",
      entries(
        5,
        6,
        256,
        "00",
        "d6b1df104516978a37c999153a4a902ec6a7641be7344a61150880e86ba9d4629990a4767414dd2b55cc75e045d7ef4b",
      ),
    ],
    ["entries that are none", entries(2, 3, 128, "00", "00")],
    ["a certificate", "/Filter/Adobe.PubSec/V 4"],
    ["a method that is not known", entries(9, 9, 128, openOwner, rest)],
  ];

  const isEncrypted = { ...pdf, pages: 2, encrypted: true };

  test.each(open)("that opens without a password: %s", async (_, encrypt) => {
    for (const bytes of [
      pdfOf(2, { trailer: `/Encrypt<<${encrypt}>>${id}` }),
      pdfOf(2, { trailer: `/Encrypt 50 0 R${id}`, extra: `50 0 obj<<${encrypt}>>endobj\n` }),
    ]) {
      expect(sniff(bytes)).toEqual(isEncrypted);
      expect(await needsPassword(bytes)).toBe(false);
    }
  });

  test.each(locked)("that needs a password: %s", async (_, encrypt) => {
    const bytes = pdfOf(2, { trailer: `/Encrypt<<${encrypt}>>${id}` });
    expect(sniff(bytes)).toEqual(isEncrypted);
    expect(await needsPassword(bytes)).toBe(true);
  });

  test("that the platform cannot decide", async () => {
    const bytes = pdfOf(2, { trailer: `/Encrypt<<${locked[4]?.[1]}>>${id}` });
    vi.stubGlobal("crypto", {});
    try {
      expect(await needsPassword(bytes)).toBe(false);
    } finally {
      vi.unstubAllGlobals();
    }
  });

  test("whose pages are in encrypted objects: they are unknown", () => {
    const bytes = pdfOf(5, { packed: true, trailer: `/Encrypt<<${open[1]?.[1]}>>${id}` });
    expect(sniff(bytes)).toEqual({ ...pdf, encrypted: true });
  });

  test("that an earlier version had, or none", () => {
    expect(sniff(pdfOf(2, { trailer: "/Encrypt null" }))).toEqual({ ...pdf, pages: 2 });
  });
});

describe("hostile files", () => {
  it("never throw", async () => {
    const files = fc
      .record({ pages: fc.integer({ min: 1, max: 5 }), packed: fc.boolean() })
      .map(({ pages, packed }) =>
        pdfOf(pages, { packed, trailer: "/Encrypt<</Filter/Standard/V 5/R 6/U(x)>>" }),
      );
    await fc.assert(
      fc.asyncProperty(files, damage, async (bytes, changes) => {
        const media = sniff(damaged(bytes, changes));
        expect(await needsPassword(damaged(bytes, changes))).toBe(true);
        if (media?.kind === "pdf") expect(media.pages ?? 1).toBeGreaterThan(0);
      }),
      { numRuns: 300 },
    );
  });

  test.each<[string, Uint8Array]>([
    ["deep nesting", latin1("%PDF-1.7\n1 0 obj", "<</A".repeat(50_000))],
    ["deep arrays", latin1("%PDF-1.7\n1 0 obj<</Kids", "[".repeat(100_000), ">>")],
    ["a string without an end, in each object", latin1("%PDF-1.7\n", "1 0 obj<</A(".repeat(20_000))],
    ["streams without an end", latin1("%PDF-1.7\n", "1 0 obj<<>>stream\n".repeat(20_000))],
    ["objects in one comment", latin1("%PDF-1.7\n", "1 0 obj%".repeat(40_000))],
    ["trailers in one comment", latin1("%PDF-1.7\n", "trailer%".repeat(40_000))],
    [
      "a length that leads back",
      latin1("%PDF-1.7\nendstream", "1 0 obj<</Length -30>>stream\nendstream\n".repeat(5000)),
    ],
    ["a long array", latin1("%PDF-1.7\n1 0 obj<</Kids[", "1 ".repeat(1_200_000), "]>>")],
    [
      "many streams of objects",
      latin1("%PDF-1.7\n", "1 0 obj<</Type/ObjStm>>stream\nendstream ".repeat(20_000)),
    ],
    ["a huge length", pdfOf(2, { extra: stream("", "ab", "99999999999999999999") }).subarray(0, 90)],
    [
      "objects that share a place",
      pdfOf(1, {
        kids: Array.from({ length: 3000 }, (_, at) => `${at + 100} 0 R`).join(" "),
        extra: objectStream(
          Array.from({ length: 3000 }, (_, at) => [at + 100, `<</A[${"1 ".repeat(20_000)}]`]),
          0,
        ),
      }),
    ],
    ["an object stream that inflates without an end", pdfOf(1, { kids: "9 0 R", extra: bomb() })],
  ])("end: %s", (_, bytes) => {
    expect(sniff(bytes)?.kind).toBe("pdf");
  });

  function bomb(): Uint8Array {
    const data = deflateSync(Buffer.alloc(20 << 20, 0x20));
    return stream("/Type/ObjStm/N 1/First 9999999999/Filter/FlateDecode", data);
  }
});

describe("inflate", () => {
  const text = fc.oneof(
    fc.uint8Array({ maxLength: 2000 }),
    fc.array(fc.constantFrom(97, 98, 99), { maxLength: 4000 }).map((bytes) => Uint8Array.from(bytes)),
  );
  const options = fc.record({ level: fc.constantFrom(0, 1, 6, 9), strategy: fc.constantFrom(0, 2, 4) });

  it("gives what zlib deflated, or its beginning", () => {
    fc.assert(
      fc.property(text, options, fc.nat({ max: 4000 }), (bytes, how, most) => {
        const data = Uint8Array.from(deflateSync(bytes, how));
        const all = latin1("ab", data, "cd");
        expect(inflate(all, 2, 2 + data.length, 10_000)).toEqual(bytes);
        const part = inflate(all, 2, 2 + data.length, most);
        expect(part).toEqual(bytes.subarray(0, part.length));
        expect(part.length).toBeLessThanOrEqual(most);
      }),
      { numRuns: 200 },
    );
  });

  it("does not throw on any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(inflate(bytes, 0, bytes.length, 5000).length).toBeLessThanOrEqual(5000);
      }),
      { numRuns: 300 },
    );
  });
});
