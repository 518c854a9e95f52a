import { contextFrom, project, userMessage } from "sessile";
import { replayAlways } from "sessile/attachments";
import { codexExec } from "sessile/codex";
import { describe, expect, test } from "vitest";
import { base64, png } from "../../attachments/samples.js";
import { richSession } from "../../support/rich-session.js";

const imagePath = () => "/images/a.png";
const inline = (bytes = png()) => ({ type: "image" as const, data: base64(bytes), mimeType: "image/png" });
const shown = (...content: readonly ({ type: "text"; text: string } | ReturnType<typeof inline>)[]) =>
  contextFrom([{ role: "user", content, timestamp: 1 }]);

describe("codexExec", () => {
  // @covers R192
  test("puts images behind the sign for the prompt, in order, and keeps their places for the SDK", async () => {
    const paths = ["/images/b c.png", "C:\\shots\\a.jpg", "\\\\host\\share\\c.png"];
    const text = (said: string) => ({ type: "text" as const, text: said });
    const context = shown(
      text("--help"),
      inline(png(1, 1)),
      text("and"),
      inline(png(2, 2)),
      inline(png(3, 3)),
    );
    const left = [...paths];
    const { value, losses } = await project(context, codexExec({ imagePath: () => left.shift() }));
    expect(value).toEqual({
      args: ["-", "--image", paths[0], "--image", paths[1], "--image", paths[2]],
      prompt: "--help\n\nand",
      input: [
        text("--help"),
        { type: "local_image", path: paths[0] },
        text("and"),
        { type: "local_image", path: paths[1] },
        { type: "local_image", path: paths[2] },
      ],
    });
    expect(losses).toEqual([]);
  });

  test("tells the path of which image it asks for", async () => {
    const { context, blobs, shot } = await richSession();
    const asked: unknown[] = [];
    const target = codexExec({
      history: "transcript",
      imagePath: ({ resource, mediaType, bytes }) => {
        asked.push([resource?.resourceId, mediaType, bytes.length]);
        return imagePath();
      },
    });
    await project(context, target, { blobs, replay: replayAlways });
    expect(asked).toEqual([
      [shot.resourceId, "image/png", shot.size],
      [undefined, "image/png", expect.any(Number)],
      [expect.any(String), "image/png", expect.any(Number)],
    ]);
  });

  test.each([
    ["is in no file", undefined, "it is in no file"],
    ["has a comma in its path", "/images/a,b.png", "Codex takes no such path"],
    ["has a relative path", "a.png", "Codex takes no such path"],
    ["has a path that looks like an option", "-a.png", "Codex takes no such path"],
    ["has a NUL in its path", "/a\0.png", "Codex takes no such path"],
    ["has half a pair in its path", "/\ud83d.png", "Codex takes no such path"],
    ["has no path", "", "Codex takes no such path"],
  ])("leaves words for an image that %s", async (_, path, reason) => {
    const { value, losses } = await project(shown(inline()), codexExec({ imagePath: () => path }));
    const instead = `[image, image/png] (not shown: ${reason})`;
    expect(value).toEqual({ args: ["-"], prompt: instead, input: [{ type: "text", text: instead }] });
    const { entryId = "" } = losses[0] ?? {};
    expect(losses).toEqual([{ code: "unsupported", by: "target", entryId, block: 0, reason, instead }]);
  });

  test("says something where only images are shown", async () => {
    const { value, losses } = await project(shown(inline()), codexExec({ imagePath }));
    expect(value.prompt).toBe("[images, without a word]");
    expect(value.input.map(({ type }) => type)).toEqual(["text", "local_image"]);
    expect(losses).toEqual([]);
  });

  test("has no byte order mark before the prompt", async () => {
    const { value, losses } = await project(
      contextFrom([userMessage("\ufeff\ufeffhi\ufeff")]),
      codexExec({ imagePath }),
    );
    expect(value.prompt).toBe("hi\ufeff");
    expect(losses.map(({ code }) => code)).toEqual(["malformed"]);
  });

  test("takes documents as text where they are, and describes what it cannot show", async () => {
    const { context, blobs } = await richSession();
    const target = codexExec({ imagePath, history: "transcript" });
    const { value, losses } = await project(context, target, { blobs, replay: replayAlways });
    expect(value.prompt).toContain("<document>\n# Notes\nOne, two.\n</document>");
    expect(losses.map(({ code }) => code)).toEqual(["unsupported", "asText", "reasoning", "unsupported"]);
  });

  test("keeps the beginning of a transcript that goes on", async () => {
    const { messages, blobs } = await richSession();
    const target = codexExec({ imagePath, history: "transcript" });
    const options = { blobs, replay: replayAlways };
    const prompts = await Promise.all(
      [2, 5, 6, 7].map(
        async (count) => (await project(contextFrom(messages.slice(0, count)), target, options)).value.prompt,
      ),
    );
    prompts.slice(1).forEach((prompt, at) => {
      expect(prompt.startsWith(prompts[at] ?? "?")).toBe(true);
    });
  });

  test("refuses a imagePath that is no function", () => {
    // @ts-expect-error: it is required.
    expect(() => codexExec({})).toThrow(TypeError);
  });
});
