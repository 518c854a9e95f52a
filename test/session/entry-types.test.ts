import { readFileSync } from "node:fs";
import fc from "fast-check";
import { assistantMessage, type ContextItem, userMessage } from "sessile/content";
import type { EntryDraft, EntryType, Session, SessionEntry } from "sessile/session";
import { fileSessionStore } from "sessile/session/node";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "./node/temporary-directory.js";

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
    fields: { summary: "Sum", firstKeptEntryId: "bbbbbbbb", tokensBefore: 77, details: { readFiles: ["a"] } },
    context: ['summary: "Sum"', 'message: "two"'],
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
    check(session, { timestamp }) {
      expect(session.tree.label("aaaaaaaa")).toBe("start");
      expect([...session.tree.labels()]).toEqual([{ targetId: "aaaaaaaa", label: "start", timestamp }]);
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
    async (type, { fields, context, check }) => {
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
      const line = { type, id, parentId: "bbbbbbbb", timestamp, ...fields };
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
    session.branch(ids[0] ?? "");
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
          session.branch(at);
          const { id } = await session.appendMessage(userMessage(String(parents.size)));
          parents.set(id, at);
        }
        await session.close();
        const read = await store.open(session.id);
        expect([...read.tree.walk()]).toHaveLength(parents.size);
        for (const [id, parentId] of parents) {
          expect(read.tree.path(id).at(-2)?.id ?? null).toBe(parentId);
          const path = read.tree.path(id).map((node) => [...parents.keys()].indexOf(node.id));
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
      expect(read.tree.has(id)).toBe(true);
      expect((await read.context()).items.map(textOf)).toEqual(['message: "both"', `message: "${last}"`]);
      await read.close();
    }
  });
});
