import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryBlobStore } from "sessile/blobs";
import { resourceOf, type UserMessage } from "sessile/content";
import type { AgentUserMessage } from "sessile/projections/claude-agent/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makePdf, makePng } from "../../../../examples/apps/support/make-media.js";
import { messageOf, readPrompt } from "../../../../examples/apps/turn-endpoint/prompt.js";

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "sessile-prompt-test-"));
  writeFileSync(join(dir, "screen.png"), makePng(20, 10));
  writeFileSync(join(dir, "paper.pdf"), makePdf());
  writeFileSync(join(dir, "notes.md"), "\uFEFF# Notes\r\n");
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const { signal } = new AbortController();
const at = (name: string) => join(dir, name);
const read = (message: string, names: readonly string[]) =>
  readPrompt(message, names.map(at), { roots: [dir], sessionId: "s1", signal });

/** What an agent that takes a stream of messages is told. */
async function streamed(
  prompt: string | AsyncIterable<AgentUserMessage>,
): Promise<readonly AgentUserMessage[]> {
  if (typeof prompt === "string") throw new Error("the prompt is a string");
  const messages: AgentUserMessage[] = [];
  for await (const message of prompt) messages.push(message);
  return messages;
}

const contentOf = ({ content }: UserMessage) => content;

describe("the prompt of a turn", () => {
  // @covers R168
  it("is a string where there is text alone, and so is the message of the session", async () => {
    const turn = await read("What is wrong?", []);
    expect(turn.prompt).toBe("What is wrong?");
    const message = await messageOf(turn, { blobs: memoryBlobStore(), signal });
    expect(contentOf(message)).toBe("What is wrong?");
  });

  // @covers R169
  it("is a stream of one message where there are files, and the session's has the same bytes in the same order", async () => {
    const names = ["screen.png", "paper.pdf", "notes.md"];
    const turn = await read("What is wrong?", names);
    const [only, ...more] = await streamed(turn.prompt);
    expect(more).toEqual([]);
    expect(only).toMatchObject({ type: "user", parent_tool_use_id: null, session_id: "s1" });
    expect(only?.message.content.map(({ type }) => type)).toEqual(["text", "image", "document", "document"]);

    const blobs = memoryBlobStore();
    const { content } = await messageOf(turn, { blobs, signal });
    if (typeof content === "string") throw new Error("no blocks");
    expect(content[0]).toEqual({ type: "text", text: "What is wrong?" });
    const resources = content.slice(1).map((block) => resourceOf(block));
    expect(resources.map((resource) => resource?.name)).toEqual(names);
    for (const [index, name] of names.entries()) {
      const resource = resources[index];
      if (resource === undefined || resource.kind === "link") throw new Error("no bytes");
      const stored = await blobs.get(resource.blob);
      expect(Buffer.compare(stored as Uint8Array, readFileSync(at(name)))).toBe(0);
      const block = only?.message.content[index + 1];
      if (block === undefined || block.type === "text") throw new Error("no file");
      const sent = Buffer.from(block.source.data, block.source.type === "base64" ? "base64" : "utf8");
      expect(Buffer.compare(sent, stored as Uint8Array)).toBe(0);
    }
  });

  it("has a warning in front where some files failed, in the stream as in the session", async () => {
    const turn = await read("And?", ["gone.png", "screen.png", "gone.pdf"]);
    const [only] = await streamed(turn.prompt);
    const [warning, text, image] = only?.message.content ?? [];
    expect(warning).toMatchObject({
      type: "text",
      text: expect.stringMatching(/^Warning: 2 of 3 attachments/),
    });
    expect([text, image?.type]).toEqual([{ type: "text", text: "And?" }, "image"]);
    const { content } = await messageOf(turn, { blobs: memoryBlobStore(), signal });
    expect(content).toMatchObject([warning, text, { resource: { name: "screen.png" } }]);
    expect(turn.errors.map(({ code }) => code)).toEqual(["NOT_FOUND", "NOT_FOUND"]);
  });

  it("is a string again where all files failed and there is text: the warning, and the text", async () => {
    const turn = await read("And?", ["gone.png"]);
    expect(turn.prompt).toMatch(/^Warning: 1 of 1 attachments.*\n.*\n\nAnd\?$/);
    expect(contentOf(await messageOf(turn, { blobs: memoryBlobStore(), signal }))).toBe(turn.prompt);
  });

  it("is none where all files failed and there is no text", async () => {
    await expect(read(" ", ["gone.png"])).rejects.toMatchObject({
      code: "ATTACHMENT_FAILURE",
      details: { status: 400, category: "ALL_ATTACHMENTS_FAILED_NO_TEXT" },
    });
  });

  it("has a file that is named twice once, so that each name is that of its bytes", async () => {
    const turn = await read("", ["screen.png", "gone.png", "notes.md", "screen.png"]);
    expect(turn.names).toEqual(["screen.png", "notes.md"]);
  });

  it("is read once: what becomes of a file afterwards changes nothing", async () => {
    writeFileSync(at("draft.txt"), "before");
    const turn = await read("", ["draft.txt"]);
    writeFileSync(at("draft.txt"), "after");
    const blobs = memoryBlobStore();
    const { content } = await messageOf(turn, { blobs, signal });
    const resource = resourceOf(content[0] as { type: "text"; text: string });
    if (resource === undefined || resource.kind === "link") throw new Error("no bytes");
    expect(Buffer.from((await blobs.get(resource.blob)) as Uint8Array).toString()).toBe("before");
  });
});
