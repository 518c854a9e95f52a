import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assistantMessage, contextFrom, memoryBlobStore, project, toolResult, userMessage } from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { confinedPath, fileTools } from "../../../../examples/apps/support/tools.js";
import { gif, pdf, png } from "../../../attachments/samples.js";
import { pngOf } from "../../../support/tether.js";
import { runTool } from "../../support/run-tool.js";

let dir: string;
let workspace: string;
let outside: string;

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "sessile-workspace-")));
  workspace = join(dir, "workspace");
  outside = join(dir, "outside");
  mkdirSync(join(workspace, "src"), { recursive: true });
  mkdirSync(outside);
  // A sibling whose name begins with the workspace's name.
  mkdirSync(join(dir, "workspace-2"));
  writeFileSync(join(workspace, "src/a.ts"), "a\n");
  writeFileSync(join(outside, "secret"), "secret\n");
  symlinkSync(join(outside, "secret"), join(workspace, "link"));
  symlinkSync(outside, join(workspace, "directory"));
  symlinkSync(join(outside, "new"), join(workspace, "dangling"));
  symlinkSync("loop", join(workspace, "loop"));
  symlinkSync("src/a.ts", join(workspace, "inner"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe("confinedPath", () => {
  it.each([
    ["a file", "src/a.ts", "src/a.ts"],
    ["a file that is not there yet", "docs/deep/new.md", "docs/deep/new.md"],
    ["the workspace", ".", ""],
    ["a way out and back in", "src/../src/a.ts", "src/a.ts"],
    ["a link that stays inside", "inner", "src/a.ts"],
    ["a name that begins with dots", "..hidden", "..hidden"],
  ])("allows %s", async (_what, path, real) => {
    expect(await confinedPath(workspace, path)).toBe(join(workspace, real));
  });

  it("allows an absolute path inside, also of a workspace that is reached by a link", async () => {
    expect(await confinedPath(workspace, join(workspace, "src/a.ts"))).toBe(join(workspace, "src/a.ts"));
    symlinkSync(workspace, join(dir, "by-link"));
    expect(await confinedPath(join(dir, "by-link"), "src/a.ts")).toBe(join(workspace, "src/a.ts"));
  });

  // @covers R13
  it.each([
    ["the parent", ".."],
    ["a sibling", "../x"],
    ["a sibling whose name begins alike", "../workspace-2/x"],
    ["a way out of a deeper place", "src/../../outside/secret"],
    ["a way out of what is not there", "absent/../../outside/secret"],
    ["an absolute path", "/etc/passwd"],
    ["the root", "/"],
    ["a link to a file outside", "link"],
    ["a directory that is a link to outside", "directory/secret"],
    ["what is not there yet below such a directory", "directory/deep/new"],
    ["a link to what is not there, outside", "dangling"],
    ["a link to itself", "loop"],
    ["below a link to itself", "loop/x"],
  ])("refuses %s", async (_what, path) => {
    await expect(confinedPath(workspace, path)).rejects.toThrow(`${path} is outside the workspace`);
  });
});

describe("the tools", () => {
  const blobs = memoryBlobStore();
  const run = (name: string, args: unknown) =>
    runTool(fileTools(workspace), { type: "toolCall", id: "c", name, arguments: args }, blobs);
  const failure = (name: string, text: string | RegExp) => ({
    ...toolResult({ id: "c", name }, ""),
    content: [{ type: "text", text: expect.stringMatching(text) }],
    isError: true,
    timestamp: expect.any(Number),
  });

  // @covers R13
  it.each([
    ["read", { path: "link" }],
    ["write", { path: "dangling", content: "x" }],
    ["write", { path: "directory/new", content: "x" }],
    ["edit", { path: "link", oldText: "secret", newText: "x" }],
    ["move", { from: "link", to: "stolen" }],
    ["move", { from: "src/a.ts", to: "directory/new" }],
    ["delete", { path: "link" }],
  ])("%s stays in the workspace: %o", async (name, args) => {
    expect(await run(name, args)).toEqual(failure(name, /outside the workspace/));
    expect(readFileSync(join(outside, "secret"), "utf8")).toBe("secret\n");
    expect(existsSync(join(outside, "new"))).toBe(false);
  });

  it("write, edit and read real files", async () => {
    await run("write", { path: "docs/n.md", content: "one two one\n" });
    expect(await run("edit", { path: "docs/n.md", oldText: "one", newText: "1" })).toEqual(
      failure("edit", "oldText is there 2 times, expected once"),
    );
    await run("edit", { path: "docs/n.md", oldText: "two", newText: "$& 2" });
    expect(await run("read", { path: "docs/n.md" })).toMatchObject({
      content: [{ text: "one $& 2 one\n" }],
      isError: false,
    });
  });

  // @covers R69
  it.each<
    [string, Uint8Array, { readonly mediaType: string; readonly width: number; readonly height: number }]
  >([
    ["shot.png", png(4, 5), { mediaType: "image/png", width: 4, height: 5 }],
    ["anim.gif", gif, { mediaType: "image/gif", width: 1, height: 1 }],
    ["not-its-name.txt", png(6, 7), { mediaType: "image/png", width: 6, height: 7 }],
  ])("read shows %s as an image, which the request has", async (path, bytes, facts) => {
    writeFileSync(join(workspace, path), bytes);
    const result = await run("read", { path });
    expect(result).toMatchObject({
      isError: false,
      content: [
        { text: expect.stringContaining(`${facts.mediaType}, ${facts.width} x ${facts.height} pixels`) },
        { resource: { kind: "image", source: "tool", name: path, ...facts } },
      ],
      details: { contentSha256: createHash("sha256").update(bytes).digest("hex") },
    });
    const call = { type: "toolCall", id: "c", name: "read", arguments: { path } } as const;
    const context = contextFrom([
      userMessage("look"),
      assistantMessage({ provider: "p", model: "m" }, call),
      result,
    ]);
    const { value } = await project(context, anthropicMessages({ model: "claude-opus-5-5" }), { blobs });
    expect(JSON.stringify(value)).toContain(Buffer.from(bytes).toString("base64"));
  });

  it.each<[string, Uint8Array, RegExp]>([
    ["a PDF", pdf, /^\[f\.bin: \d+ bytes, application\/pdf\. A binary file is not shown\]$/],
    [
      "a program",
      Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0, 1, 2, 255),
      /^\[f\.bin: 8 bytes, no UTF-8 text and no known image/,
    ],
    ["Latin-1", Uint8Array.of(0x67, 0x72, 0xfc, 0xdf), /^\[f\.bin: 4 bytes, no UTF-8 text/],
    [
      "half an image",
      png(4, 5).slice(0, 20),
      /^\[f\.bin: 20 bytes that begin as image\/png and are none: truncated/,
    ],
    [
      "an image that is too large",
      pngOf(10 * 2 ** 20 + 1),
      /^\[f\.bin: image\/png, 2 x 3 pixels, 10485761 bytes: too large/,
    ],
  ])("read says of %s what it is, and shows no bytes as text", async (_what, bytes, words) => {
    writeFileSync(join(workspace, "f.bin"), bytes);
    const result = await run("read", { path: "f.bin" });
    expect(result).toMatchObject({ isError: false, content: [{ text: expect.stringMatching(words) }] });
    expect(result.content).toHaveLength(1);
    expect(JSON.stringify(result)).not.toMatch(/\ufffd|\\u0000/);
  });

  it("read gives text as it is, with its byte order mark and an empty file too", async () => {
    for (const text of ["", "\ufeffwith a mark\r\n", "é 日 😀", "\u0001 control"]) {
      writeFileSync(join(workspace, "t.txt"), text);
      const [block] = (await run("read", { path: "t.txt" })).content;
      expect(block).toMatchObject({ text: text || "(no output)" });
    }
  });

  it("move and delete real files, and never one over another", async () => {
    await run("write", { path: "n.md", content: "n\n" });
    expect(await run("move", { from: "n.md", to: "src/a.ts" })).toEqual(
      failure("move", "src/a.ts is there already"),
    );
    await run("move", { from: "n.md", to: "docs/m.md" });
    expect(existsSync(join(workspace, "n.md"))).toBe(false);
    expect(readFileSync(join(workspace, "docs/m.md"), "utf8")).toBe("n\n");
    await run("delete", { path: "docs/m.md" });
    expect(existsSync(join(workspace, "docs/m.md"))).toBe(false);
  });

  it("tell what a file is afterwards, and whether it is new", async () => {
    const contentSha256 = createHash("sha256").update("new\n").digest("hex");
    const write = { path: "n.md", content: "new\n" };
    expect(await run("write", write)).toMatchObject({ details: { contentSha256, created: true } });
    expect(await run("write", write)).toMatchObject({ details: { contentSha256, created: false } });
    expect(await run("read", { path: "n.md" })).toMatchObject({ details: { contentSha256 } });
    expect(await run("move", { from: "n.md", to: "m.md" })).toMatchObject({ details: { contentSha256 } });
    const edit = { path: "src/a.ts", oldText: "a", newText: "new" };
    expect(await run("edit", edit)).toMatchObject({ details: { contentSha256 } });
  });

  it.each([
    ["absent", {}, "There is no tool absent."],
    ["read", {}, /not valid\.\npath: .*expected string/],
    ["read", { path: 1 }, /not valid\.\npath: .*expected string/],
    ["read", { path: "absent" }, "ENOENT"],
  ])("give what goes wrong to the model: %s %o", async (name, args, text) => {
    expect(await run(name, args)).toEqual(failure(name, text));
  });
});
