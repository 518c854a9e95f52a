import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { memoryBlobStore, type SessionStore, sessionStore, userMessage } from "sessile";
import { SessileError } from "sessile/errors";
import { fileSessionStore } from "sessile/node";
import { copySessions, syncSessions } from "sessile/sync";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { breakage } from "../arbitraries/broken-sessions.js";
import { entryTree, sessionOf } from "../arbitraries/entries.js";
import { hookedMemory } from "../session/hooked-backend.js";
import { richSession } from "../support/rich-session.js";
import { rounds } from "../support/rounds.js";
import { bytesOf, memoryStore, put, textOf } from "./stores.js";

let dir = "";
let count = 0;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "sessile-copy-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const fileStore = (): SessionStore & { readonly dir: string } => {
  const own = join(dir, String(count++));
  mkdirSync(own);
  return Object.assign(fileSessionStore({ dir: own, durability: "os" }), { dir: own });
};

const header = '{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}';
const entry = (id: string, parent: string | null, text = id) =>
  JSON.stringify({
    type: "message",
    id,
    parentId: parent,
    timestamp: "2026-01-01T00:00:00.000Z",
    message: { role: "user", content: text, timestamp: 1 },
  });

/** Puts a file into a store in files, as another program would. */
function putFile(
  store: { readonly dir: string },
  text: string | Uint8Array,
  id = "s",
  partition = "",
): string {
  const folder = join(store.dir, ...(partition === "" ? [] : [`@${partition}`]), "--p--");
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `2026-01-01T00-00-00-000Z_${id}.jsonl`);
  writeFileSync(path, text);
  return path;
}

const pathsOf = (store: { readonly dir: string }) =>
  readdirSync(store.dir, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".jsonl"));
const fileOf = (store: { readonly dir: string }) => join(store.dir, pathsOf(store)[0] ?? "");

describe("copySessions", () => {
  test("copies every byte: line ends, unknown and damaged lines, headers, and back again", async () => {
    const text = [
      "before the header",
      `\ufeff${header}   \r`,
      "",
      entry("00000001", null),
      `${entry("00000002", "00000001")}\r`,
      "{ not json",
      '{"type":"later","id":"x","parentId":"00000002","timestamp":"","big":12345678901234567890}',
      header,
      `${entry("00000003", "00000002").slice(0, -4)}\t`,
      entry("00000001", null, "again"),
      "\u0000\u0000",
      "",
    ].join("\n");
    const bytes = Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0xfe, 10])]);
    const [source, target] = [fileStore(), fileStore()];
    putFile(source, bytes);
    const between = memoryStore();
    expect(await copySessions(source, between)).toMatchObject({ sessions: 1, changed: 1, skipped: [] });
    const { bytes: written } = await copySessions(between, target);
    expect(written).toBe(bytes.length);
    expect(readFileSync(fileOf(target)).equals(bytes)).toBe(true);
    expect(await copySessions(source, target)).toMatchObject({
      sessions: 1,
      changed: 0,
      bytes: 0,
      entries: 0,
    });
  });

  test("copies any file, however broken, or skips it with the code of opening it", async () => {
    const brokenFile = fc
      .tuple(entryTree(), fc.array(breakage, { maxLength: 3 }))
      .map(([entries, breakages]) =>
        breakages.reduce<Uint8Array>((bytes, change) => change(bytes), Buffer.from(sessionOf(entries).text)),
      );
    await fc.assert(
      fc.asyncProperty(brokenFile, async (bytes) => {
        const [source, target] = [fileStore(), fileStore()];
        putFile(source, bytes);
        const { skipped, tornBytes } = await copySessions(source, memoryStore());
        await copySessions(source, target);
        if (pathsOf(target).length === 0) {
          expect(skipped.length === 1 || tornBytes === bytes.length).toBe(true);
          return;
        }
        const whole = Buffer.from(bytes).subarray(0, bytes.length - tornBytes);
        const written = readFileSync(fileOf(target));
        expect(written.subarray(0, whole.length).equals(whole)).toBe(true);
        expect(["", "\n", "\t\n"]).toContain(written.toString("latin1", whole.length));
        expect(written.at(-1)).toBe(10);
      }),
      { numRuns: rounds(25, 200) },
    );
  });

  test("a second run continues where the first was interrupted, and adds what is new", async () => {
    const source = memoryStore();
    const long = "long ".repeat(80_000);
    const lines = Array.from({ length: 7 }, (_, at) => entry(`e${at}`, at === 0 ? null : `e${at - 1}`, long));
    await put(source, "s", [header, ...lines, ""].join("\n"));
    let appends = 0;
    const hooked = hookedMemory({
      append(_lines, _expected, append) {
        if (++appends === 2) throw failure();
        return append();
      },
    });
    const target = sessionStore(hooked);
    await expect(copySessions(source, target)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    const half = (await bytesOf(target, "s")).length;
    expect(half).toBeGreaterThan(0);
    const report = await copySessions(source, target);
    expect(report.bytes).toBe((await bytesOf(source, "s")).length - half);
    expect(await textOf(target, "s")).toBe(await textOf(source, "s"));
    const session = await source.open("s", { mode: "write" });
    await session.appendMessage(userMessage("new"));
    expect(await copySessions(source, target)).toMatchObject({ changed: 1, entries: 1 });
    expect(await textOf(target, "s")).toBe(await textOf(source, "s"));
  });

  test("a target whose append was torn gets the source's bytes, and the torn file is kept beside it", async () => {
    const [source, target] = [fileStore(), fileStore()];
    const text = [header, entry("00000001", null), entry("00000002", "00000001"), ""].join("\n");
    putFile(source, text);
    const path = putFile(target, text.slice(0, -20));
    expect(await copySessions(source, target)).toMatchObject({ changed: 1, skipped: [] });
    expect(readFileSync(path, "utf8")).toBe(text);
    expect(readdirSync(dirname(path)).filter((name) => name.includes(".old-"))).toHaveLength(1);
  });

  test("a session of the target with other lines is skipped, and one that is ahead is left", async () => {
    const source = memoryStore();
    await put(source, "s", [header, entry("00000001", null), ""].join("\n"));
    const target = memoryStore();
    const ahead = [header, entry("00000001", null), entry("00000002", "00000001"), ""].join("\n");
    await put(target, "s", ahead);
    expect(await copySessions(source, target)).toMatchObject({ sessions: 1, changed: 0, skipped: [] });
    for (const line of [entry("00000009", null), `${entry("00000001", null)} `]) {
      const other = memoryStore();
      await put(other, "s", [header, line, ""].join("\n"));
      const { skipped } = await copySessions(source, other);
      expect(skipped).toMatchObject([{ partition: "", id: "s", error: { code: "SESSION_EXISTS" } }]);
    }
    await put(source, "no", "no header\n");
    const { skipped } = await copySessions(source, memoryStore(), { partitions: [""], ids: ["no"] });
    expect(skipped).toMatchObject([{ id: "no", error: { code: "NO_HEADER" } }]);
    expect(await textOf(target, "s")).toBe(ahead);
  });

  test("a torn end is left out while its writer may be at work; an end without a line feed gets one", async () => {
    const [source, target] = [fileStore(), memoryStore()];
    const text = [header, entry("00000001", null), entry("00000002", "00000001")].join("\n");
    const path = putFile(source, text.slice(0, -9));
    const first = await copySessions(source, target);
    expect(first.tornBytes).toBe(entry("00000002", "00000001").length - 9);
    appendFileSync(path, text.slice(-9));
    expect(await copySessions(source, target)).toMatchObject({ entries: 1, tornBytes: 0, skipped: [] });
    expect(await textOf(target, "s")).toBe(`${text}\n`);
    appendFileSync(path, `\n${entry("00000003", "00000002")}\n`);
    expect(await copySessions(source, target)).toMatchObject({ entries: 1 });
    expect(await textOf(target, "s")).toBe(readFileSync(path, "utf8"));
  });

  test("whole entries that are joined to a torn end are copied", async () => {
    const [source, target] = [fileStore(), fileStore()];
    const [a, b, c] = [entry("00000001", null), entry("00000002", "00000001"), entry("00000003", "00000002")];
    const path = putFile(source, [header, a + b + c.slice(0, -9)].join("\n"));
    expect(await copySessions(source, target)).toMatchObject({ entries: 2, tornBytes: 0, skipped: [] });
    const copy = await target.open("s");
    expect((await copy.path()).map(({ id }) => id)).toEqual(["00000001", "00000002"]);
    await copy.close();
    expect(await copySessions(source, target)).toMatchObject({ changed: 0, skipped: [] });
    appendFileSync(path, `${c.slice(-9)}\n`);
    expect(await copySessions(source, target)).toMatchObject({ changed: 1, skipped: [] });
    expect(await textOf(target, "s")).toBe(readFileSync(path, "utf8"));
  });

  test("a session that grows while it is copied is copied with what it got", async () => {
    const source = memoryStore();
    const session = await source.create({ cwd: "/p", id: "s" });
    await session.appendMessage(userMessage("first"));
    let more = 3;
    const target = sessionStore(
      hookedMemory({
        async append(_lines, _expected, append) {
          const written = await append();
          if (more-- > 0) await session.appendMessage(userMessage("grows"));
          return written;
        },
      }),
    );
    expect(await copySessions(source, target)).toMatchObject({ sessions: 1, entries: 4 });
    expect(await textOf(target, "s")).toBe(await textOf(source, "s"));
  });

  test("copies all partitions or those that are named, chosen sessions, in the order of their times", async () => {
    let clock = 1;
    const source = memoryStore(() => clock++);
    for (const partition of ["", "one", "Two"]) {
      for (const id of ["a", "b", "c"]) {
        const session = await source.create({ cwd: `/${id}`, id, partition });
        await session.appendMessage(userMessage(`${id} in ${partition}`));
      }
    }
    const ids = async (store: SessionStore, partition: string) => {
      const found: string[] = [];
      for await (const { id } of store.list({ partition })) found.push(id);
      return found.join("");
    };
    const all = memoryStore(() => clock++);
    expect(await copySessions(source, all)).toMatchObject({ sessions: 9, changed: 9, skipped: [] });
    for (const partition of ["", "one", "Two"]) expect(await ids(all, partition)).toBe("cba");
    const some = memoryStore(() => clock++);
    const filter = ({ cwd }: { readonly cwd: string }) => cwd !== "/b";
    expect(await copySessions(source, some, { partitions: ["one", "one"], filter })).toMatchObject({
      sessions: 2,
    });
    expect([await ids(some, ""), await ids(some, "one"), await ids(some, "Two")]).toEqual(["", "ca", ""]);
    expect(await copySessions(source, some, { ids: ["b", "x"] })).toMatchObject({
      sessions: 3,
      skipped: ["", "Two", "one"].map((partition) => ({
        partition,
        id: "x",
        error: { code: "SESSION_NOT_FOUND" },
      })),
    });
    expect([await ids(some, ""), await ids(some, "one"), await ids(some, "Two")]).toEqual(["b", "bca", "b"]);
    const files = fileStore();
    expect(await copySessions(all, files)).toMatchObject({ sessions: 9, skipped: [] });
    expect(await copySessions(files, all)).toMatchObject({ sessions: 9, changed: 0 });
  });

  test("blobs are in the target before the entries that name them; lost ones are reported", async () => {
    const { blobs: from, messages, shot, latest } = await richSession();
    const source = memoryStore();
    const session = await source.create({ cwd: "/p", id: "s", blobs: from, partition: "t" });
    for (const message of messages) if (message.role === "user") await session.appendMessage(message);
    await session.close();
    await from.delete(latest.blob);
    const to = memoryBlobStore().partition("t");
    const types: (string | undefined)[] = [];
    const put = to.put.bind(to);
    to.put = (bytes, options) => {
      types.push(options?.mediaType);
      // Then the target compares the digest, and keeps the name whatever its own algorithm is.
      expect(options?.ref).toMatch(/^sha256:/);
      return put(bytes, options);
    };
    let checked = 0;
    const target = sessionStore(
      hookedMemory({
        async append(lines, _expected, append) {
          const text = Buffer.concat(lines.map((line) => Buffer.from(line))).toString();
          for (const [ref] of text.matchAll(/sha256:[0-9a-f]{64}/g)) {
            if (ref === latest.blob) continue;
            expect(await to.get(ref as typeof latest.blob)).toEqual(
              await from.get(ref as typeof latest.blob),
            );
            checked++;
          }
          return append();
        },
      }),
    );
    const blobs = (partition: string) => {
      expect(partition).toBe("t");
      return { from, to };
    };
    const report = await copySessions(source, target, { blobs, partitions: ["t"] });
    expect(checked).toBeGreaterThan(3);
    expect(types).toContain("image/png");
    expect(report.blobs).toMatchObject({ count: 4, lost: [latest.blob] });
    await to.delete(shot.blob);
    expect(await copySessions(source, target, { blobs, partitions: ["t"] })).toMatchObject({
      changed: 0,
      blobs: { count: 1, lost: [latest.blob] },
    });
    expect(await to.stat(shot.blob)).toBeDefined();
  });

  test("what cannot be copied is skipped with its reason; a failing target rejects", async () => {
    const source = fileStore();
    putFile(source, [header, entry("00000001", null), ""].join("\n"));
    putFile(source, "no header\n", "broken");
    putFile(source, [header.replace('"s"', '"../../x"'), entry("00000001", null), ""].join("\n"), "unsafe");
    putFile(source, [header, entry("00000002", null), ""].join("\n"), "copied-by-hand");
    const target = fileStore();
    const { sessions, skipped } = await copySessions(source, target);
    expect(sessions).toBe(1);
    expect(skipped.map(({ error: { code } }) => code).sort()).toEqual([
      "INVALID_ENTRY",
      "NO_HEADER",
      "SESSION_EXISTS",
    ]);
    expect(readdirSync(target.dir)).toEqual(["--p--"]);
    const [unreadable, reached] = [hookedMemory(), memoryStore()];
    for (const id of ["bad", "good"])
      await put(sessionStore(unreadable), id, `${header.replace('"s"', `"${id}"`)}\n`);
    const open: typeof unreadable.open = (id, options) =>
      id === "bad" ? Promise.reject(failure()) : unreadable.open(id, options);
    expect(await copySessions(sessionStore({ ...unreadable, open }), reached)).toMatchObject({
      sessions: 1,
      skipped: [{ id: "bad", error: { code: "STORAGE_FAILED" } }],
    });
    const failing = sessionStore(hookedMemory({ append: () => Promise.reject(failure()) }));
    await expect(copySessions(source, failing)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    await expect(
      copySessions(source, target, { signal: AbortSignal.abort(new Error("enough")) }),
    ).rejects.toThrow("enough");
  });

  test("wrong options are refused by name", async () => {
    const store = memoryStore();
    for (const options of [
      { partitions: ["../x"] },
      { ids: [""] },
      { filter: 1 },
      { blobs: {} },
      { ids: ["a"], filter: () => true },
    ]) {
      const [name = ""] = Object.keys(options).slice(-1);
      await expect(copySessions(store, store, options as never)).rejects.toThrow(new RegExp(`^${name}`));
      await expect(syncSessions(store, store, options as never)).rejects.toThrow(TypeError);
    }
  });
});

function failure(): SessileError {
  const details = { operation: "append to", path: "test", errno: "ENOSPC" };
  return new SessileError("STORAGE_FAILED", "the disk is full", { details });
}
