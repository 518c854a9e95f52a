import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { messageText } from "sessile";
import { tetherImage, tetherSessionId } from "sessile/tether";
import type { ToolContext } from "sessile/turn";
import { describe, expect, it } from "vitest";
import { imageTools } from "../../../../examples/apps/support/image-tools.js";
import { agentHome } from "../../../../examples/apps/support/tether-agent.js";
import { base64, gif, pdf, png } from "../../../attachments/samples.js";
import { temporaryDirectory } from "../../../session/node/temporary-directory.js";
import { pngOf, to } from "../../../support/tether.js";
import type { Call } from "../../../support/turn.js";
import { agentAt, all, message, saying } from "./agent-turns.js";

describe("imageTools", () => {
  const made = (path: string, name = "view_image", more: object = {}): Call => [
    name,
    "c1",
    { path, ...more },
  ];
  async function resultOf(dir: string, call: Call) {
    const { workspace, blobs, sessions } = agentHome(dir);
    mkdirSync(workspace, { recursive: true });
    const agent = agentAt(dir, saying([call], "Here."), { tools: imageTools(workspace, blobs) });
    const frames = await all(agent.answer(message("Go")));
    await using session = await sessions.open(tetherSessionId(to, "a"));
    const { items } = await session.context();
    const results = items.flatMap(({ message }) => (message.role === "toolResult" ? [message] : []));
    return { done: frames.at(-1), result: results.at(-1) };
  }

  // @covers R69
  it("send a file's image along with the answer, whatever it is called", async () => {
    const dir = temporaryDirectory();
    mkdirSync(join(dir, "workspace"));
    writeFileSync(join(dir, "workspace", "shot.png"), gif);
    const { done, result } = await resultOf(dir, made("shot.png"));
    expect(done?.payload).toEqual({
      text: "Here.",
      images: [{ media_type: "image/gif", data: base64(gif) }],
    });
    expect(result).toMatchObject({
      isError: false,
      content: [{ text: "shot.png, 1 x 1 pixels" }, { resource: { source: "tool" } }],
    });
  });

  it("draw into the workspace, and show what is there", async () => {
    const dir = temporaryDirectory();
    const { done } = await resultOf(dir, made("deep/down/chart.png", "plot", { numbers: "1,2,-3" }));
    const drawn = readFileSync(join(dir, "workspace", "deep", "down", "chart.png"));
    expect(done?.payload).toMatchObject({ images: [tetherImage(drawn)] });
  });

  it("show what they drew, also where another draws under the same name meanwhile", async () => {
    const { workspace, blobs } = agentHome(temporaryDirectory());
    mkdirSync(workspace, { recursive: true });
    const plot = imageTools(workspace, blobs).find(({ name }) => name === "plot");
    const context = { signal: new AbortController().signal } as ToolContext;
    const draw = async (numbers: string) =>
      (await plot?.run({ path: "chart.png", numbers }, context)) as { content: readonly unknown[] };
    const charts = Array.from({ length: 12 }, (_, at) => Array.from({ length: at + 1 }, () => "1").join(","));
    const drawn = await Promise.all(charts.map(draw));
    // Each bar makes the image wider.
    expect(drawn.map(({ content }) => content[1])).toMatchObject(
      charts.map((_, at) => ({ width: 8 + 24 * (at + 1) })),
    );
  });

  it("tell what they were asked to show and cannot, without a path of this machine", async () => {
    const dir = temporaryDirectory();
    mkdirSync(join(dir, "workspace"));
    writeFileSync(join(dir, "secret.png"), png());
    writeFileSync(join(dir, "workspace", "paper.png.pdf"), pdf);
    writeFileSync(join(dir, "workspace", "large.png"), pngOf(10 * 2 ** 20 + 1));
    symlinkSync(join(dir, "secret.png"), join(dir, "workspace", "link.png"));
    symlinkSync(dir, join(dir, "workspace", "up"));
    const refused: readonly [Call, RegExp][] = [
      [made("../secret.png"), /FILE_REFUSED/],
      [made(join(dir, "secret.png")), /FILE_REFUSED/],
      [made("link.png"), /FILE_REFUSED/],
      [made("up/secret.png"), /FILE_REFUSED/],
      [made("/etc/passwd"), /FILE_REFUSED/],
      [made("gone.png"), /FILE_REFUSED/],
      [made("paper.png.pdf"), /is no image/],
      [made("large.png"), /LIMIT_EXCEEDED/],
      [made("../out.png", "plot", { numbers: "1" }), /outside the workspace/],
      [made("up/out.png", "plot", { numbers: "1" }), /outside the workspace/],
      [made("a.png", "plot", { numbers: "1;2" }), /expected at most 100 numbers/],
    ];
    for (const [asked, words] of refused) {
      const { done, result } = await resultOf(dir, asked);
      expect(done?.payload).toEqual({ text: "Here." });
      expect(result?.isError).toBe(true);
      const text = messageText(result as NonNullable<typeof result>);
      expect(text).toMatch(words);
      const named = (asked[2] as { path: string }).path;
      expect(text.replace(named, "")).not.toContain(dir);
    }
    expect(readdirSync(dir).sort()).toEqual(["secret.png", "sessions", "workspace"]);
  });
});
