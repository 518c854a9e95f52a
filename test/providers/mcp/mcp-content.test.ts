import type { CallToolResult, ContentBlock, GetPromptResult } from "@modelcontextprotocol/sdk/types.js";
import { assistantMessage, contextFrom, project, toolResult, userMessage } from "sessile";
import { replayAlways } from "sessile/attachments";
import { limitProfiles } from "sessile/limits";
import { type McpContent, mcpContent } from "sessile/mcp";
import { describe, expect, expectTypeOf, test } from "vitest";
import { base64, png } from "../../attachments/samples.js";
import { connectMcp, offeredName } from "../../support/providers/mcp/peers.js";
import { mcpRules } from "../../support/providers/mcp/rules.js";
import { breaches } from "../../support/providers/rule.js";
import {
  inlineBytes,
  latestBytes,
  notesText,
  reportBytes,
  richSession,
  seenBytes,
  shotBytes,
} from "../../support/rich-session.js";

describe("mcpContent", () => {
  test("gives each block a message, and words where MCP has no form", async () => {
    const { context, blobs, shot, report, notes, seen, latest } = await richSession();
    const { value, losses } = await project(context, mcpContent(), { blobs, replay: replayAlways });
    const user = (content: object) => ({ role: "user", content });
    const text = (said: string) => ({ type: "text", text: said });
    const image = (bytes: Uint8Array, mimeType: string) => ({ type: "image", data: base64(bytes), mimeType });
    expect(value.messages).toEqual([
      user(text("[instructions]\nBe brief.")),
      user(text("[Alice]: What is wrong here? 🧷")),
      user(text(`[image screen shot.png, image/png, ${shot.size} B, ${shot.resourceId}]`)),
      user(image(shotBytes, "image/png")),
      user(text(`[file report.pdf, application/pdf, ${report.size} B, ${report.resourceId}]`)),
      user({
        type: "resource",
        resource: {
          uri: `attachment:///${report.resourceId}/report.pdf`,
          mimeType: "application/pdf",
          blob: base64(reportBytes),
        },
      }),
      user(text(`[file notes.md, text/plain, ${notes.size} B, ${notes.resourceId}]`)),
      user({
        type: "resource",
        resource: {
          uri: `attachment:///${notes.resourceId}/notes.md`,
          mimeType: "text/plain",
          text: notesText,
        },
      }),
      user({ type: "resource_link", uri: "https://example.com/page", name: "A page" }),
      user(image(inlineBytes, "image/png")),
      { role: "assistant", content: text("Let me look.") },
      { role: "assistant", content: text('[call of screenshot, call_a]\n{"window":1}') },
      { role: "assistant", content: text('[call of read, call_b]\n{"path":"gone.txt"}') },
      user(text("[result of screenshot, call_a]\nHere.")),
      user(
        text(
          `[result of screenshot, call_a]\n[image seen.png, image/png, ${seen.size} B, ${seen.resourceId}]`,
        ),
      ),
      user(text("[result of screenshot, call_a]")),
      user(image(seenBytes, "image/png")),
      user(text("[error of read, call_b]\nno such file")),
      { role: "assistant", content: text("The button is grey.") },
      user(text("And this?")),
      user(text(`[image latest.gif, image/gif, ${latest.size} B, ${latest.resourceId}]`)),
      user(image(latestBytes, "image/gif")),
    ]);
    expect(losses.map(({ code }) => code)).toEqual(["reasoning"]);
  });

  test("names a result that begins with an image", async () => {
    const call = { type: "toolCall" as const, id: "a b/c", name: "look", arguments: [1] };
    const image = { type: "image" as const, data: base64(png()), mimeType: "image/png" };
    const { value, losses } = await project(
      contextFrom([
        assistantMessage({ provider: "p", model: "m" }, call),
        { ...toolResult(call), content: [image] },
      ]),
      mcpContent(),
    );
    expect(value.messages.map(({ content }) => ("text" in content ? content.text : content.type))).toEqual([
      "[call of look, a b/c]\n[1]",
      "[result of look, a b/c]",
      "image",
    ]);
    expect(losses).toEqual([]);
  });

  test("points to a link that a tool gives", async () => {
    const { link } = await richSession();
    const call = { type: "toolCall" as const, id: "c1", name: "look", arguments: {} };
    const messages = [assistantMessage({ provider: "p", model: "m" }, call), toolResult(call, link)];
    const { value } = await project(contextFrom(messages), mcpContent());
    expect(value.messages.slice(1).map(({ content }) => content)).toEqual([
      { type: "text", text: "[result of look, c1]" },
      { type: "resource_link", uri: "https://example.com/page", name: "A page" },
    ]);
  });

  test("goes from an official server to an official client, as a prompt and as a tool's result", async () => {
    const { context, blobs } = await richSession();
    const { value } = await project(context, mcpContent(), { blobs, replay: replayAlways });
    const content = value.messages.map((message) => message.content);
    await using peers = await connectMcp({ prompt: value, toolResult: { content } });
    const prompt = await peers.client.getPrompt({ name: offeredName });
    expect(prompt).toEqual(value);
    expect(breaches(prompt, mcpRules)).toEqual([]);
    expect(await peers.client.callTool({ name: offeredName })).toEqual({ content });
  });

  test("keeps what a connection takes: the oldest of too much is described", async () => {
    const big = (grey: number) => ({
      type: "image" as const,
      data: base64(Uint8Array.from([...png(2, 2, grey), ...new Uint8Array(3_700_000)])),
      mimeType: "image/png",
    });
    const messages = [1, 2, 3].map((grey) => ({ ...userMessage(), content: [big(grey)] }));
    const context = contextFrom(messages);
    const { value, losses } = await project(context, mcpContent());
    expect(breaches(value, mcpRules)).toEqual([]);
    expect(losses.map(({ code, entryId }) => [code, entryId])).toEqual([["overLimit", "m0"]]);
    await using peers = await connectMcp({ prompt: value });
    expect(await peers.client.getPrompt({ name: offeredName })).toEqual(value);
    const byHttp = await project(context, mcpContent({ transport: "http" }));
    expect(byHttp.losses).toEqual([]);
    const byRow = await project(context, mcpContent({ transport: "http", profile: limitProfiles.groq }));
    expect(byRow.losses.map(({ code }) => code)).toContain("overLimit");
  });

  test("explains what a refusal by path is about", async () => {
    const { context, blobs } = await richSession();
    const projection = await project(context, mcpContent(), { blobs, replay: replayAlways });
    const error = new Error("messages.3.content: no such image");
    expect(projection.explain(error)).toMatchObject({ entryId: "m1", block: 1, path: "messages.3.content" });
  });

  test("is what the official types ask for", () => {
    expectTypeOf<McpContent>().toExtend<GetPromptResult>();
    expectTypeOf<{ content: McpContent["messages"][number]["content"][] }>().toExtend<CallToolResult>();
    expectTypeOf<McpContent["messages"][number]["content"]>().toExtend<ContentBlock>();
  });
});
