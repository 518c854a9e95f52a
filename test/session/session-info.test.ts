import fc from "fast-check";
import {
  evaluatePermission,
  memorySessionStore,
  type PermissionRule,
  type Session,
  type SessionEntry,
  type SessionInfoFields,
  type SessionInfoPatch,
  userMessage,
} from "sessile";
import { describe, expect, it } from "vitest";
import { uuidv7 } from "../../src/core/ids.js";
import { assertValidEntry } from "../../src/log/internal.js";
import { LogReader } from "../../src/session/internal.js";
import {
  forkTitle,
  headerInfo,
  needsInfoRewrite,
  patchedInfo,
  slugBySessionId,
  withApproval,
} from "../../src/session/runtime/session-info.js";
import { entryFields, sessionOf } from "../arbitraries/entries.js";
import { processorMs } from "../support/processor-time.js";

const fields: fc.Arbitrary<SessionInfoFields> = entryFields.session_info;
const names = ["name", "title", "slug", "archivedAt", "share", "permission", "stats"] as const;

/** Patches: any fields, some of them null. */
const patch: fc.Arbitrary<SessionInfoPatch> = fc
  .tuple(fields, fc.subarray([...names]))
  .map(([values, cleared]) => ({ ...values, ...Object.fromEntries(cleared.map((name) => [name, null])) }));

describe("patchedInfo", () => {
  it("is a full snapshot: what the patch does not name stays, null clears", () => {
    fc.assert(
      fc.property(fields, patch, (current, change) => {
        const after = patchedInfo(current, change);
        for (const name of names) {
          const expected = name in change ? (change[name] ?? undefined) : current[name];
          expect(after[name]).toEqual(expected);
          expect(name in after).toBe(expected !== undefined);
        }
      }),
    );
  });

  it("says nothing new where the patch says nothing", () => {
    fc.assert(
      fc.property(fields, (current) => {
        expect(patchedInfo(current, {})).toEqual(current);
      }),
    );
  });

  it("takes nothing of a draft but its fields", () => {
    const draft = { type: "session_info", id: "a", name: "name" } as const;
    expect(patchedInfo({}, draft)).toEqual({ name: "name" });
  });

  it("keeps fields that another writer put there and this version does not know", () => {
    const current = { name: "name", colour: "red" } as SessionInfoFields;
    expect(patchedInfo(current, { name: "other" })).toEqual({ name: "other", colour: "red" });
  });
});

const header = {
  type: "session",
  version: 3,
  id: "one",
  timestamp: "2026-01-01T00:00:00.000Z",
  cwd: "/work",
} as const;

describe("the info of a session that another program wrote", () => {
  it("is carried on without what cannot be written again", () => {
    const read = JSON.parse('{"name":"a","budget":1e999,"limits":{"day":[-1e999,2]}}');
    const patched = patchedInfo(read, { title: "b" });
    expect(patched).toEqual({ name: "a", title: "b", budget: null, limits: { day: [null, 2] } });
    expect(() =>
      assertValidEntry({
        type: "session_info",
        id: "00000001",
        parentId: null,
        timestamp: "2026-11-22T00:00:00.000Z",
        ...patched,
      }),
    ).not.toThrow();
  });
});

describe("infoOf", () => {
  // @covers R138
  it("joins header, session_info and times", () => {
    const info = headerInfo(
      { ...header, parentSession: "zero" },
      {
        name: "name",
        title: "title",
        archivedAt: "2026-01-03T00:00:00.000Z",
        stats: { additions: 1, deletions: 2, files: 3 },
      },
      "2026-01-02T00:00:00.000Z",
      "2026-01-04T00:00:00.000Z",
    );
    expect(info).toEqual({
      id: "one",
      slug: slugBySessionId("one"),
      cwd: "/work",
      parentSession: "zero",
      version: 3,
      name: "name",
      title: "title",
      stats: { additions: 1, deletions: 2, files: 3 },
      time: {
        created: "2026-01-01T00:00:00.000Z",
        updated: "2026-01-02T00:00:00.000Z",
        compacting: "2026-01-04T00:00:00.000Z",
        archived: "2026-01-03T00:00:00.000Z",
      },
    });
  });

  it("leaves out what is not known", () => {
    expect(headerInfo(header, {}, header.timestamp)).toEqual({
      id: "one",
      slug: slugBySessionId("one"),
      cwd: "/work",
      version: 3,
      time: { created: header.timestamp, updated: header.timestamp },
    });
  });

  it("gives the first version to a header without one", () => {
    const { version: _, ...old } = header;
    expect(headerInfo(old, {}, "").version).toBe(1);
  });

  it("never lets a session_info speak for the header", () => {
    const hostile = {
      id: "two",
      cwd: "/etc",
      version: 9,
      parentSession: "x",
      time: { created: "" },
    } as object;
    expect(headerInfo(header, hostile, header.timestamp)).toEqual(headerInfo(header, {}, header.timestamp));
  });
});

describe("the info of a session", () => {
  // @covers R140
  it("follows its entries, and says while a compaction is at work", async () => {
    let now = Date.parse("2026-01-01T00:00:00.000Z");
    const sessions = memorySessionStore({ now: () => now });
    const session = await sessions.create({ cwd: "/work", id: "one", parentSession: "zero" });
    expect(session.info.time).toEqual({
      created: "2026-01-01T00:00:00.000Z",
      updated: "2026-01-01T00:00:00.000Z",
    });
    now += 1000;
    const named = await session.updateInfo({ name: "name", slug: "slug" });
    expect(named).toMatchObject({ name: "name", slug: "slug", parentSession: "zero" });
    expect(named.time.updated).toBe("2026-01-01T00:00:01.000Z");
    now += 1000;
    const cleared = await session.updateInfo({ slug: null });
    expect(cleared.name).toBe("name");
    expect(cleared.slug).toBe(slugBySessionId(session.id));
    session.publish({ type: "compacting", active: true });
    expect(session.info.time.compacting).toBe("2026-01-01T00:00:02.000Z");
    session.publish({ type: "compacting", active: false });
    expect(session.info.time).not.toHaveProperty("compacting");
  });
});

const symbols = fc.string({
  unit: fc.constantFrom("a", "b", " ", "*", "?", ".", "/", "\n", "é"),
  maxLength: 8,
});
const action = fc.constantFrom("allow" as const, "deny" as const, "ask" as const);
const rule: fc.Arbitrary<PermissionRule> = fc.record({ permission: symbols, pattern: symbols, action });
const rules = fc.array(rule, { maxLength: 5 });

/** What a wildcard means, as a regular expression. */
function matches(pattern: string, text: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\/]/g, "\\$&")
    .replaceAll("*", "[^]*")
    .replaceAll("?", "[^]");
  return new RegExp(`^${source}$`).test(text);
}

describe("evaluatePermission", () => {
  // @covers R154
  it("lets the last rule that matches decide, and asks where none does", () => {
    fc.assert(
      fc.property(rules, symbols, symbols, (all, permission, subject) => {
        const last = all.findLast(
          (one) => matches(one.permission, permission) && matches(one.pattern, subject),
        );
        expect(evaluatePermission(all, permission, subject)).toBe(last?.action ?? "ask");
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ["git *", "git status", true],
    ["git *", "git ", true],
    ["git *", "git", false],
    ["git *", "agit status", false],
    ["*.ts", "src/a.ts", true],
    ["*.ts", "src/a.tsx", false],
    ["a?c", "abc", true],
    ["a?c", "ac", false],
    ["", "", true],
    ["", "a", false],
    ["**", "", true],
    ["a*b*c", "a-b-b-c", true],
    ["a.c", "abc", false],
    ["*", "two\nlines", true],
  ])("takes %j as a pattern of %j: %j", (pattern, subject, allowed) => {
    const only = [{ permission: "bash", pattern, action: "allow" }] as const;
    expect(evaluatePermission(only, "bash", subject)).toBe(allowed ? "allow" : "ask");
    expect(evaluatePermission(only, "edit", subject)).toBe("ask");
  });

  it("takes time in proportion to pattern and subject, at the worst", () => {
    const pattern = `${"*a".repeat(200)}b`;
    const started = processorMs();
    const only = [{ permission: "*", pattern, action: "deny" }] as const;
    expect(evaluatePermission(only, "bash", "a".repeat(20_000))).toBe("ask");
    // A matcher that tries every way to cut the subject would not come back.
    expect(processorMs() - started).toBeLessThan(2000);
  });
});

describe("withApproval", () => {
  it("allows what it approves, and leaves every other answer as it was", () => {
    fc.assert(
      fc.property(rules, symbols, symbols, symbols, symbols, (all, permission, pattern, asked, subject) => {
        const after = withApproval(all, { permission, pattern });
        const approved = matches(permission, asked) && matches(pattern, subject);
        const before = evaluatePermission(all, asked, subject);
        expect(evaluatePermission(after, asked, subject)).toBe(approved ? "allow" : before);
      }),
      { numRuns: 2000 },
    );
  });

  it("adds a rule once, and drops no other", () => {
    fc.assert(
      fc.property(rules, rule, ({ length }, { permission, pattern }) => {
        const allow = { permission, pattern, action: "allow" } as const;
        const deny = { permission, pattern, action: "deny" } as const;
        const all = Array.from({ length }, (_, index) => (index % 2 === 0 ? deny : allow));
        const once = withApproval(all, { permission, pattern });
        expect(withApproval(once, { permission, pattern })).toEqual(once);
        expect(once).toEqual([...all.filter((one) => one === deny), allow]);
      }),
    );
  });
});

describe("approveAlways", () => {
  it("keeps an approval in the session, behind the rules that are there", async () => {
    const sessions = memorySessionStore();
    const session = await sessions.create({ cwd: "/work" });
    await session.appendMessage(userMessage("start"));
    await session.updateInfo({ permission: [{ permission: "bash", pattern: "*", action: "deny" }] });
    const info = await session.approveAlways({ permission: "bash", pattern: "git *" });
    expect(info.permission).toEqual([
      { permission: "bash", pattern: "*", action: "deny" },
      { permission: "bash", pattern: "git *", action: "allow" },
    ]);
    await session.close();
    const again = await sessions.open(session.id);
    expect(evaluatePermission(again.info.permission ?? [], "bash", "git status")).toBe("allow");
    expect(evaluatePermission(again.info.permission ?? [], "bash", "rm -rf /")).toBe("deny");
  });

  // @covers R154
  it("keeps all approvals of one moment", async () => {
    const session = await memorySessionStore().create({ cwd: "/work" });
    const patterns = ["a *", "b *", "c *"];
    await Promise.all(patterns.map((pattern) => session.approveAlways({ permission: "bash", pattern })));
    expect(session.info.permission?.map(({ pattern }) => pattern)).toEqual(patterns);
  });
});

describe("forkTitle", () => {
  // @covers R151
  it("numbers a title's forks from 1", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 1, max: 20 }), (title, count) => {
        fc.pre(!/ \(fork #\d{1,9}\)$/.test(title));
        let forked = title;
        for (let i = 0; i < count; i++) forked = forkTitle(forked);
        expect(forked).toBe(`${title} (fork #${count})`);
      }),
    );
  });

  it.each([
    ["A title", "A title (fork #1)"],
    ["A title (fork #1)", "A title (fork #2)"],
    ["A title (fork #9)", "A title (fork #10)"],
    ["two\nlines (fork #3)", "two\nlines (fork #4)"],
    ["A (fork #2) title", "A (fork #2) title (fork #1)"],
    ["A title(fork #2)", "A title(fork #2) (fork #1)"],
    ["A title (fork #x)", "A title (fork #x) (fork #1)"],
    ["A title (fork #99999999999999999999)", "A title (fork #99999999999999999999) (fork #1)"],
    ["", " (fork #1)"],
    [" (fork #1)", " (fork #2)"],
  ])("makes of %j %j", (title, forked) => {
    expect(forkTitle(title)).toBe(forked);
  });

  it("is none of the titles that there are", () => {
    const title = fc.constantFrom("A", "A (fork #1)", "A (fork #2)", "A (fork #7)", "B (fork #9)", "");
    fc.assert(
      fc.property(title, fc.array(title), (source, others) => {
        expect([source, ...others]).not.toContain(forkTitle(source, others));
      }),
    );
    expect(forkTitle("A", ["A (fork #1)", "B (fork #4)", "A"])).toBe("A (fork #2)");
  });
});

it("forks that are made at once have titles of their own, as those one after the other", async () => {
  const store = memorySessionStore();
  const session = await store.create({ cwd: "/w" });
  await session.appendMessage(userMessage("a question"));
  const together = await Promise.all(Array.from({ length: 3 }, () => store.fork(session.id)));
  const later = [await store.fork(session.id), await store.fork(together[0]?.id ?? "")];
  const titles = [...together, ...later].map(({ info }) => info.title);
  expect(titles.toSorted()).toEqual([1, 2, 3, 4, 5].map((number) => `a question (fork #${number})`));
  await session.updateInfo({ title: "T", name: "N" });
  const named = await Promise.all([store.fork(session.id), store.fork(session.id)]);
  expect(named.map(({ info }) => [info.title, info.name]).toSorted()).toEqual([
    ["T (fork #1)", "N (fork #1)"],
    ["T (fork #2)", "N (fork #2)"],
  ]);
});

describe("slugOf", () => {
  // @covers R138
  it("is two words and four digits, the same for an id at any time", () => {
    expect(slugBySessionId("01a204df-d78c-767b-ad59-68d7b467f70f")).toBe(
      slugBySessionId("01a204df-d78c-767b-ad59-68d7b467f70f"),
    );
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (id) => {
        expect(slugBySessionId(id)).toMatch(/^[a-z]+-[a-z]+-[0-9a-f]{4}$/);
      }),
    );
  });

  it("is another one for nearly every session", () => {
    const slugs = new Set(Array.from({ length: 10_000 }, () => slugBySessionId(uuidv7(1_800_000_000_000))));
    expect(slugs.size).toBeGreaterThan(9_980);
  });

  // @covers R138
  it("is there from the start, in info and lists, until one is given, and of each fork its own", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/p", id: "a" });
    expect(session.info.slug).toBe(slugBySessionId("a"));
    await session.appendMessage(userMessage("x"));
    expect(await store.latest()).toMatchObject({ slug: slugBySessionId("a") });
    await session.updateInfo({ slug: "given" });
    expect([session.info.slug, (await store.latest())?.slug]).toEqual(["given", "given"]);
    expect((await store.fork("a", { id: "b" })).info.slug).not.toBe(slugBySessionId("a"));
    await session.updateInfo({ slug: null });
    expect(session.info.slug).toBe(slugBySessionId("a"));
  });
});

/** A reader of these entries: texts are messages of that many characters, objects the fields of a session_info. */
function readerOf(...parts: readonly (number | object)[]): LogReader {
  const entries = parts.map((part, index) => {
    const place = { id: `e${index}`, parentId: index === 0 ? null : `e${index - 1}`, timestamp: "" };
    const fields =
      typeof part === "number"
        ? { type: "message", message: userMessage("x".repeat(part)) }
        : { type: "session_info", ...part };
    return { ...place, ...fields } as SessionEntry;
  });
  const reader = new LogReader({ maxDepth: 256, full: false });
  let at = 0;
  for (const line of sessionOf(entries).lines) {
    reader.line(new TextEncoder().encode(line), at);
    at += line.length + 1;
  }
  return reader;
}

describe("isInfoFar", () => {
  it.each([
    ["nothing", [], false],
    ["no session_info", [50_000], false],
    ["one at the end", [50_000, { name: "a" }], false],
    ["one before little", [50_000, { name: "a" }, 20_000], false],
    ["one before much", [{ name: "a" }, 20_000, 20_000], true],
    ["one before one long line", [{ name: "a" }, 40_000], true],
    [
      "an empty one before much, since a list would find an older name",
      [{ name: "a" }, 50_000, {}, 50_000],
      true,
    ],
    ["another one near the end", [{ name: "a" }, 50_000, { name: "b" }, 10], false],
  ])("%s: %j is %j", (_, parts, far) => {
    expect(needsInfoRewrite(readerOf(...parts))).toBe(far);
  });
});

describe("close", () => {
  const typesOf = async (session: Session) => [...(await session.tree()).walk()].map(({ node }) => node.type);

  it("writes a session_info again that came to lie far from the end", async () => {
    const sessions = memorySessionStore();
    const session = await sessions.create({ cwd: "/work" });
    await session.updateInfo({ name: "name", slug: "slug" });
    const { id } = await session.appendMessage(userMessage("x".repeat(50_000)));
    await session.close();
    const again = await sessions.open(session.id, { mode: "write" });
    expect(await typesOf(again)).toEqual(["session_info", "message", "session_info"]);
    expect(again.info).toMatchObject({ name: "name", slug: "slug" });
    expect((await again.tree()).path(again.leafId).map((node) => node.id)).toContain(id);
    expect(again.diagnostics).toEqual([]);
    await again.close();
    expect((await (await sessions.open(session.id)).tree()).size).toBe(3);
  });

  it("keeps the leaf where it was moved to", async () => {
    const sessions = memorySessionStore();
    const session = await sessions.create({ cwd: "/work" });
    await session.updateInfo({ name: "name" });
    const { id } = await session.appendMessage(userMessage("first"));
    await session.appendMessage(userMessage("x".repeat(50_000)));
    await session.branch(id);
    await session.close();
    const { items } = await (await sessions.open(session.id)).context();
    expect(items.map(({ entryId }) => entryId)).toEqual([id]);
  });

  it("leaves a log as it is that this handle did not write to", async () => {
    const sessions = memorySessionStore();
    const session = await sessions.create({ cwd: "/work" });
    await session.updateInfo({ name: "name" });
    await session.appendMessage(userMessage("x".repeat(50_000)));
    const other = await sessions.open(session.id, { mode: "write" });
    await other.context();
    await other.close();
    expect((await (await sessions.open(session.id)).tree()).size).toBe(2);
  });

  it("does not write what is only staged", async () => {
    const sessions = memorySessionStore();
    const session = await sessions.create({ cwd: "/work" });
    await session.updateInfo({ name: "name" });
    await session.appendMessage(userMessage("x".repeat(50_000)));
    session.stage([{ type: "thinking_level_change", thinkingLevel: "high" }]);
    await session.close();
    expect((await (await sessions.open(session.id)).tree()).size).toBe(2);
  });
});
