/** Parents that a transcript lacks or has wrong: the history stays on the path, with a finding. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { rounds } from "../../support/rounds.js";
import { call, type Fields, line, read, reply, result, shown, text, user } from "./transcript.js";

const codes = ({ report }: Awaited<ReturnType<typeof read>>) =>
  report.findings.map(({ code }) => code).filter((code) => code !== "unmapped");

/** Turns of a question and an answer; each line follows the one before. */
function turns(...words: readonly string[]): readonly Fields[] {
  return words.map((word, at) => {
    const parent = at === 0 ? null : `l${at - 1}`;
    return at % 2 === 0 ? user(`l${at}`, parent, word) : reply(`l${at}`, parent, `m${at}`, text(word));
  });
}

const said = (...words: readonly string[]) =>
  words.map((word, at) => `${at % 2 === 0 ? "user" : "assistant"}: ${word}`);

const progress = (uuid: string, parent: string | null, fields: Fields = {}) =>
  line("progress", uuid, parent, { data: { type: "hook_progress" }, ...fields });

it("keeps all that was said, whatever lines are lost", async () => {
  const words = Array.from({ length: 12 }, (_, at) => `w${at}`);
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.nat(11)), fc.boolean(), async (lost, asRecords) => {
      const kept = turns(...words).filter((_, at) => !lost.includes(at));
      // Records without a uuid between them change nothing.
      const lines = kept.flatMap((each) => (asRecords ? [{ type: "mode", mode: "x" }, each] : [each]));
      const imported = await read(lines);
      expect(shown(imported)).toEqual(said(...words).filter((_, at) => !lost.includes(at)));
      const gaps = kept.filter(({ parentUuid }, at) => parentUuid !== (kept[at - 1]?.uuid ?? null));
      expect(codes(imported)).toEqual(gaps.map(() => "missingParent"));
    }),
    { numRuns: rounds(60, 2000) },
  );
});

it("goes on after a line without a parent, unless it is the prompt of a rewind to the start", async () => {
  const lines = turns("one", "two", "three", "four", "five", "six");
  const cut = (uuid: string, tokens = 10) =>
    lines.map((each) => {
      const sent = { usage: { input_tokens: each.uuid === "l5" ? tokens : 10, output_tokens: 1 } };
      const whole = { ...each, message: { ...(each.message as Fields), ...sent } };
      return each.uuid === uuid ? { ...whole, parentUuid: null } : whole;
    });
  for (const uuid of ["l1", "l3", "l4", "l5"]) {
    const imported = await read(cut(uuid));
    expect(shown(imported)).toEqual(said("one", "two", "three", "four", "five", "six"));
    expect(codes(imported)).toEqual(["missingParent"]);
  }
  // The first prompt was asked again, or the request has become smaller.
  for (const [again, ...words] of [
    [cut("l2"), "three", "four", "five", "six"],
    [cut("l4", 9), "five", "six"],
  ] as const) {
    const imported = await read(again);
    expect(shown(imported)).toEqual(said(...words));
    expect(codes(imported)).toEqual([]);
  }
  for (const between of [progress("p1", null), line("system", "p1", null), line("attachment", "p1", null)]) {
    const [one, two, three, four] = lines as [Fields, Fields, Fields, Fields];
    const hooked = await read([one, two, between, { ...three, parentUuid: "p1" }, four]);
    expect(shown(hooked)).toEqual(said("one", "two", "three", "four"));
    expect(codes(hooked)).toEqual(["missingParent"]);
    // Nothing is lost by a note that nothing follows.
    expect(codes(await read([one, two, between, three, four]))).toEqual([]);
  }
  const called = [
    user("u1", null, "hello"),
    reply("a1", "u1", "m1", call("c1")),
    user("r1", null, [result("c1")]),
  ];
  expect(shown(await read([...called, reply("a2", "r1", "m2", text("done"))]))).toEqual([
    "user: hello",
    "assistant: c1",
    "toolResult: out c1",
    "assistant: done",
  ]);
});

it("goes on after a parent in another file, such as that of a compaction or of a subagent", async () => {
  const boundary = (logicalParentUuid: string | null) =>
    line("system", "b1", null, { subtype: "compact_boundary", logicalParentUuid });
  const summary = user("s1", "b1", "SUM", { isCompactSummary: true });
  const alone = await read([boundary("elsewhere"), summary, user("u9", "s1", "on")]);
  expect(shown(alone)).toEqual(["summary: SUM", "user: on"]);
  expect(codes(alone)).toEqual(["missingParent"]);
  for (const logical of ["elsewhere", null]) {
    const imported = await read([...turns("one", "two"), boundary(logical), summary, user("u9", "s1", "on")]);
    expect(shown(imported)).toEqual(["summary: SUM", "user: on"]);
    expect(codes(imported)).toEqual(["missingParent"]);
    const messages = imported.entries.filter(({ type }) => type === "message" || type === "compaction");
    expect(messages.map(({ parentId }) => parentId)).toEqual([
      null,
      ...messages.slice(0, -1).map(({ id }) => id),
    ]);
  }
  const [one, two, three, four] = turns("one", "two", "three", "four") as [Fields, Fields, Fields, Fields];
  const side = progress("p1", null, { isSidechain: true });
  const retried = await read([one, side, two, { ...three, parentUuid: "p1" }, four]);
  expect(shown(retried)).toEqual(said("one", "two", "three", "four"));
});

it("goes on after what was said, if a hook's line forks the conversation", async () => {
  const lines = [
    user("u1", null, "one"),
    progress("p1", "u1"),
    progress("p2", "p1"),
    reply("a1", "u1", "m1", call("c1")),
    user("r1", "a1", [result("c1")]),
    reply("a2", "r1", "m2", text("two")),
    user("u2", "p2", "three"),
    reply("a3", "u2", "m3", text("four")),
  ];
  const imported = await read(lines);
  expect(shown(imported)).toEqual([
    "user: one",
    "assistant: c1",
    "toolResult: out c1",
    "assistant: two",
    "user: three",
    "assistant: four",
  ]);
  expect(codes(imported)).toEqual(["missingParent"]);
  // A reply that follows a hook of an earlier call.
  const later = [
    ...lines.slice(0, 5),
    reply("a2", "r1", "m2", call("c2")),
    user("r2", "a2", [result("c2")]),
    reply("a3", "p2", "m3", text("four")),
  ];
  expect(shown(await read(later)).slice(-2)).toEqual(["toolResult: out c2", "assistant: four"]);
});

it("goes on after a failed request, if its message was sent again below the hook of a subagent", async () => {
  const error = reply("e1", "l4", "e", text("API Error: 403"));
  for (const root of [null, "l1", "gone"]) {
    const imported = await read([
      ...turns("one", "two").slice(0, 2),
      progress("p1", root),
      ...turns("one", "two", "three", "four", "five").slice(2),
      { ...error, isApiErrorMessage: true },
      user("u6", "p1", "five"),
      reply("a6", "u6", "m6", text("six")),
    ]);
    expect(shown(imported)).toEqual([
      ...said("one", "two", "three", "four", "five"),
      "user: five",
      "assistant: six",
    ]);
    expect(codes(imported)).toContain("missingParent");
  }
});

it("goes on after the reply of a result, if the result follows an older line", async () => {
  const imported = await read([
    ...turns("one", "two", "three"),
    progress("p1", "l0"),
    reply("a3", "l2", "m3", call("c1")),
    user("r1", "p1", [result("c1")]),
    reply("a4", "r1", "m4", text("four")),
  ]);
  expect(shown(imported)).toEqual([
    ...said("one", "two", "three"),
    "assistant: c1",
    "toolResult: out c1",
    "assistant: four",
  ]);
  expect(codes(imported)).toEqual(["missingParent"]);
});

it("keeps the branches that were made: rewinds, replies that were made again, explicit parents", async () => {
  const start = [user("u1", null, "one"), reply("a1", "u1", "m1", text("two")), line("system", "s1", "a1")];
  const turn = [user("u2", "s1", "left"), reply("a2", "u2", "m2", text("left too"))];
  const expectBranch = async (lines: readonly Fields[], ...words: readonly string[]) => {
    const imported = await read(lines);
    expect(shown(imported)).toEqual(words);
    expect(codes(imported)).toEqual([]);
  };
  const right = ["user: one", "assistant: two", "user: right"];
  await expectBranch([...start, ...turn, user("u3", "s1", "right")], ...right);
  await expectBranch([...start, ...turn, line("system", "s2", "a1"), user("u3", "s2", "right")], ...right);
  await expectBranch([...start, ...turn, user("u3", "a1", "right")], ...right);
  await expectBranch(
    [...start, ...turn, user("n3", "s1", "note", { isMeta: true })],
    ...right.slice(0, 2),
    "custom: note",
  );
  const hook = line("attachment", "h1", "u1", { attachment: { type: "hook_success" } });
  await expectBranch(
    [
      user("u1", null, "one"),
      hook,
      reply("a1", "h1", "m1", text("cut")),
      reply("a2", "h1", "m2", text("whole")),
    ],
    "user: one",
    "assistant: whole",
  );
});

it("cuts a cycle at its first line", async () => {
  const lines = turns("one", "two", "three", "four", "five");
  const imported = await read(
    lines.map((each) => (each.uuid === "l2" ? { ...each, parentUuid: "l4" } : each)),
  );
  expect(shown(imported)).toEqual(said("one", "two", "three", "four", "five"));
  expect(codes(imported)).toEqual(["missingParent"]);
});

it("keeps the turns between two compactions, of which the second wrote old history again", async () => {
  const old = turns("one", "two", "three", "four");
  const compaction = (at: number, logicalParentUuid: string, metadata: Fields = {}) => [
    line("system", `b${at}`, null, {
      subtype: "compact_boundary",
      logicalParentUuid,
      compactMetadata: { preservedSegment: { anchorUuid: `s${at}`, ...metadata } },
    }),
    user(`s${at}`, `b${at}`, `SUM ${at}`, { isCompactSummary: true }),
  ];
  const between = [user("u5", "s1", "five"), reply("a6", "u5", "m6", text("six"))];
  const hook = line("system", "h1", "l2", { subtype: "stop_hook_summary" });
  const kept = { headUuid: "a6", tailUuid: "h1" };
  const variants: readonly (readonly Fields[])[] = [
    [hook, ...compaction(2, "h1", kept), user("u7", "s2", "seven")],
    [hook, ...compaction(2, "h1"), user("u7", "s2", "seven")],
    [...compaction(2, "l2"), user("u7", "s2", "seven")],
    // A conversation that goes on behind the copy, without a boundary.
    [user("u7", "l2", "seven")],
  ];
  for (const [at, end] of variants.entries()) {
    const imported = await read([...old, ...compaction(1, "l3"), ...between, ...old.slice(0, 3), ...end]);
    const context = [
      ["summary: SUM 2", "assistant: six", "user: seven"],
      ["summary: SUM 2", "user: seven"],
      ["summary: SUM 2", "user: seven"],
      ["summary: SUM 1", "user: five", "assistant: six", "user: seven"],
    ];
    expect(shown(imported)).toEqual(context[at]);
    const path: string[] = [];
    const byId = new Map(imported.entries.map((entry) => [entry.id, entry]));
    for (let id = imported.leafId; id !== null; id = byId.get(id)?.parentId ?? null) path.unshift(id);
    const messages = imported.entries.filter(({ type }) => type === "message").map(({ id }) => id);
    expect(messages).toHaveLength(7);
    expect(path.filter((id) => messages.includes(id))).toEqual(messages);
    expect(codes(imported)).toEqual(["superseded", "missingParent"]);
  }
});
