import fc from "fast-check";
import {
  assistantMessage,
  type EntryDraft,
  type Message,
  memorySessionStore,
  type SearchQuery,
  type SessionLog,
  sessionStore,
  toolResult,
  userMessage,
} from "sessile";
import { describe, expect, test, vi } from "vitest";
import {
  candidateTerms,
  foldCase,
  type LineTest,
  lineTest,
  matchTexts,
  parseQuery,
} from "../../src/log/internal.js";
import { normalizedText } from "../../src/log/search-words.js";
import { openLog, searchSessions } from "../../src/session/internal.js";
import { EntryTable } from "../../src/session/tree/session-tree.js";
import { rounds } from "../support/rounds.js";
import { hookedMemory } from "./hooked-backend.js";

const lineOf = (text: string) =>
  new TextEncoder().encode(JSON.stringify({ type: "message", message: { role: "user", content: text } }));

const mayHave = (test: LineTest, line: Uint8Array) => test.next(line, 0, line.length) < line.length;

describe("the quick test of a line", () => {
  test("characters outside of its list have no ASCII letter or digit in their folded form", () => {
    const missed: string[] = [];
    for (let code = 0x80; code <= 0x2ffff; code++) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const character = String.fromCodePoint(code);
      const folded = foldCase(normalizedText(`x${character}x`)).slice(1, -1);
      const needle = /[a-z0-9]+/.exec(folded)?.[0];
      if (needle === undefined) continue;
      const test = lineTest(parseQuery(needle));
      const line = new TextEncoder().encode(`"${character}"`);
      if (!mayHave(test, line) || !test.passes(line)) missed.push(character);
    }
    expect(missed).toEqual([]);
  });

  test("a text that matches passes, however its line is escaped", () => {
    const part = fc.oneof(
      fc.constantFrom(
        "rate",
        "LIMIT",
        "ﬁ",
        "Köln",
        "e\u0301",
        "\n",
        "\\",
        '"',
        " ",
        "\u001b[1m",
        "東京",
        "\\u0061",
      ),
      fc.string({ unit: "binary", maxLength: 3 }),
    );
    const text = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(""));
    const escaped = (json: string, every: number) =>
      json.replace(/[^\\"\ud800-\udfff]/g, (character, at: number) =>
        at % every === 0 && json[at - 1] !== "\\" && !/\\u[0-9a-f]{0,3}$/.test(json.slice(0, at))
          ? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
          : character,
      );
    let matches = 0;
    fc.assert(
      fc.property(
        text,
        fc.nat(),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 9 }),
        (source, from, length, every) => {
          const start = from % (source.length + 1);
          const phrases = parseQuery(source.slice(start, start + length));
          if (phrases.length === 0 || matchTexts([source], phrases) === undefined) return;
          matches++;
          const test = lineTest(phrases);
          for (const json of [JSON.stringify(source), escaped(JSON.stringify(source), every)]) {
            expect(JSON.parse(json)).toBe(source);
            const line = new TextEncoder().encode(`{"content":${json}}`);
            expect([json, mayHave(test, line), test.passes(line)]).toEqual([json, true, true]);
          }
        },
      ),
      { numRuns: rounds(200, 20_000) },
    );
    expect(matches).toBeGreaterThan(10);
  });

  test("every line that passes has a place, among others in the same bytes", () => {
    const part = fc.constantFrom(
      ...[
        "reef",
        "REEF",
        "Reefs",
        "ree",
        "ﬁ",
        "tiﬁn",
        "Köln",
        "東京",
        "Ｒeef",
        "\\u0072eef",
        "\\u001bf",
        "\\n",
      ],
      ...['"part_update"', '"context_edit"', "context_edit", "_", "½", "\u{1d42b}eef"],
    );
    const line = fc.array(part, { maxLength: 4 }).map((parts) => new TextEncoder().encode(parts.join(" ")));
    const query = fc.constantFrom("reef", "ree", "fin", "1", "reef tide", "tide", "köln reef", "東京");
    let passed = 0;
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), query, (lines, text) => {
        const test = lineTest(parseQuery(text));
        const bytes = Buffer.concat(lines.flatMap((each) => [each, Buffer.from("\n")]));
        const reached: number[] = [];
        let start = 0;
        let place = -1;
        for (const [at, { length }] of lines.entries()) {
          if (place < start) place = test.next(bytes, start, bytes.length);
          if (place < start + length) reached.push(at);
          start += length + 1;
        }
        const passing = lines.flatMap((each, at) => (test.passes(each) ? [at] : []));
        passed += passing.length;
        expect(reached).toEqual(expect.arrayContaining(passing));
      }),
      { numRuns: rounds(300, 20_000) },
    );
    expect(passed).toBeGreaterThan(30);
  });

  test("a text without the words does not pass", () => {
    const test = lineTest(parseQuery("needle"));
    for (const text of ["hay", "Köln — … ✓", "a\u001b[1mb", "x".repeat(1000), "needed_less", "C:\\dir"]) {
      expect(mayHave(test, lineOf(text))).toBe(false);
      expect(test.passes(lineOf(text))).toBe(false);
    }
  });
});

describe("store.search", () => {
  const words = ["ebb", "flood", "tide", "reef"];
  const word = fc.constantFrom(...words);
  const model = { provider: "p", model: "m" };
  const step = fc.oneof(
    fc.record({ say: fc.array(word, { maxLength: 3 }) }),
    fc.record({ call: word, isSame: fc.boolean() }),
    fc.record({ edit: fc.nat(), text: fc.option(word), keeps: fc.boolean() }),
    fc.record({ part: fc.nat(), text: word, hasCall: fc.boolean() }),
    fc.record({ message: fc.nat(), text: word }),
    fc.record({ branch: fc.nat() }),
    fc.record({ compact: word, keep: fc.nat() }),
  );

  const sameCall = { type: "toolCall", id: "c", name: "t", arguments: { at: "ebb" } } as const;

  /** The texts that contexts of each branch end show at any time: what a search is to find. */
  test("finds what a context shows, but for compactions", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
        const store = memorySessionStore();
        const session = await store.create({ cwd: "/work" });
        const messages: string[] = [];
        const append = async (draft: EntryDraft) => (await session.append([draft]))[0]?.id as string;
        const one = (at: number) => messages[at % messages.length] as string;
        for (const each of steps) {
          if ("say" in each)
            messages.push(await append({ type: "message", message: userMessage(...each.say, ".") }));
          else if ("call" in each) {
            const call = {
              type: "toolCall",
              id: each.isSame ? "c" : `c${messages.length}`,
              name: "t",
              arguments: { at: each.call },
            } as const;
            messages.push(await append({ type: "message", message: assistantMessage(model, "I see", call) }));
            messages.push(
              await append({ type: "message", message: toolResult(call, `result ${each.call}`) }),
            );
          } else if (messages.length === 0) continue;
          else if ("edit" in each)
            await append({
              type: "context_edit",
              targetId: one(each.edit),
              replacement:
                each.text === null
                  ? null
                  : { content: [{ type: "text", text: each.text }, ...(each.keeps ? [sameCall] : [])] },
            });
          else if ("part" in each)
            await append({
              type: "part_update",
              targetId: one(each.part),
              index: 1,
              part: each.hasCall ? sameCall : { type: "text", text: each.text },
            });
          else if ("message" in each)
            await append({
              type: "message_update",
              targetId: one(each.message),
              message: assistantMessage(model, each.text),
            });
          else if ("branch" in each) await session.branch(one(each.branch));
        }
        if (messages.length === 0) return;
        await session.flush();
        const tree = await session.tree();
        const ids = [...tree.walk()].map(({ node }) => node.id);
        const ends = ids.filter((id) => tree.children(id).length === 0);
        for (const branch of ["path", "all"] as const) {
          const leaves = branch === "path" ? [session.leafId] : [session.leafId, ...ends];
          const contexts = await Promise.all(leaves.map((leaf) => session.context(leaf)));
          for (const text of [...words, "ebb flood", "tide tide"]) {
            const phrases = parseQuery(text);
            const expected = contexts
              .flatMap(({ items }) => items)
              .filter(({ message }) => matchTexts([JSON.stringify(message)], phrases) !== undefined)
              .map(({ entryId }) => entryId);
            const hits: string[] = [];
            for await (const { entryId, sessionId } of store.search({ text, branch })) {
              expect(sessionId).toBe(session.id);
              hits.push(entryId);
            }
            expect([branch, text, hits.toSorted()]).toEqual([
              branch,
              text,
              [...new Set(expected)].toSorted(),
            ]);
          }
        }
        await session.close();
      }),
      { numRuns: rounds(60, 2000) },
    );
  });

  const find = async (store: ReturnType<typeof memorySessionStore>, query: SearchQuery) => {
    const hits = [];
    for await (const hit of store.search(query)) hits.push(hit);
    return hits;
  };

  test("merges sessions by the time of their entries", async () => {
    let now = Date.UTC(2026, 0, 1);
    const store = memorySessionStore({ now: () => now });
    const sessions = await Promise.all([0, 1, 2].map(() => store.create({ cwd: "/work" })));
    const said: string[] = [];
    for (let at = 0; at < 12; at++) {
      now += 1000;
      const entry = await sessions[(at * at) % 3]?.appendMessage(userMessage("a reef"));
      said.unshift(entry?.id as string);
    }
    expect((await find(store, { text: "reef" })).map(({ entryId }) => entryId)).toEqual(said);
    expect((await find(store, { text: "reef", limit: 5 })).map(({ entryId }) => entryId)).toEqual(
      said.slice(0, 5),
    );
  });

  test("yields each hit once, of sessions whose times are far apart too", async () => {
    let now = Date.UTC(2026, 0, 1);
    const store = memorySessionStore({ now: () => now });
    const said: string[] = [];
    for (let at = 0; at < 4; at++) {
      now += 60_000;
      const session = await store.create({ cwd: "/work" });
      const two = await session.append(
        ["a reef", "one more reef"].map((text) => ({ type: "message", message: userMessage(text) })),
      );
      said.unshift(...two.map(({ id }) => id).reverse());
    }
    for (const limit of [3, 5, 8, 100])
      expect((await find(store, { text: "reef", limit })).map(({ entryId }) => entryId)).toEqual(
        said.slice(0, limit),
      );
  });

  test("a snippet is the text around the match in one line", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/work" });
    await session.appendMessage(userMessage(`${"long ".repeat(50)}\n\tthe needle\n${"𝄞 after ".repeat(60)}`));
    const [hit] = await find(store, { text: "needle" });
    expect(hit?.snippet).toMatch(/^…(?:ong )?(?:long )+the needle 𝄞 after .*…$/u);
    expect(hit?.snippet.isWellFormed()).toBe(true);
    expect(hit?.snippet.length).toBeLessThan(210);
  });

  test("finds a line that is shorter than one before it without the words", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: `/${"hay/".repeat(500)}` });
    await session.appendMessage(userMessage("a reef"));
    expect(await find(store, { text: "reef" })).toHaveLength(1);
  });

  test("finds a word at the end of a line", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/work" });
    const { id: targetId } = await session.appendMessage(userMessage("hay"));
    await session.append([{ type: "label", targetId, label: "reef" }]);
    expect(await find(store, { text: "reef" })).toHaveLength(1);
  });

  test("finds nothing without words, and refuses options that are none", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/work" });
    await session.appendMessage(userMessage("a => !"));
    expect(await find(store, { text: "=> !" })).toEqual([]);
    expect(await find(store, { text: "" })).toEqual([]);
    await expect(find(store, { text: 7 as unknown as string })).rejects.toThrow(TypeError);
    await expect(find(store, { text: "a", limit: 0 })).rejects.toThrow(RangeError);
    await expect(find(store, { text: "a", branch: "some" as "all" })).rejects.toThrow(TypeError);
  });

  test("finds the words that an edit left beside its own", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/work" });
    const call = { type: "toolCall", id: "c1", name: "readfile", arguments: {} } as const;
    await session.appendMessage(assistantMessage({ provider: "anthropic", model: "m" }, call));
    const { id } = await session.appendMessage(toolResult(call, "before"));
    await session.append([
      { type: "context_edit", targetId: id, replacement: { content: [{ type: "text", text: "after" }] } },
    ]);
    expect(await find(store, { text: "readfile before" })).toEqual([]);
    expect(await find(store, { text: "readfile after" })).toHaveLength(1);
    const edit = new TextEncoder().encode('{"type":"context_edit","replacement":{"content":"after"}}\n');
    expect(mayHave(lineTest(parseQuery("readfile after")), edit)).toBe(true);
  });

  test("an index is asked for the first terms of a long query", () => {
    const words = Array.from({ length: 20_000 }, (_, at) => `word${at}`).join(" ");
    expect(candidateTerms(parseQuery(words)).flat().length).toBeLessThan(200);
    expect(candidateTerms(parseQuery("one two"))).toEqual([["one", "two"], ["§one"], ["§two"], ["¶"]]);
  });

  test("a result is lost with the nearest of the calls of its id alone", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/work" });
    const calling = (id: string) =>
      assistantMessage(model, "I see", { type: "toolCall", id, name: "t", arguments: {} });
    const kept = (id: string) => ({ type: "toolCall", id, name: "t", arguments: {} }) as const;
    const edit = (targetId: string, ...content: readonly object[]) =>
      ({ type: "context_edit", targetId, replacement: { content } }) as unknown as EntryDraft;
    const text = { type: "text", text: "edited" };
    const append = async (draft: EntryDraft) => (await session.append([draft]))[0]?.id as string;
    const say = (message: Message) => append({ type: "message", message });
    // Taken away, but called again.
    const first = await say(calling("a"));
    await say(calling("a"));
    const again = await say(toolResult({ id: "a", name: "t" }, "reef"));
    await append(edit(first, text));
    // Taken away, and kept by the edit of a later message.
    const second = await say(calling("b"));
    const third = await say(calling("b"));
    const later = await say(toolResult({ id: "b", name: "t" }, "reef"));
    await append(edit(second, text));
    await append(edit(third, text, kept("b")));
    // Added by an update, and taken away.
    const fourth = await say(assistantMessage(model, "I see", "more"));
    await append({ type: "part_update", targetId: fourth, index: 1, part: kept("c") });
    await say(toolResult({ id: "c", name: "t" }, "reef"));
    await append(edit(fourth, text));
    for (const branch of ["path", "all"] as const)
      expect((await find(store, { text: "reef", branch })).map(({ entryId }) => entryId)).toEqual([
        later,
        again,
      ]);
    const { items } = await session.context();
    const shown = items.filter(({ message }) => message.role === "toolResult");
    expect(shown.map(({ entryId }) => entryId)).toEqual([again, later]);
  });

  test("edited results on many branches take no path for each pair", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/work" });
    const drafts = Array.from({ length: 1000 }, (_, at): readonly EntryDraft[] => {
      const call = { type: "toolCall", id: `c${at}`, name: "t", arguments: {} } as const;
      return [
        { type: "message", message: assistantMessage(model, "I see", call) },
        { type: "message", message: toolResult(call, "before") },
      ];
    });
    const results = (await session.append(drafts.flat())).filter((_, at) => at % 2 === 1);
    const edited = (from: number, to: number, content: string) =>
      session.append(
        results
          .slice(from, to)
          .map(({ id }) => ({ type: "context_edit", targetId: id, replacement: { content } })),
      );
    await edited(0, 500, "after");
    const top = session.leafId as string;
    for (let branch = 0; branch < 100; branch++) {
      await session.branch(top);
      await edited(500 + 5 * branch, 505 + 5 * branch, "later");
    }
    const paths = vi.spyOn(EntryTable.prototype, "path");
    const found = async (text: string) => (await find(store, { text, branch: "all", limit: 10_000 })).length;
    try {
      expect([await found("before"), await found("after"), await found("later")]).toEqual([500, 500, 500]);
      expect(paths.mock.calls.length).toBeLessThan(10);
    } finally {
      paths.mockRestore();
    }
  });

  test("ends when its signal aborts", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/work" });
    await session.appendMessage(userMessage("reef"));
    const controller = new AbortController();
    controller.abort(new Error("enough"));
    await expect(find(store, { text: "reef", signal: controller.signal })).rejects.toThrow("enough");
  });

  test("opens no session that has none of the words", async () => {
    const backend = hookedMemory();
    let looked = 0;
    const watched = sessionStore({
      ...backend,
      async open(id, options) {
        const log = await backend.open(id, options);
        const read = log?.read.bind(log);
        const count = (...call: Parameters<SessionLog["read"]>) => {
          looked++;
          return (read as SessionLog["read"])(...call);
        };
        return log && Object.assign(log, { read: count });
      },
    });
    for (const text of ["reef", "reef", "other"]) {
      const session = await watched.create({ cwd: "/work" });
      await session.appendMessage(userMessage(text));
      await session.close();
    }
    looked = 0;
    expect(await find(watched, { text: "other" })).toHaveLength(1);
    expect(looked).toBe(4);
  });
});

test("a search closes each session that it opens, also of another directory, and after an abort", async () => {
  const backend = hookedMemory();
  const store = sessionStore(backend);
  for (const cwd of ["/one", "/two"]) {
    const session = await store.create({ cwd });
    await session.appendMessage(userMessage("an apple"));
    await session.close();
  }
  let opened = 0;
  let closed = 0;
  const controller = new AbortController();
  const find = async (query: Partial<SearchQuery>, onOpen = () => {}) => {
    const found: string[] = [];
    const hits = searchSessions(
      { open: backend.open, list: ({ cwd: _, ...all }) => backend.list(all) },
      { text: "apple", ...query },
      {
        partition: "",
        skipped: () => {},
        open: async (log) => {
          const session = await openLog(backend, log, { mode: "read" });
          opened++;
          session.on("closed", () => closed++);
          onOpen();
          return session;
        },
      },
    );
    for await (const { snippet } of hits) found.push(snippet);
    return found;
  };
  expect(await find({ cwd: "/one" })).toEqual(["an apple"]);
  expect([opened, closed]).toEqual([2, 2]);
  await expect(find({ signal: controller.signal }, () => controller.abort())).rejects.toThrow("aborted");
  expect([opened, closed]).toEqual([3, 3]);
});
