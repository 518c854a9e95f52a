import fc from "fast-check";
import { isResource } from "sessile/content";
import { describe, expect, test } from "vitest";
import { resource } from "../arbitraries/messages.js";
import { jsonValue } from "../arbitraries/values.js";

const stored = {
  resourceId: "res_0123456789abcdef",
  kind: "file",
  mediaType: "text/plain",
  size: 1,
  blob: `blake3:${"0".repeat(64)}`,
  contentSha256: "0".repeat(64),
  source: "tool",
};
const linked = { resourceId: "res_0123456789abcdef", kind: "link", source: "link", uri: "https://example.com" };

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

  test.each(["resourceId", "source", "uri"])("wants the %s of a linked", (field) => {
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
