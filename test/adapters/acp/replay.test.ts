import * as acp from "@agentclientprotocol/sdk";
import fc from "fast-check";
import {
  assistantMessage,
  memoryBlobStore,
  memorySessionStore,
  type Session,
  type SessionStore,
  type TextBlock,
  toolResult,
  userMessage,
} from "sessile";
import { type AcpUpdate, acpReplay, acpSessionInfo } from "sessile/acp";
import { ingest } from "sessile/attachments";
import { openSessionFile } from "sessile/node";
import { afterEach, beforeEach, describe, expect, expectTypeOf, test, vi } from "vitest";
import { message } from "../../arbitraries/messages.js";
import { base64, bytesOf, png } from "../../attachments/samples.js";
import { fixture } from "../../support/fixtures.js";

const model = { provider: "anthropic", model: "claude-opus-5-5" };
const text = (shown: string) => ({ type: "text", text: shown });

/** The judge: the SDK's client refuses an update that its schema does not have, with a line on stderr. */
let refused: unknown[][];
beforeEach(() => {
  refused = [];
  vi.spyOn(console, "error").mockImplementation((...line: unknown[]) => refused.push(line));
});
afterEach(() => vi.restoreAllMocks());

async function collect(updates: AsyncIterable<AcpUpdate>): Promise<AcpUpdate[]> {
  const all: AcpUpdate[] = [];
  for await (const update of updates) all.push(update);
  return all;
}

/** The updates that the SDK's client receives for `session/load`, before the request is answered. */
async function loaded(session: Session, options?: Parameters<typeof acpReplay>[1]): Promise<unknown[]> {
  const received: unknown[] = [];
  const agent = acp.agent({ name: "agent" }).onRequest("session/load", async ({ params, client }) => {
    for await (const update of acpReplay(session, options))
      await client.notify("session/update", { sessionId: params.sessionId, update });
    return {};
  });
  const client = acp
    .client({ name: "editor" })
    .onNotification("session/update", ({ params }) => void received.push(params.update));
  await client.connectWith(agent, async (context) => {
    await context.request("session/load", { sessionId: session.id, cwd: "/work", mcpServers: [] });
  });
  return received;
}

describe("acpReplay", () => {
  test("shows a conversation with reasoning, calls, images and links in order", async () => {
    const blobs = memoryBlobStore();
    const session = await memorySessionStore({ blobs }).create({ cwd: "/work" });
    const shot = await ingest({ bytes: png(2, 3), name: "shot.png" }, { blobs });
    const notes = await ingest({ bytes: bytesOf("# Notes"), name: "notes.md" }, { blobs });
    const link = {
      resourceId: "res_00000000000000ff",
      kind: "link",
      source: "link",
      uri: "https://a.example/b",
    } as const;
    const entries = await session.append([
      { type: "message", message: { role: "system", content: "Be brief.", timestamp: 1 } },
      { type: "message", message: userMessage("What is wrong here?", shot, notes, link) },
      {
        type: "message",
        message: assistantMessage(
          model,
          { type: "thinking", thinking: "A look helps." },
          { type: "thinking", thinking: "", thinkingSignature: "sealed", redacted: true },
          { type: "text", text: "I look." },
          { type: "toolCall", id: "c1", name: "read", arguments: { path: "a.ts" } },
          { type: "toolCall", id: "c2", name: "bash", arguments: { command: "ls" } },
          { type: "toolCall", id: "c3", name: "never", arguments: {} },
        ),
      },
      {
        type: "message",
        message: { ...toolResult({ id: "c2", name: "bash" }, "no such file"), isError: true },
      },
      { type: "message", message: { ...toolResult({ id: "c1", name: "read" }, "1"), details: { lines: 1 } } },
      { type: "custom_message", customType: "x.note", content: "A note.", display: true },
      { type: "custom_message", customType: "x.secret", content: "Hidden.", display: false },
    ]);
    const [, user, reply, , , note] = entries.map(({ id }) => id) as [
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    const show = ({ name, arguments: given }: { name: string; arguments: unknown }) =>
      name === "read"
        ? {
            title: "Read a.ts",
            kind: "read" as const,
            locations: [{ path: (given as { path: string }).path }],
          }
        : {};
    const expected = [
      { sessionUpdate: "user_message_chunk", messageId: user, content: text("What is wrong here?") },
      {
        sessionUpdate: "user_message_chunk",
        messageId: user,
        content: { type: "image", data: base64(png(2, 3)), mimeType: "image/png" },
      },
      {
        sessionUpdate: "user_message_chunk",
        messageId: user,
        content: text(`[file notes.md, text/plain, 7 B, ${notes.resourceId}]`),
      },
      {
        sessionUpdate: "user_message_chunk",
        messageId: user,
        content: { type: "resource_link", uri: "https://a.example/b", name: "https://a.example/b" },
      },
      { sessionUpdate: "agent_thought_chunk", messageId: reply, content: text("A look helps.") },
      { sessionUpdate: "agent_message_chunk", messageId: reply, content: text("I look.") },
      {
        sessionUpdate: "tool_call",
        toolCallId: "c1",
        title: "Read a.ts",
        kind: "read",
        locations: [{ path: "a.ts" }],
        status: "pending",
        rawInput: { path: "a.ts" },
      },
      {
        sessionUpdate: "tool_call",
        toolCallId: "c2",
        title: "bash",
        status: "pending",
        rawInput: { command: "ls" },
      },
      { sessionUpdate: "tool_call", toolCallId: "c3", title: "never", status: "pending", rawInput: {} },
      { sessionUpdate: "tool_call_update", toolCallId: "c3", status: "failed" },
      {
        sessionUpdate: "tool_call_update",
        toolCallId: "c2",
        status: "failed",
        content: [{ type: "content", content: text("no such file") }],
        rawOutput: "no such file",
      },
      {
        sessionUpdate: "tool_call_update",
        toolCallId: "c1",
        status: "completed",
        content: [{ type: "content", content: text("1") }],
        rawOutput: { lines: 1 },
      },
      { sessionUpdate: "agent_message_chunk", messageId: note, content: text("A note.") },
    ];
    expect(await loaded(session, { blobs, show })).toEqual(expected);
    expect(refused).toEqual([]);
    // Without its bytes an image is its description.
    const [, image] = await collect(acpReplay(session));
    expect(image).toMatchObject({
      content: text(`[image shot.png, image/png, ${shot.size} B, ${shot.resourceId}]`),
    });
  });

  test("shows the messages before a compaction, and one branch", async () => {
    const session = await memorySessionStore().create({ cwd: "/work" });
    const first = await session.appendMessage(userMessage("one"));
    const kept = await session.appendMessage(userMessage("two"));
    await session.append([
      { type: "compaction", summary: "They count.", firstKeptEntryId: kept.id, tokensBefore: 9 },
    ]);
    await session.appendMessage(userMessage("three"));
    const other = await session.appendMessage(userMessage("other"), {});
    await session.branch(kept.id);
    await session.appendMessage(userMessage("four"));
    const shown = async (leafId?: string) =>
      (await collect(acpReplay(session, leafId === undefined ? {} : { leafId }))).map((update) =>
        "content" in update ? (update.content as { text?: string }).text : update.sessionUpdate,
      );
    expect(await shown()).toEqual(["one", "two", "four"]);
    expect(await shown(other.id)).toEqual(["one", "two", "three", "other"]);
    expect(await collect(acpReplay(session, { leafId: null }))).toEqual([]);
    await expect(collect(acpReplay(session, { leafId: "none" }))).rejects.toMatchObject({
      code: "ENTRY_NOT_FOUND",
    });
    expect(first.id).not.toBe(kept.id);
  });

  test("shows updated messages, and attachments of a reply", async () => {
    const blobs = memoryBlobStore();
    const session = await memorySessionStore({ blobs }).create({ cwd: "/work" });
    const shot = await ingest({ bytes: png(2, 3), name: "shot.png" }, { blobs });
    const [asked, reply] = await session.append([
      { type: "message", message: userMessage("Drow a squere.") },
      { type: "message", message: assistantMessage(model, { type: "text", text: "Dra" }) },
    ]);
    const [messageId, replyId] = [asked?.id as string, reply?.id as string];
    const [part] = userMessage(shot).content as [TextBlock];
    await session.append([
      { type: "message_update", targetId: messageId, message: userMessage("Draw a square.") },
      { type: "part_update", targetId: replyId, index: 0, part: { type: "text", text: "Drawn." } },
      { type: "part_update", targetId: replyId, index: 1, part },
    ]);
    const image = { type: "image", data: base64(png(2, 3)), mimeType: "image/png" };
    expect(await loaded(session, { blobs })).toEqual([
      { sessionUpdate: "user_message_chunk", messageId, content: text("Draw a square.") },
      { sessionUpdate: "agent_message_chunk", messageId: replyId, content: text("Drawn.") },
      { sessionUpdate: "agent_message_chunk", messageId: replyId, content: image },
    ]);
    expect(refused).toEqual([]);
  });

  test("gives each call an id of its own, and its result to the oldest", async () => {
    const session = await memorySessionStore().create({ cwd: "/work" });
    const call = { type: "toolCall", id: "call_0", name: "t", arguments: {} } as const;
    const drafts = [
      assistantMessage(model, call),
      toolResult({ id: "call_0", name: "t" }, "first"),
      assistantMessage(model, call),
      toolResult({ id: "call_0", name: "t" }, "second"),
      assistantMessage(model, call),
      toolResult({ id: "lost", name: "t" }, "third"),
    ].map((message) => ({ type: "message" as const, message }));
    await session.append(drafts);
    const shown = (await collect(acpReplay(session))).map((update) =>
      update.sessionUpdate === "tool_call_update"
        ? `${update.toolCallId} ${update.status} ${update.rawOutput ?? ""}`.trim()
        : "toolCallId" in update && update.toolCallId,
    );
    expect(shown).toEqual([
      "call_0",
      "call_0 completed first",
      "call_0#2",
      "call_0#2 completed second",
      "call_0#3",
      "call_0#3 failed",
      "lost",
      "lost completed third",
    ]);
  });

  test("shows a shell command as a call, failed if it was cancelled or its code is not 0", async () => {
    const session = await memorySessionStore().create({ cwd: "/work" });
    const run = (output: string, cancelled: boolean, exitCode?: number) => ({
      ...{ role: "bashExecution" as const, command: "ls", output, cancelled, truncated: false, timestamp: 1 },
      ...(exitCode === undefined ? {} : { exitCode }),
    });
    const ran = [run("a", false, 0), run("", false, 1), run("b", true, 0), run("c", false)];
    await session.append(ran.map((message) => ({ type: "message", message })));
    const shown = await collect(acpReplay(session));
    expect(shown.slice(0, 2)).toMatchObject([
      { sessionUpdate: "tool_call", title: "ls", kind: "execute", rawInput: { command: "ls" } },
      {
        ...{ sessionUpdate: "tool_call_update", status: "completed" },
        content: [{ type: "content", content: { type: "text", text: "a" } }],
        rawOutput: { output: "a", exitCode: 0 },
      },
    ]);
    expect(shown.flatMap((each) => (each.sessionUpdate === "tool_call_update" ? [each] : []))).toMatchObject([
      { status: "completed" },
      { status: "failed", content: [] },
      { status: "failed" },
      { status: "failed", rawOutput: { exitCode: null } },
    ]);
  });

  test("gives each result without a call a call of its own", async () => {
    const session = await memorySessionStore().create({ cwd: "/work" });
    const lone = { type: "message", message: toolResult({ id: "c", name: "read" }, "1") } as const;
    await session.append([lone, lone]);
    const ids = (await collect(acpReplay(session))).map(
      (update) => "toolCallId" in update && update.toolCallId,
    );
    expect(ids).toEqual(["c", "c", "c#2", "c#2"]);
  });

  test("shows a corrupt image as its description, and passes on a failure of the storage", async () => {
    const blobs = memoryBlobStore();
    const session = await memorySessionStore().create({ cwd: "/work" });
    const shot = await ingest({ bytes: png(2, 3), name: "a.png" }, { blobs });
    await session.appendMessage(userMessage(shot));
    await blobs.backend.delete(shot.blob);
    await blobs.backend.write(shot.blob, bytesOf("other"), {});
    expect(await collect(acpReplay(session, { blobs }))).toMatchObject([
      { content: { type: "text", text: expect.stringContaining("a.png") } },
    ]);
    const failure = new Error("disk");
    vi.spyOn(blobs, "get").mockRejectedValue(failure);
    await expect(collect(acpReplay(session, { blobs }))).rejects.toBe(failure);
  });

  test("the SDK's client takes every update of every session, as it was sent", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(message, { maxLength: 12 }), async (messages) => {
        const blobs = memoryBlobStore();
        const session = await memorySessionStore({ blobs }).create({ cwd: "/work" });
        await session.append(messages.map((message) => ({ type: "message", message })));
        const sent = await collect(acpReplay(session, { blobs }));
        const received = await loaded(session, { blobs });
        expect(refused).toEqual([]);
        expect(received).toEqual(JSON.parse(JSON.stringify(sent)));
        // Each call is announced once, then answered once.
        const calls = sent.flatMap((update) =>
          update.sessionUpdate === "tool_call" ? [update.toolCallId] : [],
        );
        const answers = sent.flatMap((update) =>
          update.sessionUpdate === "tool_call_update" ? [update.toolCallId] : [],
        );
        expect(new Set(calls).size).toBe(calls.length);
        expect([...answers].sort()).toEqual([...calls].sort());
      }),
      { numRuns: 20 },
    );
  });

  const pi = fixture("pi/large-session.v1.jsonl");
  test.skipIf(pi.absent !== undefined)(
    `the SDK's client takes a real session${pi.absent === undefined ? "" : ` (${pi.absent})`}`,
    async () => {
      const session = await openSessionFile(pi.path);
      const received = await loaded(session);
      expect(refused).toEqual([]);
      expect(received.length).toBeGreaterThan(100);
      await session.close();
    },
  );

  test("has the shapes of the SDK", () => {
    expectTypeOf<AcpUpdate>().toExtend<acp.SessionNotification["update"]>();
    expectTypeOf<ReturnType<typeof acpSessionInfo>>().toExtend<acp.SessionInfo>();
  });
});

describe("acpSessionInfo", () => {
  test("takes the title, else the name, else the start of the first message", () => {
    const summary = { id: "a", cwd: "/w", modified: "2026-05-04T10:00:00.000Z" };
    const title = (more: object) => acpSessionInfo({ ...summary, ...more } as never).title;
    const all = { title: "T", name: "N", firstMessage: "F" };
    expect([all, { ...all, title: "" }, { firstMessage: "F" }, {}].map(title)).toEqual([
      ...["T", "N", "F", undefined],
    ]);
    expect("title" in acpSessionInfo(summary as never)).toBe(false);
  });

  test("pages a list through the SDK's client", async () => {
    let time = Date.parse("2026-05-04T10:00:00.000Z");
    const sessions: SessionStore = memorySessionStore({ now: () => time });
    for (const id of ["a", "b", "c"]) {
      time += 1000;
      const session = await sessions.create({ cwd: "/work", id });
      await session.appendMessage(userMessage(`first of ${id}`));
      if (id === "b") await session.updateInfo({ title: "Titled" });
      await session.close();
    }
    const agent = acp.agent({ name: "agent" }).onRequest("session/list", async ({ params }) => {
      const rows: acp.SessionInfo[] = [];
      let nextCursor: string | null = null;
      for await (const summary of sessions.list({
        limit: 2,
        ...(params.cursor ? { after: params.cursor } : {}),
      })) {
        rows.push(acpSessionInfo(summary));
        nextCursor = summary.cursor;
      }
      return { sessions: rows, nextCursor: rows.length < 2 ? null : nextCursor };
    });
    const client = acp.client({ name: "editor" });
    const pages = await client.connectWith(agent, async (context) => {
      const first = await context.request("session/list", {});
      const second = await context.request("session/list", { cursor: first.nextCursor ?? null });
      return [first, second] as const;
    });
    expect(refused).toEqual([]);
    expect(pages.map(({ sessions }) => sessions)).toEqual([
      [
        { sessionId: "c", cwd: "/work", title: "first of c", updatedAt: "2026-05-04T10:00:03.000Z" },
        { sessionId: "b", cwd: "/work", title: "Titled", updatedAt: "2026-05-04T10:00:02.000Z" },
      ],
      [{ sessionId: "a", cwd: "/work", title: "first of a", updatedAt: "2026-05-04T10:00:01.000Z" }],
    ]);
  });
});
