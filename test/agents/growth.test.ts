/** Files of agents that grow: an import of the first lines, adopted, and later imports on top of it. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { memoryBlobStore, memorySessionStore, type Session, userMessage } from "sessile";
import { claudeCode } from "sessile/claude-code";
import { codex } from "sessile/codex";
import { gemini } from "sessile/gemini-cli";
import {
  exportSession,
  type ForeignFile,
  type ForeignFormat,
  type ImportedSession,
  importSession,
} from "sessile/interop";
import { kimiCode } from "sessile/kimi-code";
import { opencode } from "sessile/opencode";
import { qwenCode } from "sessile/qwen-code";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { transcripts } from "../arbitraries/claude-code.js";
import { rounds } from "../support/rounds.js";
import { call, line, mainPath, reply, result, text, user } from "./claude-code/transcript.js";
import { rollout } from "./codex/samples.js";
import * as chats from "./gemini-cli/chat-log.js";

/** A file that grows, and the files beside it. */
interface Sample {
  readonly name: string;
  readonly format: ForeignFormat;
  readonly path: string;
  readonly lines: readonly string[];
  readonly beside: readonly ForeignFile[];
}

const encoder = new TextEncoder();
const linesOf = (content: string) => content.split(/(?<=\n)/);

function sample(
  format: ForeignFormat,
  path: string,
  content: string,
  beside: readonly ForeignFile[],
): Sample {
  return { name: `${format.name} ${path.split("/").at(-1)}`, format, path, lines: linesOf(content), beside };
}

/** The samples that agents wrote. A file that this library wrote never ends in the middle of a reply. */
function* samples(): Generator<Sample> {
  const folderOf = (agent: string) => join(root, "test/agents", agent, "files");
  for (const name of readdirSync(folderOf("claude-code"))) {
    const { files } = JSON.parse(readFileSync(join(folderOf("claude-code"), name), "utf8")) as {
      files: readonly { readonly path: string; readonly text: string }[];
    };
    const [main, ...rest] = files;
    const beside = rest.map(({ path, text }) => ({ path, bytes: encoder.encode(text) }));
    if (main !== undefined) yield sample(claudeCode, main.path, main.text, beside);
  }
  for (const [agent, format] of [
    ["codex", codex],
    ["gemini-cli", gemini],
  ] as const) {
    for (const entry of readdirSync(folderOf(agent), { recursive: true, withFileTypes: true })) {
      const isOurs = /^written|^a-written|^session_index/.test(entry.name);
      if (!entry.name.endsWith(".jsonl") || isOurs) continue;
      const path = join(entry.parentPath, entry.name);
      yield sample(format, path.slice(folderOf(agent).length + 1), readFileSync(path, "utf8"), []);
    }
  }
}

function importUpTo({ format, path, lines, beside }: Sample, count: number): Promise<ImportedSession> {
  const bytes = encoder.encode(lines.slice(0, count).join(""));
  return importSession([{ path, bytes }, ...beside], { from: format, keep: "none" });
}

/** The messages of a context, but for the opening of the harness: that of the first import stays. */
async function shown(session: Session) {
  const { items } = await session.context();
  return items
    .map(({ message }) => message)
    .filter((message) => message.role !== "custom" || message.customType !== "sessile.initial_context");
}

const adopt = (sessions: ReturnType<typeof memorySessionStore>, imported: ImportedSession) =>
  sessions.adopt(imported, { existing: "append" });

/** Fails unless entries with one id are equal, but for the opening. */
function expectSameEntries(before: ImportedSession, after: ImportedSession): void {
  // Titles have the time of the first line, which may not be there yet.
  const states = ({ entries }: ImportedSession) =>
    new Map(
      entries
        .filter(({ type }) => type !== "custom_message")
        .map((entry) => [
          entry.id,
          JSON.stringify(entry.type === "session_info" ? { ...entry, timestamp: "" } : entry),
        ]),
    );
  const later = states(after);
  for (const [id, state] of states(before)) if (later.has(id)) expect(state).toBe(later.get(id));
}

/** Imports a file at each of its lines into one store, and at one line and whole into another. */
async function expectGrowth(each: Sample, cuts: readonly number[]): Promise<void> {
  const whole = await importUpTo(each, each.lines.length);
  const expected = JSON.stringify(await shown(await memorySessionStore({ inline: "allow" }).adopt(whole)));
  const following = memorySessionStore({ inline: "allow" });
  for (const cut of cuts) {
    const part = await importUpTo(each, cut);
    expectSameEntries(part, whole);
    const sessions = memorySessionStore({ inline: "allow" });
    await adopt(sessions, part);
    const grown = await adopt(sessions, whole);
    expect(grown.leafId, `${each.name}: line ${cut}`).toBe(whole.leafId);
    expect(JSON.stringify(await shown(grown)), `${each.name}: line ${cut}`).toBe(expected);
    const followed = await adopt(following, part);
    expect(followed.leafId, `${each.name}: followed to line ${cut}`).toBe(part.leafId);
  }
  const followed = await adopt(following, whole);
  expect(JSON.stringify(await shown(followed)), each.name).toBe(expected);
}

const every = (lines: readonly unknown[]) => Array.from(lines.keys(), (at) => at + 1);
const claude = (lines: readonly object[]): Sample =>
  sample(claudeCode, mainPath, lines.map((each) => `${JSON.stringify(each)}\n`).join(""), []);

describe("a file that was imported before it was complete", () => {
  it.each(Array.from(samples(), (each) => [each.name, each] as const))(
    "has the context of its whole import: %s",
    async (_, each) => {
      const step = Math.max(1, Math.ceil(each.lines.length / rounds(5, 1000)));
      await expectGrowth(
        each,
        every(each.lines).filter((count) => count % step === 0),
      );
    },
  );

  it("has it whatever a transcript of Claude Code is made of", async () => {
    await fc.assert(
      fc.asyncProperty(transcripts, async (lines) => {
        const each = claude(lines as readonly object[]);
        await expectGrowth(each, every(each.lines));
      }),
      { numRuns: rounds(5, 100) },
    );
  });

  it("goes on with the blocks of a reply, also behind a result of another one", async () => {
    const lines = [
      user("u1", null, "go"),
      reply("a1", "u1", "m1", call("c1")),
      user("r1", "a1", [result("c1", "one")]),
      line("attachment", "n1", "r1", { attachment: { type: "queued_command", prompt: "and this" } }),
      reply("a2", "a1", "m1", call("c2")),
      user("r2", "a2", [result("c2", "two")]),
      reply("a3", "r2", "m2", text("done")),
    ];
    await expectGrowth(claude(lines), every(lines));
  });

  it("takes back a message that was not sent, and a title that another one replaced", async () => {
    const lines = [
      { type: "ai-title", aiTitle: "one" },
      user("u1", null, "go"),
      reply("a1", "u1", "m1", text("going")),
      line("attachment", "n1", "a1", {
        attachment: { type: "queued_command", prompt: "and this" },
        timestamp: "2026-11-23T08:00:01.000Z",
      }),
      { type: "ai-title", aiTitle: "two" },
      user("u2", "n1", "and this", { timestamp: "2026-11-23T08:00:02.000Z" }),
      { type: "ai-title", aiTitle: "one" },
    ];
    const each = claude(lines);
    await expectGrowth(each, every(lines));
    const sessions = memorySessionStore({ inline: "allow" });
    for (const count of every(lines)) await adopt(sessions, await importUpTo(each, count));
    expect((await sessions.open(claudeId)).info.title).toBe("one");
  });

  it("takes up usage, the outcome of a command, and an item behind its event", async () => {
    const item = (value: object) => ["response_item", value] as const;
    const event = (value: object) => ["event_msg", value] as const;
    const file = rollout([
      event({ type: "user_message", message: "go" }),
      item({ type: "message", role: "user", content: [{ type: "input_text", text: "go" }] }),
      item({ type: "function_call", call_id: "c1", name: "shell", arguments: "{}" }),
      item({ type: "function_call_output", call_id: "c1", output: "no" }),
      event({ type: "exec_command_end", call_id: "c1", exit_code: 1, duration: { secs: 1, nanos: 0 } }),
      event({
        type: "token_count",
        info: {
          last_token_usage: { input_tokens: 3, output_tokens: 4 },
          total_token_usage: { total_tokens: 7 },
        },
      }),
      event({ type: "turn_aborted", reason: "interrupted" }),
    ]);
    const content = new TextDecoder().decode(file.bytes as Uint8Array);
    const each = sample(codex, file.path, content, []);
    await expectGrowth(each, every(each.lines));
  });

  it("takes up the calls of a reply that Gemini CLI puts again", async () => {
    const records = [
      chats.header(),
      chats.user("u1", "go"),
      chats.reply("g1", "looking"),
      chats.reply("g1", "looking", { toolCalls: [chats.call("c1", undefined)] }),
      chats.reply("g1", "looking", { toolCalls: [chats.call("c1", [chats.response("c1", "out")])] }),
      chats.reply("g2", "done"),
    ];
    const each = sample(gemini, chats.chatPath, new TextDecoder().decode(chats.lines(records)), []);
    await expectGrowth(each, every(each.lines));
  });

  it("takes up the lines of a chat of Qwen Code, and of a step of Kimi Code", async () => {
    const text = (value: object) => `${JSON.stringify(value)}\n`;
    const parent = (at: number) => (at === 0 ? null : `r${at - 1}`);
    const part = (value: object) => ({ message: { parts: [value] } });
    const call = { functionCall: { id: "c1", name: "look", args: {} } };
    const chat = [
      { type: "user", ...part({ text: "go" }) },
      { type: "assistant", ...part({ text: "looking" }) },
      { type: "assistant", uuid: "r1", parentUuid: "r0", ...part(call) },
      {
        type: "tool_result",
        parentUuid: "r1",
        ...part({ functionResponse: { id: "c1", response: { output: "x" } } }),
      },
      { type: "system", subtype: "custom_title", systemPayload: { customTitle: "Work" } },
      { type: "system", subtype: "rewind", parentUuid: "r0", systemPayload: {} },
      { type: "user", ...part({ text: "again" }) },
    ].map((value, at) =>
      text({ uuid: `r${at}`, parentUuid: parent(at), sessionId: "s1", cwd: "/w", ...value }),
    );
    const loop = (event: object) => ({ type: "context.append_loop_event", event });
    const wire = [
      { type: "metadata", protocol_version: "1.5", created_at: 1 },
      { type: "context.append_message", message: { role: "user", content: [{ type: "text", text: "go" }] } },
      loop({ type: "step.begin", uuid: "s1" }),
      { type: "llm.request", provider: "kimi", model: "k2" },
      loop({ type: "content.part", stepUuid: "s1", part: { type: "text", text: "looking" } }),
      loop({ type: "tool.call", stepUuid: "s1", toolCallId: "c1", name: "Bash", args: {} }),
      loop({ type: "tool.result", toolCallId: "c1", result: { output: "x" } }),
      loop({ type: "step.end", uuid: "s1", usage: { inputOther: 1, output: 2 } }),
      { type: "context.undo", count: 1 },
      {
        type: "context.append_message",
        message: { role: "user", content: [{ type: "text", text: "again" }] },
      },
    ].map((value, at) => text({ time: 1000 + at, ...value }));
    for (const [format, path, lines] of [
      [qwenCode, "projects/-w/chats/0f8fad5b-d9cb-469f-a165-70867728950e.jsonl", chat],
      [kimiCode, "sessions/wd_w/session_1/agents/main/wire.jsonl", wire],
    ] as const) {
      const each = sample(format, path, lines.join(""), []);
      await expectGrowth(each, every(each.lines));
    }
  });

  it("takes up the parts of a reply of opencode that was running", async () => {
    const info = { id: "ses_1", title: "t", directory: "/w", version: "1.18.33", time: { created: 1 } };
    const asked = {
      info: { id: "msg_1", role: "user", time: { created: 2 } },
      parts: [{ id: "prt_1", type: "text", text: "go" }],
    };
    const tool = (state: object) => ({ id: "prt_2", type: "tool", tool: "bash", callID: "c1", state });
    const states = [
      [tool({ status: "running", input: {} })],
      [tool({ status: "completed", input: {}, output: "out", time: { start: 4, end: 5 } })],
      [
        tool({ status: "completed", input: {}, output: "out", time: { start: 4, end: 5 } }),
        { id: "prt_3", type: "text", text: "done" },
      ],
    ];
    const sessions = memorySessionStore({ inline: "allow" });
    for (const parts of states) {
      const replied = {
        info: { id: "msg_2", role: "assistant", time: { created: 3 }, providerID: "p", modelID: "m" },
        parts,
      };
      const bytes = encoder.encode(JSON.stringify({ info, messages: [asked, replied] }));
      const imported = await importSession([{ path: "export.json", bytes }], {
        from: opencode,
        keep: "none",
      });
      const followed = await adopt(sessions, imported);
      expect(followed.leafId).toBe(imported.leafId);
      expect(await shown(followed)).toEqual(
        await shown(await memorySessionStore({ inline: "allow" }).adopt(imported)),
      );
    }
  });

  it("keeps the leaf on what was appended here, and returns the newest bytes all the same", async () => {
    const lines = [
      user("u1", null, "go"),
      reply("a1", "u1", "m1", text("looking")),
      reply("a2", "a1", "m1", call("c1")),
      user("r1", "a2", [result("c1", "one")]),
    ];
    const blobs = memoryBlobStore();
    const sessions = memorySessionStore({ blobs });
    const filesOf = (count: number) => [
      {
        path: mainPath,
        bytes: encoder.encode(
          lines
            .slice(0, count)
            .map((each) => `${JSON.stringify(each)}\n`)
            .join(""),
        ),
      },
    ];
    const importOf = (count: number) => importSession(filesOf(count), { from: claudeCode, blobs });
    await adopt(sessions, await importOf(2));
    const whole = await adopt(sessions, await importOf(4));
    expect(await exportSession(whole, { to: claudeCode, blobs })).toMatchObject({
      files: filesOf(4),
      report: { exact: true },
    });
    const more = await whole.appendMessage(userMessage("and more"));
    const appended = await exportSession(whole, { to: claudeCode, blobs });
    expect(appended.report.exact).toBe(true);
    const again = await importSession(appended.files, { from: claudeCode, keep: "none" });
    expect((await shown(await memorySessionStore().adopt(again))).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "toolResult",
      "user",
    ]);
    await whole.close();
    expect((await adopt(sessions, await importOf(4))).leafId).toBe(more.id);
  });
});

const claudeId = mainPath.split("/").at(-1)?.slice(0, -".jsonl".length) as string;
