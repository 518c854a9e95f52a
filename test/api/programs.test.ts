import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AssistantMessage, assistantMessage, type StoredResource, userMessage } from "sessile/content";
import { memorySessionStore } from "sessile/session";
import { fileSessionStore } from "sessile/session/node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { chat } from "./chat-agent.js";
import { html, label, lines, live, rename, standalone, use } from "./server-and-ui.js";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "sessile-api-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const reply = (text: string): AssistantMessage => assistantMessage({ provider: "p", model: "m" }, text);

describe("the chat agent", () => {
  test("answers its tool calls, and goes on with the same session the next time", async () => {
    const seen: number[] = [];
    const ask = async (context: { items: readonly unknown[] }) => {
      seen.push(context.items.length);
      const call = { type: "toolCall", id: `c${seen.length}`, name: "look", arguments: {} } as const;
      return seen.length % 2 === 1 ? assistantMessage({ provider: "p", model: "m" }, call) : reply("done");
    };
    const first = await chat(dir, "/work", ask, () => undefined);
    const second = await chat(dir, "/work", ask, () => undefined);
    expect(second.id).toBe(first.id);
    expect(seen).toEqual([1, 3, 5, 7]);
  });

  test("warns of a torn end, and loses nothing before it", async () => {
    const first = await chat(
      dir,
      "/work",
      async () => reply("one"),
      () => undefined,
    );
    await appendFile(first.location ?? "", '{"type":"message","id":"torn');
    const warnings: string[] = [];
    const seen: number[] = [];
    await chat(
      dir,
      "/work",
      async ({ items }) => {
        seen.push(items.length);
        return reply("two");
      },
      (code) => warnings.push(code),
    );
    expect(warnings).toEqual(["TORN_TAIL"]);
    expect(seen).toEqual([3]);
  });
});

describe("the server and its user interface", () => {
  test("rename while an agent has the session open, which then goes on", async () => {
    const sessions = fileSessionStore({ dir, durability: "os" });
    const agent = await sessions.create({ cwd: "/work" });
    await agent.appendMessage(userMessage("hi"));
    await rename(sessions, agent.id, "Named");
    await agent.appendMessage(reply("hello"));
    expect((await agent.context()).items).toHaveLength(2);
    expect(agent.info.name).toBe("Named");
    await agent.close();
    expect(await sessions.latest({ cwd: "/work" })).toMatchObject({ name: "Named", firstMessage: "hi" });
  });

  test("live entries reach a reader in another handle", async () => {
    const sessions = fileSessionStore({ dir, durability: "os" });
    const agent = await sessions.create({ cwd: "/work" });
    await agent.appendMessage(userMessage("before"));
    const stop = new AbortController();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const entry of live(sessions, agent.id, stop.signal)) {
        seen.push(label(entry));
        if (seen.length === 2) stop.abort();
      }
    })();
    const writing = setInterval(() => void agent.appendMessage(reply("after")), 20);
    await reading;
    clearInterval(writing);
    await agent.close();
    expect(seen).toEqual(["assistant", "assistant"]);
  });

  test("custom entries, the tree and attachments are readable", async () => {
    const session = await memorySessionStore().create({ cwd: "/work" });
    const [entry] = await session.append([{ type: "custom", customType: "todo", data: ["a", "b"] }]);
    if (entry === undefined) throw new Error("nothing was appended");
    expect(await use(session, entry)).toBe(2);
    expect(label(entry)).toBe("todo");
    expect(lines(session.tree)).toEqual(["custom", " custom"]);
    const resource: StoredResource = {
      resourceId: "res_0123456789abcdef",
      kind: "image",
      source: "upload",
      mediaType: "image/png",
      size: 14_210,
      blob: `sha256:${"0".repeat(64)}`,
      contentSha256: "0".repeat(64),
    };
    expect(html(userMessage("see", resource))).toEqual(["see", resource.blob]);
    expect(standalone().items.map((item) => item.entryId)).toEqual(["m0"]);
  });
});
