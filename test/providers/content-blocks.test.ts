import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contentBlock } from "../../src/providers/internal.js";
import { mediaPart } from "../../src/providers/media-part.js";
import { text } from "../arbitraries/values.js";
import { bytesOf } from "../attachments/samples.js";
import { badUris, blankNames } from "../support/providers/content-blocks.js";
import { loneSurrogates } from "../support/providers/json-walk.js";

const origin = { entryId: "m0", item: 0 };
const told = "[link]";
const linked = (uri: string, name?: string) =>
  contentBlock({
    type: "text",
    text: told,
    link: {
      resourceId: "res_0000000000000000",
      kind: "link",
      source: "link",
      uri,
      ...(name === undefined ? {} : { name }),
    },
    origin,
  });

describe("contentBlock", () => {
  test("points to a link by its name, else by its address", () => {
    expect(linked("https://example.com/a", " A\npage ")).toEqual({
      type: "resource_link",
      uri: "https://example.com/a",
      name: "A page",
    });
    expect(linked("urn:a:b", "\u200b")).toEqual({ type: "resource_link", uri: "urn:a:b", name: "urn:a:b" });
  });

  test.each(["/etc/passwd", "https://example.com/é", "a b:c", "https:"])("leaves the words of %s", (uri) => {
    expect(linked(uri)).toEqual({ type: "text", text: told });
  });

  test("gives valid addresses and names, whatever things are called", () => {
    fc.assert(
      fc.property(text, text, (uri, name) => {
        const document = mediaPart({
          kind: "document",
          mediaType: "text/plain",
          bytes: bytesOf("a"),
          name,
          origin,
        });
        const blocks = [linked(uri, name), contentBlock(document)].map((block) => ({ path: "", block }));
        expect([...badUris(blocks), ...blankNames(blocks)]).toEqual([]);
        expect(loneSurrogates(blocks)).toEqual([]);
      }),
    );
  });

  test("takes no reference", () => {
    const reference = { kind: "file" as const, id: "file_1" };
    const resource = {
      resourceId: "res_0000000000000000",
      kind: "image" as const,
      source: "upload" as const,
      mediaType: "image/png",
      size: 1,
      blob: "sha256:0" as const,
      contentSha256: "0",
    };
    const part = {
      type: "reference" as const,
      kind: "image" as const,
      mediaType: "image/png",
      reference,
      resource,
      origin,
    };
    expect(() => contentBlock(part)).toThrow("a reference");
  });
});
