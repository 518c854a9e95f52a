import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import {
  type AssistantMessage,
  assistantMessage,
  memorySessionStore,
  type StoredResource,
  userMessage,
} from "sessile";
import { fileSessionStore } from "sessile/node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { png } from "../attachments/samples.js";
import { messageOf } from "../support/providers/anthropic/replies.js";
import { startAnthropic } from "../support/providers/anthropic/server.js";
import { startProvider } from "../support/providers/local-server.js";
import { chat } from "./chat-agent.js";
import { html, label, lines, live, rename, standalone, use } from "./server-and-ui.js";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "sessile-api-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const reply = (text: string): AssistantMessage => assistantMessage({ provider: "p", model: "m" }, text);

describe("the chat agent", () => {
  const model = "claude-opus-5-5";
  const call = (id: string): Anthropic.ContentBlock => ({
    type: "tool_use",
    id,
    name: "look",
    input: {},
    caller: { type: "direct" },
  });
  const text = (text: string): Anthropic.ContentBlock => ({ type: "text", text, citations: null });

  async function talk(url: string, { warn = (_: string): void => undefined, window = 200_000 } = {}) {
    const image = join(dir, "screen.png");
    await writeFile(image, png());
    const client = new Anthropic({ apiKey: "none", baseURL: url, maxRetries: 0 });
    return await chat({ client, model, window, dir, cwd: "/work", image, warn });
  }

  const messagesOf = ({ body }: { readonly body: unknown }) =>
    (body as Anthropic.MessageCreateParams).messages;
  const imagesOf = (request: { readonly body: unknown }) =>
    JSON.stringify(messagesOf(request)).match(/"type":"image"/g)?.length ?? 0;

  // @covers R25 R136
  test("answers its tool calls, and goes on with the same session the next time", async () => {
    const script = [call("toolu_1"), text("one"), call("toolu_2"), text("two")];
    await using server = await startAnthropic(script.map((block) => ({ content: [block] })));
    const first = await talk(server.url);
    const second = await talk(server.url);
    expect(second.id).toBe(first.id);
    expect(server.requests.map((request) => messagesOf(request).length)).toEqual([1, 3, 5, 7]);
    // The model binds its reasoning to what it saw, so that the picture of the turn before stays as it was sent.
    expect(server.requests.map(imagesOf)).toEqual([1, 1, 2, 2]);
  });

  // @covers R21 R25
  test("compacts when its window is full, by asking the same model, and goes on from the summary", async () => {
    const window = 8_000;
    // About 800 tokens each by the estimate; the rest of the provider's count is beside the messages.
    const long = text("It may be the port. ".repeat(150));
    const usage = { input_tokens: 4_100 };
    await using server = await startAnthropic([
      { content: [long, call("toolu_1")] },
      { content: [long, call("toolu_2")] },
      { content: [long, call("toolu_3")] },
      { content: [long], usage },
      { content: [text("## Original Request\nFind what is wrong.")] },
      { content: [text("Still the port.")] },
    ]);
    await talk(server.url, { window });
    const session = await talk(server.url, { window });
    expect(server.requests.map((request) => messagesOf(request).length)).toEqual([1, 3, 5, 7, 1, 5]);
    const [asked, after] = server.requests.slice(4).map((request) => JSON.stringify(messagesOf(request)));
    expect(asked).toContain("<conversation>\\n[User]: What is wrong?");
    expect(after).toContain("## Original Request\\nFind what is wrong.");
    // The picture of the earlier turn is named in the summary, that of this one is in the request.
    expect(after).toMatch(/<covered-resources>.*- res_[0-9a-f]{16}, image screen.png, image\/png/);
    expect(server.requests.map(imagesOf)).toEqual([1, 1, 1, 1, 0, 1]);
    const { items } = await (
      await fileSessionStore({ dir: join(dir, "sessions") }).open(session.id)
    ).context();
    expect(items[0]?.origin).toBe("summary");
  });

  // @covers R27
  test("has the usage of every call in its log, that of the summary's too", async () => {
    const long = text("It may be the port. ".repeat(150));
    await using server = await startAnthropic([
      { content: [long, call("toolu_1")], usage: { input_tokens: 101, output_tokens: 11 } },
      { content: [long, call("toolu_2")], usage: { input_tokens: 202, output_tokens: 12 } },
      { content: [long, call("toolu_3")], usage: { input_tokens: 303, output_tokens: 13 } },
      { content: [long], usage: { input_tokens: 4_100, output_tokens: 14 } },
      { content: [text("## Original Request\nFind it.")], usage: { input_tokens: 505, output_tokens: 15 } },
      { content: [text("Still the port.")], usage: { input_tokens: 606, output_tokens: 16 } },
    ]);
    await talk(server.url, { window: 8_000 });
    const { location = "" } = await talk(server.url, { window: 8_000 });
    const used = (await readFile(location, "utf8"))
      .trimEnd()
      .split("\n")
      .flatMap((line) => {
        const { usage, message } = JSON.parse(line);
        return usage ?? message?.usage ?? [];
      });
    expect(server.requests).toHaveLength(6);
    expect(used.map(({ input, output }) => [input, output]).sort()).toEqual(
      [
        [101, 11],
        [202, 12],
        [303, 13],
        [4_100, 14],
        [505, 15],
        [606, 16],
      ].sort(),
    );
  });

  test("goes on after a refusal, without what was refused", async () => {
    await using server = await startProvider({
      breaches: (request) =>
        imagesOf(request) === 0
          ? []
          : [{ rule: "image", path: "messages.0.content.2", problem: "Could not process image" }],
      reply: () => ({ json: messageOf({ content: [text("It is gone.")] }, model, 0) }),
      refuse: ({ path, problem }) => ({
        json: { type: "error", error: { type: "invalid_request_error", message: `${path}: ${problem}` } },
      }),
    });
    await talk(server.url);
    expect(server.requests.map(imagesOf)).toEqual([1, 0]);
  });

  test("warns of a torn end, and loses nothing before it", async () => {
    await using server = await startAnthropic();
    const first = await talk(server.url);
    await appendFile(first.location ?? "", '{"type":"message","id":"torn');
    const warnings: string[] = [];
    await talk(server.url, { warn: (code) => warnings.push(code) });
    expect(warnings).toEqual(["TORN_LINE"]);
    expect(server.requests.map((request) => messagesOf(request).length)).toEqual([1, 3]);
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
    expect(lines(await session.tree())).toEqual(["custom", " custom"]);
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
    expect((await standalone()).value).toEqual({
      messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
    });
  });
});
