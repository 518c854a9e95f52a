import { ApiError, type Content, GoogleGenAI } from "@google/genai";
import { describe, expect, test } from "vitest";
import { rejectedRequests } from "../../support/providers/gemini/rejected.js";
import { callingReply } from "../../support/providers/gemini/replies.js";
import { geminiRules } from "../../support/providers/gemini/rules.js";
import {
  gemini3,
  validContents,
  validOldRequest,
  validRequest,
} from "../../support/providers/gemini/sample.js";
import { startGemini } from "../../support/providers/gemini/server.js";
import { breaches } from "../../support/providers/rule.js";

describe("the Gemini API's rules", () => {
  test("take a request with everything in it", () => {
    expect(breaches(validRequest, geminiRules)).toEqual([]);
    expect(breaches(validOldRequest, geminiRules)).toEqual([]);
  });

  test.each(rejectedRequests)("$rule: $title", ({ rule, request }) => {
    const found = breaches(request, geminiRules);
    expect([...new Set(found.map((breach) => breach.rule))]).toEqual([rule]);
  });

  test("have each a source, a name of its own and a request that breaks it", () => {
    const ids = geminiRules.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { source } of geminiRules) expect(source).toMatch(/https:\/\/.*2026-11-21/);
    expect(new Set(rejectedRequests.map(({ rule }) => rule))).toEqual(new Set(ids));
  });
});

describe("the Gemini API's server", () => {
  test("takes what the official client sends, and the client reads what it answers", async () => {
    await using server = await startGemini([callingReply(gemini3, { ids: true })]);
    const reply = await clientOf(server.url).models.generateContent({
      model: gemini3,
      contents: [...validContents] satisfies Content[],
      config: { systemInstruction: "Be brief." },
    });
    expect(reply.candidates?.[0]?.content?.parts?.[1]?.text).toBe("Let me look.");
    expect(reply.functionCalls?.map(({ id }) => id)).toEqual(["1a2b3c4d", "5e6f7a8b"]);
    expect(reply.usageMetadata?.thoughtsTokenCount).toBe(40);
    expect(server.requests).toHaveLength(1);
  });

  test("refuses in Google's words, with the field where Google names it", async () => {
    await using server = await startGemini([callingReply(gemini3, { ids: true })]);
    const asked = clientOf(server.url).models.generateContent({
      model: gemini3,
      contents: [{ role: "user", parts: [{ inlineData: { mimeType: "image/png", data: "data:" } }] }],
    });
    const error: unknown = await asked.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ApiError);
    expect(JSON.parse((error as ApiError).message)).toMatchObject({
      error: {
        code: 400,
        status: "INVALID_ARGUMENT",
        details: [{ fieldViolations: [{ field: "contents[0].parts[0].inline_data.data" }] }],
      },
    });
  });
});

function clientOf(baseUrl: string): GoogleGenAI {
  return new GoogleGenAI({ apiKey: "none", vertexai: false, httpOptions: { baseUrl } });
}
