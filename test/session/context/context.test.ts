import fc from "fast-check";
import {
  buildSessionContext,
  type Message,
  parseSession,
  type SessionEntry,
  SessionTree,
  type SystemMessage,
} from "sessile";
import { SessileError } from "sessile/errors";
import { describe, expect, test } from "vitest";
import {
  type BuiltContext,
  buildContext,
  contextAt,
  extendContext,
  keptRange,
  runInMemory,
} from "../../../src/session/context/build-context.js";
import { assembleItems, type ItemParts } from "../../../src/session/context/context-items.js";
import { noRow, treeRows } from "../../../src/session/internal.js";
import { conversation } from "../../arbitraries/conversations.js";
import { type AnyEntry, entryTree, sessionOf } from "../../arbitraries/entries.js";
import { rounds } from "../../support/rounds.js";
import { naiveContext } from "./naive-context.js";

describe("building", () => {
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
        { numRuns: rounds(150, 600) },
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

    test("ends at the leaf unless told otherwise, and is empty for null", () => {
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
        const entries = [
          assistant("a", "call"),
          result("r", "call"),
          compaction("x", "a", { retain: ["r"] }),
        ];
        expect(shown(chain(...entries))).toEqual(["summary x", "retained r", "a"]);
        expect(shown(chain(...entries, edit("e", "a", null)))).toEqual(["summary x"]);
      });
    });

    describe("with edits", () => {
      test("shows the latest replacement on the path, and says so", () => {
        const session = chain(
          user("a"),
          edit("e1", "a", null),
          edit("e2", "a", { content: "new" }),
          user("b"),
        );
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

      test("apply to an entry after them, also as the first one of the path", () => {
        const [item] = buildSessionContext(chain(edit("e", "a", { content: "new" }), user("a"))).items;
        expect(item).toMatchObject({ entryId: "a", edited: true, message: { content: "new" } });
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
            {
              type: "context_edit",
              id: "e",
              parentId: "a",
              timestamp: "t",
              targetId: "a",
              replacement: null,
            },
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
        expect(["a", "b", "c", "d", "e", "f"].map((leaf) => since(session, leaf))).toEqual([
          0, 0, 2, 2, 3, 3,
        ]);
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
});

describe("items", () => {
  const place = (id: string, timestamp = "1970-01-01T00:00:01.000Z") => ({ id, parentId: null, timestamp });
  const branchSummary = (id: string, timestamp?: string): SessionEntry => ({
    type: "branch_summary",
    ...place(id, timestamp),
    fromId: "root",
    summary: "s",
  });
  const system: SessionEntry = {
    type: "message",
    ...place("s"),
    message: { role: "system", content: "x", timestamp: 0 },
  };
  const compaction = {
    type: "compaction",
    ...place("c", "soon"),
    summary: "s",
    firstKeptEntryId: "c",
    tokensBefore: 7,
    systemMessage: { role: "system", content: "y", timestamp: 0 },
  } as const;

  const nothing: ItemParts = {
    needed: [],
    beforeCompaction: 0,
    retained: new Set(),
    edits: [],
    compaction: undefined,
  };
  const idsOf = (parts: Partial<ItemParts>) =>
    assembleItems({ ...nothing, ...parts }).map((item) => item.entryId);

  describe("assembleItems", () => {
    test("leaves out bodies that could not be read, of messages and of edits", () => {
      expect(idsOf({ needed: [undefined, system, undefined], edits: [undefined] })).toEqual(["s"]);
    });

    test("leaves out what is no message, and entries of the wrong shape", () => {
      const unknown = { type: "unknown", entryType: "message", ...place("u"), raw: "{}" } as const;
      const label = { type: "label", ...place("l"), targetId: "s" } as const;
      expect(idsOf({ needed: [unknown, label, system], edits: [unknown] })).toEqual(["s"]);
    });

    test("drops system messages before a compaction that has one, and not those after it", () => {
      expect(idsOf({ needed: [system, system], beforeCompaction: 1, compaction })).toEqual(["c", "c", "s"]);
    });

    test("takes the time of a message that has none of its own from its entry, and 0 where that is no time", () => {
      const times = assembleItems({
        ...nothing,
        needed: [branchSummary("b"), branchSummary("b", "soon")],
        compaction,
      });
      expect(times.slice(1).map(({ message }) => message.timestamp)).toEqual([0, 1000, 0]);
    });

    test("names what was retained, whatever kind of message it is", () => {
      const items = assembleItems({
        ...nothing,
        needed: [system, branchSummary("b")],
        retained: new Set(["b"]),
      });
      expect(items.map(({ origin }) => origin)).toEqual(["retained", "message"]);
    });
  });
});

describe("requests for entries", () => {
  const user = (at: number): SessionEntry => ({
    type: "message",
    id: `e${at}`,
    parentId: at === 0 ? null : `e${at - 1}`,
    timestamp: "t",
    message: { role: "user", content: "x", timestamp: 0 },
  });
  const compaction = (at: number, firstKeptEntryId: string, retain?: readonly string[]): SessionEntry => ({
    type: "compaction",
    id: `e${at}`,
    parentId: `e${at - 1}`,
    timestamp: "t",
    summary: "s",
    firstKeptEntryId,
    tokensBefore: 1,
    ...(retain === undefined ? {} : { retain }),
  });

  /** Rounds in which bodies are asked for, each with the ids, in building the context at the last entry. */
  function asked(
    entries: readonly SessionEntry[],
    damaged: readonly string[] = [],
  ): readonly (readonly string[])[] {
    const rows = treeRows(new SessionTree(entries));
    const bodies = new Map(entries.map((entry) => [entry.id, entry]));
    const rounds: string[][] = [];
    const steps = contextAt(rows, rows.size - 1);
    const bodyOf = (row: number) => (damaged.includes(rows.id(row)) ? undefined : bodies.get(rows.id(row)));
    let step = steps.next();
    while (!step.done) {
      rounds.push(step.value.map((row) => rows.id(row)));
      step = steps.next(bodyOf);
    }
    return rounds;
  }

  describe("contextAt", () => {
    test("asks for no more than the latest compaction and what is in context", () => {
      const entries = [
        ...Array.from({ length: 7 }, (_, at) => user(at)),
        compaction(7, "e5", ["e1"]),
        user(8),
      ];
      expect(asked(entries)).toEqual([["e7"], ["e1", "e5", "e6", "e8"]]);
    });

    test("goes on to the compaction before where the latest is damaged", () => {
      const entries = [user(0), user(1), compaction(2, "e1"), compaction(3, "e3"), user(4)];
      expect(asked(entries, ["e3"])).toEqual([["e3"], ["e2"], ["e1", "e4"]]);
    });

    test("asks for nothing at the empty leaf", () => {
      const steps = contextAt(treeRows(new SessionTree([user(0)])), noRow);
      expect(runInMemory(steps, () => user(0)).items).toEqual([]);
      expect(contextAt(treeRows(new SessionTree()), noRow).next().value).toEqual([]);
    });

    test("gives the same whether bodies are there at once or are let go after each step", () => {
      fc.assert(
        fc.property(conversation(12), ({ entries, leafId }) => {
          const tree = new SessionTree(entries);
          const rows = treeRows(tree);
          const bodies = new Map(entries.map((entry) => [entry.id, entry]));
          const entry = (id: string) => bodies.get(id);
          const steps = contextAt(rows, leafId === null ? noRow : rows.row(leafId));
          let step = steps.next();
          while (!step.done) {
            const wanted = new Map(step.value.map((row) => [row, entry(rows.id(row))]));
            step = steps.next((row) => wanted.get(row));
          }
          expect(step.value).toEqual(buildSessionContext({ tree, leafId, entry }, leafId));
        }),
      );
    });
  });

  describe("keptRange", () => {
    test("is the whole path without a compaction", () => {
      const rows = treeRows(new SessionTree([user(0), user(1)]));
      expect(keptRange(rows, rows.path(1), undefined, -1)).toEqual({
        start: 0,
        retained: [],
        earliest: 0,
      });
    });

    test("has what is retained in the order of the list, also from the kept range", () => {
      const last = compaction(5, "e3", ["e2", "e0", "e4", "e5", "gone", "e2"]);
      const entries = [...Array.from({ length: 5 }, (_, at) => user(at)), last];
      const rows = treeRows(new SessionTree(entries));
      const range = keptRange(rows, rows.path(5), last as SessionEntry & { readonly type: "compaction" }, 5);
      expect(range).toEqual({ start: 3, retained: [2, 0, 4], earliest: 0 });
    });
  });
});

describe("extending", () => {
  function sessionOf(entries: readonly AnyEntry[], damaged: (id: string) => boolean = () => false) {
    const rows = treeRows(new SessionTree(entries));
    const bodies = new Map(entries.map((entry) => [entry.id, entry]));
    const bodyOf = (row: number) => (damaged(rows.id(row)) ? undefined : bodies.get(rows.id(row)));
    return { rows, bodyOf };
  }

  const user = (at: number): SessionEntry => ({
    type: "message",
    id: `e${at}`,
    parentId: at === 0 ? null : `e${at - 1}`,
    timestamp: "t",
    message: { role: "user", content: "x", timestamp: 0 },
  });

  const picks = fc.array(fc.nat(), { minLength: 1, maxLength: 16, size: "max" });

  describe("extendContext", () => {
    test("is the one that is built from the start, in whatever order the leaves come", () => {
      fc.assert(
        fc.property(conversation(24), picks, fc.nat(7), ({ entries }, picks, unreadable) => {
          const { rows, bodyOf } = sessionOf(entries, (id) => Number.parseInt(id, 16) % 8 === unreadable);
          let last: BuiltContext | undefined;
          for (const pick of picks) {
            // Mostly a few rows on, as in a session that grows.
            const near = Math.min(rows.size - 1, (last?.leaf ?? noRow) + 1 + (pick % 3));
            const leaf = pick % 4 === 0 ? (pick % (rows.size + 1)) - 1 : near;
            const built = runInMemory(extendContext(rows, leaf, last), bodyOf);
            const { context, shown } = runInMemory(buildContext(rows, leaf), bodyOf);
            expect(built.context).toEqual(context);
            expect(built.shown.filter((row) => rows.kind(row).startsWith("message"))).toEqual(
              shown.filter((row) => rows.kind(row).startsWith("message")),
            );
            last = built;
          }
        }),
        { numRuns: rounds(75, 300) },
      );
    });

    test("keeps the items of the last one, and leaves it as it was", () => {
      const { rows, bodyOf } = sessionOf([user(0), user(1), user(2)]);
      const first = runInMemory(extendContext(rows, 1, undefined), bodyOf);
      const second = runInMemory(extendContext(rows, 2, first), bodyOf);
      expect(first.context.items).toHaveLength(2);
      expect(second.context.items).toHaveLength(3);
      expect(second.context.items[0]).toBe(first.context.items[0]);
    });

    test("goes on behind edits and pins of what is there, and is built anew behind one of what may come", () => {
      const said = (type: "context_edit" | "context_pin", targetId: string): SessionEntry[] => {
        const base = { id: "e1", parentId: "e0", timestamp: "t", targetId };
        const entry: SessionEntry =
          type === "context_pin"
            ? { type, ...base, pinned: true }
            : { type, ...base, replacement: { content: "less" } };
        return [user(0), entry, user(2)];
      };
      for (const type of ["context_edit", "context_pin"] as const) {
        for (const [target, goesOn] of [
          ["e0", true],
          ["e2", false],
        ] as const) {
          const { rows, bodyOf } = sessionOf(said(type, target));
          const first = runInMemory(extendContext(rows, 1, undefined), bodyOf);
          const second = runInMemory(extendContext(rows, 2, first), bodyOf);
          expect(second.context.items).toHaveLength(2);
          expect(second.context.items[0] === first.context.items[0]).toBe(goesOn);
        }
      }
    });

    test("is built anew where the last one is of another tree", () => {
      const before = sessionOf([{ ...user(0), id: "other" }]);
      const { rows, bodyOf } = sessionOf([user(0), user(1)]);
      const last = runInMemory(extendContext(before.rows, 0, undefined), before.bodyOf);
      const { context } = runInMemory(extendContext(rows, 1, last), bodyOf);
      expect(context.items.map(({ entryId }) => entryId)).toEqual(["e0", "e1"]);
    });

    test("leaves out the result of a call that an edit took out before the result came", () => {
      const place = (at: number) => ({
        id: `e${at}`,
        parentId: at === 0 ? null : `e${at - 1}`,
        timestamp: "t",
      });
      const content = [{ type: "toolCall", id: "call", name: "read", arguments: {} }] as const;
      const { rows, bodyOf } = sessionOf([
        {
          type: "message",
          ...place(0),
          message: { role: "assistant", content, provider: "p", model: "m", timestamp: 0 },
        },
        { type: "context_edit", ...place(1), targetId: "e0", replacement: null },
        {
          type: "message",
          ...place(2),
          message: {
            role: "toolResult",
            toolCallId: "call",
            toolName: "read",
            content: [],
            isError: false,
            timestamp: 0,
          },
        },
      ]);
      const last = runInMemory(extendContext(rows, 1, undefined), bodyOf);
      expect(runInMemory(extendContext(rows, 2, last), bodyOf).context.items).toEqual([]);
    });
  });
});
