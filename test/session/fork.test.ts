import fc from "fast-check";
import {
  assistantMessage,
  memorySessionStore,
  type Session,
  type SessionEntry,
  type SessionStore,
  type StoredResource,
  toolResult,
  type UserMessage,
  userMessage,
} from "sessile";
import { describe, expect, test } from "vitest";
import type { FileSystem } from "../../src/core/node/file-system.js";
import { FreshResources } from "../../src/session/store/copy.js";
import { fileSessionStoreOn } from "../../src/storage/files/session-store.js";
import { breakage } from "../arbitraries/broken-sessions.js";
import { conversation } from "../arbitraries/conversations.js";
import { entryTree, plainHeader, sessionEntry, sessionOf } from "../arbitraries/entries.js";
import { SimulatedDisk } from "../support/simulated-disk.js";

// A fork goes by bytes where it can, and by lines where it has to look at them: as with a `rewrite`, also one that leaves
// everything as it is. What lines give is in copy.test.ts; here the two are held against each other.

// On a machine with other work to do.

const path = "/s/x_source.jsonl";
const sourceHeader = { ...plainHeader, id: "source" };
const identity = <E>(entry: E): E => entry;

function storeOn(disk: FileSystem): SessionStore {
  return fileSessionStoreOn(disk, { dir: "/s", durability: "disk" });
}

/** The lines of a copy, in Latin-1, between its header and the title that it was given. */
function copiedLines(disk: SimulatedDisk, { location = "" }: Session): readonly string[] {
  return Buffer.from(disk.bytes(location) ?? [])
    .toString("latin1")
    .split("\n")
    .slice(1, -2);
}

/** A session of this library's own. */
async function ownSession(disk: SimulatedDisk, texts = ["one", "two", "three"]): Promise<SessionStore> {
  const store = storeOn(disk);
  await using session = await store.create({ cwd: "/work", id: "source" });
  for (const text of texts) await session.appendMessage(userMessage(text));
  return store;
}

// @covers R25
test("a fork by bytes has the lines of one by lines, of any session, whole or up to any entry", async () => {
  const text = fc.oneof(
    entryTree().map((entries) => sessionOf(entries, { header: sourceHeader }).text),
    conversation(12).map(({ entries }) => sessionOf(entries, { header: sourceHeader }).text),
    entryTree().map((entries) => sessionOf(entries, { header: { ...sourceHeader, version: 2 } }).text),
    entryTree().map((entries) => sessionOf(entries, { header: { ...sourceHeader, version: 4 } }).text),
  );
  const room = fc.constantFrom(0, 400);
  const ending = fc.constantFrom("\n", "\n", "", '\n{"type":"message","id":"torn');
  let cloned = 0;
  let through = 0;
  await fc.assert(
    fc.asyncProperty(
      text,
      room,
      ending,
      fc.option(breakage, { freq: 1 }),
      fc.nat(6),
      async (text, room, ending, change, pick) => {
        const header = text.replace("\n", `${" ".repeat(room)}\n`);
        const bytes = new TextEncoder().encode(header.replace(/\n$/, ending));
        const disk = new SimulatedDisk();
        disk.put(path, change === null ? bytes : change(bytes));
        const store = storeOn(disk);
        const source = await store.open("source").catch(() => undefined);
        if (source === undefined) return;
        const ids = [undefined, ...Array.from((await source.tree()).walk(), ({ node }) => node.id)];
        const upTo = ids[pick % ids.length];
        const part = upTo === undefined ? {} : { upTo };
        const before = disk.counts.clone;
        const byBytes = await store.fork("source", part);
        if (disk.counts.clone > before) cloned++;
        else through++;
        const byLines = await store.fork("source", { ...part, rewrite: identity });
        expect(copiedLines(disk, byBytes)).toEqual(copiedLines(disk, byLines));
        const { id: _, timestamp: _time, ...same } = byBytes.header;
        expect(byLines.header).toMatchObject(same);
        expect(disk.paths().filter((name) => name.includes(".tmp-"))).toEqual([]);
        await Promise.all([byBytes.close(), byLines.close(), source.close()]);
      },
    ),
    { numRuns: 150 },
  );
  expect(Math.min(cloned, through)).toBeGreaterThan(3);
});

describe("what is cloned", () => {
  test("is a session that this library made, and a fork of a fork, also in a directory with a longer name", async () => {
    const disk = new SimulatedDisk();
    const store = await ownSession(disk);
    for (const [from, id, cwd] of [
      ["source", "first", "/work"],
      ["first", "second", "/work/of-another-tree"],
      ["second", "third", "/work"],
    ] as const) {
      const before = disk.counts.clone;
      const fork = await store.fork(from, { id, cwd });
      expect({ id, clones: disk.counts.clone - before }).toEqual({ id, clones: 1 });
      expect(fork.header).toMatchObject({
        id,
        cwd,
        parentSession: expect.stringContaining(`_${from}.jsonl`),
      });
      expect(fork.diagnostics).toEqual([]);
      await fork.close();
    }
  });

  test("is also what was extracted, and what was migrated", async () => {
    const disk = new SimulatedDisk();
    const store = await ownSession(disk);
    const source = await store.open("source");
    await (await source.extract(undefined, { id: "extracted" })).close();
    disk.put(
      "/s/x_old.jsonl",
      '{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/work"}\n',
    );
    await (await store.open("old", { mode: "write" })).close();
    for (const id of ["extracted", "old"]) {
      const before = disk.counts.clone;
      await (await store.fork(id)).close();
      expect({ id, clones: disk.counts.clone - before }).toEqual({ id, clones: 1 });
    }
    await source.close();
  });

  test("is not a file of which little is wanted, nor one that another program wrote", async () => {
    const disk = new SimulatedDisk();
    const store = await ownSession(disk, ["one", "two".repeat(5000)]);
    const source = await store.open("source");
    const [first] = Array.from((await source.tree()).walk(), ({ node }) => node.id);
    await (await store.fork("source", { upTo: first ?? "" })).close();
    disk.put("/s/x_theirs.jsonl", sessionOf([], { header: { ...plainHeader, id: "theirs" } }).text);
    await (await store.fork("theirs")).close();
    expect(disk.counts.clone).toBe(0);
    await source.close();
  });
});

test("the room behind a header makes no line of it that its own store would not read", async () => {
  const disk = new SimulatedDisk();
  const dir = `/${"d".repeat(400)}`;
  for (const maxLineBytes of [1024, 4096]) {
    const store = fileSessionStoreOn(disk, { dir, durability: "disk", maxLineBytes });
    const id = `of-${maxLineBytes}`;
    await using session = await store.create({ cwd: `/${"w".repeat(200)}`, id });
    await session.appendMessage(userMessage("one"));
    await using again = await store.open(id);
    expect([(await again.tree()).size, again.diagnostics]).toEqual([1, []]);
    await using fork = await store.fork(id, { id: `${id}-fork` });
    expect([(await fork.tree()).size, fork.diagnostics]).toEqual([2, []]);
    const [header = ""] = Buffer.from(disk.bytes(session.location ?? "") ?? [])
      .toString()
      .split("\n");
    expect([header.length <= maxLineBytes, header.endsWith(" ")]).toEqual([true, true]);
  }
});

describe("a fork by bytes", () => {
  test.each([
    ["a line before its header", (text: string) => `junk\n${text}`],
    ["a blank line before its header", (text: string) => `\n${text}`],
    ["a second header", (text: string) => `${text}${JSON.stringify(sourceHeader)}\n`],
  ])("is none where its source has %s: that has one header, which stands first", async (_, change) => {
    const disk = new SimulatedDisk();
    disk.put(
      path,
      change(sessionOf([], { header: sourceHeader }).text.replace("\n", `${" ".repeat(400)}\n`)),
    );
    await using fork = await storeOn(disk).fork("source");
    const lines = Buffer.from(disk.bytes(fork.location ?? "") ?? [])
      .toString()
      .split("\n");
    expect(lines.map((line) => line.includes('"type":"session"'))[0]).toBe(true);
    expect(lines.filter((line) => line.includes('"type":"session"'))).toHaveLength(1);
    expect(disk.counts.clone).toBe(0);
  });

  test("ends with the line feed of its last line, where that line was also when it was asked for", async () => {
    const disk = new SimulatedDisk();
    const store = await ownSession(disk);
    const source = await store.open("source");
    const [first] = Array.from((await source.tree()).walk(), ({ node }) => node.id);
    const before = Buffer.from(disk.bytes(source.location ?? "") ?? []).toString();
    const link = disk.link.bind(disk);
    const copies: string[] = [];
    let looks = 0;
    disk.link = (from, to) => {
      if (from.includes(".tmp-")) copies.push(Buffer.from(disk.bytes(from) ?? []).toString());
      return link(from, to);
    };
    const list = disk.list.bind(disk);
    disk.list = async (directory) => {
      // For the source's id, which is read then; and for that of the fork.
      if (directory.endsWith("--work--") && ++looks === 2)
        disk.open(source.location ?? "", "append")?.append(Buffer.from("late\n"));
      return list(directory);
    };
    for (const upTo of [undefined, first]) {
      disk.put(source.location ?? "", before);
      looks = 0;
      const fork = await store.fork("source", upTo === undefined ? {} : { upTo });
      await fork.close();
    }
    const lines = before.split("\n");
    expect(copies.map((copy) => copy.split("\n").slice(1))).toEqual([lines.slice(1), [lines[1], ""]]);
  });

  // @covers durability:fork
  test("has what was there when it began, whatever is appended meanwhile", async () => {
    const disk = new SimulatedDisk();
    const store = await ownSession(disk);
    const writer = await store.open("source", { mode: "write" });
    const clone = disk.clone.bind(disk);
    disk.clone = async (...args) => {
      await writer.appendMessage(userMessage("meanwhile"));
      return clone(...args);
    };
    const fork = await store.fork("source");
    expect([(await fork.tree()).size, (await writer.tree()).size]).toEqual([4, 4]);
    expect((await fork.context()).items).toHaveLength(3);
    await fork.close();
    await writer.close();
  });

  // @covers durability:fork
  test.each([
    ["append", "ENOSPC"],
    ["sync", "EIO"],
    ["open", "EMFILE"],
    ["syncDirectory", "EIO"],
  ] as const)("makes no session where %s fails, and leaves nothing", async (operation, errno) => {
    const disk = new SimulatedDisk();
    const store = await ownSession(disk);
    const before = disk.paths();
    // Then it is copied, which opens and writes.
    if (operation === "append" || operation === "open") disk.failNext("clone", "EOPNOTSUPP");
    disk.failNext(
      operation,
      errno,
      (name) => operation === "syncDirectory" || name.includes("_fork.jsonl.tmp-"),
    );
    await expect(store.fork("source", { id: "fork" })).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      details: { errno },
    });
    expect(disk.paths().filter((name) => !name.endsWith(".lock"))).toEqual(before);
    await (await store.fork("source", { id: "fork" })).close();
  });

  // @covers durability:fork
  test("takes the place of no other session, also of one that comes meanwhile", async () => {
    const disk = new SimulatedDisk();
    const store = await ownSession(disk);
    const { text } = sessionOf([], { header: { ...plainHeader, id: "taken" } });
    for (const name of ["/s/--work--/t_taken.jsonl", undefined]) {
      const clone = disk.clone.bind(disk);
      disk.clone = async (from, to, ...rest) => {
        const done = await clone(from, to, ...rest);
        disk.put(name ?? to.replace(/\.tmp-.*/, ""), text);
        return done;
      };
      await expect(store.fork("source", { id: "taken" })).rejects.toMatchObject({ code: "SESSION_EXISTS" });
      const left = disk.paths().filter((path) => path.includes("taken") && !path.endsWith(".lock"));
      expect(left.map((path) => Buffer.from(disk.bytes(path) ?? []).toString())).toEqual([text]);
      disk.clone = clone;
      for (const path of left) disk.unlink(path);
    }
  });

  test("goes without links", async () => {
    const disk = new SimulatedDisk();
    const store = await ownSession(disk);
    disk.refuseLinks = true;
    const fork = await store.fork("source");
    expect([(await fork.tree()).size, disk.counts.clone]).toEqual([4, 1]);
    await fork.close();
  });
});

const old = "res_0123456789abcdef";
const sha = "a".repeat(64);
const image: StoredResource = {
  resourceId: old,
  kind: "image",
  source: "upload",
  name: "a.png",
  mediaType: "image/png",
  size: 70,
  blob: `sha256:${sha}`,
  contentSha256: sha,
};

async function entriesOf(session: Session): Promise<SessionEntry[]> {
  const ids = Array.from((await session.tree()).walk(), ({ node }) => node.id);
  return Promise.all(ids.map((id) => session.entry(id) as Promise<SessionEntry>));
}

// @covers R23
test("a fork with fresh resources has new ids everywhere, and the same contents", async () => {
  const store = memorySessionStore();
  const source = await store.create({ cwd: "/p", id: "source" });
  const call = { type: "toolCall", id: "c", name: "view", arguments: { resourceId: old } } as const;
  const foreign = "res_ffffffffffffffff";
  await source.appendMessage(userMessage(`see ${foreign}`, image));
  await source.appendMessage(
    assistantMessage(
      { provider: "p", model: "m" },
      { type: "thinking", thinking: `It is ${old}`, thinkingSignature: "signed" },
      call,
    ),
  );
  await source.appendMessage(toolResult(call, `[image a.png, ${old}]`));
  await source.append([
    { type: "resource_view", resourceId: old },
    { type: "resource_observation", resourceId: old, text: "a cat" },
    { type: "custom", customType: "c", data: { [old]: [old, `${old}0`] } },
  ]);
  const [before] = await source.append([
    {
      type: "compaction",
      summary: `- ${old} a.png`,
      firstKeptEntryId: (await source.tree()).path(source.leafId)[0]?.id as string,
      tokensBefore: 1,
    },
  ]);
  const [fork, second, plain] = [
    await store.fork("source", { resources: "fresh" }),
    await store.fork("source", { resources: "fresh" }),
    await store.fork("source"),
  ];
  const context = await fork.context();
  const fresh = context.views[0]?.resourceId as string;
  expect(fresh).toMatch(/^res_[0-9a-f]{16}$/);
  expect([fresh === old, (await second.context()).views[0]?.resourceId === fresh]).toEqual([false, false]);
  const text = JSON.stringify(await entriesOf(fork));
  const wanted = JSON.stringify(await entriesOf(source)).replaceAll(new RegExp(`${old}\\b`, "g"), fresh);
  // What the provider signed is as it was; the name of the fork comes last.
  expect(text).toContain(wanted.slice(1, -1).replace(`It is ${fresh}`, `It is ${old}`));
  expect(text).toContain(foreign);
  const shown = context.items.map(({ message }) => message).filter(({ role }) => role === "user");
  const [user] = shown as readonly UserMessage[];
  expect(user?.content).toContainEqual(
    expect.objectContaining({
      resource: { ...image, resourceId: fresh },
      text: expect.stringContaining(fresh),
    }),
  );
  expect(context.items[0]?.entryId).toBe(before?.id);
  expect(JSON.stringify(await entriesOf(plain))).toContain(
    JSON.stringify(await entriesOf(source)).slice(1, -1),
  );
  await expect(store.fork("source", { resources: "new" as never })).rejects.toThrow(TypeError);
});

test("media that a model made have fresh ids too, and their block refers to them", async () => {
  const store = memorySessionStore();
  const source = await store.create({ cwd: "/p", id: "source" });
  const data = { inlineData: { data: { $resource: old } }, note: old, thoughtSignature: "signed" };
  const resources = [{ ...image, source: "model" as const }];
  const block = { type: "opaque", data, resources } as const;
  await source.append([
    { type: "message", message: { ...assistantMessage({ provider: "p", model: "m" }), content: [block] } },
    { type: "resource_view", resourceId: old },
  ]);
  const fork = await store.fork("source", { resources: "fresh" });
  const { items, views } = await fork.context();
  const resourceId = views[0]?.resourceId;
  expect(resourceId).not.toBe(old);
  const copy = { ...data, inlineData: { data: { $resource: resourceId } } };
  expect(items[0]?.message).toMatchObject({
    content: [{ type: "opaque", data: copy, resources: [{ resourceId }] }],
  });
});

test("a rewrite of one's own goes first", async () => {
  const store = memorySessionStore();
  const source = await store.create({ cwd: "/p", id: "source" });
  await source.appendMessage(userMessage(image));
  const fork = await store.fork("source", {
    resources: "fresh",
    rewrite: (entry) => (entry.type === "message" ? { ...entry, message: userMessage(`was ${old}`) } : entry),
  });
  const { items } = await fork.context();
  expect(items[0]?.message).toMatchObject({
    content: expect.stringMatching(/^was res_(?!0123456789abcdef)/),
  });
});

// @covers R23
test("nothing but the ids changes in any entry, and what has none is the very same", () => {
  fc.assert(
    fc.property(sessionEntry, fc.boolean(), (entry, notes) => {
      const fresh = new FreshResources();
      if (notes) fresh.collect(entry);
      const out = fresh.rewrite(entry);
      const masked = (value: unknown) => JSON.stringify(value).replace(/res_[0-9a-f]{16}/g, "res");
      expect(masked(out)).toBe(masked(entry));
      if (!notes) expect(out).toBe(entry);
    }),
  );
});
