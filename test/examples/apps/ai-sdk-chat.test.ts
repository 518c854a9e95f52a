import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { DefaultChatTransport, type FileUIPart, generateId, type UIMessage } from "ai";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openChat, PlainChat, textOf } from "../../../examples/apps/ai-sdk-chat/client.js";
import { chatTools, scriptedModel } from "../../../examples/apps/ai-sdk-chat/script.js";
import { startChatServer } from "../../../examples/apps/ai-sdk-chat/server.js";
import { makePng } from "../../../examples/apps/support/make-media.js";
import { root } from "../../../scripts/entries.mjs";
import { runsSources } from "../support/programs.js";

// Each takes a second or two on an idle machine.

let dir: string;
let server: ServerProcess;

interface ServerProcess {
  readonly child: ChildProcess;
  readonly url: string;
}

/** Starts the program on the directory. */
async function startServer(): Promise<ServerProcess> {
  const child = spawn(process.execPath, [...runsSources, "examples/apps/ai-sdk-chat/main.ts"], {
    cwd: root,
    env: { PATH: process.env.PATH, SESSILE_DIR: dir },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  for await (const chunk of child.stdout) {
    output += String(chunk);
    if (output.includes("everything is in")) break;
  }
  return { child, url: output.split("\n")[0] ?? "" };
}

async function kill({ child }: ServerProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "sessile-ai-sdk-chat-"));
  server = await startServer();
});

afterAll(async () => {
  await kill(server, "SIGTERM");
  rmSync(dir, { recursive: true, force: true });
});

const open = (id: string) => openChat(server.url, id);

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 120_000; !(await isTrue()); await setTimeout(10)) {
    if (Date.now() > end) throw new Error("it did not come true in 120 s");
  }
}

/** Until a good part of the story is there. */
const untilTold = (chat: PlainChat, words = 20) =>
  until(() => textOf(chat.messages.at(-1)).split(" ").length > words);

const stop = (id: string) => fetch(`${server.url}/api/chat/${id}/stream`, { method: "DELETE" });

const texts = (chat: PlainChat) => chat.messages.map((message) => textOf(message));

/** As JSON has it: members that are undefined are absent. */
const plain = (messages: readonly UIMessage[]) => JSON.parse(JSON.stringify(messages)) as UIMessage[];

function imageOf(width: number, height: number, filename = "shot.png"): FileUIPart {
  const data = Buffer.from(makePng(width, height)).toString("base64");
  return { type: "file", mediaType: "image/png", filename, url: `data:image/png;base64,${data}` };
}

function sessionFile(id: string, of = dir, end = ".jsonl"): string {
  // The directory is created with the first session.
  mkdirSync(join(of, "sessions"), { recursive: true });
  const names = readdirSync(join(of, "sessions"), { recursive: true, encoding: "utf8" });
  const name = names.find((one) => one.endsWith(end) && one.includes(id));
  return name === undefined ? "" : readFileSync(join(of, "sessions", name), "utf8");
}

const post = (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${server.url}/api/chat`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

describe("the demo", () => {
  it("ends well, with every check, and leaves nothing behind", async () => {
    const run = await new Promise<{ code: number | null; stdout: string; stderr: string }>((done) => {
      const child = execFile(
        process.execPath,
        [...runsSources, "examples/apps/ai-sdk-chat/demo.ts"],
        { cwd: root, env: { PATH: process.env.PATH, TMPDIR: dir } },
        (_error, stdout, stderr) => done({ code: child.exitCode, stdout, stderr }),
      );
    });
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).not.toContain("FAIL");
    expect(run.stdout.match(/^ok {3}/gm)).toHaveLength(7);
    expect(readdirSync(dir).filter((name) => name.startsWith("sessile-chat-"))).toEqual([]);
  });
});

describe("a chat of useChat", () => {
  it("streams a reply, and shows the same messages after a reload", async () => {
    const chat = await open("first");
    expect(chat.messages).toEqual([]);
    await chat.sendMessage({ text: "Hello." });
    expect([chat.status, chat.error]).toEqual(["ready", undefined]);
    await chat.sendMessage({ text: "And again." });
    expect(texts(chat)).toEqual([
      "Hello.",
      "You said 1 things; I see no images.",
      "And again.",
      "You said 2 things; I see no images.",
    ]);
    expect((await open("first")).messages).toEqual(plain(chat.messages));
  });

  it("shows text as it comes", async () => {
    const chat = await open("piecemeal");
    const sent = chat.sendMessage({ text: "Tell me a story." });
    await untilTold(chat);
    expect(chat.status).toBe("streaming");
    expect(textOf(chat.messages.at(-1))).not.toContain("day 3000");
    await stop("piecemeal");
    await sent;
  });

  it("lists the chats, newest first", async () => {
    const chat = await open("listed");
    await chat.sendMessage({ text: "What is a limpet?" });
    const [newest] = (await (await fetch(`${server.url}/api/chat`)).json()) as unknown[];
    expect(newest).toMatchObject({ id: "listed", title: "What is a limpet?" });
  });

  it("takes only the last message too, as prepareSendMessagesRequest may send it", async () => {
    const transport = new DefaultChatTransport<UIMessage>({
      api: `${server.url}/api/chat`,
      prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) => ({
        body: { id, messages: messages.slice(-1), trigger, messageId },
      }),
    });
    const chat = new PlainChat({ id: "short", transport });
    await chat.sendMessage({ text: "One." });
    await chat.sendMessage({ text: "Two." });
    expect(texts(chat).at(-1)).toBe("You said 2 things; I see no images.");
    expect((await open("short")).messages).toEqual(plain(chat.messages));
  });
});

describe("tools", () => {
  it("run between two steps of one message, which is the same after a reload", async () => {
    const chat = await open("tools");
    await chat.sendMessage({ text: 'Count the words of "one two three".' });
    const [, reply] = chat.messages;
    expect(reply?.parts.map(({ type }) => type)).toEqual([
      "step-start",
      "tool-count_words",
      "step-start",
      "text",
    ]);
    expect(reply?.parts[1]).toMatchObject({
      state: "output-available",
      input: { text: "one two three" },
      output: "3",
    });
    expect(textOf(reply)).toBe("The tool said: 3.");
    expect((await open("tools")).messages).toEqual(plain(chat.messages));
    await chat.sendMessage({ text: "Thanks." });
    expect(texts(chat).at(-1)).toBe("You said 2 things; I see no images.");
  });

  it("fail with an error that the model and the page see", async () => {
    const chat = await open("toolfailure");
    await chat.sendMessage({ text: 'Count the words of " ".' });
    const [, reply] = chat.messages;
    const errorText = "the text has no words";
    expect(reply?.parts[1]).toMatchObject({ state: "output-error", errorText });
    expect(textOf(reply)).toBe(`The tool said: ${errorText}.`);
    expect((await open("toolfailure")).messages).toEqual(plain(chat.messages));
  });

  it("are interrupted by a stop", async () => {
    const chat = await open("toolstop");
    const sent = chat.sendMessage({ text: "Wait for a minute." });
    await until(() => sessionFile("toolstop").includes("sessile.tool_started"));
    // The stream comes by itself.
    await until(() => chat.messages[1]?.parts[1] !== undefined);
    expect(chat.messages[1]?.parts[1]).toMatchObject({ type: "tool-wait", state: "input-available" });
    expect((await stop("toolstop")).status).toBe(204);
    await sent;
    const again = await open("toolstop");
    expect(again.messages[1]?.parts[1]).toMatchObject({
      state: "output-error",
      errorText: "Stopped by the user while it ran. Its effects are unknown.",
    });
    await again.sendMessage({ text: "Go on." });
    expect(texts(again).at(-1)).toBe("You said 2 things; I see no images.");
  });
});

describe("a process that is killed in the middle of a turn", () => {
  it("loses no stored word: a tab that asks again gets them, and what another process adds", async () => {
    // The tab's requests go to one server of two, as a balancer sends them.
    let serving = server;
    const fetchAt = (address: RequestInfo | URL, init?: RequestInit) =>
      fetch(`${serving.url}${new URL(String(address)).pathname}`, init);
    const transport = new DefaultChatTransport<UIMessage>({
      api: `${server.url}/api/chat`,
      fetch: fetchAt as typeof fetch,
    });
    const chat = new PlainChat({ id: "killed", transport });
    await chat.sendMessage({ text: "Hello." });
    const sent = chat.sendMessage({ text: "Tell me a story." });
    await until(() => sessionFile("killed", dir, ".jsonl.reply").includes("limpet"));
    const other = await startServer();
    const watching = await openChat(other.url, "killed");
    const watched = watching.resumeStream();
    await untilTold(watching);
    await kill(server, "SIGKILL");
    await sent;
    expect(chat.status).toBe("error");
    server = await startServer();
    serving = server;

    await chat.resumeStream();
    await watched;
    const stored = await open("killed");
    for (const tab of [chat, watching]) {
      expect([tab.status, tab.error]).toEqual(["ready", undefined]);
      expect(plain(tab.messages)).toEqual(stored.messages);
    }
    expect(texts(chat)[2]).toBe("Tell me a story.");
    expect(texts(chat)[3]).toMatch(/^On day 1 the limpet .*You said 3 things; I see no images\.$/);
    await kill(other, "SIGTERM");
  });

  it("leaves a tool call, which the next turn closes", async () => {
    const chat = await open("killedtool");
    const sent = chat.sendMessage({ text: "Wait for a minute." });
    await until(() => sessionFile("killedtool").includes("sessile.tool_started"));
    await kill(server, "SIGKILL");
    await sent;
    server = await startServer();

    const again = await open("killedtool");
    expect(again.messages[1]?.parts[1]).toMatchObject({ state: "output-error", errorText: "Interrupted." });
    await again.sendMessage({ text: "And now?" });
    expect(texts(again).at(-1)).toBe("You said 2 things; I see no images.");
    expect((await open("killedtool")).messages[1]?.parts[1]).toMatchObject({
      errorText: "Interrupted: how far it came is unknown.",
    });
  });

  it("may have shown a part of a reply: the tab that saw it goes on behind the question", async () => {
    const chat = await open("killedtab");
    const sent = chat.sendMessage({ text: "Tell me a story." });
    await untilTold(chat);
    await kill(server, "SIGKILL");
    await sent;
    server = await startServer();
    const transport = new DefaultChatTransport<UIMessage>({ api: `${server.url}/api/chat` });
    const tab = new PlainChat({ id: "killedtab", messages: chat.messages, transport });
    await tab.sendMessage({ text: "Never mind." });
    expect(texts(tab).at(-1)).toBe("You said 2 things; I see no images.");
    expect(texts(await open("killedtab")).slice(0, 2)).toEqual(["Tell me a story.", "Never mind."]);
  });
});

describe("versions and deletion", () => {
  const get = async (path: string) => (await fetch(`${server.url}/api/chat/${path}`)).json();
  const move = (id: string, leafId: unknown) =>
    fetch(`${server.url}/api/chat/${id}/leaf`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ leafId }),
    });

  it("a regenerated and an edited message have versions, and a page goes from one to the other", async () => {
    const chat = await open("versions");
    await chat.sendMessage({ text: "Hello." });
    const before = plain(chat.messages);
    await chat.regenerate();
    const [question, reply] = chat.messages.map(({ id }) => id);
    const replies = (await get(`versions/versions/${reply}`)) as { leafId: string; current: boolean }[];
    expect(replies.map(({ current }) => current)).toEqual([false, true]);
    expect((await move("versions", replies[0]?.leafId)).status).toBe(204);
    expect(await get("versions")).toEqual(before);
    await chat.sendMessage({ text: "Bye.", messageId: question ?? "" });
    const questions = (await get(`versions/versions/${question}`)) as { leafId: string; current: boolean }[];
    expect(questions.map(({ current }) => current)).toEqual([false, true]);
    await move("versions", questions[0]?.leafId);
    expect(texts(await open("versions"))[0]).toBe("Hello.");
    expect(await get("versions/versions/none")).toEqual([]);
    expect((await move("versions", "none")).status).toBe(404);
    expect((await move("versions", 1)).status).toBe(404);
  });

  it("a deleted chat is gone", async () => {
    const remove = () => fetch(`${server.url}/api/chat/gone`, { method: "DELETE" });
    const chat = await open("gone");
    await chat.sendMessage({ text: "Hello." });
    expect((await remove()).status).toBe(204);
    expect((await open("gone")).messages).toEqual([]);
    expect(sessionFile("gone")).toBe("");
    expect((await remove()).status).toBe(404);
  });
});

describe("regenerate and edit", () => {
  it("make branches; both stay in the session", async () => {
    const chat = await open("branches");
    await chat.sendMessage({ text: "Hello." });
    const first = chat.messages[1]?.id;
    await chat.regenerate();
    expect(chat.messages).toHaveLength(2);
    expect(chat.messages[1]?.id).not.toBe(first);
    expect((await open("branches")).messages).toEqual(plain(chat.messages));

    await chat.sendMessage({ text: "Second." });
    const edited = chat.messages[2]?.id ?? "";
    await chat.sendMessage({ text: "Second, edited.", messageId: edited });
    await chat.sendMessage({ text: "Second, edited twice.", messageId: edited });
    expect(texts(chat)).toEqual([
      "Hello.",
      "You said 1 things; I see no images.",
      "Second, edited twice.",
      "You said 2 things; I see no images.",
    ]);
    expect((await open("branches")).messages).toEqual(plain(chat.messages));
    const stored = sessionFile("branches");
    for (const text of ["Second.", "Second, edited.", "Second, edited twice."]) {
      expect(stored).toContain(JSON.stringify(text));
    }
    expect(stored).toContain(`"id":"${first}"`);

    // The reply to the edited message is regenerated, not that to its first version.
    await chat.regenerate();
    expect(texts(await open("branches"))[2]).toBe("Second, edited twice.");
  });

  it("of a message without a reply: the next one follows the edited version", async () => {
    const chat = await open("editfailed");
    await chat.sendMessage({ text: "Hello." });
    await chat.sendMessage({ text: "Please fail.", messageId: chat.messages[0]?.id ?? "" });
    expect(chat.status).toBe("error");
    await chat.sendMessage({ text: "Better now?" });
    expect(texts(await open("editfailed"))).toEqual([
      "Please fail.",
      "Better now?",
      "You said 2 things; I see no images.",
    ]);
  });

  it("of an earlier reply leaves out what followed it", async () => {
    const chat = await open("earlier");
    await chat.sendMessage({ text: "One." });
    await chat.sendMessage({ text: "Two." });
    await chat.regenerate({ messageId: chat.messages[1]?.id ?? "" });
    expect(texts(await open("earlier"))).toEqual(["One.", "You said 1 things; I see no images."]);
  });
});

describe("a turn", () => {
  it("goes on without its tab, and a reload resumes it from the first word", async () => {
    const chat = await open("resumed");
    const sent = chat.sendMessage({ text: "Tell me a story." });
    await untilTold(chat);
    // As a tab that is closed does: only the connection ends.
    await chat.stop();
    await sent;
    const again = await open("resumed");
    expect(again.messages).toHaveLength(1);
    const resumed = again.resumeStream();
    await untilTold(again, 60);
    expect(textOf(again.messages[1])).toMatch(/^On day 1 the limpet stayed\. On day 2/);
    expect(again.messages[1]?.id).toBe(chat.messages[1]?.id);
    expect((await stop("resumed")).status).toBe(204);
    await resumed;
    expect(again.status).toBe("ready");
  });

  it("that waits for a tool is the same message after a reload, and goes on in it", async () => {
    // A server of its own, whose tool waits until the test has looked.
    const own = mkdtempSync(join(dir, "held-"));
    let finish = (_: string) => {};
    const waited = new Promise<string>((done) => {
      finish = done;
    });
    const { wait } = chatTools;
    if (wait === undefined) throw new Error("the chat has a tool that waits");
    const blobs = fileBlobStore({ dir: join(own, "blobs") });
    await using held = await startChatServer({
      ...{ blobs, sessions: fileSessionStore({ dir: join(own, "sessions"), blobs }), dir: own },
      ...{ model: scriptedModel(), tools: { ...chatTools, wait: { ...wait, run: () => waited } } },
    });
    const open = (id: string) => openChat(held.url, id);
    const chat = await open("resumedtool");
    const sent = chat.sendMessage({ text: "Wait for a moment." });
    await until(() => sessionFile("resumedtool", own).includes("sessile.tool_started"));
    const again = await open("resumedtool");
    expect(again.messages[1]?.parts[1]).toMatchObject({ type: "tool-wait", state: "input-available" });
    const resumed = again.resumeStream();
    await until(() => again.status === "streaming");
    finish("waited for 3 s");
    await resumed;
    expect(texts(again)).toEqual(["Wait for a moment.", "The tool said: waited for 3 s."]);
    await sent;
    expect(again.messages).toEqual(chat.messages);
    expect((await open("resumedtool")).messages).toEqual(plain(chat.messages));
  });

  it("that is stopped keeps what was said", async () => {
    const chat = await open("stopped");
    const sent = chat.sendMessage({ text: "Tell me a story." });
    await untilTold(chat);
    expect((await stop("stopped")).status).toBe(204);
    await sent;
    expect([chat.status, chat.error]).toEqual(["ready", undefined]);
    const again = await open("stopped");
    expect(texts(again)).toEqual(texts(chat));
    expect(sessionFile("stopped")).toContain('"stopReason":"aborted"');
    await again.sendMessage({ text: "Thanks." });
    expect(texts(again).at(-1)).toBe("You said 2 things; I see no images.");
    expect((await stop("stopped")).status).toBe(404);
  });

  it("whose model fails says so, and can be asked again", async () => {
    const chat = await open("failing");
    await chat.sendMessage({ text: "Please fail." });
    expect([chat.status, chat.error?.message]).toEqual(["error", "the model is out of order"]);
    const again = await open("failing");
    expect(texts(again)).toEqual(["Please fail."]);
    await again.sendMessage({ text: "Better now?" });
    expect(texts(again).at(-1)).toBe("You said 2 things; I see no images.");
  });

  it("that is asked for twice is stored once", async () => {
    const message = { id: generateId(), role: "user", parts: [{ type: "text", text: "Hello." }] };
    for (let time = 0; time < 2; time++) {
      const answer = await post({ id: "twice", messages: [message], trigger: "submit-message" });
      expect(answer.status).toBe(200);
      expect(await answer.text()).toMatch(/"type":"finish".*\n\ndata: \[DONE\]\n\n$/s);
    }
    expect(sessionFile("twice").split('"Hello."')).toHaveLength(2);
    expect(texts(await open("twice"))).toEqual(["Hello.", "You said 1 things; I see no images."]);
  });
});

describe("two tabs", () => {
  it("on one chat: a turn runs alone, and the other tab may watch it", async () => {
    const [one, other] = [await open("tabs"), await open("tabs")];
    const sent = one.sendMessage({ text: "Tell me a story." });
    await untilTold(one);
    await other.sendMessage({ text: "Me too." });
    expect([other.status, other.error?.message]).toEqual([
      "error",
      expect.stringContaining('"code":"TURN_RUNNING"'),
    ]);
    const watching = await open("tabs");
    const watched = watching.resumeStream();
    await untilTold(watching);
    await stop("tabs");
    await Promise.all([sent, watched]);
    expect(texts(watching)).toEqual(texts(one));
  });

  it("of which one is out of date make branches, and nothing is lost", async () => {
    const one = await open("stale");
    await one.sendMessage({ text: "Hello." });
    const other = await open("stale");
    await one.sendMessage({ text: "From one." });
    await other.sendMessage({ text: "From the other." });
    expect(texts(other).at(-1)).toBe("You said 2 things; I see no images.");
    expect(texts(await open("stale"))[2]).toBe("From the other.");
    const stored = sessionFile("stale");
    expect(stored).toContain('"From one."');
  });
});

describe("files", () => {
  it("go in as data URLs, come back as addresses, and reach the model by their bytes", async () => {
    const chat = await open("files");
    await chat.sendMessage({ text: "What is this?", files: [imageOf(320, 200)] });
    expect(texts(chat).at(-1)).toBe("You said 1 things; I see 320 x 200.");
    const again = await open("files");
    const file = again.messages[0]?.parts.find((part) => part.type === "file");
    expect(file).toEqual({
      type: "file",
      mediaType: "image/png",
      filename: "shot.png",
      url: expect.stringMatching(/^\/api\/chat\/files\/files\/res_[0-9a-f]{16}$/),
    });
    const answer = await fetch(`${server.url}${file?.url}`);
    expect(answer.headers.get("content-type")).toBe("image/png");
    expect(Buffer.from(await answer.arrayBuffer()).equals(makePng(320, 200))).toBe(true);
    expect(sessionFile("files")).not.toContain(imageOf(320, 200).url.slice(30, 90));

    // In an edit the file is named by its address.
    const edited = again.messages[0] as UIMessage;
    await again.sendMessage({ parts: edited.parts, messageId: edited.id } as never);
    expect(texts(again).at(-1)).toBe("You said 1 things; I see 320 x 200.");
    await again.sendMessage({ text: "And now?" });
    expect(texts(again).at(-1)).toBe("You said 2 things; I see 320 x 200.");
  });

  it.each([
    ["an address elsewhere", "https://example.com/a.png", 400],
    ["an address of another chat", "/api/chat/files/files/res_0123456789abcdef", 400],
    ["bytes that are no image", "data:image/png;base64,PCFkb2N0eXBlIGh0bWw+", 415],
    [
      "an image that is too large",
      `data:image/png;base64,${Buffer.alloc(11 * 2 ** 20).toString("base64")}`,
      4,
    ],
  ])("are refused, and nothing is stored: %s", async (_what, url, status) => {
    const chat = await open("refused");
    await chat.sendMessage({ text: "Look.", files: [{ type: "file", mediaType: "image/png", url }] });
    expect(chat.status).toBe("error");
    expect(chat.error?.message).toMatch(/"code":"(INVALID_MESSAGE|MEDIA|LIMIT|BLOB)/);
    const answer = await post({
      id: "refused",
      messages: [{ id: "m1", role: "user", parts: [{ type: "file", mediaType: "image/png", url }] }],
      trigger: "submit-message",
    });
    expect(String(answer.status).startsWith(String(status))).toBe(true);
    expect((await open("refused")).messages).toEqual([]);
  });
});

describe("a request", () => {
  const message = { id: "m1", role: "user", parts: [{ type: "text", text: "Hello." }] };

  it.each([
    ["no messages", { id: "bad", messages: [] }],
    ["no id", { messages: [message] }],
    ["an id that is a path", { id: "../up", messages: [message] }],
    ["a reply at the end", { id: "bad", messages: [{ ...message, role: "assistant" }] }],
    ["an empty message", { id: "bad", messages: [{ ...message, parts: [{ type: "text", text: " " }] }] }],
    ["parts of another kind", { id: "bad", messages: [{ ...message, parts: [{ type: "text" }] }] }],
    ["a message id that is a path", { id: "bad", messages: [{ ...message, id: "../m" }] }],
    ["null", null],
  ])("that is none is refused: %s", async (_what, body) => {
    const answer = await post(body);
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code: "INVALID_BODY" } }]);
  });

  it("whose message has the id of a reply is refused", async () => {
    const chat = await open("taken");
    await chat.sendMessage({ text: "Hello." });
    const body = {
      id: "taken",
      messages: [{ ...message, id: chat.messages[1]?.id }],
      trigger: "submit-message",
    };
    expect((await post(body)).status).toBe(400);
    expect((await open("taken")).messages).toEqual(plain(chat.messages));
  });

  it("from the page of another origin is refused", async () => {
    const body = { id: "evil", messages: [message], trigger: "submit-message" };
    expect((await post(body, { origin: "http://evil.example" })).status).toBe(403);
    expect((await post(body, { "content-type": "text/plain" })).status).toBe(415);
    const rebound = await new Promise<number | undefined>((resolve) => {
      const options = { headers: { host: "evil.example" } };
      request(`${server.url}/api/chat`, options, ({ statusCode }) => resolve(statusCode)).end();
    });
    expect(rebound).toBe(403);
    expect((await open("evil")).messages).toEqual([]);
  });

  it("for another address is not found", async () => {
    for (const path of [
      "/page",
      "/api/chat/a/b",
      "/api/chat/a/leaf",
      "/api/chat/a/stream/x",
      "/api/chat/a/files/x",
      "/api/chat/../x",
      "/api/chats",
      "/api/chat/-x",
      "/api/chat/_",
    ]) {
      expect((await fetch(`${server.url}${path}`)).status).toBe(404);
    }
    expect((await fetch(`${server.url}/api/chat/none/stream`)).status).toBe(204);
  });
});
