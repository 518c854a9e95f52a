import type { GoogleGenAI, Interactions } from "@google/genai";
import { contextFrom, project, userMessage } from "sessile";
import { usageCost } from "sessile/cost";
import { type GeminiInteraction, geminiInteractions, readGeminiInteraction } from "sessile/gemini";
import { describe, expect, expectTypeOf, test } from "vitest";
import {
  callingInteraction,
  interaction,
  richInteraction,
} from "../../support/providers/gemini/interactions.js";

const model = "gemini-3.8-flash";
const signature = btoa("signature");
const text = (words: string) => ({ type: "model_output", content: [{ type: "text", text: words }] });
const call = (id?: unknown, more: object = {}) => ({
  type: "function_call",
  id,
  name: "read",
  arguments: {},
  ...more,
});
const reply = (steps: readonly object[], more: object = {}) =>
  interaction(model, steps as never, more as never);
const read = (steps: readonly object[], more: object = {}) =>
  readGeminiInteraction(reply(steps, more) as GeminiInteraction, { model });

describe("readGeminiInteraction", () => {
  test("takes the official client's interaction", () => {
    expectTypeOf<Interactions.Interaction>().toExtend<GeminiInteraction>();
    type Create = GoogleGenAI["interactions"]["create"];
    type Asked = Create extends (
      params: Interactions.InteractionCreateParams,
      ...more: never
    ) => Promise<infer R>
      ? R
      : never;
    expectTypeOf<Exclude<Asked, AsyncIterable<unknown>>>().toExtend<GeminiInteraction>();
  });

  test("keeps thoughts, texts and calls, each with its signature", () => {
    const { content, stopReason, api, provider } = readGeminiInteraction(callingInteraction(model), {
      model,
    });
    expect(content).toEqual([
      { type: "thinking", thinking: "I should read both.", thinkingSignature: expect.any(String) },
      { type: "text", text: "Let me look." },
      {
        type: "toolCall",
        id: "1a2b3c4d",
        name: "read",
        arguments: { path: "a.png" },
        thoughtSignature: expect.any(String),
      },
      { type: "toolCall", id: "5e6f7a8b", name: "read", arguments: { path: "b.png", lines: [1, 2] } },
    ]);
    expect([stopReason, api, provider]).toEqual(["toolUse", "google-interactions", "google"]);
  });

  test("keeps the rest as it came, and each text of an output", () => {
    const { content, providerFields } = readGeminiInteraction(richInteraction(model), { model });
    expect(content.map((block) => (block.type === "text" ? block.text : block.type))).toEqual([
      ...["thinking", "opaque", "opaque", "opaque", "opaque", "thinking"],
      ...["It is so, by the page.", "opaque", " And that is how it sounds.", "opaque"],
      ...["A second output.", "opaque", "opaque", "opaque", "opaque"],
    ]);
    expect(providerFields).toEqual({
      id: "v1_abc",
      status: "completed",
      updated: "2026-11-28T10:00:01Z",
      service_tier: "standard",
      usage: { input_tokens_by_modality: [{ modality: "text", tokens: 1000 }] },
    });
  });

  test("does not keep what repeats the request, nor what the client adds", () => {
    const asked = {
      ...{ input: "hi", tools: [], system_instruction: "Be brief.", generation_config: { seed: 1 } },
      ...{ previous_interaction_id: "v1_old", output_text: "yes", sdkHttpResponse: {}, store: false },
    };
    const { providerFields } = read([text("yes")], { ...asked, id: "", usage: undefined });
    expect(Object.keys(providerFields ?? {}).sort()).toEqual(["service_tier", "status", "updated"]);
  });

  test("leaves out the steps of the request, which a stored interaction has too", () => {
    const asked = { type: "user_input", content: [{ type: "text", text: "hi" }] };
    const result = { type: "function_result", call_id: "old", name: "read", result: "words" };
    const said = [{ type: "thought", signature }, text("yes")];
    expect(read([asked, result, ...said]).content).toEqual(read(said).content);
    expect(read([text("before"), asked, ...said]).content).toEqual(read(said).content);
  });

  test("has no call of what the API answered by itself", () => {
    const result = { type: "function_result", call_id: "c1", name: "read", result: "words" };
    const { content, stopReason } = read([call("c1"), result, text("yes")]);
    expect(content.map(({ type }) => type)).toEqual(["opaque", "opaque", "text"]);
    expect(stopReason).toBe("stop");
  });

  test("gives calls without an id, or with one again, an id of their own, the same each time", () => {
    const steps = [call(), call(""), call("1"), call("1"), call(5)];
    const ids = () => read(steps).content.map((block) => block.type === "toolCall" && block.id);
    expect(new Set(ids()).size).toBe(5);
    expect(ids()[2]).toBe("1");
    expect(ids()).toEqual(ids());
  });

  test("counts tokens of tools as input, thoughts as output, and cached tokens apart", () => {
    const { usage } = read([text("yes")]);
    expect(usage).toMatchObject({
      input: 650,
      output: 100,
      cacheRead: 400,
      cacheWrite: 0,
      totalTokens: 1150,
    });
    if (usage === undefined) return expect.fail("no usage");
    expect(usageCost(usage, { provider: "google", model })?.total).toBeGreaterThan(0);
    expect(read([], { usage: { total_input_tokens: -1, total_output_tokens: "x" } }).usage).toMatchObject({
      input: 0,
      output: 0,
      totalTokens: 0,
    });
  });

  test.each([
    ["completed", "stop"],
    [undefined, "stop"],
    ["requires_action", "toolUse"],
    ["incomplete", "length"],
    ["budget_exceeded", "length"],
    ["requires_continuation", "pause"],
    ["cancelled", "aborted"],
    ["in_progress", "aborted"],
    ["queued", "aborted"],
    ["failed", "error"],
    ["new_status", "error"],
  ])("ends by the status %s: %s", (status, stopReason) => {
    expect(read([text("yes")], { status }).stopReason).toBe(stopReason);
  });

  test.each([
    [{ errors: [{ code: "image_safety", message: "No." }] }, "image_safety: No.", true],
    [{ errors: [{ code: "content_blocked" }] }, "content_blocked", true],
    [
      { errors: [{ code: "invalid_request", message: "Request blocked due to SPII." }] },
      "invalid_request: Request blocked due to SPII.",
      true,
    ],
    [
      { errors: [{ code: "malformed_function_call", message: "Oh." }] },
      "malformed_function_call: Oh.",
      undefined,
    ],
    [{}, "the interaction is failed", undefined],
  ])("says why it failed, and whether it was declined: %j", (more, errorMessage, refused) => {
    const message = read([], { status: "failed", ...more });
    expect([message.errorMessage, message.refused]).toEqual([errorMessage, refused]);
    const output = { ...text("half"), error: { code: 13, message: "Internal." } };
    expect(read([output], { status: "failed" }).errorMessage).toBe("Internal.");
  });

  test("a declined interaction does not go out again", async () => {
    const message = read([text("No.")], { status: "failed", errors: [{ code: "safety" }] });
    const context = contextFrom([userMessage("forbidden"), message, userMessage("next")]);
    const { value, warnings } = await project(context, geminiInteractions({ model }));
    expect(JSON.stringify(value)).not.toMatch(/forbidden|No\./);
    expect(warnings).toMatchObject([{ code: "refused" }]);
  });

  test("names the model that was asked, or the one or the agent that answered", () => {
    expect(readGeminiInteraction(reply([text("yes")]))).toMatchObject({ model });
    const message = readGeminiInteraction(reply([], { model: "gemini-3.8-flash-002" }), {
      model: "latest",
      account: "a",
    });
    expect(message).toMatchObject({ model: "latest", responseModel: "gemini-3.8-flash-002", account: "a" });
    const agent = { model: undefined, agent: "deep-research" };
    expect(readGeminiInteraction(reply([], agent))).toMatchObject({ model: "deep-research" });
    expect(readGeminiInteraction(reply([], { created: "soon" }), { model }).timestamp).toBeGreaterThan(0);
  });

  test.each([
    [null, "reply: expected an object, got null"],
    [{ steps: 1, model }, "reply.steps: expected an array"],
    [{ steps: [null], model }, "reply.steps[0]: expected an object"],
    [{ steps: [], model, status: 1 }, "reply.status: expected a string"],
    [{ steps: [] }, "reply.model: expected"],
  ])("refuses what is no interaction: %j", (value, problem) => {
    expect(() => readGeminiInteraction(value as never)).toThrow(problem);
  });
});
