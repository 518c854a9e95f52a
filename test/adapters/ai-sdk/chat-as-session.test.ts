/** A chat of `useChat` is a session like any other: for the command line, for providers and for other writers. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UIMessage } from "ai";
import { assistantMessage, project, type Session, toolResult, userMessage } from "sessile";
import { aiSdkChats } from "sessile/ai-sdk";

import { anthropicMessages } from "sessile/anthropic";
import { resourcesIn } from "sessile/attachments";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { openaiResponses } from "sessile/openai";
import { afterAll, describe, expect, it } from "vitest";
import { makePng } from "../../../examples/apps/support/make-media.js";
import { conversationRows } from "../../../src/viewer/model/rows.js";
import { SessionModel } from "../../../src/viewer/model/session-model.js";
import { call } from "../../cli/call.js";

const home = mkdtempSync(join(tmpdir(), "sessile-chat-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Fewer characters than stay in a log in other places. */
const image = `data:image/png;base64,${Buffer.from(makePng(20, 10)).toString("base64")}`;
const chat: UIMessage[] = [
  {
    id: "u1",
    role: "user",
    metadata: { sentAt: 1 },
    parts: [
      { type: "file", mediaType: "image/png", filename: "tower.png", url: image },
      { type: "text", text: "Which marmalade tower is this?" },
    ],
  },
  {
    id: "a1",
    role: "assistant",
    parts: [
      { type: "step-start" },
      { type: "reasoning", text: "I look it up.", state: "done" },
      {
        type: "tool-find",
        toolCallId: "c1",
        state: "output-available",
        input: { q: "tower" },
        output: { name: "Torre" },
      },
      { type: "step-start" },
      { type: "text", text: "The Torre in Pisa.", state: "done" },
      { type: "data-card", data: { rating: 5 } } as UIMessage["parts"][number],
    ],
  },
];

function open(name: string) {
  const dir = join(home, name, ".sessile");
  const sessions = fileSessionStore({ dir: join(dir, "sessions") });
  const blobs = fileBlobStore({ dir });
  return { sessions, blobs, cwd: join(home, name), chats: aiSdkChats<UIMessage>({ sessions, blobs }) };
}

async function sessionOf({ sessions }: ReturnType<typeof open>): Promise<Session> {
  const summary = await sessions.latest({ partition: "ai-sdk" });
  return sessions.open(summary ?? "none", { partition: "ai-sdk", mode: "write" });
}

describe("a chat that was saved", () => {
  it("is shown, found, counted and viewed by the command line, with its image", async () => {
    const stores = open("command-line");
    await stores.chats.save({ chatId: "c", messages: chat });
    expect(await stores.chats.load("c")).toEqual(chat);
    await stores.chats.close();
    const path = (await sessionOf(stores)).location as string;
    expect(readFileSync(path, "utf8")).not.toContain(image.slice(30, 80));

    const shown = await call(["show", path], { cwd: stores.cwd });
    for (const text of ["Which marmalade tower", "tower.png", "find", "Torre", "The Torre in Pisa."])
      expect(shown.stdout).toContain(text);
    expect(shown.stdout).not.toContain("difference");
    const found = await call(["search", "marmalade", "--dir", join(path, ".."), "--json"], {
      cwd: stores.cwd,
    });
    expect(found.json).toMatchObject([{ role: "user" }, { role: "session_info" }]);
    const [stats] = (await call(["stats", path, "--json"], { cwd: stores.cwd })).json;
    expect(JSON.stringify(stats)).toContain('"toolCalls":1');
    for (const target of ["anthropic", "openai"]) {
      const body = join(stores.cwd, `${target}.json`);
      const words = ["project", path, "--target", target, "--model", "m", "-o", body];
      const sent = await call(words, { cwd: stores.cwd });
      // Reasoning of another model is left out, which is a loss.
      expect(sent).toMatchObject({ code: 1, stdout: expect.not.stringContaining("missing") });
      expect(readFileSync(body, "utf8")).toContain("Which marmalade tower");
      expect(readFileSync(body, "utf8")).toContain(image.slice(-60));
    }
    const session = await sessionOf(stores);
    const data = {
      key: "c",
      header: session.header,
      leafId: session.leafId,
      diagnostics: { total: 0, listed: [] },
    };
    const rows = conversationRows(new SessionModel(data, await session.path()), session.leafId);
    expect(rows.map(({ kind }) => kind)).toEqual(["note", "user", "assistant", "assistant"]);
  });

  it("goes to any provider with its image, and each call with its result", async () => {
    const stores = open("providers");
    await stores.chats.save({ chatId: "c", messages: chat });
    const session = await sessionOf(stores);
    const context = await session.context();
    expect(context.items.map(({ message }) => message.role)).toEqual([
      "user",
      "assistant",
      "toolResult",
      "assistant",
    ]);
    expect(resourcesIn(context).length).toBe(1);
    for (const target of [
      anthropicMessages({ model: "claude-opus-5-5" }),
      openaiResponses({ model: "gpt-5.5" }),
    ]) {
      const { value } = await project(context, target as ReturnType<typeof anthropicMessages>, {
        blobs: stores.blobs,
      });
      expect(JSON.stringify(value)).toContain(image.slice(-60));
    }
  });

  it("shows what other writers appended, and a save of all of it writes the new message alone", async () => {
    const stores = open("writers");
    await stores.chats.save({ chatId: "c", messages: chat });
    const session = await sessionOf(stores);
    await session.appendMessage(userMessage("And how high is it?"));
    const model = { provider: "anthropic", model: "m" };
    const measure = { type: "toolCall", id: "c2", name: "measure", arguments: {} } as const;
    await session.appendMessage(assistantMessage(model, measure));
    await session.appendMessage(toolResult(measure, "56 m"));
    await session.appendMessage(assistantMessage(model, "56 metres."));
    await session.close();
    const loaded = await stores.chats.load("c");
    expect(loaded.slice(0, 2)).toEqual(chat);
    expect(loaded.slice(2).map(({ role, parts }) => [role, parts.map(({ type }) => type).join()])).toEqual([
      ["user", "text"],
      ["assistant", "step-start,tool-measure,step-start,text"],
    ]);
    const next: UIMessage = { id: "u2", role: "user", parts: [{ type: "text", text: "Thanks." }] };
    expect(await stores.chats.save({ chatId: "c", messages: loaded })).toMatchObject({ written: 0 });
    expect(await stores.chats.save({ chatId: "c", messages: [...loaded, next] })).toMatchObject({
      written: 1,
    });
    expect(await stores.chats.load("c")).toEqual([...loaded, next]);
    // An edit of the other writer's question is a branch from before it.
    const edited = { ...loaded[2], parts: [{ type: "text", text: "Who built it?" }] } as UIMessage;
    await stores.chats.save({ chatId: "c", messages: [...chat, edited] });
    expect(await stores.chats.load("c")).toEqual([...chat, edited]);
    await stores.chats.save({ chatId: "c", messages: [...loaded, next] });
    expect(await stores.chats.load("c")).toEqual([...loaded, next]);
  });

  it("that is compacted loads whole, and the model gets the summary", async () => {
    const stores = open("compacted");
    await stores.chats.save({ chatId: "c", messages: chat });
    const session = await sessionOf(stores);
    const firstKeptEntryId = session.leafId as string;
    await session.append([{ type: "compaction", summary: "A tower.", firstKeptEntryId, tokensBefore: 100 }]);
    expect((await session.context()).items.length).toBe(2);
    expect(await stores.chats.load("c")).toEqual(chat);
  });
});
