import { readFileSync } from "node:fs";
import { join } from "node:path";
import { assistantMessage, memoryBlobStore, memorySessionStore, toolResult, userMessage } from "sessile";
import { type ExportableSession, exportSession, type ForeignFile, importSession } from "sessile/interop";
import { qwenCode } from "sessile/qwen-code";
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

const sessionId = "c6955701-3392-4173-9ad3-03be6166331c";
const path = `projects/-srv-work/chats/${sessionId}.jsonl`;

type Fields = Readonly<Record<string, unknown>>;

/** Records of 0.24.4, each the child of the one before unless it says otherwise. */
function lines(...records: readonly Fields[]): string {
  return records
    .map((record, at) => {
      const base = {
        uuid: `r${at}`,
        parentUuid: at === 0 ? null : `r${at - 1}`,
        sessionId,
        timestamp: new Date(Date.UTC(2026, 10, 22, 9, 0, at)).toISOString(),
        cwd: "/srv/work",
        version: "0.24.4",
      };
      return `${JSON.stringify({ ...base, ...record })}\n`;
    })
    .join("");
}

const user = (text: string, more: Fields = {}) => ({
  type: "user",
  message: { role: "user", parts: [{ text }] },
  ...more,
});
const model = (...parts: readonly object[]) => ({
  type: "assistant",
  model: "m1",
  message: { role: "model", parts },
});
const call = (id: string) => ({ functionCall: { id, name: "look", args: { path: id } } });
const result = (id: string, response: object, more: Fields = {}) => ({
  type: "tool_result",
  message: { role: "user", parts: [{ functionResponse: { id, name: "look", response } }] },
  ...more,
});
const system = (subtype: string, systemPayload: object = {}) => ({ type: "system", subtype, systemPayload });

async function read(text: string, ...more: readonly ForeignFile[]) {
  const blobs = memoryBlobStore();
  const files = [{ path, bytes: encodeUtf8(text) }, ...more];
  const imported = await importSession(files, { from: qwenCode, blobs });
  const session = await memorySessionStore({ blobs }).adopt(imported);
  const { items } = await session.context();
  const shown = items.map(({ message }) => [
    message.role,
    "content" in message && typeof message.content !== "string"
      ? message.content.map((block) => ("text" in block ? block.text : block.type)).join("|")
      : "content" in message
        ? message.content
        : "summary" in message
          ? message.summary
          : "",
  ]);
  return { imported, session, blobs, files, shown, codes: imported.report.findings.map(({ code }) => code) };
}

describe("a chat", () => {
  it("is read with its replies, results, usage and failures", async () => {
    const usageMetadata = {
      promptTokenCount: 100,
      candidatesTokenCount: 20,
      thoughtsTokenCount: 6,
      totalTokenCount: 120,
      cachedContentTokenCount: 40,
    };
    const { imported, shown } = await read(
      lines(
        user("Look."),
        { ...model({ text: "Hm.", thought: true }, { text: "So." }, call("a"), call("b")), usageMetadata },
        result("a", { output: "seen" }, { toolCallResult: { status: "success", resultDisplay: "Seen." } }),
        result("b", { error: "gone" }),
        model({ text: "Done." }),
      ),
    );
    expect(imported.header).toMatchObject({ id: sessionId, cwd: "/srv/work" });
    expect(shown).toEqual([
      ["user", "Look."],
      ["assistant", "thinking|So.|toolCall|toolCall"],
      ["toolResult", "seen"],
      ["toolResult", "gone"],
      ["assistant", "Done."],
    ]);
    const messages = imported.entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
    expect(messages[1]).toMatchObject({
      provider: "qwen",
      model: "m1",
      stopReason: "toolUse",
      usage: { input: 60, output: 20, cacheRead: 40, totalTokens: 120 },
    });
    expect(messages.slice(2, 4)).toMatchObject([
      { isError: false, details: { resultDisplay: "Seen." } },
      { isError: true },
    ]);
  });

  it("is a tree: a rewind leaves a branch, and the last record is the leaf", async () => {
    const text = lines(
      user("first"),
      model({ text: "left" }),
      { ...system("rewind"), parentUuid: "r0" },
      user("second", { subtype: "mid_turn_user_message" }),
      model({ text: "kept" }),
      system("session_artifact_snapshot"),
    );
    expect((await read(text)).shown).toEqual([
      ["user", "first"],
      ["user", "second"],
      ["assistant", "kept"],
    ]);
    const back = lines(user("first"), model({ text: "left" }), { ...system("rewind"), parentUuid: "r0" });
    expect((await read(back)).shown).toEqual([["user", "first"]]);
  });

  it("joins the lines of one record, and goes on over a gap", async () => {
    const { shown, codes } = await read(
      lines(
        user("go"),
        { ...model({ text: "one" }), uuid: "x" },
        { ...model({ text: "two" }), uuid: "x", parentUuid: "r0" },
        user("on", { parentUuid: "lost" }),
      ),
    );
    expect(shown).toEqual([
      ["user", "go"],
      ["assistant", "one|two"],
      ["user", "on"],
    ]);
    expect(codes).toEqual(["missingParent"]);
  });

  it("keeps the results of two calls with one id", async () => {
    const { codes, shown } = await read(
      lines(
        user("go"),
        model(call("Bash:0")),
        result("Bash:0", { output: "1" }),
        model(call("Bash:0")),
        result("Bash:0", { output: "2" }),
      ),
    );
    expect(codes).toEqual([]);
    expect(shown.map(([role]) => role)).toEqual([
      "user",
      ...["assistant", "toolResult", "assistant", "toolResult"],
    ]);
  });

  it("names results without a call, and second results", async () => {
    const { codes, shown } = await read(
      lines(
        user("go"),
        model(call("a")),
        result("a", { output: "1" }),
        result("a", { output: "2" }),
        result("z", { output: "3" }),
      ),
    );
    expect(codes).toEqual(["duplicateResult", "orphanResult"]);
    expect(shown.slice(2)).toEqual([["toolResult", "1"]]);
  });

  it("keeps the texts of the program out of the user's", async () => {
    const hook = "<qwen:user-prompt-submit-context>\nfrom a hook\n</qwen:user-prompt-submit-context>";
    const { imported } = await read(
      lines(
        { ...user("mine"), message: { role: "user", parts: [{ text: "mine" }, { text: hook }] } },
        user("<task-notification>done</task-notification>", {
          subtype: "notification",
          provenance: "system",
        }),
        user("<system-reminder>x</system-reminder>"),
      ),
    );
    const kinds = imported.entries
      .slice(1)
      .map((entry) => ("customType" in entry ? entry.customType : entry.type));
    expect(kinds).toEqual([
      "message",
      "qwen-code.hook_context",
      "qwen-code.notification",
      "qwen-code.context",
    ]);
  });

  it("has a compaction with what it keeps, and what the program restored after it", async () => {
    const kept = model({ text: "kept" }, call("a"));
    const { shown, imported } = await read(
      lines(
        user("old"),
        kept,
        result("a", { output: "seen" }),
        system("chat_compression", {
          info: { originalTokenCount: 900 },
          compressedHistory: [
            { role: "user", parts: [{ text: "what was" }] },
            { role: "model", parts: [{ text: "Got it. Thanks for the additional context!" }] },
            kept.message,
            result("a", { output: "seen" }).message,
            { role: "user", parts: [{ text: "a file again" }] },
          ],
        }),
        user("new"),
      ),
    );
    const compaction = imported.entries.find(({ type }) => type === "compaction");
    expect(compaction).toMatchObject({ summary: "what was", tokensBefore: 900 });
    expect(shown.map(([role, text]) => (role === "compactionSummary" ? role : text))).toEqual([
      "compactionSummary",
      "kept|toolCall",
      "seen",
      "a file again",
      "new",
    ]);
  });

  it("has its titles once, and the session that started it", async () => {
    const { imported } = await read(
      lines(
        system("parent_session", { parentSessionId: "0a1b2c3d-0000-4000-8000-000000000001" }),
        user("go"),
        system("custom_title", { customTitle: "Work", titleSource: "auto" }),
        system("custom_title", { customTitle: "Work", titleSource: "auto" }),
        system("custom_title", { customTitle: "Mine" }),
      ),
    );
    expect(imported.header.parentSession).toBe("0a1b2c3d-0000-4000-8000-000000000001");
    const infos = imported.entries.filter(({ type }) => type === "session_info");
    expect(infos).toMatchObject([{ title: "Work" }, { name: "Mine" }]);
  });
});

describe("an export", () => {
  it("gives the very bytes back, subagents included", async () => {
    const folder = `projects/-srv-work/subagents/${sessionId}/agent-explore-1`;
    const child = lines(user("look around", { isSidechain: true }), model({ text: "found" }));
    const { imported, blobs, files } = await read(
      lines(user("go"), model(call("a")), result("a", { output: "found" })),
      { path: `${folder}.jsonl`, bytes: encodeUtf8(child) },
      {
        path: `${folder}.meta.json`,
        bytes: encodeUtf8(JSON.stringify({ agentId: "explore-1", toolUseId: "a" })),
      },
    );
    const [subagent] = imported.children;
    expect(subagent?.header.parentSession).toBe(sessionId);
    expect(
      imported.entries.find(
        ({ type, ...entry }) => type === "custom" && "parentId" in entry && entry.parentId !== null,
      ),
    ).toMatchObject({
      customType: "sessile.subagent",
      data: { toolCallId: "a", sessionId: subagent?.header.id },
    });
    const back = await exportSession(imported, { to: qwenCode, blobs, children: imported.children });
    expect(back).toMatchObject({ files, resume: ["qwen", "--resume", sessionId] });
    expect(back.report.exact).toBe(true);
    const anew = await exportSession(imported, { to: qwenCode, children: imported.children });
    const again = await importSession(anew.files, { from: qwenCode });
    expect(again.children).toHaveLength(1);
    const ids = ({ entries }: ExportableSession) =>
      entries.flatMap(({ type, id }) => (type === "message" ? [id] : []));
    expect(ids(again)).toEqual(ids(imported));
  });

  it.each([
    ["a session of several makers", rich],
    ["a compaction", compacted],
  ])("of %s comes back with its ids", async (_, session) => {
    const { files } = await exportSession(session, { to: qwenCode, blobs: noBlobs as never });
    const { entries } = await importSession(files, { from: qwenCode, keep: "none" });
    const ids = entries.map(({ id }) => id);
    const wanted = session.entries.map(({ id }) => id);
    expect(wanted.filter((id) => !ids.includes(id))).toEqual([]);
    const compaction = (each: Pick<ExportableSession, "entries">) =>
      each.entries.flatMap((entry) => (entry.type === "compaction" ? [entry.summary] : []));
    expect(compaction({ entries })).toEqual(compaction(session));
  });

  it("appends to the bytes of the agent: turns, a result of an open call, another branch", async () => {
    const text = lines(user("go"), model({ text: "So." }, call("a")));
    const { imported, session, blobs } = await read(text);
    await session.appendMessage(toolResult({ id: "a", name: "look" }, "late"));
    await session.appendMessage(assistantMessage({ provider: "qwen", model: "m1" }, "Done."));
    const on = await exportSession(session, { to: qwenCode, blobs });
    expect(on.report.exact).toBe(true);
    const [file] = on.files as [{ path: string; bytes: Uint8Array }];
    const added = new TextDecoder().decode(file.bytes.subarray(text.length));
    const records = added
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(records.map(({ type, parentUuid }) => [type, parentUuid])).toEqual([
      ["tool_result", "r1"],
      ["assistant", records[0].uuid],
    ]);
    expect((await read(new TextDecoder().decode(file.bytes))).shown.slice(2)).toEqual([
      ["toolResult", "late"],
      ["assistant", "Done."],
    ]);
    const first = imported.entries.find(({ type }) => type === "message")?.id ?? null;
    const branch = await exportSession(session, { to: qwenCode, blobs, leafId: first });
    expect(branch.report.exact).toBe(true);
    expect((await read(new TextDecoder().decode(branch.files[0]?.bytes))).shown).toEqual([["user", "go"]]);
    await session.branch(first);
    await session.appendMessage(userMessage("other"));
    const other = await exportSession(session, { to: qwenCode, blobs });
    expect(other.report.exact).toBe(true);
    expect((await read(new TextDecoder().decode(other.files[0]?.bytes))).shown).toEqual([
      ["user", "go"],
      ["user", "other"],
    ]);
  });

  it("leaves out reasoning of other providers, and names it", async () => {
    const thinking = { type: "thinking", thinking: "Hm." };
    const own = { provider: "qwen", model: "m1", api: "openai-completions" };
    const codes = async (maker: object) =>
      (
        await exportSession(chain([said("go"), replied([thinking, words("So.")], maker)]), { to: qwenCode })
      ).report.findings.map(({ code }) => code);
    expect([await codes(google), await codes(own)]).toEqual([["reasoning"], []]);
  });
});

const samples = fixture("agents/others");

it.skipIf(samples.absent !== undefined)(
  `files that Qwen Code wrote return byte for byte (${samples.absent ?? "all"})`,
  async () => {
    for (const [name, messages] of [
      [`qwen-0.24.4/${sessionId}.jsonl`, 5],
      ["agent-sessions/qwen_019f0000-0000-7000-8000-000000000004.jsonl", 4],
    ] as const) {
      const bytes = new Uint8Array(readFileSync(join(samples.path, name)));
      const blobs = memoryBlobStore();
      const imported = await importSession([{ path, bytes }], { from: [qwenCode], blobs });
      expect(imported.entries.filter(({ type }) => type === "message")).toHaveLength(messages);
      const back = await exportSession(imported, { to: qwenCode, blobs });
      expect([back.report.exact, back.files]).toEqual([true, [{ path, bytes }]]);
    }
  },
);
