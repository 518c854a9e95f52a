import { memoryBlobStore } from "sessile";
import { claudeCode } from "sessile/claude-code";
import { importSession } from "sessile/interop";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../support/plain-values.js";
import {
  bytesOf,
  call,
  type Fields,
  itemsOf,
  line,
  mainPath,
  read,
  reply,
  result,
  sessionId,
  shown,
  text,
  user,
} from "./transcript.js";

const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } };
const codes = ({
  report,
}: {
  readonly report: { readonly findings: readonly { readonly code: string }[] };
}) => report.findings.map(({ code }) => code);

describe("a reply", () => {
  it("joins the lines of a reply, with the usage and the end of the last", async () => {
    const end = { message: { stop_reason: "end_turn", usage: { input_tokens: 10, output_tokens: 7 } } };
    const thinking = { type: "thinking", thinking: "hm", signature: "sig" };
    const imported = await read([
      user("u1", null, "hello"),
      reply("a1", "u1", "m1", thinking),
      line("progress", "p1", "a1"),
      reply("a2", "p1", "m1", text("hi"), end),
    ]);
    const [, item] = itemsOf(imported);
    expect(item?.message).toMatchObject({
      role: "assistant",
      provider: "anthropic",
      model: "claude-opus-5-5",
      content: [
        { type: "thinking", thinking: "hm", thinkingSignature: "sig" },
        { type: "text", text: "hi" },
      ],
      usage: { input: 10, output: 7 },
      stopReason: "stop",
    });
    expect(imported.header).toMatchObject({ id: sessionId, cwd: "/work" });
    expect(imported.report.agentVersion).toBe("2.1.330");
    expect(codes(imported)).toEqual(["unmapped"]);
  });

  it("puts results of parallel calls behind the reply, whatever line they hang below", async () => {
    const imported = await read([
      user("u1", null, "hello"),
      reply("a1", "u1", "m1", call("c1")),
      reply("a2", "a1", "m1", call("c2")),
      user("r2", "a2", [result("c2")]),
      user("r1", "a1", [result("c1", [text("x"), image])], {
        toolUseResult: { file: { base64: pixel, type: "image/png" } },
      }),
      reply("a3", "r2", "m2", text("done")),
    ]);
    expect(shown(imported)).toEqual([
      "user: hello",
      "assistant: c1 | c2",
      "toolResult: out c2",
      expect.stringMatching(/^toolResult: x \| \[image, image\/png, 70 B, res_/),
      "assistant: done",
    ]);
    const [, , , last] = itemsOf(imported);
    expect(last?.message).toMatchObject({
      toolName: "Bash",
      details: { file: { type: "image/png" } },
      isError: false,
    });
    expect(JSON.stringify(imported.entries)).not.toContain(pixel);
  });

  it("keeps a message that came between the lines of a reply", async () => {
    const imported = await read([
      user("u1", null, "hello"),
      reply("a1", "u1", "m1", call("c1")),
      user("r1", "a1", [result("c1")]),
      user("n1", "r1", "note", { isMeta: true }),
      reply("a2", "n1", "m1", call("c2")),
      user("r2", "a2", [result("c2")]),
    ]);
    expect(shown(imported)).toEqual([
      "user: hello",
      "assistant: c1 | c2",
      "toolResult: out c1",
      "toolResult: out c2",
      "custom: note",
    ]);
  });

  it("is one by request and place, whatever id a server gives its messages", async () => {
    const asked = (at: number, id: string, parent: string | null, fields: Fields = {}) =>
      reply(`a${at}`, parent, id, call(`c${at}`), fields);
    const requested = (line: Fields, requestId: string | undefined): Fields => ({ ...line, requestId });
    for (const requestOf of [(at: number) => `req_${at}`, () => undefined]) {
      const lines = [user("r0", null, "hello")];
      for (let at = 1; at <= 6; at++) {
        lines.push(requested(asked(at, "m", `r${at - 1}`), requestOf(at)));
        lines.push(user(`r${at}`, `a${at}`, [result(`c${at}`)]));
      }
      const imported = await read(lines);
      const six = [1, 2, 3, 4, 5, 6].flatMap((at) => [`assistant: c${at}`, `toolResult: out c${at}`]);
      expect(shown(imported)).toEqual(["user: hello", ...six]);
      const usages = itemsOf(imported).flatMap(({ message }) =>
        message.role === "assistant" ? [message.usage?.input] : [],
      );
      expect(usages).toEqual(new Array(6).fill(10));
    }
    const answered = (at: number, parent: string) =>
      requested(reply(`a${at}`, parent, "chatcmpl-0", text(`answer ${at}`)), undefined);
    const talk = [
      user("u1", null, "one"),
      answered(1, "u1"),
      user("u2", "a1", "two"),
      line("progress", "p2", "u2"),
      answered(2, "p2"),
    ];
    const shownTalk = ["user: one", "assistant: answer 1", "user: two", "assistant: answer 2"];
    expect(shown(await read(talk))).toEqual(shownTalk);
    // A branch, and a second reply to the same prompt.
    const again = [user("u3", null, "one again"), answered(3, "u3")];
    expect(shown(await read([...talk.slice(0, 2), ...again]))).toEqual([
      "user: one again",
      "assistant: answer 3",
    ]);
    expect(shown(await read([...talk.slice(0, 2), answered(3, "u1")]))).toEqual([
      "user: one",
      "assistant: answer 3",
    ]);
    // A result came while the reply was still streamed: no line has the reason of its end.
    const open = { message: { stop_reason: null } };
    const streamed = [
      user("u1", null, "one"),
      requested(asked(1, "m", "u1", open), undefined),
      user("r1", "a1", [result("c1")]),
      requested(asked(2, "m", "r1"), undefined),
      user("r2", "a2", [result("c2")]),
    ];
    expect(shown(await read(streamed))).toEqual([
      "user: one",
      "assistant: c1 | c2",
      "toolResult: out c1",
      "toolResult: out c2",
    ]);
    const below = streamed.map((each) => (each.uuid === "a2" ? { ...each, parentUuid: "a1" } : each));
    const finished = below.map((each) =>
      each.uuid === "a1" ? requested(asked(1, "m", "u1"), undefined) : each,
    );
    expect(shown(await read(finished))).toEqual(shown(await read(streamed)));
  });

  it("leaves out a result without a call, and the second of two", async () => {
    const imported = await read([
      user("u1", null, "hello"),
      reply("a1", "u1", "m1", call("c1")),
      user("r1", "a1", [result("c1", "first", { is_error: true }), text("beside")]),
      user("r2", "r1", [result("c1", "second")]),
      user("r3", "r2", [result("c9")]),
    ]);
    expect(shown(imported)).toEqual(["user: hello", "assistant: c1", "toolResult: first", "user: beside"]);
    expect(itemsOf(imported)[2]?.message).toMatchObject({ isError: true });
    expect(codes(imported)).toEqual(["duplicateResult", "orphanResult", "unmapped"]);
  });

  it("has no results for what the provider ran itself, and a call once that was written again", async () => {
    const search = { type: "server_tool_use", id: "s1", name: "web_search", input: {} };
    const imported = await read([
      user("u1", null, "hello"),
      reply("a1", "u1", "m1", search),
      reply("a2", "a1", "m1", call("c1")),
      reply("a3", "a2", "m1", call("c1")),
      user("r1", "a3", [result("s1"), result("c1")]),
      line("assistant", "a4", "r1", { message: { id: "m2", role: "assistant", content: "as a text" } }),
    ]);
    expect(shown(imported)).toEqual([
      "user: hello",
      "assistant: opaque | c1",
      "toolResult: out c1",
      "assistant: as a text",
    ]);
    expect(codes(imported)).toEqual(["orphanResult", "guessed"]);
  });

  it("keeps a notice of a failed request out of the context", async () => {
    const notice = reply("a1", "u1", "e1", text("API Error: 500"));
    const imported = await read([
      user("u1", null, "hello"),
      { ...notice, isApiErrorMessage: true },
      user("u2", "a1", "again"),
    ]);
    expect(shown(imported)).toEqual(["user: hello", "user: again"]);
    expect(imported.entries).toContainEqual(
      expect.objectContaining({ customType: "sessile.api_error", data: { text: "API Error: 500" } }),
    );
  });
});

it("infers the end of a reply whose lines have no reason for it", async () => {
  const open = { message: { stop_reason: null } };
  const lines = [
    user("u1", null, "hello"),
    reply("a1", "u1", "m1", text("one"), open),
    user("u2", "a1", "more"),
  ];
  const imported = await read([...lines, reply("a2", "u2", "m2", call("c1"), open)]);
  const ends = itemsOf(imported).map(({ message }) =>
    message.role === "assistant" ? message.stopReason : "",
  );
  expect(ends).toEqual(["", "stop", "", "toolUse"]);
  expect(imported.report.findings).toMatchObject([{ code: "guessed", line: 2 }]);
  expect(imported.report.findings[0]?.text).toMatch(/^2 replies/);
});

describe("the tree", () => {
  it("makes branches of other children, and ends in the last", async () => {
    const imported = await read([
      user("u1", null, "hello"),
      reply("a1", "u1", "m1", text("one")),
      user("u2", "a1", "left"),
      reply("a2", "u2", "m2", text("left too")),
      user("u3", "a1", "right"),
      line("system", "s1", "u3", { subtype: "turn_duration" }),
    ]);
    expect(shown(imported)).toEqual(["user: hello", "assistant: one", "user: right"]);
    const parents = new Map(imported.entries.map(({ id, parentId }) => [id, parentId]));
    const last = imported.entries.find((entry) => JSON.stringify(entry).includes("left too"));
    expect(parents.get(parents.get(last?.id ?? "") ?? "")).toBe(parents.get(imported.leafId ?? ""));
  });

  it("makes one compaction of a boundary and its summary, below what came before, with what it preserves", async () => {
    const compactMetadata = { preTokens: 167, preservedMessages: { anchorUuid: "s1", uuids: ["a1", "r1"] } };
    const lines = [
      user("u1", null, "hello"),
      reply("a1", "u1", "m1", call("c1")),
      user("r1", "a1", [result("c1")]),
      line("system", "b1", null, { subtype: "compact_boundary", logicalParentUuid: "r1", compactMetadata }),
      user("s1", "b1", "what was said", { isCompactSummary: true }),
      user("u2", "s1", "go on"),
    ];
    const imported = await read(lines);
    expect(shown(imported)).toEqual([
      "summary: what was said",
      "assistant: c1",
      "toolResult: out c1",
      "user: go on",
    ]);
    const compaction = imported.entries.find(({ type }) => type === "compaction");
    expect(compaction).toMatchObject({
      tokensBefore: 167,
      firstKeptEntryId: compaction?.id,
      parentId: expect.any(String),
    });
    const ends = { headUuid: "a1", anchorUuid: "s1", tailUuid: "r1" };
    const older = lines.map((each) =>
      each.uuid === "b1" ? { ...each, compactMetadata: { preservedSegment: ends } } : each,
    );
    expect(shown(await read(older))).toEqual(shown(imported));
    // The agent may hang what follows below the last preserved line.
    const below = lines.map((each) => (each.uuid === "u2" ? { ...each, parentUuid: "r1" } : each));
    expect(shown(await read(below))).toEqual(shown(imported));
    const unbound = lines.map((each) =>
      each.uuid === "b1" ? { ...each, compactMetadata: { preservedSegment: { tailUuid: "r1" } } } : each,
    );
    expect(shown(await read(unbound))).toEqual(["summary: what was said", "user: go on"]);
  });

  it("clears the results that a microcompaction names", async () => {
    const microcompactMetadata = { trigger: "auto", compactedToolIds: ["c1", "c9", 7] };
    const imported = await read([
      user("u1", null, "hello"),
      reply("a1", "u1", "m1", call("c1")),
      user("r1", "a1", [result("c1")]),
      line("system", "b1", "r1", { subtype: "microcompact_boundary", microcompactMetadata }),
      user("u2", "b1", "go on"),
    ]);
    expect(shown(imported)[2]).toBe("toolResult: [Old tool result content cleared]");
    expect(shown(imported)[3]).toBe("user: go on");
  });

  it("survives cycles, a missing parent, and lines that are written again", async () => {
    const imported = await read([
      user("u1", "u2", "one"),
      user("u2", "u1", "two"),
      user("u3", "gone", "three"),
      user("u3", "gone", "three again"),
    ]);
    expect(shown(imported)).toEqual(["user: one", "user: two", "user: three again"]);
    expect(codes(imported)).toEqual(expect.arrayContaining(["superseded", "missingParent"]));
    expect(imported.entries.filter(({ type }) => type === "message")).toHaveLength(3);
  });

  it("has parents before their children, whatever the order of the file", async () => {
    const lines = [
      user("u1", null, "hello"),
      reply("a1", "u1", "m1", text("one")),
      user("u2", "a1", "more"),
      reply("a2", "u2", "m2", text("two")),
    ];
    const imported = await read([...lines.toReversed(), user("u3", "a2", "last")]);
    expect(shown(imported)).toEqual([...shown(await read(lines)), "user: last"]);
    const ids = [null, ...imported.entries.map(({ id }) => id)];
    for (const [at, { parentId }] of imported.entries.entries())
      expect(ids.slice(0, at + 1)).toContain(parentId);
  });

  it("takes a summary for that of the nearest boundary above it, unless a message is between, or 64 notes", async () => {
    const compacted = (between: readonly Fields[]) => {
      const boundary = line("system", "b1", null, { subtype: "compact_boundary", logicalParentUuid: "s1" });
      const lines = [user("u1", null, "hello"), boundary, ...between];
      return read([...lines, user("s1", lines.at(-1)?.uuid as string, "SUM", { isCompactSummary: true })]);
    };
    const notes = (count: number) =>
      Array.from({ length: count }, (_, at) => line("system", `n${at}`, at === 0 ? "b1" : `n${at - 1}`));
    expect(shown(await compacted(notes(63)))).toEqual(["summary: SUM"]);
    expect(shown(await compacted(notes(64)))).toEqual(["summary: ", "user: SUM"]);
    const message = user("u2", "b1", "between");
    expect(shown(await compacted([message]))).toEqual(["summary: ", "user: between", "user: SUM"]);
  });
});

describe("what is no message", () => {
  const attachment = (uuid: string, parent: string, type: string, content: string): Fields =>
    line("attachment", uuid, parent, {
      attachment: { type },
      rendered: [{ content }],
      renderedRole: "system",
    });

  it("shows notes of the program as the model saw them, but not its instructions", async () => {
    const lines = [
      user("u1", null, "hello"),
      attachment("t1", "u1", "environment", "in /work"),
      attachment("t2", "t1", "deferred_tools_delta", "tools: a, b"),
      line("attachment", "t3", "t2", { attachment: { type: "prompt_snapshot" } }),
      reply("a1", "t3", "m1", text("one")),
      attachment("t4", "a1", "hook_additional_context", "a hook"),
      user("u2", "t4", "meta", { isMeta: true }),
    ];
    const imported = await read(lines);
    expect(shown(imported)).toEqual([
      "user: hello",
      "custom: in /work",
      "assistant: one",
      "custom: a hook",
      "custom: meta",
    ]);
    const types = itemsOf(imported).map(({ message }) =>
      message.role === "custom" ? message.customType : "",
    );
    expect(types.filter((type) => type !== "")).toEqual([
      "sessile.initial_context",
      "sessile.attachment",
      "sessile.meta_message",
    ]);
    expect(imported.entries).toContainEqual(
      expect.objectContaining({
        customType: "sessile.instructions",
        data: { type: "deferred_tools_delta", text: "tools: a, b" },
      }),
    );
    expect(shown(await read(lines, { instructions: true }))[2]).toBe("custom: tools: a, b");
  });

  it("shows a message that was sent during a turn, once", async () => {
    const queued = (uuid: string, parent: string, more: Fields) =>
      line("attachment", uuid, parent, { attachment: { type: "queued_command", prompt: "wait", ...more } });
    const imported = await read([
      user("u1", null, "hello"),
      queued("q0", "u1", { source_uuid: "u1" }),
      queued("q1", "q0", {}),
      reply("a1", "q1", "m1", text("one")),
      queued("q2", "a1", {}),
      line("system", "s1", "q2"),
      user("u2", "s1", "wait"),
    ]);
    expect(shown(imported)).toEqual(["user: hello", "user: wait", "assistant: one", "user: wait"]);
    const queuedData = imported.entries.flatMap((entry) =>
      entry.type === "custom" && entry.customType === "sessile.queued" ? [entry.data] : [],
    );
    expect(queuedData).toEqual([{ text: "wait" }, { text: "wait" }]);
  });

  it("shows all messages sent after the last reply, but for one that another branch continues", async () => {
    const queued = (uuid: string, prompt: unknown) =>
      line("attachment", uuid, "a1", { attachment: { type: "queued_command", prompt } });
    const imported = await read([
      user("u1", null, "hello"),
      reply("a1", "u1", "m1", text("one")),
      queued("q1", "left"),
      reply("a9", "q1", "m9", text("elsewhere")),
      queued("q2", "wait"),
      queued("q3", [text("and wait")]),
    ]);
    expect(shown(imported)).toEqual(["user: hello", "assistant: one", "user: wait", "user: and wait"]);
  });

  it("takes names and titles, and leaves the rest out with a finding a type", async () => {
    const imported = await read([
      { type: "summary", summary: "of another session", leafUuid: "elsewhere" },
      user("u1", null, "hello"),
      { type: "ai-title", aiTitle: "first", sessionId },
      { type: "custom-title", customTitle: "mine", sessionId },
      { type: "ai-title", aiTitle: "second", sessionId },
      { type: "file-history-snapshot", messageId: "u1" },
      { type: "file-history-snapshot", messageId: "u1" },
      { type: "of-tomorrow" },
    ]);
    expect(imported.entries.findLast(({ type }) => type === "session_info")).toMatchObject({
      name: "mine",
      title: "second",
    });
    expect(imported.report.findings.map(({ code, text }) => `${code} ${text}`)).toEqual([
      "newer an unknown type of record: of-tomorrow",
      "unmapped 2 records of type file-history-snapshot",
      "unmapped 1 record of type of-tomorrow",
    ]);
    const old = await read([{ type: "summary", summary: "a title", leafUuid: "elsewhere" }]);
    expect(old.entries.find(({ type }) => type === "session_info")).toMatchObject({ title: "a title" });
    expect(old.leafId).toBeNull();
  });

  it("makes links of addresses and text of unknown blocks", async () => {
    const imported = await read([
      user("u1", null, [
        { type: "image", source: { type: "url", url: "https://a.example/x.png" } },
        { type: "document", source: { type: "text", media_type: "text/plain", data: "a file" } },
        { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0x" } },
        { type: "tool_reference", tool_name: "X" },
      ]),
    ]);
    const [link, file, document, other] = shown(imported)[0]?.split(" | ") ?? [];
    expect(link).toMatch(/^user: \[link https:\/\/a\.example\/x\.png, res_[0-9a-f]{16}\]$/);
    expect([file, other]).toEqual(["a file", '{"type":"tool_reference","tool_name":"X"}']);
    expect(document).toMatch(/^\[file, /);
  });

  it("takes bytes without a media type for what their block holds, and keeps other sources as text", async () => {
    const base64 = (type: string, data: string) => ({ type, source: { type: "base64", data } });
    const stored = { type: "image", source: { type: "file", data: "file_1" } };
    const imported = await importSession(
      [
        {
          path: mainPath,
          bytes: bytesOf([
            user("u1", null, [base64("image", pixel), base64("document", "JVBERi0x"), stored]),
          ]),
        },
      ],
      { from: claudeCode, keep: "none" },
    );
    expect(itemsOf(imported)[0]?.message).toMatchObject({
      content: [
        { type: "image", mimeType: "image/png" },
        { type: "image", mimeType: "application/pdf" },
        { type: "text", text: JSON.stringify(stored) },
      ],
    });
  });

  it("keeps the structured result of a call, but for bytes in lists and other members named data", async () => {
    const source = { type: "base64", media_type: "image/png", data: pixel };
    const toolUseResult = [
      { type: "text", text: "x" },
      { type: "image", source },
      { type: "row", data: "kept" },
    ];
    const imported = await read([
      user("u1", null, "hello"),
      reply("a1", "u1", "m1", call("c1")),
      user("r1", "a1", [result("c1")], { toolUseResult }),
    ]);
    expect(itemsOf(imported)[2]?.message).toMatchObject({
      details: [
        { type: "text", text: "x" },
        { type: "image", source: { type: "base64", media_type: "image/png" } },
        { type: "row", data: "kept" },
      ],
    });
    expect(JSON.stringify(imported.entries)).not.toContain(pixel);
  });

  it("counts each record by its type, and what became of it", async () => {
    const imported = await read([
      user("u1", null, "hello"),
      reply("a1", "u1", "m1", call("c1")),
      user("r1", "a1", [result("c1")]),
      line("system", "b1", "r1", {
        subtype: "microcompact_boundary",
        microcompactMetadata: { compactedToolIds: ["c1", "c9", 7] },
      }),
      line("system", "b2", "b1", { subtype: "compact_boundary" }),
      user("s1", "b2", "what was said", { isCompactSummary: true }),
      line("system", "b3", "s1", { subtype: "microcompact_boundary" }),
      line("system", "b4", "b3", { subtype: "microcompact_boundary" }),
      line("attachment", "t1", "b4", { attachment: { type: "queued_command", prompt: "" } }),
      line("system", "t2", "t1", { subtype: "turn_duration" }),
    ]);
    expect(imported.report.counts).toEqual({
      user: { read: 3, mapped: 3, kept: 3 },
      assistant: { read: 1, mapped: 1, kept: 1 },
      "system microcompact_boundary": { read: 3, mapped: 1, kept: 3 },
      "system compact_boundary": { read: 1, mapped: 1, kept: 1 },
      "attachment queued_command": { read: 1, mapped: 0, kept: 1 },
      "system turn_duration": { read: 1, mapped: 0, kept: 1 },
    });
    expect(codes(imported)).toEqual(["unmapped", "unmapped", "unmapped"]);
    const edits = imported.entries.filter(({ type }) => type === "context_edit");
    expect(edits).toEqual([
      expect.objectContaining({
        targetId: imported.entries.find((entry) => JSON.stringify(entry).includes("out c1"))?.id,
        replacement: { content: [{ type: "text", text: "[Old tool result content cleared]" }] },
      }),
    ]);
  });
});

describe("subagents", () => {
  const side = { isSidechain: true };
  const task = { type: "tool_use", id: "c1", name: "Task", input: { prompt: "say hi" } };
  const main = (more: Fields = {}) => [
    user("u1", null, "hello"),
    reply("a1", "u1", "m1", task),
    user("r1", "a1", [result("c1", "hi")], more),
    reply("a2", "r1", "m2", text("done")),
  ];
  const link = (entries: readonly { readonly type: string }[]) =>
    entries.find((entry) => (entry as { customType?: string }).customType === "sessile.subagent");

  it("finds them in the same file, by the prompt", async () => {
    const imported = await read([
      ...main().slice(0, 2),
      user("s1", null, "say hi", side),
      { ...reply("s2", "s1", "m9", text("hi")), ...side },
      ...main().slice(2),
    ]);
    expect(shown(imported)).toEqual(["user: hello", "assistant: c1", "toolResult: hi", "assistant: done"]);
    expect(imported.children.map(shown)).toEqual([["user: say hi", "assistant: hi"]]);
    const childId = imported.children[0]?.header.id;
    expect(imported.children[0]?.header.parentSession).toBe(sessionId);
    expect(link(imported.entries)).toMatchObject({ data: { toolCallId: "c1", sessionId: childId } });
  });

  it("finds them beside the file, by the result", async () => {
    const agent = bytesOf([user("s1", null, "other words", { ...side, agentId: "b1" })]);
    const strange = bytesOf([user("s1", null, "other words", { ...side, sessionId: "another" })]);
    const imported = await read(main({ toolUseResult: { agentId: "b1" } }), {
      more: { "projects/-work/agent-b1.jsonl": agent, "projects/-work/agent-b2.jsonl": strange },
    });
    expect(imported.children).toHaveLength(1);
    const [child] = imported.children;
    expect(child?.header.id).toBe(`${sessionId}.agent-b1`);
    expect(link(imported.entries)).toMatchObject({ data: { toolCallId: "c1", sessionId: child?.header.id } });
  });

  it("joins the parts of one agent in the same file, and takes files of its folder with another id", async () => {
    const own = { ...side, agentId: "b1" };
    const folder = `projects/-work/${sessionId}/subagents`;
    const imported = await read(
      [
        ...main().slice(0, 2),
        user("s1", null, "say hi", own),
        { ...reply("s2", "s1", "m9", text("hi")), ...own },
        user("s3", null, "again", own),
        ...main().slice(2),
      ],
      {
        more: {
          [`${folder}/agent-b2.jsonl`]: bytesOf([user("t1", null, "y", { ...side, sessionId: "older" })]),
        },
      },
    );
    expect(imported.children.map(({ header }) => header.id)).toEqual([
      `${sessionId}.agent-b1`,
      `${sessionId}.agent-b2`,
    ]);
    expect(imported.children[0]?.entries).toHaveLength(3);
    expect(codes(imported)).toEqual([]);
  });

  it("finds them in a folder, by their descriptions, and those that they started", async () => {
    const folder = `projects/-work/${sessionId}/subagents`;
    const imported = await read(main(), {
      more: {
        [`${folder}/agent-b1.jsonl`]: bytesOf([user("s1", null, "x", side)]),
        [`${folder}/agent-b1.meta.json`]: encodeUtf8('{"toolUseId":"c1"}'),
        [`${folder}/agent-b2.jsonl`]: bytesOf([user("t1", null, "y", side)]),
        [`${folder}/agent-b2.meta.json`]: encodeUtf8('{"toolUseId":"c7","parentAgentId":"b1"}'),
        [`${folder}/agent-b3.meta.json`]: encodeUtf8("not JSON"),
      },
    });
    const ids = imported.children.map(({ header }) => header.id.slice(sessionId.length));
    expect(ids).toEqual([".agent-b1", ".agent-b2"]);
    expect(imported.children[1]?.header.parentSession).toBe(imported.children[0]?.header.id);
    expect(link(imported.entries)).toMatchObject({ data: { toolCallId: "c1" } });
  });

  it("finds those that a workflow started, in the folder of its run, and moves nothing for a later one", async () => {
    const folder = `projects/-work/${sessionId}/subagents/workflows`;
    const run = (id: string, content: string) =>
      bytesOf([user("s1", null, content, { ...side, agentId: id })]);
    const lines = main({ toolUseResult: { status: "async_launched", runId: "wf_1" } });
    const more = {
      [`${folder}/wf_1/agent-b1.jsonl`]: run("b1", "one"),
      [`${folder}/wf_1/journal.jsonl`]: bytesOf([{ type: "started", key: "v2:1", agentId: "b1" }]),
      [`${folder}/wf_2/agent-b1.jsonl`]: run("b1", "of another run"),
    };
    const early = await read(lines, { more, keep: "none" });
    const later = { ...more, [`${folder}/wf_1/agent-b2.jsonl`]: run("b2", "two") };
    const imported = await read(lines, { more: later, keep: "none" });
    expect(early.children.map(shown)).toEqual([["user: one"], ["user: of another run"]]);
    expect(new Set(imported.children.map(({ header }) => header.id)).size).toBe(3);
    const links = imported.entries.flatMap((entry) =>
      entry.type === "custom" && entry.customType === "sessile.subagent" ? [entry.data] : [],
    );
    const ids = new Map(imported.children.map((child) => [shown(child)[0], child.header.id]));
    expect(links).toEqual(
      ["user: one", "user: two"].map((words) => ({ toolCallId: "c1", sessionId: ids.get(words) })),
    );
    expect(imported.entries).toEqual(expect.arrayContaining([...early.entries]));
    expect(imported.leafId).toBe(early.leafId);
    expect(codes(imported)).toEqual(["unmapped"]);
  });

  it("reports a file that is missing, and reads a subagent's file alone", async () => {
    const imported = await read(main({ toolUseResult: { agentId: "b1" } }));
    expect(codes(imported)).toEqual(["missingChild"]);
    const path = "projects/-work/agent-b1.jsonl";
    const bytes = bytesOf([
      user("s1", null, "say hi", side),
      { ...reply("s2", "s1", "m9", text("hi")), ...side },
    ]);
    const alone = await importSession([{ path, bytes }], { from: claudeCode, blobs: memoryBlobStore() });
    expect(shown(alone)).toEqual(["user: say hi", "assistant: hi"]);
    expect(alone.children).toEqual([]);
  });
});

it("is read by its content, whatever its name", async () => {
  const bytes = bytesOf([user("u1", null, "hello"), reply("a1", "u1", "m1", text("hi"))]);
  for (const path of ["session", "session.txt", "session.json", "session.jsonl.bak"]) {
    const imported = await importSession([{ path, bytes }], { from: [claudeCode] });
    expect(shown(imported)).toEqual(["user: hello", "assistant: hi"]);
  }
});

it("has the words of a person for a title, if the first message has others of the program", async () => {
  const titleOf = async (...contents: readonly unknown[]) => {
    const lines = contents.map((content, at) => user(`u${at}`, at === 0 ? null : `u${at - 1}`, content));
    const titles = (await read(lines)).entries.flatMap((entry) =>
      entry.type === "session_info" ? [entry.title] : [],
    );
    return titles.at(-1);
  };
  expect(await titleOf("hello")).toBeUndefined();
  expect(await titleOf([text("hello"), text("world")])).toBeUndefined();
  expect(await titleOf([text("<ide_opened_file>a</ide_opened_file>"), text("Fix it\nnow")])).toBe(
    "Fix it now",
  );
  expect(
    await titleOf(
      "<command-name>/clear</command-name>",
      "<local-command-stdout></local-command-stdout>",
      "Go",
    ),
  ).toBe("Go");
});

it("is named by its file if nothing else names it, and says where its directory changes", async () => {
  const lines = [user("u1", null, "hello"), user("u2", "u1", "more", { cwd: "/elsewhere" })];
  const unnamed = lines.map((each) => ({ ...each, sessionId: undefined }));
  const imported = await importSession([{ path: "notes.jsonl", bytes: bytesOf(unnamed) }], {
    from: claudeCode,
  });
  expect(imported.header).toMatchObject({ cwd: "/work", id: "notes" });
  expect(imported.report.findings).toEqual([
    { code: "moved", file: "notes.jsonl", line: 2, text: "the working directory changes to /elsewhere" },
  ]);
});

it("gives a file that has grown the same ids, and adds only what is new", async () => {
  const lines = [user("u1", null, "hello"), reply("a1", "u1", "m1", text("one")), user("u2", "a1", "more")];
  const before = await read(lines.slice(0, 2), { keep: "none" });
  const after = await read(lines, { keep: "none" });
  expect(after.entries.slice(0, 2)).toEqual(before.entries);
  expect(after.entries).toHaveLength(3);
  expect(mainPath).toContain(before.header.id);
});
