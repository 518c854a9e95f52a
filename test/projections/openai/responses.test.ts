import { type AssistantMessage, contextOf, toolResult, userMessage } from "sessile/content";
import { cacheConversation, memoryReferenceCache, project } from "sessile/projections";
import { type OpenaiResponsesOptions, openaiResponses } from "sessile/projections/openai";
import { describe, expect, test } from "vitest";
import { bytesOf } from "../../support/media-files.js";
import { jpegBytes, pdfBytes, pngBytes, url } from "../../support/providers/openai/samples.js";
import { blobs, model, notes, report, said, shot, table } from "./samples.js";

type Messages = Parameters<typeof contextOf>[0];
type Block = AssistantMessage["content"][number];

async function projected(messages: Messages, options: Partial<OpenaiResponsesOptions> = {}) {
  return await project(contextOf(messages), openaiResponses({ model, ...options }), { blobs });
}

const inputOf = async (...args: Parameters<typeof projected>) => (await projected(...args)).value.input;

/** What the model said, after a question. */
async function saidBack(blocks: readonly Block[], options: Partial<OpenaiResponsesOptions> = {}) {
  const { value, losses } = await projected(
    [userMessage("Go"), said("openai-responses", ...blocks)],
    options,
  );
  return { items: value.input.slice(1), losses: losses.filter(({ code }) => code !== "interrupted") };
}

const reasoningItem = (id: string, more: object = {}) => ({
  type: "reasoning",
  id,
  summary: [],
  encrypted_content: `gAAA${id}`,
  ...more,
});
const thinking = (item: object): Block => ({
  type: "thinking",
  thinking: "Hm.",
  thinkingSignature: JSON.stringify(item),
});
const text = (words: string, signature?: string): Block => ({
  type: "text",
  text: words,
  ...(signature === undefined ? {} : { textSignature: signature }),
});
const call = { type: "toolCall", id: "call_1|fc_1", name: "read", arguments: { path: "a" } } as const;
const image = { type: "input_image", detail: "auto", image_url: url("image/png", pngBytes) };

describe("openaiResponses", () => {
  test("asks for a model", () => {
    expect(() => openaiResponses({ model: "" })).toThrow(/^model: expected a non-empty string/);
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
    const context = contextOf([userMessage(shot, report)]);
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

  test("goes on with what pi stored: items of reasoning, ids with and without a phase, calls by both ids", async () => {
    const { items, losses } = await saidBack([
      thinking(reasoningItem("rs_1", { status: null })),
      text("So.", '{"v":1,"id":"msg_1","phase":"commentary"}'),
      text("Yes.", "msg_2"),
      call,
      { ...call, id: "call_2|undefined" },
    ]);
    const message = { type: "message", role: "assistant", status: "completed" };
    const words = (value: string) => [{ type: "output_text", text: value, annotations: [] }];
    const called = { type: "function_call", name: "read", arguments: '{"path":"a"}' };
    expect(items.slice(0, 5)).toEqual([
      reasoningItem("rs_1"),
      { ...message, id: "msg_1", phase: "commentary", content: words("So.") },
      { ...message, id: "msg_2", content: words("Yes.") },
      { ...called, id: "fc_1", call_id: "call_1", status: "completed" },
      { ...called, call_id: "call_2" },
    ]);
    expect(losses).toEqual([]);
  });

  test.each([
    ["is not encrypted", { encrypted_content: undefined }],
    ["is encrypted by nothing", { encrypted_content: null }],
    ["has an id that is too long", { id: `rs_${"x".repeat(62)}` }],
    ["has another's id", { id: "msg_1" }],
    ["is not whole", { summary: undefined }],
    ["is something else", { type: "thought" }],
    ["cannot be written", { summary: [{ type: "summary_text", text: "\ud83d" }] }],
  ])("leaves out reasoning that %s, and with it the ids of what it led to", async (_, more) => {
    const search = { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search" } };
    const { items, losses } = await saidBack([
      thinking(reasoningItem("rs_1")),
      { type: "opaque", data: search },
      thinking(reasoningItem("rs_2", more)),
      text("So.", '{"v":1,"id":"msg_1","phase":"final_answer"}'),
      call,
    ]);
    expect(items.slice(0, 2)).toEqual([
      { role: "assistant", content: "So.", phase: "final_answer" },
      { type: "function_call", call_id: "call_1", name: "read", arguments: '{"path":"a"}' },
    ]);
    expect(losses.map(({ code, block }) => [code, block])).toEqual([
      ["reasoning", 0],
      ["opaque", 1],
      ["reasoning", 2],
    ]);
  });

  test("refers to reasoning that is not encrypted where responses are stored", async () => {
    const item = reasoningItem("rs_1", { encrypted_content: null });
    const { items, losses } = await saidBack([thinking(item), text("So.", "msg_1")], { stored: true });
    expect(items).toMatchObject([
      { type: "item_reference", id: "rs_1" },
      { type: "message", id: "msg_1" },
    ]);
    expect(losses).toEqual([]);
  });

  test("leaves out the first of two reasoning items in a row", async () => {
    const { items, losses } = await saidBack([
      thinking(reasoningItem("rs_1")),
      thinking(reasoningItem("rs_2")),
      text("So.", "msg_1"),
    ]);
    expect(items).toMatchObject([{ id: "rs_2" }, { id: "msg_1" }]);
    expect(losses).toMatchObject([{ code: "reasoning", block: 0 }]);
  });

  test("leaves out what wants an answer of another kind, and what it does not know, with all reasoning beside it", async () => {
    for (const data of [
      { type: "computer_call", id: "cu_1", call_id: "c" },
      { type: "web_search_call" },
      "?",
    ]) {
      const { items, losses } = await saidBack([
        thinking(reasoningItem("rs_1")),
        { type: "opaque", data },
        text("So.", "msg_1"),
      ]);
      expect(items).toEqual([{ role: "assistant", content: "So." }]);
      expect(losses.map(({ code }) => code)).toEqual(["reasoning", "opaque"]);
    }
  });

  test("sends no id of a message whose reasoning is not known", async () => {
    const search = { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search" } };
    const { items, losses } = await saidBack([{ type: "opaque", data: search }, text("So.", "msg_1"), call]);
    expect(items.slice(0, 2)).toEqual([
      { role: "assistant", content: "So." },
      { type: "function_call", call_id: "call_1", name: "read", arguments: '{"path":"a"}' },
    ]);
    expect(losses.map(({ code }) => code)).toEqual(["opaque"]);
  });

  test("sends an item's id once", async () => {
    const message = said("openai-responses", thinking(reasoningItem("rs_1")), text("So.", "msg_1"));
    const input = await inputOf([userMessage("Go"), message, userMessage("Again"), message]);
    expect(input.map((item) => ("id" in item ? item.id : undefined))).toEqual([
      undefined,
      "rs_1",
      "msg_1",
      undefined,
      undefined,
    ]);
    expect(input.at(-1)).toEqual({ role: "assistant", content: "So." });
  });

  test("takes nothing of another model's items but their words", async () => {
    const message = said("openai-responses", thinking(reasoningItem("rs_1")), text("So.", "msg_1"), call);
    for (const other of [{ model: "gpt-5.4" }, { provider: "azure" }, { account: "work" }]) {
      const input = await inputOf([userMessage("Go"), { ...message, ...other }]);
      expect(input.slice(1, 3)).toEqual([
        { role: "assistant", content: "So." },
        { type: "function_call", call_id: "call_1", name: "read", arguments: '{"path":"a"}' },
      ]);
    }
  });

  test("writes text anew that its mark does not fit", async () => {
    const parts = [
      { type: "output_text", length: 3, annotations: [] },
      { type: "refusal", length: 2 },
    ];
    const mark = JSON.stringify({ v: 1, id: "msg_1", sessile: { alone: true, parts } });
    const contentOf = async (words: string) => (await saidBack([text(words, mark)])).items;
    expect(await contentOf("abcde")).toMatchObject([
      {
        content: [
          { type: "output_text", text: "abc" },
          { type: "refusal", refusal: "de" },
        ],
      },
    ]);
    expect(await contentOf("edited")).toMatchObject([{ content: [{ type: "output_text", text: "edited" }] }]);
  });

  test("puts cache breakpoints where the policy says, for models that take them", async () => {
    const context = contextOf([
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
    expect(JSON.stringify(value).match(/prompt_cache_breakpoint/g)).toHaveLength(3);
    const { value: unmarked } = await project(context, openaiResponses({ model }), options);
    expect(JSON.stringify(unmarked)).not.toContain("prompt_cache_breakpoint");
  });

  test("gives values that are the caller's own, hosted items too", async () => {
    const data = {
      type: "mcp_call",
      id: "mcp_1",
      server_label: "s",
      name: "n",
      arguments: "{}",
      output: "x",
    };
    const message = said(
      "openai-responses",
      thinking(reasoningItem("rs_1")),
      { type: "opaque", data },
      text("So.", "msg_1"),
    );
    const [, , item] = await inputOf([userMessage("Go"), message]);
    expect(item).toEqual(data);
    expect(item).not.toBe(data);
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
