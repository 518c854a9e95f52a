import {
  assistantMessage,
  memoryBlobStore,
  memorySessionStore,
  project,
  type Session,
  toolResult,
  userMessage,
} from "sessile";
import { replayAlways } from "sessile/attachments";
import { codex } from "sessile/codex";
import { type ExportableSession, exportSession, type ForeignFile } from "sessile/interop";
import { openaiResponses } from "sessile/openai";
import { describe, expect, test } from "vitest";
import { reduceRequest } from "../support/reduced.js";
import { own, richSession } from "./rich-session.js";
import {
  answered,
  contextOfImport,
  entriesOf,
  event,
  harness,
  messagesOf,
  projectedRequest,
  read,
  requests,
  rollout,
  said,
  sample,
  samplesIn,
  textOf,
} from "./samples.js";

type Line = { readonly type: string; readonly payload: { readonly [member: string]: unknown } };
const linesOf = (file: { readonly bytes: Uint8Array } | undefined) =>
  textOf({ bytes: file?.bytes ?? new Uint8Array() })
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line & { readonly [member: string]: unknown });
const written = async (session: ExportableSession) => exportSession(session, { to: codex });

describe("a session that is written anew", () => {
  // @covers R93 › is the file that Codex resumed, and its request is our projection of it (true)
  test.each([true, false])(
    "is the file that Codex resumed, and its request is our projection of it (%s)",
    async (isCompacted) => {
      const session = richSession(isCompacted);
      const name = isCompacted ? "written-compacted" : "written";
      const { files, resume, report } = await written(session);
      expect(resume).toEqual(["codex", "resume", session.header?.id]);
      // These bytes were given to Codex. If they change on purpose, `npm run interop` judges the new ones.
      expect(files.map(({ path }) => path)).toEqual([
        `sessions/2026/11/23/rollout-2026-11-23T07-00-00-${session.header?.id}.jsonl`,
      ]);
      expect(textOf(files[0] as ForeignFile)).toBe(textOf(sample(`${name}.jsonl`)));
      expect(report.findings.map(({ code }) => code)).toEqual(["reasoning"]);
      const { value } = await project(
        contextOfImport(session as Parameters<typeof contextOfImport>[0]),
        openaiResponses(own),
      );
      const ours = reduceRequest(value, { without: harness, maxText: 160 });
      for (const version of isCompacted ? ["0.98", "0.128", "0.169"] : ["0.58", "0.98", "0.128", "0.169"]) {
        expect(requests[`${name}-${version}`], version).toEqual([...ours, { role: "user", text: "go on" }]);
      }
    },
  );

  test.each([true, false])(
    "comes back with its ids, texts, images, errors and compaction (%s)",
    async (isCompacted) => {
      const session = richSession(isCompacted);
      const { files } = await written(session);
      const back = await read(files as readonly ForeignFile[], { keep: "none" });
      expect(back.entries.map(({ id, type }) => [id, type])).toEqual(
        session.entries.map(({ id, type }) => [id, type]),
      );
      const projected = async (source: ExportableSession) =>
        (
          await project(
            contextOfImport(source as Parameters<typeof contextOfImport>[0]),
            openaiResponses(own),
          )
        ).value;
      expect(await projected(back)).toEqual(await projected(session));
      const results = entriesOf(back, "message").flatMap(({ message }) =>
        message.role === "toolResult" ? [message] : [],
      );
      expect(results.map(({ isError }) => isError)).toEqual([false, true, false, false]);
      expect(
        entriesOf(back, "message").flatMap(({ message }) => ("usage" in message ? [message.usage] : [])),
      ).toHaveLength(5);
      expect(entriesOf(back, "session_info")).toMatchObject([{ name: "A name" }]);
    },
  );

  // @covers R93
  test("has the events by which Codex lists it and shows its turns", async () => {
    const lines = linesOf((await written(richSession(true))).files[0]);
    const shown = lines.flatMap(({ type, payload }) => (type === "event_msg" ? [payload.type] : []));
    expect(shown.filter((type) => type === "user_message")).toHaveLength(5);
    expect(shown).toEqual(
      expect.arrayContaining(["agent_message", "agent_reasoning", "token_count", "turn_aborted"]),
    );
    const [meta] = lines;
    expect(meta?.payload).toMatchObject({ cli_version: "0.0.0", source: "cli", model_provider: "mock" });
    const compacted = lines.find(({ type }) => type === "compacted");
    expect(compacted?.payload.replacement_history).toHaveLength(3);
  });

  test("has a UUID, its subagents, and no items that Codex lacks", async () => {
    const child = richSession(false);
    const entries = [
      {
        type: "message",
        id: "a",
        parentId: null,
        timestamp: "2026-11-23T00:00:00.000Z",
        message: {
          role: "assistant",
          ...own,
          content: [
            {
              type: "opaque",
              data: { type: "file_search_call", id: "fs_1", status: "completed", queries: ["a"] },
            },
            {
              type: "toolCall",
              id: "c",
              name: "shell",
              arguments: { action: { commands: ["ls"] } },
              thoughtSignature: JSON.stringify({ v: 1, item: { type: "shell_call", id: "sh_1" } }),
            },
          ],
          timestamp: 0,
        },
      },
    ] as unknown as ExportableSession["entries"];
    const session = { ...child, header: { ...(child.header as object), id: "named" }, entries, leafId: "a" };
    const { files, report } = await exportSession(session as ExportableSession, {
      to: codex,
      children: [child],
    });
    expect(report.findings.map(({ code }) => code).sort()).toEqual([
      "id",
      "interrupted",
      "opaque",
      "reasoning",
    ]);
    const [meta, ...lines] = linesOf(files[0]);
    expect(lines.flatMap(({ type, payload }) => (type === "response_item" ? [payload.type] : []))).toEqual([
      "function_call",
      "function_call_output",
    ]);
    expect(linesOf(files[1])[0]?.payload.source).toMatchObject({
      subagent: { thread_spawn: { parent_thread_id: meta?.payload.id } },
    });
  });

  test("has results of several blocks and images as parts, and one text as such", async () => {
    const timestamp = "2026-11-23T00:00:00.000Z";
    const at = { type: "message", timestamp };
    const blocks = (...texts: readonly string[]) => texts.map((text) => ({ type: "text", text }));
    const result = (id: string, parentId: string, toolCallId: string, content: readonly object[]) => ({
      ...at,
      ...{
        id,
        parentId,
        message: { role: "toolResult", toolCallId, toolName: "shell", content, timestamp: 0 },
      },
    });
    const image = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" };
    const named = (id: string) => ({ type: "toolCall", id, name: "shell", arguments: {} });
    const calls = ["c1", "c2", "c3"].map(named);
    const entries = [
      {
        ...at,
        id: "a",
        parentId: null,
        message: { role: "assistant", ...own, content: calls, timestamp: 0 },
      },
      result("b", "a", "c1", blocks("one", "two")),
      result("c", "b", "c2", [image]),
      result("d", "c", "c3", []),
    ] as unknown as ExportableSession["entries"];
    const { files } = await written({ ...richSession(false), entries, leafId: "d" });
    const outputs = linesOf(files[0]).flatMap(({ payload }) =>
      String(payload.type).endsWith("_output") ? [[payload.type, payload.output]] : [],
    );
    const [text, url] = ["input_text", "input_image"];
    expect(outputs).toEqual([
      [
        "function_call_output",
        [
          { type: text, text: "one" },
          { type: text, text: "two" },
        ],
      ],
      ["function_call_output", [{ type: url, image_url: "data:image/png;base64,iVBORw0KGgo=" }]],
      ["function_call_output", ""],
    ]);
  });

  test("is written under the models that the caller names", async () => {
    const { files } = await exportSession(richSession(false), {
      to: codex,
      modelFor: ({ model }) => (model.startsWith("claude") ? "gpt-6" : model),
    });
    const models = linesOf(files[0]).flatMap(({ type, payload }) =>
      type === "turn_context" ? [payload.model] : [],
    );
    expect(models).toEqual(["gpt-6", "gpt-5.2-codex"]);
  });

  test("keeps replies apart that a compaction keeps, though their texts are equal", async () => {
    const reply = (id: string, parentId: string | null, ...texts: readonly string[]) => ({
      type: "message",
      id,
      parentId,
      timestamp: "2026-11-23T00:00:00.000Z",
      message: {
        role: "assistant",
        ...own,
        content: texts.map((text) => ({ type: "text", text })),
        timestamp: 0,
      },
    });
    const entries = [
      reply("a", null, "same", "one"),
      reply("b", "a", "same", "two"),
      {
        type: "compaction",
        id: "c",
        parentId: "b",
        timestamp: "2026-11-23T00:00:00.000Z",
        summary: "S",
        firstKeptEntryId: "b",
        tokensBefore: 0,
      },
    ] as unknown as ExportableSession["entries"];
    const { files } = await written({ ...richSession(false), entries, leafId: "c" });
    const back = await read(files as readonly ForeignFile[], { keep: "none" });
    expect(entriesOf(back, "compaction")[0]?.retain).toEqual(["b"]);
  });

  test("keeps the order of entries that an earlier compaction dropped and a later one keeps", async () => {
    const timestamp = "2026-11-23T00:00:00.000Z";
    const question = (id: string, parentId: string | null) => ({
      type: "message",
      id,
      parentId,
      timestamp,
      message: { role: "user", content: id, timestamp: 0 },
    });
    const compaction = (id: string, parentId: string, firstKeptEntryId: string) => ({
      type: "compaction",
      id,
      parentId,
      timestamp,
      summary: `summary ${id}`,
      firstKeptEntryId,
      tokensBefore: 0,
    });
    const entries = [
      question("a", null),
      question("b", "a"),
      compaction("c", "b", "b"),
      compaction("d", "c", "a"),
      question("e", "d"),
    ] as unknown as ExportableSession["entries"];
    const { files } = await written({ ...richSession(false), entries, leafId: "e" });
    const back = await read(files as readonly ForeignFile[], { keep: "none" });
    expect(entriesOf(back, "compaction").map(({ retain }) => retain)).toEqual([["b"], ["a", "b"]]);
    expect(entriesOf(back, "message")).toHaveLength(3);
  });

  test("finds each of two equal entries that an earlier compaction dropped, if both are kept again", async () => {
    const rolled = (type: string, payload: object) =>
      JSON.stringify({ timestamp: "2026-11-23T00:00:00.000Z", type, payload });
    const question = { type: "message", role: "user", content: [{ type: "input_text", text: "again" }] };
    const id = "0193b3e8-0000-7000-8000-000000000000";
    const lines = [
      rolled("session_meta", {
        id,
        timestamp: "2026-11-23T00:00:00.000Z",
        cwd: "/w",
        cli_version: "0.169.0",
      }),
      rolled("response_item", question),
      rolled("compacted", { message: "one", replacement_history: [] }),
      rolled("compacted", { message: "two", replacement_history: [question, question] }),
    ];
    const path = `sessions/2026/11/23/rollout-2026-11-23T00-00-00-${id}.jsonl`;
    const back = await read([{ path, bytes: new TextEncoder().encode(`${lines.join("\n")}\n`) }], {
      keep: "none",
    });
    // The first is the dropped one, and the second a new entry: no message is lost.
    expect(entriesOf(back, "compaction")[1]?.retain).toHaveLength(1);
    expect(back.entries.filter((entry) => JSON.stringify(entry).includes('"again"'))).toHaveLength(2);
  });
});

/** Imports rollouts, and opens them as a session. */
async function opened(files: readonly ForeignFile[]) {
  const blobs = memoryBlobStore();
  const imported = await read(files, { blobs });
  const session = await memorySessionStore({ blobs }).adopt(imported);
  return { blobs, imported, session, go: () => exportSession(session, { to: codex, blobs }) };
}

async function goOn(session: Session): Promise<void> {
  const call = { type: "toolCall", id: "call_z", name: "exec_command", arguments: { cmd: "x" } } as const;
  await session.appendMessage(userMessage("appended question"));
  await session.appendMessage(assistantMessage(own, "Appended answer.", call));
  await session.appendMessage(toolResult(call, "zzz"));
  await session.appendMessage(assistantMessage(own, "Really done."));
}

describe("a session that was imported", () => {
  const groups = [
    ...["tools-0.58.jsonl", "tools-0.98.jsonl", "tools-0.169.jsonl", "turns-0.169.jsonl"].map((name) => [
      sample(name),
    ]),
    [sample("turns-0.98.jsonl"), sample("session_index.jsonl")],
    samplesIn("agents-0.169"),
  ];

  test("goes back as it was", async () => {
    for (const files of groups) {
      const { go, session } = await opened(files);
      const { files: back, report, resume } = await go();
      expect(report.exact).toBe(true);
      expect(back).toEqual(files.map(({ path, bytes }) => ({ path, bytes })));
      expect(resume).toEqual(["codex", "resume", session.header.id]);
    }
  });

  // @covers R93
  test("goes on behind its own bytes, in the form of its lines", async () => {
    for (const files of groups) {
      const { go, session, blobs } = await opened(files);
      await goOn(session);
      const { files: back, report } = await go();
      expect(report.exact).toBe(true);
      // Only what was added is written.
      const outputs = (of: readonly { readonly bytes: unknown }[]) =>
        of
          .flatMap((file) => linesOf(file as { readonly bytes: Uint8Array }))
          .filter((line) => /"type":"\w+_output"/.test(JSON.stringify(line))).length;
      expect(outputs(back)).toBe(outputs(files) + 1);
      const again = await read(back as readonly ForeignFile[], { blobs });
      const projected = async (context: Parameters<typeof project>[0]) =>
        reduceRequest((await project(context, openaiResponses(own), { blobs, replay: replayAlways })).value);
      expect(messagesOf(again).slice(-4)).toEqual(
        (await session.context()).items
          .slice(-4)
          .map(({ message }) => expect.objectContaining({ role: message.role })),
      );
      expect(await projected(contextOfImport(again))).toEqual(await projected(await session.context()));
    }
    const { go, session } = await opened([sample("tools-0.169.jsonl")]);
    await goOn(session);
    const lines = linesOf((await go()).files[0]);
    expect(lines.map(({ ordinal }) => ordinal)).toEqual(lines.map((_, at) => at));
    const shown = lines
      .slice(-14)
      .flatMap(({ payload }) => (payload.item as { type?: string } | undefined)?.type ?? []);
    expect(shown).toEqual(["UserMessage", "AgentMessage", "AgentMessage"]);
    expect(
      lines.find(
        ({ payload }) =>
          JSON.stringify(payload).includes('"UserMessage"') && JSON.stringify(payload).includes("appended"),
      )?.payload.item,
    ).toMatchObject({
      content: [{ type: "text", text: "appended question", text_elements: [] }],
    });
  });

  test("shows each turn that was added from its start to its end, in threads that number their lines", async () => {
    const { go, session } = await opened([sample("tools-0.169.jsonl")]);
    const before = linesOf((await go()).files[0]).length;
    for (const question of ["first", "second"]) {
      await session.append([
        { type: "message", message: userMessage(question) },
        { type: "message", message: assistantMessage({ provider: "openai", model: "gpt-5" }, "Done.") },
      ]);
    }
    const added = linesOf((await go()).files[0]).slice(before);
    const events = added.flatMap(({ payload }) => {
      const { type, turn_id } = payload as { readonly type?: string; readonly turn_id?: string };
      return type === "task_started" || type === "task_complete" ? [[type, turn_id]] : [];
    });
    const [first, second] = [events[0]?.[1], events[2]?.[1]];
    expect(first).not.toBe(second);
    expect(events).toEqual([
      ["task_started", first],
      ["task_complete", first],
      ["task_started", second],
      ["task_complete", second],
    ]);
    expect(added.at(-1)?.payload).toMatchObject({ type: "task_complete" });
  });

  test("counts the tokens of its own replies and of those before", async () => {
    const { go, session, imported } = await opened([sample("tools-0.98.jsonl")]);
    const usage = { input: 100, output: 20, cacheRead: 30, cacheWrite: 0, totalTokens: 150 };
    const before = entriesOf(imported, "message").flatMap(({ message }) =>
      message.role === "assistant" && message.usage !== undefined ? [message.usage] : [],
    );
    const sum = (member: "input" | "output" | "cacheRead") =>
      before.reduce((total, each) => total + each[member], usage[member]);
    expect(sum("input") + sum("cacheRead")).toBeGreaterThan(130);
    await session.appendMessage(userMessage("appended question"));
    await session.appendMessage({ ...assistantMessage(own, "Appended answer."), usage });
    const info = linesOf((await go()).files[0]).findLast(({ payload }) => payload.type === "token_count")
      ?.payload.info;
    expect(info).toMatchObject({
      total_token_usage: {
        input_tokens: sum("input") + sum("cacheRead"),
        cached_input_tokens: sum("cacheRead"),
        output_tokens: sum("output"),
      },
      last_token_usage: { input_tokens: 130, cached_input_tokens: 30, output_tokens: 20, total_tokens: 150 },
    });
  });

  test("says with a rollback that the leaf moved back to the start of a turn", async () => {
    const file = rollout([
      said("one"),
      answered("1"),
      said("two"),
      answered("2"),
      said("three"),
      answered("3"),
    ]);
    const { go, session, imported } = await opened([file]);
    const second = imported.entries.find(
      (entry) => entry.type === "message" && entry.message.role === "user" && entry.message.content === "two",
    );
    await session.branch(second?.parentId ?? null);
    await goOn(session);
    const { files, report } = await go();
    expect(report.exact).toBe(true);
    expect(linesOf(files[0])[7]?.payload).toEqual({ type: "thread_rolled_back", num_turns: 2 });
    expect(await projectedRequest(await read(files as readonly ForeignFile[]))).toMatchObject([
      { text: "one" },
      { text: "1" },
      { text: "appended question" },
      {},
      {},
      {},
      {},
    ]);
  });

  test("is written anew if no rollback says where the leaf is", async () => {
    const aborted = said("<turn_aborted>\nStopped.\n</turn_aborted>");
    const turns = [said("one"), answered("1"), aborted, said("two"), answered("2")];
    const cases: readonly (readonly [ForeignFile, (messages: readonly string[]) => string | undefined])[] = [
      // In the middle of a turn, behind a message that a rollback would drop, and before 0.98 knew rollbacks.
      [rollout(turns), (ids) => ids[3]],
      [rollout(turns), (ids) => ids[2]],
      [rollout(turns), (ids) => ids[1]],
      [rollout(turns, { cli_version: "0.58.0" }), (ids) => ids[1]],
      [sample("turns-0.169.jsonl"), (ids) => ids[1]],
    ];
    for (const [file, place] of cases) {
      const { go, session, imported } = await opened([file]);
      const ids = imported.entries.flatMap(({ id, type }) => (type.endsWith("message") ? [id] : []));
      await session.branch(place(ids) ?? null);
      await goOn(session);
      expect((await go()).report.exact).toBe(false);
    }
  });

  test("drops with a turn what the harness said before it, since 0.128", async () => {
    const lines = [
      said("one"),
      answered("1"),
      said("<turn_aborted>\nStopped.\n</turn_aborted>"),
      said("two"),
      event({ type: "thread_rolled_back", num_turns: 1 }),
    ];
    expect(messagesOf(await read(rollout(lines)))).toHaveLength(2);
    expect(messagesOf(await read(rollout(lines, { cli_version: "0.98.0" })))).toHaveLength(3);
  });
});
