import type { UIMessage } from "ai";
import fc from "fast-check";
import {
  assistantMessage,
  contextFrom,
  type EntryDraft,
  type Message,
  memoryBlobStore,
  memorySessionStore,
  project,
  type Session,
  type SessionEntry,
  type StoredResource,
  toolResult,
  userMessage,
} from "sessile";
import { appendUIMessages, fromUIMessages, toUIMessages } from "sessile/ai-sdk";
import { anthropicMessages } from "sessile/anthropic";
import { findResource, ingest, resourcesIn } from "sessile/attachments";
import { geminiContents, geminiInteractions } from "sessile/gemini";
import { openaiChat } from "sessile/openai";
import { describe, expect, it } from "vitest";
import { makePng } from "../../../examples/apps/support/make-media.js";
import { sessionEntry } from "../../arbitraries/entries.js";
import { hazardousSession } from "../../arbitraries/hazards.js";
import { uiMessages } from "./ui-messages.js";

const sessions = memorySessionStore();
const open = () => sessions.create({ cwd: "/" });
const model = { provider: "anthropic", model: "m" };
const png = Buffer.from(makePng(64, 48)).toString("base64");
const picture = { type: "file", mediaType: "image/png", url: `data:image/png;base64,${png}` } as const;

/** Histories whose files can be attachments: base64 alone. */
const storable = uiMessages.filter((messages) => !JSON.stringify(messages).includes("not%20base64"));

/** The bytes of a file in place of its data URL, whose head only tells what the sender claimed. */
const withBytes = (messages: readonly UIMessage[]) =>
  JSON.parse(JSON.stringify(messages), (key, value: unknown) =>
    key === "url" && typeof value === "string" ? value.replace(/^data:.*;base64,/, "bytes:") : value,
  ) as UIMessage[];

const messagesOf = (drafts: readonly EntryDraft[]): readonly Message[] =>
  drafts.flatMap((draft) => (draft.type === "message" ? [draft.message] : []));

const shown = (session: Session, options?: Parameters<typeof toUIMessages>[1]) =>
  session.path().then((path) => toUIMessages<UIMessage>(path, options));

const say = (id: string, text: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });

describe("fromUIMessages and toUIMessages", () => {
  it("give back every message of a page, with its id, its metadata and every field of its parts", async () => {
    const blobs = memoryBlobStore();
    const fileUrl = async ({ blob }: StoredResource) =>
      `bytes:${Buffer.from((await blobs.get(blob)) ?? []).toString("base64")}`;
    await fc.assert(
      fc.asyncProperty(storable, async (messages) => {
        const session = await open();
        await session.append(await fromUIMessages(messages, { blobs, mismatch: "file" }));
        expect(await shown(session, { fileUrl })).toEqual(withBytes(messages));
      }),
      { numRuns: 100 },
    );
  });

  it("send a chat of useChat to any provider", async () => {
    const blobs = memoryBlobStore();
    const targets = [
      anthropicMessages({ model: "claude-opus-5-5" }),
      openaiChat({ model: "gpt-5" }),
      geminiContents({ model: "gemini-3-pro" }),
      geminiInteractions({ model: "gemini-3-pro" }),
    ];
    await fc.assert(
      fc.asyncProperty(storable, async (messages) => {
        const drafts = await fromUIMessages(messages, { blobs, mismatch: "file" });
        for (const target of targets) {
          const { value } = await project(contextFrom(messagesOf(drafts)), target as never, { blobs });
          expect(value).toBeTruthy();
        }
      }),
      { numRuns: 40 },
    );
  });

  it("show a call without a name, and back the same", async () => {
    const session = await open();
    const call = { type: "toolCall", id: "", name: "", arguments: {} } as const;
    await session.append([{ type: "message", message: assistantMessage(model, call) }]);
    const messages = await toUIMessages<UIMessage>((await session.path()) as SessionEntry[]);
    expect(messages[0]?.parts.at(-1)).toMatchObject({ type: "tool-" });
    const drafts = await fromUIMessages(messages);
    expect(drafts.find(({ type }) => type === "message")).toMatchObject({ message: { content: [call] } });
  });

  it("show a session that another loop wrote, and back the same", async () => {
    const makers = [{ ...model, api: "anthropic-messages" }];
    const written = fc.oneof(
      hazardousSession(20, makers).map(({ entries }) => entries),
      fc.array(sessionEntry, { maxLength: 8 }),
    );
    await fc.assert(
      fc.asyncProperty(written, async (entries) => {
        const messages = await toUIMessages<UIMessage>(entries);
        // Inline images may be anything: as files of a page they would be checked.
        const checked = messages.map((message) => ({
          ...message,
          parts: message.parts.filter(({ type }) => type !== "file"),
        }));
        const session = await open();
        await session.append(await fromUIMessages(checked));
        expect(await shown(session)).toEqual(JSON.parse(JSON.stringify(checked)));
      }),
      { numRuns: 100 },
    );
  });

  it("show steps, reasoning, calls and their results as useChat streams them", async () => {
    const blobs = memoryBlobStore();
    const session = await open();
    const shot = await ingest({ bytes: makePng(64, 48), name: "shot.png" }, { blobs });
    const call = (id: string, name: string) =>
      ({ type: "toolCall", id, name, arguments: { at: id } }) as const;
    await session.append([
      { type: "message", id: "q1", message: userMessage("Look.", shot) },
      {
        type: "message",
        id: "r1",
        message: assistantMessage(
          model,
          {
            type: "thinking",
            thinking: "Hm.",
            thinkingSignature: JSON.stringify({ anthropic: { signature: "s" } }),
          },
          { type: "thinking", thinking: "", redacted: true, thinkingSignature: "opaque" },
          "Let me see.",
          call("c1", "read"),
          call("c2", "shoot"),
          call("c3", "gone"),
        ),
      },
      { type: "message", message: toolResult(call("c1", "read"), "one", "two") },
      { type: "message", message: toolResult(call("c2", "shoot"), "Here:", shot) },
    ]);
    const fileUrl = (file: StoredResource) => `/files/${file.resourceId}`;
    const url = `/files/${shot.resourceId}`;
    const running = await shown(session, { fileUrl, running: true });
    const first = { anthropic: { signature: "s" } };
    expect(running).toEqual([
      {
        id: "q1",
        role: "user",
        parts: [
          { type: "text", text: "Look." },
          { type: "file", mediaType: "image/png", filename: "shot.png", url },
        ],
      },
      {
        id: "r1",
        role: "assistant",
        parts: [
          { type: "step-start" },
          { type: "reasoning", text: "Hm.", state: "done", providerMetadata: first },
          { type: "text", text: "Let me see.", state: "done" },
          {
            type: "tool-read",
            toolCallId: "c1",
            state: "output-available",
            input: { at: "c1" },
            output: "one\ntwo",
          },
          {
            type: "tool-shoot",
            toolCallId: "c2",
            state: "output-available",
            input: { at: "c2" },
            output: { text: "Here:", files: [{ mediaType: "image/png", filename: "shot.png", url }] },
          },
          { type: "tool-gone", toolCallId: "c3", state: "input-available", input: { at: "c3" } },
        ],
      },
    ]);
    await session.append([
      { type: "message", message: { ...toolResult(call("c3", "gone"), "No."), isError: true } },
      { type: "message", message: assistantMessage(model, "Done.") },
    ]);
    const [, reply] = await shown(session, { fileUrl });
    expect(reply?.parts.slice(5)).toEqual([
      { type: "tool-gone", toolCallId: "c3", state: "output-error", input: { at: "c3" }, errorText: "No." },
      { type: "step-start" },
      { type: "text", text: "Done.", state: "done" },
    ]);
  });

  it("show a call without a result as interrupted, if its reply does not run", async () => {
    const session = await open();
    const call = { type: "toolCall", id: "c1", name: "read", arguments: {} } as const;
    await session.append([{ type: "message", message: assistantMessage(model, call) }]);
    const [reply] = await shown(session);
    expect(reply?.parts[1]).toMatchObject({ state: "output-error", errorText: "Interrupted." });
  });

  it("show what a compaction replaced, updates, and what is displayed; not what is hidden", async () => {
    const session = await open();
    const [asked] = await session.append([
      { type: "message", message: { role: "system", content: "Be terse.", timestamp: 0 } },
      { type: "message", id: "a", message: userMessage("First") },
      { type: "custom_message", customType: "x.y", content: "Shown", display: true },
      { type: "custom_message", customType: "x.y", content: "Hidden", display: false },
      { type: "compaction", summary: "S", firstKeptEntryId: "a", tokensBefore: 1 },
      { type: "message_update", targetId: "a", message: userMessage("Second") },
    ]);
    expect(asked).toBeDefined();
    const texts = (await shown(session)).map(({ parts }) => parts[0]);
    expect(texts).toEqual([
      { type: "text", text: "Second" },
      { type: "text", text: "Shown" },
    ]);
  });

  it("keep two replies in a row apart, and the tool of a page when its result comes later", async () => {
    const session = await open();
    const text = (id: string): UIMessage => ({
      id,
      role: "assistant",
      parts: [{ type: "step-start" }, { type: "text", text: id, state: "done" }],
    });
    const asked = {
      id: "a3",
      role: "assistant",
      parts: [
        {
          type: "dynamic-tool",
          toolName: "ask",
          title: "Ask",
          toolCallId: "c1",
          state: "approval-responded",
          input: {},
          approval: { id: "p", approved: true },
        },
      ],
    } as UIMessage;
    const messages = [text("a1"), text("a2"), asked];
    await session.append(await fromUIMessages(messages));
    expect(await shown(session)).toEqual(messages);
    await session.appendMessage(toolResult({ id: "c1", name: "ask" }, "Yes."));
    const [, , answered] = await shown(session);
    expect(answered?.parts[0]).toEqual({
      ...(asked.parts[0] as object),
      state: "output-available",
      output: "Yes.",
    });
  });

  it("make a steering message one of the user, between the steps", async () => {
    const blobs = memoryBlobStore();
    const session = await open();
    const steering = {
      type: "steering-message",
      id: "s1",
      parts: [
        { type: "text", text: "Use zebra instead.", providerMetadata: { x: { y: 1 } } },
        { ...picture, filename: "zebra.png" },
      ],
    };
    const messages = [
      say("u1", "Start."),
      {
        id: "a1",
        role: "assistant",
        parts: [
          { type: "step-start" },
          { type: "tool-read", toolCallId: "c1", state: "output-available", input: {}, output: "ok" },
          steering,
          { type: "step-start" },
          { type: "text", text: "Changed course.", state: "done" },
        ],
      },
      say("u2", "Go on."),
    ] as unknown as UIMessage[];
    await session.append(await fromUIMessages(messages, { blobs }));
    const roles = (await session.context()).items.map(({ message }) => message.role);
    expect(roles).toEqual(["user", "assistant", "toolResult", "user", "assistant", "user"]);
    const { items } = await session.context();
    expect(items[3]?.message).toMatchObject({ content: [{ text: "Use zebra instead." }, { type: "text" }] });
    expect(resourcesIn([items[3]?.message as Message])).toMatchObject([{ name: "zebra.png" }]);
    const fileUrl = async () => picture.url;
    expect(await shown(session, { fileUrl })).toEqual(messages);
    // What the page says next follows the whole reply.
    const next = await appendUIMessages(session, [...messages, say("u3", "Enough.")]);
    expect((await session.tree()).node(next.leafId ?? "")?.parentId).toBe("u2");
    const again = await appendUIMessages(session, [...messages.slice(0, 2), say("u4", "Else.")], { blobs });
    const branch = await session.path(again.leafId);
    expect(await toUIMessages(branch, { fileUrl })).toEqual([...messages.slice(0, 2), say("u4", "Else.")]);
    // Its id is no message of the page's.
    await appendUIMessages(session, [say("s1", "Mine.")]);
    expect((await shown(session)).at(-1)).toEqual(say("s1", "Mine."));
    expect((await session.tree()).path(session.leafId).some(({ id }) => id === again.leafId)).toBe(true);
  });

  it("refuse what is no message, naming the place", async () => {
    const bad: readonly (readonly [unknown, string])[] = [
      [null, "messages[0]"],
      [{ id: 1, role: "user", parts: [] }, "messages[0].id"],
      [{ id: "m", role: "tool", parts: [] }, "messages[0].role"],
      [{ id: "m", role: "user" }, "messages[0].parts"],
      [{ id: "m", role: "user", parts: [null] }, "messages[0].parts[0]"],
      [{ id: "m", role: "assistant", parts: [{ type: "toolCall", id: "x" }] }, "messages[0].parts[0].type"],
      [
        { id: "m", role: "assistant", parts: [{ type: "steering-message", parts: [] }] },
        "messages[0].parts[0].id",
      ],
      [
        { id: "m", role: "assistant", parts: [{ type: "steering-message", id: "s", parts: [null] }] },
        "messages[0].parts[0].parts[0]",
      ],
      [
        { id: "m", role: "user", parts: [{ type: "file", url: "data:text/plain,x" }] },
        "messages[0].parts[0].url",
      ],
    ];
    for (const [message, path] of bad)
      await expect(fromUIMessages([message as never])).rejects.toMatchObject({
        code: "INVALID_MESSAGE",
        details: { path },
      });
    const link = { ...picture, url: "javascript:alert(1)" };
    await expect(fromUIMessages([{ id: "m", role: "user", parts: [link] }])).rejects.toMatchObject({
      code: "LINK_REFUSED",
    });
  });
});

describe("appendUIMessages", () => {
  const reply = (session: Session, id: string, text: string) =>
    session.append([{ type: "message", id, message: assistantMessage(model, text) }]);
  const texts = async (session: Session) =>
    (await shown(session)).map(({ id, parts }) => [
      id,
      parts.flatMap((part) => ("text" in part ? [part.text] : [])).join(),
    ]);

  it("stores a message once, makes branches of edits, and keeps the ids that the page knows", async () => {
    const session = await open();
    expect(await appendUIMessages(session, [say("u1", "Hello.")])).toEqual({ leafId: "u1", written: 1 });
    await reply(session, "a1", "Hi.");
    // A retry, and a regeneration.
    expect(await appendUIMessages(session, [say("u1", "Hello.")])).toEqual({ leafId: "u1", written: 0 });
    await reply(session, "a2", "Good day.");
    expect(await texts(session)).toEqual([
      ["u1", "Hello."],
      ["a2", "Good day."],
    ]);
    expect((await session.tree()).siblings("a2").map(({ id }) => id)).toEqual(["a1", "a2"]);
    // Edits keep the id on the page.
    const edit = await appendUIMessages(session, [say("u1", "Hello, you.")]);
    expect(edit.leafId).not.toBe("u1");
    expect(edit.written).toBe(2);
    await reply(session, "a3", "Yes?");
    expect(await texts(session)).toEqual([
      ["u1", "Hello, you."],
      ["a3", "Yes?"],
    ]);
    expect((await session.tree()).children(null).length).toBe(2);
    // The next message follows the version that the page shows.
    await appendUIMessages(session, [
      say("u1", "Hello, you."),
      { ...say("a3", "Yes?"), role: "assistant" },
      say("u2", "Bye."),
    ]);
    expect((await texts(session)).map(([id]) => id)).toEqual(["u1", "a3", "u2"]);
    // The first version again.
    expect(await appendUIMessages(session, [say("u1", "Hello.")])).toEqual({ leafId: "u1", written: 0 });
  });

  it("makes a branch for a page that did not see the newest messages", async () => {
    const session = await open();
    await appendUIMessages(session, [say("u1", "Hello.")]);
    await reply(session, "a1", "Hi.");
    const before = (await shown(session)) as UIMessage[];
    await appendUIMessages(session, [...before, say("u2", "From one.")]);
    await reply(session, "a2", "One.");
    await appendUIMessages(session, [...before, say("u3", "From the other.")]);
    expect((await texts(session)).map(([id]) => id)).toEqual(["u1", "a1", "u3"]);
    // The last message alone follows the leaf.
    await appendUIMessages(session, [say("u4", "More.")]);
    expect((await texts(session)).map(([id]) => id)).toEqual(["u1", "a1", "u3", "u4"]);
  });

  it("takes any id, and knows a file by its address", async () => {
    const blobs = memoryBlobStore();
    const session = await open();
    const question = {
      ...say("a b/../c", "Where?"),
      parts: [picture, { type: "text", text: "Where?" }],
    } as UIMessage;
    await appendUIMessages(session, [question], { blobs });
    const fileUrl = ({ resourceId }: StoredResource) => `/files/${resourceId}`;
    const resource = (url: string) => findResource(session, url.split("/").at(-1) ?? "");
    const [stored] = (await shown(session, { fileUrl })) as [UIMessage];
    expect(stored.id).toBe("a b/../c");
    expect(await appendUIMessages(session, [stored], { blobs, resource })).toMatchObject({ written: 0 });
    const edited = { ...stored, parts: [stored.parts[0], { type: "text", text: "When?" }] } as UIMessage;
    await appendUIMessages(session, [edited], { blobs, resource });
    expect(await shown(session, { fileUrl })).toEqual([edited]);
    expect(resourcesIn(await session.context()).length).toBe(1);
  });

  it("appends the results of the page's own tools", async () => {
    const session = await open();
    const call = (id: string) => ({ type: "toolCall", id, name: "ask", arguments: {} }) as const;
    await appendUIMessages(session, [say("u1", "Ask me.")]);
    await session.append([
      { type: "message", id: "a1", message: assistantMessage(model, call("c1"), call("c2")) },
    ]);
    const [first, asked] = (await shown(session, { running: true })) as [UIMessage, UIMessage];
    const answered = structuredClone(asked);
    Object.assign(answered.parts[1] as object, { state: "output-available", output: { yes: true } });
    const clientTools = ["ask"];
    expect((await appendUIMessages(session, [first, answered], { clientTools })).written).toBe(1);
    expect((await appendUIMessages(session, [first, answered], { clientTools })).written).toBe(0);
    expect((await shown(session, { running: true }))[1]).toEqual(answered);
    await expect(appendUIMessages(session, [first, { ...asked, id: "foreign" }])).rejects.toMatchObject({
      code: "INVALID_MESSAGE",
    });
    await expect(appendUIMessages(session, [say("a1", "Mine now.")])).rejects.toMatchObject({
      code: "INVALID_MESSAGE",
    });
    await expect(appendUIMessages(session, [])).rejects.toMatchObject({ code: "INVALID_MESSAGE" });
  });

  it("appends the user's refusal of a call as its result, in the user's words", async () => {
    const session = await open();
    const call = { type: "tool-read", toolCallId: "c1", input: {} };
    const asking = { ...call, state: "approval-requested", approval: { id: "a" } };
    const reply = (part: object) => ({ id: "r1", role: "assistant", parts: [part] }) as unknown as UIMessage;
    await session.append(await fromUIMessages([say("u1", "Go."), reply(asking)]));
    const approval = { id: "a", approved: false, reason: "use zebra" };
    const answered = reply({ ...call, state: "approval-responded", approval });
    expect(await appendUIMessages(session, [answered])).toMatchObject({ written: 1 });
    const { items } = await session.context();
    expect(items.at(-1)?.message).toMatchObject({
      role: "toolResult",
      isError: true,
      content: [{ text: "use zebra" }],
    });
  });

  it("leaves the leaf where it was if the append fails", async () => {
    const session = await open();
    await appendUIMessages(session, [say("u1", "One.")]);
    await session.append([{ type: "message", message: assistantMessage(model, "Two.") }]);
    const { leafId } = session;
    const signal = AbortSignal.abort();
    await expect(appendUIMessages(session, [say("u1", "Edited.")], { signal })).rejects.toThrow();
    expect(session.leafId).toBe(leafId);
  });
});
