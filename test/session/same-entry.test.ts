import fc from "fast-check";
import { expect, test } from "vitest";
import { userMessage } from "../../src/content/index.js";
import type { EntryDraft, SessionEntry } from "../../src/session/api/entries.js";
import { decodeLine } from "../../src/session/format/decode.js";
import { encodeEntry } from "../../src/session/format/encode.js";
import { entryOf, isSameEntry } from "../../src/session/runtime/materialize-drafts.js";

const storedPlace = { id: "cafecafe", parentId: "0badc0de", timestamp: "2026-01-02T03:04:05.678Z" };

/** The entry that a draft makes, written and read again. */
function stored(draft: EntryDraft): SessionEntry {
  const line = encodeEntry(entryOf(draft, storedPlace, { title: "before", slug: "s" }));
  const decoded = decodeLine(new TextEncoder().encode(line), { version: 3, ordinal: 1, maxDepth: 256 });
  if (decoded.kind !== "entry") throw new Error(decoded.kind);
  return decoded.entry as SessionEntry;
}

function reversed<T>(value: T): T {
  if (Array.isArray(value)) return value.map(reversed) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  ) as T;
}

// A number's sign is lost in JSON where it is zero; nothing else of a value is.
const json = fc.jsonValue().filter((value) => !JSON.stringify(value).includes("__proto__"));

test("a draft is the entry that it was written as, in whatever order its keys come", () => {
  fc.assert(
    fc.property(json, fc.string(), (data, customType) => {
      const draft: EntryDraft = { type: "custom", customType, data };
      expect(isSameEntry(draft, stored(draft))).toBe(true);
      expect(isSameEntry(reversed(draft), stored(draft))).toBe(true);
      expect(isSameEntry({ ...draft, id: "anything" }, stored(draft))).toBe(true);
    }),
  );
});

test("another value makes another entry", () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      fc.pre(JSON.stringify(reversed(reversed(a))) !== JSON.stringify(reversed(reversed(b))));
      const draft = (data: unknown): EntryDraft => ({ type: "custom", customType: "c", data });
      const same = isSameEntry(draft(a), stored(draft(b)));
      if (same) expect(sortedText(a)).toBe(sortedText(b));
      else expect(sortedText(a)).not.toBe(sortedText(b));
    }),
  );
  const message = { ...userMessage("a"), timestamp: 1 };
  const draft: EntryDraft = { type: "message", message };
  expect(isSameEntry(draft, stored({ type: "message", message: { ...message, timestamp: 2 } }))).toBe(false);
  expect(isSameEntry(draft, stored({ type: "custom", customType: "c" }))).toBe(false);
  expect(
    isSameEntry(
      { type: "custom", customType: "c", data: [1, 2] },
      stored({ type: "custom", customType: "c", data: [2, 1] }),
    ),
  ).toBe(false);
});

test("members that are undefined are none", () => {
  const draft = { type: "label", targetId: "a", label: undefined } as unknown as EntryDraft;
  expect(isSameEntry(draft, stored({ type: "label", targetId: "a" }))).toBe(true);
});

test("a session_info is the same where what it changes is so", () => {
  const entry = stored({ type: "session_info", name: "n", slug: null });
  expect(entry).toMatchObject({ title: "before", name: "n" });
  expect(isSameEntry({ type: "session_info", name: "n" }, entry)).toBe(true);
  expect(isSameEntry({ type: "session_info", name: "n", slug: null }, entry)).toBe(true);
  expect(isSameEntry({ type: "session_info", name: "m" }, entry)).toBe(false);
  expect(isSameEntry({ type: "session_info", slug: "s" }, entry)).toBe(false);
});

function sortedText(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
