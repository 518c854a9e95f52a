import type Anthropic from "@anthropic-ai/sdk";
import {
  type AssistantMessage,
  assistantMessage,
  type ContextMessage,
  cacheConversation,
  contextFrom,
  type Loss,
  memoryBlobStore,
  memoryReferenceCache,
  type ProjectOptions,
  project,
  type StoredResource,
  toolResult,
  userMessage,
} from "sessile";
import {
  type AnthropicMessagesOptions,
  type AnthropicRequest,
  anthropicMessages,
  readAnthropicReply,
} from "sessile/anthropic";
import { replayAlways } from "sessile/attachments";
import { limitProfiles } from "sessile/limits";
import { describe, expect, expectTypeOf, test } from "vitest";
import { bytesOf, png } from "../../support/media-files.js";
import { anthropicBreaches } from "../../support/providers/anthropic/rules.js";

const model = "claude-sonnet-4-5";
const blobs = memoryBlobStore();

/** A projection whose value the rules of the API take. */
async function projected(
  messages: readonly ContextMessage[],
  options: Partial<AnthropicMessagesOptions> = {},
  projecting: ProjectOptions = {},
) {
  const target = anthropicMessages({ model, ...options });
  const context = contextFrom(messages);
  const projection = await project(context, target, { blobs, replay: replayAlways, ...projecting });
  expect(anthropicBreaches({ model: target.model.model, max_tokens: 1, ...projection.value })).toEqual([]);
  return projection;
}

const codes = (losses: readonly Loss[]) => losses.map(({ code }) => code);
const ask = userMessage("hi");

function own(...content: AssistantMessage["content"]): AssistantMessage {
  return assistantMessage({ provider: "anthropic", api: "anthropic-messages", model }, ...content);
}

const thinking = { type: "thinking", thinking: "Hm.", thinkingSignature: "c2ln" } as const;
const text = { type: "text", text: "Well." } as const;
const read = { type: "toolCall", id: "toolu_1", name: "read", arguments: { path: "a" } } as const;
const opaque = (data: unknown) => ({ type: "opaque", data }) as const;
const search = opaque({ type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} });
const found = opaque({ type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] });

async function stored(bytes: Uint8Array, fields: Partial<StoredResource>): Promise<StoredResource> {
  const { ref, size } = await blobs.put(bytes);
  return {
    resourceId: "res_0123456789abcdef",
    kind: "file",
    source: "upload",
    mediaType: "application/pdf",
    size,
    blob: ref,
    contentSha256: ref.slice("sha256:".length),
    ...fields,
  };
}

const size = { width: 3, height: 2 };
const image = await stored(png(size), { kind: "image", mediaType: "image/png", name: "a.png", ...size });
const pdf = await stored(bytesOf("%PDF-1.7"), {
  name: " report.pdf\ud83d",
  resourceId: "res_1123456789abcdef",
});
const notes = await stored(bytesOf("a, b"), { mediaType: "text/csv", resourceId: "res_2123456789abcdef" });
const blank = await stored(bytesOf("\n"), { mediaType: "text/plain", resourceId: "res_3123456789abcdef" });

describe("anthropicMessages", () => {
  // @covers R57
  test("text, the system's part, calls and results", async () => {
    const system = { role: "system", content: "Be brief.", timestamp: 1 } as const;
    const { value, losses } = await projected([
      system,
      ask,
      own(text, read),
      toolResult(read, "done"),
      own(text),
    ]);
    expect(losses).toEqual([]);
    expect(value).toEqual({
      system: [{ type: "text", text: "Be brief." }],
      messages: [
        { role: "user", content: [{ type: "text", text: "hi" }] },
        {
          role: "assistant",
          content: [
            { type: "text", text: "Well." },
            { type: "tool_use", id: "toolu_1", name: "read", input: { path: "a" } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "done" }] },
          ],
        },
        { role: "assistant", content: [{ type: "text", text: "Well." }] },
      ],
    });
  });

  const shown = [image, pdf, notes, blank];
  test.each([
    ["a user shows", [userMessage(...shown)]],
    ["a tool gives back", [ask, own(read), toolResult(read, ...shown)]],
  ])("images, PDFs and text documents that %s", async (_, messages) => {
    const { value, losses } = await projected(messages);
    expect(losses).toEqual([]);
    const data = btoa(String.fromCharCode(...png(size)));
    const [last] = value.messages.at(-1)?.content ?? [];
    const content = last?.type === "tool_result" ? last.content : value.messages.at(-1)?.content;
    expect(content?.filter(({ type }) => type !== "text")).toEqual([
      { type: "image", source: { type: "base64", media_type: "image/png", data } },
      {
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: btoa("%PDF-1.7") },
        title: "report.pdf\ufffd",
      },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "a, b" } },
    ]);
    expect(content?.at(-1)).toEqual({ type: "text", text: "[an empty document]" });
  });

  test("uploads and addresses stand for bytes, but not on Bedrock and Vertex", async () => {
    const references = memoryReferenceCache();
    references.set({ blob: image.blob, provider: "anthropic" }, { kind: "file", id: "file_1" });
    references.set({ blob: pdf.blob, provider: "anthropic" }, { kind: "url", url: "https://example.com/a" });
    const sources = async (transport: string) => {
      const { value } = await projected([userMessage(image, pdf)], { transport }, { references });
      return value.messages[0]?.content.flatMap((block) => ("source" in block ? [block.source.type] : []));
    };
    expect(await sources("api")).toEqual(["file", "url"]);
    expect(await sources("bedrock")).toEqual(["base64", "base64"]);
    expect(await sources("vertex")).toEqual(["base64", "base64"]);
  });

  test("the picture of a failure stands behind the results", async () => {
    const failed = { ...toolResult(read, "no", image), isError: true };
    const { value, losses } = await projected([ask, own(read), failed, userMessage("again")]);
    expect(value.messages[2]?.content).toMatchObject([
      {
        is_error: true,
        content: [
          { type: "text", text: "no" },
          { type: "text", text: expect.stringMatching(/^\[image a\.png/) },
          { type: "text", text: "[shown after the results]" },
        ],
      },
      { type: "text", text: "[of the failed call of read]" },
      { type: "image" },
      { type: "text", text: "again" },
    ]);
    expect(losses).toMatchObject([{ code: "moved", block: 1, instead: "[shown after the results]" }]);
  });

  describe("what the model made", () => {
    test("goes back to it: reasoning, withheld or without its text, and blocks that only it reads", async () => {
      const withheld = {
        type: "thinking",
        thinking: "[withheld]",
        thinkingSignature: "b3A=",
        redacted: true,
      } as const;
      const untold = { ...thinking, thinking: "" };
      const said = own(thinking, withheld, search, found, untold, {
        ...text,
        providerFields: { citations: [] },
      });
      const { value, losses } = await projected([ask, said, ask]);
      expect(losses).toEqual([]);
      expect(value.messages[1]?.content).toEqual([
        { type: "thinking", thinking: "Hm.", signature: "c2ln" },
        { type: "redacted_thinking", data: "b3A=" },
        search.data,
        found.data,
        { type: "thinking", thinking: "", signature: "c2ln" },
        { type: "text", text: "Well.", citations: [] },
      ]);
    });

    test("of the account that it was made with", async () => {
      const said = { ...own(thinking, text), account: "work" };
      expect((await projected([ask, said, ask], { account: "work" })).losses).toEqual([]);
    });

    test("also where it names its snapshot", async () => {
      const dated = { ...own(thinking, text), model: "claude-sonnet-4-5-20250929" };
      expect((await projected([ask, dated, ask])).losses).toEqual([]);
    });

    // @covers security:reasoning
    test.each([
      { why: "another model", message: { ...own(thinking, text), model: "claude-opus-4-5" } },
      { why: "another provider", message: { ...own(thinking, text), provider: "proxy" } },
      { why: "another account", message: { ...own(thinking, text), account: "other" } },
      { why: "a turn that was cut off", message: { ...own(thinking, text), stopReason: "aborted" as const } },
      { why: "half of a character", message: own({ ...thinking, thinking: "Hm\ud83d" }, text) },
      { why: "no signature", message: own({ type: "thinking", thinking: "Hm." }, text) },
      { why: "an empty signature", message: own({ ...thinking, thinkingSignature: "" }, text) },
    ])("is left out: $why", async ({ message }) => {
      const { value, losses } = await projected([ask, message, ask]);
      expect(value.messages[1]?.content).toEqual([{ type: "text", text: "Well." }]);
      expect(codes(losses)).toEqual(["reasoning"]);
    });

    test("a call's caller and set of tools go back, and its result names the set", async () => {
      const providerFields = { caller: { type: "direct" }, toolset_name: "browser" };
      const { value } = await projected([
        ask,
        own({ ...read, providerFields }),
        toolResult(read, "done"),
        ask,
      ]);
      expect(value.messages[1]?.content).toMatchObject([
        { caller: { type: "direct" }, toolset_name: "browser" },
      ]);
      expect(value.messages[2]?.content[0]).toMatchObject({ toolset_name: "browser" });
    });

    test("a search that broke off is left out, and with it the reasoning before it and its name as a caller", async () => {
      const caller = { type: "code_execution_20260120", tool_id: "srvtoolu_1" };
      const called = own(search, { ...read, providerFields: { caller } });
      const broken = await projected([
        ask,
        called,
        toolResult(read, "done"),
        ask,
        own(text, thinking, search),
        ask,
      ]);
      expect(
        broken.value.messages.filter(({ role }) => role === "assistant").map(({ content }) => content),
      ).toEqual([
        [{ type: "tool_use", id: "toolu_1", name: "read", input: { path: "a" } }],
        [{ type: "text", text: "Well." }],
      ]);
      expect(codes(broken.losses)).toEqual(["opaque", "reasoning", "opaque"]);
    });

    test("a turn of which nothing is left says so", async () => {
      const { value } = await projected([ask, own(search), ask]);
      expect(value.messages[1]?.content).toEqual([
        { type: "text", text: "[a message with nothing that can be shown]" },
      ]);
    });

    test("a turn that waits for the provider's own tool stays open", async () => {
      const { value, losses } = await projected([ask, own(search, read), toolResult(read, "done")]);
      expect(losses).toEqual([]);
      expect(value.messages[1]?.content[0]).toEqual(search.data);
    });

    test.each([
      7,
      {},
      { type: 7 },
      { type: "" },
      { type: "tool_use", id: "a", name: "b", input: {} },
      { type: "thinking", thinking: "" },
    ])("an opaque block that is none is left out: %j", async (data) => {
      const { value, losses } = await projected([ask, own(opaque(data), text), ask]);
      expect(value.messages[1]?.content).toEqual([{ type: "text", text: "Well." }]);
      expect(codes(losses)).toEqual(["opaque"]);
    });

    test("words behind a call stay there, as five models were seen to take them", async () => {
      const said = own(text, read, { type: "text", text: "Now." });
      const { value, losses } = await projected([ask, said, toolResult(read, "done")]);
      expect(losses).toEqual([]);
      expect(value.messages[1]?.content.map((block) => ("text" in block ? block.text : block.type))).toEqual([
        "Well.",
        "tool_use",
        "Now.",
      ]);
    });

    test("a search behind a call goes before it", async () => {
      const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "a" } };
      const found = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] };
      const said = own(text, read, { type: "opaque", data: search }, { type: "opaque", data: found });
      const { value, losses } = await projected([ask, said, toolResult(read, "done")]);
      expect(losses).toEqual([]);
      expect(value.messages[1]?.content.map(({ type }) => type)).toEqual([
        "text",
        "server_tool_use",
        "web_search_tool_result",
        "tool_use",
      ]);
    });
  });

  describe("reasoning of turns that are over", () => {
    const bound = "claude-opus-5-5";
    const messages = [ask, own(thinking, text), ask, own(thinking, read), toolResult(read, "done")].map(
      (message) => (message.role === "assistant" ? { ...message, model: bound } : message),
    );
    const reasoning = async (options: Partial<AnthropicMessagesOptions>) => {
      const { value, losses, byPolicy } = await projected(messages, options);
      const turns = value.messages.filter(({ role }) => role === "assistant");
      expect(losses).toEqual([]);
      return [
        ...turns.map(({ content }) => content[0]?.type),
        ...byPolicy.map(({ code, by }) => `${code} by ${by}`),
      ];
    };

    test("stays away from models that bind it to what stood before it, if that is not known", async () => {
      const lost = "reasoning by policy";
      expect(await reasoning({ model: bound })).toEqual(["text", "tool_use", lost, lost]);
    });

    test("stays away too where a field that is new has it kept whole", async () => {
      const newer = opaque({ type: "thinking", thinking: "Hm.", signature: "c2ln", depth: 2 });
      const first = { ...own(newer, text), model: bound };
      const { value, losses, byPolicy } = await projected([ask, first, ask], { model: bound });
      expect(value.messages[1]?.content).toEqual([text]);
      expect(losses).toEqual([]);
      expect(byPolicy).toMatchObject([{ code: "opaque", by: "policy", block: 0 }]);
      // Nor does it stand at a turn's end, where the API refuses it.
      const { value: ended, losses: cut } = await projected([ask, own(text, newer), ask]);
      expect(ended.messages[1]?.content).toEqual([text]);
      expect(cut).toMatchObject([{ code: "opaque", by: "target", block: 1 }]);
    });

    test("goes back where that is asked for, and stays away likewise", async () => {
      expect(await reasoning({ model: bound, reasoning: "all" })).toEqual(["thinking", "thinking"]);
      const other = messages.map((message) =>
        message.role === "assistant" ? { ...message, model } : message,
      );
      expect((await projected(other)).losses).toEqual([]);
      expect(codes((await projected(other, { reasoning: "current" })).byPolicy)).toEqual(["reasoning"]);
    });
  });

  describe("cache markers", () => {
    const said = [own(thinking, text, read), toolResult(read, "done"), own(text), ask];
    const system = { role: "system", content: "Be brief.", timestamp: 1 } as const;

    test("stand where the policy has them, for five minutes or an hour", async () => {
      const marks = async (options: Partial<AnthropicMessagesOptions>) => {
        const { value } = await projected([system, ask, ...said], options, { cache: cacheConversation });
        const blocks = [...(value.system ?? []), ...value.messages.flatMap(({ content }) => [...content])];
        return blocks
          .map((block) => ("cache_control" in block ? block.cache_control : ""))
          .filter((mark) => mark !== "");
      };
      expect(await marks({})).toEqual(Array(3).fill({ type: "ephemeral" }));
      expect(await marks({ cacheTtl: "1h" })).toEqual(Array(3).fill({ type: "ephemeral", ttl: "1h" }));
    });

    test("never on reasoning, and never of an earlier request", async () => {
      const providerFields = { cache_control: { type: "ephemeral" } };
      const { value } = await projected([ask, own(thinking, { ...text, providerFields }), ask]);
      expect(JSON.stringify(value)).not.toContain("cache_control");
    });
  });

  test("white space at the end goes only where a model would refuse it", async () => {
    const said = own({ type: "text", text: "The answer is \n" });
    const older = await projected([ask, said]);
    expect(older.value.messages[1]?.content).toEqual([{ type: "text", text: "The answer is" }]);
    expect(codes(older.losses)).toEqual(["trailingSpace"]);
    const later = await projected([ask, said, ask], { model: "claude-opus-4-6" });
    expect(later.value.messages[1]?.content).toEqual([{ type: "text", text: "The answer is \n" }]);
  });

  test("white space goes too if what stood behind it was left out", async () => {
    const unknown = { type: "opaque" as const, data: { type: "text" } };
    const { value, losses } = await projected([
      ask,
      own({ type: "text", text: "The answer is \n" }, unknown),
    ]);
    expect(value.messages[1]?.content).toEqual([{ type: "text", text: "The answer is" }]);
    expect(codes(losses).toSorted()).toEqual(["opaque", "trailingSpace"]);
  });

  test("white space is what either side takes for it", async () => {
    const { value, losses } = await projected([
      userMessage("a", "\u001c\u0085"),
      own({ type: "text", text: "b\u001f\u00a0" }),
    ]);
    expect(value.messages.map(({ content }) => content)).toEqual([
      [{ type: "text", text: "a" }],
      [{ type: "text", text: "b" }],
    ]);
    expect(codes(losses)).toEqual(["trailingSpace"]);
  });

  test("is without a system field where there are no instructions", async () => {
    expect((await projected([ask])).value).not.toHaveProperty("system");
  });

  test("names of tools may be as long as those that are declared", async () => {
    const call = { ...read, name: "a".repeat(128) };
    expect((await projected([ask, own(call), toolResult(call, "done")])).losses).toEqual([]);
    const longer = { ...read, name: "a".repeat(129) };
    expect(codes((await projected([ask, own(longer), toolResult(longer, "done")])).losses)).toEqual([
      "toolName",
    ]);
  });

  test("titles are cut", async () => {
    const long = { ...pdf, name: "\u{1f4c4}".repeat(300) };
    const { value } = await projected([userMessage(long)]);
    expect(value.messages[0]?.content.at(-1)).toMatchObject({ title: "\u{1f4c4}".repeat(200) });
  });

  test("limits are those of the transport and the window that it is told of", () => {
    const told = { transport: "vertex", contextWindow: 1_000_000 };
    expect(anthropicMessages({ model, ...told }).limits).toEqual({
      profile: limitProfiles.anthropic,
      ...told,
    });
    expect(anthropicMessages({ model }).limits).toEqual({
      profile: limitProfiles.anthropic,
      transport: "api",
    });
  });

  test.each([
    ["messages.0.content.0.text: string too long", { entryId: "m1", certainty: "path" }],
    ["messages.1.content.1: `tool_use` ids must be unique", { entryId: "m2", block: 1, certainty: "path" }],
    ["messages.2.content.0: unexpected `tool_use_id`", { entryId: "m3", certainty: "path" }],
    [
      "messages.2.content.0.tool_result.content.0.text: string too long",
      { entryId: "m3", block: 0, certainty: "path" },
    ],
  ])("traces %s", async (message, expected) => {
    const system = { role: "system", content: "Be brief.", timestamp: 1 } as const;
    const { explain } = await projected([system, ask, own(text, read), toolResult(read, "done")]);
    expect(explain({ status: 400, message })).toMatchObject(expected);
  });

  test("reasoning that the API does not know again is found, and can be left out", async () => {
    const { explain } = await projected([ask, own(thinking, read), toolResult(read, "done")]);
    const message =
      'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".';
    const explained = explain({ status: 400, message });
    expect(explained).toMatchObject({ entryId: "m1", block: 0, certainty: "path" });
    expect(explained?.drafts).toMatchObject([{ type: "context_edit" }]);
  });

  test("a value is fresh, and the caller's to change", async () => {
    const input = { path: { name: "a" } };
    const call = { ...read, arguments: input };
    const { value } = await projected([ask, own(search, found, call), toolResult(call, "done")]);
    const text = JSON.stringify([input, search, found]);
    for (const turn of value.messages) for (const block of turn.content) scribble(block);
    expect(JSON.stringify([input, search, found])).toBe(text);
  });

  test("images are counted as the model sees them", async () => {
    const large = { width: 1920, height: 1080 };
    const wide = await stored(png(large), { kind: "image", mediaType: "image/png", ...large });
    const images = async (model: string) => (await projected([userMessage(wide)], { model })).usage.images;
    expect([await images("claude-sonnet-4-5"), await images("claude-opus-5")]).toEqual([1560, 2691]);
  });

  test.each([
    [{ model: "" }, TypeError, /^model: expected a non-empty string/],
    [{ provider: "" }, TypeError, /^provider: expected a non-empty string/],
    [{ reasoning: "some" }, TypeError, /^reasoning: expected "all" or "current"/],
    [{ cacheTtl: "2h" }, TypeError, /^cacheTtl: expected "5m" or "1h"/],
  ])("refuses %j", (options, kind, message) => {
    const create = () => anthropicMessages({ model, ...options } as AnthropicMessagesOptions);
    expect(create).toThrow(kind);
    expect(create).toThrow(message);
  });
});

/** Writes over every value, as a harness might. */
function scribble(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, each] of Object.entries(value)) {
    scribble(each);
    Reflect.set(value, key, "changed");
  }
}

describe("the official client's types", () => {
  // @covers R57
  test("take the value as it is, and give the reply as it is", async () => {
    const model = "claude-opus-5-5";
    const { value } = await project(contextFrom([userMessage("hi")]), anthropicMessages({ model }));
    const request: Anthropic.MessageCreateParamsNonStreaming = { model, max_tokens: 1, ...value };
    const streamed: Anthropic.MessageCreateParamsStreaming = { ...request, stream: true };
    expectTypeOf(streamed.messages).toEqualTypeOf<Anthropic.MessageParam[]>();
    expectTypeOf<AnthropicRequest["messages"]>().toExtend<Anthropic.MessageParam[]>();
    expectTypeOf<AnthropicRequest["messages"]>().toExtend<Anthropic.Beta.BetaMessageParam[]>();
    expectTypeOf<NonNullable<AnthropicRequest["system"]>>().toExtend<Anthropic.TextBlockParam[]>();
    expectTypeOf(readAnthropicReply).toBeCallableWith({} as Anthropic.Message);
    expectTypeOf(readAnthropicReply).toBeCallableWith({} as Anthropic.Beta.BetaMessage);
  });
});
