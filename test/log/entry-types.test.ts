import { appendFileSync, readFileSync } from "node:fs";
import fc from "fast-check";
import {
  assistantMessage,
  buildSessionContext,
  type ContextItem,
  type EntryDraft,
  type EntryMap,
  type EntryType,
  evaluatePermission,
  type Message,
  memorySessionStore,
  parseSession,
  type Resource,
  type Session,
  type SessionEntry,
  type SessionHeader,
  type SystemMessage,
  turnSettings,
  type Usage,
  userMessage,
} from "sessile";
import { fileSessionStore, openSessionFile } from "sessile/node";
import { sessionEntrySchema, sessionHeaderSchema } from "sessile/schema";
import type { TetherFrame, TetherImage, UserMessagePayload } from "sessile/tether";
import { describe, expect, expectTypeOf, it, test } from "vitest";
import * as z from "zod";
import {
  contentRules,
  messageShape,
  type resourceShape,
  type systemMessageShape,
  type usageShape,
} from "../../src/core/message-shapes.js";
import type { Fields, Infer, InferFields } from "../../src/core/shape.js";
import {
  type EntryTypeSpec,
  entryTypeNames,
  entryTypes,
  type headerFields,
} from "../../src/log/entry-types.js";
import { entryProblem, entryTypesWith, kindsInContext, references } from "../../src/log/internal.js";
import { headerProblem } from "../../src/log/validate.js";
import type { frameShape, imageFields, payloadShapes } from "../../src/tether/frame.js";
import { entryTypes as generatedTypes, header, plainHeader, sessionEntry } from "../arbitraries/entries.js";
import { message } from "../arbitraries/messages.js";
import { mutationOf } from "../arbitraries/mutations.js";
import { jsonValue, text } from "../arbitraries/values.js";
import { temporaryDirectory } from "../session/node/temporary-directory.js";

describe("entries in a session", () => {
  /** The lines of the file behind the header, parsed by nothing of this library, without their checksums. */
  function storedLines(session: Session): readonly Record<string, unknown>[] {
    const [, ...lines] = readFileSync(session.location ?? "", "utf8")
      .trimEnd()
      .split("\n");
    return lines.map((line) => {
      const { crc: _, ...fields } = JSON.parse(line);
      return fields;
    });
  }

  function textOf({ origin, message }: ContextItem): string {
    if ("summary" in message) return `${origin}: ${JSON.stringify(message.summary)}`;
    return `${origin}: ${"content" in message ? JSON.stringify(message.content) : ""}`;
  }

  const usage = { input: 5, output: 6, cacheRead: 0, cacheWrite: 0 };

  /** What a session is told, what the file has for it, and what another handle makes of it. */
  interface Case {
    readonly fields: Record<string, unknown>;
    /** The items that it adds to the context or leaves there, behind two messages. */
    readonly context: readonly string[];
    /** What the append adds. */
    readonly added?: Record<string, unknown>;
    check?(session: Session, entry: SessionEntry): unknown;
  }

  const said = ['message: "one"', 'message: "two"'];
  const message = { role: "user", content: "three", timestamp: 3 };

  const cases: { readonly [T in EntryType]?: Case } = {
    message: { fields: { message }, context: [...said, 'message: "three"'] },
    thinking_level_change: {
      fields: { thinkingLevel: "high" },
      context: said,
      async check(session) {
        expect((await session.context()).thinkingLevel).toBe("high");
        expect((await session.turn()).thinkingLevel).toBe("high");
      },
    },
    model_change: {
      fields: { provider: "p", modelId: "m" },
      context: said,
      async check(session) {
        expect((await session.context()).model).toEqual({ provider: "p", modelId: "m" });
      },
    },
    compaction: {
      fields: {
        summary: "Sum",
        firstKeptEntryId: "bbbbbbbb",
        tokensBefore: 77,
        details: { readFiles: ["a"] },
      },
      context: ['summary: "Sum"', 'message: "two"'],
      added: { inForce: { model: null, thinkingLevel: "off", pins: [], isObserved: false } },
    },
    branch_summary: {
      fields: { fromId: "aaaaaaaa", summary: "Elsewhere", details: { modifiedFiles: [] } },
      context: [...said, 'branchSummary: "Elsewhere"'],
    },
    custom: { fields: { customType: "todo", data: { done: [1] } }, context: said },
    custom_message: {
      fields: { customType: "note", content: "hidden", display: false, details: 7 },
      context: [...said, 'custom: "hidden"'],
    },
    label: {
      fields: { targetId: "aaaaaaaa", label: "start" },
      context: said,
      async check(session, { timestamp }) {
        expect((await session.tree()).label("aaaaaaaa")).toBe("start");
        expect([...(await session.tree()).labels()]).toEqual([
          { targetId: "aaaaaaaa", label: "start", timestamp },
        ]);
      },
    },
    session_info: {
      fields: { name: "Name" },
      context: said,
      check: (session) => expect(session.info.name).toBe("Name"),
    },
    usage: { fields: { kind: "title", provider: "p", model: "m", usage }, context: said },
  };

  describe("an entry of a type of pi", () => {
    // @covers R27 › usage has its fields in the file, and another process reads what it means
    // @covers R109 › message has its fields in the file, and another process reads what it means
    // @covers R110 › thinking_level_change has its fields in the file, and another process reads what it means
    // @covers R111 › model_change has its fields in the file, and another process reads what it means
    // @covers R112 › compaction has its fields in the file, and another process reads what it means
    // @covers R113 › branch_summary has its fields in the file, and another process reads what it means
    // @covers R114 › custom has its fields in the file, and another process reads what it means
    // @covers R115 › custom_message has its fields in the file, and another process reads what it means
    // @covers R116 › label has its fields in the file, and another process reads what it means
    // @covers R117 › session_info has its fields in the file, and another process reads what it means
    it.each(Object.entries(cases) as [EntryType, Case][])(
      "%s has its fields in the file, and another process reads what it means",
      async (type, { fields, context, added, check }) => {
        const store = fileSessionStore({ dir: temporaryDirectory(), durability: "os" });
        const session = await store.create({ cwd: "/work" });
        await session.append([
          { type: "message", id: "aaaaaaaa", message: { role: "user", content: "one", timestamp: 1 } },
          { type: "message", id: "bbbbbbbb", message: { role: "user", content: "two", timestamp: 2 } },
        ]);
        const [entry] = await session.append([{ type, ...fields } as EntryDraft]);
        if (entry === undefined) throw new Error("nothing was appended");
        await session.close();

        const { id, timestamp } = entry;
        const line = { type, id, parentId: "bbbbbbbb", timestamp, ...fields, ...added };
        expect(storedLines(session).at(-1)).toEqual(line);
        expect(Object.keys(storedLines(session).at(-1) ?? {}).slice(0, 4)).toEqual(
          Object.keys(line).slice(0, 4),
        );
        expect(new Date(timestamp).toISOString()).toBe(timestamp);

        const read = await store.open(session.id);
        expect(await read.entry(id)).toEqual(line);
        expect((await read.context()).items.map(textOf)).toEqual(context);
        await check?.(read, entry);
        await read.close();
      },
    );
  });

  describe("a message", () => {
    // @covers R141
    it("of a user keeps model, variant and path, and one of a model its tokens, cost, model and end", async () => {
      const cost = { input: 0.1, output: 0.2, cacheRead: 0, cacheWrite: 0, total: 0.3 };
      const messages = [
        {
          ...userMessage("hi"),
          model: { provider: "p", modelId: "m" },
          variant: "high",
          path: { cwd: "/work/a", root: "/work" },
        },
        {
          ...assistantMessage({ provider: "p", model: "m" }, "ho"),
          usage: { ...usage, totalTokens: 11, cost },
          stopReason: "length",
        },
      ];
      const store = fileSessionStore({ dir: temporaryDirectory(), durability: "os" });
      const session = await store.create({ cwd: "/work" });
      await session.append(messages.map((message) => ({ type: "message", message })));
      await session.close();
      expect(storedLines(session).map(({ message }) => message)).toEqual(messages);
      const read = await store.open(session.id);
      expect((await read.context()).items.map(({ message }) => message)).toEqual(messages);
      await read.close();
    });

    // @covers R141
    it("has no mode and no flag of a summary: the turn's policies and an entry have them, on each branch", async () => {
      const store = fileSessionStore({ dir: temporaryDirectory(), durability: "os" });
      const session = await store.create({ cwd: "/work" });
      const asked = await session.appendMessage(userMessage("hi"));
      const reply = assistantMessage({ provider: "p", model: "m" }, "ho");
      const inMode = async (mode: string) => {
        await session.branch(asked.id);
        await session.append([turnSettings.draft({ policies: { mode } })]);
        return (await session.appendMessage(reply)).id;
      };
      const [plan, build] = [await inMode("plan"), await inMode("build")];
      await session.append([
        { type: "compaction", summary: "Said.", firstKeptEntryId: build, tokensBefore: 9 },
      ]);
      await session.close();
      await using read = await store.open(session.id);
      expect((await read.turn(plan)).policies).toEqual({ mode: "plan" });
      expect((await read.turn(build)).policies).toEqual({ mode: "build" });
      expect((await read.turn()).policies).toEqual({ mode: "build" });
      const { items } = await read.context();
      expect(items.map(({ message }) => message.role)).toEqual(["compactionSummary", "assistant"]);
      const flagged = { type: "message", message: { role: "compactionSummary", summary: "Said." } };
      await using other = await store.create({ cwd: "/work" });
      await expect(other.append([flagged as never])).rejects.toMatchObject({
        code: "INVALID_ENTRY",
        details: { path: "message.role" },
      });
    });
  });

  describe("the tree of a session", () => {
    // @covers R118
    it("has ids of eight hexadecimal digits, each under the one before, and the last is the leaf", async () => {
      const store = fileSessionStore({ dir: temporaryDirectory(), durability: "os" });
      const session = await store.create({ cwd: "/work" });
      const entries = [];
      for (const text of ["a", "b", "c"]) entries.push(await session.appendMessage(userMessage(text)));
      const ids = entries.map(({ id }) => id);
      for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}$/);
      expect(new Set(ids).size).toBe(3);
      expect(storedLines(session).map(({ id, parentId }) => [id, parentId])).toEqual([
        [ids[0], null],
        [ids[1], ids[0]],
        [ids[2], ids[1]],
      ]);
      expect(session.leafId).toBe(ids[2]);
      await session.branch(ids[0] ?? "");
      expect(session.leafId).toBe(ids[0]);
      const other = await session.appendMessage(assistantMessage({ provider: "p", model: "m" }, "d"));
      expect(other.parentId).toBe(ids[0]);
      expect(session.leafId).toBe(other.id);
      await session.close();
      expect((await store.open(session.id)).leafId).toBe(other.id);
    });

    // @covers R89 R120
    it("takes a message behind any entry, before the first one too, and moves nothing", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.nat(), { minLength: 1, maxLength: 12 }), async (choices) => {
          const store = fileSessionStore({ dir: temporaryDirectory(), durability: "os" });
          const session = await store.create({ cwd: "/work" });
          const parents = new Map<string, string | null>();
          for (const choice of choices) {
            const at = [null, ...parents.keys()][choice % (parents.size + 1)] ?? null;
            await session.branch(at);
            const { id } = await session.appendMessage(userMessage(String(parents.size)));
            parents.set(id, at);
          }
          await session.close();
          const read = await store.open(session.id);
          expect([...(await read.tree()).walk()]).toHaveLength(parents.size);
          for (const [id, parentId] of parents) {
            expect((await read.tree()).path(id).at(-2)?.id ?? null).toBe(parentId);
            const path = (await read.tree()).path(id).map((node) => [...parents.keys()].indexOf(node.id));
            const texts = (await read.context(id)).items.map(textOf);
            expect(texts).toEqual(path.map((number) => `message: "${number}"`));
          }
          expect(read.leafId).toBe([...parents.keys()].at(-1));
          await read.close();
        }),
        { numRuns: 30 },
      );
    });
  });

  describe("a session from its creation to the archive", () => {
    // @covers R139 R140 R157
    it("has its times, its counts and its place in every list, in each process", async () => {
      const dir = temporaryDirectory();
      let now = Date.parse("2026-01-01T00:00:00.000Z");
      const at = (hour: number) =>
        new Date(Date.parse("2026-01-01T00:00:00.000Z") + hour * 3_600_000).toISOString();
      const store = fileSessionStore({ dir, durability: "os", now: () => now });
      const listed = async (archived?: boolean) => {
        const query = archived === undefined ? {} : { archived };
        const rows = [];
        for await (const row of fileSessionStore({ dir }).list({ ...query, stats: true })) rows.push(row);
        return rows;
      };
      const session = await store.create({ cwd: "/work" });
      expect(session.info.time).toEqual({ created: at(0), updated: at(0) });
      expect(await listed()).toEqual([]);

      now += 3_600_000;
      await session.appendMessage(userMessage("hi"));
      const diffs = [{ file: "a.ts", additions: 3, deletions: 1 }];
      const stats = { additions: 3, deletions: 1, files: 1, diffs };
      now += 3_600_000;
      await session.updateInfo({ stats });
      expect(session.info).toMatchObject({ stats, time: { created: at(0), updated: at(2) } });
      expect(await listed(false)).toMatchObject([{ id: session.id, created: at(0), stats }]);
      expect(await listed(true)).toEqual([]);

      session.publish({ type: "compacting", active: true });
      expect(session.info.time.compacting).toBe(at(2));
      session.publish({ type: "compacting", active: false });
      expect(session.info.time.compacting).toBeUndefined();
      await session.close();

      now += 3_600_000;
      expect((await store.archive(session.id)).time).toMatchObject({ created: at(0), archived: at(3) });
      expect(await listed(true)).toMatchObject([{ id: session.id, archivedAt: at(3), stats }]);
      expect(await listed(false)).toEqual([]);
      expect(await store.latest({ cwd: "/work" })).toBeUndefined();
      const read = await fileSessionStore({ dir }).open(session.id);
      expect(read.info).toMatchObject({ stats, time: { created: at(0), updated: at(3), archived: at(3) } });
      await read.close();

      now += 3_600_000;
      expect((await store.archive(session.id, { archived: false })).time).not.toHaveProperty("archived");
      expect(await listed(false)).toMatchObject([{ id: session.id, stats }]);
      expect(await listed(true)).toEqual([]);
    });
  });

  describe("a fork", () => {
    // @covers R137
    it("is another session in another directory, names the one it is from, and each goes on alone", async () => {
      const store = fileSessionStore({ dir: temporaryDirectory(), durability: "os" });
      const source = await store.create({ cwd: "/work" });
      const { id } = await source.appendMessage(userMessage("both"));
      const before = readFileSync(source.location ?? "");
      const fork = await store.fork(source.id, { cwd: "/other" });
      expect(readFileSync(source.location ?? "")).toEqual(before);
      expect(fork.id).not.toBe(source.id);
      const [header = ""] = readFileSync(fork.location ?? "", "utf8").split("\n");
      expect(JSON.parse(header)).toMatchObject({ id: fork.id, cwd: "/other" });
      expect([source.id, source.location]).toContain(JSON.parse(header).parentSession);
      await fork.appendMessage(userMessage("of the fork"));
      await source.appendMessage(userMessage("of the source"));
      for (const [session, last] of [
        [fork, "of the fork"],
        [source, "of the source"],
      ] as const) {
        await session.close();
        const read = await store.open(session.id);
        expect((await read.tree()).has(id)).toBe(true);
        expect((await read.context()).items.map(textOf)).toEqual(['message: "both"', `message: "${last}"`]);
        await read.close();
      }
    });
  });
});

describe("the table of entry types", () => {
  describe("the types written by hand are those of the shapes", () => {
    test("entries", () => {
      type Inferred = { [T in EntryType]: InferFields<(typeof entryTypes)[T]["fields"]> };
      type Written = { [T in EntryType]: Flat<EntryMap[T]> };
      expectTypeOf<Inferred>().toEqualTypeOf<Written>();
      expectTypeOf<keyof typeof entryTypes>().toEqualTypeOf<keyof EntryMap>();
    });

    test("messages, resources and usage", () => {
      expectTypeOf<Infer<typeof messageShape>>().toEqualTypeOf<Message>();
      expectTypeOf<Infer<typeof systemMessageShape>>().toEqualTypeOf<SystemMessage>();
      expectTypeOf<Infer<typeof resourceShape>>().toEqualTypeOf<Resource>();
      expectTypeOf<Infer<typeof usageShape>>().toEqualTypeOf<Usage>();
    });

    test("the header, whose time and directory other writers may leave out", () => {
      type Stated = Omit<SessionHeader, "timestamp" | "cwd">;
      type Defaulted = Partial<Pick<SessionHeader, "timestamp" | "cwd">>;
      expectTypeOf<InferFields<typeof headerFields>>().toEqualTypeOf<Flat<Stated & Defaulted>>();
    });

    test("frames", () => {
      expectTypeOf<InferFields<typeof imageFields>>().toEqualTypeOf<TetherImage>();
      expectTypeOf<Infer<(typeof payloadShapes)["user.message"]>>().toEqualTypeOf<UserMessagePayload>();
      expectTypeOf<Infer<typeof frameShape>>().toExtend<TetherFrame>();
    });
  });

  type Flat<T> = { [K in keyof T]: T[K] };

  describe("the table of docs/reference/format.md", () => {
    const text = readFileSync("docs/reference/format.md", "utf8");
    const tableOf = (section: string) => {
      const [, after = ""] = text.split(section);
      return (/^\|.*?\n\n/ms.exec(after)?.[0] ?? "").split("\n").flatMap((line) => {
        const [, name, isExtension, fields = "", inContext = ""] =
          /^\| `(\w+)`(\\\*)? *\|([^|]*)\|([^|]*)\|?$/.exec(line) ?? [];
        const named = Array.from(fields.matchAll(/`(\w+\??)`/g), ([, field]) => field).sort();
        return name === undefined ? [] : [{ name, isExtension: isExtension !== undefined, named, inContext }];
      });
    };
    const printed = (fields: Fields) =>
      Object.entries(fields)
        .map(([name, field]) => `${name}${"isOptional" in field ? "?" : ""}`)
        .sort();
    const rows = tableOf("\n## Entries\n");

    it("has the entry types, in their order", () => {
      expect(rows.map(({ name }) => name)).toEqual(entryTypeNames);
    });

    it.each(rows)("has the fields of $name, and says whether it is pi's", ({ name, named, isExtension }) => {
      const row: EntryTypeSpec = entryTypes[name as EntryType];
      expect(named).toEqual(printed(row.fields));
      expect(isExtension).toBe(row.isExtension === true);
    });

    it.each(rows)("says of $name whether it is an item of contexts", ({ name, inContext }) => {
      expect(/^ (yes|unless empty) *$/.test(inContext)).toBe(entryTypesWith("inContext").has(name));
    });

    it("has the fields of each role of a message, besides its time", () => {
      const roles = messageShape.spec.kind === "variants" ? messageShape.spec.cases : [];
      const expected = roles.map(({ spec }) => {
        const { role, timestamp: _, ...fields } = spec.kind === "object" ? spec.fields : {};
        return { name: role?.spec.kind === "oneOf" ? role.spec.values[0] : "", named: printed(fields) };
      });
      expect(tableOf("\n### Messages\n").map(({ name, named }) => ({ name, named }))).toEqual(expected);
    });
  });

  describe("the rows", () => {
    it("name only fields that they have as references", () => {
      for (const [type, { fields, references = [] }] of Object.entries<EntryTypeSpec>(entryTypes))
        for (const name of references) expect(Object.keys(fields), type).toContain(name.replace("[]", ""));
    });

    it("that edit a message refer to it, and change what came earlier", () => {
      for (const type of entryTypesWith("edits")) {
        const row: EntryTypeSpec = entryTypes[type as EntryType];
        expect(row.references).toEqual(["targetId"]);
        expect(entryTypesWith("changesEarlier")).toContain(type);
      }
    });

    it("give an item to each role of a message", () => {
      const roles = ["user", "assistant", "toolResult", "bashExecution", "custom", "system"];
      const kinds = [...roles.map((role) => `message/${role}`), "branch_summary", "custom_message"];
      expect(kindsInContext).toEqual(kinds);
    });

    it("say which blocks a role has", () => {
      const rules = Array.from(contentRules, ([role, { blocks, takesText }]) => [
        role,
        [...blocks],
        takesText,
      ]);
      expect(rules).toEqual([
        ["user", ["text", "image"], true],
        ["assistant", ["text", "image", "thinking", "toolCall", "opaque"], false],
        ["toolResult", ["text", "image"], false],
        ["custom", ["text", "image"], true],
        ["system", ["text"], true],
      ]);
    });
  });

  describe("references", () => {
    const found = (entry: { readonly type: string; readonly [field: string]: unknown }) => references(entry);

    it("are found in fields and lists, whatever their values are", () => {
      const compaction = { type: "compaction", firstKeptEntryId: "a", retain: ["b", 1] };
      expect(found(compaction)).toEqual([
        ["firstKeptEntryId", "a"],
        ["retain[0]", "b"],
        ["retain[1]", 1],
      ]);
      expect(found({ ...compaction, retain: "b" })).toEqual([["firstKeptEntryId", "a"]]);
      expect(found({ type: "context_pin", targetId: "b", pinned: true })).toEqual([["targetId", "b"]]);
      expect(found({ type: "toString" })).toEqual([]);
    });
  });
});

describe("the schemas", () => {
  const runs = { numRuns: 3000 };

  describe("sessionEntrySchema", () => {
    // @covers R141
    it("accepts every entry, and gives it back as it is", () => {
      const seen = new Set<string>();
      fc.assert(
        fc.property(sessionEntry, (entry) => {
          seen.add(entry.type);
          expect(entryProblem(entry)).toBeUndefined();
          expect(sessionEntrySchema.parse(entry)).toEqual(entry);
        }),
        { numRuns: 300 },
      );
      expect([...seen].sort()).toEqual([...generatedTypes].sort());
    });

    it("agrees with the session's own check on every mutation of an entry", () => {
      fc.assert(
        fc.property(mutationOf(sessionEntry), (value) => {
          expect(sessionEntrySchema.safeParse(value).success).toBe(entryProblem(value) === undefined);
        }),
        runs,
      );
    });

    it("agrees with it on any JSON", () => {
      fc.assert(
        fc.property(jsonValue, fc.constantFrom(...generatedTypes), (value, type) => {
          for (const candidate of [
            value,
            { ...(value as object), type, id: "a", parentId: null, timestamp: "" },
          ]) {
            expect(sessionEntrySchema.safeParse(candidate).success).toBe(
              entryProblem(candidate) === undefined,
            );
          }
        }),
      );
    });

    it.each([
      { message: { role: ["user"], content: "", timestamp: 0 } },
      { message: { role: "user", content: [{ type: ["text"], text: "" }], timestamp: 0 } },
      { message: { role: "toString", content: "", timestamp: 0 } },
    ])("refuses, as the check does, what only looks right as text: %j", (fields) => {
      const entry = { type: "message", id: "a", parentId: null, timestamp: "", ...fields };
      expect(entryProblem(entry)).toBeDefined();
      expect(sessionEntrySchema.safeParse(entry).success).toBe(false);
    });

    it("keeps fields that it does not know, at every depth", () => {
      const line = {
        type: "message",
        id: "a",
        parentId: null,
        timestamp: "",
        message: {
          role: "user",
          content: [{ type: "text", text: "hi", later: 1 }],
          timestamp: 0,
          later: [2],
        },
        crc: "00000000",
        later: { deep: true },
      };
      expect(sessionEntrySchema.parse(line)).toEqual(line);
    });

    it("gives what a session takes, as far as types go", () => {
      const parsed: SessionEntry = sessionEntrySchema.parse({
        type: "label",
        id: "b",
        parentId: "a",
        timestamp: "",
        targetId: "a",
      });
      expect(parsed.type).toBe("label");
    });

    it("can be printed as a JSON Schema that names every type", () => {
      const { oneOf = [] } = z.toJSONSchema(sessionEntrySchema);
      expect(oneOf.map(({ properties }) => properties?.type)).toEqual(
        generatedTypes.map((type) => ({ type: "string", const: type })),
      );
    });

    it("can be printed for writers too", () => {
      expect(z.toJSONSchema(sessionEntrySchema, { io: "input", target: "draft-7" })).toHaveProperty("oneOf");
    });
  });

  describe("sessionHeaderSchema", () => {
    it("accepts every header, and gives it back as it is", () => {
      fc.assert(
        fc.property(header, (value) => {
          expect(headerProblem(value)).toBeUndefined();
          expect(sessionHeaderSchema.parse(value)).toEqual(value);
        }),
      );
    });

    it("agrees with the session's own check on every mutation of a header", () => {
      fc.assert(
        fc.property(mutationOf(header), (value) => {
          expect(sessionHeaderSchema.safeParse(value).success).toBe(headerProblem(value) === undefined);
        }),
        runs,
      );
    });

    it("reads an absent time and directory as empty, as opening the session does", () => {
      expect(sessionHeaderSchema.parse({ type: "session", id: "a" })).toEqual({
        type: "session",
        id: "a",
        timestamp: "",
        cwd: "",
      });
    });

    it("can be printed as a JSON Schema", () => {
      expect(z.toJSONSchema(sessionHeaderSchema)).toHaveProperty("properties.cwd");
    });
  });
});

describe("open vocabularies", () => {
  /** Members whose strings come from a list, by the member that they stand in: another program's list can be longer. */
  const open = new Set([
    "stopReason",
    "source",
    "action",
    "api",
    "mimeType",
    "mediaType",
    "thinkingLevel",
    "strategy",
  ]);
  /** Those that a session's own writer holds to its list: they say how the rest of their object reads. */
  const closed = new Set(["kind", "blob"]);

  /** The value with each of these members replaced, at any depth, and how many there were. */
  function replaced(
    value: unknown,
    names: ReadonlySet<string>,
    by: string,
  ): { readonly value: unknown; count: number } {
    let count = 0;
    const copy: unknown = JSON.parse(JSON.stringify(value), (key, member: unknown) => {
      if (!names.has(key) || typeof member !== "string") return member;
      count++;
      return by;
    });
    return { value: copy, count };
  }

  const encoder = new TextEncoder();
  const head = { id: "00000001", parentId: null, timestamp: "2026-01-01T00:00:00.000Z" };
  const loaded = (entry: unknown) =>
    parseSession(encoder.encode(`${JSON.stringify(plainHeader)}\n${JSON.stringify(entry)}\n`));

  describe("a string of another vocabulary", () => {
    // @covers R109
    test("costs no message its place in the context, wherever it stands", () => {
      let seen = 0;
      fc.assert(
        fc.property(message, text, (message, by) => {
          const { value, count } = replaced(message, new Set([...open, ...closed]), by);
          if (count > 0) seen++;
          const before = loaded({ type: "message", ...head, message });
          const session = loaded({ type: "message", ...head, message: value });
          expect(session.diagnostics).toEqual([]);
          expect(session.entries.map(({ type }) => type)).toEqual(["message"]);
          expect(buildSessionContext(session).items).toHaveLength(buildSessionContext(before).items.length);
          if (count === 0) expect(session.entries).toEqual(before.entries);
        }),
        { numRuns: 300 },
      );
      expect(seen).toBeGreaterThan(50);
    });

    test("leaves every entry what it was, for the check, the schema and the session", () => {
      fc.assert(
        fc.property(sessionEntry, text, (entry, by) => {
          const { value } = replaced(entry, open, by);
          expect(entryProblem(value)).toBeUndefined();
          expect(sessionEntrySchema.parse(value)).toEqual(value);
          const [read] = loaded({ ...(value as object), parentId: null }).entries;
          expect(read).toEqual({ ...(value as object), parentId: null });
        }),
        { numRuns: 300 },
      );
    });

    test("costs a compaction nothing where it stands in the instructions that it carries", () => {
      const systemMessage = { role: "system", content: [{ type: "video", data: "x" }], timestamp: 1 };
      const entry = { type: "compaction", ...head, summary: "s", firstKeptEntryId: head.id, tokensBefore: 1 };
      const session = loaded({ ...entry, strategy: "of another", systemMessage });
      expect(session.entries).toMatchObject([{ type: "compaction", strategy: "of another" }]);
      expect(buildSessionContext(session).items.map(({ message }) => message.role)).toEqual([
        "system",
        "compactionSummary",
      ]);
    });

    test("is no excuse for a descriptor of another shape", () => {
      const resource = {
        resourceId: "res_0123456789abcdef",
        kind: "image",
        source: "upload",
        blob: "sha256:0",
      };
      const content = [{ type: "text", text: "a", resource }];
      const session = loaded({ type: "message", ...head, message: { role: "user", content, timestamp: 1 } });
      expect(session.diagnostics.map(({ code }) => code)).toEqual(["INVALID_FIELDS"]);
    });

    test("neither allows nor denies", () => {
      const rules = [
        { permission: "*", pattern: "*", action: "allow" },
        { permission: "bash", pattern: "*", action: "sandboxed" },
      ];
      expect(evaluatePermission(rules, "bash", "ls")).toBe("ask");
      expect(evaluatePermission(rules, "edit", "a")).toBe("allow");
    });

    test("can be appended, since replies are read from providers", async () => {
      const store = memorySessionStore();
      const session = await store.create({ cwd: "/work" });
      const reply = { role: "assistant", content: [], provider: "p", model: "m", timestamp: 1 } as const;
      await session.appendMessage({ ...reply, stopReason: "deferred" });
      await session.updateInfo({
        permission: [{ permission: "*", pattern: "*", action: "later" }],
        title: "t",
      });
      await session.updateInfo({ slug: "s" });
      const again = await store.open(session.id);
      expect((await again.context()).items).toMatchObject([{ message: { stopReason: "deferred" } }]);
      expect(again.info).toMatchObject({ permission: [{ action: "later" }], title: "t", slug: "s" });
    });

    test("stays in the file, and leaves model and results where they were", async () => {
      const store = fileSessionStore({ dir: temporaryDirectory() });
      const session = await store.create({ cwd: "/work" });
      await session.appendMessage(userMessage("read a"));
      await session.close();
      const path = session.location as string;
      const call = { type: "toolCall", id: "c", name: "read", arguments: { path: "a" } };
      const resource = {
        resourceId: "res_0123456789abcdef",
        kind: "video",
        source: "camera",
        mediaType: "video/mp4",
      };
      const asked = {
        role: "assistant",
        content: [call],
        provider: "p",
        model: "m",
        stopReason: "deferred",
        deferred: { id: "batch_1" },
        timestamp: 2,
      };
      const result = {
        role: "toolResult",
        toolCallId: "c",
        toolName: "read",
        content: [{ type: "text", text: "[video a.mp4]", resource }],
        isError: false,
        timestamp: 3,
      };
      const lines = [
        {
          type: "message",
          id: "0000000a",
          parentId: session.leafId,
          timestamp: head.timestamp,
          message: asked,
        },
        { type: "message", id: "0000000b", parentId: "0000000a", timestamp: head.timestamp, message: result },
      ].map((entry) => JSON.stringify(entry));
      appendFileSync(path, lines.map((line) => `${line}\n`).join(""));
      const read = await openSessionFile(path);
      expect((await read.turn()).model).toEqual({ provider: "p", modelId: "m" });
      expect(await read.toolStates()).toMatchObject([{ state: "completed", resultEntryId: "0000000b" }]);
      const { items } = await read.context();
      expect(items.map(({ message }) => message)).toMatchObject([
        {},
        asked,
        { content: [{ type: "text", text: "[video a.mp4]" }] },
      ]);
      expect(items[2]?.message).not.toHaveProperty("content.0.resource");
      const fork = await store.fork(session.id);
      expect(
        readFileSync(fork.location as string, "utf8")
          .split("\n")
          .slice(2, 4),
      ).toEqual(lines);
    });
  });
});
