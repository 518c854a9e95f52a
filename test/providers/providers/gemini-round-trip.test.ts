import { GoogleGenAI } from "@google/genai";
import { project, toolCalls, toolResult, userMessage } from "sessile";
import { geminiContents, readGeminiReply } from "sessile/gemini";
import { describe, expect, test } from "vitest";
import { fullSession } from "../../support/providers/full-session.js";
import { callingReply, geminiReply } from "../../support/providers/gemini/replies.js";
import { gemini3, gemini25 } from "../../support/providers/gemini/sample.js";
import { startGemini } from "../../support/providers/gemini/server.js";
import { signatureOf } from "../../support/providers/gemini/signatures.js";

const cases = [
  { model: gemini3, ids: true },
  { model: gemini3, ids: false },
  { model: gemini25, ids: false },
];

describe.each(cases)("a session with $model, which gives ids: $ids", ({ model, ids }) => {
  test("goes there and back through the official client, and finds the model's own parts as they were", async () => {
    const code = { executableCode: { language: "PYTHON", code: "1" } };
    const last = geminiReply(model, [
      { text: "Both are fine." },
      code,
      { text: "", thoughtSignature: signatureOf(model, "empty") },
    ]);
    const calling = callingReply(model, { ids });
    await using server = await startGemini([calling, last]);
    const client = new GoogleGenAI({ apiKey: "none", vertexai: false, httpOptions: { baseUrl: server.url } });
    const { session, blobs } = await fullSession();
    const ask = async () => {
      const { value } = await project(await session.context(), geminiContents({ model }), { blobs });
      const { contents, systemInstruction } = value;
      const config = systemInstruction === undefined ? {} : { systemInstruction };
      return readGeminiReply(await client.models.generateContent({ model, contents, config }), { model });
    };

    const reply = await ask();
    expect(reply).toMatchObject({
      stopReason: "toolUse",
      usage: { input: 600, output: 100, cacheRead: 400 },
    });
    await session.appendMessage(reply);
    for (const call of toolCalls(reply)) await session.appendMessage(toolResult(call, "here it is"));
    await session.appendMessage(await ask());
    await session.appendMessage(userMessage("Thanks."));
    await ask();

    const [, second, third] = server.requests.map(({ body }) => body as { contents: { parts: unknown[] }[] });
    expect(second?.contents.map(({ parts }) => parts)).toContainEqual(partsOf(calling));
    expect(third?.contents.map(({ parts }) => parts)).toContainEqual(partsOf(last));
    const responses = JSON.stringify(second?.contents.at(-1));
    expect(responses.includes('"id":"1a2b3c4d"')).toBe(ids);
    expect(JSON.stringify(server.requests.map(({ body }) => body))).not.toMatch(/noid|call_1|toolu_2/);
  });
});

function partsOf(reply: Readonly<Record<string, unknown>>): readonly unknown[] {
  const [candidate] = reply.candidates as { content: { parts: unknown[] } }[];
  return candidate?.content.parts ?? [];
}
