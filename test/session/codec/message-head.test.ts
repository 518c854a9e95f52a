import fc from "fast-check";
import { encodeEntry, type SessionEntry } from "sessile/session";
import { expect, test } from "vitest";
import { parseEntryPrefix } from "../../../src/session/format/entry-prefix.js";
import { MessagePrefixReader } from "../../../src/session/format/message-prefix.js";
import { sessionEntry } from "../../arbitraries/entries.js";
import { hexId } from "../../arbitraries/values.js";

const encoder = new TextEncoder();
const userMessage = { role: "user", content: "a", timestamp: 0 } as const;
const toolResult = {
  role: "toolResult",
  toolCallId: "t",
  toolName: "n",
  content: [],
  isError: false,
  timestamp: 0,
} as const;
const assistant = { role: "assistant", content: [], provider: "p", model: "m", timestamp: 0 } as const;
const message = fc.constantFrom(userMessage, toolResult, assistant);
/** Close to each other, so that what a line has in common with the one before it is met. */
const time = fc.oneof(
  fc.integer({ min: 1_700_000_000_000, max: 1_700_000_200_000 }),
  fc.constantFrom(0, 951_782_400_000, 951_868_799_999, 253_402_300_799_999),
);
const id = fc.oneof(hexId, fc.constantFrom("00000000", "ffffffff", "deadbeef"));
const plain = fc.record({ id, parentId: fc.option(id), time, message });

/** What is read of a line, compared with what {@link parseEntryPrefix} reads of it; whether it was read. */
function agree(heads: MessagePrefixReader, bytes: Uint8Array, start: number, end: number): boolean {
  if (!heads.read(bytes, start, end)) return false;
  const { id, parentId, time, role } = heads;
  expect({ type: "message", id, parentId, time, role }).toEqual(parseEntryPrefix(bytes, start, end));
  return true;
}

test("reads each message of a run of lines as sliceHead does, where it has a parent", () => {
  fc.assert(
    fc.property(fc.array(plain, { minLength: 1, maxLength: 20 }), fc.boolean(), (all, isChain) => {
      const lines = all.map(({ id, parentId, time, message }, at) => {
        const parent = isChain && at > 0 ? (all[at - 1]?.id ?? null) : parentId;
        const timestamp = new Date(time).toISOString();
        return encodeEntry({ type: "message", id, parentId: parent, timestamp, message });
      });
      const bytes = encoder.encode(lines.join("\n"));
      const heads = new MessagePrefixReader();
      let start = 0;
      for (const line of lines) {
        const end = start + encoder.encode(line).length;
        expect(agree(heads, bytes, start, end)).toBe(!line.includes('"parentId":null'));
        start = end + 1;
      }
    }),
  );
});

test("says of any line, and of a damaged one, what sliceHead says of it, or nothing", () => {
  const heads = new MessagePrefixReader();
  let read = 0;
  let refused = 0;
  const short: fc.Arbitrary<SessionEntry> = plain.map(({ id, time, message }) => {
    const timestamp = new Date(time).toISOString();
    return { type: "message", id, parentId: "0badcafe", timestamp, message };
  });
  const place = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constant(1));
  const change = fc.tuple(place, fc.oneof(fc.nat(255), fc.constantFrom(...encoder.encode('"}\\0a '))));
  fc.assert(
    fc.property(fc.oneof(sessionEntry, short), fc.array(change, { maxLength: 2 }), (entry, changes) => {
      const bytes = encoder.encode(encodeEntry(entry));
      for (const [part, byte] of changes) bytes[Math.round(part * (bytes.length - 1))] = byte;
      if (agree(heads, bytes, 0, bytes.length)) read++;
      else refused++;
    }),
    { numRuns: 1000 },
  );
  expect(Math.min(read, refused)).toBeGreaterThan(100);
});

test("takes each byte of a head for what it is, whatever was read before", () => {
  const line = (id: string, parentId: string, timestamp: string) =>
    encoder.encode(encodeEntry({ type: "message", id, parentId, timestamp, message: userMessage }));
  const first = line("0123abcd", "00000000", "2026-01-01T00:00:59.999Z");
  const second = line("0123abce", "0123abcd", "2026-01-01T00:00:00.000Z");
  for (let at = 0; at < 125; at++) {
    for (const byte of [0x00, 0x20, 0x22, 0x2f, 0x30, 0x39, 0x3a, 0x5c, 0x61, 0x66, 0x67, 0x7d, 0xff]) {
      const heads = new MessagePrefixReader();
      expect(agree(heads, first, 0, first.length)).toBe(true);
      const changed = second.slice();
      changed[at] = byte;
      const isRead = agree(heads, changed, 0, changed.length);
      if (isRead) expect(parseEntryPrefix(changed)).toBeDefined();
    }
  }
  const nothing = new Uint8Array(200);
  nothing[199] = 0x7d;
  expect(agree(new MessagePrefixReader(), nothing, 0, 200)).toBe(false);
  // A parent of NULs is not the id that was not read yet.
  const nul = second.slice();
  nul.fill(0, second.indexOf(0x30, 40), second.indexOf(0x30, 40) + 8);
  expect(agree(new MessagePrefixReader(), nul, 0, nul.length)).toBe(false);
});

test("reads nothing behind the end of its bytes, wherever a line is cut", () => {
  for (const message of [userMessage, assistant, toolResult]) {
    const line = encodeEntry({
      type: "message",
      id: "00000001",
      parentId: "00000000",
      timestamp: "2026-01-01T00:00:00.000Z",
      message,
    });
    for (let length = 0; length <= line.length; length++) {
      const bytes = encoder.encode(length === 0 ? "" : `${line.slice(0, length - 1)}}`);
      expect(() => agree(new MessagePrefixReader(), bytes, 0, bytes.length)).not.toThrow();
    }
  }
});
