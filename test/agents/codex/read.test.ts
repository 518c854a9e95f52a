import { decompress } from "fzstd";
import { type AssistantMessage, memoryBlobStore, memorySessionStore, type ToolResultMessage } from "sessile";
import { describe, expect, test } from "vitest";
import {
  answered,
  entriesOf,
  event,
  item,
  messagesOf,
  read,
  rollout,
  said,
  sample,
  samplesIn,
  textOf,
  turn,
} from "./samples.js";

const codes = ({ report }: Awaited<ReturnType<typeof read>>) => report.findings.map(({ code }) => code);
const call = (id: string, name = "shell") =>
  item({ type: "function_call", name, arguments: "{}", call_id: id });
const output = (id: string, text: unknown) =>
  item({ type: "function_call_output", call_id: id, output: text });
const count = (
  total: number,
  last: object = { input_tokens: 100, cached_input_tokens: 40, output_tokens: 20 },
) =>
  event({
    type: "token_count",
    info: { total_token_usage: { total_tokens: total }, last_token_usage: last },
  });
const resultsIn = (imported: Awaited<ReturnType<typeof read>>) =>
  imported.entries.flatMap((entry) =>
    entry.type === "message" && entry.message.role === "toolResult" ? [entry.message] : [],
  ) as readonly ToolResultMessage[];
const repliesIn = (imported: Awaited<ReturnType<typeof read>>) =>
  imported.entries.flatMap((entry) =>
    entry.type === "message" && entry.message.role === "assistant" ? [entry.message] : [],
  ) as readonly AssistantMessage[];

describe("items", () => {
  // @covers R93
  test("of a user and of the model are messages, with the model in force and the usage of each reply", async () => {
    const imported = await read(sample("tools-0.58.jsonl"));
    expect(imported.header).toMatchObject({ cwd: "/srv/app/work", timestamp: "2026-11-23T08:09:12.832Z" });
    expect(entriesOf(imported, "model_change")).toMatchObject([
      { provider: "mock", modelId: "gpt-5.2-codex" },
    ]);
    const replies = repliesIn(imported);
    expect(replies[0]).toMatchObject({ provider: "mock", model: "gpt-5.2-codex", api: "openai-responses" });
    const usage = { input: 60, output: 20, cacheRead: 40, cacheWrite: 0, totalTokens: 120 };
    // 0.58 writes a count before its reply, and again behind it; the second of two parallel calls has none.
    expect(replies.map((reply) => reply.usage)).toEqual([usage, undefined, usage, usage, usage, usage]);
    expect(codes(imported)).toContain("guessed");
  });

  test.each(["0.98", "0.128", "0.169"])("have each reply's usage in %s", async (version) => {
    const replies = repliesIn(await read(sample(`tools-${version}.jsonl`)));
    const usage = { input: 60, output: 20, cacheRead: 40, cacheWrite: 0, totalTokens: 120 };
    expect(replies.map((reply) => reply.usage)).toEqual([usage, usage, usage, usage, usage]);
  });

  test("have usage once, though counts are repeated, are empty, or stand beside records", async () => {
    const none = event({ type: "token_count", info: null });
    const tokens = { input_tokens: 100, cached_input_tokens: 40, output_tokens: 20, total_tokens: 120 };
    const usages = async (...lines: Parameters<typeof rollout>[0]) =>
      repliesIn(await read(rollout(lines))).map(({ usage }) => usage?.totalTokens);
    const turns = [said("one"), answered("1"), count(120), none, said("two"), answered("2")] as const;
    expect(await usages(...turns, count(240))).toEqual([120, 120]);
    // The same sum again is the same count, but of a new process.
    expect(await usages(...turns, count(120))).toEqual([120, 120]);
    const repeated = turns.filter((line) => line !== none);
    expect(await usages(...repeated, count(120))).toEqual([120, undefined]);
    const record = ["token_usage_record", { usage: { ...tokens, total_tokens: 7 } }] as const;
    expect(await usages(said("one"), answered("1"), record, count(120))).toEqual([7]);
  });

  test("of the harness are initial context, or keep their place", async () => {
    const imported = await read(
      rollout([
        said("<environment_context>\n  <cwd>/srv/app</cwd>\n</environment_context>"),
        said("# AGENTS.md instructions for /srv/app\n\n<INSTRUCTIONS>…"),
        said("<user_instructions>Be kind.</user_instructions>"),
        said("<turn_aborted>\nThe user stopped.\n</turn_aborted>"),
        said("<environment_context> is a tag", {
          internal_chat_message_metadata_passthrough: { content_item_kinds: ["user.text"] },
        }),
        said("Answer in French.", {
          internal_chat_message_metadata_passthrough: { content_item_kinds: ["personality.instructions"] },
        }),
      ]),
    );
    expect(entriesOf(imported, "custom_message").map(({ customType }) => customType)).toEqual([
      "sessile.initial_context",
      "sessile.initial_context",
      "sessile.initial_context",
      "codex.turn_aborted",
      "sessile.initial_context",
    ]);
    expect(entriesOf(imported, "message")).toMatchObject([
      { message: { role: "user", content: "<environment_context> is a tag" } },
    ]);
  });

  test("of instructions are out of context, unless they are wanted", async () => {
    const file = rollout(
      [
        item({ type: "message", role: "developer", content: [{ type: "input_text", text: "Use tools." }] }),
        said("Hi"),
      ],
      { base_instructions: { text: "You are an agent." } },
    );
    const outside = await read(file);
    expect(messagesOf(outside)).toHaveLength(1);
    expect(entriesOf(outside, "custom").map(({ customType, data }) => [customType, data])).toEqual([
      ["sessile.foreign", expect.anything()],
      ["sessile.instructions", { role: "developer", text: "You are an agent." }],
      ["sessile.instructions", { role: "developer", text: "Use tools." }],
    ]);
    const inside = await read(file, { instructions: true });
    expect(messagesOf(inside).map(({ role }) => role)).toEqual(["system", "system", "user"]);
  });

  test("of images are images, without the texts that name them", async () => {
    const imported = await read(sample("tools-0.169.jsonl"), { blobs: memoryBlobStore() });
    const [first] = entriesOf(imported, "message");
    expect(first?.message).toMatchObject({
      role: "user",
      content: [{ resource: { kind: "image", mediaType: "image/png" } }, { text: "what is here?" }],
    });
    expect(JSON.stringify(imported.entries)).not.toContain("<image name");
    const shown = resultsIn(imported).filter(({ toolName }) => toolName === "view_image");
    expect(shown).toMatchObject([{ content: [{ resource: { kind: "image" } }] }]);
  });

  test("of converters and early versions have plain text, and calls as parts", async () => {
    const parts = [
      { type: "text", text: "I look." },
      { type: "tool_use", id: "c1", name: "shell", input: { command: ["ls"] } },
      { type: "tool_use", id: 7, name: "shell" },
    ];
    const imported = await read(
      rollout([
        said("Go"),
        item({ type: "message", role: "assistant", content: "As a text." }),
        said("On"),
        item({ type: "message", role: "assistant", content: parts }),
      ]),
    );
    expect(repliesIn(imported).map(({ content }) => content)).toMatchObject([
      [{ type: "text", text: "As a text." }],
      [
        { type: "text", text: "I look." },
        { type: "toolCall", id: "c1", name: "shell", arguments: { command: ["ls"] } },
      ],
    ]);
    expect(repliesIn(imported)[1]?.content).toHaveLength(2);
  });

  test("that only name an image are text: nothing is opened", async () => {
    const image_url = "https://example.com/a.png";
    const file = rollout([
      item({ type: "message", role: "user", content: [{ type: "input_image", image_url }] }),
    ]);
    expect(messagesOf(await read(file))).toMatchObject([{ content: `[input_image ${image_url}]` }]);
  });
});

describe("results", () => {
  test("tell errors by exit codes, events, or their own word, and have the details of events", async () => {
    const imported = await read(
      rollout([
        said("Go"),
        ...["a", "b", "c", "d", "e", "f"].map((id) => call(id)),
        output("a", "Exit code: 1\nWall time: 0 seconds\nOutput:\nno"),
        output("b", '{"output":"no","metadata":{"exit_code":2,"duration_seconds":0.0}}'),
        output("c", { content: "no", success: false }),
        output("d", "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 3\nOutput:\nno"),
        output("e", "fine"),
        event({ type: "mcp_tool_call_end", call_id: "e", result: { Err: "no" } }),
        event({
          type: "item_completed",
          item: { type: "CommandExecution", id: "f", command: ["ls"], exit_code: 0, aggregated_output: "a" },
        }),
        output("f", "Exit code: 1\n"),
      ]),
    );
    expect(resultsIn(imported).map(({ isError }) => isError)).toEqual([true, true, true, true, true, false]);
    expect(resultsIn(imported).at(-1)?.details).toEqual({ command: ["ls"], exit_code: 0 });
  });

  test("tell errors by the state of their event, and need no text to report a thread", async () => {
    const ended = (type: string, id: string, status: string) =>
      event({ type: "item_completed", item: { type, id, status } });
    const imported = await read(
      rollout([
        said("Go"),
        ...["a", "b", "c"].map((id) => call(id)),
        call("d", "spawn_agent"),
        ...["a", "b", "c"].map((id) => output(id, "")),
        output("d", [{ type: "input_text", text: "no agent" }]),
        ended("FileChange", "a", "declined"),
        ended("CommandExecution", "b", "failed"),
        ended("CommandExecution", "c", "completed"),
      ]),
    );
    expect(resultsIn(imported).map(({ isError }) => isError)).toEqual([true, true, false, false]);
    expect(codes(imported)).not.toContain("missingChild");
  });

  test("without a call, and second ones, are left out", async () => {
    const imported = await read(
      rollout([said("Go"), call("a"), output("a", "1"), output("a", "2"), output("b", "3")]),
    );
    expect(resultsIn(imported)).toMatchObject([{ content: [{ type: "text", text: "1" }] }]);
    expect(codes(imported)).toEqual(expect.arrayContaining(["duplicateResult", "orphanResult"]));
  });
});

describe("turns", () => {
  test("that were rolled back are a branch", async () => {
    const imported = await read(
      rollout([
        said("one"),
        answered("1"),
        said("two"),
        answered("2"),
        said("three"),
        event({ type: "thread_rolled_back", num_turns: 2 }),
        said("again"),
      ]),
    );
    expect(messagesOf(imported).map((message) => ("content" in message ? message.content : ""))).toEqual([
      "one",
      [{ type: "text", text: "1" }],
      "again",
    ]);
    expect(entriesOf(imported, "leaf")).toHaveLength(1);
    const all = await read(
      rollout([said("one"), event({ type: "thread_rolled_back", num_turns: 9 }), said("two")]),
    );
    expect(messagesOf(all)).toMatchObject([{ content: "two" }]);
    expect(codes(all)).toContain("guessed");
  });

  test("begin anew after each message: a rollback drops one, without the opening of another", async () => {
    const note = said("<turn_aborted>\nStopped.\n</turn_aborted>");
    const back = event({ type: "thread_rolled_back", num_turns: 1 });
    const imported = await read(
      rollout([said("one"), answered("1"), note, said("two"), said("three"), back, said("four")]),
    );
    expect(messagesOf(imported)).toMatchObject([
      ...[{ content: "one" }, { role: "assistant" }, { role: "custom" }, { content: "two" }],
      { content: "four" },
    ]);
  });

  test("that were aborted say so at their reply", async () => {
    const imported = await read(
      rollout([said("one"), answered("1"), said("two"), answered("2"), event({ type: "turn_aborted" })]),
    );
    expect(repliesIn(imported).map(({ stopReason }) => stopReason)).toEqual(["stop", "aborted"]);
  });

  test("change the model, the effort and the directory", async () => {
    const imported = await read(
      rollout([
        turn({ effort: "high" }),
        said("one"),
        turn({ effort: "high" }),
        answered("1"),
        turn({ model: "gpt-6", effort: "none", cwd: "/srv/other" }),
      ]),
    );
    expect(entriesOf(imported, "model_change").map(({ modelId }) => modelId)).toEqual([
      "gpt-5.2-codex",
      "gpt-6",
    ]);
    expect(entriesOf(imported, "thinking_level_change").map(({ thinkingLevel }) => thinkingLevel)).toEqual([
      "high",
      "off",
    ]);
    expect(imported.report.findings.filter(({ code }) => code === "moved")).toMatchObject([{ line: 6 }]);
  });
});

describe("a compaction", () => {
  const history = (...items: readonly (readonly [string, object, object?])[]) =>
    items.map(([, payload]) => payload);
  const prefix = JSON.parse(
    textOf(sample("turns-0.98.jsonl"))
      .split("\n")
      .find((line) => line.includes('"compacted"')) ?? "",
  ).payload.message.split("\n")[0];

  // @covers R93
  test("keeps what its history has of the path, adds the rest, and has the summary without its opening", async () => {
    const imported = await read(
      rollout([
        said("one"),
        answered("1"),
        said("two"),
        answered("2"),
        count(1000, { input_tokens: 900, output_tokens: 100, total_tokens: 1000 }),
        count(1200, { input_tokens: 150, output_tokens: 50 }),
        [
          "compacted",
          {
            message: `${prefix}\nIt was short.`,
            replacement_history: history(
              said("two"),
              answered("1"),
              said("cut"),
              said(`${prefix}\nIt was short.`),
            ),
          },
        ],
        said("three"),
      ]),
    );
    const [compaction] = entriesOf(imported, "compaction");
    expect(compaction).toMatchObject({
      summary: "It was short.",
      usage: { input: 150 },
      firstKeptEntryId: compaction?.id,
    });
    expect(messagesOf(imported)).toMatchObject([
      { role: "compactionSummary", summary: "It was short." },
      { content: "two" },
      { content: [{ text: "1" }] },
      { role: "custom", customType: "codex.user_message", content: "cut" },
      { content: "three" },
    ]);
  });

  test("of 0.98, without a history, keeps what users wrote", async () => {
    const imported = await read(sample("turns-0.98.jsonl"));
    const [compaction] = entriesOf(imported, "compaction");
    expect(compaction?.summary).toBe("SUMMARY of it.");
    expect(compaction?.retain).toHaveLength(4);
    expect(codes(imported)).toContain("guessed");
  });

  test("without a history keeps of the harness's messages only those at the beginning", async () => {
    const imported = await read(
      rollout([
        said("<environment_context>\n  <cwd>/srv/app</cwd>\n</environment_context>"),
        said("one"),
        answered("1"),
        said("<turn_aborted>\nThe user stopped.\n</turn_aborted>"),
        said("two"),
        ["compacted", { message: `${prefix}\nIt was short.` }],
        said("three"),
      ]),
    );
    expect(messagesOf(imported)).toMatchObject([
      { role: "compactionSummary", summary: "It was short." },
      { role: "custom", customType: "sessile.initial_context" },
      { role: "user", content: "one" },
      { role: "user", content: "two" },
      { role: "user", content: "three" },
    ]);
  });

  test("whose summary is encrypted is an opaque block behind it", async () => {
    const encrypted = { type: "compaction", encrypted_content: "gAAA" };
    const imported = await read(
      rollout([
        said("one"),
        ["compacted", { message: "", replacement_history: [...history(said("one")), encrypted] }],
      ]),
    );
    expect(codes(imported)).toContain("encryptedSummary");
    expect(repliesIn(imported)).toMatchObject([{ content: [{ type: "opaque", data: encrypted }] }]);
  });

  test("has new replies of its history apart, and nothing of the request that made it", async () => {
    const imported = await read(
      rollout([
        said("one"),
        item(
          { type: "message", role: "assistant", content: [{ type: "output_text", text: "made" }] },
          {
            metadata: { compaction_output: true },
          },
        ),
        [
          "compacted",
          { message: "S", replacement_history: history(answered("x"), said("one"), answered("y")) },
        ],
      ]),
    );
    expect(repliesIn(imported)).toMatchObject([{ content: [{ text: "x" }] }, { content: [{ text: "y" }] }]);
    expect(JSON.stringify(imported.entries)).not.toContain('"made"');
  });

  test("is the start of what can be rolled back", async () => {
    const imported = await read(
      rollout([
        said("one"),
        ["compacted", { message: "S", replacement_history: history(said("one")) }],
        said("two"),
        event({ type: "thread_rolled_back", num_turns: 1 }),
        said("three"),
      ]),
    );
    expect(messagesOf(imported).slice(1)).toMatchObject([{ content: "one" }, { content: "three" }]);
  });
});

describe("threads", () => {
  test("of subagents are children, named by the call that started them", async () => {
    const imported = await read(samplesIn("agents-0.169"));
    const [child] = imported.children;
    expect(child?.header.parentSession).toBe(imported.header.id);
    expect(
      entriesOf(imported, "custom").filter(({ customType }) => customType === "sessile.subagent"),
    ).toMatchObject([
      { data: { toolCallId: expect.stringMatching(/^call_sp\|/), sessionId: child?.header.id } },
    ]);
    expect(child === undefined ? [] : messagesOf(child).at(-1)).toMatchObject({ content: [{ text: "B." }] });
    const alone = await read(samplesIn("agents-0.169").filter(({ path }) => !path.includes("20a3-7991")));
    expect(codes(alone)).toContain("missingChild");
  });

  test("are read one at a time: the one that is asked for, else the first", async () => {
    const [one, two] = ["a", "b"].map((id) => ({
      ...rollout([said(id)], { id }),
      path: `rollout-${id}.jsonl`,
    }));
    const files = [one, two] as readonly (typeof one & object)[];
    const first = await read(files);
    expect(first.header.id).toBe("a");
    expect(first.report.findings).toEqual([
      { code: "unmapped", file: "rollout-b.jsonl", text: "another session, which is not read: b" },
    ]);
    expect((await read(files, { session: "b" })).header.id).toBe("b");
    expect((await read(files, { session: "nobody" })).header.id).toBe("a");
  });

  test("that are forks without their base, or with a base that is their own base, end", async () => {
    const alone = await read(sample("fork-0.169.jsonl"));
    expect(codes(alone)).toContain("missingBase");
    const base = (id: string, of: string) => ({
      ...rollout([said(id)], { id, history_base: { thread_id: of, end_ordinal_exclusive: 9 } }),
      path: `rollout-${id}.jsonl`,
    });
    const circle = await read([base("a", "b"), base("b", "a")]);
    expect(codes(circle)).toContain("missingBase");
  });

  test("have their latest name", async () => {
    const index = sample("session_index.jsonl");
    const imported = await read([index, sample("turns-0.169.jsonl")]);
    expect(entriesOf(imported, "session_info")).toMatchObject([{ name: "My name" }]);
    const renamed = await read(
      rollout([event({ type: "thread_name_updated", thread_name: "A" }), said("Hi")]),
    );
    expect(entriesOf(renamed, "session_info")).toMatchObject([{ name: "A" }]);
  });
});

describe("files", () => {
  test("of the first CLI and of 0.29 are read", async () => {
    const items = [
      { role: "user", content: "Hi", timestamp: 1_736_900_000 },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "Ho" }] },
    ];
    const first = { session: { id: "one", timestamp: "2025-04-17T00:00:00.000Z", instructions: "" }, items };
    const bytes = (text: string) => new TextEncoder().encode(text);
    const read1 = (path: string) => read({ path, bytes: bytes(JSON.stringify(first, null, 1)) });
    const json = await read1("sessions/rollout-2025-04-17-one.json");
    // The content tells its form, and not the name.
    for (const imported of [json, await read1("one.txt"), await read1("one.jsonl")]) {
      expect(imported.header).toMatchObject({ id: "one" });
      expect(messagesOf(imported)).toMatchObject([{ content: "Hi" }, { content: [{ text: "Ho" }] }]);
    }
    expect(entriesOf(json, "message")[0]?.timestamp).toBe("2025-01-15T00:13:20.000Z");
    const environment = "<environment_context>\nCurrent working directory: /srv/app\n</environment_context>";
    const bare = [
      { id: "two", timestamp: "2025-09-01T00:00:00.000Z", instructions: null, git: {} },
      { record_type: "state" },
      { type: "message", role: "user", content: [{ type: "input_text", text: environment }] },
      { type: "message", id: null, role: "user", content: [{ type: "input_text", text: "Hi" }] },
      { type: "reasoning", id: "", summary: [], encrypted_content: "gAAA" },
      { type: "message", id: null, role: "assistant", content: [{ type: "output_text", text: "Ho" }] },
    ];
    const text = bare.map((line) => `${JSON.stringify(line)}\n`).join("");
    const imported = await read({ path: "rollout-two.jsonl", bytes: bytes(text) });
    expect(imported.header).toMatchObject({ id: "two", cwd: "/srv/app" });
    expect(repliesIn(imported)).toMatchObject([
      { content: [{ type: "thinking" }, { type: "text", text: "Ho" }] },
    ]);
  });

  test("that are compressed are read by `decompress`, and give the same entries", async () => {
    const plain = sample("tools-0.58.jsonl");
    const packed = { path: `archived_sessions/${plain.path}.zst`, bytes: zstd(plain.bytes as Uint8Array) };
    const imported = await read(packed, { decompress: (bytes) => decompress(bytes), keep: "none" });
    expect(imported.entries).toEqual((await read(plain, { keep: "none" })).entries);
    expect(codes(await read(packed))).toEqual(["needsReader"]);
  });

  test("with types and a version that are not known say so, and keep the lines", async () => {
    const imported = await read(
      rollout([said("Hi"), item({ type: "telepathy" }), ["dream", { a: 1 }], ["dream", {}]], {
        cli_version: "0.999.0",
      }),
    );
    expect(codes(await read(rollout([said("Hi")], { cli_version: "1.2.0" })))).toContain("newer");
    expect(codes(await read(rollout([said("Hi")], { cli_version: "0.2.0" })))).not.toContain("newer");
    expect(imported.report.findings.filter(({ code }) => code === "newer").map(({ text }) => text)).toEqual([
      expect.stringContaining("0.999.0"),
      "unknown type telepathy",
      "unknown type dream",
    ]);
    expect(imported.report.counts).toMatchObject({ dream: { read: 2, mapped: 0, kept: 2 } });
  });

  test("without items of users have what events tell of them", async () => {
    const events = [event({ type: "user_message", message: "Hi" }), answered("Ho")];
    expect(messagesOf(await read(rollout(events)))).toMatchObject([{ content: "Hi" }, { role: "assistant" }]);
    expect(messagesOf(await read(rollout([...events, said("Hi")])))).toMatchObject([
      { role: "assistant" },
      { content: "Hi" },
    ]);
  });

  test("give a session that a store adopts, and what is appended adds to it", async () => {
    const imported = await read(sample("turns-0.169.jsonl"), { keep: "none" });
    await using session = await memorySessionStore().adopt(imported);
    expect((await session.context()).items).toHaveLength(messagesOf(imported).length);
    const file = sample("tools-0.128.jsonl");
    const lines = textOf(file).split("\n");
    const head = new TextEncoder().encode(`${lines.slice(0, 20).join("\n")}\n`);
    const early = await read({ ...file, bytes: head }, { keep: "none" });
    const late = await read(file, { keep: "none" });
    expect(late.entries.map(({ id }) => id)).toEqual(
      expect.arrayContaining(early.entries.map(({ id }) => id)),
    );
  });
});

/** A frame of one block as it is: https://www.rfc-editor.org/rfc/rfc8878 section 3.1.1 (read 2026-11-23). */
function zstd(bytes: Uint8Array): Uint8Array {
  const frame = new Uint8Array(bytes.length + 12);
  const view = new DataView(frame.buffer);
  view.setUint32(0, 0xfd2fb528, true);
  frame[4] = 0xa0;
  view.setUint32(5, bytes.length, true);
  const header = (bytes.length << 3) | 1;
  frame.set([header & 0xff, (header >> 8) & 0xff, header >> 16], 9);
  frame.set(bytes, 12);
  return frame;
}
