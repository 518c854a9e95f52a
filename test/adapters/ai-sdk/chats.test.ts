import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UIMessage } from "ai";
import fc from "fast-check";
import {
  type BlobStore,
  collectGarbage,
  memoryBlobStore,
  memorySessionStore,
  type SessionStore,
  sessionBlobRoots,
} from "sessile";
import { type AiSdkChats, aiSdkChats, type ChatFile } from "sessile/ai-sdk";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makePng } from "../../../examples/apps/support/make-media.js";
import { uiMessages } from "./ui-messages.js";

const image = `data:image/png;base64,${Buffer.from(makePng(64, 48)).toString("base64")}`;
const picture = { type: "file", mediaType: "image/png", filename: "holiday.png", url: image } as const;

const user = (id: string, text: string, ...files: UIMessage["parts"]): UIMessage => ({
  id,
  role: "user",
  parts: [...files, { type: "text", text }],
});
const reply = (id: string, text: string): UIMessage => ({
  id,
  role: "assistant",
  parts: [{ type: "step-start" }, { type: "text", text, state: "done" }],
});

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "sessile-ai-sdk-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

interface Stores {
  readonly sessions: SessionStore;
  readonly blobs: BlobStore;
}
let count = 0;
const stores: readonly (readonly [string, () => Stores])[] = [
  ["memory", () => ({ sessions: memorySessionStore(), blobs: memoryBlobStore() })],
  [
    "files",
    () => {
      const at = join(dir, String(count++));
      return {
        sessions: fileSessionStore({ dir: join(at, "sessions") }),
        blobs: fileBlobStore({ dir: join(at, "blobs") }),
      };
    },
  ],
];

async function listed(chats: AiSdkChats<UIMessage>) {
  const found = [];
  for await (const chat of chats.list()) found.push(chat);
  return found;
}

async function blobCount(blobs: BlobStore): Promise<number> {
  let found = 0;
  for await (const _ of blobs.list()) found++;
  return found;
}

describe.each(stores)("chats in %s", (_name, open) => {
  it("loads an empty list for a chat that is not there, and makes none", async () => {
    const chats = aiSdkChats<UIMessage>(open());
    expect(await chats.load("none")).toEqual([]);
    expect(await chats.leafId("none")).toBeNull();
    expect(await chats.versions("none", "m")).toEqual([]);
    expect(await chats.save({ chatId: "none", messages: [] })).toEqual({ leafId: null, written: 0 });
    expect(await chats.file("none", `sha256:${"0".repeat(64)}`)).toBeUndefined();
    expect(await listed(chats)).toEqual([]);
    expect(await chats.delete("none")).toBe(false);
    await chats.close();
  });

  it("writes what differs: a regeneration and an edit are branches, and nothing is lost", async () => {
    const { sessions, blobs } = open();
    const chats = aiSdkChats<UIMessage>({ sessions, blobs });
    const chatId = "a/b c";
    const first = [user("u1", "Where is this?", picture), reply("a1", "In Rome.")];
    const saved = await chats.save({ chatId, messages: first });
    expect(saved).toEqual({ leafId: expect.any(String), written: 2 });
    expect(await chats.load(chatId)).toEqual(first);
    expect(await chats.save({ chatId, messages: first })).toEqual({ ...saved, written: 0 });

    const second = [...first, user("u2", "And when?"), reply("a2", "In May.")];
    expect(await chats.save({ chatId, messages: second })).toMatchObject({ written: 2 });
    const again = [...second.slice(0, 3), reply("a3", "In June.")];
    expect(await chats.save({ chatId, messages: again })).toMatchObject({ written: 1 });
    expect(await chats.load(chatId)).toEqual(again);

    const versions = await chats.versions(chatId, "a3");
    expect(versions.map(({ message }) => message)).toEqual([second[3], again[3]]);
    expect(await chats.versions(chatId, "a2")).toEqual(versions);

    const edited = [user("u1", "What is this?", picture), reply("a4", "A church.")];
    expect(await chats.save({ chatId, messages: edited })).toMatchObject({ written: 2 });
    const ends = await chats.versions(chatId, "u1");
    expect(ends.map(({ message }) => message)).toEqual([first[0], edited[0]]);
    // The newest branch behind each version.
    expect(await chats.load(chatId, { leafId: ends[0]?.leafId ?? "" })).toEqual(again);
    expect(await chats.load(chatId, { leafId: versions[0]?.leafId ?? "" })).toEqual(second);
    expect(await chats.load(chatId, { leafId: null })).toEqual([]);
    await expect(chats.load(chatId, { leafId: "nope" })).rejects.toMatchObject({ code: "ENTRY_NOT_FOUND" });
    expect(await blobCount(blobs)).toBe(image.length >= 4096 ? 1 : 0);
    await chats.close();

    const later = aiSdkChats<UIMessage>({ sessions, blobs });
    expect(await later.load(chatId)).toEqual(edited);
    await later.close();
  });

  it("goes back to a branch by saving it, and writes no message for that", async () => {
    const { sessions, blobs } = open();
    const chats = aiSdkChats<UIMessage>({ sessions, blobs });
    const [one, other] = [
      [user("u", "Hi"), reply("a", "One.")],
      [user("u", "Hi"), reply("b", "Two.")],
    ];
    const { leafId } = await chats.save({ chatId: "c", messages: one });
    await chats.save({ chatId: "c", messages: other });
    expect(await chats.save({ chatId: "c", messages: one })).toEqual({ leafId, written: 0 });
    expect(await chats.leafId("c")).toBe(leafId);
    expect(await chats.save({ chatId: "c", messages: [...one, user("v", "More")] })).toMatchObject({
      written: 1,
    });
    await chats.save({ chatId: "c", messages: [] });
    expect(await chats.load("c")).toEqual([]);
    await chats.close();
    const later = aiSdkChats<UIMessage>({ sessions, blobs });
    expect(await later.load("c")).toEqual([]);
    expect(await later.save({ chatId: "c", messages: other })).toMatchObject({ written: 0 });
    expect(await later.load("c")).toEqual(other);
    await later.close();
  });

  it("keeps the same message at two places apart", async () => {
    const chats = aiSdkChats<UIMessage>(open());
    const [one, other] = [user("u", "Again?"), reply("a", "Again.")];
    const twice = [one, other, one, other];
    expect(await chats.save({ chatId: "c", messages: twice })).toMatchObject({ written: 4 });
    expect(await chats.load("c")).toEqual(twice);
    expect(await chats.save({ chatId: "c", messages: [other, one] })).toMatchObject({ written: 2 });
    expect(await chats.load("c")).toEqual([other, one]);
    await chats.close();
  });

  it("refuses a save behind another leaf than the caller loaded, and writes nothing", async () => {
    const { sessions, blobs } = open();
    const [one, other] = [
      aiSdkChats<UIMessage>({ sessions, blobs }),
      aiSdkChats<UIMessage>({ sessions, blobs }),
    ];
    const start = [user("u", "Hi")];
    const { leafId } = await one.save({ chatId: "c", messages: start, after: null });
    expect(await other.leafId("c")).toBe(leafId);
    await one.save({ chatId: "c", messages: [...start, reply("a", "One.")], after: leafId });
    const late = other.save({ chatId: "c", messages: [...start, reply("b", "Two.")], after: leafId });
    await expect(late).rejects.toMatchObject({ code: "CONCURRENT_WRITER", details: { expected: leafId } });
    expect(await other.load("c")).toEqual([...start, reply("a", "One.")]);
    // The save of one that did not hear of its success.
    const again = await one.save({ chatId: "c", messages: [...start, reply("a", "One.")], after: leafId });
    expect(again.written).toBe(0);
    // Without `after` the later one has the leaf, and the other is a branch.
    await other.save({ chatId: "c", messages: [...start, reply("b", "Two.")] });
    expect(await one.load("c")).toEqual([...start, reply("b", "Two.")]);
    expect((await one.versions("c", "a")).length).toBe(2);
    await Promise.all([one.close(), other.close()]);
  });

  it("lists chats with what the person wrote first, and deletes them", async () => {
    const { sessions, blobs } = open();
    const chats = aiSdkChats<UIMessage>({ sessions, blobs });
    await chats.save({ chatId: "With text", messages: [user("u", "  Where was this? ", picture)] });
    await chats.save({ chatId: "pictures/alone", messages: [{ id: "u", role: "user", parts: [picture] }] });
    await chats.save({ chatId: "🙂", messages: [reply("a", "Nobody asked.")] });
    const titles = Object.fromEntries((await listed(chats)).map(({ chatId, title }) => [chatId, title]));
    expect(titles).toEqual({
      "With text": "Where was this?",
      "pictures/alone": "holiday.png",
      "🙂": undefined,
    });
    await chats.save({ chatId: "With text", messages: [user("u", "Edited")] });
    // The times of saves may be equal, so that their order is not checked.
    expect(await listed(chats)).toContainEqual({
      chatId: "With text",
      title: "Where was this?",
      modified: expect.any(String),
    });
    expect(await chats.delete("pictures/alone")).toBe(true);
    expect(await chats.load("pictures/alone")).toEqual([]);
    expect((await listed(chats)).length).toBe(2);
    await chats.close();
  });

  it("gives files as addresses, and knows them when they come back", async () => {
    const { sessions, blobs } = open();
    const asked: ChatFile[] = [];
    const fileUrl = (file: ChatFile) => {
      asked.push(file);
      return `/files/${file.ref.slice(7)}`;
    };
    const chats = aiSdkChats<UIMessage>({ sessions, blobs, fileUrl, outOfLine: 64 });
    const messages = [user("u", "Where?", picture), reply("a", "In Rome.")];
    const { leafId } = await chats.save({ chatId: "c", messages });
    const shown = await chats.load("c", { files: "url" });
    const [file] = asked;
    expect(file).toEqual({
      chatId: "c",
      ref: expect.any(String),
      mediaType: "image/png",
      filename: "holiday.png",
    });
    expect(shown[0]?.parts[0]).toEqual({ ...picture, url: `/files/${file?.ref.slice(7)}` });
    // The page posts what it shows: nothing differs.
    expect(await chats.save({ chatId: "c", messages: shown })).toEqual({ leafId, written: 0 });
    // An edit that keeps the file.
    const edit = [
      { ...(shown[0] as UIMessage), parts: [shown[0]?.parts[0], { type: "text", text: "When?" }] },
    ];
    await chats.save({ chatId: "c", messages: edit as UIMessage[] });
    expect((await chats.load("c"))[0]?.parts).toEqual([picture, { type: "text", text: "When?" }]);
    const versions = await chats.versions("c", "u", { files: "url" });
    expect(versions.map(({ message }) => message.parts[0])).toEqual([shown[0]?.parts[0], shown[0]?.parts[0]]);
    expect(await blobCount(blobs)).toBe(1);

    expect(await chats.file("c", file?.ref ?? "")).toEqual({
      bytes: new Uint8Array(makePng(64, 48)),
      mediaType: "image/png",
      filename: "holiday.png",
    });
    expect(await chats.file("c", `sha256:${"0".repeat(64)}`)).toBeUndefined();
    // The address of another chat's file is an address like any other.
    const foreign = [user("x", "Mine?", { ...picture, url: `/files/${file?.ref.slice(7)}` })];
    await chats.save({ chatId: "other", messages: foreign });
    expect(await chats.load("other")).toEqual(foreign);
    expect(await chats.file("other", file?.ref ?? "")).toBeUndefined();
    await chats.close();
  });

  it("gives back any history deep-equal, however it was saved", async () => {
    const { sessions, blobs } = open();
    const chats = aiSdkChats<UIMessage>({ sessions, blobs, outOfLine: 64 });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(uiMessages, { minLength: 1, maxLength: 4 }), async (histories) => {
        const chatId = `chat ${run++}`;
        let written = 0;
        for (const messages of histories) {
          const sent = structuredClone(messages);
          const saving = chats.save({ chatId, messages: sent });
          // Taken at the call.
          for (const message of sent) message.parts.length = 0;
          written += (await saving).written;
          expect(await chats.load(chatId)).toEqual(messages);
          expect((await chats.save({ chatId, messages })).written).toBe(0);
        }
        expect(written).toBe(distinctPrefixes(histories));
        const total = histories.flat().length;
        expect(written).toBeLessThanOrEqual(total);
      }),
      { numRuns: _name === "memory" ? 60 : 15 },
    );
    await chats.close();
  });
});

/** Messages at different places, or of different content, are different ones. */
function distinctPrefixes(histories: readonly (readonly UIMessage[])[]): number {
  const sorted = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(sorted);
    if (typeof value !== "object" || value === null) return Object.is(value, -0) ? 0 : value;
    const entries = Object.entries(value).filter(([, member]) => member !== undefined);
    return Object.fromEntries(
      entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, member]) => [key, sorted(member)]),
    );
  };
  const seen = new Set<string>();
  for (const messages of histories)
    for (let end = 1; end <= messages.length; end++) seen.add(JSON.stringify(sorted(messages.slice(0, end))));
  return seen.size;
}

describe("a save", () => {
  it("refuses what JSON cannot keep, naming the place, before anything is written", async () => {
    const sessions = memorySessionStore();
    const blobs = memoryBlobStore();
    const chats = aiSdkChats<UIMessage>({ sessions, blobs });
    const bad = { ...reply("a", "x"), metadata: { at: new Date() } };
    await expect(chats.save({ chatId: "c", messages: [user("u", "Hi"), bad] })).rejects.toMatchObject({
      code: "INVALID_ENTRY",
      message: expect.stringContaining("messages[1].metadata.at"),
    });
    expect(await listed(chats)).toEqual([]);
    await expect(chats.save({ chatId: "c", messages: "x" as never })).rejects.toThrow(TypeError);
    await expect(chats.save({ chatId: 1 as never, messages: [] })).rejects.toThrow("chatId");
    await expect(chats.load("c", { files: "url" })).resolves.toEqual([]);
  });

  it("has the image once in the store, and not in the log", async () => {
    const at = join(dir, "once");
    const blobs = fileBlobStore({ dir: join(at, "blobs") });
    const chats = aiSdkChats<UIMessage>({
      sessions: fileSessionStore({ dir: join(at, "sessions") }),
      blobs,
      outOfLine: 64,
    });
    const messages = [user("u", "Where?", picture)];
    await chats.save({ chatId: "c", messages });
    await chats.save({ chatId: "c", messages: [user("u", "When?", picture)] });
    await chats.close();
    expect(await blobCount(blobs)).toBe(1);
    const names = readdirSync(join(at, "sessions"), { recursive: true, encoding: "utf8" });
    const log = names.find((name) => name.endsWith(".jsonl")) ?? "";
    expect(readFileSync(join(at, "sessions", log), "utf8")).not.toContain(image.slice(30, 90));
  });

  it("keeps its files through a collection with the logs as the only marks", async () => {
    const at = join(dir, "collected");
    const blobs = fileBlobStore({ dir: join(at, "blobs") });
    const sessions = fileSessionStore({ dir: join(at, "sessions") });
    const chats = aiSdkChats<UIMessage>({ sessions, blobs, outOfLine: 64 });
    const messages = [user("u", "Where?", picture)];
    await chats.save({ chatId: "c", messages });
    await chats.close();
    await blobs.put(new Uint8Array([1, 2, 3]));
    const marks = [];
    for await (const { id, location = "" } of sessions.list({ partition: "ai-sdk" }))
      marks.push(await sessionBlobRoots(id, readFileSync(location)));
    const { trashed } = await collectGarbage(blobs, { marks, graceMs: 0 });
    expect(trashed.count).toBe(1);
    expect(await chats.load("c")).toEqual(messages);
    await chats.close();
  });

  it("of two processes' handles at once loses and doubles nothing", async () => {
    const at = join(dir, "two");
    const open = () => aiSdkChats<UIMessage>({ sessions: fileSessionStore({ dir: at }) });
    const [one, other] = [open(), open()];
    const base = [user("u", "Hi")];
    await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        (at % 2 === 0 ? one : other).save({
          chatId: "c",
          messages: [...base, reply(`a${at % 10}`, `Reply ${at % 10}.`)],
        }),
      ),
    );
    const versions = await one.versions("c", "a0");
    expect(versions.map(({ message }) => message.id).sort()).toEqual(
      Array.from({ length: 10 }, (_, at) => `a${at}`),
    );
    await Promise.all([one.close(), other.close()]);
  });
});

describe("a running reply", () => {
  const chunks = Array.from({ length: 20 }, (_, at) => ({ type: "text-delta", id: "t", delta: `${at} ` }));

  async function read<C>(stream: ReadableStream<C>, most = Infinity): Promise<C[]> {
    const found: C[] = [];
    const reader = stream.getReader();
    while (found.length < most) {
      const { done, value } = await reader.read();
      if (done) return found;
      found.push(value);
    }
    await reader.cancel();
    return found;
  }

  it("is replayed from its first chunk to whoever comes, and is read to its end without readers", async () => {
    const chats = aiSdkChats({ sessions: memorySessionStore() });
    let next = () => {};
    let ended = false;
    const source = new ReadableStream<(typeof chunks)[number]>({
      async start(controller) {
        for (const chunk of chunks) {
          await new Promise<void>((resolve) => (next = resolve));
          controller.enqueue(chunk);
        }
        controller.close();
        ended = true;
      },
    });
    const tick = async (times: number) => {
      for (let at = 0; at < times; at++) {
        next();
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
    };
    expect(chats.resume("c")).toBeUndefined();
    const first = chats.stream("c", source);
    await tick(5);
    expect(await read(first, 3)).toEqual(chunks.slice(0, 3));
    const resumed = chats.resume<(typeof chunks)[number]>("c");
    const whole = read(resumed as NonNullable<typeof resumed>);
    await tick(15);
    expect(await whole).toEqual(chunks);
    expect(ended).toBe(true);
    expect(chats.resume("c")).toBeUndefined();
    expect(chats.resume("other")).toBeUndefined();
  });

  it("that fails fails for all its readers", async () => {
    const chats = aiSdkChats({ sessions: memorySessionStore() });
    const source = new ReadableStream({
      start(controller) {
        controller.enqueue(chunks[0]);
        controller.error(new Error("gone"));
      },
    });
    await expect(read(chats.stream("c", source))).rejects.toThrow("gone");
    expect(chats.resume("c")).toBeUndefined();
  });

  it("that another reader has is refused at once", () => {
    const chats = aiSdkChats({ sessions: memorySessionStore() });
    const source = new ReadableStream();
    source.getReader();
    expect(() => chats.stream("c", source)).toThrow(TypeError);
    expect(chats.resume("c")).toBeUndefined();
  });
});

it("a chat with a damaged message is refused, not loaded without it", async () => {
  const at = join(dir, "damaged");
  const sessions = fileSessionStore({ dir: at });
  const chats = aiSdkChats<UIMessage>({ sessions });
  await chats.save({ chatId: "c", messages: [user("u1", "one"), reply("a1", "two"), user("u2", "three")] });
  await chats.close();
  const file = (await sessions.latest({ partition: "ai-sdk" }))?.location as string;
  writeFileSync(file, readFileSync(file, "utf8").replace('"content":"one"', '"content":1'));
  await expect(chats.load("c")).rejects.toMatchObject({ code: "ENTRY_NOT_FOUND" });
  await chats.close();
});
