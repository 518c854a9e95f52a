import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { type ResolveAttachmentsOptions, resolveAttachmentsToContentBlocks } from "sessile/claude-agent";
import { type LimitProfile, limitProfiles } from "sessile/limits";
import { beforeEach, describe, expect, test } from "vitest";
import {
  type AttachmentFiles,
  type FileContent,
  nodeAttachmentFiles,
  readAttachmentContent,
  resolveWith,
  targetCheck,
} from "../../../../src/frameworks/claude-agent/node/attachments.js";
import { bytesOf, gif, gifFrame, jpeg, png, pngChunk, sof, vp8, webp } from "../../../support/media-files.js";
import { pdfOf } from "../../../support/pdf-files.js";
import { AttachmentFolder, codes, firstText, MiB, named } from "./attachment-files.js";

let folder: AttachmentFolder;
beforeEach(() => {
  folder = new AttachmentFolder();
});

const small = { width: 20, height: 10 };
const resolve = (paths: readonly string[], options?: ResolveAttachmentsOptions) =>
  resolveAttachmentsToContentBlocks("Hello", paths, options);
/** The code of the only file's error, "taken" without. */
async function outcome(path: string, options?: ResolveAttachmentsOptions): Promise<string> {
  const { errors } = await resolve([path], options);
  return errors[0]?.code ?? "taken";
}

describe("resolveAttachmentsToContentBlocks", () => {
  // @covers R158 R161
  test("makes a block of each of the nine extensions, in order and behind the text", async () => {
    const image = { "a.png": png(small), "b.jpg": jpeg(sof(small)), "c.JPEG": jpeg(sof(small)) };
    const more = { "d.gif": gif(small, [gifFrame(10)]), "e.webp": webp(vp8(small)) };
    const files = {
      ...image,
      ...more,
      "f.pdf": bytesOf("%PDF-1.7"),
      "g.txt": "ä\n",
      "h.md": "# h",
      "i.csv": "1;2",
    };
    const paths = Object.entries(files).map(([name, contents]) => folder.write(name, contents));
    const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
    const imageOf = (media_type: string, bytes: Uint8Array) => {
      return { type: "image", source: { type: "base64", media_type, data: base64(bytes) } };
    };
    const textOf = (title: string, data: string) => {
      return { type: "document", source: { type: "text", media_type: "text/plain", data }, title };
    };
    expect(await resolve(paths)).toEqual({
      blocks: [
        { type: "text", text: "Hello" },
        imageOf("image/png", files["a.png"]),
        imageOf("image/jpeg", files["b.jpg"]),
        imageOf("image/jpeg", files["c.JPEG"]),
        imageOf("image/gif", files["d.gif"]),
        imageOf("image/webp", files["e.webp"]),
        {
          type: "document",
          source: { type: "base64", media_type: "application/pdf", data: base64(files["f.pdf"]) },
          title: "f.pdf",
        },
        textOf("g.txt", "ä\n"),
        textOf("h.md", "# h"),
        textOf("i.csv", "1;2"),
      ],
      errors: [],
    });
  });

  test("gives files alone where the text is blank, and nothing where there is nothing", async () => {
    const path = folder.write("a.txt", "x");
    for (const blank of ["", " \n\t"]) {
      const { blocks } = await resolveAttachmentsToContentBlocks(blank, [path]);
      expect(blocks.map(({ type }) => type)).toEqual(["document"]);
      expect(await resolveAttachmentsToContentBlocks(blank, [])).toEqual({ blocks: [], errors: [] });
    }
  });

  // @covers R162
  test("puts one warning in front where some fail, and takes the others", async () => {
    const paths = [folder.write("a.bin", "x"), folder.write("b.txt", "x"), folder.write("c.exe", "x")];
    const { blocks, errors } = await resolve(paths);
    expect(blocks.map(({ type }) => type)).toEqual(["text", "text", "document"]);
    expect(errors.map(({ path }) => path)).toEqual([paths[0], paths[2]]);
    expect(firstText(blocks)).toContain("2 of 3");
    expect(blocks[1]).toEqual({ type: "text", text: "Hello" });
  });

  test("names three of four that are bad, and 1 additional", async () => {
    const paths = [1, 2, 3, 4].map((number) => join(folder.dir, `${number}.bin`));
    const warning = firstText((await resolve(paths)).blocks);
    expect(warning.split("\n").filter((line) => line.startsWith("- "))).toHaveLength(3);
    expect(warning).toContain("1 additional");
    expect(warning).not.toContain("4.bin");
  });

  test("shows the model no absolute path, whatever is wrong", async () => {
    mkdirSync(join(folder.dir, "dir.txt"));
    symlinkSync(folder.write("real.txt", "x"), join(folder.dir, "link.txt"));
    const made = [
      folder.write("empty.txt", ""),
      folder.write("fake.png", "x"),
      folder.text("large.txt", 10 * MiB + 1),
    ];
    const paths = [
      ...made,
      ...["dir.txt", "link.txt", "none.txt", "a.bin"].map((name) => join(folder.dir, name)),
    ];
    for (const path of paths) {
      const { blocks, errors } = await resolve([path, "C:\\Users\\me\\secret\\x.txt", "/\0/me.txt"]);
      expect(errors).toHaveLength(3);
      for (const text of [firstText(blocks), ...errors.map(({ reason }) => reason)]) {
        expect(text).not.toMatch(/(?:^|[\s"])\/|\\|tmp|sessile-|Users|secret/);
      }
    }
  });

  test("asks for what it was promised, and throws the errors that are not of a file", async () => {
    await expect(resolveAttachmentsToContentBlocks(5 as never, [])).rejects.toThrow(
      "message: expected a string",
    );
    await expect(resolve("/a.txt" as never)).rejects.toThrow("attachmentPaths: expected an array");
    await expect(resolve(["/a.txt", 5 as never])).rejects.toThrow(
      "attachmentPaths[1]: expected a string, got 5",
    );
    const limits = { profile: limitProfiles.anthropic, transport: "pigeon" };
    await expect(resolve([], { limits })).rejects.toThrow(RangeError);
    await expect(resolve([folder.write("a.txt", "x")], { roots: ["relative"] })).rejects.toThrow("roots[0]");
    const signal = AbortSignal.abort(new Error("enough"));
    for (const path of ["/a.txt", "a.bin"]) {
      await expect(resolve([path], { signal })).rejects.toThrow("enough");
    }
  });

  test("makes text well-formed", async () => {
    expect((await resolveAttachmentsToContentBlocks("a\ud800", [])).blocks).toEqual([
      { type: "text", text: "a\ufffd" },
    ]);
  });
});
describe("resolveAttachmentsToContentBlocks, the budget of a turn", () => {
  const { text, pdf } = { text: "text", pdf: "pdf" } as const;
  // @covers R166
  test.each([
    [[9, 9, 1], [2]],
    [[1, 9, 9], [2]],
    [[10, 9, 8], [1]],
    [[9, 9], []],
    [[10, 8], []],
    [
      [9, 9, 1, 1],
      [2, 3],
    ],
    [[10, 11, 8], [1]],
  ])(
    "of %j MiB refuses those at %j, of text as of PDF, with a target and without",
    async (sizes, refused) => {
      for (const kind of [text, pdf]) {
        const paths = sizes.map((size, at) =>
          folder[kind](`${at}.${kind === "text" ? "txt" : "pdf"}`, size * MiB),
        );
        for (const options of [{}, { limits: null }]) {
          const { blocks, errors } = await resolve(paths, options);
          expect(errors.map(({ path }) => paths.indexOf(path))).toEqual(refused);
          expect(named(blocks)).toHaveLength(sizes.length - refused.length);
        }
      }
    },
  );

  test("is 18 MiB to the byte, with room for nothing behind it but what has no bytes", async () => {
    const nine = folder.text("9.txt", 9 * MiB);
    const [one, empty] = [folder.text("one.txt", 1), folder.text("empty.txt", 0)];
    const { errors } = await resolve([nine, nine, one, empty]);
    expect(codes(errors)).toEqual(["TURN_BUDGET_EXCEEDED", "EMPTY"]);
    const less = await resolve([nine, folder.text("less.txt", 9 * MiB - 1), one, one]);
    expect(codes(less.errors)).toEqual(["TURN_BUDGET_EXCEEDED"]);
  });

  test("counts a file that is named twice each time, and one that is refused not at all", async () => {
    const seven = folder.text("7.txt", 7 * MiB);
    expect(codes((await resolve([seven, seven, seven])).errors)).toEqual(["TURN_BUDGET_EXCEEDED"]);
    const bad = folder.pdf("bad.txt", 9 * MiB);
    const nine = folder.text("9.txt", 9 * MiB);
    expect(codes((await resolve([bad, nine, bad, nine])).errors)).toEqual([
      "CONTENT_MISMATCH",
      "CONTENT_MISMATCH",
    ]);
    const large = folder.write("large.png", bytesOf(png(small), new Uint8Array(8e6)));
    expect(codes((await resolve([large, nine, nine])).errors)).toEqual(["TARGET_LIMIT"]);
  });

  test("never asks for more than what the turn has left", async () => {
    const asked: number[] = [];
    const files: AttachmentFiles = {
      ...nodeAttachmentFiles,
      read(path, options) {
        asked.push(options.maxBytes ?? Number.POSITIVE_INFINITY);
        return nodeAttachmentFiles.read(path, options);
      },
    };
    const paths = [9, 9, 5, 1].map((size) => folder.text(`${size}.txt`, size * MiB));
    await resolveWith(files, "", [...paths, paths[3] as string], {});
    expect(asked).toEqual([10 * MiB, 9 * MiB, 1, 1, 1]);
  });
});

describe("resolveAttachmentsToContentBlocks, the order of the rules", () => {
  test("absolute before extension, extension before being there", async () => {
    expect(await outcome("relative.bin")).toBe("NOT_ABSOLUTE");
    expect(await outcome(join(folder.dir, "none.bin"))).toBe("UNSUPPORTED_EXTENSION");
    mkdirSync(join(folder.dir, "dir.bin"));
    expect(await outcome(join(folder.dir, "dir.bin"))).toBe("UNSUPPORTED_EXTENSION");
    expect(await outcome(folder.text("large.bin", 10 * MiB + 1))).toBe("UNSUPPORTED_EXTENSION");
  });

  test("readable before link, link before regular file and size", async () => {
    const link = (name: string, to: string) => {
      symlinkSync(to, join(folder.dir, name));
      return join(folder.dir, name);
    };
    expect(await outcome(link("a.txt", join(folder.dir, "none")))).toBe("NOT_FOUND");
    expect(await outcome(link("b.txt", folder.dir))).toBe("SYMLINK");
    expect(await outcome(link("c.txt", folder.text("large.txt", 10 * MiB + 1)))).toBe("SYMLINK");
    expect(await outcome(link("d.txt", folder.write("fake", png(small))))).toBe("SYMLINK");
  });

  test("readable before link and regular file, also where reading finds those first", async () => {
    mkdirSync(join(folder.dir, "dir.txt"));
    symlinkSync(folder.write("a.txt", "x"), join(folder.dir, "link.txt"));
    const failing = (code: string): AttachmentFiles => ({
      ...nodeAttachmentFiles,
      access: () => Promise.reject(Object.assign(new Error(code), { code })),
    });
    const paths = ["dir.txt", "link.txt", "a.txt"].map((name) => join(folder.dir, name));
    const denied = await resolveWith(failing("EACCES"), "", paths, {});
    // The file itself was read: that it may be read is not asked then.
    expect(codes(denied.errors)).toEqual(["UNREADABLE", "UNREADABLE"]);
    const gone = await resolveWith(failing("ENOENT"), "", paths, {});
    expect(codes(gone.errors)).toEqual(["NOT_A_FILE", "SYMLINK"]);
  });

  test("readable before size", async () => {
    const path = folder.text("large.txt", 10 * MiB + 1);
    chmodSync(folder.dir, 0o755);
    chmodSync(path, 0);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) process.seteuid?.(65_534);
    try {
      expect(await outcome(path)).toBe("UNREADABLE");
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  });

  test("the file's size before the turn's, the turn's before contents, contents before the target", async () => {
    const ten = folder.text("ten.txt", 10 * MiB);
    const behind = async (path: string) => codes((await resolve([ten, path])).errors);
    expect(await behind(folder.text("eleven.txt", 11 * MiB))).toEqual(["FILE_TOO_LARGE"]);
    expect(await behind(folder.text("nine.png", 9 * MiB))).toEqual(["TURN_BUDGET_EXCEEDED"]);
    expect(await behind(folder.write("zero.txt", new Uint8Array(10 * MiB + 1)))).toEqual(["FILE_TOO_LARGE"]);
    const large = bytesOf(png({ width: 9000, height: 9000 }), new Uint8Array(7.6e6));
    expect(await behind(folder.write("large.jpg", large))).toEqual(["CONTENT_MISMATCH"]);
    expect(await behind(folder.write("large.png", large))).toEqual(["TARGET_LIMIT"]);
    const larger = bytesOf(png(small), new Uint8Array(9 * MiB));
    expect(await behind(folder.write("larger.png", larger))).toEqual(["TURN_BUDGET_EXCEEDED"]);
  });
});

describe("resolveAttachmentsToContentBlocks, the target", () => {
  test("does not take what the target will refuse, and says why in the target's terms", async () => {
    const large = folder.write("a.png", png(small, [], [pngChunk("teSt", new Uint8Array(7.5e6))]));
    const wide = folder.write("wide.png", png({ width: 8001, height: 10 }));
    const { errors } = await resolve([large, wide]);
    expect(codes(errors)).toEqual(["TARGET_LIMIT", "TARGET_LIMIT"]);
    expect(errors[0]?.reason).toContain("anthropic: imageBytes 10000000 (base64Bytes)");
    expect(errors[1]?.reason).toContain("anthropic: imageSide 8000 (pixels), got 8001");
    expect((await resolve([large, wide], { limits: null })).errors).toEqual([]);
  });

  test("does not take a PDF that needs a password, whoever the target is", async () => {
    const path = folder.write("a.pdf", pdfOf(1, { trailer: "/Encrypt<</Filter/Adobe.PubSec/V 4>>" }));
    expect(codes((await resolve([path])).errors)).toEqual(["PDF_LOCKED"]);
    expect(codes((await resolve([path], { limits: null })).errors)).toEqual(["PDF_LOCKED"]);
  });
});

function file(bytes: Uint8Array, claimed = "image/png"): FileContent {
  const content = readAttachmentContent({ bytes, claimed }, "a");
  if ("code" in content) expect.fail(content.reason);
  return content;
}

const image = (side: number, bytes = 0) =>
  file(png({ width: side, height: side }, [], [pngChunk("teSt", new Uint8Array(bytes))]));
const text = (value: string) => file(new TextEncoder().encode(value), "text/plain");

describe("targetCheck", () => {
  test("is Anthropic's own API where none is named, and nobody's for null", () => {
    const wide = image(8001);
    expect(targetCheck(undefined, undefined)(wide)?.code).toBe("TARGET_LIMIT");
    expect(targetCheck(undefined, { profile: limitProfiles.anthropic })(wide)?.code).toBe("TARGET_LIMIT");
    expect(targetCheck(undefined, null)(wide)).toBeUndefined();
  });

  test("refuses the image with which others would be too large, and takes smaller files after it", () => {
    const check = targetCheck(undefined, undefined);
    for (let count = 0; count < 20; count++) expect(check(image(3000))).toBeUndefined();
    expect(check(image(10))?.reason).toContain("imageSide 2000");
    expect(check(text("a"))).toBeUndefined();
  });

  test("refuses the 101st image, or the 601st where the context is large", () => {
    for (const [contextWindow, most] of [
      [200_000, 100],
      [1_000_000, 600],
    ] as const) {
      const check = targetCheck(undefined, { profile: limitProfiles.anthropic, contextWindow });
      for (let count = 0; count < most; count++) expect(check(image(10))).toBeUndefined();
      expect(check(image(10))?.reason).toContain(`imageCount ${most}`);
    }
  });

  test("knows the transports of a profile", () => {
    const { anthropic } = limitProfiles;
    const five = image(10, 4_000_000);
    expect(targetCheck(undefined, { profile: anthropic, transport: "api" })(five)).toBeUndefined();
    expect(targetCheck(undefined, { profile: anthropic, transport: "bedrock" })(five)?.reason).toContain(
      "imageBytes 5000000",
    );
    expect(() => targetCheck(undefined, { profile: anthropic, transport: "pigeon" })).toThrow(RangeError);
  });

  test("counts the body as it is sent: what JSON escapes, and the text before the files", () => {
    const controls = text("\u0001".repeat(6_000_000));
    expect(targetCheck(undefined, undefined)(controls)?.reason).toContain("bodyBytes 32000000");
    expect(targetCheck(undefined, undefined)(text("a".repeat(6_000_000)))).toBeUndefined();
    const some = text("\u0001".repeat(3_000_000));
    const check = targetCheck(undefined, undefined);
    expect(check(some)).toBeUndefined();
    expect(check(some)?.reason).toContain("bodyBytes");
    const long = { type: "text", text: "\n".repeat(15_000_000) } as const;
    expect(targetCheck(long, undefined)(text("a".repeat(3_000_000)))?.reason).toContain("bodyBytes");
    expect(targetCheck(long, undefined)(text("a".repeat(1_000_000)))).toBeUndefined();
  });

  test("counts the text as text", () => {
    const row = { scope: "request", evidence: "inferred", asOf: "2026-11-21", source: "none" } as const;
    const profile: LimitProfile = {
      name: "own",
      transports: ["any"],
      rows: [{ rule: "textCharacters", value: 3, unit: "characters", ...row }],
    };
    const check = (value: string) => targetCheck({ type: "text", text: value }, { profile })(image(10));
    expect(check("abc")).toBeUndefined();
    expect(check("abcd")?.reason).toContain("textCharacters 3");
  });

  test("holds files against any profile: types, and the sum of a message", () => {
    const row = { scope: "message", evidence: "inferred", asOf: "2026-11-21", source: "none" } as const;
    const profile: LimitProfile = {
      name: "own",
      transports: ["any"],
      rows: [
        { rule: "fileTypes", value: ["text/plain"], unit: "mediaType", ...row, scope: "item" },
        { rule: "fileBytes", value: 5, unit: "decodedBytes", ...row },
      ],
    };
    const check = targetCheck(undefined, { profile });
    expect(check(image(10))?.reason).toContain("own: fileTypes text/plain (mediaType), got image/png");
    expect(check(text("four"))).toBeUndefined();
    expect(check(text("ab"))?.reason).toContain("own: fileBytes 5");
    expect(check(text("a"))).toBeUndefined();
  });
});
