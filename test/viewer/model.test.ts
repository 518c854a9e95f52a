import fc from "fast-check";
import { buildSessionContext, contextFrom, type Message, parseSession } from "sessile";
import { describe, expect, it } from "vitest";
import { readPage } from "../../src/viewer/app/viewer-state.js";
import {
  conversationRows,
  outlineLines,
  rowTimeline,
  seenContext,
  timelineColumns,
} from "../../src/viewer/model/rows.js";
import { entryTexts, searchEntries, searchPattern } from "../../src/viewer/model/search.js";
import { modelFor, sentRequest, sentTargets } from "../../src/viewer/model/sent-request.js";
import { SessionModel, SessionModels } from "../../src/viewer/model/session-model.js";
import {
  agoText,
  bytesText,
  costText,
  countText,
  durationText,
  firstLine,
  promptParts,
  promptText,
  typeName,
  visibleText,
} from "../../src/viewer/model/text.js";
import type { PageEntry } from "../../src/viewer/page-data.js";
import { entryTree } from "../arbitraries/entries.js";
import { Entries } from "./session.js";

const noImages = { get: () => undefined, leftOut: [] };

/** A session with a branch, a compaction that keeps and pins, an edit and a label. */
function branched() {
  const entries = new Entries();
  entries.user("first question", "q1");
  entries.reply([{ type: "text", text: "I look" }, entries.call("read", { path: "a.ts" }, "c1")], {}, "a1");
  entries.result("c1", "read", "const secret = 1;");
  entries.reply("found it", {}, "a2");
  entries.add({ type: "context_pin", targetId: "q1", pinned: true });
  entries.add({ type: "context_edit", targetId: "a2", replacement: { content: "shortened" } });
  entries.user("second question", "q2");
  entries.reply("second answer", {}, "a3");
  entries.from("a2").user("another way", "q3");
  entries.reply("another answer", {}, "a4");
  entries.from("a3").add(
    {
      type: "compaction",
      summary: "the story so far",
      firstKeptEntryId: "q2",
      tokensBefore: 900,
      retain: ["q1"],
    },
    "k1",
  );
  entries.user("third question", "q4");
  entries.reply("third answer", {}, "a5");
  entries.add({ type: "label", targetId: "q2", label: "turning point" });
  return entries;
}

describe("the conversation", () => {
  it("puts results beside their calls, with state and duration", () => {
    const entries = new Entries();
    entries.user("go");
    entries.reply(
      [entries.call("bash", { command: "true" }, "c1"), entries.call("bash", {}, "c2")],
      {},
      "a1",
    );
    entries.add({ type: "custom", customType: "sessile.tool_started", data: { toolCallId: "c1" } });
    entries.result("c1", "bash", "fine");
    entries.result("c2", "bash", "no", true);
    entries.reply([entries.call("bash", {}, "c3")], {}, "a2");
    const [, first, second, ...rest] = conversationRows(entries.model(), entries.last);
    expect(rest).toEqual([]);
    expect(first).toMatchObject({
      kind: "assistant",
      with: ["e3", "e4"],
      calls: [
        { state: "done", durationMs: 1000 },
        { state: "failed", durationMs: 3000 },
      ],
    });
    expect(second).toMatchObject({ calls: [{ state: "pending" }] });
    entries.user("next");
    expect(conversationRows(entries.model(), entries.last)[2]).toMatchObject({ calls: [{ state: "none" }] });
  });

  it("shows one branch, and names the others", () => {
    const model = branched().model();
    const rows = conversationRows(model, model.leafId);
    expect(rows.map(({ id }) => id)).toEqual([
      "q1",
      "a1",
      "a2",
      "e4",
      "e5",
      "q2",
      "a3",
      "k1",
      "q4",
      "a5",
      "e13",
    ]);
    expect(rows.find(({ id }) => id === "q2")).toMatchObject({ label: "turning point" });
    // The pin is the first entry of this branch, and shown as a note.
    expect(rows.flatMap(({ id, branches }) => (branches === undefined ? [] : [[id, branches]]))).toEqual([
      ["q2", { ids: ["e4", "q3"], at: 0 }],
    ]);
    const other = conversationRows(model, model.newestBelow("q3"));
    expect(other.map(({ id }) => id)).toEqual(["q1", "a1", "a2", "q3", "a4"]);
    expect(model.newestBelow("q1")).toBe("e13");
    expect(model.newestBelow("q2")).toBe("e13");
  });

  it("counts branches only where several entries continue", () => {
    const entries = new Entries();
    entries.user("q", "q");
    entries.reply("one", {}, "a1");
    entries.from("q").reply("two", {}, "a2");
    const beside = entries.from("q").add({ type: "label", targetId: "q", label: "x" });
    const model = entries.model();
    expect(model.newestBelow("q")).toBe(beside);
    expect(entries.model().newestBelow("a1")).toBe("a1");
    expect(conversationRows(model, "a2")[1]?.branches).toEqual({ ids: ["a1", "a2"], at: 1 });
    expect(conversationRows(model, beside).map(({ id }) => id)).toEqual(["q", beside]);
  });

  it("counts no entries beside the conversation as branches", () => {
    const entries = new Entries();
    entries.add({ type: "custom", customType: "foreign", data: {} });
    entries.from(null).add({ type: "custom", customType: "foreign_line", data: {} });
    entries.from(null).user("the only conversation", "q");
    const model = entries.model();
    expect(conversationRows(model, "q").map(({ branches }) => branches)).toEqual([undefined]);
    expect(outlineLines(model, "short").map(({ id, depth }) => [id, depth])).toEqual([["q", 0]]);
  });

  it("applies updates of messages", () => {
    const entries = new Entries();
    entries.reply("half", {}, "a1");
    const update = { type: "text", text: "whole" } as const;
    entries.add({ type: "part_update", targetId: "a1", index: 0, part: update });
    const [row, ...others] = conversationRows(entries.model(), entries.last);
    expect(others).toEqual([]);
    expect(row).toMatchObject({ updated: true, message: { content: [update] } });
  });

  it("shows every message of any tree, once, on the path to any entry", () => {
    fc.assert(
      fc.property(entryTree({ maxLength: 25 }), (all) => {
        const data = { key: "", leafId: null, diagnostics: { total: 0, listed: [] } };
        const model = new SessionModel(data, all);
        for (const { id } of all) {
          const rows = conversationRows(model, id);
          const shown = rows.flatMap((row) => [row.id, ...row.with]);
          const messages = model.pathIds(id).filter((one) => model.entry(one)?.type === "message");
          expect(new Set(shown).size).toBe(shown.length);
          expect(shown).toEqual(expect.arrayContaining(messages));
          seenContext(model, id);
        }
        const lines = outlineLines(model, "long").map(({ id }) => id);
        expect(lines.toSorted()).toEqual([...new Set(all.map(({ id }) => id))].sort());
        expect(outlineLines(model, "short").length).toBeLessThanOrEqual(lines.length);
      }),
      { numRuns: 40 },
    );
  });
});

describe("the outline", () => {
  it("has prompts, summaries, labels, first entries of branches, and the leaf", () => {
    const model = branched().model();
    expect(
      outlineLines(model, "short").map(({ id, depth, kind, label }) => [id, depth, kind, label]),
    ).toEqual([
      ["q1", 0, "user", undefined],
      ["q2", 1, "user", "turning point"],
      ["k1", 1, "compaction", undefined],
      ["q4", 1, "user", undefined],
      ["e13", 1, "other", undefined],
      ["q3", 1, "user", undefined],
    ]);
  });

  it("takes a chain of branches of any length", () => {
    const entries = new Entries();
    for (let at = 0; at < 5000; at++) {
      const { last } = entries;
      entries.user("side");
      entries.from(last).user("main");
    }
    const model = entries.model();
    expect(outlineLines(model, "short")).toHaveLength(10_000);
    expect(conversationRows(model, model.leafId)).toHaveLength(5000);
  });
});

describe("what the model saw", () => {
  it("is the context before a reply: summary, kept, pinned and edited items, and what was forgotten", () => {
    const model = branched().model();
    const seen = seenContext(model, "a5");
    expect(seen.items.map(({ entryId, origin, pinnedBy }) => [entryId, origin, pinnedBy])).toEqual([
      ["k1", "summary", undefined],
      ["q1", "retained", "e4"],
      ["q2", "message", undefined],
      ["a3", "message", undefined],
      ["q4", "message", undefined],
    ]);
    expect(seen.forgotten).toEqual(["a1", "e2", "a2"]);
    expect(seen.compactionId).toBe("k1");
    expect(seen.reported).toBe(1350);
    const edited = seenContext(model, "a3").items.filter(({ editedBy }) => editedBy !== undefined);
    expect(edited.map(({ entryId, editedBy }) => [entryId, editedBy])).toEqual([["a2", "e5"]]);
    expect(seenContext(model, "q4").items.at(-1)?.entryId).toBe("q4");
  });

  it("is the library's context of the same file", () => {
    const { source, header } = branched();
    const lines = [header, ...source.entries].map((value) => JSON.stringify(value)).join("\n");
    const parsed = parseSession(`${lines}\n`);
    const model = branched().model();
    expect(seenContext(model, "a5").context).toEqual(buildSessionContext(parsed, "q4"));
  });
});

describe("as sent to a target", () => {
  it.each(Object.keys(sentTargets) as (keyof typeof sentTargets)[])("%s", async (target) => {
    const seen = seenContext(branched().model(), "a5");
    const request = await sentRequest(seen, target, modelFor(target, seen.context.model), noImages);
    expect(request.body).toContain("the story so far");
    expect(request.body).toContain("third question");
    expect(request.body).not.toContain("third answer");
    expect(request.bytes).toBeGreaterThan(100);
    expect(request.losses).toEqual([]);
  });

  it("names losses, and images that are not in the page", async () => {
    const entries = new Entries();
    const image = { type: "image", mimeType: "image/png", data: "", viewerKey: "session-1/e0/0" } as const;
    entries.message({ role: "user", content: [image], timestamp: 1 });
    entries.reply([
      { type: "thinking", thinking: "hm", thinkingSignature: "s" },
      { type: "text", text: "yes" },
    ]);
    entries.user("and?");
    const leftOut = [
      {
        key: "session-1/e0/0",
        session: "session-1",
        entryId: "e0",
        mediaType: "image/png",
        size: 9,
        reason: "budget",
      } as const,
    ];
    const seen = seenContext(entries.model(), "e2");
    const request = await sentRequest(seen, "chat", "gpt-5.6", { ...noImages, leftOut });
    expect(request.absent).toBe(1);
    expect(request.losses.map(({ code, entryId }) => [code, entryId])).toContainEqual(["reasoning", "e1"]);
  });

  it("shows the size of long base64, and any other text as it is", async () => {
    const entries = new Entries();
    const [base64, words] = ["QUJD".repeat(60), "long words ".repeat(40)];
    const mixed = `${base64} and words`;
    const args = { base64, url: `data:image/png;base64,${base64}`, words, mixed, short: "QUJD" };
    entries.user("go");
    entries.reply([entries.call("put", args, "c1")]);
    entries.result("c1", "put", "done");
    entries.user("and?");
    const seen = seenContext(entries.model(), "e3");
    const { body, prefix } = await sentRequest(seen, "anthropic", "claude-opus-5-5", noImages);
    expect(prefix).toBe("Not known: the newest reply does not name the request that it answered.");
    const call = JSON.parse(body).messages[1].content[0];
    expect(call.input).toEqual({
      ...{ base64: "[180 bytes]", url: "data:image/png;base64,[196 bytes]" },
      ...{ words, mixed, short: "QUJD" },
    });
  });

  it("takes the model in force if it is the target's", () => {
    const { context } = seenContext(branched().model(), "a5");
    expect(modelFor("anthropic", context.model)).toBe("claude-opus-5-5");
    expect(modelFor("gemini", { provider: "google", modelId: "gemini-x" })).toBe("gemini-x");
    expect(modelFor("gemini", contextFrom([]).model)).toBe(sentTargets.gemini.model);
  });
});

describe("replies that only look", () => {
  it("are one row with the reply before them, up to one that says, changes or fails", () => {
    const entries = new Entries();
    let calls = 0;
    const use = (
      name: string,
      id: string,
      more: { readonly text?: string; readonly isError?: boolean } = {},
    ) => {
      const call = entries.call(name, { path: `${calls}.ts` }, `c${calls++}`);
      entries.reply([{ type: "text", text: more.text ?? "" }, call], {}, id);
      entries.result(call.id, name, "text", more.isError);
    };
    entries.user("Look.", "q1");
    use("read", "a1", { text: "I look." });
    use("read", "a2");
    use("grep", "a3");
    use("read", "a4", { text: "And there." });
    use("read", "a5", { isError: true });
    use("read", "a6");
    use("bash", "a7");
    use("read", "a8");
    entries.add({ type: "label", targetId: "a9", label: "kept apart" });
    use("read", "a9");
    const model = entries.model();
    const rows = conversationRows(model, model.leafId);
    const shown = rows.flatMap((row) =>
      row.kind === "assistant" ? [[row.id, ...(row.more ?? []).map(({ id }) => id)].join(" ")] : [],
    );
    expect(shown).toEqual(["a1 a2 a3", "a4", "a5", "a6", "a7", "a8", "a9"]);
    expect(rows.filter(({ isContinued }) => isContinued).map(({ id }) => id)).toEqual([
      "a4",
      "a5",
      "a6",
      "a7",
      "a8",
    ]);
    // Every reply has its point, at the row that shows it.
    expect(rowTimeline(rows).points.map(({ entryId, row }) => [entryId, rows[row]?.id])).toEqual([
      ...[
        ["a1", "a1"],
        ["a2", "a1"],
        ["a3", "a1"],
        ["a4", "a4"],
        ["a5", "a5"],
      ],
      ...[
        ["a6", "a6"],
        ["a7", "a7"],
        ["a8", "a8"],
        ["a9", "a9"],
      ],
    ]);
  });

  it("leave every entry of the branch in a row", () => {
    fc.assert(
      fc.property(entryTree(), (entries) => {
        const model = new SessionModel(
          { ...new Entries().page, leafId: entries.at(-1)?.id ?? null },
          entries,
        );
        const rows = conversationRows(model, model.leafId);
        const ids = rows.flatMap(({ id, with: others }) => [id, ...others]);
        expect(new Set(ids).size).toBe(ids.length);
      }),
    );
  });
});

describe("the timeline", () => {
  it("has the tokens and costs of replies, compactions and errors", () => {
    const entries = branched();
    entries.reply("", { stopReason: "error", errorMessage: "overloaded", usage: undefined as never }, "bad");
    const model = entries.model();
    const timeline = rowTimeline(conversationRows(model, model.leafId));
    expect(timeline.points.map(({ entryId, context, failed }) => [entryId, context, failed])).toEqual([
      ["a1", 250, false],
      ["a2", 450, false],
      ["a3", 850, false],
      ["a5", 1350, false],
      ["bad", undefined, true],
    ]);
    expect(timeline.compactions).toEqual([{ entryId: "k1", row: 7, point: 3, tokensBefore: 900 }]);
    expect(timeline.maxContext).toBe(1350);
    expect(timeline.cost).toBeGreaterThan(0);
  });

  it("groups any number of replies into columns", () => {
    fc.assert(
      fc.property(fc.nat(3000), fc.integer({ min: 1, max: 300 }), (count, most) => {
        const points = Array.from({ length: count }, (_, at) => ({ row: at * 2 }) as never);
        const columns = timelineColumns(points, count * 2, most);
        expect(columns.length).toBeLessThanOrEqual(most);
        expect(columns.flatMap((column) => column.points)).toEqual(points);
        // They follow each other up to the end.
        const ends = columns.map(({ to }) => to);
        expect(columns.map(({ from }) => from)).toEqual(count === 0 ? [] : [0, ...ends.slice(0, -1)]);
        if (count > 0) expect(ends.at(-1)).toBe(1);
      }),
      { numRuns: 50 },
    );
  });
});

describe("the search", () => {
  it("finds numbers and any member of what other programs wrote, but no usage and no ids", () => {
    const data = { exitCode: 127, id: "inner", ok: true, list: [{ type: "kind" }] };
    const entry = { type: "custom", customType: "x", id: "outer", parentId: null, timestamp: "then", data };
    expect([...entryTexts(entry as unknown as PageEntry)]).toEqual(["x", "127", "inner", "kind"]);
    const message = {
      role: "assistant",
      content: [{ type: "text", text: "so" }],
      usage: { input: 5 },
      count: 7,
    };
    const said = { ...entry, type: "message", customType: undefined, data: undefined, message };
    expect([...entryTexts(said as unknown as PageEntry)]).toEqual(["so"]);
  });

  const find = (entries: Entries, words: string) =>
    searchEntries(entries.all, words, {
      pause: async () => {},
      signal: new AbortController().signal,
      sliceMs: 0,
    });

  it("finds text, thinking, arguments, results, summaries and unknown entries, in any case", async () => {
    const entries = branched();
    entries.reply([{ type: "thinking", thinking: "hidden Thought" }], {}, "t");
    entries.all.push({
      type: "unknown",
      entryType: "x",
      raw: '{"odd":"needle"}',
      id: "u",
      parentId: null,
      timestamp: "",
    });
    expect(await find(entries, "SECOND")).toEqual(["q2", "a3"]);
    expect(await find(entries, "const secret")).toEqual(["e2"]);
    expect(await find(entries, "a.ts")).toEqual(["a1"]);
    expect(await find(entries, "story so")).toEqual(["k1"]);
    expect(await find(entries, "hidden thought")).toEqual(["t"]);
    entries.reply([entries.call("get", { id: "ticket-7", type: "bug" }, "c9")], {}, "arguments");
    expect(await find(entries, "ticket-7")).toEqual(["arguments"]);
    expect(await find(entries, "needle")).toEqual(["u"]);
    expect(await find(entries, "  ")).toEqual([]);
    expect(await find(entries, "e2")).toEqual([]);
  });

  it("takes the words literally", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1 }), fc.string(), (words, around) => {
        const pattern = searchPattern(words);
        if (pattern === undefined) return;
        expect(pattern.test(`${around}${words.trim()}${around}`)).toBe(true);
        expect(searchPattern(".*")?.test(words)).toBe(words.includes(".*"));
      }),
    );
  });

  it("reads values of any depth", () => {
    let deep: unknown = "bottom";
    for (let at = 0; at < 100_000; at++) deep = [deep];
    const entries = new Entries();
    entries.add({ type: "custom", customType: "deep", data: deep });
    expect([...entryTexts(entries.all[0] as (typeof entries.all)[number])]).toEqual(["deep"]);
  });
});

describe("the facts of a session", () => {
  it("are its title, models, times and counts", () => {
    const entries = branched();
    const untimed = { type: "custom", customType: "foreign", id: "old", parentId: null } as const;
    entries.all.unshift({ ...untimed, timestamp: "1970-01-01T00:00:00.000Z" });
    const { facts } = entries.model();
    expect(facts).toMatchObject({ title: "first question", models: ["claude-opus-5-5"], messages: 10 });
    expect(facts).toMatchObject({ toolCalls: 1, failures: 0 });
    expect((facts.last ?? 0) - (facts.first ?? 0)).toBe(12_000);
    const failed = new Entries();
    failed.result("c1", "read", "no", true);
    expect(failed.model().facts).toMatchObject({ failures: 1, messages: 1, toolCalls: 0 });
    const { first, last } = new Entries().model().facts;
    expect([first, last]).toEqual([undefined, undefined]);
    entries.add({ type: "session_info", title: "Named" });
    expect(entries.model().facts.title).toBe("Named");
    const pictured = new Entries();
    const contentSha256 = "0".repeat(64);
    const resource = {
      ...({ resourceId: "res_0123456789abcdef", kind: "image", source: "upload" } as const),
      ...({ mediaType: "image/png", size: 1, blob: `sha256:${contentSha256}`, contentSha256 } as const),
    };
    const shown = { type: "text", text: "[image, image/png]", resource } as const;
    pictured.message({ role: "user", content: [shown, { type: "text", text: "what is it?" }], timestamp: 1 });
    expect(pictured.model().facts.title).toBe("what is it?");
    pictured.from(null).all.length = 0;
    pictured.message({ role: "user", content: [shown], timestamp: 1 });
    expect(pictured.model().facts.title).toBe("image");
    entries.add({ type: "session_info", title: "a\u202eb\u001b" });
    expect(entries.model().facts.title).toBe("a[U+202E]b[U+001B]");
  });
});

describe("the sessions of subagents", () => {
  const link = (entries: Entries, toolCallId: string, sessionId: string) =>
    entries.add({ type: "custom", customType: "sessile.subagent", data: { toolCallId, sessionId } });

  function family() {
    const [main, child, grandchild] = [new Entries("m"), new Entries("c", "m"), new Entries("g", "c")];
    main.user("go");
    main.reply([main.call("task", {}, "c1"), main.call("task", {}, "c2")], {}, "calls");
    main.result("c1", "task", "done");
    const place = link(main, "c1", "c");
    link(main, "c2", "gone");
    child.user("look closer");
    child.reply([child.call("task", {}, "d1")]);
    const inner = link(child, "d1", "g");
    grandchild.user("look closest");
    const all = [main, child, grandchild];
    const read: number[] = [];
    const models = new SessionModels(
      all.map(({ page }) => page),
      (index) => {
        read.push(index);
        return all[index]?.all ?? [];
      },
    );
    return { models, read, main, child, place, inner };
  }

  it("are read when they are needed, and linked in both directions", () => {
    const { models, read, place, inner } = family();
    const model = models.get(models.main);
    expect(read).toEqual([0]);
    expect(models.startedBy(model, "c1")).toEqual([{ id: "c", key: "c" }]);
    expect(models.startedBy(model, "c2")).toEqual([{ id: "gone" }]);
    expect(models.startedBy(model, "d1")).toEqual([]);
    expect(models.startByKey("m")).toBeUndefined();
    expect(models.startByKey("c")).toEqual({ session: "m", entryId: place });
    expect(read).toEqual([0]);
    expect(models.startByKey("g")).toEqual({ session: "c", entryId: inner });
    expect(models.get("g").facts.title).toBe("look closest");
    models.get("g");
    expect(read).toEqual([0, 1, 2]);
  });

  it("show their links at the call, and as a line of the outline", () => {
    const { models, place } = family();
    const model = models.get(models.main);
    expect(conversationRows(model, model.leafId).map(({ kind }) => kind)).toEqual(["user", "assistant"]);
    expect(outlineLines(model, "short").map(({ id, kind }) => [id, kind])).toContainEqual([
      place,
      "subagent",
    ]);
  });

  it("begin and grow while the page is open", () => {
    const { models, child } = family();
    const late = new Entries("late", "elsewhere");
    late.user("a late one");
    models.update({ ...late.page, from: 0, at: 0, entries: late.all, total: 1 });
    expect(models.keys).toEqual(["m", "c", "g", "late"]);
    expect(models.startByKey("late")).toEqual({ session: "m", entryId: undefined });
    child.reply("found");
    models.update({ ...child.page, from: 2, at: 2, entries: child.all.slice(2), total: child.all.length });
    expect(models.get("c").entries).toEqual(child.all);
    expect(models.get("c").leafId).toBe(child.last);
    expect(models.version).toBe(2);
  });
});

describe("a long live session", () => {
  /** A conversation with branches; a part of it, and blocks of the whole, the last ones first. */
  const long = fc.record({
    parents: fc.array(fc.nat({ max: 200 }), { minLength: 1, maxLength: 40 }),
    page: fc.nat({ max: 40 }),
    cuts: fc.array(fc.nat({ max: 40 }), { maxLength: 6 }),
    lost: fc.nat({ max: 6 }),
  });

  it("begins with its newest entries, and has all of them in the end, however they come", () => {
    fc.assert(
      fc.property(long, ({ parents, page, cuts, lost }) => {
        const entries = new Entries();
        for (const [at, pick] of parents.entries()) {
          if (at > 0) entries.from(entries.all[pick % at]?.id ?? "");
          entries.user(`question ${at}`);
        }
        const whole = entries.model();
        const path = whole.pathIds(whole.leafId).flatMap((id) => whole.entry(id) ?? []);
        const part = path.slice(Math.max(0, path.length - page - 1));
        const models = new SessionModels([{ ...entries.page, isPart: true }], () => part);
        const model = models.get(models.main);
        const total = entries.all.length;
        const places = [...new Set([0, ...cuts.map((cut) => cut % total), total])].sort((a, b) => b - a);
        const blocks = places.slice(1).map((at, index) => {
          const block = entries.all.slice(at, places[index]);
          return { ...entries.page, from: 0, at, entries: block, total };
        });
        // The connection is lost after some of them, and begins again.
        for (const block of [...blocks.slice(0, Math.min(lost, blocks.length - 1)), ...blocks]) {
          models.update(block);
          if (block.at > 0) expect(model.data.isPart).toBe(true);
          for (const { id } of part) expect(model.entry(id)).toBeDefined();
        }
        expect(model.entries).toEqual(entries.all);
        expect([model.data.isPart, model.leafId]).toEqual([undefined, whole.leafId]);
      }),
    );
  });

  it("takes no block of a change whose end it does not have", () => {
    const entries = new Entries();
    for (let at = 0; at < 4; at++) entries.user(`question ${at}`);
    const models = new SessionModels([entries.page], () => entries.all);
    const before = models.get(models.main).entries;
    models.update({ ...entries.page, from: 0, at: 0, entries: entries.all.slice(0, 2), total: 4 });
    expect(models.get(models.main).entries).toBe(before);
  });
});

describe("a live session", () => {
  it("takes new entries once, and keeps its facts up to date", () => {
    const entries = new Entries();
    entries.user("q");
    const model = entries.model();
    expect(model.facts.messages).toBe(1);
    entries.reply("a");
    for (const _ of ["once", "again"]) model.replace(1, entries.all.slice(1), entries.page);
    expect(model.entries).toEqual(entries.all);
    expect(model.leafId).toBe("e1");
    expect(model.facts.messages).toBe(2);
    expect(model.newestBelow("e0")).toBe("e1");
  });
});

describe("the images of a live page", () => {
  it("lists each absent one once, and not after it came", () => {
    const none = { getElementById: () => null, querySelectorAll: () => [] };
    const { images } = readPage(none as unknown as Parameters<typeof readPage>[0]);
    const place = { session: "s", entryId: "e", mediaType: "image/png" };
    const absent = (key: string) => ({ ...place, key, size: 9, reason: "budget" }) as const;
    images.add([], [absent("a"), absent("b")]);
    // The stream brings a session again after a lost connection.
    images.add([], [absent("a"), absent("b")]);
    expect(images.leftOut).toEqual([absent("a"), absent("b")]);
    images.add([{ key: "a", mediaType: "image/png", base64: "" }], []);
    images.add([], [absent("a")]);
    expect(images.leftOut).toEqual([absent("b")]);
  });
});

describe("text for people", () => {
  it("makes hidden characters visible, and nothing else", () => {
    expect(visibleText("a\u202Eb\u0007c\td\ne")).toBe("a[U+202E]b[U+0007]c\td\ne");
    expect(visibleText("עברית Ünïcode 漢字 👩‍👩‍👧")).toBe("עברית Ünïcode 漢字 👩‍👩‍👧");
  });

  it("shows a command as it was typed, its output, and what is for the model only", () => {
    const command =
      "<command-message>plan is running…</command-message>\n<command-name>/plan</command-name>\n<command-args>a b</command-args>";
    expect(promptParts(command)).toEqual([{ kind: "command", name: "/plan", args: "a b" }]);
    expect(promptText({ role: "user", content: command, timestamp: 0 })).toBe("/plan a b");
    expect(promptParts("<command-message>no command</command-message>")).toEqual([
      { kind: "note", text: "no command" },
    ]);
    expect(promptParts("<bash-input>ls</bash-input>")).toEqual([{ kind: "command", name: "!", args: "ls" }]);
    expect(promptParts("<local-command-stdout>Done.</local-command-stdout>")).toEqual([
      { kind: "output", text: "Done." },
    ]);
    expect(promptParts("<task-notification>\n<task-id>t</task-id>\n</task-notification>")).toEqual([
      { kind: "note", text: "<task-id>t</task-id>" },
    ]);
    expect(promptParts("Look.\n<system-reminder>x</system-reminder>\nThere.")).toEqual([
      { kind: "text", text: "Look." },
      { kind: "note", text: "x" },
      { kind: "text", text: "There." },
    ]);
    for (const text of [
      "",
      "a <b-c> d",
      "<command-name>/open",
      "<command-name>".repeat(50_000),
      "<a".repeat(50_000),
    ])
      expect(promptParts(text)).toEqual([{ kind: "text", text }]);
  });

  it("has a message of notes alone in a quiet line", () => {
    const entries = new Entries();
    entries.user("Go.", "q1");
    entries.user("<task-notification>\n<task-id>t</task-id>\n</task-notification>", "told");
    entries.user("<system-reminder>x</system-reminder>\nAnd you?", "q2");
    entries.user("<local-command-stdout>Done.</local-command-stdout>", "q3");
    const rows = conversationRows(entries.model(), entries.last);
    expect(rows.map(({ kind, id }) => `${kind} ${id}`)).toEqual([
      ...["user q1", "quiet told", "user q2", "user q3"],
    ]);
  });

  it("has settings before the first message, and instructions and tools, in quiet lines", () => {
    const entries = new Entries();
    const setting = (modelId: string) =>
      entries.add({ type: "model_change", provider: "anthropic", modelId }, modelId);
    setting("first");
    entries.add({ type: "thinking_level_change", thinkingLevel: "high" });
    entries.user("hello", "q1");
    const toolsAdded = [{ name: "count", description: "Counts.", schema: { type: "object" } }];
    const told = { role: "system", content: "Be brief.", toolsAdded, timestamp: entries.time };
    entries.message(told as unknown as Message, "told");
    entries.reply("hi", {}, "a1");
    setting("second");
    const rows = conversationRows(entries.model(), entries.last);
    expect(rows.map(({ kind, id }) => `${kind} ${id}`)).toEqual([
      ...["quiet first", "user q1", "quiet told", "assistant a1", "note second"],
    ]);
    const names = rows.flatMap((row) =>
      row.kind === "quiet" ? [row.items.map((item) => item.customType)] : [],
    );
    expect(names).toEqual([["model anthropic/first", "thinking high"], ["instructions, tools"]]);
    const [, note] = rows.flatMap((row) => (row.kind === "quiet" ? row.items : [])).slice(1);
    expect(note?.content).toMatch(/^Be brief\.\n\n```json\n\[\n\s+\{\s+"name": "count"/);
  });

  it("has prompts in the short outline, and no output of commands or ids of attachments", () => {
    const entries = new Entries();
    entries.user("<local-command-stdout>Compacted</local-command-stdout>", "output");
    const contentSha256 = "0".repeat(64);
    const resource = {
      ...{ resourceId: "res_0123456789abcdef", kind: "image", source: "upload", name: "sketch.png" },
      ...{ mediaType: "image/png", size: 1, blob: `sha256:${contentSha256}`, contentSha256 },
    };
    const text = "[image sketch.png, image/png, res_0123456789abcdef]";
    const content = [{ type: "text", text, resource }];
    entries.message({ role: "user", content, timestamp: entries.time } as unknown as Message, "picture");
    entries.reply("I see it.", {}, "a1");
    const lines = outlineLines(entries.model(), "short").map(({ id, text }) => `${id}: ${text}`);
    expect(lines).toEqual(["picture: sketch.png", "a1: I see it."]);
  });

  it("has no internal names", () => {
    const types = ["sessile.meta_message", "sessile.initial_context", "opencode.synthetic", "other.kind"];
    expect(types.map(typeName)).toEqual([...["note", "initial context", "note", "other.kind"]]);
  });

  it("has times relative to now", () => {
    const [minute, day] = [60_000, 86_400_000];
    const ages = [-day, 0, 5 * minute, 3 * 60 * minute, day, 40 * day, 100 * day, 800 * day];
    expect(ages.map((age) => agoText(1e12 - age, 1e12))).toEqual([
      ...["now", "now", "5 min ago", "3 h ago", "yesterday", "40 days ago", "3 months ago", "2 years ago"],
    ]);
  });

  it("has units", () => {
    expect([bytesText(999), bytesText(1500), bytesText(20_000_000)]).toEqual(["999 B", "2 kB", "20.0 MB"]);
    expect([countText(999), countText(1234), countText(178_000), countText(2_500_000)]).toEqual([
      ...["999", "1.2k", "178k", "2.50M"],
    ]);
    expect([costText(0), costText(0.01234), costText(30.331)]).toEqual(["$0", "$0.0123", "$30.33"]);
    expect([126, 8000, 200_000, 7_500_000, 260_000_000].map(durationText)).toEqual([
      ...["126 ms", "8.0 s", "3 min 20 s", "2 h 5 min", "3 days"],
    ]);
    expect(firstLine("\n\n  hello\nworld")).toBe("hello");
    expect(firstLine("x".repeat(10_000_000))).toHaveLength(161);
  });
});
