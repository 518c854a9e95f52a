import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { contextFrom, project } from "sessile";
import { codexExec } from "sessile/codex";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { base64, png } from "../../attachments/samples.js";
import { accepted, rejected } from "../../support/providers/codex/rejected.js";
import { codexRules } from "../../support/providers/codex/rules.js";
import { runCodex } from "../../support/providers/codex/run-codex.js";
import { testRules } from "../../support/providers/rejected.js";
import { inlineBytes, richSession, shotBytes } from "../../support/rich-session.js";

testRules(codexRules, accepted, rejected);

describe("codex exec", () => {
  let dir = "";
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "sessile-codex-"));
    for (const name of ["a.png", "b c.png"]) await writeFile(join(dir, name), png());
  });
  afterAll(() => rm(dir, { recursive: true }));
  const shot = (name: string) => join(dir, name);
  const image = (name: string) => ({ path: shot(name), base64: base64(png()) });

  test("reads a prompt and images in order", async () => {
    const args = ["-", "--image", shot("b c.png"), "--image", shot("a.png")];
    expect(await runCodex(args, "--help me\n")).toEqual({
      exitCode: 0,
      prompt: "--help me\n",
      images: [image("b c.png"), image("a.png")],
    });
  });

  // @covers R192
  test("is given a session by its projection, images as files", async () => {
    const { messages, blobs } = await richSession();
    const [, first] = messages;
    const written = new Map<string, string>();
    const imagePath = ({ base64: data }: { readonly base64: string }) => {
      const path = written.get(data) ?? shot(`image ${written.size}.png`);
      written.set(data, path);
      return path;
    };
    const context = contextFrom(first === undefined ? [] : [first]);
    const { value, losses } = await project(context, codexExec({ imagePath }), { blobs });
    for (const [data, path] of written) await writeFile(path, Buffer.from(data, "base64"));
    expect(await runCodex(value.args, value.prompt)).toEqual({
      exitCode: 0,
      prompt: value.prompt,
      images: [shotBytes, inlineBytes].map((bytes, at) => ({
        path: shot(`image ${at}.png`),
        base64: base64(bytes),
      })),
    });
    expect(losses.map(({ code }) => code)).toEqual(["unsupported", "asText"]);
  });

  test("takes a prompt behind an image for an image", async () => {
    const run = await runCodex(["--image", shot("a.png"), "Compare these."], "");
    expect(run).toEqual({ exitCode: 1, error: "No prompt provided via stdin." });
  });

  test("splits a path at its comma", async () => {
    expect(await runCodex(["-", "--image", shot("a,b.png")], "hello")).toMatchObject({
      exitCode: 1,
      error: expect.stringContaining("ENOENT"),
    });
  });

  test("puts what is piped behind a prompt that is an argument", async () => {
    expect(await runCodex(["hello"], "piped")).toMatchObject({ prompt: "hello\n\n<stdin>\npiped\n</stdin>" });
  });

  test("cannot be started with a NUL", async () => {
    const run = runCodex(["-", "--image", "/a\0.png"], "hello");
    await expect(run).rejects.toMatchObject({ code: "ERR_INVALID_ARG_VALUE" });
  });

  test("refuses what it cannot read", async () => {
    expect(await runCodex(["-", "--image"], "hello")).toMatchObject({ exitCode: 2 });
  });
});
