import {
  assistantMessage,
  memoryBlobStore,
  memorySessionStore,
  project,
  toBody,
  toolResult,
  userMessage,
} from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { geminiContents } from "sessile/gemini";
import { openaiChat, openaiResponses } from "sessile/openai";
import { describe, expect, it } from "vitest";
import { makePng } from "../../../examples/apps/support/make-media.js";
import { reduceRequest } from "./reduced.js";

const blobs = memoryBlobStore();
const call = { type: "toolCall", id: "call_a", name: "look", arguments: { path: "a.png" } } as const;
const image = {
  type: "image",
  data: Buffer.from(makePng(8, 8)).toString("base64"),
  mimeType: "image/png",
} as const;

async function context() {
  const session = await memorySessionStore({ blobs }).create({ cwd: "/work" });
  await session.appendMessage({
    role: "user",
    content: [{ type: "text", text: "What is this?" }, image],
    timestamp: 1,
  });
  await session.appendMessage(
    assistantMessage({ provider: "p", model: "m" }, { type: "text", text: "I look." }, call),
  );
  await session.appendMessage(toolResult(call, "A square."));
  await session.appendMessage(
    assistantMessage({ provider: "p", model: "m" }, { type: "text", text: "x".repeat(500) }),
  );
  await session.appendMessage(userMessage("Thanks."));
  return session.context();
}

describe("reduceRequest", () => {
  it("gives the same messages of one context in every protocol", async () => {
    const given = await context();
    const options = { blobs, replay: () => "full" as const };
    const projections = {
      anthropic: await project(given, anthropicMessages({ model: "m" }), options),
      responses: await project(given, openaiResponses({ model: "m" }), options),
      chat: await project(given, openaiChat({ model: "m" }), options),
      gemini: await project(given, geminiContents({ model: "m" }), options),
    };
    for (const [target, projection] of Object.entries(projections)) {
      // The Gemini API has no ids of calls.
      const id = target === "gemini" ? "look" : "call_a";
      const body: unknown = JSON.parse(Buffer.concat([...toBody(projection)]).toString());
      expect(reduceRequest(body, { without: [/^\[image, /] }), target).toEqual([
        { role: "user", text: "What is this?" },
        { role: "user", image: expect.stringMatching(/^sha256:[0-9a-f]{16}$/) },
        { role: "assistant", text: "I look." },
        { role: "assistant", call: id, name: "look", arguments: { path: "a.png" } },
        { role: "tool", result: id, text: "A square." },
        {
          role: "assistant",
          text: expect.stringMatching(/^x{60}… \(500 characters, sha256 [0-9a-f]{16}\)$/),
        },
        { role: "user", text: "Thanks." },
      ]);
    }
  });

  it("leaves out prompts and the texts of `without`, and names parts of unknown types", () => {
    const body = {
      instructions: "long",
      input: [
        { role: "developer", content: "prompt" },
        { role: "user", content: [{ type: "input_text", text: "<environment_context>" }] },
        { type: "compaction", encrypted_content: "…" },
        {
          type: "custom_tool_call_output",
          call_id: "c",
          output: [{ type: "input_image", image_url: "https://e/a" }],
        },
      ],
    };
    expect(reduceRequest(body, { without: [/^<environment/] })).toEqual([
      { role: "assistant", other: "compaction" },
      { role: "tool", result: "c", text: "", images: ["https://e/a"] },
    ]);
    expect(reduceRequest("no JSON")).toEqual([]);
  });
});
