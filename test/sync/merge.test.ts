import fc from "fast-check";
import { parseSession, type Session, type SessionStore, userMessage } from "sessile";
import { mergeSessions, syncSessions } from "sessile/sync";
import { describe, expect, test } from "vitest";
import { entryTree, sessionOf } from "../arbitraries/entries.js";
import { rounds } from "../support/rounds.js";
import { bytesOf, memoryStore, put, viewOf } from "./stores.js";

let clock = Date.UTC(2026, 0, 1);
const now = () => clock++;

/** Two stores with copies of one session, a handle on each, and the bytes of the copies. */
async function twoCopies(): Promise<{
  base: Uint8Array;
  a: SessionStore;
  b: SessionStore;
  inA: Session;
  inB: Session;
}> {
  const [a, b] = [memoryStore(now), memoryStore(now)];
  const inA = await a.create({ cwd: "/p", id: "s" });
  await inA.appendMessage(userMessage("one"));
  await inA.appendMessage(userMessage("two"));
  await syncSessions(a, b);
  return { base: await bytesOf(a, "s"), a, b, inA, inB: await b.open("s", { mode: "write" }) };
}

/** The merge of two copies, which is the same in either order and with each of them again. */
async function merged(base: Uint8Array | undefined, a: Uint8Array, b: Uint8Array): Promise<Uint8Array> {
  const { bytes } = await mergeSessions(base, a, b);
  const text = Buffer.from(bytes).toString();
  expect(Buffer.from((await mergeSessions(base, b, a)).bytes).toString()).toBe(text);
  for (const copy of [a, b])
    expect(viewOf((await mergeSessions(copy, copy, bytes)).bytes)).toEqual(viewOf(bytes));
  return bytes;
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

describe("mergeSessions", () => {
  test("a copy that is ahead is the result, byte for byte", async () => {
    const { base, a, inA } = await twoCopies();
    await inA.appendMessage(userMessage("three"));
    const ahead = await bytesOf(a, "s");
    expect(textOf(await merged(base, ahead, base))).toBe(textOf(ahead));
    expect(textOf(await merged(undefined, ahead, base))).toBe(textOf(ahead));
    expect(textOf(await merged(new Uint8Array(), ahead, ahead))).toBe(textOf(ahead));
  });

  test("where both went on, both branches are there, and the leaf is the newest", async () => {
    const { base, a, b, inA, inB } = await twoCopies();
    await inA.appendMessage(userMessage("from a"));
    await inB.appendMessage(userMessage("from b"));
    const bytes = await merged(base, await bytesOf(a, "s"), await bytesOf(b, "s"));
    const session = parseSession(bytes);
    expect(session.diagnostics).toEqual([]);
    // Two of each, and the leaf entry of the merge.
    expect(session.entries).toHaveLength(5);
    expect(session.leafId).toBe(inB.leafId);
    expect(await mergeSessions(base, await bytesOf(a, "s"), await bytesOf(b, "s"))).toMatchObject({
      added: { a: 1, b: 1 },
      differing: [],
    });
  });

  test("two clones that merge each other have the same file", async () => {
    const { base, a, b, inA, inB } = await twoCopies();
    await inA.updateInfo({ title: "a's" });
    await inB.updateInfo({ title: "b's" });
    await inA.appendMessage(userMessage("from a"));
    const [one, two] = [await bytesOf(a, "s"), await bytesOf(b, "s")];
    const bytes = await merged(base, one, two);
    expect(parseSession(bytes).info.title).toBe("b's");
    expect(textOf(await merged(one, bytes, (await mergeSessions(base, two, one)).bytes))).toBe(textOf(bytes));
  });

  test("an edited entry counts where one copy edited it, and the other did not", async () => {
    const { base, b, inB } = await twoCopies();
    const edited = Buffer.from(Buffer.from(base).toString().replace('"two"', '"[redacted]"'));
    const entryId = inB.leafId as string;
    await inB.appendMessage(userMessage("three"));
    const bytes = await merged(base, edited, await bytesOf(b, "s"));
    expect(Buffer.from(bytes).toString()).not.toContain('"two"');
    expect(parseSession(bytes).entries).toHaveLength(3);
    expect((await mergeSessions(base, edited, await bytesOf(b, "s"))).differing).toEqual([entryId]);
  });

  test("a line that is damaged in one copy is taken from the other", async () => {
    const { base } = await twoCopies();
    const text = Buffer.from(base).toString();
    const damaged = Buffer.from(text.replace('"two"', '"two'));
    expect(Buffer.from(await merged(undefined, damaged, base)).toString()).toBe(text);
  });

  test("an entry that one copy lacks comes back", async () => {
    const { base } = await twoCopies();
    const lines = Buffer.from(base).toString().split("\n");
    const without = Buffer.from([lines[0], lines[1], ""].join("\n"));
    expect(parseSession(await merged(base, without, base)).entries).toHaveLength(2);
  });

  test("a torn end is ended as a writer would", async () => {
    const { base, a, b, inA, inB } = await twoCopies();
    await inA.appendMessage(userMessage("from a"));
    await inB.appendMessage(userMessage("from b"));
    const torn = Buffer.concat([await bytesOf(a, "s"), Buffer.from('{"type":"mess')]);
    const session = parseSession(await merged(base, torn, await bytesOf(b, "s")));
    expect(session.entries).toHaveLength(5);
    expect(session.diagnostics.map(({ code }) => code)).toEqual(["TORN_LINE"]);
  });

  test("two entries with one id, type and time, below different parents, are refused", async () => {
    const entry = (id: string, parentId: string | null, content: string) => ({
      ...{ type: "message", id, parentId, timestamp: "2026-01-01T00:00:00.000Z" },
      message: { role: "user", content, timestamp: 1 },
    });
    const header = { type: "session", version: 3, id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/" };
    const fileOf = (...entries: readonly object[]) =>
      Buffer.from([header, ...entries].map((each) => `${JSON.stringify(each)}\n`).join(""));
    const shared = [entry("aaaaaaaa", null, "a"), entry("bbbbbbbb", "aaaaaaaa", "b")];
    const one = fileOf(...shared, entry("cccccccc", "aaaaaaaa", "c"));
    await expect(
      mergeSessions(fileOf(...shared), one, fileOf(...shared, entry("cccccccc", "bbbbbbbb", "d"))),
    ).rejects.toMatchObject({ code: "DUPLICATE_ID", details: { entryId: "cccccccc" } });
    const edited = fileOf(...shared, entry("cccccccc", "aaaaaaaa", "d"));
    expect(textOf((await mergeSessions(one, one, edited)).bytes)).toBe(textOf(edited));
  });

  test("other sessions, two entries with one id, other versions and no sessions are refused", async () => {
    const { base, a, b, inA, inB } = await twoCopies();
    const text = Buffer.from(base).toString();
    const with_ = (from: string | RegExp, to: string) => Buffer.from(text.replace(from, to));
    await expect(mergeSessions(base, base, with_('"id":"s"', '"id":"t"'))).rejects.toMatchObject({
      code: "SESSION_MISMATCH",
      details: { expected: "s", actual: "t" },
    });
    const later = with_(/"timestamp":"[^"]*"/, '"timestamp":"2020-01-01T00:00:00.000Z"');
    await expect(mergeSessions(base, later, base)).rejects.toMatchObject({ code: "SESSION_MISMATCH" });
    for (const version of [2, 4]) {
      const other = with_('"version":3', `"version":${version}`);
      await expect(mergeSessions(base, base, other)).rejects.toMatchObject({ code: "SESSION_READ_ONLY" });
    }
    await expect(mergeSessions(base, base, new Uint8Array())).rejects.toMatchObject({ code: "EMPTY" });
    await expect(mergeSessions(base, Buffer.from("x\n"), base)).rejects.toMatchObject({ code: "NO_HEADER" });
    await inA.append([{ type: "message", id: "00000001", message: userMessage("a's") }]);
    await inB.append([{ type: "message", id: "00000001", message: userMessage("b's") }]);
    await expect(mergeSessions(base, await bytesOf(a, "s"), await bytesOf(b, "s"))).rejects.toMatchObject({
      code: "DUPLICATE_ID",
      details: { entryId: "00000001" },
    });
    await expect(mergeSessions(base, base, "text" as never)).rejects.toThrow(TypeError);
    await expect(mergeSessions(base, base, 1 as never)).rejects.toThrow(TypeError);
  });

  test("any two parts of a session merge to the same file in either order, with every entry of both", async () => {
    const parts = fc.tuple(
      entryTree({ maxLength: 12 }),
      fc.infiniteStream(fc.constantFrom("a", "b", "both")),
    );
    await fc.assert(
      fc.asyncProperty(parts, async ([entries, sides]) => {
        const {
          text,
          lines: [header = "", ...lines],
        } = sessionOf(entries);
        const kept = lines.map((line) => [line, sides.next().value] as const);
        const copy = (side: string) =>
          Buffer.from(
            `${[header, ...kept.flatMap(([line, to]) => (to === side || to === "both" ? [line] : []))].join("\n")}\n`,
          );
        const [a, b] = [copy("a"), copy("b")];
        const bytes = (await mergeSessions(undefined, a, b)).bytes;
        expect(textOf(bytes)).toBe(textOf((await mergeSessions(undefined, b, a)).bytes));
        const whole = parseSession(text);
        const result = parseSession(bytes);
        const ids = result.entries.map(({ id }) => id);
        expect(ids).toEqual(expect.arrayContaining(whole.entries.map(({ id }) => id)));
        for (const { id } of whole.entries)
          expect(result.tree.node(id)?.parentId).toBe(whole.tree.node(id)?.parentId);
      }),
      { numRuns: rounds(40, 300) },
    );
  });

  test("takes streams, and a store opens the result", async () => {
    const { base, a, b, inA, inB } = await twoCopies();
    await inA.appendMessage(userMessage("from a"));
    await inB.appendMessage(userMessage("from b"));
    const [one, two] = [await bytesOf(a, "s"), await bytesOf(b, "s")];
    async function* chunks(bytes: Uint8Array) {
      for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7);
    }
    const { bytes } = await mergeSessions(chunks(base), chunks(one), [two.subarray(0, 9), two.subarray(9)]);
    expect(textOf(bytes)).toBe(textOf((await mergeSessions(base, one, two)).bytes));
    const store = memoryStore();
    await put(store, "s", bytes);
    const session = await store.open("s", { mode: "write" });
    await session.appendMessage(userMessage("next"));
    expect((await session.context()).items).toHaveLength(4);
  });
});
