import { appendFileSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { userMessage } from "sessile/content";
import { buildSessionContext, evaluatePermission, memorySessionStore, parseSession } from "sessile/session";
import { fileSessionStore, openSessionFile } from "sessile/session/node";
import { sessionEntrySchema } from "sessile/session/schema";
import { describe, expect, test } from "vitest";
import { entryProblem } from "../../src/session/format/validate.js";
import { plainHeader, sessionEntry } from "../arbitraries/entries.js";
import { message } from "../arbitraries/messages.js";
import { text } from "../arbitraries/values.js";
import { temporaryDirectory } from "./node/temporary-directory.js";

/** Members whose strings come from a list, by the member that they stand in: another program's list can be longer. */
const open = new Set([
  "stopReason",
  "source",
  "action",
  "api",
  "mimeType",
  "mediaType",
  "thinkingLevel",
  "strategy",
]);
/** Those that a session's own writer holds to its list: they say how the rest of their object reads. */
const closed = new Set(["kind", "blob"]);

/** The value with each of these members replaced, at any depth, and how many there were. */
function replaced(
  value: unknown,
  names: ReadonlySet<string>,
  by: string,
): { readonly value: unknown; count: number } {
  let count = 0;
  const copy: unknown = JSON.parse(JSON.stringify(value), (key, member: unknown) => {
    if (!names.has(key) || typeof member !== "string") return member;
    count++;
    return by;
  });
  return { value: copy, count };
}

const encoder = new TextEncoder();
const head = { id: "00000001", parentId: null, timestamp: "2026-01-01T00:00:00.000Z" };
const loaded = (entry: unknown) =>
  parseSession(encoder.encode(`${JSON.stringify(plainHeader)}\n${JSON.stringify(entry)}\n`));

describe("a string of another vocabulary", () => {
  // @covers R109
  test("costs no message its place in the context, wherever it stands", () => {
    let seen = 0;
    fc.assert(
      fc.property(message, text, (message, by) => {
        const { value, count } = replaced(message, new Set([...open, ...closed]), by);
        if (count > 0) seen++;
        const before = loaded({ type: "message", ...head, message });
        const session = loaded({ type: "message", ...head, message: value });
        expect(session.diagnostics).toEqual([]);
        expect(session.entries.map(({ type }) => type)).toEqual(["message"]);
        expect(buildSessionContext(session).items).toHaveLength(buildSessionContext(before).items.length);
        if (count === 0) expect(session.entries).toEqual(before.entries);
      }),
      { numRuns: 1000 },
    );
    expect(seen).toBeGreaterThan(100);
  });

  test("leaves every entry what it was, for the check, the schema and the session", () => {
    fc.assert(
      fc.property(sessionEntry, text, (entry, by) => {
        const { value } = replaced(entry, open, by);
        expect(entryProblem(value)).toBeUndefined();
        expect(sessionEntrySchema.parse(value)).toEqual(value);
        const [read] = loaded({ ...(value as object), parentId: null }).entries;
        expect(read).toEqual({ ...(value as object), parentId: null });
      }),
      { numRuns: 1000 },
    );
  });

  test("costs a compaction nothing where it stands in the instructions that it carries", () => {
    const systemMessage = { role: "system", content: [{ type: "video", data: "x" }], timestamp: 1 };
    const entry = { type: "compaction", ...head, summary: "s", firstKeptEntryId: head.id, tokensBefore: 1 };
    const session = loaded({ ...entry, strategy: "of another", systemMessage });
    expect(session.entries).toMatchObject([{ type: "compaction", strategy: "of another" }]);
    expect(buildSessionContext(session).items.map(({ message }) => message.role)).toEqual([
      "system",
      "compactionSummary",
    ]);
  });

  test("is no excuse for a descriptor of another shape", () => {
    const resource = {
      resourceId: "res_0123456789abcdef",
      kind: "image",
      source: "upload",
      blob: "sha256:0",
    };
    const content = [{ type: "text", text: "a", resource }];
    const session = loaded({ type: "message", ...head, message: { role: "user", content, timestamp: 1 } });
    expect(session.diagnostics.map(({ code }) => code)).toEqual(["INVALID_FIELDS"]);
  });

  test("neither allows nor denies", () => {
    const rules = [
      { permission: "*", pattern: "*", action: "allow" },
      { permission: "bash", pattern: "*", action: "sandboxed" },
    ];
    expect(evaluatePermission(rules, "bash", "ls")).toBe("ask");
    expect(evaluatePermission(rules, "edit", "a")).toBe("allow");
  });

  test("can be appended, since replies are read from providers", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/work" });
    const reply = { role: "assistant", content: [], provider: "p", model: "m", timestamp: 1 } as const;
    await session.appendMessage({ ...reply, stopReason: "deferred" });
    await session.updateInfo({
      permission: [{ permission: "*", pattern: "*", action: "later" }],
      title: "t",
    });
    await session.updateInfo({ slug: "s" });
    const again = await store.open(session.id);
    expect((await again.context()).items).toMatchObject([{ message: { stopReason: "deferred" } }]);
    expect(again.info).toMatchObject({ permission: [{ action: "later" }], title: "t", slug: "s" });
  });

  test("stays in the file, and leaves model and results where they were", async () => {
    const store = fileSessionStore({ dir: temporaryDirectory() });
    const session = await store.create({ cwd: "/work" });
    await session.appendMessage(userMessage("read a"));
    await session.close();
    const path = session.location as string;
    const call = { type: "toolCall", id: "c", name: "read", arguments: { path: "a" } };
    const resource = {
      resourceId: "res_0123456789abcdef",
      kind: "video",
      source: "camera",
      mediaType: "video/mp4",
    };
    const asked = {
      role: "assistant",
      content: [call],
      provider: "p",
      model: "m",
      stopReason: "deferred",
      deferred: { id: "batch_1" },
      timestamp: 2,
    };
    const result = {
      role: "toolResult",
      toolCallId: "c",
      toolName: "read",
      content: [{ type: "text", text: "[video a.mp4]", resource }],
      isError: false,
      timestamp: 3,
    };
    const lines = [
      {
        type: "message",
        id: "0000000a",
        parentId: session.leafId,
        timestamp: head.timestamp,
        message: asked,
      },
      { type: "message", id: "0000000b", parentId: "0000000a", timestamp: head.timestamp, message: result },
    ].map((entry) => JSON.stringify(entry));
    appendFileSync(path, lines.map((line) => `${line}\n`).join(""));
    const read = await openSessionFile(path);
    expect((await read.turn()).model).toEqual({ provider: "p", modelId: "m" });
    expect(await read.toolStates()).toMatchObject([{ state: "completed", resultEntryId: "0000000b" }]);
    const { items } = await read.context();
    expect(items.map(({ message }) => message)).toMatchObject([
      {},
      asked,
      { content: [{ type: "text", text: "[video a.mp4]" }] },
    ]);
    expect(items[2]?.message).not.toHaveProperty("content.0.resource");
    const fork = await store.fork(session.id);
    expect(
      readFileSync(fork.location as string, "utf8")
        .split("\n")
        .slice(2, 4),
    ).toEqual(lines);
  });
});
