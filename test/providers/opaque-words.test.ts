/** The words of a provider's own block, in every place that shows a reply to someone else. */

import {
  assistantMessage,
  contextFrom,
  memoryBlobStore,
  memorySessionStore,
  messageText,
  project,
  userMessage,
} from "sessile";
import { acpReplay } from "sessile/acp";
import { toUIMessages } from "sessile/ai-sdk";
import { claudeCode } from "sessile/claude-code";
import { codex } from "sessile/codex";
import { gemini } from "sessile/gemini-cli";
import { exportSession, toAtif } from "sessile/interop";
import { opencode } from "sessile/opencode";
import { describe, expect, test } from "vitest";
import { serializeItems } from "../../src/compaction/prompts.js";
import { checkedTargets } from "../support/checked-targets.js";

const maker = { provider: "elsewhere", model: "other-1", api: "other-api" };
const cited = {
  citationsContent: { content: [{ text: "The sky is zebra-striped." }], citations: [{ title: "t" }] },
};
const reasoning = { type: "reasoning", content: [{ type: "reasoning_text", text: "panda" }] };
const reply = assistantMessage(maker, { type: "opaque", data: reasoning }, { type: "opaque", data: cited });
const messages = [userMessage("Why?"), reply, userMessage("Go on.")];

describe("another model gets the words of a block, and a loss", () => {
  // @covers R22
  test.each(checkedTargets)("$name", async ({ target, breaches }) => {
    const { value, losses, byPolicy } = await project(contextFrom(messages), target);
    const sent = JSON.stringify(value);
    const codes = losses.map(({ code, block }) => [code, block]);
    if (!byPolicy.some(({ code }) => code === "notRepeated")) {
      expect(sent).toContain("zebra-striped");
      expect(codes).toEqual([
        ["opaque", 0],
        ["opaque", 1],
      ]);
    }
    expect(sent).not.toContain("panda");
    expect(breaches(value)).toEqual([]);
  });
});

async function listed<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

describe("people and programs see the words of a block", () => {
  const stored = async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/", id: "s" });
    for (const message of messages) await session.appendMessage(message);
    return { store, session };
  };

  test("as the text of the message, in a search, in a summary's source", async () => {
    expect(messageText(reply)).toBe("The sky is zebra-striped.");
    const { store } = await stored();
    const found = await listed(store.search({ text: "zebra" }));
    expect(found).toHaveLength(1);
    expect(await listed(store.search({ text: "panda" }))).toEqual([]);
    expect(serializeItems(contextFrom(messages).items)).toContain("zebra-striped");
  });

  test("in a page and in a client of ACP", async () => {
    const { session } = await stored();
    const shown = await toUIMessages(await session.path());
    expect(JSON.stringify(shown[1])).toContain("zebra-striped");
    const updates = await listed(acpReplay(session, { blobs: memoryBlobStore() }));
    expect(JSON.stringify(updates)).toContain("zebra-striped");
    expect(JSON.stringify([shown, updates])).not.toContain("panda");
  });

  test.each([claudeCode, codex, gemini, opencode])("in a file of $name", async (to) => {
    const { session } = await stored();
    const { files } = await exportSession(session, { to });
    expect(files.map(({ bytes }) => Buffer.from(bytes).toString("utf8")).join("\n")).toContain(
      "zebra-striped",
    );
  });

  test("in a trajectory", async () => {
    const { session } = await stored();
    expect(JSON.stringify((await toAtif(session)).trajectory)).toContain("zebra-striped");
  });
});
