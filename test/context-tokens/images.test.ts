import fc from "fast-check";
import { extractImagePaths, parseContextTokens } from "sessile/context-tokens";
import { describe, expect, test } from "vitest";
import { tokenish } from "../arbitraries/tokens.js";

describe("extractImagePaths", () => {
  test("gives images in the order of their tokens, duplicates too", () => {
    const source =
      "hello\n<<context:image:/c.png>>>\nworld\n<<context:text:/b.txt>>>\n<<context:image:/a.jpg>>><<context:image:/c.png>>>";
    expect(extractImagePaths(source)).toEqual(["/c.png", "/a.jpg", "/c.png"]);
  });

  test("leaves out what is broken or outside", () => {
    const source = "<<context:image:/etc/x>>><<context:image:a.png>>><<context:image:/ctx/a.png>>>";
    expect(extractImagePaths(source, { contextDirectory: "/ctx" })).toEqual(["/ctx/a.png"]);
  });

  test("agrees with the segments, for any string", () => {
    fc.assert(
      fc.property(tokenish, (source) => {
        const paths: string[] = [];
        for (const segment of parseContextTokens(source, { contextDirectory: "/ctx" })) {
          if (segment.type === "token" && segment.kind === "image") paths.push(segment.path);
        }
        expect(extractImagePaths(source, { contextDirectory: "/ctx" })).toEqual(paths);
      }),
    );
  });
});
