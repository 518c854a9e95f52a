import {
  cacheConversation,
  contextFrom,
  memoryReferenceCache,
  project,
  toolResult,
  userMessage,
} from "sessile";
import { type LimitProfile, limitProfiles } from "sessile/limits";
import { openaiResponses } from "sessile/openai";
import { describe, expect, test } from "vitest";
import { bytesOf } from "../../support/media-files.js";
import { jpegBytes, pdfBytes, url } from "../../support/providers/openai/samples.js";
import { call, image, inputOf, projected } from "./responses-samples.js";
import { blobs, model, notes, report, said, shot, table } from "./samples.js";

describe("openaiResponses", () => {
  test("asks for a model", () => {
    expect(() => openaiResponses({ model: "" })).toThrow(/^model: expected a non-empty string/);
  });

  test("takes a message of more texts than a call has arguments", async () => {
    const content = Array.from({ length: 200_000 }, () => ({ type: "text", text: "a" }) as const);
    const input = await inputOf([userMessage("Go"), { ...said("openai-responses"), content }]);
    expect(input).toHaveLength(200_001);
  });

  test("says instructions first, as whom it is told to", async () => {
    const system = { role: "system", content: "Be brief.", timestamp: 1 } as const;
    const hi = { role: "user", content: [{ type: "input_text", text: "hi" }] };
    const messages = [system, userMessage("hi")];
    const content = [{ type: "input_text", text: "Be brief." }];
    expect(await inputOf(messages)).toEqual([{ role: "developer", content }, hi]);
    expect(await inputOf(messages, { instructions: "system" })).toEqual([{ role: "system", content }, hi]);
  });

  test("shows images by data URL with their detail, and documents as files, but tables as text", async () => {
    const { value, losses } = await projected([userMessage(shot, report, notes, table)], {
      detail: "original",
    });
    const words = { type: "input_text", text: expect.any(String) };
    expect(value.input).toEqual([
      {
        role: "user",
        content: [
          words,
          { ...image, detail: "original" },
          words,
          { type: "input_file", filename: "a report.pdf", file_data: url("application/pdf", pdfBytes) },
          words,
          { type: "input_file", filename: "notes.md", file_data: url("text/markdown", bytesOf("# Notes")) },
          { type: "input_text", text: expect.stringContaining("a,b") },
        ],
      },
    ]);
    expect(losses.map(({ code }) => code)).toEqual(["asText"]);
  });

  test("names what the API has by its id or its address", async () => {
    const references = memoryReferenceCache();
    references.set({ blob: shot.blob, provider: "openai" }, { kind: "file", id: "file-1" });
    references.set(
      { blob: report.blob, provider: "openai" },
      { kind: "url", url: "https://example.com/a.pdf" },
    );
    const context = contextFrom([userMessage(shot, report)]);
    const { value } = await project(context, openaiResponses({ model }), { blobs, references });
    expect(value.input).toMatchObject([
      {
        content: [
          {},
          { type: "input_image", detail: "auto", file_id: "file-1" },
          {},
          { type: "input_file", file_url: "https://example.com/a.pdf" },
        ],
      },
    ]);
  });

  test("answers calls with text, or with what was shown", async () => {
    const other = { ...call, id: "call_2" };
    const input = await inputOf([
      userMessage("Go"),
      said("openai-responses", call, other),
      toolResult(call, "one"),
      toolResult(other, "two", shot),
    ]);
    expect(input.slice(1)).toEqual([
      { type: "function_call", call_id: "call_1", name: "read", arguments: '{"path":"a"}' },
      { type: "function_call", call_id: "call_2", name: "read", arguments: '{"path":"a"}' },
      { type: "function_call_output", call_id: "call_1", output: "one" },
      {
        type: "function_call_output",
        call_id: "call_2",
        output: [
          { type: "input_text", text: "two" },
          { type: "input_text", text: expect.any(String) },
          image,
        ],
      },
    ]);
  });

  test("answers calls of custom tools as such", async () => {
    const custom = {
      type: "toolCall",
      id: "call_1",
      name: "patch",
      arguments: { input: "***" },
    } as const;
    const marked = { ...custom, thoughtSignature: '{"v":1,"custom":"ctc_1","alone":true}' };
    const input = await inputOf([
      userMessage("Go"),
      said("openai-responses", marked),
      toolResult(custom, "done"),
      { ...said("openai-responses", marked), model: "other" },
      toolResult(custom, "done"),
    ]);
    expect(input.slice(1)).toEqual([
      { type: "custom_tool_call", id: "ctc_1", call_id: "call_1", name: "patch", input: "***" },
      { type: "custom_tool_call_output", call_id: "call_1", output: "done" },
      { type: "function_call", call_id: "call_1_2", name: "patch", arguments: '{"input":"***"}' },
      { type: "function_call_output", call_id: "call_1_2", output: "done" },
    ]);
  });

  test("puts cache breakpoints where the policy says, for models that take them", async () => {
    const context = contextFrom([
      { role: "system", content: "Be brief.", timestamp: 1 },
      userMessage("one"),
      said("openai-responses", call),
      toolResult(call, "ok"),
      said("openai-responses", { ...call, id: "call_2" }),
      toolResult({ id: "call_2", name: "read" }, shot),
    ]);
    const options = { blobs, cache: cacheConversation };
    const end = { prompt_cache_breakpoint: { mode: "explicit" } };
    const { value } = await project(context, openaiResponses({ model, cacheBreakpoints: true }), options);
    expect(value.input).toMatchObject([
      { content: [{ text: "Be brief.", ...end }] },
      { role: "user" },
      { type: "function_call" },
      { output: [{ type: "input_text", text: "ok", ...end }] },
      { type: "function_call" },
      { output: [{ type: "input_text" }, { type: "input_image", ...end }] },
    ]);
    const marksIn = (of: object) => JSON.stringify(of).match(/prompt_cache_breakpoint/g);
    expect(marksIn(value)).toHaveLength(3);
    // The API has one of four for itself.
    const everywhere = { blobs, cache: () => ["system", 0, 2, 4] as const };
    const { value: full } = await project(
      context,
      openaiResponses({ model, cacheBreakpoints: true }),
      everywhere,
    );
    expect(marksIn(full)).toHaveLength(3);
    const { value: unmarked } = await project(context, openaiResponses({ model }), options);
    expect(JSON.stringify(unmarked)).not.toContain("prompt_cache_breakpoint");
  });

  test("knows a picture that is not what it says", async () => {
    const inline = {
      type: "image",
      mimeType: "image/png",
      data: Buffer.from(jpegBytes).toString("base64"),
    } as const;
    const input = await inputOf([{ role: "user", content: [inline], timestamp: 1 }]);
    expect(JSON.stringify(input)).toContain(url("image/jpeg", jpegBytes));
  });
});

describe("sizes in the outputs of tools", () => {
  const row = (rule: string, value: number) => {
    const rows = limitProfiles.openai.rows.map((one) => (one.rule === rule ? { ...one, value } : one));
    return { ...limitProfiles.openai, rows } as LimitProfile;
  };
  const use = { type: "toolCall", id: "call_1", name: "read", arguments: {} } as const;
  const called = said("openai-responses", use);
  const input = async (messages: Parameters<typeof contextFrom>[0], profile: LimitProfile) =>
    await project(contextFrom(messages), openaiResponses({ model, profile }), { blobs });

  test("divide a text that is too long, and cut no character in two", async () => {
    const profile = row("textCharacters", 4);
    const { value, losses } = await input(
      [called, toolResult(use, "abc😀def"), userMessage("abcde")],
      profile,
    );
    const texts = (...parts: string[]) => parts.map((text) => ({ type: "input_text", text }));
    expect(value.input.slice(-2)).toEqual([
      { type: "function_call_output", call_id: "call_1", output: texts("abc", "😀de", "f") },
      { role: "user", content: texts("abcd", "e") },
    ]);
    expect(losses).toEqual([]);
  });

  test("leave out an image that is too large there, and no other", async () => {
    const profile = row("imageBytes", 8);
    const inResult = await input([called, toolResult(use, shot)], profile);
    expect(inResult.losses).toMatchObject([{ code: "overLimit" }]);
    const inMessage = await input([userMessage(shot)], profile);
    expect(inMessage.losses).toEqual([]);
    expect(inMessage.value.input).toMatchObject([{ content: [{}, { type: "input_image" }] }]);
  });

  test("are those of the published schema", () => {
    const values = limitProfiles.openai.rows.flatMap(({ rule, value }) =>
      rule === "imageBytes" || rule === "textCharacters" ? [value] : [],
    );
    expect(values).toEqual([Math.floor((20_971_520 - "data:image/jpeg;base64,".length) / 4) * 4, 10_485_760]);
  });
});
