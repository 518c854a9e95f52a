import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import {
  asUserMessage,
  type BlobStore,
  blockResource,
  digest,
  type EntryDraft,
  type ImageBlock,
  type Message,
  memoryBlobStore,
  memorySessionStore,
  project,
  type Session,
  type SessionStoreOptions,
  type TextBlock,
  type ToolResultMessage,
  toolResult,
  userMessage,
} from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { resourcesIn } from "sessile/attachments";
import { fileSessionStore } from "sessile/node";
import { afterEach, describe, expect, test, vi } from "vitest";
import { base64, png } from "../attachments/samples.js";

const dirs: string[] = [];
afterEach(async () => {
  for (const dir of dirs.splice(0)) await rm(dir, { recursive: true, force: true });
});

const padded = (size: number, seed = 0): Uint8Array => {
  const bytes = new Uint8Array(size).fill(seed);
  bytes.set(png());
  return bytes;
};
const image = (bytes: Uint8Array, mimeType = "image/png"): ImageBlock => ({
  type: "image",
  data: base64(bytes),
  mimeType,
});
const text = (text: string): TextBlock => ({ type: "text", text });
const saying = (...content: readonly (TextBlock | ImageBlock)[]): Message => ({
  role: "user",
  content,
  timestamp: 1,
});
const call = { id: "c1", name: "shot" };

const open = (options: SessionStoreOptions = {}): Promise<Session> =>
  memorySessionStore(options).create({ cwd: "/p" });

const linesOf = async (session: Session): Promise<string> => {
  const raws = await Promise.all(
    Array.from((await session.tree()).walk(), async ({ node }) =>
      new TextDecoder().decode(await session.raw(node.id)),
    ),
  );
  return raws.join("\n");
};

/** A blob store whose puts wait until they are let through, one by one and in any order. */
function heldBlobs(): Pick<BlobStore, "put"> & {
  readonly store: BlobStore;
  readonly held: { readonly go: () => void; readonly fail: (error: unknown) => void }[];
} {
  const store = memoryBlobStore();
  const held: { go: () => void; fail: (error: unknown) => void }[] = [];
  return {
    store,
    held,
    async put(bytes) {
      await new Promise<void>((go, fail) => held.push({ go, fail }));
      return store.put(bytes);
    },
  };
}

describe("a session with blobs", () => {
  test("stores an inline image before the append, and its entry has the descriptor", async () => {
    const blobs = memoryBlobStore();
    const dir = await mkdtemp(join(tmpdir(), "recording-"));
    dirs.push(dir);
    const session = await fileSessionStore({ dir, blobs }).create({ cwd: "/p" });
    const bytes = padded(20_000);
    const entry = await session.appendMessage(saying(text("see"), image(bytes)));
    const content = entry.message.role === "user" ? entry.message.content : [];
    expect(content).toMatchObject([
      { type: "text", text: "see" },
      { type: "text", resource: { kind: "image", source: "upload", size: 20_000 } },
    ]);
    const block = content[1];
    const resource = typeof block === "object" ? blockResource(block) : undefined;
    if (resource === undefined || resource.kind === "link") throw new TypeError("no stored resource");
    expect(await blobs.get(resource.blob)).toEqual(bytes);
    await session.close();
    const [project = ""] = await readdir(dir);
    const [file = ""] = await readdir(join(dir, project));
    const log = await readFile(join(dir, project, file), "utf8");
    expect(log).not.toContain(base64(bytes).slice(0, 40));
    expect(log).toContain(resource.blob);
    expect(log.length).toBeLessThan(2000);
  });

  test.each<[string, EntryDraft, "upload" | "tool"]>([
    ["a user's message", { type: "message", message: saying(image(padded(2000))) }, "upload"],
    [
      "a tool's result",
      {
        type: "message",
        message: { ...toolResult(call, "ok"), content: [image(padded(2000))] },
      },
      "tool",
    ],
    [
      "a custom message's entry",
      { type: "custom_message", customType: "x", display: true, content: [image(padded(2000))] },
      "upload",
    ],
    [
      "a message of an extension",
      {
        type: "message",
        message: {
          role: "custom",
          customType: "x",
          display: true,
          content: [image(padded(2000))],
          timestamp: 1,
        },
      },
      "upload",
    ],
    [
      "a context edit",
      { type: "context_edit", targetId: "first", replacement: { content: [image(padded(2000))] } },
      "upload",
    ],
  ])("moves the images of %s", async (_name, draft, source) => {
    const blobs = memoryBlobStore();
    const session = await open({ blobs });
    await session.append([{ type: "message", id: "first", message: userMessage("hi") }]);
    const [entry] = await session.append([draft]);
    expect(JSON.stringify(entry)).toContain(`"source":"${source}"`);
    expect(await linesOf(session)).not.toContain(base64(padded(2000)).slice(0, 40));
    expect(await blobs.get(digest(padded(2000)))).toEqual(padded(2000));
  });

  test("may be given to one session, when it is made or opened, and goes on in what is extracted", async () => {
    const blobs = memoryBlobStore();
    const store = memorySessionStore();
    const made = await store.create({ cwd: "/p", id: "s", blobs });
    await made.appendMessage(saying(image(padded(5000))));
    await made.close();
    const opened = await store.open("s", { mode: "write", blobs });
    await opened.appendMessage(saying(image(padded(5000, 1))));
    const taken = await opened.extract();
    await taken.appendMessage(saying(image(padded(5000, 2))));
    expect(resourcesIn(await taken.context())).toHaveLength(3);
    const plain = await store.open("s", { mode: "write" });
    await expect(plain.appendMessage(saying(image(padded(5000, 3))))).rejects.toMatchObject({
      code: "INLINE_BYTES",
    });
  });

  test("keeps the order of the calls, whatever order the store finishes in", async () => {
    const { held, store, ...blobs } = heldBlobs();
    const session = await open({ blobs });
    const done: string[] = [];
    const say = (name: string, message: Message) =>
      session.appendMessage(message).then((entry) => {
        done.push(name);
        return entry;
      });
    const appends = [
      say("a", userMessage("a")),
      say("b", saying(image(padded(3000, 1)))),
      say("c", userMessage("c")),
      say("d", saying(image(padded(3000, 2)))),
      say("e", userMessage("e")),
    ];
    await vi.waitFor(() => expect(held).toHaveLength(2), 30_000);
    // What stands before an image does not wait for it.
    await vi.waitFor(() => expect(done).toEqual(["a"]), 30_000);
    held[1]?.go();
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(done).toEqual(["a"]);
    held[0]?.go();
    const entries = await Promise.all(appends);
    expect(done).toEqual(["a", "b", "c", "d", "e"]);
    expect(Array.from((await session.tree()).walk(), ({ node }) => node.id)).toEqual(
      entries.map(({ id }) => id),
    );
    expect(entries.map(({ parentId }) => parentId)).toEqual([
      null,
      ...entries.slice(0, -1).map(({ id }) => id),
    ]);
    expect(resourcesIn(await session.context())).toHaveLength(2);
    expect(store).toBeDefined();
  });

  test("goes where the leaf was at the call, though it was moved since", async () => {
    const { held, ...blobs } = heldBlobs();
    const session = await open({ blobs });
    const first = await session.appendMessage(userMessage("first"));
    const second = await session.appendMessage(userMessage("second"));
    const appending = session.appendMessage(saying(image(padded(3000))));
    await session.branch(first.id);
    const aside = session.appendMessage(userMessage("aside"));
    await vi.waitFor(() => expect(held).toHaveLength(1), 30_000);
    held[0]?.go();
    expect((await appending).parentId).toBe(second.id);
    expect((await aside).parentId).toBe(first.id);
    expect(session.leafId).toBe((await aside).id);
  });

  test("writes all of a batch or none of it", async () => {
    const { held, ...blobs } = heldBlobs();
    const session = await open({ blobs });
    await session.appendMessage(userMessage("first"));
    const batch = session.append([
      { type: "message", message: userMessage("one") },
      { type: "message", message: saying(image(padded(3000))) },
    ]);
    const behind = session.appendMessage(userMessage("behind"));
    await vi.waitFor(() => expect(held).toHaveLength(1), 30_000);
    held[0]?.fail(new Error("full"));
    await expect(batch).rejects.toThrow("full");
    // As with a write that fails, what was to follow it is not written either.
    await expect(behind).rejects.toThrow("full");
    expect((await session.tree()).size).toBe(1);
    const next = await session.appendMessage(userMessage("next"));
    expect(next.parentId).not.toBeNull();
    expect((await session.tree()).size).toBe(2);
  });

  test("stores nothing of a batch that cannot be written", async () => {
    const blobs = memoryBlobStore();
    const session = await open({ blobs });
    const wrong = { type: "message", message: { role: "nobody" } } as never;
    await expect(
      session.append([{ type: "message", message: saying(image(padded(3000))) }, wrong]),
    ).rejects.toMatchObject({ code: "INVALID_ENTRY" });
    for await (const stat of blobs.list()) expect(stat).toBeUndefined();
  });

  test("is withdrawn by its signal while the store works", async () => {
    const { held, ...blobs } = heldBlobs();
    const session = await open({ blobs });
    const stop = new AbortController();
    const appending = session.appendMessage(saying(image(padded(3000))), { signal: stop.signal });
    await vi.waitFor(() => expect(held).toHaveLength(1), 30_000);
    stop.abort(new Error("enough"));
    held[0]?.go();
    await expect(appending).rejects.toThrow("enough");
    expect((await session.tree()).size).toBe(0);
  });

  test("takes a second append of the same draft for the same entry", async () => {
    const session = await open({ blobs: memoryBlobStore() });
    const draft = (seed: number): EntryDraft => ({
      type: "message",
      id: "m1",
      message: saying(text("see"), image(padded(3000, seed)), image(padded(4000, seed))),
    });
    const [first] = await session.append([draft(1)]);
    const [again] = await session.append([draft(1)]);
    expect(again).toEqual(first);
    expect((await session.tree()).size).toBe(1);
    const ids = resourcesIn(await session.context()).map(({ resourceId }) => resourceId);
    expect(new Set(ids).size).toBe(2);
    await expect(session.append([draft(2)])).rejects.toMatchObject({ code: "DUPLICATE_ID" });
  });

  test("records what the draft was at the call", async () => {
    const { held, store, ...blobs } = heldBlobs();
    const session = await open({ blobs });
    const content = [image(padded(3000, 0)), text("before"), image(padded(3000, 1))];
    const appending = session.appendMessage({ role: "user", content, timestamp: 1 });
    content[1] = text("after");
    content[2] = image(padded(3000, 2));
    for (const at of [0, 1]) {
      await vi.waitFor(() => expect(held).toHaveLength(at + 1), 30_000);
      held[at]?.go();
    }
    const entry = await appending;
    expect(JSON.stringify(entry)).toContain("before");
    expect(await store.get(digest(padded(3000, 1)))).toBeDefined();
  });

  test("reads base64 with line breaks, without padding or in the URL alphabet", async () => {
    const blobs = memoryBlobStore();
    const session = await open({ blobs });
    const bytes = padded(3001, 255);
    const strict = base64(bytes);
    for (const data of [
      strict.replace(/.{76}/g, "$&\n"),
      strict.replace(/=+$/, ""),
      strict.replaceAll("+", "-").replaceAll("/", "_"),
    ]) {
      await session.appendMessage(saying({ type: "image", data, mimeType: "image/png" }));
    }
    expect(resourcesIn(await session.context())).toMatchObject(
      Array.from({ length: 3 }, () => ({ contentSha256: digest(bytes).slice(7) })),
    );
  });

  test("refuses data that are no base64, and an image too large for the store, unless they are allowed", async () => {
    const junk: ImageBlock = { type: "image", data: "no base64! ".repeat(200), mimeType: "image/png" };
    const blobs = memoryBlobStore({ maxBytes: 4000 });
    const session = await open({ blobs });
    await expect(session.appendMessage(saying(text("a"), junk))).rejects.toMatchObject({
      code: "INLINE_BYTES",
      details: { path: "drafts[0].message.content[1]", bytes: 2200, maxBytes: 1024 },
    });
    await expect(session.appendMessage(saying(image(padded(5000))))).rejects.toMatchObject({
      code: "BLOB_TOO_LARGE",
    });
    expect((await session.tree()).size).toBe(0);
    const allowing = await open({ blobs, inline: "allow" });
    await allowing.appendMessage(saying(junk, image(padded(5000)), image(padded(3000))));
    expect(resourcesIn(await allowing.context())).toHaveLength(1);
    expect(await linesOf(allowing)).toContain(base64(padded(5000)));
  });

  test("stages no image, since staging cannot wait for the store", async () => {
    const session = await open({ blobs: memoryBlobStore() });
    expect(() => session.stage([{ type: "message", message: saying(image(png())) }])).toThrow(
      expect.objectContaining({ code: "INLINE_BYTES" }) as Error,
    );
    expect((await session.tree()).size).toBe(0);
  });

  test("keeps what a client sent inline, which asUserMessage leaves in", async () => {
    const blobs = memoryBlobStore();
    const session = await open({ blobs });
    const body = JSON.stringify({ content: [text("see"), image(padded(9000))] });
    await session.appendMessage(asUserMessage(JSON.parse(body)));
    expect(await blobs.get(digest(padded(9000)))).toEqual(padded(9000));
    expect(await linesOf(session)).not.toContain(base64(padded(9000)).slice(0, 40));
  });
});

describe("a session without blobs", () => {
  // @covers R6
  test.each<[string, (content: ImageBlock[]) => EntryDraft, string]>([
    [
      "message",
      (content) => ({ type: "message", message: { role: "user", content, timestamp: 1 } }),
      "message.content[1]",
    ],
    [
      "custom_message",
      (content) => ({ type: "custom_message", customType: "x", display: true, content }),
      "content[1]",
    ],
    [
      "context_edit",
      (content) => ({ type: "context_edit", targetId: "first", replacement: { content } }),
      "replacement.content[1]",
    ],
  ])("refuses a %s with more than 1024 bytes of base64", async (_type, draft, path) => {
    const session = await open();
    await session.append([{ type: "message", id: "first", message: userMessage("hi") }]);
    const most = image(new Uint8Array(381));
    const small = image(new Uint8Array(387));
    expect(most.data.length + small.data.length).toBe(1024);
    await session.append([draft([most, small])]);
    const over = { ...small, data: `${small.data}AAAA` };
    await expect(
      session.append([{ type: "label", targetId: "first" }, draft([most, over])]),
    ).rejects.toMatchObject({
      code: "INLINE_BYTES",
      details: { path: `drafts[1].${path}`, bytes: 1028, maxBytes: 1024 },
    });
    expect((await session.tree()).size).toBe(2);
    expect(() => session.stage([draft([most, over])])).toThrow(/INLINE_BYTES|1028 bytes/);
  });

  test("writes them where that is allowed by name", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/p", inline: "allow" });
    await session.appendMessage(saying(image(padded(5000))));
    expect(await linesOf(session)).toContain(base64(padded(5000)));
    const strict = await memorySessionStore({ inline: "allow" }).create({ cwd: "/p", inline: "refuse" });
    await expect(strict.appendMessage(saying(image(padded(5000))))).rejects.toMatchObject({
      code: "INLINE_BYTES",
    });
  });

  test("copies and opens what other writers have inline", async () => {
    const store = memorySessionStore();
    const made = await store.create({ cwd: "/p", id: "s", inline: "allow" });
    await made.appendMessage(saying(image(padded(5000))));
    await made.close();
    const fork = await store.fork("s");
    expect(await linesOf(fork)).toContain(base64(padded(5000)));
    expect(await linesOf(await fork.extract())).toContain(base64(padded(5000)));
    expect((await store.open("s")).diagnostics).toEqual([]);
  });

  test.each([{ blobs: {} }, { blobs: null }, { inline: "no" }, { truncate: 5 }])(
    "says which option is none: %j",
    async (options) => {
      expect(() => memorySessionStore(options as never)).toThrow(TypeError);
      const store = memorySessionStore();
      await expect(store.create({ cwd: "/p", ...(options as object) })).rejects.toThrow(TypeError);
      await expect(store.open("s", options as never)).rejects.toThrow(TypeError);
    },
  );
});

describe("the policy of truncation", () => {
  const truncate = (message: ToolResultMessage): ToolResultMessage => ({
    ...message,
    content: message.content.map((block) =>
      block.type === "text" ? { ...block, text: block.text.slice(0, 10) } : block,
    ),
  });

  // @covers R90
  test("is applied to tool results alone, before they are recorded", async () => {
    const session = await open({ truncate, blobs: memoryBlobStore() });
    const long = "x".repeat(100);
    const result = { ...toolResult(call, long), content: [text(long), image(padded(3000))] };
    const [user, tool] = await session.append([
      { type: "message", message: userMessage(long) },
      { type: "message", id: "t", message: result },
    ]);
    expect(user).toMatchObject({ message: { content: long } });
    expect(tool).toMatchObject({
      message: { content: [{ text: long.slice(0, 10) }, { resource: { source: "tool" } }] },
    });
    const [again] = await session.append([{ type: "message", id: "t", message: result }]);
    expect(again).toEqual(tool);
    const [staged] = session.stage([{ type: "message", message: toolResult(call, long) }]);
    expect(staged).toMatchObject({ message: { content: [{ text: long.slice(0, 10) }] } });
  });

  test("may be a session's own", async () => {
    const store = memorySessionStore({ truncate: () => toolResult(call, "store's") });
    const session = await store.create({ cwd: "/p", truncate });
    const entry = await session.appendMessage(toolResult(call, "0123456789abc"));
    expect(entry).toMatchObject({ message: { content: [{ text: "0123456789" }] } });
  });
});

// @covers R6
test("property: no line has the base64 of any image, the blobs have its bytes, and a request shows the same", async () => {
  const picture = fc
    .tuple(fc.integer({ min: 1, max: 60 }), fc.uint8Array({ minLength: 40, maxLength: 200 }))
    .map(([side, noise]) => {
      const head = png(side, side);
      const bytes = new Uint8Array(head.length + noise.length);
      bytes.set(head);
      bytes.set(noise, head.length);
      return bytes;
    });
  const block = fc.oneof(
    { weight: 2, arbitrary: picture.map((bytes) => ({ bytes })) },
    { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 20 }).map((text) => ({ text })) },
  );
  const message = fc.record({
    role: fc.constantFrom("user", "custom"),
    blocks: fc.array(block, { maxLength: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 4 }), async (drafts) => {
      // Of one turn, in which every image is sent: the user's messages begin it.
      const messages = drafts.map(({ role: any, blocks }, index): Message => {
        const role = index === 0 ? "user" : any;
        const content = blocks.map((piece) => ("bytes" in piece ? image(piece.bytes) : text(piece.text)));
        return role === "user"
          ? { role, content, timestamp: 1 }
          : { role: "custom", customType: "x", display: true, content, timestamp: 1 };
      });
      const images = drafts.flatMap(({ blocks }) =>
        blocks.flatMap((piece) => ("bytes" in piece ? [piece.bytes] : [])),
      );
      const blobs = memoryBlobStore();
      const slim = await open({ blobs });
      const inline = await open({ inline: "allow" });
      const append = (session: Session) =>
        Promise.all(messages.map((message) => session.appendMessage(message)));
      await append(slim);
      await append(inline);
      const log = await linesOf(slim);
      for (const bytes of images) {
        expect(log).not.toContain(base64(bytes).slice(-40));
        expect(await blobs.get(digest(bytes))).toEqual(bytes);
      }
      const sent = async (session: Session): Promise<string[]> => {
        const { value } = await project(
          await session.context(),
          anthropicMessages({ model: "claude-sonnet-4-5" }),
          {
            blobs,
          },
        );
        return JSON.stringify(value).match(/"data":"[^"]*"/g) ?? [];
      };
      const [own, other] = [await sent(slim), await sent(inline)];
      // A resource's bytes go once in a request, where it stands twice.
      expect(new Set(own)).toEqual(new Set(other));
      expect(new Set(own).size).toBe(new Set(images.map((bytes) => digest(bytes))).size);
    }),
    { numRuns: 25 },
  );
});
