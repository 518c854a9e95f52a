import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  isLive,
  listLines,
  localDay,
  projectName,
  readQuery,
  SessionList,
  searchLines,
  sumsBy,
  toQueryAddress,
} from "../../src/viewer/model/session-list.js";
import type { ListedSession } from "../../src/viewer/page-data.js";

const session = (key: string, more: Partial<ListedSession> = {}): ListedSession => ({
  ...{
    key,
    agent: "codex",
    id: `id-${key}`,
    modified: "2026-11-29T12:00:00.000Z",
    size: 1,
    cwd: "/work/app",
  },
  ...more,
});
const all = readQuery("");
const shown = (sessions: readonly ListedSession[], query = all) =>
  listLines(sessions, query).map((line) =>
    line.kind === "session" ? line.key : `${line.text} ${line.count}`,
  );

describe("the list of all sessions", () => {
  it("is newest first, and takes changes", () => {
    const list = new SessionList();
    const update = { isWhole: false, now: 1, sessions: [session("a"), session("b")], gone: [] };
    expect(list.update({ ...update, version: 1 })).toBe(true);
    const newer = session("c", { modified: "2026-11-30T12:00:00.000Z" });
    list.update({
      version: 2,
      isWhole: true,
      now: 2,
      gone: [],
      sessions: [newer, session("a", { title: "A" })],
    });
    expect(list.sessions.map(({ key }) => key)).toEqual(["c", "b", "a"]);
    expect([list.version, list.isWhole, list.now, list.get("a")?.title]).toEqual([2, true, 2, "A"]);
    const before = list.sessions;
    expect(list.update({ version: 2, isWhole: true, now: 3, sessions: [], gone: [] })).toBe(false);
    expect(list.sessions).toBe(before);
    expect(list.update({ version: 3, isWhole: true, now: 3, sessions: [], gone: ["b"] })).toBe(true);
    expect(list.sessions.map(({ key }) => key)).toEqual(["c", "a"]);
  });

  it("is grouped by day or by project, and filtered", () => {
    const sessions = [
      session("a", { title: "Fix the Parser" }),
      session("b", { agent: "pi", cwd: "/work/other" }),
      session("c", { modified: "2026-11-20T12:00:00.000Z" }),
    ];
    const [day, earlier] = [localDay("2026-11-29T12:00:00Z"), localDay("2026-11-20T12:00:00Z")];
    expect(shown(sessions)).toEqual([`${day} 2`, "a", "b", `${earlier} 1`, "c"]);
    expect(shown(sessions, { ...all, by: "project" })).toEqual([
      "/work/app 2",
      "a",
      "c",
      "/work/other 1",
      "b",
    ]);
    expect(shown(sessions, { ...all, agent: "pi" })).toEqual([`${day} 1`, "b"]);
    expect(shown(sessions, { ...all, project: "/work/other" })).toEqual([`${day} 1`, "b"]);
    expect(shown(sessions, { ...all, words: " parser" })).toEqual([`${day} 1`, "a"]);
    expect(shown(sessions, { ...all, words: "id-c" })).toEqual([`${earlier} 1`, "c"]);
  });

  it("has subagents below their parents, but for a search and for an absent parent", () => {
    const sessions = [
      session("a"),
      session("b", { parent: "id-a", title: "Review" }),
      session("c", { parent: "gone" }),
    ];
    expect(shown(sessions).slice(1)).toEqual(["a", "c"]);
    expect(shown(sessions, { ...all, words: "review" }).slice(1)).toEqual(["b"]);
  });

  it("has names, live sessions and sums", () => {
    expect([projectName("/a/b/"), projectName("C:\\x\\y"), projectName()]).toEqual(["b", "y", ""]);
    const now = Date.parse("2026-11-29T12:01:00.000Z");
    expect([isLive(session("a"), now), isLive(session("a"), now + 60_000)]).toEqual([true, false]);
    const groups = [
      { day: "d", cost: 1, tokens: 2, unpriced: 0 },
      { day: "d", cost: 3, tokens: 4, unpriced: 1 },
      { day: "e", cost: 5, tokens: 6, unpriced: 0 },
    ];
    expect([...sumsBy(groups, ({ day }) => day)]).toEqual([
      ["d", { cost: 4, tokens: 6, unpriced: 1 }],
      ["e", { cost: 5, tokens: 6, unpriced: 0 }],
    ]);
  });

  it("has hits in messages behind a few titles, both with their counts, and the other titles last", () => {
    const sessions = Array.from({ length: 7 }, (_, at) => session(`k${at}`, { title: "A reef" }));
    const found = listLines(sessions, { ...all, words: "reef" });
    const hits = [1, 2].map((at) => ({ kind: "hit", key: `hit ${at}` }));
    const lines = searchLines(found, hits).map((line) =>
      "text" in line ? `${line.text}: ${line.count}` : line.key,
    );
    expect(lines).toEqual([
      ...["In titles: 7", "k0", "k1", "k2", "k3", "k4", "In messages: 2", "hit 1", "hit 2"],
      ...["More titles: 2", "k5", "k6"],
    ]);
    expect(searchLines(found, [])).toBe(found);
    expect(searchLines([], hits).map(({ key }) => key)).toEqual(["heading In messages", "hit 1", "hit 2"]);
  });

  it("has its query in its address", () => {
    const by = fc.constantFrom("day" as const, "project" as const);
    const query = fc.record({
      words: fc.string(),
      agent: fc.string(),
      project: fc.string(),
      by,
      costs: fc.boolean(),
    });
    fc.assert(
      fc.property(query, (query) => {
        expect(readQuery(toQueryAddress(query))).toEqual(query);
      }),
    );
  });
});
