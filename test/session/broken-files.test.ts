import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import {
  buildSessionContext,
  type Diagnostic,
  encodeEntry,
  type ParsedSession,
  parseSession,
  type SessionEntry,
} from "sessile";
import { SessileError } from "sessile/errors";
import { fileSessionStore, openSessionFile } from "sessile/node";
import { describe, expect, onTestFinished, test } from "vitest";
import { plainHeader } from "../arbitraries/entries.js";
import { processorMs } from "../support/processor-time.js";
import { temporaryDirectory } from "./node/temporary-directory.js";

/** What the table of broken files in docs/reference/format.md promises, a test or more for each of its rows. */

const header = JSON.stringify(plainHeader);
const encoder = new TextEncoder();

function custom(id: string, parentId: string | null = null, data?: unknown): SessionEntry {
  const place = { id, parentId, timestamp: "2025-11-20T23:33:50.805Z" };
  return { type: "custom", ...place, customType: "c", ...(data === undefined ? {} : { data }) };
}
const line = (id: string, parentId: string | null = null, data?: unknown) =>
  encodeEntry(custom(id, parentId, data));
const rawLine = (id: string, data: string) =>
  `{"type":"custom","id":"${id}","parentId":null,"timestamp":"t","customType":"c","data":${data}}`;
const file = (...lines: readonly string[]) => lines.map((one) => `${one}\n`).join("");

const idsOf = (session: ParsedSession) => session.entries.map(({ id }) => id);
const codesOf = (diagnostics: readonly Diagnostic[]) => diagnostics.map((one) => [one.code, one.line]);
/** The ids of the entries that loaded, and what was wrong in which line. */
const outcome = (source: string | Uint8Array) => {
  const session = parseSession(source);
  return { ids: idsOf(session), codes: codesOf(session.diagnostics) };
};
const dataOf = (session: ParsedSession, id: string) => {
  const entry = session.entry(id);
  return entry?.type === "custom" ? entry.data : undefined;
};
const bytesOf = (...parts: readonly (string | readonly number[])[]) =>
  Buffer.concat(
    parts.map((part) => (typeof part === "string" ? encoder.encode(part) : Uint8Array.from(part))),
  );

/** The path of a new file with this content, alone in its directory. */
function written(content: string | Uint8Array): string {
  const path = join(temporaryDirectory(), "2025-11-20T23-33-50-805Z_broken.jsonl");
  writeFileSync(path, content);
  return path;
}

/** An open session that is closed with the test. */
async function opened(path: string, options: Parameters<typeof openSessionFile>[1] = {}) {
  const session = await openSessionFile(path, { durability: "os", ...options });
  onTestFinished(() => session.close());
  return session;
}

/** The error of an open that rejects. */
async function refusal(path: string, mode: "read" | "write" = "read"): Promise<unknown> {
  return openSessionFile(path, { mode }).then(
    (session) => session.close().then(() => undefined),
    (error: unknown) => error,
  );
}

describe("a broken file", () => {
  test("row 1: a __proto__ key", () => {
    const evil = '{"x":{"polluted":1}}'.replace("x", "__proto__");
    const unknown = `{"type":"later","id":"c","parentId":null,"timestamp":"t","o":${evil}}`;
    const session = parseSession(
      file(header, evil, rawLine("a", evil), rawLine("b", evil.replace("__p", "\\u005f_\\u0070")), unknown),
    );
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(codesOf(session.diagnostics)).toEqual([
      ["UNSAFE_KEY", 2],
      ["INVALID_ENTRY", 2],
      ["UNSAFE_KEY", 3],
      ["UNSAFE_KEY", 4],
      ["UNSAFE_KEY", 5],
    ]);
    for (const id of ["a", "b"]) expect(Object.keys(dataOf(session, id) as object)).toEqual([]);
    expect(session.entry("c")).toMatchObject({ type: "unknown", raw: unknown });
  });

  test("row 1: a __proto__ key, its line kept in the file", async () => {
    const evil = rawLine("a", '{"__proto__":{"x":1}}');
    const session = await opened(written(file(header, evil)));
    expect(await session.entry("a")).toMatchObject({ data: {} });
    expect(codesOf(session.diagnostics)).toMatchObject([["UNSAFE_KEY", 0]]);
    expect(new TextDecoder().decode(await session.raw("a"))).toBe(evil);
  });

  test("row 2: ids that every object has", () => {
    const ids = ["__proto__", "toString", "constructor", "hasOwnProperty"];
    const lines = ids.map((id, at) => line(id, ids[at - 1] ?? null, at));
    const session = parseSession(file(header, ...lines));
    expect(session.diagnostics).toEqual([]);
    expect(session.tree.path("hasOwnProperty").map(({ id }) => id)).toEqual(ids);
    expect(ids.map((id) => dataOf(session, id))).toEqual([0, 1, 2, 3]);
    expect(session.entry("valueOf")).toBeUndefined();
    expect(session.tree.label("toString")).toBeUndefined();
  });

  test("row 3: a depth of 10 001", () => {
    const deep = `${"[".repeat(10_001)}${"]".repeat(10_001)}`;
    const session = parseSession(file(header, line("a"), rawLine("b", deep), line("c", "b")));
    expect(codesOf(session.diagnostics)).toEqual([["TOO_DEEP", 3]]);
    expect(idsOf(session)).toEqual(["a", "c"]);
    expect(() => structuredClone(JSON.parse(JSON.stringify(session.entries)))).not.toThrow();
    expect(buildSessionContext(session).items).toEqual([]);
  });

  test("row 4: a line of 600 MB", async () => {
    const chunk = new Uint8Array(1 << 20).fill(0x61);
    const memory = () => process.memoryUsage().arrayBuffers;
    const before = { buffers: memory(), rss: process.memoryUsage.rss() };
    let peak = { buffers: 0, rss: 0 };
    async function* chunks() {
      yield file(header, line("a"));
      yield rawLine("long", '"').slice(0, -1);
      for (let i = 0; i < 600; i++) {
        yield chunk;
        peak = {
          buffers: Math.max(peak.buffers, memory() - before.buffers),
          rss: Math.max(peak.rss, process.memoryUsage.rss() - before.rss),
        };
      }
      yield file('"}', line("b", "a"));
    }
    const started = processorMs();
    const session = await parseSession(chunks());
    expect(processorMs() - started).toBeLessThan(3000);
    expect(idsOf(session)).toEqual(["a", "b"]);
    expect(session.diagnostics).toMatchObject([{ code: "LINE_TOO_LONG", line: 3 }]);
    expect(session.tree.path("b").map(({ id }) => id)).toEqual(["a", "b"]);
    expect(peak.buffers).toBeLessThan(200 << 20);
    expect(peak.rss).toBeLessThan(400 << 20);
  });

  test("row 4: a line over the limit in a file, to which a writer goes on", async () => {
    const path = written(file(header, line("a")));
    const descriptor = openSync(path, "r+");
    ftruncateSync(descriptor, 65 << 20);
    closeSync(descriptor);
    appendFileSync(path, `\n${file(line("b", "a"))}`);
    const session = await opened(path, { mode: "write" });
    expect(codesOf(session.diagnostics)).toEqual([["LINE_TOO_LONG", 3]]);
    const [entry] = await session.append([{ type: "custom", customType: "c" }]);
    expect(entry?.parentId).toBe("b");
    expect((await session.refresh()).length).toBe(0);
  });

  test("row 5: no line feed at the end", async () => {
    const content = file(header, line("a")) + line("b", "a");
    expect(outcome(content)).toEqual({ ids: ["a", "b"], codes: [] });

    const path = written(content);
    const reader = await opened(path);
    expect([reader.leafId, reader.diagnostics]).toEqual(["b", []]);
    expect(readFileSync(path, "utf8")).toBe(content);

    const writer = await opened(path, { mode: "write" });
    const [entry] = await writer.append([{ type: "custom", customType: "c" }]);
    expect(readFileSync(path, "utf8")).toBe(`${content}\n${encodeEntry(entry as SessionEntry)}\n`);
    expect(entry?.parentId).toBe("b");
    expect((await reader.refresh()).map(({ id }) => id)).toEqual([entry?.id]);
    expect([...reader.diagnostics, ...writer.diagnostics]).toEqual([]);
  });

  // @covers durability:torn-tail
  test("row 6: a torn last line", async () => {
    const whole = file(header, line("a"));
    const torn = line("b", "a").slice(0, -9);
    expect(outcome(whole + torn)).toEqual({ ids: ["a"], codes: [["TORN_TAIL", 3]] });

    const path = written(whole + torn);
    const reader = await opened(path);
    expect(codesOf(reader.diagnostics)).toEqual([["TORN_TAIL", 3]]);
    expect(reader.diagnostics[0]?.offset).toBe(whole.length);
    expect(readFileSync(path, "utf8")).toBe(whole + torn);

    const writer = await opened(path, { mode: "write" });
    expect(writer.diagnostics).toMatchObject([{ code: "TORN_LINE", line: 3, offset: whole.length }]);
    const [entry] = await writer.append([{ type: "custom", customType: "c" }]);
    expect(entry?.parentId).toBe("a");
    const after = `${whole}${torn}\t\n${file(encodeEntry(entry as SessionEntry))}`;
    expect(readFileSync(path, "utf8")).toBe(after);
    expect(outcome(after)).toEqual({ ids: ["a", entry?.id], codes: [["TORN_LINE", 3]] });
    expect((await reader.refresh()).map(({ id }) => id)).toEqual([entry?.id]);
    // What was never acknowledged can be appended again under its own id.
    expect((await writer.append([{ type: "custom", customType: "c", id: "b" }]))[0]?.id).toBe("b");
    expect((await opened(path)).leafId).toBe("b");
  });

  test("row 7: torn and joined lines in the middle", async () => {
    const torn = line("t", "a").slice(0, -9);
    expect(outcome(file(header, line("a"), torn, line("b", "a")))).toEqual({
      ids: ["a", "b"],
      codes: [["INVALID_JSON", 3]],
    });
    expect(outcome(file(header, line("a"), line("b", "a") + line("c", "a"), line("d", "a")))).toEqual({
      ids: ["a", "b", "c", "d"],
      codes: [["JOINED_LINE", 3]],
    });
    for (const behind of [[], [""], ["\t"], [torn.replace('"t"', '"u"')], Array(40).fill(torn)]) {
      const content = file(header, line("a"), torn, ...behind);
      expect(outcome(content).ids).toEqual(["a"]);
      // Other programs do not see the torn entry, and would not find what follows it.
      expect(parseSession(content).leafId).toBe("a");
      expect((await opened(written(content))).leafId).toBe("a");
    }
    expect(outcome(file(header, torn.slice(0, 20) + line("b"), line("c", "b")))).toEqual({
      ids: ["b", "c"],
      codes: [
        ["INVALID_JSON", 2],
        ["JOINED_LINE", 2],
      ],
    });
  });

  test("row 8: a byte order mark", async () => {
    const content = `\ufeff${file(header, line("a"))}`;
    expect(outcome(content)).toEqual({ ids: ["a"], codes: [] });
    expect(outcome(`\ufeff${header}`)).toEqual({ ids: [], codes: [] });
    expect(outcome(`\ufeff${content}`)).toEqual({ ids: ["a"], codes: [["BYTE_ORDER_MARK", 1]] });
    expect(outcome(file(header, `\ufeff${line("a")}`))).toEqual({
      ids: ["a"],
      codes: [["BYTE_ORDER_MARK", 2]],
    });
    const session = await opened(written(content));
    expect([session.leafId, session.header.id, session.diagnostics]).toEqual(["a", plainHeader.id, []]);
  });

  test("row 9: CRLF", async () => {
    const content = file(header, line("a"), line("b", "a")).replaceAll("\n", "\r\n");
    const session = parseSession(content);
    expect(session.entries).toEqual([custom("a"), custom("b", "a")]);
    expect(session.diagnostics).toEqual([]);
    const live = await opened(written(content));
    expect(await live.entry("b")).toEqual(custom("b", "a"));
    expect(await live.diagnose()).toEqual([]);
  });

  test("row 10: bare CR, U+2028 and U+2029", () => {
    const data = "a\rb\u2028c\u2029d\u0085e";
    const raw = rawLine("b", '"\u2028\u2029"').replace(',"data"', ',\r"data"');
    const session = parseSession(file(header, line("a", null, data), raw, rawLine("c", '"a\rb"'), line("d")));
    expect(dataOf(session, "a")).toBe(data);
    expect(dataOf(session, "b")).toBe("\u2028\u2029");
    expect(idsOf(session)).toEqual(["a", "b", "d"]);
    // JSON has no bare control character in a string: that line is lost, and it is one line.
    expect(codesOf(session.diagnostics)).toEqual([["INVALID_JSON", 4]]);
  });

  test("row 11: NUL padding at the end", async () => {
    const whole = file(header, line("a"));
    const padding = "\0".repeat(5000);
    expect(outcome(whole + padding)).toEqual({ ids: ["a"], codes: [["TORN_TAIL", 3]] });
    expect(outcome(whole + line("b") + padding)).toEqual({ ids: ["a", "b"], codes: [["NUL_BYTES", 3]] });
    expect(outcome(file(whole + padding + line("b"), line("c", "b")))).toEqual({
      ids: ["a", "b", "c"],
      codes: [["NUL_BYTES", 3]],
    });

    const path = written(whole + padding);
    const session = await opened(path, { mode: "write" });
    expect(readFileSync(path, "utf8")).toBe(`${whole}${padding}\t\n`);
    expect(codesOf(session.diagnostics)).toEqual([["TORN_LINE", 3]]);
    expect(session.leafId).toBe("a");
  });

  test("row 12: bytes that are not UTF-8", () => {
    for (const bytes of [[0xff], [0xed, 0xa0, 0xbd], [0xc3], [0xc0, 0x80]]) {
      const session = parseSession(
        bytesOf(file(header), rawLine("a", '"').slice(0, -1), bytes, '"}\n', file(line("b", "a"))),
      );
      expect(session.diagnostics).toMatchObject([{ code: "INVALID_UTF8", line: 2, entryId: "a" }]);
      expect(idsOf(session)).toEqual(["b"]);
      expect(session.tree.path("b").map(({ id }) => id)).toEqual(["a", "b"]);
    }
    expect(parseSession(bytesOf(file(header, rawLine("a", '"\ufffd"')))).diagnostics).toEqual([]);
  });

  test("row 13: an escaped lone surrogate", () => {
    const session = parseSession(file(header, rawLine("a", '"\\ud83d"')));
    expect(dataOf(session, "a")).toBe("\ud83d");
    expect(session.diagnostics).toEqual([]);
    expect(encodeEntry(session.entry("a") as SessionEntry)).toContain('"\\ud83d"');
  });

  test("row 14: a key that stands twice", () => {
    const session = parseSession(
      file(header, rawLine("a", '{"k":1,"k":2}'), rawLine("b", "1").replace("}", ',"data":2}')),
    );
    expect(dataOf(session, "a")).toEqual({ k: 2 });
    expect(dataOf(session, "b")).toBe(2);
    expect(session.diagnostics).toEqual([]);
    expect(outcome(file(header, rawLine("a", "1").replace(/\}$/, ',"id":"z"}')))).toEqual({
      ids: ["z"],
      codes: [],
    });
  });

  // @covers durability:same-key
  test("row 14: a key that stands twice, in an open session", async () => {
    const twice = rawLine("a", "1").replace(/\}$/, ',"id":"z"}');
    const session = await opened(written(file(header, twice, rawLine("b", '{"k":1,"k":2}'))));
    expect(await session.entry("b")).toMatchObject({ data: { k: 2 } });
    // The tree is made of heads alone: it has the first, and says that the body has another.
    expect((await session.tree()).has("a")).toBe(true);
    expect(await session.entry("a")).toBeUndefined();
    expect(session.diagnostics).toHaveLength(1);
  });

  // @covers durability:same-id
  test("row 15: an id that is taken", () => {
    const session = parseSession(
      file(header, line("a", null, 1), line("b", "a"), line("a", "b", 2), line("c", "a")),
    );
    expect(session.diagnostics).toMatchObject([{ code: "DUPLICATE_ID", line: 4, entryId: "a" }]);
    expect(dataOf(session, "a")).toBe(1);
    expect(session.tree.path("c").map(({ id }) => id)).toEqual(["a", "c"]);
    expect(session.leafId).toBe("c");
  });

  test("row 16: cycles", () => {
    const session = parseSession(
      file(header, line("self", "self"), line("x", "z"), line("y", "x"), line("z", "y"), line("end", "z")),
    );
    expect(codesOf(session.diagnostics)).toEqual([
      ["CYCLE", 2],
      ["CYCLE", 3],
    ]);
    expect(session.tree.path("end").map(({ id }) => id)).toEqual(["x", "y", "z", "end"]);
    expect(Array.from(session.tree.walk())).toHaveLength(5);
    expect(buildSessionContext(session).items).toEqual([]);
  });

  test("row 17: a parent that is missing", () => {
    const session = parseSession(file(header, line("a", "gone"), line("b", "a")));
    expect(session.diagnostics).toMatchObject([{ code: "ORPHAN", line: 2, entryId: "a" }]);
    expect(session.tree.node("a")?.parentId).toBeNull();
    expect(session.tree.path("b").map(({ id }) => id)).toEqual(["a", "b"]);
  });

  test("row 18: numbers that JavaScript changes", async () => {
    const numbers = rawLine("a", "[12345678901234567890,1e999,-0,1.0,1E2]");
    const numbered = JSON.stringify({ ...plainHeader, id: "numbers" });
    const dir = temporaryDirectory();
    const project = join(dir, "--work--");
    mkdirSync(project);
    writeFileSync(join(project, "2025-11-20T23-33-50-805Z_numbers.jsonl"), file(numbered, numbers));
    const store = fileSessionStore({ dir, durability: "os" });
    const fork = await store.fork("numbers", { id: "copy" });
    onTestFinished(() => fork.close());
    expect(new TextDecoder().decode(await fork.raw("a"))).toBe(numbers);
    const extract = await fork.extract("a", { id: "path" });
    onTestFinished(() => extract.close());
    expect(new TextDecoder().decode(await extract.raw("a"))).toBe(numbers);

    for (const data of [Number.POSITIVE_INFINITY, Number.NaN]) {
      const size = readFileSync(fork.location as string).length;
      await expect(fork.append([{ type: "custom", customType: "c", data }])).rejects.toMatchObject({
        code: "INVALID_ENTRY",
        details: { path: "data" },
      });
      expect(readFileSync(fork.location as string)).toHaveLength(size);
    }
  });

  test("row 19: JSON that is no object", () => {
    expect(outcome(file(header, "null", line("a"), "[]", '"x"', "42", line("b", "a")))).toEqual({
      ids: ["a", "b"],
      codes: [2, 4, 5, 6].map((at) => ["NOT_AN_OBJECT", at]),
    });
  });

  test("row 19: JSON that is no object, in a file of version 1 that is migrated", async () => {
    const old = (customType: string) => JSON.stringify({ type: "custom", timestamp: "t", customType });
    const { version: _version, ...header1 } = plainHeader;
    const path = written(file(JSON.stringify(header1), old("x"), "42", old("y"), "null", old("z")));
    const chain = ["00000001", "00000003", "00000005"];
    for (const mode of ["read", "write", "read"] as const) {
      const session = await opened(path, { mode });
      expect((await session.tree()).path(session.leafId).map(({ id }) => id)).toEqual(chain);
      const entries = await Promise.all(chain.map((id) => session.entry(id)));
      expect(entries.map((entry) => entry?.parentId)).toEqual([null, ...chain.slice(0, 2)]);
      expect(codesOf(await session.diagnose()).map(([code]) => code)).toEqual([
        "NOT_AN_OBJECT",
        "NOT_AN_OBJECT",
      ]);
      await session.close();
    }
    expect(JSON.parse(readFileSync(path, "utf8").split("\n")[0] as string)).toEqual(plainHeader);
  });

  test("row 20: a second header", () => {
    const second = JSON.stringify({ ...plainHeader, id: "other", version: 99 });
    const session = parseSession(file(header, line("a"), second, line("b", "a")));
    expect(session.header).toEqual(plainHeader);
    expect(codesOf(session.diagnostics)).toEqual([["EXTRA_HEADER", 3]]);
    expect(idsOf(session)).toEqual(["a", "b"]);
  });

  test("row 21: garbage before the header", async () => {
    const content = file("#!/usr/bin/env pi", "42", "", header, line("a"));
    const session = parseSession(content);
    expect(session.header).toEqual(plainHeader);
    expect(idsOf(session)).toEqual(["a"]);
    expect(codesOf(session.diagnostics)).toEqual([
      ["INVALID_JSON", 1],
      ["NOT_AN_OBJECT", 2],
      ["BEFORE_HEADER", 4],
    ]);
    const live = await opened(written(content));
    expect(live.header).toEqual(plainHeader);
    expect(await live.entry("a")).toEqual(custom("a"));
  });

  test("row 21: no header at all", async () => {
    const session = parseSession(file(line("a")));
    expect([session.header, idsOf(session)]).toEqual([undefined, ["a"]]);
    expect(codesOf(session.diagnostics)).toEqual([["NO_HEADER", 0]]);
    for (const content of [file(line("a")), "no session at all", `${file(line("a"))}{"torn`]) {
      const lines = content.split("\n").filter((one) => one !== "").length;
      const path = written(content);
      for (const mode of ["read", "write"] as const) {
        expect(await refusal(path, mode)).toMatchObject({ code: "NO_HEADER", details: { path, lines } });
        expect(readFileSync(path, "utf8")).toBe(content);
      }
    }
  });

  test("row 22: types and fields of a later version", async () => {
    const unknown = '{"type":"later","id":"a","parentId":null,"timestamp":"t","n": 12345678901234567890}';
    const fields = `${JSON.stringify({ ...custom("b", "a"), later: { x: [1] } })}`;
    const session = parseSession(file(header, unknown, fields));
    expect(session.diagnostics).toEqual([]);
    expect(session.tree.path("b").map(({ type }) => type)).toEqual(["later", "custom"]);
    expect(buildSessionContext(session).items).toEqual([]);
    expect(session.entries.map((entry) => encodeEntry(entry, { checksum: false }))).toEqual([
      unknown,
      fields,
    ]);
  });

  test("row 23: a version that is newer", async () => {
    for (const newer of [{ version: 99 }, { sessile: 99 }]) {
      const content = file(JSON.stringify({ ...plainHeader, ...newer }), line("a"));
      expect(outcome(content)).toEqual({ ids: ["a"], codes: [["NEWER_VERSION", 1]] });
      const path = written(content);
      const session = await opened(path, { mode: "write" });
      expect(session.writable).toBe(false);
      await expect(session.append([{ type: "custom", customType: "c" }])).rejects.toMatchObject({
        code: "SESSION_READ_ONLY",
        details: { reason: "version" },
      });
      await session.branch(null);
      await session.close();
      expect(readFileSync(path, "utf8")).toBe(content);
    }
  });

  test("row 23: a version that is newer, with an end that this one takes for torn", async () => {
    const content = file(JSON.stringify({ ...plainHeader, version: 99 }), line("a")) + line("b").slice(0, -9);
    const path = written(content);
    const session = await opened(path, { mode: "write" });
    expect(session.leafId).toBe("a");
    expect(readFileSync(path, "utf8")).toBe(content);
    expect(readdirSync(dirname(path))).toHaveLength(1);
  });

  // @covers durability:empty-session
  test("row 24: an empty file", async () => {
    expect(outcome("")).toEqual({ ids: [], codes: [["EMPTY", 0]] });
    expect(outcome("\ufeff")).toEqual({ ids: [], codes: [["EMPTY", 0]] });
    for (const mode of ["read", "write"] as const) {
      const path = written("");
      const error = await refusal(path, mode);
      expect(error).toBeInstanceOf(SessileError);
      expect(error).toMatchObject({ code: "EMPTY", details: { path } });
      expect((error as Error).message).toContain("delete it, or restore it");
      expect(readFileSync(path)).toHaveLength(0);
    }
  });

  describe("row 25: what is no file", () => {
    const fifo = (path: string) => void execFileSync("mkfifo", [path]);
    const socket = (path: string) =>
      new Promise<void>((resolve) => {
        const server = createServer().listen(path, resolve);
        onTestFinished(() => new Promise<void>((closed) => server.close(() => closed())));
      });

    test.skipIf(process.platform === "win32").each([
      ["directory", mkdirSync],
      ["FIFO", fifo],
      ["socket", socket],
    ] as const)("a %s, refused without a wait", async (kind, make) => {
      const path = join(temporaryDirectory(), "x.jsonl");
      await make(path);
      for (const mode of ["read", "write"] as const) {
        expect(await refusal(path, mode)).toMatchObject({ code: "NOT_A_FILE", details: { path, kind } });
      }
    });

    test.skipIf(!existsSync("/dev/null"))("a device, refused without a wait", async () => {
      for (const path of ["/dev/null", "/dev/zero"]) {
        expect(await refusal(path)).toMatchObject({ code: "NOT_A_FILE", details: { path, kind: "device" } });
      }
    });

    test.skipIf(process.platform === "win32")(
      "is not in the list of a store, and does not hang it",
      async () => {
        const dir = temporaryDirectory();
        mkdirSync(join(dir, "--work--"));
        fifo(join(dir, "--work--", "t_fifo.jsonl"));
        mkdirSync(join(dir, "--work--", "t_directory.jsonl"));
        writeFileSync(join(dir, "--work--", "t_real.jsonl"), file(header, line("a")));
        const store = fileSessionStore({ dir });
        const listed: string[] = [];
        for await (const { location } of store.list()) listed.push(location ?? "");
        expect(listed).toEqual([join(dir, "--work--", "t_real.jsonl")]);
        await expect(store.open("fifo")).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
      },
    );

    test("nothing at all", async () => {
      const path = join(temporaryDirectory(), "x.jsonl");
      expect(await refusal(path)).toMatchObject({ code: "SESSION_NOT_FOUND", details: { id: path } });
    });
  });

  describe("row 26: a file that is shorter than it was", () => {
    const short = file(header, line("a"));
    const long = short + file(line("b", "a"), line("c", "b"));

    test("is read again by one who reads", async () => {
      const path = written(long);
      const session = await opened(path);
      expect(session.leafId).toBe("c");
      truncateSync(path, short.length);
      expect((await session.refresh()).map(({ id }) => id)).toEqual(["a"]);
      expect(codesOf(session.diagnostics)).toEqual([["LOG_REPLACED", 0]]);
      expect([session.leafId, (await session.tree()).size, (await session.tree()).has("b")]).toEqual([
        "a",
        1,
        false,
      ]);
      appendFileSync(path, file(line("d", "a")));
      expect((await session.refresh()).map(({ id }) => id)).toEqual(["d"]);
      expect(session.diagnostics).toHaveLength(1);
    });

    test("is no place for one who writes, until it was read again", async () => {
      const path = written(long);
      const session = await opened(path, { mode: "write" });
      truncateSync(path, short.length);
      await expect(session.append([{ type: "custom", customType: "c" }])).rejects.toMatchObject({
        code: "CONCURRENT_WRITER",
      });
      expect(readFileSync(path, "utf8")).toBe(short);
      expect(codesOf(session.diagnostics)).toEqual([["LOG_REPLACED", 0]]);
      expect(session.leafId).toBe("a");
      const [entry] = await session.append([{ type: "custom", customType: "c" }]);
      expect(entry?.parentId).toBe("a");
    });

    test("and so is another file in its place, of the same length too", async () => {
      const path = written(long);
      const session = await opened(path);
      writeFileSync(`${path}.new`, short + file(line("b", "a"), line("z", "b")));
      renameSync(`${path}.new`, path);
      await session.refresh();
      expect(codesOf(session.diagnostics)).toMatchObject([["LOG_REPLACED", 0]]);
      expect(session.leafId).toBe("z");
    });
  });
});
