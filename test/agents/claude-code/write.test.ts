import fc from "fast-check";
import {
  assistantMessage,
  describeResource,
  type Message,
  memoryBlobStore,
  memorySessionStore,
  parseSession,
  type SessionEntry,
  toolResult,
  userMessage,
} from "sessile";
import { claudeCode } from "sessile/claude-code";
import { type ExportOptions, exportSession, type ImportedSession, importSession } from "sessile/interop";
import { describe, expect, it } from "vitest";
import { type WriteStep, writeSteps } from "../../../src/agents/shared/write-steps.js";
import { conversation } from "../../arbitraries/conversations.js";
import { sessionOf } from "../../arbitraries/entries.js";
import { rounds } from "../../support/rounds.js";
import { all, shownSteps, sourceEntries } from "../support/written-steps.js";
import {
  bytesOf,
  call,
  type Fields,
  line,
  read,
  reply,
  result,
  sessionId,
  shown,
  text,
  user,
} from "./transcript.js";

const decode = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);
const linesOf = (bytes: Uint8Array | undefined): readonly Fields[] =>
  decode(bytes)
    .split("\n")
    .filter((each) => each !== "")
    .map((each) => JSON.parse(each));

/** A session with these messages. */
async function sessionWith(messages: readonly Message[]) {
  const blobs = memoryBlobStore();
  const sessions = memorySessionStore({ blobs });
  const session = await sessions.create({ cwd: "/work dir" });
  for (const message of messages) await session.appendMessage(message);
  return { blobs, session };
}

async function written(messages: readonly Message[], options: Partial<ExportOptions> = {}) {
  const { blobs, session } = await sessionWith(messages);
  const out = await exportSession(session, { to: claudeCode, blobs, ...options });
  const again = await importSession(out.files, { from: claudeCode });
  return { ...out, lines: linesOf(out.files[0]?.bytes), again, session };
}

const claude = { provider: "anthropic", model: "claude-opus-5-5", api: "anthropic-messages" };
const bash = (id: string) => ({ type: "toolCall", id, name: "bash", arguments: { command: "ls" } }) as const;

describe("a session written anew", () => {
  it("is one chain of lines with uuids, in the folder of its project", async () => {
    const { files, lines, resume, report, session } = await written([
      userMessage("hello"),
      assistantMessage(claude, "hi"),
      userMessage("more"),
    ]);
    const id = lines[0]?.sessionId as string;
    expect(session.id).toBe(id);
    expect(files.map(({ path }) => path)).toEqual([`projects/-work-dir/${id}.jsonl`]);
    expect(resume).toEqual(["claude", "--resume", id]);
    expect(report.findings).toEqual([]);
    const uuids = lines.map(({ uuid }) => uuid);
    expect(new Set(uuids).size).toBe(3);
    expect(lines.map(({ parentUuid }) => parentUuid)).toEqual([null, ...uuids.slice(0, -1)]);
    expect(lines[1]).toMatchObject({
      type: "assistant",
      isSidechain: false,
      cwd: "/work dir",
      message: { role: "assistant", content: [{ type: "text", text: "hi" }], stop_reason: "end_turn" },
      requestId: expect.any(String),
    });
  });

  it("has all results of a reply in one line, also those that came later, and closes open calls", async () => {
    const image = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
      "base64",
    );
    const picture = { type: "image", mimeType: "image/png", data: image.toString("base64") } as const;
    const { again, lines, report } = await written([
      userMessage("hello"),
      assistantMessage(claude, bash("c1"), bash("c2"), bash("c3")),
      { ...toolResult(bash("c2"), "two"), content: [{ type: "text", text: "two" }, picture] },
      userMessage("hurry"),
      { ...toolResult(bash("c1"), "one"), isError: true },
      assistantMessage(claude, "done"),
    ]);
    const results = lines.filter((each) => JSON.stringify(each).includes("tool_result"));
    expect(results).toHaveLength(1);
    expect((results[0] as { message: Fields }).message.content).toMatchObject([
      { tool_use_id: "c1", content: "one", is_error: true },
      { tool_use_id: "c2", content: [{ text: "two" }, { type: "image", source: { data: picture.data } }] },
      { tool_use_id: "c3", is_error: true },
    ]);
    expect(report.findings.map(({ code }) => code)).toEqual(["interrupted"]);
    expect(shown(again).map((each) => each.split(":")[0])).toEqual([
      "user",
      "assistant",
      "toolResult",
      "toolResult",
      "toolResult",
      "user",
      "assistant",
    ]);
  });

  it("leaves out unsigned reasoning, and that of another maker, whose models the caller names", async () => {
    const signed = { type: "thinking", thinking: "a", thinkingSignature: "sig" } as const;
    const unsigned = { type: "thinking", thinking: "b" } as const;
    const modelFor = () => "claude-sonnet-5";
    const { lines, report } = await written(
      [
        userMessage("hello"),
        assistantMessage(
          claude,
          signed,
          unsigned,
          { type: "opaque", data: { type: "server_tool_use", id: "s" } },
          "one",
        ),
        assistantMessage(
          { provider: "openai", model: "gpt-5" },
          signed,
          { type: "opaque", data: { type: "x" } },
          "two",
        ),
        { ...assistantMessage(claude, signed, "three"), stopReason: "aborted" },
      ],
      { modelFor },
    );
    const replies = lines.filter(({ type }) => type === "assistant").map(({ message }) => message as Fields);
    expect(replies.map(({ content }) => (content as readonly Fields[]).map(({ type }) => type))).toEqual([
      ["thinking", "server_tool_use", "text"],
      ["text"],
      ["text"],
    ]);
    expect(replies.map(({ model }) => model)).toEqual([
      "claude-opus-5-5",
      "claude-sonnet-5",
      "claude-opus-5-5",
    ]);
    expect(new Set(replies.map(({ id }) => id)).size).toBe(3);
    const codes = report.findings.map(({ code }) => code).sort();
    expect(codes).toEqual(["opaque", "reasoning", "reasoning", "reasoning"]);
  });

  it("tells a reply that the provider declined from one that failed", async () => {
    const failed = { ...assistantMessage(claude, "no"), stopReason: "error", errorMessage: "reset" } as const;
    const { lines } = await written([
      userMessage("a"),
      failed,
      userMessage("b"),
      { ...failed, refused: true },
    ]);
    const ends = lines
      .filter(({ type }) => type === "assistant")
      .map(({ message }) => (message as Fields).stop_reason);
    expect(ends).toEqual([null, "refusal"]);
  });

  it("has every member that the agent and the API read, at times that grow", async () => {
    const at = (time: number) => ({ timestamp: new Date(time).toISOString() });
    const maker = {
      role: "assistant",
      provider: "anthropic",
      model: "m",
      api: "anthropic-messages",
    } as const;
    const said = { type: "text", citations: [{ url: "u" }] };
    const message = (id: string, parentId: string | null, timestamp: number, fields: Fields) => ({
      ...{ type: "message", id, parentId, ...at(timestamp) },
      message: { ...fields, timestamp },
    });
    const image = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" };
    const answer = { role: "toolResult", toolName: "Bash" };
    const entries = [
      message("e1", null, 1000, {
        role: "user",
        content: [text(" "), image, { type: "image", data: "JVBERi0x", mimeType: "application/pdf" }],
      }),
      message("e2", "e1", 2000, {
        ...maker,
        stopReason: "toolUse",
        usage: { input: 1, cacheWrite: 2, cacheRead: 3, output: 4 },
        content: [
          { type: "thinking", thinking: "hm", thinkingSignature: "s1" },
          { type: "thinking", thinking: "", thinkingSignature: "s2", redacted: true },
          { type: "thinking", thinking: " " },
          text(" "),
          { ...text("so"), providerFields: said },
          { type: "toolCall", id: "c1", name: "Bash", arguments: [1], providerFields: { caller: "x" } },
          { type: "toolCall", id: "c2", name: "Bash", arguments: null },
        ],
      }),
      message("e3", "e2", 4000, { ...answer, toolCallId: "c1", isError: true, content: [text("no"), image] }),
      message("e4", "e3", 3000, { ...answer, toolCallId: "c2", isError: false, content: [] }),
      message("e5", "e4", 5000, {
        ...{ ...maker, provider: "openai", model: "gpt", stopReason: "length" },
        content: [{ ...text("cut"), providerFields: said }],
      }),
      message("e6", "e5", 5000, { ...maker, stopReason: "error", refused: true, content: [text("no")] }),
      message("e7", "e6", 5000, { ...maker, stopReason: "aborted", content: [text("st")] }),
      {
        ...{ type: "compaction", id: "e8", parentId: "e7", ...at(6000) },
        ...{ summary: " ", firstKeptEntryId: "e8", tokensBefore: 9 },
      },
    ];
    const header = { type: "session", version: 3, id: sessionId, cwd: "/work", ...at(500) };
    const { files, report } = await exportSession({ header, entries, leafId: "e8" } as never, {
      to: claudeCode,
    });
    const lines = linesOf(files[0]?.bytes);
    const always = { userType: "external", cwd: "/work", sessionId, version: "2.1.330", gitBranch: "" };
    for (const each of lines) expect(each).toMatchObject({ ...always, isSidechain: false });
    const media = (type: string, media_type: string, data: string) => ({
      type,
      source: { type: "base64", media_type, data },
    });
    const written = (
      content: readonly unknown[],
      model: string,
      stop_reason: string | null,
      tokens: number[],
    ) => {
      const [input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens] = tokens;
      const usage = { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens };
      const id = expect.stringMatching(/^msg_[0-9a-f]{24}$/);
      const of = { role: "assistant", model, content, stop_reason, stop_sequence: null, usage };
      return { id, type: "message", ...of };
    };
    const none = [0, 0, 0, 0];
    expect(lines.map(({ message }) => message)).toEqual([
      {
        role: "user",
        content: [
          media("image", "image/png", "iVBORw0KGgo="),
          media("document", "application/pdf", "JVBERi0x"),
        ],
      },
      written(
        [
          { type: "thinking", thinking: "hm", signature: "s1" },
          { type: "redacted_thinking", data: "s2" },
          { type: "text", text: "so", citations: [{ url: "u" }] },
          { type: "tool_use", id: "c1", name: "Bash", input: { value: [1] }, caller: "x" },
          { type: "tool_use", id: "c2", name: "Bash", input: {} },
        ],
        "m",
        "tool_use",
        [1, 2, 3, 4],
      ),
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "c1", content: "no", is_error: true },
          { type: "tool_result", tool_use_id: "c2", content: "" },
          media("image", "image/png", "iVBORw0KGgo="),
        ],
      },
      written([text("cut")], "gpt", "max_tokens", none),
      written([text("no")], "m", "refusal", none),
      written([text("st")], "m", null, none),
      undefined,
      { role: "user", content: "[The conversation before this is left out.]" },
    ]);
    expect(lines.at(-2)).toMatchObject({
      ...{ type: "system", subtype: "compact_boundary", content: "Conversation compacted" },
      ...{ isMeta: false, level: "info", parentUuid: null, logicalParentUuid: lines.at(-3)?.uuid },
      compactMetadata: { trigger: "manual", preTokens: 9 },
    });
    expect(lines.at(-1)).toMatchObject({ isVisibleInTranscriptOnly: true, isCompactSummary: true });
    const times = lines.map(({ timestamp }) => Date.parse(timestamp as string));
    expect(times).toEqual([1000, 2000, 3000, 5000, 5001, 5002, 6000, 6001]);
    expect(report.findings).toEqual([
      { code: "entry", entryId: "e2", text: "the arguments of c1 are no object: they are its member value" },
    ]);
  });

  it("has a boundary, the summary, and what a compaction keeps again, with uuids of its own", async () => {
    const { session, blobs } = await sessionWith([
      userMessage("one"),
      assistantMessage(claude, "two"),
      userMessage("three"),
    ]);
    const ids = (await session.tree()).path(session.leafId).map(({ id }) => id);
    await session.append([
      {
        type: "compaction",
        summary: "SUM",
        firstKeptEntryId: ids[1] as string,
        tokensBefore: 9,
        retain: [ids[2] as string],
      },
    ]);
    await session.appendMessage(userMessage("four"));
    const { files } = await exportSession(session, { to: claudeCode, blobs });
    const lines = linesOf(files[0]?.bytes);
    expect(new Set(lines.map(({ uuid }) => uuid)).size).toBe(lines.length);
    const messageIds = lines.flatMap(({ message }) => (message as Fields | undefined)?.id ?? []);
    expect(new Set(messageIds).size).toBe(2);
    const boundary = lines.findIndex(({ subtype }) => subtype === "compact_boundary");
    expect(lines[boundary]).toMatchObject({ parentUuid: null, logicalParentUuid: lines[boundary - 1]?.uuid });
    expect(lines[boundary + 1]).toMatchObject({ isCompactSummary: true });
    expect(shown(await importSession(files, { from: claudeCode }))).toEqual([
      "summary: SUM",
      "user: three",
      "assistant: two",
      "user: four",
    ]);
  });

  it("has times that grow, since old versions resume at the latest", async () => {
    const { blobs, session } = await sessionWith([userMessage("one"), assistantMessage(claude, "two")]);
    const entries = [...(await session.path())].map((entry, index) => ({
      ...entry,
      timestamp: new Date(5000 - 1000 * index).toISOString(),
    }));
    const { files, report } = await exportSession(
      { header: session.header, entries, leafId: session.leafId } as never,
      { to: claudeCode, blobs },
    );
    const times = linesOf(files[0]?.bytes).map(({ timestamp }) => Date.parse(timestamp as string));
    expect(times).toEqual([5000, 5001]);
    expect(report.findings.map(({ code }) => code)).toEqual(["retimed"]);
  });

  it("has notes as lines that are not shown, titles, and no home for a change of model", async () => {
    const { session, blobs } = await sessionWith([userMessage("hello")]);
    await session.append([
      { type: "custom_message", customType: "acme", content: "a note", display: false },
      { type: "custom_message", customType: "acme", content: "shown", display: true },
      { type: "session_info", name: "mine", title: "yours" },
      { type: "model_change", provider: "anthropic", modelId: "m" },
    ]);
    const { files, report } = await exportSession(session, { to: claudeCode, blobs });
    expect(linesOf(files[0]?.bytes).slice(1)).toMatchObject([
      { isMeta: true, message: { content: "a note" } },
      { message: { content: "shown" } },
      { type: "custom-title", customTitle: "mine" },
      { type: "ai-title", aiTitle: "yours" },
    ]);
    expect(report.findings.map(({ code, text }) => `${code} ${text}`)).toContain("entry a model_change");
    const again = await importSession(files, { from: claudeCode });
    expect(again.entries.findLast(({ type }) => type === "session_info")).toMatchObject({
      name: "mine",
      title: "yours",
    });
  });

  it("has subagents in a folder, each with the call that started it", async () => {
    const side = { isSidechain: true };
    const imported = await read([
      user("u1", null, "hello"),
      reply("a1", "u1", "m1", { type: "tool_use", id: "c1", name: "Task", input: { prompt: "say hi" } }),
      user("s1", null, "say hi", side),
      { ...reply("s2", "s1", "m9", text("hi")), ...side },
      user("r1", "a1", [result("c1", "hi")]),
    ]);
    const { children } = imported;
    const { files } = await exportSession(
      { ...imported, entries: imported.entries.slice(1) },
      { to: claudeCode, children },
    );
    expect(files.map(({ path }) => path)).toEqual([
      `projects/-work/${sessionId}.jsonl`,
      expect.stringMatching(/^projects\/-work\/0a1b.*\/subagents\/agent-s1\.jsonl$/),
      expect.stringMatching(/agent-s1\.meta\.json$/),
    ]);
    expect(JSON.parse(decode(files[2]?.bytes))).toMatchObject({ toolUseId: "c1" });
    const again = await importSession(files, { from: claudeCode });
    expect(again.children.map(shown)).toEqual([["user: say hi", "assistant: hi"]]);
    expect(
      again.entries.some((entry) => entry.type === "custom" && entry.customType === "sessile.subagent"),
    ).toBe(true);
  });
});

describe("a session that goes back", () => {
  const lines = [
    user("u1", null, "hello"),
    reply("a1", "u1", "m1", call("c1")),
    reply("a2", "a1", "m1", call("c2")),
    user("r2", "a2", [result("c2")]),
    user("r1", "a1", [result("c1")]),
    reply("a3", "r2", "m2", text("done")),
    line("system", "s1", "a3", { subtype: "turn_duration" }),
    user("u2", "s1", "more"),
    reply("a4", "u2", "m3", text("all")),
  ];
  async function adopted(from: readonly Fields[] = lines) {
    const blobs = memoryBlobStore();
    const sessions = memorySessionStore({ blobs });
    const imported = await read(from, { blobs });
    const session = await sessions.adopt(imported);
    const find = (part: string) =>
      imported.entries.find((entry) => JSON.stringify(entry).includes(part))?.id as string;
    return { blobs, session, imported, find };
  }
  async function exported({ session, blobs }: Awaited<ReturnType<typeof adopted>>) {
    const out = await exportSession(session, { to: claudeCode, blobs });
    const again = await importSession(out.files, { from: claudeCode });
    return { ...out, again, added: linesOf(out.files[0]?.bytes).slice(lines.length) };
  }

  it("is the very bytes if nothing changed", async () => {
    const got = await exported(await adopted());
    expect(got.report).toMatchObject({ exact: true, findings: [] });
    expect(got.files[0]?.bytes).toEqual(bytesOf(lines));
    expect(got.resume).toEqual(["claude", "--resume", sessionId]);
  });

  it("has lines behind the last one for what was added, with the results of its open calls", async () => {
    const start = await adopted(lines.slice(0, 2));
    await start.session.appendMessage(toolResult(bash("c1"), "one"));
    await start.session.appendMessage(userMessage("now"));
    const got = await exported(start);
    expect(got.report.exact).toBe(true);
    const added = linesOf(got.files[0]?.bytes).slice(2);
    expect(added).toMatchObject([{ parentUuid: "a1" }, { parentUuid: added[0]?.uuid }]);
    expect(shown(got.again)).toEqual(["user: hello", "assistant: c1", "toolResult: one", "user: now"]);
  });

  it("closes a call that stays open", async () => {
    const start = await adopted(lines.slice(0, 3));
    await start.session.appendMessage(toolResult(bash("c1"), "one"));
    const got = await exported(start);
    expect(shown(got.again)).toEqual([
      "user: hello",
      "assistant: c1 | c2",
      "toolResult: one",
      expect.stringContaining("interrupted"),
    ]);
    expect(got.report.findings.map(({ code }) => code)).toEqual(["interrupted"]);
  });

  it("goes on from an earlier line", async () => {
    const start = await adopted();
    await start.session.branch(start.find("done"));
    const back = await exported(start);
    expect(back.report.exact).toBe(true);
    expect(back.added).toMatchObject([{ type: "system", parentUuid: "a3" }]);
    expect(shown(back.again)).toEqual([
      "user: hello",
      "assistant: c1 | c2",
      "toolResult: out c2",
      "toolResult: out c1",
      "assistant: done",
    ]);
    await start.session.appendMessage(userMessage("else"));
    const on = await exported(start);
    expect(on.added).toMatchObject([{ type: "user", parentUuid: "a3" }]);
    expect(shown(on.again).at(-1)).toBe("user: else");
    expect(shown(on.again)).toHaveLength(6);
  });

  it("goes on behind the result of a subagent", async () => {
    const task = { type: "tool_use", id: "c1", name: "Task", input: { prompt: "say hi" } };
    const start = await adopted([
      user("u1", null, "hello"),
      reply("a1", "u1", "m1", task),
      user("s1", null, "say hi", { isSidechain: true }),
      user("r1", "a1", [result("c1", "hi")]),
    ]);
    expect(start.imported.entries.at(-1)).toMatchObject({ customType: "sessile.subagent" });
    await start.session.appendMessage(userMessage("now"));
    const { files, report } = await exportSession(start.session, { to: claudeCode, blobs: start.blobs });
    expect(report.exact).toBe(true);
    expect(linesOf(files[0]?.bytes).at(-1)).toMatchObject({ parentUuid: "r1" });
  });

  it("is written anew if one of its calls has the id of another", async () => {
    const start = await adopted([
      user("u1", null, "hello"),
      reply("a1", "u1", "m1", call("c1")),
      user("r1", "a1", [result("c1")]),
      reply("a2", "r1", "m2", call("c1")),
      reply("a3", "a2", "m2", call("c2")),
      user("r2", "a3", [result("c1"), result("c2")]),
    ]);
    await start.session.appendMessage(userMessage("now"));
    const { report } = await exportSession(start.session, { to: claudeCode, blobs: start.blobs });
    expect(report.exact).toBe(false);
    expect(report.findings.map(({ code }) => code)).toContain("callId");
  });

  it("is written anew if its leaf is between two results, or before the first line", async () => {
    const start = await adopted();
    await start.session.branch(start.find("out c2"));
    await start.session.appendMessage(userMessage("else"));
    const got = await exported(start);
    expect(got.report.exact).toBe(false);
    expect(shown(got.again).slice(-3)).toEqual([
      expect.stringContaining("interrupted"),
      "toolResult: out c2",
      "user: else",
    ]);
    const other = await adopted();
    await other.session.branch(null);
    expect((await exported(other)).report.exact).toBe(false);
    await other.session.appendMessage(userMessage("anew"));
    const anew = await exported(other);
    expect(anew.report.exact).toBe(true);
    expect(shown(anew.again)).toEqual(["user: anew"]);
  });

  it("has a compaction behind its lines, and goes on behind one", async () => {
    const start = await adopted();
    const { session } = start;
    await session.append([
      { type: "compaction", summary: "SUM", firstKeptEntryId: start.find("more"), tokensBefore: 5 },
    ]);
    const got = await exported(start);
    expect(got.report.exact).toBe(true);
    expect(shown(got.again)).toEqual(["summary: SUM", "user: more", "assistant: all"]);
    const [first, second] = got.added;
    expect(first).toMatchObject({ subtype: "compact_boundary", parentUuid: null, logicalParentUuid: "a4" });
    expect(second).toMatchObject({ isCompactSummary: true, parentUuid: first?.uuid });
  });

  it("keeps a torn last line apart from the first new one", async () => {
    const blobs = memoryBlobStore();
    const torn = new Uint8Array([...bytesOf(lines.slice(0, 1)), ...new TextEncoder().encode('{"type":"us')]);
    const imported = await importSession([{ path: `${sessionId}.jsonl`, bytes: torn }], {
      from: claudeCode,
      blobs,
    });
    const session = await memorySessionStore({ blobs }).adopt(imported);
    await session.appendMessage(userMessage("now"));
    const { files, report } = await exportSession(session, { to: claudeCode, blobs });
    expect(report.exact).toBe(true);
    expect(shown(await importSession(files, { from: claudeCode }))).toEqual(["user: hello", "user: now"]);
  });
});

/** What a model sees at the end of steps, in one form: without what the report of an export names. */
async function seen(steps: readonly WriteStep[], withState = false): Promise<readonly unknown[]> {
  const { compaction, shown: last } = await shownSteps(steps);
  const summary = compaction === undefined ? [] : [{ summary: summaryOf(compaction) }];
  const ids = new Map<string, string>();
  return [...summary, ...last.flatMap((step) => seenStep(step, ids, withState))];
}

function summaryOf({ summary }: WriteStep & { readonly kind: "compaction" }): string {
  return isBlank(summary) ? "[The conversation before this is left out.]" : summary.toWellFormed();
}

/** The place of a call among those that are seen: calls that a compaction keeps are written twice. */
function placeOf(callId: string, ids: Map<string, string>): string {
  const place = ids.get(callId) ?? `call ${ids.size}`;
  ids.set(callId, place);
  return place;
}

const isBlank = (value: string) => value.trim() === "";

function seenStep(step: WriteStep, ids: Map<string, string>, withState: boolean): readonly unknown[] {
  if (step.kind === "user") {
    const content = seenContent(step.content);
    return content.length === 0 ? [] : [{ user: content }];
  }
  if (step.kind !== "reply") return [];
  const { message, results } = step;
  const blocks = message.content.flatMap((block): readonly unknown[] => {
    if (block.type === "text" && block.text.startsWith("[image, ")) return ["[an image]"];
    if (block.type === "text") return isBlank(block.text) ? [] : [block.text.toWellFormed()];
    if (withState && block.type === "opaque") return [block.data];
    if (withState && block.type === "thinking" && !(isBlank(block.thinking) && !block.thinkingSignature))
      return [block.redacted === true ? "" : block.thinking, block.thinkingSignature];
    if (block.type === "toolCall") return [{ call: placeOf(block.id, ids), name: block.name }];
    // An edit can give a reply an image, which is described.
    if (block.type === "image") return ["[an image]"];
    return [];
  });
  const answers = results.map(({ callId, content, isError }) => ({
    call: placeOf(callId, ids),
    isError,
    content: seenContent(content),
  }));
  return [...(blocks.length === 0 ? [] : [{ reply: blocks }]), ...answers];
}

function seenContent(content: (WriteStep & { readonly kind: "user" })["content"]): readonly unknown[] {
  return content.flatMap((block): readonly unknown[] => {
    if (block.type === "image") return ["[an image]"];
    if (block.resource?.kind === "image" || block.resource?.kind === "file")
      return [describeResource(block.resource)];
    return isBlank(block.text) ? [] : [block.text.toWellFormed()];
  });
}

function stepsAt({
  entries,
  leafId,
}: Pick<ImportedSession, "entries" | "leafId">): Promise<readonly WriteStep[]> {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const path: SessionEntry[] = [];
  for (let at = byId.get(leafId ?? ""); at !== undefined; at = byId.get(at.parentId ?? "")) path.unshift(at);
  return all(writeSteps({ ...sourceEntries(path), find: () => undefined } as never));
}

it("shows a reader of its files the conversation that was written, for any session", async () => {
  await fc.assert(
    fc.asyncProperty(conversation(14), async ({ entries }) => {
      const parsed = parseSession(sessionOf(entries).text);
      const steps: (readonly WriteStep[])[] = [];
      const spy = {
        ...claudeCode,
        write: async (source: Parameters<typeof claudeCode.write>[0]) => {
          steps.push(await all(writeSteps({ ...source, find: () => undefined })));
          return claudeCode.write(source);
        },
      };
      const { files, report } = await exportSession(parsed as never, { to: spy });
      const again = await importSession(files, { from: claudeCode });
      // Without a finding about reasoning and blocks of a provider all of them are there too.
      const isWhole = !report.findings.some(({ code }) => code === "reasoning" || code === "opaque");
      expect(await seen(await stepsAt(again), isWhole)).toEqual(await seen(steps[0] ?? [], isWhole));
    }),
    { numRuns: rounds(100, 3000) },
  );
});
