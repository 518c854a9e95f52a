import { gemini } from "sessile/gemini-cli";
import { importSession } from "sessile/interop";
import { describe, expect, it } from "vitest";
import {
  call,
  chatId,
  chatPath,
  contextFrom,
  header,
  lines,
  pixel,
  read,
  reply,
  response,
  rowsOf,
  user,
} from "./chat-log.js";

const environment = (text = "one") => user("e", `<session_context>\n${text}\n</session_context>`);

describe("the log of a chat", () => {
  it("becomes messages with their calls, results, usage and times", async () => {
    const result = [response("c1", "a.txt"), { inlineData: { mimeType: "image/png", data: pixel } }];
    const imported = await read([
      header({ directories: ["/w"] }),
      user("u1", "hello"),
      reply("g1", "Let me look.", {
        thoughts: [
          { subject: "Plan", description: "List." },
          { subject: "", description: "Then read." },
        ],
        toolCalls: [
          call("c1", result),
          call("c2", [{ functionResponse: { id: "c2", name: "x", response: { error: "no" } } }], {
            status: "error",
          }),
        ],
      }),
      reply("g2", "Done."),
    ]);
    expect(imported.header).toMatchObject({ id: chatId, cwd: "/w", timestamp: "2026-11-22T10:00:00.000Z" });
    expect(rowsOf(imported)).toEqual([
      "user: hello",
      "assistant: (**Plan** List.), (Then read.), Let me look., call c1, call c2",
      "result c1: a.txt, image",
      "result c2: no",
      "assistant: Done.",
    ]);
    const messages = contextFrom(imported).items.map(({ message }) => message);
    expect(messages[1]).toMatchObject({
      provider: "google",
      model: "gemini-2.5-pro",
      stopReason: "toolUse",
      usage: { input: 60, output: 25, cacheRead: 40, cacheWrite: 0, totalTokens: 125 },
      timestamp: Date.UTC(2026, 10, 22, 10, 0, 2),
    });
    expect(messages.slice(2, 4)).toMatchObject([
      { isError: false, details: { resultDisplay: "shown" } },
      { isError: true },
    ]);
    expect(imported.report).toMatchObject({ exact: true, findings: [] });
  });

  it("is one of states: of a message that is put again the last one counts, at its first place", async () => {
    const imported = await read([
      header(),
      user("u1", "hello"),
      reply("g1", "Let me"),
      user("u2", "more"),
      reply("g1", "Let me look.", { toolCalls: [call("c1", [response("c1", "out")])] }),
    ]);
    expect(rowsOf(imported)).toEqual([
      "user: hello",
      "assistant: Let me look., call c1",
      "result c1: out",
      "user: more",
    ]);
    expect(imported.report.findings).toMatchObject([{ code: "superseded" }]);
  });

  it("takes function responses that stand twice once, and those that stand alone", async () => {
    const alone = user("f2", [
      response("c2", "second"),
      { inlineData: { mimeType: "image/png", data: pixel } },
      { text: "and?" },
    ]);
    const imported = await read([
      header(),
      reply("g1", "", { toolCalls: [call("c1", [response("c1", "first")])] }),
      user("f1", [response("c1", "first")]),
      reply("g2", [{ functionCall: { id: "c2", name: "t", args: {} }, thoughtSignature: "U0lH" }]),
      alone,
      user("f1_response", [response("c1", "first")]),
      user("f3", [response("c9", "nobody")]),
    ]);
    expect(rowsOf(imported)).toEqual([
      "assistant: call c1",
      "result c1: first",
      "assistant: call c2",
      "result c2: second, image",
      "user: and?",
    ]);
    expect(contextFrom(imported).items[2]?.message).toMatchObject({
      content: [{ thoughtSignature: "U0lH" }],
    });
    expect(imported.report.findings.map(({ code }) => code)).toEqual(["orphanResult"]);
  });

  it("takes function responses without an id for the first open calls of their tool", async () => {
    const open = (id: string) => ({ functionCall: { id, name: "t", args: {} } });
    const unnamed = (output: string, name?: string) => ({ functionResponse: { name, response: { output } } });
    const imported = await read([
      header(),
      reply("g1", [open("c1"), open("c2")]),
      user("f1", [unnamed("first", "t")]),
      user("f2", [unnamed("second", "t")]),
      user("f3", [unnamed("third", "t"), unnamed("fourth")]),
    ]);
    expect(rowsOf(imported)).toEqual([
      "assistant: call c1, call c2",
      "result c1: first",
      "result c2: second",
    ]);
    expect(imported.report.findings.filter(({ code }) => code === "orphanResult")).toEqual(
      ["t", "a tool"].map((name) => ({
        ...{ code: "orphanResult", file: chatPath },
        text: `a function response of ${name} without its call`,
      })),
    );
  });

  it("takes the parts of a checkpoint instead of thoughts and calls, and of its responses that of the call", async () => {
    const both = [response("c1", "first"), response("c2", "second")];
    const parts = [
      { text: "I think.", thought: true, thoughtSignature: "U0lH" },
      { text: "Both." },
      { functionCall: { id: "c1", name: "run_shell_command", args: { a: 1 } } },
      { functionCall: { id: "c2", name: "run_shell_command", args: {} } },
    ];
    const calls = [call("c1", [response("c1", "first")]), call("c2", [response("c2", "second")])];
    const whole = reply("g1", "Both.", {
      thoughts: [{ subject: "", description: "I think." }],
      toolCalls: calls,
    });
    const { tokens: _, model: __, ...poor } = reply("g1", parts);
    for (const checkpoint of [
      poor,
      reply("g1", parts, { toolCalls: [call("c1", both), call("c2", both)] }),
    ]) {
      const imported = await read([
        header(),
        user("u1", "go"),
        whole,
        user("f", both),
        { $set: { messages: [user("u1", "go"), checkpoint, user("f", both), user("g1_response", both)] } },
      ]);
      expect(rowsOf(imported)).toEqual([
        "user: go",
        "assistant: (I think.), Both., call c1, call c2",
        "result c1: first",
        "result c2: second",
      ]);
      const [, assistant, result] = contextFrom(imported).items;
      expect(result?.message).toMatchObject({ details: { resultDisplay: "shown" } });
      expect(assistant?.message).toMatchObject({
        usage: { totalTokens: 125 },
        content: [{ thinkingSignature: "U0lH" }, {}, {}, {}],
      });
    }
  });

  it("keeps the environment as initial context, and commands out of the context", async () => {
    const imported = await read([
      header(),
      environment(),
      user("u1", "/compress"),
      user("u2", "?help"),
      user("h", "<hook_context>from a hook</hook_context>"),
      user("u3", "real"),
      { id: "i", timestamp: "2026-11-22T10:00:02.000Z", type: "info", content: "Update!" },
    ]);
    expect(rowsOf(imported)).toEqual([
      "custom: <session_context>\none\n</session_context>",
      "custom: <hook_context>from a hook</hook_context>",
      "user: real",
    ]);
    expect(imported.entries.filter(({ type }) => type === "custom")).toMatchObject([
      { customType: "sessile.foreign" },
      { customType: "sessile.command", data: { text: "/compress" } },
      { customType: "sessile.command", data: { text: "?help" } },
    ]);
    expect(imported.entries[1]).toMatchObject({ customType: "sessile.initial_context", display: false });
    expect(imported.report.counts.info).toEqual({ read: 1, mapped: 0, kept: 1 });
  });

  it("keeps parts that are no text as they are, and sums tokens that have no total", async () => {
    const parts = [{ executableCode: { code: "1" } }, { text: " ", thoughtSignature: "U0lH" }, { text: " " }];
    const tokens = { input: 10, cached: 4, tool: 3, output: 2, thoughts: 1 };
    const toolCalls = [
      call("c1", [{ text: "plain" }]),
      call("c2", [{ text: "other" }], { name: "t", args: 7 }),
    ];
    const imported = await read([header(), user("u1", "go"), reply("g1", parts, { tokens, toolCalls })]);
    const [, assistant, one, two] = contextFrom(imported).items.map(({ message }) => message);
    expect(assistant).toMatchObject({
      content: [
        { type: "opaque", data: parts[0] },
        { type: "opaque", data: parts[1] },
        { type: "toolCall", id: "c1", name: "run_shell_command", arguments: { command: "ls" } },
        { type: "toolCall", id: "c2", name: "t", arguments: {} },
      ],
      usage: { input: 9, output: 3, cacheRead: 4, cacheWrite: 0, totalTokens: 16 },
    });
    expect([one, two]).toMatchObject([
      { toolCallId: "c1", toolName: "run_shell_command", content: [{ type: "text", text: "plain" }] },
      { toolCallId: "c2", toolName: "t", content: [{ type: "text", text: "other" }] },
    ]);
  });

  it("reads a model, a usage and a name where they are, and tells what it inferred", async () => {
    const imported = await read([
      header(),
      user("u1", "hello"),
      reply("g1", "", { toolCalls: undefined }),
      reply("g2", "Hi.", { model: undefined }),
      { $set: { summary: "Greeting", lastUpdated: "2026-11-22T10:01:00.000Z" } },
      { id: "x", type: "telepathy" },
    ]);
    const [, , usage, message, info] = imported.entries;
    expect(usage).toMatchObject({ type: "usage", model: "gemini-2.5-pro", usage: { totalTokens: 125 } });
    expect(message).toMatchObject({ message: { model: "gemini-2.5-pro", stopReason: "stop" } });
    expect(info).toMatchObject({ type: "session_info", name: "Greeting" });
    expect(imported.report.findings.map(({ code }) => code)).toEqual(["newer", "guessed", "unmapped"]);
  });
});

describe("checkpoints", () => {
  const talk = [user("u1", "one"), reply("g1", "two"), user("u2", "three"), reply("g2", "four")];
  const snapshot = user("s", "<state_snapshot>\nsum\n</state_snapshot>");
  const gotIt = reply("s2", "Got it. Thanks for the additional context!");

  it("with the known messages are those of a resume, and change nothing", async () => {
    const plain = await read([header(), environment(), ...talk]);
    const imported = await read([
      header(),
      environment(),
      ...talk,
      // A resume in the minute of the start begins the file anew.
      header(),
      { $set: { messages: [environment("two")] } },
      { $set: { sessionId: chatId } },
      { $set: { messages: [environment("two"), ...talk] } },
      user("u3", "five"),
    ]);
    expect(rowsOf(imported)).toEqual([
      "custom: <session_context>\ntwo\n</session_context>",
      ...rowsOf(plain).slice(1),
      "user: five",
    ]);
    expect(imported.entries.slice(1, -1).map(({ id }) => id)).toEqual(
      plain.entries.slice(1).map(({ id }) => id),
    );
  });

  it("that drop messages for a summary are compactions that retain the others", async () => {
    const whole = [snapshot, gotIt, ...talk.slice(2), user("u3", "five")];
    const inCheckpoint = [{ $set: { messages: whole } }];
    const before = [snapshot, gotIt, { $set: { messages: whole } }];
    for (const records of [inCheckpoint, before]) {
      const imported = await read([header(), ...talk, ...records, reply("g3", "six")]);
      expect(rowsOf(imported)).toEqual([
        "summary: sum",
        "user: three",
        "assistant: four",
        "user: five",
        "assistant: six",
      ]);
      const compaction = imported.entries.find(({ type }) => type === "compaction");
      expect(compaction).toMatchObject({ tokensBefore: 125, retain: [{}, {}].map(() => expect.any(String)) });
      expect(compaction).toMatchObject({ firstKeptEntryId: compaction?.id });
    }
  });

  it("that drop messages without a summary are edits", async () => {
    const imported = await read([
      header(),
      user("u1", "one"),
      reply("g1", "", { toolCalls: [call("c1", [response("c1", "out")])] }),
      user("u2", "three"),
      { $set: { messages: [user("u2", "three")] } },
      user("u3", "four"),
    ]);
    expect(rowsOf(imported)).toEqual(["user: three", "user: four"]);
    expect(imported.entries.filter(({ type }) => type === "context_edit")).toHaveLength(3);
  });

  it("a rewind is a leaf before the message that it names; one to an unknown message drops all", async () => {
    const imported = await read([header(), ...talk, { $rewindTo: "u2" }, user("u3", "else")]);
    expect(rowsOf(imported)).toEqual(["user: one", "assistant: two", "user: else"]);
    const g1 = imported.entries.find(
      (entry) => entry.type === "message" && entry.message.role === "assistant",
    );
    expect(imported.entries.find(({ type }) => type === "leaf")).toMatchObject({
      parentId: g1?.id,
      targetId: g1?.id,
    });

    const end = await read([header(), ...talk, { $rewindTo: "u2" }]);
    expect(end.leafId).toBe(g1?.id);
    const none = await read([header(), ...talk, { $rewindTo: "unknown" }]);
    expect(none.leafId).toBe(null);
    const again = await read([header(), ...talk, { $rewindTo: "u1" }, user("u1", "anew")]);
    expect(rowsOf(again)).toEqual(["user: anew"]);
    expect(again.entries.filter(({ type }) => type === "message")).toHaveLength(5);
  });

  it("a rewind behind a compaction goes back to it, and drops what it retained", async () => {
    const compacted = [header(), ...talk, { $set: { messages: [snapshot, gotIt, ...talk.slice(2)] } }];
    const tail = [reply("g3", "five"), user("u4", "six")];
    expect(rowsOf(await read([...compacted, ...tail, { $rewindTo: "u4" }]))).toEqual([
      "summary: sum",
      "user: three",
      "assistant: four",
      "assistant: five",
    ]);
    expect(rowsOf(await read([...compacted, ...tail, { $rewindTo: "g2" }, user("u5", "else")]))).toEqual([
      "summary: sum",
      "user: three",
      "user: else",
    ]);
  });
});

describe("the files of a session", () => {
  const older = lines([header(), user("u1", "one")]);
  const newer = lines([
    header(),
    user("u1", "one"),
    reply("g1", "two"),
    { $set: { lastUpdated: "2026-11-22T11:00:00.000Z" } },
  ]);
  const begun = lines([
    header({ startTime: "2026-11-22T12:00:00.000Z", lastUpdated: "2026-11-22T12:00:00.000Z" }),
    { $set: { messages: [environment()] } },
  ]);

  it("the one that was updated last counts, but for those that have only been begun", async () => {
    const folder = "tmp/app/chats/";
    const files = [older, newer, begun].map((bytes, at) => [`${folder}session-${at}.jsonl`, bytes] as const);
    for (const order of [files, files.toReversed()]) {
      const imported = await read(Object.fromEntries(order));
      expect(rowsOf(imported)).toEqual(["user: one", "assistant: two"]);
      expect(imported.report.findings).toMatchObject([{ code: "superseded" }, { code: "superseded" }]);
    }
    // A question without a reply is content too.
    for (const order of [
      [begun, older],
      [older, begun],
    ]) {
      const named = order.map((bytes, at) => [`${folder}session-${at}.jsonl`, bytes] as const);
      expect(rowsOf(await read(Object.fromEntries(named)))).toEqual(["user: one"]);
    }
  });

  it("of version 0.26 are one JSON object, where responses stand once more in words", async () => {
    const messages = [
      user("u1", "go"),
      reply("g1", "", { toolCalls: [call("c1", [response("c1", "out", "read_file")])] }),
      { ...user("u2", ""), content: "[Function Response: read_file]<image/png>" },
    ];
    const bytes = new TextEncoder().encode(JSON.stringify({ ...header(), messages }, null, 2));
    const imported = await read({ [chatPath.replace(".jsonl", ".json")]: bytes });
    expect(rowsOf(imported)).toEqual([
      "user: go",
      "assistant: call c1",
      "result c1: out",
      "custom: [Function Response: read_file]<image/png>",
    ]);
  });

  it("are read by their content, whatever their names", async () => {
    const messages = [user("u1", "one"), reply("g1", "two")];
    const whole = { ...header(), messages };
    const contents = [
      lines([header(), ...messages]),
      lines([whole]),
      new TextEncoder().encode(JSON.stringify(whole)),
      new TextEncoder().encode(JSON.stringify(whole, null, 2)),
      new TextEncoder().encode(JSON.stringify(whole, null, "\t").replaceAll("\n", "\r\n")),
    ];
    for (const name of ["chat", "chat.txt", "chat.json", "chat.jsonl", "chat.json.bak"]) {
      for (const bytes of contents) {
        const imported = await importSession([{ path: name, bytes }], { from: [gemini] });
        expect(rowsOf(imported)).toEqual(["user: one", "assistant: two"]);
        expect(imported.header.id).toBe(chatId);
      }
    }
    const others = { "logs.json": "[]", "notes.txt": "words\n", "empty.jsonl": "", "x.bin": "\0\u0001" };
    const beside = Object.entries(others).map(
      ([path, text]) => [path, new TextEncoder().encode(text)] as const,
    );
    const imported = await read({
      [chatPath]: lines([header(), ...messages]),
      ...Object.fromEntries(beside),
    });
    expect(rowsOf(imported)).toEqual(["user: one", "assistant: two"]);
    expect(imported.report.findings.map(({ code }) => code)).toEqual(["unmapped"]);
  });

  it("tell the directory by its digest, in the registry, the chat and the environment", async () => {
    const hash = "7d4a3a9d1c5c6d1e";
    const told = environment("- **Workspace Directories:**\n  - /home/me/told\n- **Directory Structure:**");
    const registry = (projects: object) => new TextEncoder().encode(JSON.stringify({ projects }));
    const chat = lines([header({ projectHash: hash }), told, user("u1", "hi")]);
    expect((await read({ [chatPath]: chat })).header.cwd).toBe("/home/me/told");
    const named = await read({
      [chatPath]: chat,
      "projects.json": registry({ "/home/me/named": "app", "/x": "y" }),
    });
    expect(named.header.cwd).toBe("/home/me/named");
    // The SHA-256 of /home/me/told.
    const digest = "679eb6614d22bcd93c5cf7df15646029d740d472edb55707e4b781edac0649c9";
    const sure = lines([header({ projectHash: digest }), told, user("u1", "hi")]);
    const both = { [chatPath]: sure, "projects.json": registry({ "/home/me/named": "app" }) };
    expect((await read(both)).header.cwd).toBe("/home/me/told");
  });

  it("of subagents are child sessions, linked to their calls", async () => {
    const parent = lines([
      header(),
      reply("g1", "", {
        toolCalls: [
          call("c1", [response("c1", "found")], { agentId: "sub-1" }),
          call("c2", [response("c2", "lost")], { agentId: "sub-2" }),
        ],
      }),
    ]);
    const child = lines([
      header({ sessionId: "sub-1", kind: "subagent", directories: ["/w"] }),
      user("u1", "find it"),
      reply("g1", "found"),
    ]);
    const imported = await read({ [`tmp/app/chats/${chatId}/sub-1.jsonl`]: child, [chatPath]: parent });
    expect(imported.header.id).toBe(chatId);
    expect(imported.children.map(rowsOf)).toEqual([["user: find it", "assistant: found"]]);
    expect(imported.children[0]?.header).toMatchObject({ id: "sub-1", parentSession: chatId, cwd: "/w" });
    const links = imported.entries.filter(
      (entry) => entry.type === "custom" && entry.customType === "sessile.subagent",
    );
    expect(links).toMatchObject([{ data: { toolCallId: "c1", sessionId: "sub-1" } }]);
    expect(imported.report.findings.map(({ code }) => code)).toEqual(["missingChild"]);
    // Beside the chat no folder names its parent.
    const beside = await read({ "tmp/app/chats/session-sub.jsonl": child, [chatPath]: parent });
    expect(beside.children.map(({ header: { id, parentSession } }) => [id, parentSession])).toEqual([
      ["sub-1", chatId],
    ]);
  });
});
