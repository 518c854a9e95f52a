import fc from "fast-check";
import { encodeEntry, type ParsedSession, parseSession, type SessionHeader } from "sessile";
import { describe, expect, test, vi } from "vitest";
import { crc32, decodeUtf8, encodeUtf8 } from "../../src/core/bytes.js";
import {
  appendChecksum,
  type DecodeContext,
  type DecodedLine,
  decodeBody,
  decodeHeads,
  decodeLine,
  decodeUsualHeader,
  entryProblem,
  headerVersion,
  idToOrdinal,
  isNewer,
  isUsualEntry,
  isUsualMessage,
  messageProblem,
  migrateLine,
  normalizeContent,
  parseTimestamp,
  parseUsualLine,
  toEntryKey,
} from "../../src/log/internal.js";
import { migrateEntry, ordinalToId } from "../../src/log/migrate.js";
import { normalizeMessage } from "../../src/log/validate.js";
import { damage, damaged } from "../arbitraries/bytes.js";
import { entryTypes, header, sessionEntry } from "../arbitraries/entries.js";
import { message, messagesByRole } from "../arbitraries/messages.js";
import { mutationOf } from "../arbitraries/mutations.js";
import { hexId, jsonValue } from "../arbitraries/values.js";

describe("decoding a line", () => {
  const current: DecodeContext = { version: 3, ordinal: 1, maxDepth: 256 };
  const encoder = new TextEncoder();
  const decode = (line: string, context = current) => decodeLine(encoder.encode(line), context);
  const codes = (decoded: DecodedLine) =>
    decoded.kind === "blank" ? [] : decoded.diagnostics.map((note) => note.code);
  const place = { id: "a", parentId: "b", timestamp: "2025-11-20T23:33:50.805Z" };

  describe("decodeLine", () => {
    test("inverts encodeEntry, and says where the entry goes", () => {
      fc.assert(
        fc.property(sessionEntry, fc.constantFrom("", "\r", " "), (entry, end) => {
          const { type, id, parentId, timestamp } = entry;
          const role = entry.type === "message" ? { role: entry.message.role } : {};
          const parent = parentId === null ? null : toEntryKey(parentId);
          const head = {
            type,
            id: toEntryKey(id),
            parentId: parent,
            time: parseTimestamp(timestamp),
            ...role,
          };
          expect(decode(encodeEntry(entry) + end)).toEqual({ kind: "entry", head, entry, diagnostics: [] });
        }),
      );
    });

    test("gives headers whole", () => {
      fc.assert(
        fc.property(header, (header) => {
          expect(decode(JSON.stringify(header))).toEqual({ kind: "header", header, diagnostics: [] });
        }),
      );
    });

    test("supplies what an old header lacks", () => {
      expect(decode('{"type":"session","id":"s"}')).toMatchObject({
        kind: "header",
        header: { id: "s", timestamp: "", cwd: "" },
      });
    });

    test.each(["id", "version", "timestamp", "cwd", "parentSession", "sessile"])(
      "takes no header with a wrong %s",
      (key) => {
        const decoded = decode(JSON.stringify({ type: "session", id: "s", [key]: [] }));
        expect(decoded).toMatchObject({ kind: "bad", parsed: true });
        expect(codes(decoded)).toEqual(["INVALID_ENTRY"]);
      },
    );

    test.each(["", " ", "\r", "\t \r"])("takes %j for blank", (line) => {
      expect(decode(line)).toEqual({ kind: "blank" });
    });

    test.each(["null", "[]", '"x"', "42", "true"])("takes no entry from %s", (line) => {
      expect(decode(line)).toMatchObject({
        kind: "bad",
        parsed: true,
        diagnostics: [{ code: "NOT_AN_OBJECT" }],
      });
    });

    test.each<[string, object]>([
      ["no type", { ...place }],
      ["a type that is no string", { type: 5, ...place }],
      ["no id", { type: "custom", parentId: null }],
      ["an empty id", { type: "custom", ...place, id: "" }],
      ["an id that is no string", { type: "custom", ...place, id: 5 }],
      ["a parent that is no string", { type: "custom", ...place, parentId: 5 }],
    ])("takes no entry with %s", (_, value) => {
      const decoded = decode(JSON.stringify(value));
      expect(decoded).toMatchObject({ kind: "bad", parsed: true });
      expect(codes(decoded)).toEqual(["INVALID_ENTRY"]);
    });

    test("reads an absent parent as none, and an absent time as empty", () => {
      expect(decode('{"type":"custom","id":"a","customType":"c"}')).toMatchObject({
        head: { parentId: null, time: "" },
        entry: { parentId: null, timestamp: "" },
      });
    });

    test("keeps a type that it does not know, word for word", () => {
      const line =
        '{"type":"later","id":"a","parentId":"b","timestamp":"t","n":12345678901234567890, "n":-0}';
      const entry = {
        type: "unknown",
        entryType: "later",
        id: "a",
        parentId: "b",
        timestamp: "t",
        raw: line,
      };
      expect(decode(line)).toEqual({
        kind: "entry",
        head: { type: "later", id: "a", parentId: "b", time: "t" },
        entry,
        diagnostics: [],
      });
      expect(decode(`${line}\r`)).toMatchObject({ entry });
      expect(decode('{"type":"constructor","id":"a"}')).toMatchObject({
        entry: { entryType: "constructor" },
      });
    });

    test("keeps a known type of the wrong shape as unknown, and says where it is wrong", () => {
      const line = JSON.stringify({ type: "label", ...place, targetId: 5 });
      expect(decode(line)).toMatchObject({
        head: { type: "label", id: "a" },
        entry: { type: "unknown", entryType: "label", raw: line },
        diagnostics: [{ code: "INVALID_FIELDS", message: "targetId: expected a string" }],
      });
    });

    test("keeps fields that it does not know", () => {
      const line = JSON.stringify({ type: "label", ...place, targetId: "x", later: { a: 1 } });
      expect(decode(line)).toMatchObject({ entry: { type: "label", later: { a: 1 } }, diagnostics: [] });
    });

    test("takes the parent for the target of a leaf that names none, and keeps an explicit null", () => {
      const leaf = { type: "leaf", ...place };
      expect(decode(JSON.stringify(leaf))).toMatchObject({ entry: { targetId: "b" }, diagnostics: [] });
      expect(decode(JSON.stringify({ ...leaf, targetId: null }))).toMatchObject({
        entry: { targetId: null },
      });
      expect(decode(JSON.stringify({ type: "leaf", id: "a" }))).toMatchObject({ entry: { targetId: null } });
    });

    test("makes known blocks of the blocks of a custom message", () => {
      const line = {
        type: "custom_message",
        ...place,
        customType: "c",
        display: true,
        content: [{ type: "x" }],
      };
      expect(decode(JSON.stringify(line))).toMatchObject({
        entry: { content: [{ type: "text", text: "[x block that this version cannot read]" }] },
        diagnostics: [],
      });
    });

    test("never throws, and gives entries of a known type only in their shape", () => {
      const line = fc
        .record({
          type: fc.oneof(fc.constantFrom<string>(...entryTypes), jsonValue),
          id: fc.oneof(fc.constant("a"), jsonValue),
          parentId: fc.oneof(fc.constant(null), jsonValue),
          timestamp: fc.oneof(fc.constant("t"), jsonValue),
          message: fc.oneof(
            messagesByRole.user,
            fc.record({ role: jsonValue, content: jsonValue }),
            jsonValue,
          ),
          content: fc.oneof(jsonValue, fc.array(fc.record({ type: jsonValue }))),
          firstKeptEntryIndex: jsonValue,
          targetId: fc.oneof(fc.constant("a"), jsonValue),
          replacement: jsonValue,
          customType: fc.oneof(fc.constant("a"), jsonValue),
          version: jsonValue,
        })
        .map((fields) => JSON.stringify(fields));
      fc.assert(
        fc.property(line, fc.constantFrom(undefined, 1, 2, 3, 99), (line, version) => {
          const decoded = decode(line, { ...current, version });
          if (decoded.kind !== "entry" || decoded.entry === undefined) return;
          const { entry } = decoded;
          if (entry.type === "unknown") expect(entry.raw).toBe(line);
          else expect(entryProblem(entry)).toBeUndefined();
        }),
        { numRuns: 500 },
      );
    });
  });

  describe("decodeHeads", () => {
    const decodeHead = (bytes: Uint8Array, context: DecodeContext) =>
      decodeHeads(bytes, context)[0]?.decoded as DecodedLine;
    const bytesOf = fc
      .record({ entry: sessionEntry, changes: fc.option(damage) })
      .map(({ entry, changes }) => {
        const bytes = encoder.encode(encodeEntry(entry));
        return changes === null ? bytes : damaged(bytes, changes);
      });

    test("puts an entry where a whole reading puts it", () => {
      fc.assert(
        fc.property(bytesOf, fc.constantFrom(undefined, 1, 2, 3), (bytes, version) => {
          const context = { ...current, version };
          const whole = decodeLine(bytes, context);
          const head = decodeHead(bytes, context);
          if (whole.kind === "bad" && head.kind !== "bad") return;
          expect(head.kind).toBe(whole.kind);
          if (whole.kind === "entry" && head.kind === "entry") expect(head.head).toEqual(whole.head);
        }),
        { numRuns: 500 },
      );
    });

    test("reads labels, names and moves of the leaf at once, and leaves other bodies for later", () => {
      fc.assert(
        fc.property(sessionEntry, (entry) => {
          const decoded = decodeHead(
            encoder.encode(encodeEntry({ ...entry, id: "a", parentId: null, timestamp: "t" })),
            current,
          );
          const isStructure = ["label", "session_info", "leaf"].includes(entry.type);
          expect(decoded.kind === "entry" && decoded.entry !== undefined).toBe(isStructure);
        }),
      );
    });

    test("renames the role of version 2", () => {
      const line = `{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"hookMessage"}}`;
      expect(decodeHead(encoder.encode(line), current)).toMatchObject({ head: { role: "custom" } });
    });

    test("trusts no prefix before it knows the version, and none of version 1", () => {
      const line = encoder.encode(
        '{"type":"custom","id":"x","parentId":null,"timestamp":"t","customType":"c"}',
      );
      expect(decodeHead(line, { ...current, version: undefined })).toHaveProperty("entry.customType", "c");
      expect(decodeHead(line, { ...current, version: 1, ordinal: 7 })).toMatchObject({
        head: { id: 7 },
      });
    });
  });

  describe("isNewer", () => {
    test.each<[Partial<SessionHeader>, boolean]>([
      [{}, false],
      [{ version: 3 }, false],
      [{ version: 3, sessile: 1 }, false],
      [{ version: 4 }, true],
      [{ version: 3, sessile: 2 }, true],
      [{ version: 3.5 }, true],
    ])("of %j is %s", (fields, newer) => {
      expect(isNewer({ type: "session", id: "s", timestamp: "", cwd: "", ...fields })).toBe(newer);
    });
  });
});

describe("short lines", () => {
  function parsed(bytes: Uint8Array): unknown {
    const text = decodeUtf8(bytes);
    if (text === undefined) return "INVALID_UTF8";
    try {
      return [JSON.parse(text)];
    } catch {
      return "INVALID_JSON";
    }
  }

  /** Compares the decoding of a line that is no entry with `JSON.parse`. */
  function agrees(bytes: Uint8Array): void {
    const decoded = decodeLine(bytes, { version: 3, ordinal: 1, maxDepth: 256 });
    const expected = parsed(bytes);
    if (typeof expected === "string") {
      expect(decoded).toMatchObject({ kind: "bad", parsed: false, diagnostics: [{ code: expected }] });
      return;
    }
    const [value] = expected as [unknown];
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    const code = isObject ? "INVALID_ENTRY" : "NOT_AN_OBJECT";
    const diagnostics = expect.arrayContaining([expect.objectContaining({ code })]);
    expect(decoded).toMatchObject({ kind: "bad", parsed: true, diagnostics });
  }

  const piece = fc.constantFrom(
    ...'{}[]",:\\/ \t\rbfnrtu0123456789-+.eEx',
    "true",
    "false",
    "null",
    '"a"',
    '"\\u00e9"',
    '"a":',
    "1e5",
    "-0",
    "01",
    "1.",
    "é",
    "字",
    "🧷",
    "\u0001",
  );

  test("a short line is JSON exactly if JSON.parse accepts it", () => {
    const text = fc.array(piece, { maxLength: 10 }).map((pieces) => pieces.join(""));
    const cut = fc.tuple(fc.json({ maxDepth: 2 }), fc.nat(64)).map(([json, end]) => json.slice(0, end));
    fc.assert(
      fc.property(fc.oneof(text, fc.json({ maxDepth: 2 }), cut), (line) => {
        const bytes = encodeUtf8(line.toWellFormed());
        fc.pre(bytes.length <= 64 && line.trim() !== "");
        agrees(bytes);
      }),
      { numRuns: 3000 },
    );
  });

  test("and is UTF-8 exactly if the decoder accepts it", () => {
    const byte = fc.oneof(
      fc.nat(255),
      fc.constantFrom(0xc0, 0xc2, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0x80, 0xbf, 0x9f, 0xa0, 0x8f, 0x90),
    );
    fc.assert(
      fc.property(fc.array(byte, { minLength: 1, maxLength: 6 }), (inner) => {
        agrees(
          Uint8Array.from([
            0x22,
            ...inner.filter((each) => each >= 0x20 && each !== 0x22 && each !== 0x5c),
            0x22,
          ]),
        );
      }),
      { numRuns: 3000 },
    );
  });

  test("short lines that RFC 8259 does not allow are INVALID_JSON", () => {
    for (const line of [
      "{",
      "{}x",
      "[1,]",
      '{"a"}',
      '{"a":1,}',
      "-",
      "1.e5",
      "1e+",
      "00",
      "nul",
      '"\\x"',
      '"\\u00g0"',
      '"\t"',
    ])
      expect([line, decodeLine(encodeUtf8(line), { version: 3, ordinal: 1, maxDepth: 256 })]).toMatchObject([
        line,
        { kind: "bad", parsed: false, diagnostics: [{ code: "INVALID_JSON" }] },
      ]);
  });

  test("a damaged short line costs no exception, since millions of them fit into a small file", () => {
    const parse = vi.spyOn(JSON, "parse");
    const decode = vi.spyOn(TextDecoder.prototype, "decode");
    try {
      const lines = [
        "x",
        "{a}",
        '"\u0001"',
        "0a0",
        "[,]",
        '"\\x"',
        "[1 2]",
        '{"a" 1}',
        "TRUE",
        "\u00e9",
        "\ufffd",
      ];
      const damaged = [Uint8Array.of(0xff), Uint8Array.of(0x22, 0xe9, 0x22), Uint8Array.of(0xed, 0xa0, 0x80)];
      for (const bytes of [...lines.map(encodeUtf8), ...damaged])
        expect(decodeLine(bytes, { version: 3, ordinal: 1, maxDepth: 256 })).toMatchObject({ parsed: false });
      const thrown = [...parse.mock.results, ...decode.mock.results].filter(({ type }) => type === "throw");
      expect(thrown).toEqual([]);
    } finally {
      vi.restoreAllMocks();
    }
  });
});

describe("messages of other writers", () => {
  /** What JSON can put in the place of a name, to the harm of who looks it up or prints it. */
  const hostile = fc.constantFrom<unknown>(
    "constructor",
    "__proto__",
    "toString",
    "hasOwnProperty",
    "wizard",
    "",
    null,
    5,
    ["user"],
    [],
    {},
    { toString: 1 },
    { toString: null, valueOf: null },
  );
  const role = fc.oneof(
    hostile,
    fc.constantFrom("user", "assistant", "toolResult", "custom", "system", "bashExecution", "hookMessage"),
  );
  const content = fc.oneof(
    jsonValue,
    fc.array(
      fc.oneof(fc.record({ type: fc.oneof(hostile, fc.constant("text")), text: jsonValue }), jsonValue),
      {
        maxLength: 3,
      },
    ),
  );

  describe("normalizeMessage", () => {
    const usage = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, totalTokens: 10 };
    const cost = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, total: 10 };
    const image = { type: "image", data: "aGk=", mimeType: "image/png" };
    const blocks = [
      { type: "thinking", thinking: "…", thinkingSignature: "s", redacted: true },
      { type: "text", text: "a", textSignature: "s" },
      {
        type: "toolCall",
        id: "c",
        name: "read",
        arguments: { path: "/é" },
        namespace: "n",
        thoughtSignature: "t",
      },
    ];
    const made = { role: "assistant", content: blocks, provider: "p", model: "m", timestamp: 1 };
    const usualMessage: fc.Arbitrary<unknown> = fc.constantFrom<unknown>(
      { role: "user", content: "hello", timestamp: 1 },
      { role: "user", content: [{ type: "text", text: "hello" }, image], timestamp: 1 },
      { ...made, api: "a", usage: { ...usage, cost }, stopReason: "stop", responseModel: "r" },
      { ...made, usage, errorMessage: "no" },
      {
        role: "toolResult",
        toolCallId: "c",
        toolName: "read",
        content: [image],
        isError: false,
        timestamp: 1,
      },
      { role: "system", content: [{ type: "text", text: "be kind" }], timestamp: 1 },
    );

    test("a usual message has the shape of its role, and nothing to normalise", () => {
      let accepted = 0;
      fc.assert(
        fc.property(fc.oneof(message, usualMessage, mutationOf(usualMessage)), (value) => {
          if (!isUsualMessage(value)) return;
          accepted++;
          expect(messageProblem(value)).toBeUndefined();
          expect(normalizeMessage(value)).toBe(value);
        }),
        { numRuns: 3000 },
      );
      expect(accepted).toBeGreaterThan(1000);
    });

    test.each([
      ["an infinite time", { role: "user", content: "x", timestamp: Number.POSITIVE_INFINITY }],
      [
        "an image in a system message",
        { role: "system", content: [{ type: "image", data: "", mimeType: "" }], timestamp: 1 },
      ],
      [
        "a call in a user message",
        { role: "user", content: [{ type: "toolCall", id: "a", name: "b", arguments: {} }], timestamp: 1 },
      ],
      ["an array", [{ role: "user", content: "x", timestamp: 1 }]],
    ])("%s is not usual", (_, value) => {
      expect(isUsualMessage(value)).toBe(false);
    });

    test("a usual header is decoded as any line is", () => {
      let decoded = 0;
      const plain = { type: "session", version: 3, id: "a", timestamp: "t", cwd: "/" };
      const usual = fc.constantFrom(
        { ...plain, sessile: 1 },
        { ...plain, parentSession: "/b", other: { a: [1] } },
      );
      const line = fc.tuple(fc.oneof(header, usual, mutationOf(usual)), fc.boolean(), fc.nat(3));
      fc.assert(
        fc.property(line, ([value, checksum, spaces]) => {
          const text = JSON.stringify(value) ?? "";
          const bytes = encodeUtf8((checksum ? appendChecksum(text) : text) + " ".repeat(spaces));
          const found = decodeUsualHeader(decodeUtf8(bytes));
          if (found === undefined) return;
          decoded++;
          expect(found).toEqual(
            decodeLine(bytes, { version: undefined, ordinal: 0, maxDepth: 256, isFirst: true }),
          );
        }),
        { numRuns: 1000 },
      );
      expect(decoded).toBeGreaterThan(100);
    });

    test("a usual line is decoded as any line is", () => {
      let decoded = 0;
      const encoder = new TextEncoder();
      const fields = fc.oneof(
        ...[message, usualMessage, mutationOf(usualMessage)].map((each) =>
          each.map((value) => ({ type: "message", message: value })),
        ),
        fc.constantFrom<Readonly<Record<string, unknown>>>(
          { type: "thinking_level_change", thinkingLevel: "high" },
          { type: "thinking_level_change", thinkingLevel: 1 },
          { type: "model_change", provider: "a", modelId: "b" },
          { type: "model_change", provider: "a" },
        ),
      );
      const line = fc.tuple(fields, hexId, fc.boolean(), fc.option(damage));
      fc.assert(
        fc.property(line, fc.nat(3), ([value, id, checksum, changes], before) => {
          const { type, ...rest } = value;
          const text = JSON.stringify({ type, id, parentId: null, timestamp: "t", ...rest });
          const whole = encoder.encode(checksum ? appendChecksum(text) : text);
          const bytes = changes === null ? whole : damaged(whole, changes);
          const chunk = Uint8Array.from([...new Uint8Array(before), ...bytes, 10]);
          const unchanged = Uint8Array.from(chunk);
          const decode = (of: Uint8Array, start: number, end: number) => decodeUtf8(of.subarray(start, end));
          const lines = { maxDepth: 12, mayBeUnsafe: true, crc32, text: decode };
          const usual = parseUsualLine(chunk, before, before + bytes.length, lines);
          expect(chunk).toEqual(unchanged);
          if (usual === undefined || !isUsualEntry(usual)) return;
          decoded++;
          const decodedWhole = decodeBody(bytes, { version: 3, ordinal: 1, maxDepth: 12 });
          expect(decodedWhole).toMatchObject({ kind: "entry", diagnostics: [] });
          expect(usual).toEqual(decodedWhole.kind === "entry" ? decodedWhole.entry : undefined);
        }),
        { numRuns: 1500 },
      );
      expect(decoded).toBeGreaterThan(50);
    });

    test("leaves alone what this version knows", () => {
      fc.assert(
        fc.property(message, (message) => {
          expect(normalizeMessage(message)).toBe(message);
          expect(messageProblem(message)).toBeUndefined();
        }),
      );
    });

    test("never throws, and neither does the check behind it", () => {
      fc.assert(
        fc.property(role, content, (role, content) => {
          const known = normalizeMessage({ role, content, timestamp: 1, customType: "c", display: true });
          const problem = messageProblem(known);
          if (problem === undefined) expect(typeof (known as { role: unknown }).role).toBe("string");
          else expect(problem.path).toMatch(/^message\b/);
        }),
        { numRuns: 500 },
      );
    });

    test("takes only names for roles", () => {
      expect(messageProblem({ role: ["user"], content: "x", timestamp: 1 })).toMatchObject({
        path: "message.role",
      });
    });

    test("renames the role of version 2", () => {
      const old = { role: "hookMessage", customType: "c", content: "x", display: true, timestamp: 1 };
      expect(normalizeMessage(old)).toEqual({ ...old, role: "custom" });
    });

    test("makes an unknown block of an assistant opaque, and any other a text that names it", () => {
      const block = { type: "video", data: "x" };
      const text = { type: "text", text: "a" };
      expect(normalizeMessage({ role: "assistant", content: [text, block] })).toEqual({
        role: "assistant",
        content: [text, { type: "opaque", data: block }],
      });
      for (const role of ["user", "custom", "toolResult"]) {
        expect(normalizeMessage({ role, content: [block, text] })).toEqual({
          role,
          content: [{ type: "text", text: "[video block that this version cannot read]" }, text],
        });
      }
    });

    test("keeps the words and the image of an unknown block of a user", () => {
      const data = Buffer.from("89504e470d0a1a0a00000000", "hex").toString("base64");
      const said = { type: "quote", content: [{ type: "text", text: "zebra" }] };
      const drawn = {
        type: "drawing",
        source: { type: "base64", media_type: "image/png", data: `${data}AAAA` },
      };
      const image = { type: "image", data: `${data}AAAA`, mimeType: "image/png" };
      for (const role of ["user", "custom", "toolResult"]) {
        const read = normalizeContent(role, [said, drawn]);
        expect(read).toEqual([{ type: "text", text: "zebra" }, image]);
      }
      expect(normalizeContent("system", [said, drawn])).toEqual([
        { type: "text", text: "zebra" },
        { type: "text", text: "[drawing block that this version cannot read]" },
      ]);
    });

    test.each([5, undefined, { toString: 1 }])("names a block whose type is %j too", (type) => {
      const [block] = normalizeContent("user", [{ type }]) as readonly [{ readonly text: string }];
      expect(block.text).toMatch(/^\[.+ block that this version cannot read\]$/);
    });

    test("bounds the name of an unknown block", () => {
      const [block] = normalizeContent("user", [{ type: "x".repeat(1000) }]) as readonly [
        { readonly text: string },
      ];
      expect(block.text.length).toBeLessThan(100);
    });

    test("puts an empty content in the place of none", () => {
      for (const none of [undefined, null]) {
        expect(normalizeContent("user", none)).toEqual([]);
        expect(normalizeContent("assistant", none)).toEqual([]);
        expect(normalizeContent("system", none)).toBe("");
        expect(normalizeContent("bashExecution", none)).toBe(none);
      }
    });

    test("makes a block of text where the content has to be a list", () => {
      expect(normalizeContent("assistant", "x")).toEqual([{ type: "text", text: "x" }]);
      expect(normalizeContent("toolResult", "x")).toEqual([{ type: "text", text: "x" }]);
      expect(normalizeContent("user", "x")).toBe("x");
    });

    test.each([null, 5, "user", ["user"]])("gives back what is no message: %j", (value) => {
      expect(normalizeMessage(value)).toBe(value);
    });
  });
});

describe("versions 1 and 2", () => {
  const header1 = '{"type":"session","id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}';
  const custom = (customType: string) => JSON.stringify({ type: "custom", timestamp: "t", customType });
  const compaction = (firstKeptEntryIndex: unknown) =>
    JSON.stringify({
      type: "compaction",
      timestamp: "t",
      summary: "s",
      tokensBefore: 1,
      firstKeptEntryIndex,
    });
  const session1 = (...lines: readonly string[]) => parseSession([header1, ...lines, ""].join("\n"));
  const codesOf = (session: ParsedSession) => session.diagnostics.map(({ code }) => code);
  const parents = (session: ParsedSession) => session.entries.map(({ id, parentId }) => [id, parentId]);

  describe("version 1", () => {
    test("has its entries chained in file order, with ids that stay the same", () => {
      fc.assert(
        fc.property(fc.array(message, { maxLength: 8 }), (messages) => {
          const lines = messages.map((message) =>
            JSON.stringify({ type: "message", timestamp: "t", message }),
          );
          const session = session1(...lines);
          expect(session.entries).toEqual(
            messages.map((message, at) => ({
              type: "message",
              id: ordinalToId(at + 1),
              parentId: at === 0 ? null : ordinalToId(at),
              timestamp: "t",
              message,
            })),
          );
          expect(session.diagnostics).toEqual([]);
          expect(session1(...lines).entries).toEqual(session.entries);
        }),
      );
    });

    test("counts the header in the index of a compaction", () => {
      const session = session1(custom("a"), custom("b"), compaction(2));
      expect(session.entries[2]).toMatchObject({ firstKeptEntryId: session.entries[1]?.id });
      expect(session.entries[2]).not.toHaveProperty("firstKeptEntryIndex");
      expect(session.diagnostics).toEqual([]);
    });

    test.each([0, 3, 4, -1, 1.5, "1", null, undefined, { toString: 1 }, []])(
      "keeps nothing for an index that names no earlier entry: %j",
      (index) => {
        const session = session1(custom("a"), custom("b"), compaction(index));
        expect(session.entries[2]).toMatchObject({ id: "00000003", firstKeptEntryId: "00000003" });
        expect(session.diagnostics).toMatchObject([
          { code: "INVALID_INDEX", line: 4, offset: 179, entryId: "00000003" },
        ]);
      },
    );

    test("keeps the id of a compaction that has one already", () => {
      const line = compaction(1).replace("{", '{"firstKeptEntryId":"x",');
      expect(session1(custom("a"), line).entries[1]).toMatchObject({ firstKeptEntryId: "x" });
    });

    test("chains over a line that is no entry", () => {
      for (const stray of ["42", "null", "[]", '{"no":"type"}', header1]) {
        const session = session1(custom("a"), stray, custom("b"));
        expect(parents(session)).toEqual([
          ["00000001", null],
          ["00000003", "00000001"],
        ]);
        expect(codesOf(session)).toHaveLength(1);
      }
    });

    test("chains over a line that is no JSON, which its index did not count", () => {
      const session = session1(custom("a"), "{torn", custom("b"), compaction(2));
      expect(parents(session)).toEqual([
        ["00000001", null],
        ["00000002", "00000001"],
        ["00000003", "00000002"],
      ]);
      expect(codesOf(session)).toEqual(["INVALID_JSON"]);
    });

    test("starts with a root also where something stands before the header", () => {
      const session = parseSession(`42\n${header1}\n${custom("a")}\n${custom("b")}\n`);
      expect(session.entries[0]?.parentId).toBeNull();
      expect(session.entries[1]?.parentId).toBe(session.entries[0]?.id);
      expect(codesOf(session)).toEqual(["NOT_AN_OBJECT", "BEFORE_HEADER"]);
    });

    test("renames hook messages, which version 2 has too", () => {
      const message = { role: "hookMessage", customType: "c", content: "x", display: true, timestamp: 1 };
      const line = { type: "message", id: "a", parentId: null, timestamp: "t", message };
      const header2 = header1.replace('"id"', '"version":2,"id"');
      for (const header of [header1, header2]) {
        const session = parseSession(`${header}\n${JSON.stringify(line)}\n`);
        expect(session.entries[0]).toMatchObject({ message: { role: "custom", content: "x" } });
        expect(session.tree.walk().next().value.node.role).toBe("custom");
      }
    });
  });

  describe("migrateEntry", () => {
    const ignore = () => undefined;

    test("follows the line with the number before, where it is not told another", () => {
      const parentAt = (ordinal: number, previousId?: string | null) =>
        migrateEntry({ type: "custom" }, 1, ordinal, ignore, previousId).parentId;
      expect([parentAt(1), parentAt(2), parentAt(16)]).toEqual([null, "00000001", "0000000f"]);
      expect([parentAt(2, null), parentAt(5, "00000003")]).toEqual([null, "00000003"]);
    });

    test("gives an entry of version 2 or later back as it is", () => {
      const entry = { type: "custom", id: "x" };
      expect(migrateEntry(entry, 2, 5, ignore)).toBe(entry);
      expect(migrateEntry(entry, 3, 5, ignore)).toBe(entry);
    });

    test("never throws", () => {
      const line = fc.record({
        type: fc.constantFrom("compaction", "message"),
        firstKeptEntryIndex: jsonValue,
      });
      fc.assert(
        fc.property(line, fc.nat(), (line, ordinal) => {
          expect(migrateEntry(line, 1, ordinal, ignore)).toMatchObject({ id: ordinalToId(ordinal) });
        }),
      );
    });
  });

  describe("migrateLine", () => {
    // @covers R134
    test("writes what a reader of version 1 has", () => {
      const line = compaction(1);
      const entry = session1(custom("a"), line).entries[1];
      expect(JSON.parse(migrateLine(new TextEncoder().encode(line), 1, 2, 256) ?? "")).toEqual(entry);
    });

    test("has nothing to say of a header and of what is no object", () => {
      for (const line of [header1, "42", "{torn", "[]"]) {
        expect(migrateLine(new TextEncoder().encode(line), 1, 1, 256)).toBeUndefined();
      }
    });

    test("never throws", () => {
      fc.assert(
        fc.property(message, damage, (message, changes) => {
          const line = JSON.stringify({ type: "message", timestamp: "t", message });
          const out = migrateLine(damaged(new TextEncoder().encode(line), changes), 1, 7, 256);
          if (out !== undefined)
            expect(JSON.parse(out)).toMatchObject({ id: "00000007", parentId: "00000006" });
        }),
      );
    });
  });

  describe("ordinalToId", () => {
    test("is eight digits, and ordinalOfId its inverse", () => {
      fc.assert(
        fc.property(fc.nat(), (ordinal) => {
          expect(ordinalToId(ordinal)).toMatch(/^[0-9a-f]{8}$/);
          expect(idToOrdinal(ordinalToId(ordinal))).toBe(ordinal);
        }),
      );
      expect(["", "1", "0000000G", "00000001x", "__proto__"].map(idToOrdinal)).toEqual([0, 0, 0, 0, 0]);
    });
  });

  describe("headerVersion", () => {
    test("is 1 where there is none", () => {
      expect([{}, { version: 2 }, { version: "3" }, null, 5].map(headerVersion)).toEqual([1, 2, 1, 1, 1]);
    });
  });
});
