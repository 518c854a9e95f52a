import fc from "fast-check";
import type { Message, SystemMessage } from "sessile/content";
import { SessileError } from "sessile/errors";
import { buildSessionContext, parseSession, type SessionEntry } from "sessile/session";
import { describe, expect, test } from "vitest";
import { conversation } from "../../arbitraries/conversations.js";
import { entryTree, sessionOf } from "../../arbitraries/entries.js";
import { naiveContext } from "./naive-context.js";

type Fields = SessionEntry extends infer E
  ? E extends SessionEntry
    ? Omit<E, "parentId" | "timestamp">
    : never
  : never;

/** A session in which each entry follows the one before it. */
function chain(...entries: readonly Fields[]) {
  const chained = entries.map(
    (entry, at) =>
      ({
        ...entry,
        parentId: entries[at - 1]?.id ?? null,
        timestamp: "1970-01-01T00:00:01.000Z",
      }) as SessionEntry,
  );
  return parseSession(sessionOf(chained).text);
}

const user = (id: string): Fields => ({
  type: "message",
  id,
  message: { role: "user", content: id, timestamp: 0 },
});
const assistant = (id: string, ...calls: readonly string[]): Fields => ({
  type: "message",
  id,
  message: {
    role: "assistant",
    content: calls.map((call) => ({ type: "toolCall", id: call, name: "read", arguments: {} })),
    provider: "p",
    model: id,
    timestamp: 0,
  },
});
const result = (id: string, toolCallId: string): Fields => ({
  type: "message",
  id,
  message: { role: "toolResult", toolCallId, toolName: "read", content: [], isError: false, timestamp: 0 },
});
const bash = (id: string): Fields => ({
  type: "message",
  id,
  message: {
    role: "bashExecution",
    command: "ls",
    output: id,
    cancelled: false,
    truncated: false,
    timestamp: 0,
  },
});
const system = (content: string): SystemMessage => ({ role: "system", content, timestamp: 0 });
const compaction = (
  id: string,
  firstKeptEntryId: string,
  more: { readonly retain?: readonly string[]; readonly systemMessage?: SystemMessage } = {},
): Fields => ({ type: "compaction", id, summary: `sum ${id}`, firstKeptEntryId, tokensBefore: 1, ...more });
const edit = (
  id: string,
  targetId: string,
  replacement: null | { readonly content: string | readonly unknown[] },
): Fields => ({
  type: "context_edit",
  id,
  targetId,
  replacement,
});
const pin = (id: string, targetId: string, pinned = true): Fields => ({
  type: "context_pin",
  id,
  targetId,
  pinned,
});

/** What a context shows, shortly: the id of each item's entry, with the origin where it is no message. */
function shown(session: ReturnType<typeof chain>, leafId?: string | null): readonly string[] {
  return buildSessionContext(session, leafId).items.map(({ entryId, origin }) =>
    origin === "message" ? entryId : `${origin} ${entryId}`,
  );
}

describe("buildSessionContext", () => {
  // @covers R30 R89 R123
  test("gives what the format says, for any session", () => {
    fc.assert(
      fc.property(conversation(24), ({ entries, leafId }) => {
        const session = parseSession(sessionOf(entries).text);
        expect(session.entries).toEqual(entries);
        expect(buildSessionContext(session, leafId)).toEqual(naiveContext(entries, leafId));
      }),
      { numRuns: 600 },
    );
  });

  test("gives what the format says, for entries that know nothing of each other", () => {
    fc.assert(
      fc.property(entryTree(), (entries) => {
        const session = parseSession(sessionOf(entries).text);
        expect(buildSessionContext(session)).toEqual(naiveContext(entries, session.leafId));
      }),
    );
  });

  test("ends at the tip unless told otherwise, and is empty for null", () => {
    const session = chain(user("a"), user("b"));
    expect(shown(session)).toEqual(["a", "b"]);
    expect(shown(session, undefined)).toEqual(["a", "b"]);
    expect(shown(session, "a")).toEqual(["a"]);
    expect(buildSessionContext(session, null)).toEqual({
      items: [],
      views: [],
      pins: [],
      model: null,
      thinkingLevel: "off",
      usageSince: 0,
    });
  });

  test("throws for a leaf that is not there", () => {
    let thrown: unknown;
    try {
      buildSessionContext(chain(user("a")), "toString");
    } catch (error) {
      thrown = error;
    }
    expect(SessileError.is(thrown, "ENTRY_NOT_FOUND") && thrown.details).toEqual({ entryId: "toString" });
  });

  test("leaves out an entry whose body was damaged", () => {
    const whole = chain(user("a"), user("b"), user("c"));
    const { entry: _entry, ...session } = whole;
    const damaged = { ...session, entry: (id: string) => (id === "b" ? undefined : whole.entry(id)) };
    expect(buildSessionContext(damaged).items.map(({ entryId }) => entryId)).toEqual(["a", "c"]);
  });

  describe("with compactions", () => {
    test("counts only the latest on the path, and an older one in the kept range shows nothing", () => {
      const session = chain(
        user("a"),
        user("b"),
        compaction("c1", "b"),
        user("d"),
        compaction("c2", "b"),
        user("e"),
      );
      expect(shown(session)).toEqual(["summary c2", "b", "d", "e"]);
      expect(shown(session, "d")).toEqual(["summary c1", "b", "d"]);
    });

    test.each([
      ["its own id", "c"],
      ["an id that is not there", "gone"],
      ["an id that comes later", "e"],
    ])("keeps nothing before it for %s", (_, first) => {
      const session = chain(user("a"), user("b"), compaction("c", first), user("d"), user("e"));
      expect(shown(session)).toEqual(["summary c", "d", "e"]);
    });

    test("begins with the system message, which replaces those before", () => {
      const message = (id: string): Fields => ({ type: "message", id, message: system(id) });
      const entries = [message("s1"), user("a"), message("s2"), user("b")];
      const withOwn = compaction("c", "a", { systemMessage: system("all") });
      expect(shown(chain(...entries, withOwn, message("s3")))).toEqual([
        "system c",
        "summary c",
        "a",
        "b",
        "s3",
      ]);
      expect(shown(chain(...entries, compaction("c", "a"), message("s3")))).toEqual([
        "summary c",
        "a",
        "s2",
        "b",
        "s3",
      ]);
    });

    test("places what it retained between summary and tail, in the order in which it lists it, once", () => {
      const entries = [user("a"), user("b"), user("c"), user("d"), user("e")];
      const retain = ["e", "c", "a", "a", "e", "gone", "x", "f"];
      const session = chain(...entries, compaction("x", "d", { retain }), user("f"));
      expect(shown(session)).toEqual(["summary x", "retained e", "retained c", "retained a", "d", "f"]);
    });

    // @covers R102
    test("can put what was appended just before it in front of the last user message", () => {
      const entries = [user("a"), assistant("b"), user("last"), user("instructions")];
      const session = chain(
        ...entries,
        compaction("x", "last", { retain: ["instructions"] }),
        assistant("c"),
      );
      expect(shown(session)).toEqual(["summary x", "retained instructions", "last", "c"]);
    });

    test("loses nothing that is no message by listing it", () => {
      const view: Fields = { type: "resource_view", id: "v", resourceId: "r" };
      const entries = [
        user("a"),
        user("b"),
        view,
        edit("e", "b", { content: "x" }),
        pin("p", "b"),
        user("c"),
      ];
      const retain = ["v", "e", "p", "c"];
      const context = buildSessionContext(chain(...entries, compaction("x", "b", { retain })));
      expect(context.items.map(({ entryId, edited }) => [entryId, edited])).toEqual([
        ["x", undefined],
        ["c", undefined],
        ["b", true],
      ]);
      expect(context).toMatchObject({ views: [{ entryId: "v", item: 3 }], pins: ["b"], usageSince: 3 });
    });

    test("applies the edits of what it retained, whichever it lists first", () => {
      const entries = [
        user("a"),
        edit("e1", "a", { content: "x" }),
        user("b"),
        edit("e2", "b", null),
        user("c"),
      ];
      const session = chain(...entries, compaction("x", "x", { retain: ["c", "b", "a"] }));
      expect(buildSessionContext(session).items.map(({ entryId, edited }) => [entryId, edited])).toEqual([
        ["x", undefined],
        ["c", undefined],
        ["a", true],
      ]);
    });

    test("takes a result out with its call also where it lists the result first", () => {
      const entries = [assistant("a", "call"), result("r", "call"), compaction("x", "a", { retain: ["r"] })];
      expect(shown(chain(...entries))).toEqual(["summary x", "retained r", "a"]);
      expect(shown(chain(...entries, edit("e", "a", null)))).toEqual(["summary x"]);
    });
  });

  describe("with edits", () => {
    test("shows the latest replacement on the path, and says so", () => {
      const session = chain(user("a"), edit("e1", "a", null), edit("e2", "a", { content: "new" }), user("b"));
      const [first, second] = buildSessionContext(session).items;
      expect(first).toEqual({
        entryId: "a",
        origin: "message",
        message: { role: "user", content: "new", timestamp: 0 },
        edited: true,
      });
      expect(second).not.toHaveProperty("edited");
      expect(shown(session, "e1")).toEqual([]);
    });

    test("takes out the result with its call, also where only the call is edited away", () => {
      const entries = [assistant("a", "c1", "c2"), result("r1", "c1"), result("r2", "c2")];
      const block = { type: "toolCall", id: "c2", name: "read", arguments: {} };
      expect(shown(chain(...entries, edit("e", "a", null)))).toEqual([]);
      expect(shown(chain(...entries, edit("e", "a", { content: [block] })))).toEqual(["a", "r2"]);
      expect(shown(chain(...entries, edit("e", "a", { content: "nothing" })))).toEqual(["a"]);
    });

    test("leaves a result out whose call was taken out of a message that a compaction covers", () => {
      const entries = [assistant("a", "c1", "c2"), user("b"), edit("e", "a", null), result("r", "c1")];
      const kept = compaction("x", "b");
      expect(shown(chain(...entries))).toEqual(["b"]);
      expect(shown(chain(...entries, kept))).toEqual(["summary x", "b"]);
      expect(shown(chain(...entries, compaction("x", "r")))).toEqual(["summary x"]);
      // Taken back, as the file has it: the result of a call that is covered.
      const block = { type: "toolCall", id: "c1", name: "read", arguments: {} };
      const back = edit("f", "a", { content: [block] });
      expect(shown(chain(...entries, back, kept))).toEqual(["summary x", "b", "r"]);
      expect(shown(chain(assistant("a", "c1"), user("b"), result("r", "c1"), kept))).toEqual([
        "summary x",
        "b",
        "r",
      ]);
    });

    test("keeps the result of a call that is shown, whatever a covered one of its id has lost", () => {
      const covered = [assistant("a", "c"), assistant("b", "c"), edit("e", "b", null), result("r", "c")];
      const kept = compaction("x", "r", { retain: ["a"] });
      const context = ["summary x", "retained a", "r"];
      expect(shown(chain(...covered, kept))).toEqual(context);
      expect(shown(chain(...covered, result("stray", "other"), kept))).toEqual([...context, "stray"]);
    });

    test("keeps the result of a later call that has the same id again", () => {
      const session = chain(
        assistant("a", "c"),
        result("r1", "c"),
        assistant("b", "c"),
        result("r2", "c"),
        edit("e", "a", null),
      );
      expect(shown(session)).toEqual(["b", "r2"]);
    });

    test("keeps the result of a call that an edit put in the place of one that was taken out", () => {
      const block = { type: "toolCall", id: "c", name: "read", arguments: {} };
      const session = chain(
        assistant("a", "c"),
        assistant("b"),
        result("r", "c"),
        edit("e1", "a", null),
        edit("e2", "b", { content: [block] }),
      );
      expect(shown(session)).toEqual(["b", "r"]);
    });

    test("brings back what was taken out, with its content", () => {
      const content = "a";
      const session = chain(user("a"), edit("e1", "a", null), edit("e2", "a", { content }));
      expect(shown(session)).toEqual(["a"]);
    });

    test("leaves a shell command out by null, and changes nothing in it otherwise", () => {
      const [command] = buildSessionContext(chain(bash("a"))).items;
      expect(shown(chain(bash("a"), edit("e", "a", null)))).toEqual([]);
      expect(buildSessionContext(chain(bash("a"), edit("e", "a", { content: "x" }))).items).toEqual([
        command,
      ]);
    });

    test("keeps the message where the replacement is none of its role", () => {
      const session = chain(user("a"), edit("e", "a", { content: [5] }));
      expect(buildSessionContext(session).items).toEqual(buildSessionContext(session, "a").items);
    });

    test("makes known blocks of a replacement's blocks", () => {
      const block = { type: "video", data: "x" };
      const session = chain(
        user("a"),
        assistant("b"),
        edit("e1", "a", { content: [block] }),
        edit("e2", "b", { content: [block] }),
      );
      expect(
        buildSessionContext(session).items.map(
          ({ message }) => (message as Message & { content: unknown }).content,
        ),
      ).toEqual([
        [{ type: "text", text: "[video block that this version cannot read]" }],
        [{ type: "opaque", data: block }],
      ]);
    });

    test("of another branch do not count", () => {
      const session = parseSession(
        sessionOf([
          {
            type: "message",
            id: "a",
            parentId: null,
            timestamp: "t",
            message: { role: "user", content: "a", timestamp: 0 },
          },
          { type: "context_edit", id: "e", parentId: "a", timestamp: "t", targetId: "a", replacement: null },
          {
            type: "message",
            id: "b",
            parentId: "a",
            timestamp: "t",
            message: { role: "user", content: "b", timestamp: 0 },
          },
        ]).text,
      );
      expect(shown(session)).toEqual(["a", "b"]);
      expect(shown(session, "e")).toEqual([]);
    });

    test("win over a pin, and over a compaction that retained", () => {
      const session = chain(
        user("a"),
        pin("p", "a"),
        user("b"),
        compaction("c", "c", { retain: ["a", "b"] }),
        edit("e", "a", null),
      );
      expect(shown(session)).toEqual(["summary c", "retained b"]);
      expect(buildSessionContext(session).pins).toEqual(["a"]);
    });

    test("reach what stands before them in the compaction's kept range and the summary itself", () => {
      const entries = [user("a"), edit("e1", "a", null), compaction("c", "a"), user("b")];
      expect(shown(chain(...entries))).toEqual(["summary c", "b"]);
      expect(shown(chain(...entries, edit("e2", "c", null)))).toEqual(["b"]);
    });
  });

  describe("with pins and views", () => {
    test("lists what is pinned at the leaf in path order, the latest word counting", () => {
      const session = chain(
        user("a"),
        user("b"),
        pin("p1", "b"),
        pin("p2", "a"),
        pin("p3", "b", false),
        pin("p4", "gone"),
      );
      expect(buildSessionContext(session).pins).toEqual(["a"]);
      expect(buildSessionContext(session, "p2").pins).toEqual(["a", "b"]);
    });

    test("keeps the pins from before a compaction, and the views since the context begins", () => {
      const view = (id: string): Fields => ({ type: "resource_view", id, resourceId: `of ${id}` });
      const session = chain(
        user("a"),
        pin("p", "a"),
        view("v1"),
        user("b"),
        view("v2"),
        compaction("c", "b"),
        view("v3"),
      );
      const { pins, views } = buildSessionContext(session);
      expect(pins).toEqual(["a"]);
      expect(views).toEqual([
        { entryId: "v2", resourceId: "of v2", item: 2 },
        { entryId: "v3", resourceId: "of v3", item: 2 },
      ]);
    });

    test("says of a view how many items stand before it, what an edit took out not counting", () => {
      const view = (id: string): Fields => ({ type: "resource_view", id, resourceId: "r" });
      const session = chain(view("v0"), user("a"), view("v1"), user("b"), edit("e", "a", null), view("v2"));
      expect(buildSessionContext(session).views.map(({ item }) => item)).toEqual([0, 0, 1]);
    });
  });

  describe("with usage of another context", () => {
    const since = (session: ReturnType<typeof chain>, leafId?: string) =>
      buildSessionContext(session, leafId).usageSince;

    test("says where the usage of this one begins: behind the latest compaction or edit on the path", () => {
      const session = chain(
        assistant("a"),
        assistant("b"),
        compaction("c", "b"),
        assistant("d"),
        edit("e", "b", { content: "shorter" }),
        assistant("f"),
      );
      expect(["a", "b", "c", "d", "e", "f"].map((leaf) => since(session, leaf))).toEqual([0, 0, 2, 2, 3, 3]);
    });

    test("goes by the path, whatever the clocks say", () => {
      const timed = (id: string, timestamp: number): Fields => {
        const entry = assistant(id);
        return entry.type === "message" ? { ...entry, message: { ...entry.message, timestamp } } : entry;
      };
      const session = chain(timed("a", 9e12), compaction("c", "a"), timed("b", 0));
      expect(since(session)).toBe(2);
    });

    test("counts no item that an edit took out, and every edit, also of what is not in context", () => {
      const entries = [assistant("a"), assistant("b"), edit("e1", "a", null), assistant("c")];
      expect(since(chain(...entries))).toBe(1);
      expect(since(chain(...entries, edit("e2", "gone", null)))).toBe(2);
      expect(since(chain(...entries, compaction("x", "c"), assistant("d"), edit("e3", "b", null)))).toBe(3);
    });

    test("counts no edit whose body cannot be read, since it changes nothing", () => {
      const whole = chain(
        assistant("a"),
        edit("e1", "a", { content: "x" }),
        assistant("b"),
        edit("e2", "b", null),
      );
      const { entry: _entry, ...session } = whole;
      const damaged = { ...session, entry: (id: string) => (id === "e2" ? undefined : whole.entry(id)) };
      expect(buildSessionContext(damaged)).toMatchObject({ usageSince: 1, items: { length: 2 } });
    });
  });

  test("folds model and thinking level over the whole path", () => {
    const session = chain(
      { type: "thinking_level_change", id: "t", thinkingLevel: "high" },
      { type: "model_change", id: "m", provider: "q", modelId: "x" },
      assistant("a"),
      compaction("c", "c"),
      user("b"),
    );
    expect(buildSessionContext(session)).toMatchObject({
      model: { provider: "p", modelId: "a" },
      thinkingLevel: "high",
    });
    expect(buildSessionContext(session, "m").model).toEqual({ provider: "q", modelId: "x" });
  });

  test("gives what entries say for programs along with their summaries", () => {
    const summarised = { type: "branch_summary", fromId: "root", summary: "left" } as const;
    const session = chain(
      {
        ...(compaction("a", "a") as Fields & { readonly type: "compaction" }),
        details: { readFiles: ["x"] },
      },
      { ...summarised, id: "b", details: null },
      { ...summarised, id: "c" },
    );
    const [first, second, third] = buildSessionContext(session).items.map(({ message }) => message);
    expect(first).toMatchObject({ role: "compactionSummary", details: { readFiles: ["x"] } });
    expect(second).toMatchObject({ role: "branchSummary", details: null });
    expect(third).not.toHaveProperty("details");
  });

  test("shows branch summaries that say something, and messages of extensions", () => {
    const session = chain(
      { type: "branch_summary", id: "a", fromId: "root", summary: "" },
      { type: "branch_summary", id: "b", fromId: "root", summary: "left" },
      { type: "custom_message", id: "c", customType: "x", content: "hi", display: false, details: 1 },
      { type: "custom", id: "d", customType: "x", data: 1 },
    );
    expect(buildSessionContext(session).items).toEqual([
      {
        entryId: "b",
        origin: "branchSummary",
        message: { role: "branchSummary", summary: "left", fromId: "root", timestamp: 1000 },
      },
      {
        entryId: "c",
        origin: "custom",
        message: {
          role: "custom",
          customType: "x",
          content: "hi",
          display: false,
          details: 1,
          timestamp: 1000,
        },
      },
    ]);
  });
});
