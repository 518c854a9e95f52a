import { userMessage } from "sessile";
import { readOpenaiResponsesReply } from "sessile/openai";
import { describe, expect, test } from "vitest";
import { responsesReply } from "../../support/providers/openai/replies.js";
import { call, inputOf, projected, reasoningItem, saidBack, text, thinking } from "./responses-samples.js";
import { said } from "./samples.js";

describe("openaiResponses, of what the model said,", () => {
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

  test("names the group of a call's tool to the model that made the call, and to no other", async () => {
    const grouped = { ...call, namespace: "crm" };
    const { items, losses } = await saidBack([grouped]);
    expect(items[0]).toMatchObject({ type: "function_call", call_id: "call_1", namespace: "crm" });
    expect(losses).toEqual([]);
    const broken = await saidBack([{ ...call, namespace: "\ud83d" }]);
    expect(broken.items[0]).not.toHaveProperty("namespace");
    const foreign = await projected([
      userMessage("Read."),
      { ...said("openai-responses", grouped), model: "another" },
    ]);
    expect(JSON.stringify(foreign)).not.toContain("crm");
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

  test("leaves out reasoning whose item is already in the request", async () => {
    const search = {
      type: "web_search_call",
      id: "ws_1",
      status: "completed",
      action: { type: "search", query: "" },
    };
    const thought = (id: string) => [thinking(reasoningItem(id)), { type: "opaque", data: search } as const];
    const first = said("openai-responses", ...thought("rs_1"), text("So.", "msg_1"));
    const second = said(
      "openai-responses",
      ...thought("rs_2"),
      thinking(reasoningItem("rs_3")),
      text("So.", "msg_2"),
    );
    const { value, losses } = await projected([userMessage("Go"), first, userMessage("Again"), second]);
    const ids = value.input.flatMap((item) => ("id" in item ? [item.id] : []));
    expect(ids).toEqual(["rs_1", "ws_1", "msg_1", "rs_3", "msg_2"]);
    expect(losses).toMatchObject([{ code: "reasoning", entryId: "m3", block: 0 }]);
  });

  test("has something to say where all was left out, and it stays there", async () => {
    const nothing = said("openai-responses", { type: "opaque", data: 1 });
    const begun = await inputOf([nothing]);
    const opening = "[The conversation goes on from here.]";
    expect(begun).toEqual([{ role: "user", content: [{ type: "input_text", text: opening }] }]);
    expect((await inputOf([nothing, userMessage("hi")]))[0]).toEqual(begun[0]);
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

  test("keeps the citations and the refusal of a message that has no id", async () => {
    const content = [
      {
        type: "output_text",
        text: "So.",
        annotations: [
          { type: "url_citation", url: "https://a.example", title: "A", start_index: 0, end_index: 2 },
        ],
      },
      { type: "refusal", refusal: "But no." },
    ];
    const item = { type: "message", role: "assistant", status: "completed", content };
    const read = readOpenaiResponsesReply(responsesReply([item] as never));
    const { value, losses } = await projected([userMessage("Go"), read, userMessage("And?")]);
    expect(value.input[1]).toEqual(item);
    expect(losses).toEqual([]);
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
});
