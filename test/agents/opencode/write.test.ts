import fc from "fast-check";
import {
  buildSessionContext,
  type Context,
  type EntryDraft,
  memoryBlobStore,
  memorySessionStore,
  parseSession,
  project,
} from "sessile";
import { type InteropFinding, importSession, type WriteSource } from "sessile/interop";
import { openaiChat } from "sessile/openai";
import { opencode } from "sessile/opencode";
import { describe, expect, it } from "vitest";
import { editedPath } from "../../../src/agents/edited-path.js";
import { collectFiles } from "../../../src/agents/export.js";
import { conversation, pathTo } from "../../arbitraries/conversations.js";
import { sessionOf } from "../../arbitraries/entries.js";
import { contextAt, hazardousSession } from "../../arbitraries/hazards.js";
import { rounds } from "../../support/rounds.js";
import { reduceRequest } from "../support/reduced.js";
import { sourceEntries } from "../support/written-steps.js";
import { type ExchangeFile, readExchange } from "./schema.js";
import { adopted, chatOf, comparable, richSession, writeSource } from "./sessions.js";

const maker = { provider: "anthropic", model: "claude-x", api: "anthropic-messages", signed: () => "c2ln" };

async function filesOf(source: WriteSource) {
  const { files, resume } = await opencode.write(source);
  return { files: await collectFiles(files), resume };
}

async function written(drafts: readonly object[], more: object = {}) {
  const blobs = memoryBlobStore();
  const session = await memorySessionStore({ blobs }).create({ cwd: "/srv/work" });
  const made = drafts.map((draft) =>
    "role" in draft ? { type: "message", message: { timestamp: 5, ...draft } } : draft,
  );
  if (made.length > 0) await session.append(made as EntryDraft[]);
  const findings: InteropFinding[] = [];
  const source = await writeSource(session, blobs, {
    find: (found: InteropFinding) => findings.push(found),
    ...more,
  });
  const { files, resume } = await filesOf(source);
  const value = readExchange(files[0]?.bytes ?? new Uint8Array());
  return { files, resume, value, findings, session, blobs };
}

const say = (content: unknown) => ({ role: "user", content });
const reply = (content: unknown, more: object = {}) => ({
  role: "assistant",
  provider: "p",
  model: "m",
  content,
  ...more,
});
const text = (content: string) => ({ type: "text", text: content });
const call = (id: string, input: unknown, more: object = {}) => ({
  type: "toolCall",
  id,
  name: "t",
  arguments: input,
  ...more,
});
const result = (id: string, content: readonly object[], more: object = {}) => ({
  role: "toolResult",
  toolCallId: id,
  toolName: "t",
  content,
  isError: false,
  ...more,
});
const codes = (findings: readonly InteropFinding[]) =>
  findings.map(({ code }) => code).filter((code) => code !== "id");
const partsOf = ({ messages }: ExchangeFile) => messages.flatMap(({ parts }) => parts);

describe("opencode", () => {
  it("writes a session that comes back with its context and its ids", async () => {
    const blobs = memoryBlobStore();
    const session = await richSession(blobs);
    const source = await writeSource(session, blobs);
    const { files, resume } = await filesOf(source);
    expect(resume).toEqual(["opencode", "import", files[0]?.path]);
    readExchange(files[0]?.bytes ?? new Uint8Array());
    const back = await adopted(files);
    expect(back.imported.header.id).toBe(session.header?.id);
    const kept = (entries: readonly { readonly type: string; readonly id: string }[]) =>
      entries
        .filter(({ type }) => ["message", "custom_message", "compaction"].includes(type))
        .map(({ id }) => id);
    expect(kept(back.imported.entries)).toEqual(kept(source.outline));
    expect(comparable(await chatOf(back.session, back.blobs))).toEqual(
      comparable(await chatOf(session, blobs)),
    );
  });

  it("repeats what a compaction keeps, since older versions know no tail", async () => {
    const { value } = await written([
      { ...say("old"), id: "old" },
      { type: "message", id: "kept", message: { role: "user", content: "kept", timestamp: 5 } },
      { type: "compaction", summary: "sum", firstKeptEntryId: "kept", tokensBefore: 1 },
      say("new"),
    ]);
    expect(
      value.messages
        .map(({ parts }) => parts[0])
        .map((part) => (part && "text" in part ? part.text : part?.type)),
    ).toEqual(["old", "kept", "compaction", "sum", "kept", "new"]);
    expect(value.messages[3]?.info).toMatchObject({ summary: true, finish: "stop" });
  });

  it("tells a reply that the provider declined from one that failed", async () => {
    const ended = async (more: object) => {
      const { value } = await written([
        reply([{ type: "text", text: "no" }], { stopReason: "error", ...more }),
      ]);
      return value.messages.at(-1)?.info;
    };
    expect(await ended({ refused: true })).toMatchObject({ finish: "content-filter" });
    expect(await ended({})).toMatchObject({ finish: "error" });
  });

  it("gives signatures back the form of the AI SDK, and reports others", async () => {
    const thinking = (thinkingSignature?: string) => ({
      type: "thinking",
      thinking: "so",
      ...(thinkingSignature === undefined ? {} : { thinkingSignature }),
    });
    const metadata = async (api: string, signature?: string) => {
      const { value, findings } = await written([reply([thinking(signature), text("x")], { api })]);
      const part = partsOf(value).find(({ type }) => type === "reasoning");
      return [part !== undefined && "metadata" in part ? part.metadata : undefined, codes(findings)];
    };
    expect(await metadata("anthropic-messages", "s")).toEqual([{ anthropic: { signature: "s" } }, []]);
    expect(await metadata("google-generative-ai", "g")).toEqual([{ google: { thoughtSignature: "g" } }, []]);
    expect(await metadata("ai-sdk/openrouter", '{"openrouter":{"a":1}}')).toEqual([
      { openrouter: { a: 1 } },
      [],
    ]);
    const item = JSON.stringify({ type: "reasoning", id: "rs_1", encrypted_content: "e", summary: [] });
    expect(await metadata("openai-responses", item)).toEqual([
      { openai: { itemId: "rs_1", reasoningEncryptedContent: "e" } },
      [],
    ]);
    expect(await metadata("bedrock-converse-stream", "b")).toEqual([undefined, ["reasoning"]]);
    expect(await metadata("anthropic-messages")).toEqual([undefined, []]);
  });

  it("wraps arguments that are no object, and takes them back", async () => {
    const { files, value } = await written([
      reply([call("c1", "text", { namespace: "n" }), call("c2", { a: 1 })]),
      result("c1", [text("one"), text("two")], { isError: true, details: { x: 1 } }),
    ]);
    const [first, second] = partsOf(value).flatMap((part) => (part.type === "tool" ? [part.state] : []));
    expect([first, second]).toMatchObject([
      { status: "error", error: "one\ntwo", input: { value: "text" } },
      { status: "pending", input: { a: 1 } },
    ]);
    const { entries } = (await adopted(files)).imported;
    const messages = entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
    expect(messages).toMatchObject([
      { content: [{ arguments: "text", namespace: "n" }, { arguments: { a: 1 } }] },
      { content: [{ text: "one" }, { text: "two" }], isError: true, details: { x: 1 } },
    ]);
  });

  it("names what has no home", async () => {
    const { findings } = await written([
      { type: "message", id: "x", message: { ...say("one"), timestamp: 5 } },
      { type: "label", targetId: "x", label: "l" },
      { type: "custom", customType: "acme.todo", data: 1 },
      { type: "thinking_level_change", thinkingLevel: "high" },
      reply([text("x"), { type: "opaque", data: {} }]),
      result("c9", [text("orphan")]),
    ]);
    expect(codes(findings)).toEqual(["entry", "entry", "entry", "opaque", "entry"]);
  });

  it("takes back notes, summaries, commands, names and errors, which have a place in metadata alone", async () => {
    const ran = { role: "bashExecution", command: "ls", output: "a", cancelled: false, truncated: false };
    const { files, findings, value } = await written([
      { ...say("hello"), name: "Ann" },
      { type: "branch_summary", fromId: "root", summary: "They tried.", details: { a: 1 } },
      { type: "custom_message", customType: "acme", content: "note", display: true, details: { b: 2 } },
      { ...ran, exitCode: 0, excludeFromContext: true },
      reply([text("x")], { stopReason: "error", errorMessage: "why" }),
      reply([text("y")], { stopReason: "aborted", errorMessage: "stopped" }),
      reply([{ type: "thinking", thinking: "hm" }], { stopReason: "aborted" }),
    ]);
    const { entries } = (await adopted(files)).imported;
    expect(entries.filter(({ type }) => type !== "custom").slice(0, 6)).toMatchObject([
      { message: { role: "user", content: "hello" } },
      { type: "branch_summary", fromId: "root", summary: "They tried.", details: { a: 1 } },
      { type: "custom_message", customType: "acme", content: "note", display: true, details: { b: 2 } },
      { message: { ...ran, exitCode: 0, excludeFromContext: true } },
      { message: { stopReason: "error", errorMessage: "why" } },
      { message: { stopReason: "aborted", errorMessage: "stopped" } },
    ]);
    expect(JSON.stringify(value.messages[0]?.parts)).toContain('"name":"Ann"');
    expect(JSON.stringify(value.messages[5]?.parts)).not.toContain("stopped");
    const last = value.messages.at(-1);
    expect(JSON.stringify(last)).toContain("MessageAbortedError");
    expect(findings.filter(({ code }) => code === "reasoning")).toEqual([
      {
        code: "reasoning",
        entryId: expect.any(String),
        text: "opencode does not send a stopped reply of reasoning alone",
      },
    ]);
  });

  it("moves times that are ahead of the clock, and says so once", async () => {
    const { findings, value } = await written([say("one"), say("two")], { now: () => 1000 });
    expect(findings.filter(({ code }) => code === "retimed")).toEqual([
      { code: "retimed", entryId: expect.any(String), text: expect.stringContaining("are moved") },
    ]);
    expect(value.messages.map(({ info }) => info.time.created)).toEqual([1000, 1000]);
  });

  it("names the models that it is told, for questions too", async () => {
    const { value } = await written([say("one"), reply([text("x")])], { modelFor: () => "acme/m2" });
    expect(value.messages.map(({ info }) => info)).toMatchObject([
      { model: { providerID: "acme", modelID: "m2" } },
      { providerID: "acme", modelID: "m2" },
    ]);
    const bare = await written([say("one"), reply([text("x")])], { modelFor: () => "m2" });
    expect(bare.value.messages[1]?.info).toMatchObject({ providerID: "p", modelID: "m2" });
  });

  it("asks each question of the model that replied, and the last one of the model in force", async () => {
    const asked = async (...drafts: readonly object[]) =>
      (await written(drafts)).value.messages.flatMap(({ info }) =>
        info.role === "user" ? [`${info.model.providerID} ${info.model.modelID}`] : [],
      );
    const turns = [say("one"), reply([text("x")]), say("two"), reply([text("y")], { model: "m2" })];
    expect(await asked(...turns, say("three"))).toEqual(["p m", "p m2", "p m2"]);
    const change = { type: "model_change", provider: "p3", modelId: "m3" };
    expect(await asked(...turns, change, say("three"))).toEqual(["p m", "p m2", "p3 m3"]);
    expect(await asked(say("one"))).toEqual(["unknown unknown"]);
  });

  it("names what a compaction keeps, whatever it begins with, and takes back what is there", async () => {
    const kept = (message: object) => ({
      type: "message",
      id: "kept",
      message: { timestamp: 5, ...message },
    });
    for (const first of [
      kept(say("kept")),
      kept(reply([{ type: "thinking", thinking: "hm" }])),
      { type: "custom_message", id: "kept", customType: "acme", content: "note", display: true },
    ]) {
      const { files } = await written([
        { type: "message", id: "old", message: { ...say("old"), timestamp: 5 } },
        first,
        say("later"),
        { type: "compaction", summary: "sum", firstKeptEntryId: "kept", tokensBefore: 1, retain: ["old"] },
      ]);
      const stored = new TextDecoder().decode(files[0]?.bytes as Uint8Array);
      const spoiled = stored.replace(/("retain":\s*\[\s*"old")/, '$1, "gone", 7');
      expect(spoiled).not.toBe(stored);
      const bytes = new TextEncoder().encode(spoiled);
      const { imported } = await adopted([{ path: files[0]?.path ?? "", bytes }]);
      expect(imported.entries.find(({ type }) => type === "compaction")).toMatchObject({
        ...{ summary: "sum", firstKeptEntryId: "kept", tokensBefore: 1, retain: ["old"] },
      });
    }
  });

  it("keeps what follows a stopped reply of reasoning alone, which is no message of an import", async () => {
    const message = (id: string, of: object) => ({ type: "message", id, message: { timestamp: 5, ...of } });
    const stopped = reply([{ type: "thinking", thinking: "hm" }], { stopReason: "aborted" });
    const { files } = await written([
      message("stopped", stopped),
      message("later", say("later")),
      { type: "compaction", summary: "sum", firstKeptEntryId: "stopped", tokensBefore: 1 },
    ]);
    const { imported } = await adopted(files);
    expect(imported.entries.find(({ type }) => type === "compaction")).toMatchObject({
      firstKeptEntryId: "later",
    });
  });

  it("writes children as files of their own, named by their calls", async () => {
    const child = await written([say("say hi")]);
    const childSource = await writeSource(child.session, child.blobs);
    const data = { toolCallId: "c1", sessionId: child.session.header?.id };
    const { files, value } = await written(
      [
        reply([call("c1", {})]),
        result("c1", [text("hi")]),
        { type: "custom", customType: "sessile.subagent", data },
      ],
      { children: [childSource] },
    );
    const other = readExchange((files[1] as { bytes: Uint8Array }).bytes);
    expect(other.info.parentID).toBe(value.info.id);
    const tool = partsOf(value).find(({ type }) => type === "tool");
    expect(tool).toMatchObject({ state: { metadata: { sessionId: other.info.id } } });
    const back = await importSession(files, { from: opencode });
    expect(back.children.map(({ header }) => header.id)).toEqual([child.session.header?.id]);
    expect(back.entries).toContainEqual(expect.objectContaining({ customType: "sessile.subagent", data }));
  });

  it("makes ids before those of new messages, though their clock begins anew every 795 days", async () => {
    const period = 2 ** 36;
    const idAt = (now: number) => (BigInt(now) * 4096n).toString(16).slice(-12);
    for (const now of [26 * period + 1000, 26 * period - 1000]) {
      const { value } = await written([say("one"), reply([text("two")])], { now: () => now });
      const ids = value.messages.map(({ info }) => info.id.slice(4, 16));
      expect(ids.every((id) => id < idAt(now))).toBe(true);
      expect(value.messages.every(({ info }) => info.time.created <= now)).toBe(true);
    }
  });

  it("gives each leaf a session of its own, and the same one each time", async () => {
    const { session, blobs, value } = await written([say("one"), say("two")]);
    const source = await writeSource(session, blobs);
    const again = await opencode.write(source);
    expect(again.files[0]?.path).toBe(`${value.info.id}.json`);
    const other = await opencode.write({
      ...source,
      leafId: source.outline[0]?.id ?? null,
      outline: source.outline.slice(0, 1),
    });
    expect(other.files[0]?.path).not.toBe(`${value.info.id}.json`);
  });

  it("writes the time of reasoning as an integer that opencode takes", async () => {
    for (const timestamp of [Number.MAX_SAFE_INTEGER + 1, 1e300, -1, 0.5]) {
      const content = [{ type: "thinking", thinking: "I look." } as const];
      const reply = { role: "assistant", content, provider: "p", model: "m", timestamp } as const;
      const session = await memorySessionStore().create({ cwd: "/w" });
      await session.append([{ type: "message", message: reply }]);
      const { files } = await filesOf(await writeSource(session, memoryBlobStore()));
      expect(files).toHaveLength(1);
      readExchange(files[0]?.bytes ?? new Uint8Array());
    }
  });

  it("writes any session so that opencode takes it, and reads it back without a throw", async () => {
    await fc.assert(
      fc.asyncProperty(conversation(12), async ({ entries }) => {
        const { entries: path } = parseSession(sessionOf(entries).text);
        const blobs = memoryBlobStore();
        const session = await memorySessionStore({ blobs }).create({ cwd: "/w" });
        const source = await writeSource(session, blobs, {
          ...sourceEntries(editedPath(path).path),
          media: async () => undefined,
        });
        const { files } = await filesOf(source);
        readExchange(files[0]?.bytes ?? new Uint8Array());
        await importSession(files, { from: opencode });
      }),
      { numRuns: rounds(30, 1000) },
    );
  });

  it("gives the calls, texts and results of a hazardous session's context back, in order", async () => {
    await fc.assert(
      fc.asyncProperty(hazardousSession(12, [maker]), async ({ entries, blobs }) => {
        const store = memoryBlobStore();
        const session = await memorySessionStore({ blobs: store }).create({ cwd: "/w" });
        const last = entries.at(-1)?.id ?? null;
        const source = await writeSource(session, store, {
          ...sourceEntries(editedPath(pathTo(entries, last)).path),
          media: async () => undefined,
        });
        const { files } = await filesOf(source);
        readExchange(files[0]?.bytes ?? new Uint8Array());
        const back = await importSession(files, { from: opencode, keep: "none" });
        const { text } = sessionOf(back.entries);
        const context = buildSessionContext(parseSession(text), back.leafId);
        expect(await saidIn(context)).toEqual(await saidIn(contextAt({ entries, blobs })));
      }),
      { numRuns: rounds(30, 1000) },
    );
  });
});

/** The calls, the ids of results and a model's words in the request of a context. */
async function saidIn(context: Context): Promise<readonly unknown[]> {
  const target = openaiChat({ model: "m1", provider: "scripted" });
  const blobs = { get: async () => undefined };
  const { value } = await project(context, target, { blobs, replay: () => "describe" });
  return reduceRequest(value).flatMap((message): readonly unknown[] => {
    if ("call" in message) return [[message.call, message.name]];
    if ("result" in message) return [message.result];
    return "text" in message && message.role === "assistant" ? (message.text.match(/w\d+w/g) ?? []) : [];
  });
}
