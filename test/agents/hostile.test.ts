import { memoryBlobStore, memorySessionStore } from "sessile";
import { importSession } from "sessile/interop";
import { describe, expect, it } from "vitest";
import { SessionEntries } from "../../src/agents/foreign-source.js";
import { encodeUtf8 } from "../support/plain-values.js";
import { processorMs } from "../support/processor-time.js";
import { rounds } from "../support/rounds.js";
import { lines, plain } from "./plain-format.js";

const start = '{"kind":"start","id":"s1","cwd":"/w","time":"2026-01-01T00:00:00.000Z"}';
const say = (id: string, more = "") => `{"kind":"say","id":"${id}","text":"${id}"${more}}`;

async function read(text: string | Uint8Array, options: object = {}) {
  const bytes = typeof text === "string" ? encodeUtf8(text) : text;
  return importSession([{ path: "a.jsonl", bytes }], { from: plain, keep: "none", ...options });
}

async function textsOf(text: string | Uint8Array, options: object = {}) {
  const imported = await read(text, options);
  const session = await memorySessionStore().adopt(imported);
  const { items } = await session.context();
  const texts = items.map(({ message }) => "content" in message && message.content);
  return { texts, codes: imported.report.findings.map(({ code, line }) => [code, line]), imported };
}

describe("lines", () => {
  it.each([
    ["blank lines and CR LF", `${start}\r\n\n \t\r\n${say("a")}\r\n`, ["a"], []],
    ["a byte order mark", `\ufeff${start}\n${say("a")}\n`, ["a"], []],
    ["a last line without a line feed", `${start}\n${say("a")}`, ["a"], []],
    ["a torn last line", `${start}\n${say("a")}\n{"kind":"say","id":"b`, ["a"], [["unreadable", 3]]],
    ["U+2028 in text", `${start}\n${say("a", ',"x":"\u2028\u2029"')}\n`, ["a"], []],
    [
      "lines that are no objects",
      `${start}\n[]\nnull\n3\n${say("a")}\n`,
      ["a"],
      [2, 3, 4].map((at) => ["unreadable", at]),
    ],
    ["a __proto__ key", `${start}\n${say("a", ',"__proto__":{"text":"b"}')}\n`, ["a"], []],
    ["a NUL", `${start}\n\u0000\u0000\n${say("a")}\n`, ["a"], [["unreadable", 2]]],
    [
      "deep nesting",
      `${start}\n{"x":${"[".repeat(100_000)}${"]".repeat(100_000)}}\n${say("a")}\n`,
      ["a"],
      [["unreadable", 2]],
    ],
  ])("reads %s", async (_, text, expected, codes) => {
    const found = await textsOf(text);
    expect(found.texts).toEqual(expected);
    expect(found.codes).toEqual(codes);
  });

  it("reads past invalid UTF-8, which stays in the kept bytes", async () => {
    const bytes = new Uint8Array([
      ...encodeUtf8(`${start}\n{"kind":"say","text":"`),
      0xff,
      0xfe,
      ...encodeUtf8(`"}\n${say("b")}\n`),
    ]);
    const { texts, codes } = await textsOf(bytes);
    expect([texts, codes]).toEqual([["b"], [["unreadable", 2]]]);
  });

  it("reads a number beyond a double, and a lone surrogate", async () => {
    const { texts } = await textsOf(
      `${start}\n${say("a", ',"n":1e999')}\n{"kind":"say","id":"b","text":"\\ud800"}\n`,
    );
    expect(texts).toEqual(["a", "\ud800"]);
  });

  it("leaves out a line over the limit, and says so", async () => {
    const { texts, codes } = await textsOf(
      `${start}\n${say("a", `,"x":"${"y".repeat(2000)}"`)}\n${say("b")}\n`,
      { maxLineBytes: 1024 },
    );
    expect([texts, codes]).toEqual([["b"], [["tooLong", 2]]]);
  });

  it("replaces an entry of a wrong shape, and keeps what hangs below it", async () => {
    const { texts, codes, imported } = await textsOf(
      `${start}\n{"kind":"say","id":"a","text":7}\n${say("b")}\n`,
    );
    expect([texts, codes]).toEqual([["b"], [["unreadable", undefined]]]);
    expect(imported.entries[0]).toMatchObject({ type: "custom", customType: "sessile.unreadable" });
    expect(imported.entries[1]?.parentId).toBe(imported.entries[0]?.id);
  });
});

describe("parents and times", () => {
  it("takes an unknown parent for the entry before", async () => {
    const { texts, codes } = await textsOf(`${start}\n${say("a")}\n${say("b", ',"parent":"nowhere"')}\n`);
    expect([texts, codes]).toEqual([["a", "b"], [["missingParent", undefined]]]);
  });

  it("takes the time of the entry before for one that is none", async () => {
    const times = ['"2026-02-03T04:05:06.007Z"', '"soon"', "null", "1e300", '"+999999-01-01T00:00:00Z"'];
    const text = [start, ...times.map((time, at) => say(`m${at}`, `,"time":${time}`))].join("\n");
    const { imported } = await textsOf(text);
    expect(new Set(imported.entries.map(({ timestamp }) => timestamp))).toEqual(
      new Set(["2026-02-03T04:05:06.007Z"]),
    );
  });
});

describe("names", () => {
  it.each(["../../etc/passwd", "", "a/b", "__proto__", "x".repeat(500), "a\u0000b"])(
    "makes a session id of %j that is a name, the same each time",
    async (id) => {
      const bytes = lines([
        { kind: "start", id, cwd: "\u0000" },
        { kind: "say", id: "a", text: "a" },
      ]);
      const { header } = await read(bytes);
      expect(header.id).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/);
      expect(header.cwd).toBe("/");
      expect((await read(bytes)).header.id).toBe(header.id);
      await memorySessionStore().adopt(await read(bytes));
    },
  );

  it("opens no path, and refuses two files of one", async () => {
    const bytes = encodeUtf8(`${start}\n`);
    const blobs = memoryBlobStore();
    const { entries } = await importSession([{ path: "../../etc/passwd", bytes }], { from: plain, blobs });
    expect(JSON.stringify(entries)).toContain("../../etc/passwd");
    const twice = importSession(
      [
        { path: "a", bytes },
        { path: "a", bytes },
      ],
      { from: plain },
    );
    await expect(twice).rejects.toThrow(TypeError);
  });

  it("gives each entry an id of its own, if records carry the ids that others would get", async () => {
    const build = (...given: readonly string[]) => {
      const builder = new SessionEntries({ format: "codex", id: "s1", find: () => {} });
      for (const recordId of ["a", "b", "c"]) {
        const id = given[["a", "b"].indexOf(recordId)];
        builder.add({ type: "custom", customType: "x" }, { recordId, id });
      }
      return builder.finish().entries.map(({ id }) => id);
    };
    const [, , short = ""] = build();
    const [, , long = ""] = build(short);
    expect(new Set(build(short, long)).size).toBe(3);
  });

  it("counts types that mean something to objects", async () => {
    const { imported } = await textsOf(`${start}\n{"kind":"__proto__"}\n{"kind":"constructor"}\n`);
    expect(Object.keys(imported.report.counts)).toEqual(["start", "__proto__", "constructor"]);
  });
});

describe("sizes", () => {
  const zstd = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3);
  const codesWith = async (bytes: Uint8Array | AsyncIterable<Uint8Array>, options: object) => {
    const { report } = await importSession([{ path: "a.jsonl.zst", bytes }], {
      from: plain,
      keep: "none",
      ...options,
    });
    return report.findings.map(({ code }) => code);
  };

  it("asks for a decompressor, tells it the limit, and refuses what exceeds it", async () => {
    expect(await codesWith(zstd, {})).toEqual(["needsReader"]);
    const asked: number[] = [];
    const decompress = (_: Uint8Array, maxBytes: number) => {
      asked.push(maxBytes);
      return new Uint8Array(maxBytes + 1);
    };
    expect(await codesWith(zstd, { decompress, maxBytes: 5000 })).toEqual(["tooLong"]);
    expect(asked).toEqual([5000]);
    const fails = () => Promise.reject(new Error("corrupt"));
    expect(await codesWith(zstd, { decompress: fails })).toEqual(["unreadable"]);
    const works = () => encodeUtf8(`${start}\n${say("a")}\n`);
    expect(await codesWith(zstd, { decompress: works })).toEqual([]);
  });

  it("stops a stream at the limit of all bytes", async () => {
    let given = 0;
    async function* endless() {
      for (;;) {
        given++;
        yield new Uint8Array(1024);
      }
    }
    expect(await codesWith(endless(), { maxBytes: 10_000 })).toEqual(["tooLong"]);
    expect(given).toBeLessThan(12);
  });

  it("asks for a reader of SQLite", async () => {
    const bytes = encodeUtf8("SQLite format 3\u0000 and more");
    const format = {
      ...plain,
      read: async (source: Parameters<NonNullable<typeof plain.read>>[0]) =>
        void (await source.sqlite("a.db")),
    };
    const options = { from: format, keep: "none" } as const;
    const { report } = await importSession([{ path: "a.db", bytes }], options);
    expect(report.findings.map(({ code }) => code)).toEqual(["needsReader"]);
  });

  it("bounds findings and types of the report", async () => {
    const kinds = Array.from({ length: 3000 }, (_, at) => `{"kind":"k${at}"}\n{\n`).join("");
    const { report } = await read(`${start}\n${kinds}`);
    expect(report.findings).toHaveLength(1000);
    expect(Object.keys(report.counts).length).toBeLessThanOrEqual(1001);
  });

  it("reads many records in linear time", async () => {
    const count = rounds(10_000, 100_000);
    const text = Array.from({ length: count }, (_, at) => say(`m${at}`)).join("\n");
    const began = processorMs();
    const imported = await read(`${start}\n${text}\n`);
    // Of 100,000 ids of eight digits two are probably equal: the second is a UUID.
    expect(new Set(imported.entries.map(({ id }) => id)).size).toBe(count);
    // Half a millisecond a record is many times what it takes.
    expect(processorMs() - began).toBeLessThan(count / 2);
  });

  it("stops when the signal aborts", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(read(start, { signal })).rejects.toThrow("enough");
  });
});

describe("redact", () => {
  it("reaches every string, and keeps no original", async () => {
    const secret = "s3cr3t";
    const redact = (text: string) => text.replaceAll(secret, "[redacted]").replaceAll("t3rc3s", "[redacted]");
    const records = [
      { kind: "start", id: "s1", cwd: `/home/${secret}` },
      { kind: "say", id: `m-${secret}`, text: `it is ${secret}` },
      { kind: "say", id: "b", text: JSON.stringify({ key: "t3\u0072c3s" }).replace("r", "\\u0072") },
      { kind: `k-${secret}`, [secret]: 1 },
    ];
    const blobs = memoryBlobStore();
    const files = [{ path: `${secret}.jsonl`, bytes: lines(records) }];
    const imported = await importSession(files, { from: plain, blobs, redact, keep: "blob" });
    const all = JSON.stringify(imported);
    expect(all).not.toContain(secret);
    expect(all).not.toMatch(/t3(?:r|\\+u0072)c3s/);
    expect(all).toContain("[redacted]");
    expect(all).not.toContain("sessile.foreign");
    expect(imported.report.exact).toBe(false);
  });
});
