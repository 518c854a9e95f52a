import fc from "fast-check";
import { memorySessionStore, type SessionInfoFields, type SessionInfoPatch } from "sessile/session";
import { describe, expect, it } from "vitest";
import { assertValidEntry } from "../../src/session/format/encode.js";
import { infoOf, patchedInfo, slugOf } from "../../src/session/runtime/session-info.js";
import { entryFields } from "../arbitraries/entries.js";

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
    const info = infoOf(
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
      slug: slugOf("one"),
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
    expect(infoOf(header, {}, header.timestamp)).toEqual({
      id: "one",
      slug: slugOf("one"),
      cwd: "/work",
      version: 3,
      time: { created: header.timestamp, updated: header.timestamp },
    });
  });

  it("gives the first version to a header without one", () => {
    const { version: _, ...old } = header;
    expect(infoOf(old, {}, "").version).toBe(1);
  });

  it("never lets a session_info speak for the header", () => {
    const hostile = {
      id: "two",
      cwd: "/etc",
      version: 9,
      parentSession: "x",
      time: { created: "" },
    } as object;
    expect(infoOf(header, hostile, header.timestamp)).toEqual(infoOf(header, {}, header.timestamp));
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
    expect(cleared.slug).toBe(slugOf(session.id));
    session.publish({ type: "compacting", active: true });
    expect(session.info.time.compacting).toBe("2026-01-01T00:00:02.000Z");
    session.publish({ type: "compacting", active: false });
    expect(session.info.time).not.toHaveProperty("compacting");
  });
});
