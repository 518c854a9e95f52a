import fc from "fast-check";
import { type EntryDraft, encodeEntry, type SessionEntry, userMessage } from "sessile";
import { SessileError } from "sessile/errors";
import { describe, expect, it, test } from "vitest";
import { decodeLine } from "../../src/log/internal.js";
import { checkDraft, draftEntry, isSameEntry } from "../../src/session/runtime/drafts.js";
import { entryTypes, sessionEntry } from "../arbitraries/entries.js";

const place = { id: "new", parentId: "leaf", timestamp: "2026-01-01T00:00:00.000Z" };

describe("entryOf", () => {
  it("puts the draft's fields at its place, those of its place first", () => {
    fc.assert(
      fc.property(sessionEntry, ({ id, parentId: _parentId, timestamp: _timestamp, ...fields }) => {
        const entry = draftEntry({ ...fields, id } as EntryDraft, place, {});
        const parentId = fields.type === "leaf" ? fields.targetId : "leaf";
        expect(entry).toEqual({ ...fields, ...place, parentId });
        expect(Object.keys(entry).slice(0, 4)).toEqual(["type", "id", "parentId", "timestamp"]);
      }),
    );
  });

  it("takes nothing that a draft only inherits or hides", () => {
    const message = userMessage("a");
    const hidden = Object.defineProperty({ type: "message" }, "message", { value: message });
    for (const draft of [hidden, Object.assign(Object.create({ message }), { type: "message" })]) {
      expect(draftEntry(draft as EntryDraft, place, {})).not.toHaveProperty("message");
    }
    const more = { type: "message", message, more: 1 } as const;
    expect(draftEntry(more, place, {})).toEqual({ ...place, ...more });
  });

  it("completes a session_info by what is in force", () => {
    const patch = { type: "session_info", title: "new", slug: null } as const;
    const entry = draftEntry(patch, place, { name: "name", title: "old", slug: "slug" });
    expect(entry).toEqual({ type: "session_info", ...place, name: "name", title: "new" });
  });

  it("hangs a leaf entry on its target", () => {
    expect(draftEntry({ type: "leaf", targetId: null }, place, {})).toMatchObject({
      parentId: null,
      targetId: null,
    });
    expect(draftEntry({ type: "leaf", targetId: "there" }, place, {})).toMatchObject({ parentId: "there" });
  });
});

/** What checkDraft throws of a draft; undefined where it does not. */
function problemOf(draft: unknown, ...known: readonly string[]): SessileError | undefined {
  try {
    checkDraft(draft as EntryDraft, 2, (id) => known.includes(id));
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(SessileError);
    return error as SessileError;
  }
}

describe("checkDraft", () => {
  it.each([
    [undefined, "drafts[2]: expected an entry draft, got undefined"],
    [null, "drafts[2]: expected an entry draft, got null"],
    ["message", 'drafts[2]: expected an entry draft, got "message"'],
    [[], "drafts[2]: expected an entry draft, got an array of 0"],
    [{}, "drafts[2].type: expected an entry type, got undefined"],
    [{ type: "later" }, 'drafts[2].type: expected an entry type, got "later"'],
    [{ type: "toString" }, 'drafts[2].type: expected an entry type, got "toString"'],
    [{ type: ["label"] }, "drafts[2].type: expected an entry type, got an array of 1"],
    [
      { type: "label", targetId: "a", id: "" },
      "drafts[2].id: expected a non-empty string, got an empty string",
    ],
    [{ type: "label", targetId: "a", id: 7 }, "drafts[2].id: expected a non-empty string, got 7"],
  ])("refuses %j", (draft, message) => {
    const problem = problemOf(draft, "a");
    expect([problem?.code, problem?.message]).toEqual(["INVALID_ENTRY", message]);
    const path = message.slice(0, message.indexOf(":"));
    expect((problem as SessileError<"INVALID_ENTRY">).details.path).toBe(path);
  });

  it.each(["text_delta", "thinking_delta", "tool_state", "status", "compacting"])(
    "says of a %s that it is to be published",
    (type) => {
      expect(problemOf({ type })?.message).toBe(
        `drafts[2].type: expected an entry type; this one is ephemeral: publish it, got "${type}"`,
      );
    },
  );

  it.each([
    ["targetId", { type: "label", targetId: "gone" }],
    ["targetId", { type: "context_edit", targetId: "gone", replacement: null }],
    ["targetId", { type: "context_pin", targetId: "gone", pinned: true }],
    ["targetId", { type: "revert", targetId: "gone" }],
    ["targetId", { type: "leaf", targetId: "gone" }],
    ["firstKeptEntryId", { type: "compaction", summary: "", firstKeptEntryId: "gone", tokensBefore: 0 }],
    [
      "retain[1]",
      { type: "compaction", summary: "", firstKeptEntryId: "a", tokensBefore: 0, retain: ["a", "gone"] },
    ],
  ])("refuses a %s that names no entry: %j", (field, draft) => {
    const problem = problemOf(draft, "a");
    expect([problem?.code, problem?.message, problem?.details]).toEqual([
      "ENTRY_NOT_FOUND",
      `drafts[2].${field}: no entry has the id "gone"`,
      { entryId: "gone" },
    ]);
    expect(problemOf(draft, "a", "gone")).toBeUndefined();
    expect(problemOf({ ...draft, id: "gone" }, "a")).toBeUndefined();
  });

  it("takes what refers to nothing in the session", () => {
    const drafts: readonly EntryDraft[] = [
      { type: "message", message: userMessage("hi") },
      { type: "leaf", targetId: null },
      { type: "branch_summary", fromId: "root", summary: "" },
      { type: "resource_view", resourceId: "res_0123456789abcdef" },
    ];
    expect(drafts.map((draft) => problemOf(draft))).toEqual(drafts.map(() => undefined));
  });

  it("takes every type of entry", () => {
    fc.assert(
      fc.property(sessionEntry, (entry) => {
        expect(entryTypes).toContain(entry.type);
        expect(() => checkDraft(entry as EntryDraft, 0, () => true)).not.toThrow();
      }),
    );
  });
});

const storedPlace = { id: "cafecafe", parentId: "0badc0de", timestamp: "2026-01-02T03:04:05.678Z" };

/** The entry that a draft makes, written and read again. */
function stored(draft: EntryDraft): SessionEntry {
  const line = encodeEntry(draftEntry(draft, storedPlace, { title: "before", slug: "s" }));
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
