import type Anthropic from "@anthropic-ai/sdk";
import {
  type AssistantMessage,
  type Context,
  cacheConversation,
  contextFrom,
  type Message,
  project,
  type Target,
  toolResult,
  userMessage,
} from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { openaiResponses } from "sessile/openai";
import { describe, expect, test } from "vitest";

const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 };
const target = anthropicMessages({ model: "claude-opus-5-5", turnOnly: ["todos", "date"] });

function called(at: number): AssistantMessage {
  return {
    ...said(""),
    stopReason: "toolUse",
    content: [{ type: "toolCall", id: `toolu_${at}`, name: "read", arguments: {} }],
  };
}

function said(text: string): AssistantMessage {
  return {
    role: "assistant",
    ...{ provider: "anthropic", model: "claude-opus-5-5", usage, timestamp: 3 },
    ...{ stopReason: "stop", content: [{ type: "text", text }] },
  };
}

function done(at: number): Message {
  return toolResult({ id: `toolu_${at}`, name: "read" }, `Result ${at}.`);
}

function note(customType: string, content: string): Message {
  return { role: "custom", customType, content, display: false, timestamp: 1 };
}

/** The roles of a request's messages, and the texts of those that are cleared. */
function outline(messages: readonly { role: string; clear_at?: string; content: readonly object[] }[]) {
  return messages.map(({ role, clear_at, content }) =>
    clear_at === undefined
      ? role
      : content.map((block) => ("text" in block ? block.text : undefined)).join(" | "),
  );
}

function whole(messages: readonly Message[]): Context {
  return contextFrom(messages);
}

describe("custom messages that count for one turn", () => {
  test("are cleared by Anthropic, and stand behind each result of the turn", async () => {
    const messages = [userMessage("Go."), note("todos", "1. Read."), called(1), done(1), called(2), done(2)];
    const { value, losses, tools } = await project(whole(messages), target);
    expect({ losses, tools }).toEqual({ losses: [], tools: [] });
    const text = { type: "text", text: "1. Read." };
    expect(value.messages[1]).toEqual({ role: "system", clear_at: "next_user_message", content: [text] });
    expect(outline(value.messages)).toEqual([
      ...["user", "1. Read.", "assistant", "user", "1. Read.", "assistant", "user", "1. Read."],
    ]);
    const sent: Anthropic.Beta.BetaMessageParam[] = value.messages;
    const plain: Anthropic.MessageParam[] = value.messages;
    expect(sent).toHaveLength(plain.length);
  });

  test("replace those of their type, and end at the user's next message", async () => {
    const messages = [
      note("todos", "1. Read."),
      note("date", "Monday."),
      ...[userMessage("Go."), called(1), done(1)],
      note("todos", "2. Write."),
      ...[called(2), done(2), said("Done."), userMessage("And now?"), called(3), done(3)],
    ];
    const { value } = await project(whole(messages), target);
    expect(outline(value.messages)).toEqual([
      ...["user", "1. Read. | Monday.", "assistant", "user", "Monday. | 2. Write.", "assistant"],
      ...["user", "Monday. | 2. Write.", "assistant", "user", "assistant", "user"],
    ]);
  });

  test("leave the bytes of each earlier request as they were", async () => {
    const messages = [
      ...[note("date", "Monday."), userMessage("Go."), note("todos", "1. Read."), called(1), done(1)],
      ...[note("todos", "2. Write."), called(2), done(2), called(3), done(3), said("Done.")],
      ...[userMessage("And now?"), note("date", "Tuesday."), said("Nothing."), note("date", "Friday.")],
      ...[called(4), done(4)],
    ];
    let before: readonly object[] = [];
    for (let end = 1; end <= messages.length; end++) {
      if (messages[end - 1]?.role === "assistant") continue;
      if (messages[end]?.role !== "assistant" && end < messages.length) continue;
      const { value } = await project(whole(messages.slice(0, end)), target);
      expect(value.messages.slice(0, before.length)).toEqual(before);
      before = value.messages;
    }
    expect(before.length).toBeGreaterThan(12);
  });

  test("are not counted behind another message of the user's, and have no cache marker", async () => {
    const text = "word ".repeat(1000);
    const count = async (...messages: Message[]) => {
      const { usage, value } = await project(whole(messages), target, { cache: cacheConversation });
      expect(value.messages.flatMap(({ role, content }) => (role === "system" ? content : []))).toEqual(
        expect.arrayContaining([{ type: "text", text }]),
      );
      expect(JSON.stringify(value.messages.findLast(({ role }) => role === "user"))).toContain(
        "cache_control",
      );
      return usage.text;
    };
    const asked = [userMessage("Go."), note("todos", text)] as const;
    const now = await count(...asked);
    expect(now).toBeGreaterThan(900);
    expect(await count(...asked, called(1), done(1))).toBeLessThan(now + 100);
    expect(await count(...asked, said("Yes."), userMessage("More."))).toBeLessThan(100);
  });

  test("are words of the user if there is nothing else that they can follow", async () => {
    const { value } = await project(
      whole([userMessage("Go."), said("Done."), note("date", "Monday.")]),
      target,
    );
    expect(value.messages.at(-1)).toEqual({ role: "user", content: [{ type: "text", text: "Monday." }] });
  });

  test("come behind instructions that stay", async () => {
    const system = { role: "system", content: "Be brief.", timestamp: 1 } as const;
    const messages = [userMessage("Go."), note("date", "Monday."), system];
    const { value } = await project(whole(messages), target);
    expect(value.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "Go." }] },
      { role: "system", content: [{ type: "text", text: "Be brief." }] },
      { role: "system", clear_at: "next_user_message", content: [{ type: "text", text: "Monday." }] },
    ]);
  });

  const others: readonly [string, Target<unknown>, Target<unknown>][] = [
    [
      "an older model",
      anthropicMessages({ model: "claude-sonnet-5", turnOnly: ["date"] }),
      anthropicMessages({ model: "claude-sonnet-5" }),
    ],
    [
      "messages of another type",
      anthropicMessages({ model: "claude-opus-5-5", turnOnly: ["todos"] }),
      anthropicMessages({ model: "claude-opus-5-5" }),
    ],
  ];

  test.each(others)("are as without the option for %s", async (_, given, plain) => {
    const context = whole([userMessage("Go."), note("date", "Monday."), called(1), done(1)]);
    const { value } = await project(context, given);
    expect(value).toEqual((await project(context, plain)).value);
    expect(JSON.stringify(value)).not.toContain("clear_at");
  });

  test.each(["claude-opus-4-8", "claude-fable-5", "claude-opus-5", "claude-sonnet-5-5", "claude-haiku-5-5"])(
    "are cleared by %s",
    async (model) => {
      const context = whole([userMessage("Go."), note("date", "Monday.")]);
      const { value } = await project(context, anthropicMessages({ model, turnOnly: ["date"] }));
      expect(outline(value.messages)).toEqual(["user", "Monday."]);
    },
  );

  test("stay where they are for another provider", async () => {
    const context = whole([userMessage("Go."), note("date", "Monday."), called(1), done(1)]);
    const { value } = await project(context, openaiResponses({ model: "gpt-6.2-sol" }));
    expect(JSON.stringify(value).match(/Monday/g)).toHaveLength(1);
  });

  test("are named by strings", () => {
    const given = { model: "claude-opus-5-5", turnOnly: [1] as never };
    expect(() => anthropicMessages(given)).toThrow(
      new TypeError("turnOnly[0]: expected a non-empty string, got 1"),
    );
  });
});
