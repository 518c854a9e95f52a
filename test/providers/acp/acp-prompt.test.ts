import type { PromptRequest } from "@agentclientprotocol/sdk";
import { contextFrom, memoryBlobStore, project, userMessage } from "sessile";
import { type AcpPrompt, acpPrompt } from "sessile/acp";
import { ingest, replayAlways } from "sessile/attachments";
import { describe, expect, expectTypeOf, test } from "vitest";
import { base64 } from "../../attachments/samples.js";
import { promptAgent } from "../../support/providers/acp/peers.js";
import { everything } from "../../support/providers/acp/rejected.js";
import { latestBytes, notesText, reportBytes, richSession, seenBytes } from "../../support/rich-session.js";

const text = (said: string) => ({ type: "text", text: said });
const image = (bytes: Uint8Array, mimeType = "image/png") => ({
  type: "image",
  data: base64(bytes),
  mimeType,
});

describe("acpPrompt", () => {
  test("says the latest turn alone, and names all else as not repeated", async () => {
    const { context, blobs, latest } = await richSession();
    const target = acpPrompt({ capabilities: everything });
    const { value, losses, byPolicy } = await project(context, target, { blobs, replay: replayAlways });
    expect(value.prompt).toEqual([
      text("And this?"),
      text(`[image latest.gif, image/gif, ${latest.size} B, ${latest.resourceId}]`),
      image(latestBytes, "image/gif"),
    ]);
    expect(losses).toEqual([]);
    expect(byPolicy.map(({ code, by, entryId }) => `${code} by ${by}: ${entryId}`)).toEqual(
      ["m0", "m1", "m2", "m3", "m4", "m5"].map((entryId) => `notRepeated by policy: ${entryId}`),
    );
  });

  test("tells a conversation as a transcript, with what is attached in its place", async () => {
    const { context, blobs, shot, report, notes, seen } = await richSession();
    const target = acpPrompt({ capabilities: everything, history: "transcript" });
    const { value, losses } = await project(context, target, { blobs, replay: replayAlways });
    const resource = { uri: `attachment:///${report.resourceId}/report.pdf`, mimeType: "application/pdf" };
    const note = { uri: `attachment:///${notes.resourceId}/notes.md`, mimeType: "text/plain" };
    expect(value.prompt.slice(0, 18)).toEqual([
      text("[What follows is a conversation from its beginning. Go on from its end, as the assistant.]"),
      text("[instructions]\nBe brief."),
      text("[user]\n[Alice]: What is wrong here? 🧷"),
      text(`[image screen shot.png, image/png, ${shot.size} B, ${shot.resourceId}]`),
      expect.objectContaining({ type: "image" }),
      text(`[file report.pdf, application/pdf, ${report.size} B, ${report.resourceId}]`),
      { type: "resource", resource: { ...resource, blob: base64(reportBytes) } },
      text(`[file notes.md, text/plain, ${notes.size} B, ${notes.resourceId}]`),
      { type: "resource", resource: { ...note, text: notesText } },
      { type: "resource_link", uri: "https://example.com/page", name: "A page" },
      expect.objectContaining({ type: "image" }),
      text("[assistant]\nLet me look."),
      text('[call of screenshot, call_a]\n{"window":1}'),
      text('[call of read, call_b]\n{"path":"gone.txt"}'),
      text("[result of screenshot, call_a]\nHere."),
      text(`[image seen.png, image/png, ${seen.size} B, ${seen.resourceId}]`),
      image(seenBytes),
      text("[error of read, call_b]\nno such file"),
    ]);
    expect(losses.map(({ code }) => code)).toEqual(["reasoning"]);
  });

  test("sends nothing that the agent does not take: texts as text, links as links", async () => {
    const { context, blobs, messages } = await richSession();
    const [, first] = messages;
    const { value, losses } = await project(contextFrom(first === undefined ? [] : [first]), acpPrompt(), {
      blobs,
    });
    expect(new Set(value.prompt.map(({ type }) => type))).toEqual(new Set(["text", "resource_link"]));
    expect(JSON.stringify(value)).toContain(JSON.stringify(notesText).slice(1, -1));
    expect(losses.map(({ code, block }) => [code, block])).toEqual([
      ["unsupported", 1],
      ["unsupported", 2],
      ["asText", 3],
      ["unsupported", 5],
    ]);
    await expect(promptAgent(value.prompt, {})).resolves.toMatchObject({ read: value.prompt });
    expect(context.items).toHaveLength(7);
  });

  test.each(["latest", "transcript"] as const)(
    "goes from an official client to an official agent: %s",
    async (history) => {
      const { context, blobs } = await richSession();
      const target = acpPrompt({ capabilities: everything, history });
      const { value } = await project(context, target, { blobs, replay: replayAlways });
      expect(await promptAgent(value.prompt, everything)).toEqual({
        read: value.prompt,
        stopReason: "end_turn",
      });
    },
  );

  // @covers R18
  test("comes back as what it was, through intake", async () => {
    const { context, blobs } = await richSession();
    const target = acpPrompt({ capabilities: everything, history: "transcript" });
    const { value } = await project(context, target, { blobs, replay: replayAlways });
    const elsewhere = memoryBlobStore();
    const attached = (prompt: AcpPrompt["prompt"]) => prompt.filter((block) => block.type !== "text");
    const parts = await ingest(attached(value.prompt), { blobs: elsewhere });
    const again = await project(
      contextFrom([userMessage(...parts)]),
      acpPrompt({ capabilities: everything }),
      {
        blobs: elsewhere,
      },
    );
    const unnamed = (prompt: AcpPrompt["prompt"]) =>
      attached(prompt).map((block) => JSON.stringify(block).replace(/attachment:[^"]*/, ""));
    expect(unnamed(again.value.prompt)).toEqual(unnamed(value.prompt));
  });

  test("refuses a history that is neither", () => {
    // @ts-expect-error: no such choice.
    expect(() => acpPrompt({ history: "all" })).toThrow(TypeError);
  });

  test("is what the official types ask for", () => {
    expectTypeOf<AcpPrompt>().toExtend<Omit<PromptRequest, "sessionId">>();
  });
});
