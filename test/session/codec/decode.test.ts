import fc from "fast-check";
import { encodeEntry, type SessionHeader } from "sessile/session";
import { describe, expect, test } from "vitest";
import {
  type DecodeContext,
  type DecodedLine,
  decodeHead,
  decodeLine,
  isNewer,
} from "../../../src/session/format/decode.js";
import { entryKeyOf, parseTimestamp } from "../../../src/session/format/entry-prefix.js";
import { entryProblem } from "../../../src/session/format/validate.js";
import { damage, damaged } from "../../arbitraries/bytes.js";
import { entryTypes, header, sessionEntry } from "../../arbitraries/entries.js";
import { messagesByRole } from "../../arbitraries/messages.js";
import { jsonValue } from "../../arbitraries/values.js";

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
        const parent = parentId === null ? null : entryKeyOf(parentId);
        const head = { type, id: entryKeyOf(id), parentId: parent, time: parseTimestamp(timestamp), ...role };
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
    const line = '{"type":"later","id":"a","parentId":"b","timestamp":"t","n":12345678901234567890, "n":-0}';
    const entry = { type: "unknown", entryType: "later", id: "a", parentId: "b", timestamp: "t", raw: line };
    expect(decode(line)).toEqual({
      kind: "entry",
      head: { type: "later", id: "a", parentId: "b", time: "t" },
      entry,
      diagnostics: [],
    });
    expect(decode(`${line}\r`)).toMatchObject({ entry });
    expect(decode('{"type":"constructor","id":"a"}')).toMatchObject({ entry: { entryType: "constructor" } });
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
    expect(decode(JSON.stringify({ ...leaf, targetId: null }))).toMatchObject({ entry: { targetId: null } });
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
        message: fc.oneof(messagesByRole.user, fc.record({ role: jsonValue, content: jsonValue }), jsonValue),
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

describe("decodeHead", () => {
  const bytesOf = fc.record({ entry: sessionEntry, changes: fc.option(damage) }).map(({ entry, changes }) => {
    const bytes = encoder.encode(encodeEntry(entry));
    return changes === null ? bytes : damaged(bytes, changes);
  });

  test("puts an entry where a whole reading puts it", () => {
    fc.assert(
      fc.property(bytesOf, fc.constantFrom(undefined, 1, 2, 3), (bytes, version) => {
        const context = { ...current, version };
        const whole = decodeLine(bytes, context);
        const head = decodeHead(bytes, context);
        if (whole.kind === "bad" && head.kind === "entry") return;
        expect(head.kind).toBe(whole.kind);
        if (whole.kind === "entry" && head.kind === "entry") expect(head.head).toEqual(whole.head);
      }),
      { numRuns: 500 },
    );
  });

  test("says of a line in a chunk what it says of the line alone", () => {
    fc.assert(
      fc.property(bytesOf, bytesOf, (bytes, next) => {
        const chunk = Uint8Array.from([...next, 10, ...bytes, 10, ...next]);
        const start = next.length + 1;
        expect(decodeHead(chunk, current, start, start + bytes.length)).toEqual(decodeHead(bytes, current));
      }),
    );
  });

  test("reads labels, names and moves of the tip at once, and leaves other bodies for later", () => {
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
