import {
  assistantMessage,
  asUserMessage,
  blobStore,
  contextFrom,
  memoryBlobStore,
  memorySessionStore,
  project,
  sessionStore,
  toBody,
  toolResult,
  userMessage,
} from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { ingest } from "sessile/attachments";
import { compact, rollingSummary } from "sessile/compaction";
import { SessileError } from "sessile/errors";
import { fileBlobStore, fileSessionStore, openFolder, openSessionFile, readLocalFile } from "sessile/node";
import { openaiResponses } from "sessile/openai";
import { anthropicModel, openaiChatModel, runTurn } from "sessile/turn";
import { describe, expect, test } from "vitest";

// Calls as a first program makes them: past the compiler.
const call = (fn: unknown, ...args: readonly unknown[]): unknown =>
  (fn as (...given: readonly unknown[]) => unknown)(...args);

const blobs = memoryBlobStore();
const sessions = memorySessionStore();
const session = await sessions.create({ cwd: "/w" });
const context = contextFrom([userMessage("hi")]);
const model = { model: "claude-opus-5-5" };
const target = anthropicMessages(model);
const client = { messages: { create: () => {} } };
const turnModel = anthropicModel(client as never, model);

async function errorOf(act: () => unknown): Promise<Error> {
  try {
    await act();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
}

describe("a wrong call names the argument, and what to give", () => {
  test.each<[string, () => unknown]>([
    ["got { path }: read it with readLocalFile first", () => call(ingest, { path: "/a.png" }, { blobs })],
    ['got "/a.png": read a file with readLocalFile first', () => call(ingest, "/a.png", { blobs })],
    ["give { dataUrl } or { link }", () => call(ingest, "data:image/png;base64,AA==", { blobs })],
    ["got bytes: give { bytes }", () => call(ingest, new Uint8Array(3), { blobs })],
    [
      "give { bytes: new Uint8Array(await it.arrayBuffer()) }",
      () => call(ingest, new Response("a"), { blobs }),
    ],
    [
      "source: expected { bytes }, { dataUrl }, { link } or a known block, got { url }",
      () => call(ingest, { url: "a" }, { blobs }),
    ],
    ["blobs: expected a blob store, got undefined", () => call(ingest, { bytes: new Uint8Array(3) })],
    ['options: expected { dir }, got "./sessions"', () => call(fileSessionStore, "./sessions")],
    ["options: expected { dir }, got undefined", () => call(fileBlobStore)],
    ["path: expected a non-empty string, got an object", () => call(openFolder, { dir: "a" })],
    ["backend: expected a backend of sessions, got undefined", () => call(sessionStore)],
    ["backend: expected a backend of blobs, got undefined", () => call(blobStore)],
    ["options: expected { cwd }, got undefined", () => call(sessions.create.bind(sessions))],
    ["id: expected a non-empty string, got undefined", () => call(sessions.open.bind(sessions))],
    [
      "options: expected { text }, got undefined",
      () =>
        call(async () => {
          for await (const _ of sessions.search(undefined as never)) break;
        }),
    ],
    ['drafts: expected an array of entry drafts, got "hi"', () => session.append("hi" as never)],
    ["id: expected the id of an entry, got undefined", () => session.branch(undefined as never)],
    ["id: expected the id of an entry, got an object", () => session.entry({} as never)],
    ["text: expected a string, got an object", () => session.editMessage("a", userMessage("b") as never)],
    [
      "options: expected { attachments, id, signal }, got null",
      () => session.editMessage("a", "b", null as never),
    ],
    [
      "attachments: expected an array of resources, got an object",
      () => session.editMessage("a", "b", { attachments: {} as never }),
    ],
    [
      "attachments[0]: expected a resource, got an object",
      () => session.editMessage("a", "b", { attachments: [{} as never] }),
    ],
    ["options: expected { provider, model }, got undefined", () => session.reply(undefined as never)],
    ["options: expected { signal }, got undefined", () => session.follow(undefined as never)],
    [
      "context: expected a context, got an object: give await session.context()",
      () => call(project, session, target),
    ],
    [
      "context: expected a context, got a promise: await it first",
      () => call(project, session.context(), target),
    ],
    [
      "context: expected a context, got an array of 1: give contextFrom(messages)",
      () => call(project, [userMessage("a")], target),
    ],
    [
      'target: expected a target, such as anthropicMessages({ model }), got "claude"',
      () => call(project, context, "claude"),
    ],
    [
      'blobs: expected a blob store, got "./blobs"',
      () => call(project, context, target, { blobs: "./blobs" }),
    ],
    ["projection: expected what project resolves to, got an object", () => call(toBody, { messages: [] })],
    ["model: expected a non-empty string, got undefined", () => call(anthropicMessages)],
    ["model: expected a non-empty string, got undefined", () => call(openaiResponses, "gpt")],
    [
      "parts[0]: expected a string, a resource or a text block, got a promise: await it first",
      () => call(userMessage, Promise.resolve("a")),
    ],
    ['call: expected the call, with its id and name, got "c1"', () => call(toolResult, "c1", "a")],
    ['init: expected { provider, model }, got "hi"', () => call(assistantMessage, "hi")],
    ['messages: expected an array of messages, got "hi"', () => call(contextFrom, "hi")],
    [
      "source: expected a Uint8Array or an async iterable of them, got a promise: await it first",
      () => call(blobs.put.bind(blobs), Promise.resolve(new Uint8Array(1))),
    ],
    [
      "model: expected a model, such as anthropicModel(client, { model }), got an object",
      () => call(runTurn, session, { model: client }),
    ],
    ["options: expected { model }, got undefined", () => call(runTurn, session)],
    [
      "session: expected an open session, got a promise: await it first",
      () =>
        call(
          runTurn,
          sessions.open("a").catch(() => {}),
          { model: turnModel },
        ),
    ],
    [
      "tools: expected an array of tools, got an object",
      () => call(runTurn, session, { model: turnModel, tools: {} }),
    ],
    [
      'tools: expected parameters and run of "read", got undefined and undefined',
      () => call(runTurn, session, { model: turnModel, tools: [{ name: "read" }] }),
    ],
    [
      "client: expected the official client, with messages.create, got an object",
      () => call(anthropicModel, model),
    ],
    ["options: expected { model }, got undefined", () => call(anthropicModel, client)],
    [
      "client: expected the official client, with chat.completions.create, got undefined",
      () => call(openaiChatModel),
    ],
    [
      "options: expected { strategy, generate }, such as rollingSummary() and generateBy(model)",
      () => call(compact, session, {}),
    ],
    [
      "options: expected { strategy, generate }, such as rollingSummary() and generateBy(model)",
      () => call(compact, session, { strategy: rollingSummary() }),
    ],
  ])("%s", async (text, act) => {
    const error = await errorOf(act);
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toContain(text);
  });

  test.each<[string, string, () => unknown]>([
    ["FILE_REFUSED", "a.png: it is not absolute: give `resolve(path)`", () => readLocalFile("a.png")],
    [
      "SESSION_NOT_FOUND",
      "there is no session /a/b.jsonl: openSessionFile opens a path",
      () => sessions.open("/a/b.jsonl"),
    ],
    ["SESSION_NOT_FOUND", "there is no file /nope.jsonl", () => openSessionFile("/nope.jsonl")],
    [
      "INVALID_ENTRY",
      "this one is a message: call appendMessage",
      () => session.append([userMessage("a")] as never),
    ],
    ["INVALID_ENTRY", "message: expected a message", () => session.appendMessage("a" as never)],
    ["ENTRY_NOT_FOUND", 'no entry has the id "none"', () => session.editMessage("none", "a")],
    [
      "LINK_REFUSED",
      "a link to a file needs the option readFile",
      () => call(ingest, { type: "resource_link", uri: "file:///a", name: "a" }, { blobs }),
    ],
    ["INVALID_MESSAGE", 'message: expected an object, got "a"', () => asUserMessage("a")],
  ])("%s: %s", async (code, text, act) => {
    const error = await errorOf(act);
    expect(error).toBeInstanceOf(SessileError);
    expect(error).toMatchObject({ code, message: expect.stringContaining(text) });
  });
});
