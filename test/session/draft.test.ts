import fc from "fast-check";
import { userMessage } from "sessile/content";
import { SessileError } from "sessile/errors";
import type { EntryDraft } from "sessile/session";
import { describe, expect, it } from "vitest";
import { checkDraft, entryOf } from "../../src/session/runtime/materialize-drafts.js";
import { entryTypes, sessionEntry } from "../arbitraries/entries.js";

const place = { id: "new", parentId: "tip", timestamp: "2026-01-01T00:00:00.000Z" };

describe("entryOf", () => {
  it("puts the draft's fields at its place, those of its place first", () => {
    fc.assert(
      fc.property(sessionEntry, ({ id, parentId: _parentId, timestamp: _timestamp, ...fields }) => {
        const entry = entryOf({ ...fields, id } as EntryDraft, place, {});
        const parentId = fields.type === "leaf" ? fields.targetId : "tip";
        expect(entry).toEqual({ ...fields, ...place, parentId });
        expect(Object.keys(entry).slice(0, 4)).toEqual(["type", "id", "parentId", "timestamp"]);
      }),
    );
  });

  it("takes nothing that a draft only inherits or hides", () => {
    const message = userMessage("a");
    const hidden = Object.defineProperty({ type: "message" }, "message", { value: message });
    for (const draft of [hidden, Object.assign(Object.create({ message }), { type: "message" })]) {
      expect(entryOf(draft as EntryDraft, place, {})).not.toHaveProperty("message");
    }
    const more = { type: "message", message, more: 1 } as const;
    expect(entryOf(more, place, {})).toEqual({ ...place, ...more });
  });

  it("completes a session_info by what is in force", () => {
    const patch = { type: "session_info", title: "new", slug: null } as const;
    const entry = entryOf(patch, place, { name: "name", title: "old", slug: "slug" });
    expect(entry).toEqual({ type: "session_info", ...place, name: "name", title: "new" });
  });

  it("hangs a leaf entry on its target", () => {
    expect(entryOf({ type: "leaf", targetId: null }, place, {})).toMatchObject({
      parentId: null,
      targetId: null,
    });
    expect(entryOf({ type: "leaf", targetId: "there" }, place, {})).toMatchObject({ parentId: "there" });
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
