import { type EntryDraft, type LinePlace, type Session, sessionStore, userMessage } from "sessile";
import { describe, expect, test } from "vitest";
import { fileSessionStoreOn } from "../../src/storage/files/session-store.js";
import { SimulatedDisk } from "../support/simulated-disk.js";
import { gate, hookedMemory, type LogHooks } from "./hooked-backend.js";

const say = (text: string): EntryDraft => ({ type: "message", message: userMessage(text) });

/** A session whose look-ups of lines are counted. */
async function counted() {
  const reads: number[] = [];
  const hooks: LogHooks = { readAt: (places: readonly LinePlace[]) => void reads.push(places.length) };
  const store = sessionStore(hookedMemory(hooks));
  const session = await store.create({ cwd: "/p", id: "s" });
  const taken = () => reads.splice(0).reduce((sum, count) => sum + count, 0);
  return { store, session, taken, hooks };
}

describe("bodies that were appended", () => {
  test("are there for the next context without a look at the log", async () => {
    const { session, taken } = await counted();
    for (let at = 0; at < 100; at++) await session.append([say(String(at))]);
    expect((await session.context()).items.length).toBe(100);
    await session.append([say("more")]);
    expect((await session.context()).items.length).toBe(101);
    expect(taken()).toBe(0);
  });

  test("do not gather without end where nobody asks for a context", async () => {
    const { session, taken } = await counted();
    const drafts = Array.from({ length: 500 }, (_, at) => say(String(at)));
    for (let batch = 0; batch < 12; batch++) await session.append(drafts);
    const ids = (await session.tree()).path(session.leafId).map((node) => node.id);
    expect(ids.length).toBe(6000);
    for (const id of ids) expect(await session.entry(id)).toMatchObject({ id });
    // All but the last few thousand had to be read again.
    const gone = taken();
    expect(gone).toBeGreaterThan(6000 - 4097);
    expect((await session.context()).items.length).toBe(6000);
    expect(taken()).toBe(gone);
    expect((await session.context()).items.length).toBe(6000);
    expect(taken()).toBe(0);
  });
});

describe("bodies that opening read", () => {
  /** Two sessions in files of a disk, opened one after the other, and the number of reads since. */
  async function opened() {
    const disk = new SimulatedDisk();
    const store = fileSessionStoreOn(disk, { dir: "/sessions" });
    for (const id of ["a", "b"]) {
      const session = await store.create({ cwd: "/p", id });
      await session.append(Array.from({ length: 10 }, (_, at) => say(`${id} ${at}`)));
      await session.close();
    }
    let reads = 0;
    const open = disk.open.bind(disk);
    disk.open = (path, mode) => {
      const file = open(path, mode);
      if (file === undefined) return undefined;
      const read = (into: Uint8Array, at: number) => {
        reads++;
        return file.read(into, at);
      };
      return { ...file, read };
    };
    const [first, second] = [await store.open("a"), await store.open("b", { mode: "write" })];
    reads = 0;
    const readsOf = async (session: Session, items = 10) => {
      const before = reads;
      expect((await session.context()).items.length).toBe(items);
      return reads - before;
    };
    return { disk, first, second, readsOf };
  }

  test("are there for the first context of the log that was opened last", async () => {
    const { first, second, readsOf } = await opened();
    expect(await readsOf(second)).toBe(0);
    expect(await readsOf(first)).toBe(1);
  });

  test("are there for a context after an append", async () => {
    const { second, readsOf } = await opened();
    await second.append([say("more")]);
    expect(await readsOf(second, 11)).toBe(0);
  });

  test("are there beside those of more appends than are kept without a context", async () => {
    const { second, readsOf } = await opened();
    await second.append(Array.from({ length: 300 }, (_, at) => say(`more ${at}`)));
    expect(await readsOf(second, 310)).toBe(1);
    expect(second.diagnostics).toEqual([]);
  });

  test("are read again once the file has changed", async () => {
    const { disk, second, readsOf } = await opened();
    const path = second.location as string;
    const bytes = Buffer.alloc(1 << 16);
    const length = disk.open(path, "read")?.readSync(bytes, 0) ?? 0;
    disk.put(path, bytes.toString("utf8", 0, length).replace("b 3", "c 3"));
    expect(await readsOf(second)).toBe(1);
    expect((await second.context()).items[3]?.message).toMatchObject({ content: "c 3" });
    expect(second.diagnostics.map(({ code }) => code)).toEqual(["MODIFIED"]);
  });
});

describe("bodies that were read", () => {
  test("are kept for the next context, and let go when contexts have moved elsewhere", async () => {
    const { store, session, taken } = await counted();
    const [root] = await session.append([say("root")]);
    await session.append(Array.from({ length: 800 }, (_, at) => say(`long ${at}`)));
    const long = session.leafId;
    await session.branch(root?.id ?? null);
    await session.append([say("short")]);
    await session.close();

    const again = await store.open("s");
    taken();
    await again.context(long);
    expect(taken()).toBe(801);
    await again.context(long);
    expect(taken()).toBe(0);
    await again.context();
    expect(taken()).toBe(1);
    // Now the long branch is no longer what is wanted.
    await again.context();
    expect(taken()).toBe(0);
    await again.context(long);
    expect(taken()).toBeGreaterThan(700);
  });

  test("one by one are not kept", async () => {
    const { store, session, taken } = await counted();
    const [entry] = await session.append([say("a")]);
    await session.close();
    const again = await store.open("s");
    for (let at = 0; at < 3; at++) expect(await again.entry(entry?.id ?? "")).toEqual(entry);
    expect(taken()).toBe(3);
    expect(await again.entry("none")).toBeUndefined();
  });

  test("stay for the context that asked for them, whatever is appended and let go meanwhile", async () => {
    const { store, session, hooks } = await counted();
    await session.append(Array.from({ length: 300 }, (_, at) => say(String(at))));
    const leafId = session.leafId;
    await session.close();
    const again = await store.open("s", { mode: "write" });
    const { opened, open } = gate();
    const context = again.context(leafId);
    hooks.append = async (_lines, _expected, append) => {
      await opened;
      return append();
    };
    const many = again.append(Array.from({ length: 5000 }, (_, at) => say(String(at))));
    open();
    const [{ items }] = await Promise.all([context, many]);
    expect(items.length).toBe(300);
    expect(items.map(({ message }) => "content" in message && message.content)).toEqual(
      Array.from({ length: 300 }, (_, at) => String(at)),
    );
    await again.close();
  });
});

describe("a body that is damaged", () => {
  const time = "2026-01-02T03:04:05.678Z";
  const line = (id: string, parentId: string | null, text: string) =>
    `{"type":"message","id":"${id}","parentId":${JSON.stringify(parentId)},"timestamp":"${time}","message":{"role":"user","content":"${text}","timestamp":1}}\n`;

  async function damaged(text: string): Promise<{ session: Session; disk: SimulatedDisk }> {
    const disk = new SimulatedDisk();
    const header = `{"type":"session","version":3,"id":"s","timestamp":"${time}","cwd":"/p"}\n`;
    disk.put(
      "/s/s.jsonl",
      header +
        line("aaaaaaaa", null, "before") +
        line("bbbbbbbb", "aaaaaaaa", text) +
        line("cccccccc", "bbbbbbbb", "after"),
    );
    return { session: await disk.sessions({ dir: "/s" }).open("s"), disk };
  }

  test.each([
    ["INVALID_JSON", "\\x"],
    ["INVALID_JSON", '"",'],
    ["TOO_DEEP", `","x":${"[".repeat(300)}${"]".repeat(300)},"y":"`],
  ])(
    "is no entry, is reported once (%s), and is left out of a context that has all before it",
    async (code, text) => {
      const { session } = await damaged(text);
      expect(session.diagnostics).toEqual([]);
      for (let round = 0; round < 3; round++) {
        expect(await session.entry("bbbbbbbb")).toBeUndefined();
        expect((await session.context()).items.map((item) => item.entryId)).toEqual(["aaaaaaaa", "cccccccc"]);
      }
      expect(session.diagnostics.map(({ code: found, entryId }) => [found, entryId])).toEqual([
        [code, "bbbbbbbb"],
      ]);
      expect((await session.tree()).node("bbbbbbbb")).toMatchObject({
        parentId: "aaaaaaaa",
        type: "message",
      });
      expect(await session.raw("bbbbbbbb")).toBeDefined();
      expect((await session.diagnose()).map((found) => found.code)).toEqual([code]);
      await session.close();
    },
  );

  test("in its fields reads as unknown, and is reported once", async () => {
    const { session } = await damaged('x","timestamp":1},"message":{"role":"user","content":5,"z":"');
    for (let round = 0; round < 2; round++) {
      expect(await session.entry("bbbbbbbb")).toMatchObject({ type: "unknown", entryType: "message" });
      expect((await session.context()).items.length).toBe(2);
    }
    expect(session.diagnostics.map(({ code }) => code)).toEqual(["INVALID_FIELDS"]);
    await session.close();
  });

  test("since another program wrote over it is reported as that", async () => {
    const { session, disk } = await damaged("whole");
    const bytes = disk.bytes("/s/s.jsonl") as Uint8Array;
    disk.put(
      "/s/s.jsonl",
      Buffer.from(Buffer.from(bytes).toString().replace('"id":"bbbbbbbb"', '"id":"b0b0b0b0"')),
    );
    expect(await session.entry("bbbbbbbb")).toBeUndefined();
    expect(await session.entry("bbbbbbbb")).toBeUndefined();
    disk.put("/s/s.jsonl", bytes.slice(0, Buffer.from(bytes).indexOf('"id":"bbbbbbbb"')));
    expect(await session.entry("cccccccc")).toBeUndefined();
    expect(session.diagnostics.map(({ code, entryId }) => [code, entryId])).toEqual([
      ["LOG_REPLACED", "bbbbbbbb"],
    ]);
    expect((await session.context()).items.map((item) => item.entryId)).toEqual(["aaaaaaaa"]);
    expect(session.diagnostics.map(({ code, entryId }) => [code, entryId])).toEqual([
      ["LOG_REPLACED", "bbbbbbbb"],
      ["LOG_REPLACED", "cccccccc"],
    ]);
    await session.close();
  });
});
