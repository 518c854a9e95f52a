import fc from "fast-check";
import { type AssistantMessage, contextFrom, project, toolCalls, toolResult, userMessage } from "sessile";
import {
  type OpenaiChatDialectName,
  type OpenaiChatDialectOption,
  type OpenaiChatReply,
  openaiChat,
  openaiChatDialects,
  openaiChatStream,
  readOpenaiChatReply,
} from "sessile/openai";
import { describe, expect, test } from "vitest";
import { fixture } from "../../support/fixtures.js";
import { eventsFrom, recordedReplies } from "../../support/reply-streams.js";
import { blobs, otherShot, report } from "./samples.js";

const model = "m-1";
const names = Object.keys(openaiChatDialects) as OpenaiChatDialectName[];

type Fields = Record<string, unknown>;

const completion = (message: object): OpenaiChatReply =>
  ({
    model,
    created: 1,
    choices: [{ index: 0, finish_reason: "stop", message }],
  }) as unknown as OpenaiChatReply;
const read = (message: object, dialect: OpenaiChatDialectOption, of = model) =>
  readOpenaiChatReply(completion(message), { model: of, dialect });
const sent = async (
  messages: Parameters<typeof contextFrom>[0],
  dialect: OpenaiChatDialectOption,
  extra: object = {},
) => {
  const target = openaiChat({ model, dialect, ...extra });
  const { value, losses } = await project(contextFrom(messages), target, { blobs });
  return { messages: value.messages as unknown as Fields[], codes: losses.map(({ code }) => code) };
};
/** A reply that went into a session and out again, with its loss codes. */
const roundTrip = async (message: object, dialect: OpenaiChatDialectOption) => {
  const reply = read(message, dialect);
  const results = toolCalls(reply).map((call) => toolResult(call, "ok"));
  const { messages, codes } = await sent([userMessage("Go"), reply, ...results], dialect);
  return { said: messages.find(({ role }) => role === "assistant"), codes, reply, messages };
};
const call = (more: object = {}, id = "call_1") => ({
  id,
  type: "function",
  function: { name: "read", arguments: '{"path":"a"}' },
  ...more,
});

describe("dialects of Chat Completions", () => {
  test.each(["deepseek", "moonshotai", "zai"] as const)(
    "%s gets its reasoning back with its calls",
    async (name) => {
      const message = { role: "assistant", content: null, reasoning_content: "Hm.", tool_calls: [call()] };
      expect(await roundTrip(message, name)).toMatchObject({ said: message, codes: [] });
    },
  );

  test.each(["groq", "cerebras", "vllm", "ollama", "openrouter"] as const)(
    "%s gets its reasoning back under its own name",
    async (name) => {
      const message = { role: "assistant", content: "Yes.", reasoning: "Hm." };
      expect((await roundTrip(message, name)).said).toEqual(message);
    },
  );

  test("a dialect that merges begins with the user, as templates that count roles ask", async () => {
    const said = read({ content: "Hello." }, "vllm");
    const rolesOf = async (name: OpenaiChatDialectName) =>
      (await sent([said, userMessage("Hi.")], name)).messages.map(({ role }) => role);
    expect(await rolesOf("vllm")).toEqual(["user", "assistant", "user"]);
    expect(await rolesOf("openai")).toEqual(["assistant", "user"]);
  });

  test("servers that take no part of type file are sent none: a PDF is described, with a loss", async () => {
    for (const name of names) {
      const { messages, codes } = await sent([userMessage("See", report)], name);
      const isTold = ![
        "vllm",
        "ollama",
        "llama.cpp",
        "xai",
        "qwen",
        "minimax",
        "together",
        "cohere",
      ].includes(name);
      expect([JSON.stringify(messages).includes('"type":"file"'), codes]).toEqual([
        isTold,
        isTold ? [] : ["unsupported"],
      ]);
    }
  });

  test("calls that go one by one have their results behind them and the text in front", async () => {
    const content = "Both.";
    const reply = read(
      { content, reasoning: "Hm.", tool_calls: [call(), call({}, "call_2")] },
      openaiChatDialects.vllm,
    );
    const results = toolCalls(reply).map((one) => toolResult(one, `of ${one.id}`));
    const turn = [userMessage("Go"), reply, ...results, userMessage("Thanks")];
    const { messages, codes } = await sent(
      turn,
      { ...openaiChatDialects.vllm, singleCalls: true },
      {
        provider: reply.provider,
      },
    );
    const alone = (id: string) => [
      { role: "assistant", content: null, tool_calls: [call({}, id)] },
      { role: "tool", tool_call_id: id, content: `of ${id}` },
    ];
    expect(messages).toEqual([
      { role: "user", content: "Go" },
      { role: "assistant", content, reasoning: "Hm." },
      ...alone("call_1"),
      ...alone("call_2"),
      { role: "user", content: "Thanks" },
    ]);
    expect(codes).toEqual([]);
    const silent = { ...reply, content: reply.content.filter(({ type }) => type !== "text") };
    const { messages: thought } = await sent(
      [userMessage("Go"), silent, ...results],
      { ...openaiChatDialects.vllm, singleCalls: true },
      { provider: reply.provider },
    );
    expect(thought.map(({ role, reasoning }) => [role, reasoning])).toEqual([
      ["user", undefined],
      ["assistant", "Hm."],
      ["tool", undefined],
      ["assistant", undefined],
      ["tool", undefined],
    ]);
  });

  test("OpenAI and Gemini take no reasoning back, which is reported", async () => {
    for (const name of ["openai", "gemini"] as const) {
      const { said, codes } = await roundTrip({ content: "Yes.", reasoning_content: "Hm." }, name);
      expect(said).toEqual({ role: "assistant", content: "Yes." });
      expect(codes).toEqual(["reasoning"]);
    }
  });

  test("Mistral gets its reasoning back inside the content, and one call id of nine characters each", async () => {
    const content = [
      { type: "thinking", thinking: [{ type: "text", text: "Hm." }] },
      { type: "text", text: "Yes." },
    ];
    const message = { role: "assistant", content, tool_calls: [call({}, "gSIMJiOkT")] };
    const { said, codes } = await roundTrip(message, "mistral");
    expect([said, codes]).toEqual([message, []]);
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 8 }), async (ids) => {
        const foreign: AssistantMessage = {
          role: "assistant",
          provider: "p",
          model: "m",
          timestamp: 1,
          content: ids.map((id) => ({ type: "toolCall", id, name: "read", arguments: {} })),
        };
        const { messages } = await sent([userMessage("Go"), foreign], "mistral");
        const made = ((messages[1]?.tool_calls ?? []) as Fields[]).map(({ id }) => id as string);
        for (const id of made) expect(id).toMatch(/^[A-Za-z0-9]{9}$/);
        expect(new Set(made).size).toBe(ids.length);
        expect(messages.slice(2).map(({ tool_call_id }) => tool_call_id)).toEqual(made);
      }),
      { numRuns: 50 },
    );
  });

  test("OpenRouter gets its reasoning details back as they came, and those that pi keeps on calls", async () => {
    const reasoning_details = [
      { type: "reasoning.text", text: "Hm.", signature: "s", index: 0 },
      { type: "reasoning.encrypted", data: "gAAA", id: "call_1", index: 1 },
    ];
    const message = {
      role: "assistant",
      content: null,
      reasoning: "Hm.",
      reasoning_details,
      tool_calls: [call()],
    };
    expect(await roundTrip(message, "openrouter")).toMatchObject({ said: message, codes: [] });
    const detail = { type: "reasoning.encrypted", data: "gAAA", id: "call_1" };
    const block = { type: "toolCall", id: "call_1", name: "read", arguments: {} } as const;
    const byPi: AssistantMessage = {
      ...read({ content: "x" }, "openrouter"),
      content: [{ ...block, thoughtSignature: JSON.stringify(detail) }],
    };
    const { messages } = await sent([userMessage("Go"), byPi], "openrouter");
    expect(messages[1]).toMatchObject({ reasoning_details: [detail] });
  });

  test("Gemini gets the signatures of its calls back beside arguments as it wrote them", async () => {
    const extra_content = { google: { thought_signature: "c2ln" } };
    const spaced = { function: { name: "read", arguments: '{ "path": "a" }' } };
    for (const one of [call({ extra_content }), call({ extra_content, ...spaced })]) {
      const message = { role: "assistant", content: null, tool_calls: [one] };
      const { said, codes, reply } = await roundTrip(message, "gemini");
      expect([said, codes]).toEqual([message, []]);
      // pi sends marks that are JSON along.
      for (const { thoughtSignature = "" } of toolCalls(reply))
        expect(() => JSON.parse(thoughtSignature)).toThrow();
    }
    const said = { role: "assistant", content: "Yes.", extra_content };
    expect((await roundTrip(said, "gemini")).said).toEqual(said);
  });

  test("members that the protocol does not have go back to the same maker only", async () => {
    const message = {
      role: "assistant",
      content: "Yes.",
      notes: { a: [1] },
      tool_calls: [call({ seen: true })],
    };
    expect(await roundTrip(message, "vllm")).toMatchObject({ said: message, codes: [] });
    for (const [dialect, of] of [
      ["vllm", "other"],
      ["openai", model],
      ["groq", model],
    ] as const) {
      const reply = read(message, dialect, of);
      const { messages, codes } = await sent([userMessage("Go"), reply], dialect);
      expect(messages[1]).toEqual({ role: "assistant", content: "Yes.", tool_calls: [call()] });
      expect(codes).toContain("opaque");
    }
  });

  test("a server that refuses messages without reasoning gets a space for what is missing", async () => {
    const foreign = { ...read({ content: "Yes." }, "openai"), provider: "other" };
    for (const name of ["deepseek", "moonshotai"] as const) {
      const { messages } = await sent([userMessage("Go"), foreign], name);
      expect(messages[1]).toEqual({ role: "assistant", content: "Yes.", reasoning_content: " " });
    }
  });

  test("GLM gets its own reasoning back, and none made up for a turn that did not think or another model", async () => {
    const thought = { role: "assistant", content: "Yes.", reasoning_content: "Hm." };
    const quick = { role: "assistant", content: "No." };
    const foreign = { ...read({ content: "Other.", reasoning_content: "Hm." }, "openai"), provider: "other" };
    const history = [thought, quick].flatMap((one) => [userMessage("Go"), read(one, "zai")]);
    const { messages } = await sent([...history, userMessage("Go"), foreign], "zai");
    const said = messages.filter(({ role }) => role === "assistant");
    expect(said).toEqual([thought, quick, { role: "assistant", content: "Other." }]);
  });

  test("the limit of tokens has the name that each server takes", () => {
    const named = (of: string) => names.filter((name) => openaiChatDialects[name].maxTokens === of);
    expect(named("max_completion_tokens")).toEqual(["openai", "groq", "cerebras", "azure", "minimax"]);
    expect(named("max_tokens")).toHaveLength(names.length - 5);
  });

  test("messages of one role become one if the dialect merges, instructions among them if the user says these", async () => {
    const system = { role: "system", content: "Be brief.", timestamp: 1 } as const;
    const lost = read({ content: "", reasoning_content: "Hm." }, "openai");
    const history = [
      system,
      userMessage("one"),
      userMessage("two"),
      { ...lost, provider: "other" },
      userMessage("three"),
    ];
    expect((await sent(history, "vllm")).messages).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "one\n\ntwo\n\nthree" },
    ]);
    expect((await sent(history, { ...openaiChatDialects.vllm, systemRole: "user" })).messages).toEqual([
      { role: "user", content: "Be brief.\n\none\n\ntwo\n\nthree" },
    ]);
    expect((await sent(history, "openai")).messages).toHaveLength(4);
    const twice = [userMessage("one"), read({ content: "a" }, "vllm"), read({ content: "b" }, "vllm")];
    expect((await sent(twice, "vllm")).messages[1]).toEqual({ role: "assistant", content: "a\n\nb" });
  });

  test.each(names.filter((name) => openaiChatDialects[name].merges))(
    "roles alternate for %s",
    async (name) => {
      const user = fc.constant(userMessage("u"));
      const said = fc.constantFrom(
        read({ content: "a" }, name),
        read({ content: null, reasoning_content: "Hm.", reasoning: "Hm." }, "openai"),
        read({ content: "b", tool_calls: [call()] }, name),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(fc.oneof(user, said), { maxLength: 8 }), async (history) => {
          const roles = (await sent(history, name)).messages.map(({ role }) => role);
          const spoken = roles.filter((role, at) => role !== "tool" || roles[at - 1] !== "tool");
          for (const [at, role] of spoken.entries()) expect(role).not.toBe(spoken[at + 1]);
          if (name === "mistral") expect(roles.join()).not.toContain("tool,user");
        }),
        { numRuns: 60 },
      );
    },
  );

  test("an image of a tool stays in its result if the dialect takes it there", async () => {
    const reply = read({ content: null, tool_calls: [call()] }, "openai");
    const history = [
      userMessage("Go"),
      reply,
      ...toolCalls(reply).map((one) => toolResult(one, "see", otherShot)),
    ];
    const dialect = { ...openaiChatDialects.openai, toolResultImages: true };
    const { messages, codes } = await sent(history, dialect);
    expect(codes).toEqual([]);
    expect(messages.at(-1)).toMatchObject({ role: "tool" });
    expect(JSON.stringify(messages.at(-1))).toContain("image_url");
    expect((await sent(history, "openai")).codes).toEqual(["moved"]);
  });

  test("a message of calls alone has null as content, and at Ollama a string", async () => {
    const message = { role: "assistant", content: null, tool_calls: [call()] };
    expect((await roundTrip(message, "qwen")).said?.content).toBeNull();
    expect((await roundTrip(message, "minimax")).said?.content).toBeNull();
    expect((await roundTrip(message, "ollama")).said?.content).toBe("");
  });

  test("several instructions are one string where a server takes no list", async () => {
    const says = (content: string) => ({ role: "system", content, timestamp: 1 }) as const;
    const system = [says("One."), says("Two."), userMessage("Go")];
    expect((await sent(system, "openai")).messages[0]?.content).toHaveLength(2);
    for (const name of ["groq", "xai", "together", "llama.cpp"] as const)
      expect((await sent(system, name)).messages[0]).toEqual({ role: "system", content: "One.\n\nTwo." });
  });

  test("ids of Kimi's own calls go back at any length, at any server; others are shortened", async () => {
    const id = `functions.${"mcp__server__".repeat(4)}read:12`;
    const message = { role: "assistant", content: "x", tool_calls: [call({}, id)] };
    const of = async (name: OpenaiChatDialectOption, kimi: string) => {
      const reply = read(message, name, kimi);
      const results = toolCalls(reply).map((one) => toolResult(one, "ok"));
      const { messages } = await sent([userMessage("Go"), reply, ...results], name, { model: kimi });
      return messages.find(({ role }) => role === "tool")?.tool_call_id as string;
    };
    for (const name of ["moonshotai", "openrouter", "together", "openai"] as const)
      expect(await of(name, "moonshotai/kimi-k2.6")).toBe(id);
    for (const name of ["openai", "azure", "xai"] as const)
      expect((await of(name, "gpt-5.2")).length).toBeLessThanOrEqual(40);
    expect(await of("llama.cpp", "qwen3:32b")).toBe(id);
  });

  test("a dialect of one's own names its member of reasoning, in replies and streams", async () => {
    const dialect = { ...openaiChatDialects.vllm, reasoning: "thoughts" };
    const message = { role: "assistant", content: "Yes.", thoughts: "Hm." };
    expect((await roundTrip(message, dialect)).said).toEqual(message);
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      model,
      created: 1,
      choices: [{ index: 0, delta, finish_reason }],
    });
    const chunks = [
      chunk({ thoughts: "H" }),
      chunk({ thoughts: "m." }),
      chunk({ content: "Yes." }),
      chunk({}, "stop"),
    ];
    const streamed = await openaiChatStream(eventsFrom(chunks), { model, dialect }).message();
    expect(streamed).toEqual(read(message, dialect));
  });

  test("a dialect's name is the provider unless one is told, and only known names are taken", async () => {
    expect(read({ content: "x" }, "zai").provider).toBe("zai");
    expect(openaiChat({ model, dialect: "zai" }).model.provider).toBe("zai");
    expect(openaiChat({ model, dialect: "zai", provider: "proxy" }).model.provider).toBe("proxy");
    expect(() => openaiChat({ model, dialect: "klingon" as "zai" })).toThrow(
      /^dialect: expected "openai" or .*, got "klingon"$/,
    );
    expect(() => read({}, 7 as never)).toThrow(/^dialect: expected a name or a dialect, got 7/);
  });
});

const alike = { ...openaiChatDialects.vllm, reasoning: "reasoning_content" };
const recorded: readonly (readonly [string, OpenaiChatDialectOption])[] = [
  ["deepseek", "deepseek"],
  ["moonshotai", "moonshotai"],
  ["groq", "groq"],
  ["mistral", "mistral"],
  ["xai", "xai"],
  ["alibaba", "qwen"],
  ["openai-compatible", alike],
];

describe.skipIf(fixture("replies").absent !== undefined)("recorded replies", () => {
  test.each(recorded)("of %s go back as they came", async (folder, dialect) => {
    let count = 0;
    for (const { name, reply } of recordedReplies(folder)) {
      const [choice] = (reply as OpenaiChatReply).choices ?? [];
      if (choice === undefined) continue;
      count++;
      const message = read(choice.message, dialect);
      const results = toolCalls(message).map((one) => toolResult(one, "ok"));
      const { messages, codes } = await sent([userMessage("Go"), message, ...results], dialect);
      const said = messages.find(({ role }) => role === "assistant");
      expect(codes, name).toEqual([]);
      expect(saidBy(said ?? {}), name).toEqual(saidBy(choice.message));
    }
    expect(count).toBeGreaterThan(0);
  });
});

/** What a message says, whatever is written for what it does not say. */
function saidBy({ role: _, tool_calls, ...members }: Fields): Fields {
  const calls = ((tool_calls ?? []) as Fields[]).map(({ index: __, type: ___, ...one }) => one);
  const said = Object.entries(members).filter(([name, value]) => {
    if (name === "reasoning_content" && value === " ") return false;
    return value !== null && value !== "";
  });
  return { ...Object.fromEntries(said), calls };
}

test("annotations are left out by the dialect, which is no loss of each request", async () => {
  const annotations = [
    {
      type: "url_citation",
      url_citation: { url: "https://a.example", title: "A", start_index: 0, end_index: 2 },
    },
  ];
  for (const [more, by] of [
    [{}, ["policy"]],
    [{ vendor: 1 }, ["target"]],
  ] as const) {
    const reply = read({ role: "assistant", content: "So.", annotations, ...more }, "openai");
    const context = contextFrom([userMessage("Go"), reply, userMessage("And?")]);
    const { value, losses, byPolicy } = await project(context, openaiChat({ model }));
    expect(value.messages[1]).toEqual({ role: "assistant", content: "So." });
    expect([...losses, ...byPolicy].map((loss) => [loss.code, loss.by])).toEqual(
      by.map((one) => ["opaque", one]),
    );
  }
  const { messages } = await roundTrip({ role: "assistant", content: "So.", annotations }, "openrouter");
  expect(messages[1]).toMatchObject({ annotations });
});

test("members of calls and pieces of content that are new go back to a server that takes them", async () => {
  const inner = { name: "read", arguments: "{}", strict: true };
  const open = await roundTrip({ content: "So.", tool_calls: [call({ function: inner })] }, "openrouter");
  expect(open).toMatchObject({ said: { tool_calls: [{ function: inner }] }, codes: [] });
  const strict = await roundTrip({ content: "So.", tool_calls: [call({ function: inner })] }, "groq");
  expect(strict.said).toMatchObject({ tool_calls: [{ function: { name: "read", arguments: "{}" } }] });
  expect(JSON.stringify(strict.said)).not.toContain("strict");
  expect(strict.codes).toEqual(["opaque"]);

  const content = [
    { type: "thinking", thinking: [{ type: "text", text: "Hm." }], closed: true },
    { type: "text", text: "So", cited: 1 },
    { type: "reference", reference_ids: [1, 2] },
    { type: "text", text: " it is." },
  ];
  expect(await roundTrip({ role: "assistant", content }, "mistral")).toMatchObject({
    said: { content },
    codes: [],
  });
  const [, cited, reference, text] = content;
  expect(await roundTrip({ role: "assistant", content: [cited, reference, text] }, "mistral")).toMatchObject({
    said: { content: [cited, reference, text] },
    codes: [],
  });
});

test("audio goes back as its transcript, and the loss of the rest is stated", async () => {
  const audio = { id: "audio_1", data: "UklGRiQAAABXQVZF", expires_at: 1, transcript: "Hello." };
  const reply = read({ role: "assistant", content: null, audio: { ...audio, data: undefined } }, "openai");
  const context = contextFrom([userMessage("Go"), reply, userMessage("And?")]);
  const { value, losses, byPolicy } = await project(context, openaiChat({ model }));
  expect(value.messages[1]).toEqual({ role: "assistant", content: "Hello." });
  expect([...losses, ...byPolicy]).toMatchObject([{ code: "opaque", by: "policy" }]);
  const other = await project(context, openaiChat({ model: "other", dialect: "groq" }));
  expect(other.value.messages[1]).toEqual({ role: "assistant", content: "Hello." });
  expect(other.losses).toMatchObject([{ code: "opaque" }]);
});

test.each(["", null, 5])("a signature that is none does not go back: %j", async (signature) => {
  const google = { thought_signature: signature };
  const { said } = await roundTrip(
    { content: "So.", tool_calls: [call({ extra_content: { google } })] },
    "gemini",
  );
  expect(JSON.stringify(said)).not.toContain("extra_content");
  const details = [{ type: "reasoning.text", text: "Hm.", signature }];
  const { said: open } = await roundTrip({ content: "So.", reasoning_details: details }, "openrouter");
  expect(open?.reasoning_details).toEqual([{ type: "reasoning.text", text: "Hm." }]);
});
