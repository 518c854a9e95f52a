import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ForeignFile } from "sessile/interop";
import { describe, expect, it } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { encodeUtf8 } from "../../support/plain-values.js";
import type { ReducedMessage } from "../support/reduced.js";
import { sqliteFile } from "../support/sqlite.js";
import { adopted, chatOf, comparable, png } from "./sessions.js";

const sample = (path: string) => readFileSync(join(root, "test/agents/opencode/files", path));

let part = 0;
const textPart = (text: string, more: object = {}) => ({ id: `prt_${++part}`, type: "text", text, ...more });
const user = (id: string, parts: readonly object[], more: object = {}) => ({
  info: {
    id,
    role: "user",
    time: { created: 1000 + part },
    model: { providerID: "p", modelID: "m" },
    ...more,
  },
  parts,
});
const reply = (id: string, parts: readonly object[], more: object = {}) => ({
  info: {
    id,
    role: "assistant",
    time: { created: 1000 + part, completed: 1001 + part },
    providerID: "p",
    modelID: "m",
    finish: "stop",
    ...more,
  },
  parts,
});
const tool = (id: string, state: object, more: object = {}) => ({
  id: `prt_${++part}`,
  type: "tool",
  callID: id,
  tool: "bash",
  state: { input: { command: "ls" }, ...state },
  ...more,
});
const done = (output: string, more: object = {}) => ({
  status: "completed",
  output,
  time: { end: 5 },
  ...more,
});

const session = (messages: readonly object[], info: object = {}, path = "export.json"): ForeignFile => ({
  path,
  bytes: encodeUtf8(
    JSON.stringify({ info: { id: "ses_1", directory: "/w", time: { created: 900 }, ...info }, messages }),
  ),
});

async function read(messages: readonly object[], info: object = {}) {
  return await adopted([session(messages, info)]);
}

async function chat(messages: readonly object[], info: object = {}): Promise<readonly ReducedMessage[]> {
  const { session: opened, blobs } = await read(messages, info);
  return await chatOf(opened, blobs);
}

const findings = ({ imported }: Awaited<ReturnType<typeof read>>) =>
  imported.report.findings.map(({ code, text }) => `${code}: ${text}`);

const recorded = ["1.1.65", "1.2.27", "1.18.33"].flatMap((version) =>
  ["export", "compacted", "reverted"].map((name) => ({ version, name })),
);

describe("opencode", () => {
  // @covers R93 › sends the context that $version sent, $name
  it.each(recorded)("sends the context that $version sent, $name", async ({ version, name }) => {
    const bytes = sample(`${version}/${name}.json`);
    const request = JSON.parse(sample(`${version}/${name}.request.json`).toString()) as ReducedMessage[];
    const { session: opened, blobs, imported } = await adopted([{ path: "export.json", bytes }]);
    const context = [...(await chatOf(opened, blobs)), { role: "user", text: "continue" } as const];
    expect(comparable(context)).toEqual(comparable(request));
    expect(imported.report).toMatchObject({ exact: true, agentVersion: version });
    expect(imported.report.findings.filter(({ code }) => code === "missingParent")).toEqual([]);
  });

  it("clears a pruned output once", async () => {
    const pruned = done("long", { time: { end: 5, compacted: 5000 } });
    const { imported } = await read([
      user("msg_1", [textPart("one")]),
      reply("msg_2", [tool("c1", pruned)]),
      user("msg_3", [textPart("two")], { time: { created: 9000 } }),
      reply("msg_4", [textPart("x")], { time: { created: 9001, completed: 9002 } }),
    ]);
    expect(imported.entries.filter(({ type }) => type === "context_edit")).toHaveLength(1);
  });

  it("keeps what opencode added apart from what a person wrote, and leaves out what it does not send", async () => {
    const parts = [
      textPart("called a tool", { synthetic: true }),
      textPart("and it said so", { synthetic: true }),
      textPart("mine"),
      textPart("a remark", { ignored: true }),
      { id: "prt_f", type: "file", mime: "text/plain", url: "data:text/plain;base64,eA==", filename: "x" },
    ];
    const { imported } = await read([user("msg_1", parts)]);
    expect(imported.entries.filter(({ type }) => type !== "custom")).toMatchObject([
      {
        type: "custom_message",
        customType: "opencode.synthetic",
        content: [{ text: "called a tool" }, { text: "and it said so" }],
      },
      { type: "message", message: { role: "user", content: "mine", model: { provider: "p", modelId: "m" } } },
    ]);
    expect(imported.report.counts).toMatchObject({
      text: { read: 4, mapped: 3 },
      file: { read: 1, mapped: 0 },
    });
  });

  it("makes resources of files with bytes, and text of others, which are not opened", async () => {
    const { imported } = await read([
      user("msg_1", [
        {
          id: "prt_1",
          type: "file",
          mime: "image/png",
          url: `data:image/png;base64,${png}`,
          filename: "p.png",
        },
        { id: "prt_2", type: "file", mime: "image/png", url: "file:///etc/passwd", filename: "../../x" },
        { id: "prt_3", type: "file", url: "data:oops" },
        { id: "prt_4", type: "file", mime: "image/png", filename: "y" },
      ]),
    ]);
    expect(imported.entries.at(-1)).toMatchObject({
      message: {
        content: [
          { resource: { mediaType: "image/png", size: 70, source: "import" } },
          { text: "[Attached image/png: ../../x: file:///etc/passwd]" },
          { text: "[Attached application/octet-stream: file]" },
          { text: "[Attached image/png: y]" },
        ],
      },
    });
  });

  it("gives signatures the form of their protocol", async () => {
    const reasoning = (metadata: object) => ({
      id: `prt_${++part}`,
      type: "reasoning",
      text: "so",
      metadata,
    });
    const signed = async (metadata: object) => {
      const { imported } = await read([reply("msg_1", [reasoning(metadata), textPart("x")])]);
      const [entry] = imported.entries.filter(({ type }) => type === "message");
      const message = (
        entry as unknown as { message: { api?: string; content: { thinkingSignature?: string }[] } }
      ).message;
      return [message.api, message.content[0]?.thinkingSignature];
    };
    expect(await signed({ anthropic: { signature: "s" } })).toEqual(["anthropic-messages", "s"]);
    expect(await signed({ google: { thoughtSignature: "g" } })).toEqual(["google-generative-ai", "g"]);
    expect(await signed({ openrouter: { a: 1 } })).toEqual(["ai-sdk/p", '{"openrouter":{"a":1}}']);
    const [api, item] = await signed({ openai: { itemId: "rs_1", reasoningEncryptedContent: "e" } });
    expect([api, JSON.parse(item ?? "")]).toEqual([
      "openai-responses",
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "so" }],
        encrypted_content: "e",
      },
    ]);
  });

  it("makes a call and a result of a tool, by its state", async () => {
    const { imported } = await read([
      reply("msg_1", [
        tool("a", done("fine", { metadata: { exit: 0 } })),
        tool("b", { status: "error", error: "no" }),
        tool("c", { status: "error", error: "aborted", metadata: { interrupted: true, output: "half" } }),
        tool("d", { status: "running" }),
        tool("e", { status: "pending" }),
        tool("a", done("again")),
      ]),
    ]);
    const messages = imported.entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
    expect(messages[0]).toMatchObject({
      content: [{ id: "a" }, { id: "b" }, { id: "c" }, { id: "d" }, { id: "e" }],
    });
    expect(messages.slice(1)).toMatchObject([
      { toolCallId: "a", isError: false, content: [{ text: "fine" }], details: { exit: 0 } },
      { toolCallId: "b", isError: true, content: [{ text: "no" }] },
      { toolCallId: "c", isError: true, content: [{ text: "half" }] },
    ]);
    expect(findings({ imported } as never)).toEqual([
      expect.stringMatching(/^duplicateResult/),
      expect.stringMatching(/^unmapped/),
    ]);
  });

  it("makes a message of each step, with the usage of the step", async () => {
    const finish = (input: number) => ({
      type: "step-finish",
      reason: "tool-calls",
      tokens: { input, output: 1 },
    });
    const start = { type: "step-start" };
    const parts = [
      start,
      textPart("one"),
      tool("a", done("x")),
      finish(3),
      start,
      textPart("two"),
      finish(4),
    ];
    const { imported } = await read([reply("msg_1", parts, { tokens: { input: 7, output: 2 } })]);
    const messages = imported.entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
    expect(messages.map(({ role }) => role)).toEqual(["assistant", "toolResult", "assistant"]);
    expect(messages).toMatchObject([{ usage: { input: 3 } }, {}, { usage: { input: 4 } }]);
  });

  it("has the maker and the end of a reply, as far as they are known", async () => {
    const ends = async (more: object, ...parts: readonly object[]) => {
      const { imported } = await read([reply("msg_1", [textPart("x"), ...parts], more)]);
      const [message] = imported.entries.flatMap((entry) =>
        entry.type === "message" ? [entry.message] : [],
      );
      return message as unknown as Record<string, unknown>;
    };
    for (const [finish, stopReason] of [
      ...[
        ["stop", "stop"],
        ["length", "length"],
        ["tool-calls", "toolUse"],
        ["content-filter", "error"],
      ],
      ...[
        ["error", "error"],
        ["aborted", "aborted"],
        ["other", "stop"],
      ],
    ])
      expect(await ends({ finish })).toMatchObject({ stopReason });
    expect(await ends({ finish: "content-filter" })).toMatchObject({ refused: true });
    expect(await ends({ finish: "error" })).not.toHaveProperty("refused");
    expect(await ends({ finish: "other" }, tool("a", done("y")))).toMatchObject({ stopReason: "toolUse" });
    expect(await ends({ error: null })).toMatchObject({ stopReason: "stop" });
    expect(await ends({})).toMatchObject({ provider: "p", model: "m" });
    expect(await ends({ summary: true, mode: "plan" })).toMatchObject({ summary: true, mode: "plan" });
    const unknown = await ends({ providerID: undefined, modelID: undefined });
    expect(unknown).toMatchObject({ provider: "unknown", model: "unknown" });
    expect([unknown.summary, unknown.mode, unknown.errorMessage]).toEqual([undefined, undefined, undefined]);
  });

  it("has no call for a part without an id, and no text beside the files of an empty result", async () => {
    const url = `data:image/png;base64,${png}`;
    const attachments = [{ type: "file", mime: "image/png", url }];
    const { imported } = await read([
      reply("msg_1", [
        tool("a", done("")),
        tool("b", done("", { attachments })),
        { ...tool("c", done("x")), callID: undefined },
      ]),
    ]);
    const messages = imported.entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
    expect(messages).toMatchObject([
      { content: [{ id: "a" }, { id: "b" }] },
      { toolCallId: "a", content: [{ type: "text", text: "" }] },
      { toolCallId: "b", content: [{ resource: { mediaType: "image/png" } }] },
    ]);
    expect(messages.map((message) => ("content" in message ? message.content.length : 0))).toEqual([2, 1, 1]);
    expect(imported.report.counts.tool).toMatchObject({ read: 3, mapped: 2 });
  });

  it("counts reasoning as output once", async () => {
    const usage = async (tokens: object) => {
      const { imported } = await read([reply("msg_1", [textPart("x")], { tokens })]);
      return (imported.entries.at(-1) as unknown as { message: { usage: { output: number } } }).message.usage
        .output;
    };
    const cache = { read: 5, write: 1 };
    expect(await usage({ total: 30, input: 10, output: 8, reasoning: 6, cache })).toBe(14);
    expect(await usage({ total: 24, input: 10, output: 8, reasoning: 6, cache })).toBe(8);
    expect(await usage({ input: 10, output: 8, reasoning: 6, cache })).toBe(8);
  });

  it("makes an edit of a pruned output, in front of what came after it was pruned", async () => {
    const pruned = tool("a", done("long", { time: { end: 1002, compacted: 1500 } }));
    const before = [
      user("msg_1", [textPart("go")]),
      reply("msg_2", [pruned], { time: { created: 1001, completed: 1002 } }),
    ];
    const after = user("msg_3", [textPart("more")], { time: { created: 2000 } });
    const { imported } = await read([...before, after]);
    const types = imported.entries.map(({ type }) => type);
    expect(types.slice(-3)).toEqual(["message", "context_edit", "message"]);
    expect(await chat([...before, after])).toContainEqual({
      role: "tool",
      result: "a",
      text: "[Old tool result content cleared]",
    });
    // The first import of the file may have been before the output was pruned.
    const ids = new Set(imported.entries.map(({ id }) => id));
    const kept = { ...pruned, state: { ...pruned.state, time: { end: 1002 } } };
    const older = await read([
      before[0] as object,
      reply("msg_2", [kept], { time: { created: 1001, completed: 1002 } }),
    ]);
    const shared = older.imported.entries.filter(({ type }) => type === "message");
    expect(shared.every(({ id }) => ids.has(id))).toBe(true);
  });

  it("makes a compaction of a completed summary, with the tail that it keeps", async () => {
    const messages = (compaction: object) => [
      user("msg_1", [textPart("old")]),
      reply("msg_2", [textPart("old answer")]),
      user("msg_3", [textPart("kept")]),
      user("msg_4", [{ type: "compaction", auto: true, ...compaction }]),
      reply("msg_5", [textPart("what was said")], { parentID: "msg_4", summary: true }),
      user("msg_6", [textPart("new")]),
    ];
    const said = async (compaction: object) => comparable(await chat(messages(compaction)));
    const summary = { summary: "what was said" };
    const [old, kept, next] = ["old", "kept", "new"].map((text) => ({ role: "user", text }));
    expect(await said({})).toEqual([summary, next, { images: [] }]);
    expect(await said({ tail_start_id: "msg_3" })).toEqual([summary, kept, next, { images: [] }]);
    expect(await said({ tail_start_id: "msg_9" })).toEqual([summary, next, { images: [] }]);
    const failed = messages({}).with(
      4,
      reply("msg_5", [textPart("half")], { parentID: "msg_4", summary: true, finish: undefined }),
    );
    expect(await chat(failed)).toContainEqual(old);
    expect(await chat(failed)).toContainEqual({ role: "user", text: "What did we do so far?" });
  });

  it("goes back to before what was undone", async () => {
    const messages = [
      user("msg_1", [textPart("one")]),
      reply("msg_2", [
        { ...textPart("two"), id: "prt_a" },
        { ...textPart("three"), id: "prt_b" },
      ]),
      user("msg_3", [textPart("four")]),
    ];
    const said = async (revert: object) =>
      (await chat(messages, { revert })).map((message) => ("text" in message ? message.text : ""));
    expect(await said({ messageID: "msg_3" })).toEqual(["one", "two", "three"]);
    expect(await said({ messageID: "msg_2", partID: "prt_b" })).toEqual(["one", "two"]);
    expect(await said({ messageID: "msg_2", partID: "prt_a" })).toEqual(["one"]);
    expect(await said({ messageID: "msg_1" })).toEqual(["[There is nothing to show yet.]"]);
    expect(await said({ messageID: "msg_9" })).toEqual(["one", "two", "three", "four"]);
    const { session: opened } = await read(messages, { revert: { messageID: "msg_3", snapshot: "abc" } });
    expect((await opened.turn()).revert).toMatchObject({ snapshot: "abc" });
  });

  it("leaves failed replies out of the context, and keeps those that were stopped", async () => {
    const error = (name: string) => ({ error: { name, data: { message: "why" } } });
    const messages = [
      user("msg_1", [textPart("one")]),
      reply("msg_2", [textPart("failed")], error("APIError")),
      reply("msg_3", [textPart("stopped")], error("MessageAbortedError")),
      reply("msg_4", [{ type: "reasoning", text: "hm" }], error("MessageAbortedError")),
    ];
    const { imported } = await read(messages);
    expect(
      imported.entries.slice(1).map((entry) => (entry.type === "custom" ? entry.customType : entry.type)),
    ).toEqual(["message", "opencode.error", "message", "opencode.error"]);
    expect(imported.entries[3]).toMatchObject({ message: { stopReason: "aborted", errorMessage: "why" } });
  });

  it("reads the sessions of subagents, and names them beside their calls", async () => {
    const task = tool("a", done("said", { metadata: { sessionId: "ses_2" } }), { tool: "task" });
    const root = session([reply("msg_1", [task])]);
    const child = session(
      [user("msg_1", [textPart("say hi")])],
      { id: "ses_2", parentID: "ses_1" },
      "child.json",
    );
    const { imported } = await adopted([child, root]);
    expect(imported.header.id).toBe("ses_1");
    expect(imported.children.map(({ header }) => [header.id, header.parentSession])).toEqual([
      ["ses_2", "ses_1"],
    ]);
    const link = { customType: "sessile.subagent", data: { toolCallId: "a", sessionId: "ses_2" } };
    expect(imported.entries).toContainEqual(expect.objectContaining(link));
    const alone = await adopted([root]);
    expect(findings(alone)).toEqual(["missingChild: session ses_2 of a task is not in the files"]);
  });

  it("has the state of a session behind its messages", async () => {
    const { imported } = await read([user("msg_1", [textPart("one")])], {
      title: "T",
      slug: "a-b",
      share: { url: "https://a.example" },
      permission: [{ permission: "bash", pattern: "*", action: "ask" }, { permission: 1 }],
      time: { created: 900, archived: 1000 },
    });
    expect(imported.entries.at(-1)).toMatchObject({
      type: "session_info",
      title: "T",
      slug: "a-b",
      archivedAt: "1970-01-01T00:00:01.000Z",
      share: { url: "https://a.example" },
      permission: [{ permission: "bash", pattern: "*", action: "ask" }],
    });
  });

  it("reports parts of an unknown type, second copies and messages without info", async () => {
    const found = await read([
      user("msg_1", [textPart("one"), { type: "hologram" }]),
      user("msg_1", [textPart("again")]),
      { parts: [] },
      { info: { role: "oracle" } },
    ]);
    expect(findings(found)).toEqual([
      "unreadable: a message without `info`",
      "newer: a part of type hologram",
      "superseded: message msg_1: a second copy is left out",
      "newer: a message of role oracle",
      ...["hologram", "user", "oracle"].map((type) => `unmapped: 1 record of type ${type}`),
    ]);
  });

  it("gives a reply that is still running other ids than the finished one", async () => {
    const start = user("msg_1", [textPart("one")]);
    const open = reply("msg_2", [textPart("hal")], { time: { created: 1001 } });
    const first = await read([start, open]);
    const second = await read([start, reply("msg_2", [textPart("half of it")])]);
    const idsOf = ({ imported }: typeof first) => imported.entries.slice(1).map(({ id }) => id);
    expect(idsOf(second)[0]).toBe(idsOf(first)[0]);
    expect(idsOf(second)[1]).not.toBe(idsOf(first)[1]);
  });

  describe("with several sessions in the files", () => {
    const stored = (id: string, updated: number, more: object = {}) => ({
      path: `storage/session/global/${id}.json`,
      bytes: encodeUtf8(
        JSON.stringify({ id, directory: "/w", time: { created: updated, updated }, ...more }),
      ),
    });
    const message = (of: string, id: string, text: string) => [
      {
        path: `storage/message/${of}/${id}.json`,
        bytes: encodeUtf8(JSON.stringify({ id, role: "user", time: { created: 5 } })),
      },
      {
        path: `storage/part/${id}/prt_1.json`,
        bytes: encodeUtf8(JSON.stringify({ id: "prt_1", type: "text", text })),
      },
    ];
    const folders = [
      ...message("ses_b", "msg_2", "second"),
      ...message("ses_b", "msg_1", "first"),
      ...message("ses_a", "msg_3", "other"),
      ...message("ses_c", "msg_4", "child"),
      stored("ses_a", 10),
      stored("ses_b", 20),
      stored("ses_c", 30, { parentID: "ses_b" }),
    ];
    const rows = {
      session: [
        { id: "ses_a", parent_id: null, directory: "/w", time_created: 10, time_updated: 10, revert: null },
        { id: "ses_b", parent_id: null, directory: "/w", time_created: 20, time_updated: 20, revert: null },
        {
          id: "ses_c",
          parent_id: "ses_b",
          directory: "/w",
          time_created: 30,
          time_updated: 30,
          revert: null,
        },
        { id: "o'clock", parent_id: null, directory: "/w", time_created: 1, time_updated: 1, revert: null },
      ],
      message: [
        ["ses_b", "msg_2", 2],
        ["ses_b", "msg_1", 1],
        ["ses_a", "msg_3", 1],
        ["ses_c", "msg_4", 1],
        ["o'clock", "msg_5", 1],
      ].map(([session_id, id, time_created]) => ({ id, session_id, time_created, data: '{"role":"user"}' })),
      part: [
        ["ses_b", "msg_2", "second"],
        ["ses_b", "msg_1", "first"],
        ["ses_a", "msg_3", "other"],
        ["ses_c", "msg_4", "child"],
        ["o'clock", "msg_5", "quoted"],
      ].map(([session_id, message_id, text], index) => ({
        id: `prt_${index}`,
        message_id,
        session_id,
        data: JSON.stringify({ type: "text", text }),
      })),
    };
    const texts = (entries: readonly { readonly type: string }[]) =>
      entries.flatMap((entry) => {
        const { message: found } = entry as { readonly message?: { readonly content: string } };
        return found === undefined ? [] : [found.content];
      });

    it.each(["folders", "database"])("reads the newest of %s, or the one that is named", async (kind) => {
      const files = kind === "folders" ? folders : [{ path: "opencode.db", bytes: await sqliteFile(rows) }];
      const newest = await adopted(files);
      expect(newest.imported.header.id).toBe("ses_b");
      expect(texts(newest.imported.entries)).toEqual(["first", "second"]);
      expect(newest.imported.children.map(({ entries }) => texts(entries))).toEqual([["child"]]);
      expect(texts((await adopted(files, { session: "ses_a" })).imported.entries)).toEqual(["other"]);
      const child = (await adopted(files, { session: "ses_c" })).imported;
      expect([child.header.parentSession, texts(child.entries)]).toEqual(["ses_b", ["child"]]);
      expect(findings(await adopted(files, { session: "ses_x" }))).toContain(
        "unreadable: session ses_x is not in the files",
      );
    });

    it("reads an id with a quote, and a file without its session's own", async () => {
      const database = [{ path: "opencode.db", bytes: await sqliteFile(rows) }];
      expect(texts((await adopted(database, { session: "o'clock" })).imported.entries)).toEqual(["quoted"]);
      const alone = await adopted(message("ses_x", "msg_1", "left"));
      expect([alone.imported.header.id, texts(alone.imported.entries)]).toEqual(["ses_x", ["left"]]);
    });

    it("has the state of a session in its row, and counts what lies beside the folders", async () => {
      const row = {
        ...{ id: "ses_a", parent_id: null, directory: "/w", title: "T", version: "1.2.27" },
        ...{ time_created: 10, time_updated: 20, time_archived: 1000, share_url: "https://a.example" },
        permission: JSON.stringify([{ permission: "bash", pattern: "*", action: "ask" }]),
        revert: JSON.stringify({ messageID: "msg_2" }),
      };
      const message = ["msg_1", "msg_2"].map((id, at) => ({
        ...{ id, session_id: "ses_a", time_created: at, data: '{"role":"user"}' },
      }));
      const part = ["one", "two"].map((text, at) => ({
        ...{ id: `prt_${at}`, message_id: `msg_${at + 1}`, session_id: "ses_a" },
        data: JSON.stringify({ type: "text", text }),
      }));
      const bytes = await sqliteFile({ session: [row], message, part });
      const { imported, session: opened } = await adopted([{ path: "opencode.db", bytes }]);
      expect(imported.header).toMatchObject({
        id: "ses_a",
        cwd: "/w",
        timestamp: "1970-01-01T00:00:00.010Z",
      });
      expect(imported.report.agentVersion).toBe("1.2.27");
      expect(imported.entries.find(({ type }) => type === "session_info")).toMatchObject({
        title: "T",
        archivedAt: "1970-01-01T00:00:01.000Z",
        share: { url: "https://a.example" },
        permission: [{ permission: "bash", pattern: "*", action: "ask" }],
      });
      expect((await opened.context()).items.map(({ message: { role } }) => role)).toEqual(["user"]);
      const beside = { path: "storage/todo/ses_b.json", bytes: encodeUtf8("{}") };
      const { report } = (await adopted([...folders, beside])).imported;
      expect(report.counts.todo).toEqual({ read: 1, mapped: 0, kept: 1 });
    });

    it("says what it needs for a database", async () => {
      const bytes = await sqliteFile(rows);
      const without = await adopted([{ path: "opencode.db", bytes }], { sqlite: undefined });
      expect(findings(without)).toEqual(["needsReader: an SQLite database, and there is no `sqlite`"]);
    });
  });
});
