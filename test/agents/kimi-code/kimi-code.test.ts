import { readFileSync } from "node:fs";
import { join } from "node:path";
import { assistantMessage, memoryBlobStore, memorySessionStore, toolResult, userMessage } from "sessile";
import { exportSession, type ForeignFile, importSession } from "sessile/interop";
import { kimiCode } from "sessile/kimi-code";
import { describe, expect, it } from "vitest";
import { fixture } from "../../support/fixtures.js";
import { encodeUtf8 } from "../../support/plain-values.js";
import {
  chain,
  compacted,
  google,
  noBlobs,
  replied,
  rich,
  said,
  words,
} from "../gemini-cli/written-session.js";

const sessionId = "session_662980e6-8ca4-4d07-8a7a-8e30e22759cc";
const folder = `sessions/wd_work_10cc31434703/${sessionId}`;
const path = `${folder}/agents/main/wire.jsonl`;

type Fields = Readonly<Record<string, unknown>>;

const time = Date.UTC(2026, 10, 28, 20);
const lines = (...records: readonly Fields[]): string =>
  [{ type: "metadata", protocol_version: "1.5", created_at: time }, ...records]
    .map((record, at) => `${JSON.stringify({ time: time + at, ...record })}\n`)
    .join("");
const message = (value: Fields): Fields => ({
  type: "context.append_message",
  message: { toolCalls: [], ...value },
});
const user = (text: string, kind = "user") =>
  message({ role: "user", content: [{ type: "text", text }], origin: { kind } });
const event = (value: Fields): Fields => ({ type: "context.append_loop_event", event: value });
const part = (uuid: string, value: Fields) => event({ type: "content.part", stepUuid: uuid, part: value });
const call = (uuid: string, id: string) =>
  event({ type: "tool.call", stepUuid: uuid, toolCallId: id, name: "Bash", args: { command: "ls" } });
const result = (id: string, value: Fields) => event({ type: "tool.result", toolCallId: id, result: value });
const usage = { inputOther: 60, output: 20, inputCacheRead: 40, inputCacheCreation: 0 };
/** A step of the loop: a request, its parts, and results before its end. */
const step = (uuid: string, ...events: readonly Fields[]): readonly Fields[] => [
  event({ type: "step.begin", uuid }),
  { type: "llm.request", kind: "loop", provider: "kimi", model: "kimi-k2.7-code" },
  ...events,
  event({ type: "step.end", uuid, usage, finishReason: "end_turn" }),
];
const text = (value: string): Fields => ({ type: "text", text: value });

async function read(content: string, ...more: readonly ForeignFile[]) {
  const blobs = memoryBlobStore();
  const files = [{ path, bytes: encodeUtf8(content) }, ...more];
  const imported = await importSession(files, { from: kimiCode, blobs });
  const session = await memorySessionStore({ blobs }).adopt(imported);
  const { items } = await session.context();
  const shown = items.map(({ message: each }) => {
    if (!("content" in each)) return [each.role, "summary" in each ? each.summary : ""];
    const blocks = typeof each.content === "string" ? [{ type: "text", text: each.content }] : each.content;
    return [each.role, blocks.map((block) => ("text" in block ? block.text : block.type)).join("|")];
  });
  return { imported, session, blobs, files, shown, codes: imported.report.findings.map(({ code }) => code) };
}

describe("a session", () => {
  it("has the replies of its steps, with results that came before the end of one", async () => {
    const { imported, shown } = await read(
      lines(
        user("list"),
        ...step(
          "s1",
          part("s1", { type: "think", think: "Hm." }),
          call("s1", "a"),
          result("a", { output: "x.txt" }),
        ),
        ...step("s2", call("s2", "b"), result("b", { output: [text("gone")], isError: true })),
        ...step("s3", part("s3", text("Done."))),
      ),
    );
    expect(shown).toEqual([
      ["user", "list"],
      ["assistant", "thinking|toolCall"],
      ["toolResult", "x.txt"],
      ["assistant", "toolCall"],
      ["toolResult", "gone"],
      ["assistant", "Done."],
    ]);
    const messages = imported.entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
    expect(messages[1]).toMatchObject({
      ...{ provider: "kimi", model: "kimi-k2.7-code", stopReason: "toolUse" },
      usage: { input: 60, output: 20, cacheRead: 40, totalTokens: 120 },
    });
    expect(messages[4]).toMatchObject({ isError: true });
  });

  it("keeps the results of calls whose id comes again after an undo: Kimi numbers calls in the history", async () => {
    const { shown, codes } = await read(
      lines(
        user("first"),
        ...step("s1", call("s1", "Bash:0"), result("Bash:0", { output: "one" })),
        { type: "context.undo", count: 1 },
        user("second"),
        ...step("s2", call("s2", "Bash:0"), result("Bash:0", { output: "two" })),
        result("Bash:0", { output: "again" }),
      ),
    );
    expect(shown).toEqual([
      ["user", "second"],
      ["assistant", "toolCall"],
      ["toolResult", "two"],
    ]);
    expect(codes).toEqual(["duplicateResult"]);
  });

  it("goes back before prompts that an undo removes, and begins anew after a clear", async () => {
    const undone = lines(
      user("first"),
      ...step("s1", part("s1", text("one"))),
      user("second"),
      user("reminded", "injection"),
      ...step("s2", part("s2", text("two"))),
      { type: "context.undo", count: 1 },
      user("third"),
    );
    expect((await read(undone)).shown).toEqual([
      ["user", "first"],
      ["assistant", "one"],
      ["user", "third"],
    ]);
    expect((await read(`${undone}${JSON.stringify({ type: "context.clear", time })}\n`)).shown).toEqual([]);
  });

  it("keeps what the program said out of the user's words", async () => {
    const { imported } = await read(
      lines(user("mine"), user("<system-reminder>x</system-reminder>", "injection")),
    );
    expect(imported.entries.slice(1)).toMatchObject([
      { type: "message" },
      { type: "custom_message", customType: "kimi-code.injection", display: false },
    ]);
  });

  it("has a compaction with the prompts that it keeps", async () => {
    const compaction = {
      type: "context.apply_compaction",
      summary: "what was",
      compactedCount: 4,
      tokensBefore: 9,
    };
    const { shown } = await read(
      lines(
        user("a"),
        user("b"),
        user("c"),
        { ...compaction, keptUserMessageCount: 2, keptHeadUserMessageCount: 1 },
        user("d"),
      ),
    );
    expect(shown.map(([, words]) => words).sort()).toEqual(["a", "c", "d", "what was"]);
  });

  it("has the directory, the title and the subagents beside it, and names results without a call", async () => {
    const state = { id: sessionId, cwd: "/srv/work", title: "Work", isCustomTitle: false, createdAt: time };
    const { imported, codes } = await read(
      lines(user("go"), result("a", { output: "x" })),
      { path: `${folder}/state.json`, bytes: encodeUtf8(JSON.stringify(state)) },
      { path: `${folder}/agents/agent-0/wire.jsonl`, bytes: encodeUtf8(lines(user("look"))) },
    );
    expect(imported.header).toMatchObject({ id: sessionId, cwd: "/srv/work" });
    expect(imported.entries.find(({ type }) => type === "session_info")).toMatchObject({ title: "Work" });
    expect(imported.children.map(({ header }) => [header.parentSession, header.cwd])).toEqual([
      [sessionId, "/srv/work"],
    ]);
    expect(codes).toEqual(["orphanResult"]);
  });
});

describe("an export", () => {
  it.each([
    ["a session of several makers", rich],
    ["a compaction", compacted],
  ])("of %s comes back with its ids", async (_, session) => {
    const { files, resume } = await exportSession(session, { to: kimiCode, blobs: noBlobs as never });
    expect(resume).toEqual(["kimi", "-r", `session_${session.header?.id}`]);
    const { entries } = await importSession(files, { from: kimiCode, keep: "none" });
    const kept = entries.flatMap((entry) => (entry.type === "compaction" ? [entry.retain] : []));
    expect(kept).toEqual(session === compacted ? [["e1", "e5", "e6"]] : []);
    const ids = entries.map(({ id }) => id);
    const wanted = session.entries.filter(({ type }) => type !== "session_info").map(({ id }) => id);
    expect(wanted.filter((id) => !ids.includes(id))).toEqual([]);
  });

  it("gives the very bytes back, and appends to them: turns, a result of an open call, an undo", async () => {
    const content = lines(user("go"), ...step("s1", part("s1", text("So.")), call("s1", "a")));
    const { session, blobs, files } = await read(content);
    const back = await exportSession(session, { to: kimiCode, blobs });
    expect([back.report.exact, back.files]).toEqual([true, files]);
    await session.appendMessage(toolResult({ id: "a", name: "Bash" }, "late"));
    await session.appendMessage(userMessage("on"));
    await session.appendMessage(assistantMessage({ provider: "kimi", model: "m1" }, "Done."));
    const on = await exportSession(session, { to: kimiCode, blobs });
    const appended = new TextDecoder().decode(on.files[0]?.bytes);
    expect([on.report.exact, appended.startsWith(content)]).toEqual([true, true]);
    const again = await read(appended);
    expect(again.shown.slice(2)).toEqual([
      ["toolResult", "late"],
      ["user", "on"],
      ["assistant", "Done."],
    ]);
    const late = again.imported.entries.find(
      (entry) => entry.type === "message" && entry.message.role === "toolResult",
    );
    const undone = await exportSession(again.session, {
      to: kimiCode,
      blobs: again.blobs,
      leafId: late?.id ?? null,
    });
    expect(undone.report.exact).toBe(true);
    const bytes = new TextDecoder().decode(undone.files[0]?.bytes);
    expect(JSON.parse(bytes.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
      type: "context.undo",
      count: 1,
    });
    expect((await read(bytes)).shown.at(-1)).toEqual(["toolResult", "late"]);
  });

  it("leaves out reasoning of other providers, and names it", async () => {
    const thinking = { type: "thinking", thinking: "Hm." };
    const codes = async (maker: object) => {
      const session = chain([said("go"), replied([thinking, words("So.")], maker)]);
      return (await exportSession(session, { to: kimiCode })).report.findings.map(({ code }) => code);
    };
    const own = { provider: "kimi", model: "m1", api: "openai-completions" };
    expect([await codes(google), await codes(own)]).toEqual([["id", "reasoning"], ["id"]]);
  });
});

const samples = fixture("agents/others");

it.skipIf(samples.absent !== undefined)(
  `a file that Kimi Code wrote returns byte for byte (${samples.absent ?? "all"})`,
  async () => {
    const bytes = new Uint8Array(
      readFileSync(join(samples.path, "agent-sessions/kimi_assistant_tools.jsonl")),
    );
    const blobs = memoryBlobStore();
    const imported = await importSession([{ path, bytes }], { from: [kimiCode], blobs });
    const roles = imported.entries.flatMap((entry) => (entry.type === "message" ? [entry.message.role] : []));
    const count = (role: string) => roles.filter((each) => each === role).length;
    expect([count("user"), count("assistant"), count("toolResult")]).toEqual([8, 22, 19]);
    const back = await exportSession(imported, { to: kimiCode, blobs });
    expect([back.report.exact, back.files]).toEqual([true, [{ path, bytes }]]);
  },
);
