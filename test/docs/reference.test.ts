import { readFileSync } from "node:fs";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import {
  assistantMessage,
  digest,
  memoryBlobStore,
  memorySessionStore,
  project,
  type Session,
  toBody,
  userMessage,
} from "sessile";
import { ingest } from "sessile/attachments";
import { openaiChat } from "sessile/openai";
import { FrameRing, tetherSessionId } from "sessile/tether";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { makePng } from "../../examples/apps/support/make-media.js";
import { entries, root } from "../../scripts/entries.mjs";
import { examplesOf } from "../support/doc-examples.js";
import { callingReply, type ScriptedReply } from "../support/providers/anthropic/replies.js";
import { startAnthropic } from "../support/providers/anthropic/server.js";
import { startProvider } from "../support/providers/local-server.js";
import { chatReply, responsesReply } from "../support/providers/openai/replies.js";
import { startOpenai } from "../support/providers/openai/server.js";
import { messageOf, smallImage } from "../support/tether.js";

const page = "docs/reference/modules.md";
const markdown = readFileSync(join(root, page), "utf8");

/** A piece of each block that no other has. */
const blocks = {
  blobs: "collectGarbage",
  media: "checkLimits",
  tokens: "planPaste",
  projection: "openaiResponses({",
  stream: "anthropicStream(",
  refusal: "request.explain(",
  sync: "syncSessions(",
  tether: "finishTurn",
  acp: "acpReplay(",
  chats: "aiSdkChats<",
  messages: "uiReplies(",
} as const;

function blockWith(piece: string): string {
  const found = examplesOf(page, markdown).filter((example) => example.code.includes(piece));
  expect(found).toHaveLength(1);
  return found[0]?.code ?? "";
}

/** Like Function, for bodies that wait. */
const AsyncFunction = (async () => undefined).constructor as FunctionConstructor;
const loaded: readonly Readonly<Record<string, unknown>>[] = await Promise.all(
  entries.map(({ source }) => import(join(root, source))),
);

interface Ran {
  readonly values: Readonly<Record<string, unknown>>;
  /** What it printed, by line and without its objects, or wrote. */
  readonly printed: readonly string[];
}

/** Runs a block with what it does not make itself, and gives some of what it made. */
async function run(
  piece: (typeof blocks)[keyof typeof blocks],
  given: Readonly<Record<string, unknown>>,
  wanted: readonly string[] = [],
): Promise<Ran> {
  const printed: string[] = [];
  const print = (...words: readonly unknown[]) => void printed.push(words.map(String).join(" "));
  const world: Readonly<Record<string, unknown>> = {
    ...Object.assign({}, ...loaded),
    console: { log: print, warn: print },
    process: { stdout: { write: print } },
    ...given,
  };
  const source = `{\n${blockWith(piece).replaceAll(/^import .*$/gm, "")}\nreturn { ${wanted.join(", ")} };\n}`;
  const body = ts.transpile(source, { target: ts.ScriptTarget.ES2023 });
  const act = new AsyncFunction(...Object.keys(world), body);
  return { values: await act(...Object.values(world)), printed };
}

const newSession = () => memorySessionStore().create({ cwd: "/work" });
const _said = (text: string): ScriptedReply => ({ content: [{ type: "text", text, citations: null }] });
const model = "claude-opus-5-5";
const claudeOf = ({ url }: { readonly url: string }) =>
  new Anthropic({ apiKey: "none", authToken: null, baseURL: url, maxRetries: 0 });
const openaiOf = ({ url }: { readonly url: string }) =>
  new OpenAI({ apiKey: "none", baseURL: `${url}/v1`, maxRetries: 0 });
const rolesOf = async (session: Session) =>
  (await session.context()).items.map(({ message }) => message.role);

describe("the blocks of docs/reference/modules.md", () => {
  it("have none that is not run", () => {
    const examples = examplesOf(page, markdown).map((example) => example.code);
    const runs = Object.values(blocks).map(blockWith);
    expect(examples.filter((example) => !runs.includes(example))).toEqual([]);
  });

  it("store bytes once, and collect what no log names", async () => {
    const bytes = makePng(2, 2);
    const header = { type: "session", version: 3, id: "a", timestamp: "2026-01-01T00:00:00Z", cwd: "/" };
    const named = { type: "custom", customType: "x", id: "1", parentId: null, data: digest(bytes) };
    const log = [header, named].map((line) => `${JSON.stringify(line)}\n`).join("");
    const readFile = async () => new TextEncoder().encode(log);
    const given = { blobs: memoryBlobStore(), bytes, readFile };
    const { values } = await run(blocks.blobs, given, ["same", "kept", "trashed"]);
    expect(values.same).toEqual(bytes);
    expect(values).toMatchObject({ kept: { count: 1 }, trashed: { count: 0 } });
  });

  it("tell what bytes are, what a provider refuses, and what a message costs", async () => {
    const bytes = makePng(9_000, 20);
    const screenshot = await ingest({ bytes }, { blobs: memoryBlobStore() });
    const message = userMessage("Why?", screenshot);
    const { printed, values } = await run(
      blocks.media,
      { bytes, screenshot, message, tools: [{ name: "read" }] },
      ["tokens", "declared"],
    );
    expect(printed[0]).toBe("image/png 9000 20 false");
    expect(printed[1]).toMatch(/ 9000 at most 8000 /);
    expect(values.tokens).toBeGreaterThan(2);
    expect(values.declared).toBeGreaterThan(300);
  });

  it("write a draft with a token for what was pasted", async () => {
    const { values } = await run(blocks.tokens, {}, ["draft", "views"]);
    expect(values.draft).toMatch(/\/ctx\/blobs\/ab\./);
    expect(JSON.stringify(values.views)).toContain("38");
  });

  it("send a projection's body, which the API takes", async () => {
    const session = await newSession();
    const blobs = memoryBlobStore();
    await session.appendMessage(userMessage("Why?", await ingest({ bytes: makePng(4, 4) }, { blobs })));
    const { values, printed } = await run(blocks.projection, { session, blobs }, ["body"]);
    await using server = await startOpenai({ responses: [responsesReply([])] });
    const pieces = [...(values.body as Iterable<Uint8Array<ArrayBuffer>>)];
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${server.url}/v1/responses`, {
      method: "POST",
      headers,
      body: new Blob(pieces),
    });
    expect([response.status, printed.at(-1)]).toEqual([200, expect.stringMatching(/ tokens, 1 images$/)]);
  });

  it("stream a reply, and append it", async () => {
    const session = await newSession();
    await session.appendMessage(userMessage("Read both."));
    await using server = await startAnthropic([callingReply]);
    const given = { session, model, client: claudeOf(server), blobs: memoryBlobStore() };
    const { printed } = await run(blocks.stream, { ...given, stop: new AbortController() });
    expect(printed.join("")).toBe("I read both. ");
    const { items } = await session.context();
    expect(items.at(-1)?.message).toMatchObject({ role: "assistant", model, stopReason: "toolUse" });
  });

  it("stream a reply that is stopped, and append what came", async () => {
    const session = await newSession();
    await session.appendMessage(userMessage("Read both."));
    await using server = await startAnthropic([callingReply]);
    const stop = new AbortController();
    const process = { stdout: { write: () => stop.abort() } };
    const given = { session, model, client: claudeOf(server), blobs: memoryBlobStore(), stop, process };
    await run(blocks.stream, given);
    const { items } = await session.context();
    expect(items.at(-1)?.message).toMatchObject({ role: "assistant", stopReason: "aborted" });
    expect(JSON.stringify(items.at(-1)?.message)).not.toContain("toolCall");
  });

  describe("a refusal", () => {
    const bad = Buffer.from(makePng(4, 4)).toString("base64");
    /** A provider that does not take one image. */
    const startPicky = () =>
      startProvider({
        breaches: ({ body }) => {
          const { messages } = body as OpenAI.Chat.ChatCompletionCreateParams;
          return messages.flatMap(({ content }, at) =>
            (Array.isArray(content) ? content : []).flatMap((part, index) =>
              JSON.stringify(part).includes(bad)
                ? [{ rule: "image", path: `messages[${at}].content[${index}].image_url.url`, problem: "" }]
                : [],
            ),
          );
        },
        reply: () => ({ json: chatReply({ content: "Fine." }) }),
        refuse: ({ path }) => ({
          status: 400,
          json: { error: { message: "The image is invalid.", type: "invalid_request_error", param: path } },
        }),
      });
    async function askedOfOne() {
      const session = await newSession();
      const blobs = memoryBlobStore();
      const images = await Promise.all(
        [makePng(4, 4), makePng(5, 5)].map((bytes) => ingest({ bytes }, { blobs })),
      );
      await session.appendMessage(userMessage("Which?", ...images));
      return { session, blobs, images, model: "gpt-4o" };
    }

    it("is mended, and the next request is taken without the one image", async () => {
      const given = await askedOfOne();
      await using server = await startPicky();
      const client = openaiOf(server);
      await run(blocks.refusal, { ...given, client });
      expect(await rolesOf(given.session)).toEqual(["user"]);
      await run(blocks.refusal, { ...given, client });
      expect(await rolesOf(given.session)).toEqual(["user", "assistant"]);
      const [, second] = server.requests.map(({ body }) => JSON.stringify(body));
      expect(second?.match(/"image_url":/g)).toHaveLength(1);
    });

    it("of another kind is thrown on", async () => {
      const { session, blobs } = await askedOfOne();
      await using server = await startOpenai({});
      const given = { session, blobs, model: "gpt-4o", client: openaiOf(server) };
      await expect(run(blocks.refusal, given)).rejects.toThrow(/nothing is left to say/);
    });

    it("is explained by the body that fetch gives, as the sentence behind the block says", async () => {
      expect(markdown).toContain("`if (!response.ok) request.explain(await response.json())`");
      const { session, blobs, images } = await askedOfOne();
      await using server = await startPicky();
      const request = await project(await session.context(), openaiChat({ model: "gpt-4o" }), { blobs });
      const body = new Blob([...toBody(request, { model: "gpt-4o" })] as BlobPart[]);
      const response = await fetch(`${server.url}/v1/chat/completions`, { method: "POST", body });
      expect(response.ok).toBe(false);
      const fault = request.explain(await response.json());
      expect(fault).toMatchObject({ certainty: "path", resourceId: images[0]?.resourceId });
    });
  });

  it("answer a frame", async () => {
    const sessions = memorySessionStore();
    const frame = messageOf({ text: "Look.", images: [smallImage] });
    const session = await sessions.create({ id: tetherSessionId(frame.session), cwd: "/work" });
    await session.appendMessage(userMessage("Hello."));
    await session.appendMessage(assistantMessage({ provider: "anthropic", model }, "Hello."));
    const body = new TextEncoder().encode(JSON.stringify(frame));
    const given = { sessions, body, blobs: memoryBlobStore(), ring: new FrameRing() };
    const { values } = await run(blocks.tether, given, ["reading", "content"]);
    const again = await sessions.open(session.id);
    expect(await rolesOf(again)).toEqual(["user", "assistant", "user"]);
    expect(values.reading).toMatchObject({ frames: [{ type: "assistant.done" }] });
    expect(JSON.stringify(values.content)).toContain("assistant.done");
  });

  it("copy and sync stores", async () => {
    const { values, printed } = await run(blocks.sync, {}, ["copied", "synced"]);
    expect(values).toMatchObject({ copied: { skipped: [] }, synced: { skipped: [] } });
    expect(printed).toEqual([]);
  });

  it("show a session to an editor", async () => {
    const session = await newSession();
    await session.appendMessage(userMessage("Why?"));
    const { printed } = await run(blocks.acp, { session, blobs: memoryBlobStore() });
    expect(printed).toEqual(["user_message_chunk"]);
  });

  it("keep the chats of the AI SDK", async () => {
    const given = { sessions: memorySessionStore(), blobs: memoryBlobStore() };
    const { values } = await run(blocks.chats, given, ["question", "written", "messages"]);
    expect(values.written).toBe(1);
    expect(values.messages).toEqual([values.question]);
  });

  it("translate a session for useChat and back", async () => {
    const session = await newSession();
    await session.appendMessage(userMessage("Why?"));
    const { values } = await run(blocks.messages, { session, blobs: memoryBlobStore() }, ["shown", "drafts"]);
    expect(values.shown).toMatchObject([{ role: "user" }, { id: "m1" }]);
    expect(JSON.stringify(values.drafts)).toContain("Why?");
  });
});
