import fc from "fast-check";
import { blockResource, describeResource, isResource, type LinkResource, type StoredResource } from "sessile";
import { describe, expect, test } from "vitest";
import { describeImage } from "../../src/content/internal.js";
import { imageBlock, resource, textBlock } from "../arbitraries/messages.js";
import { jsonValue, text } from "../arbitraries/values.js";

const image: StoredResource = {
  resourceId: "res_0123456789abcdef",
  kind: "image",
  name: "screen.png",
  mediaType: "image/png",
  size: 14_200,
  blob: `sha256:${"ab".repeat(32)}`,
  contentSha256: "ab".repeat(32),
  source: "upload",
};
const link: LinkResource = {
  resourceId: "res_0123456789abcdef",
  kind: "link",
  source: "link",
  uri: "https://example.com/a",
};

describe("describeResource", () => {
  test("gives the descriptor of the format", () => {
    expect(describeResource(image)).toBe("[image screen.png, image/png, 14 kB, res_0123456789abcdef]");
  });

  test("leaves out a name that is not there", () => {
    const { name: _name, ...unnamed } = image;
    expect(describeResource(unnamed)).toBe("[image, image/png, 14 kB, res_0123456789abcdef]");
    expect(describeResource({ ...image, name: " \n" })).toBe(
      "[image, image/png, 14 kB, res_0123456789abcdef]",
    );
  });

  test("describes a link by its name and address", () => {
    expect(describeResource(link)).toBe("[link https://example.com/a, res_0123456789abcdef]");
    expect(describeResource({ ...link, name: "docs" })).toBe(
      "[link docs, https://example.com/a, res_0123456789abcdef]",
    );
  });

  test.each([
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1 kB"],
    [999_499, "999 kB"],
    [999_500, "1.0 MB"],
    [1_549_999, "1.5 MB"],
    [5_000_000_000, "5000.0 MB"],
  ])("counts %d bytes as %s", (size, count) => {
    expect(describeResource({ ...image, size })).toContain(`, ${count}, `);
  });

  test("is safe for a prompt, whatever the name says", () => {
    fc.assert(
      fc.property(resource, fc.option(text, { nil: undefined }), (base, name) => {
        const line = describeResource(name === undefined ? base : { ...base, name });
        expect(line).toMatch(/^\[[^[\]]*\]$/);
        expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        expect(line.isWellFormed()).toBe(true);
      }),
    );
  });

  test("bounds the name in characters, and never cuts one in two", () => {
    const line = describeResource({ ...image, name: "😀".repeat(100) });
    expect(line).toBe(`[image ${"😀".repeat(79)}…, image/png, 14 kB, res_0123456789abcdef]`);
    expect(describeResource({ ...image, name: "😀".repeat(80) })).toContain("😀".repeat(80));
  });

  test("does not tell the digest", () => {
    fc.assert(
      fc.property(resource, (any) => {
        const digest = any.kind === "link" ? undefined : any.contentSha256;
        if (digest !== undefined) expect(describeResource(any)).not.toContain(digest);
      }),
    );
  });
});

describe("blockResource", () => {
  test("gives what a text block stands for, and nothing for others", () => {
    fc.assert(
      fc.property(textBlock, imageBlock, (block, plain) => {
        expect(blockResource(block)).toBe(block.resource);
        expect(blockResource(plain)).toBeUndefined();
      }),
    );
  });

  test("gives nothing for a block that only looks like an attachment", () => {
    expect(blockResource({ type: "thinking", resource: image })).toBeUndefined();
  });
});

test("an image that is inline has a descriptor without an id, which its type cannot break", () => {
  expect(describeImage({ mediaType: "image/png", size: 14_000 })).toBe("[image, image/png, 14 kB]");
  expect(describeImage({ mediaType: "a, ]\n", size: 1 })).toBe("[image, a, _, 1 B]");
});

const stored = {
  resourceId: "res_0123456789abcdef",
  kind: "file",
  mediaType: "text/plain",
  size: 1,
  blob: `blake3:${"0".repeat(64)}`,
  contentSha256: "0".repeat(64),
  source: "tool",
};
const linked = {
  resourceId: "res_0123456789abcdef",
  kind: "link",
  source: "link",
  uri: "https://example.com",
};

describe("isResource", () => {
  test("takes every descriptor, with fields of later versions too", () => {
    fc.assert(
      fc.property(resource, jsonValue, (descriptor, later) => {
        expect(isResource(descriptor)).toBe(true);
        expect(isResource({ ...descriptor, later })).toBe(true);
      }),
    );
  });

  test("takes no other JSON", () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        expect(isResource(value)).toBe(false);
      }),
    );
  });

  test.each(["resourceId", "kind", "mediaType", "size", "blob", "contentSha256", "source"])(
    "wants the %s of a stored one",
    (field) => {
      expect(isResource(stored)).toBe(true);
      expect(isResource({ ...stored, [field]: undefined })).toBe(false);
      expect(isResource({ ...stored, [field]: {} })).toBe(false);
    },
  );

  test.each(["resourceId", "source", "uri"])("wants the %s of a link", (field) => {
    expect(isResource(linked)).toBe(true);
    expect(isResource({ ...linked, [field]: undefined })).toBe(false);
  });

  test.each([
    { resourceId: "res_0123456789ABCDEF" },
    { resourceId: "res_0123456789abcde" },
    { resourceId: "res_0123456789abcdef\n" },
    { kind: "video" },
    { size: Number.NaN },
    { blob: `sha1:${"0".repeat(64)}` },
    { blob: `sha256:${"0".repeat(63)}` },
    { blob: `sha256:${"A".repeat(64)}` },
    { contentSha256: `sha256:${"0".repeat(64)}` },
    { source: 5 },
    { name: 5 },
    { width: "10" },
    { declared: "image/png" },
    { declared: { size: "1" } },
  ])("refuses %j", (wrong) => {
    expect(isResource({ ...stored, ...wrong })).toBe(false);
  });
});
