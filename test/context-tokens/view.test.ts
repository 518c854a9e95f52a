import fc from "fast-check";
import { type FileFacts, parseContextTokens, renderSegments, type SegmentView } from "sessile/context-tokens";
import { describe, expect, test } from "vitest";
import { tokenish } from "../arbitraries/tokens.js";

const files: Readonly<Record<string, FileFacts>> = {
  "/ctx/blobs/a.png": { size: 14_200, thumbnail: "thumb:a" },
  "/ctx/blobs/plain.png": { size: 10 },
  "/ctx/blobs/b.txt": { size: 9000, name: "pasted text" },
  "/ctx/blobs/c.zip": { size: 1, thumbnail: "thumb:c" },
};

const view = (source: string): readonly SegmentView[] =>
  renderSegments(parseContextTokens(source, { contextDirectory: "/ctx" }), (path) => files[path]);

describe("renderSegments", () => {
  // @covers R188 › shows a thumbnail for an image
  // @covers R188 › shows a chip with name and size for text
  // @covers R190 › shows a broken one for a missing file
  // @covers R196 › shows a broken one for a relative path
  test.each<[string, string, SegmentView]>([
    ["text with its escapes undone", "<<\\context: hi", { type: "text", text: "<<context: hi" }],
    [
      "a thumbnail for an image",
      "<<context:image:/ctx/blobs/a.png>>>",
      { type: "thumbnail", path: "/ctx/blobs/a.png", name: "a.png", size: 14_200, thumbnail: "thumb:a" },
    ],
    [
      "a chip for an image without a thumbnail",
      "<<context:image:/ctx/blobs/plain.png>>>",
      { type: "chip", kind: "image", path: "/ctx/blobs/plain.png", name: "plain.png", size: 10 },
    ],
    [
      "a chip with name and size for text",
      "<<context:text:/ctx/blobs/b.txt>>>",
      { type: "chip", kind: "text", path: "/ctx/blobs/b.txt", name: "pasted text", size: 9000 },
    ],
    [
      "a chip for a file, whatever its thumbnail",
      "<<context:file:/ctx/blobs/c.zip>>>",
      { type: "chip", kind: "file", path: "/ctx/blobs/c.zip", name: "c.zip", size: 1 },
    ],
    [
      "a broken one for a missing file",
      "<<context:image:/ctx/blobs/gone.png>>>",
      { type: "broken", kind: "image", reason: "missing", name: "gone.png" },
    ],
    [
      "a broken one for a file outside",
      "<<context:image:/etc/x.png>>>",
      { type: "broken", kind: "image", reason: "outside", name: "x.png" },
    ],
    [
      "a broken one for a relative path",
      "<<context:text:d\\b.txt>>>",
      { type: "broken", kind: "text", reason: "relative", name: "b.txt" },
    ],
    [
      "a broken one for no path",
      "<<context:file:>>>",
      { type: "broken", kind: "file", reason: "empty", name: "" },
    ],
    [
      "a pending one for a placeholder",
      "<<context:image:pending:1>>>",
      { type: "pending", kind: "image", id: "1" },
    ],
    [
      "a broken one with its note for a failed import",
      "<<context:image:failed:a.png: no space on /dev/x>>>",
      { type: "broken", kind: "image", reason: "failed", name: "a.png: no space on /dev/x" },
    ],
  ])("shows %s", (_, source, expected) => {
    expect(view(source)).toEqual([expected]);
  });

  // @covers R189
  test("shows every segment in order, and no token as it is written", () => {
    fc.assert(
      fc.property(tokenish, fc.boolean(), (source, there) => {
        const segments = parseContextTokens(source, { contextDirectory: "/ctx" });
        const views = renderSegments(segments, () => (there ? { size: 1, thumbnail: "t" } : undefined));
        expect(views).toHaveLength(segments.length);
        views.forEach((shown, at) => {
          const segment = segments[at];
          expect(shown.type === "text").toBe(segment?.type === "text");
          if (shown.type !== "text") expect(JSON.stringify(shown)).not.toContain("<<context:");
        });
      }),
      { numRuns: 500 },
    );
  });

  test("asks for facts of usable paths only", () => {
    const asked: string[] = [];
    const source = "<<context:image:/etc/x>>><<context:image:/ctx/a.png>>><<context:image:pending:1>>>";
    renderSegments(parseContextTokens(source, { contextDirectory: "/ctx" }), (path) => {
      asked.push(path);
      return undefined;
    });
    expect(asked).toEqual(["/ctx/a.png"]);
  });
});
