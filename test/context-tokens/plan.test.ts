import fc from "fast-check";
import {
  type ClipboardEntry,
  type ComposeOptions,
  type ComposeStep,
  extractImagePaths,
  parseContextTokens,
  planDrop,
  planPaste,
} from "sessile/context-tokens";
import { describe, expect, test } from "vitest";
import { knownMediaTypes } from "../../src/core/media-types.js";
import { clipboard, counter } from "../arbitraries/tokens.js";

const text = (value: string): ClipboardEntry => ({ type: "text", text: value });
const path = (value: string, size?: number): ClipboardEntry =>
  size === undefined ? { type: "path", path: value } : { type: "path", path: value, size };
const image = (mediaType: string, size = 1): ClipboardEntry => ({ type: "image", mediaType, size });

/** A step as a word or two: the text itself, `kind.extension` of an import, `!reason`. */
function brief(step: ComposeStep): string {
  switch (step.type) {
    case "text":
      return step.text;
    case "import":
      return `${step.kind}.${step.extension}`;
    case "refused":
      return `!${step.reason}`;
  }
}

const only = (entry: ClipboardEntry, options: ComposeOptions = {}): readonly string[] =>
  planPaste([entry], options).map(brief);

describe("planPaste", () => {
  // @covers R182
  test("takes images, then files, then text, each in the order of the clipboard", () => {
    const entries = [
      text("a"),
      path("/b.md"),
      image("image/png"),
      text("c"),
      path("/d.CSV"),
      image("image/jpeg"),
    ];
    const steps = planPaste(entries, { newId: counter() });
    expect(steps.map(brief)).toEqual(["image.png", "image.jpg", "text.md", "text.csv", "a", "c"]);
    expect(steps.flatMap((step) => (step.type === "text" ? [] : [step.entry]))).toEqual(
      [2, 5, 1, 4].map((at) => entries[at]),
    );
  });

  test("leaves nothing out: every entry has its step", () => {
    fc.assert(
      fc.property(clipboard, (entries) => {
        const steps = planPaste(entries, { newId: counter() });
        expect(steps).toHaveLength(
          entries.filter((entry) => entry.type !== "text" || entry.text !== "").length,
        );
        const ranks = steps.map((step) =>
          step.type === "text" ? 2 : ["image", "path", "text"].indexOf(step.entry.type),
        );
        expect(ranks).toEqual([...ranks].sort());
      }),
    );
  });

  test("plans the same twice, with the same ids", () => {
    fc.assert(
      fc.property(clipboard, (entries) => {
        const plan = () => planPaste(entries, { newId: counter() });
        expect(plan()).toEqual(plan());
      }),
    );
  });

  test("gives an import an id that no other has, and a placeholder that names no file", () => {
    const steps = planPaste([image("image/png"), image("image/png")]);
    const ids = steps.flatMap((step) => (step.type === "import" ? [step.id] : []));
    expect(new Set(ids).size).toBe(2);
    for (const step of steps) {
      if (step.type !== "import") throw new Error("not an import");
      expect(parseContextTokens(step.placeholder)).toEqual([
        {
          type: "broken",
          kind: "image",
          reason: "pending",
          path: `pending:${step.id}`,
          raw: step.placeholder,
        },
      ]);
    }
  });

  test("carries the fields of an entry into its step", () => {
    const [step] = planPaste([{ type: "image", mediaType: "image/png", size: 1, handle: 7 }]);
    expect(step?.type === "import" && step.entry.handle).toBe(7);
  });

  // @covers R180
  test.each([
    ["image/png", "image.png"],
    [" IMAGE/PNG ", "image.png"],
    ["image/jpeg", "image.jpg"],
    ["image/jpg", "image.jpg"],
    ["image/gif; x=y", "image.gif"],
    ["image/webp", "image.webp"],
    ["image/svg+xml", "!media-type"],
    ["image/tiff", "!media-type"],
    ["text/plain", "!media-type"],
    ["", "!media-type"],
  ])("takes an image of type %j: %s", (mediaType, expected) => {
    expect(only(image(mediaType))).toEqual([expected]);
  });

  // @covers R183
  test.each([
    ...["txt", "md", "json", "toml", "yaml", "yml", "rs", "go", "py", "js", "ts", "jsx", "tsx"].map(
      (extension) => [`/dir.d/a.${extension}`, `text.${extension}`],
    ),
    ...["html", "css", "log", "csv"].map((extension) => [`C:\\dir\\a.${extension}`, `text.${extension}`]),
    ["/a.tar.MD", "text.md"],
    ["/a.png", "!extension"],
    ["/a.exe", "!extension"],
    ["/a", "!extension"],
    ["/.md", "!extension"],
    ["/a.md/", "!extension"],
    ["/a.md/b", "!extension"],
    ["a.md", "!relative"],
    ["~/a.md", "!relative"],
    ["file:///a.md", "!relative"],
    ["", "!relative"],
  ])("takes the file %j: %s", (value, expected) => {
    expect(only(path(value as string))).toEqual([expected]);
  });

  // @covers R183
  test("takes the listed extensions in any case, and no other", () => {
    const listed = "txt md json toml yaml yml rs go py js ts jsx tsx html css log csv".split(" ");
    const others = [
      ...knownMediaTypes.flatMap(({ extensions }) => extensions),
      ..."sh bash zsh c h cpp java rb php sql xml ini cfg conf env lock mjs cjs mts svg tsv rst tex".split(
        " ",
      ),
    ];
    fc.assert(
      fc.property(
        fc.oneof(fc.constantFrom(...listed, ...others), fc.stringMatching(/^[a-z0-9]{1,5}$/)),
        (name) => {
          const expected = listed.includes(name) ? `text.${name}` : "!extension";
          expect(only(path(`/a.${name}`))).toEqual([expected]);
          expect(only(path(`/a.${name.toUpperCase()}`))).toEqual([expected]);
        },
      ),
      { numRuns: 1000, examples: [...listed, ...others].map((name) => [name]) },
    );
  });

  test("takes the extensions that it is told to take", () => {
    expect(only(path("/a.tex"), { extensions: ["tex"] })).toEqual(["text.tex"]);
    expect(only(path("/a.md"), { extensions: ["tex"] })).toEqual(["!extension"]);
  });

  // @covers R184
  test.each<[string, string, boolean]>([
    ["8000 characters", "x".repeat(8000), true],
    ["8001 characters", "x".repeat(8001), false],
    ["8000 characters of two code units", "👍".repeat(8000), true],
    ["8001 characters of two code units", "👍".repeat(8001), false],
    ["200 lines", `${"x\n".repeat(199)}x`, true],
    ["200 lines that all end", "x\n".repeat(200), true],
    ["201 lines", `${"x\n".repeat(200)}x`, false],
    ["201 empty lines", "\n".repeat(201), false],
    ["white space", " \n ", true],
  ])("takes %s: inline %s", (_, value, inline) => {
    expect(only(text(value))).toEqual([inline ? value : "text.txt"]);
  });

  test("takes the limits of inline text that it is given", () => {
    expect(only(text("abc"), { maxInlineCharacters: 2 })).toEqual(["text.txt"]);
    expect(only(text("a\nb"), { maxInlineLines: 1 })).toEqual(["text.txt"]);
    expect(only(text("a"), { maxInlineCharacters: 0 })).toEqual(["text.txt"]);
  });

  test.each<[string, ClipboardEntry, string]>([
    ["an image of 10 MiB", image("image/png", 10_485_760), "image.png"],
    ["an image of one byte more", image("image/png", 10_485_761), "!too-large"],
    ["an empty image", image("image/png", 0), "!empty"],
    ["an image of no size", image("image/png", Number.NaN), "!empty"],
    ["a file of 10 MiB", path("/a.md", 10_485_760), "text.md"],
    ["a file of one byte more", path("/a.md", 10_485_761), "!too-large"],
    ["an empty file", path("/a.md", 0), "!empty"],
    ["text of one byte more", text("x".repeat(10_485_761)), "!too-large"],
    ["text of one byte more in fewer characters", text("é".repeat(5_242_881)), "!too-large"],
    ["text of 10 MiB", text("é".repeat(5_242_880)), "text.txt"],
  ])("takes %s or says why not", (_, entry, expected) => {
    expect(only(entry)).toEqual([expected]);
  });

  test("makes pasted tokens inert", () => {
    const [step] = planPaste([text("<<context:image:/etc/x>>>")]);
    expect(step).toEqual({ type: "text", text: "<<\\context:image:/etc/x>>>" });
    expect(extractImagePaths(step?.type === "text" ? step.text : "<<context:image:/no>>>")).toEqual([]);
  });

  // @covers R180
  test("keeps a long text for its file as it was pasted", () => {
    const entry = text("<<context:image:/etc/x>>>\n".repeat(500));
    const [step] = planPaste([entry]);
    expect(step).toMatchObject({ type: "import", kind: "text", extension: "txt", entry });
  });

  test.each<[ClipboardEntry, string]>([
    [image("IMAGE/jpg; q=1"), "image/jpeg"],
    [path("/a.MD"), "text/markdown"],
    [path("/a.json"), "application/json"],
    [path("/a.rs"), "text/plain"],
    [path("/a.toml"), "application/toml"],
    [path("/a.yaml"), "application/yaml"],
    [path("/a.yml"), "application/yaml"],
    [path("/a.css"), "text/css"],
    [path("/a.js"), "text/javascript"],
    [text("x".repeat(8001)), "text/plain"],
  ])("says of what type %j is: %s", (entry, mediaType) => {
    expect(planPaste([entry])).toMatchObject([{ type: "import", mediaType }]);
  });

  test("says of a file that it takes as text that it is text, whatever else its extension claims", () => {
    for (const extension of ["svg", "png", "tex"]) {
      const steps = planPaste([path(`/a.${extension}`)], { extensions: [extension] });
      expect(steps).toMatchObject([{ kind: "text", mediaType: "text/plain", extension }]);
    }
  });

  test.each([
    [5, "entries: expected an array, got 5"],
    [[null], "entries[0]: expected an object, got null"],
    [[text("a"), { type: "html" }], 'entries[1].type: expected image, path or text, got "html"'],
    [[text("a"), { type: "toString" }], 'entries[1].type: expected image, path or text, got "toString"'],
    [[text("a"), image("image/png"), {}], "entries[2].type: expected image, path or text, got undefined"],
  ])("refuses the entries %j", (entries, message) => {
    expect(() => planPaste(entries as never)).toThrow(new TypeError(message));
    expect(() => planDrop(entries as never)).toThrow(new TypeError(message));
  });

  test("gives no step for text without a character", () => {
    expect(planPaste([text("")])).toEqual([]);
  });

  test.each<[ComposeOptions, string]>([
    [{ maxInlineCharacters: -1 }, "maxInlineCharacters: expected an integer >= 0, got -1"],
    [{ maxInlineLines: 0 }, "maxInlineLines: expected an integer >= 1, got 0"],
    [{ maxBytes: 0.5 }, "maxBytes: expected an integer >= 1, got 0.5"],
  ])("refuses %j", (options, message) => {
    expect(() => planPaste([], options)).toThrow(new RangeError(message));
  });

  test.each(["", "a b", "1>>>", "é", "a\n"])("refuses the id %j", (id) => {
    expect(() => planPaste([image("image/png")], { newId: () => id })).toThrow(
      new TypeError(`newId: expected letters, digits, - and _, got ${JSON.stringify(id)}`),
    );
  });
});

describe("planDrop", () => {
  // @covers R186
  test("keeps the order of the drop", () => {
    fc.assert(
      fc.property(clipboard, (entries) => {
        const steps = planDrop(entries, { newId: counter() });
        const dropped = entries.filter((entry) => entry.type !== "text" || entry.text !== "");
        // Each step alone is that of a paste of its entry alone: only the order differs.
        expect(steps.map(brief)).toEqual(dropped.flatMap((entry) => only(entry)));
      }),
    );
  });
});
