import { join } from "node:path";
import {
  type AgentPrompt,
  type AgentUserMessage,
  resolveAttachmentsToContentBlocks,
  selectPromptMode,
} from "sessile/claude-agent";
import { SessileError } from "sessile/errors";
import { beforeEach, describe, expect, test } from "vitest";
import { AttachmentFolder } from "./attachment-files.js";

let folder: AttachmentFolder;
beforeEach(() => {
  folder = new AttachmentFolder();
});

const prompt = async (message: string, paths: readonly string[]) =>
  selectPromptMode(message, await resolveAttachmentsToContentBlocks(message, paths), { sessionId: "s1" });

async function messagesOf(prompt: AgentPrompt): Promise<readonly AgentUserMessage[]> {
  if (typeof prompt === "string") expect.fail("the prompt is a string");
  const messages: AgentUserMessage[] = [];
  for await (const message of prompt) messages.push(message);
  return messages;
}

describe("selectPromptMode", () => {
  // @covers R168
  test("gives the text where there are no attachments", async () => {
    expect(await prompt("Hello\n", [])).toBe("Hello\n");
    expect(await prompt("", [])).toBe("");
    expect(await prompt("a\ud800", [])).toBe("a\ufffd");
  });

  // @covers R169
  test("gives exactly one message where there is a file to send", async () => {
    const path = folder.write("a.txt", "x");
    const { blocks } = await resolveAttachmentsToContentBlocks("Hello", [path]);
    const given = await prompt("Hello", [path]);
    const message = {
      type: "user",
      message: { role: "user", content: blocks },
      parent_tool_use_id: null,
      session_id: "s1",
    };
    expect(await messagesOf(given)).toEqual([message]);
    // And again, for another attempt, whatever became of the first.
    (await messagesOf(given))[0]?.message.content.pop();
    expect(await messagesOf(given)).toEqual([message]);
  });

  // @covers R173
  test("takes files without text, and an agent's session that has no id yet", async () => {
    const resolved = await resolveAttachmentsToContentBlocks(" ", [folder.write("a.txt", "x")]);
    const [message] = await messagesOf(selectPromptMode(" ", resolved));
    expect(message?.message.content.map(({ type }) => type)).toEqual(["document"]);
    expect(message?.session_id).toBe("");
  });

  // @covers R170
  test("goes on behind the warning where some failed", async () => {
    const paths = [join(folder.dir, "none.txt"), folder.write("a.txt", "x")];
    const [message] = await messagesOf(await prompt("Hello", paths));
    expect(message?.message.content.map(({ type }) => type)).toEqual(["text", "text", "document"]);
    expect(message?.message.content[0]).toMatchObject({ text: expect.stringContaining("1 of 2") });
    const [withoutText] = await messagesOf(await prompt("", paths));
    expect(withoutText?.message.content.map(({ type }) => type)).toEqual(["text", "document"]);
  });

  test("is the text with the warning in front where all failed", async () => {
    const given = await prompt("Hello", [join(folder.dir, "none.txt"), "a.png"]);
    expect(given).toBe(
      [
        "Warning: 2 of 2 attachments could not be used and are not shown here:",
        '- "none.txt": there is no such file',
        '- "a.png": its path is not absolute',
        "",
        "Hello",
      ].join("\n"),
    );
  });

  // @covers R171
  test("answers 400 where all failed and there is no text, and tells no paths", async () => {
    const paths = [join(folder.dir, "none.txt"), folder.write("a.bin", "x")];
    const error = await prompt(" \n", paths).catch((error: unknown) => error);
    expect(SessileError.is(error, "ATTACHMENT_FAILURE") && error.details).toEqual({
      status: 400,
      category: "ALL_ATTACHMENTS_FAILED_NO_TEXT",
      errors: [
        { name: "none.txt", code: "NOT_FOUND", reason: "there is no such file" },
        { name: "a.bin", code: "UNSUPPORTED_EXTENSION", reason: expect.any(String) },
      ],
    });
    expect(JSON.stringify(error)).not.toContain(folder.dir);
  });

  test("asks for strings", async () => {
    const resolved = { blocks: [], errors: [] };
    expect(() => selectPromptMode(undefined as never, resolved)).toThrow("message: expected a string");
    expect(() => selectPromptMode("", resolved, { sessionId: 5 as never })).toThrow(
      "sessionId: expected a string",
    );
  });
});
